"""Core bodies as they are pasted into compiled sweeps: the numbers of the same bodies in Python."""

import ast
import itertools
import math

import numba
import numpy as np
import pytest

import contad.ops  # noqa: F401
from contad.compiled_rules.rule_source import partial_tree
from contad.rules.scalar_rule import rule, rules
from tests.judges.accuracy import points
from tests.judges.samples import sampled

CORE = sorted(r.name for r in rules() if r.core and r.__module__.startswith("contad.ops."))
SPECIAL = [x for y in (0.0, 0.5, 1.0, 2.0, 3.0, 710.0, 1e200, 1e-200, 1e-310, math.inf) for x in (y, -y)] + [math.nan]


def compiled(at):
    """One compiled function of (z, *arguments) that returns the value of a rule and its partials."""
    arguments = [f"a{k}" for k in range(at.arity + 1)]
    lines, results = [], []
    for k in range(at.arity):
        assignments, result = partial_tree(at, k, arguments, f"p{k}_")
        lines += [f"{name} = {ast.unparse(x)}" for name, x in assignments]
        results.append(f"float({ast.unparse(result)})")
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def both({', '.join(arguments)}):\n{body}    return ({', '.join(results)},)\n"
    scope = {"math": math, "np": np, "value": numba.njit(error_model="numpy")(at.function)}
    exec(source.replace("return (", f"return (float(value({', '.join(arguments[1:])})), "), scope)
    return numba.njit(error_model="numpy")(scope["both"])


@pytest.mark.parametrize("name", sampled(CORE, 3))
def test_compiled_body_agrees(name):
    at = rule(name)
    both = compiled(at)
    for args in itertools.chain(itertools.product(SPECIAL, repeat=at.arity), points(at.arity), at.points):
        z = at(*args)
        expected = (z, *(at.partial(k)(z, *args) for k in range(at.arity)))
        for x, y in zip(both(z, *args), expected, strict=True):
            close = x == y or abs(x - y) <= 3 * math.ulp(y)  # the cube roots of NumPy and of C differ
            assert close or (math.isnan(x) and math.isnan(y)), (args, x, y)
