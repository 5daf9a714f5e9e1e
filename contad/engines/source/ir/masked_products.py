"""The product of a tangent with a partial, as a function of the program: a tangent of 0 has no part in infinities.

    z = d p,  and 0 where d is 0 and p is infinite or nan

Only the partial is masked, and only there, so that the derivative of d is kept where d happens to be 0.
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
    """Of d the partial that is masked where d is 0, of p the tangent."""
    return select(d != 0.0 or absolute(p) <= LARGEST, p, 0.0), d


_rule = ScalarRule(chain, None, None, False, ())
_rule.partials(chain_partials)

CHAIN = Function("chain", "chain(x0, x1)", _rule, "float")
