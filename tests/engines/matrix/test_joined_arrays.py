"""np.concatenate, np.stack and np.roll on the engine `matrix`: blocks of elements, whose cells nobody counts out."""

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.engines.matrix.joined_arrays import JoinedParts
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.testing import check_grads
from contad.variables.stack import opened
from tests.judges.samples import sampled

X = np.array([[0.3, -0.7, 1.1], [0.5, 0.9, -1.3], [-0.2, 0.8, 0.4], [1.2, -0.6, 0.1]])
ROWS = np.array([[0.7, 0.2, -0.4], [0.1, 0.6, 1.4]])
COLUMNS = X[:, :2] + 0.25
WEIGHTS = np.linspace(0.5, 1.5, 40)


def weighted(z):
    """One number, with another derivative for each element."""
    return np.sum(np.sin(z) ** 2 * WEIGHTS[: np.size(z)].reshape(np.shape(z)))


def written(z):
    """What is seen through views and copies of an array that is written to between two uses."""
    view, before = z[1:3], z * 2.0
    z[0] = view[1]
    z[2] = 0.5
    return weighted(z) + np.sum(before * np.cos(z)) + np.sum(view**3)


def seen_first(z):
    """A view that is made before the array has cells of its own."""
    view = z[1:4]
    return weighted(view * weighted(z * z)) + np.sum(view**2)


def used_and_written(z):
    return np.sum(np.tanh(z)) * written(z)


def source_written(y):
    """The blocks are what the source was."""
    z = np.concatenate([y, y])
    y[1] = 0.1
    return weighted(z) + weighted(y)


FUNCTIONS = {
    "rows": lambda x: weighted(np.concatenate([x * 2.0, x])),
    "with constants": lambda x: weighted(np.concatenate((ROWS, x * x, ROWS))),
    "columns": lambda x: weighted(np.concatenate([x, COLUMNS, np.exp(x)], axis=1)),
    "the last axis": lambda x: weighted(np.concatenate([COLUMNS, x], -1)),
    "slices": lambda x: weighted(np.concatenate([x[1:3], x[:2], x[3:]])),
    "columns of slices": lambda x: weighted(np.concatenate([x[:, 1:], x[:, :1]], axis=1)),
    "of a transpose": lambda x: weighted(np.concatenate([x.T, x.T])),
    "flat": lambda x: weighted(np.concatenate([x, x], axis=None)),
    "nothing beside": lambda x: weighted(np.concatenate([x[:0], x])),
    "an element": lambda x: np.concatenate([x * 2.0, ROWS])[2, 1] * np.concatenate([ROWS, x])[3, 2],
    "an element that is constant": lambda x: np.concatenate([x * 2.0, ROWS])[5, 1] * x[0, 0],
    "a view": lambda x: weighted(np.concatenate([x * 2.0, ROWS])[1:5, ::2]),
    "a transposed view": lambda x: weighted(np.concatenate([x, ROWS]).T * 2.0),
    "a view before an operation": lambda x: seen_first(np.concatenate([x, x])),
    "twice": lambda x: weighted(np.concatenate([np.concatenate([x, ROWS]), x * 0.5])),
    "written to": lambda x: written(np.concatenate([x * 2.0, x])),
    "written to after an operation": lambda x: used_and_written(np.concatenate([x, x])),
    "the source written to": lambda x: source_written(x * 2.0),
    "roll": lambda x: weighted(np.roll(x, 5) * x),
    "roll back": lambda x: weighted(np.roll(x * 2.0, -1)),
    "roll by more": lambda x: weighted(np.roll(x * 2.0, 29)),
    "roll by nothing": lambda x: weighted(np.roll(x, 0) * x),
    "roll rows": lambda x: weighted(np.roll(x, 1, 0) * x),
    "roll columns": lambda x: weighted(np.roll(x, shift=-2, axis=1)),
    "roll both": lambda x: weighted(np.roll(x, (1, 2), (0, 1))),
    "roll again": lambda x: weighted(np.roll(np.roll(x, 1, 0), 2, -1) * np.roll(x, 3)),
    "roll and write": lambda x: written(np.roll(x, 2, axis=0)),
}


@pytest.mark.parametrize("name", sampled(FUNCTIONS, 3))
def test_derivatives(name):
    f = FUNCTIONS[name]
    skipped = check_grads(f, (X,), engines=engine_names()).skipped
    assert all(reason.startswith("NumPy") for reason in skipped.values())
    gradient = contad.grad(f)(X)
    np.testing.assert_allclose(contad.record(f, X).gradient(X), gradient, rtol=1e-12, atol=1e-14)
    by_reverse = contad.grad(lambda x: np.sum(contad.grad(f)(x) * ROWS[0]))(X)
    np.testing.assert_allclose(contad.hvp(f)(X, np.tile(ROWS[0], (4, 1))), by_reverse, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "make", [lambda x: np.concatenate([x, x]), lambda x: np.roll(x, 3), lambda x: np.roll(x, 1, axis=1)]
)
def test_nothing_is_recorded_until_an_operation_needs_it(make):
    with opened(MatrixStack) as s:
        x = contad.var(X)
        top = s.top
        z = make(x)
        assert s.top == top
        np.testing.assert_array_equal(z.value, make(X))
        np.testing.assert_array_equal(z.cells(), make(x.cells()))
        y = z * 2.0
        assert s.top == top + 2 * z.size  # of the elements in fresh cells, and of the product
        again = z * 3.0
        assert s.top == top + 3 * z.size
        assert contad.gradient(np.sum(y + again), [x])[0].sum() == 5.0 * z.size
        assert "linear" in contad.show_stack(s)


@pytest.mark.parametrize("name", ["rows", "with constants", "columns", "slices", "a view", "roll", "roll columns"])
def test_cells_are_not_counted_out(name, monkeypatch):
    monkeypatch.setattr(JoinedParts, "cells", None)
    contad.grad(FUNCTIONS[name])(X)


def test_vectors_that_become_rows_are_copied_once(monkeypatch):
    with opened(MatrixStack) as s:
        x = contad.var(X[0])
        shifted = np.concatenate((np.zeros(1), x[:-1]))
        top = s.top
        monkeypatch.setattr(JoinedParts, "take", None)  # which copies an array that is there
        z = np.stack((shifted, x, np.ones(3)))
        assert s.top == top + 9
        assert np.shares_memory(z._value, s.slab)
        y = z * 2.0
        assert s.top == top + 18
        (x_bar,) = contad.gradient(np.sum(y * X[:3]), [x])
        np.testing.assert_allclose(x_bar, 2.0 * X[1] + 2.0 * np.append(X[0, 1:], 0.0), rtol=1e-14)
        z[1] = 0.0
        np.testing.assert_array_equal(x.value, X[0])


@pytest.mark.parametrize("engine", engine_names())
def test_vectors_of_other_lengths_are_no_rows(engine):
    with pytest.raises(ValueError, match="same shape"):
        contad.grad(lambda x: np.sum(np.stack((x, x[1:]))), engine=engine)(X[0])


def test_stacked_arrays_are_blocks_and_so_are_those_of_blocks(monkeypatch):
    x, w = np.array([0.3, -1.2, 0.7, 2.0]), np.arange(12.0).reshape(3, 4)

    def f(x):
        return np.sum(w * np.stack((np.concatenate((np.zeros(1), x[:-1])), x, np.ones(4))) ** 2)

    monkeypatch.setattr(JoinedParts, "cells", None)  # which counts them out
    expected = 2.0 * w[1] * x
    expected[:-1] += 2.0 * w[0, 1:] * x[:-1]
    np.testing.assert_allclose(contad.grad(f)(x), expected, rtol=1e-14)


def test_a_view_that_is_older_than_the_memory_of_its_base_has_the_cells_of_its_elements():
    def f(x):
        z = np.concatenate([x, 2.0 * x])
        upper, lower = z[:2], z[2:]
        return np.sum(upper @ x) + np.sum((lower @ x) ** 2)  # the first product gives z its memory

    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    expected = contad.grad(lambda x: np.sum(x @ x) + np.sum((2.0 * x @ x) ** 2))(x)
    np.testing.assert_allclose(contad.grad(f)(x), expected, rtol=1e-14)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize(
    "join",
    [
        lambda x: np.concatenate([x, 1j * ROWS[0]]),
        lambda x: np.stack([x, 1j * ROWS[0]], axis=1),
        lambda x: np.append(x, 2j),
        lambda x: np.where(x > 0.0, x, 1j * ROWS[0]),
    ],
    ids=["concatenate", "stack", "append", "where"],
)
def test_complex_constants_are_refused_and_not_cut(join, engine):
    """Arrays of the engine become complex; object arrays, which would lose a part, refuse."""

    def f(x):
        return np.sum(np.abs(join(x) * (1.0 + 1j * x[0])) ** 2)

    if engine != "matrix":
        with pytest.raises(contad.UnsupportedError, match="real"):
            contad.grad(f, engine=engine)(X[0])
        return
    step = 1e-6 * np.eye(X[0].size)
    expected = [(f(X[0] + h) - f(X[0] - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(contad.grad(f, engine=engine)(X[0]), expected, rtol=1e-7)
    found = []
    contad.grad(lambda x: (found.append(contad.value_of(join(x))), x[0])[1], engine=engine)(X[0])
    np.testing.assert_array_equal(found[0], join(X[0]))
