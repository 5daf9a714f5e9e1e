"""At kinks and jumps every engine has the derivative of the table in the guide."""

import functools
import importlib.util
import math
import operator
import re
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pytest

import contad
import contad.stan
from contad.errors import ContadError
from tests.engines.source.programs.harness import functions_of

PAGE = (Path(__file__).parents[2] / "notes" / "guide" / "derivatives.md").read_text()
SECTION = PAGE.split("## Kinks and jumps\n")[1].split("\n## ")[0]
ROWS = {
    call: (float(Fraction(by_x)), float(Fraction(by_y)))
    for call, by_x, by_y in re.findall(r"^\| `(.+)` \| (\S+) \| (\S+) \|$", SECTION, re.M)
}
# what an engine refuses by name; it has no other number
REFUSED = {
    "closures": ("np.clip(np.array",),
    "records": ("np.clip(np.array",),
    "record": ("heaviside", "nanmax", "nanmin", "math.fmod"),
}
STEEP = re.compile("abs|norm|hypot|sqrt|std|copysign|fdim")  # with second derivatives of their own
TIES = re.compile(  # whose second derivatives know the direction
    r"maximum|minimum|fmax|fmin|clip|(np\.|np\.nan|\)\.)(max|min|amax|amin|median|quantile|percentile)|ptp|sort|partition"
)


def function_of(call):
    return eval(f"lambda x, y: {call}", {"np": np, "math": math, "contad": contad})


PYTHON = {
    "closures": lambda f: contad.grad(f, (0, 1), engine="closures")(1.0, 1.0),
    "records": lambda f: contad.grad(f, (0, 1), engine="records")(1.0, 1.0),
    "matrix": lambda f: contad.grad(f, (0, 1))(1.0, 1.0),
    "of an array": lambda f: contad.grad(lambda v: f(v[0], v[1]))(np.ones(2)),
    "forward": lambda f: [contad.jvp(f, (1.0, 1.0), v)[1] for v in ((1.0, 0.0), (0.0, 1.0))],
    "record": lambda f: contad.grad(contad.record(f, 1.0, 1.0), (0, 1))(1.0, 1.0),
}


@pytest.mark.parametrize("engine", PYTHON)
@pytest.mark.parametrize("call", ROWS)
def test_python_engines_have_the_derivative_of_the_table(call, engine):
    f = function_of(call)
    if any(part in call for part in REFUSED.get(engine, ())):
        with pytest.raises(ContadError):
            PYTHON[engine](f)
    else:
        assert tuple(map(float, PYTHON[engine](f))) == ROWS[call]


@pytest.mark.parametrize("call", [call for call in ROWS if not STEEP.search(call) and not TIES.search(call)])
def test_second_order_takes_the_same_one(call):
    f, (by_x, by_y) = function_of(call), ROWS[call]
    expected = [[2.0 * by_x, by_y], [by_y, 0.0]]  # of a function with no second derivative beside the kink

    def g(v):
        return f(v[0], v[1]) * v[0]

    np.testing.assert_array_equal(contad.hessian(g)(np.ones(2)), expected)
    np.testing.assert_array_equal(contad.jacobian(contad.grad(g))(np.ones(2)), expected)


@pytest.mark.parametrize("call", [call for call in ROWS if TIES.search(call)])
def test_at_a_tie_second_order_takes_the_side_of_the_direction(call):
    f = function_of(call)
    columns = []
    for v in np.eye(2):
        by_x, by_y = contad.grad(lambda v: f(v[0], v[1]))(np.ones(2) + 1e-3 * v)
        columns.append([v @ [by_x, by_y] + v[0] * by_x, v[0] * by_y])
    np.testing.assert_array_equal(contad.hessian(lambda v: f(v[0], v[1]) * v[0])(np.ones(2)), np.transpose(columns))


# ---- Numba functions: the rows in one function, which is compiled once for each engine -------------------------------
# what Numba does not have of these, or an engine not
NOT_COMPILED = {
    "generated": ("heaviside", "math.fmod", "np.clip(x", "max(x, y)", "quantile"),
    "tape": ("heaviside", "math.fmod"),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A function of x, y and weights of the rows, for an engine: Numba reads its source."""

    @functools.cache
    def make(engine):
        rows = [call for call in ROWS if not any(part in call for part in NOT_COMPILED[engine])]
        lines = ["import math", "import numba", "import numpy as np", "import contad", "", "@numba.njit",
                 "def rows(x, y, w):", "    total = 0.0",
                 *(f"    total += w[{k}] * ({call})" for k, call in enumerate(rows)), "    return total"]  # fmt: skip
        path = tmp_path_factory.mktemp("kinks") / f"kinks_of_{engine}.py"
        path.write_text("\n".join(lines) + "\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.rows, rows

    return make


@pytest.mark.parametrize("engine", NOT_COMPILED)
def test_compiled_engines_have_the_derivative_of_the_table(compiled, engine):
    f, rows = compiled(engine)
    gradient = contad.grad(f, (0, 1), engine=engine)
    found = {call: tuple(map(float, gradient(1.0, 1.0, w))) for call, w in zip(rows, np.eye(len(rows)), strict=True)}
    assert found == {call: ROWS[call] for call in rows}


def test_compiled_forward_mode_has_the_derivative_of_the_table(compiled):
    f, rows = compiled("generated")
    for call, w in zip(rows, np.eye(len(rows)), strict=True):
        found = tuple(contad.jvp(lambda x, y, w=w: f(x, y, w), (1.0, 1.0), v)[1] for v in ((1.0, 0.0), (0.0, 1.0)))
        assert (call, found) == (call, ROWS[call])


# ---- object arrays ---------------------------------------------------------------------------------------------------
relu = np.maximum
TIED = {
    "np.maximum": lambda v: np.sum(np.maximum(v, 2.0)),
    "np.maximum under another name": lambda v: np.sum(relu(v, 2.0)),
    "np.minimum of lists": lambda v: np.minimum([v[0], v[1]], [1.0, 3.0])[1],
    "np.clip": lambda v: np.sum(np.clip(v, 0.0, 2.0)),
    "v.clip": lambda v: np.sum(v.clip(2.0)),
}


@pytest.mark.parametrize("engine", ["closures", "records"])
@pytest.mark.parametrize("name", TIED)
def test_equal_numbers_that_numpy_compares_as_objects_are_refused(name, engine):
    x = np.array([1.0, 2.0, 4.0])
    with pytest.raises(ContadError, match="takes one of two equal ones"):
        contad.grad(TIED[name], engine=engine)(x)
    elsewhere = contad.grad(TIED[name], engine=engine)(x + 0.5)
    np.testing.assert_array_equal(elsewhere, contad.grad(TIED[name])(x + 0.5))


ANSWERED = {
    "np.clip between numbers": lambda v: np.sum(np.clip(v, 2.0 * v[0], 3.5)),
    "a reduction": lambda v: np.maximum.reduce([v[0], v[0] * 1.0]),
    "a comparison": lambda v: np.sum(np.where(np.greater_equal(v, 2.0), v, 0.0 * v)),
    "a function of operator": lambda v: v[0] if operator.ge(v[1], 2.0) else v[1],
    "an instruction": lambda v: v[0] if v[1] >= 2.0 else v[1],
    "numbers": lambda v: np.maximum(v[1], 2.0),
    "Python's": lambda v: max(v[1], 2.0),
}


@pytest.mark.parametrize("engine", ["closures", "records"])
@pytest.mark.parametrize("name", ANSWERED)
def test_other_comparisons_of_equal_numbers_are_answered(name, engine):
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(contad.grad(ANSWERED[name], engine=engine)(x), contad.grad(ANSWERED[name])(x))


# ---- the check -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", PYTHON)
def test_a_row_that_says_otherwise_is_noticed(engine, monkeypatch):
    monkeypatch.setitem(ROWS, "np.maximum(x, y)", (1.0, 0.0))
    with pytest.raises(AssertionError):
        test_python_engines_have_the_derivative_of_the_table("np.maximum(x, y)", engine)


def test_the_table_is_read():
    assert len(ROWS) == len(re.findall(r"^\| `", SECTION, re.M)) > 50


# ---- nan -------------------------------------------------------------------------------------------------------------
EXTREMES = functions_of("""\
# larger: return np.maximum(x[0], x[1])
# smaller: return np.minimum(x[0], x[1])
# larger number: return np.fmax(x[1], x[1])
# largest: return np.max(2.0 * x)
# smallest: return (2.0 * x).min()
# span: return np.ptp(2.0 * x)
""", "x")  # fmt: skip


@pytest.mark.parametrize("name", ["larger", "smaller", "larger number"])
def test_partials_of_nan_are_nan(name):
    f = EXTREMES[name]
    x = np.array([1.0, math.nan, 2.0])
    gradients = [contad.grad(f, engine=engine)(x) for engine in ("matrix", "closures", "records")]
    gradients += [contad.grad(numba.njit(f), engine=engine)(x) for engine in ("generated", "tape")]
    for found in gradients:
        assert np.isnan(found[1]) and found[2] == 0.0
    assert np.isnan(contad.jvp(f, (x,), (np.ones(3),))[1])


def test_branches_that_are_not_taken_have_no_nan():
    data = np.array([1.0, math.nan, -2.0])

    def f(x):
        return np.sum(np.where(np.isnan(data), 0.0, np.maximum(x * data, 0.5)))

    for found in (contad.grad(f)(np.ones(3)), contad.grad(numba.njit(f))(np.ones(3))):
        np.testing.assert_array_equal(found, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("name", ["largest", "smallest", "span"])
@pytest.mark.parametrize("engine", ["generated", "tape"])
def test_compiled_extremes_keep_a_nan_wherever_it_is(name, engine):
    f = EXTREMES[name]
    derivative, eager = contad.value_and_grad(numba.njit(f), engine=engine), contad.value_and_grad(f)
    for x in ([1.0, math.nan, 3.0], [math.nan, 1.0, 2.0], [1.0, 2.0, math.nan], [math.nan, 1.0, math.nan]):
        value, gradient = derivative(np.array(x))
        assert np.isnan(value)
        np.testing.assert_array_equal(gradient, eager(np.array(x))[1])


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize(("pick", "right"), [(np.maximum, [0.6, 0.0, 0.0]), (np.minimum, [0.0, -0.2, 0.0])])
def test_reductions_by_ufuncs_follow_ties_along_v_in_second_derivatives(engine, pick, right):
    def f(x):
        return pick.reduce(x) ** 2 * 1.0

    found = contad.hvp(f, engine=engine)(np.zeros(3), np.array([0.3, -0.1, 0.2]))
    np.testing.assert_allclose(found, right, atol=1e-15)
