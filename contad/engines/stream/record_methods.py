"""The methods of variables that push records, generated from the registry."""

from typing import Any

from contad.engines.stream.methods import generate
from contad.engines.stream.record_head import JOIN, LINEAR
from contad.engines.stream.sweep import operation_code
from contad.rules.scalar_rule import ScalarRule
from contad.variables.open_types import Function
from contad.variables.var import Var

_RECORD = """\
push = s.push
c._index = k = s.top; s.top = k + 1
push(({code:.1f}, {x}, {y}, z))
if k >= s.limit: s.flush_if_long()"""


_STORED = """\
push = s.push
c._index = k = s.top{more}; s.top = k + 1
push(({fields}))
if k >= s.limit: s.flush_if_long()"""


def implementation(cls: type[Var], rule: ScalarRule) -> tuple[Function, Function | None]:
    """Generated methods of a variable class that pushes records; for more than two arguments the general method."""
    if rule.arity > 2:
        return lambda *args: rule.general(args), None
    compiled = operation_code(rule, "v" * rule.arity) is not None
    return generate(cls, rule, _record if compiled else _record_partials)


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    x = "a._index" if active[0] == "v" else "x"
    y = "0.0" if rule.arity == 1 else "b._index" if active[1] == "v" else "y"
    return _RECORD.format(code=operation_code(rule, active), x=x, y=y), {}


def _record_partials(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    """Lines that store the partials: one record per active argument, the last one being the result's."""
    values = "z, x" if rule.arity == 1 else "z, x, y"
    names: dict[str, Any] = {}
    partials: list[str] = []
    fields: list[str] = []
    for k, kind in enumerate(active):
        if kind == "v":
            names[f"p{k}"] = rule.partial(k)
            partials.append(f"{'pq'[k]} = p{k}({values})")
            cell = f"{'ab'[k]}._index"
            if rule.body is not None and rule.body.routes(k):
                cell = f"{cell} if {'pq'[k]} != 0.0 else 0"
            fields.append(f"{JOIN if fields else LINEAR:.1f}, {cell}, {'pq'[k]}, z")
    record = _STORED.format(fields=", ".join(fields), more=" + 1" if len(fields) > 1 else "")
    whole = f"if s.keeps_rules: return general({'a' if rule.arity == 1 else 'a, b'})"
    return "\n".join([whole, *partials, record]), names
