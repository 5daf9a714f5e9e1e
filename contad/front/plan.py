"""From the types of a call to a request to an engine, and the compiled function between a call and the engine.

`contad.front.form.KINDS` has a row for each kind of derivative: the engine's mode, the seeds, the layout of the result.
"""

import dis
import re
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from contad.compile.dispatchers import compiles_on_demand, signature_for
from contad.compile.numba_code import literal_shape
from contad.engines import compiled_engine
from contad.errors import OutputError, OverlapError, UnsupportedError
from contad.front import layouts, seeds
from contad.front.form import KINDS, Derived, Form, KindRow
from contad.front.seeds import FEW, MOST, DirectionLeaf, DirectionTree, indent
from contad.front.taken_arguments import TypedCall, read_call, tuple_of
from contad.numba_functions.asked_derivatives import AskedDerivative
from contad.numba_functions.request import ASKS, Request
from contad.rules.compilable import functions_of_text
from contad.variables.open_types import NumbaFunction, NumbaType

_SOURCE = """\
import numpy as np
from contad.compile.machine_code import njit

from contad.errors import OverlapError
from contad.compile.brief_calls import {calls}
from contad.kernels.lane_chunks import give_lanes, give_numbers, take_lanes
{lanes}

@njit(nogil=True, error_model="numpy", cache={cache}, pipeline_class={calls})
def derivative({parameters}):
{body}
"""
_LANES = """from contad.kernels.lane_chunks import add_sums, put_columns, put_combs, put_matrix_blocks, put_numbers
from contad.kernels.lane_chunks import put_rows, put_units, sum_diagonal
from contad.engines.source.runtime.lent_arrays import small_zeros
from contad.kernels.lanes import as_rows, lane, lanes_zeros, small_lanes_zeros, unit_lanes
from contad.kernels.recalled_values import begin_chunk, point_to
"""
_PAIRS = """from contad.errors import NotHolomorphicError
from contad.kernels.complex_arrays import is_holomorphic, join_parts
"""
_VALUE = """

@njit(nogil=True, error_model="numpy")
def value({parameters}):
{body}
"""


class Plan(NamedTuple):
    """How a derivative answers a call with arguments of given types."""

    request: Request
    run_types: tuple[NumbaType, ...]  # the types for which the engine's function is compiled
    parameters: tuple[str, ...]
    body: list[str]
    along: tuple[Request, tuple[NumbaType, ...]] | None = None  # a second request, of `run_along`, and its types
    value: list[str] | None = None  # the body of a function that returns the value alone, if Python cannot call `run`
    is_new: bool = False  # whether the result shares nothing with an argument

    @property
    def has_lanes(self) -> bool:
        """Whether the engine has to take several directions at once."""
        return self.request.lanes > 1 or (self.along is not None and self.along[0].lanes > 1)

    def asking(self, run: NumbaFunction) -> "Plan":
        """The plan for this `run`, which may take whether the caller wants the value; this plan does not."""
        code = run.py_func.__code__
        if ASKS not in code.co_varnames[: code.co_argcount]:
            return self
        # not False, a literal, for which Numba would compile `run` once more
        body = [re.sub(r"^z, grads = run\((.*)\)$", r"z, grads = run(\1 bool(0))", line) for line in self.body]
        return self._replace(run_types=(*self.run_types, types.boolean), body=body)

    def source(self, cache: bool) -> str:
        """The module with the function that calls the engine's `run`."""
        parameters = ", ".join(self.parameters)
        lanes = (_LANES if self.has_lanes else "") + (_PAIRS if self.request.parts else "")
        calls = "BorrowingCalls" if self.is_new else "BriefCalls"
        text = _SOURCE.format(cache=cache, calls=calls, parameters=parameters, body=_block(self.body), lanes=lanes)
        return text + ("" if self.value is None else _VALUE.format(parameters=parameters, body=_block(self.value)))


def _block(lines: list[str]) -> str:
    return "\n".join(indent(lines))


def plan(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str, lanes: bool = False) -> Plan:
    """The plan for a derivative of the dispatcher f at arguments of these types.

    With `lanes`, contad asks an engine for several directions at once if there may be several.

    Raises OutputError if f returns nothing, TypeError if argnums do not fit, UnsupportedError if no compiled engine
    takes such arguments.
    """
    if _returns_nothing(f.py_func.__code__):
        raise OutputError(f"{what} returned None; return the value to differentiate")
    call = read_call(f, form, given, what)
    found = _Loops(call, lanes).plan() if form.loops else _plan_once(call)
    return found._replace(is_new=not (form.is_packed or form.out or form.has_aux))


def write_out(derivative: Derived, given: tuple[NumbaType, ...]) -> Any:
    """A derivative that a differentiated function calls, as a Numba function; UnsupportedError if there is none.

    In place of `run` it calls an operation that engines know as they know functions of matrices.
    """
    form = derivative.form
    if form.kind == "jacobian":  # by columns or by rows, decided at run time
        form = form._replace(kind="jacrev")
    planned = plan(derivative.f, form, given, derivative.what)
    if planned.request.parts:
        raise UnsupportedError(f"{derivative.what}: in a differentiated function it is compiled for real numbers only")
    if any(".ctypes" in line for line in planned.body):
        raise UnsupportedError(
            f"{derivative.what}: it may write into its arguments, and several are arrays; let it copy what it writes"
        )
    known = {
        "np": np, "f": derivative.f, "run": AskedDerivative(planned.request, derivative.what),
        OverlapError.__name__: OverlapError,
    }  # fmt: skip
    lines = [f"def derivative({', '.join(planned.parameters)}):", *indent(planned.body)]
    return numba.njit(error_model="numpy")(functions_of_text("\n".join(lines) + "\n", known)["derivative"])


def _plan_once(call: TypedCall) -> Plan:
    """The plan of a derivative that calls `run` once."""
    form, request = call.form, call.request
    outs, checks, filled = layouts.written_gradients(call) if form.out else ([], [], [])
    if form.row.seeds == "none":
        arguments = tuple_of([*call.taken, *outs])
        # the value only for compiled code; otherwise `run` may skip the value
        only_gradient = not form.gives_value and not form.has_aux
        request = request._replace(linked=form.gives_value, optional_value=only_gradient)
        request = request._replace(outs=tuple(out.type for out in outs))
        run_types = (*request.types, *request.outs)
    else:
        along = seeds.ones(call) if form.row.seeds == "ones" else seeds.given_seeds(call)
        checks = along.checks
        arguments = f"({tuple_of(call.taken)}), {along.text}"
        run_types = (types.Tuple(request.types), along.type)
    body = [f"return run({arguments})"]
    if form.row.layout == "gradients":
        body = [f"z, grads = run({arguments})", *filled, f"return {form.result}"]
    return Plan(request, run_types, call.parameters, [*call.checks, *checks, *body])


class _Part(NamedTuple):
    """A loop around `run` in one mode."""

    request: Request
    run_types: tuple[NumbaType, ...]
    seeds: seeds.DirectionLoop
    layout: layouts.LoopResult
    lines: list[str]


class _Loops:
    """The plan of a derivative that calls `run` along several directions."""

    def __init__(self, call: TypedCall, lanes: bool) -> None:
        """Read the structures of arguments, and of the result where the mode asks for it."""
        form = call.form
        self.call, self.named = call.convert_once()
        self.lanes = lanes
        self.packed = f"({tuple_of(self.call.taken)})"
        self.inputs = DirectionTree([(x.expression, x.type) for x in self.call.wanted], "d")
        self.has_pairs = self.inputs.has_pairs
        self.outputs, self.returned = DirectionTree([], "e"), types.none
        if form.mode != "hvp":
            self._read_result()
        if self.has_pairs and form.row.seeds not in ("units", "stacked"):
            raise UnsupportedError(f"{call.what}: it is compiled for real numbers only")
        # for the shapes of arrays; and for aux, which forward mode without directions does not return
        unknown = any(y.known is None for y in self.outputs.leaves)
        may_have_none = form.kind == "jacfwd" and form.has_aux and any(x.is_array for x in self.inputs.leaves)
        self.calls_f = form.needs_f and (unknown or may_have_none)

    def _read_result(self) -> None:
        """Read the structure of the result.

        Raises UnsupportedError if there is no aux to return, OutputError for a Jacobian without rows.
        """
        call, form = self.call, self.call.form
        self.returned = _type_of_result(call)
        if form.has_aux:
            if not isinstance(self.returned, types.BaseTuple) or len(self.returned) != 2:
                raise UnsupportedError("with has_aux=True the function must return (value, aux)")
            self.returned = self.returned[0]
        self.outputs = DirectionTree([("y", self.returned)], "e")
        self.has_pairs |= self.outputs.has_pairs
        if form.row.layout == "matrices" and not self.outputs.leaves:
            raise OutputError(f"{call.what} returned (), without a number in it; return the value to differentiate")
        (structure,) = self.outputs.structure
        shape = literal_shape(call.f)
        if shape is not None and isinstance(structure, DirectionLeaf) and structure.is_array and not form.has_aux:
            structure.known = shape if structure.type.ndim == len(shape) else None

    def plan(self) -> Plan:
        """The plan."""
        call, form = self.call, self.call.form
        one = self._part(form.row, "run")
        loop, along = one.lines, None
        if form.kind == "jacobian" and self._may_have_more_rows():
            columns = self._part(KINDS["jacfwd"], "run_along")
            along = columns.request, columns.run_types
            condition = f"if {self.outputs.size} > {self.inputs.size}:"
            loop = [condition, *indent(columns.lines), "else:", *indent(one.lines)]
        start = [*call.checks, *self.named, *one.seeds.checks]
        value = None
        if one.seeds.lanes > 1 and form.mode != "vjp":
            value = [*start, *one.seeds.start, f"return run({self.packed}, {one.seeds.idle})[0]"]
        if self.calls_f:
            start.append(f"{'y, aux' if form.has_aux else 'y'} = f({call.copies})")
        aux = ", aux" if form.has_aux else ""
        body = [*start, *one.layout.start, *loop, *one.layout.end, f"return {one.layout.result}{aux}"]
        return Plan(one.request, one.run_types, call.parameters, body, along, value)

    def _may_have_more_rows(self) -> bool:
        """Whether there may be more rows than columns, as far as the types tell."""
        rows, columns = self.outputs.leaves, self.inputs.leaves
        return any(y.is_array for y in rows) or len(rows) > len(columns)

    def _part(self, row: KindRow, run: str) -> _Part:
        """The loop for a row of the table."""
        if row.mode == "jvp":
            varied, came, held = self.inputs, DirectionTree([("dy", self.returned)], "t", True), self.outputs
        else:
            came = DirectionTree([(f"grads[{k}]", x.type) for k, x in enumerate(self.call.wanted)], "g", True)
            varied, held = (self.outputs if row.mode == "vjp" else self.inputs), self.inputs
        loop, layout = self._compose(row, varied, came, held)
        lines = [*loop.start, *loop.over(f"{self._results(row)} = {run}({self.packed}, {{}})", layout.take)]
        request = self.call.request._replace(mode=row.mode, lanes=loop.lanes, memory=loop.has_memory)
        request = request._replace(parts=self.has_pairs)
        return _Part(request, (types.Tuple(request.types), *loop.types), loop, layout, lines)

    def _results(self, row: KindRow) -> str:
        """The names of the results of `run`."""
        if not self.call.form.has_aux:
            return {"jvp": "z, dy", "vjp": "grads"}.get(row.mode, "z, grads")
        if row.mode == "vjp":
            return "_, grads" if self.calls_f else "aux, grads"
        return "z, dy" if self.calls_f else "(z, aux), dy"

    def _compose(
        self, row: KindRow, varied: DirectionTree, came: DirectionTree, held: DirectionTree
    ) -> tuple[seeds.DirectionLoop, layouts.LoopResult]:
        """The directions of the numbers in `varied`, and where the results go that come for these, for `held`."""
        call, form = self.call, self.call.form
        few, most = (FEW, MOST) if self.lanes else (1, 1)
        single = row.mode == "vjp"  # cotangents have the structure of the result, tangents are a tuple
        if row.seeds == "units":
            units = seeds.unit_vectors(varied, single, few if row.mode == "vjp" else most)
            if row.layout == "diagonal sum":
                return units, layouts.DiagonalSum(units, came)
            by_columns = row.mode == "jvp" or (row.mode == "hvp" and units.lanes > 1)
            of_rows = form.single or row.mode != "hvp"
            return units, layouts.Matrices(call, units, came, held, by_columns, (of_rows, form.single))
        if row.seeds == "combs":
            combs = seeds.Combs(call, varied, most)
            return combs, layouts.CombColumns(combs)
        if row.seeds == "units and rows":
            pairs = seeds.UnitsAndRows(call, varied, few)
            return pairs, layouts.Sum(pairs)
        stacked = row.seeds == "stacked"
        rows = seeds.stacked_tangents(call, varied, few) if stacked else seeds.matrix_rows(call, varied, single, few)
        return rows, layouts.FoundRows(rows, came, stacked, row.mode == "jvp")


def _type_of_result(call: TypedCall) -> NumbaType:
    """The type of the result of f; compiles f only if an engine that reads the source cannot tell."""
    f, request = call.f, call.request
    if compiles_on_demand(f) and request.types not in f.overloads:
        told = compiled_engine("generated").infer
        inferred = None if told is None else told(request)
        if inferred is not None:
            return inferred
    found = signature_for(f, request.types)
    if found is None:
        raise UnsupportedError(f"{call.what}: its signatures are given, and none fits")
    return found.return_type


def _returns_nothing(code: CodeType) -> bool:
    """Whether every return of a function is that of None."""
    instructions = list(dis.get_instructions(code))
    returned = []
    for k, i in enumerate(instructions):
        if i.opname == "RETURN_CONST":
            returned.append(i.argval)
        elif i.opname == "RETURN_VALUE":
            before = instructions[k - 1]
            returned.append(before.argval if before.opname == "LOAD_CONST" else before)
    return bool(returned) and all(x is None for x in returned)
