"""debug_nans names the operation that makes the first nan or infinity, in both modes, and the line that called it."""

import inspect
import threading
import warnings

import numba
import numpy as np
import pytest

import contad
from contad import debug_nans, derivative, grad, jvp
from contad.engines import engine_names
from contad.errors import NonFiniteError

X = np.array([0.7, -1.2, 0.4])


def line_of(f, mark):
    """file:line of the line with a mark in the source of f."""
    lines, start = inspect.getsourcelines(f)
    (k,) = [k for k, line in enumerate(lines) if mark in line]
    return f"{__file__}:{start + k}, in {f.__name__}: {lines[k].strip()}"


def log_of_negative(x):
    y = x * 2.0
    z = np.log(y - 5.0)  # first
    return z * z


def root_at_zero(x):
    y = x - 2.0
    z = np.sqrt(y)  # first
    return z * x + x


def overflow(x):
    y = contad.ops.exp(x)
    z = contad.ops.exp(y * 300.0)  # first
    return 1.0 / z


def stored(x):
    y = contad.ops.digamma(x - x - 1.0)  # first
    return y * x


def quotient(x):
    return x / (x * 0.0)  # first


NUMBERS = [
    (log_of_negative, 2.0, "log made nan"),
    (root_at_zero, 2.0, "the derivative of sqrt made inf"),
    (overflow, 2.0, "exp made inf"),
    (stored, 2.0, "digamma made nan"),
    (quotient, 2.0, "divide made inf"),
]
ways = pytest.mark.parametrize("way", [*engine_names(), "forward"])


def differentiated(f, way):
    return derivative(f) if way == "forward" else grad(f, engine=way)


@ways
@pytest.mark.parametrize(("f", "x", "message"), NUMBERS, ids=lambda v: getattr(v, "__name__", ""))
def test_the_first_operation_on_numbers(f, x, message, way):
    with debug_nans(), pytest.raises(NonFiniteError) as caught:
        differentiated(f, way)(x)
    assert str(caught.value) == f"{message}, called at {line_of(f, '# first')}"


def array_log(x):
    y = np.cumsum(x)
    z = np.log(y)  # first
    return np.sum(z)


def array_root(x):
    y = x + 1.2
    z = np.sqrt(y)  # first
    return np.sum(z * x * x)


def array_product(x):
    a = np.array([[1e200, 0.0, 0.0]] * 3)
    y = a @ (x * 1e200)  # first
    return np.sum(y)


def array_special(x):
    y = contad.gammaln(x - X)  # first
    return np.sum(y)


ARRAYS = [
    (array_log, "log made nan"),
    (array_root, "the derivative of sqrt made inf"),
    (array_product, "matmul made inf"),
    (array_special, "gammaln made inf"),
]


@pytest.mark.parametrize("way", ["matrix", "forward"])
@pytest.mark.parametrize(("f", "message"), ARRAYS, ids=lambda v: getattr(v, "__name__", ""))
def test_the_first_operation_on_arrays(f, message, way):
    call = grad(f) if way == "matrix" else lambda x: jvp(f, (x,), (np.ones(3),))
    with debug_nans(), np.errstate(all="ignore"), pytest.raises(NonFiniteError) as caught:
        call(X)
    assert str(caught.value) == f"{message}, called at {line_of(f, '# first')}"


@ways
def test_finite_numbers_are_those_without_debugging(way):
    def f(x):
        y = np.tanh(x) * contad.erf(x) + contad.ops.logaddexp(x, 0.3)
        return y**3 - x / y

    plain = differentiated(f, way)(0.7)
    with debug_nans():
        assert differentiated(f, way)(0.7) == pytest.approx(plain, rel=1e-14)
        assert differentiated(differentiated(f, way), way)(0.7) == pytest.approx(derivative(derivative(f))(0.7))


def test_arrays_that_are_finite():
    def f(x):
        y = contad.zeros(3)
        y[1:] = x[:-1] * 2.0
        y[0] = x[2]
        return np.sum(np.cumsum(y) * np.exp(x)) + np.mean(x) * (x @ y) + contad.erf(x[0]) * np.max(x)

    plain, hessian = grad(f)(X), contad.hessian(f)(X)
    with debug_nans():
        np.testing.assert_allclose(grad(f)(X), plain, rtol=1e-14)
        np.testing.assert_allclose(contad.hessian(f)(X), hessian, rtol=1e-12, atol=1e-14)


@ways
def test_dead_code_reports_nothing_in_the_sweep(way):
    def f(x):
        return contad.select(x > 1.0, x * x, contad.ops.sqrt(x - x))

    with debug_nans():
        assert differentiated(f, way)(2.0) == 4.0


@ways
def test_infinities_may_pass(way):
    with debug_nans(infinities=False):
        assert differentiated(lambda x: contad.ops.exp(1000.0 * x), way)(2.0) == np.inf
        with pytest.raises(NonFiniteError, match="log made nan"):
            differentiated(log_of_negative, way)(2.0)


def test_an_argument_that_is_nan():
    with debug_nans(), pytest.raises(NonFiniteError, match="an argument of the gradient made nan"):
        grad(np.sum)(np.array([1.0, np.nan]))


def test_callbacks_and_custom_rules_are_named():
    def with_callback(x):
        return contad.make_callback_var(x.value * 2.0, lambda z, adj: adj.add(x, adj[z] * np.inf))

    @contad.custom_vjp
    def custom(x):
        return x

    custom.defvjp(lambda x: (x, None), lambda saved, d: (d * np.inf,))
    with debug_nans():
        with pytest.raises(NonFiniteError, match="the derivative of a callback made inf"):
            grad(with_callback)(2.0)
        with pytest.raises(NonFiniteError, match="the derivative of custom_vjp: custom made inf"):
            grad(custom)(2.0)


def test_the_inside_of_a_checkpoint_is_looked_at():
    with debug_nans(), pytest.raises(NonFiniteError) as caught:
        grad(contad.checkpoint(root_at_zero))(2.0)
    assert str(caught.value) == f"the derivative of sqrt made inf, called at {line_of(root_at_zero, '# first')}"


@numba.njit
def mean_root(x):
    total = 0.0
    for k in range(len(x)):
        total += np.sqrt(x[k])
    return total / len(x)


def test_results_of_compiled_derivatives_are_looked_at():
    x, fine = np.array([0.0, 4.0]), np.array([1.0, 4.0])
    gradient = grad(mean_root)
    for _ in range(2):  # the first call, and one that Numba sends straight to machine code
        assert gradient(x)[0] == np.inf
    calls = [
        (lambda x: gradient(x), "grad: mean_root made inf"),
        (lambda x: contad.value_and_grad(mean_root)(x), "value_and_grad: mean_root made inf"),
        (lambda x: contad.vjp(mean_root, x)[1](1.0), "vjp: mean_root made inf"),
        (lambda x: contad.hessian(mean_root)(x), "hessian: mean_root made -inf"),
    ]
    with debug_nans():
        for call, message in calls:
            call(fine)
            with pytest.raises(NonFiniteError, match=f'^{message}, called at .*by engine="matrix"') as caught:
                call(x)
        assert f"{__file__}:" in str(caught.value)
        with pytest.raises(NonFiniteError, match="the derivative of sqrt made inf"):
            grad(mean_root, engine="matrix")(x)
    with debug_nans(infinities=False):
        assert gradient(x)[0] == np.inf
        with pytest.raises(NonFiniteError, match="made nan"):
            gradient(-fine)
    assert gradient(x)[0] == np.inf and "__call__" not in vars(type(gradient))


def test_compiled_derivatives_of_other_threads_are_left_alone():
    x, found = np.array([0.0, 4.0]), []
    gradient = grad(mean_root)
    with debug_nans():
        thread = threading.Thread(target=lambda: found.append(gradient(x)))
        thread.start()
        thread.join()
        assert found[0][0] == np.inf
        with debug_nans():
            pass
        with pytest.raises(NonFiniteError):
            gradient(x)


def test_a_context_that_is_none_is_said():
    with pytest.warns(UserWarning, match="nothing is looked at without a block") as found:
        debug_nans(True)
    assert found[0].filename == __file__
    with pytest.raises(TypeError, match=r"expected a call, got the class: with contad.debug_nans\(\): "), debug_nans:
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with debug_nans():
            pass


def test_nothing_is_left_behind():
    with debug_nans(), debug_nans(), pytest.raises(NonFiniteError):
        grad(log_of_negative)(2.0)
    with np.errstate(invalid="ignore"):
        assert np.isnan(grad(log_of_negative)(2.0))
        assert np.isnan(derivative(log_of_negative)(2.0))
    assert grad(lambda x: x * x)(3.0) == 6.0


def powers_of_zero(x):
    return np.sum(x**3 + x**4) + np.sum(x**4.0 * x) + np.sum(np.hypot(x, x - x[1]) ** 3.0)


SECOND = {
    "hessian": contad.hessian,
    "jacobian of grad": lambda f: contad.jacobian(grad(f)),
    "jvp of grad": lambda f: lambda x: jvp(grad(f), (x,), (np.ones(2),))[1],
    "closures": lambda f: contad.hessian(f, engine="closures"),
    "records": lambda f: contad.hessian(f, engine="records"),
}


@pytest.mark.parametrize("transform", SECOND.values(), ids=SECOND)
@pytest.mark.parametrize(
    "f", [powers_of_zero, lambda x: x[0] ** 3 + x[0] ** 4 * x[1], lambda x: x[1] / (1.0 + x[0] ** 3)]
)
def test_second_derivatives_that_are_finite(f, transform):
    """A partial divides 0 by 0 in a branch it does not take; cells hold what an earlier gradient left."""
    grad(lambda x: np.sum(x * x))(np.full(64, np.nan))
    x = np.array([0.0, 1.0])
    expected = transform(f)(x)
    assert np.all(np.isfinite(expected))
    with debug_nans():
        np.testing.assert_array_equal(transform(f)(x), expected)


@pytest.mark.parametrize("transform", SECOND.values(), ids=SECOND)
def test_second_derivatives_that_are_not(transform):
    def f(x):
        return x[1] * x[0] ** 1.5  # first

    with debug_nans(), pytest.raises(NonFiniteError) as caught:
        transform(f)(np.array([0.0, 1.0]))
    assert "<contad" not in str(caught.value), caught.value
