"""The array rules of contad itself, of operations and of mirrors: what tests of all rules go over."""

import contad.ops
import contad.scipy.linalg  # noqa: F401  (which registers rules)
from contad.rules.array_rule import array_rules

HOMES = "contad.ops.", "contad.scipy."


def own_array_rules():
    """In the order in which they are registered; users' rules, which other tests declare, are not among them."""
    return [rule for rule in array_rules() if rule.__module__.startswith(HOMES)]
