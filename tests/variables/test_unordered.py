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
    "np.max": lambda v: np.max(v),
    "np.min": lambda v: np.min(v),
    "np.max of rows": lambda v: np.max(v.reshape(1, 3), axis=1)[0],
    "v.max()": lambda v: v.max(),
    "np.max of a list": lambda v: np.max([v[0], v[1], v[2]]),
    "np.ptp": lambda v: np.ptp(v),
    "np.clip": lambda v: np.sum(np.clip(v, 0.0, 2.0)),
    "np.maximum": lambda v: np.sum(np.maximum(v, 2.0)),
    "np.maximum of lists": lambda v: np.maximum([v[0], v[1]], [v[2], 1.0])[1],
    "np.minimum.reduce": lambda v: np.minimum.reduce(v),
    "np.sort": lambda v: np.sum(np.sort(v)[::-1]),
    "np.argsort": lambda v: v[np.argsort(v)][0],
    "np.argmax": lambda v: v[np.argmax(v)],
    "v.sort()": lambda v: sorted_in_place(v)[0],
    "v.argsort()": lambda v: v[v.argsort()][0],
    "v.argmax()": lambda v: v[v.argmax()],
    "v.argmin()": lambda v: v[v[:].argmin()],
    "v.partition()": lambda v: parted(v)[0],
    "v.searchsorted()": lambda v: v[0] * v.searchsorted(v[2] * 0.5),
    "np.lexsort": lambda v: v[np.lexsort((v,))][0],
}


def sorted_in_place(v):
    (v := v * 2.0).sort()
    return v


def parted(v):
    v = v * 2.0
    v.partition(1)
    return v


def sorted_list(v):
    values = [v[2], v[1], v[0]]
    values.sort()
    return values[0]


@pytest.mark.parametrize("engine", ["closures", "records"])
@pytest.mark.parametrize("name", LOSING)
def test_a_nan_that_numpy_would_lose_is_refused_with_the_line(name, engine):
    named = {"v.sort()": sorted_in_place, "v.partition()": parted}.get(name, LOSING[name])
    first, *_, last = (line for *_, line in named.__code__.co_lines() if line)
    with pytest.raises(UnsupportedError, match="the nan would be lost") as error:
        contad.grad(LOSING[name], engine=engine)(X)
    assert any(str(error.value).startswith(f"{__file__}:{line}: ") for line in range(first, last + 1))
    contad.grad(LOSING[name], engine=engine)(np.array([1.0, 2.0, 4.0]))


def test_lists_of_elements_are_refused_on_matrix_and_in_forward_mode():
    f = LOSING["np.max of a list"]
    for call in (contad.grad(f), contad.hessian(f), lambda x: contad.jvp(f, (x,), (X,))):
        with pytest.raises(UnsupportedError, match=r"np\.max: NumPy compares.*the nan would be lost"):
            call(X)
    value, gradient = contad.value_and_grad(lambda v: np.max(v))(X)  # array variables do propagate it
    assert np.isnan(value)
    np.testing.assert_array_equal(gradient, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("engine", ["closures", "records"])
def test_the_sign_of_a_nan_is_refused_by_name(engine):
    with pytest.raises(UnsupportedError, match=r"np\.sign: NumPy cannot compute it .* with a nan among the variables"):
        contad.grad(lambda v: np.sum(np.sign(v) * v), engine=engine)(X)
    np.testing.assert_array_equal(contad.grad(lambda v: np.sum(np.sign(v) * v), engine=engine)(-X[::2]), [-1.0, -1.0])


ASKED = {
    "comparisons": lambda v: v[0] * (1.0 if v[1] >= 2 or v[1] < 2 or v[0] < v[1] or v[1] <= v[0] else 2.0),
    "of arrays": lambda v: v[0] * np.sum(v >= 2.0) + v[2] * np.sum(v[1] <= v) + v[2] * np.sum(v < v),
    "any": lambda v: v[0] * (1.0 + any(u >= 2.0 for u in v)),
    "max and sorted": lambda v: max(v[0], v[1]) + sorted([v[2], v[1]])[0] + min([v[0], v[1], v[2]]),
    "sort of a list": lambda v: sorted_list(v),
    "operator.gt": lambda v: v[0] * (2.0 + operator.gt(v[1], 1.0)),
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
    assert value == ASKED[name](X)
    assert np.isfinite(gradient).all()
