"""Second derivatives on one recording are those of duals inside variables, wherever a recording does."""

import numpy as np
import pytest

import contad
from contad import grad, hessian, hvp, jvp
from contad.engines.second_order import passes
from contad.engines.second_order.second_order_records import Unsuited, partials_of
from contad.rules.scalar_rule import rules
from contad.variables.trees import flatten
from tests.judges.array_derivatives import split
from tests.judges.own_rules import own_array_rules
from tests.ops.example_calls import CALLS, EXAMPLES
from tests.random_programs.array_statements import generate

X = np.array([0.7, 1.2, 0.4])
M = np.array([[0.5, 1.1, 0.3], [0.9, 0.2, 1.4]])
CORE = [rule for rule in rules() if rule.core]
SPECIAL = [rule for rule in rules() if not rule.core and rule.__module__.startswith("contad.ops.")]


@pytest.fixture
def outcomes(monkeypatch):
    """For each recording that was tried, whether it did."""
    found = []
    call, make = passes.SecondOrder.__call__, passes.SecondOrder.__init__

    def watched(run):
        def method(self, *args):
            try:
                result = run(self, *args)
            except Unsuited:
                found.append(False)
                raise
            if run is call:
                found.append(True)
            return result

        return method

    monkeypatch.setattr(passes.SecondOrder, "__call__", watched(call))
    monkeypatch.setattr(passes.SecondOrder, "__init__", watched(make))
    return found


def total(f):
    """One number that bends with every number of a result."""

    def of_arguments(*args):
        leaves = flatten(f(*args)).leaves
        return sum(np.sum(np.cos(1.0 + np.arange(np.size(z)).reshape(np.shape(z))) * z * z * z) for z in leaves)

    return of_arguments


def compare(f, *args, rtol=1e-10):
    """Products with two directions at once and with one, against duals."""
    numbers = tuple(range(len(args)))
    rng = np.random.default_rng(3)
    v = tuple(rng.normal(size=np.shape(x)) if np.ndim(x) else float(rng.normal()) for x in args)
    expected = jvp(grad(f, numbers), args, v)[1]
    found = hvp(f, numbers)(*args, v)
    whole = hessian(f, numbers)(*args)
    for a, b, row in zip(found, expected, whole, strict=True):
        size = np.max(np.abs(b), initial=1e-3)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * size)
        product = sum(
            np.tensordot(block, w, np.ndim(w)) if np.ndim(w) else block * w for block, w in zip(row, v, strict=True)
        )
        np.testing.assert_allclose(product, b, rtol=rtol, atol=100.0 * rtol * size)


def compare_in_every_form(rule, point, args):
    compare(total(lambda *a: rule(*a) * a[0]), *args)
    compare(total(lambda x: rule(*(x * (1.0 if k == 0 else p / point[0]) for k, p in enumerate(point)))), args[0])
    compare(lambda *a: rule(*a) * a[0] * a[0], *point)
    if rule.arity == 2:
        compare(total(lambda x, y: rule(x, y[0]) * x), *args)
        compare(total(lambda x, y: rule(x[:, :1], y) * y), *args)
        compare(total(lambda x, s: rule(x, s) * x), args[0], point[1])
        compare(total(lambda s, y: rule(s, y) * y), point[0], args[1])
        compare(total(lambda x: rule(x, point[1]) * x), args[0])
        compare(total(lambda y: rule(point[0], y) * y), args[1])
        compare(total(lambda x: rule(x, args[1]) * x), args[0])


@pytest.mark.parametrize("rule", CORE, ids=lambda rule: rule.name)
def test_every_core_rule(rule, outcomes):
    """On arrays, broadcast, with numbers on either side, one argument twice, and on scalars."""
    for point in rule.points:
        compare_in_every_form(rule, point, [x + 0.01 * (1.0 + M) for x in point])
    assert outcomes
    assert all(outcomes)


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in CALLS))  # those that this NumPy has
def test_numpy_functions(name):
    for f, *args in EXAMPLES[name]:
        compare(total(f), *args, rtol=1e-9)


@pytest.mark.parametrize("rule", own_array_rules(), ids=lambda r: r.name)
def test_array_rules(rule, outcomes):
    for point in rule.points:
        args, options = split(point)
        compare(total(lambda *a, options=options: rule(*a, **options)), *args, rtol=1e-9)
    assert all(outcomes)


@pytest.mark.parametrize("rule", SPECIAL, ids=lambda rule: rule.name)
def test_every_special_rule(rule, outcomes):
    for point in rule.points[:1]:
        args = [x + 0.01 * (1.0 + M) if rule.body.literal(k) != 0.0 else x for k, x in enumerate(point)]
        compare(total(lambda *a: rule(*a) * a[-1]), *args)
        compare(total(lambda *a, point=point: rule(*point[:-1], a[-1]) * a[0]), *args)
        compare(lambda *a: rule(*a) * a[-1] * a[-1], *point)
    assert all(outcomes)


def model(w, b):
    """Views, assignments, gathers, products on both sides, sums along axes, a special function of a number."""
    y = np.zeros_like(w)
    y[1:] = np.tanh(w[:-1]) * b
    y[0] = w[2] * w[2]
    z = M @ y + M[:, 0] * b
    outer = np.outer(w, y).T @ w
    a = w.reshape(1, 3) @ M.T @ M
    return np.mean(z) * np.sum(outer, axis=0) + y @ w + np.sum(a @ M.T) * b + np.sum(w[::2] ** 3) + (M * w).sum(0) @ y


def test_a_model(outcomes):
    compare(model, X, 1.3)
    compare(lambda w: model(w[::-1] * 2.0, w[0]), X)
    assert all(outcomes)


def numbers(x, s):
    """Runs of numbers between arrays: some read elements, some go into arrays, some are used twice."""
    total = s
    for k in range(9):
        total = total + x[k % 3] * x[(k + 1) % 3] / (1.5 + np.sin(total)) - 2.0 / x[k % 3]
    y = contad.zeros(3)
    y[1] = total * total
    y[2] = x[0]
    z = np.cumsum(y * x)
    last = np.exp(-z[1] * 0.1) * contad.erf(z[2] * 0.01) * s
    return last * last * z[0] + last + abs(x[1]) + max(x[1], total) + 3.0 ** x[2] + np.floor(x[0]) * x[0]


def test_runs_of_numbers(outcomes):
    compare(numbers, X, 1.3)
    compare(lambda v: numbers(v[0] * X, v[0]), np.array([1.1]))
    found = hessian(lambda v: sum(v[k] * v[k] * v[k + 1] for k in range(59)))(np.linspace(0.5, 1.5, 60).tolist())
    assert found[1][2] == pytest.approx(2.0 * (0.5 + 1.0 / 59.0))
    assert found[7][20] == 0.0
    assert all(outcomes)


def test_tangents_that_are_not_computed_are_not_read(outcomes, monkeypatch):
    """The room for them is used again, and may hold anything."""
    make = passes.Pass.__init__

    def spoilt(self, *args):
        make(self, *args)
        self.dots[:, self.free :] = np.nan

    monkeypatch.setattr(passes.Pass, "__init__", spoilt)
    compare(numbers, X, 1.3)
    compare(model, X, 1.3)
    compare(lambda x, y: x * y + 2.0 * (x - y) + x, 1.1, 0.7)
    assert all(outcomes)


def test_matrix_arguments_in_any_layout(outcomes):
    compare(lambda a, b: np.sum((a @ b) ** 3) + np.sum((a @ b[:, 0]) * a[:, 0]), M.copy(order="F"), M.T)
    compare(lambda a: np.sum((X @ a) ** 3) * np.sum(a * a.T[0]), np.outer(X, X + 1.0).T)
    assert all(outcomes)


def test_random_programs(outcomes):
    for seed in range(100):
        program, _ = generate(f"second order {seed}")
        compare(total(program.function()), *program.inputs, rtol=1e-7)
    assert sum(outcomes) > len(outcomes) / 2


JOINS = {
    "concatenate": lambda x, y: np.concatenate([x, y]), "the other way round": lambda x, y: np.concatenate([y, x]),
    "stack": lambda x, y: np.stack([x, y], axis=1), "elements": lambda x, y: np.array([x[0], x[1], x[2], y[0], y[1]]),
    "assignment": lambda x, y: filled(x, y), "backwards": lambda x, y: np.concatenate([x, y])[::-1],
    "a turned matrix": lambda x, y: np.vstack([x, y]).T,
}  # fmt: skip
READERS = {
    "sum": np.sum,
    "mean": np.mean,
    "exp": lambda z: np.sum(np.exp(0.3 * z)),
    "dot": lambda z: np.dot(np.ravel(z)[1:], np.arange(1.0, z.size)),
    "square": lambda z: np.sum(z * z),
    "matrix": lambda z: np.sum(np.cos(np.arange(3.0 * len(z)).reshape(3, -1)) @ z),
    "strided": lambda z: np.sum(np.ravel(z)[::2] ** 3),
}


def filled(x, y):
    z = np.zeros(6)
    z[:3], z[3:] = x, y
    return z


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("join", JOINS)
def test_an_argument_beside_what_is_made_of_it(join, reader, outcomes):
    """The cells of both lie beside each other, so that no copy is made; the adjoints of one half are read."""

    def f(x):
        return READERS[reader](JOINS[join](x, x * x))

    expected = jvp(grad(f), (X,), (M[0],))[1]
    for g in (f, contad.record(f, X)):
        for _ in range(2):
            np.testing.assert_allclose(hvp(g)(X, M[0]), expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(hessian(g)(X) @ M[0], expected, rtol=1e-12, atol=1e-12)
    assert all(outcomes)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(contad.checkpoint(np.tanh)(x) * x), X),  # somebody's own continuation
        (lambda x: np.sum(np.abs(x - X)) + np.sum(x**3), X),  # a kink
    ],
)
def test_functions_that_go_to_duals(f, x, outcomes):
    expected = jvp(grad(f), (x,), (x,))[1]
    np.testing.assert_allclose(hvp(f)(x, x), expected, rtol=1e-12)
    assert outcomes == [False]


def test_captured_variables_go_to_duals(outcomes):
    assert grad(lambda t: hvp(lambda x: np.sum(x**3) * t)(X, X)[1] * t)(2.0) == pytest.approx(24.0 * X[1] ** 2)
    assert outcomes == [False]


def test_f_is_recorded_once_for_all_directions():
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(x**3)

    hessian(f)(np.linspace(1.0, 2.0, 100))
    assert len(calls) == 1


def test_functions_that_do_not_bend(outcomes):
    np.testing.assert_array_equal(hessian(lambda x: 1.0)(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(hessian(lambda x: x[1])(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(hvp(lambda x: np.mean(x * 2.0))(X, X), np.zeros(3))
    assert all(outcomes)


def test_blocks_of_directions_are_bounded(monkeypatch):
    sizes = []
    make = passes.Pass.__init__

    def watched(self, count, *rest):
        sizes.append(count)
        make(self, count, *rest)

    monkeypatch.setattr(passes.Pass, "__init__", watched)
    monkeypatch.setattr(passes, "ROOM", 1000)
    x = np.linspace(1.0, 2.0, 40)
    found = hessian(lambda x: np.sum(x**3 * np.sum(x)))(x)
    expected = np.diag(6.0 * x * np.sum(x)) + 3.0 * (x[:, None] ** 2 + x**2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert sum(sizes) == 40
    assert max(sizes) < 13


def test_constants_that_f_writes_to():
    """They are fresh for every evaluation, also where a recording does not do."""

    def f(x, scale):
        scale *= 2.0
        return contad.checkpoint(contad.erf)(x[0]) * scale[0] * x[1] * x[1]

    scale = np.ones(1)
    found = hessian(f)(X, scale)
    assert found[1, 1] == pytest.approx(4.0 * contad.erf(X[0]))
    assert scale[0] == 1.0


def test_a_second_partial_through_z_and_by_itself():
    """z = x^y has a body that uses z: against the derivatives by hand."""
    x, y = M + 0.5, 2.0 * M
    z = x**y
    first, second = partials_of(contad.ops.power, "vv", [0, 1], (z, x, y))
    np.testing.assert_allclose(first[0], y * x ** (y - 1.0))
    np.testing.assert_allclose(second[0][0], y * (y - 1.0) * x ** (y - 2.0))
    mixed = x ** (y - 1.0) * (1.0 + y * np.log(x))
    np.testing.assert_allclose(second[0][1], mixed)
    np.testing.assert_allclose(second[1][0], mixed)
    np.testing.assert_allclose(second[1][1], z * np.log(x) ** 2)


def test_linear_operations_bend_nothing():
    assert partials_of(contad.ops.subtract, "vv", [0, 1], (M, M, M)) == ([1.0, -1.0], [[None, None], [None, None]])


@pytest.mark.parametrize("f", [np.std, lambda v: np.std(v, keepdims=True)[0]])
def test_standard_deviations_of_equal_data_have_second_derivatives_of_one_side(f):
    """Arrays without variables are arrays of floats again."""
    x = np.ones(3)
    for nested in (contad.hessian(f), contad.jacobian(contad.grad(f)), contad.jacfwd(contad.jacfwd(f))):
        assert np.array_equal(nested(x), np.zeros((3, 3)))


def test_products_of_standard_deviations_of_equal_data_have_no_second_derivatives():
    assert np.isnan(contad.hessian(lambda v: np.sum(np.std(v, axis=0) * v))(np.ones(3))).any()
