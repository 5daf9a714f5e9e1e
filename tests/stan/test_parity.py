"""The table of Stan's names: what works is tried, what is spelled differentiates and is right, what is missing is."""

import ast
import subprocess
import sys

import numpy as np
import pytest

import contad
from contad import stan, table
from contad.rules.array_rule import ArrayRule, array_rules
from contad.rules.scalar_rule import ScalarRule, rules
from contad.stan import parity
from tests.judges.array_derivatives import directional, in_shape

ROWS = parity.rows(tuple(stan.__all__))
SPELLED = [row for row in ROWS if row.status == "NumPy"]
CONSTANT = [row for row in ROWS if row.status == "constant"]
by_spelling = pytest.mark.parametrize("row", SPELLED, ids=lambda row: row.name)

# what the variables of an expression stand for; other numbers for names whose domain asks for them
MATRICES = {
    "a": np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1], [-0.2, 0.8, 0.6]]),
    "b": np.array([[0.6, 1.7, -0.4], [-0.2, 2.3, 0.9], [1.1, -1.6, 0.3]]),
}
VALUES = {
    "x": 0.7, "y": 0.4, "z": 1.9, "p": 0.3, "v": np.array([1.3, -0.7, 2.1]), "w": np.array([0.4, 1.9, -1.1]), "k": 1,
    "n": 2, "f": lambda v: np.prod(np.sin(v)) + v[0] * v[1] ** 2 * v[2], **MATRICES,
}  # fmt: skip
AT = {"hessian_block_diag": {"v": np.array([1.3, -0.7, 2.1])}, "one_hot_array": {"n": 3}}
ACTIVE = ("x", "y", "z", "p", "v", "w", "a", "b")


def variables_of(expression):
    """The variables of an expression, in the order of VALUES."""
    read = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    return [name for name in VALUES if name in read]


def function_of(row):
    """(the expression as a function of its numbers and arrays, their values)."""
    values = VALUES | AT.get(row.name, {})
    active = [name for name in variables_of(row.how) if name in ACTIVE]
    code = compile(row.how, row.name, "eval")
    f = lambda *args: eval(code, {"np": np, "contad": contad, **values, **dict(zip(active, args, strict=True))})
    return f, [np.asarray(values[name]) if np.ndim(values[name]) else values[name] for name in active]


# ---- what works ------------------------------------------------------------------------------------------------------
def test_there_is_a_row_for_each_of_611_names():
    assert len(ROWS) == 611 and len({(row.section, row.name) for row in ROWS}) == 611


def test_every_working_function_is_judged():
    judged = {id(rule) for rule in (*rules(), *array_rules())}  # by the tests of rules
    for row in ROWS:
        if row.status == "works":
            function = getattr(stan, row.name)
            assert callable(function)
            if isinstance(function, (ScalarRule, ArrayRule)):
                assert id(function) in judged
            else:  # by the tests beside this one, which demand each of them
                assert function.__module__.startswith("contad.stan.") and function.__name__ == row.name


def test_every_name_of_contad_stan_is_one_of_stan():
    assert set(stan.__all__) - {"Model"} == {row.name for row in ROWS if row.status == "works"}


# ---- what is spelled -------------------------------------------------------------------------------------------------
@by_spelling
def test_a_spelling_differentiates(row):
    f, args = function_of(row)
    assert args
    weights = in_shape(f(*args))
    total = lambda *xs: np.sum(f(*xs) * weights)
    dots = [np.asarray((1.3 + k) * in_shape(x) + 0.3) if np.ndim(x) else 0.8 - 0.3 * k for k, x in enumerate(args)]
    expected = float(directional(total, [np.asarray(x) for x in args], dots))
    assert abs(expected) > 1e-6
    found = contad.jvp(total, tuple(args), tuple(dots))[1]
    assert found == pytest.approx(expected, rel=1e-7)
    gradient = contad.grad(total, tuple(range(len(args))))(*args)
    assert sum(np.sum(g * d) for g, d in zip(gradient, dots, strict=True)) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("row", CONSTANT, ids=lambda row: row.name)
def test_a_constant_is_one_with_variables_too(row):
    f, args = function_of(row)
    expected = f(*args)
    seen = []

    def kept(*xs):
        seen.append(f(*xs))
        return sum(np.sum(x) for x in xs)

    if args:
        gradient = contad.grad(kept, tuple(range(len(args))))(*args)
        assert all(np.all(g == 1.0) for g in gradient)
        np.testing.assert_array_equal(contad.value_of(seen[0]), expected)
    else:
        assert np.shape(expected) in ((), (2,), (2, 2), (3,))


def test_constants_are_those_of_stan():
    found = {row.name: getattr(stan, row.name)() for row in ROWS if row.section == "Constants"}
    expected = [2.718281828459045, 3.141592653589793, 2.0**0.5, 2.0**-52, np.inf, -np.inf, np.nan]
    np.testing.assert_array_equal(list(found.values()), expected)


# ---- what is missing -------------------------------------------------------------------------------------------------
def test_no_name_of_stan_is_missing():
    assert [row.name for row in ROWS if row.status == "missing"] == []
    assert {"fft", "conj", "polar", "complex_schur_decompose"} <= {row.name for row in ROWS if row.status == "works"}


def test_names_without_use_in_python_are_listed():
    rows = [row for row in ROWS if row.status == "not for Python"]
    assert {row.name for row in rows} == parity.NOT_FOR_PYTHON.keys()
    assert not any(hasattr(stan, row.name) for row in rows)


# ---- the command -----------------------------------------------------------------------------------------------------
def test_the_command_prints_the_table():
    command = [sys.executable, "-m", "contad.table", "--stan"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == table.stan_table()
    lines = done.stdout.splitlines()
    assert sum(line.startswith("| `") for line in lines) == 611
    counts = [sum(row.status == status for row in ROWS) for status in ("works", "NumPy", "constant")]
    assert f"Of 611 names {counts[0]} are functions of `contad.stan`, {counts[1]} are expressions that" in done.stdout
    assert "| `inverse` | works | `contad.stan.inverse` | The inverse of a square matrix, like" in done.stdout
    assert "| `segment` | NumPy | `v[k : k + n]` |  |" in lines
    assert "| `check_ldlt_factor` | not for Python |  | a state of Eigen's factorisation; np.linalg" in done.stdout


def test_a_wrong_claim_is_noticed(monkeypatch):
    section = "Reductions and statistics"
    wrong = parity.SPELLINGS | {section: {"sum": "np.argmax(v) + 0.0 * contad.value_of(v)[0]"}}
    monkeypatch.setattr(parity, "SPELLINGS", wrong)
    row = next(row for row in parity.rows(()) if row.name == "sum")
    with pytest.raises(AssertionError):
        test_a_spelling_differentiates(row)
