"""Sums of exponentials of x + y in recorded programs: one record, whose sum nobody else reads, for any lines."""

import numpy as np
import pytest

import contad
from contad.engines.matrix.kernel_shapes import PAIRED_SUM
from contad.kernels.rows import log_sum_rows
from contad.programs import fusion
from contad.programs.codes import KERNEL_CODES

RNG = np.random.default_rng(31)
PAIRED, ALONE = KERNEL_CODES[PAIRED_SUM], KERNEL_CODES["logsumexp"]
C = RNG.normal(size=(4, 5))
pytestmark = pytest.mark.usefixtures("memory_of_others")


def compiled(f, *args):
    made = contad.record(f, *args)
    made.compile_tangents()
    made._compile()
    return made


def count(made):
    """(records of pairs, sums of exponentials alone) of its layout."""
    codes = made._layouts[0].code[:, 0]
    return int((codes == PAIRED).sum()), int((codes == ALONE).sum())


def require_same(f, made, *args):
    argnums = tuple(range(len(args)))
    with np.errstate(all="ignore"):
        value, bars = contad.value_and_grad(f, argnums)(*args)
    directions = tuple(np.cos(np.arange(x.size) + 1.0).reshape(x.shape) for x in args)
    got, gradient = made.value_and_grad(*args)
    np.testing.assert_allclose(got, value, rtol=1e-12)
    for one, bar in zip(gradient if len(args) > 1 else (gradient,), bars, strict=True):
        np.testing.assert_allclose(one, bar, rtol=1e-10, atol=1e-13)
    with np.errstate(all="ignore"):
        slope = contad.jvp(f, args, directions)[1]
    np.testing.assert_allclose(made.jvp(args, directions)[1], slope, rtol=1e-10, atol=1e-12)


lse = contad.logsumexp
PAIRS = {  # of a vector of 4, a matrix of (4, 5) and a vector of 5
    "a column and a matrix": lambda a, m, b: lse(a[:, None] + m, axis=0),
    "a column less a matrix": lambda a, m, b: lse(a[:, None] - m, axis=0),
    "along rows": lambda a, m, b: lse(m + b, axis=1),
    "a row less a matrix": lambda a, m, b: lse(b - m, axis=1),
    "a row, along columns": lambda a, m, b: lse(m + b, axis=0),
    "a column, along rows": lambda a, m, b: lse(a[:, None] + m, axis=1),
    "an outer sum": lambda a, m, b: lse(a[:, None] + b, axis=0),
    "two matrices": lambda a, m, b: lse(m + m * m, axis=0),
    "itself": lambda a, m, b: lse(m + m, axis=1),
    "all of two": lambda a, m, b: lse(m - C),
    "a constant": lambda a, m, b: lse(C - m, axis=0),
    "a number": lambda a, m, b: lse(m + a[0], axis=0),
    "constants of a row": lambda a, m, b: lse(m - C[0], axis=1),
    "a middle axis": lambda a, m, b: lse(np.reshape(m, (2, 2, 5)) + np.reshape(C, (2, 2, 5)), axis=1),
    "the last of three": lambda a, m, b: lse(np.reshape(m, (2, 2, 5)) - b, axis=2),
    "vectors": lambda a, m, b: lse(b + m[1]),
    "keepdims": lambda a, m, b: lse(a[:, None] + m, axis=0, keepdims=True) * m,
}


@pytest.mark.parametrize("name", PAIRS)
def test_one_record_is_both(name):
    f = lambda *args: np.sum(np.sin(PAIRS[name](*args)))  # noqa: E731
    args = RNG.normal(size=4), RNG.normal(size=(4, 5)), RNG.normal(size=5)
    made = compiled(f, *args)
    assert made.python_rules == () and count(made) == (1, 0)
    assert made._layouts[0].code[:, 0].tolist().count(PAIRED) == 1
    (row,) = (k for k, code in enumerate(made.traces[0].code[:, 0].tolist()) if code == ALONE)
    assert row - 1 not in made._layouts[0].rows.tolist()  # the sum has no record
    require_same(f, made, *[x + 0.3 * RNG.normal(size=x.shape) for x in args])
    large = [30.0 * x for x in args]
    require_same(f, made, *large)


@pytest.mark.parametrize("shape", [(3, 200), (9, 150), (300, 3), (2, 300), (40, 40), (1, 7), (7, 1)], ids=str)
def test_lines_of_any_length(shape):
    x, y, z = RNG.normal(size=shape), RNG.normal(size=shape[1]), RNG.normal(size=shape[0])
    for f in (
        lambda x, y, z: np.sum(lse(x + y, axis=1) * z) + np.sum(lse(z[:, None] - x, axis=0) * y),
        lambda x, y, z: np.sum(lse(x - y, axis=0) * y) + np.sum(lse(z[:, None] + x, axis=1) ** 2),
    ):
        made = compiled(f, x, y, z)
        assert sum(count(made)) == 2
        require_same(f, made, 1.3 * x, y - 0.2, 2.0 * z)


SPECIAL = {
    "-inf": lambda x: np.where(x > 0.3, -np.inf, x),
    "inf": lambda x: np.where(x > 0.6, np.inf, x),
    "nan": lambda x: np.where(x > 1.0, np.nan, x),
    "all -inf": lambda x: np.full(x.shape, -np.inf),
    "ties": np.round,
    "equal": lambda x: np.full(x.shape, 0.7),
}


@pytest.mark.parametrize("special", SPECIAL)
def test_special_numbers_are_those_of_two_records(special, monkeypatch):
    args = RNG.normal(size=4), RNG.normal(size=(4, 5)), RNG.normal(size=5)
    at = args[0], SPECIAL[special](args[1]), args[2]
    for name in ("a column and a matrix", "along rows", "a row less a matrix", "vectors", "all of two"):
        f = lambda *args, name=name: np.sum(PAIRS[name](*args))  # noqa: E731
        one = compiled(f, *args)
        with monkeypatch.context() as patch:
            patch.setattr(fusion, "find_pairs", lambda *args: {})
            two = compiled(f, *args)
        assert count(one) == (1, 0) and count(two) == (0, 1)
        value, gradients = one.value_and_grad(*at)
        expected, bars = two.value_and_grad(*at)
        np.testing.assert_array_equal(value, expected)
        for got, bar in zip(gradients, bars, strict=True):
            np.testing.assert_allclose(got, bar, rtol=1e-14)


def test_sums_that_others_read_stay_records():
    def twice(x, y):
        z = x[:, None] + y
        return np.sum(lse(z, axis=0)) + np.sum(z * z)

    def both_axes(x, y):
        z = x[:, None] + y
        return np.sum(lse(z, axis=0)) * np.sum(lse(z, axis=1))

    def an_element(x, y):
        z = x[:, None] + y
        return np.sum(lse(z, axis=0)) * z[1, 2]

    def not_all(x, y):
        return np.sum(lse((x[:, None] + y)[1:], axis=0))

    def a_product(x, y):
        return np.sum(lse(x[:, None] * y, axis=0))

    x, y = RNG.normal(size=3), RNG.normal(size=(3, 4))
    for f in (twice, both_axes, an_element, not_all, a_product):
        made = compiled(f, x, y)
        assert count(made)[0] == 0, f.__name__
        require_same(f, made, x + 0.1, y * 1.2)


def test_zeros_of_adjoints_mask_what_is_not_finite():
    x = np.array([[np.inf, np.nan, 0.5], [1.0, 0.3, -0.4]])
    y = np.array([0.1, 0.2, 0.3])
    made = compiled(lambda x, y: lse(x + y, axis=1)[1], x, y)
    assert count(made) == (1, 0)
    of_x, of_y = made.gradient(x, y)
    assert of_x[0].tolist() == [0.0, 0.0, 0.0] and np.isfinite(of_y).all()
    np.testing.assert_allclose(of_y, of_x[1], rtol=1e-15)


def test_a_hidden_markov_model_has_two_records_a_step_and_no_matrix_of_sums():
    def likelihood(a, transition, shown):
        for k in range(6):
            a = lse(a[:, None] + transition, axis=0) + shown[k]
        return lse(a)

    args = RNG.normal(size=4), RNG.normal(size=(4, 4)), RNG.normal(size=(6, 4))
    made = compiled(likelihood, *args)
    assert count(made) == (7, 0)  # the last one is of a sum as well
    layout, trace = made._layouts[0], made.traces[0]
    zeroed = sum(n for _, n in layout.zeroed.tolist())
    assert trace.cells - zeroed >= 6 * 16  # the sums have no adjoints
    require_same(likelihood, made, *[x * 0.7 for x in args])


def test_lines_beside_each_other_keep_their_terms_in_order():
    """What is saved is the same for the adjoint and the tangent, cut or not: at lengths around the limits."""
    for n in (log_sum_rows.LONG_SUM + k for k in (-1, 0, 1)):
        for lines in (log_sum_rows.FEW_LINES + k for k in (-1, 0)):
            x = RNG.normal(size=(lines, n))
            f = lambda x: np.sum(np.sin(lse(x * 1.0, axis=1)))  # noqa: E731
            require_same(f, compiled(f, x), x + 0.1)


def test_operands_may_lie_behind_sums_that_take_no_memory():
    def f(a, m):
        first = lse(a[:, None] + m, axis=0)
        z = np.exp(m) * first
        return np.sum(np.sin(lse(z - first, axis=1)) * a) + np.sum(lse(first - z * m, axis=0))

    a, m = RNG.normal(size=4), RNG.normal(size=(4, 5))
    made = compiled(f, a, m)
    assert count(made) == (3, 0) and made._layouts[0].cells < made.traces[0].cells
    require_same(f, made, a + 0.3, m * 0.8)
