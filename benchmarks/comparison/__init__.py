"""contad beside other tools, program by program: `python -m benchmarks`."""
