"""The names of all kernels of contad that are compiled once per machine, which `contad.warm_up` prepares.

Kernels for users' functions, for shapes and for densities are not among them: they are compiled once these are known.
"""

from collections.abc import Callable
from typing import Any

from contad.engines.matrix import kernel_shapes
from contad.engines.matrix.matrix_products import ProductPullback  # noqa: F401  (its kernel is written there)
from contad.engines.second_order.number_runs import compile_runs
from contad.engines.stream.arithmetic_rules import list_operations
from contad.engines.stream.kernels import WRITTEN, compile_kernel
from contad.engines.stream.storage import LINEAR
from contad.engines.stream.sweep import compile_rules, compile_sweeps
from contad.programs.codes import ARRAY, KERNEL_CODES, PRODUCT
from contad.programs.interpreter import interpreter
from contad.programs.program_kernels import ADJOINTS, TANGENTS, VALUES, compile_missing

Kernel = tuple[str, tuple[Any, ...]]  # its maker, and the arguments


def list_kernels() -> list[Kernel]:
    """All kernels, those that take longest first."""
    from contad.engines.source.runtime import kernel_calls, line_kernels, matrix_kernels, row_kernels

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
        *(("tape", (name,)) for name in _names_on_tapes()),
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


def _names_on_tapes() -> list[str]:
    from contad.engines.tape import matrix_records  # noqa: F401  (which declares kernels)
    from contad.engines.tape.array_kernels import NAMES

    return sorted(NAMES)


def _find_generated(module: str, name: str) -> None:
    from contad.engines.source.runtime.kernel_calls import find_kernel

    find_kernel(f"{module}:{name}")


def _find_product_adjoint(name: str) -> None:
    from contad.compile.called_by_name import find_kernel

    find_kernel(f"contad.kernels.product_kernels:{name}")


def _find_lent_array(axes: int) -> None:
    from contad.engines.source.runtime.lent_arrays import find_lender

    find_lender(str(axes))


def _find_tape(name: str) -> None:
    from contad.engines.tape.array_kernels import find_kernel

    find_kernel(name)


def _find_attempts() -> None:
    from contad.engines.matrix.kernel_records import find_attempts

    find_attempts()


_MAKERS: dict[str, Callable[..., object]] = {
    "interpreter": interpreter,
    "second_order": compile_runs,
    "sweep": compile_sweeps,
    "sweep_rules": compile_rules,
    "adjoint": compile_kernel,
    "values": lambda code: compile_missing([(VALUES, code)]),
    "tangents": lambda code: compile_missing([(TANGENTS, code)]),
    "product": lambda purpose: compile_missing([(purpose, PRODUCT - ARRAY)]),
    "product_adjoint": _find_product_adjoint,
    "step": kernel_shapes.find_address,
    "generated": _find_generated,
    "lent_array": _find_lent_array,
    "tape": _find_tape,
    "attempts": _find_attempts,
}
