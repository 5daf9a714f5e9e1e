"""Which derivative of a function is meant, and how each kind asks an engine for it."""

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, Protocol, Self

from contad.numba_functions.request import Mode, Numerics
from contad.variables.open_types import Nested, NumbaFunction

# the directions that `run` gets, by classes of `contad.front.seeds`
Seeds = Literal["none", "ones", "given", "units", "rows", "stacked", "combs", "units and rows"]
# the result, made from those of `run` by classes of `contad.front.layouts`
Layout = Literal["gradients", "as found", "matrices", "diagonal sum", "rows", "matrix blocks", "sum"]
# the arguments: those of f, with an additional one among them, or as a tuple beside another one
Arguments = Literal["own", "more", "pair"]


class KindRow(NamedTuple):
    """How a kind of derivative answers a call."""

    mode: Mode
    seeds: Seeds
    layout: Layout
    arguments: Arguments = "own"
    shown: str = ""  # the public name for messages, if it differs


KINDS = {
    "grad": KindRow("value_and_grad", "none", "gradients"),
    "value_and_grad": KindRow("value_and_grad", "none", "gradients"),
    "vjp": KindRow("vjp", "given", "as found", "pair"),
    "jvp": KindRow("jvp", "given", "as found", "pair"),
    "jvps": KindRow("jvp", "stacked", "rows", "pair", "jvp"),
    "hvp": KindRow("hvp", "given", "gradients", "more"),
    "pull": KindRow("hvp", "given", "gradients", "more", "jvp"),  # the gradient of a derivative along `Form.along`
    "jacrev": KindRow("vjp", "units", "matrices"),
    "jacfwd": KindRow("jvp", "units", "matrices"),
    "jacobian": KindRow("vjp", "units", "matrices"),  # or by the row of jacfwd, if that takes fewer directions
    "hessian": KindRow("hvp", "units", "matrices"),
    "laplacian": KindRow("hvp", "units", "diagonal sum"),
    "hessian_block_diag": KindRow("hvp", "combs", "matrix blocks"),
    "grad_tr_mat_times_hessian": KindRow("hvp", "units and rows", "sum", "more"),
    "tangent_rows": KindRow("jvp", "rows", "rows", "more", "sparse_jacobian"),
    "cotangent_rows": KindRow("vjp", "rows", "rows", "more", "sparse_jacobian"),
    "hessian_rows": KindRow("hvp", "rows", "rows", "more", "sparse_hessian"),
}

# transforms that forward mode also serves
FILLED = ("grad", "value_and_grad", "jacrev", "jacobian")
# second derivatives, for which a Python copy decides by whole sums which numbers keep their digits
DECIDED = ("hvp", "hessian", "laplacian")


class Form(NamedTuple):
    """A derivative of a function: the transform, and the differentiated arguments."""

    kind: str
    argnums: tuple[int, ...] = ()  # empty for vjp and jvp: all arguments
    single: bool = False  # whether argnums was one number; for "pull", whether directions come one after another
    has_aux: bool = False  # for gradients and Jacobians
    vector: int = -1  # the position of the vector of "hvp", or of the matrix, among the arguments
    along: tuple[int, ...] = ()  # for a derivative of f, the earlier differentiations of f
    size: int = 0  # for a matrix block of "hessian_block_diag"
    numerics: Numerics = "auto"
    checkpoint: bool = False  # whether long loops are checkpointed
    holomorphic: bool = False  # for Jacobians: whether complex results have derivatives by complex arguments
    out: bool = False  # for gradients: whether to write them into arrays, the last argument
    keep_dtype: bool = False  # whether f computes with float32 arguments as they are, and gradients have their dtype
    wide_sums: bool = False  # whether sums of float32 numbers are accumulated in float64

    @property
    def row(self) -> KindRow:
        """How it answers a call."""
        row = KINDS[self.kind]
        return row._replace(mode="hvp", seeds="ones") if self.along and row.seeds == "none" else row

    @property
    def mode(self) -> Mode:
        """The mode of the request to the engine."""
        return self.row.mode

    @property
    def shown(self) -> str:
        """The transform's name."""
        return KINDS[self.kind].shown or self.kind

    @property
    def keeps_dtype(self) -> bool:
        """Whether `run` takes float32 arguments as they are, which gradients and vjps do if the settings say so."""
        return self.keep_dtype and self.mode in ("value_and_grad", "vjp") and not self.loops and not self.out

    @property
    def is_packed(self) -> bool:
        """Whether it takes the arguments of f as one tuple, and another one."""
        return self.row.arguments == "pair"

    @property
    def takes_more(self) -> bool:
        """Whether it takes an additional argument: at `vector` among those of f, which for `out` is the end."""
        return self.out or self.row.arguments == "more"

    @property
    def gives_value(self) -> bool:
        """Whether the result begins with the value of f, followed by the gradients."""
        return self.kind == "value_and_grad"

    @property
    def loops(self) -> bool:
        """Whether it calls `run` along several directions."""
        return self.row.seeds not in ("none", "ones", "given")

    @property
    def gives_matrix(self) -> bool:
        """Whether the result is a matrix of derivatives, a function of it, or its product with one vector."""
        return not self.is_packed and self.row.seeds not in ("none", "ones", "rows")

    @property
    def needs_f(self) -> bool:
        """Whether it calls f itself, for the shapes of its result."""
        mode, seeds, layout, *_ = self.row
        return (layout == "matrices" and mode != "hvp") or (seeds == "rows" and mode == "vjp")

    def of_f(self, args: tuple[Nested, ...]) -> tuple[Nested, ...]:
        """The arguments of f among those of the derivative."""
        if self.is_packed:
            return tuple(args[0])
        if not self.takes_more:
            return args
        place = self.vector % len(args)
        return args[:place] + args[place + 1 :]

    def of_run(self, args: tuple[Nested, ...]) -> tuple[Nested, ...]:
        """The arguments of f among those of an engine's `run`."""
        if self.out:
            return args[: -len(self.argnums)]
        return args if self.mode == "value_and_grad" else tuple(args[0])

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The arguments along which each differentiation before the last has tangents, if there are several."""
        if self.row.layout == "sum":
            return self.argnums, self.argnums
        if self.kind == "pull" and not self.single:
            return (self.along,)
        return tuple((n,) for n in self.along)

    @property
    def result(self) -> str:
        """The expression of gradients and what is beside them, from `z` (a pair with has_aux) and `grads`."""
        gradient = "out" if self.out else "grads[0]" if self.single and self.kind != "pull" else "grads"
        if self.gives_value:
            return f"z, {gradient}"
        return f"{gradient}, z[1]" if self.has_aux and not self.out else gradient


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
