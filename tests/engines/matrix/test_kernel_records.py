"""Operations of linear algebra by kernels in recordings that are swept at once, against the rules in Python."""

import numpy as np
import pytest

import contad
from contad.engines.matrix import kernel_records
from contad.engines.matrix.kernel_records import COMPILED, KernelPullback, RecordKernels
from contad.rules.array_rule import array_rule_of
from contad.scipy import linalg, mirroring, structured_matrices
from tests.judges.calls_of_python import calls_in
from tests.judges.steps_in_python import leave_steps_to_python

RNG = np.random.default_rng(47)
A = RNG.normal(size=(4, 4))
S = A @ A.T + np.eye(4)
B = RNG.normal(size=4)
CASES = [(name, k) for name in sorted(COMPILED) for k in range(len(array_rule_of(name).points))]


@pytest.fixture
def steps(monkeypatch):
    """What has been recorded by kernels, by the name of its rule; Python may sweep none of it."""
    taken = []
    record = RecordKernels.record

    def noted(kernels, *args):
        found = record(kernels, *args)
        if found is not None:
            taken.append(kernels.name)
        return found

    def refuse(c, adj):
        raise AssertionError(f"Python sweeps {c.rule.name}")

    monkeypatch.setattr(RecordKernels, "record", noted)
    monkeypatch.setattr(KernelPullback, "__call__", refuse)
    return taken


def in_python(f, *args):
    """The value and the gradients of f where no kernel is taken."""
    with pytest.MonkeyPatch.context() as patch:
        leave_steps_to_python(patch)
        return contad.value_and_grad(f, tuple(range(len(args))))(*args)


def require_same(found, expected, tolerance=1e-12):
    assert found[0] == pytest.approx(expected[0], rel=tolerance)
    for bar, wanted in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(bar, wanted, rtol=tolerance, atol=tolerance * np.max(np.abs(wanted), initial=0.0))


@pytest.mark.parametrize(("name", "k"), CASES, ids=str)
def test_kernels_agree_with_the_rule(name, k, steps):
    rule = array_rule_of(name)
    point = rule.points[k]
    options = point[-1] if isinstance(point[-1], dict) else {}
    arrays = [np.array(x) for x in point[: len(rule.argument_names)]]
    orders = []

    def f(*args):
        z = rule(*args, **options)
        orders.append((np.shape(z), np.ndim(z) < 2 or z._value.flags.c_contiguous))
        return np.sum(np.sin(z) * np.cos(0.1 * np.arange(np.size(z)).reshape(np.shape(z))))

    for given in (arrays, [np.asfortranarray(x) for x in arrays]):
        found = contad.value_and_grad(f, tuple(range(len(given))))(*given)
        require_same(found, in_python(f, *given))
        assert orders[-1] == orders[-2], "the shape or the memory order of the result"
    is_stack = any(x.ndim > 2 for x in arrays) or "b" in options or isinstance(options.get("axis"), tuple)
    assert is_stack or steps == [name] * 2 or name == "euclidean_norm"
    if is_stack:
        return
    for n in range(len(arrays)):  # one variable beside constants, of which one may lie as its transpose
        for constant in (np.copy, contad.constant, lambda x: contad.constant(np.copy(x.T)).T):
            others = [x if k == n else constant(x) for k, x in enumerate(arrays)]
            of_one = contad.value_and_grad(f, (n,))(*others)
            with pytest.MonkeyPatch.context() as patch:
                leave_steps_to_python(patch)
                require_same(of_one, contad.value_and_grad(f, (n,))(*others))


def likelihood(k, y):
    lower = np.linalg.cholesky(k)
    z = linalg.solve_triangular(lower, y.T, lower=True)
    return np.sum(z * z) + np.sum(np.log(np.diagonal(lower))) + np.sum(linalg.expm(0.1 * k))


def test_a_recording_of_steps_is_swept_without_python(steps):
    y = RNG.normal(size=(3, 4))
    require_same(contad.value_and_grad(likelihood, (0, 1))(S, y), in_python(likelihood, S, y))
    assert steps == ["cholesky_factor", "solve_triangular", "expm"]


@pytest.mark.parametrize(
    ("operate", "calls"),
    [
        (lambda s, b: linalg.cho_factor(s, True), ["__call__", "cho_factor", "of_one"]),
        (lambda s, b: linalg.cho_solve((s, True), b), ["__call__", "cho_solve", "of_two"]),
        (lambda s, b: np.linalg.inv(s), ["array_function", "method"]),
        (lambda s, b: np.linalg.det(s), ["array_function", "method"]),
    ],
    ids=["cho_factor", "cho_solve", "inv", "det"],
)
def test_a_step_is_recorded_in_few_calls(operate, calls):
    for _ in range(2):  # a first recording makes the arrays of values
        with contad.nested():
            s, b = contad.var(S), contad.var(B)
            operate(s, b)  # gets the kernels
            found = calls_in(operate, s, b)
    names = [code.co_name for code in found if code.co_name != "_unary_dispatcher"]  # which is NumPy's
    assert names == ["<lambda>", *calls, "record"]


@pytest.mark.parametrize("way", [contad.value_and_grad, lambda f: contad.record(f, np.ones((1, 1))).value_and_grad])
def test_a_matrix_of_one_number(way, steps):
    gradient = way(lambda a: 3.0 * np.sum(np.linalg.inv(a)) + np.linalg.det(a) * np.linalg.det(2.0 * a))
    for x in (2.5, -0.5):
        value, found = gradient(np.array([[x]]))
        assert value == pytest.approx(3.0 / x + 2.0 * x * x, rel=1e-15)
        assert found == pytest.approx(np.array([[-3.0 / x**2 + 4.0 * x]]), rel=1e-15)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        gradient(np.zeros((1, 1)))
    assert contad.grad(np.linalg.det)(np.zeros((1, 1))) == 1.0


@pytest.mark.parametrize("n", [3, 40])
def test_only_kernels_of_few_numbers_keep_pythons_lock(n, monkeypatch):
    """Both ways of calling a kernel give the same numbers."""
    a = RNG.normal(size=(n, n)) + n * np.eye(n)
    gradient = contad.value_and_grad(lambda a: np.sum(np.linalg.inv(a)) + np.linalg.det(a / n))
    expected = gradient(a)
    record, called = RecordKernels.record, []

    def swapped(kernels, *args):
        """The record of a record_shape whose kernel is called the other way."""
        record_shape = kernels.record_shapes[a.shape]
        ways = kernels.attempt_briefly, kernels.attempt
        called.append(ways.index(record_shape.attempt))
        kernels.record_shapes[a.shape] = record_shape._replace(attempt=ways[1 - called[-1]])
        try:
            return record(kernels, *args)
        finally:
            kernels.record_shapes[a.shape] = record_shape

    monkeypatch.setattr(RecordKernels, "record", swapped)
    found = gradient(a)
    assert called == [int(n == 40)] * 2
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


def test_higher_orders_are_those_of_the_rules():
    def slope(k):
        return np.sum(contad.grad(likelihood)(k, B[None]) * A)

    def swept_in_python(k):
        return in_python(lambda k: likelihood(k, B[None]), k)[1][0]

    step = 1e-6
    difference = (swept_in_python(S + step * A.T) - swept_in_python(S - step * A.T)) / (2.0 * step)
    along = np.sum(contad.grad(slope)(S) * A.T)
    assert along == pytest.approx(np.sum(difference * A), rel=1e-7)


FAILING = {
    "cholesky": (lambda a: np.sum(np.linalg.cholesky(a)), -S),
    "cho_factor": (lambda a: np.sum(linalg.cho_factor(a)[0]), -S),
    "inv": (lambda a: np.sum(np.linalg.inv(a)), np.zeros((4, 4))),
    "solve_triangular": (lambda a: np.sum(linalg.solve_triangular(a, B)), np.zeros((4, 4))),
    "not square": (lambda a: np.linalg.det(a[:3]), S),
    "does not fit": (lambda a: np.sum(linalg.solve_triangular(a, B[:3])), S),
    "a part of a factor": (lambda a: np.sum(linalg.cho_factor(a[:2])[0]), S),
    "does not fit a factor": (lambda a: np.sum(linalg.cho_solve((a, True), B[:3])), S),
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_are_those_of_the_rules(name):
    f, a = FAILING[name]
    with pytest.raises((np.linalg.LinAlgError, ValueError)) as expected:
        in_python(f, a)
    with pytest.raises(type(expected.value)) as error:
        contad.grad(f)(a)
    assert str(error.value) == str(expected.value)


def test_infinite_elements_are_left_to_the_rules():
    def f(a, b):
        return np.sum(linalg.solve_triangular(a, b, lower=True, check_finite=False)) + np.linalg.det(a)

    def overflows(a, b):  # adjoints of the inverse are infinite
        return np.sum(np.linalg.inv(a) * b * b)

    for g, b in ((f, np.where(np.arange(4) == 2, np.inf, B)), (overflows, 1e200 * B)):
        with np.errstate(all="ignore"):
            found, expected = contad.value_and_grad(g, (0, 1))(S, b), in_python(g, S, b)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        for bar, wanted in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(bar, wanted, rtol=1e-9)


def test_saved_arrays_are_there_where_python_sweeps():
    """An adjoint of an outer level reaches the continuations of steps."""

    def inner(b):
        return np.sum(linalg.cho_solve((np.linalg.cholesky(S + np.outer(B, B)), True), b) ** 2)

    gradient, pullback = contad.vjp(contad.grad(inner), B)
    hessian = np.array([pullback(e)[0] for e in np.eye(4)])
    inverse = np.linalg.inv(S + np.outer(B, B))
    np.testing.assert_allclose(hessian, 2.0 * inverse @ inverse, rtol=1e-10)
    np.testing.assert_allclose(gradient, 2.0 * inverse @ inverse @ B, rtol=1e-10)


def test_rows_and_footprints_name_the_rule():
    with contad.nested() as level:
        x = contad.var(S)
        np.linalg.det(linalg.expm(x))
        assert [row.operation for row in level.rows()] == ["input", "expm", "det"]
        sizes = [footprint.bytes for footprint in level.footprints()]
    assert sizes[1] - sizes[0] == 3 * 16 * 8  # the powers of the matrix


def test_kernels_are_got_when_python_has_taken_as_long(monkeypatch):
    got = []
    monkeypatch.setattr(kernel_records.PATIENCE, "loading", 0.2)
    monkeypatch.setattr(kernel_records.PATIENCE, "compiling", 2.0)
    monkeypatch.setattr(RecordKernels, "_get", lambda kernels: got.append(kernels.name))
    for on_disk, enough in ((True, 0.11), (False, 1.1)):
        monkeypatch.setattr(kernel_records, "is_on_disk", lambda name, purpose, on_disk=on_disk: on_disk)
        kernels = RecordKernels("det")
        kernels.spent = 0.9 * enough
        assert not kernels.are_there()
        kernels.spent = enough
        assert kernels.are_there()
    assert got == ["det", "det"]


def test_the_first_value_which_may_import_scipy_is_not_counted(monkeypatch):
    clock = iter([5.25])
    monkeypatch.setattr(kernel_records, "perf_counter", lambda: next(clock))
    kernels = RecordKernels("det")
    kernels.count(0.0)
    assert kernels.spent == 0.0
    kernels.count(5.0)
    assert kernels.spent == kernels.SWEPT * 0.25


def test_options_that_are_no_words_go_the_general_way(steps):
    gradient = contad.grad(lambda x: np.linalg.norm(x, axis=[0, 1][:1][0]) @ B)(A)
    np.testing.assert_allclose(gradient, A / np.linalg.norm(A, axis=0) * B, rtol=1e-12)
    with pytest.raises(TypeError, match="unexpected argument"):
        contad.grad(lambda x: array_rule_of("det")(x, upper=True))(A)
    assert steps == []


BAND = np.tile([[0.1, 0.6, -0.8, 0.3], [2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 0.2]], 16)  # worth sharing where copied


def solve_band(ab, b, widths=(1, 1)):
    return linalg.solve_banded(widths, ab, b)


def test_systems_with_one_band_share_its_factors(steps):
    with contad.nested() as s:
        ab, b = contad.var(BAND), contad.var(np.tile(B, 16))
        kept, own = contad.constant(BAND), BAND.copy()
        memories = []

        def solve(*args):
            solve_band(*args)
            memories.append(s.callbacks[len(s.callbacks) - 1].memory)

        for args in ((ab, b), (ab, np.sin(b)), (kept, b), (kept, 2.0 * b), (own, b), (own, 2.0 * b)):
            solve(*args)
        assert [memories[k] is memories[k + 1] for k in range(5)] == [True, False, True, False, True]
        own[1] += 1.0
        for args in ((own, b), (ab, b, (2, 0)), (contad.var(BAND), b)):
            solve(*args)
        assert len({id(memory) for memory in memories}) == 6
    assert steps == ["banded_solution"] * 9


@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize("n", [4, 3000])
@pytest.mark.parametrize("widths", [(1, 1), (2, 0)])
def test_steps_that_share_factors_agree_with_the_rule(columns, n, widths, steps):
    """Bands of any size are steps."""
    rng = np.random.default_rng(5)
    ab, b = rng.normal(size=(3, n)) + 9.0 * (np.arange(3) == widths[1])[:, None], rng.normal(size=(n, *columns))

    def f(ab, b):
        return np.sum(solve_band(ab, b, widths) ** 2) + np.sum(np.cos(b) * solve_band(ab, np.sin(b), widths))

    require_same(contad.value_and_grad(f, (0, 1))(ab, b), in_python(f, ab, b))
    assert steps == ["banded_solution"] * 2
    singular = np.where(np.arange(n) == 1, 0.0, ab)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        contad.grad(f)(singular, b)


# ---- functions of contad.scipy.linalg, whose steps look for what is not finite ---------------------------------------
BY_STEPS = {
    "filled_cholesky_factor": (lambda a: linalg.cho_factor(a, True)[0], (S,)),
    "cholesky_factor": (lambda a: linalg.cholesky(a, lower=True), (S,)),
    "cholesky_solution": (lambda c, b: linalg.cho_solve((c, True), b), (S, B)),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b, 1), (S, A)),
    "banded_solution": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), (BAND[:, :4], B)),
}
ORDERS = {
    "c": np.copy, "f": np.asfortranarray, "rows apart": lambda x: np.repeat(x, 2, 0)[::2],
    "turned": lambda x: np.ascontiguousarray(x.T).T,
}  # fmt: skip


def refuse_to_look(*args):
    raise AssertionError("Python looks for what is not finite")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", BY_STEPS)
def test_steps_look_for_what_is_not_finite(name, order, steps, monkeypatch):
    f, arrays = BY_STEPS[name]
    arrays = tuple(map(ORDERS[order], arrays))

    def loss(*args):
        return np.sum(np.sin(f(*args)))

    expected = in_python(loss, *arrays)
    every = tuple(range(len(arrays)))
    with monkeypatch.context() as patch:
        for module in (mirroring, linalg, structured_matrices):
            patch.setattr(module, "matrices", refuse_to_look)
        require_same(contad.value_and_grad(loss, every)(*arrays), expected)
        for k in every[1:]:  # a constant in front of it, or behind, which may be read-only
            others = [x if n == k else contad.constant(x) for n, x in enumerate(arrays)]
            require_same(contad.value_and_grad(loss, (k,))(*others), (expected[0], expected[1][k : k + 1]))
            require_same(contad.value_and_grad(loss, (0,))(*arrays), (expected[0], expected[1][:1]))
    assert steps == [name] * (1 if len(arrays) == 1 else 3)


@pytest.mark.parametrize("name", BY_STEPS)
def test_infinite_elements_are_refused_as_scipy_does(name):
    f, arrays = BY_STEPS[name]
    for k, x in enumerate(arrays):
        for place in np.ndindex(x.shape):  # in what the function does not read, too
            for bad in (np.inf, np.nan):
                given = [y.copy() for y in arrays]
                given[k][place] = bad
                with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                    contad.grad(lambda *args: np.sum(f(*args)), tuple(range(len(given))))(*given)


def test_a_step_that_finds_what_is_not_finite_leaves_no_record():
    with contad.nested() as s:
        a, b = contad.var(S), contad.var(B * np.array([1.0, 1.0, np.inf, 1.0]))
        before = s.top, len(s.callbacks)
        with pytest.raises(ValueError, match="infs or NaNs"):
            linalg.solve_triangular(a, b)
        assert (s.top, len(s.callbacks)) == before
        x = linalg.solve_triangular(a, b, check_finite=False)
        assert not np.isfinite(contad.value_of(x)).all()


def test_steps_take_arrays_that_are_made_of_blocks(steps, monkeypatch):
    def f(k, b):
        beside = np.concatenate((np.zeros(1), -k[1:]))
        band = np.stack((beside, k + 2.0, np.concatenate((-k[1:], np.zeros(1)))))
        return np.sum(linalg.solve_banded((1, 1), band, b) * np.cos(linalg.solve_banded((1, 1), band, b)))

    k = np.array([0.5, 1.5, 0.25, 0.75])
    expected = in_python(f, k, B)
    monkeypatch.setattr(structured_matrices, "matrices", refuse_to_look)
    require_same(contad.value_and_grad(f, (0, 1))(k, B), expected)
    assert steps == ["banded_solution"] * 2


# ---- systems and logarithms of determinants, which share factors -----------------------------------------------------
def density(a, b):
    return b @ np.linalg.solve(a, b) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.solve(a.T, np.sin(a))) / len(b)


@pytest.mark.parametrize("n", [1, 4, 8, 9, 24])
def test_systems_and_determinants_are_steps(n, steps):
    a, b = RNG.normal(size=(n, n)) + 3.0 * np.eye(n), RNG.normal(size=n)
    require_same(contad.value_and_grad(density, (0, 1))(a, b), in_python(density, a, b))
    assert steps == ["solve", "log_determinant", "solve"]


def test_python_has_the_factors_of_larger_matrices(steps):
    a, b = RNG.normal(size=(25, 25)) + 5.0 * np.eye(25), RNG.normal(size=25)
    require_same(contad.value_and_grad(density, (0, 1))(a, b), in_python(density, a, b))
    assert steps == []


def test_systems_and_determinants_of_one_matrix_share_its_factors(steps):
    with contad.nested() as s:
        a, b = contad.var(A), contad.var(B)
        kept = contad.constant(S)
        memories = []
        for f in (
            lambda: np.linalg.solve(a, b), lambda: np.linalg.slogdet(a), lambda: np.linalg.solve(a, np.sin(a)),
            lambda: np.linalg.solve(a.T, b), lambda: np.linalg.slogdet(a.T), lambda: np.linalg.solve(kept, b),
            lambda: np.linalg.solve(kept, 2.0 * b), lambda: np.linalg.solve(kept.T, b), lambda: np.linalg.solve(a, b),
        ):  # fmt: skip
            f()
            memories.append(s.callbacks[len(s.callbacks) - 1].memory)
    of = [next(k for k, other in enumerate(memories) if other is memory) for memory in memories]
    assert of == [0, 0, 0, 3, 3, 5, 5, 7, 0]
    assert set(steps) == {"solve", "log_determinant"}
    assert len(steps) == 9


def test_a_matrix_that_has_been_written_to_has_factors_of_its_own(steps):
    def f(x, b):
        y = np.linalg.solve(x, b)
        x[1, 1] = x[0, 0] * 2.0
        return np.sum(np.linalg.solve(x, y)) + np.linalg.slogdet(x)[1]

    require_same(contad.value_and_grad(f, (0, 1))(A, B), in_python(f, A, B))
    assert steps == ["solve", "solve", "log_determinant"]


@pytest.mark.parametrize("a", [np.zeros((2, 2)), np.ones((4, 4)), np.diag([1.0, 0.0, 2.0])], ids=["0", "ones", "one 0"])
def test_singular_matrices_are_numpys_affair(a, steps):
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        contad.grad(lambda a: np.sum(np.linalg.solve(a, np.ones(len(a)))))(a)
    value, bar = contad.value_and_grad(lambda a: np.linalg.slogdet(a)[1])(a)
    assert value == -np.inf
    assert np.isnan(bar).all()
    assert steps == []
