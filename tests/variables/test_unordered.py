"""nan in lists and object arrays of variables: what NumPy would lose is refused, what programs compare is answered."""

import operator

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError

X = np.array([1.0, np.nan, 3.0])
# NumPy warns of comparisons with nan in object arrays
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered")

LOSING = {
    "np.max": lambda v: np.max(v), "np.min": lambda v: np.min(v),
    "np.max of rows": lambda v: np.max(v.reshape(1, 3), axis=1)[0], "v.max()": lambda v: v.max(),
    "np.max of a list": lambda v: np.max([v[0], v[1], v[2]]), "np.ptp": lambda v: np.ptp(v),
    "np.clip": lambda v: np.sum(np.clip(v, 0.0, 2.0)), "np.maximum": lambda v: np.sum(np.maximum(v, 2.0)),
    "np.maximum of lists": lambda v: np.maximum([v[0], v[1]], [v[2], 1.0])[1],
    "np.minimum.reduce": lambda v: np.minimum.reduce(v), "np.sort": lambda v: np.sum(np.sort(v)[::-1]),
    "np.argsort": lambda v: v[np.argsort(v)][0], "np.argmax": lambda v: v[np.argmax(v)],
    "np.searchsorted": lambda v: v[0] * np.searchsorted(v, 2.0), "np.lexsort": lambda v: v[np.lexsort((v,))][0],
    "v.sort()": lambda v: (v.sort(), v[0])[1], "v.sort() of a view": lambda v: (v[::-1].sort(), v[0])[1],
    "v.partition()": lambda v: (v.partition(1), v[0])[1], "v.argsort()": lambda v: v[v.argsort()][0],
    "v.argsort() with options": lambda v: v[(v * 2.0).argsort(kind="stable", axis=0)][0],
    "v.argsort(*...)": lambda v: v[v.argsort(*(0,), **{"kind": "stable"})][0],  # noqa: PIE804
    "v.argpartition()": lambda v: v[v.argpartition(1)][0],
    "v.argmax()": lambda v: v[v.argmax()],
    "v.argmin() of each": lambda v: v[next(w.argmin() for w in [v])],
    "v.searchsorted()": lambda v: v[0] * v.searchsorted(2.0),
    "of an array of floats": lambda v: v[0] * np.arange(4.0).searchsorted(v[1]),
    "a method under another name": lambda v, order=None: v[(order := v.argsort) and order()][0],
    "a method by its name": lambda v: v[getattr(v, "argmax")()],  # noqa: B009
    "a method of ndarray": lambda v: v[next(map(np.ndarray.argmin, [v]))],
    "a caller of methods": lambda v: v[operator.methodcaller("argmax")(v)],
}  # fmt: skip


@pytest.mark.parametrize("engine", ["closures", "records"])
@pytest.mark.parametrize("name", LOSING)
def test_a_nan_that_numpy_would_lose_is_refused_with_the_line(name, engine):
    line = f"{__file__}:{LOSING[name].__code__.co_firstlineno}: "
    with pytest.raises(UnsupportedError, match="the nan would be lost") as error:
        contad.grad(LOSING[name], engine=engine)(X)
    assert str(error.value).startswith(line)
    contad.grad(LOSING[name], engine=engine)(np.array([1.0, 2.5, 4.0]))


def test_lists_of_elements_are_refused_on_matrix_and_in_forward_mode():
    f = LOSING["np.max of a list"]
    for call in (contad.grad(f), contad.hessian(f), lambda x: contad.jvp(f, (x,), (X,))):
        with pytest.raises(UnsupportedError, match=r"np\.max: NumPy compares.*the nan would be lost"):
            call(X)
    value, gradient = contad.value_and_grad(lambda v: np.max(v))(X)  # array variables do propagate it
    assert np.isnan(value)
    np.testing.assert_array_equal(gradient, [0.0, 1.0, 0.0])


ASKED = {
    "comparisons": lambda v: v[0] * (1.0 if v[1] >= 2 or v[1] < 2 or v[0] < v[1] or v[1] <= v[0] else 2.0),
    "of arrays": lambda v: v[0] * np.sum(v >= 2.0) + v[2] * np.sum(v[1] <= v) + v[2] * np.sum(v < v),
    "any": lambda v: v[0] * (1.0 + any(u >= 2.0 for u in v)),
    "max and sorted": lambda v: max(v[0], v[1]) + sorted([v[2], v[1]])[0] + min([v[0], v[1], v[2]]),
    "operator.gt": lambda v: v[0] * (2.0 + operator.gt(v[1], 1.0)),
    "a list sorted in place": lambda v, w=None: (w := [v[0], v[1]]) and (w.sort(), w[0])[1],
    "max of what is sorted": lambda v: max(v[[0, 2]][v[[0, 2]].argsort()][1], v[1]),
    "where": lambda v: np.sum(np.where(v > 2.0, v, 1.0)),
    "mask": lambda v: np.sum(v[v >= 2.0]),
    "nanmin": lambda v: np.nanmin(v),
    "nanargmax": lambda v: v[np.nanargmax(v)],
    "fmax": lambda v: np.sum(np.fmax(v, 2.0)),
}


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("name", ASKED)
def test_comparisons_with_nan_are_answered_as_of_floats(name, engine):
    value, gradient = contad.value_and_grad(ASKED[name], engine=engine)(X)
    assert value == ASKED[name](X) and np.isfinite(gradient).all()


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_ufunc_at_of_objects_keeps_nan_and_accumulates(ufunc, engine):
    def f(v):
        z = np.array([v[1], v[0], v[2]])
        ufunc.at(z, [0, 1, 1], v[2] * 0.5)
        return z[1] if np.isnan(z[0]) else 5.0 * z[1]

    value, gradient = contad.value_and_grad(f, engine=engine)(X)
    assert value == f(X)
    np.testing.assert_array_equal(gradient, [0.0, 0.0, 0.5] if ufunc is np.maximum else [1.0, 0.0, 0.0])


def test_ufunc_at_of_one_variable_and_overlapping_objects():
    def f(v):
        z = np.array([v[0], v[1] * v[0], v[2]])
        np.add.at(z, [0, 0, 1], z)
        np.multiply.at(z, [0, 1], v[2])
        return z @ np.array([1.0, 10.0, 100.0])

    x = np.array([0.3, 0.7, 1.1])
    slopes = [(f(x + d) - f(x - d)) / 2e-6 for d in np.eye(3) * 1e-6]
    for engine in ("closures", "records", "matrix"):
        value, gradient = contad.value_and_grad(f, engine=engine)(x)
        assert value == pytest.approx(f(x), rel=1e-15) and gradient == pytest.approx(slopes, rel=1e-8)
