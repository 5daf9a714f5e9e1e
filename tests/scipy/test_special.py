"""contad.scipy.special: every name on variables against SciPy and differences, and every ufunc that is intercepted."""

import inspect

import numpy as np
import pytest
import scipy.special
from mpmath import mp
from numba import njit

import contad
from contad.errors import UnsupportedError
from contad.rules.numpy_functions import written_functions
from contad.rules.scalar_rule import rules
from contad.scipy import special
from contad.scipy.special_in_numba import SpecialFace

# arguments of functions that are no rules, of which the first ones, as many as are said, are whole numbers
CALLS = {
    "agm": (0, (1.3, 2.1)), "airy": (0, (0.7,)), "bdtr": (2, (2, 5, 0.3)), "bdtrc": (2, (2, 5, 0.3)),
    "bdtri": (2, (2, 5, 0.3)), "chdtr": (0, (1.7, 2.1)), "chdtrc": (0, (1.7, 2.1)), "chdtri": (0, (1.7, 0.3)),
    "comb": (0, (5.3, 2.1)), "cosdg": (0, (200.3,)), "cotdg": (0, (30.3,)), "eval_chebyt": (1, (4, 0.3)),
    "eval_chebyu": (1, (4, 0.3)), "eval_gegenbauer": (1, (4, 0.7, 0.3)), "eval_genlaguerre": (1, (4, 0.7, 0.3)),
    "eval_hermite": (1, (4, 0.3)), "eval_hermitenorm": (1, (4, 0.3)), "eval_jacobi": (1, (4, 0.7, 1.2, 0.3)),
    "eval_laguerre": (1, (4, 0.3)), "eval_legendre": (1, (4, 0.3)), "eval_sh_chebyt": (1, (4, 0.3)),
    "eval_sh_chebyu": (1, (4, 0.3)), "eval_sh_legendre": (1, (4, 0.3)), "exp10": (0, (0.3,)),
    "factorial": (0, (2.3,)), "fdtr": (0, (1.7, 2.1, 0.8)), "fdtrc": (0, (1.7, 2.1, 0.8)),
    "fdtri": (0, (1.7, 2.1, 0.3)), "fresnel": (0, (0.7,)), "gdtr": (0, (1.7, 2.1, 0.8)),
    "gdtrc": (0, (1.7, 2.1, 0.8)), "gdtria": (0, (0.3, 2.1, 0.8)), "gdtrix": (0, (1.7, 2.1, 0.3)),
    "kn": (1, (2, 1.3)), "yn": (1, (2, 1.3)), "huber": (0, (1.3, 2.1)),
    "ivp": (0, (1.3, 2.1)), "jvp": (0, (1.3, 2.1)), "kvp": (0, (1.3, 2.1)),
    "lambertw": (0, (0.7,)), "log_softmax": (0, ([0.3, -1.2, 2.5],)), "logsumexp": (0, ([0.3, -1.2, 2.5],)),
    "multigammaln": (0, (4.3, 3)), "nbdtr": (2, (2, 3, 0.3)), "nbdtrc": (2, (2, 3, 0.3)),
    "nbdtri": (2, (2, 3, 0.3)), "pdtr": (1, (2, 1.3)), "pdtrc": (1, (2, 1.3)), "pdtri": (1, (2, 0.3)),
    "perm": (0, (5.3, 2.1)), "polygamma": (1, (2, 1.3)), "powm1": (0, (1.3, 0.7)), "pseudo_huber": (0, (1.3, 2.1)),
    "radian": (0, (30.0, 12.0, 7.0)), "shichi": (0, (0.7,)), "sici": (0, (0.7,)), "sinc": (0, (0.7,)),
    "sindg": (0, (200.3,)), "softmax": (0, ([0.3, -1.2, 2.5],)), "softplus": (0, (0.7,)),
    "spherical_in": (1, (2, 1.3)), "spherical_jn": (1, (2, 1.3)), "spherical_kn": (1, (2, 1.3)),
    "spherical_yn": (1, (2, 1.3)), "stdtr": (0, (3.7, 0.8)), "stdtrit": (0, (3.7, 0.7)), "tandg": (0, (30.3,)),
    "yvp": (0, (1.3, 2.1)), "zeta": (0, (2.3, 1.2)),
}  # fmt: skip
FREE = {"multigammaln": 1}  # arguments that are differentiated, where it is not all that are no whole numbers


def one_number(z):
    """A weighted sum of what a function gives: numbers, arrays, tuples of these; of complex ones the real parts."""
    parts = z if isinstance(z, (list, tuple)) else (z,)
    weighted = (np.sum(np.asarray([1.0, 0.4, -0.7])[: part.size].reshape(part.shape) * part.real) if isinstance(
        part, (np.ndarray, np.generic)) else np.sum(part * np.asarray([1.0, 0.4, -0.7])) if np.ndim(part) else part
        for part in parts)  # fmt: skip
    return sum((0.3 + k) * part for k, part in enumerate(weighted))


def check(function, args, whole=0, free=None):
    """The gradient and the Hessian's diagonal against differences of SciPy's function and of the gradient."""
    reference = getattr(scipy.special, function.__name__)
    positions = range(whole, len(args) if free is None else whole + free)
    for k in positions:
        along = lambda x, f=function, k=k: one_number(f(*(x if j == k else a for j, a in enumerate(args))))
        x = np.asarray(args[k], float)
        if x.ndim:
            step = 1e-5 * np.array([0.3, 1.1, -0.7])
            slope = (along(x + step, reference) - along(x - step, reference)) / 2e-5
            assert contad.jvp(along, (x,), (step / 1e-5,))[1] == pytest.approx(slope, rel=1e-7)
            continue
        x, h = float(x), 1e-5 * max(abs(float(x)), 0.1)
        slope = (along(x + h, reference) - along(x - h, reference)) / (2 * h)
        gradient = contad.grad(along)
        assert gradient(x) == pytest.approx(slope, rel=1e-6, abs=1e-8), k
        curvature = (gradient(x + h) - gradient(x - h)) / (2 * h)
        assert contad.derivative(contad.derivative(along))(x) == pytest.approx(curvature, rel=1e-5, abs=1e-7), k


def test_every_name_has_a_call():
    of_rules = {u.rpartition(".")[2] for r in rules() for u in r.ufuncs if isinstance(u, str)}
    assert set(special.__all__) == set(CALLS) | of_rules and len(special.__all__) >= 140


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name):
    whole, args = CALLS[name]
    check(getattr(special, name), args, whole, FREE.get(name))


@pytest.mark.parametrize(("name", "whole", "args"), [
    ("spherical_jn", 1, (2, 1.3, True)), ("spherical_yn", 1, (2, 1.3, True)), ("spherical_in", 1, (0, 1.3, True)),
    ("spherical_kn", 1, (2, 1.3, True)), ("jvp", 0, (1.3, 2.1, 2)), ("zeta", 0, (2.3,)), ("lambertw", 0, (-0.2, -1)),
])  # fmt: skip
def test_derivatives_with_options(name, whole, args):
    check(getattr(special, name), args, whole, 1)


@pytest.mark.parametrize("name", special.__all__)
def test_plain_numbers_give_what_scipy_gives(name):
    """The very function is called, so that the type is SciPy's, too."""
    if name in CALLS:
        args = CALLS[name][1]
    else:
        args = next(r.points[0] for r in rules() for u in r.ufuncs if isinstance(u, str) and u.endswith(f".{name}"))
    if name == "expn":
        args = (2, 0.7)
    found, expected = getattr(special, name)(*args), getattr(scipy.special, name)(*args)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)


def intercepted():
    """Each ufunc of scipy.special that a rule or a written function stands for, with arguments."""
    for rule in rules():
        for ufunc in rule.ufuncs:
            if isinstance(ufunc, str):
                yield ufunc.rpartition(".")[2], 0, rule.points[0]
    for name in written_functions():
        if not name.startswith("_"):
            yield name, *CALLS[name]


@pytest.mark.parametrize(("name", "whole", "args"), list(intercepted()))
def test_every_ufunc_finds_its_rule(name, whole, args):
    """SciPy's own name on a variable, on an array of them and on a dual gives a variable, with the same derivative."""
    ufunc = getattr(scipy.special, name)
    k = len(args) - 1
    along = lambda x: one_number(ufunc(*args[:k], x))

    def on_arrays(x):
        z = ufunc(*args[:k], x)
        return sum(np.sum((0.3 + j) * part) for j, part in enumerate(z if isinstance(z, tuple) else (z,)))

    slope = contad.grad(along)(float(args[k]))
    assert contad.derivative(along)(float(args[k])) == pytest.approx(slope, rel=1e-12)
    np.testing.assert_allclose(contad.grad(on_arrays)(np.full(2, float(args[k]))), [slope, slope], rtol=1e-9)


def test_scipy_functions_that_call_ufuncs_find_them():
    assert contad.grad(lambda x: scipy.special.zeta(x))(2.3) == pytest.approx(-0.5324803081917224, rel=1e-12)
    assert contad.grad(lambda q: scipy.special.zeta(2.3, q))(1.2) == pytest.approx(-2.3 * scipy.special.zeta(3.3, 1.2))
    w = scipy.special.lambertw(0.7).real
    assert contad.grad(lambda x: scipy.special.lambertw(x))(0.7) == pytest.approx(np.exp(-w) / (1.0 + w), rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 3, 120])
@pytest.mark.parametrize("x", [0.0, 1e-9, -1.3, 60.0])
def test_the_modified_function_of_the_first_kind_on_the_whole_line(n, x):
    """By its series, which has no root of x: the values, and two derivatives."""
    if n > 100 and x <= 0.0:
        return  # by a Bessel function of x
    with mp.workdps(60):
        series = lambda t: mp.sqrt(mp.pi) / 2 * (t / 2) ** n / mp.gamma(n + 1.5) * mp.hyp0f1(n + 1.5, t * t / 4)
        value, slope, half = map(float, mp.taylor(series, mp.mpf(x), 2))
    f = lambda t: special.spherical_in(n, t)
    found = [f(contad.ops.multiply(x, 1.0)), contad.grad(f)(x), contad.derivative(contad.derivative(f))(x)]
    assert found == pytest.approx([value, slope, 2.0 * half], rel=1e-12, abs=1e-300)


def test_an_order_that_is_not_whole_is_truncated_as_scipy_does():
    for n, order in [(1.9, 1.0), (-0.3, 0.0)]:
        f, g = (lambda x, m=m: special.spherical_jn(m, x) for m in (n, order))
        assert contad.value_and_grad(f)(-1.267) == contad.value_and_grad(g)(-1.267)
        assert f(-1.267) == scipy.special.spherical_jn(n, -1.267)
    assert np.isnan(contad.grad(lambda x: special.spherical_jn(-1.0, x))(1.3))


@pytest.mark.parametrize("x", [0.0, 180.0, 360.0, -30.3, 77.7, 90.0])
def test_second_derivatives_of_functions_of_degrees(x):
    square = (np.pi / 180.0) ** 2
    second = lambda f: contad.derivative(contad.derivative(f))(x)
    assert second(special.cosdg) == pytest.approx(-square * np.cos(np.pi * x / 180.0), rel=1e-12, abs=1e-18)
    assert second(special.sindg) == pytest.approx(-square * np.sin(np.pi * x / 180.0), rel=1e-12, abs=1e-18)
    if x != 90.0:
        t = np.tan(np.pi * x / 180.0)
        assert second(special.tandg) == pytest.approx(2.0 * square * t * (1.0 + t * t), rel=1e-12, abs=1e-18)


@pytest.mark.parametrize(("name", "args", "slopes"), [
    ("agm", (0.0, 2.8), (np.inf, 0.0)), ("agm", (-2.8, 0.0), (0.0, np.inf)), ("powm1", (0.0, 0.4), (np.inf, 0.0)),
    ("powm1", (0.0, 3.0), (0.0, 0.0)), ("powm1", (0.0, 1.0), (1.0, 0.0)),
])  # fmt: skip
def test_slopes_at_0(name, args, slopes):
    f = getattr(special, name)
    assert contad.grad(f, (0, 1))(*args) == slopes
    assert contad.derivative(lambda x: f(x, args[1]))(args[0]) == slopes[0]


def test_missing_functions_are_refused_by_name():
    with pytest.raises(AttributeError, match="wofz has no derivative in contad; there are agm, "):
        _ = special.wofz
    with pytest.raises(AttributeError, match="nothing is not a function of scipy.special"):
        _ = special.nothing
    for call, message in [
        (lambda x: special.logsumexp(x, return_sign=True), "return_sign=True"),
        (lambda x: special.comb(x, 2.0, exact=True), "exact=True"),
        (lambda x: special.gammaln(x, dtype=float), "gammaln: dtype="),
        (lambda x: special.lambertw(x, 1), "k must be 0 or -1"),
        (lambda x: special.eval_legendre(x, 0.3), "n must be one plain whole number"),
        (lambda x: special.zeta(x - 2.0), "s > 1 only"),
    ]:
        with pytest.raises(UnsupportedError, match=message):
            contad.grad(call)(2.3)


@njit
def in_numba(x):
    return special.j0(x) * special.gammaln(x)


def test_numba_functions_call_rules():
    assert in_numba(2.3) == pytest.approx(scipy.special.j0(2.3) * scipy.special.gammaln(2.3), rel=1e-14)
    expected = contad.grad(lambda x: special.j0(x) * special.gammaln(x))(2.3)
    assert contad.grad(in_numba)(2.3) == pytest.approx(expected, rel=1e-13)


@njit
def written_in_numba(x):
    return special.zeta(2.3, x) * special.lambertw(x) + special.airy(x)[3]


def test_numba_functions_call_what_is_no_rule():
    assert written_in_numba(0.7) == pytest.approx(written_in_numba.py_func(0.7).real, rel=1e-14)
    expected = contad.grad(written_in_numba.py_func)(0.7)
    assert contad.grad(written_in_numba)(0.7) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [n for n in special.__all__ if isinstance(getattr(special, n), SpecialFace)])
def test_formulas_for_numba_are_scipys(name):
    """In Python, where a formula is evaluated as compiled code does."""
    face, (whole, args) = getattr(special, name), CALLS[name]
    numbers = [*map(float, args), *face.defaults.values()][: len(face.names)]
    found = [*face.body((0,))(*numbers)] if face.results else [face.formula(*numbers)]
    assert found == pytest.approx(np.real(np.atleast_1d(getattr(scipy.special, name)(*args))), rel=1e-13)
    positions = tuple(range(whole, whole + FREE.get(name, len(args) - whole))) if not face.results else ()
    if positions:
        slopes = contad.grad(face.formula, positions)(*numbers)
        assert slopes == pytest.approx(contad.grad(face.outside, positions)(*args), rel=1e-10, abs=1e-12)


def test_edges_of_written_functions():
    """Where a written function joins pieces, the derivative is that of the whole."""
    hessian = contad.hessian(lambda v: special.stdtr(v[0], v[1]))(np.array([4.0, 0.0]))
    np.testing.assert_allclose(hessian, [[0.0, 0.00569481], [0.00569481, 0.0]], atol=1e-8)
    for t in (0.1, 0.2, 0.25, 0.3):  # on both sides of where its series ends
        assert contad.grad(lambda t: special.stdtr(4.0, t))(t) == pytest.approx(
            0.375 * (1.0 + t * t / 4.0) ** -2.5, rel=1e-14
        )
    assert [contad.grad(special.cosdg)(x) for x in (0.0, 180.0)] == [0.0, 0.0]
    assert contad.grad(special.sindg)(180.0) == pytest.approx(-np.pi / 180.0, rel=1e-15)
    assert [contad.grad(lambda r: special.huber(1.0, r))(r) for r in (0.3, -3.0)] == [0.3, -1.0]
    assert contad.grad(lambda y: np.heaviside(0.0, y))(0.3) == 1.0
    assert contad.grad(lambda x: np.heaviside(x, 0.3) * x)(2.0) == 1.0


def test_signatures_are_those_of_scipy():
    """Of functions of Python; ufuncs take their arguments by position."""
    own = [f for f in vars(special).values() if isinstance(f, (special.SpecialFunction, SpecialFace))]
    for f in own:
        reference = getattr(scipy.special, f.__name__)
        if not isinstance(reference, np.ufunc):
            names = [name for name in inspect.signature(reference).parameters if name != "kwargs"]
            assert list(inspect.signature(f.function).parameters) == names, f.__name__
