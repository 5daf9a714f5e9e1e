"""The engine `closures`: the idea itself. A continuation is a named closure over the operands' (value, index) pairs.

It works on the adjoints as a list of numbers, so the same closures sweep on floats and on numbers of an outer level.
The other engines must equal it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from contad.adjoints import Adjoints
from contad.engines.array_callbacks import apply_as_callback
from contad.engines.methods import generate
from contad.number import scale
from contad.protocols import install
from contad.rule import ScalarRule
from contad.stack import THREAD, ChainStack, Row
from contad.var import Var

Chain = Callable[[list[Any]], Any]

_CHAIN = """\
c = Var(); c._value = z; c._owner = s
c._index = k = s.top; s.top = k + 1
{cells}
def {name}_chain(adj):
    d = adj[k]
    if d.__class__ is float:
        if d != 0.0:
{on_floats}
    else:
{on_numbers}
s.push({name}_chain)"""


class ClosureVar(Var):
    """A variable whose operations push closures."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The methods of a rule; beyond two arguments the general way of `ClosureStack.apply`."""
        if rule.arity > 2:
            return lambda *args: rule.general(args), None
        return generate(cls, rule, _record)


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    values = "z, x" if rule.arity == 1 else "z, x, y"
    cells, on_floats, on_numbers, names = [], [], [], {"scale": scale}
    for k, kind in enumerate(active):
        if kind == "v":
            cells.append(f"{'ij'[k]} = {'ab'[k]}._index")
            on_floats.append(f"            adj[{'ij'[k]}] += d * p{k}({values})")
            on_numbers.append(f"        adj[{'ij'[k]}] = adj[{'ij'[k]}] + scale(d, p{k}({values}))")
            names[f"p{k}"] = rule.partial(k)
    lines = _CHAIN.format(
        name=rule.name, cells="; ".join(cells), on_floats="\n".join(on_floats), on_numbers="\n".join(on_numbers)
    )
    return lines, names


class ClosureStack(ChainStack):
    """A list of closures and a list of adjoints."""

    __slots__ = ("chain",)
    engine = "closures"

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        pool = THREAD.pools.setdefault(self.engine, [])
        self.chain: list[Chain] = pool.pop() if pool else []
        self.push = self.chain.append

    def variable(self, value: Any) -> Var:
        def input_chain(adj: list[Any]) -> Any:
            """An independent variable has nothing to pass on; it keeps its value for the table."""
            return value

        c = self._result(value)
        self.push(input_chain)
        return c

    def apply(self, rule: ScalarRule, args: Sequence[Any]) -> Var:
        mine = [isinstance(x, Var) and x._owner is self for x in args]
        values = [x._value if own else x for x, own in zip(args, mine, strict=True)]
        z = rule(*values)
        active = [(k, x._index) for k, (x, own) in enumerate(zip(args, mine, strict=True)) if own]
        c = self._result(z)
        n = c._index

        def chain(adj: list[Any]) -> None:
            d = adj[n]
            if d.__class__ is float and d == 0.0:
                return
            for k, cell in active:
                adj[cell] = adj[cell] + scale(d, rule.partial(k)(z, *values))

        chain.__name__ = f"{rule.name}_chain"
        self.push(chain)
        return c

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return apply_as_callback(self, rule, args, options)

    def _result(self, value: Any) -> Var:
        c = object.__new__(ClosureVar)
        c._value = value
        c._owner = self
        c._index = n = self.top
        self.top = n + 1
        return c

    def push_callback(self, f: Callable[[Adjoints], None], value: Any) -> Var:
        own = self.top

        def callback_chain(adj: list[Any]) -> Any:
            self.running = own
            f(Adjoints(self, adj, own))
            return value

        c = self._result(value)
        self.push(callback_chain)
        return c

    def sweep(self, top: int, seeds: Sequence[tuple[int, Any]]) -> list[Any]:
        adj: list[Any] = [0.0] * (top + 1)
        for cell, seed in seeds:
            adj[cell] = adj[cell] + seed
        chain = self.chain
        for k in range(top - 1, -1, -1):  # cell k + 1 was issued with chain[k]
            chain[k](adj)
        return adj

    def rows(self) -> Iterator[Row]:
        for k, chain in enumerate(self.chain):
            yield _row(k + 1, chain)

    def release(self) -> None:
        self.chain.clear()
        THREAD.pools.setdefault(self.engine, []).append(self.chain)
        self.chain = []


def _row(index: int, chain: Chain) -> Row:
    """What a closure has captured, as a row."""
    captured = dict(zip(chain.__code__.co_freevars, (c.cell_contents for c in chain.__closure__ or ()), strict=True))
    operation = chain.__name__.removesuffix("_chain")
    if "z" not in captured:
        return Row(index, operation, (), (), captured["value"])
    if "rule" in captured:
        values, cells = captured["values"], dict(captured["active"])
        partials = {k: captured["rule"].partial(k) for k in cells}
    else:
        values = [captured[name] for name in "xy" if name in captured]
        cells = {k: captured[name] for k, name in enumerate("ij") if name in captured}
        partials = {k: chain.__globals__[f"p{k}"] for k in cells}
    parents = tuple(cells.get(k, value) for k, value in enumerate(values))
    return Row(index, operation, parents, tuple(p(captured["z"], *values) for p in partials.values()), captured["z"])


install(ClosureVar, ClosureVar.implement)
