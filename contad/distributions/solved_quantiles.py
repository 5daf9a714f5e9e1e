"""Quantiles without an expression, by Newton's method, as rules made from the formulas of a distribution.

The method solves for the logarithm of the smaller tail, so both tails keep their digits. The derivatives are those of
the inverse function; those of the probability in a shape come from its formula.
"""

import ast
import math
import re
from typing import Any

from contad.distributions.faces import function_of_text
from contad.distributions.formula import Formula
from contad.distributions.inverse_probabilities import next_point
from contad.ops.exponential import exp
from contad.ops.logic import select
from contad.rules.scalar_rule import ScalarRule, add_unlisted

_RULE = """def standard_{name}_quantile(upper, p{shapes}):
    low, high = {low}, {high}
    if not (0.0 <= p <= 1.0 and density.function({start}{shapes}) == density.function({start}{shapes})):
        return math.nan
    above = upper > 0.5
    if p * (1.0 - p) == 0.0:
        return high if above == (p == 0.0) else low
    if p > 0.5:
        above, p = not above, 1.0 - p
    target = math.log(p)
    u = {start}
    if {positive}:  # the search is for log y
        low, high, u = -math.inf, math.log(high), math.log(u)
    for _ in range(200):
        y = math.exp(u) if {positive} else u
        part = upper_part.function(y{shapes}) if above else lower_part.function(y{shapes})
        over = part - target
        if over == 0.0:
            return y
        if (over > 0.0) == above:
            low = u
        else:
            high = u
        slope = math.exp(min(density.function(y{shapes}) - part, 700.0)) if part > -math.inf else 0.0
        slope = slope * y if {positive} else slope
        step = over / slope if slope > 0.0 else math.inf
        following = next_point(u, step if above else -step, low, high)
        if abs(following - u) <= 4e-16 * abs(u) or following == u:
            u = following
            break
        u = following
    return math.exp(u) if {positive} else u
"""
_PARTIALS = """def standard_{name}_quantile_partials(z, upper, p{shapes}):
    height = density(z{shapes})
    by_p = exp(-height)
    weight = -exp(lower_part(z{shapes}) - height)
    return 0.0, select(upper > 0.5, -by_p, by_p){slopes}
"""
_FORMULA = "def {name}({variable}{shapes}):\n    return rule({upper}, {variable}{shapes})\n"


SHAPES = (1.3, 0.7, 0.4, 2.1)  # at which rules are tested


def solve_quantiles(
    name: str, density: Formula, lower: Formula, upper: Formula, ends: tuple[str, str]
) -> dict[str, Formula]:
    """The quantile functions of a density with these logarithms of its probabilities and these ends of its support."""
    shapes = "".join(f", {x}" for x in density.argument_names[1:])
    positive, bounded = ends[0] == "0.0", ends[1] != "_inf"
    start = f"0.5 * ({ends[0]} + {ends[1]})" if bounded else "1.0" if positive else "0.0"
    low, high = (end.replace("_inf", "math.inf") for end in ends)
    text = _RULE.format(name=name, shapes=shapes, low=low, high=high, positive=positive, start=start)
    known = {"math": math, "density": density, "lower_part": lower, "upper_part": upper, "exp": exp, "select": select,
             "next_point": next_point}  # fmt: skip
    count = len(density.argument_names) - 1
    points = [(0.0, 0.3, *SHAPES[:count]), (1.0, 0.2, *SHAPES[1 : 1 + count])]
    rule = ScalarRule(_function_of(text, f"standard_{name}_quantile", known), None, None, False, points)
    add_unlisted(rule)
    slopes = {f"by_{x}": differentiate(lower, k) for k, x in enumerate(lower.argument_names) if k}
    text = _PARTIALS.format(name=name, shapes=shapes, slopes="".join(f", weight * {x}(z{shapes})" for x in slopes))
    rule.partials(_function_of(text, f"standard_{name}_quantile_partials", known | slopes))
    made = {}
    for field, variable, flag in (("quantile", "p", "0.0"), ("upper_quantile", "q", "1.0")):
        text = _FORMULA.format(name=f"{name}_{field}", variable=variable, shapes=shapes, upper=flag)
        made[field] = Formula(_function_of(text, f"{name}_{field}", {"rule": rule}), (), (), ())
    return made


def differentiate(formula: Formula, k: int) -> Formula:
    """The derivative of a formula in its argument k, as a formula."""
    assignments, result = formula.body.slice(k)
    lines = [*(f"{name} = {ast.unparse(value)}" for name, value in assignments), f"return {ast.unparse(result)}"]
    name = f"{formula.name}_by_{formula.argument_names[k]}"
    text = f"def {name}({', '.join(formula.argument_names)}):\n" + "".join(f"    {line}\n" for line in lines)
    text = re.sub(r"\b_([td]\d+)\b", r"v_\1", text)  # names that the new formula gives to its own operations
    known = formula.formula.__globals__ | formula.body.extra
    return Formula(_function_of(text, name, known), (), formula.body.whole, ())


def _function_of(text: str, name: str, known: dict[str, Any]) -> Any:
    made = function_of_text(text, name, dict(known))
    made.__module__ = __name__
    return made
