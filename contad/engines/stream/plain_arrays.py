"""Array records in plain Python and NumPy: the work of kernels, in operations on whole rows."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.compiled_rules.rule_source import names_read
from contad.engines.stream import kernels
from contad.engines.stream.arithmetic_rules import operation_of
from contad.engines.stream.plain_formulas import ON_ROWS, OnRows, make_function
from contad.engines.stream.rule_functions import routes
from contad.engines.stream.storage import CODES, DOT, FORMS, STRIDED, SUM, X_NUMBER, Y_NUMBER
from contad.rules.scalar_rule import ScalarRule


def strides_of(shapes: np.ndarray, form: int, first: int, n: int, x: float, y: float) -> Sequence[int]:
    """The strides of a record: z, outer, inner, z_outer, z_inner, x, x_outer, x_inner, y, y_outer, y_inner."""
    if form == STRIDED:
        return shapes[int(x) : int(x) + 11].tolist()
    shape = list(FORMS[11 * (form // CODES) :][:11])
    shape[0], shape[2] = first, n
    shape[5] = shape[5] if form == X_NUMBER else int(x)
    if form == SUM:
        shape[2] = int(y)
    elif form == DOT:
        shape[8], shape[2] = shapes[int(y) : int(y) + 2].tolist()
    else:
        shape[8] = shape[8] if form == Y_NUMBER else int(y)
    return shape


def run_kernel(
    code: int, shape: Sequence[int], values: np.ndarray, constants: np.ndarray, adjoints: np.ndarray
) -> None:
    """Do the work of an operation's kernel by operations on whole rows."""
    z0, outer, inner, z_outer, z_inner, x0, x_outer, x_inner, y0, y_outer, y_inner = shape
    operation = _array_partials(code)
    steps = {"z": z_inner, "x": x_inner, "y": y_inner}
    own_loop = tuple(steps.values())[: len(operation.active) + 1] in operation.loops
    kinds = dict(zip("zxy", f"v{operation.active}", strict=False))
    for o in range(outer):
        rows = {"z": z0 + o * z_outer, "x": x0 + o * x_outer, "y": y0 + o * y_outer}
        for name, part in operation.partials:
            d = _row(adjoints, rows["z"], z_inner, inner)
            read = {
                n: _row(values if kinds[n] == "v" else constants, rows[n], steps[n], inner) for n in part.reads
            }
            c = part.multiply(d, part.partial(**read))
            if part.masked:
                c = np.where(d != 0.0, c, 0.0)
            target = _row(adjoints, rows[name], steps[name], inner)
            if np.ndim(target):
                target += c
            else:  # a sum, of its terms in order
                terms = np.empty(inner + 1)
                terms[0] = 0.0 if own_loop else target
                terms[1:] = c
                total = np.add.accumulate(terms)[-1]
                adjoints[rows[name]] = target + total if own_loop else total


def _row(array: np.ndarray, start: int, step: int, n: int) -> Any:
    """A row as a view, or its number if the stride is 0."""
    if not step:
        return array[start]
    end = start + (n - 1) * step
    return array[start : end + 1 : step] if step > 0 else array[end : start + 1 : -step][::-1]


class ArrayOperation(NamedTuple):
    """The operation of a kernel on rows."""

    active: str
    loops: tuple[tuple[int, ...], ...]  # the inner strides for which the kernel keeps a total of its own
    partials: list[tuple[str, "ArrayPartial"]]  # by x and y


class ArrayPartial(NamedTuple):
    """A partial on rows: the operands that it reads, and the product with an adjoint."""

    partial: Callable[..., Any]
    reads: set[str]
    multiply: Callable[[Any, Any], Any]
    masked: bool  # whether an adjoint of zero gives 0 even if the partial is not finite


@functools.cache
def _array_partials(code: int) -> ArrayOperation:
    """The operation of a code on rows, from the source of its kernel."""
    rule, active = operation_of(code)
    found = []
    for k, kind in enumerate(active):
        if rule is not None and not rule.core and kind == "v":
            found.append(("xy"[k], _own_partial(rule, k)))
            continue
        source = kernels.partial_in_kernel(rule, k) if kind == "v" else None
        if source is None:
            continue
        lines, expression = source
        read = names_read([*lines, expression])
        operands = read & {"z", "x", "y"}
        routed = bool(operands) and routes(rule, k)
        partial = make_function("\n".join([*lines, f"return {expression}"]), sorted(operands), OnRows(), ON_ROWS)
        found.append(("xy"[k], ArrayPartial(partial, operands, _route if routed else np.multiply, bool(operands))))
    return ArrayOperation(active, kernels.strides_with_loops(rule, active), found)


def _own_partial(rule: ScalarRule, k: int) -> ArrayPartial:
    """The partial of a rule that calls other rules: its body on arrays."""
    partial = rule.array_partial(k)
    names = "zxy"[: 1 + rule.arity]
    multiply = _route if routes(rule, k) else np.multiply
    return ArrayPartial(lambda **read: partial(*(read[name] for name in names)), {*names}, multiply, True)


def _route(d: Any, p: Any) -> Any:
    """d times p, and 0 where p is 0."""
    return np.where(p != 0.0, d * p, 0.0)
