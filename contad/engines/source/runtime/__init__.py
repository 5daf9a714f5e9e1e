"""Functions that generated code calls at run time: the workspace and the kernels."""
