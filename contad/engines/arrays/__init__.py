"""The engine `arrays`: closures on whole arrays of any library, each evaluated by the library that owns it."""
