"""Numbers as Python and NumPy objects: conversions, comparisons, ufuncs, object arrays, errors that name the fix."""

import copy
import math
import pickle

import numpy as np
import pytest

import contad
from contad.errors import LostDerivativeError, UnsupportedError
from contad.variables.number import as_float, map_numbers, primal, scale
from tests.judges.refusals import refused

FLOATS = np.zeros(2)  # which has no room for variables


@pytest.fixture(params=["variable", "dual", "dual of variable"])
def number(request):
    """A number of value 1.7 of each kind."""
    from contad.engines.forward import forward_level

    x = contad.var(1.7)
    with forward_level() as level:
        dual, outer = as_float(level.dual(1.7, 1.0)), as_float(level.dual(x, 1.0))
        yield {"variable": x, "dual": dual, "dual of variable": outer}[request.param]


IN_GENERAL = r"use np\.exp for math\.exp"


@pytest.mark.parametrize(("lose", "fix"), [
    (float, IN_GENERAL), (math.exp, r"use np\.exp, or give it"), (math.sqrt, r"use np\.sqrt, or give it"),
    (lambda v: np.zeros(2).__setitem__(0, v), IN_GENERAL), (lambda v: np.array([v], dtype=float), IN_GENERAL),
])  # fmt: skip
def test_losing_a_derivative_is_an_error_that_names_the_fix(number, lose, fix):
    with refused(LostDerivativeError, match=fix):
        lose(number)


def test_complex_numbers_beside_it(number):
    with refused(LostDerivativeError, match=r"write x \+ 1j \* y"):
        complex(number)
    x = primal(number)
    for operation in (lambda x: x * 1j, lambda x: 1j + x, lambda x: x / np.complex128(2j)):
        z = operation(number)
        assert complex(primal(z.real), primal(z.imag)) == operation(x)


def test_other_operands_are_left_to_python(number):
    for operand in (None, {}):
        with refused(TypeError):
            number + operand
    for operand in ("a", [1.0]):  # which Python would repeat for a product, and which are arrays to NumPy
        with refused(UnsupportedError, match="add: y must be a number or an array, got (str|list)"):
            number + operand
    with refused(UnsupportedError, match="exp: x must be a real number, got str"):
        contad.ops.exp("a")
    with refused(UnsupportedError, match="hypot: y must be a real number, got object"):
        contad.ops.hypot(number, object())
    with refused(TypeError, match="hypot: expected 2 argument"):
        contad.ops.hypot(number)


def test_integer_conversions_are_constants(number):
    assert [int(number), math.floor(number), math.ceil(number), math.trunc(number), round(number)] == [1, 1, 2, 1, 2]
    assert all(type(f(number)) is int for f in (int, math.floor, math.ceil, math.trunc, round))


def test_comparisons_are_of_primals(number):
    assert number > 1 and number >= 1.7 and number < np.float64(2) and number < 2 and number == 1.7 and number != 1
    assert not number < 1.7 and np.float32(1) < number and np.int64(2) > number
    assert type(number > 1) is bool and type(np.float64(2) > number) is np.bool_ and (number == "a") is False
    assert bool(number) and not bool(number * 0.0) and sorted([number * 2.0, number])[0] is number
    assert not contad.var(math.nan) == math.nan


def test_numpy_predicates(number):
    assert np.isfinite(number) is np.True_ and np.isnan(number) is np.False_ and np.signbit(-number) is np.True_
    assert (np.array([1.0, 2.0]) < number).tolist() == [True, False]
    assert np.less(number, [1.0, 2.0]).tolist() == [False, True]


def test_unhashable_unpicklable_and_copied_as_itself(number):
    with refused(UnsupportedError, match="unhashable"):
        hash(number)
    with refused(UnsupportedError, match="pickle"):
        pickle.dumps(number)
    assert copy.copy(number) is number and copy.deepcopy([number])[0] is number


def test_formatting(number):
    assert f"{number:.2f}" == "1.70" and "1.7" in repr(number) and f"{number}" == repr(number)


def test_attributes(number):
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        _ = number.foo
    assert number.exp().value == contad.ops.exp(number).value


def test_compiled_functions_are_refused_with_the_way_out(number):
    import numba

    with refused(UnsupportedError, match="py_func"):
        numba.njit(lambda x: x * x)(number)


def test_ufuncs_dispatch_to_rules():
    f = lambda x: np.exp(x) + np.float64(2) * x + np.hypot(x, 1) - np.arctan2(1.0, x) + np.power(x, 2) + np.absolute(-x)
    x = 1.3
    expected = math.exp(x) + 2 + x / math.hypot(x, 1) + 1 / (1 + x * x) + 2 * x + 1
    assert contad.grad(f)(x) == pytest.approx(expected, rel=1e-14)
    assert contad.derivative(f)(x) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("call", "message"), [
    (lambda v: np.add(v, 1.0, out=FLOATS[:1]), "write a = a [+] v"),
    (lambda v: FLOATS.__iadd__(v), "write a = a [+] v"),
    (lambda v: contad.ops.exp(np.array(["a"])), "exp: expected arrays of real numbers"),
])  # fmt: skip
def test_unsupported_numpy_calls_are_refused_by_name(call, message):
    with pytest.raises((UnsupportedError, LostDerivativeError), match=message):
        call(contad.var(1.5))


def test_object_arrays_of_variables_follow_numpy():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        y = a @ np.exp(x) + 1.5 * x[::-1] - np.sqrt(x)
        y[0] = y[1] * x[0]
        return np.sum(y * y) + np.mean(x) * np.dot(x, x)

    x = np.array([0.4, 0.9])
    step = 1e-30
    differences = [np.imag(f(x + 1j * step * e)) / step for e in np.eye(2)]
    for engine in ("closures", "records"):
        assert contad.grad(f, engine=engine)(x) == pytest.approx(differences, rel=1e-13)


def test_scalar_and_object_array_mix():
    x, s = np.array([0.4, 0.9]), 1.3
    gx, gs = contad.grad(lambda x, s: (s * x + x / s - (1.0 - s)).sum() + contad.ops.tanh(x * s).sum(), (0, 1))(x, s)
    t = np.tanh(x * s)
    assert gx == pytest.approx(s + 1 / s + (1 - t * t) * s)
    assert gs == pytest.approx((x - x / s**2 + 1 + (1 - t * t) * x).sum())


def test_rules_keep_plain_kinds():
    assert (
        type(contad.ops.exp(1)) is float
        and type(contad.ops.exp(1.0)) is float
        and type(contad.ops.exp(np.float64(1))) is np.float64
    )
    assert contad.ops.exp(np.array([0, 1])).dtype == float and contad.ops.hypot(3, [4.0, 0.0]) == [5.0, 3.0]


def test_round_to_digits():
    assert contad.value_and_grad(lambda x: round(x, 1) * x)(3.14) == (pytest.approx(3.1 * 3.14), pytest.approx(3.1))
    assert contad.grad(lambda x: np.round(x, 1) * x)(3.14) == pytest.approx(3.1)


def test_divmod():
    assert contad.grad(lambda x: divmod(x, 2.0)[1] * 3.0 + divmod(7.0, x)[0])(3.5) == 3.0


def test_value_of_lowers_one_level_and_primal_all():
    x = contad.var(2.0)
    with contad.nested():
        y = contad.var(x * 3.0)
        assert contad.value_of(y).value == 6.0 and contad.value_of_rec(y) == 6.0 and contad.primal(y) == 6.0
        assert contad.value_of_rec({"a": [y, (x,)]}) == {"a": [6.0, (2.0,)]}
        assert contad.value_of_rec(np.array([y, x])).dtype == float and contad.stop_gradient([y]) == [6.0]
    assert map_numbers(contad.primal, "text") == "text"


def test_zero_adjoints_mask_only_nonfinite_partials():
    assert scale(0.0, math.inf) == 0.0 and scale(2.0, 3.0) == 6.0 and math.isnan(scale(0.0, 1.0) * math.nan)
    assert scale(2.0, math.inf) == math.inf
    x = contad.var(0.0)  # a zero whose derivative is not zero is multiplied, not dropped
    assert contad.gradient(scale(x, 5.0), [x]) == [5.0]


def test_statistics_of_object_arrays():
    x = np.array([0.4, 0.9, -1.3])
    for f in (np.var, np.std, lambda x: np.vdot(x, x), lambda x: x[0].item() * x[1].real):
        h = 1e-6
        differences = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
        assert contad.grad(f)(x) == pytest.approx(differences, rel=1e-8, abs=1e-9)


def test_a_ufunc_of_somebodys_own_is_named_as_it_is():
    mine = np.frompyfunc(lambda x: x, 1, 1)
    with pytest.raises(UnsupportedError, match=r"^<lambda> \(vectorized\): contad has no derivative rule"):
        mine(contad.var(1.0))


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("part", ["0:2", "0:0", "z > 5.0", "..."])
@pytest.mark.parametrize("operate", ["*=", "+=", "-=", "/="])
def test_arrays_of_objects_are_changed_in_place_by_a_number(engine, part, operate):
    scope = {"np": np}
    exec(f"def f(x):\n    z = x * 1.0\n    z[{part}] {operate} x[0]\n    np.exp(z, out=z)\n    return np.sum(z)", scope)
    x = np.array([0.3, 0.7, 1.1])
    moved = np.eye(3) * 1e-6
    slope = [(scope["f"](x + d) - scope["f"](x - d)) / 2e-6 for d in moved]
    np.testing.assert_allclose(contad.grad(scope["f"], engine=engine)(x), slope, rtol=1e-7)
