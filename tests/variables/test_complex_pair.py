"""Complex variables as pairs of real ones: construction, writes, views, types, refusals."""

import cmath
import copy
import pickle

import numpy as np
import pytest

import contad
from contad import grad
from contad.errors import LostDerivativeError, OverlapError, UnsupportedError
from contad.testing.differences import derivative_by_differences
from contad.variables.complex_pair import join, split

C = 1.3 - 0.7j
Z = np.array([0.7 + 0.2j, 1.3 - 0.5j, -0.4 + 0.9j])
X = np.array([0.4, -1.1, 0.8])


def zeros_written(z):
    a = np.zeros(3, complex)
    for k in range(3):
        a[k] = z[k] * z[k] * (k + 1j)
    return np.sum(np.abs(a) ** 2)


def parts_assigned(z):
    a = z.copy()
    a.real = a.imag**2
    a.imag[0] = 3 * a.real[1]
    b = a[::-1]
    b.real[0] *= 2.0
    return np.sum(np.abs(a) ** 3) + b.imag[1]


def viewed(z):
    return np.sum(z.view(float) ** 3)


def made_of_parts(x):
    z = complex(x[0], x[1])
    z *= 1j
    z -= complex(x[2])
    return z.real * z.imag + abs(cmath.sqrt(z) * cmath.log(z)) + cmath.phase(z)


def collected(x):
    a = np.array([[x[0] + 1j * x[1], 2.0], [0, x[2] * 3j]], dtype=complex)
    return np.sum(np.abs(a @ a) ** 2)


def full_and_eye(x):
    a = np.eye(3, dtype=complex)
    a[0, 1] = x[0] * 1j
    b = np.full(3, x[1] + 1j)
    b[1] += 2j
    return np.sum(np.abs(a @ b + np.ones(3, complex)))


def converted(x):
    a = x.astype(complex)
    a[0] = 1j * x[1]
    return np.sum(np.abs(np.asarray(a, complex) + 1j)) + np.sum((x.astype(np.complex128) * 1j).imag)


def asked(z):
    assert isinstance(z[0], complex)
    assert not isinstance(z[0], float)
    assert isinstance(z, np.ndarray)
    assert np.iscomplexobj(z)
    assert z.dtype == complex
    return np.sum(np.abs(z))


def vectorized(z):
    return np.sum(np.abs(np.vectorize(lambda t: t * t + 1 if t.real > 0 else t)(z)))


def written_rows(x):
    h = np.zeros((2, 3), dtype=np.complex128)
    h[0] = x
    h[1, :] = 1j * x
    h += 1.0
    return np.sum(np.abs(h.T @ h) ** 2)


def out_given(z):
    out = np.empty(3, complex)
    np.multiply(z, z, out=out)
    return np.sum(np.abs(out) + out.real)


def out_of_real_operands(x):
    out = np.zeros(3, complex)
    np.add(x, 1j, out=out)
    np.multiply(x, x, out=out[:].real)
    np.multiply(out, x, out=out)
    return np.sum(np.abs(out + 1j * x))


def viewed_as_complex(x):
    parts = np.zeros((2, 4))
    parts[:, ::2] = x[:2]
    z = parts.view(complex)
    z[0, 1] *= 2j * x[2]
    parts[1, 3] = x[0]
    return np.sum(np.abs(z * z + x[1])) + np.sum(parts.view(float) ** 3)


def moved(z):
    a = np.stack([z, z[::-1]]).T.reshape(2, 3)
    return np.sum(np.abs(a[:, 1:] * a.ravel()[1]) ** 2)


@pytest.mark.parametrize("f", [zeros_written, parts_assigned, viewed, asked, vectorized, out_given, moved])
def test_functions_of_complex_arrays(f):
    _check(f, Z)


@pytest.mark.parametrize("f", [
    made_of_parts, collected, full_and_eye, converted, written_rows, out_of_real_operands, viewed_as_complex,
])  # fmt: skip
def test_functions_of_real_arrays(f):
    _check(f, X)


def _check(f, x):
    dot = np.array([0.6, -1.2, 0.4]) * (1.0 if x.dtype == float else 0.8 + 0.7j)
    expected = derivative_by_differences(lambda t: f(x + t * dot), 0.0).value
    gradient = grad(f)(x.copy())
    assert gradient.dtype == x.dtype
    assert np.sum((np.conj(gradient) * dot).real) == pytest.approx(expected, rel=1e-8)
    assert contad.jvp(f, (x.copy(),), (dot,))[1] == pytest.approx(expected, rel=1e-8)
    h = 1e-5
    product = (grad(f)(x + h * dot) - grad(f)(x - h * dot)) / (2.0 * h)
    np.testing.assert_allclose(contad.hvp(f)(x.copy(), dot), product, rtol=1e-6, atol=1e-7)


def test_results_share_no_memory_with_operands():
    for operation in (np.conj, lambda z: z + 1.0, lambda z: 1.0 - z, lambda z: z**1, lambda z: z.conj(), np.positive):

        def f(z, operation=operation):
            w = operation(z)
            w.real[...] = 7.0
            w.imag = 0.0
            return np.sum(np.abs(z))

        np.testing.assert_allclose(grad(f)(Z), Z / np.abs(Z))


# ---- refusals --------------------------------------------------------------------------------------------------------
def real_item(x):
    a = np.zeros(3)
    a[0] = 1j * x[0]
    return a


def real_slice(x):
    a = np.zeros(3)
    a[:] = x
    a[:] = 1j * x
    return a


def real_in_place(x):
    a = np.zeros(3)
    a[:] = x
    a += 1j * x
    return a


def real_out(x):
    a = np.zeros(3)
    np.multiply(x, 1j, out=a)
    return a


@pytest.mark.parametrize("f", [real_item, real_slice, real_in_place, real_out])
def test_a_real_array_cannot_hold_complex_numbers(f):
    with pytest.raises((TypeError, LostDerivativeError), match=r"real array|use z\.real"):
        grad(lambda x: np.sum(np.abs(f(x))))(X)


def written_view(z):
    v = z.view(float)
    v[0] = 2.0
    return np.sum(np.abs(z))


def test_a_copy_that_stands_for_a_view_is_not_written_to():
    with pytest.raises(OverlapError, match=r"z\.view\(float\) of a complex variable is a copy; write to z\.real"):
        grad(written_view)(Z)
    with pytest.raises(ValueError, match="the last axis must be divisible by 2"):
        grad(lambda x: np.sum(np.abs(x.view(complex))))(X)
    for dtype in (np.int64, np.complex64):
        with pytest.raises(UnsupportedError, match="view: an array variable has views of float64 and complex128, got"):
            grad(lambda x, dtype=dtype: np.sum(np.abs(x.view(dtype))))(X)


def test_out_that_is_a_plain_array():
    made = np.zeros(3, complex)
    with pytest.raises(LostDerivativeError, match="np.exp: a plain array cannot hold a complex variable"):
        grad(lambda z: np.sum(np.abs(np.exp(z, out=made))))(Z)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (float, TypeError, "float: the argument is a complex variable"),
        (lambda z: {z: 1.0}, TypeError, "unhashable"),
        (lambda z: z < 2.0, TypeError, "have no order"),
        (lambda z: max(z, 2j), TypeError, "have no order"),
        (pickle.dumps, UnsupportedError, r"contad\.value_of"),
        (lambda z: z // 2, TypeError, "unsupported operand"),
        (lambda z: np.hypot(z, 1.0), UnsupportedError, "np.hypot: not supported on complex variables"),
        (lambda z: np.stack([z, z]).astype(float), UnsupportedError, "stays complex128, got float64"),
        (lambda z: np.stack([z, z]).view(np.int64), UnsupportedError, "views of complex128 and float64, got int64"),
        (lambda z: 0j**z, ZeroDivisionError, "power: 0 has no power"),
    ],
)
def test_refusals(f, error, message):
    def g(z):
        f(z)
        return abs(z)

    with pytest.raises(error, match=message):
        grad(g)(-C)


def test_elements_of_object_arrays_refuse_complex_numbers():
    with pytest.raises(UnsupportedError, match="of the engine closures, whose arrays are object arrays"):
        grad(lambda x: np.sum((1j * x).imag), engine="closures")(X)
    found = grad(lambda z: np.sum(np.abs(1j * z + z.imag)), engine="closures")(Z)
    np.testing.assert_allclose(found, grad(lambda z: np.sum(np.abs(1j * z + z.imag)))(Z))


@pytest.mark.parametrize("engine", ["closures", "records"])
@pytest.mark.parametrize("f", [
    lambda x: np.where(x > 0.0, x, Z), lambda x: np.concatenate([x, Z]), lambda x: np.stack([x, Z]),
    lambda x: np.append(x, 1j), lambda x: np.select([x > 0.0], [x], Z), lambda x: np.hstack([Z, x]),
])  # fmt: skip
def test_object_arrays_of_real_and_complex_numbers_keep_their_parts(f, engine):
    g = lambda x: np.sum(f(x).imag) + np.sum(f(x).real ** 2)
    value, gradient = contad.value_and_grad(g, engine=engine)(X)
    assert value == pytest.approx(g(X))
    np.testing.assert_allclose(gradient, grad(g)(X))


def test_a_list_does_not_become_an_object_array_unseen():
    with contad.settings(rewrite=False), pytest.raises(LostDerivativeError, match="np.stack or contad.array"):
        grad(lambda z: np.sum(np.array([z, 2.0 * z]).imag))(C)
    with contad.settings(rewrite=False):
        assert grad(lambda z: np.sum(contad.array([z, 2.0 * z]).imag))(C) == 3.0j


# ---- text, parts -----------------------------------------------------------------------------------------------------
def test_text_and_copies():
    shown = []

    def f(z, c):
        shown.extend((repr(c), f"{c:.2f}", np.array_repr(z), z._repr_html_()))
        assert copy.deepcopy(c) == copy.copy(c) == c
        return abs(c) + np.sum(np.abs(z))

    grad(f, (0, 1))(Z, C)
    assert shown[0].startswith("ComplexNumber(Var(1.3")
    assert shown[1] == "1.30-0.70j"
    assert "0.7+0.2j" in shown[2]
    assert "0.7" in shown[3]


def test_parts():
    for z in (1.5 - 0.0j, complex(-0.0, 2.0), Z):
        x, y = split(z)
        w = join(x, y)
        np.testing.assert_array_equal(w, z)
        np.testing.assert_array_equal(np.signbit(np.imag(w)), np.signbit(np.imag(z)))
    assert split(2.0) == (2.0, 0.0)


def test_debug_nans_names_the_operation():
    with contad.debug_nans(), pytest.raises(contad.NonFiniteError, match="log_abs made -inf"):
        grad(lambda z: abs(np.log(z * 0.0)))(C)
