"""The programs of the comparison, one module each with its `PROGRAM`."""
