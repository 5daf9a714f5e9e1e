"""Benchmarks of contad. Importing this package sets every library to one thread, before any of them is imported.

But for Numba, of which only functions with parallel=True use more: those of `benchmarks.topics.threads`.
"""

import os

for _pool in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{_pool}_THREADS"] = "1"
# JAX reads these when it is imported
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
