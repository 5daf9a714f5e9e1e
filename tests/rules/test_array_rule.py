"""Array rules: declaration, calls on plain arrays, and the checks that find wrong derivatives."""

import pickle

import numpy as np
import pytest

import contad
from contad.errors import RuleError, UnsupportedError
from contad.rules.array_rule import array_rule, array_rule_of, array_rules
from contad.rules.numpy_functions import entry_of
from tests.judges.array_derivatives import report, split
from tests.judges.planted import body_of

A, B = np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]), np.array([0.6, 1.7, -0.2])


@pytest.fixture
def weighted():
    """z_i = sum_k a_ik^2 b_k, with b broadcast over the rows, and correct derivatives."""

    @array_rule
    def weighted_rows(a, b, *, power=2):
        return np.sum(a**power * b, axis=-1)

    @weighted_rows.vjp("a")
    def vjp_a(z, z_bar, a, b, *, power=2):
        return z_bar[:, None] * power * a ** (power - 1) * b

    @weighted_rows.vjp("b")
    def vjp_b(z, z_bar, a, b, *, power=2):
        return np.sum(z_bar[:, None] * a**power, axis=0)

    @weighted_rows.jvp
    def jvp(z, a_dot, b_dot, a, b, *, power=2):
        return np.sum(power * a ** (power - 1) * a_dot * b + a**power * b_dot, axis=-1)

    return weighted_rows


# ---- the check finds wrong derivatives -------------------------------------------------------------------------------
def test_a_right_rule_passes(weighted):
    assert report(weighted, [A, B], {}) == [] and report(weighted, [A, B], {"power": 3}) == []


WRONG = {  # the argument, its vjp, options
    "forgets the factor": ("a", "z_bar[:, None] * a ** (power - 1) * b", {}),
    "ignores the option": ("a", "2.0 * z_bar[:, None] * a * b", {"power": 3}),
    "forgets to fold": ("b", "z_bar[:, None] * a**power", {}),
    "sums the wrong axis": ("b", "np.sum(z_bar[:, None] * a**power, axis=1)", {}),
    "takes the wrong row": ("b", "np.sum(z_bar[::-1, None] * a**power, axis=0)", {}),
    "swaps sign": ("b", "-np.sum(z_bar[:, None] * a**power, axis=0)", {}),
}


@pytest.mark.parametrize(("name", "wrong", "options"), WRONG.values(), ids=WRONG)
def test_a_wrong_vjp_is_found(weighted, name, wrong, options):
    weighted.vjp(name)(body_of(f"z, z_bar, a, b, *, power=2: {wrong}"))
    found = report(weighted, [A, B], options)
    assert found
    assert all(message.startswith(f"vjp {name}: ") for message in found)


def test_a_wrong_jvp_is_found(weighted):  # which forgets b
    weighted.jvp(body_of("z, a_dot, b_dot, a, b, *, power=2: np.sum(power * a ** (power - 1) * a_dot * b, axis=-1)"))
    assert any(message.startswith("jvp b: ") for message in report(weighted, [A, B], {}))


def test_a_rule_that_is_not_linear_is_found():
    @array_rule(linear=("a",))
    def squared_not_linear(a):
        return a * a

    @squared_not_linear.vjp("a")
    def vjp_a(z, z_bar, a):
        return 2.0 * a * z_bar

    assert any(message.startswith("jvp a: ") for message in report(squared_not_linear, [B], {}))


PLANTED = {
    "matmul": ("b", lambda z, z_bar, a, b: contad.ops.products.right_cotangent(2.0 * z_bar, a, np.shape(b))),
    "cumsum": ("a", lambda z, z_bar, a, *, axis=None: np.reshape(np.cumsum(z_bar, axis), a.shape)),
    "logsumexp": ("a", lambda z, z_bar, a, *, axis=None, b=None, keepdims=False: np.exp(a)),
    "interp": ("fp", lambda z, z_bar, x, fp, **options: 0.0 * fp),
    "convolve": ("v", lambda z, z_bar, a, v, *, mode="full": 0.5 * v),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_body_of_contad_is_found(name, monkeypatch):
    argument, body = PLANTED[name]
    rule = array_rule_of(name)
    monkeypatch.setitem(rule.vjps, argument, body)
    monkeypatch.setattr(rule, "_needs", {})
    assert any(report(rule, *split(point)) for point in rule.points)


# ---- declaration -----------------------------------------------------------------------------------------------------
def test_rules_are_registered_and_pickled_by_name():
    rule = array_rule_of("matmul")
    assert rule in array_rules() and pickle.loads(pickle.dumps(rule)) is rule
    assert repr(rule) == "<contad array rule matmul(a, b)>" and entry_of(np.matmul).kind == "rule"


def test_a_taken_name_is_refused():
    def matmul(a):
        return a

    with pytest.raises(RuleError, match=r"array_rule: the name 'matmul' is taken by contad\.ops\.products\.matmul"):
        array_rule(matmul)


def test_linear_in_what_is_no_argument_is_refused():
    with pytest.raises(RuleError, match="linear='c' is not one of its arguments"):
        array_rule(linear=("c",))(lambda a: a)


def test_a_rule_of_no_function_is_refused():
    with pytest.raises(RuleError, match="expected a Python function, got ufunc"):
        array_rule(np.exp)


def test_a_body_for_what_is_no_argument_is_refused(weighted):
    with pytest.raises(RuleError, match=r"with an argument's name, one of a, b; got 'c'"):
        weighted.vjp("c")


def test_wrong_parameters_are_refused_where_they_are_declared(weighted):
    with pytest.raises(RuleError, match=r"test_array_rule\.py:\d+: planted must take \(z, z_bar, a, b\)"):

        @weighted.vjp("a")
        def planted(z_bar, a, b):
            return z_bar


def test_a_jvp_of_a_linear_rule_is_refused():
    with pytest.raises(RuleError, match="linear= already defines the jvp"):
        array_rule_of("sum").jvp(lambda z, a_dot, a: a_dot)


def test_a_body_of_a_users_rule_meets_the_lint_when_it_is_first_used():
    @array_rule
    def unlinted(a):
        return 2.0 * a

    @unlinted.vjp("a")
    def vjp_a(z, z_bar, a):
        return z_bar if z is None else 2.0 * z_bar

    with pytest.raises(RuleError, match=r"test_array_rule\.py:\d+: vjp_a: IfExp is not allowed"):
        unlinted.pull("a", 2.0 * B, B, [B], {})


def test_missing_derivatives_say_how_to_declare_them():
    @array_rule
    def without_derivatives(a):
        return 2.0 * a

    with pytest.raises(
        UnsupportedError, match=r"without_derivatives: no derivative with respect to a; declare one with"
    ):
        without_derivatives.pull("a", B, B, [B], {})
    with pytest.raises(UnsupportedError, match=r"without_derivatives: no forward mode; declare one with"):
        without_derivatives.push(B, [B], [B], {})


# ---- calls -----------------------------------------------------------------------------------------------------------
def test_plain_arguments_by_position_by_name_and_as_lists(weighted):
    expected = np.sum(A**2 * B, axis=-1)
    for z in (weighted(A, B), weighted(A, b=B), weighted(a=A, b=B), weighted(A.tolist(), B.tolist())):
        np.testing.assert_array_equal(z, expected)
    np.testing.assert_array_equal(weighted(A, B, power=3), np.sum(A**3 * B, axis=-1))


def test_integers_become_floats(weighted):
    z = weighted(np.array([[1, 2, 3]]), [1, 1, 2])
    assert z.dtype == np.float64
    np.testing.assert_array_equal(z, [23.0])


@pytest.mark.parametrize(("args", "options", "error", "message"), [
    ((A,), {}, TypeError, "weighted_rows: missing argument b"),
    ((A, B, B), {}, TypeError, r"weighted_rows: expected 2 array\(s\), got 3"),
    ((A, B.tolist()), {"axis": 1}, TypeError, "weighted_rows: unexpected argument axis"),
    ((A.tolist(), B * 1j), {}, UnsupportedError, "b must be an array of real numbers, got an array of complex128"),
    ((A, "text"), {}, UnsupportedError, "b must be an array of real numbers, got dtype <U4"),
])  # fmt: skip
def test_wrong_calls_are_refused(weighted, args, options, error, message):
    with pytest.raises(error, match=message):
        weighted(*args, **options)


def test_the_forward_passes_what_it_saved():
    @array_rule
    def sorted_sum(a, *, keep):
        return np.sum(np.sort(a)[:keep])

    @sorted_sum.forward
    def forward(a, *, keep):
        order = np.argsort(a)
        return np.sum(a[order[:keep]]), order

    @sorted_sum.vjp("a")
    def vjp_a(z, z_bar, a, saved, *, keep):
        return np.bincount(saved[:keep], weights=np.broadcast_to(z_bar, (keep,)), minlength=a.size)

    @sorted_sum.jvp
    def jvp(z, a_dot, a, saved, *, keep):
        return np.sum(a_dot[saved[:keep]])

    z, saved = sorted_sum.evaluate([B], {"keep": 2})
    assert z == pytest.approx(0.4)
    np.testing.assert_array_equal(saved, [2, 0, 1])
    assert report(sorted_sum, [B], {"keep": 2}) == []


def test_reads_of_a_vjp_are_known(weighted):
    assert weighted.needs("a") >= {"z_bar", "a", "b"} and "z" not in weighted.needs("a")


def test_common_parts_of_cotangents_are_computed_once(weighted):
    made = []

    @weighted.common
    def common(z, z_bar, a, b, *, power=2):
        return made.append(1) or z_bar[:, None] * a ** (power - 1)

    @weighted.vjp("a")
    def vjp_a(z, z_bar, a, b, common, *, power=2):
        return power * common * b

    @weighted.vjp("b")
    def vjp_b(z, z_bar, a, b, common, *, power=2):
        return np.sum(common * a, axis=0)

    weighted._checked.add(common)  # the lint would refuse to count
    assert weighted.needs("b") >= {"a", "z_bar", "power"} and report(weighted, [A, B], {"power": 3}) == []
    for f, arguments in ((weighted, (A, B)), (lambda a, b: weighted(a, b)[1], (A, B))):
        for engine in ("matrix", "closures", "records"):
            made.clear()
            contad.grad(lambda a, b, f=f: np.sum(f(a, b)), (0, 1), engine=engine)(*arguments)
            assert len(made) == 1
    made.clear()
    contad.hvp(lambda x: np.sum(weighted(x, x[0])))(A, A)
    assert len(made) == 1

    @weighted.common
    def wrong(z, z_bar, a, b, *, power=2):
        return 2.0 * z_bar[:, None] * a ** (power - 1)

    assert report(weighted, [A, B], {"power": 3}) != []


def test_a_constant_argument_has_no_tangent():
    matmul = array_rule_of("matmul")
    b = np.ones((3, 2))
    np.testing.assert_array_equal(matmul.push(None, [A, None], [A, b], {}), A @ b)
    prod = array_rule_of("prod")
    assert prod.push(6.0, [None], [np.array([2.0, 3.0])], {}) == 0.0
