"""What NumPy, pandas and Numba refuse is told by name, with the place and what to do instead."""

import re
import sys
from contextlib import suppress

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.special
import xarray as xr

import contad
from contad.errors import LostDerivativeError, OutputError, UnsupportedError

x = np.array([0.3, 0.7, 1.1])
A = np.array([[2.0, 1.0], [0.5, 3.0]])

# ---- NumPy on object arrays of variables -----------------------------------------------------------------------------
REFUSED = {
    "np.linalg.inv": (lambda a: np.sum(np.linalg.inv(a)), A),
    "np.linalg.solve": (lambda a: np.sum(np.linalg.solve(a, np.ones(2))), A),
    "np.linalg.det": (lambda a: np.linalg.det(a), A),
    "np.linalg.svd": (lambda a: np.linalg.svd(a)[1][0], A),
    "np.isnan": (lambda v: np.sum(v[~np.isnan(v)]), x),
    "np.isfinite": (lambda v: np.sum(v[np.isfinite(v)]), x),
    "np.allclose": (lambda v: v[0] if np.allclose(v, v) else v[1], x),
    "np.polyfit": (lambda v: np.polyfit(np.arange(3.0), v, 1)[0], x),
    "scipy.special.erf": (lambda v: np.sum(scipy.special.erf(v)), x),
    "np.cov": (lambda v: np.cov(v, v * v)[0, 1], x),
    "np.corrcoef": (lambda v: np.corrcoef(v, v * v)[0, 1], x),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp"])
def test_a_refusal_of_object_arrays_has_a_name_and_a_place(name, engine, transform):
    f, point = REFUSED[name]

    def on_objects(v):
        return f(contad.to_matvar(v))

    start, end = f"{__file__}:{f.__code__.co_firstlineno}: ", f": {name}: NumPy does not take object arrays"
    told = f"^{re.escape(start)}.*{re.escape(name)}.*{re.escape(end)}"  # the expression between
    calls = {
        "grad": lambda: contad.grad(on_objects, engine=engine)(point),
        "vjp": lambda: contad.vjp(on_objects, point, engine=engine),
        "jvp": lambda: contad.jvp(on_objects, (point,), (point,)),
    }
    with pytest.raises(UnsupportedError, match=told):
        calls[transform]()


@pytest.mark.parametrize("engine", ["closures", "records", None])
def test_a_refusal_of_qr_has_a_name(engine):
    with pytest.raises(
        LostDerivativeError, match=r": np\.linalg\.qr: NumPy does not take .* contad\.array\(\[\.\.\.\]\)"
    ):
        contad.grad(lambda v: np.linalg.qr(contad.to_matvar(v))[1][0, 0], engine=engine)(A)


def test_a_refusal_of_a_list_of_numbers_names_what_works():
    def total(make):
        return contad.grad(lambda x: np.sum(np.logaddexp(make([x, 1.0]), 1.0)))(1.0)

    with pytest.raises(UnsupportedError, match=r"give it contad\.array\(\[\.\.\.\]\) for a list") as refused:
        total(lambda row: np.array(row, dtype=object))
    assert total(lambda row: np.array(row)) == pytest.approx(0.5)
    assert "contad's function" not in str(refused.value)
    assert total(contad.array) == pytest.approx(0.5)
    with pytest.raises(UnsupportedError, match=r"call contad\.erf, or give it contad\.array"):
        contad.grad(lambda v: scipy.special.erf(contad.to_matvar(v))[0])(x)


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
def test_a_refusal_of_a_sign_has_a_name(engine):
    def f(v):
        return np.sign(contad.to_matvar(v))[0] * v[0]

    with contad.settings(rewrite=False), pytest.raises(
        UnsupportedError, match=r": np\.sign: NumPy does not take .*\(unorderable types"
    ):
        contad.grad(f, engine=engine)(np.array([np.nan, 1.0]))


def test_an_error_of_the_users_own_stays_what_it_is():
    with pytest.raises(AttributeError, match="'float' object has no attribute 'shape'"):
        contad.grad(lambda v: v[0] * (2.0).shape[0])(x)


LISTS = {
    "degrees": lambda v: np.sum(np.degrees([v[0], v[1]])),
    "radians": lambda v: np.sum(np.radians([v[0], v[1]])),
    "fabs": lambda v: np.sum(np.fabs([-v[0], v[1]])),
    "logical_xor": lambda v: v[0] * (1.0 + np.sum(np.logical_xor([v[0], v[1]], [1.0, 0.0]))),
    "logical_or.reduce": lambda v: v[0] * (1.0 + np.logical_or.reduce(v)),
    "logical_and.accumulate": lambda v: v[0] * np.sum(np.logical_and.accumulate(v)),
    "greater.outer": lambda v: v[0] * np.sum(np.greater.outer(v, v[1])),
    "fmax.reduce": lambda v: np.fmax.reduce(v) * v[0],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_and_methods_of_ufuncs_that_numpy_asks_elements_for(name):
    f = LISTS[name]
    got = contad.grad(f)(x)
    expected = [(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    np.testing.assert_allclose(contad.jvp(f, (x,), (x,))[1], got @ x)


DEVIATIONS = {
    "one": lambda v: np.std(v[:1]), "kept": lambda v: np.sum(np.std(v[:1], keepdims=True)),
    "equal": lambda v: np.std([v[0], v[0]]),
    "rows": lambda v: np.sum(np.std(np.array([[v[0], v[0]], [v[1], v[1]]]), 1)),
    "nanstd": lambda v: np.nanstd([v[0], v[0]]),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("name", DEVIATIONS)
def test_the_deviation_of_equal_numbers_has_derivative_0(name, engine):
    np.testing.assert_array_equal(contad.grad(lambda v: DEVIATIONS[name](v) + v[0], engine=engine)(x), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("f", [lambda v: np.fmod([v[0], 1.0], 2.0), lambda v: np.hypot([v[0], 1.0], [1.0, v[0]])])
def test_lists_that_numpy_refuses_element_by_element(f):
    for engine in ("closures", "matrix"):
        with pytest.raises(UnsupportedError, match=r"np\.(fmod|hypot): "):
            contad.grad(lambda v: np.sum(f(v)), engine=engine)(x)


ONES = np.ones(3)


def divided_in_place(v):
    u = ONES
    u /= v
    return np.sum(u)


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("transform", [contad.grad, contad.hessian])
def test_an_array_of_floats_has_no_room_for_variables(engine, transform):
    told = r"np\.divide: an array of floats cannot hold a variable.*contad\.zeros"
    with pytest.raises(LostDerivativeError, match=told):
        transform(divided_in_place, engine=engine)(x)


def test_other_type_errors_stay_what_they_are():
    def f(v):
        raise TypeError("cannot unpack")

    for call in (contad.grad(f), lambda x: contad.jvp(f, (x,), (x,))):
        with pytest.raises(TypeError, match="^cannot unpack$"):
            call(1.0)


@pytest.mark.parametrize("way", ["matrix", "closures", "forward"])
@pytest.mark.parametrize("name", ["_owner", "_other", None])
def test_an_attribute_that_python_does_not_find_while_an_exception_is_pending(name, way):
    def f(v):
        with suppress(Exception):
            float(v[0])
        if name is None:
            raise AttributeError("__getitem__")  # as classes of users do
        raise AttributeError(name=name, obj=v[0])  # as where the class has been used too rarely to be remembered

    call = (lambda: contad.jvp(f, (x,), (x,))) if way == "forward" else lambda: contad.grad(f, engine=way)(x)
    with pytest.raises(LostDerivativeError if name == "_owner" else AttributeError):
        call()


def forgetting(t, y):
    """y, after which Python does not remember the methods of classes, as where many others have been called."""
    if t == 0.0:
        sys._clear_type_cache()
    return y


# ---- SciPy, whose C code meets variables -----------------------------------------------------------------------------
def cube(t):
    return t**3 - 0.3


SOLVERS = {
    "brentq": lambda s, v: s.brentq(lambda t: t**3 - v[0], 0.0, 1.0),
    "brenth": lambda s, v: s.brenth(lambda t: t**3 - v[0], 0.0, 1.0),
    "ridder": lambda s, v: s.ridder(lambda t: t**3 - v[0], 0.0, 1.0),
    # the exception that is pending is met in Python, by a loop or by another operation
    "brentq in a loop": lambda s, v: s.brentq(lambda t: sum(u for u in (t**3, -v[0])), 0.0, 1.0),
    "brenth of two": lambda s, v: s.brenth(lambda t: np.exp(t) * t**3 - v[0] * v[1], 0.0, 1.0),
    "brentq that catches": lambda s, v: s.brentq(lambda t: caught(lambda: np.exp(t) * t**3 - v[0]), 0.0, 1.0),
    "brentq of another name": lambda s, v: s.brentq(lambda t: forgetting(t, v[0] - t**3), 0.0, 1.0),
    "bisect": lambda s, v: s.bisect(lambda t: t**3 - v[0], 0.0, 1.0),
    "brentq with a bound": lambda s, v: s.brentq(cube, 0.0, v[2]),
    "brentq with args": lambda s, v: s.brentq(lambda t, a: t**3 - a, 0.0, 1.0, args=(v[0],)),
    "root_scalar": lambda s, v: s.root_scalar(lambda t: t**3 - v[0], bracket=(0.0, 1.0)).root,
    "toms748": lambda s, v: s.toms748(lambda t: t**3 - v[0], 0.0, 1.0),
    "fsolve": lambda s, v: s.fsolve(lambda t: t**3 - v[0], 0.5)[0],
    "fsolve from a guess": lambda s, v: s.fsolve(cube, v[0])[0],
    "root": lambda s, v: s.root(lambda t: t**3 - v[:1], [0.5]).x[0],
    "leastsq": lambda s, v: s.leastsq(lambda t: t - v[0], [0.5])[0][0],
    "minimize": lambda s, v: s.minimize(lambda t: np.sum((t - v[0]) ** 2), [0.5]).x[0],
}
INTERPOLATION = {
    "interp1d": lambda i, v: i.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(v[0]),
    "interp1d of values": lambda i, v: i.interp1d([0.0, 1.0, 2.0], v)(0.5),
    "CubicSpline": lambda i, v: i.CubicSpline([0.0, 1.0, 2.0], v)(0.5),
}


def caught(f):
    try:
        return f()
    except Exception:
        return 0.1


@pytest.mark.filterwarnings("ignore:sys._clear_type_cache:DeprecationWarning")
@pytest.mark.parametrize("way", ["matrix", "closures", "forward"])
@pytest.mark.parametrize("name", [*SOLVERS, *INTERPOLATION])
def test_errors_of_scipy_at_variables_name_its_function(name, way):
    from scipy import interpolate, optimize

    module, f = (optimize, SOLVERS[name]) if name in SOLVERS else (interpolate, INTERPOLATION[name])
    told = rf"scipy.{module.__name__[6:]}.{name.partition(' ')[0]}: SciPy computes with plain numbers.*custom_vjp"

    def g(v):
        return f(module, v)

    call = (lambda: contad.jvp(g, (x,), (x,))) if way == "forward" else lambda: contad.grad(g, engine=way)(x)
    with pytest.raises((LostDerivativeError, UnsupportedError), match=told):
        call()
    assert contad.grad(lambda v: v * v)(3.0) == 6.0


def test_an_error_of_the_users_after_one_that_was_caught_is_the_users():
    def f(v):
        try:
            return float(v)
        except Exception:
            raise KeyError("mine") from None

    for call in (contad.grad(f), lambda v: contad.jvp(f, (v,), (v,))):
        with pytest.raises(KeyError, match="mine"):
            call(1.0)


# ---- results ---------------------------------------------------------------------------------------------------------
@numba.njit
def one_element(v):
    return v[:1] * 2.0


@numba.njit
def two_outputs(v):
    return v[0] * v[1], v[2]


def test_a_result_of_one_element_is_told_how_to_be_a_number():
    for f in (lambda v: v[:1] * 2.0, lambda v: np.reshape(v[:1], (1, 1))):
        with pytest.raises(OutputError, match=r"of shape \(1,.*\); return z.item\(\), its one element, or z.sum\(\)"):
            contad.grad(f)(x)
    with pytest.raises(OutputError, match=r"of an array of one element return z.sum\(\)"):
        contad.grad(one_element)(x)
    with pytest.raises(OutputError, match=r"of shape \(3,\); for several outputs use contad.jacobian"):
        contad.grad(lambda v: v * 2.0)(x)


def test_explain_tells_of_functions_of_several_outputs():
    for f in (two_outputs, one_element):
        assert contad.explain(f, x).startswith(f"vjp: {f.__name__}(")
    assert "engine" in contad.explain(contad.jvp, two_outputs, (x,), (x,))
    with pytest.raises(OutputError):  # a gradient that was asked for by name
        contad.explain(contad.grad(two_outputs), x)


def test_the_reason_for_a_copy_is_told_where_none_can_be_made():
    f = numba.njit(lambda v: np.nanquantile(v, 0.5))
    with pytest.raises(UnsupportedError, match=r"(?s)tape refuses it.*nanquantile.*a Python copy.*is not rewritten"):
        contad.grad(f)(A)


# ---- norms -----------------------------------------------------------------------------------------------------------
def test_an_order_of_a_norm_that_is_a_variable_is_told_what_to_write():
    with pytest.raises(UnsupportedError, match=r"write np.sum\(np.abs\(x\) \*\* ord\) \*\* \(1 / ord\)"):
        contad.grad(lambda v: np.linalg.norm(v, v[0]))(x)
    by_formula = contad.grad(lambda v: np.sum(np.abs(v) ** v[0]) ** (1 / v[0]))(x)
    for engine in ("closures", "records"):  # NumPy's own, of objects
        np.testing.assert_allclose(contad.grad(lambda v: np.linalg.norm(v, v[0]), engine=engine)(x), by_formula)


# ---- pandas ----------------------------------------------------------------------------------------------------------
SERIES, FRAME = pd.Series(x), pd.DataFrame({"a": x, "b": x})
PANDAS = {
    "series * v": lambda v: np.sum(SERIES * v),
    "v * series": lambda v: np.sum(v * SERIES),
    "frame @ v": lambda v: np.sum(FRAME @ v[:2]),
    "frame.dot": lambda v: np.sum(FRAME.dot(v[:2])),
    "frame + v": lambda v: np.sum(FRAME.T + v),
    "maximum(v, series)": lambda v: np.sum(np.maximum(v, SERIES)),
    "hypot(series, v)": lambda v: np.sum(np.hypot(SERIES, v)),
    "exp(series * v[0])": lambda v: np.sum(np.exp(SERIES * v[0])),
}


@pytest.mark.parametrize("name", PANDAS)
@pytest.mark.parametrize("transform", [contad.grad, contad.hessian, lambda f: lambda x: contad.jvp(f, (x,), (x,))])
def test_pandas_constants_are_told_to_be_arrays(name, transform):
    with pytest.raises(UnsupportedError, match=r"to_numpy\(\)"):
        transform(PANDAS[name])(x)


@pytest.mark.parametrize("argument", [SERIES, FRAME], ids=["Series", "DataFrame"])
def test_pandas_arguments_are_told_to_be_arrays(argument):
    for call in (
        lambda: contad.grad(np.sum)(argument),
        lambda: contad.jvp(np.sum, (argument,), (argument,)),
        lambda: contad.grad(one_element)(argument),
    ):
        with pytest.raises(UnsupportedError, match=r"got (Series|DataFrame); pass its numbers, x.to_numpy\(\)"):
            call()


def test_pandas_names_the_expression():
    def f(w):
        return np.sum((FRAME @ w - SERIES) ** 2)

    place = f"^{re.escape(__file__)}:{f.__code__.co_firstlineno + 1}: FRAME @ w: pandas: .*to_numpy"
    with pytest.raises(UnsupportedError, match=place):
        contad.grad(f)(x[:2])
    w = np.array([0.5, -0.3])
    expected = contad.grad(lambda w: np.sum((FRAME.to_numpy() @ w - SERIES.values) ** 2))(w)
    np.testing.assert_allclose(expected, 2.0 * FRAME.to_numpy().T @ (FRAME.to_numpy() @ w - x))


# ---- xarray ----------------------------------------------------------------------------------------------------------
LABELLED = xr.DataArray(np.array([[1.0, 2.0], [3.0, 5.0]]), dims=("row", "column"), coords={"row": [7, 8]})
XARRAY = {
    "its values": lambda w: np.sum((LABELLED.values @ w) ** 2), "array * w[0]": lambda w: (LABELLED * w[0] ** 2).sum(),
    "array * w": lambda w: (LABELLED * w * w).sum(), "w * array": lambda w: np.sum(np.exp(w * LABELLED)),
    "by dimension": lambda w: ((LABELLED * w).sum("row") ** 2).mean(),
    "a label": lambda w: (LABELLED * w**2).sel(row=8).sum(),
    "made of variables": lambda w: (LABELLED * xr.DataArray(w, dims="row") ** 2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", XARRAY)
def test_xarray_holds_variables(name):
    f, w, h = XARRAY[name], np.array([0.3, -0.7]), 1e-6
    expected = [float(f(w + h * e) - f(w - h * e)) / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(contad.grad(f)(w), expected, rtol=1e-7)
    assert float(contad.jvp(f, (w,), (w,))[1]) == pytest.approx(np.dot(expected, w), rel=1e-7)


def test_floats_are_lost_by_name_as_before():
    with pytest.raises(LostDerivativeError):
        contad.grad(lambda v: float(v[0]))(x)
