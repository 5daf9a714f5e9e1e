"""Functions of the kind that scientists compile with Numba, in our own words: what each stands for, and at what sizes.

Their gradients, by the engine `generated`, are held against differences in the tests, and timed over the functions
themselves by `python -m benchmarks real`.
"""
