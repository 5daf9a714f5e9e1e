"""Deep programs: ladders of `elif` and rows of early exits, which are read as short ones, and sums of many terms."""

import ast

import pytest

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.reading.ladders import LONGEST, without_ladders
from contad.native.writes import may_write_arrays
from tests.engines.source.bodies import ARGUMENTS, agree, function_of, request

N = 130  # more than the hundred levels that Python takes
LOOP = "s = 0.0\ny = np.zeros(5)\nfor i in range(5):\n    w = a * (0.5 + 0.2 * x[i])\n"
RESULT = "return s + np.sum(y)"


def ladder(statement, otherwise, n=N):
    """n rungs, with {j} the number of the rung."""
    tests = [f"{'elif' if j else 'if'} w < {j / n!r}:\n    {statement.format(j=j)}" for j in range(n)]
    return "\n".join([*tests, f"else:\n    {otherwise}"])


def row(statement):
    """One `if` after the other."""
    return "\n".join(f"if w < {j / N!r}:\n    {statement.format(j=j)}" for j in range(N))


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


LADDERS = {
    "writes": LOOP + indented(ladder("y[i] = x[i] * a * {j}.0", "y[i] = a * a")) + RESULT,
    "numbers": LOOP + indented(ladder("s = s * 0.5 + {j}.0 * w", "pass")) + RESULT,
    "breaks": LOOP + indented(ladder("s += {j}.0 * w; y[i] = w", "break")) + RESULT,
    "returns": "w = a * 0.5\n" + ladder("return w * x[1] * {j}.0", "return x[2]"),
    "early returns": "w = a * 0.5\n" + row("return w * x[1] * {j}.0") + "\nreturn x[2]",
    "skips": LOOP + indented(row("s += w * {j}.0; y[i] = w; continue") + "\ns -= w * w") + RESULT,
    "a ladder in a ladder": LOOP
    + indented("if w < 0.3:\n" + indented(ladder("s += w * {j}.0", "s -= w")) + "else:\n    s += x[i]")
    + indented(ladder("y[i] = w * {j}.0", "y[i] = a", 2 * LONGEST)) + RESULT,
}  # fmt: skip


@pytest.mark.parametrize("name", LADDERS)
def test_ladders_agree_with_the_function(name):
    agree(LADDERS[name])


@pytest.mark.long
def test_a_ladder_is_compiled_and_explained():
    f = function_of(LADDERS["writes"], "ladder")
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
    f = function_of(f"return {' + '.join(terms)}")
    assert len(derivative_of(request(f)).source().splitlines()) < 10_000
    assert not may_write_arrays(f)
    agree(f"return {' + '.join(terms[:300])}")
