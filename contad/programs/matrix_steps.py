"""Operations of linear algebra as records of a program: which rules have kernels, and what a record says of its sizes.

A step is done by compiled code where all is as it was recorded; where a matrix turns out to be singular, or a result is
not finite, Python does it instead, so that errors and limits are NumPy's.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from contad.engines.matrix.direct_rules import STEPS, install_rule
from contad.engines.stream.pullbacks import Pullback
from contad.rules.array_rule import array_rule_of
from contad.variables.open_types import Options, Value

# The names of rules; their kernels compile what they are made of, so the modules are imported when a step is taken.
MATRICES = (
    *("cholesky_factor", "solve_triangular", "solve", "inv", "det", "log_determinant", "banded_solution", "expm"),
    *("filled_cholesky_factor", "cholesky_solution", "euclidean_norm"),
)
SPECTRA = ("orthogonal_factor", "symmetric_spectrum", "real_spectrum", "singular_spectrum")
NAMES = MATRICES + SPECTRA
STEPS.update(NAMES)
for _name in NAMES:  # a program keeps what is recorded by the first call as well
    install_rule(array_rule_of(_name))


class MatrixStep(NamedTuple):
    """What the shape of a record says beside the places: sizes and options, and how many numbers are saved."""

    sizes: tuple[int, int, int]
    options: tuple[int, int, int] = (0, 0, 0)
    saved: int = 0
    has_factors: bool = False  # those of the first operand, which steps share


Shape = tuple[int, ...]


def _of_square(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0], a[1], 0))


def _of_triangle(a: Shape, b: Shape, options: Options) -> MatrixStep:
    transposed, lower, unit = (int(bool(options.get(name))) for name in ("transposed", "lower", "unit_diagonal"))
    return MatrixStep((a[0], a[1], _columns(b)), (transposed, lower, unit))


def _of_factor(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0], a[1], _columns(b) if b else 0), (int(bool(options["lower"])), 0, 0))


def _of_system(a: Shape, b: Shape, options: Options) -> MatrixStep:
    transposed = int(bool(options.get("transposed")))
    return MatrixStep((a[0], a[1], _columns(b)), (transposed, 0, 0), a[0] * (a[0] + 1), True)


def _of_log(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0], a[1], 0), saved=a[0] * (a[0] + 1), has_factors=True)


def _of_spectrum(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0], a[1], 0), (int(bool(options.get("upper", False))), 0, 0))


def _of_band(a: Shape, b: Shape, options: Options) -> MatrixStep:
    lower, upper = int(options["lower"]), int(options["upper"])
    height = _height_of_factors()(lower, upper)
    return MatrixStep((a[0], a[1], _columns(b)), (lower, upper, 0), height * a[1])


def _height_of_factors() -> Callable[[int, int], int]:
    from contad.native.triangular_kernels import height_of_factors

    found: Callable[[int, int], int] = height_of_factors.py_func
    return found


def _of_exponential(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0], a[1], 0), saved=3 * a[0] * a[0])


def _of_vector(a: Shape, b: Shape, options: Options) -> MatrixStep | None:
    axis = options.get("axis")
    axes = range(len(a)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    whole = {k % len(a) for k in axes} == set(range(len(a)))
    return MatrixStep((1, math.prod(a), 0)) if whole else None


def _columns(b: Shape) -> int:
    return b[1] if len(b) == 2 else 1


_DESCRIBE: dict[str, Callable[[Shape, Shape, Options], MatrixStep | None]] = {
    "filled_cholesky_factor": _of_factor, "cholesky_solution": _of_factor,
    "solve_triangular": _of_triangle, "solve": _of_system, "log_determinant": _of_log,
    "symmetric_spectrum": _of_spectrum, "banded_solution": _of_band, "expm": _of_exponential,
    "euclidean_norm": _of_vector,
}  # fmt: skip
_SQUARE = {"cholesky_factor", "solve_triangular", "solve", "inv", "det", "log_determinant", "symmetric_spectrum",
           "real_spectrum", "expm", "filled_cholesky_factor", "cholesky_solution"}  # fmt: skip


def describe_step(c: Pullback) -> MatrixStep | None:
    """What the record of a rule says, None where Python has to do it: of stacks, of what is empty, of other rules."""
    name = c.rule.name
    if name not in NAMES or c.is_tuple or not c.rule.__module__.startswith("contad.ops."):
        return None
    part = c.results[0]
    if not all(map(_is_full, c.values)) or part.axes not in (None, (1, 0)):
        return None
    shapes = [np.shape(v) for v in c.values]
    a, b = shapes[0], shapes[1] if len(shapes) == 2 else ()
    if name != "euclidean_norm" and (len(a) != 2 or len(b) > 2):
        return None
    if name in _SQUARE and a[0] != a[1]:
        return None
    if part.axes is not None and name in ("cholesky_factor", "euclidean_norm"):
        return None
    return _DESCRIBE.get(name, _of_square)(a, b, c.options)


def _is_full(v: Value) -> bool:
    return isinstance(v, np.ndarray) and v.dtype == np.float64 and bool(v.size)


def find_address(name: str, purpose: int) -> int:
    """The address of a kernel, compiled or loaded."""
    from contad.native.named_code import compiled_address, name_of
    from contad.native.recorded_operands import SIGNATURE

    if name in SPECTRA:
        from contad.native.recorded_spectra import KERNELS
    else:
        from contad.native.recorded_matrices import KERNELS
    return compiled_address(name_of(KERNELS[name][purpose]), SIGNATURE)
