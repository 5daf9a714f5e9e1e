"""Sparse Jacobians and Hessians: equal to the dense ones, in few passes, by patterns that miss nothing."""

import warnings

import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy import sparse

import contad
from contad import sparse_hessian, sparse_jacobian, sparsity
from contad.engines.second_order import dependencies
from contad.errors import OutputError, UnsupportedError, ValueMismatchError
from contad.transforms import pattern_search
from contad.variables.trees import flatten
from tests.random_programs.array_statements import generate

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal(12)
MATRIX = RANDOM.standard_normal((3, 4))
BAND = np.triu(np.tril(RANDOM.standard_normal((12, 12)), 1), -1)
SPARSE = sparse.random_array((12, 12), density=0.2, rng=RANDOM, format="csr")


def assign(x):
    z = np.zeros(12)
    for k in range(12):
        z[k] = x[k] * x[(5 * k) % 12] + (x[k - 1] if k % 3 else 1.0)
    z[3] = 2.0
    return z


def chain(x):
    total = 0.0
    for k in range(1, 12):
        total = total + (1.0 - x[k]) ** 2 + 100.0 * (x[k] - x[k - 1] ** 2) ** 2
    return total


@numba.njit
def folded(x, bound):
    z = np.empty(len(x) - 2)
    for k in range(len(z)):
        z[k] = x[k] - 2.0 * x[k + 1] ** 2 + x[k + 2] if x[k] > bound else x[0]
    return z


@numba.njit
def compiled_chain(x):
    total = 0.0
    for k in range(1, len(x)):
        total += (1.0 - x[k]) ** 2 + 100.0 * (x[k] - x[k - 1] ** 2) ** 2
    return total


# by name: f, x, elements of the pattern, passes; the elements are counted by hand
JACOBIANS = {
    "elements": (lambda x: x[1:] * np.sin(x[:-1]), X, 22, 2),
    "broadcast": (lambda x: x[:3] * x[3:6][:, None], X, 18, 2),
    "cumsum": (lambda x: np.cumsum(x) ** 2, X, 78, 12),
    "cumsum of rows": (lambda m: np.cumsum(m, axis=1), MATRIX, 30, 4),
    "a constant band": (lambda x: BAND @ np.exp(x), X, 34, 3),
    "a sparse constant": (lambda x: SPARSE @ (x * x), X, SPARSE.nnz, None),
    "a product": (lambda m: m @ m.T, MATRIX, 60, 6),
    "sum": (lambda m: np.sum(m**2, axis=0), MATRIX, 12, 1),
    "mean": (lambda m: np.mean(m, axis=1) * m[:, 0], MATRIX, 12, 1),
    "convolve": (lambda x: np.convolve(x, [1.0, 2.0, 3.0], "same"), X, 34, 3),
    "convolve, valid": (lambda x: np.convolve([1.0, 2.0, 3.0], x, "valid") * x[1:-1], X, 30, 3),
    "diff": (lambda x: np.diff(x) / x[1:], X, 22, 2),
    "a system": (lambda x: np.linalg.solve(np.eye(12) * 3.0 + BAND, x), X, 144, 12),
    "assignments": (assign, X, None, None),
    "a special function": (lambda x: contad.gammaln(1.0 + x**2)[::2], X, 6, 1),
    "numbers": (lambda x: [x[0] * x[1], x[2], 3.0], X, 3, 1),
    "a scatter": (lambda x: np.bincount([0, 1, 0, 2], weights=x[:4]), X, None, None),
}
HESSIANS = {
    "a chain": (lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2) + x[0] * x[-1], X, 36, 3),
    "numbers": (chain, X, 34, 3),
    "dense": (lambda x: np.log(np.sum(np.exp(x))), X, 144, 12),
    "pairs": (lambda x: np.sum(x[:6] * x[6:]), X, 12, 2),
    "a dot product": (lambda x: np.dot(x[1:], x[:-1]) + 3.0 * x[0], X, 22, 3),
    "a quadratic form": (lambda x: x @ BAND @ x, X, 34, 3),
    "linear": (lambda x: x[0] + np.sum(2.0 * x), X, 0, 1),
    "no matter": (lambda x: x[0] ** 2 + 0.0 * np.sum(np.exp(x)), X, None, None),
    "of a determinant": (lambda m: np.linalg.slogdet(m @ m.T + np.eye(3))[1], MATRIX, 144, 12),
    "maximum": (lambda x: np.sum(np.maximum(x[1:], x[:-1]) ** 2), X, 34, 3),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobian_is_that_of_jacobian(name):
    f, x, count, passes = JACOBIANS[name]
    rows = [np.reshape(row, -1) for row in dense_rows(f, x)]
    derivative = sparse_jacobian(f)
    found = derivative(x)
    np.testing.assert_allclose(found.toarray(), rows, rtol=1e-12, atol=1e-13)
    pattern = sparsity(f, x)
    assert not np.any(np.array(rows)[~pattern.toarray()])
    assert count in (None, pattern.nnz)
    assert passes in (None, derivative.passes)


def dense_rows(f, x):
    found = contad.jacobian(f)(x)
    return found if isinstance(found, list) else np.reshape(found, (-1, x.size))


@pytest.mark.parametrize("name", HESSIANS)
def test_hessian_is_that_of_hessian(name):
    f, x, count, passes = HESSIANS[name]
    expected = np.reshape(contad.hessian(f)(x), (x.size, x.size))
    derivative = sparse_hessian(f)
    np.testing.assert_allclose(derivative(x).toarray(), expected, rtol=1e-10, atol=1e-10)
    pattern = sparsity(f, x, of="hessian").toarray()
    assert (pattern == pattern.T).all()
    assert not np.any(expected[~pattern])
    assert count in (None, pattern.sum())
    assert passes in (None, derivative.passes)


def test_trees_and_several_arguments():
    def f(p, q, scale):
        return [p["a"] * q * scale, p["b"] ** 2]

    p, q = {"a": np.arange(3.0), "b": 2.0}, np.array([1.0, 2.0, 3.0])
    found = sparse_jacobian(f, (0, 1))(p, q, scale=2.0).toarray()
    expected = np.zeros((4, 7))
    expected[:3, :3], expected[:3, 4:], expected[3, 3] = np.diag(2.0 * q), np.diag(2.0 * p["a"]), 4.0
    np.testing.assert_array_equal(found, expected)


# ---- random programs -------------------------------------------------------------------------------------------------
def in_one_matrix(blocks, rows, sizes):
    """The derivative by several arguments, as tuples of arrays, as one matrix."""
    return np.concatenate([np.reshape(block, (rows, n)) for block, n in zip(blocks, sizes, strict=True)], axis=1)


def check_program(seed):
    """The sparse derivatives of a random program are its dense ones, and both patterns miss nothing."""
    program, _ = generate(seed)
    run, inputs = program.function(), program.inputs
    numbers, sizes = tuple(range(len(inputs))), [np.size(x) for x in inputs]

    def f(*xs):
        return np.concatenate([np.reshape(leaf, (-1,)) for leaf in flatten(run(*xs)).leaves])

    def weighed(*xs):
        z = f(*xs)
        return np.sum(np.cos(np.arange(len(z))) * z)

    blocks = contad.jacobian(f, numbers)(*inputs)
    expected = in_one_matrix(blocks, len(blocks[0]), sizes)
    np.testing.assert_allclose(sparse_jacobian(f, numbers)(*inputs).toarray(), expected, rtol=1e-9, atol=1e-9)
    rows = contad.hessian(weighed, numbers)(*inputs)
    expected = np.concatenate([in_one_matrix(row, n, sizes) for row, n in zip(rows, sizes, strict=True)])
    found = sparse_hessian(weighed, numbers)(*inputs).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    check_program(f"sparse/{seed}")


@pytest.mark.long
def test_many_random_programs():
    for seed in range(3000):
        check_program(f"sparse/{seed}")


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def drop_edges(d, z, x):
    """Links without the first parent."""
    children, parents = (a.reshape(-1)[1:] for a in np.broadcast_arrays(z, x))
    live = parents != 0
    d._children.append(children[live])
    d._parents.append(parents[live])


def bend_less(rule, active, live):
    """No operation bends one operand by itself."""
    return tuple((a, b) for a in range(len(live)) for b in range(a + 1, len(live)))


@pytest.mark.parametrize(
    ("place", "name", "plant"),
    [(dependencies.Dependencies, "link", drop_edges), (dependencies, "bent_pairs", bend_less)],
    ids=["an edge is lost", "a square is linear"],
)
def test_a_planted_bug_is_noticed(place, name, plant, monkeypatch):
    monkeypatch.setattr(place, name, plant)

    def notices(seed):
        try:
            check_program(f"sparse/{seed}")
        except AssertionError:
            return True
        return False

    assert any(notices(seed) for seed in range(20))


# ---- patterns that change --------------------------------------------------------------------------------------------
def test_a_plain_function_has_the_pattern_of_the_call():
    def f(x):
        return x[1:] * x[:-1] if x[0] > 0.0 else x[1:] * x[0]

    derivative = sparse_jacobian(f)
    for x in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0]), np.array([1.5, 2.0, 3.0, 4.0])):
        np.testing.assert_allclose(derivative(x).toarray(), contad.jacobian(f)(x))


def test_a_numba_function_is_recorded_again_where_its_pattern_misses_an_element(monkeypatch):
    recorded = []
    find = pattern_search.jacobian_pattern
    monkeypatch.setattr(pattern_search, "jacobian_pattern", lambda *args: recorded.append(1) or find(*args))
    derivative = sparse_jacobian(folded)
    x = np.array([0.5, 1.5, -0.7, 2.0, 0.3, 0.9])
    for bound in (-1.0, 0.4, 0.4, -1.0):
        np.testing.assert_allclose(derivative(x, bound).toarray(), contad.jacobian(folded)(x, bound), rtol=1e-12)
    assert len(recorded) == 2


def test_a_given_pattern_is_checked_on_request():
    x = np.array([0.5, 1.5, -0.7, 2.0, 0.3, 0.9])
    pattern = sparsity(folded, x, -1.0)
    assert sparse_jacobian(folded, pattern=pattern, check=True)(x, -1.0).nnz == 12
    with pytest.raises(ValueMismatchError, match=r"the pattern misses element \(2, 0\), where the derivative is 1"):
        sparse_jacobian(folded, pattern=pattern, check=True)(x, 0.0)

    def f(x):
        return np.sum(x[:-1] * x[1:]) + x[0] * x[-1] ** 3

    with pytest.raises(ValueMismatchError, match=r"misses element \((0, 2|2, 0)\)"):
        sparse_hessian(f, pattern=np.tri(3, k=1) * np.tri(3, k=1).T, check=True)(np.ones(3))
    found = sparse_jacobian(lambda x: x * x, pattern=np.eye(3))(np.ones(3))
    np.testing.assert_array_equal(found.toarray(), 2.0 * np.eye(3))


@pytest.mark.parametrize(("make", "error"), [
    (lambda: sparse_jacobian(lambda x: x, pattern=np.eye(4))(np.ones(3)), "column for each of the 3 numbers"),
    (lambda: sparse_hessian(lambda x: np.sum(x), pattern=np.tri(3)), "symmetric"),
    (lambda: sparse_jacobian(lambda x: x, pattern=np.ones(3)), "pattern must be a matrix"),
    (lambda: sparse_jacobian(lambda x: x, pattern="rows"), "be a matrix, dense or sparse, got 'rows'"),
    (lambda: sparse_hessian(np.sum, pattern=np.eye(3, k=1)), r"with element \(0, 1\) and without \(1, 0\)"),
    (lambda: sparse_jacobian(np.cumsum, pattern=np.ones((1, 3)), check=True)(np.ones(3)), "row for each of the 3"),
    (lambda: sparse_hessian(lambda x: None)(np.ones(3)), "sparse_hessian: <lambda> returned None"),
    (lambda: sparsity(lambda x: x, 1.0, of="gradient"), "'jacobian' or 'hessian'"),
    (lambda: sparse_jacobian(lambda x: x).structure(1.0, triangle="left"), "'lower', 'upper' or None"),
    (lambda: sparse_jacobian(lambda x: None)(1.0), "None"),
    (lambda: sparse_hessian(lambda x: x)(np.ones(3)), "number"),
])  # fmt: skip
def test_errors_name_what_is_wrong(make, error):
    with pytest.raises((ValueError, TypeError), match=error):
        make()


def test_rules_that_run_as_they_like_are_refused_with_what_to_do():
    @contad.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, z_bar: (2.0 * x * z_bar,))
    with pytest.raises(UnsupportedError, match=r"sparse_jacobian: .*pass pattern="):
        sparse_jacobian(lambda x: square(x))(np.ones(3))
    found = sparse_jacobian(lambda x: square(x), pattern=np.eye(3))(np.arange(3.0))
    np.testing.assert_array_equal(found.toarray(), np.diag(2.0 * np.arange(3.0)))


def test_kinks_are_refused_with_what_to_do():
    def ramps(x):
        return np.maximum(x, 0.0) * x[::-1]

    with pytest.raises(UnsupportedError, match=r"f has a kink .*contad\.sparsity finds at points without a kink"):
        sparse_jacobian(ramps)(np.zeros(2))
    x = np.array([0.0, 3.0])
    found = sparse_jacobian(ramps, pattern=contad.sparsity(ramps, x + 1.0))(x)
    np.testing.assert_allclose(found.toarray(), [[1.5, 0.0], [3.0, 0.0]])


@numba.njit
def positive(x):
    return x[x > 0.0] * 2.0


@numba.njit
def positive_of_all(x):
    return np.sum(x * x) * x[x > 0.0]


@pytest.mark.parametrize(
    ("f", "check"), [(positive, None), (positive, False), pytest.param(positive_of_all, False, marks=pytest.mark.long)]
)
@pytest.mark.filterwarnings("ignore:.*Python copy")
def test_inputs_may_decide_how_many_numbers_there_are(f, check):
    """Of a Numba function, whose pattern is kept: by columns, and by rows, of which there are fewer."""
    derivative = sparse_jacobian(f, check=check)
    for signs in ([1.0, -1.0, -1.0, -1.0], [1.0, -1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]):
        x = np.array([1.5, 0.3, 0.7, 1.2]) * signs
        found, expected = derivative(x).toarray(), contad.jacobian(f.py_func)(x)
        assert found.shape == (np.sum(x > 0.0), 4)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.long)])
def test_shapes_may_change_between_calls_but_not_those_of_a_given_pattern(compiled):
    def chain(x):
        return x[1:] * x[:-1] + x[1:] ** 2

    def energy(x):
        return np.sum((x[1:] - x[:-1] ** 2) ** 2)

    f, e = (numba.njit(chain), numba.njit(energy)) if compiled else (chain, energy)
    rows, bends = sparse_jacobian(f), sparse_hessian(e)
    for n in (3, 6, 1, 3):
        x = np.linspace(0.5, 1.5, n)
        np.testing.assert_allclose(rows(x).toarray(), contad.jacobian(chain)(x), rtol=1e-13)
        np.testing.assert_allclose(bends(x).toarray(), contad.hessian(energy)(x), rtol=1e-13)
        assert len(rows.structure(x)[0]) == len(rows.values(x)) == 2 * (n - 1)
    known = sparsity(f, np.ones(4)), sparsity(e, np.ones(4), of="hessian")
    for made in (sparse_jacobian(f, pattern=known[0]), sparse_hessian(e, pattern=known[1])):
        assert made(np.ones(4)).shape[1] == 4
        with pytest.raises(ValueError, match="pattern must have a column for each of the 5 numbers, got shape"):
            made(np.ones(5))


def test_solvers_hand_on_what_is_wrong_with_a_derivative():
    """least_squares, trust-constr and solve_ivp: without outputs, and with a pattern that misses an element."""

    def residuals(x):
        return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

    def rhs(t, y):
        return np.concatenate([-y[:1], y[:-1] - y[1:] ** 2])

    def minimised(**options):
        bound = scipy.optimize.NonlinearConstraint(lambda x: x[1:] * x[:-1], -1.0, 2.0, **options)
        start, square = np.full(4, 0.5), lambda x: np.sum(x * x)
        return scipy.optimize.minimize(
            square, start, method="trust-constr", jac=contad.grad(square), hess=sparse_hessian(square),
            constraints=bound
        )

    solvers = [
        (lambda jac: scipy.optimize.least_squares(residuals, np.full(4, 0.5), jac=jac), residuals, 0, (6, 4)),
        (lambda jac: minimised(jac=jac), lambda x: x[1:] * x[:-1], 0, (3, 4)),
        (lambda jac: scipy.integrate.solve_ivp(rhs, (0.0, 1.0), np.ones(4), method="BDF", jac=jac), rhs, 1, (4, 4)),
    ]
    for solve, f, k, shape in solvers:
        known = np.eye(*shape)
        with pytest.raises(ValueMismatchError, match=r"the pattern misses element \(\d, \d\), where the derivative is"):
            solve(sparse_jacobian(f, k, pattern=known, check=True))
        with pytest.raises(OutputError, match="sparse_jacobian: <lambda> returned None; return the value"):
            solve(sparse_jacobian(lambda *args: None, k))
        assert solve(sparse_jacobian(f, k)).success


def test_without_outputs_or_elements():
    assert sparse_jacobian(lambda x: np.zeros(0))(np.ones(3)).shape == (0, 3)
    with pytest.raises(OutputError, match="sparse_jacobian: .* without a number in it"):
        sparse_jacobian(lambda x: [])(np.ones(3))
    assert sparse_jacobian(lambda x: np.zeros(2))(np.ones(3)).nnz == 0
    assert sparse_jacobian(lambda x: x)(np.zeros(0)).shape == (0, 0)


@numba.njit
def upwind(u):
    z = np.zeros(len(u))
    for k in range(len(u)):
        if u[k] > 0.0 and k > 0:
            z[k] = u[k] * (u[k] - u[k - 1])
        elif u[k] <= 0.0 and k + 1 < len(u):
            z[k] = u[k] * (u[k + 1] - u[k])
    return z


def make_array(x):
    return np.sum(np.zeros(int(x[0])) * x[1])


def test_all_branches_have_what_any_point_has():
    up, down = np.array([1.0, 2.0, 3.0, 4.0]), np.array([-1.0, -2.0, -3.0, -4.0])
    whole = sparsity(upwind, up, branches="all").toarray()
    np.testing.assert_array_equal(whole, np.triu(np.tril(np.ones((4, 4)), 1), -1) != 0.0)
    joined = (sparsity(upwind, up) + sparsity(upwind, down)).toarray()
    np.testing.assert_array_equal(whole, joined)
    np.testing.assert_array_equal(sparsity(upwind.py_func, up, branches="all").toarray(), whole)
    checked = sparse_jacobian(upwind, pattern=whole, check=True)
    for x in (up, down):
        np.testing.assert_allclose(checked(x).toarray(), contad.jacobian(upwind.py_func)(x), rtol=1e-13)
    with pytest.raises(UnsupportedError, match="an array whose size inputs decide"):
        sparsity(make_array, up, branches="all")


def test_a_numba_function_that_no_program_notes_runs_as_a_copy_with_a_warning():
    with pytest.warns(UserWarning, match="popped: .*; a Python copy of it finds the dependencies, at Python's"):
        np.testing.assert_array_equal(sparsity(popped, np.ones(3)).toarray(), [[True, True, False]])
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert sparsity(popped, np.ones(3)).nnz == 2


@numba.njit
def popped(x):
    terms = {0: x[0], 1: x[1]}
    return terms.pop(1) * terms[0]


@numba.njit
def mixed(p, x, n):
    """Of numbers and arrays in a tuple, with a count and an integer in the result."""
    a, b = p
    return a * x[n:] + b, 3, np.sum(x) ** 2


def test_compiled_patterns_take_trees_floats_of_all_sizes_and_what_is_empty():
    x = np.array([1.0, 2.0, 3.0])
    found = sparse_jacobian(mixed, (0, 1))((2.0, 3), x.astype(np.float32), 1).toarray()
    expected = [[2.0, 1.0, 0.0, 2.0, 0.0], [3.0, 1.0, 0.0, 0.0, 2.0], [0.0] * 5, [0.0, 0.0, 12.0, 12.0, 12.0]]
    np.testing.assert_allclose(found, expected)
    derivative = sparse_jacobian(mixed, 1)
    for n, size in ((0, 3), (2, 3), (2, 5), (0, 0), (1, 1)):  # shapes change, and counts
        x = np.arange(1.0, size + 1.0)
        found = derivative((2.0, 3.0), x, n).toarray()
        expected = np.concatenate([2.0 * np.eye(size)[n:], np.zeros((1, size)), 2.0 * np.sum(x) * np.ones((1, size))])
        np.testing.assert_allclose(found, expected)
    assert sparse_hessian(cube)(2.0).toarray() == [[12.0]]


@numba.njit
def cube(x):
    return x**3


@pytest.mark.parametrize("transform", [sparse_jacobian, sparse_hessian])
def test_an_engine_that_is_none_is_refused(transform):
    for engine, message in (("reverse", "engine: expected one of .*; got 'reverse'"), ("tape", "use 'matrix'")):
        with pytest.raises(UnsupportedError, match=message):
            transform(lambda x: np.sum(x**3), engine=engine)(X)


def test_a_pattern_of_the_wrong_height_is_refused_without_a_check():
    with pytest.raises(ValueError, match="have a row for each of the 3 numbers"):
        sparse_jacobian(lambda x: x * x, pattern=np.eye(4, 3))(np.ones(3))


@numba.njit
def tangle(a, b):
    return a * abs(b) + max(a, 0.0) * b


@numba.njit
def differ(x):
    return x[1:] - x[:-1] ** 2


def test_plain_functions_may_call_numba_functions():
    """Of elements and of arrays: these are recorded by their operations, so that it is told what depends on what."""

    def f(x):
        return np.array([tangle(x[0], x[1]), tangle(x[2], 1.5), *differ(x)])

    x = np.array([0.7, -1.2, 2.0])
    found = sparse_jacobian(f)(x)
    np.testing.assert_allclose(found.toarray(), contad.jacobian(f)(x), rtol=1e-14)
    assert found.nnz == 7


# ---- counts ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_passes_do_not_grow_with_the_size(n):
    x = np.linspace(-1.0, 1.0, n)
    derivative = sparse_jacobian(lambda x: np.convolve(x**2, [1.0, -2.0, 1.0], "same"))
    assert derivative(x).nnz == 3 * n - 2
    assert derivative.passes == 3
    derivative = sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))
    assert derivative(x).nnz == 3 * n - 2
    assert derivative.passes <= 3


def test_a_sum_of_many_terms_has_edges_in_proportion():
    from contad.patterns.closure_kernels import find_sets  # compiled on first use

    x = np.ones(2000)
    assert sparsity(lambda x: sum(x[k] * x[k - 1] for k in range(2000)), x).nnz == 2000
    pattern = sparsity(lambda x: sum(x[k] * x[k - 1] for k in range(2000)), x, of="hessian")
    assert pattern.nnz == 4000
    n = 50_000  # a chain of sums: the sets of what one child asks for are not made
    starts, parents = np.concatenate([[0, 0, 0], np.arange(2, 2 * n + 1, 2)]), np.zeros(2 * n, np.int64)
    parents[0::2], parents[1::2] = np.arange(1, n + 1), 1
    kept = np.zeros(n + 2, bool)
    kept[-1] = True
    _, _, members = find_sets(starts.astype(np.int64), parents, np.r_[-1, 0, np.full(n, -1)], kept)
    assert len(members) == 1


# ---- solvers ---------------------------------------------------------------------------------------------------------
def test_least_squares_takes_it():
    def residuals(x):
        return np.append(10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x)

    x = np.full(30, 0.3)
    fit = scipy.optimize.least_squares(residuals, x, jac=sparse_jacobian(residuals))
    np.testing.assert_allclose(fit.x, 1.0, rtol=1e-6)


def test_trust_constr_takes_it():
    def f(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    fit = scipy.optimize.minimize(
        f, np.full(20, 0.8), jac=contad.grad(f), hess=sparse_hessian(f), method="trust-constr", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(fit.x, 1.0, rtol=1e-5)


def test_solve_ivp_takes_it():
    def heat(t, y):
        inner = y[:-2] - 2.0 * y[1:-1] + y[2:]
        return 400.0 * np.concatenate([[0.0], inner, [0.0]])

    y = np.sin(np.pi * np.linspace(0.0, 1.0, 21))
    jac = sparse_jacobian(heat, 1)
    found = scipy.integrate.solve_ivp(heat, (0.0, 0.1), y, method="BDF", jac=jac, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.y[:, -1], y * np.exp(-0.1 * 1600.0 * np.sin(np.pi / 40.0) ** 2), atol=1e-6)
    assert jac.passes == 3


@numba.njit
def compiled_residuals(x):
    r = np.empty(2 * len(x) - 1)
    for k in range(len(x)):
        r[k] = 1.0 - x[k]
        if k > 0:
            r[len(x) + k - 1] = 10.0 * (x[k] - x[k - 1] ** 2)
    return r


@numba.njit
def compiled_heat(t, y):
    z = np.zeros(len(y))
    for k in range(1, len(y) - 1):
        z[k] = 400.0 * (y[k - 1] - 2.0 * y[k] + y[k + 1])
    return z


@pytest.mark.long
def test_solvers_take_those_of_numba_functions():
    """The patterns come from compiled programs, and no call runs a Python copy."""
    x = np.full(12, 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = scipy.optimize.least_squares(compiled_residuals, x, jac=sparse_jacobian(compiled_residuals))
        np.testing.assert_allclose(fit.x, 1.0, rtol=1e-6)
        fit = scipy.optimize.minimize(
            compiled_chain, x, jac=contad.grad(compiled_chain), hess=sparse_hessian(compiled_chain),
            method="trust-constr", options={"gtol": 1e-9},
        )  # fmt: skip
        np.testing.assert_allclose(fit.x[1:], 1.0, rtol=1e-5)
        y = np.sin(np.pi * np.linspace(0.0, 1.0, 21))
        jac = sparse_jacobian(compiled_heat, 1)
        found = scipy.integrate.solve_ivp(compiled_heat, (0.0, 0.1), y, "BDF", jac=jac, rtol=1e-8, atol=1e-10)
        decay = np.exp(-0.1 * 1600.0 * np.sin(np.pi / 40.0) ** 2)
        np.testing.assert_allclose(found.y[:, -1], y * decay, atol=1e-6)
        assert jac.passes == 3


def test_structure_and_values_are_in_one_order():
    derivative = sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))
    x = np.array([0.5, -1.2, 0.7, 2.0])
    rows, columns = derivative.structure(x, triangle="lower")
    assert (rows >= columns).all()
    expected = contad.hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))(x)
    np.testing.assert_allclose(derivative.values(x, triangle="lower"), expected[rows, columns])
    np.testing.assert_allclose(derivative.values(x), expected[derivative.structure(x)])


def test_all_passes_and_the_check_are_one_call_in_lanes():
    for made, kind in ((sparse_hessian(compiled_chain), "hessian_rows"), (sparse_jacobian(folded), "tangent_rows")):
        args = (X,) if kind == "hessian_rows" else (X, -9.0)
        made(*args)
        rows = made.compiled_rows(kind)
        (choice,) = rows.choices.values()
        assert choice.lanes
        asked = []
        made.rows[kind] = lambda *given, rows=rows, asked=asked: asked.append(len(given[-1])) or rows(*given)
        made(*args)
        assert asked == [made.passes + 1]  # the random vector of the check is among them
        assert made.passes == 3 if kind == "tangent_rows" else made.passes <= 3
