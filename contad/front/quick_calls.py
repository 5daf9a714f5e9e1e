"""Calls of Numba functions in plain code, recorded at once if their compiled derivative is known.

Such a call takes little more time than the compiled derivative itself; the general search for it takes ten times as
long.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.engines.matrix.array_records import push_continuation
from contad.engines.matrix.array_var import ArrayVar, is_direct
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream.pullbacks import Continuation, accumulate
from contad.variables.adjoints import Adjoints
from contad.variables.dtypes import FLOAT
from contad.variables.layout import is_immutable, layout_of
from contad.variables.number import as_float
from contad.variables.open_types import Function, Nested, NumbaFunction
from contad.variables.stack import THREAD, stack
from contad.variables.trees import like_tuple, map_leaves
from contad.variables.var import Var

_MOST = 1 << 12  # up to this many numbers of a gradient, a copy among the constants is cheap compared to the call
_INT64 = 1 << 63
_Operands = list[tuple[int, int, tuple[int, ...]]]  # position, first cell, shape
_Variable = tuple[Hashable, Nested, int, tuple[int, ...]]  # its kind, value, first cell, shape
_Looked = tuple[list[Hashable], list[Nested], _Operands]  # kinds, values, variables
_Known = tuple[bool, Function, tuple[Nested, ...]]  # whether it returns a number, the derivative, omitted arguments


class QuickCalls:
    """The known compiled derivatives of a Numba function, by the kinds of its arguments."""

    def __init__(self, f: NumbaFunction) -> None:
        self.f = f
        self.known: dict[tuple[Hashable, ...], _Known] = {}
        self.known_of_one: dict[Hashable, _Known] = {}  # of those, by the kind of a lone argument

    def learn(self, args: tuple[Nested, ...], how: tuple[str, Function], defaults: tuple[Nested, ...]) -> None:
        """Answer calls with arguments like these from now on; `defaults` are the values of omitted ones."""
        s: Any = stack()
        looked = _look(s, args) if _takes_numbers(s) else None
        if looked is not None:
            known = how[0] == "number", how[1], defaults
            self.known[tuple(looked[0])] = known
            if len(args) == 1 and how[0] == "number":
                self.known_of_one[looked[0][0]] = known

    def answer(self, args: tuple[Nested, ...]) -> Nested:
        """The result as variables of this thread's stack; NotImplemented if the call needs the general search."""
        levels = THREAD.open
        if not levels:
            return NotImplemented
        s: Any = levels[-1]
        if not _takes_numbers(s):
            return NotImplemented
        if len(args) == 1:  # as below, without lists of one item
            variable = _look_at(s, args[0])
            known = self.known_of_one.get(variable[0]) if variable is not None else None
            if variable is not None and known is not None:
                _, x, cell, shape = variable
                _, derivative, defaults = known
                value, (gradient,) = derivative(x, *defaults) if defaults else derivative(x)
                return s.push_gradient(cell, shape, gradient, value)
        looked = _look(s, args)
        if looked is None:
            return NotImplemented
        kinds, plain, operands = looked
        known = self.known.get(tuple(kinds))
        if known is None:
            return NotImplemented
        gives_number, derivative, defaults = known
        if gives_number:
            return _push_number(s, operands, *derivative(*plain, *defaults))
        plain += defaults
        z = self.f(*plain)
        if shares_memory(z, plain):
            return NotImplemented
        axes = layout_of([z]) if isinstance(z, np.ndarray) else None
        active = {k for k, _, _ in operands}
        kept = [x if k in active else keep(x) for k, x in enumerate(plain)]
        z = push_continuation(s, CompiledPullback(self.f, operands, kept, derivative), z, axes)
        return like_tuple(z, [as_float(x) if isinstance(x, Var) else x for x in z]) if isinstance(z, tuple) else z


def keep(x: Nested) -> Nested:
    """A copy of an array, because the caller may write to it before a sweep; anything else unchanged."""
    return x.copy() if isinstance(x, np.ndarray) and not is_immutable(x) else x


def shares_memory(z: Nested, args: Sequence[Nested]) -> bool:
    """Whether an array of a result shares memory with an argument or with another result."""
    made, given = list(_arrays_in(z)), list(_arrays_in(args))
    return any(np.may_share_memory(a, x) for k, a in enumerate(made) for x in (*given, *made[:k]))


def _arrays_in(x: Nested) -> Iterator[np.ndarray]:
    if x.__class__ is np.ndarray:
        yield x
    elif isinstance(x, (tuple, list)):
        for part in x:
            yield from _arrays_in(part)


def _push_number(s: MatrixStack, operands: _Operands, value: float, gradients: Sequence[Nested]) -> Var:
    if len(operands) == 1:
        _, cell, shape = operands[0]
        return s.push_gradient(cell, shape, gradients[0], value)
    partials = [
        (s.push_gradient(cell, shape, gradient, value)._index, 1.0) if shape else (cell, gradient)
        for (_, cell, shape), gradient in zip(operands, gradients, strict=True)
    ]
    return as_float(s.push_partials(value, partials))


class CompiledPullback(Continuation):
    """The continuation of a Numba function with arrays among its results."""

    __slots__ = ("derivative",)

    def __init__(self, f: NumbaFunction, operands: _Operands, values: Sequence[Nested], derivative: Function) -> None:
        super().__init__(f, operands, values)
        self.derivative = derivative

    @property
    def name(self) -> str:
        """The name of the function."""
        name: str = self.rule.__name__
        return name

    def __call__(self, adj: Adjoints) -> None:
        z_bar = self.adjoints_of_results(adj.cells)
        found = self.derivative(tuple(self.values), map_leaves(_writable, z_bar))
        for (_, cell, shape), x_bar in zip(self.operands, found, strict=True):
            accumulate(adj, cell, shape, x_bar)


def _writable(x: Nested) -> Nested:
    """An array of the type for which the derivative is compiled; the derivative does not write to it either."""
    return x.copy() if isinstance(x, np.ndarray) else x


def _takes_numbers(s: Any) -> bool:
    """Whether s, the innermost level, is a recording to which derivatives that are numbers can be added."""
    return (
        s.__class__ is MatrixStack and s.ended is None and not s.keeps_rules and s.tracer is None
        and not THREAD.forward
    )  # fmt: skip


def _look_at(s: MatrixStack, x: Nested) -> _Variable | None:
    """The kind of a variable of s, or of an array of them that operations take directly; else None."""
    kind = x.__class__
    if kind is s.float_class or kind is s.var_class:
        value = x._value
        return (Var, value, x._index, ()) if value.__class__ is float and x._owner is s else None
    if kind is not ArrayVar or x._owner is not s or not is_direct(x):
        return None
    value, n = x._value, x._length
    if n:  # one axis: attributes of ndarrays take as long as calls
        return (ArrayVar, value, x._index, (n,)) if n <= _MOST else None
    shape, n = value.shape, value.size
    if not shape or not 0 < n <= _MOST or value.dtype is not FLOAT:
        return None
    return (ArrayVar, len(shape)), value, x._index, shape


def _look(s: MatrixStack, args: tuple[Nested, ...]) -> _Looked | None:
    """The kinds of the arguments, if they are plain or variables of s, with at least one variable; else None."""
    kinds: list[Hashable] = []
    plain: list[Nested] = []
    operands: _Operands = []
    for k, x in enumerate(args):
        kind = x.__class__
        if kind is float or kind is bool or (kind is int and -_INT64 <= x < _INT64):
            kinds.append(kind)
            plain.append(x)
        elif kind is np.ndarray:
            kinds.append((x.dtype, x.ndim, x.flags.num))
            plain.append(x)
        else:
            found = _look_at(s, x)
            if found is None:
                return None
            kind, value, cell, shape = found
            kinds.append(kind)
            plain.append(value)
            operands.append((k, cell, shape))
    return (kinds, plain, operands) if operands else None
