"""The first call of a compiled derivative: the engine's value is held against that of the function itself."""

import numba
import numpy as np
import pytest
from numba import njit
from numba.extending import overload

import contad
from contad.engines.source.ir import known_functions
from contad.engines.tape import elementwise_loops
from contad.errors import ValueMismatchError
from contad.front.derivative import Derivative
from contad.front.first_call import FirstCall

X = np.array([0.3, -1.2, 0.7])


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """What is compared once is compared here."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))


@pytest.fixture
def calls(monkeypatch):
    """How often a first call was made."""
    made = []
    original = FirstCall.require_same

    def counted(self, *args):
        made.append(self.engine)
        return original(self, *args)

    monkeypatch.setattr(FirstCall, "require_same", counted)
    return made


def fresh():
    @njit
    def doubled(x, scale):
        total = 0.0
        for v in x:
            total += v * v * scale
        return total

    return doubled


def test_it_is_made_once_for_each_signature(calls):
    f = fresh()
    gradient = contad.grad(f)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X, 1.5), 3.0 * X)
    assert calls == ["generated"]
    np.testing.assert_allclose(gradient(X, 2), 4.0 * X)
    assert calls == ["generated"] * 2
    assert contad.value_and_grad(f)(X, 1.5)[0] == f(X, 1.5)
    assert contad.jvp(f, (X, 1.5), (X, 0.0))[1] == pytest.approx(2.0 * f(X, 1.5))
    assert calls == ["generated"] * 4


def test_it_is_not_made_for_compiled_callers(calls):
    f = fresh()
    gradient = contad.grad(f)

    @njit
    def caller(x):
        return gradient(x, 1.5)[0]

    assert caller(X) == pytest.approx(3.0 * X[0])
    assert calls == []
    gradient(X, 1.5)
    assert calls == ["generated"]


def test_another_process_need_not_compare(calls, tmp_path):
    """What has been compared is remembered beside the source in the cache."""
    f = of_module
    contad.grad(f)(1.3)
    other = Derivative(f, contad.grad(f).form, None, lambda: None, {})
    assert other(1.3) == pytest.approx(2.6)
    assert calls == ["generated"]
    for mark in tmp_path.glob("*.compared"):  # as where the other process met an exception, or calls from njit only
        mark.unlink()
    third = Derivative(f, contad.grad(f).form, None, lambda: None, {})
    assert third(1.3) == pytest.approx(2.6)
    assert calls == ["generated"] * 2 and [*tmp_path.glob("*.compared")]


@njit
def of_module(x):
    return x * x


def wrong_product(monkeypatch):
    """Sabotage of the generator: x * y is written as x * y * 2."""
    planted = known_functions.MULTIPLY._replace(template="x0 * x1 * 2.0")
    monkeypatch.setitem(known_functions.OPERATORS, "Mult", planted)


def test_a_wrong_value_of_the_generator_raises(monkeypatch):
    @njit
    def product(x, y):
        return x * y

    wrong_product(monkeypatch)
    for transform in (contad.grad, contad.value_and_grad):
        for _ in range(2):  # it is not let in by the first one
            with pytest.raises(ValueMismatchError, match=r"product: the engine generated computes the value .* 6\.0"):
                transform(product)(2.0, 3.0)
    np.testing.assert_allclose(contad.grad(product, engine="tape")(2.0, 3.0), 3.0)


def test_a_function_that_passes_once_over_its_lines_is_compared_as_python(calls):
    """To compile whole arrays takes longer than their derivative."""

    @njit
    def squares(x, scale):
        if scale < 0.0:
            return 0.0
        return scale * np.sum(x * x)

    value, gradient = contad.value_and_grad(squares)(X, 1.5)
    assert value == pytest.approx(1.5 * np.sum(X * X))
    np.testing.assert_allclose(gradient, 3.0 * X)
    assert calls == ["generated"]
    assert squares.signatures == []
    in_a_loop = fresh()
    contad.grad(in_a_loop)(X, 1.5)
    assert len(in_a_loop.signatures) == 1


def recursive(x):
    return x if x < 1.0 else again(0.5 * x) * x


again = njit(recursive)


def test_code_that_python_may_run_otherwise_is_compared_as_compiled():
    @njit
    def wraps(x, n):
        return x * (n * n * 4)

    n = 2**31  # n n 4 is 0 in 64 bits
    assert contad.value_and_grad(wraps)(2.0, n) == (0.0, 0.0)
    assert len(wraps.signatures) == 1

    @njit
    def calls_another(x):
        return of_module(x) + 1.0

    @njit
    def of_a_list(x):
        return sum([v * v for v in x])

    @njit
    def raises_in_python(x):
        return np.sum(x.reshape(3, 1)) + undefined(x)

    for f, x in ((calls_another, 1.5), (of_a_list, X), (again, 3.0), (raises_in_python, X)):
        contad.grad(f)(x)
        assert len(f.signatures) >= 1

    @njit
    def cubed(x):
        return x * x * x

    for x in (2**21, np.int64(-(2**22)), np.uint32(3 * 10**6)):  # 2**63 in 64 bits
        for engine in ("generated", "tape"):
            with pytest.raises(ValueMismatchError, match=r"cubed: the function gives .* at integers, and .* as floats"):
                contad.grad(cubed, engine=engine)(x)
    assert contad.grad(cubed)(float(2**21)) == 3.0 * 2**42


def undefined(x):
    raise TypeError("as Python")


@overload(undefined)
def _undefined(x):
    return lambda x: x[0]


def test_a_wrong_value_of_the_tape_raises(monkeypatch):
    monkeypatch.setattr(elementwise_loops, "_LOOP", "for k in np.ndindex(target[1:].shape):")

    @njit
    def shifted(x):
        y = x.copy()
        y += np.int8(3)  # of a type that no other test adds: Numba keeps what it has compiled
        return np.sum(y * y)

    with pytest.raises(ValueMismatchError, match="shifted: the engine tape computes the value"):
        contad.grad(shifted, engine="tape")(X)
    with pytest.raises(ValueMismatchError, match="jvp: shifted: the engine tape"):
        contad.jvp(shifted, (X,), (X,))


def test_functions_that_run_once_only(calls, capsys):
    @njit
    def prints(x):
        print("once")
        return x * x

    @njit
    def draws(x):
        return x * np.random.random()  # noqa: NPY002

    drawn = np.random.random

    @njit
    def draws_by_another_name(x):
        return x * drawn()

    assert contad.grad(prints)(1.5) == 3.0
    assert capsys.readouterr().out == "once\n"
    assert 0.0 <= contad.grad(draws)(1.5) <= 1.0
    assert 0.0 <= contad.grad(draws_by_another_name)(1.5) <= 1.0
    assert calls == []


def test_random_numbers_are_those_of_the_seed():
    """Nothing is drawn for a comparison."""

    @njit
    def seed(n):
        np.random.seed(n)  # noqa: NPY002

    @njit
    def draws(x):
        return x * np.random.random()  # noqa: NPY002

    @njit
    def draw():
        return np.random.random()  # noqa: NPY002

    seed(3)
    expected = draw()
    seed(3)
    assert contad.grad(draws)(1.5) == expected


def test_arguments_are_not_written():
    @njit
    def writes(x, y):
        y[0] = x[0] * 2.0
        x[1] = 7.0
        return np.sum(y * x)

    x, y = X.copy(), np.ones(3)
    gradient = contad.grad(writes)(x, y)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, np.ones(3))
    np.testing.assert_allclose(gradient, [4.0 * X[0], 0.0, 1.0])


def test_errors_and_nans():
    @njit
    def guarded(x):
        if x < 0.0:
            raise ValueError("negative")
        return np.log(x) * np.nan if x > 5.0 else np.log(x)

    gradient = contad.grad(guarded)
    with pytest.raises(ValueError, match="negative"):
        gradient(-1.0)
    assert np.isnan(gradient(6.0))
    assert gradient(2.0) == 0.5


def test_rounding_is_no_mismatch():
    """Sums in another order, cancellation, fastmath, float32 and integers that become floats."""

    @njit
    def cancels(a, x):
        return np.sum((a @ x) ** 2) * 1e16 - (np.dot(x, x) + 1e-3) * 1e16 + x[0]

    @njit(fastmath=True)
    def fast(x):
        total = 0.0
        for v in x:
            total += np.exp(v) / 3.0
        return total

    q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((30, 30)))
    contad.grad(cancels, 1)(q, np.linspace(-1.0, 2.0, 30))
    contad.grad(fast)(np.linspace(0.0, 1.0, 1000))
    contad.grad(fast)(X.astype(np.float32))
    contad.grad(fast)(np.arange(3))


def test_values_at_integers_that_are_others_than_at_floats():
    @njit
    def truncated(x):
        y = np.zeros_like(x)
        y[0] = x[0] * 0.5
        return y[0] * 1.0

    with pytest.raises(ValueMismatchError, match=r"gives 1\.0 at integers, and 1\.5 at the same .*; pass floats"):
        contad.grad(truncated)(np.array([3, 4]))
    np.testing.assert_allclose(contad.grad(truncated)(np.array([3.0, 4.0])), [0.5, 0.0])


def test_a_layout_that_python_converts_otherwise():
    """Of a float32 array that is not contiguous, NumPy's astype keeps the order and Numba's does not."""

    @njit
    def weighted(x):
        return x[0, 1] * 2.0 + np.sum(x)

    x = np.arange(24.0, dtype=np.float32).reshape(4, 6).T[::2]
    gradient = contad.grad(weighted)
    expected = np.ones(x.shape)
    expected[0, 1] += 2.0
    for _ in range(2):
        np.testing.assert_allclose(gradient(x), expected)
    assert len(numba.core.registry.CPUDispatcher.nopython_signatures.fget(gradient)) == 1
