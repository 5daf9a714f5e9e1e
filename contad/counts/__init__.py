"""How much of another library contad differentiates, counted by calling every function of the installed library."""
