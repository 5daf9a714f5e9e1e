"""Reads calls with complex arguments or results: functions of `cmath` and NumPy, methods, new arrays.

A real-linear function that treats all elements alike, such as `np.roll`, is read once for each part.
"""

import cmath
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from contad.engines.source.ir.entries import Complex, Method, Object, constant, is_array, is_number
from contad.engines.source.ir.known_functions import (
    AND,
    COMPARISONS,
    DIVIDE,
    MULTIPLY,
    OR,
    REMAINDER,
    SELECT,
    function_of,
)
from contad.engines.source.ir.ssa import FLOAT, Check, Value
from contad.engines.source.reading import shape_calls  # noqa: F401  (the reader of flatten)
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.call_site import COMPLEX_READERS, METHODS, READERS, CallSite, is_none
from contad.engines.source.reading.complex_numbers import ZERO, ComplexNumbers, has_axes, join, promote
from contad.engines.source.reading.reader import Reader

Read = Callable[[Any, CallSite], Any]  # reads a function of real numbers and arrays
_DTYPES = (
    complex, np.complex128, types.complex128, np.dtype(np.complex128), "complex128", "complex", "c16", "D",
    np.complex64, types.complex64, np.dtype(np.complex64), "complex64", "c8", "F",  # which have all digits here
)  # fmt: skip
_MAKERS = (complex, np.complex128)
_ODD = "ValueError", "new type not compatible with array"
_ALSO_REAL = (np.conj, np.real, np.imag, np.angle)
_CMATH = tuple(x for x in vars(cmath).values() if callable(x))


def is_dtype(entry: Any) -> bool:
    """Whether an entry names the type of complex numbers."""
    return isinstance(entry, Object) and any(entry.value is x or (x == entry.value) is True for x in _DTYPES)


def concerns(called: Any, site: CallSite) -> bool:
    """Whether a call of a library function takes or gives complex numbers."""
    given = [*site.arguments, *site.keywords.values()]
    if isinstance(called, Method):
        if called.name in ("conj", "conjugate"):
            return True
        given.append(called.array)
    elif any(called is x for x in (*_MAKERS, *_CMATH, *_ALSO_REAL)):
        return True
    return any(_holds(x) or is_dtype(x) for x in given)


def _holds(entry: Any) -> bool:
    """Whether an entry is, or contains, a complex number or array."""
    if isinstance(entry, Complex):
        return True
    return isinstance(entry, tuple) and any(map(_holds, entry))


def read_attribute(reader: Reader, x: Complex, name: str) -> Any:
    """An attribute or a method of a complex number or array."""
    numbers = reader.complex
    if name in ("real", "imag"):
        return numbers.part(x, name)
    if not has_axes(x):
        return Method(x, name)
    if name == "shape":
        return tuple(numbers.shape(x))
    if name == "T":
        x = numbers.compute(x)
        return x if x.real.kind.ndim == 1 else join(reader.builder.view(part, None) for part in x)
    if name in ("ndim", "size"):
        x = numbers.compute(x)
        return constant(x.real.kind.ndim) if name == "ndim" else reader.arrays.size(x.real)
    return Object(np.dtype(np.complex128)) if name == "dtype" else Method(x, name)


def read_method(site: CallSite, method: Method, read: Read) -> Any:
    """The result of a method call."""
    x, name = method.array, method.name
    function = getattr(np, name, None) if name != "astype" else np.asarray
    if name == "view" and site.only() is not None:
        return _view_as(site, x, site.only())
    if isinstance(x, Complex) and name == "fill" and site.only() is not None:
        site.reader.complex.fill(x, site.only(), site.node)
        return Object(None)
    if isinstance(x, Complex) and name == "item" and not site.arguments and not has_axes(x):
        return x
    if name == "flatten":
        function = METHODS["flatten"]
    if not (isinstance(x, (Complex, Value)) or is_array(x)):
        site.refuse("a list of complex numbers", "write into an array, as np.zeros(n, np.complex128)")
    if function is None or name in ("sort", "partition"):
        site.refuse(f"the method .{name} of a complex array", "write it as a loop")
    again = site.with_arguments(x, *site.arguments, **site.keywords)
    found = read_call(again, function, read)
    return site.reader.complex.copy(found) if name == "astype" and has_axes(found) else found


def _view_as(site: CallSite, x: Any, dtype: Any) -> Any:
    """x.view(dtype): of floats a view of every other element; of complex numbers a copy, which nobody may write."""
    even, odd = ([constant(k), None, constant(2)] for k in range(2))
    if is_dtype(dtype) and isinstance(x, Complex):
        return x
    if is_dtype(dtype) and isinstance(x, Value) and x.is_array and x.kind.base == "float":
        rest, length = [WHOLE] * (x.kind.ndim - 1), site.builder.length(x, x.kind.ndim - 1)
        odd_one = site.apply(REMAINDER, length, constant(2))
        site.builder.add(Check(site.apply(COMPARISONS["Eq"], odd_one, constant(1)), _ODD))
        return join(site.builder.view(x, [*rest, tuple(part)]) for part in (even, odd))
    if isinstance(x, Complex) and has_axes(x) and site.dtype(dtype) == "float":
        z = site.reader.complex.compute(x)
        operations, shape = site.builder.block.operations, site.arrays.shape(z.real)
        before = len(operations)
        made = site.builder.create("empty", [*shape[:-1], site.apply(MULTIPLY, shape[-1], constant(2))], "float")
        rest = [WHOLE] * (len(shape) - 1)
        for part, place in zip(z, (even, odd), strict=True):
            site.arrays.fill(site.builder.view(made, [*rest, tuple(place)]), part, site.node)
        for part in z:
            site.reader.merging.fresh.copies.add(part, made, operations[before:], site.progress.line)
        return made
    return site.refuse("the method .view in {node}", "give np.complex128 or np.float64")


def read_call(site: CallSite, function: Any, read: Read) -> Any:
    """The result of a function; `read` reads one of real numbers and arrays."""
    special = COMPLEX_READERS.get(function)
    if special is not None:
        return special(site)
    if any(function is f for f in _BY_PARTS):
        return _by_parts(site, function, read)
    name = getattr(function, "__name__", str(function))
    return site.refuse(f"the call of {name!r} with complex numbers", "write it with +, -, *, / or real functions")


_LINEAR = (
    "cumsum diff reshape ravel transpose roll concatenate stack vstack hstack column_stack flip flipud fliplr "
    "expand_dims atleast_1d atleast_2d trace diag repeat swapaxes ascontiguousarray squeeze take tile "
    "append triu tril broadcast_to ediff1d"
)
_BY_PARTS: list[Any] = [*(getattr(np, name) for name in _LINEAR.split()), METHODS["flatten"]]


def _by_parts(site: CallSite, function: Any, read: Read) -> Complex:
    """A function that maps real parts to the real part of the result, and imaginary ones likewise."""
    numbers = site.reader.complex

    def split(x: Any, name: str) -> Any:
        if isinstance(x, Complex):
            return getattr(x, name)
        if isinstance(x, tuple):
            return tuple(split(part, name) for part in x)
        is_zero = name == "imag" and (is_array(x) or (is_number(x) and x.kind == FLOAT))
        return site.apply(MULTIPLY, x, ZERO) if is_zero else x

    def settle(x: Any) -> Any:
        if isinstance(x, Complex):
            return numbers.compute(x)
        return tuple(map(settle, x)) if isinstance(x, tuple) else x

    given = [settle(x) for x in site.arguments]
    found = []
    for name in ("real", "imag"):
        again = site.with_arguments(*(split(x, name) for x in given), **site.keywords)
        found.append(read(function, again) if function is not METHODS["flatten"] else function(again))
    return join(found)


def reads_complex(
    names: str | None, *functions: Any, **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function read calls of these functions; it gets the site, the arguments by these names, and the facts."""

    def declare(read: Callable[..., Any]) -> Callable[..., Any]:
        def take(site: CallSite) -> Any:
            return read(site, *(site.arguments if names is None else site.take(names)), **facts)

        COMPLEX_READERS.update(dict.fromkeys(functions, take))
        return read

    return declare


def take_complex(site: CallSite, x: Any) -> Complex:
    """An argument as a complex one."""
    found = promote(site.builder, x)
    if not isinstance(found, Complex):
        site.refuse("{node} of something that is no number or array", "give numbers and arrays")
    return found


# ---- new numbers and arrays ------------------------------------------------------------------------------------------
@reads_complex("real imag", complex, np.complex128)
def _make(site: CallSite, real: Any, imag: Any) -> Complex:
    x, y = take_complex(site, real), Complex(ZERO, ZERO) if imag is None else take_complex(site, imag)
    if has_axes(x) or has_axes(y):
        site.refuse("{node} of an array", "use .astype(np.complex128), or a + 1j * b")
    numbers = site.reader.complex
    return Complex(numbers.minus(x.real, y.imag), numbers.plus(x.imag, y.real))


@reads_complex("shape dtype", np.zeros, fill="zeros")
@reads_complex("shape dtype", np.ones, fill="ones")
@reads_complex("shape dtype", np.empty, fill="empty")
def _create(site: CallSite, shape: Any, dtype: Any, fill: str) -> Complex:
    return site.reader.complex.create(fill, site.lengths(shape))


@reads_complex("a dtype", np.zeros_like, fill="zeros")
@reads_complex("a dtype", np.ones_like, fill="ones")
@reads_complex("a dtype", np.empty_like, fill="empty")
def _create_like(site: CallSite, a: Any, dtype: Any, fill: str) -> Any:
    """A new array with the shape of another one; one of them is complex."""
    numbers = site.reader.complex
    if (not isinstance(a, Complex) and not is_array(a)) or (isinstance(a, Complex) and not has_axes(a)):
        site.refuse("{node} of something that is no array", "give an array")
    shape = numbers.shape(numbers.compute(a)) if isinstance(a, Complex) else site.arrays.shape(a)
    if dtype is None or is_dtype(dtype):
        return numbers.create(fill, shape)
    return site.builder.create(fill, shape, site.dtype(dtype))


@reads_complex("shape fill_value dtype", np.full)
def _full(site: CallSite, shape: Any, value: Any, dtype: Any) -> Complex:
    if not is_none(dtype) and not is_dtype(dtype):
        site.refuse("the dtype in {node}", "use np.complex128")
    made = site.reader.complex.create("empty", site.lengths(shape))
    site.reader.complex.fill(made, value, site.node)
    return made


@reads_complex("a fill_value dtype", np.full_like)
def _full_like(site: CallSite, a: Any, value: Any, dtype: Any) -> Complex:
    numbers = site.reader.complex
    if isinstance(a, Complex) and not is_none(dtype) and not is_dtype(dtype):
        site.refuse("the dtype in {node}", "use np.complex128")
    if not isinstance(a, Complex) and not is_dtype(dtype):
        site.refuse("{node}, which drops imaginary parts", "give dtype=np.complex128")
    made = _create_like(site, a, dtype, "empty")
    numbers.fill(made, value, site.node)
    return made


@reads_complex("N M k dtype", np.eye)
@reads_complex("N dtype", np.identity)
def _identity(site: CallSite, n: Any, *given: Any) -> Complex:
    *others, dtype = given
    if not is_dtype(dtype) or not all(map(is_none, others)):
        site.refuse(remedy="give the number of rows and the dtype")
    numbers = site.reader.complex
    made = numbers.create("zeros", [*site.lengths(n)] * 2)
    one = Complex(constant(1.0), ZERO)
    site.arrays.over(site.arrays.shape(made.real)[:1], lambda at: numbers.put(made, [at[0], at[0]], one))
    return made


@reads_complex("a dtype", np.asarray)
@reads_complex("a dtype", np.array)
def _array(site: CallSite, given: Any, dtype: Any) -> Complex:
    """np.array of a list of numbers, or of lists of them; for an array, its copy."""
    if not is_none(dtype) and not is_dtype(dtype):
        site.refuse("{node}, which drops imaginary parts", "take .real")
    numbers = site.reader.complex
    if isinstance(given, Complex) or is_array(given):
        x = take_complex(site, given)
        if not has_axes(x):
            site.refuse("{node} of a number", "give an array")
        return numbers.copy(x)
    rows = [x if _is_row(x) else (x,) for x in given] if _is_row(given) else []
    nested = bool(rows) and all(map(_is_row, given))
    holds_arrays = any(has_axes(take_complex(site, x)) for row in rows for x in row)
    if not rows or len({len(row) for row in rows}) != 1 or holds_arrays:
        site.refuse("{node}", "give a list of numbers, or of lists of numbers of one length")
    lengths = [len(rows), len(rows[0])] if nested else [len(rows)]
    made = numbers.create("empty", list(map(constant, lengths)))
    for k, row in enumerate(rows):
        for j, x in enumerate(row):
            numbers.put(made, [constant(k), constant(j)][: len(lengths)], take_complex(site, x))
    return made


def _is_row(x: Any) -> bool:
    return isinstance(x, tuple) and not isinstance(x, Complex)


@reads_complex("a", np.copy)
def _copy(site: CallSite, a: Any) -> Complex:
    return site.reader.complex.copy(take_complex(site, a))


@reads_complex("x", len)
def _length(site: CallSite, x: Any) -> Any:
    if not isinstance(x, Complex):
        return constant(len(x))
    return site.reader.complex.shape(x)[0] if has_axes(x) else site.refuse("{node}")


@reads_complex("x y", divmod)
@reads_complex(None, max, min)
def _refuse(site: CallSite, *given: Any) -> Any:
    site.refuse("{node} of complex numbers", "give real numbers")


@reads_complex("iterable start", enumerate)
@reads_complex(None, zip)
def _iterate(site: CallSite, *given: Any) -> Any:
    return READERS[zip if site.node.func.id == "zip" else enumerate](site)  # type: ignore[attr-defined]


# ---- parts -----------------------------------------------------------------------------------------------------------
@reads_complex("x", np.real, name="real")
@reads_complex("x", np.imag, name="imag")
def _part(site: CallSite, x: Any, name: str) -> Any:
    if name == "real" and (is_number(x) or is_array(x)):
        return x
    return site.reader.complex.part(take_complex(site, x), name)


@reads_complex(None, np.conj)
def _conjugate(site: CallSite, *given: Any) -> Any:
    x, *out = _operands(site, 1)
    is_real = is_number(x) or is_array(x)
    return _into(site, x if is_real else site.reader.complex.conjugate(take_complex(site, x)), out)


@reads_complex(None, abs, np.absolute)
def _modulus(site: CallSite, *given: Any) -> Any:
    x, *out = _operands(site, 1)
    return _into(site, site.reader.complex.modulus(take_complex(site, x)), out)


@reads_complex("z deg", np.angle, cmath.phase)
def _angle(site: CallSite, x: Any, deg: Any) -> Any:
    """In radians, or in degrees."""
    found = site.reader.complex.angle(take_complex(site, x))
    if deg is None or (is_number(deg) and not deg.constant and deg.constant is not None):
        return found
    if not is_number(deg) or deg.constant is None:
        site.refuse("the argument deg of {node}", "give it as a constant")
    return site.apply(MULTIPLY, found, constant(180.0 / np.pi))


@reads_complex("x", cmath.polar)
def _polar(site: CallSite, x: Any) -> Any:
    z, numbers = take_complex(site, x), site.reader.complex
    return numbers.modulus(z), numbers.angle(z)


@reads_complex("r phi", cmath.rect)
def _rect(site: CallSite, r: Any, phi: Any) -> Complex:
    numbers = site.reader.complex
    if not (is_number(r) and is_number(phi)):
        site.refuse("{node}", "give two real numbers")
    return numbers.multiply(take_complex(site, r), numbers.exp(Complex(ZERO, site.builder.as_float(phi))))


# ---- elementwise functions -------------------------------------------------------------------------------------------
_LOGARITHMS = {"log10": 1.0 / np.log(10.0), "log2": 1.0 / np.log(2.0)}


def _logarithm(numbers: ComplexNumbers, x: Complex, name: str) -> Complex:
    return Complex(*(numbers.times(part, constant(_LOGARITHMS[name])) for part in numbers.log(x)))


_ELEMENTWISE: dict[str, Callable[[ComplexNumbers, Complex], Any]] = {
    "exp": ComplexNumbers.exp, "log": ComplexNumbers.log, "sqrt": ComplexNumbers.sqrt,
    "cos": ComplexNumbers.cos, "sin": ComplexNumbers.sin, "tan": ComplexNumbers.tan,
    "arccos": ComplexNumbers.arccos, "arcsin": ComplexNumbers.arcsin, "arctan": ComplexNumbers.arctan,
    "cosh": ComplexNumbers.cosh, "sinh": lambda numbers, x: numbers.turn(numbers.sin, x),
    "tanh": lambda numbers, x: numbers.turn(numbers.tan, x),
    "arcsinh": lambda numbers, x: numbers.turn(numbers.arcsin, x),
    "arctanh": lambda numbers, x: numbers.turn(numbers.arctan, x),
    "negative": ComplexNumbers.negative, "positive": lambda numbers, x: x,
    "square": lambda numbers, x: numbers.multiply(x, x),
    "exp2": lambda numbers, x: numbers.exp(Complex(*(numbers.times(part, constant(np.log(2.0))) for part in x))),
    "expm1": ComplexNumbers.expm1,
    "log1p": lambda numbers, x: numbers.log(Complex(numbers.plus(x.real, constant(1.0)), x.imag)),
    "reciprocal": lambda numbers, x: numbers.divide(Complex(constant(1.0), ZERO), x),
    **{name: functools.partial(_logarithm, name=name) for name in _LOGARITHMS},
}  # fmt: skip
_IN_CMATH = {"arccos": "acos", "arcsin": "asin", "arctan": "atan", "arcsinh": "asinh", "arctanh": "atanh"}
_BINARY = {
    "add": "Add", "subtract": "Sub", "multiply": "Mult", "divide": "Div", "power": "Pow", "equal": "Eq",
    "not_equal": "NotEq", "matmul": "MatMult",
}  # fmt: skip


def _elementwise(site: CallSite, function: Callable[[ComplexNumbers, Complex], Any]) -> Any:
    x, *out = _operands(site, 1)
    return _into(site, function(site.reader.complex, take_complex(site, x)), out)


def _operands(site: CallSite, count: int) -> list[Any]:
    """The operands of a ufunc, by position, and the array for its result if that is given."""
    given = [*site.arguments, *(x for name, x in site.keywords.items() if name == "out")]
    if len(given) not in (count, count + 1) or len(given) < len(site.arguments) + len(site.keywords):
        site.refuse(remedy="give the numbers only, by position")
    return given


def _into(site: CallSite, found: Any, out: list[Any]) -> Any:
    """The result of a ufunc, in the array for it if that is given."""
    if not out:
        return found
    (array,) = out
    if isinstance(array, Complex) and has_axes(array):
        site.reader.complex.fill(array, found, site.node)
        return array
    return site.refuse() if isinstance(found, Complex) else site.compute_into(array, found)


def _operate(site: CallSite, operator: str) -> Any:
    x, y, *out = _operands(site, 2)
    if out:
        return _into(site, _operate(site.with_arguments(x, y), operator), out)
    if operator in ("Eq", "NotEq"):
        return site.reader.complex.compare(operator, x, y, site.node)
    return site.reader.complex.binary(operator, x, y, site.node)


def _declare(function: Any, read: Callable[..., Any], fact: Any) -> None:
    COMPLEX_READERS[function] = lambda site: read(site, fact)


for _name, _function in _ELEMENTWISE.items():
    _declare(getattr(np, _name), _elementwise, _function)
    if hasattr(cmath, _IN_CMATH.get(_name, _name)):
        _declare(getattr(cmath, _IN_CMATH.get(_name, _name)), _elementwise, _function)
for _name, _operator in _BINARY.items():
    _declare(getattr(np, _name), _operate, _operator)


@reads_complex("condition x y", np.where)
def _where(site: CallSite, condition: Any, x: Any, y: Any) -> Complex:
    a, b = take_complex(site, x), take_complex(site, y)
    if not (is_number(condition) or is_array(condition)):
        site.refuse("{node}", "give a condition and two numbers or arrays")
    return Complex(*(site.apply(SELECT, condition, p, q) for p, q in zip(a, b, strict=True)))


# ---- reductions and products -----------------------------------------------------------------------------------------
@reads_complex("a axis", np.sum, is_mean=False)
@reads_complex("a axis", np.mean, is_mean=True)
def _sum(site: CallSite, a: Any, axis: Any, is_mean: bool) -> Complex:
    """The sum or mean of all elements, in one loop, or along an axis."""
    x, numbers = take_complex(site, a), site.reader.complex
    if not has_axes(x):
        site.refuse("{node} of something that is no array", "give an array")
    if axis is not None:
        function = np.mean if is_mean else np.sum
        return join(site.again(function, part, axis=axis) for part in numbers.compute(x))
    found = numbers.total(x)
    if not is_mean:
        return found
    size = constant(1)
    for length in numbers.shape(x):
        size = length if size.constant == 1 else site.apply(MULTIPLY, size, length)
    return Complex(*(part if part is ZERO else site.apply(DIVIDE, part, size) for part in found))


@reads_complex("a", np.prod)
def _product(site: CallSite, a: Any) -> Complex:
    x = take_complex(site, a)
    return site.reader.complex.running_product(x) if has_axes(x) else site.refuse("{node}", "give an array")


@reads_complex("a", np.var, is_root=False)
@reads_complex("a", np.std, is_root=True)
def _variance(site: CallSite, a: Any, is_root: bool) -> Any:
    """The mean of |a - mean|^2, or its root."""
    numbers, x = site.reader.complex, take_complex(site, a)
    x = numbers.copy(x) if any(map(is_number, x)) else numbers.compute(x)
    centred = numbers.binary("Sub", x, _sum(site, x, None, True), site.node)
    found = site.again(np.mean, numbers.squared_modulus(centred))
    return numbers.by("sqrt", found) if is_root else found


@reads_complex("y x dx", np.trapezoid)
def _trapezoid(site: CallSite, y: Any, x: Any, dx: Any) -> Complex:
    """Of complex values at real points."""
    values = take_complex(site, y)
    values = site.reader.complex.copy(values) if any(map(is_number, values)) else site.reader.complex.compute(values)
    if isinstance(x, Complex):
        site.refuse("{node} along complex points", "multiply by differences, and add")
    given = {name: v for name, v in (("x", x), ("dx", dx)) if not is_none(v)}
    return join(site.again(np.trapezoid, part, **given) for part in values)


@reads_complex("start stop num", np.linspace)
def _linspace(site: CallSite, start: Any, stop: Any, count: Any) -> Complex:
    ends = [take_complex(site, x) for x in (start, stop)]
    rest = [] if is_none(count) else [count]
    return join(site.again(np.linspace, x, y, *rest) for x, y in zip(*ends, strict=True))


@reads_complex("a v mode", np.convolve, function=np.convolve)
@reads_complex("a v mode", np.correlate, function=np.correlate)
def _convolve(site: CallSite, a: Any, v: Any, mode: Any, function: Any) -> Complex:
    """By four real ones; correlate conjugates v."""
    numbers = site.reader.complex
    x, y = (take_complex(site, z) for z in (a, v))
    y = numbers.conjugate(y) if function is np.correlate else y
    given = {} if is_none(mode) else {"mode": mode}

    def join_real(p: Any, q: Any) -> Any:
        if p is ZERO or q is ZERO:
            return ZERO
        return site.again(function, site.arrays.compute(p), site.arrays.compute(q), **given)

    return numbers.compute(Complex(
        numbers.minus(join_real(x.real, y.real), join_real(x.imag, y.imag)),
        numbers.plus(join_real(x.real, y.imag), join_real(x.imag, y.real)),
    ))  # fmt: skip


@reads_complex("a", np.cumprod)
def _running_products(site: CallSite, a: Any) -> Complex:
    """The products of all elements up to each one of a vector."""
    x, numbers = take_complex(site, a), site.reader.complex
    x = numbers.copy(x)
    if x.real.kind.ndim != 1:
        site.refuse("{node} of an array with several axes", "give a vector")
    one = Complex(constant(1.0), ZERO)

    def multiply(k: Value, *before: Value) -> list[Value]:
        found = numbers.multiply(Complex(*before), numbers.elements(x, [k]))
        numbers.put(made, [k], found)
        return [*found]

    made = numbers.create("empty", numbers.shape(x))
    site.builder.repeat(numbers.shape(x)[0], multiply, [*one])
    return made


@reads_complex("iterable start", sum)
def _sum_of(site: CallSite, given: Any, start: Any) -> Any:
    """The builtin sum, of a tuple, a list display or a vector."""
    total: Any = constant(0) if start is None else start
    if isinstance(given, Complex):
        return site.reader.complex.binary("Add", total, _sum(site, given, None, False), site.node)
    for x in given:
        total = site.reader.binary("Add", total, x, site.node)
    return total


@reads_complex("a b", np.dot)
def _dot(site: CallSite, a: Any, b: Any) -> Complex:
    return site.reader.complex.binary("MatMult", a, b, site.node)


@reads_complex("a b", np.vdot)
def _vdot(site: CallSite, a: Any, b: Any) -> Any:
    """The sum of conj(a) b of two vectors, in one loop."""
    x, y, numbers = take_complex(site, a), take_complex(site, b), site.reader.complex
    if not (has_axes(x) and has_axes(y)) or any(v.kind.ndim > 1 for v in (*x, *y)):
        site.refuse("{node} of something that is no vector", "give vectors")
    return numbers.total(numbers.multiply(numbers.conjugate(x), y))


@reads_complex("a b", np.outer)
def _outer(site: CallSite, a: Any, b: Any) -> Any:
    x, y, numbers = take_complex(site, a), take_complex(site, b), site.reader.complex
    if not (has_axes(x) and has_axes(y)) or any(v.kind.ndim > 1 for v in (*x, *y)):
        site.refuse("{node} of something that is no vector", "give vectors")
    whole, new = (None, None, None), "None"
    x, y = (numbers.copy(v) if any(map(is_number, v)) else numbers.compute(v) for v in (x, y))
    return numbers.compute(numbers.multiply(numbers.view(x, [whole, new]), numbers.view(y, [new, whole])))


def _test(site: CallSite, function: Any) -> Any:
    """isnan, isinf or isfinite of the parts."""
    found = function_of(function)
    assert found is not None
    parts = [site.apply(found, part) for part in take_complex(site, site.only())]
    return site.apply(AND if function is np.isfinite else OR, *parts)


for _name in ("isnan", "isinf", "isfinite"):
    for _home in (np, cmath):
        _declare(getattr(_home, _name), _test, getattr(np, _name))
