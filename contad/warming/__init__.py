"""Compilation before first use: `contad.warm_up()` and `python -m contad warm`."""

from contad.warming.processes import WarmUp as WarmUp, warm_up as warm_up
