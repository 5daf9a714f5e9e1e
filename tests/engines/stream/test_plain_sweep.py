"""The sweep in plain Python gives what compiled code gives, to the last bit, and gives way to it in time."""

import functools
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import contad
from contad.engines.matrix.matrix_products import ProductPullback
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.second_order.second_order_records import Gather
from contad.engines.stream import patience, plain_records, plain_sweep, record_stream
from contad.engines.stream.patience import Patience
from contad.engines.stream.storage import DOT, GATHER, STRIDED, SUM, X_NUMBER, Y_NUMBER, decode
from contad.engines.stream.sweep import OPERATIONS
from contad.ops.powers import COMMON, literal_power
from contad.variables.stack import opened
from tests.judges.array_agreement import Endless
from tests.judges.empty_caches import run_with_empty_cache
from tests.judges.steps_in_python import leave_steps_to_python

DRAW = np.random.default_rng(7)
SMALL = np.random.default_rng(8).standard_normal((3, 5))
RULES = sorted({rule.name: rule for rule, _ in OPERATIONS.values()}.items())


class Short(Endless):
    """One that asks for it after every few records."""

    def __init__(self):
        super().__init__()
        self.asked, self.limit = 0, 0.0

    def look(self):
        self.asked += 1
        self.limit = self.spent + 1e-9
        return self.asked % 3 != 2


@pytest.fixture
def plainly(monkeypatch):
    """plainly(f): what f() is where records are swept in plain Python."""

    def run(f, patience=Endless):
        with monkeypatch.context() as patch:
            patch.setattr(record_stream, "PATIENCE", patience())
            return f()

    return run


def require_same_bits(found, expected):
    for u, v in zip(found, expected, strict=True):
        np.testing.assert_array_equal(u, v)


def points(rule, count=24):
    """Random numbers around the rule's points, which are inside of the domain, and special ones."""
    found = [[x * (1.0 + 0.2 * DRAW.standard_normal(count)) for x in point] for point in rule.points]
    ends = [np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, np.inf, -np.inf, np.nan, 1e300, 5e-324])] * rule.arity
    return [*found, ends, [ends[0], ends[0][::-1].copy()][: rule.arity]]


def programs(rule, args, weights):
    """On arrays and numbers: contiguous, strided, constants, along either axis, summed, the same variable twice."""
    n, others = len(args[0]), args[1:]
    return {
        "rows": lambda x, *ys: np.sum(rule(x, *ys) * weights),
        "strided": lambda x, *ys: np.sum(rule(x[::2], *(y[::-2] for y in ys)) * weights[: n // 2]),
        "constants": lambda x, *ys: np.sum(rule(x, *others) * weights),
        "reflected": lambda x, *ys: np.sum(rule(args[0], *ys) * weights) + x[0],
        "numbers": lambda x, *ys: rule(x[1], *(y[2] for y in ys)) * 1.7 + rule(x[3], *(y[0] for y in others)),
        "axes": lambda x, *ys: np.sum(rule(x[:, None], *(y[None, :5] for y in ys)) * weights[:, None]),
        "one": lambda x, *ys: np.sum(rule(x[0], *ys) * weights) + np.sum(rule(x, *(y[1] for y in ys)) * weights),
        "itself": lambda x, *ys: np.sum(rule(*[x] * rule.arity) * weights) + np.sum(rule(x, *ys)),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "rule"), RULES, ids=[name for name, _ in RULES])
def test_operations_are_the_same_to_the_last_bit(plainly, name, rule):
    for args in points(rule):
        weights = np.where(np.arange(len(args[0])) % 5, DRAW.standard_normal(len(args[0])), 0.0)
        for what, f in programs(rule, args, weights).items():
            gradient = functools.partial(contad.grad(f, tuple(range(rule.arity))), *args)
            for a, b in zip(gradient(), plainly(gradient), strict=True):
                if what in ("one", "axes"):  # the adjoint of a number is a sum, in whatever order kernels add
                    largest = np.abs(a[np.isfinite(a)]).max(initial=0.0)
                    np.testing.assert_allclose(a, b, 1e-13, 1e-14 * largest, err_msg=what, strict=True)
                else:
                    np.testing.assert_array_equal(a, b, what, strict=True)


@pytest.mark.filterwarnings("ignore")
def test_loops_over_long_recordings_are_the_same_to_the_last_bit(plainly, monkeypatch):
    monkeypatch.setattr(plain_sweep, "FEW", 0)
    for _, rule in RULES:
        plain_sweep._met.clear()
        special = [column for args in points(rule)[-2:] for column in zip(*args, strict=True)][::2]
        for args in [*rule.points, *(tuple(map(float, column)) for column in special)]:
            gradient = functools.partial(
                contad.grad(lambda *xs, rule=rule: rule(*xs) * 0.7 + rule(*xs) / xs[0], (0,), engine="records"), *args
            )
            try:
                expected = gradient()
            except ArithmeticError as error:
                with pytest.raises(type(error)):
                    plainly(gradient)
                continue
            np.testing.assert_array_equal(plainly(gradient), expected, f"{rule.name}{args}", strict=True)
        assert set(plain_sweep._met), rule.name


def test_many_kinds_of_records_are_swept_one_by_one(plainly, monkeypatch):
    monkeypatch.setattr(plain_sweep, "FEW", 4)
    monkeypatch.setattr(plain_sweep, "MOST_KINDS", 4)

    def long(x, y):
        for k in range(700):
            x, y = x * 0.9 + contad.ops.sin(y), y - 0.1 * contad.ops.exp(-x) / (1.0 + k)
        return x * y

    gradient = contad.grad(long, (0, 1), engine="records")
    expected = gradient(0.3, 0.4)
    assert plainly(lambda: gradient(0.3, 0.4)) == expected
    monkeypatch.setattr(plain_sweep, "MOST_KINDS", 99)
    plain_sweep._met.clear()
    assert plainly(lambda: gradient(0.3, 0.4)) == expected


def program(x, a):
    """Sums, products of matrices and vectors, moved elements, array rules, a loop over numbers."""
    y = np.exp(-0.3 * (a @ x)) + x[::-1][:7] * 2.0
    z = np.linalg.solve(a[:, :7] + 9.0 * np.eye(7), y)
    w = np.concatenate([z, x]).reshape(4, 4)
    s = np.dot(y, z) + np.sum(w @ w.T) + np.sum(w.T[1:] * w[:, 1:].T) + np.logaddexp(x[0], x[1])
    for k in range(30):
        s = s * 0.9 + np.tanh(x[k % 9]) * y[k % 7] ** 2
    return s + np.sum(w[[0, 1, 1], [2, 0, 0]]) + np.linalg.norm(x)


def small_products(x, y):
    """Small matrices and vectors, in every order in which they can lie, one with an element that is not finite."""
    bad = np.array([[0.3, np.inf, 0.2], [1.4, 0.7, -0.6]])
    masked = (x @ y) @ bad  # of which the column that is not finite is not used
    total = np.sum(np.sin(y.T @ x.T)) + np.sum(np.sin(x.T @ x) @ y) + np.sum(np.sin(x @ x.T)) + np.sum(masked[:, ::2])
    total = total + np.sum(np.sin(x[1:] @ y[:, 0])) + np.sum(np.cos(x.T @ np.ones(3) @ y)) + np.sum(np.sin(x @ y @ y.T))
    total = total + np.sum(np.sin(np.asfortranarray(bad[:, ::2].T) @ y.T)) + np.sum(np.sin(y.T @ x[0]))
    return total + np.sum(np.cos(x.T[:2] @ contad.constant(SMALL)))


def test_products_of_small_matrices_are_the_same_to_the_last_bit_and_need_no_python(plainly, monkeypatch):
    x, y = SMALL[:, :4], DRAW.standard_normal((4, 2))
    gradient = contad.grad(small_products, (0, 1))
    with np.errstate(invalid="ignore"):
        found = gradient(x, y)
        require_same_bits(found, plainly(lambda: gradient(x, y)))
        step = 1e-6 * DRAW.standard_normal(x.shape)
        change = small_products(x + step, y) - small_products(x - step, y)
        monkeypatch.setattr(ProductPullback, "__call__", None)
        np.testing.assert_allclose(np.sum(gradient(x, y)[0] * step), change / 2.0, rtol=1e-6)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("rows", [1, 3, 4, 10, 300])
def test_products_of_few_and_many_rows_are_the_same_to_the_last_bit(plainly, rows):
    a, x, y = DRAW.standard_normal((rows, 5)), DRAW.standard_normal(5), DRAW.standard_normal((5, 3))
    weights = DRAW.standard_normal((rows, 3))
    for w in (weights, weights * np.array([1.0, 0.0, np.inf]), np.where(np.arange(rows)[:, None] % 5, weights, 0.0)):

        def f(a, x, y, w=w):
            return np.sum((a @ x) * w[:, 0]) + np.sum((a @ x) * w[:, 1]) + np.sum(np.sin(a @ y)[:, :2] * w[:, :2])

        with np.errstate(invalid="ignore"):
            for argnums in ((0, 1, 2), (1, 2), (0,)):
                gradient = functools.partial(contad.grad(f, argnums), a, x, y)
                for _ in range(2):  # the second one in the room of the first
                    require_same_bits(gradient(), plainly(gradient))


def test_partials_of_powers_are_made_for_the_exponents_that_a_program_has(plainly, monkeypatch):
    made, powers = [], {c: plain_sweep._partial_of_power(c) for c in COMMON}
    monkeypatch.setattr(plain_sweep, "literal_power", lambda c: made.append(c) or literal_power(c))
    monkeypatch.setattr(plain_sweep, "_POWERS", powers)
    monkeypatch.setitem(plain_sweep._NAMES, "powers", powers)
    plain_sweep._make_pull.cache_clear()
    try:
        for c in (3.0, 2.5, 3.0, 1.7, -2.0, 0.0):
            gradient = contad.grad(lambda x, c=c: x**c * 0.7, engine="records")
            for x in (1.3, 0.0, 1e-200, 1e200):
                with np.errstate(all="ignore"):
                    try:
                        expected = gradient(x)
                    except ArithmeticError as error:
                        with pytest.raises(type(error)):
                            plainly(lambda x=x: gradient(x))  # noqa: B023
                        continue
                    np.testing.assert_array_equal(plainly(lambda x=x: gradient(x)), expected)  # noqa: B023
    finally:
        plain_sweep._make_pull.cache_clear()
    assert made == [3.0, 2.5]


@pytest.mark.parametrize("patience", [Endless, Short])
def test_a_program_is_the_same_to_the_last_bit(plainly, patience, monkeypatch):
    leave_steps_to_python(monkeypatch)  # whose last digits are their own
    x, a = DRAW.standard_normal(9), DRAW.standard_normal((7, 9))
    gradient = contad.grad(program, (0, 1))
    require_same_bits(gradient(x, a), plainly(lambda: gradient(x, a), patience))
    rows = DRAW.standard_normal((11, 7))
    rows[3] = 0.0
    weights = np.where(np.arange(11) % 4, DRAW.standard_normal(11), 0.0)
    for w in (weights, weights + 3.0):
        product = contad.grad(lambda b, v, w=w: np.sum((b @ v) * w), (0, 1))
        require_same_bits(product(rows, x[:7]), plainly(lambda p=product: p(rows, x[:7]), patience))


@pytest.mark.parametrize("engine", ["records", "matrix"])
def test_callbacks_and_nested_gradients(plainly, engine):
    @contad.custom_vjp
    def doubled(x):
        return 2.0 * x

    doubled.defvjp(lambda x: (2.0 * x, None), lambda saved, z_bar: (2.0 * z_bar,))

    def f(x):
        return doubled(x[0]) * x[1] + contad.grad(lambda y: y * y * x[1] + np.sin(y))(x[0]) * x[2]

    gradient = contad.grad(f, engine=engine)
    x = np.array([0.3, -1.2, 0.7])
    np.testing.assert_array_equal(gradient(x), plainly(lambda: gradient(x)))


# ---- functions of records that are kept ------------------------------------------------------------------------------
def small_program(x, rows, weight):
    """Records of every form: of arrays, with numbers and cells, strided, sums, products, elements, a pullback."""
    y = np.tanh(rows @ x) * weight + x[0]
    z = y[:, None] * x[None, :] + np.outer(x, y).T
    z = 3.0 - z / weight
    return np.sum(z[::2] ** 2) / (1.0 + np.dot(x, x)) + np.sum(np.sort(x)[1:] * 2.0) + np.sum(x[[0, 2, 2]])


def test_a_gradient_that_is_called_again_makes_no_steps(plainly, monkeypatch):
    made = []
    find = plain_records.find_pull
    monkeypatch.setattr(plain_sweep, "find_pull", lambda *record: made.append(record) or find(*record))
    x, rows = DRAW.standard_normal(4), DRAW.standard_normal((3, 4))
    gradient = contad.grad(small_program)
    expected, of_others = gradient(x, rows, 0.7), gradient(2.0 * x, 0.5 * rows, 0.7)
    forms = set()

    def call_often():
        assert not made
        np.testing.assert_array_equal(gradient(x, rows, 0.7), expected)
        forms.update(decode(record[1])[1] for record in made)
        assert len(made) > 10
        made.clear()
        for _ in range(3):
            np.testing.assert_array_equal(gradient(x, rows, 0.7), expected)
        np.testing.assert_array_equal(gradient(2.0 * x, 0.5 * rows, 0.7), of_others)
        assert not made
        gradient(x, rows, 0.8)
        assert 0 < len(made) < 3  # of another number in a record, whose views are those of the one before

    plainly(call_often)
    assert forms >= {0, X_NUMBER, Y_NUMBER, SUM, DOT, STRIDED}


def take_turns(plainly):
    """Whether gradients of these, called in turns, are what compiled sweeps give."""
    x = DRAW.standard_normal(12)
    by_columns = contad.grad(lambda x: np.sum(np.exp(x.reshape(3, 4) + x[:4]) * np.arange(12.0).reshape(3, 4)))
    by_rows = contad.grad(lambda x: np.sum(np.exp(x.reshape(4, 3) + x[:3]) * np.arange(12.0).reshape(4, 3)))
    expected = [gradient(x) for gradient in (by_columns, by_rows)]

    def call():
        with opened(MatrixStack) as s:
            s.buffers.pulls.clear()
            s.buffers.sequences.clear()
        found = [gradient(x) for _ in range(3) for gradient in (by_columns, by_rows)]
        return all(np.array_equal(a, b) for a, b in zip(found, 3 * expected, strict=True))

    return plainly(call)


def test_steps_are_told_apart_by_what_stands_beside_records(plainly, monkeypatch):
    assert take_turns(plainly)

    def forget_strides(numbers, make):
        """Planted: a function that looks at its strides once."""
        run = functools.cache(lambda: make(numbers.tolist()))
        return lambda top: run()()

    monkeypatch.setattr(plain_records, "_by_shape", forget_strides)
    assert not take_turns(plainly)


def test_steps_are_made_anew_where_memory_has_moved(plainly):
    gradient = contad.grad(lambda x: np.sum(np.exp(x[:3]) * x[1:4]) + np.sum(x * 0.5))
    x = DRAW.standard_normal(4)
    expected = gradient(x)

    def call():
        before = gradient(x)
        with opened(MatrixStack) as s:
            buffers = s.buffers
        assert buffers.pulls
        buffers.grow("constants", 2 * len(buffers.constants))
        assert not buffers.pulls
        return before, gradient(x)

    for found in plainly(call):
        np.testing.assert_array_equal(found, expected)


SOURCE, GATHERED = np.array([3, 5, 3]), slice(10, 13)


def step_of_gather(adjoints):
    memory = plain_records.Memory(adjoints, adjoints, adjoints, SOURCE)
    pull = plain_records._make_pull(memory, GATHER, 0, 3, 10, 0.0, 0.0)
    pull(12)


def step_of_second_order(adjoints):
    Gather(SOURCE, GATHERED).down(SimpleNamespace(bars=adjoints, bar_dots=[adjoints.copy()]))


@pytest.mark.parametrize(("run", "allowed"), [(step_of_gather, 0), (step_of_second_order, 1)])
def test_a_gather_reads_its_cells_and_no_others(run, allowed):
    adjoints = np.zeros(100_000)
    adjoints[GATHERED] = 1.0, 2.0, 4.0
    tracemalloc.start()
    try:
        run(adjoints)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert adjoints[3:6].tolist() == [5.0, 0.0, 2.0]
    assert peak < (allowed + 0.5) * adjoints.nbytes


def test_steps_are_no_more_than_fit(plainly, monkeypatch):
    monkeypatch.setattr(plain_records, "MOST", 5)
    monkeypatch.setattr(plain_sweep, "MOST", 5)
    x, rows = DRAW.standard_normal(4), DRAW.standard_normal((3, 4))
    gradient = contad.grad(small_program)
    expected = gradient(x, rows, 0.7)

    def call():
        for _ in range(3):
            np.testing.assert_array_equal(gradient(x, rows, 0.7), expected)
        with opened(MatrixStack) as s:
            return len(s.buffers.pulls)

    assert plainly(call) == 5


def test_records_that_come_again_are_looked_up_once(plainly, monkeypatch):
    x, rows = DRAW.standard_normal(4), DRAW.standard_normal((3, 4))
    gradient = contad.grad(small_program)
    bound = []
    real = plain_sweep._bind_records
    monkeypatch.setattr(plain_sweep, "_bind_records", lambda *args: bound.append(args) or real(*args))

    def call():
        with opened(MatrixStack) as s:
            s.buffers.sequences.clear()
        found = [gradient(x * c, rows, 0.7) for c in (1.0, 2.0, 3.0)]
        before = len(bound)
        changed = [gradient(x, rows, c) for c in (0.7, -0.7, 0.7)]  # a number of the program, which stands in a record
        with opened(MatrixStack) as s:
            return before, len(bound) - before, len(s.buffers.sequences), found[0], changed

    expected = [gradient(x, rows, c) for c in (0.7, -0.7, 0.7)]
    before, after, kept, found, changed = plainly(call)
    assert (before, after, kept) == (1, 1, 2)
    np.testing.assert_allclose(found, expected[0], 1e-15)  # optimised kernels add in another order
    np.testing.assert_allclose(changed, expected, 1e-15)


def test_plans_are_no_more_than_fit(plainly, monkeypatch):
    monkeypatch.setattr(plain_sweep, "MOST_SEQUENCES", 3)
    gradient = contad.grad(lambda x, c: np.sum(np.exp(x) * c))
    x = DRAW.standard_normal(4)

    def call():
        for c in range(10):
            gradient(x, float(c))
        with opened(MatrixStack) as s:
            return len(s.buffers.sequences)

    assert 1 <= plainly(call) <= 3


# ---- when it gives way -----------------------------------------------------------------------------------------------
IN_AN_EMPTY_CACHE = """
import sys, math, contad
from contad.engines.stream.patience import PATIENCE
f = contad.grad(lambda x: math.sin(x) * x)
first = f(0.5)
assert "importlib.resources" not in sys.modules
assert not PATIENCE.has_looked  # nobody has looked at the disk
PATIENCE.spent = 1.0
assert f(0.5) == first
assert PATIENCE.limit == PATIENCE.compiling  # now somebody has
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
"""


def test_an_empty_cache_is_found_empty_without_a_compiler(tmp_path):
    run_with_empty_cache(IN_AN_EMPTY_CACHE, tmp_path)


GIVING_WAY = """
import sys, numpy as np, contad
from contad.engines.stream import patience
from contad.engines.stream.kernels import KERNELS
from contad.engines.stream.sweep import compile_sweeps
f = contad.grad(lambda x: np.sum(np.exp(-x ** 2) * np.sin(x)))
x = np.linspace(-1.0, 2.0, 5)
first = f(x)
assert "numba" not in sys.modules
assert not compile_sweeps.cache_info().currsize and not KERNELS.any()
patience.PATIENCE.spent = 10.0
second = f(x)
assert compile_sweeps.cache_info().currsize and not KERNELS.any()  # which have a time of their own
patience.PATIENCE.left = dict.fromkeys(range(512), -1.0)
third = f(x)
assert KERNELS.sum() > 5
assert (first == second).all() and (second == third).all()
"""
IN_A_FILLED_CACHE = """
import sys, numpy as np, contad
from contad.engines.stream import patience, plain_sweep
from contad.engines.stream.kernels import KERNELS
from contad.engines.matrix.array_var import ArrayVar
from contad.compile.compiling import library_digest
from contad.ops import power
f = contad.grad(lambda x: np.sum(np.exp(-x ** 2) * np.sin(x)))
x = np.linspace(-1.0, 2.0, 5)
first = f(x)
assert not patience.PATIENCE.has_looked and "llvmlite" not in sys.modules  # the first gradients are done before that
assert not library_digest.cache_info().currsize and ArrayVar not in power.methods  # nor is made what is not called
plain_sweep.sweep = plain_sweep.sweep_array = None  # nobody may call them
patience.PATIENCE.spent = patience.PATIENCE.LOOKING * patience.PATIENCE.loading
second = f(x)
assert KERNELS.sum() > 5
assert (first == second).all() and (second == f(x)).all()
assert "numba" not in sys.modules and "llvmlite" in sys.modules
"""


def test_a_first_gradient_compiles_nothing_and_the_next_process_loads_what_later_ones_compile(tmp_path):
    run_with_empty_cache(GIVING_WAY, tmp_path)
    run_with_empty_cache(IN_A_FILLED_CACHE, tmp_path)


def test_time_is_counted_and_the_disk_is_looked_at_once(monkeypatch):
    asked = []
    monkeypatch.setattr(patience, "has_compiled_sweeps", lambda: bool(asked.append(1)))
    monkeypatch.setattr(patience, "compile_sweeps", functools.cache(lambda: None))
    p = Patience(loading=0.2, compiling=2.0)
    assert p.look() and p.limit == pytest.approx(0.02) and not asked
    p.spent = 0.05
    assert p.look() and p.limit == 2.0 and len(asked) == 1
    p.spent = 2.5
    assert not p.look() and not p.is_over and len(asked) == 1
    patience.compile_sweeps()
    assert not p.look() and p.is_over
    monkeypatch.setattr(patience, "has_compiled_sweeps", lambda: True)
    p = Patience(loading=0.2, compiling=2.0)
    p.spent = 0.05
    assert not p.look()
    assert not Patience(loading=0.0, compiling=2.0).look()
