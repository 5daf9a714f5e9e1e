"""Benchmarks of contad. Importing this package pins BLAS and OpenMP to one thread, before NumPy starts their pools."""

import os

for _pool in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "BLIS_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{_pool}_THREADS"] = "1"
