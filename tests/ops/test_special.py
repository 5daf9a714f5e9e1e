"""Special rules: values against SciPy at special floats, chosen edge values, high orders, and no SciPy at import."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
from mpmath import mp, mpf

from contad import derivative, grad, ops
from contad.rules.body import RuleBody
from contad.rules.scalar_rule import ScalarRule, rule, rules
from tests.judges.accuracy import measure, points
from tests.judges.planted import body_of
from tests.judges.samples import sampled
from tests.ops.references import SPECIAL_REFERENCE as REFERENCE

INF, NAN = math.inf, math.nan
TINY = 5e-324
LARGEST = sys.float_info.max
PHI_0 = 1.0 / math.sqrt(2.0 * math.pi)
SPECIAL = sorted(REFERENCE)
FLOATS = [
    x
    for y in (0.0, TINY, 1e-310, 1e-300, 1e-17, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 171.7, 1e3, 1e10, 1e100, 1e300, INF)
    for x in (y, -y)
] + [NAN]


def close(x, y, tolerance=0.0):
    """Equal up to a relative tolerance, with the same infinities, nan for nan."""
    return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= tolerance * min(abs(x), abs(y)) < INF


def partials(name, *args):
    at = rule(name)
    z = at(*args)
    return tuple(at.partial(k)(z, *args) for k in range(at.arity))


# ---- SciPy -----------------------------------------------------------------------------------------------------------
def scipy_is_wrong(name, args):
    """Where SciPy overflows, flushes or loses digits, and the rules do not (the accuracy tests say which is right)."""
    if name == "gamma":
        pole = args[0] <= 0.0 and (math.isinf(args[0]) or args[0].is_integer())  # all were inf before 1.15
        return -200.0 < args[0] < -170.0 or pole
    if name == "gammaln":
        return 0.0 < abs(args[0]) < 1e-300
    if name == "log_ndtr":
        return 30.0 < args[0] < INF
    if name in ("beta", "betaln"):
        a, b = sorted(args)
        regular = abs(a) + abs(b) < INF and not any(x <= 0.0 and x.is_integer() for x in args)
        return regular and (a < 0.0 or b > 1e9 or a < 1e-300)
    if name in ("binom", "erfcinv", "poch", "rgamma"):
        return any(0.0 < abs(x) < (1e-15 if name == "poch" else 1e-290) for x in args)
    if name in ("betaincinv", "betainccinv"):
        a, b = sorted(args[:2])
        return a > 0.0 and 0.0 < args[2] < 1.0 and (args[2] < 1e-290 or b > 1e290)
    if name == "kl_div":
        x, y = args
        return x > 0.0 and y > 0.0 and (x > LARGEST * min(y, 1.0) or x / y == 0.0)
    return False


# of whole orders; where SciPy fails or ends the process at some of these floats; and where it has lost all digits
DIFFERENT = ("expn", "ldexp", "hyp0f1", "hyp1f1", "hyp2f1", "hyperu")


@pytest.mark.parametrize("name", [name for name in SPECIAL if rule(name).ufuncs and name not in DIFFERENT])
def test_values_are_those_of_scipy(name):
    at = rule(name)
    compared = 0
    for ufunc, args in itertools.product(at.ufuncs, itertools.product(FLOATS, repeat=at.arity)):
        with np.errstate(all="ignore"):
            own = getattr(scipy.special, ufunc.rpartition(".")[2]) if isinstance(ufunc, str) else ufunc
            expected = own(*args)
        if not scipy_is_wrong(name, args):
            assert close(at(*args), expected, 1e-11), (args, at(*args), expected)
            compared += 1
    assert compared >= 25


SLOW = [name for name in SPECIAL if name.startswith(("hyp", "wright_"))]  # in Python, at extreme parameters


@pytest.mark.parametrize(
    "name", [*(n for n in SPECIAL if n not in SLOW), *(pytest.param(n, marks=pytest.mark.long) for n in SLOW)]
)
def test_floats_come_out_and_nothing_is_raised(name):
    at = rule(name)
    orders = [(0.0,), (3.0,), (171.0,), (1e10,), (-1.0,), (INF,), (NAN,)] if "n" in at.argument_names else [()]
    free = at.arity - len(orders[0])
    stride = len(FLOATS) ** max(0, free - 2) + max(0, free - 2)  # prime to the period of each argument
    chosen = itertools.islice(itertools.product(FLOATS, repeat=free), 0, None, stride)
    for order, rest in itertools.product(orders, itertools.chain(chosen, points(free, 50))):
        z = at(*order, *rest)
        assert type(z) is float
        assert all(type(at.partial(k)(z, *order, *rest)) is float for k in range(at.arity))


def test_scipy_is_imported_on_first_use():
    program = (
        "import sys; import contad, contad.ops; assert 'scipy.special' not in sys.modules; "
        "contad.ops.erf(0.5), contad.ops.expit(0.5); assert 'scipy.special' not in sys.modules; "
        "contad.ops.digamma(0.5); assert 'scipy.special' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_of_stan():
    assert ops.inv_logit is ops.expit and ops.log_inv_logit is ops.log_expit and ops.Phi is ops.ndtr
    assert ops.inv_Phi is ops.std_normal_qf is ops.ndtri
    assert (ops.lgamma, ops.tgamma, ops.lbeta) == (ops.gammaln, ops.gamma, ops.betaln)


def misplaced(found, references):
    """What to do so that the special rules are those with a reference in reference_special.py."""
    special = {r.name for r in found if r.__module__.startswith("contad.ops.") and not r.core}
    missing = [f"{name}: add an mpmath reference to tests/ops/reference_special.py" for name in special - references]
    moved = [
        f"{name}: its rule is core or gone; move its reference to tests/ops/reference_core.py, or delete it"
        for name in references - special
    ]
    return sorted(missing + moved)


def test_every_special_rule_is_here():
    assert misplaced(rules(), REFERENCE.keys()) == []


def test_a_misplaced_reference_is_found():
    assert misplaced(rules(), REFERENCE.keys() - {"digamma"} | {"sin"}) == [
        "digamma: add an mpmath reference to tests/ops/reference_special.py",
        "sin: its rule is core or gone; move its reference to tests/ops/reference_core.py, or delete it",
    ]


# ---- chosen edges ----------------------------------------------------------------------------------------------------
EDGES = [
    # (name, arguments, value, partials)
    ("expit", (-800.0,), 0.0, (0.0,)), ("expit", (-740.0,), math.exp(-740.0), (math.exp(-740.0),)),
    ("expit", (INF,), 1.0, (0.0,)), ("logit", (0.0,), -INF, (INF,)), ("logit", (1.0,), INF, (INF,)),
    ("log_expit", (-INF,), -INF, (1.0,)), ("log_expit", (INF,), 0.0, (0.0,)), ("log1p_exp", (-INF,), 0.0, (0.0,)),
    ("log1p_exp", (INF,), INF, (1.0,)), ("log1m", (1.0,), -INF, (INF,)), ("log1m", (1.5,), NAN, None),
    ("log1m_exp", (0.0,), -INF, (INF,)), ("log1m_exp", (-INF,), 0.0, (0.0,)),
    ("log1m_exp", (-740.0,), -math.exp(-740.0), (-math.exp(-740.0),)), ("log1m_exp", (0.5,), NAN, None),
    ("log_diff_exp", (3.0, -INF), 3.0, (1.0, 0.0)), ("log_diff_exp", (1e308, -1e308), 1e308, (1.0, 0.0)),
    ("log_diff_exp", (2.0, 2.0), -INF, (INF, -INF)), ("log_diff_exp", (-INF, -INF), -INF, None),
    ("log_diff_exp", (INF, INF), NAN, None), ("log_diff_exp", (INF, 0.0), INF, (1.0, 0.0)),
    ("log_diff_exp", (1.0, 2.0), NAN, None), ("erf", (INF,), 1.0, (0.0,)), ("erf", (1e200,), 1.0, (0.0,)),
    ("erfc", (-INF,), 2.0, (0.0,)), ("erfcx", (INF,), 0.0, (0.0,)), ("erfcx", (-30.0,), INF, (-INF,)),
    ("erfcx", (1e100,), 1e-100 / math.sqrt(math.pi), (-1e-200 / math.sqrt(math.pi),)),
    ("erfcx_integral", (0.0, 0.0), 1.0, (0.0, -2.0 / math.sqrt(math.pi))), ("erfcx_integral", (-1.0, 0.5), NAN, None),
    ("ndtr", (0.0,), 0.5, (PHI_0,)), ("ndtr", (-INF,), 0.0, (0.0,)), ("ndtr", (INF,), 1.0, (0.0,)),
    ("ndtri", (0.5,), 0.0, (1.0 / PHI_0,)), ("ndtri", (0.0,), -INF, (INF,)), ("ndtri", (1.0,), INF, (INF,)),
    ("log_ndtr", (INF,), 0.0, (0.0,)), ("log_ndtr", (-INF,), -INF, (INF,)), ("log_ndtr", (-1e150,), -5e299, (1e150,)),
    ("log_ndtr", (40.0,), 0.0, (0.0,)), ("gamma", (0.0,), INF, None), ("gamma", (-0.0,), -INF, None),
    ("gamma", (-1.0,), NAN, None), ("gamma", (-171.0,), NAN, None), ("gamma", (-1e300,), NAN, None),
    ("gamma", (-INF,), NAN, None), ("gamma", (180.0,), INF, (INF,)), ("gammaln", (0.0,), INF, (-INF,)),
    ("gammaln", (-3.0,), INF, None), ("gammaln", (INF,), INF, (INF,)), ("digamma", (0.0,), -INF, (INF,)),
    ("digamma", (-2.0,), NAN, (INF,)), ("digamma", (INF,), INF, (0.0,)), ("trigamma", (-2.0,), INF, (-INF,)),
    ("trigamma", (1e100,), 1e-100, (-1e-200,)), ("trigamma", (INF,), 0.0, (0.0,)),
    ("polygamma", (0.0, 1e10), math.log(1e10) - 5e-11, (0.0, 1e-10 + 5e-21)),
    ("polygamma", (170.0, 1e3), -4.6422754818855408e-206, None),
    ("polygamma", (-1.0, 2.0), NAN, None),
    ("polygamma_difference", (0.0, 2.0, 1.0), 0.5, None),
    ("polygamma_difference", (0.0, 1e9, 1e-290), 1e-299 + 5e-309, None),
    ("polygamma_difference", (0.0, -1e10 - 0.5, 1.0), -1.0 / (1e10 + 0.5), None),
    ("beta", (0.0, 2.0), INF, None), ("beta", (-2.0, 1.0), -0.5, None),
    ("beta", (0.5, -0.5), 0.0, (-2.0 * math.pi, -2.0 * math.pi)), ("beta", (2.5, -4.5), 0.0, None),
    ("betaln", (0.5, -0.5), -INF, None), ("betaln", (1e300, 1.0), -math.log(1e300), (-1e-300, None)),
    # ends of the interval, where a density has a limit
    ("gammainc", (1.0, 0.0), 0.0, (0.0, 1.0)), ("gammainc", (2.5, 0.0), 0.0, (0.0, 0.0)),
    ("gammainc", (0.5, 0.0), 0.0, (0.0, INF)), ("gammaincc", (1.0, 0.0), 1.0, (0.0, -1.0)),
    ("gammaincc", (0.5, 0.0), 1.0, (0.0, -INF)), ("gamma_density", (1.0, 1.0, 0.0), NAN, None),
    ("betainc", (2.0, 1.0, 1.0), 1.0, (0.0, 0.0, 2.0)), ("betainc", (1.0, 3.0, 0.0), 0.0, (0.0, 0.0, 3.0)),
    ("betainc", (2.0, 3.0, 0.0), 0.0, (0.0, 0.0, 0.0)), ("betainc", (2.0, 0.5, 1.0), 1.0, (0.0, 0.0, INF)),
    ("betaincc", (1.0, 3.0, 0.0), 1.0, (0.0, 0.0, -3.0)), ("fdim", (1.0, NAN), NAN, (NAN, NAN)),
    ("fdim", (NAN, 1.0), NAN, (NAN, NAN)), ("fdim", (1.0, INF), 0.0, (0.0, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "value", "slopes"), EDGES)
def test_edges(name, args, value, slopes):
    assert close(rule(name)(*args), value, 1e-12)
    for found, expected in zip(partials(name, *args), slopes or (), strict=False):
        assert expected is None or close(found, expected, 1e-12)


@pytest.mark.parametrize("n", range(4))
def test_beta_where_the_sum_of_its_arguments_is_a_pole(n):
    """There beta is zero, and gamma(a) gamma(b) times the slope of 1 / gamma remains, n! (-1)^n."""
    a, b = 2.3125, -2.3125 - n
    slope = math.gamma(a) * math.gamma(b) * math.factorial(n) * (-1.0) ** n
    np.testing.assert_allclose(partials("beta", a, b), [slope, slope], rtol=1e-13)
    with mp.workdps(60):
        curvature = mp.diff(REFERENCE["beta"], (mpf(a), mpf(b)), (2, 0))
    assert math.isclose(derivative(derivative(lambda x: ops.beta(x, b)))(a), curvature, rel_tol=1e-12)


def test_beta_far_beyond_scipy():
    assert ops.beta(1.0, -171.5) == -1.0 / 171.5 and close(ops.beta(1e308, 1.0), 1e-308, 1e-12)
    assert close(ops.betaln(1e15, 2.0), -2.0 * math.log(1e15), 1e-14)


# ---- high orders -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "args"), [
    *((name, rule(name).points[0]) for name in SPECIAL), ("erfcx", (30.0,)), ("erfcx", (-3.0,)),
    ("log_ndtr", (-30.0,)), ("log_ndtr", (3.0,)), ("ndtri", (1e-20,)), ("ndtri", (0.5,)), ("gammaln", (-2.7,)),
    ("betaln", (1e6, 1e-3)), ("betaln", (-3.3, 1e-4)), ("beta", (-1.4, -0.9)), ("log_diff_exp", (40.0, 1.0)),
])  # fmt: skip
def test_derivatives_of_high_order(name, args):
    """The second to the fourth derivative along the last argument, forward over forward."""
    at = rule(name)

    def along(x):
        return at(*args[:-1], x)

    found = along
    for order in range(1, 5):
        found = derivative(found)
        with mp.workdps(20):  # of the result: mpmath takes as many more as a difference loses
            exact = mp.diff(
                lambda x: REFERENCE[name](*map(mpf, args[:-1]), x), mpf(args[-1]), order, h=abs(args[-1]) * mpf("1e-15")
            )
        assert close(found(args[-1]), float(exact), 1e-11) or abs(found(args[-1]) - exact) < 1e-13, order


def test_gradient_of_a_gradient():
    """Reverse over reverse gives the same second derivatives as the rules of the derivatives."""
    assert math.isclose(grad(grad(ops.gammaln))(3.3), ops.trigamma(3.3), rel_tol=1e-15)
    assert math.isclose(grad(grad(ops.digamma))(-1.4), ops.polygamma(2.0, -1.4), rel_tol=1e-15)


# ---- bodies that lose digits are noticed -----------------------------------------------------------------------------
WORSE = [
    ("erfcx", "z, x: 2.0 * x * z - 1.1283791670955126"),
    ("ndtri", "z, p: 2.5066282746310002 * ops.exp(0.5 * z * z)"),
    ("log_ndtr", "z, x: 0.3989422804014327 * ops.exp(-0.5 * x * x - z)"),
    ("expit", "z, x: z * (1.0 - z)"),
    ("log1m_exp", "z, x: 1.0 / (1.0 - ops.exp(-x))"),
    ("betaln", "z, a, b: (ops.digamma(a) - ops.digamma(a + b), ops.digamma(b) - ops.digamma(a + b))"),
]


@pytest.mark.parametrize(("name", "body"), sampled(WORSE, 3, name=lambda case: case[0]))
def test_a_body_that_loses_digits_is_noticed(name, body):
    at = rule(name)
    wrong = ScalarRule(at.function, None, None, False, ())
    wrong.body = RuleBody(body_of(body), wrong.arity)
    report = measure(wrong, REFERENCE[name], points(wrong.arity, 15), value_ulps=100.0)
    assert max(w.ratio for w in report.partials) > 1.0


@pytest.mark.parametrize("x", [1e9, 1e13, 1e16, 1e150, LARGEST])
@pytest.mark.parametrize("v", [0.0, 1.0, 2.6])
def test_scaled_bessel_functions_far_out(v, x):
    """e^x K_v(x) falls as sqrt(pi / 2x): by -1/2x of itself, and in the order as v/x; also beside a small x."""
    z, k = math.sqrt(0.5 * math.pi / x), rule("kve_derivative")
    for n, m, exact in ((0.0, 1.0, -0.5 * z / x), (1.0, 0.0, v * z / x)):
        for found in (k(n, m, v, x), k(n, m, np.array([v, v]), np.array([x, 0.1]))[0]):
            assert close(found, exact, 1e-8) or abs(found - exact) < 1e-300


@pytest.mark.parametrize(("name", "args"), [("gammainc", (20.0, 1e-14)), ("betainc", (20.0, 30.0, 1e-14))])
def test_slopes_far_below_the_shape(name, args):
    """Where the argument beside the shape is less than the shape's last digit."""
    slopes = grad(getattr(ops, name), tuple(range(len(args))))(*args)
    with mp.workdps(40):
        for k, slope in enumerate(slopes):
            exact = mp.diff(lambda x, k=k: REFERENCE[name](*args[:k], x, *args[k + 1 :]), mpf(args[k]), relative=True)
            assert slope == pytest.approx(float(exact), rel=1e-11)
    tiny = (*(1e10 for _ in args[1:]), 1e-320)  # whose quotient underflows
    assert grad(getattr(ops, name), tuple(range(len(args))))(*tiny) == (0.0,) * len(args)
