"""Which derivative of a function is meant, and the source of the compiled function that computes it by an engine's
`run`."""

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, Protocol, Self

from numba import types

from contad.errors import UnsupportedError
from contad.numba_functions.request import Mode, Numerics
from contad.variables.open_types import Nested, NumbaFunction, NumbaType

Kind = Literal[
    "grad", "value_and_grad", "vjp", "jvp", "hvp", "hessian", "jacfwd", "jacrev", "jacobian", "laplacian",
    "hessian_block_diag", "grad_tr_mat_times_hessian", "pull", "tangent_rows", "cotangent_rows", "hessian_rows",
    "jvps",
]  # fmt: skip
# products with second derivatives, matrices and functions of these: loops around an engine's `run`
HIGHER = (
    "hvp", "hessian", "jacfwd", "jacrev", "jacobian", "laplacian", "hessian_block_diag", "grad_tr_mat_times_hessian",
    "pull",
)  # fmt: skip
# transforms that forward mode also serves
FILLED = ("grad", "value_and_grad", "jacrev", "jacobian")
# second derivatives, for which a Python copy decides by whole sums which numbers keep their digits
DECIDED = ("hvp", "hessian", "laplacian")
# products with the rows of a matrix; each row has all numbers of the arguments, or of the result
ROWS = ("tangent_rows", "cotangent_rows", "hessian_rows")
_MODES: dict[str, Mode] = {
    "vjp": "vjp", "jvp": "jvp", "hvp": "hvp", "hessian": "hvp", "jacfwd": "jvp", "jacrev": "vjp",
    "jacobian": "vjp", "laplacian": "hvp", "hessian_block_diag": "hvp", "grad_tr_mat_times_hessian": "hvp",
    "tangent_rows": "jvp", "jvps": "jvp", "cotangent_rows": "vjp", "hessian_rows": "hvp",
}  # fmt: skip
# public names for messages, if they differ
_SHOWN = {
    "jvps": "jvp", "pull": "jvp", "tangent_rows": "sparse_jacobian", "cotangent_rows": "sparse_jacobian",
    "hessian_rows": "sparse_hessian",
}  # fmt: skip

_CONVERTED = frozenset((*types.integer_domain, types.float32, types.float64))  # differentiated as float64


class Form(NamedTuple):
    """A derivative of a function: the transform, and the differentiated arguments."""

    kind: Kind
    argnums: tuple[int, ...] = ()  # empty for vjp and jvp: all arguments
    single: bool = False  # whether argnums was one number; for "pull", whether directions come one after another
    has_aux: bool = False  # for gradients and Jacobians
    vector: int = -1  # the position of the vector of "hvp", or of the matrix, among the arguments
    along: tuple[int, ...] = ()  # for a derivative of f, the earlier differentiations of f
    size: int = 0  # for a matrix block of "hessian_block_diag"
    numerics: Numerics = "auto"
    checkpoint: bool = False  # whether long loops are checkpointed
    out: bool = False  # for gradients: whether to write them into arrays, the last argument

    @property
    def shown(self) -> str:
        """The transform's name."""
        return _SHOWN.get(self.kind, self.kind)

    @property
    def takes_vector(self) -> bool:
        """Whether it has an argument besides those of f."""
        return self.kind in ("hvp", "grad_tr_mat_times_hessian", "pull", *ROWS)

    @property
    def gives_value(self) -> bool:
        """Whether the result begins with the value of f, followed by the gradients."""
        return self.kind == "value_and_grad"

    @property
    def needs_f(self) -> bool:
        """Whether it calls f itself, for the shapes of its result."""
        return self.kind in ("jacfwd", "jacrev", "jacobian", "cotangent_rows")

    @property
    def is_packed(self) -> bool:
        """Whether the derivative takes the arguments of f as one tuple, and another one."""
        return self.kind in ("vjp", "jvp", "jvps")

    def of_f(self, args: tuple[Nested, ...]) -> tuple[Nested, ...]:
        """The arguments of f among those of the derivative."""
        if self.is_packed:
            return tuple(args[0])
        if self.out:
            return args[:-1]
        if not self.takes_vector:
            return args
        place = self.vector % len(args)
        return args[:place] + args[place + 1 :]

    def of_run(self, args: tuple[Nested, ...]) -> tuple[Nested, ...]:
        """The arguments of f among those of an engine's `run`."""
        if self.out:
            return args[: -len(self.argnums)]
        return args if self.mode == "value_and_grad" else tuple(args[0])

    @property
    def mode(self) -> Mode:
        """The mode of the request to the engine."""
        return "hvp" if self.along else _MODES.get(self.kind, "value_and_grad")

    @property
    def result(self) -> str:
        """The expression of the result, from `z` (a pair with has_aux) and `grads`."""
        gradient = "grads[0]" if self.single else "grads"
        if self.kind == "value_and_grad":
            return f"z, {gradient}"
        return f"{gradient}, z[1]" if self.has_aux else gradient


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


def differentiate(x: Argument) -> Argument:
    """An argument to differentiate: numbers become float64, arrays float64 and writable.

    Raises UnsupportedError unless it holds only real numbers and arrays of them.
    """
    t = types.unliteral(x.type)
    if t == types.float64:
        return Argument(t, x.expression)
    if t in _CONVERTED:
        return Argument(types.float64, f"float({x.expression})")
    if isinstance(t, types.Array) and t.dtype in _CONVERTED:
        layout = t.layout if t.layout in "CF" else "C"
        if t.dtype != types.float64:
            return Argument(types.Array(types.float64, t.ndim, layout), f"{x.expression}.astype(np.float64)")
        if not t.mutable or not t.aligned:
            return Argument(types.Array(types.float64, t.ndim, layout), f"{x.expression}.copy()")
        return Argument(t, x.expression)
    if isinstance(t, types.NoneType):
        return x
    if isinstance(t, types.BaseTuple) and len(t):
        parts = [differentiate(Argument(part, f"{x.expression}[{k}]")) for k, part in enumerate(t)]
        if all(part.type == was for part, was in zip(parts, t, strict=True)):
            return Argument(t, x.expression)
        if not isinstance(t, types.BaseNamedTuple):
            return Argument(types.Tuple([part.type for part in parts]), f"({tuple_of(parts)})")
    raise UnsupportedError(f"{x.shown}: compiled engines differentiate numbers, arrays and tuples of them, got {t}")


def constant(x: Argument) -> Argument:
    """An argument that is not differentiated, unchanged.

    Raises UnsupportedError for lists and sets, because Numba copies them back into the caller's.
    """
    t = types.unliteral(x.type)
    if isinstance(t, (types.List, types.Set)):
        raise UnsupportedError(f"{x.shown}: compiled engines take tuples and arrays, got {t}")
    if isinstance(t, types.BaseTuple):
        for k, part in enumerate(t):
            constant(Argument(part, f"{x.expression}[{k}]"))
    return Argument(t, x.expression)


def tuple_of(arguments: list[Argument]) -> str:
    """The expressions, joined by commas, as inside a tuple."""
    return "".join(f"{x.expression}, " for x in arguments).rstrip(" ")


def overlap_checks(arguments: list[Argument], what: str, last: int = 0, otherwise: str = "") -> list[str]:
    """Statements that raise if two arrays share memory, or, on request, if one of the last arrays does with another."""
    arrays = [leaf for x in arguments for leaf in x.leaves() if isinstance(leaf.type, types.Array)]
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
    for n in range(len(arrays) - last if last else 0, len(arrays)):
        for m in range(n):
            message = (
                f"{what}: {arrays[m].shown} and {arrays[n].shown} overlap in memory and the function may write into "
                "them; pass copies"
            )
            error = otherwise or f"raise OverlapError({message!r})"
            lines += [f"if low{n} < high{m} and low{m} < high{n}:", f"    {error}"]
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
                message = f"{what}: {rule}"
                lines += [f"if {x.expression}.shape != {t.expression}.shape:", f"    raise {error}({message!r})"]
    return lines


def _axes(t: NumbaType) -> Nested:
    """The structure of an argument: the number of axes of its arrays; -1 for a number."""
    return tuple(map(_axes, t)) if isinstance(t, types.BaseTuple) else getattr(t, "ndim", -1)


class Derived(Protocol):
    """A derivative of a Numba function, as seen by the code that uses it: see `contad.front.derivative.Derivative`."""

    f: NumbaFunction
    form: Form
    engine: str | None
    what: str
    called: dict[tuple[Hashable, ...], Any]
    calls_of_tape: list[Any]

    def another(self, form: Form, engine: str | None) -> Self:
        """Another derivative of the same function."""
