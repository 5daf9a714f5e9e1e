"""`contad.profile`: time and memory of a gradient by line of the user's code."""
