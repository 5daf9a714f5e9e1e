"""float32 and float16 arguments keep their dtype: NumPy's promotion, and numbers of double precision, rounded."""

import math
import operator

import numpy as np
import pytest

import contad
from contad.rules.array_rule import array_rules
from contad.rules.scalar_rule import rules
from contad.variables import kept_dtypes
from contad.variables.dtypes import PRECISION
from contad.variables.trees import leaves_of
from tests.judges.samples import sampled
from tests.ops.example_calls import CALLS, EXAMPLES

SINGLE, HALF = np.float32, np.float16
X = np.array([0.5, 1.0, 2.0], SINGLE)
W = np.array([0.7, 1.9, 1.1])
MATRIX = np.array([[1.3, 0.7, 2.1], [0.4, 1.9, 1.1]], SINGLE)
EPS = float(np.finfo(SINGLE).eps)


@pytest.fixture(autouse=True)
def keep():
    with contad.settings(keep_dtype=True):
        yield


def dtype_of(x):
    return x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.dtype(type(x))


def single(x):
    return x.astype(SINGLE) if isinstance(x, np.ndarray) else SINGLE(x)


def double(x):
    return np.float64(x) if dtype_of(x) in kept_dtypes.KEPT else x


def total(z):
    if isinstance(z, (list, tuple)):
        return sum(map(total, z))
    return np.sum(z * z) + np.sum(z * 1.5) if np.ndim(z) else z * z + 1.5 * z


def report(loss, args, expected_dtype, engine=None):
    """What is wrong with value, gradients and tangents in float32, beside those of the same arguments in float64."""
    numbers = tuple(range(len(args)))
    wide = [*map(double, args)]
    with contad.settings(keep_dtype=False):
        value, gradients = contad.value_and_grad(loss, numbers, engine=engine)(*wide)
        expected = [value, *gradients, *contad.jvp(loss, wide, wide)]
    value, gradients = contad.value_and_grad(loss, numbers, engine=engine)(*args)
    found = [value, *gradients, *contad.jvp(loss, args, args)]
    wanted = [expected_dtype, *map(dtype_of, args), expected_dtype, expected_dtype]
    wrong = []
    for x, y, dtype in zip(found, expected, wanted, strict=True):
        if dtype_of(x) != dtype:
            wrong.append(f"dtype {dtype_of(x)}, expected {dtype}")
        scale = np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
        if not np.allclose(x, y, rtol=EPS, atol=EPS * scale, equal_nan=True):
            wrong.append(f"{x} in {dtype}, {y} in float64")
    return wrong


# ---- every function and every rule -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "k"), sampled(CALLS, 4))
def test_a_function_has_numpys_dtype_and_the_numbers_of_double_precision(name, k):
    f, *args = EXAMPLES[name][k]
    args = [*map(single, args)]

    def loss(*xs):
        return total(f(*xs))

    with np.errstate(all="ignore"):
        plain = loss(*(x.copy() for x in args))
    counted = name in ("np.histogram2d", "np.histogramdd")  # whose weights NumPy adds in float64
    assert report(loss, args, SINGLE if counted else dtype_of(plain)) == []


OF_NUMBERS = [r for r in rules() if r.__module__.startswith("contad.ops.") and r.points]
OF_ARRAYS = [r for r in array_rules() if r.__module__.startswith("contad.") and r.points]


def call_of(rule):
    """(A function, its arguments in float32) at the first point of a rule, whose arguments NumPy may not take."""
    point = rule.points[0]
    options = point[-1] if isinstance(point[-1], dict) else {}
    args = [np.asarray(x, float) for x in (point[:-1] if options else point)]
    args = [np.stack([x, x]) for x in args] if rule in OF_NUMBERS else args
    return (lambda *xs: total(rule(*xs, **options))), [*map(single, args)]


@pytest.mark.parametrize("rule", sampled([*OF_NUMBERS, *OF_ARRAYS], 6))
def test_a_rule_has_the_numbers_of_double_precision(rule):
    loss, args = call_of(rule)
    assert report(loss, args, np.dtype(float if rule.name == "interp" else SINGLE)) == []  # whose points are a list


@pytest.mark.long
def test_lost_digits_and_lost_dtypes_are_found(monkeypatch):
    loss, args = call_of(OF_NUMBERS[0])
    with monkeypatch.context() as planted:
        planted.setattr(kept_dtypes._Operands, "dtype", lambda operands: np.dtype(float))
        assert any("dtype" in line for line in report(loss, args, np.dtype(SINGLE)))
    original = kept_dtypes.round_to

    def lose_digits(x, dtype):
        return original(HALF(x) if isinstance(x, np.ndarray) and dtype == SINGLE else x, dtype)

    monkeypatch.setattr("contad.variables.trees.round_to", lose_digits)
    assert any("float64" in line for line in report(lambda x: np.sum(x * x), [SINGLE([0.1, 0.7])], np.dtype(SINGLE)))


# ---- promotion -------------------------------------------------------------------------------------------------------
OTHERS = {
    "Python float": 0.3, "Python int": 3, "bool": True, "float32": SINGLE(0.3), "float64": np.float64(0.3),
    "float16": HALF(0.3), "int64": np.int64(3), "int8": np.int8(3), "array of float64": W, "array of float32": X[::-1],
    "array of int64": np.arange(1, 4), "array of int8": np.arange(1, 4, dtype=np.int8), "array of bool": X > 0.1,
    "list": [0.3, 0.1, 0.2],
}  # fmt: skip
OPERATORS = [operator.add, operator.mul, operator.truediv, operator.pow, np.multiply, np.maximum]


@pytest.mark.parametrize("dtype", [SINGLE, HALF])
@pytest.mark.parametrize("other", OTHERS)
def test_operations_promote_as_numpy_does(other, dtype):
    y = OTHERS[other]
    for x in (dtype(0.7), dtype([0.7, 1.3, 0.2])):
        for f in OPERATORS:
            if other == "list" and not isinstance(f, np.ufunc):
                continue
            for called in (lambda x, f=f: f(x, y), lambda x, f=f: f(y, x)):
                expected = called(x).dtype
                assert dtype_of(contad.vjp(called, x)[0]) == expected
                assert [*map(dtype_of, contad.jvp(called, (x,), (x,)))] == [expected] * 2


def test_each_argument_has_the_dtype_of_its_gradient():
    def f(*args):
        return sum(np.sum(a * a) for a in args)

    value, found = contad.value_and_grad(f, (0, 1, 2, 3))(X, W, HALF(X), 2.0)
    assert [*map(dtype_of, found)] == [SINGLE, np.float64, HALF, np.float64]
    assert dtype_of(value) == np.float64
    assert type(found[3]) is float


def test_numbers_that_are_compared_are_rounded_as_numpy_rounds_them():
    x = SINGLE(0.1)
    assert x == 0.1
    assert contad.grad(lambda x: 2.0 * x if x == 0.1 else 3.0 * x)(x) == 2.0
    assert contad.grad(lambda x: np.sum(np.where(x == 0.1, 2.0 * x, x)))(np.array([x]))[0] == 2.0


def test_a_function_sees_its_dtype():
    def f(x, y):
        kinds = isinstance(y, np.float32), isinstance(y, np.float64), type(y) is np.float32
        return np.sum(x) * y, (x.dtype, y.dtype, x.nbytes, x[0].dtype, x[1:].T.dtype, *kinds)

    single = np.dtype(SINGLE)
    assert contad.grad(f, has_aux=True)(X, SINGLE(3))[1] == (single, single, 12, single, single, True, False, True)


# ---- conversions, new arrays, writes ---------------------------------------------------------------------------------
def filled(x):
    z = np.zeros(3, dtype=x.dtype)
    for k in range(3):
        z[k] = x[k] ** 2
    z[1] += x[0]
    return np.sum(z)


def overwritten(x):
    x[0] = x[1] * 2.0
    x *= 2.0
    return np.sum(x * x)


CONVERSIONS = {
    "astype float64": (lambda x: np.sum(x.astype(float) ** 2), float),
    "astype back": (lambda x: np.sum(x.astype(float).astype(SINGLE)), SINGLE),
    "an element": (lambda x: x[0].astype(float) * x[1], float),
    "asarray": (lambda x: np.sum(np.asarray(x, dtype=float)), float),
    "array of a list": (lambda x: np.sum(np.array([x[0], x[1]])), SINGLE),
    "array": (lambda x: np.sum(np.array([x[0], 1.0], SINGLE)), SINGLE),
    "dtype of a sum": (lambda x: np.sum(x, dtype=float), float),
    "dtype of a method": (lambda x: x.sum(dtype=SINGLE), SINGLE),
    "dtype of a ufunc": (lambda x: np.sum(np.multiply(x, W, dtype=SINGLE)), SINGLE), "filled": (filled, SINGLE),
    "overwritten": (overwritten, SINGLE), "stopped": (lambda x: np.sum(contad.stop_gradient(x) * x), SINGLE),
    "int": (lambda x: np.sum(x * x.astype(int)), float), "python": (lambda x: math.sin(x[0]) * 2.0, float),
    "constant": (lambda x: SINGLE(3.0), SINGLE),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name):
    f, dtype = CONVERSIONS[name]
    value, found = contad.value_and_grad(f)(X.copy())
    assert (dtype_of(value), found.dtype) == (dtype, SINGLE)
    np.testing.assert_allclose(value, f(X.copy()), rtol=9.0 * EPS)


def test_float64_variables_are_rounded_by_astype():
    value, found = contad.value_and_grad(lambda w: np.sum(w.astype(SINGLE)))(W)
    assert (value.dtype, found.dtype) == (SINGLE, float)


# ---- transforms ------------------------------------------------------------------------------------------------------
def loss(p, data=MATRIX):
    return np.mean(np.logaddexp(0.0, data @ p["w"] + p["b"])) + 0.01 * np.sum(p["w"] ** 2)


P = {"w": X, "b": SINGLE(0.1)}
TRANSFORMS = {
    "grad": lambda p: contad.grad(loss)(p), "hessian": lambda p: contad.hessian(loss)(p)["w"]["w"],
    "hvp": lambda p: contad.hvp(loss)(p, p), "jvp": lambda p: contad.jvp(loss, (p,), (p,)),
    "jacobian": lambda p: contad.jacobian(lambda p: p["w"] * p["b"])(p),
    "laplacian": lambda p: contad.laplacian(loss)(p),
    "jacfwd": lambda p: contad.jacfwd(lambda p: p["w"] * p["b"])(p),
    "vjp": lambda p: contad.vjp(lambda p: p["w"] * p["b"], p)[1](p["w"]),
    "linearize": lambda p: contad.linearize(lambda p: p["w"] * p["b"], p)[1](p),
    "grad of grad": lambda p: contad.grad(lambda p: np.sum(contad.grad(loss)(p)["w"] ** 2))(p),
    "grad of jvp": lambda p: contad.grad(lambda q: contad.jvp(loss, (q,), (p,))[1])(p),
    "checkpoint": lambda p: contad.grad(lambda p: contad.checkpoint(loss)(p))(p),
    "record": lambda p: contad.record(loss, p).value_and_grad(p),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_of_every_order_keep_the_dtype(name):
    found = leaves_of(TRANSFORMS[name](P))
    with contad.settings(keep_dtype=False):
        expected = leaves_of(TRANSFORMS[name]({"w": X.astype(float), "b": np.float64(P["b"])}))
    for x, y in zip(found, expected, strict=True):
        assert dtype_of(x) == SINGLE
        np.testing.assert_allclose(x, y, rtol=EPS, atol=EPS)


@pytest.mark.parametrize("engine", ["records", "closures"])
def test_engines_of_numbers_keep_it(engine):
    def f(x, s):
        return sum(x[k] * x[k] * s for k in range(3)) + np.exp(x[0])

    value, found = contad.value_and_grad(f, (0, 1), engine=engine)(X, SINGLE(3))
    assert [dtype_of(z) for z in (value, *found)] == [SINGLE] * 3
    np.testing.assert_allclose(found[0], [3.0 * 2.0 * 0.5 + math.exp(0.5), 6.0, 12.0], rtol=EPS)


def test_blocks_of_a_hessian_have_the_dtypes_of_two_arguments():
    found = contad.hessian(lambda x, w: np.sum(x * x * w), (0, 1))(X, W)
    assert [[block.dtype for block in row] for row in found] == [[SINGLE, SINGLE], [SINGLE, float]]


@pytest.mark.parametrize("dtype", [SINGLE, HALF])
def test_a_program_takes_the_dtype_of_its_example(dtype):
    program = contad.record(lambda x: np.sum(np.exp(-x)), dtype(X))
    assert program(dtype(X)).dtype == program.gradient(dtype(X)).dtype == dtype
    message = f"argument 0: expected {np.dtype(dtype)}, as recorded, got float64; record another program for other"
    with pytest.raises(ValueError, match=message):
        program(np.float64(X))
    with pytest.raises(ValueError, match="expected float64, as recorded, got float"):
        contad.record(np.sum, np.float64(X))(dtype(X))


def test_without_the_setting_everything_is_of_float64():
    with contad.settings(keep_dtype=False):
        assert not PRECISION.keeps
        value, found = contad.value_and_grad(lambda x, s: np.sum(x) * s, (0, 1))(X, SINGLE(2))
        assert [dtype_of(z) for z in (value, *found)] == [np.float64] * 3
        assert contad.hessian(lambda x: np.sum(x**3))(X).dtype == float
        assert contad.record(np.sum, X).gradient(X).dtype == float
        with pytest.raises(contad.UnsupportedError, match="dtype must be float64"):
            contad.grad(lambda w: np.sum(np.asarray(w, dtype=SINGLE)))(W)


@pytest.mark.parametrize(("options", "error"), [({"keep_dtype": 1}, TypeError), ({"accumulate": np.int64}, ValueError)])
def test_other_settings_are_refused(options, error):
    with pytest.raises(error, match=f"settings: {next(iter(options))} must be"):
        contad.settings(**options)
