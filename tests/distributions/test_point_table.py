"""Values and gradients of every function of one number, of Stan's names and of SciPy's, beside mpmath's."""

import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan
from contad.distributions.faces import Face
from contad.scipy import stats
from contad.stan import densities, distribution_functions
from tests.distributions.every_function import magnitude
from tests.distributions.reference_faces import TABLE

DIGITS, STEP = 45, 14  # of the references, and of their differences
ROUNDED = 1e-13  # of the terms that a value is made of
LEAST = 1e-300  # below it numbers underflow


def face_of(name):
    home, *rest = name.split(".")
    return getattr(stan, rest[0]) if home == "stan" else getattr(getattr(stats, rest[0]), rest[1])


def differentiated(face):
    """The positions of the arguments that have a derivative."""
    return [k for k, name in enumerate(face.names) if name not in face.formula.body.whole]


def slope(reference, point, k):
    """By a central difference, whose error is of the size of STEP squared."""
    h = magnitude(point, k) * mp.mpf(10) ** -STEP
    ends = [reference(*(x + w * (j == k) for j, x in enumerate(point))) for w in (-h, h)]
    return (ends[1] - ends[0]) / (2 * h)


def found_at(name, points):
    """(the values, the gradients) at the points; the gradients of all of them in one call."""
    face = face_of(name)
    columns = [np.array(column) for column in zip(*points, strict=True)]
    active = tuple(differentiated(face))
    values = [face(*point) for point in points] if name.startswith("stan") else list(face(*columns))
    if not active:
        return values, [()] * len(points)
    gradients = contad.grad(lambda *args: np.sum(face(*args)), active)(*columns)
    return values, list(zip(*gradients, strict=True))


def disagreements(name):
    """(the point, what, found, exact) wherever one is further from mpmath's than rounding explains."""
    reference, points = TABLE[name]
    active = differentiated(face_of(name))
    wrong = []
    for point, value, gradient in zip(points, *found_at(name, points), strict=True):
        with mp.workdps(DIGITS):
            at = [mp.mpf(x) for x in point]
            exact = reference(*at)
            if not mp.isfinite(exact):
                continue
            slopes = {k: slope(reference, at, k) for k in active}
            # what the value is made of: itself, and what an argument that is rounded changes
            size = abs(exact) + sum(abs(at[k] * slopes[k]) for k in active)
            floor = 1 if name.endswith(("pdf", "pmf")) else 0
            if not abs(value - exact) <= ROUNDED * (size + floor) + LEAST:
                wrong.append((point, "value", value, float(exact)))
            for k, partial in zip(active, gradient, strict=True):
                bound = 100 * ROUNDED * abs(slopes[k]) + ROUNDED * (size + floor) / magnitude(at, k) + LEAST
                if not abs(partial - slopes[k]) <= bound:
                    wrong.append((point, f"d {face_of(name).names[k]}", partial, float(slopes[k])))
    return wrong


def test_the_table_is_whole():
    """Every name of Stan's and of SciPy's is in it, and there are at least 300 points with value and gradient."""
    stans = {
        f"stan.{name}" for module in (densities, distribution_functions)
        for name, face in vars(module).items() if isinstance(face, Face) and name != "_"
    }  # fmt: skip
    products = {name for name in stans if name.endswith("_cdf")}  # whose logarithms are sums
    own = {name for name in TABLE if name.startswith("stan")}
    assert stans - products <= own <= stans
    assert all(name in own or name.replace("_cdf", "_lcdf") in own for name in products)
    assert {name.split(".")[1] for name in TABLE if name.startswith("stats")} == set(stats.__all__)
    assert sum(len(points) for _, points in TABLE.values()) >= 900
    assert sum(len(points) for name, (_, points) in TABLE.items() if kind_of(name) in ALWAYS) >= 450


def kind_of(name):
    return name.replace(".", "_").rsplit("_", 1)[1]


ALWAYS = ("lpdf", "lpmf", "logpdf", "logpmf", "cdf", "lcdf")  # the others are the same formulas, or their complements
OTHERS = ("lccdf", "logcdf", "logsf")


@pytest.mark.parametrize("kind", [*ALWAYS, *(pytest.param(kind, marks=pytest.mark.long) for kind in OTHERS)])
def test_values_and_gradients_are_mpmaths(kind):
    wrong = {name: found for name in TABLE if kind_of(name) == kind and (found := disagreements(name))}
    assert wrong == {}


def test_a_wrong_digit_is_found(monkeypatch):
    """Of a value, and of one partial."""
    for error in (lambda y, nu: 1e-11, lambda y, nu: 1e-10 * (nu - 2)):
        reference, points = TABLE["stan.chi_square_lpdf"]
        changed = lambda y, nu, f=reference, error=error: f(y, nu) + error(y, nu)
        monkeypatch.setitem(TABLE, "stan.chi_square_lpdf", (changed, points[:1]))
        assert disagreements("stan.chi_square_lpdf")
        monkeypatch.undo()


@pytest.mark.parametrize("axes", [1, 2])
def test_loops_have_the_names_of_no_argument(axes):
    """The text for compiled code, run in Python, gives what one call of the formula gives."""
    for name, (_, points) in TABLE.items():
        if name.endswith("pmf"):
            face = face_of(name)
            args = [np.full((2,) * axes, x) for x in points[0]]
            found = face.body((axes,) * len(args))(*args)
            assert np.all(found == np.asarray(face(*args))) or found == pytest.approx(face(*args), rel=1e-12), name
