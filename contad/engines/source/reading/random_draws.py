"""Draws of np.random with a location and a scale that are differentiated: loc + scale z.

The standard draw z takes the same numbers from Numba's generator, is handed on to Numba, and is held fixed.
"""

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Object, constant, is_array, is_number

if TYPE_CHECKING:
    from contad.engines.source.reading.call_reader import CallReader
    from contad.engines.source.reading.progress import Environment

_LOCATED = "loc scale size"
# the parameters of a distribution, and those of the standard one
DRAWS: dict[Any, tuple[str, tuple[float, ...]]] = {
    np.random.normal: (_LOCATED, (0.0, 1.0)), np.random.laplace: (_LOCATED, (0.0, 1.0)),
    np.random.logistic: (_LOCATED, (0.0, 1.0)), np.random.gumbel: (_LOCATED, (0.0, 1.0)),
    np.random.uniform: ("low high size", (0.0, 1.0)), np.random.exponential: ("scale size", (1.0,)),
}  # fmt: skip


def read_draw(
    calls: "CallReader", function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.Call,
    env: "Environment",
) -> Any:  # fmt: skip
    """A number or an array of draws, which moves with location and scale; where both are constants it is handed on."""
    names, standard = DRAWS[function]
    *given, size = [*calls.take(names, arguments, keywords, node), None][: len(standard) + 1]
    given = [constant(x) if found is None else found for x, found in zip(standard, given, strict=True)]
    if not all(map(is_number, given)) or all(map(calls.is_constant, given)):
        name = function.__name__
        calls.progress.refuse(node, f"the call of {name!r}", "add to a standard draw, and multiply it, by yourself")
    sizes = [*node.args[len(standard) :], *(k.value for k in node.keywords if k.arg == "size")]
    if size is None or (isinstance(size, Object) and size.value is None):
        sizes = []
    draw = ast.Call(node.func, [*map(ast.Constant, standard), *sizes], [])
    z = calls.expressions.expression(ast.fix_missing_locations(ast.copy_location(draw, node)), env)
    first, *more = map(calls.as_float, given)
    scale = more[0] if more else first
    if names.startswith("low"):
        scale = calls.builder.apply(known_functions.SUBTRACT, scale, first)
    found = calls.builder.apply(known_functions.MULTIPLY, scale, z)
    if more:
        found = calls.builder.apply(known_functions.ADD, first, found)
    return calls.arrays.compute(found) if is_array(found) else found
