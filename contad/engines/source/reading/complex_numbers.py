"""Complex numbers and arrays of them, as pairs of real ones: their arithmetic, their elements, writes into them.

A part that is the constant 0.0 takes part in no operation. So a product with 1j costs nothing, and a real operand costs
as much as in real arithmetic.
"""

import ast
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions, ssa
from contad.engines.source.ir.entries import ArrayOfComplex, Complex, Elementwise, constant, is_array, is_number
from contad.engines.source.ir.known_functions import (
    ADD,
    COMPARISONS,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    NEGATIVE,
    SQUARE,
    SUBTRACT,
    function_of,
)
from contad.engines.source.ir.lengths import order_of
from contad.engines.source.reading.builder import Builder
from contad.engines.source.reading.elementwise import WholeArrays, arrays_of, is_unit
from contad.ops import holomorphic

ZERO, HALF = constant(0.0), constant(0.5)
_MOST_FACTORS = 64  # of a power by an integer, which is a product
_SMALLEST, _LARGEST = 1e-280, 1e280  # of a squared modulus that is divided by
_BY_ZERO = "ZeroDivisionError", "complex division by zero"
_EXTREME = ssa.limit("a division by a complex number that is extremely large or small")


def join(parts: Iterable[Any]) -> Complex:
    """Two numbers or two arrays of one shape, with memory, as a complex one."""
    x, y = parts
    return (Complex if is_number(x) else ArrayOfComplex)(x, y)


def has_axes(x: Complex) -> bool:
    """Whether it is an array or an array expression."""
    return is_array(x.real) or is_array(x.imag)


def promote(builder: Builder, entry: Any) -> Any:
    """A number, an array or an array expression as a complex one; other entries unchanged."""
    if not (is_number(entry) or is_array(entry)):
        return entry
    if is_number(entry) and entry.constant is not None:
        return Complex(constant(float(entry.constant)), ZERO)
    return Complex(builder.as_float(entry), ZERO)


def square_of_modulus(builder: Builder, x: Any) -> Any:
    """x ** 2 for x = hypot(a, b), without the root; None for any other x."""
    if isinstance(x, Elementwise) and x.function.name == "hypot":
        a, b = x.operands
    elif isinstance(x, ssa.Value) and isinstance(x.operation, ssa.Apply) and x.operation.function.name == "hypot":
        a, b = x.operation.inputs
    else:
        return None
    return builder.apply(ADD, builder.apply(SQUARE, a), builder.apply(SQUARE, b))


class ComplexNumbers:
    """Computes with complex numbers, arrays and array expressions."""

    def __init__(self, arrays: WholeArrays) -> None:
        self.arrays, self.builder, self.progress = arrays, arrays.builder, arrays.progress
        self.apply = arrays.builder.apply

    # ---- parts -------------------------------------------------------------------------------------------------------
    def times(self, x: Any, y: Any) -> Any:
        """x y of real parts."""
        for a, b in ((x, y), (y, x)):
            if _is(a, 0.0):
                return ZERO
            if _is(a, 1.0):
                return b
            if _is(a, -1.0):
                return self.minus(ZERO, b)
        return self.apply(MULTIPLY, x, y)

    def plus(self, x: Any, y: Any) -> Any:
        """x + y of real parts."""
        return y if _is(x, 0.0) else x if _is(y, 0.0) else self.apply(ADD, x, y)

    def minus(self, x: Any, y: Any) -> Any:
        """x - y of real parts."""
        if _is(y, 0.0):
            return x
        if _is(x, 0.0):
            return constant(-y.constant) if _is_constant(y) else self.apply(NEGATIVE, y)
        return self.apply(SUBTRACT, x, y)

    def squared_modulus(self, z: Complex) -> Any:
        """|z|^2."""
        x, y = (ZERO if _is(part, 0.0) else self.apply(SQUARE, part) for part in z)
        return self.plus(x, y)

    # ---- operators ---------------------------------------------------------------------------------------------------
    def binary(self, operator: str, x: Any, y: Any, node: ast.AST) -> Any:
        """x operator y, one of which is complex."""
        given = x, y
        x, y = promote(self.builder, x), promote(self.builder, y)
        if not (isinstance(x, Complex) and isinstance(y, Complex)):
            what = "the operator in {node} on something that is no number or array"
            self.progress.refuse(node, what, "give numbers and arrays")
        if operator == "Add":
            return Complex(self.plus(x.real, y.real), self.plus(x.imag, y.imag))
        if operator == "Sub":
            return Complex(self.minus(x.real, y.real), self.minus(x.imag, y.imag))
        if operator == "Mult":
            return self.multiply(x, y)
        if operator == "Div":
            return self.divide(x, y)
        if operator == "Pow":
            return self.power(x, given[1], node)
        if operator == "MatMult":
            return self.product(x, y, node)
        return self.progress.refuse(node, f"the operator {operator} on complex numbers", "give real numbers")

    def multiply(self, x: Complex, y: Complex) -> Complex:
        """x y."""
        if x is y:
            cross = self.times(x.real, x.imag)
            return Complex(self.minus(self.times(x.real, x.real), self.times(x.imag, x.imag)), self.plus(cross, cross))
        return Complex(
            self.minus(self.times(x.real, y.real), self.times(x.imag, y.imag)),
            self.plus(self.times(x.real, y.imag), self.times(x.imag, y.real)),
        )

    def divide(self, x: Complex, y: Complex) -> Complex:
        """x / y; raises where the user's function raises."""
        if _is(y.imag, 0.0):
            return Complex(*(ZERO if _is(part, 0.0) else self.builder.divide(DIVIDE, part, y.real) for part in x))
        if _is(y.real, 0.0):
            a, b = (ZERO if _is(part, 0.0) else self.builder.divide(DIVIDE, part, y.imag) for part in x)
            return Complex(b, self.minus(ZERO, a))
        return self.multiply(x, self.reciprocal(y))

    def reciprocal(self, y: Complex) -> Complex:
        """1 / y, as conj(y) / |y|^2."""
        by, scale = self.squared_modulus(y), ZERO
        if is_number(by) and self.builder.is_zero(by) is not None:  # the divisor is tested in any case
            self.builder.add(ssa.Check(self.compare("Eq", y, ZERO, ast.Pass()), _BY_ZERO))
            outside = [self.apply(COMPARISONS[c], by, constant(x)) for c, x in (("Lt", _SMALLEST), ("Gt", _LARGEST))]
            self.builder.add(ssa.Check(self.apply(known_functions.OR, *outside), _EXTREME))
        else:  # the result does not depend on the scale, so that its derivative may be dropped
            largest = self.apply(known_functions.MAXIMUM, *(self.apply(known_functions.ABSOLUTE, v) for v in y))
            scale = self.apply(CONSTANT, self.apply(DIVIDE, constant(1.0), largest))
            y = Complex(*(self.times(part, scale) for part in y))
            by = self.squared_modulus(y)
        inverse = self.apply(known_functions.CHECKED_DIVIDE, constant(1.0), by)
        if scale is not ZERO:
            inverse = self.times(scale, inverse)
        return Complex(self.times(y.real, inverse), self.minus(ZERO, self.times(y.imag, inverse)))

    def power(self, x: Complex, y: Any, node: ast.AST) -> Complex:
        """x ** y: a product for a constant integer, else r^y (cos y t + i sin y t)."""
        n = y.constant if is_number(y) else None
        if n is not None and float(n).is_integer() and abs(n) <= _MOST_FACTORS:
            found = self._multiply_repeatedly(x, int(abs(n)))
            return found if n >= 0 else self.divide(Complex(constant(1.0), ZERO), found)
        y = promote(self.builder, y)
        if not isinstance(y, Complex):
            self.progress.refuse(node, "the exponent in {node}", "give a number")
        if n == 0.5:
            return self.sqrt(x)
        return self.exp(self.multiply(y, self.log(x)))

    def _multiply_repeatedly(self, x: Complex, n: int) -> Complex:
        """x multiplied n times, by squaring."""
        found: Complex | None = None
        while n:
            if n & 1:
                found = x if found is None else self.multiply(found, x)
            n >>= 1
            x = self.multiply(x, x) if n else x
        return Complex(constant(1.0), ZERO) if found is None else found

    def negative(self, x: Complex) -> Complex:
        return Complex(self.minus(ZERO, x.real), self.minus(ZERO, x.imag))

    def conjugate(self, x: Complex) -> Complex:
        return Complex(x.real, self.minus(ZERO, x.imag))

    def compare(self, operator: str, x: Any, y: Any, node: ast.AST) -> Any:
        """x == y or x != y."""
        x, y = promote(self.builder, x), promote(self.builder, y)
        if operator not in ("Eq", "NotEq") or not (isinstance(x, Complex) and isinstance(y, Complex)):
            self.progress.refuse(node, "the comparison {node} of complex numbers", "compare their real parts or moduli")
        parts = [self.apply(COMPARISONS[operator], a, b) for a, b in zip(x, y, strict=True)]
        return self.apply(known_functions.AND if operator == "Eq" else known_functions.OR, *parts)

    # ---- functions ---------------------------------------------------------------------------------------------------
    def by(self, name: str, *operands: Any) -> Any:
        """A real function of parts, by its name in NumPy."""
        function = function_of(getattr(np, name))
        assert function is not None
        return self.apply(function, *operands)

    def by_rule(self, rule: Any, x: Complex) -> Any:
        """A rule of two real numbers."""
        function = function_of(rule)
        assert function is not None
        return self.apply(function, *x)

    def modulus(self, x: Complex) -> Any:
        """|x|."""
        for part, other in ((x.real, x.imag), (x.imag, x.real)):
            if _is(other, 0.0):
                return self.apply(known_functions.ABSOLUTE, part)
        return self.by("hypot", *x)

    def angle(self, x: Complex) -> Any:
        """The angle of x with the positive axis."""
        return self.by("arctan2", x.imag, x.real)

    def exp(self, x: Complex) -> Complex:
        """e^x = e^a (cos b + i sin b)."""
        if _is(x.imag, 0.0):
            return Complex(self.by("exp", x.real), ZERO)
        turned = Complex(self.by("cos", x.imag), self.by("sin", x.imag))
        return turned if _is(x.real, 0.0) else self.multiply(Complex(self.by("exp", x.real), ZERO), turned)

    def expm1(self, x: Complex) -> Complex:
        """e^x - 1 = (e^a - 1) cos b - 2 sin^2(b / 2) + i e^a sin b."""
        half = self.by("sin", self.times(x.imag, HALF))
        less = self.times(constant(2.0), self.times(half, half))
        real = self.minus(self.times(self.by("expm1", x.real), self.by("cos", x.imag)), less)
        return Complex(real, self.times(self.by("exp", x.real), self.by("sin", x.imag)))

    def log(self, x: Complex) -> Complex:
        """log x = log |x| + i angle."""
        return Complex(self.by_rule(holomorphic.log_abs, x), self.angle(x))

    def sqrt(self, x: Complex) -> Complex:
        """The root with a real part that is not negative; on the cut, the sign of a zero decides.

        With t = sqrt((|x| + |a|) / 2) and w = b / (2 t) it is t + i w for a >= 0, and |w| + i t sign(b) otherwise.
        """
        a, b = x
        if _is(b, 0.0):
            b = constant(0.0)
        right = self.apply(COMPARISONS["GtE"], a, ZERO)
        size = self.apply(known_functions.SELECT, right, a, self.minus(ZERO, a))  # |a|, with the slope of its side at 0
        t = self.by("sqrt", self.times(HALF, self.plus(self.modulus(x), size)))
        empty = self.apply(COMPARISONS["Eq"], t, ZERO)
        w = self.apply(DIVIDE, self.times(HALF, b), self.apply(known_functions.SELECT, empty, constant(1.0), t))
        sign = self.by("copysign", constant(1.0), b)
        return Complex(
            self.apply(known_functions.SELECT, right, t, self.apply(MULTIPLY, w, sign)),
            self.apply(known_functions.SELECT, right, w, self.apply(MULTIPLY, t, sign)),
        )

    def tan(self, x: Complex) -> Complex:
        """tan x."""
        return Complex(self.by_rule(holomorphic.tan_real, x), self.by_rule(holomorphic.tan_imag, x))

    def arcsin(self, x: Complex) -> Complex:
        """arcsin x."""
        return Complex(self.by_rule(holomorphic.arcsin_real, x), self.by_rule(holomorphic.arcsin_imag, x))

    def arccos(self, x: Complex) -> Complex:
        """arccos x."""
        imag = self.by_rule(holomorphic.arcsin_imag, x)
        return Complex(self.by_rule(holomorphic.arccos_real, x), self.minus(ZERO, imag))

    def arctan(self, x: Complex) -> Complex:
        """arctan x."""
        return Complex(self.by_rule(holomorphic.arctan_real, x), self.by_rule(holomorphic.arctan_imag, x))

    def turn(self, function: Callable[[Complex], Complex], x: Complex) -> Complex:
        """-i f(i x), which is sinh, tanh, arcsinh or arctanh for f = sin, tan, arcsin or arctan."""
        a, b = function(Complex(self.minus(ZERO, x.imag), x.real))
        return Complex(b, self.minus(ZERO, a))

    def cos(self, x: Complex) -> Complex:
        """cos x = cos a cosh b - i sin a sinh b."""
        a, b = x
        cross = self.times(self.by("sin", a), self.by("sinh", b))
        return Complex(self.times(self.by("cos", a), self.by("cosh", b)), self.minus(ZERO, cross))

    def sin(self, x: Complex) -> Complex:
        """sin x = sin a cosh b + i cos a sinh b."""
        a, b = x
        return Complex(
            self.times(self.by("sin", a), self.by("cosh", b)), self.times(self.by("cos", a), self.by("sinh", b))
        )

    def cosh(self, x: Complex) -> Complex:
        """cosh x = cos(i x)."""
        return self.cos(Complex(self.minus(ZERO, x.imag), x.real))

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def shape(self, x: Complex) -> list[ssa.Value]:
        """The lengths of a complex array or array expression."""
        return self.arrays.shape(_broadcast(x))

    def elements(self, x: Complex, at: list[ssa.Value]) -> Complex:
        """One element."""
        known: dict[int, ssa.Value] = {}
        return Complex(*(self.arrays.element(part, at, known) for part in x))

    def create(self, fill: str, shape: list[ssa.Value], hint: str = "") -> ArrayOfComplex:
        """A new array."""
        real = self.builder.create(fill, shape, "float", f"{hint}_real" if hint else "")
        imag = self.builder.create("zeros" if fill == "ones" else fill, shape, "float", f"{hint}_imag" if hint else "")
        real.order = imag.order = "C"
        return ArrayOfComplex(real, imag)

    def compute(self, x: Complex, hint: str = "") -> Complex:
        """Compute both parts of an array expression in one loop; numbers and arrays are unchanged."""
        return x if isinstance(x, ArrayOfComplex) or not has_axes(x) else self.copy(x, hint)

    def copy(self, x: Complex, hint: str = "") -> ArrayOfComplex:
        """A new array with the same elements."""
        shape = self.shape(x)
        made = self.create("empty", shape, hint)
        self.arrays.over(shape, lambda at: self.put(made, at, self.elements(x, at)))
        return made

    def put(self, array: Complex, at: list[ssa.Value], number: Complex) -> None:
        """array[at] = number."""
        for part, x in zip(array, number, strict=True):
            self.arrays.put(part, at, x)

    def part(self, x: Complex, name: str) -> Any:
        """The real or imaginary part: of an array, in its memory."""
        return getattr(self.compute(x), name)

    def view(self, array: Complex, spec: list[Any]) -> Complex:
        """array[spec], an element or a view."""
        if all(isinstance(part, ssa.Value) for part in spec):
            return Complex(*(self.builder.load(part, spec) for part in array))
        return ArrayOfComplex(*(self.builder.view(part, spec) for part in array))

    def fill(self, array: Complex, entry: Any, node: ast.AST) -> None:
        """array[...] = entry. As in NumPy, all elements are computed before the first one is stored."""
        x = promote(self.builder, entry)
        if not isinstance(x, Complex):
            what = "the assignment to {node} of something that is no number or array"
            self.progress.refuse(node, what, "give numbers and arrays")
        shape = self.arrays.shape(array.real)
        if has_axes(x):
            if _broadcast(x).kind.ndim > len(shape):
                what = "an assignment from an array with more dimensions"
                self.progress.refuse(node, what, "take a part that has as many as the left side")
            written = {root for part in array for root in part.roots}
            if any(not any(a is part for part in array) and set(a.roots) & written for a in arrays_of(x)):
                x = self.copy(x)
            whole, lengths = _broadcast(x), self.shape(x)
            for axis in range(-len(lengths), 0):
                self.arrays.require_equal(constant(1) if is_unit(whole, axis) else shape[axis], lengths[axis])
        self.arrays.over(shape, lambda at: self.put(array, at, self.elements(x, at)))

    def fold(self, parts: list[Any], proxy: Any) -> list[ssa.Value]:
        """The sums of real array expressions, in one loop; `proxy` has their common shape."""
        shape = self.arrays.shape(proxy)

        def nest(indices: list[ssa.Value], totals: list[ssa.Value]) -> list[ssa.Value]:
            if len(indices) == len(shape):
                known: dict[int, ssa.Value] = {}
                terms = [self.arrays.element(part, indices, known) for part in parts]
                return [self.apply(ADD, t, x) for t, x in zip(totals, terms, strict=True)]
            inner = lambda k, *now: nest([*indices, k], [*now])  # noqa: E731
            return self.builder.repeat(shape[len(indices)], inner, totals)

        return nest([], [ZERO] * len(parts))

    def total(self, x: Complex) -> Complex:
        """The sum of all elements."""
        whole = _broadcast(x)
        zeros = [_is(part, 0.0) for part in x]
        sums = iter(self.fold([part for part, zero in zip(x, zeros, strict=True) if not zero], whole))
        return Complex(*(ZERO if zero else next(sums) for zero in zeros))

    def running_product(self, x: Complex) -> Complex:
        """The product of all elements."""
        shape = self.shape(x)

        def nest(indices: list[ssa.Value], found: Complex) -> list[ssa.Value]:
            if len(indices) == len(shape):
                return [*self.multiply(found, self.elements(x, indices))]
            inner = lambda k, *now: nest([*indices, k], Complex(*now))  # noqa: E731
            return self.builder.repeat(shape[len(indices)], inner, [*found])

        return Complex(*nest([], Complex(constant(1.0), ZERO)))

    def product(self, a: Complex, b: Complex, node: ast.AST) -> Complex:
        """a @ b."""
        if not (has_axes(a) and has_axes(b)):
            self.progress.refuse(node, "a product of other things than arrays", "make both of them arrays")
        a, b = (x if _is(x.imag, 0.0) else self._for_blas(x) for x in (a, b))

        def join(x: Any, y: Any) -> Any:
            return ZERO if _is(x, 0.0) or _is(y, 0.0) else self.arrays.product(x, y, node)

        if self.progress.loop_depth:
            return self._small_product(a, b, node)
        return self.compute(
            Complex(
                self.minus(join(a.real, b.real), join(a.imag, b.imag)),
                self.plus(join(a.real, b.imag), join(a.imag, b.real)),
            )
        )

    def _for_blas(self, x: Complex) -> Complex:
        """An array whose parts are contiguous: those of an argument are not."""
        found = self.compute(x)
        return found if all(order_of(part) in ("C", "F") for part in found) else self.copy(found)

    def _small_product(self, a: Complex, b: Complex, node: ast.AST) -> Complex:
        """a @ b in one loop for both parts."""
        a, b = self._as_arrays(a), self._as_arrays(b)
        x, y = a.real, b.real
        if max(x.kind.ndim, y.kind.ndim) > 2:
            self.progress.refuse(node, "a product of arrays with more than two dimensions", "write it as a loop")
        inner = self.builder.length(x, x.kind.ndim - 1)
        self.arrays.require_equal(inner, self.builder.length(y, 0))
        rows = [self.builder.length(x, 0)] if x.kind.ndim == 2 else []
        columns = [self.builder.length(y, 1)] if y.kind.ndim == 2 else []

        def entry(row: list[ssa.Value], column: list[ssa.Value]) -> Complex:
            def add_term(k: ssa.Value, *totals: ssa.Value) -> list[ssa.Value]:
                left = Complex(*(v if is_number(v) else self.builder.load(v, [*row, k]) for v in a))
                right = Complex(*(v if is_number(v) else self.builder.load(v, [k, *column]) for v in b))
                return [self.plus(t, p) for t, p in zip(totals, self.multiply(left, right), strict=True)]

            return Complex(*self.builder.repeat(inner, add_term, [ZERO, ZERO]))

        if not rows and not columns:
            return entry([], [])
        made = self.create("empty", rows + columns, "product")
        self.arrays.over(rows + columns, lambda at: self.put(made, at, entry(at[: len(rows)], at[len(rows) :])))
        return made

    def _as_arrays(self, x: Complex) -> Complex:
        """Parts that are arrays, or the constant 0."""
        return Complex(self.arrays.compute(x.real), ZERO) if _is(x.imag, 0.0) else self.compute(x)


def _broadcast(x: Complex) -> Any:
    """An array expression with the shape of both parts together."""
    if x.real is x.imag or is_number(x.imag):
        return x.real
    return x.imag if is_number(x.real) else Elementwise(ADD, [x.real, x.imag])


def _is_constant(x: Any) -> bool:
    return is_number(x) and x.constant is not None


def _is(x: Any, number: float) -> bool:
    """Whether an entry is this constant, with this sign of zero."""
    return _is_constant(x) and x.constant == number and math.copysign(1.0, x.constant) == math.copysign(1.0, number)
