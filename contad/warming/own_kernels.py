"""The names of all kernels of contad that are compiled once per machine, and how `contad.warm_up` prepares them.

Kernels for users' functions, for shapes and for densities are not among them: they are compiled once these are known.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from contad.compile import called_by_name, images
from contad.compile.dispatchers import tell_of_compilations
from contad.engines.matrix import kernel_shapes
from contad.engines.matrix.kernel_records import find_attempts
from contad.engines.matrix.matrix_products import ProductPullback  # noqa: F401  (its kernel is written there)
from contad.engines.second_order.number_runs import compile_runs
from contad.engines.source.runtime import kernel_calls, line_kernels, matrix_kernels, row_kernels
from contad.engines.source.runtime.lent_arrays import find_lender
from contad.engines.stream.arithmetic_rules import list_operations
from contad.engines.stream.kernels import WRITTEN, compile_kernel
from contad.engines.stream.storage import LINEAR
from contad.engines.stream.sweep import compile_rules, compile_sweeps
from contad.engines.tape import matrix_records, tape_array_records  # noqa: F401  (the first declares kernels)
from contad.programs.codes import ARRAY, KERNEL_CODES, PRODUCT
from contad.programs.interpreter import interpreter
from contad.programs.program_kernels import ADJOINTS, TANGENTS, VALUES, compile_missing
from contad.warming.processes import COMPILED, FAILED, FOUND, TOTAL

Kernel = tuple[str, tuple[Any, ...]]  # its maker, and the arguments


def list_kernels() -> list[Kernel]:
    """All kernels, those that take longest first."""
    purposes = VALUES, ADJOINTS, TANGENTS
    codes = [*list_operations(), LINEAR]
    generated = [
        (module.__name__, name)
        for module in (row_kernels, matrix_kernels, line_kernels, kernel_calls)
        for name, found in vars(module).items()
        if hasattr(found, "signature") and getattr(found, "__module__", "") == module.__name__
    ]
    return [
        ("interpreter", ()),
        ("second_order", ()),
        *(("step", (name, purpose)) for name in KERNEL_CODES for purpose in purposes),
        *(("generated", names) for names in generated),
        *(("product", (purpose,)) for purpose in purposes),
        *(("product_adjoint", (name,)) for name in ("put_product_at", "add_masked_at")),
        *(("lent_array", (axes,)) for axes in (1, 2, 3)),
        *(("tape", (name,)) for name in sorted(tape_array_records.NAMES)),
        ("sweep", ()),
        ("sweep_rules", ()),
        ("attempts", ()),
        *(("adjoint", (code,)) for code in (*codes, *WRITTEN)),
        *(("values", (code,)) for code in codes),
        *(("tangents", (code,)) for code in codes),
    ]


def get_ready(kernel: Kernel) -> None:
    """Compile or load one kernel."""
    name, arguments = kernel
    _MAKERS[name](*arguments)


_MAKERS: dict[str, Callable[..., object]] = {
    "interpreter": interpreter,
    "second_order": compile_runs,
    "sweep": compile_sweeps,
    "sweep_rules": compile_rules,
    "adjoint": compile_kernel,
    "values": lambda code: compile_missing([(VALUES, code)]),
    "tangents": lambda code: compile_missing([(TANGENTS, code)]),
    "product": lambda purpose: compile_missing([(purpose, PRODUCT - ARRAY)]),
    "product_adjoint": lambda name: called_by_name.find_kernel(f"contad.kernels.product_kernels:{name}"),
    "step": kernel_shapes.find_address,
    "generated": lambda module, name: kernel_calls.find_kernel(f"{module}:{name}"),
    "lent_array": lambda axes: find_lender(str(axes)),
    "tape": tape_array_records.find_kernel,
    "attempts": find_attempts,
}


# ---- a process: it compiles its share of the kernels and reports each one --------------------------------------------
def work(first: int, count: int, named: Sequence[str]) -> None:
    """Prepare every `count`th kernel from `first` on, only of these kinds if any are given."""
    chosen = [kernel for kernel in list_kernels() if not named or kernel[0] in named][first::count]
    _report(TOTAL, str(len(chosen)))
    for kernel in chosen:
        name = " ".join(map(str, (kernel[0], *kernel[1])))
        before = count_compilations()
        try:
            get_ready(kernel)
        except Exception as error:  # the other kernels are useful without it
            _report(FAILED, f"{name} ({type(error).__name__}: {' '.join(str(error).split())[:200]})")
        else:
            _report(FOUND if count_compilations() == before else COMPILED, name)


def _report(kind: str, text: str) -> None:
    """Write a line in one piece, so that the lines of several processes do not mix."""
    sys.stdout.write(f"{kind} {text}\n")
    sys.stdout.flush()


_begun: list[int] = [0]  # how many functions Numba has begun to compile because the disk did not have them


def _count() -> None:
    _begun[0] += 1


tell_of_compilations(_count, lambda *_: None)


def count_compilations() -> int:
    """The number of functions that this process has compiled."""
    return len(images.compiled) + _begun[0]
