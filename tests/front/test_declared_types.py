"""Types that Numba functions declare, for arguments, results and names: engines follow them, or refuse them by name."""

from itertools import product

import numba
import numpy as np
import pytest
from numba import boolean, float32, float64, int32, int64, njit

import contad
from contad.compile.dispatchers import declared_names
from contad.errors import UnsupportedError
from contad.functions.declared_types import signatures
from tests.judges.samples import sampled

ENGINES = ("generated", "tape", "matrix", "records")
X = 2.7  # 1.5 X and 3 X are no whole numbers


@njit("float64(int64)")
def of_integer(k):
    return k * 1.5


@njit("int64(float64)")
def to_integer(x):
    return x * 1.5


@njit("float64(boolean, float64)")
def of_truth(on, x):
    return on * x


@njit(["float64(float64)", "int64(int64)"])
def either(x):
    return x * x // 2


@njit("Tuple((float64, int64))(float64)")
def pair(x):
    return x * 2, x * 2


@njit("float64[:](float64[:], int64)")
def scaled(a, k):
    return a * k


@njit("float64(int32, uint8, float64)")
def of_small(k, n, x):
    return k * x + n


@njit("float32(float32)")
def single(x):
    return x * 1.1


@njit(locals={"k": int64})
def counted(x):
    k = x * 2.0
    for _ in range(3):
        k += 0.6
    return k * x


@njit(locals={"s": float64})
def accumulated(x):
    s = 7
    s = s // 2 * x
    for _ in range(3):
        s += x
    return s * x


@njit(locals={"x": int64, "on": boolean, "k": int64})
def assigned(x, y):
    total = 0.0
    for k in (y, 2.0 * y):
        (on, z), w = (y, x), k
        total += on * z * y + w
    return total


@njit(locals={"k": int32})
def small(x):
    k = x * 3.0
    return k * x


@njit(locals={"s": float32})
def rounded(x):
    s = x * 1.1
    return s * x


@njit
def calls(x):
    return of_integer(x) * x + to_integer(x) * x + of_truth(x, x) * x + either(x) * x + either(3) * x


@njit
def calls_more(x):
    p, q = pair(x)
    return p * q * x + counted(x) + accumulated(x) + assigned(x, x)


@njit
def of_arrays(x):
    return np.sum(scaled(x, x[0]))


def slope(f, x):
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


CASTS = [of_integer, to_integer, either, counted, accumulated, small, calls, calls_more]


@pytest.mark.parametrize(("f", "engine"), sampled(product(CASTS, ENGINES), 3, family=lambda case: case[1]))
def test_casts_are_followed(f, engine):
    value, gradient = contad.value_and_grad(f, engine=engine)(X)
    assert value == f(X)
    assert gradient == pytest.approx(slope(f, X), abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_casts_beside_arrays(engine):
    x = np.array([2.7, 1.3])
    value, gradient = contad.value_and_grad(of_arrays, engine=engine)(x)
    assert value == of_arrays(x)
    np.testing.assert_allclose(gradient, [2.0, 2.0])


@pytest.mark.parametrize("f", [to_integer, calls, calls_more])
def test_forward_mode_and_second_derivatives(f):
    value, tangent = contad.jvp(f, (X,), (1.0,))
    assert value == f(X) and tangent == pytest.approx(slope(f, X), abs=1e-6)
    second = (contad.grad(f)(X + 1e-5) - contad.grad(f)(X - 1e-5)) / 2e-5
    assert contad.derivative(contad.grad(f))(X) == pytest.approx(second, abs=1e-4)


def test_inside_plain_python():
    """A Numba function called with a variable is one operation, of its own declared types."""
    value, gradient = contad.value_and_grad(lambda x: to_integer(x) * x + calls(x))(X)
    assert value == to_integer(X) * X + calls(X)
    assert gradient == pytest.approx(to_integer(X) + slope(calls, X), abs=1e-6)


@njit
def of_small_callee(x):
    return of_small(x, 300.0 + x, x) * x


def test_small_integers_are_numbas():
    """The tape follows every integer; engines that have 64 bits only refuse."""
    f = of_small_callee
    value, gradient = contad.value_and_grad(f)(X)
    assert value == f(X) and gradient == pytest.approx(slope(f, X), abs=1e-6)
    assert contad.engine_name(f, args=(X,)) == "tape"
    for engine in ("generated", "matrix"):
        with pytest.raises(UnsupportedError, match=r"declared as uint8, in which this engine .* declare int64"):
            contad.grad(f, engine=engine)(X)


@njit("f8(f8[:], i4, i4)")
def sweeps(x, n, k):
    s = 0.0
    for j in range(n):
        s += x[j] * (k + j) * k
    return s


@njit
def calls_sweeps(x):
    return sweeps(x, 2, 2**31 + 1) * x[0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("k", [3, np.int32(-2), 2**31 - 1, 2**31, 3 - 2**40])  # wrapped, and multiplied in 64 bits
def test_int32_is_followed(engine, k):
    x = np.array([2.7, 1.3, 0.4])
    value, gradient = contad.value_and_grad(sweeps, engine=engine)(x, 2, k)
    assert value == sweeps(x, 2, k)
    by_hand = [sweeps(unit, 2, k) for unit in np.eye(3)]
    np.testing.assert_allclose(gradient, by_hand, rtol=1e-15)


def test_int32_of_constants_is_followed():
    x = np.array([2.7, 1.3, 0.4])
    found = [contad.value_and_grad(calls_sweeps, engine=engine)(x) for engine in ENGINES]
    for value, gradient in found:
        assert value == calls_sweeps(x)
        np.testing.assert_allclose(gradient, found[0][1], rtol=1e-15)


@njit("f8(f8, f4)")
def scaled_by_single(x, w):
    return x * w


@njit("f8(f8[:], i4[:])")
def of_places(x, places):
    return x[places[0]] * x[places[1]]


def test_messages_do_not_say_that_data_are_differentiated():
    """The argument that is declared as float32 carries no derivative: the tape follows it."""
    for engine in ("generated", "matrix"):
        with pytest.raises(UnsupportedError, match=r"as float32, in which this engine does not compute") as info:
            contad.grad(scaled_by_single, engine=engine)(X, 0.1)
        assert "differentiated number" not in str(info.value)
    assert contad.grad(scaled_by_single)(X, 0.1) == np.float32(0.1)
    places = np.array([0, 2], np.int32)
    with pytest.raises(UnsupportedError, match=r"places is declared as array\(int32, 1d, A\), and of what it is given"):
        contad.grad(of_places, engine="generated")(np.ones(3), places)
    np.testing.assert_array_equal(contad.grad(of_places)(np.array([2.0, 3.0, 5.0]), places), [5.0, 0.0, 2.0])


@njit
def of_single(x):
    return single(x) * x


@njit
def writes_singles(x):
    a = np.zeros(3, dtype=np.float32)
    a[0] = x
    return a[0] * x


@pytest.mark.parametrize("f", [single, of_single, rounded, writes_singles])
def test_float32_is_refused_by_name(f):
    """It rounds after every operation, which no engine follows."""
    for engine in (None, *ENGINES):
        with pytest.raises(UnsupportedError, match=r"test_declared_types.py:\d+.*float"):
            contad.value_and_grad(f, engine=engine)(X)
    with pytest.raises(UnsupportedError, match="float"):
        contad.jvp(f, (X,), (1.0,))
    with pytest.raises(UnsupportedError, match="float"):
        contad.derivative(contad.grad(f))(X)


@njit("float64(float32[:], float64)")
def of_singles(a, x):
    return a[0] * a[1] * x


def test_float32_of_constants_is_numbas():
    a = np.array([1.1, 1.3], np.float32)
    value, gradient = contad.value_and_grad(of_singles, 1)(a, X)
    assert value == of_singles(a, X)
    assert gradient == pytest.approx(of_singles(a, 1.0), rel=1e-15)
    with pytest.raises(UnsupportedError, match="float32"):
        contad.value_and_grad(of_singles, 1, engine="matrix")(a, X)


def test_declared_types_are_part_of_what_is_cached():
    """The same code under other declarations is another function."""

    def body(x):
        return x * 1.5

    found = [njit(declared)(body) for declared in ("float64(float64)", "int64(float64)", "float64(int64)")]
    for f in found:
        for engine in ("generated", "tape"):
            value, gradient = contad.value_and_grad(f, engine=engine)(X)
            assert value == f(X) and gradient == pytest.approx(slope(f, X), abs=1e-6)


def test_a_signature_that_does_not_fit_is_named():
    @njit("float64(float64[:, :])")
    def of_matrix(a):
        return a[0, 0]

    with pytest.raises(UnsupportedError, match=r"of_matrix: its declared .* do not take \(array\(float64, 1d"):
        contad.grad(of_matrix, engine="tape")(np.ones(3))


def test_numba_has_what_the_engines_read():
    """The attributes of dispatchers that hold declared types, which Numba does not document."""
    counted(X)  # Numba adds names of its own
    assert signatures(to_integer) == tuple(to_integer.nopython_signatures) and signatures(counted) == ()
    assert declared_names(counted) == {"k": int64} and declared_names(to_integer) == {}
    assert numba.typeof(to_integer(X)) == int64
