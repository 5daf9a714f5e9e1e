"""From the types of a call to a request to an engine, and the compiled function between a call and the engine."""

import dis
import inspect
import re
from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from numba import typeof, types

from contad.compile.dispatchers import compiles_on_demand, signature_for
from contad.compile.numba_code import literal_shape
from contad.engines import compiled_engine
from contad.errors import OutputError, UnsupportedError
from contad.front import lane_plans
from contad.front.diagonal_plans import plan_blocks, plan_trace, value_of_blocks
from contad.front.form import (
    HIGHER,
    ROWS,
    Argument,
    Form,
    constant,
    differentiate,
    overlap_checks,
    shape_checks,
    tuple_of,
)
from contad.front.higher_plans import PlannedCall, plan_hessian, plan_hvp, plan_laplacian, plan_pull
from contad.front.jacobian_plans import Jacobian
from contad.front.row_plans import RowProducts, SeveralTangents
from contad.numba_functions.request import ASKS, Request
from contad.numba_functions.writes import may_write_arrays
from contad.numba_functions.written_arrays import OVERLAPS, describe_needed, describe_tuple
from contad.variables.open_types import NumbaFunction, NumbaType

_PARAMETERS = {"vjp": ("primals_", "z_bar_"), "jvp": ("primals_", "tangents_"), "jvps": ("primals_", "tangents_")}
VECTOR, OUT = "vector_", "out"
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
_LANES = """from contad.kernels.lane_chunks import put_blocks, put_columns, put_combs, put_numbers, put_rows, put_units
from contad.kernels.lane_chunks import add_sums, sum_diagonal
from contad.engines.source.runtime.lent_arrays import small_zeros
from contad.kernels.lanes import as_rows, lane, lanes_zeros, small_lanes_zeros, unit_lanes
from contad.kernels.recalled_values import begin_block, point_to
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
        lanes = _LANES if self.has_lanes else ""
        calls = "BorrowingCalls" if self.is_new else "BriefCalls"
        text = _SOURCE.format(cache=cache, calls=calls, parameters=parameters, body=_indent(self.body), lanes=lanes)
        return text + ("" if self.value is None else _VALUE.format(parameters=parameters, body=_indent(self.value)))


def _indent(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def plan(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str, lanes: bool = False) -> Plan:
    """The plan for a derivative of the dispatcher f at arguments of these types.

    With `lanes`, contad asks an engine for several directions at once if there may be several.

    Raises OutputError if f returns nothing, TypeError if argnums do not fit, UnsupportedError if no compiled engine
    takes such arguments.
    """
    if _returns_nothing(f.py_func.__code__):
        raise OutputError(f"{what} returned None; return the value to differentiate")
    if form.is_packed:
        return _pair_plan(f, form, given, what, lanes)
    if form.kind in HIGHER or form.kind in ROWS:
        return _higher_plan(f, form, given, what, lanes)._replace(is_new=not form.has_aux)
    if form.out:
        return _out_plan(f, form, given, what)
    if form.along:
        return _repeated_plan(f, form, given, what)
    arguments, taken = _take(f, form, given, what)
    request = _gradient_request(f, form, taken)
    body = [*_checks(f, arguments, what), f"z, grads = run({tuple_of(taken)})", f"return {form.result}"]
    return Plan(request, request.types, tuple(x.expression for x in arguments), body, is_new=not form.has_aux)


def _gradient_request(f: NumbaFunction, form: Form, taken: list[Argument]) -> Request:
    """The request for a gradient: with the value only for compiled code; otherwise `run` may skip the value."""
    only_gradient = not form.gives_value and not form.has_aux
    return _request(f, form, taken, form.argnums)._replace(linked=form.gives_value, optional_value=only_gradient)


def _take(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str) -> tuple[list[Argument], list[Argument]]:
    """The arguments of f, and how an engine takes them."""
    code = f.py_func.__code__
    arguments = [Argument(_present(t), f"{name}_") for t, name in zip(given, code.co_varnames, strict=False)]
    if len(arguments) < len(given) or code.co_flags & inspect.CO_VARARGS:
        raise UnsupportedError(f"{what}: functions of any number of arguments (*args) are not compiled; name them")
    wanted = (*form.argnums, *form.along)
    if max(wanted) >= len(arguments):
        raise TypeError(f"{what}: argnums {form.argnums} out of range for {len(arguments)} positional argument(s)")
    return arguments, [differentiate(x) if n in wanted else constant(x) for n, x in enumerate(arguments)]


def _out_plan(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str) -> Plan:
    """The plan for a gradient that is written into arrays."""
    arguments, taken = _take(f, form, given[:-1], what)
    kind = types.unliteral(given[-1])
    outs = [Argument(kind, OUT)]
    if not form.single:
        if not isinstance(kind, types.BaseTuple) or len(kind) != len(form.argnums):
            raise TypeError(f"{what}: {describe_tuple(len(form.argnums))}")
        outs = [Argument(t, f"{OUT}[{k}]") for k, t in enumerate(kind)]
    checks, filled = [], []
    for k, (n, out) in enumerate(zip(form.argnums, outs, strict=True)):
        x, t = arguments[n], out.type
        is_number = isinstance(x.type, types.Number)
        if not (is_number or isinstance(x.type, types.Array)):
            raise TypeError(f"{what}: out takes the gradients of arrays and numbers, and {x.shown} is {x.type}")
        axes = 0 if is_number else x.type.ndim
        fits = isinstance(t, types.Array) and t.dtype == types.float64 and t.ndim == axes
        if not (fits and t.layout == "C" and t.mutable and t.aligned):
            raise TypeError(f"{what}: {out.shown} {describe_needed(axes)}, got {t}")
        if is_number:
            filled.append(f"{out.expression}[()] = grads[{k}]")
            continue
        message = f"{what}: {out.shown} must have the shape of {x.shown}"
        checks += [f"if {out.expression}.shape != {x.expression}.shape:", f"    raise ValueError({message!r})"]
    message = f"{what}: an array of out {OVERLAPS}"
    checks += overlap_checks([*arguments, *outs], what, len(outs), f"raise ValueError({message!r})")
    request = _gradient_request(f, form, taken)._replace(outs=tuple(out.type for out in outs))
    call = f"z, grads = run({tuple_of([*taken, *outs])})"
    result = f"z, {OUT}" if form.gives_value else OUT
    body = [*_checks(f, arguments, what), *checks, call, *filled, f"return {result}"]
    parameters = (*(x.expression for x in arguments), OUT)
    return Plan(request, (*request.types, *request.outs), parameters, body)


def _repeated_plan(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str) -> Plan:
    """The plan for the gradient of a derivative by numbers."""
    arguments, taken = _take(f, form, given, what)
    if not all(taken[n].type == types.float64 for n in form.along):
        raise UnsupportedError(f"{what}: a gradient is one number only where its argument is; use contad.hessian")
    request = _request(f, form, taken, form.argnums)._replace(along=tuple((n,) for n in form.along))
    ones = types.Tuple([types.float64] * len(form.along))
    run = f"run(({tuple_of(taken)}), ({'1.0, ' * len(form.along)}))"
    body = [*_checks(f, arguments, what), f"z, grads = {run}", f"return {form.result}"]
    return Plan(request, (types.Tuple(request.types), ones), tuple(x.expression for x in arguments), body)


def _higher_plan(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str, lanes: bool) -> Plan:
    """The plan for a matrix of derivatives, its product with a vector, or a function of it."""
    own = list(given)
    vector = Argument(_present(own.pop(form.vector)), VECTOR) if form.takes_vector else None
    arguments, taken = _take(f, form, own, what)
    parameters = [x.expression for x in arguments]
    call = PlannedCall(arguments, list(taken), _request(f, form, taken, form.argnums), _checks(f, arguments, what))
    if vector is not None:
        parameters.insert(form.vector % len(given), VECTOR)
        if form.kind in ROWS:
            return _rows_plan(f, form, call, vector, what, lanes, tuple(parameters))
        if form.kind == "hvp":
            run_types, body = plan_hvp(call, form, vector, what)
        elif form.kind == "pull":
            orders = tuple((n,) for n in form.along) if form.single else (form.along,)
            call = call._replace(request=call.request._replace(along=orders))
            run_types, body = plan_pull(call, form, vector, what)
        else:
            call = call._replace(request=call.request._replace(along=(form.argnums, form.argnums)))
            way = plan_trace(call, vector, what, lanes)
            value = value_of_blocks(call._replace(taken=list(taken)), what, way.lanes, 2) if lanes else None
            request = call.request._replace(lanes=way.lanes)
            return Plan(request, way.types, tuple(parameters), way.lines, value=value)
        return Plan(call.request, run_types, tuple(parameters), body)
    if form.kind == "hessian_block_diag":
        chosen = plan_blocks(call, form.size, what, lanes)
        body = chosen.lines
        if chosen.lanes > 1:
            value = value_of_blocks(call._replace(taken=list(taken)), what, chosen.lanes, 1)
            request = call.request._replace(lanes=chosen.lanes)
            return Plan(request, chosen.types, tuple(parameters), body, value=value)
    elif form.kind == "laplacian":
        chosen = (lane_plans.plan_laplacian(call) if lanes else None) or plan_laplacian(call)
        body = chosen.lines
    elif form.kind == "hessian":
        chosen = (lane_plans.plan_hessian(call, form) if lanes else None) or plan_hessian(call, form, what)
        body = chosen.lines
    else:
        forward = form.kind == "jacfwd"
        returned, shape = _type_of_result(f, call, what), literal_shape(f)
        jacobian = Jacobian(call, form.single, returned, may_write_arrays(f), lanes, forward, shape)
        if not jacobian.outputs.leaves:
            raise OutputError(f"{what} returned (), without a number in it; return the value to differentiate")
        if form.kind == "jacobian" and jacobian.may_have_more_rows:
            rows, columns = jacobian.by_rows, jacobian.by_columns("run_along")
            pushed = call.request._replace(mode="jvp", lanes=columns.lanes, memory=columns.memory)
            along = pushed, columns.types
            request = call.request._replace(lanes=rows.lanes, memory=rows.memory)
            return Plan(request, rows.types, tuple(parameters), jacobian.either(), along)
        chosen = jacobian.by_columns("run") if forward else jacobian.by_rows
        body = jacobian.whole(chosen)
    value = None
    if chosen.lanes > 1 and form.mode != "vjp":
        value = lane_plans.value_lines(call._replace(taken=list(taken)))
    request = call.request._replace(lanes=chosen.lanes, memory=chosen.memory)
    return Plan(request, chosen.types, tuple(parameters), body, value=value)


def _rows_plan(
    f: NumbaFunction, form: Form, call: PlannedCall, vector: Argument, what: str, lanes: bool,
    parameters: tuple[str, ...],
) -> Plan:  # fmt: skip
    """The plan for products with the rows of a matrix."""
    taken = list(call.taken)
    rows = RowProducts(call, vector, what, _type_of_result(f, call, what), lanes)
    if form.kind == "cotangent_rows":
        way = rows.cotangents(may_write_arrays(f))
    else:
        way = rows.tangents() if form.kind == "tangent_rows" else rows.hessian()
    value = None
    if lanes and form.mode != "vjp":
        value = RowProducts(call._replace(taken=taken), vector, what, types.none, lanes).value()
    return Plan(call.request._replace(lanes=way.lanes), way.types, parameters, way.lines, value=value)


def _type_of_result(f: NumbaFunction, call: PlannedCall, what: str) -> NumbaType:
    """The type of the result of f; compiles f only if an engine that reads the source cannot tell."""
    if compiles_on_demand(f) and call.request.types not in f.overloads:
        told = compiled_engine("generated").infer
        inferred = None if told is None else told(call.request)
        if inferred is not None:
            return inferred
    found = signature_for(f, call.request.types)
    if found is None:
        raise UnsupportedError(f"{what}: its signatures are given, and none fits")
    return found.return_type


def _pair_plan(f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str, lanes: bool) -> Plan:
    """The plan for vjp(primals, z_bar) and jvp(primals, tangents), of one tangent or of several."""
    parameters = _PARAMETERS[form.kind]
    first, second = (Argument(types.unliteral(t), name) for t, name in zip(given, parameters, strict=True))
    if not isinstance(first.type, types.BaseTuple) or not len(first.type):
        raise UnsupportedError(f"{what}: primals must be a tuple of numbers and arrays, got {first.type}")
    primals = [Argument(t, f"primals_[{k}]") for k, t in enumerate(first.type)]
    argnums = form.argnums or tuple(range(len(primals)))
    taken = [differentiate(x) if n in argnums else constant(x) for n, x in enumerate(primals)]
    taken += _defaults(f, len(primals), what)
    request = _request(f, form, taken, argnums)
    body = _checks(f, primals, what)
    if form.kind == "vjp":
        along = differentiate(second)
        run_types = (types.Tuple(request.types), along.type)
        passed = along.expression
    else:
        if not isinstance(second.type, types.BaseTuple) or len(second.type) != len(argnums):
            raise UnsupportedError(f"{what}: tangents must be a tuple with one entry for each primal")
        tangents = [differentiate(Argument(t, f"tangents_[{k}]")) for k, t in enumerate(second.type)]
        if form.kind == "jvps":
            plans = []
            for _ in range(2):  # each error names the argument that it converts
                call = PlannedCall(primals, list(taken), request, body)
                plans.append(SeveralTangents(call, tangents, what, _type_of_result(f, call, what), lanes))
            way, value = plans[0].way(), plans[1].value() if lanes else None
            return Plan(request._replace(lanes=way.lanes), way.types, parameters, way.lines, value=value)
        body += shape_checks([primals[n] for n in argnums], tangents, what)
        run_types = (types.Tuple(request.types), types.Tuple([t.type for t in tangents]))
        passed = f"({tuple_of(tangents)})"
    body.append(f"return run(({tuple_of(taken)}), {passed})")
    return Plan(request, run_types, parameters, body)


def _defaults(f: NumbaFunction, given: int, what: str) -> list[Argument]:
    """The omitted arguments of f, by their defaults."""
    parameters = list(inspect.signature(f.py_func).parameters.values())[given:]
    for x in parameters:
        if not isinstance(x.default, (bool, int, float)):
            raise UnsupportedError(f"{what}: argument {x.name} must be given")
    return [Argument(typeof(x.default), repr(x.default)) for x in parameters]


def _request(f: NumbaFunction, form: Form, taken: list[Argument], argnums: tuple[int, ...]) -> Request:
    asked = Request(f.py_func, f, tuple(x.type for x in taken), argnums, form.has_aux, form.mode)
    return asked._replace(numerics=form.numerics, checkpoint=form.checkpoint)


def _checks(f: NumbaFunction, arguments: list[Argument], what: str) -> list[str]:
    checks = overlap_checks(arguments, what)
    return checks if checks and may_write_arrays(f) else []


def _present(t: NumbaType) -> NumbaType:
    """The type of an argument, or of its default if it was omitted."""
    return typeof(t.value) if isinstance(t, types.Omitted) else t


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
