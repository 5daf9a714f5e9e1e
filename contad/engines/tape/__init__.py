"""The engine `tape`: a continuation is a record of stored partials, pushed from inside Numba by a variable type."""
