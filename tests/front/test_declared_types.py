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
from tests.judges.written import numba_functions

ENGINES = ("generated", "tape", "matrix", "records")
X = 2.7  # 1.5 X and 3 X are no whole numbers


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


@njit("f8(f8[:], i4, i4)")
def sweeps(x, n, k):
    s = 0.0
    for j in range(n):
        s += x[j] * (k + j) * k
    return s


KNOWN = {
    "__name__": __name__, "np": np, "counted": counted, "accumulated": accumulated, "assigned": assigned,
    "sweeps": sweeps,
}  # fmt: skip
F = numba_functions({
    "of_integer(k)": ("k * 1.5", "float64(int64)"),
    "to_integer(x)": ("x * 1.5", "int64(float64)"),
    "of_truth(on, x)": ("on * x", "float64(boolean, float64)"),
    "either(x)": ("x * x // 2", ["float64(float64)", "int64(int64)"]),
    "pair(x)": ("x * 2, x * 2", "Tuple((float64, int64))(float64)"),
    "scaled(a, k)": ("a * k", "float64[:](float64[:], int64)"),
    "of_small(k, n, x)": ("k * x + n", "float64(int32, uint8, float64)"),
    "single(x)": ("x * 1.1", "float32(float32)"),
    "small(x)": ("k = x * 3.0; k * x", {"locals": {"k": int32}}),
    "rounded(x)": ("s = x * 1.1; s * x", {"locals": {"s": float32}}),
    "calls(x)": "of_integer(x) * x + to_integer(x) * x + of_truth(x, x) * x + either(x) * x + either(3) * x",
    "calls_more(x)": "p, q = pair(x); p * q * x + counted(x) + accumulated(x) + assigned(x, x)",
    "of_arrays(x)": "np.sum(scaled(x, x[0]))",
    "of_small_callee(x)": "of_small(x, 300.0 + x, x) * x",
    "calls_sweeps(x)": "sweeps(x, 2, 2**31 + 1) * x[0]",
    "scaled_by_single(x, w)": ("x * w", "f8(f8, f4)"),
    "of_places(x, places)": ("x[places[0]] * x[places[1]]", "f8(f8[:], i4[:])"),
    "of_single(x)": "single(x) * x",
    "of_singles(a, x)": ("a[0] * a[1] * x", "float64(float32[:], float64)"),
}, KNOWN)  # fmt: skip


def slope(f, x):
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


CASTS = [F.of_integer, F.to_integer, F.either, counted, accumulated, F.small, F.calls, F.calls_more]


@pytest.mark.parametrize(("f", "engine"), sampled(product(CASTS, ENGINES), 3, family=lambda case: case[1]))
def test_casts_are_followed(f, engine):
    value, gradient = contad.value_and_grad(f, engine=engine)(X)
    assert value == f(X)
    assert gradient == pytest.approx(slope(f, X), abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_casts_beside_arrays(engine):
    x = np.array([2.7, 1.3])
    value, gradient = contad.value_and_grad(F.of_arrays, engine=engine)(x)
    assert value == F.of_arrays(x)
    np.testing.assert_allclose(gradient, [2.0, 2.0])


@pytest.mark.parametrize("f", [F.to_integer, F.calls, F.calls_more])
def test_forward_mode_and_second_derivatives(f):
    value, tangent = contad.jvp(f, (X,), (1.0,))
    assert value == f(X) and tangent == pytest.approx(slope(f, X), abs=1e-6)
    second = (contad.grad(f)(X + 1e-5) - contad.grad(f)(X - 1e-5)) / 2e-5
    assert contad.derivative(contad.grad(f))(X) == pytest.approx(second, abs=1e-4)


def test_inside_plain_python():
    """A Numba function called with a variable is one operation, of its own declared types."""
    value, gradient = contad.value_and_grad(lambda x: F.to_integer(x) * x + F.calls(x))(X)
    assert value == F.to_integer(X) * X + F.calls(X)
    assert gradient == pytest.approx(F.to_integer(X) + slope(F.calls, X), abs=1e-6)


def test_small_integers_are_numbas():
    """The tape follows every integer; engines that have 64 bits only refuse."""
    f = F.of_small_callee
    value, gradient = contad.value_and_grad(f)(X)
    assert value == f(X) and gradient == pytest.approx(slope(f, X), abs=1e-6)
    assert contad.engine_name(f, args=(X,)) == "tape"
    for engine in ("generated", "matrix"):
        with pytest.raises(UnsupportedError, match=r"declared as uint8, in which this engine .* declare int64"):
            contad.grad(f, engine=engine)(X)


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
    found = [contad.value_and_grad(F.calls_sweeps, engine=engine)(x) for engine in ENGINES]
    for value, gradient in found:
        assert value == F.calls_sweeps(x)
        np.testing.assert_allclose(gradient, found[0][1], rtol=1e-15)


def test_messages_do_not_say_that_data_are_differentiated():
    """The argument that is declared as float32 carries no derivative: the tape follows it."""
    for engine in ("generated", "matrix"):
        with pytest.raises(UnsupportedError, match=r"as float32, in which this engine does not compute") as info:
            contad.grad(F.scaled_by_single, engine=engine)(X, 0.1)
        assert "differentiated number" not in str(info.value)
    assert contad.grad(F.scaled_by_single)(X, 0.1) == np.float32(0.1)
    places = np.array([0, 2], np.int32)
    with pytest.raises(UnsupportedError, match=r"places is declared as array\(int32, 1d, A\), and of what it is given"):
        contad.grad(F.of_places, engine="generated")(np.ones(3), places)
    np.testing.assert_array_equal(contad.grad(F.of_places)(np.array([2.0, 3.0, 5.0]), places), [5.0, 0.0, 2.0])


@pytest.mark.parametrize("f", [F.single, F.of_single, F.rounded])
def test_float32_is_refused_by_name(f):
    """A cast to a declared type rounds, which no engine follows."""
    for engine in (None, *ENGINES):
        with pytest.raises(UnsupportedError, match=r"(test_declared_types.py|<row \d+>):\d+.*float"):
            contad.value_and_grad(f, engine=engine)(X)
    with pytest.raises(UnsupportedError, match="float"):
        contad.jvp(f, (X,), (1.0,))
    with pytest.raises(UnsupportedError, match="float"):
        contad.derivative(contad.grad(f))(X)


def test_float32_of_constants_is_numbas():
    a = np.array([1.1, 1.3], np.float32)
    value, gradient = contad.value_and_grad(F.of_singles, 1)(a, X)
    assert value == F.of_singles(a, X)
    assert gradient == pytest.approx(F.of_singles(a, 1.0), rel=1e-15)
    with pytest.raises(UnsupportedError, match="float32"):
        contad.value_and_grad(F.of_singles, 1, engine="matrix")(a, X)


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
    assert signatures(F.to_integer) == tuple(F.to_integer.nopython_signatures) and signatures(counted) == ()
    assert declared_names(counted) == {"k": int64} and declared_names(F.to_integer) == {}
    assert numba.typeof(F.to_integer(X)) == int64
