"""Every function of a distribution in every mode and on every engine, at its points in every regime.

A sample runs always; all of it, half an hour of differences and as much of compiling, with
`python -m pytest -m "long or not long" tests/distributions/test_every_engine.py`.
"""

import functools
import math

import numpy as np
import pytest

import contad
from contad import stan
from contad.engines import engine_names
from contad.rules.compilable import functions_of_text
from contad.scipy import stats
from contad.testing import TOLERANCES, expect_ad, legs
from contad.testing.specimen import FORWARD, Specimen
from tests.distributions.every_function import CASES, FAMILIES, is_defined
from tests.judges.remembered_values import remembered_values
from tests.judges.samples import sampled

WITHOUT_DIFFERENCES = TOLERANCES._replace(resolved=math.nan)
# points at which second derivatives are made of larger terms than `expect_ad` knows of, and how much larger these are:
# squares of 1 / 1e-8 from the logarithm of a density, which cancel, and a difference of probabilities of nearly 1
CANCELLING = {
    ("stats.rayleigh.pdf", (1e-8, 0.0, 1.5)): 1e8, ("stats.rice.pdf", (1e-8, 0.19, 0.0, 1.5)): 1e8,
    ("stats.rice.logcdf", (1e-8, 0.19, 0.0, 1.5)): 1e8, ("stats.triang.pdf", (1e-8, 0.6, 0.0, 1.5)): 1e8,
}  # fmt: skip


def of_active(case, point):
    """(the function of the arguments that have derivatives, these)."""
    active = case.active

    def function(*moved):
        # of whole numbers messages have another text
        given = {k: float(x) if isinstance(x, int) else x for k, x in zip(active, moved, strict=True)}
        return case.face(*(given.get(k, x) for k, x in enumerate(point)))

    function.__name__ = case.name
    return function, [point[k] for k in active]


def may_be_squared(case, point):
    """Whether `expect_ad` can take a point: it multiplies derivatives, and those along 1e-120 may be 1e230 large."""
    numbers = [abs(x) for x in (*point, case.face(*point)) if isinstance(x, float) and math.isfinite(x)]
    return all(x == 0.0 or 1e-70 < x < 1e70 for x in numbers)


def expect_here(f, *args, order, nan=False, tolerances=TOLERANCES):
    """The legs of `expect_ad` that tell something else at each point: how adjoints add up is the same at all."""
    specimen, ways = Specimen(f, args, nan, tolerances), [*engine_names(), FORWARD]
    assert specimen.raised is None
    legs.check_value(specimen, ways)
    legs.check_derivatives(specimen, ways, order, False)
    legs.check_special(specimen, ways)


def judge(case, point, check=expect_here):
    """By legs of `expect_ad`, or where differences tell nothing, whether ways agree. Whether differences told anything.

    Steps of differences are those of numbers near 1: near an edge, or where a place of 0 is taken from a tiny number,
    they reach beyond the support. Of such points, and of those that it cannot take, mpmath tells the first derivatives
    in `test_point_table.py`, and the second ones in `test_second_derivatives.py`.
    """
    function, args = of_active(case, point)
    try:
        check(function, *args, order=2)
    except AssertionError as failure:
        if not any(f"leg {leg}" in str(failure) for leg in ("gradient", "jvp", "hessian", "vacuity")):
            raise
        rounding = TOLERANCES.rounding * CANCELLING.get((case.name, tuple(point)), 1.0)
        check(function, *args, order=2, nan=True, tolerances=WITHOUT_DIFFERENCES._replace(rounding=rounding))
        return False
    return True


# at their points `expect_ad` takes seconds; of heavy functions the sample has none
HEAVY = [
    "beta", "betaprime", "exponnorm", "f", "gamma", "invgauss", "nct", "rice", "skewnorm", "student_t", "t",
    "truncnorm", "vonmises", "jf_skew_t", "pearson3", "norminvgauss", "genhyperbolic", "vonmises_line", "rdist",
    "crystalball", "semicircular", "genhalflogistic", "recipinvgauss", "ncx2",
]  # fmt: skip
ACTIVE = sorted(name for name, case in CASES.items() if case.active)


DEAR = [name for name in ACTIVE if CASES[name].family.partition(".")[2] in HEAVY]


@pytest.mark.parametrize("name", sampled(ACTIVE, 200, dear=DEAR))
def test_every_mode(name):
    case = CASES[name]
    points = [point for point in case.points if is_defined(case, point) and may_be_squared(case, point)]
    with remembered_values():  # all legs at the first point
        told = [judge(case, point, expect_ad if k == 0 else expect_here) for k, point in enumerate(points)]
    assert any(told)


# ---- arrays, and recorded programs -----------------------------------------------------------------------------------
@functools.cache
def gradients_of(case):
    """(points, values, gradients by the default engine) of all points together where the function is a number."""
    points = [tuple(map(float, point)) for point in case.points if is_defined(case, point)]
    functions = [of_active(case, point) for point in points]
    every = tuple(range(len(case.active)))
    return points, [case.face(*p) for p in points], [contad.grad(f, every)(*x) if every else () for f, x in functions]


def assert_near(case, point, found, expected):
    """As far as rounding goes: relative to what a rounded argument changes."""
    size = max((abs(point[k] * g) for k, g in zip(case.active, expected, strict=True)), default=0.0)
    for k, got, g in zip(case.active, found, expected, strict=True):
        assert got == pytest.approx(g, rel=1e-9, abs=1e-12 * size / (abs(point[k]) or 1.0)), (point, k)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("name", sampled(ACTIVE, 25))
def test_arrays(name, engine):
    """All points in one call; a product of Stan's is of one point."""
    case = CASES[name]
    points, values, gradients = gradients_of(case)
    whole = [points] if case.face.reduce != "product" else [[point] for point in points]
    for chunk in whole:
        columns = [np.array(column) for column in zip(*chunk, strict=True)]
        z, bars = contad.value_and_grad(lambda *x: np.sum(case.face(*x)), case.active, engine=engine)(*columns)
        rows = [points.index(point) for point in chunk]
        assert z == pytest.approx(sum(values[k] for k in rows), rel=1e-12)
        for k, found in zip(rows, zip(*bars, strict=True), strict=True):
            assert_near(case, points[k], found, gradients[k])


@pytest.mark.parametrize("name", sampled(sorted(CASES), 12))
def test_arrays_of_no_axes(name):
    case = CASES[name]
    for point in case.points:
        value = case.face(*point)
        assert case.face(*map(np.array, point)) == pytest.approx(value, rel=1e-12, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("name", sampled(ACTIVE, 25))
def test_recorded_programs(name):
    """Recorded at the first point, and run at all."""
    case = CASES[name]
    points, values, gradients = gradients_of(case)
    program = contad.record(lambda *x: case.face(*x), *points[0])
    for point, value, gradient in zip(points, values, gradients, strict=True):
        z, found = contad.value_and_grad(program, case.active)(*point)
        assert z == pytest.approx(value, rel=1e-12, abs=1e-300)
        assert_near(case, point, found, gradient)


# ---- compiled engines ------------------------------------------------------------------------------------------------
def members(family):
    return sorted(name for name, case in CASES.items() if case.family == family)


@functools.lru_cache(1)
def compiled(family):
    """One Numba function of (which of the functions of a distribution, the arguments)."""
    names = members(family)
    (count,) = {len(CASES[name].face.names) for name in names}
    args = ", ".join(f"x{k}" for k in range(count))
    lines = [f"def f(which, {args}):", "    z = 0.0"]
    for k, name in enumerate(names):
        home, *rest = name.split(".")
        lines += [f"    if which == {k}:", f"        z = {home}.{'.'.join(rest)}({args})"]
    known = {"stan": stan, "stats": stats}
    return pytest.importorskip("numba").njit(functions_of_text("\n".join([*lines, "    return z\n"]), known)["f"])


COMPILED = [(family, engine) for family in FAMILIES for engine in ("generated", "tape")]


@pytest.mark.parametrize(("family", "engine"), [pytest.param(*c, marks=pytest.mark.long) for c in COMPILED])
def test_compiled_engines(family, engine):
    """Values and gradients are those of Python, at all points."""
    f, names = compiled(family), members(family)
    active = CASES[names[0]].active
    derivative = contad.value_and_grad(f, tuple(k + 1 for k in active), engine=engine) if active else None
    for which, name in enumerate(names):
        case = CASES[name]
        assert case.active == active
        for point, value, gradient in zip(*gradients_of(case), strict=True):
            assert f(which, *point) == pytest.approx(value, rel=1e-12, abs=1e-300), (name, point)
            if derivative:
                _, found = derivative(which, *point)
                assert_near(case, point, found, gradient)
