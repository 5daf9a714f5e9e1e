"""Array rules with compiled kernels, of linear algebra and along axes: which they are, and what a record says of sizes.

A step is done by compiled code; where a matrix turns out to be singular, or a result is not finite, Python does it
instead, so that errors and limits are NumPy's. Recordings that are swept at once take steps (`compiled_steps`), and
recorded programs do.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.engines.stream.pullbacks import Pullback
from contad.variables.open_types import Options, Value

# The names of rules; their kernels compile what they are made of, so the modules are imported when a step is taken.
MATRICES = (
    *("cholesky_factor", "solve_triangular", "solve", "inv", "det", "log_determinant", "banded_solution", "expm"),
    *("filled_cholesky_factor", "cholesky_solution", "euclidean_norm"),
)
SPECTRA = ("orthogonal_factor", "symmetric_spectrum", "real_spectrum", "singular_spectrum")
# what is done to the lines of an array along an axis, whatever its numbers are; they come last, as codes are in order
LOG_SUMS, REDUCTIONS, ACCUMULATIONS = ("logsumexp", "softmax"), ("prod", "var", "std"), ("cumsum", "cumprod")
LINES = LOG_SUMS + REDUCTIONS + ACCUMULATIONS
NAMES = MATRICES + SPECTRA + LINES
PAIRED_SUM = "logsumexp_of_pair"  # of programs: logsumexp of x + y, or of x - y
PRODUCT = "matmul"  # which NumPy multiplies: of it there is the kernel of adjoints
VALUE, ADJOINT = range(2)  # purposes of kernels

Shape = tuple[int, ...]


class MatrixStep(NamedTuple):
    """What the shape of a record says beside the places: sizes and options, and how many numbers are saved."""

    result: Shape
    sizes: tuple[int, int, int]
    options: tuple[int, int, int] = (0, 0, 0)
    saved: int = 0
    has_factors: bool = False  # those of the first operand, which steps share


def _of_square(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep(a, (a[0], a[1], 0))


def _of_determinant(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((), (a[0], a[1], 0))


def _of_triangle(a: Shape, b: Shape, options: Options) -> MatrixStep:
    transposed, lower, unit = (int(bool(options.get(name))) for name in ("transposed", "lower", "unit_diagonal"))
    return MatrixStep(b, (a[0], a[1], _columns(b)), (transposed, lower, unit))


def _of_filled_factor(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep(a, (a[0], a[1], 0), (int(bool(options["lower"])), 0, 0))


def _of_factored_system(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep(b, (a[0], a[1], _columns(b)), (int(bool(options["lower"])), 0, 0))


def _of_system(a: Shape, b: Shape, options: Options) -> MatrixStep:
    transposed = int(bool(options.get("transposed")))
    return MatrixStep(b, (a[0], a[1], _columns(b)), (transposed, 0, 0), a[0] * (a[0] + 1), True)


def _of_log(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((), (a[0], a[1], 0), saved=a[0] * (a[0] + 1), has_factors=True)


def _of_factor(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0] + a[1], a[1]), (a[0], a[1], 0))


def _of_spectrum(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0] + 1, a[1]), (a[0], a[1], 0), (int(bool(options.get("upper", False))), 0, 0))


def _of_singular_values(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep((a[0] + 1 + a[1], min(a)), (a[0], a[1], 0))


def _of_band(a: Shape, b: Shape, options: Options) -> MatrixStep:
    lower, upper = int(options["lower"]), int(options["upper"])
    height = _height_of_factors()(lower, upper)
    return MatrixStep(b, (a[0], a[1], _columns(b)), (lower, upper, 0), height * a[1])


def _height_of_factors() -> Callable[[int, int], int]:
    from contad.native.triangular_kernels import height_of_factors

    found: Callable[[int, int], int] = height_of_factors.py_func
    return found


def _of_exponential(a: Shape, b: Shape, options: Options) -> MatrixStep:
    return MatrixStep(a, (a[0], a[1], 0), saved=3 * a[0] * a[0])


def _of_vector(a: Shape, b: Shape, options: Options) -> MatrixStep | None:
    axis = options.get("axis")
    axes = range(len(a)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    whole = {k % len(a) for k in axes} == set(range(len(a)))
    shape = (1,) * len(a) if options.get("keepdims") else ()
    return MatrixStep(shape, (1, math.prod(a), 0)) if whole else None


# ---- along axes ------------------------------------------------------------------------------------------------------
RUNNING = frozenset(("softmax", "cumsum", "cumprod"))  # whose result has the operand's shape and order in memory
_FLAT = frozenset(("cumsum", "cumprod"))  # or is flat, where there is no axis


def are_consecutive(axes: Sequence[int]) -> bool:
    """Whether ordered axes follow one another, and none is there twice."""
    return all(after - before == 1 for before, after in itertools.pairwise(axes))


def _of_lines(name: str, a: Shape, options: Options) -> MatrixStep | None:
    """Axes that follow one another are those of lines; the options are rows and columns of the operand, and ddof."""
    axis, n = options.get("axis"), len(a)
    axes = range(n) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    ddof = options.get("ddof", 0)
    if not n or not {*map(type, axes), type(ddof)} <= {int} or options.get("b") is not None:
        return None
    reduced = sorted(k % n for k in axes if -n <= k < n)
    if not reduced or len(reduced) < len(axes) or not are_consecutive(reduced):
        return None
    before, after = math.prod(a[: reduced[0]]), math.prod(a[reduced[-1] + 1 :])
    lines, size = before * after, math.prod(a)
    result = a
    if name in _FLAT and axis is None:
        result = (size,)
    elif name not in RUNNING:
        keeps = options.get("keepdims", False)
        result = tuple(1 if k in reduced else m for k, m in enumerate(a) if keeps or k not in reduced)
    rows, columns = a if n == 2 else (1, size)
    saved = size + lines if name == "logsumexp" else 0
    return MatrixStep(result, (before, size // lines, after), (rows, columns, ddof), saved)


def _columns(b: Shape) -> int:
    return b[1] if len(b) == 2 else 1


_DESCRIBE: dict[str, Callable[[Shape, Shape, Options], MatrixStep | None]] = {
    "det": _of_determinant, "filled_cholesky_factor": _of_filled_factor, "cholesky_solution": _of_factored_system,
    "solve_triangular": _of_triangle, "solve": _of_system, "log_determinant": _of_log, "orthogonal_factor": _of_factor,
    "symmetric_spectrum": _of_spectrum, "real_spectrum": _of_spectrum, "singular_spectrum": _of_singular_values,
    "banded_solution": _of_band, "expm": _of_exponential, "euclidean_norm": _of_vector,
}  # fmt: skip
_SQUARE = {"cholesky_factor", "solve_triangular", "solve", "inv", "det", "log_determinant", "symmetric_spectrum",
           "real_spectrum", "expm", "filled_cholesky_factor", "cholesky_solution"}  # fmt: skip

_IN_ORDER = {"cholesky_factor", "euclidean_norm", *LINES} - RUNNING  # whose results lie in memory as they are


def describe_operation(name: str, shapes: Sequence[Shape], options: Options) -> MatrixStep | None:
    """What a record of a rule says, None where Python has to do it: of stacks, of what does not fit, of other rules."""
    if name not in NAMES or not all(map(math.prod, shapes)):
        return None
    a, b = shapes[0], shapes[1] if len(shapes) == 2 else ()
    if name in LINES:
        return _of_lines(name, a, options)
    if name == "euclidean_norm":
        return _of_vector(a, b, options)
    if len(a) != 2 or len(b) > 2 or (name in _SQUARE and a[0] != a[1]):
        return None
    if len(shapes) == 2 and b[:1] != a[1:]:
        return None
    if name == "orthogonal_factor" and a[0] < a[1]:
        return None
    step = _DESCRIBE.get(name, _of_square)(a, b, options)
    if name == "banded_solution" and step is not None and step.options[0] + step.options[1] + 1 != a[0]:
        return None
    return step


def describe_step(c: Pullback) -> MatrixStep | None:
    """What the record of a program says where a recording has that continuation; None where Python has to do it."""
    name = c.rule.name
    if c.is_tuple or not c.rule.__module__.startswith("contad.ops.") or not all(map(is_real_array, c.values)):
        return None
    part = c.results[0]
    if part.axes not in (None, (1, 0)) or (part.axes and name in _IN_ORDER):
        return None
    return describe_operation(name, [np.shape(v) for v in c.values], c.options)


def is_real_array(v: Value) -> bool:
    """Whether v is a plain array of float64."""
    return isinstance(v, np.ndarray) and v.dtype == np.float64


def find_address(name: str, purpose: int) -> int:
    """The address of a kernel, compiled or loaded."""
    from contad.native.named_code import compiled_address, name_of
    from contad.native.recorded_operands import SIGNATURE

    return compiled_address(name_of(_kernels_of(name)[purpose]), SIGNATURE)


def is_on_disk(name: str, purpose: int) -> bool:
    """Whether the machine code of a kernel can be loaded."""
    from contad.native.machine_code import has_machine_code

    return has_machine_code(_kernels_of(name)[purpose])


def _kernels_of(name: str) -> tuple[Any, ...]:
    """The kernels of a rule, by their purpose."""
    if name == PRODUCT:
        from contad.native.recorded_products import PRODUCT_KERNELS

        return PRODUCT_KERNELS[name]
    if name in SPECTRA:
        from contad.native.recorded_spectra import KERNELS
    elif name in (*LOG_SUMS, PAIRED_SUM):
        from contad.native.recorded_log_sums import KERNELS
    elif name in REDUCTIONS:
        from contad.native.recorded_reductions import KERNELS
    elif name in ACCUMULATIONS:
        from contad.native.recorded_accumulations import KERNELS
    else:
        from contad.native.recorded_matrices import KERNELS
    found: tuple[Any, ...] = KERNELS[name]
    return found
