"""Functions whose results are new read arrays without references, and give Python arrays with memory of their own."""

import gc
import sys
import threading

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from numba.typed import List

import contad
from contad.compile.array_objects import FEW
from contad.compile.brief_calls import BorrowingCalls


def borrowing(f):
    """A function of this compiler, as derivatives are called: without a wrapper of Numba's before it."""
    made = numba.njit(nogil=True, error_model="numpy", pipeline_class=BorrowingCalls)(f)

    def call(*args):
        made(*args)  # compiles
        return next(iter(made.overloads.values())).entry_point(*args)

    call.made = made
    return call


def wrapper_of(dispatcher):
    """The text of the function that Python calls."""
    return next(iter(dispatcher.inspect_llvm().values()))


@numba.njit
def squares(x):
    return np.sum(x * x)


SHAPES = [(), (0,), (1,), (7,), (FEW,), (FEW + 1,), (3, 4), (2, 0, 3), (4, 5, 6), (FEW // 2, 2), (FEW // 2, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_results_are_numpys_own_arrays(shape):
    @borrowing
    def f(x):
        return 2.0 * x, x + 1.0

    x = np.arange(float(np.prod(shape))).reshape(shape)
    for found, expected in zip(f(x), (2.0 * x, x + 1.0), strict=True):
        if shape == ():  # Numba makes numbers of operations on these
            assert found == expected
            continue
        assert type(found) is np.ndarray and found.dtype == float and found.shape == shape
        np.testing.assert_array_equal(found, expected)
        assert found.flags.writeable and found.flags.c_contiguous and not np.may_share_memory(found, x)
        assert found.flags.owndata == (found.size <= FEW)


@pytest.mark.parametrize("n", [3, FEW + 1])
@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[1:], lambda x: x[::2], lambda x: x.reshape((len(x), 1))])
def test_parts_of_arguments_are_returned_as_copies(n, part):
    part = numba.njit(part)

    @borrowing
    def f(x):
        return part(x)

    x = np.arange(float(n))
    found = f(x)
    np.testing.assert_array_equal(found, part.py_func(np.arange(float(n))))
    assert not np.may_share_memory(found, x)
    del x
    gc.collect()
    np.testing.assert_array_equal(found, part.py_func(np.arange(float(n))))


def test_other_results_are_as_numbas():
    @borrowing
    def f(x):
        return x.astype(np.int64), np.asfortranarray(np.outer(x, x)), x.astype(np.float32), x > 1.0

    x = np.array([0.5, 1.5, 2.5])
    integers, columns, single, larger = f(x)
    assert integers.dtype == np.int64 and integers.tolist() == [0, 1, 2]
    assert columns.flags.f_contiguous and columns[1, 2] == 1.5 * 2.5
    assert single.dtype == np.float32 and larger.tolist() == [False, True, True]


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0), np.arange(12.0)[::2], np.arange(12.0).reshape(3, 4).T, np.arange(6.0)[::-1],
        np.frombuffer(np.arange(6.0).tobytes()), np.asfortranarray(np.ones((3, 4))), np.ones((2, 3))[:, :0],
    ],
)  # fmt: skip
def test_arrays_of_any_strides_are_read(x):
    value, gradient = contad.value_and_grad(squares)(x)
    assert value == pytest.approx(np.sum(x * x))
    np.testing.assert_array_equal(gradient, 2.0 * x)


def test_arrays_in_lists_are_referred_to_and_those_in_tuples_borrowed():
    @borrowing
    def of_tuple(xs):
        return xs[0] + xs[1][0] * xs[1][1]

    @borrowing
    def of_list(xs):
        return xs[0] + xs[1]

    x = np.ones(2)
    assert of_tuple((x, (x, 2.0))).tolist() == [3.0, 3.0]
    assert "@NRT_adapt_ndarray_from_python" not in wrapper_of(of_tuple.made)
    assert of_list(List([x, x])).tolist() == [2.0, 2.0]


@pytest.fixture
def counted():
    """Numba counts what it asks for and gives back."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def _count_references(run, *objects):
    """How many references, NRT's allocations and blocks of Python's are more after many calls."""
    run()
    gc.collect()
    before = [sys.getrefcount(x) for x in objects]
    stats, blocks = rtsys.get_allocation_stats(), sys.getallocatedblocks()
    for _ in range(1000):
        run()
    gc.collect()
    now = rtsys.get_allocation_stats()
    assert [sys.getrefcount(x) for x in objects] == before
    assert now.alloc - stats.alloc == now.free - stats.free
    assert now.mi_alloc - stats.mi_alloc == now.mi_free - stats.mi_free
    assert abs(sys.getallocatedblocks() - blocks) < 500
    return now.mi_alloc - stats.mi_alloc


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("n", [5, FEW + 5])
def test_nothing_leaks(n):
    gradient = contad.value_and_grad(squares)
    x = np.linspace(0.0, 1.0, n)
    classes = (np.ndarray,) if n <= FEW else ()  # Numba's way takes a reference for ever
    _count_references(lambda: gradient(x), x, x.dtype, *classes)

    @borrowing
    def itself(x):
        return x

    _count_references(lambda: itself(x), x, x.dtype, *classes)


@pytest.mark.usefixtures("counted")
def test_nothing_leaks_where_it_raises():
    @numba.njit
    def f(x):
        if x[0] > 0.5:
            raise ValueError("too large")
        return np.sum(x)

    gradient = contad.value_and_grad(f, engine="generated")
    x = np.zeros(3)
    assert gradient(x)[1].tolist() == [1.0] * 3
    x[0] = 1.0

    def run():
        with pytest.raises(ValueError, match="too large"):
            gradient(x)

    _count_references(run, x)


@pytest.mark.usefixtures("counted")
def test_a_gradient_takes_no_references_to_arrays():
    @numba.njit
    def f(a, b, c):
        total = 0.0
        for k in range(len(a)):
            total += a[k] * b[k] * c[k]
        return total

    gradient = contad.value_and_grad(f)
    a, b, c = np.ones(4), np.ones(4), np.ones(4)
    assert _count_references(lambda: gradient(a, b, c), a, b, c) == 1000  # that of the adjoint


def test_other_objects_are_refused():
    @borrowing
    def f(x):
        return x + 1.0

    f(np.ones(2))
    entry = next(iter(f.made.overloads.values())).entry_point
    for wrong in ([1.0, 2.0], np.ones(2, np.float32), None, 1.0):
        with pytest.raises(TypeError):
            entry(wrong)
    assert entry(np.ones(2)).tolist() == [2.0, 2.0]


def test_threads_share_arrays():
    gradient = contad.value_and_grad(squares)
    arrays = [np.full(n, 0.5) for n in (4, 300, 3000)]
    for x in arrays:
        gradient(x)
    before = [sys.getrefcount(x) for x in arrays]
    wrong = []

    def run():
        for k in range(600):
            x = arrays[k % 3]
            value, found = gradient(x)
            if value != 0.25 * len(x) or (found != 1.0).any():
                wrong.append(k)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and [sys.getrefcount(x) for x in arrays] == before


@pytest.mark.usefixtures("counted")
def test_functions_that_may_return_an_argument_take_references():
    @numba.njit
    def with_aux(x):
        return np.sum(x * x), x

    x, out = np.ones(3), np.zeros(3)
    both, written = contad.value_and_grad(with_aux, has_aux=True), contad.grad(squares, out=True)
    (value, aux), found = both(x)
    assert value == 3.0 and found.tolist() == [2.0] * 3 and aux.tolist() == [1.0] * 3
    assert written(x, out) is out and out.tolist() == [2.0] * 3
    assert written(x, out) is out
    assert _count_references(lambda: both(x), x) == 3000  # the argument, its copy, the adjoint
    assert _count_references(lambda: written(x, out), x, out) == 2000


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("transform", [contad.grad, contad.hessian, contad.jacobian, contad.jacfwd, contad.jacrev])
def test_every_derivative_that_is_new_borrows(transform):
    @numba.njit
    def of_numbers(x):
        return x[0] * x[0] * x[1] + x[1]

    @numba.njit
    def of_arrays(x):
        return np.array([x[0] * x[1], x[1] * x[1]])

    f = of_numbers if transform in (contad.grad, contad.hessian) else of_arrays
    expected = {contad.grad: [4.0, 2.0], contad.hessian: [[4.0, 2.0], [2.0, 0.0]]}
    derivative, x = transform(f), np.array([1.0, 2.0])
    derivative(x)  # is compared with f
    found = derivative(x)
    assert found.tolist() == expected.get(transform, [[2.0, 1.0], [0.0, 4.0]])
    assert found.flags.owndata and found.flags.writeable
    _count_references(lambda: derivative(x), x, np.ndarray)
