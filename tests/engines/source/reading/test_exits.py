"""Deep programs: ladders of `elif` and rows of early exits, which are read as short ones, and sums of many terms."""

import ast

import pytest

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.reading.exits import LONGEST, without_ladders
from contad.numba_functions.writes import may_write_arrays
from tests.engines.source.agreement import request
from tests.engines.source.programs.harness import ARGUMENTS, function_of, require_right
from tests.engines.source.programs.ladders import LADDERS, LONG_LADDERS, ladder


@pytest.mark.long
def test_a_ladder_is_compiled_and_explained():
    f = function_of(LONG_LADDERS, LADDERS["writes"], "ladder")
    assert "engine generated" in contad.explain(contad.grad(f), *ARGUMENTS)


@pytest.mark.parametrize("n", [1, LONGEST, LONGEST + 1, 1500])
def test_every_rung_is_kept_in_order(n):
    (changed, *more) = without_ladders(ast.parse(ladder("s = {j}", "s = -1", n)).body)
    assert len(more) == (n > LONGEST) * (1 + (n - 1) // LONGEST)
    names = {}
    for w in (-1.0, 0.5 / n, 1.0 - 0.5 / n, 2.0):
        names["w"] = w
        for statement in (changed, *more):
            ast.fix_missing_locations(statement)
            text = ast.unparse(statement).replace(".pending1", "pending")
            exec(text, names)
        assert names["s"] == next((j for j in range(n) if w < j / n), -1)


def test_a_sum_of_thousands_of_terms_is_read_and_written():
    terms = [f"x[{j % 5}] * {j}.0 * a" if j % 2 else f"math.sin(a * {j}.0)" for j in range(2000)]
    f = function_of(LONG_LADDERS, f"return {' + '.join(terms)}")
    assert len(derivative_of(request(f, *ARGUMENTS, argnums=(0, 1))).source().splitlines()) < 10_000
    assert not may_write_arrays(f)
    require_right(LONG_LADDERS._replace(takes={"sum": f"return {' + '.join(terms[:300])}"}), "sum")
