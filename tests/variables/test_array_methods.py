"""Methods and attributes of array variables: those of ndarrays, and what is said where there is none."""

from fractions import Fraction

import numpy as np
import pytest

import contad
import contad.variables.array_methods
from contad.errors import UnsupportedError
from contad.variables.array import Array
from contad.variables.number import primal
from tests.judges import ways
from tests.ops.plain_calls import split_calls
from tests.ops.position_arrays import PositionLevel

M = np.array([[1.3, -0.4, 2.6, 0.7], [0.9, 3.1, -1.2, 2.2], [-2.3, 0.3, 1.9, -0.8]])
COLUMN = np.array([[0.7], [-1.3], [2.1]])

# methods that move or reduce, on x of shape (3, 4)
CALLS = split_calls("""
x.sum(); x.sum(0); x.sum(axis=(0, 1), keepdims=True); x.mean(1); x.prod(axis=1); x.std(ddof=1); x.var(axis=0)
x.min(1); x.max(axis=0, keepdims=True); x.cumsum(); x.cumsum(axis=1); x.cumprod(1); x.dot(x.T); x.trace(offset=1)
x.clip(-1.0, 2.0); x.clip(max=1.0); x.clip(0.5); x.round(); x.round(1); x.take([2, 0], axis=1); x.take([5, 5, 1])
x.repeat(2, axis=0); x.diagonal(); x.diagonal(1); x[:, None].squeeze(1); x.swapaxes(0, 1)
x.compress([True, False, True], axis=0); x.conj(); x.conjugate(); x.mT; x.T; x.ravel(); x.flatten(); x.reshape(2, 6)
x.reshape((4, -1)); x.transpose(1, 0); x.copy(); x.item(1, 2); x.real
""")

CONSTANTS = split_calls("""
x.argmax(); x.argmax(axis=1); x.argmin(0); x.argsort(); x.argsort(axis=0); x.argpartition(1)[:, 1]; x.nonzero()
x.any(); x.all(axis=1); x[0].searchsorted([0.5, 2.5]); x.astype(int); x.imag; x.nbytes; x.itemsize; x.size; x.ndim
""")


def values(call, x):
    return eval(call, {"x": x})


@pytest.mark.parametrize("call", CALLS)
def test_methods_differentiate(call):
    shape = np.shape(values(call, M))
    weights = np.cos(np.arange(np.prod(shape))).reshape(shape) + 1.5 if shape else 1.5

    def f(x):
        z = weights * values(call, x) * values(call, COLUMN * x)  # an input used twice
        return np.sum(z) if shape else z

    direction, h = np.sin(np.arange(1.0, 13.0)).reshape(3, 4), 1e-6
    expected = (f(M + h * direction) - f(M - h * direction)) / (2 * h)
    np.testing.assert_allclose(contad.jvp(f, (M,), (direction,))[1], expected, rtol=1e-7, atol=1e-8)
    gradient = contad.grad(f, engine="matrix")(M)
    np.testing.assert_allclose(np.sum(gradient * direction), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("call", CONSTANTS)
def test_constants_are_those_of_ndarrays(call):
    result, expected = values(call, PositionLevel().input(M)), values(call, M)
    assert type(result) is type(expected)
    np.testing.assert_array_equal(result, expected)


def test_sorting_is_in_place():
    level = PositionLevel()
    x = level.input(M)
    row, expected = x[1], M.copy()
    assert x.sort() is None
    expected.sort()
    level.check(x, expected)
    level.check(row, expected[1])
    x = level.input(M)
    x.sort(axis=0, kind="stable")
    level.check(x, np.sort(M, 0))
    x = level.input(M)
    assert x.partition(2, axis=1) is None
    level.check(x, primal(x))
    np.testing.assert_array_equal(primal(x)[:, 2], np.sort(M, 1)[:, 2])


def test_put_and_fill_assign():
    level = PositionLevel()
    x, expected = level.input(M), M.copy()
    for a in (x, expected):
        a.put([0, 7], [-1.0, -2.0])
        a[2].fill(-3.0)
        a.put([1], a[0, 2])
    level.check(x, expected)


# ---- printing --------------------------------------------------------------------------------------------------------
def test_arrays_print_their_kind_and_values():
    shown = []
    contad.grad(lambda x: shown.extend([repr(x), str(x), f"{x}"]) or np.sum(x), engine="matrix")(np.array([1.0, 2.5]))
    assert shown == ["ArrayVar([1.  2.5], index=1)"] * 3
    contad.jvp(lambda x: shown.append(repr(x)) or np.sum(x), (np.array([1.0, 2.5]),), (np.array([1.0, 1.0]),))
    assert shown[-1] == "ArrayDual([1.  2.5])"


def test_large_arrays_are_abbreviated():
    text = repr(PositionLevel().input(np.arange(1e6)))
    assert "..." in text and len(text) < 200


def test_lines_of_a_matrix_are_aligned():
    assert repr(PositionLevel().input([[1.0, 2.0], [3.0, 4.0]])) == "PositionArray([[1. 2.]\n               [3. 4.]])"


# ---- what there is not -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(contad.variables.array_methods.REFUSED))
def test_refused_methods_say_what_to_use(name):
    with pytest.raises(UnsupportedError, match=rf"^{name}: not supported on an array variable; \w+"):
        getattr(PositionLevel().input(M), name)()


@pytest.mark.parametrize("name", ["base", "ctypes", "data", "flags", "strides"])
def test_missing_attributes_are_named(name):
    x = PositionLevel().input(M)
    assert not hasattr(x, name)
    remedy = "call code in C" if name in ("ctypes", "data") else rf"use contad.value_of\(x\).{name} for a constant"
    message = rf"an array variable has no attribute '{name}'; {remedy}"
    with pytest.raises(AttributeError, match=message):
        getattr(x, name)


def test_every_method_of_an_ndarray_is_there_or_known_to_be_absent():
    absent = {"base", "ctypes", "data", "device", "flags", "strides", "to_device", "newbyteorder", "ptp", "itemset"}
    x = PositionLevel().input(M)
    assert {name for name in dir(np.ndarray) if not name.startswith("_") and not hasattr(x, name)} <= absent


def test_generated_methods_have_names_and_docstrings():
    for name in (*contad.variables.array_methods.DELEGATED, *contad.variables.array_methods.REFUSED):
        method = getattr(Array, name)
        assert method.__name__ == name and method.__doc__


def test_put_into_an_array_without_axes():
    def f(x):
        z = np.zeros_like(x[:1]).reshape(())
        np.put(z, [0], x[1] * x[0])
        np.put(z, 0, [z[()] * x[2]])
        return z.item()

    np.testing.assert_allclose(contad.grad(f)(np.array([0.3, 0.7, 1.1])), [0.77, 0.33, 0.21], rtol=1e-14)


READ_ONLY = {
    "broadcast": lambda x: np.broadcast_to(x, (3, 3)), "row of it": lambda x: np.broadcast_to(x, (3, 3))[1],
    "diagonal": lambda x: np.diagonal(np.outer(x, x)), "flat": lambda x: np.broadcast_to(x, (1, 3)).reshape(-1),
    "imaginary part": lambda x: x.imag,
}  # fmt: skip
WRITES = [
    "z[0] = 1.0", "z[:1] += 1.0", "z[...] = z * 2.0", "z[()] = 1.0", "np.add(z, 1.0, out=z)", "np.copyto(z, 1.0)",
    "np.put(z, [0], 1.0)", "z.put([0], 1.0)", "np.place(z, z == z, [1.0])", "np.putmask(z, z == z, 1.0)", "z.sort()",
    "z.flat[0] = 1.0", "z.flat = 1.0", "z.fill(1.0)", "z[0:0] = 1.0", "z.partition(1)", "z *= 2.0", "z.T[0] = 2.0",
]  # fmt: skip


@pytest.mark.parametrize("view", READ_ONLY)
@pytest.mark.parametrize("transform", ["grad", "nested", "forward"])
def test_writes_through_read_only_views_raise_as_in_numpy(view, transform):
    """And leave everything as it was."""

    def f(x):
        y = x * 1.0
        z = READ_ONLY[view](y)
        for write in WRITES:
            with pytest.raises(ValueError, match="read-only"):
                exec(write, {"np": np, "z": z})
        return np.sum(y * y) + np.sum(z * 0.5)

    x = np.array([0.3, 0.7, 1.1])
    f(x)
    size = 0.5 * np.sum(contad.grad(lambda x: np.sum(READ_ONLY[view](x) * x[0] / x[0]))(x))
    if transform == "grad":
        found = contad.grad(f)(x)
        assert np.isfinite(found).all() and np.sum(found) == pytest.approx(4.2 + size)
    elif transform == "nested":
        assert np.isfinite(contad.hessian(f)(x)).all()
    else:
        assert contad.jvp(f, (x,), (np.ones(3),))[1] == pytest.approx(4.2 + size)


# ---- what wrappers pass, and what is set -----------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "nansum", "nanprod", "max", "min"])
def test_options_that_are_not_given_may_be_passed_on(name):
    function = getattr(np, name)

    def f(x):
        a = np.stack([x, np.sin(x)]).T  # in Fortran's order
        given = function(a, axis=0, keepdims=np._NoValue)
        return np.sum(given * x[:2]) + function(a, keepdims=np._NoValue) * x[2]

    for way in ways.WAYS:
        ways.agree(f, way)


def test_divmod_writes_both_results():
    def f(x):
        z, w = x * 3.0, x * 1.0
        quotient, rest = np.divmod(z, 0.4, z, w)
        _, other = np.divmod(x, 0.29, out=(None, z))
        return np.sum(z * w * x) + np.sum(quotient * rest) + np.sum(other * x)

    for way in ("matrix", "forward"):
        ways.agree(f, way)


def test_a_shape_that_is_set_is_refused_with_the_way_out():
    def f(x):
        z = x * 1.0
        z.shape = (3, 1)
        return np.sum(z)

    with pytest.raises(UnsupportedError, match=r"x\.shape = \(3, 1\): .*; write x = x\.reshape\(\(3, 1\)\)"):
        contad.grad(f)(ways.POINT)


def test_fractions_become_floats():
    third = Fraction(1, 3)

    def f(x):
        z = (x[0] * third + third / x[1] - x[2] ** 2 * third) * third ** x[0]
        return z + np.sum(x * third) + (1.2 + x[0]) ** third

    for way in ways.WAYS:
        ways.agree(f, way)
