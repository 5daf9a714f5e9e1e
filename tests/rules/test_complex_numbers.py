"""Complex numbers beside real variables: a right gradient of the whole, or a refusal by name; no part is dropped."""

import re

import numpy as np
import pytest

import contad
from contad import custom_jvp, custom_vjp, derivative, function_gradients, grad, hessian, jvp, record, vjp
from contad.engines import engine_names
from contad.errors import ContadError, RuleError, UnsupportedError
from contad.rules.array_rule import array_rule
from contad.rules.scalar_rule import scalar_rule
from contad.testing.differences import derivative_by_differences
from contad.variables.trees import flatten, map_leaves
from tests.judges.planted import registered

X = np.array([1.0, 2.0, 3.5, 4.0])
DOT = np.array([0.7, -0.4, 1.1, 0.3])
TURNED = np.exp(0.7j * np.arange(4))
A_NUMBER = 2j


@pytest.fixture
def transformed():
    """np.fft.fft with a rule, as a user may think of it."""
    with registered():

        @array_rule(numpy=np.fft.fft)
        def transformed_here(a):
            return np.fft.fft(a)

        @transformed_here.vjp("a")
        def vjp_a(z, z_bar, a):
            return z_bar * 1.0

        @transformed_here.jvp
        def jvp_a(z, a_dot, a):
            return a_dot * 1.0

        yield transformed_here


def power(x):
    z = np.fft.fft(x)
    return np.sum(z.real**2 + z.imag**2)


TRANSFORMS = {
    "grad": lambda f: grad(f)(X), "jvp": lambda f: jvp(f, (X,), (X,)), "vjp": lambda f: vjp(f, X),
    "hessian": lambda f: hessian(f)(X), "jacobian": lambda f: contad.jacobian(f)(X), "record": lambda f: record(f, X),
    "several": lambda f: jvp(f, (X,), (np.eye(4),), several=True), "linearize": lambda f: contad.linearize(f, X),
    "debug_nans": lambda f: _under_debug_nans(f),
}  # fmt: skip


def _under_debug_nans(f):
    with contad.debug_nans():
        return grad(f)(X)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_complex_value_of_a_rule(transformed, transform):
    assert power(X) == pytest.approx(133.0)
    with pytest.raises(UnsupportedError, match="transformed_here: its value must be real, got an array of complex"):
        TRANSFORMS[transform](power)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("what", ["array", "one of two", "number", "of constants"])
def test_a_complex_value_of_a_rule_on_every_engine(what, engine):
    value = {
        "array": lambda a: a * TURNED, "one of two": lambda a: (a * 2.0, a * TURNED), "number": lambda a: 1j * a[0],
        "of constants": lambda a: a * TURNED,
    }[what]  # fmt: skip
    with registered():

        @array_rule
        def value_here(a):
            return value(a)

        @value_here.vjp("a")
        def vjp_a(z, z_bar, a):
            return a

        def f(x):
            z = value_here(contad.full(4, 1.0) if what == "of constants" else x)
            return np.sum(np.real(z[0] if what == "one of two" else z)) + x[0]

        if what == "of constants" and engine != "matrix":
            assert grad(f, engine=engine)(X).tolist() == [1.0, 0.0, 0.0, 0.0]  # a plain call, of plain numbers
            return
        with pytest.raises(UnsupportedError, match="value_here: its value must be real, got "):
            grad(f, engine=engine)(X)


@pytest.mark.parametrize("engine", engine_names())
def test_complex_derivatives_of_a_rule(engine):
    with registered():

        @array_rule
        def doubled_here(a):
            return a * 2.0

        @doubled_here.vjp("a")
        def vjp_a(z, z_bar, a):
            return z_bar * TURNED

        @doubled_here.jvp
        def jvp_a(z, a_dot, a):
            return a_dot * TURNED

        with pytest.raises(UnsupportedError, match=r"doubled_here: vjp\('a'\) must be real, got an array of complex"):
            grad(lambda x: np.sum(doubled_here(x)), engine=engine)(X)
        with pytest.raises(UnsupportedError, match="doubled_here: its tangent must be real, got an array of complex"):
            jvp(doubled_here, (X,), (X,))


@pytest.mark.parametrize("engine", engine_names())
def test_a_rule_may_save_complex_numbers(engine):
    by_vjp = custom_vjp(lambda a: np.abs(np.fft.fft(a)) ** 2)
    by_vjp.defvjp(
        lambda a: (np.abs(np.fft.fft(a)) ** 2, np.fft.fft(a)),
        lambda saved, d: (2.0 * np.fft.fft(np.conj(saved) * d).real,),
    )
    np.testing.assert_allclose(grad(lambda x: np.sum(by_vjp(x)), engine=engine)(X), 8.0 * X)


def literal_partials(z, x):
    return 2j


def global_partials(z, x):
    return x * A_NUMBER


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize(("body", "name"), [(literal_partials, "2j"), (global_partials, "A_NUMBER")])
def test_complex_partials_of_a_scalar_rule(body, name, engine):
    with registered():

        @scalar_rule
        def doubled_number(x):
            return 2.0 * x

        doubled_number.partials(body)
        for f, x in ((doubled_number, 1.0), (lambda x: np.sum(doubled_number(x)), X)):
            with pytest.raises(RuleError, match=f"{name} is not a real number"):
                grad(f, engine=engine)(x)
            with pytest.raises(RuleError, match=f"{name} is not a real number"):
                derivative(f)(1.0)


def _custom(forward, backward=lambda s, d: (d,)):
    rule = custom_vjp(lambda x: forward(x)[0])
    rule.defvjp(lambda x: forward(x), lambda s, d: backward(s, d))
    return rule


def _pushed(rule):
    made = custom_jvp(lambda x: rule((x,), (x,))[0])
    made.defjvp(lambda primals, tangents: rule(primals, tangents))
    return made


def _written(write):
    def f(x):
        y = x.copy()
        write(y)
        return np.sum(y) + x[0]

    return f


def _assigned(z, x):
    z[:] = x
    return z.real


MEETINGS = {
    "value of custom_vjp": lambda x: np.real(_custom(lambda x: (x * 1j, None))(x)),
    "cotangent of custom_vjp": lambda x: _custom(lambda x: (x * 2.0, None), lambda s, d: (d * 1j,))(x),
    "value of custom_jvp": lambda x: np.real(_pushed(lambda p, t: (p[0] * 1j, t[0]))(x)),
    "tangent of custom_jvp": lambda x: _pushed(lambda p, t: (p[0] * 2.0, t[0] * 1j))(x),
    "value of function_gradients": lambda x: function_gradients((x,), lambda x: x * 1j, (lambda z, d, x: d,)).imag,
    "gradient": lambda x: function_gradients((x,), lambda x: x * 1.0, (lambda z, d, x: d * 1j,)),
    "checkpoint": lambda x: contad.checkpoint(lambda x: x * 1j)(x).imag, "number by array": lambda x: (1j * x).imag,
    "array by array": lambda x: (x * TURNED).real, "array by number": lambda x: (TURNED * x[0]).real,
    "np.complex64": lambda x: (x * np.complex64(1j)).real, "numbers": lambda x: (x[0] * 1j).imag,
    "sum": lambda x: sum([x[0], 1j]).real, "ufunc": lambda x: np.multiply(x, 1j).imag,
    "matmul": lambda x: (np.outer(TURNED, TURNED) @ x).real, "einsum": lambda x: np.einsum("i,i->", TURNED, x).real,
    "where": lambda x: np.where(x > 2.1, x, 1j).real, "concatenate": lambda x: np.concatenate([x, TURNED]).real,
    "pad": lambda x: np.pad(x, 1, constant_values=1j),
    "pad by two": lambda x: np.pad(x, 1, constant_values=[(0.0, 1j)]), "insert": lambda x: np.insert(x, 0, 1j),
    "append": lambda x: np.append(x, 1j).real, "weights": lambda x: np.average(x, weights=TURNED).real,
    "convolve": lambda x: np.convolve(x, TURNED).real, "solve": lambda x: np.linalg.solve(np.eye(4) * 1j, x).imag,
    "an array of zeros": lambda x: _assigned(np.zeros_like(x, dtype=complex), x),
    "copyto": _written(lambda y: np.copyto(y, TURNED)), "clip": lambda x: np.clip(x, 1j, 3.0),
    "in place": _written(lambda y: y.__iadd__(1j)), "write of a number": _written(lambda y: y.__setitem__(0, 1j)),
    "write of an array": _written(lambda y: y.__setitem__(slice(None), TURNED)),
    "write of a list": _written(lambda y: y.__setitem__(slice(None), [1j, 2.0, 3.0, 4.0])),
    "fill": _written(lambda y: y.fill(1j)), "put": _written(lambda y: np.put(y, [0], [1j])),
    "add.at": _written(lambda y: np.add.at(y, [0], 1j)), "astype": lambda x: x.astype(complex).real,
    "contad.array": lambda x: contad.array([x[0], 1j]).real,
}  # fmt: skip


NEVER_REFUSED = (
    "number by array", "array by array", "array by number", "np.complex64", "numbers", "sum", "ufunc", "matmul",
    "einsum", "where", "concatenate", "append", "weights", "convolve", "solve", "astype", "an array of zeros",
    "checkpoint",
)  # fmt: skip
REFUSED = "real|complex|no forward mode|holds? variables|cannot hold|would be lost"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", [*engine_names(), "forward"])
@pytest.mark.parametrize("what", MEETINGS)
def test_a_complex_number_meets_a_variable(what, way):
    f = lambda x: np.sum(MEETINGS[what](x))
    found, refusal = None, None
    try:
        found = jvp(f, (X,), (DOT,))[1] if way == "forward" else np.dot(grad(f, engine=way)(X), DOT)
    except (ContadError, TypeError) as error:
        refusal = str(error)
    if refusal is not None:
        assert what not in NEVER_REFUSED or way in ("closures", "records")
        assert re.search(REFUSED, refusal)
        return
    expected = derivative_by_differences(lambda t: f(X + t * DOT), 0.0).value
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("argument", [1j, X * 1j, {"a": X, "b": X * 1j}, [1.0, 1j], np.array([1.0, 1j], object)])
def test_the_gradient_has_the_structure_of_complex_arguments(argument, engine):
    found = grad(lambda x: 1.0, engine=engine)(argument)
    zeros = map_leaves(lambda x: 0.0 * x, argument)
    assert flatten(found).matches(flatten(zeros))
    assert all(np.all(leaf == 0.0) for leaf in flatten(found).leaves)


# ---- rules of spectra ------------------------------------------------------------------------------------------------
def test_a_real_rule_of_a_spectrum():
    magnitudes = custom_vjp(lambda x: np.abs(np.fft.fft(x)))
    backward = lambda saved, d: (np.fft.fft(d * np.conj(saved) / np.abs(saved)).real,)
    magnitudes.defvjp(lambda x: (np.abs(np.fft.fft(x)), np.fft.fft(x)), backward)
    contad.testing.check_grads(lambda x: magnitudes(x) * x, (X,), order=1)
