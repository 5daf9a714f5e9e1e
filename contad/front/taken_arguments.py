"""The arguments of a call, by their types: as the caller gives them, and as an engine takes them."""

import inspect
from collections.abc import Sequence
from typing import NamedTuple

from numba import typeof, types

from contad.errors import UnsupportedError
from contad.front.form import Form
from contad.numba_functions.array_arguments import OVERLAPS
from contad.numba_functions.request import Request
from contad.numba_functions.writes import may_write_arrays
from contad.variables.open_types import Nested, NumbaFunction, NumbaType

# as what numbers are differentiated
_CONVERTED = dict.fromkeys((*types.integer_domain, types.float32, types.float64), types.float64)
_CONVERTED |= dict.fromkeys((types.complex64, types.complex128), types.complex128)

# names of the derivative's own arguments
VECTOR, OUT = "vector_", "out"
_PRIMALS, _Z_BAR, _TANGENTS = "primals_", "z_bar_", "tangents_"


class Argument(NamedTuple):
    """An argument as an engine takes it: its type, and an expression that makes it from the given argument."""

    type: NumbaType
    expression: str  # names end in an underscore, to differ from those of the generated function

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.expression.replace("_[", "[").removesuffix("_")

    def leaves(self) -> list["Argument"]:
        """The numbers and arrays in it."""
        if not isinstance(self.type, types.BaseTuple):
            return [self]
        parts = [Argument(t, f"{self.expression}[{k}]") for k, t in enumerate(self.type)]
        return [leaf for part in parts for leaf in part.leaves()]


def differentiate(x: Argument, keep_dtype: bool = False) -> Argument:
    """An argument to differentiate: numbers become float64 or complex128, arrays likewise, and writable.

    With `keep_dtype`, float32 stays float32. Raises UnsupportedError unless it holds only numbers and arrays of them.
    """
    t = types.unliteral(x.type)
    element = t.dtype if isinstance(t, types.Array) else t
    to = element if keep_dtype and element == types.float32 else _CONVERTED.get(element)
    if to is not None and t == to:
        return Argument(t, x.expression)
    if to is not None and not isinstance(t, types.Array):
        return Argument(to, f"{'float' if t in types.integer_domain else f'np.{to}'}({x.expression})")
    if to is not None:
        layout = t.layout if t.layout in "CF" else "C"
        if t.dtype != to:
            return Argument(types.Array(to, t.ndim, layout), f"{x.expression}.astype(np.{to})")
        if not t.mutable or not t.aligned:
            return Argument(types.Array(to, t.ndim, layout), f"{x.expression}.copy()")
        return Argument(t, x.expression)
    if isinstance(t, types.NoneType):
        return x
    if isinstance(t, types.BaseTuple) and len(t):
        parts = [differentiate(Argument(part, f"{x.expression}[{k}]"), keep_dtype) for k, part in enumerate(t)]
        if all(part.type == was for part, was in zip(parts, t, strict=True)):
            return Argument(t, x.expression)
        if not isinstance(t, types.BaseNamedTuple):
            return Argument(types.Tuple([part.type for part in parts]), f"({tuple_of(parts)})")
    raise UnsupportedError(f"{x.shown}: compiled engines differentiate numbers, arrays and tuples of them, got {t}")


def constant(x: Argument) -> Argument:
    """An argument that is not differentiated, unchanged but for complex64, which becomes complex128.

    Raises UnsupportedError for lists and sets, because Numba copies them back into the caller's.
    """
    t = types.unliteral(x.type)
    if isinstance(t, (types.List, types.Set)):
        raise UnsupportedError(f"{x.shown}: compiled engines take tuples and arrays, got {t}")
    if isinstance(t, types.BaseTuple):
        for k, part in enumerate(t):
            constant(Argument(part, f"{x.expression}[{k}]"))
    if types.complex64 in (t, getattr(t, "dtype", None)):
        return differentiate(x)
    return Argument(t, x.expression)


def tuple_of(arguments: list[Argument]) -> str:
    """The expressions, joined by commas, as inside a tuple."""
    return "".join(f"{x.expression}, " for x in arguments).rstrip(" ")


def refuse(condition: str, message: str, error: str = "ValueError") -> list[str]:
    """Statements that raise an error if a condition holds."""
    return [f"if {condition}:", f"    raise {error}({message!r})"]


def overlap_checks(arguments: list[Argument], what: str, outs: Sequence[Argument] = ()) -> list[str]:
    """Statements that raise if two arrays of arguments share memory; with `outs`, if one of these does with another
    array."""
    arrays = [leaf for x in (*arguments, *outs) for leaf in x.leaves() if isinstance(leaf.type, types.Array)]
    if len(arrays) < 2:
        return []
    lines = []
    for n, a in enumerate(arrays):
        x = a.expression
        lines += [f"low{n} = high{n} = {x}.ctypes.data", f"if {x}.size:"]
        if a.type.layout in "CF":
            lines.append(f"    high{n} += {x}.size * {x}.itemsize")
            continue
        lines.append(f"    high{n} += {x}.itemsize")
        for axis in range(a.type.ndim):
            extent = f"({x}.shape[{axis}] - 1) * {x}.strides[{axis}]"
            lines += [f"    low{n} += min(0, {extent})", f"    high{n} += max(0, {extent})"]
    for n in range(len(arrays) - len(outs) if outs else 0, len(arrays)):
        for m in range(n):
            condition = f"low{n} < high{m} and low{m} < high{n}"
            if outs:
                lines += refuse(condition, f"{what}: an array of out {OVERLAPS}")
                continue
            which = f"{arrays[m].shown} and {arrays[n].shown}"
            message = f"{what}: {which} overlap in memory and the function may write into them; pass copies"
            lines += refuse(condition, message, "OverlapError")
    return lines


def shape_checks(
    primals: list[Argument], tangents: list[Argument], what: str,
    rule: str = "a tangent must have its primal's shape", error: str = "ValueError",
) -> list[str]:  # fmt: skip
    """Statements that raise if a tangent has another shape than its primal.

    Raises UnsupportedError if they have different structures.
    """
    lines = []
    for primal, tangent in zip(primals, tangents, strict=True):
        if _axes(primal.type) != _axes(tangent.type):
            raise UnsupportedError(
                f"{what}: tangents must have the structure of primals, {primal.type}; got {tangent.type}"
            )
        for x, t in zip(primal.leaves(), tangent.leaves(), strict=True):
            if isinstance(x.type, types.Array) and x.type.ndim > 0:
                lines += refuse(f"{x.expression}.shape != {t.expression}.shape", f"{what}: {rule}", error)
    return lines


def _axes(t: NumbaType) -> Nested:
    """The structure of an argument: the number of axes of its arrays; -1 for a number."""
    return tuple(map(_axes, t)) if isinstance(t, types.BaseTuple) else getattr(t, "ndim", -1)


class TypedCall(NamedTuple):
    """A call of a derivative of f."""

    f: NumbaFunction
    form: Form
    what: str
    given: list[Argument]  # the arguments of f
    taken: list[Argument]  # the same as an engine takes them, and the defaults of omitted ones
    argnums: tuple[int, ...]  # the differentiated arguments
    own: Argument | None  # the argument besides those of f
    parameters: tuple[str, ...]

    @property
    def wanted(self) -> list[Argument]:
        """The differentiated arguments, as an engine takes them."""
        return [self.taken[n] for n in self.argnums]

    @property
    def request(self) -> Request:
        """The request to an engine, for one direction."""
        form = self.form
        kinds = tuple(x.type for x in self.taken)
        asked = Request(self.f.py_func, self.f, kinds, self.argnums, form.has_aux, form.mode, form.orders)
        return asked._replace(numerics=form.numerics, checkpoint=form.checkpoint, wide_sums=form.wide_sums)

    @property
    def checks(self) -> list[str]:
        """The first statements: they check arguments that f may write into."""
        checks = overlap_checks(self.given, self.what)
        return checks if checks and may_write_arrays(self.f) else []

    @property
    def copies(self) -> str:
        """The arguments for a call of f, which may write into them."""
        copied = may_write_arrays(self.f)
        own = (x.expression + ".copy()" * (copied and isinstance(x.type, types.Array)) for x in self.taken)
        return ", ".join(own)

    def convert_once(self) -> tuple["TypedCall", list[str]]:
        """A call whose arguments are names, for loops, and the statements that give these names."""
        named, lines = [], []
        for k, x in enumerate(self.taken):
            is_name = x.expression.isidentifier()
            named.append(x if is_name else Argument(x.type, f"taken_{k}"))
            lines += [] if is_name else [f"taken_{k} = {x.expression}"]
        return self._replace(taken=named), lines


def read_call(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str) -> TypedCall:
    """The call of a derivative of f with arguments of these types.

    Raises TypeError if argnums do not fit, UnsupportedError if no compiled engine takes such arguments.
    """
    own, parameters, defaults = None, [], []
    if form.is_packed:
        first, second = map(types.unliteral, given)
        own = Argument(second, _Z_BAR if form.kind == "vjp" else _TANGENTS)
        if not isinstance(first, types.BaseTuple) or not len(first):
            raise UnsupportedError(f"{what}: primals must be a tuple of numbers and arrays, got {first}")
        arguments = [Argument(t, f"{_PRIMALS}[{k}]") for k, t in enumerate(first)]
        parameters = [_PRIMALS, own.expression]
        defaults = _defaults(f, len(arguments), what)
        argnums = wanted = form.argnums or tuple(range(len(arguments)))
    else:
        kinds = list(given)
        if form.takes_more:
            own = Argument(_present(kinds.pop(form.vector)), OUT if form.out else VECTOR)
        arguments = _of_parameters(f, kinds, what)
        parameters = [x.expression for x in arguments]
        if own is not None:
            parameters.insert(form.vector % len(given), own.expression)
        argnums, wanted = form.argnums, (*form.argnums, *form.along)
        if max(wanted) >= len(arguments):
            raise TypeError(f"{what}: argnums {argnums} out of range for {len(arguments)} positional argument(s)")
    taken = [differentiate(x, form.keeps_dtype) if n in wanted else constant(x) for n, x in enumerate(arguments)]
    return TypedCall(f, form, what, arguments, [*taken, *defaults], argnums, own, tuple(parameters))


def _of_parameters(f: NumbaFunction, given: Sequence[NumbaType], what: str) -> list[Argument]:
    """The arguments of f by the names of its parameters."""
    code = f.py_func.__code__
    arguments = [Argument(_present(t), f"{name}_") for t, name in zip(given, code.co_varnames, strict=False)]
    if len(arguments) < len(given) or code.co_flags & inspect.CO_VARARGS:
        raise UnsupportedError(f"{what}: functions of any number of arguments (*args) are not compiled; name them")
    return arguments


def _present(t: NumbaType) -> NumbaType:
    """The type of an argument, or of its default if it was omitted."""
    return typeof(t.value) if isinstance(t, types.Omitted) else t


def _defaults(f: NumbaFunction, given: int, what: str) -> list[Argument]:
    """The omitted arguments of f, by their defaults."""
    parameters = list(inspect.signature(f.py_func).parameters.values())[given:]
    for x in parameters:
        if not isinstance(x.default, (bool, int, float)):
            raise UnsupportedError(f"{what}: argument {x.name} must be given")
    return [Argument(typeof(x.default), repr(x.default)) for x in parameters]
