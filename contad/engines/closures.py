"""The engine `closures`, the simplest one. A continuation is a named closure over the operands' (value, index) pairs.

The adjoints are a list of numbers, so the same closures sweep on floats and on numbers of an outer level. The other
engines must give the same results.
"""

from __future__ import annotations  # without it each continuation would create objects for its annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from contad.engines.stream.array_callbacks import apply_as_callback
from contad.engines.stream.methods import generate
from contad.ops.powers import partial_of_rule
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.adjoints import Adjoints
from contad.variables.number import like_numpy
from contad.variables.open_types import Function, Options, Real, Rule, Value
from contad.variables.stack import THREAD, ChainStack, Footprint, Row
from contad.variables.var import Var

Chain = Callable[[list[Real]], Real]
Product = Callable[[Real, Real], Real]
Partial = Callable[..., Real]


def _implementation(cls: type[Var], rule: ScalarRule) -> tuple[Function, Function | None]:
    """The methods of a rule on variables of a class; for more than two arguments it is `ClosureStack.apply`."""
    if rule.arity > 2:
        return lambda *args: rule.general(args), None
    return generate(cls, rule, _record)


class ClosureVar(Var):
    """A variable whose operations push closures."""

    __slots__ = ()

    implement = classmethod(_implementation)


@like_numpy(ClosureVar)
class NumpyClosureVar(Var):
    """A variable in place of an np.float64."""

    __slots__ = ()
    implement = classmethod(_implementation)


def of_one(name: str, product: Product, p: Partial) -> Callable[..., Chain]:
    """The maker of continuations of z = f(x): k is the cell of z, i that of x, and p the partial."""

    def make(k: int, z: Real, x: Real, i: int) -> Chain:
        def chain(adj: list[Real]) -> None:
            d = adj[k]
            if d.__class__ is not float or d != 0.0:  # if it is zero, the result does not depend on z
                adj[i] = adj[i] + product(d, p(z, x))

        chain.__name__ = name
        return chain

    return make


def of_two(name: str, product_x: Product, p: Partial, product_y: Product, q: Partial) -> Callable[..., Chain]:
    """The maker of continuations of z = f(x, y), where x has cell i and y has cell j."""

    def make(k: int, z: Real, x: Real, y: Real, i: int, j: int) -> Chain:
        def chain(adj: list[Real]) -> None:
            d = adj[k]
            if d.__class__ is not float or d != 0.0:
                adj[i] = adj[i] + product_x(d, p(z, x, y))
                adj[j] = adj[j] + product_y(d, q(z, x, y))

        chain.__name__ = name
        return chain

    return make


def of_first(name: str, product: Product, p: Partial) -> Callable[..., Chain]:
    """The maker of continuations of z = f(x, y), where y is a constant."""

    def make(k: int, z: Real, x: Real, y: Real, i: int) -> Chain:
        def chain(adj: list[Real]) -> None:
            d = adj[k]
            if d.__class__ is not float or d != 0.0:
                adj[i] = adj[i] + product(d, p(z, x, y))

        chain.__name__ = name
        return chain

    return make


def of_second(name: str, product: Product, q: Partial) -> Callable[..., Chain]:
    """The maker of continuations of z = f(x, y), where x is a constant."""

    def make(k: int, z: Real, x: Real, y: Real, j: int) -> Chain:
        def chain(adj: list[Real]) -> None:
            d = adj[k]
            if d.__class__ is not float or d != 0.0:
                adj[j] = adj[j] + product(d, q(z, x, y))

        chain.__name__ = name
        return chain

    return make


# by activity: "v" for an operand that is a variable, "c" for a constant
MAKERS: dict[str, Callable[..., Callable[..., Chain]]]
MAKERS = {"v": of_one, "vv": of_two, "vc": of_first, "cv": of_second}


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    """The lines of an operator method that push; the method is generated for one activity of the operands."""
    positions = [k for k, kind in enumerate(active) if kind == "v"]
    of_rule = [x for k in positions for x in (rule.product(k), partial_of_rule(rule, k, active))]
    operands = ", ".join(["z", *"xy"[: len(active)], *(f"{'ab'[k]}._index" for k in positions)])
    make = f"make_{active}"
    lines = f"""\
c._index = k = s.top; s.top = k + 1
push = s.push
push({make}(k, {operands}))"""
    return lines, {make: MAKERS[active](f"{rule.name}_chain", *of_rule)}


class CapturedOperand(NamedTuple):
    """The numbers and cells that a continuation has captured."""

    value: Real  # of the variable
    values: Sequence[Real]  # of the operands of an operation
    partials: Mapping[int, tuple[int, Partial]]  # by position of the operands that are variables: the cell, and how


class ClosureStack(ChainStack):
    """A list of closures and a list of adjoints."""

    __slots__ = ("chain",)
    engine = "closures"

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        pool = THREAD.pools.setdefault(self.engine, [])
        self.chain: list[Chain] = pool.pop() if pool else []
        self.push = self.chain.append

    def variable(self, value: Real) -> Var:
        def input_chain(adj: list[Real]) -> Real:
            """An independent variable has nothing to pass on; it keeps its value for the table."""
            return value

        c = self._result(value)
        self.push(input_chain)
        return c

    def apply(self, rule: ScalarRule, args: Sequence[Value]) -> Var:
        mine = [isinstance(x, Var) and x._owner is self for x in args]
        values = [x._value if own else x for x, own in zip(args, mine, strict=True)]
        active = [(k, x._index, rule.product(k), rule.partial(k)) for k, x in enumerate(args) if mine[k]]
        z = rule(*values)  # which may be recorded on an outer level
        c = self._result(z)
        n = c._index

        def chain(adj: list[Real]) -> None:
            d = adj[n]
            if d.__class__ is not float or d != 0.0:
                for _, cell, product, partial in active:
                    adj[cell] = adj[cell] + product(d, partial(z, *values))

        chain.__name__ = f"{rule.name}_chain"
        self.push(chain)
        return c

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        return apply_as_callback(self, rule, args, options)

    def _result(self, value: Real) -> Var:
        c = object.__new__(NumpyClosureVar)
        c._value = value
        c._owner = self
        c._index = n = self.top
        self.top = n + 1
        return c

    def push_callback(self, f: Callable[[Adjoints], None], value: Real) -> Var:
        own = self.top

        def callback_chain(adj: list[Real]) -> Real:
            self.running = own
            f(Adjoints(self, adj, own))
            return value

        c = self._result(value)
        self.push(callback_chain)
        return c

    def sweep(self, top: int, seeds: Sequence[tuple[int, Real]]) -> list[Real]:
        adj: list[Real] = [0.0] * (top + 1)
        for cell, seed in seeds:
            adj[cell] = adj[cell] + seed
        chain = self.chain
        for k in range(top - 1, -1, -1):  # cell k + 1 was issued with chain[k]
            chain[k](adj)
        return adj

    def rows(self) -> Iterator[Row]:
        for k, chain in enumerate(self.chain):
            yield _row(k + 1, chain)

    def footprints(self) -> Iterator[Footprint]:
        return map(self.footprint_of, self.chain)

    @staticmethod
    def footprint_of(chain: Chain) -> Footprint:
        """Bytes by Python's count: the function, its captured names, and its places in the chain and the adjoints."""
        names = chain.__closure__ or ()
        return Footprint(1, sum(map(sys.getsizeof, (chain, names, *names))) + 16)

    @staticmethod
    def find_captured(chain: Chain) -> CapturedOperand:
        """The operands that a continuation has captured; empty if it belongs to no rule."""
        found = dict(zip(chain.__code__.co_freevars, (c.cell_contents for c in chain.__closure__ or ()), strict=True))
        if "z" not in found:
            return CapturedOperand(found.get("value", 0.0), (), {})
        if "active" in found:
            partials = {k: (cell, partial) for k, cell, _, partial in found["active"]}
            return CapturedOperand(found["z"], found["values"], partials)
        values = [found[name] for name in "xy" if name in found]
        cells = {k: (found[i], found[p]) for k, (i, p) in enumerate((("i", "p"), ("j", "q"))) if i in found}
        return CapturedOperand(found["z"], values, cells)

    def release(self) -> None:
        self.chain.clear()
        THREAD.pools.setdefault(self.engine, []).append(self.chain)
        self.chain = []


def _row(index: int, chain: Chain) -> Row:
    z, values, partials = ClosureStack.find_captured(chain)
    parents = tuple(partials[k][0] if k in partials else value for k, value in enumerate(values))
    operation = chain.__name__.removesuffix("_chain")
    return Row(index, operation, parents, tuple(p(z, *values) for _, p in partials.values()), z)


for _class in (ClosureVar, NumpyClosureVar):
    install(_class, _class.implement)
