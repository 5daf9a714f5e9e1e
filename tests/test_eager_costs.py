"""What eager derivatives do, in counts: no general way for plain operands, no call for each number, no path twice."""

import collections
import dis
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import optree
import pytest

import contad
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.matrix_stack import MatrixStack, MatrixVar
from contad.engines.stream import record_stream, storage, sweep
from contad.engines.stream.methods import value_function
from contad.engines.stream.record_stream import CHUNK
from contad.errors import LostDerivativeError, NestingError, OtherThreadError, StaleVariableError
from contad.ops import einsum as einsum_module
from contad.rules.scalar_rule import ScalarRule, rule
from contad.transforms import gradients, linearized
from contad.variables import activation
from contad.variables.dual import ForwardLevel
from contad.variables.stack import NOTHING, THREAD, ChainStack, attempt, opened
from contad.variables.trees import flatten
from tests.judges.operator_methods import methods_of_python
from tests.judges.planted import registered

POINT = np.linspace(0.1, 1.0, 50)
ONES = np.ones(50)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def layered(x):
    z = np.tanh(np.outer(x[:3], x[3:7]) @ x[7:11])
    return np.concatenate([np.exp(z) / (1.0 + np.sqrt(np.abs(z))), np.maximum(z, 0.1), z[0] * x[:5]])


# ---- forward mode ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("several", [False, True])
def test_operations_on_plain_duals_do_not_take_the_general_way(monkeypatch, several):
    tangent = np.stack([ONES, POINT]) if several else ONES
    expected = contad.jvp(rosenbrock, (POINT,), (tangent,), several=several)
    monkeypatch.setattr(ForwardLevel, "apply_elementwise", None)
    np.testing.assert_array_equal(contad.jvp(rosenbrock, (POINT,), (tangent,), several=several)[1], expected[1])
    np.testing.assert_allclose(expected[1], tangent @ contad.grad(rosenbrock)(POINT))


def test_zero_tangents_mask_as_ever():
    x, direction = np.array([0.0, 4.0]), np.array([0.0, 1.0])
    assert contad.jvp(lambda x: np.sqrt(x), (x,), (direction,))[1].tolist() == [0.0, 0.25]
    assert contad.jvp(lambda x: x**0.5 + 1.0, (x,), (direction,))[1].tolist() == [0.0, 0.25]
    with np.errstate(all="ignore"):
        assert contad.jvp(np.sqrt, (x,), (np.ones(2),))[1].tolist() == [np.inf, 0.25]


@pytest.mark.parametrize("f", [
    lambda x: np.transpose(x) * 2.0, lambda x: np.exp(x.T)[::2], lambda x: x + np.ones((3, 2, 2)), lambda x: x[0] * x,
    lambda x: x[:, :1] - x.T[0], lambda x: np.asfortranarray(np.ones((2, 2))) * x,
])  # fmt: skip
def test_layouts_and_memory_of_results(f):
    x = np.array([[0.3, 0.7], [1.1, -0.4]])

    def g(dual):
        z, plain = f(dual), f(x)
        assert z._value.strides == plain.strides
        assert all(t.strides == plain.strides for t in z._tangents)
        assert not np.may_share_memory(z._value, z._tangents[0])
        z[...] = z * 1.0
        return z

    value, tangent = contad.jvp(g, (x,), (x,))
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_allclose(tangent, contad.jvp(f, (x,), (x,))[1])


def test_a_result_does_not_alias_its_operand():
    def f(x):
        y = x * 1.0
        z = +y
        y[0] = 5.0
        return np.sum(z * y)

    x = np.array([2.0, 3.0])
    value, slope = contad.jvp(f, (x,), (np.ones(2),))
    assert (value, slope) == (2.0 * 5.0 + 9.0, 5.0 + 6.0)


# ---- reverse mode ----------------------------------------------------------------------------------------------------
def sum_of_products(x):
    total = 0.0
    for k, v in enumerate(x):
        total = total + v * x[k - 1]
    return total


@pytest.mark.parametrize("engine", ["matrix", "records", "closures"])
@pytest.mark.parametrize("n", [1, 3, 5000])  # more than a chunk of records
def test_lists_of_floats_as_other_numbers(engine, n):
    x = np.linspace(-1.0, 2.0, n)
    mixed = [*x[:-1].tolist(), x[-1]]  # the last one is NumPy's
    gradient = contad.grad(sum_of_products, engine=engine)
    found = gradient(x.tolist())
    assert found == gradient(mixed) == gradient({"a": x.tolist()}["a"])
    assert {*map(type, found)} == {float}
    np.testing.assert_allclose(found, np.roll(x, 1) + np.roll(x, -1) if n > 1 else 2.0 * x)


def test_lists_of_floats_take_no_call_for_each(monkeypatch):
    expected = contad.grad(sum_of_products)([0.3, 0.5, -0.7])
    monkeypatch.setattr(activation, "make_active", None)
    monkeypatch.setattr(MatrixStack, "variable", None)
    monkeypatch.setattr(MatrixStack, "cotangent", None)
    assert contad.grad(sum_of_products)([0.3, 0.5, -0.7]) == expected
    assert contad.grad(lambda x: x["a"] * x["b"][0])({"a": 2.0, "b": (3.0,)}) == {"a": 3.0, "b": (2.0,)}
    assert contad.jacobian(lambda x: [x[0] * x[1], x[1]])([2.0, 3.0]) == [[3.0, 2.0], [0.0, 1.0]]


def test_lists_of_floats_stand_for_floats_on_every_level():
    def inner(x):
        assert all(v.is_float for v in x)
        return contad.grad(lambda y: y[0] ** 2 * y[1] * x[0])([x[0], 3.0])[0] * x[1]  # 2 y0 y1 x0 x1, at y0 = x0

    assert contad.grad(inner)([2.0, 5.0]) == [2.0 * 3.0 * 5.0 * 4.0, 2.0 * 3.0 * 4.0]


def test_ufuncs_of_numbers_find_their_method_at_once(monkeypatch):
    kinds = []

    def f(x):
        z = np.sin(x)
        kinds.append((x.is_float, z.is_float, np.hypot(z, 2.0).is_float))  # np.sin of a float is an np.float64
        return np.exp(z) * np.maximum(np.arctan2(z, z * x), 0.5) + np.hypot(z, 2.0)

    expected = contad.grad(f)(0.3)
    lower, upper = (contad.jvp(f, (x,), (1.0,))[0] for x in (0.3 - 1e-6, 0.3 + 1e-6))
    assert expected == pytest.approx((upper - lower) / 2e-6)
    monkeypatch.setattr(ScalarRule, "__call__", None)
    assert contad.grad(f)(0.3) == expected
    assert kinds == [(True, False, False)] * 4


def test_values_of_functions_of_math_are_one_call():
    for name in ("sin", "exp", "hypot", "erf", "log1p"):
        assert value_function(rule(name)) is getattr(math, rule(name).math)
    for other in (rule("absolute"), rule("gamma"), rule("expit")):  # which do more
        assert value_function(other) is other.function
    with registered():

        @contad.scalar_rule(math="sin")
        def shifted(x):
            return math.sin(x + 1.0)

        assert value_function(shifted) is shifted.function


NUMBERS = [0.999, 3, np.float64(0.25), -0.0, np.inf, np.nan, 1e-320]


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 1, 2), (1,)])
def test_numbers_meet_arrays_as_numpy_has_it(shape):
    x = np.linspace(-0.7, 1.3, int(np.prod(shape))).reshape(shape)
    operations = [
        lambda a, c: a * c, lambda a, c: c * a, lambda a, c: c - a, lambda a, c: a / c, lambda a, c: np.maximum(a, c),
        lambda a, c: np.arctan2(c, a), lambda a, c: a**2.0 + c,
    ]  # fmt: skip
    for operation in operations:
        for c in NUMBERS:
            with np.errstate(all="ignore"):
                value, gradient = contad.value_and_grad(lambda a: np.sum(operation(a, c) * x))(x)  # noqa: B023
                assert value == np.sum(operation(x, c) * x) or np.isnan(value)
                assert gradient.shape == shape
    z = []

    def f(a, u):
        z[:] = [a * u, a + a, a * 0.5]
        return np.sum(z[0] + z[1] + z[2])

    a_bar, u_bar = contad.grad(f, (0, 1))(x, 0.25)
    np.testing.assert_array_equal(a_bar, np.full(shape, 0.25 + 2.0 + 0.5))
    assert u_bar == pytest.approx(np.sum(x))


def count_calls(run):
    """How often Python and C functions are called while `run` is, by name."""
    counts = collections.Counter()

    def note(frame, event, function):
        if event == "c_call":
            counts[function.__name__] += 1
        elif event == "call":
            counts[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return counts


@pytest.mark.parametrize(("x", "methods", "calls"), [
    (0.3, ("multiply_MatrixVar", "add_MatrixVar"), ("_is_owned", "extend")),
    (np.array([0.3, 0.4]), ("multiply_arrays", "add_arrays"), ("_is_owned", "extend")),
    (np.array([[0.3, 0.4]]), ("multiply_arrays", "add_arrays"), ("_is_owned", "extend", "len")),
], ids=["number", "vector", "matrix"])  # fmt: skip
def test_an_operation_is_a_method_and_few_calls(x, methods, calls):
    steps = 50

    def chain(x):
        s = x
        for _ in range(steps):
            s = s * 0.999 + x
        return s

    for _ in range(2):  # the first one makes the methods, and the arrays of values
        with methods_of_python(), opened(MatrixStack) as s:
            v = contad.variables.number.as_float(s.variable(x)) if np.ndim(x) == 0 else s.array_variable(x)
            found = count_calls(lambda v=v: chain(v))
    assert {name: n for name, n in found.items() if n >= steps} == {
        name: steps * n for name, n in collections.Counter((*methods, *calls, *calls)).items()
    }


def test_hot_methods_read_slots_before_they_call_them():
    """LOAD_METHOD of a slot takes Python longer than a local name."""
    contad.grad(lambda x: np.sum(contad.zeros(2) * x + x * np.ones(2)))(0.3)
    contad.grad(lambda x: x * x)(0.3)
    for cls in (MatrixVar, ArrayVar):
        called = {i.argval for i in dis.get_instructions(cls.__mul__) if i.opname == "LOAD_METHOD"}
        assert called <= {"_is_owned", "check_usable", "flush_if_long", "make_room", "make_view", "push_constant"}


def test_a_gradient_of_numbers_is_one_compiled_call(monkeypatch):
    f = contad.grad(lambda x, y: np.sin(x * y) + x)
    expected = f(0.3, 0.5)
    direct, calls = sweep.compile_sweeps(), []
    counted = direct._make([
        lambda *args, name=name, function=function: calls.append(name) or function(*args)
        for name, function in direct._asdict().items()
    ])  # fmt: skip
    monkeypatch.setattr(record_stream, "compile_sweeps", lambda: counted)
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    assert f(0.3, 0.5) == expected
    assert calls == ["read_and_sweep"]


def test_a_gradient_of_nothing_takes_few_calls(monkeypatch):
    sweep.compile_sweeps()
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    f = contad.value_and_grad(lambda x, y: y[0], (0, 1))
    x, y = np.ones((3, 2)), np.ones(3)
    value, (x_bar, y_bar) = f(x, y)
    assert value == 1.0 and x_bar.tolist() == np.zeros((3, 2)).tolist() and y_bar.tolist() == [1.0, 0.0, 0.0]
    assert sum(count_calls(lambda: f(x, y)).values()) <= 60
    of_number = contad.value_and_grad(lambda x: x)
    assert of_number(3.0) == (3.0, 1.0)
    assert sum(count_calls(lambda: of_number(3.0)).values()) <= 43


def test_a_function_for_which_nothing_stands_is_called_at_once():
    """Until an argument is an object whose functions take no variables; what stands for it is for that call alone."""

    class Model:
        def __init__(self, scale):
            self.scale = scale

        def predict(self, x):
            return math.exp(x * self.scale)

    def f(x, n):
        return x * n if isinstance(n, int) else n.predict(x) * x

    def g(x, n):
        return x * n

    gradient, plain = contad.grad(f), contad.grad(g)
    for _ in range(2):
        assert plain(0.5, 3) == 3.0
        assert not {"__enter__", "forget", "_replace", "_try"} & {*count_calls(lambda: plain(0.5, 3))}
        assert gradient(0.5, 3) == 3.0
        assert gradient(0.5, Model(2.0)) == pytest.approx(math.exp(1.0) * 2.0)
    calls = count_calls(lambda: plain(0.5, Model(1.0).scale))
    assert calls["_replace"] == 0 and calls["g"] == 1
    assert plain(0.5, np.float64(2.0)) == 2.0


def test_a_gradient_of_nothing_fills_no_dicts():
    """What most recordings have not is made where it is needed."""
    with opened(MatrixStack) as s:
        x = s.array_variable(np.ones(3))
        s.gradient(np.sum(x * x), [x])
        assert all(getattr(s, name) is NOTHING for name in ("copies", "held", "outer", "outer_values"))
        kept = s.keep(np.ones(3))
        assert [copy is kept for _, copy in s.copies.values()] == [True]
    assert NOTHING == {}


@pytest.mark.parametrize("engine", ["matrix", "records", "closures"])
def test_levels_are_left_once_whatever_is_raised(engine, monkeypatch):
    left, leave = [], gradients.leave

    def counted(s, *error):
        left.append((s.ended is None, s in THREAD.open, *map(type, error)))
        leave(s, *error)
        assert s.ended is not None and s not in THREAD.open

    monkeypatch.setattr(gradients, "leave", counted)

    def failing(x):
        inner = contad.grad(lambda y: y * x, engine=engine)(2.0)
        raise error(inner)

    for error in (ValueError, KeyboardInterrupt, GeneratorExit):
        left.clear()
        with pytest.raises(error):
            contad.grad(failing, engine=engine)(3.0)
        assert left == [(True, True), (True, True, error)]
    left.clear()
    with pytest.raises(LostDerivativeError):
        contad.grad(lambda x: x * (float(x) if not left else 1.0), engine=engine)(3.0)
    assert left == [(True, True, LostDerivativeError)]
    left.clear()

    def catching(x):
        try:
            return float(x)
        except Exception:
            return x

    with pytest.raises(LostDerivativeError, match="the function caught it"):
        contad.grad(catching, engine=engine)(3.0)
    assert left == [(True, True, LostDerivativeError)]
    assert contad.grad(lambda x: x * x, engine=engine)(3.0) == 6.0


def test_sweeps_of_numbers_are_refused_as_others_are(monkeypatch):
    sweep.compile_sweeps()
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    with opened(MatrixStack) as s:
        x = s.variable(3.0)
        y = x * x
        with ThreadPoolExecutor(1) as pool:
            assert isinstance(pool.submit(s.run_sweep, [(y._index, 1.0)]).exception(), OtherThreadError)
        z = s.push_callback(lambda adj: s.run_sweep([(y._index, 1.0)]), 9.0)
        with attempt(), pytest.raises(NestingError, match="is being swept"):
            s.run_sweep([(z._index, 1.0)])
        assert not s.sweeping
        assert s.gradient(y, [x]) == [6.0]
    with pytest.raises(StaleVariableError, match="its gradient call has ended"):
        x * x
    with pytest.raises(StaleVariableError, match="its gradient call has ended"):
        s.push((0, 0, 0, 0.0))


def test_plain_records_are_read_by_compiled_code_and_others_by_python(monkeypatch):
    def f(x):
        s = x
        for _ in range(100):
            s = np.sin(s) * 0.9 + 2
        return s

    f_bar, second = contad.grad(f), contad.grad(contad.grad(f))
    expected = f_bar(0.3), second(0.3)
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    assert "pack_into" not in count_calls(lambda: f_bar(0.3))
    rows, direct = [], sweep.compile_sweeps()

    def read_and_sweep(*args):
        found = direct.read_and_sweep(*args)
        rows.append(found[0])
        return found

    monkeypatch.setattr(record_stream, "compile_sweeps", lambda: direct._replace(read_and_sweep=read_and_sweep))
    assert f_bar(0.3) == expected[0] and rows == [0]
    assert second(0.3) == expected[1] and rows == [0, -2, 0]  # the inner level has the variables of the outer one


def test_long_recordings_and_large_ones_do_not_keep_the_lock(monkeypatch):
    direct, calls = sweep.compile_sweeps(), []
    counted = direct._replace(read_and_sweep=lambda *args: calls.append(1) or direct.read_and_sweep(*args))
    monkeypatch.setattr(record_stream, "compile_sweeps", lambda: counted)
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)

    def power(x, n):
        s = x
        for _ in range(n):
            s = s * x
        return s

    assert contad.grad(power)(1.0, storage.ROWS) == storage.ROWS + 1.0 and not calls
    assert contad.grad(np.sum)(np.ones(storage.BRIEF)).sum() == storage.BRIEF and not calls
    assert contad.grad(power)(1.0, 100) == 101.0 and calls == [1]
    assert contad.grad(np.sum)(np.ones(storage.BRIEF // 2)).sum() == storage.BRIEF // 2 and calls == [1, 1]


def test_a_python_with_other_objects_sweeps_as_well(monkeypatch):
    monkeypatch.setattr(sweep, "has_known_layout", lambda: False)
    direct = sweep.compile_sweeps.__wrapped__()
    assert direct.read_and_sweep(None, *range(7)) == (-2, 0)
    monkeypatch.setattr(record_stream, "compile_sweeps", lambda: direct)
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    assert contad.grad(lambda x: np.sin(x) * x)(0.3) == np.sin(0.3) + 0.3 * np.cos(0.3)


@pytest.mark.parametrize("way", ["brief", "long"])
def test_an_interrupted_sweep_leaves_nothing_to_read(monkeypatch, way):
    """Whatever the compiled call raises, the next sweep is as if there had been none."""
    direct, before = sweep.compile_sweeps(), storage.BRIEF

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    with opened(MatrixStack) as s:
        x = s.variable(3.0)
        y = x * x
        if way == "long":
            s.array_variable(np.ones(before))
        assert s.gradient(y, [x]) == [6.0]
        with monkeypatch.context() as patch:
            planted = direct._replace(**dict.fromkeys(("read_and_sweep", "sweep"), interrupted))
            patch.setattr(record_stream, "compile_sweeps", lambda: planted)
            with pytest.raises(KeyboardInterrupt):
                s.gradient(y, [x])
        assert not s.sweeping and len(s.adjoints) == 0
        assert s.gradient(y * x, [x]) == [27.0]


def test_a_seed_and_newer_cells():
    with opened(MatrixStack) as s:
        x = s.variable(3.0)
        y = x * x
        z = y * y
        assert s.gradient(y, [x], seed=-2.0) == [-12.0]
        assert s.gradient(z, [x]) == [4.0 * 27.0]
        assert s.gradient(x, [x, x], seed=-0.0) == [0.0, 0.0]
        assert s.gradient(y, [x, z]) == [6.0, 0.0]


@pytest.mark.parametrize("n", [3, 1000])
def test_long_streams_are_packed_and_large_arrays_are_not(monkeypatch, n):
    packed = []
    flush = MatrixStack.flush
    monkeypatch.setattr(MatrixStack, "flush", lambda s: packed.append(len(s.stream) // 4) or flush(s))

    def f(x):
        s = x
        t = np.sum(x)
        for _ in range(CHUNK):
            s = s * 0.999
            t = t * 0.5 + 1.0
        return np.sum(s) + t

    found = contad.grad(f)(np.ones(n))
    np.testing.assert_allclose(found, 0.999**CHUNK + 0.5**CHUNK)
    assert len(packed) in (2, 3) and set(packed[:2]) == {CHUNK}


def test_lists_of_floats_have_the_structure_that_others_have():
    for x in ([0.5, 1.5], (0.5,), [0.5] * 1000, [], (), [0.5, 1], [True], [0.5, [1.5]], [np.float64(0.5)]):
        leaves, spec = optree.tree_flatten(x)
        found = flatten(x)
        assert found.leaves == leaves and found.spec == spec
        assert found.leaves is not x and type(found.unflatten(leaves)) is type(x)
    pair = collections.namedtuple("pair", "a b")
    assert contad.grad(lambda p: p.a * p.b)(pair(2.0, 3.0)) == pair(3.0, 2.0)


def test_leaves_with_others_between_them_are_read_one_by_one():
    with opened(MatrixStack) as s:
        x, y, z = s.float_variables([2.0, 3.0, 5.0])
        s.gradient(x * y * z, [x])
        assert s.cotangents([x, y, z]) == [15.0, 10.0, 6.0]
        assert s.cotangents([x, z]) == [15.0, 6.0]
        assert s.cotangents([z, y, x]) == [6.0, 10.0, 15.0]
        assert s.cotangents([y]) == [10.0] and s.cotangents([]) == []
    x = [0.5, np.array([1.0, 2.0]), 3.0, np.zeros(0)]
    found = contad.grad(lambda x: x[0] * x[2] + np.sum(x[1]) * x[2])(x)
    assert found[0] == 3.0 and found[1].tolist() == [3.0, 3.0] and found[2] == 3.5 and found[3].size == 0


@pytest.mark.parametrize("engine", ["matrix", "records", "closures"])
def test_other_threads_are_refused_by_every_operation(engine):
    def f(x):
        operations = [lambda: x * x, lambda: x * 2.0, lambda: 2.0 - x, lambda: -x, lambda: np.sin(x)]
        x * x, x * 2.0, 2.0 - x, -x, np.sin(x)  # the methods are made
        with ThreadPoolExecutor(1) as pool:
            for operation in operations:
                error = pool.submit(operation).exception()
                assert isinstance(error, OtherThreadError), (operation, error)
        return x

    with pytest.raises(OtherThreadError, match="the function caught it"):
        contad.grad(f, engine=engine)(0.3)


# ---- linear maps -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [rosenbrock, layered, lambda x: [x[0] * x[1], {"a": np.sin(x[:4]), "b": 2.0}]])
def test_linearize_passes_over_the_records(monkeypatch, f):
    calls = []

    def counted(x):
        calls.append(1)
        return f(x)

    monkeypatch.setattr(linearized, "vjp", None)
    for cls in (ChainStack, MatrixStack):
        monkeypatch.setattr(cls, "run_sweep", None)
    value, tangent_map = contad.linearize(counted, POINT)
    for tangent in (ONES, POINT, 0.0 * ONES):
        expected_value, expected = gradients.jvp(f, (POINT,), (tangent,))
        for got, wanted in zip(leaves(tangent_map(tangent)), leaves(expected), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)
    for got, wanted in zip(leaves(value), leaves(expected_value), strict=True):
        np.testing.assert_allclose(got, wanted)
    assert len(calls) == 1


def leaves(x):
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, list) else [x]


def test_linearize_where_records_do_not_do():
    x = np.array([0.0, 4.0])
    _, tangent_map = contad.linearize(np.sqrt, x)  # the first partial is infinite
    assert tangent_map(np.array([0.0, 1.0])).tolist() == [0.0, 0.25]
    inner = contad.grad(lambda x: np.sum(contad.linearize(np.sin, x)[1](x)))(POINT)
    np.testing.assert_allclose(inner, np.cos(POINT) - POINT * np.sin(POINT))
    _, tangent_map = contad.linearize(np.sin, POINT)  # at tangents that are variables
    np.testing.assert_allclose(contad.grad(lambda t: np.sum(tangent_map(t) * t))(ONES), 2.0 * np.cos(POINT))
    _, tangent_map = contad.linearize(lambda x: np.concatenate([x, ONES]), POINT)
    assert tangent_map(ONES).tolist() == [1.0] * 50 + [0.0] * 50
    _, tangent_map = contad.linearize(lambda x, y: (x * y, 3.0), 2.0, 3.0)
    assert tangent_map(1.0, 10.0) == (23.0, 0.0)


# ---- einsum ----------------------------------------------------------------------------------------------------------
def test_the_path_of_an_einsum_is_found_once(monkeypatch):
    a, b, c = (np.random.default_rng(k).normal(size=(4, 4)) for k in range(3))
    calls = []
    path = np.einsum_path
    monkeypatch.setattr(np, "einsum_path", lambda *args, **options: calls.append(1) or path(*args, **options))
    einsum_module._path_of.cache_clear()
    f = contad.grad(lambda x: np.sum(np.einsum("ij,jk,kl->il", x, b, c) ** 2))
    first = f(a)
    assert len(calls) == 1
    np.testing.assert_allclose(f(a), first)
    assert len(calls) == 1
    np.testing.assert_allclose(first, 2.0 * (a @ b @ c) @ (b @ c).T)


@pytest.mark.parametrize(
    "subscripts", ["ij,jk,kl->il", "ij,jk,kl->li", "ij,jk,k->i", "i,ij,j->", "ij,kj,kl->il", "ij,ij,jk->ik"]
)
def test_einsums_of_three(subscripts):
    terms = subscripts.partition("->")[0].split(",")
    arrays = [np.random.default_rng(k).normal(size=(3,) * len(term)) for k, term in enumerate(terms)]
    for k, x in enumerate(arrays):

        def f(x, k=k):
            return np.sum(np.einsum(subscripts, *arrays[:k], x, *arrays[k + 1 :]) ** 2)

        direction = np.random.default_rng(9).normal(size=x.shape)
        expected = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
        assert np.sum(contad.grad(f)(x) * direction) == pytest.approx(expected, rel=1e-6)
        assert contad.jvp(f, (x,), (direction,))[1] == pytest.approx(expected, rel=1e-6)
