"""Declares the functions that rows compute to Numba: the part that plain arrays and the tape have in common."""

from collections.abc import Callable, Mapping
from typing import Any

from numba import types

from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload
from contad.kernels import matrix_checks
from contad.kernels.rows.row_calls import MEANINGS, RowCall

_TEXT = """
def typing({parameters}):
    {asked}
    found = find("{name}", {operands})
    if found is None:
        return None
    made = operation(found)

    def implementation({parameters}):
        {lines}
        return {returned}

    return implementation
"""


def declare_call(
    call: RowCall, find: Callable[..., Any], operation: Callable[[Any], Any], known: Mapping[str, Any],
    compute: Callable[[RowCall, Mapping[str, str]], list[str]], returned: str,
) -> None:  # fmt: skip
    """Let compiled functions call a function if `find` finds something among its operands.

    `compute` writes the lines between: they may use `own_a`, which `as_operand` makes from each operand a, the texts of
    the options, and `made`, the result of `operation` on what `find` found. `returned` is the expression of the result.
    """
    row, names = call.row, call.parameters
    matrices = [x for x in row.operands if x.shape]
    pairs = [x for x in names if len(MEANINGS.get(x, ())) == 2]
    other = [f"{', '.join(MEANINGS[x])} = {x}" for x in names if x in MEANINGS and x != "trans"]
    asked = [f"if not is_pair({x}): return None" for x in pairs] + other
    texts = {x: f"bool({x})" if x in row.flags else x for x in row.options}
    texts |= dict(zip(row.options, call.constants, strict=False))
    if "trans" in names:
        asked += ["transposed = flag_of_trans(trans)", "if transposed is None: return None"]
        texts["transposed"] = "transposed(trans)"
    first = row.operands[0].name
    lines = [*other, *(f"own_{x.name} = as_operand({x.name})" for x in matrices)]
    if call.finite:
        lines += ["if check_finite:", *(f"    require_finite(own_{x})" for x in call.finite)]
    lines += [*[call.checks] * bool(call.checks), f"m, n = {first}.shape", "p = min(m, n)"]
    lines.append(f"k = own_{matrices[-1].name}.shape[1]")
    text = _TEXT.format(
        parameters=", ".join(x if d is ... else f"{x}={d}" for x, d in names.items()), name=call.name,
        operands=", ".join(f"({x.name}, {call.axes(x)})" for x in matrices), asked="\n    ".join(asked) or "pass",
        lines="\n        ".join([*lines, *compute(call, texts)]), returned=returned,
    )  # fmt: skip
    given = {**vars(matrix_checks), **_KNOWN, "__name__": __name__, "find": find, "operation": operation, **known}
    exec(compile(text, __file__, "exec"), given)
    add_overload(call.function, prefer_literal="trans" in names)(given["typing"])


def _is_pair(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple) and len(kind) == 2


def _flag_of_trans(trans: Any) -> Any:
    """An njit function that says whether `trans`, of this type, means the transposed matrix; None if only its value
    would tell.
    """
    given = trans.literal_value if isinstance(trans, types.Literal) else getattr(trans, "value", trans)
    if isinstance(trans, (types.Integer, types.Boolean)) and not isinstance(trans, types.Literal):
        return njit(lambda trans: 1 <= trans <= 2)
    if isinstance(given, (int, str)):
        is_transposed = given in (1, "T", 2, "C")
        return njit(lambda trans: is_transposed)
    return None


_KNOWN = {"is_pair": _is_pair, "flag_of_trans": _flag_of_trans}
