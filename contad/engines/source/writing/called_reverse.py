"""The derivative of a callee: a function that runs the callee and stores, and a function that runs its reverse.

    z, work, top = forward_of_g(x, y, work, top)            the value; stores what the reverse reads in the workspace
    x_bar, y_bar, top = reverse_of_g(x, y, z_bar, work, top)

If nothing is stored, they do not take the workspace. The reverse takes the adjoints of arrays and adds to them. Both
are written once for every set of active arguments.
"""

import ast
from collections.abc import Iterator
from typing import Any

from contad.compile.compiling import write_options
from contad.engines.source.analysis.activity import Activity, refuse_lost
from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.analysis.linear import partial_sums
from contad.engines.source.analysis.shared_callees import Callee
from contad.engines.source.ir.printing import options_of
from contad.engines.source.ir.ssa import Body
from contad.engines.source.ir.syntax import Part, clone, number, statement, statements
from contad.engines.source.ir.tree_queries import names_of
from contad.engines.source.ir.writer import Writer
from contad.engines.source.planning.store_plan import StorePlan
from contad.engines.source.writing.reverse_sweep import ReverseSweep


class Functions:
    """The derivatives of callees, created on first use."""

    def __init__(self, lanes: LaneValues | None = None) -> None:
        self.lanes = lanes
        self._made: dict[Any, Called] = {}
        self._names: dict[str, int] = {}

    def call(self, callee: Callee, active: tuple[int, ...], kept: tuple[int, ...]) -> "Called":
        """The derivative with respect to some arguments; `kept` are the arrays that the reverse sweep may reload."""
        key = callee, active, kept
        if key not in self._made:
            made = Called(callee, active, kept, self)
            name = callee.function.name
            number = self._names[name] = self._names.get(name, 0) + 1
            made.name = name if number == 1 else f"{name}_{number}"
            self._made[key] = made
            made.write()
        return self._made[key]


def find_used(derivative: Any) -> list["Called"]:
    """The derivatives of callees that a derivative calls, callees before callers."""
    found: dict[Called, None] = {}

    def visit(called: Called) -> None:
        if called not in found:
            for inner in called.reverse_sweep.forward_sweep.called_functions:
                visit(inner)
            found[called] = None

    for called in derivative.reverse_sweep.forward_sweep.called_functions:
        visit(called)
    return list(found)


class Called:
    """Writes the source of the derivative of a callee."""

    name = ""

    def __init__(self, callee: Callee, active: tuple[int, ...], kept: tuple[int, ...], functions: Functions) -> None:
        """Plan the derivative of a callee with respect to the parameters at positions `active`."""
        function, parameters = callee.function, callee.parameters
        activity = Activity(function, [parameters[k] for k in active], callee.outputs)
        refuse_lost(function, activity)
        arrays = [k for k, x in enumerate(parameters) if x.is_array]
        gone = frozenset(parameters[k] for k in arrays if k not in kept)
        # any call may pass infinite values
        wild = [x for x in parameters if x.kind.base == "float"]
        sums = partial_sums(function)
        plan = StorePlan(function, activity, sums, functions=functions, gone=gone, wild=wild)
        self.function, self.plan = function, plan
        self.reverse_sweep = ReverseSweep(function, plan, sums, functions.lanes)
        self.writer, self.adjoints = self.reverse_sweep.writer, self.reverse_sweep.adjoints
        self.parameters, self.results = parameters, callee.outputs
        self.adjoints.outputs = callee.outputs
        self.number_bars = [k for k in active if k not in arrays]  # the reverse returns their adjoints
        self.array_bars = [k for k in active if k in arrays]  # the reverse takes their adjoints and adds to them
        self.seeds = [k for k, x in enumerate(callee.outputs) if x in activity]
        self.reads: list[int] = []  # the parameters that the reverse reads
        self.pushes = False

    @property
    def body(self) -> Body:
        (body,) = self.function.block.operations
        assert isinstance(body, Body)
        return body

    @property
    def needs(self) -> list[int]:
        """The parameters that the caller's reverse sweep must have."""
        return sorted({*self.reads, *self.array_bars})

    def write(self) -> None:
        """Write both functions, without those of their own callees."""
        body = self.body
        self.reverse_sweep.storing.begin_iteration(body)
        self.reverse_sweep.forward_sweep.forward(body.body.operations)
        self.reverse_sweep.forward_sweep.leave_iteration(body)
        self.pushes = self.reverse_sweep.storing.uses_workspace
        self._forward_body, self.writer.body = self.writer.body, []
        self._forward_returned = [self.writer.text(x) for x in self.results]
        self._seed_names = []
        for k in self.seeds:
            x = self.results[k]
            if x in self.adjoints.begun or x in self.adjoints.sums:
                self._seed_names.append(self.writer.fresh("seed"))
                self.adjoints.add(x, self._seed_names[-1])
            else:
                self.adjoints.begun.add(x)
                self._seed_names.append(self.adjoints.bar(x))
        self.writer.noted = 0
        self.reverse_sweep.reverse_iteration(body, number(0))
        parameters = [self.parameters[k] for k in self.number_bars]
        self._bars = [self.adjoints.bar(x) if x in self.adjoints.begun else 0.0 for x in parameters]
        read = {name for s in self.writer.body for name in names_of(s)} | {*self._bars}
        self.reads = [k for k, x in enumerate(self.parameters) if x.name in read]

    # ---- calls -------------------------------------------------------------------------------------------------------
    @property
    def forward_name(self) -> str:
        return f"{'forward' if self.has_reverse else 'value'}_of_{self.name}"

    @property
    def has_reverse(self) -> bool:
        """Whether the callee has a reverse."""
        return self.pushes or bool(self.number_bars or self.array_bars)

    @property
    def workspace(self) -> list[str]:
        """The names of the workspace and its top, which both functions take and return; none if nothing is stored."""
        return ["work", "top"] if self.pushes else []

    def call_forward(self, writer: Writer, results: list[str], arguments: list[Part], line: int) -> None:
        """Write the call that computes the results."""
        targets, given = [*results, *self.workspace], [*arguments, *self.workspace]
        writer.line("targets = f(given)", line, targets=targets, f=self.forward_name, given=given)

    def call_reverse(self, writer: Writer, bars: list[str], arguments: list[Part]) -> None:
        """Write the call that computes adjoints, if the callee has a reverse."""
        if self.has_reverse:
            targets, given = [*bars, *self.workspace[1:]], [*arguments, *self.workspace]
            f = f"reverse_of_{self.name}"
            writer.line("targets = f(given)" if targets else "f(given)", targets=targets, f=f, given=given)

    # ---- definitions -------------------------------------------------------------------------------------------------
    @property
    def decorator(self) -> str:
        """The decorator that compiles both functions."""
        return f"link({write_options(options_of(self.function.fastmath))})"

    def functions(self) -> Iterator[ast.FunctionDef]:
        """Both functions."""
        given = [*(x.name for x in self.parameters), *self.workspace]
        yield self._define(self.forward_name, given, self._forward_body, [*self._forward_returned, *self.workspace])
        if self.has_reverse:
            given = [self.parameters[k].name for k in self.reads]
            given += [self.adjoints.bar(self.parameters[k]) for k in self.array_bars]
            given += [*self._seed_names, *self.workspace]
            returned: list[Part] = [*self._bars, *self.workspace[1:]]
            yield self._define(f"reverse_of_{self.name}", given, self.writer.body, returned)

    def _define(self, name: str, given: list[str], body: list[ast.stmt], returned: list[Part]) -> ast.FunctionDef:
        function: ast.FunctionDef = statement("def name(given): pass", name=name, given=given)
        function.body = [*map(clone, body), *(statements("return returned", returned=returned) if returned else [])]
        return function
