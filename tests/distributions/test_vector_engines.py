"""Densities of vectors and matrices on every engine, recorded and run again, and inside njit, at their points.

The gradients of the default engine, which `test_vector_points.py` compares with mpmath's, are what the others give.
"""

import types

import numpy as np
import pytest

import contad
from contad import stan
from contad.distributions.ways_by_axes import axes_in
from contad.engines import engine_names
from contad.errors import UnsupportedError
from contad.kernels.array_loops import owns
from contad.rules.compilable import functions_of_text
from contad.rules.definition import named_values
from contad.scipy import stats
from contad.stan.compiled import WithBodies
from tests.distributions.vector_constants import DROPPED
from tests.distributions.vector_points import CASES, EVERY, active_of
from tests.judges.samples import sampled


def assert_same(found, expected):
    for bar, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-9, atol=1e-12 * (1.0 + np.max(np.abs(other))))


# ---- Python ----------------------------------------------------------------------------------------------------------
OTHERS = [(name, k, engine) for name, k in EVERY for engine in engine_names() if engine != "matrix"]


@pytest.mark.parametrize(("name", "k", "engine"), sampled(OTHERS, 20, family=lambda case: case[2]))
def test_eager_engines(name, k, engine):
    case = CASES[name]
    point = case.points[k]
    active = active_of(case, point)
    value, bars = contad.value_and_grad(case.function, active)(*point)
    z, found = contad.value_and_grad(case.function, active, engine=engine)(*point)
    assert z == pytest.approx(float(value), rel=1e-12, abs=1e-300)
    assert_same(found, bars)


def neighbour(kind, x):
    """Another argument of the same shape and kind: shares stay shares, cut points increase, correlations are some."""
    if kind == "c" or x is None or not np.ndim(x):
        return x
    if kind in "sl" and x.ndim == 2:
        return 0.7 * x + 0.3 * np.diag(np.diag(x))
    if np.isnan(x).any():
        return 0.9 * x
    if x.ndim == 1 and x[0] < 0.0 and np.all(np.diff(x) > 0.0):
        return -x[::-1]
    return np.roll(x, 1, axis=0)


NOT_RECORDED = ("stan.gaussian_dlm_obs_lpdf", "stan.hmm_marginal")  # whose checks read values


@pytest.mark.parametrize(("name", "k"), sampled(EVERY, 12))
def test_recorded_programs(name, k):
    """Recorded at a point, and run at another one."""
    case = CASES[name]
    point = case.points[k]
    active, kinds = active_of(case, point), case.kinds.split()

    def function(*given):
        args = dict(zip(active, given, strict=True))
        return case.function(*(args.get(j, x) for j, x in enumerate(point)))

    every = tuple(range(len(active)))
    if name in NOT_RECORDED:
        with pytest.raises(UnsupportedError, match="contad.record: .* reads the value of a variable"):
            contad.record(function, *(point[j] for j in active))
        return
    program = contad.record(function, *(point[j] for j in active))
    for at in (point, [neighbour(kind, x) for kind, x in zip(kinds, point, strict=True)]):
        args = [at[j] for j in active]
        value, bars = contad.value_and_grad(function, every)(*args)
        z, found = contad.value_and_grad(program, every)(*args)
        assert z == pytest.approx(float(value), rel=1e-12, abs=1e-300)
        assert_same(found, bars)


# ---- inside njit -----------------------------------------------------------------------------------------------------
def compiled(name):
    """A Numba function of the density, and of that without constants where it has some."""
    case = CASES[name]
    names = ", ".join(f"x{k}" for k in range(len(case.points[0])))
    known = {"stan": stan, "stats": stats}
    call = name if "gaussian_kde" not in name else "stats.gaussian_kde"
    text = f"{call}({names})"
    if name.removeprefix("stan.") in DROPPED and isinstance(case.function, WithBodies):
        text += f" + 0.5 * {call}({names}, True)"
    source = f"def f({names}):\n    return {text}\n"
    return pytest.importorskip("numba").njit(functions_of_text(source, known)["f"])


def with_constants(name):
    """The same in Python."""
    case = CASES[name]
    if name.removeprefix("stan.") not in DROPPED:
        return case.function
    return lambda *args: case.function(*args) + 0.5 * case.function(*args, propto=True)


INSIDE = [name for name, case in CASES.items() if isinstance(case.function, WithBodies)]
OUTSIDE = [name for name in CASES if name not in INSIDE]
COMPILED = [(name, engine) for name in INSIDE for engine in ("generated", "tape")]
SAMPLE = [("stan.bernoulli_logit_glm_lpmf", "generated")]  # each compiles for half a minute
DEAR = [f"{name}-{engine}" for name, engine in COMPILED if (name, engine) not in SAMPLE]


@pytest.mark.parametrize(("name", "engine"), sampled(COMPILED, 1, dear=DEAR))
def test_compiled_engines(name, engine):
    """Values and gradients at all points of axes that compiled code has a body for."""
    case, f, function = CASES[name], compiled(name), with_constants(name)
    points = [point for point in case.points if case.function.body(tuple(map(np.ndim, point))) is not None]
    assert points
    for point in points:
        active = active_of(case, point)
        value, bars = contad.value_and_grad(function, active)(*point)
        z, found = contad.value_and_grad(f, active, engine=engine)(*point)
        assert z == pytest.approx(float(value), rel=1e-12)
        assert_same(found, bars)


def test_bodies_call_what_is_compiled():
    """No plain function of Python that compiled code has no body for, which would refuse the density as a whole."""
    seen, rest = set(), []
    for name in INSIDE:
        function = CASES[name].function
        rest += [function.body(tuple(int(axes[0]) for axes in axes_in(pattern))) for pattern in function.ways]
    while rest:
        body = rest.pop()
        if body not in seen:
            seen.add(body)
            called = [x for x in named_values(body).values() if isinstance(x, types.FunctionType)]
            own = [x for x in called if x.__module__.startswith("contad.")]
            assert [x.__qualname__ for x in own if not owns(x)] == []
            rest += own
    assert len(seen) > 60


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_the_others_are_refused_by_name(engine):
    for name in OUTSIDE:
        case = CASES[name]
        point = [x for x in case.points[0] if x is not None and not isinstance(x, str)]
        if len(point) < len(case.points[0]):
            continue
        with pytest.raises(UnsupportedError, match=name.split(".")[1]):
            contad.grad(compiled(name), active_of(case, point), engine=engine)(*point)
