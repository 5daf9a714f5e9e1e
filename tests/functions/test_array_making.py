"""Arrays made of variables share memory with what they are made of where NumPy's do, and only there."""

import numpy as np
import pytest

import contad
from contad.errors import OverlapError
from tests.judges.ways import POINT, WAYS, agree

WEIGHTS = np.arange(6.0).reshape(2, 3) ** 2


def table(x):
    """A new array of two axes."""
    return np.stack([x, x * x])


def written(make):
    """A function that writes to what is made of a table, then to the table, and reads both."""

    def f(x):
        z = table(x)
        y = make(z)
        np.ravel(y)[:] *= 1.0
        y[(0,) * y.ndim] = 5.0 * x[1]
        z[0, 2] = x[0] * x[1]
        return np.sum(z * z * WEIGHTS) + np.sum(y * y * WEIGHTS.ravel()[: y.size].reshape(y.shape))

    return f


MADE = {
    "in Fortran's order": lambda z: np.asarray(z, order="F"), "in C order": lambda z: np.asarray(z, order="C"),
    "a transpose in C order": lambda z: np.asarray(z.T, order="C"), "a transpose as it is": lambda z: np.asarray(z.T),
    "a transpose in Fortran's": lambda z: np.asarray(z.T, order="F"),
    "in any order": lambda z: np.asarray(z, order="A"),
    "a copy if needed": lambda z: np.array(z.T, order="C", copy=None),
    "no copy if not": lambda z: np.array(z, order="C", copy=None),
    "a slice": lambda z: np.asanyarray(z[:, ::2], order="C"),
    "one that is written": lambda z: np.ascontiguousarray(z.T),
    "Fortran's function": np.asfortranarray, "elements": lambda z: np.asarray(z.flat),
    "elements as an array": lambda z: np.array(z.flat), "of a conjugate": lambda z: z.conj(),
    "of a conjugate's transpose": lambda z: z.T.conjugate(), "np.conj": np.conj,
    "lists": lambda z: np.asarray([[z[0, 0], 1.0], [z[1, 1], z[0, 1]]], order="F"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_views_and_copies_are_those_of_numpy(name, way):
    agree(written(MADE[name]), way)


def test_a_copy_that_is_not_allowed_is_refused():
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        contad.grad(lambda x: np.sum(np.asarray(table(x), order="F", copy=False)))(POINT)


def test_elements_that_numpy_would_write_back_are_read_only():
    read = contad.grad(lambda x: np.sum(np.asarray(table(x).T.flat) ** 2))(POINT)
    assert read == pytest.approx(2.0 * POINT + 4.0 * POINT**3)

    def f(x):
        y = np.asarray(table(x).T.flat)
        y[0] = 1.0
        return np.sum(y)

    with pytest.raises(OverlapError, match=r"write to a\.flatten\(\)"):
        contad.grad(f)(POINT)


# ---- arrays without axes ---------------------------------------------------------------------------------------------
def changed(make):
    """A function that changes an array without axes in place, under two names."""

    def f(x):
        z = make(x[0])
        v = z
        z += x[1]
        z[()] *= x[0]
        z[...] = z * x[2]
        return np.sum(v * v) * x[1]

    return f


LIKE_NUMBERS = {
    "zeros": np.zeros_like,
    "ones": np.ones_like, "full": lambda x: np.full_like(x, 2.0), "full of it": lambda x: np.full_like(1.0, x),
    "of a shape": lambda x: np.full((), x), "a copy": np.copy, "an array": np.array,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LIKE_NUMBERS)
def test_arrays_like_numbers_are_changed_in_place(name, way):
    agree(changed(LIKE_NUMBERS[name]), way)


def in_itself(x):
    z = np.array(x[0])
    z[()] = z
    return np.sum(z * x)


def in_its_transpose(x):
    z = np.array(x[0] * x[1])
    z.T[()] = z
    z[None][0] = z
    return z * z * x[2]


def in_another(x):
    z, y = np.array(x[0]), np.array(x[1])
    z[()] = y
    y[...] = 5.0
    return z * x[2] + z**2 + y


def filled(x):
    z = np.full((), x[0])
    z[()] = z
    w = z.copy()
    w[()] = w * x[1]
    np.multiply(z, w, out=z)
    w -= z
    return np.exp(z) + w.sum() + np.stack([z, w]) @ np.array([w, z])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [in_itself, in_its_transpose, in_another, filled])
def test_an_array_without_axes_is_stored_as_its_element(f, way):
    agree(f, way)


@pytest.mark.parametrize("engine", ["records", "closures"])
def test_an_argument_without_axes_is_stored_in_itself(engine):
    def f(x):
        x[()] = x * 2.0
        x[()] = x
        return x * x

    assert contad.value_and_grad(f, engine=engine)(np.array(0.7)) == pytest.approx((1.96, 5.6))
