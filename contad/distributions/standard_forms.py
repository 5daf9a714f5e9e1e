"""Distributions in standard form, with location 0 and scale 1: a row of expressions for each, from which its formulas
are made at its first use.

The variate is y. Expressions call the names of `contad.distributions.probability_functions`.
"""

import math
from typing import Any, NamedTuple

from contad.distributions.formula import Formula, where
from contad.distributions.probability_functions import Cumulative, distribution, make_formula
from contad.distributions.solved_quantiles import solve_quantiles

WHOLE, HALF, UNIT = ("-_inf", "_inf"), ("0.0", "_inf"), ("0.0", "1.0")


class StandardForm(NamedTuple):
    """The row of a distribution.

    formula   of the log density, for docstrings
    density   the log density, after assignments
    ends      of the support
    open_at   the ends at which the density is 0: its formula does not hold there
    options   those of `distribution`, which determine the probabilities
    """

    shapes: str
    formula: str
    source: str
    density: str
    ends: tuple[str, str]
    open_at: str
    options: dict[str, Any]

    def make_density(self, name: str) -> Formula:
        """The log density of y and the shapes."""
        low, high = self.ends
        outside = [f"y <{'=' * ('low' in self.open_at)} {low}"] * (low != WHOLE[0]) or [f"y == {low}"]
        outside += [f"y >{'=' * ('high' in self.open_at)} {high}"] * (high != WHOLE[1]) or [f"y == {high}"]
        text = self.options.get("outside", " or ".join(outside))
        valid = " and ".join(x for x in (self.options.get("valid", ""), "y == y") if x)
        cases = where(self.options.get("positive", ""), valid, text)
        before, _, result = self.density.rpartition(";")
        lines = [x for x in (self.options.get("lines", ""), before) if x]
        names = ["y", *self.shapes.split()]
        made = make_formula(f"{name}_log_density", names, "; ".join(lines), result, cases, ())
        made.__doc__ = f"{self.formula}.\n\nRef: {self.source}.\n"
        return made

    def make_probabilities(self, name: str, density: Formula) -> Cumulative | None:
        """The probabilities and quantiles; None if the row has none. Quantiles without an expression are solved for."""
        options = {key: x for key, x in self.options.items() if key not in ("solved", "outside")}
        if not options.keys() - {"positive", "valid", "lines"}:
            return None
        low, high = (
            f"y {'==' if end.endswith('_inf') else sign} {end}"
            for sign, end in zip(("<=", ">="), self.ends, strict=True)
        )
        made = distribution(name, self.shapes, **{"low": low, "high": high} | options)
        if not self.options.get("solved"):
            return made
        return made._replace(**solve_quantiles(name, density, made.lcdf, made.lccdf, self.ends))


def standard(
    shapes: str, formula: str, source: str, density: str, ends: tuple[str, str] = WHOLE, open_at: str = "",
    **options: Any,
) -> StandardForm:  # fmt: skip
    """The row of a distribution, by the arguments of `StandardForm`."""
    low, high = (end.replace("PI", repr(math.pi)) for end in ends)
    return StandardForm(shapes, formula, source, density, (low, high), open_at, options)


def even(tail: str, back: str = "") -> dict[str, Any]:
    """The probabilities of an even density, from the logarithm of the upper tail at r = |y|, and r by twice the tail,
    t."""
    made: dict[str, Any] = {"lines": "r = select(y < 0.0, -y, y)", "split": ("y < 0.0", tail), "solved": not back}
    if back:
        text = f"near = PART < 0.5; t = 2.0 * select(near, PART, 1.0 - PART); r = {back}; select(near, LOWr, HIGHr)"
        made["inverse"] = tuple(
            text.replace("PART", part).replace("LOW", low).replace("HIGH", high)
            for part, low, high in (("p", "-", ""), ("q", "", "-"))
        )
    return made
