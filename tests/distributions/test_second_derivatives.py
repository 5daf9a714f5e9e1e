"""Second derivatives of every function of a distribution, in every argument and at every point, beside mpmath's."""

import itertools

import numpy as np
import pytest
from mpmath import mp
from numba import njit

import contad
from contad.scipy import stats
from tests.distributions.every_function import CASES, FACES, is_defined, magnitude
from tests.judges.samples import sampled

DIGITS, STEP = 75, 13  # of the references, and of their differences
ROUNDED = 1e-12  # of the terms that a derivative is made of
HUGE, TINY = 1e280, 1e-280  # beyond them numbers overflow, or underflow


def differences(reference, point, active):
    """(the value, the first derivatives, the second ones by pairs): central differences of the reference."""
    at = [mp.mpf(x) for x in point]
    steps = [magnitude(point, k) * mp.mpf(10) ** -STEP for k in range(len(at))]
    value, first, second = reference(*at), {}, {}
    moved = lambda *places: reference(*(x + steps[k] * sum(w for j, w in places if j == k) for k, x in enumerate(at)))
    for k in active:
        above, below = moved((k, 1)), moved((k, -1))
        first[k] = (above - below) / (2 * steps[k])
        second[k, k] = (above + below - 2 * value) / steps[k] ** 2
    for j, k in itertools.combinations(active, 2):
        corners = [a * b * moved((j, a), (k, b)) for a, b in itertools.product((-1, 1), repeat=2)]
        second[j, k] = mp.fsum(corners) / (4 * steps[j] * steps[k])
    return value, first, second


def hessian_of(case, point):
    """By the default engine, of the arguments that have derivatives."""
    active = case.active
    f = lambda p: case.face(*(p[active.index(k)] if k in active else x for k, x in enumerate(point)))
    return contad.hessian(f)(np.array([point[k] for k in active]))


def disagreements(case, points):
    """(the point, the arguments, found, exact) of every second derivative that rounding does not explain."""
    wrong, active = [], case.active
    for point in points:
        if not active or not is_defined(case, point):
            continue
        found = hessian_of(case, point)
        with mp.workdps(DIGITS):
            value, first, second = differences(case.reference, point, active)
            size = abs(value) + sum(abs(point[k] * slope) for k, slope in first.items())
            size += sum(abs(point[j] * point[k] * x) for (j, k), x in second.items())
            size += case.name.endswith(("lpdf", "lpmf", "logpdf", "logpmf"))
            if not mp.isfinite(size) or any(abs(x) > HUGE or 0 < abs(x) < TINY for x in second.values()):
                continue  # others are made of what overflows or underflows
            for (j, k), exact in second.items():
                of_terms = size / (magnitude(point, j) * magnitude(point, k))
                bound = 100 * ROUNDED * abs(exact) + ROUNDED * of_terms + TINY
                for got in {found[active.index(j), active.index(k)], found[active.index(k), active.index(j)]}:
                    if not abs(got - exact) <= bound:
                        names = f"{case.face.names[j]}, {case.face.names[k]}"
                        wrong.append((point, names, float(got), float(exact), float(bound)))
    return wrong


def test_every_function_has_a_case():
    """A new function of a distribution is in `reference_faces.TABLE`, or follows from one that is."""
    assert CASES.keys() == FACES.keys()
    own = [len(case.points) for case in CASES.values() if case.kind not in ("ppf", "isf")]  # which are those of others
    assert min(own) > 0 and sum(own) > 1700


# whose definitions are integrals, or sums of many terms
SLOW = [
    "skewnorm", "skew_normal", "vonmises", "von_mises", "rice", "nct", "f", "betaprime", "t", "student_t", "zipf",
    "beta", "jf_skew_t", "pearson3", "norminvgauss", "genhyperbolic", "vonmises_line", "rdist", "crystalball",
    "gennorm",
]  # fmt: skip
DEAR = [name for name, case in CASES.items() if case.family.partition(".")[2] in SLOW]


@pytest.mark.parametrize("name", sampled(sorted(CASES), 60, family=lambda name: CASES[name].kind, dear=DEAR))
def test_second_derivatives_are_mpmaths(name):
    assert disagreements(CASES[name], CASES[name].points) == []


@pytest.mark.parametrize(("name", "point"), [
    ("stan.student_t_cdf", (0.4, 2.5, 0.4, 1.3)), ("stan.student_t_lccdf", (0.4, 2.5, 0.4, 1.3)),
    ("stan.student_t_lcdf", (1e-60, 2.5, 0.0, 1.3)), ("stats.t.ppf", (0.5, 2.5, 0.4, 1.3)),
    ("stats.invgauss.logpdf", (1e-9, 0.75, 0.0, 2.0)),
])  # fmt: skip
def test_second_derivatives_at_special_points(name, point):
    """In the middle, where one derivative is 0 and its slope is not; where large terms cancel."""
    assert disagreements(CASES[name], [point]) == []


@pytest.mark.parametrize(("name", "args"), [
    ("poisson", (1.7,)), ("binom", (7.0, 0.3)), ("nbinom", (2.3, 0.3)), ("zipf", (2.3,)),
    ("betanbinom", (3.0, 2.3, 1.7)),
])  # fmt: skip
def test_whole_arguments_have_no_derivative_of_any_order(name, args):
    hessian = contad.hessian(lambda p: getattr(stats, name).logpmf(*p))(np.array([2.0, *args]))
    assert np.all(hessian[0] == 0.0) and np.all(hessian[:, 0] == 0.0) and hessian[-1, -1] != 0.0


@njit
def counted(p):
    return stats.poisson.logpmf(p[0], p[1])


def test_whole_arguments_of_numba_functions_have_no_derivative_of_any_order():
    np.testing.assert_allclose(contad.hessian(counted)(np.array([2.0, 0.5])), [[0.0, 0.0], [0.0, -8.0]])


def test_a_wrong_second_derivative_is_found(monkeypatch):
    """By an argument that the first derivatives do not notice at the point."""
    case = CASES["stan.gamma_lpdf"]
    point, right = case.points[0], case.reference
    wrong = lambda y, a, b: right(y, a, b) + 1e-9 * (y - point[0]) * (b - point[2])
    assert disagreements(case, [point]) == []
    monkeypatch.setattr(case, "reference", wrong)
    assert {names for _, names, *_ in disagreements(case, [point])} == {"y, beta"}
