"""Machine code for objects of this Python: operators of variables, records, lists of numbers."""
