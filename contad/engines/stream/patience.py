"""When recordings are swept by compiled code: once plain Python has taken the time that it takes to get that code."""

from time import perf_counter

import numpy as np

from contad.engines.stream import plain_sweep
from contad.engines.stream.kernels import compile_kernel, has_compiled_kernel
from contad.engines.stream.record_head import decode
from contad.engines.stream.storage import Buffers
from contad.engines.stream.sweep import compile_sweeps, has_compiled_sweeps


class Patience:
    """The seconds for which sweeps run in plain Python: in all, and then for each kernel that is not there.

    They are those of the clock: to ask for the processor's is a call of the system, and ten of them were 3 % of a small
    gradient. Nobody looks at the disk before some hundred gradients of a dozen operations have been swept. To import
    LLVM, and to tell whether the files are those of this contad, takes 40 ms, which a process with fewer gradients does
    not get back. What is found then is loaded at once.

    loading      where it is compiled code that Numba loads: what that takes
    compiling    where it is to be compiled
    """

    LOOKING = 0.1  # of what Numba takes to load
    KERNEL = 0.15  # of what the sweep takes to compile

    def __init__(self, loading: float = 0.2, compiling: float = 2.0) -> None:
        self.loading, self.compiling = loading, compiling
        self.spent = 0.0
        self.limit = 0.0  # up to which `spent` may come before somebody looks
        self.has_looked = False  # at the disk
        self.left: dict[int, float] = {}  # by the code of a kernel
        self.is_over = False  # whether the compiled sweep is known to be there

    def look(self) -> bool:
        """Whether sweeps run in plain Python for longer, up to `limit`; not where the compiled one is there, or due."""
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
        """`plain_sweep.sweep_array` of a record that has no kernel yet, or else make the kernel: False then."""
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
