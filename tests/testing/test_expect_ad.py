"""The checker is checked: every leg fails on a rule, function or engine that is wrong in its way, and names it."""

import dataclasses
import itertools
import math
import re
import sys

import numpy as np
import pytest
from numba import njit

import contad
from contad import ops, scalar_rule, stop_gradient
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.second_order import second_order_records
from contad.engines.stream import pullbacks
from contad.engines.stream.pullbacks import accumulate
from contad.engines.stream.sweep import sweep_source
from contad.testing import AdTolerances, Tolerances, check_grads, expect_ad
from contad.variables.dual import ArrayDual, Dual, ForwardLevel
from contad.variables.number import Number
from contad.variables.var import Var
from tests.judges.planted import PlantedStack, body_of, compiled, engines, registered

class_of = type  # by another name, as functions that are differentiated ask for what a variable stands for


@pytest.fixture(autouse=True)
def _planted_rules_go():
    with registered():
        yield


def sine(body, **known):
    """A rule with the value sin x and these partials."""

    @scalar_rule
    def planted(x):
        return math.sin(x)

    planted.partials(body_of(body, **known))
    return planted


def ratio(body):
    """A rule with the value x / y and these partials."""

    @scalar_rule
    def planted(x, y):
        return x / y

    planted.partials(body_of(body))
    return planted


def constant_of():
    """A rule with the value x and no derivative at any order."""

    @scalar_rule
    def planted_constant(x):
        return x

    @planted_constant.partials
    def planted_constant_partials(z, x):
        return 0.0

    return planted_constant


def failure(f, *args, **options):
    """The message with which expect_ad refuses f."""
    with pytest.raises(AssertionError) as caught:
        expect_ad(f, *args, **options)
    message = str(caught.value)
    assert message.startswith(f"{f.__name__}(") and "): leg " in message
    return message


# ---- wrong rules -----------------------------------------------------------------------------------------------------
def test_right_rules_pass():
    expect_ad(sine("z, x: ops.cos(x)"), 0.7, order=3)
    expect_ad(ratio("z, x, y: (1.0 / y, -z / y)"), 1.3, -0.7, order=3)


@pytest.mark.parametrize(("rule", "partials", "args", "message"), [
    (sine, "z, x: -ops.cos(x)", (0.7,), "closures, argument x: expected 0.764842187.*got -0.764842187284488"),
    (sine, "z, x: 1.001 * ops.cos(x)", (0.7,), "closures, argument x"),
    (ratio, "z, x, y: (-z / y, 1.0 / y)", (1.3, -0.7), "closures, argument x"),
    (ratio, "z, x, y: (0.0, -z / y)", (1.3, -0.7), "closures, argument x"),
    (ratio, "z, x, y: (1.0 / y, 0.0)", (1.3, -0.7), "closures, argument y"),
    (sine, "z, x: ops.log(-ops.absolute(x))", (0.7,), "closures, argument x: expected 0.7648421872844.*got nan$"),
], ids=["flipped sign", "one per mille", "swapped", "first dropped", "second dropped", "nan"])  # fmt: skip
def test_wrong_partials(rule, partials, args, message):
    found = failure(rule(partials), *args)
    assert "leg gradient, engine closures" in found and re.search(f"leg gradient, engine {message}", found)


def test_a_declared_nan_is_that_of_the_differences():
    assert failure(sine("z, x: ops.log(-ops.absolute(x))"), 0.7, nan=True).endswith("got nan")


def test_partial_that_is_right_at_one_point():
    """Every leg on values agrees with 1 / 1.7 there, and every difference of it with a zero."""
    rule = ratio("z, x, y: (1.0 / 1.7, -z / y)")
    assert "leg symmetry, engine closures, argument x: expected 0.21329767824" in failure(rule, 1.3, 1.7)
    assert "leg gradient, engine closures" in failure(rule, 1.3, 1.6)
    expect_ad(rule, 1.3, 1.7, order=1)  # which takes no second derivatives


def test_array_rule_that_is_right_at_one_point():
    @contad.array_rule
    def planted_sum_of_products(a, b):
        return np.sum(a * a * b)

    @planted_sum_of_products.vjp("a")
    def vjp_a(z, z_bar, a, b):
        return 2.0 * z_bar * a * b

    @planted_sum_of_products.vjp("b")
    def vjp_b(z, z_bar, a, b):
        return z_bar * V2

    @planted_sum_of_products.jvp
    def tangent(z, a_dot, b_dot, a, b):
        return np.sum(2.0 * a * b * a_dot + V2 * b_dot)

    found = failure(planted_sum_of_products, V, V + 1.0)
    assert "leg symmetry, engine closures, argument a (number 0) and b (number 0): expected 0.0, got " in found


def test_partial_detached_from_outer_levels():
    constant = constant_of()
    found = failure(sine("z, x: ops.cos(constant(x))", constant=constant), 0.7)
    assert "leg hessian, engine closures over closures, argument x" in found


def test_second_derivative_detached_from_outer_levels():
    constant = constant_of()

    @scalar_rule
    def planted_cosine(x):
        return math.cos(x)

    @planted_cosine.partials
    def planted_cosine_partials(z, x):
        return -ops.sin(constant(x))

    rule = sine("z, x: planted_cosine(x)", planted_cosine=planted_cosine)
    expect_ad(rule, 0.7, order=2)
    assert "leg order 3, engine closures over closures over closures, argument x" in failure(rule, 0.7)


def test_rule_of_three_arguments():
    @scalar_rule
    def planted_fma(x, y, t):
        return x * y + t

    planted_fma.partials(body_of("z, x, y, t: (y, x, 1.0)"))
    assert expect_ad(planted_fma, 1.3, 0.7, 0.4).passed["mixes"] > 50
    planted_fma.partials(body_of("z, x, y, t: (y, x, 2.0)"))
    assert "leg gradient, engine closures, argument t: expected 1.0, got 2.0" in failure(planted_fma, 1.3, 0.7, 0.4)


# ---- wrong functions -------------------------------------------------------------------------------------------------
def tangent(x):
    return x * x if not isinstance(x, Dual) else x * stop_gradient(x)


def crash_at_infinity(x):
    if x == math.inf and isinstance(x, Number):
        raise ZeroDivisionError("planted")
    return x * x


def error_at_zero(x):
    if x == 0.0:
        raise ValueError(f"no {getattr(x, 'kind', 'float')} may be 0")
    return x * x


def error_text(x):
    if x > 1.0:
        raise ValueError(f"error_text: x must be at most 1, got {x:.1f} of {getattr(x, 'kind', 'float')}")
    return x


def error_type(x):
    if x > 1.0:
        raise (TypeError if isinstance(x, Dual) else ValueError)("planted")
    return x


def no_error(x):
    if not isinstance(x, Number):
        raise ValueError("planted")
    return x


@pytest.mark.parametrize(("f", "args", "message"), [
    (lambda x: x * x if not isinstance(x, Number) else x * x * 1.0000001, (3.0,),
     "leg value, engine closures: expected 9.0, got 9.0000009"),
    (tangent, (3.0,), "leg jvp, engine forward, argument x: expected 6.0, got 3.0"),
    (lambda x: x * x * (1.0 if not isinstance(x, Dual) or x == 3.0 else 1.1), (3.0,),
     "leg agreement, engine forward, argument of numbers, at 3.003: expected 6.006, got"),
    (lambda x, y: x * y if isinstance(y, Var) is isinstance(x, Var) else x * y * 2.0 - stop_gradient(x * y), (1.3, 0.7),
     "leg mixes, engine closures, argument constants float: expected 0.7, got 1.4"),
    (lambda x, y: x * (y + 1e-6 if isinstance(y, int) else y), (1.3, 0.7),
     "leg mixes, engine closures, argument constants int: expected 1.0, got 1.0"),
    (lambda x, y: x * (y + 1e-6 if isinstance(y, np.float64) else y), (1.3, 0.7),
     "leg mixes, engine closures, argument constants np.float64: expected 0.7, got"),
    (lambda x, y: x * y if x is not y or not isinstance(x, Number) else x * stop_gradient(y), (1.3, 0.7),
     "leg fan-out, engine closures, argument one input 1.3: expected 2.6, got 1.3"),
    (crash_at_infinity, (1.3,), "leg special, engine closures: expected no exception, as from the plain"),
    (lambda x: x * x + (1.0 if isinstance(x, Number) and x == 0.0 else 0.0), (1.3,),
     "leg special, engine closures, argument x = 0.0: expected 0.0, got 1.0"),
    (lambda x: x * x + (x if isinstance(x, Dual) and x == 0.0 else 0.0), (1.3,),
     "leg special, engine forward, argument gradient at x = 0.0: expected 0.0, got 1.0"),
    (error_at_zero, (1.3,), "leg special, engine closures: expected ValueError: no float may be 0, got"),
    (error_text, (1.3,), "leg errors, engine closures: expected ValueError: error_text: x must be at most 1,"),
    (error_type, (1.3,), "leg errors, engine forward: expected ValueError: planted, got TypeError: planted"),
    (no_error, (1.3,), "leg errors, engine closures: expected ValueError: planted, got no exception"),
    (lambda x: float(x), (1.3,), "leg value, engine closures: expected no exception, as from the plain call, got Lost"),
    (ops.floor, (1.3,), "leg vacuity: expected a gradient other than zero, or zero_gradient=True, got [0.0]"),
    (ops.square, (0.0,), "leg vacuity: expected a gradient other than zero, or zero_gradient=True, got [0.0]"),
    (ops.sqrt, (0.0,), "leg jvp, argument x: expected finite differences that converge, got "),
    (ops.log, (-1.0,), "leg value, engine closures: expected nan, got nan"),
])  # fmt: skip
def test_wrong_function(f, args, message):
    assert message in failure(f, *args)


def test_zero_gradient_must_be_declared_truly():
    expect_ad(ops.floor, 1.3, zero_gradient=True)
    expect_ad(ops.square, 0.0, zero_gradient=True)
    found = failure(ops.square, 1e-3, zero_gradient=True)
    assert "leg vacuity: expected a gradient that is zero, as declared, got [0.00" in found


def test_declared_nan():
    report = expect_ad(ops.log, -1.0, nan=True)
    assert "gradient" not in report.passed and report.passed["agreement"] > 0


def test_mutated_input():
    planted = lambda x, weights: x * (weights.pop() if isinstance(x, Number) and len(weights) > 2 else weights[-1])
    weights = [0.5, 2.0, 2.0]
    found = failure(planted, 1.3, weights)
    assert "leg unmutated, engine closures: expected arguments unchanged by leg mixes, got (1.3, [0.5, 2.0])" in found


def test_mutated_array():
    def planted(x, a):
        if isinstance(x, Number):
            a[0] += 1.0 if not isinstance(a[0], Number) else 0.0
        return x * a[1]

    assert "leg unmutated, engine forward" in failure(planted, 1.3, np.array([0.5, 2.0]))  # reverse mode copies it


def test_function_that_writes_to_its_arguments_is_no_failure():
    def planted(x, a):
        a[0] = x * a[1]
        a.append(a[0] * 2.0)
        return a[-1] * a[0]

    a = [0.5, 2.0]
    expect_ad(planted, 1.3, a)
    assert a == [0.5, 2.0]


# ---- arrays ----------------------------------------------------------------------------------------------------------
A = np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]])
V = np.array([0.6, 1.7, -0.2])
V2 = V * V
WAYS = ("closures", "records", "matrix", "forward", "matrix on object arrays", "forward on object arrays")


COUNTS = np.arange(1.0, 4.0)


def weighted(vjp, jvp=None):
    """An array rule with the value sum_k k a_k^2 along the last axis, and these derivatives."""

    @contad.array_rule
    def planted_sum(a, *, axis=-1):
        return np.sum(a * a * COUNTS, axis=-1)

    planted_sum.vjp("a")(vjp)
    right = body_of("z, a_dot, a, *, axis=-1: 2.0 * np.sum(a * a_dot * COUNTS, axis=axis)", COUNTS=COUNTS)
    planted_sum.jvp(jvp or right)
    return planted_sum


def right_vjp(z, z_bar, a, *, axis=-1):
    return 2.0 * np.expand_dims(z_bar, -1) * a * COUNTS


def test_right_array_rule_passes():
    report = expect_ad(weighted(right_vjp), A, order=3)
    legs = "unmutated value vacuity gradient agreement jvp hessian jacobian product elements several fan-out special"
    assert set(report.passed) == {*legs.split(), "order 3", "whole hessian", "symmetry"}
    assert report.passed["gradient"] == 4 * A.size and report.passed["hessian"] == 6 * 6
    assert report.passed["order 3"] == 6 * 6 * 6
    assert report.skipped == {"errors": "the plain call does not raise", "mixes": "one argument"}


def dropped_factor(z, z_bar, a, *, axis=-1):
    return np.expand_dims(z_bar, -1) * a * COUNTS


def cotangent_of_one(z, z_bar, a, *, axis=-1):
    return 2.0 * a * COUNTS


def detached(z, z_bar, a, *, axis=-1):
    return 2.0 * np.expand_dims(z_bar, -1) * contad.value_of_rec(a) * COUNTS


def test_wrong_array_rules(monkeypatch):
    monkeypatch.setattr(
        sys.modules["contad.rules.array_rule"], "check_body", lambda body: None
    )  # which refuses one of the bodies
    found = failure(weighted(dropped_factor), A)
    assert "leg gradient, engine closures, argument a (number 0): expected " in found
    assert "leg gradient, engine closures" in failure(weighted(cotangent_of_one), A)
    assert "leg hessian, engine closures over closures, argument all" in failure(weighted(detached), A)
    wrong = lambda z, a_dot, a, *, axis=-1: 2.0 * np.sum(a * a_dot * COUNTS, axis=axis) * 1.001
    assert "leg jvp, engine forward, argument a (number 0)" in failure(weighted(right_vjp, wrong), A)


def of_kind(*kinds):
    """A function that is wrong for arrays of these kinds only."""

    def planted(a, *others):
        kind = a.dtype.kind if class_of(a) is np.ndarray else class_of(a).__name__
        if class_of(a) is np.ndarray and a.dtype == object:
            kind = class_of(next(n for n in a.flat if isinstance(n, Number))).__name__ if len(a.flat) else "O"
        factor = 1.001 if kind in kinds else 1.0
        return np.sum(a * a * factor)

    return planted


@pytest.mark.parametrize(("kind", "way"), [
    ("NumpyClosureVar", "closures"), ("NumpyRecordVar", "records"), ("ArrayVar", "matrix"),
    ("ArrayDual", "forward"), ("NumpyMatrixVar", "matrix on object arrays"),
    ("NumpyDual", "forward on object arrays"),
])  # fmt: skip
def test_every_way_is_examined(kind, way):
    found = failure(of_kind(kind), V)
    assert f"leg value, engine {way}: expected " in found


def test_wrong_where_elements_are_constants():
    def planted(a):
        constant = isinstance(a, ArrayVar) and not a.cells().all()
        return np.sum(a * a) * (1.001 if constant else 1.0)

    assert "leg elements, engine matrix, argument a (number 0): expected " in failure(planted, V)


def test_wrong_with_several_tangents(monkeypatch):
    joined = ForwardLevel.join

    def wrong(self, tangents):
        if self.several == 2:
            tangents = [tangents[0], tangents[0]]
        return joined(self, tangents)

    monkeypatch.setattr(ForwardLevel, "join", wrong)
    assert "leg several, engine forward, argument all: expected " in failure(lambda_of(np.sum), V)


def lambda_of(function):
    """A function of the square of an array, with a name of its own."""
    planted = lambda a: function(a * a)
    return planted


def test_one_array_in_two_places():
    planted = lambda a, b: np.sum(a * b) if a is not b or class_of(a) is np.ndarray else np.sum(a * stop_gradient(b))
    assert "leg fan-out, engine matrix, argument a (number 0) in two places: expected " in failure(planted, V, V + 1.0)


def convolved(a):
    return np.convolve(a, np.array([1.0, -0.4]))


def test_assignment_for_accumulation_in_pullbacks(monkeypatch):
    def assigned(pullback, adj, name, operand, c):
        _, cell, shape = operand
        if isinstance(adj.cells, np.ndarray) and isinstance(c, np.ndarray):
            adj.cells[cell : cell + c.size] = c.reshape(-1)
        else:
            accumulate(adj, cell, shape, c)

    monkeypatch.setattr(pullbacks.Pullback, "_accumulate", assigned)
    assert "leg fan-out, engine matrix, argument a (number 0) of f + f" in failure(convolved, V)


def test_special_value_of_arrays():
    def planted(a):
        masked = isinstance(a, ArrayVar) and bool(np.any(contad.value_of_rec(a) == 0.0))
        return np.sum(a * a * a) + (np.sum(a) if masked else 0.0)

    assert "leg special, engine matrix, argument a (number 0) = 0.0: expected " in failure(planted, V)


def test_exceptions_of_arrays():
    def planted(a):
        if a[0] > 0.5:
            raise TypeError("planted") if isinstance(a, ArrayDual) else ValueError("planted")
        return np.sum(a * a)

    message = "leg errors, engine forward: expected ValueError: planted, got TypeError: planted"
    assert message in failure(planted, V)
    assert "leg special, engine forward: expected ValueError: planted, got TypeError" in failure(planted, V - 1.0)


def test_ways_that_numpy_refuses_are_named():
    skipped = expect_ad(lambda x: np.bincount([0, 1, 1], weights=x), V).skipped
    names = "closures, records, matrix on object arrays, forward on object arrays"
    assert skipped[names].startswith("NumPy on object arrays: TypeError: Cannot cast array data from dtype('O')")


def test_exceptions_of_a_function_are_no_refusal_of_numpy():
    def planted(a):
        if isinstance(a, np.ndarray) and a.dtype == object:
            raise TypeError("planted for object arrays")
        return np.sum(a * a)

    # f refuses plain object arrays in the same way, but with a statement of its own
    assert "leg value, engine closures: expected no exception" in failure(planted, V)


def test_many_elements():
    a = np.linspace(0.4, 2.3, 50)
    report = expect_ad(lambda a: np.sum(np.sin(a * a[::-1] * a[3])), a)
    assert report.passed["gradient"] == 4 and report.passed["hessian"] == 36
    assert expect_ad(lambda a: a * a[3], a).skipped["jacobian"] == "more than 40 numbers"


def test_check_grads_of_arrays():
    report = check_grads(lambda a, x: np.sum(np.exp(a * x)), (A, 0.7))
    assert set(report.passed) == {"unmutated", "gradient", "jvp", "agreement", "hessian"}
    assert report.passed["hessian"] == 36
    with pytest.raises(AssertionError, match="leg gradient, engine matrix, argument a"):
        check_grads(of_kind("ArrayVar"), (V,))


# ---- wrong engines ---------------------------------------------------------------------------------------------------
class Assigning(PlantedStack):
    """`=` for `+=` in every record of the compiled sweep."""

    __slots__ = ()

    def sweep(self, top, seeds):
        with compiled(re.sub(r"(adjoints\[.*\]) \+=", r"\1 =", sweep_source())):
            return super().sweep(top, seeds)


class Seedless(PlantedStack):
    """The seeds are taken as 1."""

    __slots__ = ()

    def sweep(self, top, seeds):
        return super().sweep(top, [(cell, seed * 0.0 + 1.0) for cell, seed in seeds])


class Leaking(PlantedStack):
    """A sweep starts from the adjoints of the sweep before."""

    __slots__ = ("before",)

    def sweep(self, top, seeds):
        adjoints = list(super().sweep(top, seeds))
        before = getattr(self, "before", [])
        adjoints = [a + b for a, b in itertools.zip_longest(adjoints, before, fillvalue=0.0)]
        self.before = adjoints
        return adjoints


class Imprecise(PlantedStack):
    """Adjoints are off by one in 10^9."""

    __slots__ = ()

    def sweep(self, top, seeds):
        return [a * (1.0 + 1e-9) for a in super().sweep(top, seeds)]


class Forgetful(PlantedStack):
    """The sweep on numbers of outer levels drops them."""

    __slots__ = ()

    def _sweep_numbers(self, top, seeds):
        return [contad.value_of_rec(a) for a in super()._sweep_numbers(top, seeds)]


class Crashing(PlantedStack):
    """The sweep of an infinite value crashes."""

    __slots__ = ()

    def sweep(self, top, seeds):
        if np.isinf(self.buffers.stream[-1]):
            raise OverflowError("planted")
        return super().sweep(top, seeds)


def pair(x, y):
    return [x * y, ops.exp(x) - y]


@pytest.mark.parametrize(("engine", "f", "args", "message"), [
    (Assigning, ops.exp, (0.7,), "leg fan-out, engine planted, argument x of f + f: expected 4.02"),
    (Seedless, ops.exp, (0.7,), "leg product, engine planted: expected "),
    (Leaking, pair, (0.7, 1.3), "leg jacobian, engine planted, argument x (result 1): expected 2.013752"),
    (Imprecise, ops.exp, (0.7,), "leg agreement, engine planted, argument x: expected 2.013752"),
    (Forgetful, ops.exp, (0.7,), "leg hessian, engine closures over planted, argument x: expected 2.013752"),
    (Crashing, ops.exp, (0.7,), "leg special, engine planted: expected no exception, as from the plain"),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_wrong_engine(engine, f, args, message):
    with engines(planted=engine):
        assert message in failure(f, *args, engines=["closures", "planted"])


def test_right_engine():
    with engines(planted=PlantedStack):
        expect_ad(pair, 0.7, 1.3, engines=["closures", "planted"])


def test_wrong_second_partials_of_a_recording(monkeypatch):
    """The way of `contad.hessian`, which no other leg goes."""
    real = second_order_records.partials_of

    def planted(*args):
        first, second = real(*args)
        return first, [[q if q is None else 1.001 * q for q in row] for row in second]

    monkeypatch.setattr(second_order_records, "partials_of", planted)
    found = failure(lambda a: np.sum(a**3), V)
    assert "leg whole hessian, engine matrix, argument a (number 0) and a (number 0): expected" in found


# ---- the report ------------------------------------------------------------------------------------------------------
def test_every_leg_has_a_planted_failure():
    """The legs of a full report all occur in a message that a test above demands."""
    legs = set(expect_ad(pair, 0.7, 1.3, order=3).passed) | set(expect_ad(ops.exp, 0.7).skipped)
    legs |= set(expect_ad(lambda_of(np.prod), V).passed)
    with open(__file__) as file:
        text = file.read()
    assert [leg for leg in sorted(legs) if f'"leg {leg}' not in text] == []


def test_report_names_legs_run_and_skipped(capsys):
    report = expect_ad(ops.hypot, 3.1, -1.7, verbose=True)
    legs = "unmutated, value, vacuity, gradient, agreement, jvp, hessian, symmetry, order 3, product, mixes, fan-out"
    assert list(report.passed) == [*legs.split(", "), "special"]
    assert report.skipped == {"errors": "the plain call does not raise", "jacobian": "one result"}
    assert capsys.readouterr().out == f"{report}\n"
    assert str(report).startswith("hypot(3.1, -1.7): passed unmutated (")
    assert str(report).endswith("; skipped errors (the plain call does not raise), jacobian (one result)")


def test_report_of_a_function_that_raises():
    def refused(x):
        raise ValueError("refused: x must be 1, got 2")

    assert str(expect_ad(refused, 2.0)) == "refused(2.0): passed errors (4); skipped all others (the plain call raises)"


@pytest.mark.parametrize(("f", "args"), [
    (lambda p: p["a"] * ops.exp(p["b"][0]), ({"a": 1.3, "b": [0.7, 2.0]},)),
    (lambda x, a: sum(ops.sin(x * v) for v in a), (1.3, np.array([0.4, 0.7, 1.1]))),
    (lambda a: [a[0, 0] * a[1, 0], a[0, 1] ** 2], (np.array([[0.4, 0.7], [1.1, 1.9]]),)),
    (lambda a: a * a[0], (np.array([0.4, 0.7]),)),
    (lambda x, n: x**n, (1.3, 3)),
    (lambda a: a[0], (np.array([[1.5]])[0],)),
    (lambda a: sum(ops.exp(v * 0.1 * k) for k, v in enumerate(a)), (np.linspace(0.5, 2.0, 12),)),
    (lambda x: x / (1.0 + 1e6 * x * x), (1e-6,)),
    (lambda x, y: 1e8 * x * x + ops.log(y), (3e4, 1e-7)),
    (lambda *x: sum(a * b for a, b in itertools.pairwise(x)), (0.4, 0.7, 1.1, 1.3, 1.9)),
])  # fmt: skip
def test_structures_and_scales_pass(f, args):
    report = expect_ad(f, *args)
    assert report.passed["gradient"] >= 2 and report.passed["hessian"] >= 9


def test_numba_function():
    @njit
    def planted(x, y):
        return math.exp(x) * y + math.sin(x * y) / x

    assert expect_ad(planted, 0.7, 1.3).passed["hessian"] == 32


def test_component_of_a_structure_is_named():
    planted = lambda p: p["a"] * 2.0 + stop_gradient(p["b"][1]) * p["b"][0]
    found = failure(planted, {"a": 1.3, "b": [0.7, 2.0]})
    assert "leg gradient, engine closures, argument p (number 2): expected 0.7" in found


@pytest.mark.parametrize("result", [None, [], "text"])
def test_result_without_numbers_is_refused(result):
    def planted(x):
        return result

    with pytest.raises(contad.OutputError, match="planted must return real numbers, at least one, got "):
        expect_ad(planted, 1.3)


def test_arguments_without_numbers_are_refused():
    """There is nothing to differentiate, and for check_grads no derivative; beside others they are taken."""
    for args in (([],), ((), {}), ()):
        for check in (expect_ad, lambda f, *args: check_grads(f, args)):
            with pytest.raises(ValueError, match=r"<lambda>\(.*\): there is no number and no array in the arguments"):
                check(lambda *args: 2.0, *args)
    for args in ((np.zeros(0),), (np.zeros((0, 3)), [])):
        with pytest.raises(ValueError, match=r"<lambda>\(.*\): there is no number in the arguments, and so no"):
            check_grads(lambda *args: 2.0, args)
    with pytest.raises(contad.OutputError, match="<lambda> must return real numbers, at least one, got array"):
        check_grads(lambda x, y: x * y, (np.zeros(0), 2.0))
    assert check_grads(lambda x, y: np.sum(x) * y + y * y, (np.zeros(0), 2.3)).passed["gradient"]


@pytest.mark.parametrize(("f", "args", "compared"), [
    (np.exp, (np.zeros(0),), 6),  # shapes, in six ways
    (np.sum, (np.zeros((0, 3)),), 14),  # and values; tangents in forward mode
    (lambda a, b: a @ b, (np.zeros((3, 0)), np.zeros((0, 2))), 54),
    (lambda a, x: a * x, (np.zeros(0), 2.0), 10),  # the result is empty, and the derivative by x is 0
    (lambda a, b: a[:0] * len(b), (V, []), 18),
    (np.linalg.det, (np.zeros((0, 0)),), 5),
    (lambda a: {"sum": np.sum(a), "all": [a, a + 1.0]}, (np.zeros((2, 0)),), 14),
])  # fmt: skip
def test_empty_arrays(f, args, compared):
    report = expect_ad(f, *args)
    assert set(report.passed) == {"unmutated", "empty"} and report.passed["empty"] == compared
    assert report.skipped["all others"] == "there is no number in the arguments, or none in the result"


def test_a_numba_function_of_empty_arrays():
    @njit
    def planted(a, x):
        total = x
        for v in a:
            total += v * x
        return total

    assert expect_ad(planted, np.zeros(0), 1.3).passed["mixes"]
    assert expect_ad(planted, V, 1.3).passed["mixes"]


def test_an_empty_array_that_raises():
    assert expect_ad(np.max, np.zeros(0)).passed["errors"] == 4
    planted = lambda a: np.max(a) if class_of(a) is np.ndarray else np.sum(a)
    assert "leg errors, engine matrix: expected ValueError: zero-size" in failure(planted, np.zeros(0))


def sum_of_sums(*others):
    return sum(len(x) if isinstance(x, (list, tuple)) else np.sum(x * x) for x in others)


@pytest.mark.parametrize("args", [([], 1.3), (1.3, ()), ([], V), (np.zeros((0, 2)), 1.3, [])])
def test_empty_arguments_beside_others(args):
    assert expect_ad(sum_of_sums, *args).passed["gradient"]
    assert check_grads(sum_of_sums, args).passed["gradient"]


def test_an_empty_list_is_another_in_each_call():
    def planted(x, kept):
        kept.append(x)
        return kept[0] * x

    expect_ad(planted, 1.3, [])


@pytest.mark.parametrize(("planted", "args", "message"), [
    (lambda a: np.sum(a) + (0.0 if class_of(a) is np.ndarray else 1.0), (np.zeros(0),), "matrix: expected 0.0, got 1."),
    (lambda a: a if class_of(a) is np.ndarray else np.reshape(a, (0, 2)), (np.zeros(0),),
     "matrix: expected the shapes [(0,)] and derivatives [(0,)], got [(0, 2)] and derivatives [(0,)]"),
])  # fmt: skip
def test_wrong_for_empty_arrays(planted, args, message):
    assert "leg empty, engine " + message in failure(planted, *args)


def test_wrong_derivatives_of_empty_arrays():
    @contad.array_rule
    def planted_total(a):
        return np.sum(a)

    planted_total.vjp("a")(body_of("z, z_bar, a: z_bar + 0.0 * a"))
    planted_total.jvp(body_of("z, a_dot, a: 1.0 + np.sum(a_dot)", np=np))
    assert "leg empty, engine forward: expected 0.0, got 1.0" in failure(planted_total, np.zeros(0))


def test_tolerances_are_one_table():
    rule = sine("z, x: 1.001 * ops.cos(x)")
    assert failure(rule, 0.7)
    expect_ad(rule, 0.7, tolerances=Tolerances(differences=0.01))


def wrong_from(order):
    """A function whose derivatives of this order are wrong by one per mille; the others are those of what is below."""
    if order == 1:
        return sine("z, x: 1.001 * ops.cos(x)")
    constant = constant_of()
    if order == 2:
        return sine("z, x: 1.001 * ops.cos(x) - 0.001 * constant(ops.cos(x))", constant=constant)

    @scalar_rule
    def cosine(x):
        return math.cos(x)

    cosine.partials(body_of("z, x: -1.001 * ops.sin(x) + 0.001 * constant(ops.sin(x))", constant=constant))
    return sine("z, x: cosine(x)", cosine=cosine)


@pytest.mark.parametrize(("order", "name", "leg"), [
    (1, "gradient", "gradient"), (2, "hessian", "hessian"), (3, "third", "order 3"),
])  # fmt: skip
def test_tolerances_of_each_order(order, name, leg):
    f, found = wrong_from(order), f"leg {leg}, engine closures"
    others = AdTolerances(**{other: 0.01 for other in ("gradient", "hessian", "third") if other != name})
    assert found in failure(f, 0.7) and found in failure(f, 0.7, tolerances=others)
    expect_ad(f, 0.7, tolerances=AdTolerances(**{name: 0.01}))


def test_tolerances_of_the_value():
    planted = lambda x: x * x * (1.00000001 if isinstance(x, Number) else 1.0)
    assert "leg value, engine closures" in failure(planted, 0.7, tolerances=AdTolerances(gradient=0.1, hessian=0.1))
    assert "leg fan-out, engine closures" in failure(planted, 0.7, tolerances=AdTolerances(value=1e-6))


def test_one_table_is_that_of_every_order():
    loose = Tolerances(agreement=0.1)
    tolerances = AdTolerances(0.25, loose, 1e-3, 1e-7)
    assert [tolerances.of_order(k) for k in (0, 1, 4)] == [
        Tolerances(value=0.25), loose, Tolerances(differences=1e-7)
    ]  # fmt: skip
    assert tolerances.of_order(2) == Tolerances(differences=1e-3, resolved=1e-3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        tolerances.hessian = 1e-3


# ---- check_grads -----------------------------------------------------------------------------------------------------
def test_check_grads():
    report = check_grads(lambda x, y: ops.exp(x) * y, (0.7, 1.3), order=3)
    assert report.passed["order 3"] == 64 * 2
    assert set(report.passed) == {"unmutated", "gradient", "jvp", "agreement", "hessian", "symmetry", "order 3"}


def test_check_grads_by_mode():
    assert "jvp" not in check_grads(ops.exp, (0.7,), modes=["rev"]).passed
    assert "gradient" not in check_grads(ops.exp, (0.7,), modes=["fwd"]).passed
    check_grads(tangent, (3.0,), modes=["rev"])
    with pytest.raises(AssertionError, match=r"leg jvp, engine forward, argument x: expected 6\.0, got 3\.0"):
        check_grads(tangent, (3.0,), modes=["fwd"])


def test_check_grads_allows_zero():
    assert "vacuity" not in check_grads(ops.square, (0.0,)).passed


@pytest.mark.parametrize("modes", [[], ["forward"], ["rev", "reverse"]])
def test_check_grads_refuses_unknown_modes(modes):
    with pytest.raises(ValueError, match="check_grads: modes must be 'rev', 'fwd' or both, got"):
        check_grads(ops.exp, (0.7,), modes=modes)


def test_check_grads_refuses_a_point_that_raises():
    with pytest.raises(ValueError, match=r"check_grads: error_type\(1\.3\) raises ValueError: planted"):
        check_grads(error_type, (1.3,))


def assigned(th):
    z = np.zeros(2)
    z[0], z[1] = th[0], th[1] ** 2
    return np.sum(z * th)


def assigned_numbers(x):
    z = np.zeros(2)
    z[0], z[1] = x, 2.0
    return np.sum(z * x)


@pytest.mark.parametrize(("f", "x"), [(assigned, V[:2]), (assigned_numbers, 0.7)])
def test_check_grads_skips_engines_that_refuse_what_the_default_one_takes(f, x):
    report = check_grads(f, (x,))
    assert "z is a plain array" in report.skipped["closures, records"]
    assert report.passed["gradient"] and report.passed["jvp"] and report.passed["hessian"]
    with pytest.raises(AssertionError, match="leg gradient, engine records: expected no exception"):
        check_grads(f, (x,), engines=["records", "matrix"])
    assert not {"closures", "records"} & set(check_grads(f, (x,), engines=["matrix"]).skipped)


def test_check_grads_skips_no_wrong_number():
    """A wrong number on an engine that nobody named fails, and so does what the default engine refuses."""

    def wrong_on_records(a):
        is_records = isinstance(a, np.ndarray) and class_of(a.flat[0]).__module__.startswith("contad.engines.records")
        return np.sum(a * a * (1.5 if is_records else 1.0))

    with pytest.raises(AssertionError, match="engine records, argument a"):
        check_grads(wrong_on_records, (V,))
    with pytest.raises(AssertionError, match="leg gradient, engine matrix: expected no exception.*Lost"):
        check_grads(lambda a: np.sum(a) * float(a[0]), (V,))
    with pytest.raises(AssertionError, match="leg gradient, engine closures: expected no exception.*planted"):
        check_grads(type_error_of_objects, (V,))
    with pytest.raises(AssertionError, match="leg value, engine closures"):  # expect_ad skips none of it
        expect_ad(assigned, V[:2])


def type_error_of_objects(a):
    if isinstance(a, np.ndarray) and a.dtype == object:
        raise TypeError("planted for object arrays")
    return np.sum(a * a)


def without_forward(backward):
    """x squared by custom_vjp."""

    @contad.custom_vjp
    def planted(x):
        return x * x

    planted.defvjp(lambda x: (x * x, x), backward)
    return planted


def array_rule_without_forward():
    @contad.array_rule
    def planted_square(a):
        return a * a

    @planted_square.vjp("a")
    def planted_square_vjp(z, z_bar, a):
        return 2.0 * z_bar * a

    return planted_square


def test_check_grads_skips_forward_mode_where_a_rule_has_none():
    right = without_forward(lambda x, z_bar: (2.0 * x * z_bar,))
    report = check_grads(right, (1.3,))
    assert "a custom_vjp has no forward mode" in report.skipped["forward"]
    assert "jvp" not in report.passed and report.passed["hessian"] == 9
    skipped = check_grads(array_rule_without_forward(), (V,)).skipped
    assert any("forward" in names and "no forward mode; declare one" in reason for names, reason in skipped.items())
    with pytest.raises(AssertionError, match="leg jvp, engine forward: .*no forward mode"):
        check_grads(right, (1.3,), modes="fwd")
    with pytest.raises(AssertionError, match=r"leg gradient, engine closures, argument x: expected 2\.5999"):
        check_grads(without_forward(lambda x, z_bar: (x * z_bar,)), (1.3,))


def test_check_grads_takes_one_mode_as_text():
    assert "jvp" not in check_grads(ops.exp, (0.7,), modes="rev").passed
    assert "gradient" not in check_grads(ops.exp, (0.7,), modes="fwd").passed


@pytest.mark.parametrize(("args", "got"), [(2.0, "2.0"), (V, r"array\(\[")])
def test_check_grads_asks_for_a_tuple(args, got):
    with pytest.raises(TypeError, match=rf"check_grads: args must be a tuple of the arguments, got {got}.*; write \("):
        check_grads(ops.exp, args)


def test_messages_cut_long_arguments():
    report = check_grads(lambda a, b: np.sum(a) * b[0], (np.linspace(0.4, 2.3, 60), [0.7] * 100), order=1)
    assert len(report.call) < 400 and "..., " in report.call and report.call.endswith(" ...)")
