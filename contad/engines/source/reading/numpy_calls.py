"""Reads calls of Python and NumPy that are not scalar functions: creation, ranges, conversions, reductions, draws."""

import ast
import functools
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    DTYPES,
    Grid,
    Iteration,
    Object,
    Point,
    Range,
    Rows,
    StructuredArray,
    constant,
    is_array,
    is_number,
    join_kinds,
)
from contad.engines.source.ir.known_functions import (
    ADD,
    CHECKED_DIVIDE,
    COMPARISONS,
    DIVIDE,
    FLOOR_DIVIDE,
    MULTIPLY,
    SELECT,
    SUBTRACT,
    TO_BOOL,
    TO_FLOAT,
    TO_INT,
)
from contad.engines.source.ir.ssa import BOOL, FLOATS, INT, Check, Value
from contad.engines.source.reading import points, structured_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.call_site import CallSite, is_none, reads
from contad.engines.source.reading.made_containers import Keyed
from contad.numba_functions.checkpointed import checkpointed
from contad.ops.spherical_bessel import sinc

_ROUNDS = "{node}, which rounds"


# ---- creation --------------------------------------------------------------------------------------------------------
@reads("shape dtype", np.zeros, fill="zeros")
@reads("shape dtype", np.ones, fill="ones")
@reads("shape dtype", np.empty, fill="empty")
def _create(site: CallSite, shape: Any, dtype: Any, fill: str) -> Any:
    """A new array of numbers, or a structured array."""
    record = structured_arrays.record_type_of(dtype)
    if record is not None:
        return structured_arrays.make_structured(site, fill, site.lengths(shape), record)
    if shape == ():
        return points.make(site.builder, fill, site.dtype(dtype))
    made = site.builder.create(fill, site.lengths(shape), site.dtype(dtype))
    made.order = "C"
    return made


@reads("a dtype", np.zeros_like, fill="zeros")
@reads("a dtype", np.ones_like, fill="ones")
@reads("a dtype", np.empty_like, fill="empty")
def _create_like(site: CallSite, array: Any, dtype: Any, fill: str) -> Any:
    """A new array with the shape of an array or a number."""
    has_axes = not (is_number(array) or isinstance(array, Point))
    array = points.vector(array)
    if has_axes and not is_array(array):
        site.refuse("{node} of something that is no array", "give an array")
    if dtype is None and array.kind.narrow:
        site.refuse("{node} of an array of fewer than 64 bits", "give a dtype")
    base = site.dtype(dtype, array.kind.elements)
    if not has_axes:
        return points.make(site.builder, fill, base)
    return site.builder.create(fill, site.arrays.shape(array), base)


@reads("shape fill_value dtype", np.full)
def _full(site: CallSite, shape: Any, value: Any, dtype: Any) -> Any:
    if not is_number(value):
        site.refuse("the value in {node}", "give a number")
    base = site.dtype(dtype, value.kind.elements)
    if shape == ():
        return points.hold(site.arrays, value, base)
    array = site.builder.create("empty", site.lengths(shape), base)
    site.arrays.fill(array, value, site.node)
    array.order = "C"
    return array


@reads("a fill_value dtype", np.full_like)
def _full_like(site: CallSite, array: Any, value: Any, dtype: Any) -> Any:
    """np.full_like of an array, or of a number, which gives a 0-dimensional array."""
    has_axes = not (is_number(array) or isinstance(array, Point))
    array = points.vector(array)
    if (has_axes and not is_array(array)) or not is_number(value):
        site.refuse()
    base = site.dtype(dtype, array.kind.elements)
    if value.kind.base == "float" and base not in FLOATS:
        site.refuse(_ROUNDS, "give dtype=np.float64")
    if not has_axes:
        return points.hold(site.arrays, value, base)
    made = site.builder.create("empty", site.arrays.shape(array), base)
    site.arrays.fill(made, value, site.node)
    return made


@reads("object dtype", np.array)
def _array(site: CallSite, given: Any, dtype: Any) -> Any:
    """np.array of a list of numbers, or of lists of numbers; for an array, its copy."""
    if isinstance(given, BoundedBuffer):
        elements = given.elements()
        arrays = site.arrays
        return arrays.copy_elements(elements) if dtype is None else arrays.as_type(elements, site.dtype(dtype))
    if isinstance(given, Rows):
        return given.array if dtype is None else site.arrays.as_type(given.array, site.dtype(dtype))
    if is_array(given):
        return site.arrays.copy_elements(given)
    if is_number(given) or isinstance(given, Point):
        return _point(site, given, dtype)
    rows = [row if isinstance(row, tuple) else (row,) for row in given] if isinstance(given, tuple) else []
    nested = bool(rows) and all(isinstance(row, tuple) for row in given)
    numbers = [x for row in rows for x in row]
    if not numbers or not all(map(is_number, numbers)) or len({len(row) for row in rows}) != 1:
        site.refuse("{node}", "give a list of numbers, or of lists of numbers of one length")
    bases = {x.kind.base for x in numbers}
    base = site.dtype(dtype, functools.reduce(join_kinds, (x.kind for x in numbers)).elements)
    if "float" in bases and base not in FLOATS:
        site.refuse(_ROUNDS, "leave the dtype away")
    shape = [len(rows), len(rows[0])] if nested else [len(rows)]
    array = site.builder.create("empty", list(map(constant, shape)), base)
    for k, row in enumerate(rows):
        for j, x in enumerate(row):
            site.arrays.put(array, [constant(k), constant(j)][: len(shape)], x)
    array.order = "C"
    return array


def _point(site: CallSite, given: Any, dtype: Any) -> Point:
    """A new 0-dimensional array."""
    kind = points.vector(given).kind
    base = site.dtype(dtype, kind.elements)
    if kind.small == "unsigned" or (kind.base == "float" and base not in FLOATS):
        site.refuse(_ROUNDS, "give a number of 64 bits, and no dtype")
    return points.hold(site.arrays, points.element(site.arrays, given), base)


@reads("a", np.copy, method="copy")
def _copy(site: CallSite, array: Any) -> Any:
    if isinstance(array, Point):
        return points.copy(site.arrays, array)
    if is_number(array):
        return _point(site, array, None)
    if not is_array(array):
        site.refuse("{node} of something that is no array", "give an array")
    return site.arrays.copy_elements(array)


@reads("start stop step dtype", np.arange)
def _arange(site: CallSite, start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """np.arange of numbers, as Numba computes it: start + i step."""
    start, stop = (constant(0), start) if stop is None else (start, stop)
    numbers = [start, stop, constant(1) if step is None else step]
    known = all(x is not None and is_number(x) and x.kind.base in ("float", "int") for x in numbers)
    if not known or any(x.kind.small for x in numbers):
        site.refuse("{node}", "give one to three numbers of 64 bits")
    base = "float" if any(x.kind.base == "float" for x in numbers) else "int"
    made_of = site.dtype(dtype, base)
    if made_of not in (base, *FLOATS):
        site.refuse(_ROUNDS, "leave the dtype away")
    apply, as_float = site.apply, site.builder.as_float
    n = apply(SUBTRACT, stop, start)
    if step is not None:
        none = apply(COMPARISONS["Eq"], step, constant(0))
        site.builder.add(Check(none, ("ValueError", "Maximum allowed size exceeded")))
        n = apply(CHECKED_DIVIDE, as_float(n), as_float(step))
    n = apply(known_functions.CEIL, n) if n.kind.base == "float" else n
    some = apply(COMPARISONS["Gt"], n, constant(0))
    array = site.builder.create("empty", [apply(SELECT, some, n, constant(0))], made_of)
    array.order = "C"

    def element(at: list[Value]) -> Value:
        passed = at[0] if step is None else apply(MULTIPLY, at[0], step)
        found: Value = apply(ADD, start, passed)
        return found

    site.arrays.over(site.arrays.shape(array), lambda at: site.arrays.put(array, at, element(at)))
    return array


@reads("start stop num", np.linspace)
def _linspace(site: CallSite, start: Any, stop: Any, n: Any) -> Any:
    """np.linspace(start, stop, num), as Numba computes it."""
    n = constant(50) if n is None else n
    if not (is_number(start) and is_number(stop) and is_number(n) and n.kind == INT):
        site.refuse(remedy="give two numbers and an integer")
    apply, one, as_float = site.apply, constant(1), site.builder.as_float
    start, stop = as_float(start), as_float(stop)
    last = apply(SUBTRACT, n, one)
    several = apply(COMPARISONS["Gt"], last, constant(0))
    parts = as_float(apply(SELECT, several, last, one))
    step = apply(DIVIDE, apply(SUBTRACT, stop, start), parts)
    made = site.builder.create("empty", [n], "float")
    made.order = "C"

    def put(at: list[Value]) -> None:
        """Store an element; with two or more, the last one is exactly `stop`."""
        x = apply(ADD, start, apply(MULTIPLY, as_float(at[0]), step))
        ends = apply(known_functions.AND, several, apply(COMPARISONS["Eq"], at[0], last))
        site.arrays.put(made, at, apply(SELECT, ends, stop, x))

    site.arrays.over([n], put)
    return made


@reads("a value", method="fill")
def _fill(site: CallSite, array: Any, value: Any) -> Object:
    if not is_number(value):
        site.refuse("the array method .fill", "write it as a loop")
    site.arrays.fill(site.array(array), value, site.node)
    return Object(None)


@reads("N", np.eye, np.identity)
def _identity(site: CallSite, n: Any) -> Any:
    array = site.builder.create("zeros", [*site.lengths(n), *site.lengths(n)][:2], "float")
    site.arrays.over(site.arrays.shape(array)[:1], lambda at: site.arrays.put(array, [at[0], at[0]], constant(1.0)))
    return array


# ---- loops -----------------------------------------------------------------------------------------------------------
@reads("x", len)
def _length(site: CallSite, x: Any) -> Any:
    """len(x) of any entry with a length."""
    if isinstance(x, (tuple, Keyed)):
        return constant(len(x if isinstance(x, tuple) else x.members))
    if isinstance(x, StructuredArray) and x.ndim:
        return structured_arrays.shape_of(site.reader, x)[0]
    if isinstance(x, KeyedBuffer):
        return x.count()
    x = x.elements() if isinstance(x, BoundedBuffer) else x
    return site.arrays.shape(x)[0] if is_array(x) else site.refuse("{node}")


@reads(None, range)
@reads(None, numba.prange, is_parallel=True)
def _range(site: CallSite, is_parallel: bool = False) -> Any:
    """range or prange; prange is range unless the function has parallel=True."""
    given = site.arguments
    if site.keywords or not 1 <= len(given) <= 3 or not all(is_number(x) and x.kind in (INT, BOOL) for x in given):
        site.refuse("{node}", "give one to three integers")
    start, stop, step = [constant(0), *given, constant(1)] if len(given) == 1 else [*given, constant(1)][:3]
    made = Range(start, stop, step)
    made.is_parallel = is_parallel and bool(site.progress.flags.parallel)
    return made


@reads("iterable", checkpointed)
def _checkpointed(site: CallSite, limits: Any) -> Any:
    if not isinstance(limits, Range):
        site.refuse("{node} of something that is no range", "loop over a range(...)")
    marked = Range(*limits.limits)
    marked.checkpointed = True
    return marked


@reads("iterable start", enumerate)
def _enumerate(site: CallSite, array: Any, start: Any) -> Any:
    return _iterate(site, [array], constant(0) if start is None else start, "enumerate")


@reads(None, zip)
def _zip(site: CallSite) -> Any:
    return _iterate(site, [None] if site.keywords else site.arguments, constant(0), "zip")


def _iterate(site: CallSite, arguments: list[Any], start: Any, kind: str) -> Iteration:
    if not arguments or arguments[0] is None or not is_number(start) or start.kind != INT:
        site.refuse("{node}", "give the arrays only, and count in the loop")
    return Iteration(kind, arguments, start)


@reads(None, np.ndindex)
def _indices(site: CallSite) -> Any:
    """np.ndindex(shape) or np.ndindex(n, m, ...)."""
    given = site.arguments
    shape = given[0] if len(given) == 1 and isinstance(given[0], tuple) else tuple(given)
    if site.keywords or not given:
        site.refuse(remedy="give the lengths")
    return Grid("ndindex", site.lengths(shape) if shape else [])


@reads("arr", np.ndenumerate)
def _elements(site: CallSite, array: Any) -> Any:
    if isinstance(array, Point):
        return Grid("ndenumerate", [], array)
    array = site.array(array)
    return Grid("ndenumerate", site.arrays.shape(array), array)


# ---- conversions -----------------------------------------------------------------------------------------------------
@reads(None, float, function=TO_FLOAT, widens=False)
@reads(None, int, function=TO_INT, widens=False)
@reads(None, np.float64, function=TO_FLOAT)
@reads(None, np.float32, function=known_functions.ROUNDED)
@reads(None, np.int64, function=TO_INT)
@reads(None, bool, np.bool_, function=TO_BOOL)
def _convert(site: CallSite, function: known_functions.Function, widens: bool = True) -> Any:
    """Convert a number to float, int or bool; Python's own conversions keep float32 and unsigned integers.

    Refuse other entries. If one is appended to an array, read the function again without the list.
    """
    x = site.only()
    if function is TO_FLOAT and isinstance(x, Object) and str(x.value).strip("+-") in ("inf", "nan"):
        return constant(float(x.value))
    x = points.element(site.arrays, x)
    if x is None or not is_number(x):
        if hasattr(site.node, "appended"):
            site.progress.scope.unlist(site.node.appended)
        site.refuse("the conversion {node}", "give a number, or use .astype")
    if x.kind.small and not widens and x.kind.base == function.result:
        return x
    return site.apply(function, x)


@reads("a dtype", method="astype")
def _as_type(site: CallSite, array: Any, dtype: Any) -> Any:
    base = site.dtype(dtype)
    if isinstance(array, Point):
        return points.hold(site.arrays, points.element(site.arrays, array), base)
    return site.arrays.as_type(array, base)




@reads("x", type)
def _type(site: CallSite, x: Any) -> Any:
    """type(x) of a number; users call it to convert other numbers."""
    if not is_number(x):
        site.refuse("{node} of something that is no number", "give a number")
    return Object(DTYPES[x.kind.elements])


# ---- reductions ------------------------------------------------------------------------------------------------------
@reads(None, max, symbol="Gt")
@reads(None, min, symbol="Lt")
def _extreme(site: CallSite, symbol: str) -> Any:
    """The builtins max and min; at a tie, the first argument."""
    given = site.arguments
    if site.keywords or len(given) < 2 or not all(map(is_number, given)):
        site.refuse("{node}", "give two numbers or more, or use np.max")
    kind = functools.reduce(join_kinds, (x.kind for x in given))
    if any(x.kind.small == "unsigned" for x in given):
        site.builder.require_wide(SELECT, given)
    found, *rest = [site.builder.convert(x, kind) for x in given]
    for x in rest:
        found = site.apply(SELECT, site.apply(COMPARISONS[symbol], x, found), x, found)
    return found


_REDUCE: dict[str, Callable[[Any, Any], Value]] = {
    "sum": lambda arrays, a: arrays.total(a),
    "mean": lambda arrays, a: arrays.mean(a),
    "max": lambda arrays, a: arrays.extreme(a, ">"),
    "min": lambda arrays, a: arrays.extreme(a, "<"),
}


def _reduce(site: CallSite, array: Any, axis: Any, reduce: Callable[[Any, Any], Value]) -> Any:
    """np.sum and similar functions, of all elements or along an axis."""
    array = points.vector(array)
    if not is_array(array):
        site.refuse("{node} of something that is no array", "give an array")
    if axis is not None and array.kind.ndim > 1:
        return site.arrays.along(array, axis, reduce, site.node)
    return reduce(site.arrays, array)


for _name, _function in _REDUCE.items():
    reads("a axis", getattr(np, _name), method=_name, reduce=_function)(_reduce)


@reads("a axis", np.all, method="all", sought=False)
@reads("a axis", np.any, method="any", sought=True)
def _test(site: CallSite, given: Any, axis: Any, sought: bool) -> Any:
    """Whether no element is zero, or any is another: a count in one loop, so that no array of tests is made."""
    if axis is not None:
        site.refuse()
    if is_number(given):
        return site.builder.convert(given, BOOL)
    array = points.vector(given)
    if not is_array(array) or array.kind.small:
        site.refuse()
    symbol = "NotEq" if sought else "Eq"

    def count(n: Value, x: Value) -> Value:
        is_found = site.apply(COMPARISONS[symbol], site.builder.convert(x, BOOL), constant(False))
        return site.apply(ADD, n, site.builder.convert(is_found, INT))

    return site.apply(COMPARISONS[symbol], site.arrays.fold(array, constant(0), count), constant(0))


@reads("iterable start", sum)
def _sum(site: CallSite, taken: Any, start: Any) -> Any:
    """The builtin sum, of a tuple, a list display or a vector."""
    given: Any = taken.elements() if isinstance(taken, BoundedBuffer) else taken
    total = constant(0) if start is None else start
    numbers = isinstance(given, tuple) and all(map(is_number, given))
    if not is_number(total) or not (numbers or (is_array(given) and given.kind.ndim == 1)):
        site.refuse("{node}", "give numbers, or use np.sum")
    for x in given if numbers else [site.arrays.total(given)]:
        total = site.apply(ADD, total, x)
    return total


@reads("a", np.ptp)
def _range_of(site: CallSite, given: Any) -> Any:
    array = site.wide_array(given)
    return site.apply(SUBTRACT, *(site.arrays.extreme(array, symbol) for symbol in (">", "<")))


@reads("a b out", np.dot, method="dot")
def _dot(site: CallSite, a: Any, b: Any, out: Any) -> Any:
    made = site.arrays.product(a, b, site.node)
    return made if out is None else site.compute_into(out, made)


# ---- numbers ---------------------------------------------------------------------------------------------------------
@reads("condition x y", np.where)
def _where(site: CallSite, *taken: Any) -> Any:
    condition, x, y = (points.element(site.arrays, v) for v in taken)
    if not all(is_number(v) or is_array(v) for v in (condition, x, y)):
        site.refuse("{node}", "give a condition and two numbers or arrays")
    found = site.apply(SELECT, condition, site.builder.as_float(x), site.builder.as_float(y))
    given = any(isinstance(v, Point) for v in taken) and is_number(found)
    return points.hold(site.arrays, found, found.kind.base) if given else found


@reads("x y", divmod)
def _divmod(site: CallSite, x: Any, y: Any) -> Any:
    if not (is_number(x) and is_number(y)):
        site.refuse("{node} of something that is no number", "give a number")
    return tuple(site.builder.divide(f, x, y) for f in (FLOOR_DIVIDE, known_functions.REMAINDER))


def _times_power_of_two(site: CallSite, x: Any, n: Any) -> Any:
    """x 2^n, with three factors, so that no factor overflows unless the product does."""
    apply = site.apply
    third = apply(FLOOR_DIVIDE, n, constant(3))
    rest = apply(SUBTRACT, n, apply(MULTIPLY, third, constant(2)))
    for exponent in (third, third, rest):
        x = apply(MULTIPLY, x, apply(known_functions.POWER_OF_TWO, exponent))
    return x


@reads(None, np.ldexp, math.ldexp)
def _ldexp(site: CallSite) -> Any:
    """ldexp(x, n) of a number or, with NumPy's function, an array; n is one integer."""
    x, n = site.arguments if len(site.arguments) == 2 and not site.keywords else (None, None)
    if n is None or not (is_number(x) or is_array(x)) or not is_number(n) or n.kind.base != "int":
        site.refuse(remedy="give a number and an integer")
    return _times_power_of_two(site, site.builder.as_float(x), n)


@reads(None, math.frexp)
def _frexp(site: CallSite) -> Any:
    """math.frexp(x): the mantissa, which has a derivative, and the exponent."""
    x = site.only()
    if x is None or not is_number(x):
        site.refuse(remedy="give a number")
    x = site.builder.as_float(x)
    n = site.apply(known_functions.EXPONENT, x)
    return _times_power_of_two(site, x, site.apply(SUBTRACT, constant(0), n)), n


@reads("x", np.sinc)
def _sinc(site: CallSite, x: Any) -> Any:
    function = known_functions.function_of(sinc)
    assert function is not None
    return site.compute_by(function, [x])


# ---- draws -----------------------------------------------------------------------------------------------------------
def _draw(site: CallSite, name: str, parameters: str, standard: tuple[float, ...]) -> Any:
    """Draws of np.random with location and scale: loc + scale z; handed on if both are constant.

    The standard draw z, which uses the same numbers of Numba's generator, is handed on to Numba and held fixed.
    """
    node = site.node
    *given, size = [*site.take(parameters), None][: len(standard) + 1]
    given = [constant(x) if found is None else found for x, found in zip(standard, given, strict=True)]
    if not all(map(is_number, given)) or all(map(site.arrays.is_constant, given)):
        site.refuse(f"the call of {name!r}", "add to a standard draw, and multiply it, by yourself")
    sizes = [*node.args[len(standard) :], *(k.value for k in node.keywords if k.arg == "size")]
    draw = ast.Call(node.func, [*map(ast.Constant, standard), *([] if is_none(size) else sizes)], [])
    z = site.reader.expression(ast.fix_missing_locations(ast.copy_location(draw, node)), site.env)
    first, *more = map(site.builder.as_float, given)
    scale = more[0] if more else first
    if parameters.startswith("low"):
        scale = site.apply(SUBTRACT, scale, first)
    found = site.apply(MULTIPLY, scale, z)
    return site.reader.settle(site.apply(ADD, first, found) if more else found)


# the parameters of distributions, and those of the standard one
for _names, _standard, _distributions in (
    ("loc scale size", (0.0, 1.0), ("normal", "laplace", "logistic", "gumbel")),
    ("low high size", (0.0, 1.0), ("uniform",)),
    ("scale size", (1.0,), ("exponential",)),
):
    for _name in _distributions:
        reads(None, getattr(np.random, _name), name=_name, parameters=_names, standard=_standard)(_draw)
