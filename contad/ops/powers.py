"""Powers with a literal exponent, whose partials need no general power.

    z = x^c,     dz/dx = c x^(c-1)

The last factor is a product for whole c > 0, a root times a product for half-integers c > 0, and z / x for c < 0, where
z and the derivative overflow and underflow together.
"""

import functools
import linecache
import math
from collections.abc import Callable
from typing import Any

from contad.ops.elementary import sqrt
from contad.rules.scalar_rule import ScalarRule
from contad.variables.number import peek

# exponents that compiled code checks if they are not literals, the most frequent first; negative ones need no list
COMMON = (2.0, 3.0, 0.5, 1.5, 4.0, 6.0, 5.0, 2.5, 8.0, 7.0, 12.0)
MOST = 64  # largest whole exponent; beyond it the error of repeated products is noticeable
_SOURCE = """\
def {name}(x):
    return x ** ({exponent!r})


def {name}_partials(z, x):
    return {partial}
"""


@functools.cache
def literal_power(exponent: float) -> ScalarRule | None:
    """The rule of x ** exponent for that number; None if its derivative is not shorter than that of the general power.

    >>> literal_power(6).partial(0)(64.0, 2.0)
    192.0
    """
    partial = partial_of_power(exponent)
    if partial is None:
        return None
    name = f"power_{exponent!r}".replace("-", "minus_").replace(".", "_")
    text = _SOURCE.format(name=name, exponent=exponent, partial=partial)
    file = f"<contad {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # bodies are read from their source
    names = {"sqrt": sqrt, "__name__": __name__}
    exec(compile(text, file, "exec"), names)
    rule = ScalarRule(names[name], None, None, True, ())  # type: ignore[arg-type]
    rule.partials(names[f"{name}_partials"])  # type: ignore[arg-type]
    return rule


def partial_of_power(c: float) -> str | None:
    """The partial of x ** c in (z, x) as text; None if it is the general power."""
    if c < 0.0:
        return f"{float(c)!r} * z / x"
    whole, half = divmod(c, 1.0)
    n = int(whole)
    if half == 0.0 and 2 <= n <= MOST:
        return f"{float(c)!r} * {_product(n - 1)}"
    if half != 0.5 or n > MOST:
        return None
    return "0.5 / z" if n == 0 else f"{float(c)!r} * sqrt(x)" if n == 1 else f"{c!r} * {_product(n - 1)} * sqrt(x)"


def partial_of_rule(rule: ScalarRule, k: int, active: str) -> Callable[..., Any]:
    """The partial of a rule with respect to operand k, for Python; for a power with a constant exponent ("vc"), the
    shorter ones first."""
    general = rule.partial(k)
    if rule.name != "power" or active != "vc":
        return general
    short: dict[float, Callable[..., Any]] = {}

    def partial(z: Any, x: Any, y: Any) -> Any:
        if y.__class__ is float or y.__class__ is int:
            found = short.get(y)
            if found is None and y > 0.0 and (2.0 * y).is_integer():
                literal = literal_power(float(y))
                if literal is not None:
                    found = short[y] = literal.partial(0)
            if found is not None:
                return found(z, x)
            if y < 0.0 and math.isfinite(peek(z)):  # as in `with_shortcuts`
                return y * z / x
        return general(z, x, y)

    return partial


def _product(n: int) -> str:
    return "x" if n == 1 else f"x ** {n}"
