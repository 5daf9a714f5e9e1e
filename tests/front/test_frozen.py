"""What README says of values that a Numba function has frozen and that change afterwards, row by row."""

import ctypes
import math
import sys
import textwrap
import types
import warnings
from itertools import product

import numba
import numpy as np
import pytest

import contad
from contad.errors import FrozenValueError, ValueMismatchError
from contad.numba_functions.frozen import Frozen
from contad.rules.definition import looked_up
from tests.judges.samples import sampled

X = np.array([1.0, 2.0, -0.5])

NESTED = """module.part = type(module)("part")
module.part.rate, module.part.module = 2.0, module"""
# What a change is: source of a function f, and of the change. A value goes from 2 to 7: f is value * sum(x^2).
CHANGES = {
    "number": ("RATE = 2.0", "RATE", "RATE = 7.0"),
    "tuple": ("RATES = 1.0, 2.0", "RATES[1]", "RATES = 1.0, 7.0"),
    "array replaced": ("DATA = np.array([1.0, 2.0])", "DATA[1]", "DATA = np.array([1.0, 7.0])"),
    "array in place": ("DATA = np.array([1.0, 2.0])", "DATA[1]", "DATA[1] = 7.0"),
    "array in a tuple": ("PAIR = np.array([1.0, 2.0]), 3.0", "PAIR[0][1]", "PAIR[0][1] = 7.0"),
    "captured variable": ("rate = 2.0", "rate", "rate = 7.0"),
    "global of a callee": ("RATE = 2.0", "inner(RATE)", "RATE = 7.0"),
    "callee": ("", "callee()", "@numba.njit\ndef callee():\n    return 7.0"),
    "attribute of a module": ("module.rate = 2.0", "module.rate", "module.rate = 7.0"),
    "attribute of a module's module": (NESTED, "module.part.rate", "module.part.rate = 7.0"),
    "member of an enum": ("import enum\nclass Kind(enum.IntEnum):\n    a = 2", "Kind.a.value",
                          "class Kind(enum.IntEnum):\n    a = 7"),
}  # fmt: skip
SOURCE = """
@numba.njit
def callee():
    return 2.0

@numba.njit
def inner(x):
    return x

@numba.njit
def f(x):
    return {value} * np.sum(x * x)
"""
CAPTURED = """
def make():
    {before}
    @numba.njit
    def f(x):
        return {value} * np.sum(x * x)
    def change():
        nonlocal rate
        {after}
    return f, change
f, change = make()
"""


@pytest.fixture(params=CHANGES)
def case(request, tmp_path, monkeypatch):
    """A module with a function f, and change(), which changes what f reads; the module is a file, as users' are."""
    before, value, after = CHANGES[request.param]
    captured = request.param == "captured variable"
    text = CAPTURED if captured else "{before}\n" + SOURCE
    path = tmp_path / "model.py"
    path.write_text(text.format(before=before, value=value, after=after))
    made = types.ModuleType("model")
    made.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "model", made)
    vars(made).update(numba=numba, np=np, module=types.ModuleType("own"))
    exec(compile(path.read_text(), str(path), "exec"), vars(made))
    made.kind = request.param
    if not captured:
        made.change = lambda: exec(textwrap.dedent(after), vars(made))
    return made


ORDERS = product(CHANGES, ["compiled", "made", "later"], [True, False])


@pytest.mark.parametrize(
    ("case", "derivative", "f_compiled"), sampled(ORDERS, 3, family=lambda order: order[0]), indirect=["case"]
)
def test_f_value_and_gradient_never_disagree(case, f_compiled, derivative):
    if f_compiled:
        assert case.f(X) == 10.5
    if derivative != "later":
        gradients = contad.grad(case.f), contad.value_and_grad(case.f)
        if derivative == "compiled":
            assert gradients[0](X) == pytest.approx(4.0 * X) and gradients[1](X)[0] == 10.5
    case.change()
    outcomes = set()
    for take in (lambda: contad.grad(case.f)(X)[0], lambda: 2.0 * contad.value_and_grad(case.f)(X)[0] / 5.25):
        try:
            outcomes.add(round(take(), 9))
        except FrozenValueError:
            outcomes.add("FrozenValueError")
    f_has = case.f(X) / 5.25 * 2.0
    assert f_has == (4.0 if f_compiled else 14.0) or derivative == "compiled"  # whose first call runs f
    assert outcomes == ({14.0} if derivative == "later" and not f_compiled else {"FrozenValueError"})


def uses_of(f):
    """A call of every transform of a function."""
    v = np.array([1.0, 0.5, 2.0])
    return {
        "grad": lambda: contad.grad(f)(X),
        "tape": lambda: contad.grad(f, engine="tape")(X),
        "matrix": lambda: contad.grad(f, engine="matrix")(X),
        "argnums": lambda: contad.value_and_grad(f, argnums=(0,))(X),
        "vjp": lambda: contad.vjp(f, X)[1](1.0),
        "vjp on tape": lambda: contad.vjp(f, X, engine="tape")[1](1.0),
        "make_vjp": lambda: contad.make_vjp(f)(X),
        "jvp": lambda: contad.jvp(f, (X,), (v,)),
        "make_jvp": lambda: contad.make_jvp(f)(X)(v),
        "linearize": lambda: contad.linearize(f, X),
        "jacobian": lambda: contad.jacobian(f)(X),
        "hessian": lambda: contad.hessian(f)(X),
        "hvp": lambda: contad.hvp(f)(X, v),
        "elementwise_grad": lambda: contad.elementwise_grad(f)(X),
        "cfunc": lambda: contad.cfunc(f, 3),
        "in plain code": lambda: contad.grad(lambda x: 3.0 * contad.primitive(f)(x))(X),
        "compiled later": lambda: numba.njit(lambda x: contad.grad(f)(x))(X),
        "jvp compiled later": lambda: numba.njit(lambda x, v: contad.jvp(f, (x,), (v,)))(X, v),
    }


@pytest.mark.parametrize("case", ["array in place", "attribute of a module", "array in a tuple"], indirect=True)
def test_every_transform_of_a_function_that_was_compiled_before(case):
    """No derivative has been made before the change: what f has frozen was noted when Numba compiled it."""
    assert case.f(X) == 10.5
    case.change()
    for name, use in uses_of(case.f).items():
        with pytest.raises(FrozenValueError, match="has changed since the function was compiled"):
            pytest.fail(f"{name} gives {use()}")


def test_a_derivative_by_another_transform_counts(case):
    """The gradient and value_and_grad agree, whichever was made first, and whether f was compiled by it or not."""
    contad.grad(case.f)
    case.change()
    for make in contad.grad, contad.value_and_grad:
        with pytest.raises(FrozenValueError, match="has changed since its first derivative was made"):
            make(case.f)(X)
    contad.value_and_grad(case.f).recompile()
    assert contad.value_and_grad(case.f)(X)[0] == case.f(X) == 36.75
    assert contad.vjp(case.f, X)[0] == 36.75  # made later
    with pytest.raises(FrozenValueError):  # made before, and not compiled again
        contad.grad(case.f)(X)


def test_a_change_that_the_first_call_cannot_see():
    """The value agrees where the first call looks; elsewhere it would not."""
    names = {"numba": numba, "DATA": np.array([1.0, 2.0])}
    exec("@numba.njit\ndef f(x):\n    return (DATA[0] if x > 0.0 else DATA[1]) * x", names)
    assert names["f"](-1.0) == -2.0
    names["DATA"][1] = 7.0
    with pytest.raises(FrozenValueError):
        contad.value_and_grad(names["f"])(1.0)


def test_code_that_was_compiled_unseen_is_compared_by_value():
    """As before contad was imported: nothing tells what such code has frozen."""
    names = {"numba": numba, "np": np, "DATA": np.array([1.0, 2.0])}
    exec("@numba.njit\ndef f(x):\n    return DATA[1] * np.sum(x * x)", names)
    f = names["f"]
    assert f(X) == 10.5
    for overload in f.overloads.values():
        overload.environment.consts.clear()
    value, pullback = contad.vjp(f, X)
    assert value == 10.5 and pullback(1.0)[0] == pytest.approx(4.0 * X)
    names["DATA"][1] = 7.0
    del f.__dict__["__contad__"]  # as if no derivative had been made
    uses = uses_of(f)
    for name in ("grad", "vjp", "vjp on tape", "jvp"):
        with pytest.raises(ValueMismatchError):
            pytest.fail(f"{name} gives {uses[name]()}")


def test_transforms_used_before_notice(case):
    used_before_notice(case, ("grad",))


@pytest.mark.long  # eighteen compilations each
@pytest.mark.parametrize("case", ["number", "array in place"], indirect=True)
def test_every_transform_used_before_notices(case):
    used_before_notice(case, list(uses_of(case.f)))


def used_before_notice(case, used):
    """Of a function that has been compiled."""
    uses = uses_of(case.f)
    for name in used:
        uses[name]()
    case.change()
    for name in used:
        with pytest.raises(FrozenValueError, match="has changed since"):
            uses[name]()
    if case.kind == "number":
        with pytest.raises(FrozenValueError, match="has changed since"):
            contad.record(case.f, X)


def test_equal_values_have_not_changed():
    names = {"numba": numba, "RATE": 2.0, "DATA": np.array([1.0, 2.0])}
    exec("@numba.njit\ndef f(x):\n    return RATE * DATA[1] * x * x", names)
    gradient = contad.grad(names["f"])
    assert gradient(3.0) == 24.0
    for name, other in (("RATE", 4.0 / 2.0), ("DATA", np.array([1.0, 2.0])), ("DATA", np.array([1.0, 2.0]))):
        names[name] = other
        assert [gradient(3.0) for _ in range(2)] == [24.0, 24.0]
    names["DATA"][0] = 5.0  # the array of now is watched
    with pytest.raises(FrozenValueError, match=r"f.DATA has changed since its first derivative was made"):
        gradient(3.0)
    names["DATA"][0] = 1.0
    assert gradient(3.0) == 24.0  # as it was


def test_a_global_named_as_an_attribute_is_another_thing():
    """math.exp reads no global `exp`; that it had changed was once an error."""
    names = {"math": math, "numba": numba}
    exec("@numba.njit\ndef f(x):\n    return math.exp(x) * x\nexp = 1.0\n", names)
    made = contad.grad(names["f"], engine="tape")
    assert made(0.5) == pytest.approx(1.5 * math.exp(0.5))
    names["exp"] = 2.0
    assert made(0.5) == pytest.approx(1.5 * math.exp(0.5))
    assert looked_up(names["f"].py_func.__code__) == {"math"}


def test_a_function_that_was_compiled_while_a_value_was_another_one():
    names = {"numba": numba, "RATE": 2.0}
    exec("@numba.njit\ndef f(x):\n    return RATE * x * x", names)
    gradient = contad.grad(names["f"])
    assert gradient(3.0) == 12.0
    names["RATE"] = 7.0
    assert names["f"](3) == 63.0
    names["RATE"] = 2.0
    with pytest.raises(FrozenValueError, match=r"f.RATE has changed since the function was compiled, from float 7.0"):
        gradient(3.0)


def test_recompile_takes_the_values_of_now():
    names = {"numba": numba, "RATE": 2.0}
    exec("@numba.njit\ndef f(x):\n    return RATE * x * x", names)
    f = names["f"]
    gradient = contad.grad(f)
    assert (f(3.0), gradient(3.0)) == (18.0, 12.0)
    names["RATE"] = 7.0
    with pytest.raises(FrozenValueError, match="since the function was compiled"):
        gradient.recompile()
    f.recompile()
    gradient.recompile()
    assert contad.grad(f) is gradient and (f(3.0), gradient(3.0), gradient(3)) == (63.0, 42.0, 42.0)
    names["RATE"] = 2.0
    with pytest.raises(FrozenValueError):
        gradient(3.0)


@pytest.mark.parametrize("size", [0, 1, 7, 64, 128, 129, 1000, 4097])
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.float32])
def test_a_change_of_an_array_is_noticed_within_some_calls(size, dtype):
    """All of it at once up to 1 KiB; of a larger one a run of a 32nd at once, one number within that many calls."""
    data = np.zeros(size, dtype)
    frozen = Frozen(lambda x: x * data, "f", {})
    frozen.check()
    calls = 1 if data.nbytes <= 1024 else -(-(data.nbytes // 8) // 32)

    def noticed():
        try:
            frozen.check()
        except FrozenValueError:
            return True
        return False

    for k in sorted({0, size // 3, size - 1} if size else ()):
        data[k] = 1.0
        assert any(noticed() for _ in range(calls)), k
        data[k] = 0.0
        assert not noticed()
    if size:
        start = size // 5
        data[start : start + calls * max(8 // data.itemsize, 1) + 8] = 1.0
        assert noticed()


def test_arrays_that_numba_reads_where_they_are_may_change():
    wide = np.full((4, 4), 2.0)
    names = {"numba": numba, "LARGE": np.full(125_001, 2.0), "STRIDED": wide[:, ::2]}
    exec("@numba.njit\ndef f(x):\n    return LARGE[5] * STRIDED[1, 1] * x * x", names)
    f = names["f"]
    assert (f(3.0), contad.grad(f)(3.0)) == (36.0, 24.0)
    names["LARGE"][5], wide[:] = 3.0, 5.0
    assert (f(3.0), contad.grad(f)(3.0), contad.value_and_grad(f)(3.0)) == (135.0, 90.0, (135.0, 90.0))
    names["LARGE"] = names["LARGE"].copy()
    with pytest.raises(FrozenValueError):
        contad.grad(f)(3.0)


@pytest.mark.filterwarnings("always:.*each process:UserWarning")
def test_a_warning_tells_once_what_each_process_compiles():
    names = {"numba": numba, "LARGE": np.full(125_001, 2.0), "GAPS": np.full((4, 4), 2.0)[:, ::2]}
    exec("@numba.njit\ndef f(x):\n    return LARGE[5] * x * x", names)
    exec("@numba.njit\ndef g(x):\n    return GAPS[1, 1] * x * x", names)
    exec("@numba.njit\ndef of(h, x):\n    return h(x) * x", names)
    exec("@numba.njit\ndef plain(x):\n    return x", names)
    with warnings.catch_warnings(record=True) as caught:  # which other libraries may fill, too
        for _ in range(2):
            contad.grad(names["f"])(3.0)
        contad.grad(names["f"])(3)
        contad.value_and_grad(names["f"])(3.0)
        contad.grad(names["g"])(3.0)
        contad.grad(names["of"], 1)(names["plain"], 3.0)
    told = [w for w in caught if "each process" in str(w.message)]
    assert [w.filename for w in told] == [__file__] * 3
    f, g, of = (str(w.message) for w in told)
    assert "compiles this derivative anew, because of f.LARGE, an array of 1.0 MB, " in f
    assert "g.GAPS, an array with gaps in memory" in g
    assert "the Numba function among the arguments; let it be a global" in of


def test_compiled_callers_keep_what_they_were_compiled_with():
    names = {"__name__": "session", "numba": numba, "contad": contad, "RATE": 2.0}
    exec("@numba.njit\ndef f(x):\n    return RATE * x * x", names)
    exec("@numba.njit\ndef caller(x):\n    return f(x), contad.grad(f)(x)", names)
    assert names["caller"](3.0) == (18.0, 12.0)
    exec("@numba.njit\ndef of_one(x):\n    return RATE * x[0] * x[0]", names)
    function = contad.cfunc(names["of_one"], 1)
    program = contad.record(lambda x: names["RATE"] * x * x, 3.0)
    names["RATE"] = 7.0
    value, slope = np.zeros(1), np.zeros(1)
    doubles = ctypes.POINTER(ctypes.c_double)
    pointers = [x.ctypes.data_as(doubles) for x in (np.array([3.0]), value, slope)]
    assert function.ctypes(*pointers) == 0 and (value[0], slope[0]) == (18.0, 12.0)
    assert program.value_and_grad(3.0) == (18.0, 12.0)
    assert names["caller"](3.0) == (18.0, 12.0)
    with pytest.raises(FrozenValueError):  # of another type: it is compiled now
        names["caller"](3)


def test_a_function_without_frozen_values_is_called_directly():
    @numba.njit
    def plain(x):
        return np.exp(x) * x

    entry = object()
    assert contad.grad(plain).frozen.guard(entry) is entry
