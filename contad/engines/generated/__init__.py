"""The engine `generated`: the reverse pass of an njit function as Python source, compiled by Numba."""
