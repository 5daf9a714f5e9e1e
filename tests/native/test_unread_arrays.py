"""Arrays that compiled code would read as other numbers: masked ones, and those of swapped bytes, also after others."""

import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.native import unread_arrays

X, DATA = np.array([0.3, 0.5, 0.7]), np.array([1.0, 2.0, 3.0])
MASKED = np.ma.array(DATA, mask=[False, True, False])


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a):
    made = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype)
    made[...] = a
    return made


SWAPPED = DATA.astype(DATA.dtype.newbyteorder())
# what a call before was given, and what Numba does not tell from it
AFTER = {
    "masked": (DATA, MASKED),
    "masked of a subclass": (DATA, MASKED.view(type("Masked", (np.ma.MaskedArray,), {}))),
    "swapped after unaligned": (unaligned(DATA), SWAPPED),
    "both unaligned": (unaligned(DATA), unaligned(SWAPPED)),
    "both read only": (read_only(DATA), read_only(SWAPPED)),
}
TRANSFORMS = {
    "grad": contad.grad,
    "value_and_grad": contad.value_and_grad,
    "with respect to it": lambda f: contad.grad(f, 1),
    "tape": lambda f: contad.grad(f, engine="tape"),
    "jacobian": contad.jacobian,
    "hessian": contad.hessian,
    "hvp": lambda f: lambda x, data: contad.hvp(f, vector=2)(x, data, x),
    "vjp": lambda f: lambda x, data: contad.vjp(f, x, data)[1](1.0),
    "jvp": lambda f: lambda x, data: contad.jvp(f, (x, data), (x, X)),
}


def make():
    @numba.njit
    def f(x, data):
        return np.sum(x * x * data)

    return f


def in_a_tuple():
    @numba.njit
    def f(x, data):
        return np.sum(x * x * data[1][0])

    return f


@pytest.mark.parametrize("kind", AFTER)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_no_transform_reads_them_as_other_numbers_after_others_or_at_first(name, kind):
    before, data = AFTER[kind]
    run = TRANSFORMS[name](make())
    right = run(X, before)
    for derivative in (run, TRANSFORMS[name](make())):
        if name == "vjp" and "masked" not in kind:  # copies of primals are differentiated
            for got, expected in zip(derivative(X, data), right, strict=True):
                np.testing.assert_array_equal(got, expected)
        else:
            with pytest.raises(UnsupportedError, match="Masked|'[<>]f8'"):
                derivative(X, data)


@pytest.mark.parametrize("kind", AFTER)
def test_they_are_refused_in_tuples(kind):
    before, data = AFTER[kind]
    gradient = contad.grad(in_a_tuple())
    np.testing.assert_array_equal(gradient(X, (1.0, (before,))), 2.0 * X * DATA)
    for derivative in (gradient, contad.grad(in_a_tuple())):
        with pytest.raises(UnsupportedError, match="got (Masked|'[<>]f8')"):
            derivative(X, (1.0, (data,)))


def test_messages_say_what_to_do():
    with pytest.raises(UnsupportedError, match=r"grad: f: .* got MaskedArray, .* pass x\.filled\(value\)"):
        contad.grad(make())(X, MASKED)
    with pytest.raises(UnsupportedError, match=r"got '[<>]f8', .* pass x\.astype\('[<>]f8'\)"):
        contad.grad(make())(X, SWAPPED)


@pytest.mark.parametrize("data", [MASKED, SWAPPED], ids=["masked", "swapped"])
def test_plain_functions_that_call_a_numba_function_say_what_to_do(data):
    called, in_tuple = make(), in_a_tuple()
    for f in (lambda x: called(x, data), lambda x: in_tuple(x, (1.0, (data,)))):
        with pytest.raises(UnsupportedError, match=r"f: expected .* pass x\.(filled|astype)"):
            contad.grad(f)(X)


def test_other_subclasses_are_read(tmp_path):
    class Own(np.ndarray):
        pass

    mapped = np.memmap(tmp_path / "data", np.float64, "w+", shape=3)
    mapped[...] = DATA
    gradient = contad.grad(make())
    for data in (DATA, DATA.view(Own), mapped):
        np.testing.assert_array_equal(gradient(X, data), 2.0 * X * DATA)


def test_a_fault_in_what_is_asked_is_found(monkeypatch):
    gradient = contad.grad(make())
    gradient(X, unaligned(DATA))
    monkeypatch.setattr(unread_arrays, "require_read", lambda x: None)
    assert not np.allclose(gradient(X, SWAPPED), 2.0 * X * DATA)


# ---- plain functions -------------------------------------------------------------------------------------------------
PLAIN = {
    "grad": lambda f: contad.grad(f)(X),
    "jvp": lambda f: contad.jvp(f, (X,), (X,))[1],
    "hessian": lambda f: contad.hessian(f)(X),
    "record": lambda f: contad.record(f, X)(X),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_functions_refuse_masks_and_swap_bytes(name):
    run = PLAIN[name]
    for f in (lambda x: np.sum(x * MASKED), lambda x: np.sum(MASKED * x), lambda x: np.sum(x + [MASKED][0] * 2.0)):
        with pytest.raises(contad.ContadError):
            run(f)
    np.testing.assert_array_equal(run(lambda x: np.sum(x * x * SWAPPED)), run(lambda x: np.sum(x * x * DATA)))


@pytest.mark.parametrize("engine", ["closures", "records"])
def test_engines_of_numbers_follow_the_mask(engine):
    for f in (lambda x: np.sum(x * MASKED), lambda x: np.mean(MASKED * x)):
        value, gradient = contad.value_and_grad(f, engine=engine)(X)
        assert value == pytest.approx(f(X))
        assert gradient[0] > 0.0 == gradient[1]
