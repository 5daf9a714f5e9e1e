"""Every ufunc of scipy.special that contad differentiates has SciPy's values: inside, on the edges and outside.

The list is contad's own, so that a new one joins by itself. The grid has infinities, nan, both zeros, negative numbers
and numbers between whole ones. Where a value is nan, so is the derivative.
"""

import functools
import itertools
import warnings

import numpy as np
import pytest
import scipy.special
from numba import njit

import contad
from contad.distributions.real_line import student_cdf, student_quantile
from contad.rules import numpy_functions
from contad.rules.numpy_functions import written_functions
from contad.rules.scalar_rule import ScalarRule, rules
from contad.scipy import special
from contad.scipy.special_in_numba import SpecialFace
from tests.judges.samples import sampled

INF, NAN = np.inf, np.nan
ALWAYS = [0.0, -0.0, 0.3, -0.3, 1.0, 2.0, -2.5, INF, -INF, NAN]
MORE = [*ALWAYS, -1.0, 1.5, 3.0, -3.0, 30.0]
MOST = [*MORE, 1e-300, 1e-9, 0.5, -0.5, -2.0, 2.7, 7.3, -7.3, 25.0, 1e3, 1e10, 1e300]
MODERATE = [0.0, -0.3, 1.0, 2.5, -2.0]  # where SciPy or the series of a derivative take very long elsewhere
DEGREES = [0, 1, 2, 3, 7]
RULED = {u.rpartition(".")[2] for rule in rules() for u in rule.ufuncs if isinstance(u, str)}
NAMES = sorted(RULED | set(written_functions()))


def any_of(test):
    return lambda *args: functools.reduce(np.logical_or, map(test, args))


def not_finite(x):
    return ~np.isfinite(x)


INFINITE = any_of(np.isinf)

# (which arguments, why contad's value is another one than SciPy's)
KEPT = {
    "_lambertw": (lambda x: x < -0.36, "SciPy's is complex, contad's real"),
    "_zeta": (lambda s, q: (q <= 0.0) | (s >= 1e300), "contad has it for q > 0; SciPy's is nan at huge s"),
    "bdtrc": (lambda k, n, p: (k == -INF) & (n == -INF), "SciPy casts -inf to an int"),
    "binom": (lambda n, k: np.abs(k) == 1e-300, "SciPy overflows"),
    "cosdg": (lambda x: np.abs(x) > 1e14, "SciPy gives 0 where no digit is left"),
    "cotdg": (lambda x: (np.abs(x) > 1e14) | (x == 1e-9), "SciPy gives 0 where no digit is left, and loses digits"),
    **dict.fromkeys(
        [name for name in NAMES if name.startswith("eval_")],
        (lambda n, x: np.abs(x) >= 1e300, "SciPy's recurrences have other infinities"),
    ),
    "eval_gegenbauer": (lambda n, a, x: (a <= -0.5) | (a == 0.0) | INFINITE(a, x), "SciPy divides by 0 or by inf"),
    "eval_genlaguerre": (lambda n, a, x: INFINITE(a, x), "SciPy's sum has other terms that are infinite"),
    "eval_jacobi": (lambda n, a, b, x: (a <= -1.0) | (b <= -1.0) | INFINITE(a, b, x), "SciPy divides by 0 or by inf"),
    "fdtr": (lambda d, e, x: np.isinf(x) & INFINITE(d, e), "the limit depends on what tends to infinity first"),
    "fdtrc": (lambda d, e, x: np.isinf(x) & INFINITE(d, e), "the limit depends on what tends to infinity first"),
    "gdtria": (lambda p, b, x: np.isinf(x) & (p == 0.0), "SciPy's is nan, though every rate has probability 0"),
    "gdtrix": (
        lambda a, b, p: (np.isinf(b) & (a < 0.0)) | ((a == 0.0) & (b == 0.0)),
        "SciPy's depends on the sign of a rate <= 0",
    ),
    "hyperu": (lambda a, b, x: (b == 0.0) & (a == -0.3) & (x > 0.0), "SciPy has no value"),
    "kn": (lambda n, x: np.abs(n) >= 2.0**31, "SciPy casts the order to an int"),
    "nbdtri": (
        lambda k, n, y: ((y == 0.0) | (y == 1.0)) & ~((k >= 0.0) & (n >= 1.0) & (n < INF)),
        "SciPy has a value beside invalid counts",
    ),
    "powm1": (
        lambda x, y: np.isinf(np.abs(x) ** y) | (x == -INF) | ((x == 1.0) & np.isinf(y)),
        "SciPy gives 0 for inf and nan for powers of -inf; contad has nan for 1^inf",
    ),
    "pseudo_huber": (
        lambda d, r: (d == 1e-300) | (d == 1e300) | ((d == INF) & (r == 0.0)),
        "SciPy's (r / d)^2 or d^2 leaves the range; contad has nan for inf times 0",
    ),
    "sindg": (lambda x: np.abs(x) > 1e14, "SciPy gives 0 where no digit is left"),
    "stdtr": (lambda df, t: (df <= 1e-9) & (t == 1e300), "SciPy's t^2 overflows"),
    "stdtrit": (
        lambda df, p: (df <= 1.5) & (p > 0.0) & (p <= 1e-9), "SciPy's, and contad's in Python, ends early in far tails"
    ),
    "tandg": (lambda x: np.abs(x) > 1e14, "SciPy gives 0 where no digit is left"),
    "yn": (lambda n, x: x == 1e10, "SciPy's loses digits"),
}
# the rows where both have a number; in the others one of the two is nan
OTHER_NUMBERS = {"cosdg", "cotdg", "powm1", "sindg", "stdtr", "stdtrit", "tandg", "yn"}
# 1 / x and the like, for the cost; and where SciPy has no value though the derivative is known
DEFINED_SLOPES = {"log1p", "logit", "ive", "kve", "fresnel", "psi", "digamma"}


def ufunc_of(name):
    """SciPy's ufunc, which may be one that a function of SciPy's calls; of real arguments and results."""
    if name == "_lambertw":
        return lambda x: scipy.special.lambertw(x)
    return getattr(scipy.special._ufuncs, name, None) or getattr(scipy.special, name)


def grid_of(name):
    """The arguments, each as an array; the degree of a polynomial is one number."""
    ufunc = ufunc_of(name)
    arity = getattr(ufunc, "nin", 1)
    first = MODERATE if name.startswith(("hyp", "wright_")) else MOST if arity < 3 else MORE if arity == 3 else ALWAYS
    if name == "_riemann_zeta":
        first = [x for x in MOST if x >= 1.0]  # it is refused by name below
    if not name.startswith("eval_"):
        orders = [x for x in first if not abs(x) > 1e3] if name == "yn" else first  # SciPy takes as many steps
        yield tuple(np.array(list(itertools.product(orders, *[first] * (arity - 1)))).T)
        return
    points = itertools.product(MOST if arity == 2 else MORE if arity == 3 else ALWAYS, repeat=arity - 1)
    rest = np.array(list(points)).T
    for degree in DEGREES:
        yield (degree, *rest)


def parts(z):
    return [np.real(part) for part in z] if isinstance(z, tuple) else [np.real(z)]


def differing(found, expected, args, name):
    """Where a value is not SciPy's; it may be nan beside a nan."""
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    same |= np.abs(found - expected) <= 1e-6 * np.abs(expected) + 1e-12
    same |= np.isnan(found) & any_of(np.isnan)(*args)
    if name in KEPT:
        same |= KEPT[name][0](*args) & (np.isnan(found) | np.isnan(expected) | (name in OTHER_NUMBERS))
    return np.flatnonzero(~same)


def told(name, k, args, found, expected):
    where = tuple(float(np.broadcast_to(x, np.shape(found))[k]) for x in args)
    return f"{name}{where} is {found[k]}, SciPy's is {expected[k]}"


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def tangents(name, ufunc, args):
    """The values and the tangents of a ufunc on arrays of variables."""
    active = args[1:] if name.startswith("eval_") else args
    f = lambda *xs: ufunc(*args[: len(args) - len(xs)], *xs)
    z, z_dot = contad.jvp(f, active, tuple(np.ones_like(x) for x in active))
    return parts(z), parts(z_dot)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_of_arrays(name):
    ufunc = ufunc_of(name)
    for args in grid_of(name):
        values, slopes = tangents(name, ufunc, args)
        for found, slope, expected in zip(values, slopes, parts(ufunc(*args)), strict=True):
            wrong = differing(found, expected, args, name)
            assert not wrong.size, [told(name, k, args, found, expected) for k in wrong[:5]]
            lost = np.flatnonzero(np.isnan(found) & ~np.isnan(slope) & (slope != 0.0) & ~any_of(not_finite)(*args))
            if name not in DEFINED_SLOPES:
                assert not lost.size, [(told(name, k, args, found, expected), slope[k]) for k in lost[:5]]


def alone(ufunc, point, place):
    """The value where the argument at one place is a variable."""
    return contad.jvp(lambda x: ufunc(*point[:place], x, *point[place + 1 :]), (point[place],), (1.0,))[0]


@pytest.mark.parametrize("name", NAMES)
def test_values_of_numbers(name):
    """Of one variable beside plain numbers, each argument in turn."""
    ufunc = ufunc_of(name)
    for args in grid_of(name):
        size = np.size(args[-1])
        for k in range(0, size, size // 12 + 1):
            point = [x if np.ndim(x) == 0 else float(x[k]) for x in args]
            for place in range(len(args) - 1, name.startswith("eval_") - 1, -1):
                value = alone(ufunc, point, place)
                for found, expected in zip(parts(value), parts(ufunc(*point)), strict=True):
                    wrong = differing(np.array([found]), np.array([expected]), [np.array([x]) for x in point], name)
                    assert not wrong.size, (name, place, point, found, expected)


def is_compiled(name):
    """Whether Numba functions may call it; of a degree they may not."""
    return isinstance(getattr(special, name.removeprefix("_"), None), (SpecialFace, ScalarRule)) or name in RULED


DEAR = ("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri", "fdtr", "fdtrc", "fdtri", "stdtr", "stdtrit")


def compiled(called, arity):
    """A Numba function that calls it with so many arguments; with 0, the second result of several."""
    if arity == 0:
        return njit(lambda x: called(x)[1])
    if arity == 1:
        return njit(lambda x: called(x))
    if arity == 2:
        return njit(lambda x, y: called(x, y))
    if arity == 3:
        return njit(lambda x, y, z: called(x, y, z))
    return njit(lambda w, x, y, z: called(w, x, y, z))


@pytest.mark.parametrize("engine", ["tape", "generated"])
@pytest.mark.parametrize("name", sampled([n for n in NAMES if is_compiled(n)], 30, dear=DEAR))
def test_values_of_numba_functions(name, engine):
    called, ufunc = getattr(special, name.removeprefix("_")), ufunc_of(name)
    called = called.function if name in RULED else called  # the rule itself
    several = getattr(ufunc, "nout", 1) > 1
    (args,) = grid_of(name)
    f = compiled(called, 0 if several else len(args))
    derive = contad.value_and_grad(f, tuple(range(len(args))), engine=engine)
    chosen = [x[:: len(x) // 400 + 1] for x in args]
    expected = parts(ufunc(*chosen))[several]
    found = np.array([derive(*point)[0] for point in zip(*map(np.ndarray.tolist, chosen), strict=True)])
    wrong = differing(found, expected, chosen, name)
    assert not wrong.size, [told(name, k, chosen, found, expected) for k in wrong[:5]]


@pytest.mark.parametrize(("name", "rule"), [("stdtr", student_cdf), ("stdtrit", student_quantile)])
def test_rules_that_numba_functions_call(name, rule):
    """They stand for functions that take long to compile."""
    (args,) = grid_of(name)
    found = np.array([rule.function(*point) for point in zip(*map(np.ndarray.tolist, args), strict=True)])
    wrong = differing(found, ufunc_of(name)(*args), args, name)
    assert not wrong.size, [told(name, k, args, found, ufunc_of(name)(*args)) for k in wrong[:5]]


@pytest.mark.long  # a minute of compilation
@pytest.mark.parametrize(("rule", "normal"), [(student_cdf, contad.ops.ndtr), (student_quantile, contad.ops.ndtri)])
def test_slopes_at_endless_degrees_of_freedom(rule, normal):
    assert contad.grad(rule, (0, 1))(INF, 0.3) == pytest.approx((0.0, contad.grad(normal)(0.3)))


def test_a_wrong_domain_is_noticed(monkeypatch):
    """Where the function that stands for a ufunc has a value at counts below 0."""
    without_domain = lambda k, m: contad.ops.gammaincc(contad.ops.floor(k) + 1.0, m)
    monkeypatch.setitem(numpy_functions._by_ufunc, scipy.special.pdtr, without_domain)
    with pytest.raises(AssertionError, match=r"pdtr\(-.* is 0.0, SciPy's is nan"):
        test_values_and_derivatives_of_arrays("pdtr")


def test_exceptions_that_are_listed_exist():
    assert set(KEPT) | DEFINED_SLOPES | {*DEAR} <= {*NAMES} and set(KEPT) >= OTHER_NUMBERS
