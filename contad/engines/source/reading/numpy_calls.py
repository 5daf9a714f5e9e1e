"""Functions of Python and NumPy that are no functions of numbers: creation, ranges, conversions, reductions."""

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    Grid,
    Iteration,
    Object,
    Point,
    Range,
    RecordArray,
    Rows,
    constant,
    is_array,
    is_number,
)
from contad.engines.source.ir.single_assignment import BOOL, INT, SINGLE, Apply, Check, Kind, Value
from contad.engines.source.reading import points, record_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.call_reader import CallReader
from contad.engines.source.reading.made_containers import Keyed
from contad.numba_functions.checkpointed import checkpointed
from contad.ops.spherical_bessel import sinc


def _creation(fill: str) -> Callable[..., Any]:
    """np.zeros and its like."""

    def create(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """A new array of numbers or of records."""
        shape, dtype = calls.take("shape dtype", arguments, keywords, node)
        record = record_arrays.record_of(dtype)
        if record is not None:
            return record_arrays.make_records(calls, fill, calls.lengths(shape, node), record, node)
        if shape == ():
            return points.make(calls.builder, fill, calls.dtype(dtype, node))
        made = calls.builder.create(fill, calls.lengths(shape, node), calls.dtype(dtype, node))
        made.order = "C"
        return made

    return create


def _creation_like(fill: str) -> Callable[..., Any]:
    """np.zeros_like and its like, of an array or of a number."""

    def create(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """A new array of the same shape."""
        array, dtype = calls.take("a dtype", arguments, keywords, node)
        has_axes = not (is_number(array) or isinstance(array, Point))
        array = points.vector(array)
        if has_axes and not is_array(array):
            calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no array", "give an array")
        if dtype is None and (array.kind.narrow or array.kind.small):
            calls.progress.refuse(node, f"{ast.unparse(node)!r} of an array of fewer than 64 bits", "give a dtype")
        if not has_axes:
            return points.make(calls.builder, fill, calls.dtype(dtype, node, array.kind.base))
        return calls.builder.create(fill, calls.arrays.shape(array), calls.dtype(dtype, node, array.kind.base))

    return create


def _full(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    shape, value, dtype = calls.take("shape fill_value dtype", arguments, keywords, node)
    if not is_number(value):
        calls.progress.refuse(node, f"the value in {ast.unparse(node)!r}", "give a number")
    if shape == ():
        return points.hold(calls.arrays, value, calls.dtype(dtype, node, value.kind.base))
    array = calls.builder.create("empty", calls.lengths(shape, node), calls.dtype(dtype, node, value.kind.base))
    calls.arrays.fill(array, value, node)
    array.order = "C"
    return array


def _array(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.array of a list of numbers, or of lists of them; of an array, its copy."""
    given, dtype = calls.take("object dtype", arguments, keywords, node)
    if isinstance(given, BoundedBuffer):
        elements = given.elements()
        return _copy(calls, [elements], {}, node) if dtype is None else calls.as_type(
            elements, calls.dtype(dtype, node)
        )
    if isinstance(given, Rows):
        return given.array if dtype is None else calls.as_type(given.array, calls.dtype(dtype, node))
    if is_array(given):
        return _copy(calls, [given], {}, node)
    if is_number(given) or isinstance(given, Point):
        return _point(calls, given, dtype, node)
    rows = [row if isinstance(row, tuple) else (row,) for row in given] if isinstance(given, tuple) else []
    nested = bool(rows) and all(isinstance(row, tuple) for row in given)
    numbers = [x for row in rows for x in row]
    if not numbers or not all(map(is_number, numbers)) or len({len(row) for row in rows}) != 1:
        calls.progress.refuse(
            node, f"{ast.unparse(node)!r}", "give a list of numbers, or of lists of numbers of one length"
        )
    bases = {x.kind.base for x in numbers}
    base = calls.dtype(dtype, node, next(b for b in ("float", "int", "bool") if b in bases))
    if "float" in bases and base != "float":
        calls.progress.refuse(node, f"{ast.unparse(node)!r}, which rounds", "leave the dtype away")
    shape = [len(rows), len(rows[0])] if nested else [len(rows)]
    array = calls.builder.create("empty", list(map(constant, shape)), base)
    for k, row in enumerate(rows):
        for j, x in enumerate(row):
            calls.arrays.put(array, [constant(k), constant(j)][: len(shape)], x)
    array.order = "C"
    return array


def _point(calls: CallReader, given: Any, dtype: Any, node: ast.Call) -> Point:
    """A new array of no axes."""
    kind = points.vector(given).kind
    base = calls.dtype(dtype, node, kind.base)
    if kind.small or (kind.base == "float" and base != "float"):
        calls.progress.refuse(node, f"{ast.unparse(node)!r}, which rounds", "give a number of 64 bits, and no dtype")
    return points.hold(calls.arrays, points.element(calls.arrays, given), base)


def _arange(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.arange of numbers, as Numba computes it: start + i step."""
    start, stop, step, dtype = calls.take("start stop step dtype", arguments, keywords, node)
    start, stop = (constant(0), start) if stop is None else (start, stop)
    numbers = [start, stop, constant(1) if step is None else step]
    known = all(x is not None and is_number(x) and x.kind.base in ("float", "int") for x in numbers)
    if not known or any(x.kind.small for x in numbers):
        calls.progress.refuse(node, f"{ast.unparse(node)!r}", "give one to three numbers of 64 bits")
    base = "float" if any(x.kind.base == "float" for x in numbers) else "int"
    made_of = calls.dtype(dtype, node, base)
    if made_of not in (base, "float"):
        calls.progress.refuse(node, f"{ast.unparse(node)!r}, which rounds", "leave the dtype away")
    apply = calls.builder.apply
    n = apply(known_functions.SUBTRACT, stop, start)
    if step is not None:
        none = apply(known_functions.COMPARISONS["Eq"], step, constant(0))
        calls.builder.add(Check(none, ("ValueError", "Maximum allowed size exceeded")))
        n = apply(known_functions.CHECKED_DIVIDE, calls.as_float(n), calls.as_float(step))
    n = apply(known_functions.CEIL, n) if n.kind.base == "float" else n
    some = apply(known_functions.COMPARISONS["Gt"], n, constant(0))
    array = calls.builder.create("empty", [apply(known_functions.SELECT, some, n, constant(0))], made_of)
    array.order = "C"

    def put(at: list[Value]) -> None:
        passed = at[0] if step is None else apply(known_functions.MULTIPLY, at[0], step)
        calls.arrays.put(array, at, apply(known_functions.ADD, start, passed))

    calls.arrays.over(calls.arrays.shape(array), put)
    return array


def _identity(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (n,) = calls.take("N", arguments, keywords, node)
    array = calls.builder.create("zeros", [*calls.lengths(n, node), *calls.lengths(n, node)][:2], "float")
    calls.arrays.over(calls.arrays.shape(array)[:1], lambda at: calls.arrays.put(array, [at[0], at[0]], constant(1.0)))
    return array


def _copy(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (array,) = calls.take("a", arguments, keywords, node)
    if isinstance(array, Point):
        return points.copy(calls.arrays, array)
    if is_number(array):
        return _point(calls, array, None, node)
    if not is_array(array):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no array", "give an array")
    return calls.arrays.copy_elements(array)


def _length(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """len(x) of what has a length."""
    (x,) = calls.take("x", arguments, keywords, node)
    if isinstance(x, tuple):
        return constant(len(x))
    if isinstance(x, Keyed):
        return constant(len(x.members))
    if isinstance(x, RecordArray) and x.ndim:
        return record_arrays.shape_of(calls.expressions, x)[0]
    if isinstance(x, KeyedBuffer):
        return x.count()
    x = x.elements() if isinstance(x, BoundedBuffer) else x
    return calls.arrays.shape(x)[0] if is_array(x) else calls.progress.refuse(node, f"{ast.unparse(node)!r}")


def _range(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    if keywords or not 1 <= len(arguments) <= 3 or not all(is_number(x) and x.kind in (INT, BOOL) for x in arguments):
        calls.progress.refuse(node, f"{ast.unparse(node)!r}", "give one to three integers")
    start, stop, step = [constant(0), *arguments, constant(1)] if len(arguments) == 1 else [*arguments, constant(1)][:3]
    return Range(start, stop, step)


def _parallel_range(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """prange, which is range unless the function has parallel=True."""
    made = _range(calls, arguments, keywords, node)
    made.is_parallel = calls.progress.flags.parallel
    return made


def _checkpointed(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (limits,) = calls.take("iterable", arguments, keywords, node)
    if not isinstance(limits, Range):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no range", "loop over a range(...)")
    marked = Range(*limits.limits)
    marked.checkpointed = True
    return marked


def _iteration(kind: str) -> Callable[..., Any]:
    """enumerate or zip."""

    def iterate(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        start = constant(0)
        if kind == "enumerate":
            array, given = calls.take("iterable start", arguments, keywords, node)
            arguments, keywords, start = [array], {}, start if given is None else given
        if keywords or not arguments or arguments[0] is None or not is_number(start) or start.kind != INT:
            calls.progress.refuse(node, f"{ast.unparse(node)!r}", "give the arrays only, and count in the loop")
        return Iteration(kind, arguments, start)

    return iterate


def _indices(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.ndindex(shape) or np.ndindex(n, m, ...)."""
    shape = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else tuple(arguments)
    if keywords or not arguments:
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give the lengths")
    return Grid("ndindex", calls.lengths(shape, node) if shape else [])


def _elements(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.ndenumerate(array)."""
    (array,) = calls.take("arr", arguments, keywords, node)
    if isinstance(array, Point):
        return Grid("ndenumerate", [], array)
    if not is_array(array):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no array", "give an array")
    array = calls.arrays.compute(array)
    return Grid("ndenumerate", calls.arrays.shape(array), array)


def _conversion(function: known_functions.Function, widens: bool = True) -> Callable[..., Any]:
    """float, int or bool of a number; those of Python's leave float32 and unsigned integers what they are."""

    def convert(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """Refuse what is no number; of what is appended to an array, the function is read again."""
        (x,) = arguments if len(arguments) == 1 and not keywords else (None,)
        to_float = function is known_functions.TO_FLOAT
        if to_float and isinstance(x, Object) and str(x.value).strip("+-") in ("inf", "nan"):
            return constant(float(x.value))
        x = points.element(calls.arrays, x)
        if x is None or not is_number(x):
            if hasattr(node, "appended"):
                calls.progress.scope.unlist(node.appended)
            calls.progress.refuse(node, f"the conversion {ast.unparse(node)!r}", "give a number, or use .astype")
        if x.kind.small and not widens and x.kind.base == function.result:
            return x
        return calls.builder.apply(function, x)

    return convert


def _single(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.float32 of an integer; of a float it is handed on, and refused where a derivative would have to pass."""
    (x,) = arguments if len(arguments) == 1 and not keywords else (None,)
    if x is None or not is_number(x) or x.kind.base == "float":
        calls.progress.refuse(node, f"{ast.unparse(node)!r}, which rounds", "compute with float64")
    rounded = Value(SINGLE)
    calls.builder.add(Apply(known_functions.ROUNDED, [x], rounded))
    return rounded


def _extreme(symbol: str) -> Callable[..., Any]:
    """The builtins max and min: of ties the first."""

    def choose(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """Compare one number after the other with the best so far."""
        if keywords or len(arguments) < 2 or not all(map(is_number, arguments)):
            calls.progress.refuse(node, f"{ast.unparse(node)!r}", "give two numbers or more, or use np.max")
        kind = "float" if any(x.kind.base == "float" for x in arguments) else "int"
        if any(x.kind.small for x in arguments):
            calls.builder.require_wide(known_functions.SELECT, arguments)
        found, *rest = [calls.builder.convert(x, Kind(kind)) for x in arguments]
        for x in rest:
            better = calls.builder.apply(known_functions.COMPARISONS["Gt" if symbol == ">" else "Lt"], x, found)
            found = calls.builder.apply(known_functions.SELECT, better, x, found)
        return found

    return choose


def _reduction(reduce: Callable[[Any, Any], Value]) -> Callable[..., Any]:
    """np.sum and its like, of all elements or along an axis."""

    def apply(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array, axis = calls.take("a axis", arguments, keywords, node)
        array = points.vector(array)
        if not is_array(array):
            calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no array", "give an array")
        if axis is not None and array.kind.ndim > 1:
            return calls.arrays.along(array, axis, reduce, node)
        return reduce(calls.arrays, array)

    return apply


def _dot(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    a, b, out = calls.take("a b out", arguments, keywords, node)
    made = calls.arrays.product(a, b, node)
    return made if out is None else calls.compute_into(out, made, node)


def _where(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    taken = calls.take("condition x y", arguments, keywords, node)
    condition, x, y = (points.element(calls.arrays, v) for v in taken)
    if not all(is_number(v) or is_array(v) for v in (condition, x, y)):
        calls.progress.refuse(node, f"{ast.unparse(node)!r}", "give a condition and two numbers or arrays")
    found = calls.builder.apply(known_functions.SELECT, condition, calls.as_float(x), calls.as_float(y))
    given = any(isinstance(v, Point) for v in taken) and is_number(found)
    return points.hold(calls.arrays, found, found.kind.base) if given else found


def _type(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """type(x) of a number, which is called to convert others."""
    (x,) = calls.take("x", arguments, keywords, node)
    if not is_number(x):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no number", "give a number")
    return Object({"float": np.float64, "int": np.int64, "bool": np.bool_}[x.kind.base])


def _divmod(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    x, y = calls.take("x y", arguments, keywords, node)
    if not (is_number(x) and is_number(y)):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no number", "give a number")
    return calls.builder.divide(known_functions.FLOOR_DIVIDE, x, y), calls.builder.divide(
        known_functions.REMAINDER, x, y
    )


def _times_power_of_two(calls: CallReader, x: Any, n: Any) -> Any:
    """x 2^n, by three factors, so that none overflows where the product does not."""
    apply = calls.builder.apply
    third = apply(known_functions.FLOOR_DIVIDE, n, constant(3))
    rest = apply(known_functions.SUBTRACT, n, apply(known_functions.MULTIPLY, third, constant(2)))
    for exponent in (third, third, rest):
        x = apply(known_functions.MULTIPLY, x, apply(known_functions.POWER_OF_TWO, exponent))
    return x


def _ldexp(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """ldexp(x, n) of a number or, by NumPy's, of an array; n is one integer."""
    x, n = arguments if len(arguments) == 2 and not keywords else (None, None)
    if n is None or not (is_number(x) or is_array(x)) or not is_number(n) or n.kind.base != "int":
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give a number and an integer")
    return _times_power_of_two(calls, calls.as_float(x), n)


def _frexp(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """math.frexp(x): the mantissa, which moves with x, and the exponent."""
    (x,) = arguments if len(arguments) == 1 and not keywords else (None,)
    if x is None or not is_number(x):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give a number")
    x = calls.as_float(x)
    n = calls.builder.apply(known_functions.EXPONENT, x)
    minus = calls.builder.apply(known_functions.SUBTRACT, constant(0), n)
    return _times_power_of_two(calls, x, minus), n


def _sinc(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (x,) = calls.take("x", arguments, keywords, node)
    function = known_functions.function_of(sinc)
    assert function is not None
    return calls.compute_by(function, [x], node)


REDUCTIONS = {
    "sum": _reduction(lambda arrays, a: arrays.total(a)),
    "mean": _reduction(lambda arrays, a: arrays.builder.apply(known_functions.DIVIDE, arrays.total(a), arrays.size(a))),
    "max": _reduction(lambda arrays, a: arrays.extreme(a, ">")),
    "min": _reduction(lambda arrays, a: arrays.extreme(a, "<")),
}
SPECIAL: dict[Any, Callable[..., Any]] = {
    np.zeros: _creation("zeros"), np.ones: _creation("ones"), np.empty: _creation("empty"), np.full: _full,
    np.zeros_like: _creation_like("zeros"), np.ones_like: _creation_like("ones"),
    np.empty_like: _creation_like("empty"), np.copy: _copy,
    np.array: _array, np.arange: _arange, np.eye: _identity, np.identity: _identity,
    checkpointed: _checkpointed, builtins.len: _length, builtins.range: _range, numba.prange: _parallel_range,
    np.ndindex: _indices, np.ndenumerate: _elements,
    builtins.enumerate: _iteration("enumerate"), builtins.zip: _iteration("zip"),
    builtins.float: _conversion(known_functions.TO_FLOAT, False), np.float64: _conversion(known_functions.TO_FLOAT),
    builtins.int: _conversion(known_functions.TO_INT, False), np.int64: _conversion(known_functions.TO_INT),
    builtins.bool: _conversion(known_functions.TO_BOOL), np.bool_: _conversion(known_functions.TO_BOOL),
    builtins.type: _type, builtins.divmod: _divmod,
    builtins.max: _extreme(">"), builtins.min: _extreme("<"),
    np.sum: REDUCTIONS["sum"], np.mean: REDUCTIONS["mean"],
    np.max: REDUCTIONS["max"], np.min: REDUCTIONS["min"],
    np.dot: _dot, np.where: _where, np.sinc: _sinc, np.float32: _single,
    np.ldexp: _ldexp, math.ldexp: _ldexp, math.frexp: _frexp,
}  # fmt: skip
