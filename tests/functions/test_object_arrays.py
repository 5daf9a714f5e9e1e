"""NumPy's functions that ask objects for their truth only, of lists and of object arrays of variables."""

import builtins
import functools
import pickle
import sys
import threading
from types import FunctionType

import numpy as np
import pytest
from numpy import linalg, logical_or as either, nan_to_num
from numpy.linalg import norm

import contad
from contad.front.user_function import runnable
from contad.functions.callees import direct
from contad.functions.questions import ANSWERS, answer
from tests.judges.ways import POINT, WAYS, agree, differentiate

HOLES = np.array([1.0, np.nan, np.inf])


def called(v):
    """A plain function that is called."""
    return np.logical_and.reduce(v)


def importing(v):
    """A function that imports NumPy itself."""
    import numpy as own
    from numpy import logical_and

    return v[0] * (own.logical_or.reduce(v) + logical_and.reduce(v))


def capturing():
    """A function that captures NumPy."""
    import numpy

    return lambda v: v[0] * numpy.logical_or.reduce(v)


def handling(v):
    try:
        return v[0] * np.logical_or.reduce(v)
    except ValueError:
        return v[1]


class Model:
    """A method that names one."""

    def value(self, v):
        return v[0] * np.logical_or.reduce(v)


LOGICAL = {
    "or": lambda v: np.sum(np.logical_or(v, 0.0 * v) * v),
    "and": lambda v: np.sum(np.logical_and(v, v) * v),
    "xor": lambda v: np.sum(np.logical_xor(v, 0.0 * v) * v),
    "not": lambda v: np.sum(np.logical_not(0.0 * v) * v),
    "of lists": lambda v: v[0] * np.sum(np.logical_or([v[0], v[1]], [0.0, 0.0])),
    "of a list and an array": lambda v: v[0] * np.sum(np.logical_xor([0.0, v[1], v[2]], v)),
    "of nested lists": lambda v: v[0] * np.sum(np.logical_and([[v[0]], [0.0 * v[1]]], v)),
    "not of a list": lambda v: v[0] * np.sum(np.logical_not([v[0], 0.0 * v[1]])),
    "or.reduce": lambda v: v[0] * np.logical_or.reduce(v),
    "and.reduce": lambda v: v[0] * np.logical_and.reduce([v[1], v[2]]),
    "xor.reduce": lambda v: v[0] * np.logical_xor.reduce(v),
    "reduce, axis": lambda v: np.sum(np.logical_or.reduce(np.reshape(v, (1, 3)), axis=0) * v),
    "accumulate": lambda v: np.sum(np.logical_or.accumulate(v) * v),
    "outer": lambda v: np.sum(np.logical_or.outer(v, v) * v),
    "reduceat": lambda v: v[0] * np.sum(np.logical_or.reduceat([v[0], v[1], v[2]], [0, 1])),
    "from": lambda v: v[0] * either.reduce(v),
    "as an argument": lambda v, f=np.logical_or: v[0] * f.reduce(v),
    "inside": lambda v: sum(v[k] * np.logical_or.reduce(v) for k in range(2)),
    "a reduction of Python's": lambda v: v[0] * functools.reduce(np.logical_or, [v[0], v[1]]),
    "called": lambda v: v[0] * called(v), "imported": importing, "captured": capturing(), "in a try": handling,
    "a method": Model().value, "of masks": lambda v: v[0] * np.sum(np.logical_or(v > 0.5, v < 0.0)),
}  # fmt: skip
FINITE = {
    "nan_to_num": lambda v: np.nan_to_num(v * HOLES, posinf=2.0, neginf=-2.0, nan=0.5),
    "of a list": lambda v: np.nan_to_num([v[0] * np.nan, v[1], 3.0]),
    "by its name": lambda v: nan_to_num(v * HOLES, posinf=3.0, neginf=-3.0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOGICAL)
def test_logical_functions_give_bools(name, way):
    agree(LOGICAL[name], way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FINITE)
def test_values_that_are_not_finite_are_replaced(name, way):
    agree(lambda v, f=FINITE[name]: np.sum(f(v) * v), way)


CURVATURE = -(np.pi**2) / 3.0
SINC = {
    "an array": lambda v: np.sum(np.sinc(v)),
    "elements": lambda v: sum(np.sinc(v[k]) for k in range(3)),
    "a list": lambda v: np.sum(np.sinc([v[0], v[1], v[2]])),
    "numbers": lambda v: np.sinc(v[0].item()) + np.sinc(v[1] * 1.0) + np.sinc(+v[2]),
}


@pytest.mark.parametrize("name", SINC)
@pytest.mark.parametrize("way", WAYS)
def test_sinc_and_its_derivatives_near_0(name, way):
    f, x = SINC[name], np.array([1e-9, 0.0, 0.3])
    slopes = [CURVATURE * 1e-9, 0.0, -0.9020281301388893]
    value, gradient = differentiate(f, x, way)
    assert value == pytest.approx(f(x), rel=1e-15) and gradient == pytest.approx(slopes, rel=1e-14, abs=1e-30)
    if way == "matrix":
        assert np.diag(contad.hessian(f)(x)) == pytest.approx([CURVATURE, CURVATURE, -2.458485286266169], rel=1e-14)


@pytest.mark.parametrize("way", ["records", "closures"])
def test_nan_to_num_in_place(way):
    def f(v):
        z = v * HOLES
        assert np.nan_to_num(z, copy=False, posinf=2.0) is z
        return z[0] + np.sum(z)

    value, gradient = differentiate(f, POINT, way)
    assert value == pytest.approx(0.6 - np.finfo(float).max) and gradient.tolist() == [2.0, 0.0, 0.0]


def test_objects_of_others_are_numpys():
    words = np.array(["a", ""], dtype=object)

    def f(v):
        assert np.logical_or(words, "b").tolist() == ["a", "b"]
        assert np.logical_or([1, 0], [0, 0]).tolist() == [True, False] and np.logical_or.identity is False
        assert np.nan_to_num([np.nan]).tolist() == [0.0]
        assert np.__name__ == "numpy" and "exp" in dir(np) and np.linalg.norm([3.0, 4.0]) == 5.0
        assert pickle.loads(pickle.dumps((np.logical_or,)))[0](1, 0)
        return v[0]

    assert contad.grad(f)(POINT).tolist() == [1.0, 0.0, 0.0]


COUNT = 0


def test_a_function_that_assigns_to_globals():
    def f(v):
        global COUNT
        COUNT += 1
        return v[0] * np.logical_or.reduce(v > 0.0)

    before = COUNT
    assert contad.grad(f)(POINT)[0] == 1.0 and before + 1 == COUNT


# ---- copies ----------------------------------------------------------------------------------------------------------
FACTOR = 2.0
ASKED = None


def test_a_copy_is_made_once_and_anew_where_names_change(monkeypatch):
    def plain(x):
        return x * FACTOR if ASKED is None else x

    def asking(x):
        return x * FACTOR if isinstance(x, float) else x

    assert direct(runnable(plain))[0] is plain
    copy = runnable(asking)
    assert copy is not asking and runnable(asking) is runnable(copy) is copy
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert runnable(asking) is copy and copy(1.0) == 3.0
    monkeypatch.setitem(globals(), "ASKED", lambda v: isinstance(v, float))
    assert direct(runnable(plain))[0] is not plain
    monkeypatch.undo()
    assert direct(runnable(plain))[0] is plain


def test_no_other_thread_sees_the_names_of_a_copy():
    def asking(x):
        return isinstance(x, float)

    plain = vars(builtins)
    names = {"__builtins__": plain}
    code, made = asking.__code__, set()
    f = FunctionType(code, names)

    def make():
        for _ in range(20_000):
            made.add(id(FunctionType(code, names).__builtins__))

    thread = threading.Thread(target=make)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        while thread.is_alive():
            assert answer(f, (), plain | ANSWERS).__builtins__ is not plain
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert made == {id(plain)} and names == {"__builtins__": plain}
    del names["__builtins__"]
    assert answer(f, (), plain | ANSWERS).__builtins__ is not plain
    assert names == {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("f", "gradient"), [
    (lambda x: np.fmax([x[0], x[1]], [0.5, np.nan])[1], [0, 1, 0]),
    (lambda x: np.fmax(np.array([x[0], x[1]]), np.array([0.1, np.nan])).sum(), [1, 1, 0]),
    (lambda x: np.sum(np.fmin(x, [0.0, np.nan, 9.0]) * x), [0, 2 * POINT[1], 2 * POINT[2]]),
    (lambda x: np.fmax.reduce([x[0], np.nan, x[0] * 0.5]), [1, 0, 0]),
])  # fmt: skip
def test_nan_is_the_smaller_and_the_larger_one(f, gradient, way):
    value, found = differentiate(f, POINT, way)
    assert value == pytest.approx(f(POINT), rel=1e-15) and found == pytest.approx(np.array(gradient), rel=1e-14)


ROUNDED = {
    "sign": (lambda v: v[0] * (np.nansum(np.sign(v)) + np.isnan(np.sign(v)[1])), 3),
    "of a list": (lambda v: v[0] * np.nansum(np.sign([v[2], -1.0, v[1], -2.0])), -1),
    "floor": (lambda v: v[0] if ~(np.floor(v)[0] < 0.0) else 2.0 * v[0], 1),
    "ceil": (lambda v: v[0] * ((np.ceil(v)[0] > 0.0) + (np.ceil(v)[2] > 0.0)), 1),
    "trunc": (lambda v: v[0] * np.nansum(np.trunc(-v)), -3),
    "of a number": (lambda v: v[0] * (np.floor(v[2]) + np.sign(v[0].item())), 3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ROUNDED)
def test_signs_and_whole_numbers_of_objects_are_floats_with_nan(name, way):
    (f, slope), x = ROUNDED[name], np.array([1.3, np.nan, 2.7])
    value, gradient = differentiate(f, x, way)
    assert value == pytest.approx(f(x), rel=1e-15) and value == pytest.approx(slope * x[0], rel=1e-15)
    assert gradient == pytest.approx(np.array([slope, 0.0, 0.0]), rel=1e-15)


NORMS = {  # of elements that are 3, 0, 0: the norms, with their derivatives
    "all zero": (lambda v: np.linalg.norm(v[1:]), [0, 0, 0]),
    "not all zero": (lambda v: np.linalg.norm(v), [1, 0, 0]),
    "a list": (lambda v: linalg.norm([v[1], v[2] * 2.0, 0.0]), [0, 0, 0]),
    "by its name": (lambda v: norm(v[1:], 2), [0, 0, 0]),
    "rows": (lambda v: np.sum(norm(np.array([[v[0], v[1]], [v[1], v[2]]]), axis=1)), [1, 0, 0]),
    "columns": (lambda v: norm(np.array([[v[0], v[1]], [v[0], v[2]]]), axis=0, keepdims=True)[0, 1], [0, 0, 0]),
    "frobenius": (lambda v: norm(np.array([[v[0], v[1]], [v[0], v[2]]]), "fro"), [np.sqrt(2.0), 0, 0]),
    "absolute": (lambda v: norm(np.array([v[1], v[0]]), 1) + norm(np.array([v[1], v[0]]), np.inf), [2, 0, 0]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_zeros_have_the_derivative_zero(name, way):
    (f, slopes), x = NORMS[name], np.array([3.0, 0.0, 0.0])
    value, gradient = differentiate(f, x, way)
    assert value == pytest.approx(f(x), rel=1e-15) and gradient == pytest.approx(np.array(slopes), rel=1e-15)


@pytest.mark.parametrize("engine", ["matrix", "records", "closures"])
def test_norms_of_zeros_have_second_derivatives_of_one_side_or_none(engine):
    def f(v):
        return np.linalg.norm(np.array([v[0], v[1]])) * v[2]

    found = contad.hessian(f, engine=engine)(np.array([0.0, 0.0, 2.0]))
    expected = [[0.0, 0.0, np.nan], [0.0, 0.0, np.nan], [1.0, 1.0, 0.0]]  # columns are of directions
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="norm order|Improper"):
        contad.grad(lambda v: np.linalg.norm(np.array([v[0], v[1]]), "fro"), engine=engine)(np.ones(2))


POWERS = {  # of stacks of matrices
    "cube": lambda v: np.sum(np.linalg.matrix_power(np.array([[[v[0], v[1]], [2.0, v[2]]], [[v[1], 1.0], v[:2]]]), 3)),
    "a list": lambda v: np.sum(linalg.matrix_power([[[v[0], 0.5], [v[1], v[2]]]], 2) ** 2),
    "none": lambda v: np.sum(np.linalg.matrix_power(np.reshape(np.outer(v, v), (1, 3, 3)), 0)) * v[0],
    "an empty stack": lambda v: np.sum(np.linalg.matrix_power(np.outer(v, v)[None][:0], 2)) + v[0],
    "one matrix": lambda v: np.sum(np.linalg.matrix_power(np.outer(v, v + 1.0), 2)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", POWERS)
def test_matrices_of_a_stack_are_raised_to_powers(name, way):
    f = POWERS[name]
    value, gradient = differentiate(f, POINT, way)
    assert value == pytest.approx(f(POINT), rel=1e-13)
    expected = [(f(POINT + e) - f(POINT - e)) / 2e-5 for e in 1e-5 * np.eye(3)]
    assert gradient == pytest.approx(np.array(expected), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("engine", ["closures", "records"])
def test_inverses_of_a_stack_of_objects_are_refused_by_name(engine):
    with pytest.raises(contad.UnsupportedError, match=r"np\.linalg\.matrix_power: NumPy does not take object arrays"):
        contad.grad(lambda a: np.sum(np.linalg.matrix_power(a, -1)), engine=engine)(np.ones((2, 2, 2)) + np.eye(2))


def test_the_module_that_stands_for_linalg_is_numpys_otherwise():
    found = runnable(capturing_linalg())
    assert found(np.array([[2.0, 0.0], [0.0, 4.0]])) == pytest.approx(8.0 + np.sqrt(20.0))


def capturing_linalg():
    """A function that captures the module."""
    from numpy import linalg as own

    return lambda v: own.det(v) + own.norm(v)


@pytest.mark.parametrize("options", [{}, {"ord": "fro"}, {"axis": 0}, {"ord": 1}])
def test_norms_of_complex_objects(options):
    x, y = np.array([[1.3, -0.7], [0.4, 1.9]]), np.array([[0.6, 1.7], [-0.2, 2.3]])

    def f(x, y):
        real, imag = (np.array([*part.flat, None], object)[:-1].reshape(2, 2) for part in (x, y))
        return np.sum(norm(real + 1j * imag, **options))

    expected = np.sum(norm(x + 1j * y, **options))
    value, slope = contad.jvp(f, (x, y), (x, y))
    np.testing.assert_allclose([value, slope], expected, rtol=1e-14)


def as_objects_of(*numbers):
    a = np.empty(len(numbers), object)
    for k, z in enumerate(numbers):
        a[k] = z
    return a


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
def test_parts_and_correlations_of_object_arrays_of_complex_numbers(engine):
    def f(z, w, make):
        a = make(z, w, z * w)
        return np.abs(np.correlate(a, make(w, z), "full")[1]) ** 2 + np.sum(np.real(a)) + 2.0 * np.sum(np.imag(a))

    z, w, h = 1.0 + 2.0j, 0.5 - 1.0j, 1e-6
    plain = lambda z: f(z, w, lambda *numbers: np.array(numbers))
    expected = sum(d * (plain(z + h * d) - plain(z - h * d)) / (2.0 * h) for d in (1.0, 1j))
    assert contad.grad(f, engine=engine)(z, w, as_objects_of) == pytest.approx(expected, rel=1e-7)
