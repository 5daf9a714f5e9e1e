"""Long straight-line code has few blocks, so that the time it takes to compile grows with its length; what it means."""

import math
import sys

import numba
import numpy as np
import pytest
from numba import float64

import contad
from contad.engines.source import source
from contad.engines.source.writing.branchless import masked_product, select
from contad.numba_functions.request import Request
from tests.engines.source.programs.harness import functions_of
from tests.judges.light_compiling import whole


def statements(statement, n):
    name = f"{statement} {n}"
    body = "\n".join(["a = x", *[statement] * n, "return a"])
    return numba.njit(functions_of(f"# {name}\n{body}", "x, k")[name])


def lines_of(f):
    asked = Request(f.py_func, f, (float64, float64), (0, 1), False, "value_and_grad")
    return source(asked).splitlines()


def branches(lines):
    return sum(line.lstrip().startswith(("if ", "for ", "while ", "else")) or " if " in line for line in lines)


STATEMENTS = (
    "a = a*x + 1/(a+k)",
    "a = math.exp(-a*k) + math.log(1.0 + a*a) / (1.0 + k*k)",
    "a = max(a*k, 0.1*x) + np.maximum(x, a) + abs(a - k)",
    "a = (a if a > k else k) + math.sqrt(a*a + k)",
    "a = a + np.hypot(a, k) ** 0.5 + (a + 2.0) ** -3",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_straight_line_code_has_no_branch_per_statement(statement):
    short, long = (lines_of(statements(statement, n)) for n in (20, 80))
    allowed = 2 if "hypot" not in statement else 4 * 80  # hypot in its partials scales small arguments up by a call
    assert branches(long) <= allowed
    assert len(long) <= 4.2 * len(short)


@pytest.mark.parametrize("x", [0.3, -0.7])
def test_a_long_function_agrees_with_records(x):
    f = statements(STATEMENTS[0], 60)
    found = contad.value_and_grad(f, (0, 1), engine="generated")(x, 1.7)
    expected = contad.value_and_grad(f, (0, 1), engine="records")(x, 1.7)
    np.testing.assert_allclose(np.ravel(found[1]), np.ravel(expected[1]), rtol=1e-10)
    assert found[0] == f(x, 1.7)


def first_fails(x, k):
    a = 1.0 / x
    b = 1.0 / k
    c = int(b)
    if c < 0:
        raise ValueError("negative")
    return a + b


@pytest.mark.parametrize(("x", "k"), [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (2.0, -4.0), (1.0, 2.0)])
def test_division_by_zero_comes_before_what_follows_it(x, k):
    f = numba.njit(first_fails)
    grad = contad.grad(f, (0, 1), engine="generated")
    try:
        f(x, k)
    except (ValueError, ZeroDivisionError) as error:
        with pytest.raises(type(error), match=str(error)):
            grad(x, k)
    else:
        assert grad(x, k) == (-1.0 / x**2, -1.0 / k**2)


def test_masked_product_and_select():
    compiled_product = numba.njit(lambda d, p: masked_product(d, p))
    compiled_select = numba.njit(lambda c, x, y: select(c, x, y))
    with whole():
        assert compiled_product(1.0, 2.0) == 2.0
    for f in (masked_product, compiled_product):
        assert f(0.0, math.inf) == f(-0.0, math.nan) == 0.0
        assert f(2.0, math.inf) == math.inf
        assert math.isnan(f(math.nan, 1.0)) and math.isnan(f(2.0, math.nan))
        assert f(2.0, 3) == 6.0
    for f in (select, compiled_select):
        assert f(True, 1.0, 2.0) == 1.0 and f(False, 1, 2) == 2 and f(False, 1, 2.5) == 2.5
    text = "".join(compiled_product.inspect_llvm().values())
    assert "select" in text


DEAD = functions_of("""\
# length
a = np.zeros(n)
return x * x
# step
for _ in range(0, 5, n):
    pass
return x * x
# length in a branch
if x > 0.0:
    a = np.ones((2, n))
return x * x
# literal length
a = np.zeros((-1, -2))
return x * x * n
# literal step
for _ in range(0, 3, 0):
    pass
return x * x * n
""", "x, n")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "told"), [("literal length", "negative dimensions not allowed"), ("literal step", "must not be zero")]
)
def test_statements_that_are_never_reached_are_left_in(name, told):
    """Numba prunes what follows a test of literals, and would take the derivative for a function that returns None."""
    with pytest.raises(ValueError, match=told):
        contad.grad(numba.njit(DEAD[name]), engine="generated")(3.0, 1.0)


@pytest.mark.parametrize(("name", "bad"), [("length", -1), ("step", 0), ("length in a branch", -3)])
def test_dead_statements_raise_as_in_the_function(name, bad):
    f = numba.njit(DEAD[name])
    grad = contad.grad(f, 0, engine="generated")
    assert grad(3.0, 2) == 6.0
    with pytest.raises(ValueError) as expected:
        f(3.0, bad)
    with pytest.raises(ValueError) as found:
        grad(3.0, bad)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_a_long_sum_is_not_one_nested_expression(in_a_loop, tmp_path):
    """Python refuses 200 parentheses within one another."""
    term = "s * s" if in_a_loop else "x * x"
    line = f"s = 0.01 * ({' + '.join([term] * 240)})"
    lines = ["s = x", "for i in range(2):", f"    {line}"] if in_a_loop else [line]
    path = tmp_path / "long.py"
    path.write_text("\n    ".join(["def f(x):", *lines, "return s"]) + "\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)  # under pytest, the stack is high already
    try:
        exec(contad.source(names["f"], 0.5), names)
    finally:
        sys.setrecursionlimit(limit)
    value, (gradient,) = names["run"](0.5)
    assert value == names["f"](0.5)
    inner, slope = 2.4 * 0.25, 4.8 * 0.5  # of 2.4 x^2
    assert gradient == pytest.approx(4.8 * inner * slope if in_a_loop else slope)
