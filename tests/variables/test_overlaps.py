"""Arguments that share memory may be read by the function that is differentiated, and not written to."""

import contextlib
import ctypes
import gc
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import contad
from contad import OverlapError, grad, hessian, jacobian, jvp, linearize, record, value_and_grad, vjp
from contad.engines import engine_names
from contad.variables.layout import OVERLAPPING
from contad.variables.overlaps import set_apart
from contad.variables.trees import leaves_of

Y = np.array([1.0, 2.0, 3.0])
RISING = np.arange(8.0)


def write_first(a, b):
    a[0] = b[1] * 3
    return np.sum(a * b)


def write_second(a, b):
    b *= 2.0
    return np.sum(a * b)


def read(a, b):
    return np.sum(a * b * b)


WRITERS = {
    "an element": write_first,
    "the second": write_second,
    "a slice": lambda a, b: (a.__setitem__(slice(1, None), b[:-1]), np.sum(a * b))[1],
    "a view": lambda a, b: (a[::-1].__setitem__(0, b[0] * 7.0), np.sum(a * b))[1],
    "in place": lambda a, b: np.sum(a.__iadd__(2.0) * b),
    "a method": lambda a, b: (a.fill(2.0), np.sum(a * b))[1],
    "sort": lambda a, b: (a[::-1].sort(), np.sum(a * b))[1],
    "a function": lambda a, b: (np.put(a, [0], [4.0]), np.sum(a * b))[1],
    "out": lambda a, b: np.sum(np.multiply(a, 3.0, out=a) * b),
    "flat": lambda a, b: (a.flat.__setitem__(0, 5.0), np.sum(a * b))[1],
    "an inner call": lambda a, b: write_first(a, b) + 1.0,
}
TRANSFORMS = {
    "grad": lambda f, *args: grad(f)(*args),
    "grad of the second": lambda f, *args: grad(f, 1)(*args),
    "grad of both": lambda f, *args: grad(f, (0, 1))(*args),
    "value_and_grad": lambda f, *args: value_and_grad(f)(*args),
    "grad by name": lambda f, a, b: grad(lambda a, b: f(a, b))(a, b=b),
    "vjp": lambda f, *args: vjp(f, *args)[1](1.0),
    "jvp": lambda f, *args: jvp(f, args, args),
    "jvp several": lambda f, *args: jvp(f, args, [np.eye(3)] * 2, several=True),
    "jacobian": lambda f, *args: jacobian(f)(*args),
    "jacobian of both": lambda f, *args: jacobian(f, (0, 1))(*args),
    "jacfwd": lambda f, *args: contad.jacfwd(f, (0, 1))(*args),
    "jacrev": lambda f, *args: contad.jacrev(f)(*args),
    "hessian": lambda f, *args: hessian(f)(*args),
    "hessian of the second": lambda f, *args: hessian(f, 1)(*args),
    "hessian on closures": lambda f, *args: hessian(f, engine="closures")(*args),
    "hessian of both": lambda f, *args: hessian(f, (0, 1))(*args),
    "hvp": lambda f, *args: contad.hvp(f)(*args, Y),
    "linearize": lambda f, *args: linearize(f, *args),
    "record": lambda f, *args: record(f, *args),
    "record of one": lambda f, *args: record(f, *args, argnums=0),
    "grad of grad": lambda f, *args: grad(lambda a, b: np.sum(grad(f)(a, b)))(*args),
    "grad of jvp": lambda f, *args: grad(lambda a, b: jvp(f, (a, b), (Y, Y))[1], (0, 1))(*args),
    "jacobian of grad": lambda f, *args: jacobian(grad(f, 1))(*args),
    "make_vjp": lambda f, *args: contad.make_vjp(f)(*args),
    "make_jvp": lambda f, *args: contad.make_jvp(f, (0, 1))(*args)((Y, Y)),
    "debug_nans": lambda f, *args: _under_debug_nans(f, *args),
    "a tree": lambda f, *args: grad(lambda t: f(*t))([*args]),
    "two trees": lambda f, a, b: grad(lambda s, t: f(s["a"], t[1][0]))({"a": a}, (1.0, [b])),
    "sparse": lambda f, *args: contad.sparse_hessian(f)(*args),
    "out": lambda f, *args: grad(f, out=True)(*args, np.empty(3)),
}  # fmt: skip


def _under_debug_nans(f, *args):
    with contad.debug_nans():
        return grad(f)(*args)


def _views():
    base = RISING.copy() + 1.0
    return base[:3], base[2:5]


def _reversed():
    base = RISING.copy() + 1.0
    return base[:3], base[3:0:-1]


def _of_buffer():
    buffer = bytearray(RISING.tobytes())
    return np.frombuffer(buffer)[1:4], np.frombuffer(buffer)[2:5]


def _of_an_address():
    base = RISING.copy() + 1.0
    pointer = base.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return base[1:4], np.ctypeslib.as_array(pointer, base.shape)[2:5]


def _of_an_interface():
    base = RISING.copy() + 1.0
    return np.asarray(SimpleNamespace(__array_interface__=base[:3].__array_interface__)), base[1:4]


def _windows():
    base = RISING.copy() + 1.0
    return base[:6], np.lib.stride_tricks.sliding_window_view(base, 6, writeable=True)[1]


PAIRS = {
    "twice": lambda: (Y.copy(),) * 2, "overlapping": _views, "reversed": _reversed, "of a buffer": _of_buffer,
    "of an address": _of_an_address, "of an interface": _of_an_interface, "windows": _windows,
}  # fmt: skip


@pytest.mark.parametrize("writes", WRITERS)
@pytest.mark.parametrize("transform", ["grad", "grad of the second", "grad of both", "jvp", "hessian"])
def test_whatever_writes_is_refused(transform, writes):
    before = Y.copy()
    with pytest.raises(OverlapError, match="arguments 0 and 1 overlap in memory and the function writes .* pass"):
        TRANSFORMS[transform](WRITERS[writes], Y, Y)
    np.testing.assert_array_equal(Y, before)


@pytest.mark.parametrize("f", [write_first, write_second])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_in_every_transform(transform, f):
    y = Y.copy()
    with pytest.raises(OverlapError, match="overlap in memory and the function writes into one of them; pass copies"):
        TRANSFORMS[transform](f, y, y)
    np.testing.assert_array_equal(y, Y)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize("pair", PAIRS)
def test_on_every_engine(pair, argnums, engine):
    a, b = PAIRS[pair]()
    for f in (write_first, write_second):
        with pytest.raises(OverlapError):
            value_and_grad(f, argnums, engine=engine)(a, b)
    inner = grad(write_first, 0, engine=engine)
    for outer in engine_names():
        with pytest.raises(OverlapError):
            grad(lambda a, b: np.sum(inner(a, b)), argnums, engine=outer)(a, b)
    assert value_and_grad(write_first, engine=engine)(a.copy(), b.copy())[0] == write_first(a.copy(), b.copy())


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_reading_the_same_array_twice_is_as_ever(transform):
    y = Y.copy()
    got = TRANSFORMS[transform](read, y, y)
    expected = TRANSFORMS[transform](read, y, y.copy())
    numbers = {
        "linearize": lambda found: (found[0], found[1](Y, Y)), "make_vjp": lambda found: (found[0](1.0), found[1]),
        "record": lambda found: found(y, y), "record of one": lambda found: found(y),
        "sparse": lambda found: found.toarray(),
    }.get(transform, lambda found: found)  # fmt: skip
    for a, b in zip(leaves_of(numbers(got)), leaves_of(numbers(expected)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert y.flags.writeable


def test_writes_to_arrays_that_share_nothing():
    base = RISING.copy() + 1.0
    for a, b in ((base[:3], base[3:6]), (base[::2], base[1::2]), (base[:0], base[:0])):
        g = grad(lambda a, b: (a.__imul__(2.0), np.sum(a * b))[1], (0, 1))
        expected = g(a.copy(), b.copy())
        for x, z in zip(g(a, b), expected, strict=True):
            np.testing.assert_array_equal(x, z)


def test_a_third_array_may_be_written_to():
    def f(a, b, c):
        c *= 2.0
        return np.sum(a * b * c)

    for argnums in (0, (0, 1), (0, 1, 2), 2):
        got, expected = grad(f, argnums)(Y, Y, Y.copy()), grad(f, argnums)(Y, Y.copy(), Y.copy())
        for x, z in zip(np.atleast_2d(got), np.atleast_2d(expected), strict=True):
            np.testing.assert_array_equal(x, z)


def test_constants_that_overlap_with_each_other():
    f = lambda x, a, b: x * write_first(a, b)
    with pytest.raises(OverlapError, match="arguments 1 and 2 overlap"):
        grad(f)(2.0, Y, Y)
    assert grad(f)(2.0, Y, Y.copy()) == 19.0


def test_an_inner_gradient_of_one_variable_twice():
    with pytest.raises(OverlapError):
        grad(lambda x: np.sum(grad(write_first)(x, x)))(Y)
    got = grad(lambda x: np.sum(grad(read)(x, x)))(Y)
    np.testing.assert_array_equal(got, 2.0 * Y)  # of the sum of b^2


def test_a_program_whose_function_writes():
    program = record(write_first, Y, Y.copy())
    for run in (program, program.gradient, program.value_and_grad, lambda a, b: program.jvp((a, b), (a, b))):
        with pytest.raises(OverlapError, match="overlap in memory"):
            run(Y, Y)
    assert program(Y, Y.copy()) == 19.0
    assert program.jvp((Y, Y.copy()), (Y, Y))[0] == 19.0  # tangents may be one array
    assert record(read, Y, Y)(Y, Y) == 36.0


def test_nothing_is_left_of_marks():
    for f, transform in itertools.product((read, write_first), TRANSFORMS.values()):
        with contextlib.suppress(OverlapError):
            transform(f, Y, Y)
    gc.collect()
    assert not OVERLAPPING


def test_arguments_that_share_nothing_are_not_copied():
    args = Y, Y.copy(), RISING[:3], RISING[4:], [Y.copy(), 1.0], 2.0, "text", None
    assert set_apart("here", args) is args


def test_three_arguments_of_which_two_are_views():
    table, foreign = np.arange(6.0).reshape(2, 3), np.frombuffer(bytearray(24))
    apart = [(Y.copy(), table), (table.T, Y), (table[0], table[1]), (foreign[:2], foreign[2:]), (2.0, table)]
    for a, b in apart:
        args = np.ones(3), a, b
        assert set_apart("here", args) is args
    together = [(table.T, table), (table[0], table[:, 0]), (foreign, foreign[1:]), (table, table), (table[1:], table)]
    for a, b in together:
        args = np.ones(3), a, b
        _, first, second = set_apart("here", args)
        assert not (np.may_share_memory(first, second) or first.flags.writeable or second.flags.writeable)


def test_a_missing_mark_is_noticed(monkeypatch):
    """Without the marks the value is that of arrays that share nothing."""
    monkeypatch.setattr("contad.transforms.gradients.set_apart", lambda what, args: args)
    assert value_and_grad(write_first, (0, 1))(Y, Y)[0] == 19.0
    monkeypatch.setattr("contad.variables.activation.set_apart", lambda what, args, first_number: args)
    assert value_and_grad(lambda t: write_first(*t))([Y, Y])[0] == 19.0
    y = Y.copy()
    assert write_first(y, y) == 49.0
