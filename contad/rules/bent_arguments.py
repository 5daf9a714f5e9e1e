"""The pairs of arguments in which a rule has second derivatives."""

import functools
import itertools

import numpy as np

from contad.rules.body_derivatives import derivatives_of_partial
from contad.rules.scalar_rule import ScalarRule


@functools.cache
def bent_pairs(rule: ScalarRule, active: str, live: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Pairs of positions in `live` by which the rule may have a second derivative other than 0; each pair once."""
    everything = tuple(itertools.combinations_with_replacement(range(len(live)), 2))
    variables = [a for a, kind in enumerate(active) if kind == "v"]
    found = set()
    try:
        for a, k in enumerate(live):
            with np.errstate(all="ignore"):  # only their existence matters, not their values here
                _, by_z, *by_arguments = derivatives_of_partial(rule, k, active)(*[np.float64(0.5)] * (rule.arity + 1))
            found |= {
                (min(a, b), max(a, b)) for b, j in enumerate(live)
                if by_z is not None or by_arguments[variables.index(j)] is not None
            }  # fmt: skip
    except (LookupError, AttributeError, ArithmeticError, TypeError, ValueError):
        return everything
    return tuple(pair for pair in everything if pair in found)
