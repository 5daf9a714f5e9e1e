"""Elements of arrays behave as np.float64, on every engine; variables in place of Python floats behave as floats."""

import functools
import operator
import re
from itertools import product

import numpy as np
import pytest

import contad
from contad.errors import ContadError, LostDerivativeError, UnsupportedError
from contad.variables.array import Array
from contad.variables.number import Number, primal
from contad.variables.stack import attempt
from tests.judges.samples import sampled
from tests.judges.ways import POINT, WAYS, agree, differentiate

# ---- comparisons -----------------------------------------------------------------------------------------------------
BRANCHES = {
    "negated": lambda x: x[1] if ~(x[0] > 0) else 5 * x[2],
    "added": lambda x: x[2] * ((x[0] > 0) + (x[1] > 0)),
    "and, or": lambda x: x[2] * ((x[0] > 0) & (x[1] > 0) | (x[2] > 0)),
    "negated equality": lambda x: x[1] if ~(x[0] == 0.3) else 5 * x[2],
    "of two elements": lambda x: x[1] if ~(x[0] < x[1]) else 5 * x[2],
    "of results": lambda x: x[2] * ((np.exp(x[0]) > 1) + (x[0] * 2.0 > 0) + (-x[2] > 0)),
    "a constant first": lambda x: x[2] * ((np.float64(0) < x[0]) + (x[1] > 0)),
    "isfinite": lambda x: x[2] * (np.isfinite(x[0]) + np.isfinite(x[1])),
    "less": lambda x: x[2] * (np.less(0.0, x[0]) + np.greater(x[1], 0.0)),
    "of reductions": lambda x: x[2] * ((x.sum() < 1) + (x.max() > 0)),
    "with a list": lambda x: x[2] * np.sum(x[0] < [0.1, 0.5, 0.9]),
    "logical": lambda x: x[2] * (np.logical_and(x[0], x[1]) + np.logical_or(0.0, x[0])),
    "not": lambda x: x[2] * (np.logical_not(x[0]) + np.True_ + np.logical_xor(x[0], 0.0)),
    "any": lambda x: x[1] * (np.any(x[0]) + np.all(x[1])),
    "any, as a method": lambda x: x[1] * (x[0].any() + x[2].all()),
    "reduce": lambda x: x[1] * (np.logical_or.reduce(x[0]) + np.logical_and.reduce(x[1])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BRANCHES)
def test_truth_values_of_elements_are_numpys(name, way):
    agree(BRANCHES[name], way)


def branching(z):
    return z**2 if ~(z > 0) else z**3


@contad.custom_jvp
def with_jvp(z):
    return branching(z)


with_jvp.defjvp(lambda p, t: (with_jvp(p[0]), (2 * p[0] if ~(p[0] > 0) else 3 * p[0] ** 2) * t[0]))


def with_gradients(z):
    rule = lambda v, seed, z: (2 * z if ~(z > 0) else 3 * z**2) * seed  # noqa: E731
    return contad.function_gradients((z,), branching, [rule])


# functions that get the number itself, or its value
HANDED_ON = {
    "checkpoint": lambda z: contad.checkpoint(branching)(z),
    "custom_jvp": with_jvp,
    "function_gradients": with_gradients,
    "the result of a checkpoint": lambda z: branching(contad.checkpoint(lambda y: y * 2.0)(z)),
    "value_of": lambda z: z * (2.0 if ~(contad.value_of(z) > 0) else 3.0),
    "stop_gradient": lambda z: z * (2.0 if ~(contad.stop_gradient(z) > 0) else 3.0),
    "inner": lambda z: contad.grad(with_jvp)(z) * z,
}


INVERTED = pytest.mark.filterwarnings("ignore:Bitwise inversion")  # which Python deprecates of a bool from 3.12 on


@INVERTED
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HANDED_ON)
def test_functions_get_a_number_of_its_kind(name, way):
    agree(lambda x: HANDED_ON[name](x[1]), way)
    agree(lambda x: HANDED_ON[name](x[1].item()), way)


@INVERTED
@pytest.mark.parametrize("way", ["matrix", "forward"])
@pytest.mark.parametrize("read", [lambda x: x.tolist()[0], lambda x: x.item(0), lambda x: x[:1].item()])
def test_lists_and_items_of_arrays_are_floats(read, way):
    agree(lambda x: x[1] if ~(read(x) > 0) else 5 * x[2], way)


FLOATS = {
    "counted": lambda x, y: y * ((x > 0) + (y > 0)),
    "sign": lambda x, y: y * ((x > 0) - (x < 0)),
    "inverted": lambda x, y: y if ~(x > 0) else 5 * x,
    "of results": lambda x, y: y * ((x * 2 > 0) + (x - y < 0) + (abs(-x) > 0) + (x**2 > 0) + (1 / x > 0)),
    "of contad's functions": lambda x, y: y * ((contad.ops.exp(x) > 0) + (contad.ops.hypot(x, y) > 0)),
    "item": lambda x, y: y * ((np.exp(x).item() > 0) + (x > 0)),
    # NumPy's numbers among them
    "of a ufunc": lambda x, y: y * ((np.exp(x) > 0) + (np.exp(y) > 0)),
    "with a ufunc": lambda x, y: y * ((np.exp(x) > y) + (x * np.exp(y) > 0)),
    "with a constant": lambda x, y: y * ((x * np.float64(2) > 0) + (np.float64(2) * x > 0)),
    "of a function": lambda x, y: y * ((np.sum(x) > 0) + (np.mean(y) > 0)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FLOATS)
def test_truth_values_of_floats_are_pythons(name, way):
    f, point = FLOATS[name], (0.3, 0.7)
    if way == "forward":
        value, slope = contad.jvp(f, point, (1.0, 0.5))
    else:
        value, (x_bar, y_bar) = contad.value_and_grad(f, (0, 1), engine=way)(*point)
        slope = x_bar + 0.5 * y_bar
    h = 1e-6
    assert value == pytest.approx(f(*point), rel=1e-14)
    assert slope == pytest.approx((f(0.3 + h, 0.7 + h / 2) - f(0.3 - h, 0.7 - h / 2)) / (2 * h), rel=1e-7)


@pytest.mark.parametrize("transform", ["grad", "hessian", "jacfwd", "derivative", "record"])
@pytest.mark.parametrize("number", [float, np.float64])
def test_an_argument_is_the_number_that_it_is(transform, number):
    seen = []

    def f(x):
        y = x * 2.0
        seen.append(type(y > 0))
        return y * y

    getattr(contad, transform)(f, *([number(0.5)] if transform == "record" else []))
    if transform != "record":
        getattr(contad, transform)(f)(number(0.5))
    assert set(seen) == {type(number(1.0) > 0)}


@pytest.mark.parametrize("inner", ["grad", "derivative"])
def test_inner_arguments_too(inner):
    f = lambda x: getattr(contad, inner)(lambda u: u * u if ~(u > 0) else 3.0 * u * x[1])(x[0])  # noqa: E731
    assert contad.grad(f)(POINT) == pytest.approx([0.0, 3.0, 0.0])
    assert contad.jvp(f, (POINT,), (POINT,))[1] == pytest.approx(2.1)


def test_numba_functions_have_bools():
    """Which count in sums, whether of elements or not; `~` negates them."""
    from tests.protocols.number_functions import counted

    x = POINT.copy()
    assert contad.grad(counted, engine="matrix")(x) == pytest.approx(contad.grad(counted)(x))
    assert contad.hessian(counted)(x) == pytest.approx(np.diag([0.0, 0.0, 2.0 * (2 + 1 + 1)]))


# ---- every attribute of np.float64 -----------------------------------------------------------------------------------
CALLS = {  # where a call without arguments is not what people write
    "astype": [(float,), (int,), (bool,), ("f8",)],
    "choose": [([1, 2],)],
    "clip": [(0.0, 0.5), (None, 0.1)],
    "compress": [([True],)],
    "fill": [(1.0,)],
    "item": [(), (0,)],
    "put": [(0, 1.0)],
    "repeat": [(3,)],
    "reshape": [(1,), (1, 1), (-1,), ((1, 1),)],
    "round": [(), (1,)],
    "searchsorted": [(0.5,)],
    "setfield": [(1.0, float)],
    "swapaxes": [(0, 0)],
    "take": [(0,), ([0, 0],)],
    "to_device": [("cpu",)],
    "tofile": [("/dev/null",)],
    "dump": [("/dev/null",)],
    "getfield": [(float,)],
    "fromhex": [("0x1p0",)],
    "sum": [(), (None,), (-1,), (1,)],
    "prod": [(), (0,), (2,)],
    "mean": [(), (0,), (3,)],
    "max": [(), (0,), (1,)],
    "min": [(), (0,), (1,)],
    "std": [(), (0,), (1,)],
    "var": [(), (0,), (1,)],
    "cumsum": [(), (0,), (1,)],
}
CASES = [(name, args) for name in dir(np.float64) if not name.startswith("_") for args in CALLS.get(name, [()])]


def outcome(read):
    """The result, or the error, of an attribute."""
    try:
        with attempt():  # the call around it is not to raise the error again
            return read()
    except Exception as error:
        return error


def same_kind(got, expected):
    """Whether a result is what NumPy's is, in value and type."""
    if isinstance(expected, np.ndarray):
        plain = np.asarray(primal(got), dtype=expected.dtype)
        return got.shape == expected.shape and got.dtype in (expected.dtype, object) and np.array_equal(plain, expected)
    if isinstance(expected, (np.float64, float)):
        kind = got.is_float if isinstance(got, Number) else not isinstance(got, np.float64)
        return kind == (type(expected) is float) and primal(got) == expected
    if isinstance(expected, np.flatiter):
        return list(map(primal, got)) == list(expected)
    return type(got) is type(expected) and got == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "args"), CASES, ids=lambda value: value if isinstance(value, str) else str(value))
def test_every_attribute_of_numpys_numbers(name, args, way):
    """Works in the same way, or is refused by name, with a remedy."""
    element = np.float64(POINT[0])

    def read(x):
        found = getattr(x, name)
        return found(*args) if callable(found) else found

    expected = outcome(lambda: read(element))

    def f(x):
        assert x[0].is_float is False
        check(outcome(lambda: read(x[0])), expected, name)
        return x[0] * x[1]

    differentiate(f, POINT, way)


def check(got, expected, name):
    """A result is NumPy's, or an error that tells what to do."""
    if isinstance(got, (ContadError, AttributeError)):
        assert name in str(got)
        assert "use" in str(got) or "make" in str(got) or "has no" in str(got) or "are no" in str(got)
    elif isinstance(expected, Exception):
        assert isinstance(got, type(expected)), (got, expected)
    else:
        assert same_kind(got, expected), (got, expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("read", [
    lambda v: v[()], lambda v: v[...], lambda v: v[None], lambda v: v[..., None], lambda v: v.T, lambda v: v.real,
    lambda v: v.copy(), lambda v: v.reshape(1), lambda v: v.ravel(), lambda v: v.flatten(), lambda v: v.sum(),
    lambda v: v.mean(), lambda v: v.prod(), lambda v: v.max(), lambda v: v.cumsum(), lambda v: v.repeat(2),
    lambda v: v.clip(-1.0, 2.0), lambda v: v.squeeze(), lambda v: v.astype(float), lambda v: v.item(),
    lambda v: v.take([0, 0]), lambda v: v.transpose(), lambda v: v.tolist(), lambda v: v.min(keepdims=True),
])  # fmt: skip
def test_methods_keep_the_derivative(read, way):
    agree(lambda x: np.sum(read(x[0]) * 2.0) * x[1], way)


@pytest.mark.parametrize("way", WAYS)
def test_elements_are_no_sequences(way):
    def f(x):
        for wrong in (list, len):
            with pytest.raises(TypeError):
                wrong(x[0])
        with pytest.raises(IndexError, match="invalid index to scalar"):
            x[0][0]
        assert np.array([x[0], x[1]]).shape == (2,) and np.array(x[0]).shape == ()
        assert np.mean(np.array([x[0], x[1]])) > 0  # NumPy's own mean asks elements for a dtype
        return x[0]

    differentiate(f, POINT, way)


def test_floats_have_no_attributes_of_arrays():
    """What asks for them takes them for arrays."""

    def f(x):
        assert not any(hasattr(x, name) for name in ("shape", "ndim", "dtype", "T", "__len__", "__getitem__", "sum"))
        assert hasattr(np.exp(x), "shape") and (x * 1).is_integer() is False and x.conjugate() is x
        return x * 2.0

    assert contad.grad(f)(0.3) == 2.0


# ---- reductions ------------------------------------------------------------------------------------------------------
REDUCTIONS = {
    "sum": lambda v, **o: np.sum(v, **o), "prod": lambda v, **o: np.prod(v, **o), "max": lambda v, **o: np.max(v, **o),
    "min": lambda v, **o: np.min(v, **o), "ptp": lambda v, **o: np.ptp(v, **o), "mean": lambda v, **o: np.mean(v, **o),
    "std": lambda v, **o: np.std(v, **o), "var": lambda v, **o: np.var(v, **o), "any": lambda v, **o: np.any(v, **o),
    "all": lambda v, **o: np.all(v, **o), "median": lambda v, **o: np.median(v, **o),
    "nansum": lambda v, **o: np.nansum(v, **o), "nanmax": lambda v, **o: np.nanmax(v, **o),
    "add.reduce": lambda v, **o: np.add.reduce(v, **o), "multiply.reduce": lambda v, **o: np.multiply.reduce(v, **o),
    "maximum.reduce": lambda v, **o: np.maximum.reduce(v, **o), "average": lambda v, **o: np.average(v, **o),
    "method sum": lambda v, **o: v.sum(**o), "method prod": lambda v, **o: v.prod(**o),
    "cumsum": lambda v, **o: np.cumsum(v, **o), "cumprod": lambda v, **o: np.cumprod(v, **o),
    "argmax": lambda v, **o: np.argmax(v, **o), "sort": lambda v, **o: np.sort(v, **o),
    "logical_or.reduce": lambda v, **o: np.logical_or.reduce(v, **o),
}  # fmt: skip
OPTIONS = [
    {}, {"axis": None}, {"axis": 0}, {"axis": -1}, {"axis": ()}, {"axis": 1}, {"axis": -2}, {"axis": (0,)},
    {"keepdims": True}, {"initial": 3.0}, {"initial": 3.0, "axis": None}, {"where": False, "initial": 2.0},
    {"where": True}, {"dtype": float}, {"dtype": np.float32}, {"dtype": int}, {"ddof": 1}, {"out": None},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "options", "way"), sampled(product(REDUCTIONS, OPTIONS, WAYS), 4, family=lambda case: case[0])
)
def test_reductions_of_an_element_mind_their_options(name, options, way):
    """Each is honoured, refused by name, or wrong for np.float64 too."""

    def f(x):
        return np.sum(REDUCTIONS[name](x[0], **options)) * x[1]

    expected, got = outcome(lambda: f(POINT)), outcome(lambda: differentiate(f, POINT, way))
    if isinstance(got, UnsupportedError):
        assert any(option in str(got) for option in options)
    elif isinstance(expected, Exception):
        assert isinstance(got, type(expected)), got
    elif name == "nanmax" and options.get("where") is False:  # nan by NumPy for a number, initial= for an array
        assert got[0] == 2.0 * POINT[1] and list(got[1]) == [0.0, 2.0, 0.0]
    elif np.isnan(expected):
        assert np.isnan(got[0])
    else:
        assert not isinstance(got, Exception), got
        agree(f, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [float, "f8", np.dtype("d")], ids=str)
def test_ufuncs_take_the_type_that_variables_have(dtype, way):
    agree(lambda x: np.add(x[0], 1.0, dtype=dtype) * x[1], way)
    if way in ("matrix", "forward"):  # to NumPy the others are objects
        agree(lambda x: np.sum(np.exp(x, dtype=dtype) * np.add.outer(x, x, dtype=dtype)), way)
        agree(lambda x: np.sum(np.logical_or(x, x > 9.0, dtype=bool) * x), way)
        for f in (lambda x: np.sum(np.exp(x, dtype=np.float32)), lambda x: x[0] * np.logical_or(x, x, dtype=object)[0]):
            with pytest.raises(UnsupportedError, match=r"np\.(exp|logical_or) with dtype=: not supported"):
                differentiate(f, POINT, way)


# ---- lists -----------------------------------------------------------------------------------------------------------
ROUGH = {"expn", "kv", "kve"}  # no differences: of whole orders, and where SciPy errs by 500 ulp


def binary_ufuncs():
    """Every ufunc of two arguments that has a rule, with where the arguments may lie."""
    import scipy.special

    from contad.rules.scalar_rule import rules

    for rule in rules():
        if rule.arity == 2 and rule.__module__.startswith("contad.ops.") and rule.points and rule.name not in ROUGH:
            for u in rule.ufuncs:
                yield getattr(scipy.special, u.rpartition(".")[2]) if isinstance(u, str) else u, rule.points[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("ufunc", "point"), [pytest.param(*pair, id=pair[0].__name__) for pair in binary_ufuncs()])
def test_a_list_is_an_array_to_every_ufunc(ufunc, point, way):
    a, b = point
    whole = float(b).is_integer() and ufunc.__name__ in ("polygamma", "kn", "jn", "ldexp")
    repeated = [int(b), int(b)] if ufunc is np.ldexp else [b, b] if whole else [b, 1.01 * b]

    def right(x):
        return np.mean(ufunc(x[0], repeated) * 2)

    def left(x):
        return np.mean(ufunc((a, 1.01 * a), x[1]) * 2)

    agree(right, way, np.array([a, b, 0.0]))
    if not whole:
        agree(left, way, np.array([a, b, 0.0]))
    types = set()
    differentiate(lambda x: (types.add(type(ufunc(x[0], repeated))), x[0])[1], np.array([a, b, 0.0]), way)
    assert all(issubclass(t, (np.ndarray, Array)) for t in types)


LISTS = {
    "mean": lambda x: np.mean(np.maximum(x[0], [0.2, 1.0]) * 2),
    "variables in it": lambda x: np.sum(np.multiply(x[0], [x[1], 2.0]) * 3),
    "nested": lambda x: np.sum(np.add([[1.0, x[2]], [2.0, 3.0]], x[0]) * x[1]),
    "an array": lambda x: np.sum(np.add([0.2, 1.0, x[0]], x) * 2),
    "an array on the left": lambda x: np.sum(np.multiply(x, (0.2, x[1], 2.0)) * 2),
    "outer": lambda x: np.sum(np.multiply.outer(x[0], [1.0, 2.0]) * x[1]),
    "outer on the right": lambda x: np.sum(np.multiply.outer([1.0, 2.0], x[0]) * x[1]),
    "operator": lambda x: np.sum((x[0] + [1.0, 2.0]) * ([3.0, x[1]] - x[2]) / 2),
    "operator, tuple": lambda x: np.sum((x[0] - (1.0, 2.0)) ** 2 / x[1]),
    "floor": lambda x: np.sum(np.floor_divide([1.0, 2.0], x[0]) + np.remainder(x[0], [0.2, 0.25])),
    "divmod": lambda x: np.sum(np.divmod(x[1], [0.2, 0.25])[1]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LISTS)
def test_lists_and_tuples_are_arrays(name, way):
    agree(LISTS[name], way)


# ---- NumPy's functions -----------------------------------------------------------------------------------------------
FUNCTIONS = {
    "interp": lambda v: np.interp(v, [0.0, 1.0], [0.0, 2.0]), "clip": lambda v: np.clip(v, 0.0, 0.5),
    "where": lambda v: np.where(v > 0, v, 2 * v), "round": lambda v: np.round(v, 1) + v, "dot": lambda v: np.dot(v, v),
    "outer": lambda v: np.outer(v, [1.0, 2.0]), "stack": lambda v: np.stack([v, 2 * v]), "append": lambda v:
    np.append(v, [1.0]), "full": lambda v: np.nan_to_num(v), "atleast_1d": lambda v: np.atleast_1d(v) * 2,
    "atleast_2d": lambda v: np.atleast_2d(v) * 2, "reshape": lambda v: np.reshape(v, (1, 1)), "tile": lambda v:
    np.tile(v, 3), "repeat": lambda v: np.repeat(v, 2), "broadcast_to": lambda v: np.broadcast_to(v, (2, 2)) * v,
    "expand_dims": lambda v: np.expand_dims(v, 0), "polyval": lambda v: np.polyval([1.0, 2.0, 3.0], v),
    "vander": lambda v: np.ravel(v), "real": lambda v: np.real(v) + np.imag(v), "transpose": lambda v: np.transpose(v),
    "einsum": lambda v: np.einsum(",->", v, 2.0), "tensordot": lambda v: np.tensordot(v, 2.0, 0), "kron": lambda v:
    np.kron(v, [1.0, 2.0]), "hstack": lambda v: np.hstack([v, 1.0]), "linspace": lambda v: np.linspace(0.0, v, 3),
    "copy": lambda v: np.copy(v), "diff": lambda v: np.diff([v, 2 * v, 3.0]), "isclose": lambda v: v * np.isclose(v, v),
    "inner": lambda v: np.inner(v, 2.0), "vdot": lambda v: np.vdot(v, v), "ones_like": lambda v: v * np.ones_like(v),
    "full_like": lambda v: v * np.full_like(v, 2.0),
    "piecewise": lambda v: np.piecewise(v, [v < 0, v >= 0], [1.0, 2.0]) * v,
    "insert": lambda v: np.insert([1.0, 2.0], 1, v),
    "insert a row": lambda v: np.insert(v * np.ones((2, 2)), 1, v, axis=0),
    "select": lambda v: np.select([v > 0], [v], 0.0), "sinc": lambda v: np.sinc(v), "i0": lambda v: v * np.ndim(v) + v,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_functions_take_elements(name, way):
    def f(x):
        return np.sum(FUNCTIONS[name](x[0]) * 2.0) * x[1]

    refused = outcome(lambda: agree(f, way))
    if refused is not None:
        assert isinstance(refused, (UnsupportedError, LostDerivativeError)), refused
        assert "np." in str(refused) or "use" in str(refused)


# ---- np.errstate -----------------------------------------------------------------------------------------------------
WRONG = {
    "divide": lambda x: x[0] / 0.0, "reflected": lambda x: 1.0 / (0.0 * x[0]), "nan": lambda x: (0.0 * x[0]) / 0.0,
    "power": lambda x: (1e10 * x[0]) ** 1e5, "two": lambda x: x[0] / (0.0 * x[1]),
    "exp": lambda x: np.exp(1e5 * x[0]), "log": lambda x: np.log(0.0 * x[0]), "sqrt": lambda x: np.sqrt(-x[0]),
    "arcsin": lambda x: np.arcsin(2.0 + x[0]), "sinh": lambda x: np.sinh(-1e5 * x[0]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WRONG)
def test_numbers_raise_where_errstate_asks_for_it(name, way):
    def f(x):
        with np.errstate(all="raise"):
            return WRONG[name](x)

    with pytest.raises(FloatingPointError):
        f(POINT)
    for _ in range(2):  # the methods of variables are made at their first use
        with pytest.raises(FloatingPointError):
            differentiate(f, POINT, way)
    with np.errstate(all="raise"):  # partials do not
        assert differentiate(lambda x: np.hypot(0.0 * x[0], 0.0) + x[0] ** 2.0, POINT, way)[1][0] == 0.6


# ---- messages --------------------------------------------------------------------------------------------------------
ROOMLESS = np.zeros(2)  # which has no room for variables


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("f", "message"), [
    (lambda x: np.sum(np.exp([x[0], 1.0])), r"np.exp: .*contad.array"),
    (lambda x: np.sum(np.tanh([1.0, x[0]])), r"np.tanh: .*contad.array"),
    (lambda x: x[0] * "a", r"multiply: y must be a number or an array, got str"),
    (lambda x: "a" * x[0], r"multiply: x must be a number or an array, got str"),
    (lambda x: x[0] * [1.0, 2.0], r"multiply: y must be a number or an array, got list"),
    (lambda x: ROOMLESS.__setitem__(0, x[0]), r"contad.zeros"),
    (lambda x: np.add.at(ROOMLESS, 0, x[0]), r"np.add.at: .* contad.zeros"),
])  # fmt: skip
def test_messages(f, message, way):
    with pytest.raises((UnsupportedError, LostDerivativeError), match=message):
        differentiate(f, POINT, way)


def test_names_of_numpys_are_looked_up_without_a_warning():
    from tests.protocols.number_functions import named_after_text

    assert contad.grad(named_after_text)(2.0) == 4.0


@functools.cache
def compared():
    return [getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("other", [1, 0.3, True, np.float32(0.3), np.int64(1), np.bool_(True), "a", None, 1j, [0.3, 1]])
def test_comparisons_with_anything(other, way):
    results = []

    def f(x):
        results.extend(
            (outcome(lambda c=compare: c(x[0], other)), outcome(lambda c=compare: c(other, x[0])))
            for compare in compared()
        )
        return x[0]

    differentiate(f, POINT, way)
    for compare, pair in zip(compared(), results, strict=True):
        for got, order in zip(pair, ((POINT[0], other), (other, POINT[0])), strict=True):
            expected = outcome(lambda c=compare, o=order: c(*o))
            if isinstance(expected, Exception):
                assert isinstance(got, (TypeError, type(expected)))
            elif not (isinstance(got, TypeError) and other == 1j):  # complex numbers are refused
                assert np.array_equal(got, expected)
                assert isinstance(got, np.ndarray) == isinstance(expected, np.ndarray)


@pytest.mark.parametrize("empty", [[], {}, ()])
def test_a_result_without_numbers_is_told(empty):
    with pytest.raises(contad.errors.OutputError, match=rf"returned {re.escape(repr(empty))}, without a number in it"):
        contad.vjp(lambda x: empty, POINT)
    with pytest.raises(contad.errors.OutputError, match="returned None"):
        contad.vjp(lambda x: None, POINT)
