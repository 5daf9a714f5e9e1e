"""Every rule on arrays: values and partials equal those of the scalars, element by element."""

import ast
import importlib.machinery
import itertools
import math
import random
import subprocess
import sys
import types

import numpy as np
import pytest
import scipy  # noqa: F401  (is there before its parts are looked for)

import contad
from contad.ops import _scipy, absolute, exp, log, power, select
from contad.rules.body import RuleBody
from contad.rules.scalar_rule import ScalarRule, rules
from contad.rules.vectorised import Vectoriser, mend
from contad.variables.number import scale
from tests.judges.accuracy import points
from tests.judges.planted import registered

RULES = list(rules())
by_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
INF, NAN = math.inf, math.nan
SPECIAL = (0.0, -0.0, INF, -INF, NAN, 1e300, -1e300, 5e-324, -5e-324, 1e-300, 1.0, -1.0, -3.0, 700.0, -171.5)
ULPS = 4
EXPONENTS = {"boxcox1p": 64.0}  # e^y of a large y, in which an ulp of y is many of the result
# ulps: of a quadrature, whose terms arrays add in another order than scalars
SUMS = dict.fromkeys(("k0e", "k1e", "kv", "kve", "kve_derivative", "airy_ai", "airy_aip"), 128)
SUMS |= {"tan_real": 32, "tan_imag": 32}  # of squares of differences of NumPy's or Python's sines
CANCELS = {"log_diff_exp": 1}  # ulps of the first argument, which the value is a small difference from


# SciPy's hyp0f1 divides by zero at v = 1 where the function overflows, prints that, and goes on
QUIET = pytest.mark.filterwarnings("ignore:.*_hyp0f1_asy:pytest.PytestUnraisableExceptionWarning")


def sample(rule):
    """The declared points, points of every magnitude, moderate ones, and every mixture of special values."""
    few = SPECIAL if rule.arity < 3 else SPECIAL[:8]
    draw = random.Random(7)
    moderate = [[draw.uniform(-a, a) for _ in range(rule.arity)] for a in (1.0, 5.0, 40.0) for _ in range(40)]
    generic = itertools.islice(points(rule.arity, 60), 200)
    return [*rule.points, *generic, *moderate, *itertools.product(few, repeat=rule.arity)]


def different(found, expected, slack=0.0, ulps=ULPS):
    """Indices where two arrays are further apart than ulps; nan equals nan, and infinities equal themselves."""
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= ulps * np.spacing(np.abs(expected)) + slack
    same = (found == expected) | (np.isnan(found) & np.isnan(expected)) | near
    return np.flatnonzero(~same)


def check(rule):
    """Assert that the rule's values and partials on arrays are those of its scalars."""
    at = sample(rule)
    columns = [np.array(column) for column in zip(*at, strict=True)]
    z = np.array([rule(*point) for point in at])
    found = {"value": rule.array_value(*columns)}
    expected = {"value": z}
    for k in range(rule.arity):
        found[k] = np.broadcast_to(rule.array_partial(k)(z, *columns), z.shape)
        expected[k] = np.array([rule.partial(k)(float(v), *point) for v, point in zip(z, at, strict=True)])
    ulps = SUMS.get(rule.name, ULPS)
    for what, exact in expected.items():
        assert found[what].dtype == np.float64
        slack = 0.0
        if what == "value" and rule.name in CANCELS:
            slack = CANCELS[rule.name] * np.spacing(np.where(np.isfinite(z), np.abs(columns[0]), 1.0))
        elif rule.name in EXPONENTS:
            slack = EXPONENTS[rule.name] * np.spacing(np.abs(np.where(np.isfinite(exact), exact, 1.0)))
        wrong = [(at[i], found[what][i], exact[i]) for i in different(found[what], exact, slack, ulps)]
        assert not wrong, f"{rule.name}, {what}: {len(wrong)} points differ, as {wrong[:3]}"


@QUIET
@by_rule
def test_arrays_agree_with_scalars(rule):
    check(rule)


@pytest.mark.parametrize("rule", [r for r in RULES if r.arity == 2], ids=lambda rule: rule.name)
def test_broadcasting(rule):
    a, b = rule.points[0]
    x, y = a * np.array([[1.0], [1.01], [1.02]]), b * np.array([1.0, 1.001, 1.002, 1.003])
    z = rule.array_value(x, y)
    assert z.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        assert not different(z[i, j], rule(float(x[i, 0]), float(y[j]))).size
    for k in range(2):
        p = np.broadcast_to(rule.array_partial(k)(z, x, y), (3, 4))
        for i, j in np.ndindex(3, 4):
            expected = rule.partial(k)(float(z[i, j]), float(x[i, 0]), float(y[j]))
            assert not different(p[i, j], expected, ulps=SUMS.get(rule.name, ULPS)).size


@by_rule
def test_floats_beside_an_array(rule):
    for place in range(rule.arity if rule.arity > 1 else 0):
        args = list(rule.points[0])
        z = rule(*args)
        args[place] = np.array([args[place]] * 3)
        assert not different(rule.array_value(*args), np.full(3, z)).size
        for k in range(rule.arity):
            expected = np.full(3, rule.partial(k)(z, *rule.points[0]))
            found = np.broadcast_to(rule.array_partial(k)(np.full(3, z), *args), 3)
            assert not different(found, expected, ulps=SUMS.get(rule.name, ULPS)).size


@by_rule
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_shapes(rule, shape):
    args = [np.full(shape, x) for x in rule.points[0]]
    for found in (rule.array_value(*args), rule(*args)):
        assert type(found) is np.ndarray and found.shape == shape and found.dtype == np.float64
        assert not different(found, np.full(shape, rule(*rule.points[0]))).size
    for k in range(rule.arity):
        p = rule.array_partial(k)(np.full(shape, rule(*rule.points[0])), *args)
        assert np.shape(p) in ((), shape)


@by_rule
def test_results_in_an_array_that_is_given(rule):
    args = [np.array([x, x]) for x in rule.points[0]]
    out = np.full(2, NAN)
    expected = rule.array_value(*args)
    assert rule.array_value(*args, out=out) is out and out.tolist() == expected.tolist()
    assert rule.array_value(*args, out=args[0]) is args[0] and args[0].tolist() == expected.tolist()


@QUIET
@by_rule
def test_arguments_are_left_alone(rule):
    columns = [np.array(column) for column in zip(*sample(rule), strict=True)]
    before = [x.copy() for x in columns]
    z = rule.array_value(*columns)
    for k in range(rule.arity):
        rule.array_partial(k)(z, *columns)
    for x, old in zip(columns, before, strict=True):
        np.testing.assert_array_equal(x, old)


def test_other_types_of_arrays():
    assert contad.expit(np.array([0, 1])).tolist() == [0.5, contad.expit(1.0)]
    assert contad.ops.exp(np.array([1.5], np.float32)).dtype == np.float64
    np.testing.assert_array_equal(contad.ops.exp(np.array([1j, 0.3])), np.exp(np.array([1j, 0.3])))
    with pytest.raises(contad.errors.UnsupportedError, match=r"expit: "):
        contad.ops.expit(np.array([1j]))


# ---- wrong forms are noticed -----------------------------------------------------------------------------------------
def test_a_wrong_value_on_arrays_is_noticed():
    erfcx = contad.ops.erfcx
    wrong = ScalarRule(erfcx.function, None, None, False, erfcx.points, array=lambda x: np.exp(-x))
    wrong.body = erfcx.body
    with pytest.raises(AssertionError, match="erfcx, value"):
        check(wrong)


def conditions(x):
    return x


def conditions_partials(z, x):
    inside = -1.0 < x < 2.0
    outside = not inside
    far = x < -3.0 or x > 4.0 or x == 3.0
    between = outside and not far and x != 0.5
    count = (x > 0.0) + (x > 1.0) - (x > 2.0) - far
    number = (x and 2.0 * x) + (x or 7.0) + (far and x)
    nested = select(select(inside, x > 0.0, far), 3.0, -far)
    return select(between, exp(x), number) * (inside * 5.0 + count) + nested * (absolute(x) > 1.0)


@pytest.fixture
def conditional():
    found = ScalarRule(conditions, None, None, False, ((0.7,), (-2.0,), (3.5,), (3.0,)))
    found.body = RuleBody(conditions_partials, 1)
    return found


def test_conditions_on_arrays(conditional):
    check(conditional)


def wrongly(method):
    """A method of Vectoriser that rewrites what `method` says, and everything else as it should."""
    real = Vectoriser.rewritten
    return lambda self, node: method(self, node, real)


def first_link(self, node, real):
    """A chained comparison without its later links."""
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        node = ast.Compare(node.left, node.ops[:1], node.comparators[:1])
    return real(self, node)


def exchanged(self, node, real):
    """`and` for `or`, `or` for `and`."""
    if isinstance(node, ast.BoolOp):
        node = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    return real(self, node)


def without_not(self, node, real):
    """`not` dropped."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    return real(self, node)


@pytest.mark.parametrize("method", [first_link, exchanged, without_not], ids=lambda f: f.__name__)
def test_a_wrong_rewriting_is_noticed(conditional, monkeypatch, method):
    monkeypatch.setattr(Vectoriser, "rewritten", wrongly(method))
    with pytest.raises(AssertionError, match="conditions, 0"):
        check(conditional)


def test_conditions_that_stay_booleans_are_noticed(conditional, monkeypatch):
    monkeypatch.setattr(Vectoriser, "number", Vectoriser.rewritten)
    with pytest.raises((AssertionError, TypeError)):
        check(conditional)


def test_mended_elements():
    x = np.array([[1.0, 2.0, 3.0]])
    z = np.zeros((2, 3))
    found = mend(z, x > 1.5, lambda a, b: 10.0 * a + b, x, np.array([[1.0], [2.0]]))
    assert found.tolist() == [[0.0, 21.0, 31.0], [0.0, 22.0, 32.0]]
    assert not z.any()


# ---- users' rules ----------------------------------------------------------------------------------------------------
def test_a_rule_without_ufunc():
    with registered():

        @contad.scalar_rule
        def planted_square_of_log(x):
            return math.log(x) ** 2

        @planted_square_of_log.partials
        def planted_square_of_log_partials(z, x):
            return 2.0 * log(x) / x

        x = np.array([[0.3], [2.5]])
        z = planted_square_of_log(x)
        assert z.tolist() == [[math.log(0.3) ** 2], [math.log(2.5) ** 2]]
        np.testing.assert_allclose(planted_square_of_log.array_partial(0)(z, x), 2.0 * np.log(x) / x, rtol=1e-15)


def test_a_body_without_source():
    scope = {"power": power, "log": log}
    exec("def typed_partials(z, x, y):\n    return y * power(x, y - 1.0), z * log(x)", scope)
    body = RuleBody(scope["typed_partials"], 2)
    x, y = np.array([1.3, 0.0]), np.array([[2.5], [-0.4]])
    for k in range(2):
        found = body.array_partial(k)(x**2.0, x, y)
        assert found.shape == (2, 2) and found.dtype == np.float64
        expected = [[body.partial(k)(float(a) ** 2.0, float(a), float(b)) for a in x] for (b,) in y]
        np.testing.assert_array_equal(found, expected)


def test_a_ufunc_of_objects_is_not_taken_for_one_of_floats():
    with registered():

        @contad.scalar_rule(ufunc=np.frompyfunc(lambda x: x + 1.0, 1, 1), points=[(1.3,)])
        def planted_successor(x):
            return x + 1.0

        out = np.empty(2)
        assert planted_successor.array_value(np.array([1.0, 2.5]), out=out) is out
        assert out.tolist() == [2.0, 3.5]


def test_partials_declared_again_replace_those_on_arrays():
    with registered():

        @contad.scalar_rule
        def planted_again(x):
            return 3.0 * x

        def declare(slope):
            @planted_again.partials
            def planted_again_partials(z, x):
                return slope + 0.0 * x

        x = np.array([1.0, 2.0])
        for slope in (3.0, 4.0):
            declare(slope)
            assert planted_again.array_partial(0)(x, x).tolist() == [slope, slope]


def test_zero_cotangents_mask_partials_on_arrays():
    d = np.array([0.0, -0.0, 2.0, 0.0, NAN])
    p = np.array([INF, NAN, INF, 3.0, 0.0])
    np.testing.assert_array_equal(scale(d, p), [0.0, 0.0, INF, 0.0, NAN])
    np.testing.assert_array_equal(scale(d[:2, None], p), [[0.0] * 5, [0.0] * 5])
    np.testing.assert_array_equal(scale(0.0, p), np.zeros(5))
    np.testing.assert_array_equal(scale(d, INF), [0.0, 0.0, INF, 0.0, NAN])
    assert (scale(d, p) == [scale(float(a), float(b)) for a, b in zip(d, p, strict=True)])[:4].all()


def test_scipy_is_imported_at_the_first_value():
    code = "import sys, contad; assert 'scipy' not in sys.modules; import numpy; contad.expit(numpy.ones(2))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_linear_algebra_imports_the_functions_of_lapack_alone():
    code = """
import sys, numpy as np, contad
a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([0.3, 0.7])
contad.grad(lambda x: np.linalg.solve(np.linalg.cholesky(a * x), b) @ b)(0.5)
assert not {"scipy.linalg", "scipy.linalg._flapack"} & set(sys.modules)
import scipy.linalg
from contad.ops._scipy import lapack
assert scipy.linalg._flapack.dgetrf is scipy.linalg.lapack.dgetrf and scipy.linalg.solve(a, b) @ a @ b > 0.57
assert (lapack().dgetrf(a)[0] == scipy.linalg.lapack.dgetrf(a)[0]).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["blas", "lapack"])
def test_functions_of_lapack_are_those_of_scipy_where_their_module_has_another_name(monkeypatch, name):
    monkeypatch.delitem(sys.modules, "scipy.linalg", raising=False)
    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda *args: None)
    given = types.ModuleType(name)
    monkeypatch.setattr(_scipy, "linalg", lambda: types.SimpleNamespace(**{name: given}))
    assert _scipy._import_part(name) is given


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, bool])
@pytest.mark.parametrize("operate", [np.divide, np.multiply, np.power, np.hypot, np.arctan2], ids=lambda f: f.__name__)
def test_constants_of_low_precision_do_not_round_derivatives(operate, dtype):
    x = np.array([0.3, 0.7, 1.1])
    all_of_them = np.array([3, 1, 1]).astype(dtype)
    for y in (all_of_them, all_of_them[0], all_of_them[:1], all_of_them.reshape(-1, 1)):
        exact = np.asarray(y, np.float64)
        _, expected = contad.jvp(lambda v: operate(v, exact), (x,), (np.ones(3),))  # noqa: B023
        _, slope = contad.jvp(lambda v: operate(v, y), (x,), (np.ones(3),))  # noqa: B023
        assert np.array_equal(slope, expected)
        forward, reverse = (transform(lambda v: operate(v, y))(x) for transform in (contad.jacfwd, contad.jacrev))  # noqa: B023
        assert np.allclose(forward, reverse, rtol=1e-15, atol=0.0)
