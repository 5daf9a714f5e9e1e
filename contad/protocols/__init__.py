"""How Python's operators and NumPy's functions find the rule of an operation on variables."""
