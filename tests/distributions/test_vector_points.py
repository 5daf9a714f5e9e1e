"""Every density of vectors and matrices at its points: values, first and second derivatives beside mpmath's."""

import itertools

import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan
from contad.distributions.ways_by_axes import axes_in
from contad.scipy import stats
from contad.stan.compiled import WithBodies
from tests.distributions.vector_constants import DROPPED
from tests.distributions.vector_definitions import log_volume
from tests.distributions.vector_points import (
    CASES,
    EVERY,
    active_of,
    exact_args,
    folded,
    free_places,
    moved,
    of_free_numbers,
    public_names,
)  # fmt: skip
from tests.judges.samples import sampled

DIGITS, STEP = 45, 15  # of the references, and of their differences
LEAST = 1e-300  # below it numbers underflow
DIGITS_OF_SECOND, STEP_OF_SECOND = 75, 20


class Reference:
    """The definition as a function of the steps of its free numbers, which are (argument, place)."""

    def __init__(self, case, point, step):
        self.case, self.args = case, exact_args(case, point)
        self.free = [(k, at) for k in active_of(case, point) for at in free_places(case.kinds.split()[k], point[k])]
        self.at = [mp.mpf(float(np.asarray(point[k])[at])) for k, at in self.free]
        self.steps = [mp.mpf(10) ** -step * (abs(x) or 1) for x in self.at]

    def __call__(self, *places):
        args, kinds = list(self.args), self.case.kinds.split()
        for j, times in places:
            k, at = self.free[j]
            args[k] = moved(kinds[k], args[k], at, times * self.steps[j])
        return self.case.reference(*args)

    def slope(self, j):
        return (self((j, 1)) - self((j, -1))) / (2 * self.steps[j])

    def second(self, i, j, value):
        if i == j:
            return (self((i, 1)) + self((i, -1)) - 2 * value) / self.steps[i] ** 2
        corners = [a * b * self((i, a), (j, b)) for a, b in itertools.product((-1, 1), repeat=2)]
        return mp.fsum(corners) / (4 * self.steps[i] * self.steps[j])


def gradient_of(case, point, active):
    """(the value, the derivatives by the free numbers)."""
    value, bars = contad.value_and_grad(case.function, active)(*point)
    kinds = case.kinds.split()
    for k, bar in zip(active, bars, strict=True):  # a factor has no derivative by what is not read
        assert kinds[k] != "l" or not np.any(np.triu(bar, 1))
    return value, [g for k, bar in zip(active, bars, strict=True) for g in folded(kinds[k], point[k], bar)]


def disagreements(name, k):
    """(what, found, exact) of the value and of each derivative that rounding does not explain."""
    case, wrong = CASES[name], []
    point = case.points[k]
    value, found = gradient_of(case, point, active_of(case, point))
    with mp.workdps(DIGITS):
        reference = Reference(case, point, STEP)
        exact = reference()
        slopes = list(map(reference.slope, range(len(reference.free))))
        size = abs(exact) + mp.fsum(abs(x * slope) for x, slope in zip(reference.at, slopes, strict=True))
        if name.endswith((".pdf", ".pmf")):
            size *= 1 + abs(mp.log(abs(exact)))  # what an exponent that is rounded changes
        else:
            size += 1
        if not abs(value - exact) <= 1e-14 * size + LEAST:
            wrong.append(("value", value, float(exact)))
        for at, x, got, slope in zip(reference.free, reference.at, found, slopes, strict=True):
            if not abs(got - slope) <= 1e-13 * (abs(slope) + size / max(abs(x), 1)) + LEAST:
                wrong.append((at, got, float(slope)))
    return wrong


@pytest.mark.parametrize(("name", "k"), sampled(EVERY, 4, family=lambda case: case[0]))
def test_values_and_gradients_are_mpmaths(name, k):
    assert disagreements(name, k) == []


@pytest.mark.parametrize("eta", [0.7, 1e3, 1e12])
def test_the_constant_of_correlations(eta):
    """Where nothing else is in the density, which is a small difference of large logarithms."""
    slope = contad.grad(lambda eta: stan.lkj_corr_lpdf(np.eye(4), eta))(eta)
    with mp.workdps(DIGITS):
        exact, h = mp.mpf(eta), mp.mpf(eta) * mp.mpf(10) ** -STEP
        assert stan.lkj_corr_lpdf(np.eye(4), eta) == pytest.approx(float(-log_volume(exact, 4)), rel=1e-13)
        difference = (log_volume(exact - h, 4) - log_volume(exact + h, 4)) / (2 * h)
        assert slope == pytest.approx(float(difference), rel=1e-12)


@pytest.mark.parametrize("f", [stan.dirichlet_lpdf, stats.dirichlet.logpdf])
@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12])
def test_dirichlet_of_huge_weights(f, size):
    """A small difference of large logarithms, as exact as its arguments: the weights multiply their rounding."""
    alpha = size * np.array([0.7, 2.0, 3.0])
    theta = alpha / np.sum(alpha) * np.exp(np.array([0.3, -0.4, 0.1]) / np.sqrt(size))
    theta /= np.sum(theta)
    value, (by_theta, by_alpha) = contad.value_and_grad(f, (0, 1))(theta, alpha)
    with mp.workdps(DIGITS):
        shares, weights = ([*map(mp.mpf, x)] for x in (theta, alpha))
        whole = mp.fsum(weights)
        exact = mp.loggamma(whole) + mp.fsum(
            (a - 1) * mp.log(t) - mp.loggamma(a) for t, a in zip(shares, weights, strict=True)
        )
        assert abs(value - exact) <= 2.0**-52 * float(whole)
        for k, (t, a) in enumerate(zip(shares, weights, strict=True)):
            assert abs(by_alpha[k] - (mp.digamma(whole) - mp.digamma(a) + mp.log(t))) <= 2.0**-51
            assert by_theta[k] == pytest.approx(float((a - 1) / t), rel=1e-15)


def test_every_density_has_points():
    """A new one is in `vector_points`, at two points of different sizes at least, and at 130 all together."""
    assert CASES.keys() == public_names()
    assert all(len({tuple(map(np.shape, p)) for p in case.points}) >= 2 for case in CASES.values())
    assert len(EVERY) >= 130


def test_a_wrong_digit_is_found(monkeypatch):
    """Of a value, and of one partial."""
    name = "stan.multi_gp_lpdf"
    case = CASES[name]
    for error in (lambda w: 1e-11, lambda w: 1e-9 * (w[1] - float(w[1]))):
        wrong = case._replace(reference=lambda y, s, w, error=error: case.reference(y, s, w) + error(w))
        monkeypatch.setitem(CASES, name, wrong)
        assert len(disagreements(name, 0)) == 1


# ---- second derivatives ----------------------------------------------------------------------------------------------
def wrong_second_derivatives(name, k):
    """(the places, found, exact) of every second derivative that rounding does not explain."""
    case, wrong = CASES[name], []
    point = case.points[k]
    function, at = of_free_numbers(case, point)
    found = contad.hessian(function)(at)
    with mp.workdps(DIGITS_OF_SECOND):
        reference = Reference(case, point, STEP_OF_SECOND)
        exact = reference()
        pairs = list(itertools.combinations_with_replacement(range(len(at)), 2))
        second = {(i, j): reference.second(i, j, exact) for i, j in pairs}
        size = abs(exact) + 1 + sum(abs(x * reference.slope(j)) for j, x in enumerate(reference.at))
        size += sum(abs(at[i] * at[j] * x) for (i, j), x in second.items())
        for (i, j), x in second.items():
            bound = 1e-11 * abs(x) + 1e-12 * size / max(abs(at[i]), 1e-2) / max(abs(at[j]), 1e-2)
            row = reference.free[i], reference.free[j]
            wrong += [(*row, got, float(x)) for got in {found[i, j], found[j, i]} if not abs(got - x) <= bound]
    return wrong


def is_dear(name, k):
    return len(of_free_numbers(CASES[name], CASES[name].points[k])[1]) > 8 or name == "stan.hmm_marginal"


DEAR = [f"{name}-{k}" for name, k in EVERY if is_dear(name, k)]


@pytest.mark.parametrize(("name", "k"), sampled(EVERY, 12, dear=DEAR))
def test_second_derivatives_are_mpmaths(name, k):
    assert wrong_second_derivatives(name, k) == []


def test_a_wrong_second_derivative_is_found(monkeypatch):
    name = "stan.lkj_corr_lpdf"
    case = CASES[name]
    r0, eta0 = case.points[0][0][1, 0], case.points[0][1]
    error = lambda r, eta: 1e-8 * (r[1, 0] - r0) * (eta - eta0)
    wrong = case._replace(reference=lambda r, eta: case.reference(r, eta) + error(r, eta))
    monkeypatch.setitem(CASES, name, wrong)
    assert {row[:2] for row in wrong_second_derivatives(name, 0)} == {((0, (1, 0)), (1, ()))}


# ---- without constants, and the bodies for compiled code -------------------------------------------------------------
def bodies_at(case, point):
    """(which, a function of the arguments) of the bodies that compiled code has for them, as Python runs them."""
    if isinstance(case.function, WithBodies):
        axes = tuple(map(np.ndim, point))
        found = case.function.body(axes), case.function.body((*axes, 0))
        if found[0] is not None:
            yield "body", found[0]
            yield "body, propto", lambda *args: found[1](*args, True)


def constant_of(name, point):
    """What `propto=True` leaves out."""
    return DROPPED.get(name.removeprefix("stan."), lambda *args: 0.0)(*point)


HAS_PROPTO = [name for name in CASES if name.startswith("stan.") and name != "stan.hmm_marginal"]


@pytest.mark.parametrize("name", HAS_PROPTO)
def test_constants_are_dropped_and_bodies_agree(name):
    """Explicit constants; the derivatives stay. What compiled code is made of has the same values."""
    case = CASES[name]
    for point in case.points:
        active, constant = active_of(case, point), constant_of(name, point)
        value, bars = contad.value_and_grad(case.function, active)(*point)
        less, others = contad.value_and_grad(lambda *args: case.function(*args, propto=True), active)(*point)
        near = {"rel": 1e-11, "abs": 1e-13 * (abs(value) + abs(constant))}
        assert less == pytest.approx(value - constant, **near), point
        for bar, other in zip(bars, others, strict=True):
            np.testing.assert_allclose(bar, other, rtol=1e-12)
        for which, body in bodies_at(case, point):
            assert body(*point) == pytest.approx(less if "propto" in which else value, **near), (which, point)


def test_every_body_has_a_point():
    """Each way of axes that compiled code may call a density with is one of a point's."""
    for name, case in CASES.items():
        if isinstance(case.function, WithBodies):
            given = [tuple(map(np.ndim, point)) for point in case.points]
            for pattern in case.function.ways:
                ways = axes_in(pattern)
                fits = (all(str(n) in way for n, way in zip(axes, ways, strict=True)) for axes in given)
                assert any(fits), (name, pattern)
