"""Each function of the array API standard 2024.12 on variables: right, constant, or refused by name."""

import inspect

import numpy as np
import pytest

import contad
from contad.errors import ContadError, UnsupportedError
from contad.variables.array import Array

xps = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")

POINT = np.array([[1.3, 0.7, 2.1], [0.4, 1.9, 1.1], [0.8, 0.35, 1.6]])

# ---- the table -------------------------------------------------------------------------------------------------------
OF_ONE = [
    "abs", "asinh", "atan", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2", "negative", "positive",
    "reciprocal", "sin", "sinh", "sqrt", "square", "tan", "tanh", "conj", "real", "ceil", "floor", "round", "sign",
    "trunc", "sum", "prod", "mean", "max", "min", "std", "var", "flip", "sort", "tril", "triu", "matrix_transpose",
    "zeros_like", "ones_like",
]  # fmt: skip
OF_TWO = [
    "add", "subtract", "multiply", "divide", "pow", "atan2", "hypot", "maximum", "minimum", "copysign", "logaddexp",
    "floor_divide", "remainder", "nextafter",
]  # fmt: skip
CALLS = {
    "acos": lambda xp, x: xp.acos(x * 0.3), "asin": lambda xp, x: xp.asin(x * 0.3),
    "atanh": lambda xp, x: xp.atanh(x * 0.3), "acosh": lambda xp, x: xp.acosh(x + 1.5),
    "asarray": lambda xp, x: xp.asarray(x), "astype": lambda xp, x: xp.astype(x, xp.float64),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[0:1, :])[1],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 3)), "clip": lambda xp, x: xp.clip(x, 0.5, 1.5),
    "concat": lambda xp, x: xp.concat([x, x * 2.0]), "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=1),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda xp, x: xp.diff(x, axis=1), "expand_dims": lambda xp, x: xp.expand_dims(x, axis=0),
    "full_like": lambda xp, x: xp.full_like(x, 2.0) * x, "matmul": lambda xp, x: xp.matmul(x, x),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0, :], x[1, :])[0], "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)), "repeat": lambda xp, x: xp.repeat(x, 2, axis=1),
    "reshape": lambda xp, x: xp.reshape(x, (9,)), "roll": lambda xp, x: xp.roll(x, 1, axis=0),
    "squeeze": lambda xp, x: xp.squeeze(xp.expand_dims(x, axis=0), axis=0),
    "stack": lambda xp, x: xp.stack([x, x * 2.0]),
    "take": lambda xp, x: xp.take(x, xps.asarray([2, 0]), axis=1),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xps.asarray([[2], [0], [1]]), axis=1),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=1), "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "unstack": lambda xp, x: xp.unstack(x)[1] * x[0, :], "vecdot": lambda xp, x: xp.vecdot(x, x),
    "where": lambda xp, x: xp.where(x > 1.0, x * x, x * 3.0),
}  # fmt: skip
CONSTANT = [
    "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "equal", "greater", "greater_equal", "imag",
    "isfinite", "isinf", "isnan", "less", "less_equal", "nonzero", "not_equal", "result_type", "searchsorted",
    "signbit",
]  # fmt: skip
REFUSED = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]
# take no real array: sizes, dtypes, integers, truth values
OF_OTHERS = [
    "arange", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "broadcast_shapes", "can_cast", "empty", "empty_like", "eye", "finfo", "from_dlpack", "full",
    "iinfo", "isdtype", "isin", "linspace", "logical_and", "logical_not", "logical_or", "logical_xor", "ones",
    "zeros",
]  # fmt: skip
OWN = [
    "set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags",
    "__array_namespace_info__",
]  # fmt: skip

CALLS |= {name: lambda xp, x, name=name: getattr(xp, name)(x) for name in OF_ONE}
CALLS |= {name: lambda xp, x, name=name: getattr(xp, name)(x, x * x + 0.3) for name in OF_TWO}


def strict(v):
    return xps.asarray(v.tolist(), dtype=xps.float64)


def test_every_function_of_the_standard_is_in_one_list():
    functions = {n for n in xps.__all__ if callable(getattr(xps, n, None)) and not inspect.isclass(getattr(xps, n))}
    lists = [*CALLS, *CONSTANT, *REFUSED, *OF_OTHERS, *OWN]
    assert functions - set(lists) == set()
    assert len(lists) == len(set(lists))
    counts = {"right": len(CALLS), "no derivative": len(CONSTANT), "refused": len(REFUSED), "of others": len(OF_OTHERS)}
    assert counts == {"right": 86, "no derivative": 20, "refused": 4, "of others": 25}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_right(name):
    call = CALLS[name]

    def loss(x):
        xp = x.__array_namespace__()
        z = call(xp, x)
        return xp.sum(z * z * 0.5 + z)

    def value(v):
        return float(loss(strict(v)))

    found = np.asarray(contad.grad(lambda x: loss(x) + 0.0 * x[0, 0])(strict(POINT))._array)
    for k in np.ndindex(POINT.shape):
        unit = np.zeros(POINT.shape)
        unit[k] = 1e-6
        difference = (value(POINT + unit) - value(POINT - unit)) / 2e-6
        assert found[k] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", CONSTANT)
def test_a_constant_is_the_librarys_own(name):
    def loss(x):
        xp = x.__array_namespace__()
        given = {"searchsorted": (x[0, :], x[1, :])}.get(name, (x,))
        given = (x, x) if "equal" in name or name in ("less", "greater") else given
        z = getattr(xp, name)(*given)
        assert not isinstance(z, Array) or name == "imag"
        return xp.sum(x)

    contad.grad(loss)(strict(POINT))


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_is_refused_by_name(name):
    def loss(x):
        xp = x.__array_namespace__()
        return xp.sum(getattr(xp, name)(x)[0])

    with pytest.raises(UnsupportedError, match="np.unique: not available for arrays of array_api_strict"):
        contad.grad(loss)(strict(POINT))


def test_other_functions_are_those_of_the_library():
    def loss(x):
        xp = x.__array_namespace__()
        return xp.sum(x * xp.asarray(2.0, dtype=xp.float64) + xp.ones((3, 3)) * xp.eye(3) + xp.pi)

    np.testing.assert_allclose(np.asarray(contad.grad(loss)(strict(POINT))._array), np.full((3, 3), 2.0))


def test_linear_algebra_of_the_standard():
    def loss(x):
        xp = x.__array_namespace__()
        a = xp.matmul(x, x.mT) + xp.eye(3)
        chol = xp.linalg.cholesky(a)
        solved = xp.linalg.solve(a, x)
        return xp.sum(chol * chol) + xp.sum(solved) + xp.linalg.slogdet(a)[1] + xp.sum(xp.linalg.inv(a))

    def of_numpy(x):
        a = x @ x.T + np.eye(3)
        chol = np.linalg.cholesky(a)
        solved = np.linalg.solve(a, x)
        return np.sum(chol * chol) + np.sum(solved) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a))

    try:
        found = contad.grad(loss)(strict(POINT))
    except ContadError as error:
        pytest.fail(str(error))
    np.testing.assert_allclose(np.asarray(found._array), contad.grad(of_numpy)(POINT), rtol=1e-9)
