"""Arrays that compiled code would read as other numbers: masked ones, and those of swapped bytes, also after others."""

import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.numba_functions import array_arguments
from contad.testing import check_grads, expect_ad
from tests.engines.source.programs.harness import functions_of

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
    "grad": contad.grad, "value_and_grad": contad.value_and_grad, "with respect to it": lambda f: contad.grad(f, 1),
    "tape": lambda f: contad.grad(f, engine="tape"), "jacobian": contad.jacobian, "hessian": contad.hessian,
    "hvp": lambda f: lambda x, data: contad.hvp(f, vector=2)(x, data, x),
    "vjp": lambda f: lambda x, data: contad.vjp(f, x, data)[1](1.0),
    "jvp": lambda f: lambda x, data: contad.jvp(f, (x, data), (x, X)),
    "by name": lambda f: lambda x, data: contad.grad(f)(x, data=data),
    "closures": lambda f: contad.grad(f, engine="closures"), "records": lambda f: contad.grad(f, engine="records"),
    "matrix": lambda f: contad.grad(f, engine="matrix"),
}  # fmt: skip


NAMED = r"f, (argument (1|data)|primals\[1\]): expected .*, got "  # function, argument, expected, got


def make(data="data"):
    """A function of its own of x and of an array, or of one in a tuple or a dict."""
    return numba.njit(functions_of(f"# f: return np.sum(x * x * {data})", "x, data")["f"])


IN_TUPLE, IN_DICT = "data[1][0]", "data['a'][0]"


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
            with pytest.raises(UnsupportedError, match=rf"{NAMED}(Masked|'[<>]f8')"):
                derivative(X, data)


@pytest.mark.parametrize("kind", AFTER)
def test_they_are_refused_in_tuples(kind):
    before, data = AFTER[kind]
    gradient = contad.grad(make(IN_TUPLE))
    np.testing.assert_array_equal(gradient(X, (1.0, (before,))), 2.0 * X * DATA)
    for derivative in (gradient, contad.grad(make(IN_TUPLE))):
        with pytest.raises(UnsupportedError, match=r"grad: f, argument 1\[1\]\[0\]: .* got (Masked|'[<>]f8')"):
            derivative(X, (1.0, (data,)))
    with pytest.raises(UnsupportedError, match=r"f, argument 1\['a'\]\[0\]: .* got (Masked|'[<>]f8')"):
        contad.grad(make(IN_DICT))(X, {"a": [data]})


@pytest.mark.parametrize("data", [MASKED, SWAPPED], ids=["masked", "swapped"])
def test_they_are_refused_as_globals_of_numba_functions(data):
    @numba.njit
    def f(x):
        return np.sum(x * x * data)

    for run in (
        lambda: contad.grad(f)(X),
        lambda: contad.hessian(f)(X),
        lambda: contad.grad(f, engine="closures")(X),
        lambda: contad.grad(lambda x: f(x) + 1.0)(X),
        lambda: contad.jvp(f, (X,), (X,)),
        lambda: contad.record(f, X),
    ):
        with pytest.raises(UnsupportedError, match="f, the global or captured data: expected .* got (Masked|'[<>]f8')"):
            run()


OTHERS = {
    "dates": np.array(["2026-01-01"] * 3, "M8[D]"),
    "texts": np.array(["1", "2", "3"]),
    "records": np.zeros(3, [("a", float)]),
}


@pytest.mark.filterwarnings("ignore:.*a Python copy of it answers")
@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "dates") for name in TRANSFORMS), *(("grad", kind) for kind in OTHERS)]
)
def test_arrays_of_no_real_numbers_are_refused_by_name(name, kind):
    """By the argument or the operation; where Numba cannot compile the function itself, with its reason."""
    told = r"(argument 1: expected|multiply: (y must be|expected)|cannot compile this|refuses it)"
    for f in (make(), make().py_func):
        if name != "tape" or not hasattr(f, "__code__"):
            with pytest.raises(UnsupportedError, match=told) as caught:
                TRANSFORMS[name](f)(X, OTHERS[kind])
            assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("data", [MASKED, *OTHERS.values()], ids=["masked", *OTHERS])
def test_checks_refuse_them_by_name(data):
    for f in (make(), make().py_func):
        for check in (lambda f: check_grads(f, (X, data)), lambda f: expect_ad(f, X, data)):
            with pytest.raises(UnsupportedError, match="checks of f, argument data: expected .*[;,] got "):
                check(f)


def test_messages_say_what_to_do():
    with pytest.raises(UnsupportedError, match=r"grad: f, argument 1: .* got MaskedArray, .* pass x\.filled\(value\)"):
        contad.grad(make())(X, MASKED)
    with pytest.raises(UnsupportedError, match=r"got '[<>]f8', .* pass x\.astype\('[<>]f8'\)"):
        contad.grad(make())(X, SWAPPED)


@pytest.mark.parametrize("data", [MASKED, SWAPPED], ids=["masked", "swapped"])
def test_plain_functions_that_call_a_numba_function_say_what_to_do(data):
    called, in_tuple = make(), make(IN_TUPLE)
    for f in (lambda x: called(x, data), lambda x: in_tuple(x, (1.0, (data,)))):
        with pytest.raises(UnsupportedError, match=r"f, argument 1.*: expected .* pass x\.(filled|astype)"):
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
    gradient, shape = contad.grad(make()), (1, 1, 1, 3)  # Numba has not met a swapped array of four axes before
    gradient(X, unaligned(DATA).reshape(shape))
    monkeypatch.setattr(array_arguments, "require_array_read", lambda *_: None)
    assert not np.allclose(gradient(X, SWAPPED.reshape(shape)), 2.0 * X * DATA)


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
