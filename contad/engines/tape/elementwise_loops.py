"""Elementwise operations on arrays of variables and duals.

This file declares only their types: Numba fuses an expression of array operations into one loop over elements, whose
body then uses the operations on scalars.
"""

import operator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numba import types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, overload_by_text, stand_in
from contad.compile.typing_rules import AbstractTemplate, infer_global, signature
from contad.compiled_rules.elementwise_calls import PLAIN
from contad.engines.tape.arrays import ActiveArray, carries, zeros_of
from contad.engines.tape.pairs_of_variables import meets
from contad.engines.tape.variables import Active, ActivePair
from contad.errors import UnsupportedError
from contad.rules.body import ARITHMETIC, COMPARISONS
from contad.rules.scalar_rule import rules

_OPERATORS = {name: getattr(operator, name) for name in (*ARITHMETIC, "neg")}
_UFUNCS = {rule.operator: rule.ufuncs[0] for rule in rules() if rule.operator in ARITHMETIC}
_COMPARISONS = (
    *(getattr(operator, name) for name in COMPARISONS),
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
)
_TESTS = (np.isnan, np.isinf, np.isfinite, np.signbit)


def _declare(function: Any, arity: int, plain: Any) -> None:
    """Give a function of scalars its type on arrays; `plain` is the type of its elements if they are not active."""

    class ElementwiseTyping(AbstractTemplate):
        """The type of the function on arrays."""

        key = function
        metadata: ClassVar = {"target": "cpu"}  # takes precedence over Numba's own, which are for any target

        def generic(self, args: Any, kws: Any) -> Any:
            """The type of the result; None where no array of active elements is among the arguments."""
            if kws or len(args) != arity or not any(isinstance(x, types.Array) for x in args):
                return None
            if any(isinstance(x, (Active, ActivePair)) for x in args) or _have_no_axes(args):
                return None  # Numba's loops accept none of our scalars; see `_beside_arrays` and `_of_element`
            elements = [x.dtype if isinstance(x, types.Array) else x for x in args]
            ndim = max(x.ndim for x in args if isinstance(x, types.Array))
            if meets(*elements):
                kind = self.context.resolve_value_type(function)
                found = kind.get_call_type(self.context, tuple(map(types.unliteral, elements)), {}).return_type
                is_carried = isinstance(found, (Active, ActivePair))
                return signature((ActiveArray if is_carried else types.Array)(found, ndim, "C"), *args)
            active = next((x for x in elements if isinstance(x, Active)), None)
            if active is None or not all(isinstance(x, (Active, *PLAIN)) for x in elements):
                return None
            made = ActiveArray(active, ndim, "C") if plain is None else types.Array(plain, ndim, "C")
            return signature(made, *args)

    infer_global(function, types.Function(ElementwiseTyping))  # NumPy's functions name no module for a look-up


def _have_no_axes(args: Any) -> bool:
    """Whether an operation on these gives a number: no array has axes, and one has active elements."""
    arrays = [x for x in args if isinstance(x, types.Array)]
    return all(x.ndim == 0 for x in arrays) and any(map(carries, arrays))


def _is_constant(rule: Any) -> bool:
    return all(rule.body.literal(k) == 0.0 for k in range(rule.arity))


def _points(zeros: Any) -> Any:
    @njit(**INTERNAL_OPTIONS)
    def point(x: Any) -> Any:
        """A number as an array without axes."""
        made = zeros(())
        made[()] = x
        return made

    return point


_POINT = {active: _points(zeros) for active, zeros in zeros_of.items()}


def _beside_arrays(text: str, names: dict[str, Any], x: Any, y: Any) -> Any:
    """The body of an operation, written as `text`, on an array and an active number; None for other arguments.

    For arrays without axes it is an operation on their elements.
    """
    if _have_no_axes((x, y)):
        elements = [f"{name}[()]" if isinstance(t, types.Array) else name for name, t in (("x", x), ("y", y))]
        return [f"return {text.format(*elements)}"], names
    active = x if isinstance(x, (Active, ActivePair)) else y
    if not isinstance(active, (Active, ActivePair)) or not (isinstance(x, types.Array) or isinstance(y, types.Array)):
        return None
    first, second = ("point(x)", "y") if active is x else ("x", "point(y)")
    return [f"return {text.format(first, second)}"], names | {"point": _POINT[active]}


def _ufunc_beside_arrays(ufunc: Any) -> Any:
    """The replacement for a ufunc: Numba would fuse calls of the ufunc itself, whatever their arguments."""
    text, names = "ufunc({}, {})", {"ufunc": ufunc}
    return stand_in(
        ufunc, "x, y", lambda x, y: _beside_arrays(text, names, x, y) or ([f"return {text.format('x', 'y')}"], names)
    )


def _of_element(function: Any) -> None:
    """Let a function of one number accept an array without axes."""
    add_overload(function)(lambda x: (lambda x: function(x[()])) if _have_no_axes((x,)) else None)


UFUNCS: dict[Any, Any] = {}  # ufunc of two arguments -> its replacement in a differentiated function
for _rule in rules():
    _element = types.float64 if _is_constant(_rule) else None
    _declared = [u for u in _rule.ufuncs if not isinstance(u, str)]
    UFUNCS |= {u: _ufunc_beside_arrays(u) for u in _declared if _rule.arity == 2}
    if _rule.operator in _OPERATORS:
        _declared.append(_OPERATORS[_rule.operator])
    for _function in _declared:
        _declare(_function, _rule.arity, _element)
        if _rule.arity == 1:
            _of_element(_function)
_declare(np.conjugate, 1, None)
for _function in _COMPARISONS:
    _declare(_function, 2, types.boolean)
    if isinstance(_function, np.ufunc):
        UFUNCS[_function] = _ufunc_beside_arrays(_function)
for _function in _TESTS:
    _declare(_function, 1, types.boolean)
    _of_element(_function)
for _name, _written in (ARITHMETIC | COMPARISONS).items():
    overload_by_text(getattr(operator, _name), "x, y", partial(_beside_arrays, f"{{}} {_written} {{}}", {}))


_LOOP = "for k in np.ndindex(target.shape):"


def _in_place(symbol: Any, ufunc: Any) -> None:
    """x op= y on an array, as in Numba: element by element, each written before the next is read.

    So overlapping parts see elements that have been written, which NumPy avoids by a copy. The order is also Numba's:
    along the first axis if more operands are in Fortran order than in C order.
    """

    def write(x: Any, y: Any) -> Any:
        """The body of x op= y for arguments of these types."""
        if isinstance(x, types.Array) and not carries(x) and (isinstance(y, (Active, ActivePair)) or carries(y)):
            # Numba's own typing would fail; either the array is promoted, or the user sees this error
            raise UnsupportedError(f"a variable is written into an array of {x.dtype}, where only plain numbers fit")
        if not carries(x):
            return None
        layouts = [a.layout for a in (x, y) if isinstance(a, types.Array)]
        turned = ".T" if layouts.count("F") > layouts.count("C") else ""
        operand, element = "y", "operand"
        if len(layouts) == 2 and not y.ndim:
            element = "operand[()]"
        elif len(layouts) == 2:
            operand, element = f"np.broadcast_to(y, x.shape){turned}", "operand[k]"
        return [
            f"target, operand = x{turned}, {operand}",
            _LOOP,
            f"    target[k] = ufunc(target[k], {element})",
            "return x",
        ], {"np": np, "ufunc": ufunc}

    overload_by_text(symbol, "x, y", write)


for _name, _ufunc in _UFUNCS.items():
    _in_place(getattr(operator, f"i{_name}"), _ufunc)
