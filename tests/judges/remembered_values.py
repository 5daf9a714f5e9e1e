"""Values of rules that take long are computed once at each point: every engine, mode and order asks for the same ones.

A value is a pure function of numbers, and what is judged by `expect_ad` are partials and engines. Rules that compiled
code inlines are cheap, and stay as they are.
"""

import contextlib
import functools

from contad.distributions.formula import Formula
from contad.rules.scalar_rule import list_unlisted, rules


def remember(function):
    """The function of numbers with the values that it has had."""
    known = {}

    @functools.wraps(function)
    def remembered(*args):
        key = *args, *map(type, args), *(map(repr, args) if 0.0 in args else ())  # 0.0 and -0.0 are equal
        if key not in known:
            known[key] = function(*args)
        return known[key]

    return remembered


@contextlib.contextmanager
def remembered_values():
    """Inside, every rule that is not inlined remembers its values."""
    slow = [rule for rule in {*rules(), *list_unlisted()} if not rule.core and not isinstance(rule, Formula)]
    before = [rule.function for rule in slow]
    for rule in slow:
        rule.function = remember(rule.function)
        forget_methods(rule)
    try:
        yield
    finally:
        for rule, function in zip(slow, before, strict=True):
            rule.function = function
            forget_methods(rule)


def forget_methods(rule):
    """What engines have made of the function."""
    if rule.operator is None:
        rule.methods, rule.reflected = {float: rule.evaluate}, {}
