"""Transforms, users' rules, trees and tools on arrays of other libraries: as with NumPy, and in the library's type."""

import numpy as np
import pytest

import contad
from contad.errors import NonFiniteError, RuleError, UnsupportedError
from tests.engines.arrays.installed_libraries import library

POINT = np.array([0.7, 1.3, 0.4])
DIRECTION = np.array([1.3, -0.7, 2.1])
LIBRARIES = ("array_api_strict", "torch", "jax", "a fake of CuPy")


# ---- rules of users --------------------------------------------------------------------------------------------------
@contad.custom_vjp
def clipped(x, bound):
    return x * 1.0


clipped.defvjp(lambda x, bound: (x * 1.0, bound), lambda bound, z_bar: (np.clip(z_bar, -bound, bound), None))


@contad.custom_jvp
def weighted(x, y):
    return np.exp(x) * y


@weighted.defjvp
def weighted_jvp(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return np.exp(x) * y, np.exp(x) * (y * x_dot + y_dot)


@contad.scalar_rule(points=[(1.3,)])
def cubed_anywhere(x):
    return x * x * x


@cubed_anywhere.partials
def cubed_anywhere_partials(z, x):
    return 3.0 * x * x


@contad.array_rule(linear=("a",))
def turned_anywhere(a):
    return 2.0 * np.flip(a)


@turned_anywhere.vjp("a")
def turned_anywhere_vjp_a(z, z_bar, a):
    return 2.0 * np.flip(z_bar)


@contad.checkpoint
def stored_again(p):
    return {"u": np.exp(p["a"]) * p["b"], "v": p["a"][0]}


def by_checkpoint(x):
    found = stored_again({"a": x, "b": x * x})
    return np.sum(found["u"]) + found["v"]


FUNCTIONS = {
    "custom_vjp": lambda x: np.sum(clipped(x * x, 0.5) * 3.0),
    "custom_jvp": lambda x: np.sum(weighted(x, x * x)),
    "scalar_rule": lambda x: np.sum(cubed_anywhere(x)),
    "array_rule": lambda x: np.sum(turned_anywhere(x) * x),
    "checkpoint": by_checkpoint,
    "scan": lambda x: contad.scan(lambda c, y: (c * y, c), x[0], x)[0],
    "write to an argument": lambda x: overwrite(x),
    "number": lambda x: np.sum(2.0**x + x**3.0 + np.float64(1.5) * x),
}


def overwrite(x):
    x[0] = 2.0 * x[1]
    return np.sum(x * x)


@pytest.mark.parametrize(("name", "what"), [(name, what) for name in LIBRARIES for what in FUNCTIONS])
def test_gradients_and_hessians(name, what):
    if (name, what) == ("jax", "write to an argument"):
        pytest.skip("arrays of JAX cannot be written to")
    make, back = library(name)
    f = FUNCTIONS[what]
    x = make(POINT)
    found = contad.grad(f)(x)
    assert type(found) is type(x) and found.dtype == x.dtype
    np.testing.assert_allclose(back(found), contad.grad(f)(POINT), rtol=1e-12)
    if name != "jax" and what in ("custom_jvp", "scalar_rule", "checkpoint", "write to an argument"):
        np.testing.assert_allclose(back(contad.hessian(f)(x)), contad.hessian(f)(POINT), rtol=1e-12, atol=1e-12)


def test_numpy_by_this_engine_takes_rules_of_users():
    for f in FUNCTIONS.values():
        np.testing.assert_allclose(contad.grad(f, engine="arrays")(POINT), contad.grad(f)(POINT), rtol=1e-12)


def test_a_cotangent_of_a_wrong_shape_is_refused():
    @contad.custom_vjp
    def wrong(x):
        return x * 1.0

    wrong.defvjp(lambda x: (x * 1.0, x), lambda x, z_bar: (np.sum(z_bar),))
    with pytest.raises(RuleError, match=r"must have shape \(3,\), got shape \(\)"):
        contad.grad(lambda x: np.sum(wrong(x)))(library("torch")[0](POINT))


# ---- transforms ------------------------------------------------------------------------------------------------------
def outer(x):
    return np.exp(x) * x[0]


def total(x):
    return np.sum(np.exp(x) * np.sin(x * x[0]))


CALLS = {
    "vjp": lambda x, v: contad.vjp(outer, x)[1](v)[0],
    "jvp": lambda x, v: contad.jvp(outer, (x,), (v,))[1],
    "linearize": lambda x, v: contad.linearize(outer, x)[1](v),
    "hvp": lambda x, v: contad.hvp(total)(x, v),
    "jacfwd": lambda x, v: contad.jacfwd(outer)(x),
    "jacrev": lambda x, v: contad.jacrev(outer)(x),
    "elementwise_grad": lambda x, v: contad.elementwise_grad(np.exp)(x),
    "value_and_grad": lambda x, v: contad.value_and_grad(total)(x)[1],
    "has_aux": lambda x, v: contad.grad(lambda x: (total(x), x * 2.0), has_aux=True)(x)[1],
    "trees": lambda x, v: contad.grad(lambda p: np.sum(p["a"] * p["b"][0] ** 2))({"a": x, "b": [v]})["b"][0],
    "several": lambda x, v: contad.grad(lambda x, y, s: np.sum(x * y) * s, (0, 1))(x, v, 2.0)[1],
}


@pytest.mark.parametrize(("name", "what"), [(name, what) for name in LIBRARIES for what in CALLS])
def test_transforms_return_the_arrays_of_the_library(name, what):
    make, back = library(name)
    x, v = make(POINT), make(DIRECTION)
    found = CALLS[what](x, v)
    assert type(found) is type(x)
    np.testing.assert_allclose(back(found), CALLS[what](POINT, DIRECTION), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_slope_of_a_number_is_a_number(name):
    make, _ = library(name)
    found = contad.grad(lambda p: np.sum(p["a"]) * p["c"] + p["c"] ** 2)({"a": make(POINT), "c": 2.0})
    assert isinstance(found["c"], float) and found["c"] == pytest.approx(POINT.sum() + 4.0)


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1", "device2"])
def test_transforms_stay_on_the_device(device):
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    device = xp.Device(device)
    x, v = (xp.asarray(a.tolist(), dtype=xp.float64, device=device) for a in (POINT, DIRECTION))
    for what, call in CALLS.items():
        assert call(x, v).device == device, what
    for what, f in FUNCTIONS.items():
        assert contad.grad(f)(x).device == device, what


def test_gradients_share_no_memory():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, y = torch.tensor(POINT), torch.tensor(DIRECTION)
    first, second = contad.grad(lambda x, y: np.sum(x + y), (0, 1))(x, y)
    first[0] = 7.0
    assert second[0] == 1.0 and first.is_contiguous()
    seed = torch.ones(3, dtype=torch.float64)
    (found,) = contad.vjp(lambda x: x + 1.0, x)[1](seed)
    found[0] = 7.0
    assert seed[0] == 1.0


def test_dead_code_passes_nothing_on():
    def f(x):
        return np.sum(np.where(x > 0.0, x * np.log(np.where(x > 0.0, x, 0.0)), 0.0))

    for name in ("torch", "jax", "array_api_strict"):
        make, back = library(name)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(back(contad.grad(f)(make(np.array([0.0, 2.0])))), [0.0, 1.0 + np.log(2.0)])


def test_a_nan_stays_a_nan():
    make, back = library("torch")
    found = back(contad.grad(lambda x: np.sum(np.sqrt(x) * np.exp(x * x)))(make(np.array([-1.0, 1.0]))))
    assert np.isnan(found[0]) and np.isfinite(found[1])


# ---- movements and writes --------------------------------------------------------------------------------------------
def write_to_copies(x):
    rolled, low, largest, turned = np.roll(x, 1, axis=0), np.tril(x), np.max(x, axis=0, keepdims=True), x.T.reshape(-1)
    rolled[0, 0] = 0.0
    low[1, 0] = 3.0 * x[0, 0]
    largest[0] = 2.0
    turned[2] = x[1, 1]
    return np.sum(rolled**2) + np.sum(low**3) + np.sum(largest * x) + np.sum(turned**2) + np.sum(x**3)


def write_to_views(x):
    flat, row, turned = x.reshape(-1), x[1], x.T
    flat[1] *= 2.0
    row[0] = flat[2] * 3.0
    turned[2, 2] = 5.0 * turned[1, 1]
    return np.sum(flat**2) + np.sum(row**3) + np.sum(turned**3)


MOVES = {
    "pad": lambda x: np.sum(np.pad(x, 1, constant_values=1.5) ** 2), "diag": lambda x: np.sum(np.diag(x[0]) ** 2),
    "hstack": lambda x: np.sum(np.hstack([x, x])[:, 2:5] ** 2), "rot90": lambda x: np.sum(np.rot90(x) * x),
    "einsum": lambda x: np.sum(np.einsum("ii->i", x) ** 2) + np.sum(np.einsum("ij->ji", x) * x),
    "heaviside": lambda x: np.sum(np.heaviside(x - 0.5, 0.5) * x),
    "insert": lambda x: np.sum(np.insert(x[0], 1, 0.5) ** 2), "writes to copies": write_to_copies,
    "writes to views": write_to_views,
}  # fmt: skip
SPECTRA = {
    "eigh": lambda a: np.sum(np.linalg.eigh(a + a.T)[0] ** 3),
    "vectors": lambda a: np.sum(np.linalg.eigh(a + a.T)[1] ** 4),
    "one triangle": lambda a: np.sum(np.linalg.eigvalsh(a, UPLO="U") ** 3) + np.sum(np.linalg.eigvalsh(a) ** 3)
    + np.sum(np.linalg.cholesky(a @ a.T + np.triu(a, 1)) ** 3),
    "svd": lambda a: np.sum(np.linalg.svd(a, full_matrices=False)[0] ** 4) + np.linalg.norm(a, "nuc"),
}
MATRIX = np.array([[1.3, 0.7, 2.1], [0.4, 1.9, 1.1], [0.8, 0.35, 1.6]])


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_moved_elements_and_spectra(name):
    make, back = (np.copy, np.copy) if name == "numpy" else library(name)
    for what, f in (MOVES | SPECTRA).items():
        if name == "jax" and "writes" in what:
            continue
        found = contad.grad(f, engine="arrays")(make(MATRIX))
        np.testing.assert_allclose(back(found), contad.grad(f)(MATRIX), rtol=1e-8, atol=1e-9, err_msg=what)


# ---- tools -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LIBRARIES)
def test_debug_nans_names_the_operation(name):
    make, _ = library(name)
    x = make(POINT)
    with contad.debug_nans(), np.errstate(all="ignore"):
        contad.grad(total)(x)
        with pytest.raises(NonFiniteError, match=r"log made nan.*test_library_transforms.*np\.log"):
            contad.grad(lambda x: np.sum(np.log(x - 1.0)))(x)
        with pytest.raises(NonFiniteError, match="the derivative of sqrt made inf"):
            contad.grad(lambda x: np.sum(np.sqrt(x - 0.4)))(x)
        with pytest.raises(NonFiniteError, match="an argument of the gradient made nan"):
            contad.grad(total)(make(np.array([1.0, np.nan])))


def test_explain_names_the_engine():
    assert str(contad.explain(total, library("torch")[0](POINT))) == "grad: total: engine arrays, on variables"


def test_the_stack_can_be_shown():
    shown = []

    def f(x):
        z = np.sum(np.sqrt(x) * x)
        shown.append(str(contad.show_stack(z._owner)))
        return z

    contad.grad(f)(library("torch")[0](POINT))
    lines = [line.split()[:4] for line in shown[0].splitlines()[1:]]
    assert lines == [["1", "input"], ["2", "sqrt", "1"], ["3", "multiply", "2", "1"], ["4", "sum", "3"]]


# ---- functions of the libraries themselves ---------------------------------------------------------------------------
def test_functions_of_jax_numpy_are_refused_by_name():
    make, _ = library("jax")
    jnp = pytest.importorskip("jax.numpy")
    for call in (jnp.sum, jnp.exp, make(POINT).__array_namespace__().sin):
        with pytest.raises(UnsupportedError, match=r"functions of jax\.numpy take no variables; write NumPy's"):
            contad.grad(lambda x, call=call: np.sum(call(x)))(make(POINT))


def test_an_array_of_numpy_beside_a_tensor_is_refused():
    with pytest.raises(UnsupportedError, match=r"an array of NumPy beside one of torch.*xp\.asarray"):
        contad.grad(lambda x: np.sum(POINT * x))(library("torch")[0](POINT))
