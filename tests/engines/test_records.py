"""The records engine in counts: pushes per operation, bytes per record, growth, packing, and many threads."""

import gc
import random
import sys
import threading

import numpy as np
import pytest

import contad
from contad.engines import engine, engine_names
from contad.engines.records import RecordStack
from contad.engines.stream.record_stream import CHUNK
from contad.rules.scalar_rule import rules
from contad.variables.stack import THREAD, opened
from tests.judges.planted import registered
from tests.judges.samples import shortened


@pytest.fixture
def level():
    with opened(RecordStack) as s:
        yield s


def recurrence(x, steps):
    s = x
    for _ in range(steps):
        s = s * x + 0.5
    return s


@pytest.mark.parametrize("name", engine_names())
def test_one_push_per_active_operation_and_none_for_constants(name):
    with opened(engine(name)) as s:
        pushed = []
        push = s.push
        s.push = lambda record: (pushed.append(record), push(record))
        x = s.variable(1.3)
        y = s.variable(0.4)
        for rule in (rule for rule in rules() if rule.__module__.startswith("contad.ops.")):
            variables = [x, *[y] * (rule.arity - 1)]
            del pushed[:]
            rule(*variables)
            assert len(pushed) == 1, rule
            rule(*(v.value for v in variables))
            contad.value_of(x) * 2.0 + 1.0
            assert len(pushed) == 1, rule
        del pushed[:]
        _ = +x, x > y, x == 2.0, bool(x), int(x), contad.select(True, x, y), contad.stop_gradient(x) * 2.0
        assert pushed == []


def test_bytes_per_record(level):
    recurrence(level.variable(0.9), 10 * CHUNK)
    level.flush()
    buffers = level.buffers
    assert buffers.records[0].nbytes + buffers.values[0].nbytes <= 32  # and 8 for the adjoint
    assert level.top == 2 + 2 * 10 * CHUNK


def test_a_constant_operand_is_kept_by_value(level):
    x = level.variable(1.5)
    top = level.top
    assert contad.gradient(2.0 * x - 7 + x / np.float64(4.0) - 1.0 / x, [x]) == [2.0 + 0.25 + 1.0 / 2.25]
    assert level.top - top == 6  # an operation each, no record for a constant


@pytest.mark.parametrize("steps", [CHUNK // 2 - 2, CHUNK // 2 - 1, CHUNK // 2, CHUNK // 2 + 1, 3 * CHUNK])
def test_packing_at_every_alignment(steps):
    for extra in range(3):

        def f(x, extra=extra):
            for _ in range(extra):
                x = contad.erf(x)  # a record of stored partials straddles the boundary
            return recurrence(x, steps) * x

        assert contad.grad(f)(0.9) == pytest.approx(contad.grad(f, engine="closures")(0.9), rel=1e-12)


def test_operations_with_stored_partials_take_a_record_per_active_argument(level):
    x, y = level.variable(1.3), level.variable(0.4)
    top = level.top
    z = contad.ops.betaln(x, y)
    assert level.top - top == 2 and z.index == level.top - 1
    contad.ops.betaln(x, 2.0)
    assert level.top - top == 3
    w = contad.ops.betaln(x, x) * contad.ops.betaln(y, x)
    assert contad.gradient(w, [x, y]) == pytest.approx(
        contad.grad(lambda x, y: contad.ops.betaln(x, x) * contad.ops.betaln(y, x), (0, 1), engine="closures")(1.3, 0.4)
    )


def test_nothing_grows_over_many_gradients():
    def f(x, y):
        return contad.ops.exp(-x * x) * y + contad.erf(x * y) + contad.ops.hypot(x, y) ** 2

    gradient = contad.grad(f, (0, 1))
    gradient(1.3, 0.4)
    pool = THREAD.pools["records"]
    before = [(len(b.values), len(b.adjoints), len(b.staging)) for b in pool]
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(10_000):
        gradient(1.3, 0.4)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 100
    assert [(len(b.values), len(b.adjoints), len(b.staging)) for b in pool] == before


@pytest.mark.parametrize("count", shortened(75, 300))
def test_threads_give_the_serial_results(count):
    """Eight threads behind a barrier, each its own function and `count` gradients, switching as often as possible."""

    def function(k):
        def f(x, y):
            z = contad.ops.sin(x * (k + 1)) * y + contad.erf(y) / (k + 2)
            for _ in range(k):
                z = z * 0.9 + contad.grad(lambda t: t * t * x)(y)
            return z

        return contad.value_and_grad(f, (0, 1), engine=("records", "closures")[k % 2])

    functions = [function(k) for k in range(8)]
    points = [[(random.Random(k + 8 * n).uniform(0.1, 2.0), 0.3 + 0.01 * n) for n in range(50)] for k in range(8)]
    serial = [[f(*p) for p in ps] for f, ps in zip(functions, points, strict=True)]
    barrier = threading.Barrier(8)
    wrong = []

    def run(k):
        barrier.wait()
        wrong.extend((k, n) for n in range(count) if functions[k](*points[k][n % 50]) != serial[k][n % 50])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_outer_numbers_are_set_aside_and_the_slab_holds_primals(level):
    x = level.variable(3.0)
    with opened(RecordStack) as inner:
        y = inner.variable(x)
        z = y * x + contad.erf(y)
        (dy,) = inner.gradient(z, [y])
        assert inner.outer and inner.buffers.values[1:3].tolist() == [3.0, 9.0]
        assert isinstance(dy, contad.Var) and dy._owner is level
    assert level.outer == {}


def test_a_rule_registered_late_stores_its_partials(level):
    with registered():

        @contad.scalar_rule(core=True)
        def late_rule(x, y):
            return x * x * y

        @late_rule.partials
        def late_rule_partials(z, x, y):
            return 2.0 * x * y, x * x

        x, y = level.variable(3.0), level.variable(0.5)
        assert contad.gradient(late_rule(x, y), [x, y]) == [3.0, 9.0]
        assert [row.operation for row in level.rows()][2:] == ["linear", "join"]


def test_a_core_rule_whose_value_turns_complex_is_refused():
    with registered():

        @contad.scalar_rule(core=True)
        def late_root(x):
            return x**0.5

        @late_root.partials
        def late_root_partials(z, x):
            return 0.5 / z

        for transform in (contad.grad, contad.derivative):
            assert transform(late_root)(4.0) == 0.25
            with pytest.raises(contad.UnsupportedError, match="got complex"):
                transform(late_root)(-1.0)
