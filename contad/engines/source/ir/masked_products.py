"""The scalar function tangent * partial, in which a tangent of 0 cancels an infinite or nan partial.

    z = d p,  and 0 where d is 0 and p is infinite or nan

It masks only the partial, and only if that is infinite or nan: d keeps its derivative where it happens to be 0.
"""

import sys

from contad.engines.source.ir.known_functions import Function
from contad.ops.arithmetic import absolute
from contad.ops.logic import select
from contad.rules.scalar_rule import ScalarRule

LARGEST = sys.float_info.max


def chain(d: float, p: float) -> float:
    """d p, and 0 where d is 0."""
    return d * p if d != 0.0 else 0.0


def chain_partials(z, d, p):  # type: ignore[no-untyped-def]
    """For d: the partial, masked where d is 0. For p: the tangent."""
    return select(d != 0.0 or absolute(p) <= LARGEST, p, 0.0), d


_rule = ScalarRule(chain, None, None, False, ())
_rule.partials(chain_partials)

CHAIN = Function("chain", "chain(x0, x1)", _rule, "float")
