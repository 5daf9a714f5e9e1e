"""The switch from plain Python sweeps to compiled code, once Python has taken as long as compiling or loading would."""

from time import perf_counter

import numpy as np

from contad.engines.stream import plain_sweep
from contad.engines.stream.kernels import compile_kernel, has_compiled_kernel
from contad.engines.stream.storage import Buffers, decode
from contad.engines.stream.sweep import compile_sweeps, has_compiled_sweeps


class Patience:
    """The seconds for which sweeps run in plain Python: in total, and then for each kernel that is missing.

    They are seconds of the wall clock: processor time needs a system call, and ten of these took 3 % of a small
    gradient. The first look at the disk comes after about a hundred gradients of a dozen operations. It imports LLVM
    and checks that the files belong to this contad, which takes 40 ms; a process with fewer gradients would not regain
    them. Code on the disk is then loaded at once.

    loading      seconds if Numba has to load compiled code
    compiling    seconds if it has to compile it
    """

    LOOKING = 0.1  # fraction of the time that Numba takes to load
    KERNEL = 0.15  # fraction of the time that the sweep takes to compile

    def __init__(self, loading: float = 0.2, compiling: float = 2.0) -> None:
        self.loading, self.compiling = loading, compiling
        self.spent = 0.0
        self.limit = 0.0  # `look` is due when `spent` reaches it
        self.has_looked = False  # at the disk
        self.left: dict[int, float] = {}  # by the code of a kernel
        self.is_over = False  # whether the compiled sweep is available

    def look(self) -> bool:
        """Whether sweeps go on in plain Python, up to `limit`; not if the compiled sweep is available, or due."""
        if self.is_over:
            return False
        if not self.has_looked:
            self.limit = self.LOOKING * self.loading
            if self.spent >= self.limit:
                self.has_looked = True
                self.limit = 0.0 if has_compiled_sweeps() else self.compiling
        if self.spent < self.limit:
            return True
        self.limit = 0.0
        self.is_over = bool(compile_sweeps.cache_info().currsize)
        return False

    def sweep_array(self, buffers: Buffers, adjoints: np.ndarray, row: int, k: int, top: int) -> bool:
        """Sweep a record without a kernel by `plain_sweep.sweep_array`, or compile its kernel and return False."""
        head, x, y = buffers.records[row].tolist()
        code, _, _ = decode(head)
        if code not in self.left:
            self.left[code] = 0.0 if has_compiled_kernel(code) else self.KERNEL * self.compiling
        if self.left[code] <= 0.0:
            compile_kernel(code)
            return False
        start = perf_counter()
        plain_sweep.sweep_array(buffers, head, x, y, k, top)
        self.left[code] -= perf_counter() - start
        return True


PATIENCE = Patience()
