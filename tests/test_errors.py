"""Refusals of variables begin with the file, the line and the expression, whatever refuses them and how."""

import functools
import importlib
import inspect
import itertools
import math
import operator
import pickle
import re
import statistics

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
import scipy.special
import scipy.stats
from numpy.random import uniform

import contad
from contad.errors import LostDerivativeError, StaleVariableError, UnsupportedError, VariableError
from contad.variables import library_refusals

X = np.array([0.5, 0.3, 0.7])
A = np.arange(9.0).reshape(3, 3) + np.eye(3)
DATA = np.zeros(3)
SERIES = pd.Series(X)
FACTORS = scipy.sparse.linalg.splu(scipy.sparse.csc_array(A))


def assigns(x):
    DATA[0] = x[0]
    return DATA[0]


def assigns_a_row(x):
    rows = A * 1.0
    rows[0] = x
    return rows.sum()


def assigns_a_part(x):
    rows = A * 1.0
    rows[0, 1:] = x[1:] * 2.0
    return rows.sum()


def assigns_to_what_has_no_name(x):
    (A * 1.0)[0] = x
    return x


def adds_in_place(x):
    a = DATA
    a += x
    return a


REFUSED = {  # (function, the expression that is told, what else the message says)
    "np.packbits": (lambda x: np.packbits(x), "np.packbits(x)", "np.packbits: contad has no derivative rule"),
    "scipy.special": (lambda x: scipy.special.nctdtridf(x[0], 1.0, 0.5), "scipy.special.nctdtridf(x[0], 1.0, 0.5)",
                      "scipy.special.nctdtridf: contad has no derivative rule"),
    "... of an array": (lambda x: scipy.special.nctdtridf(x, 1.0, 0.5), "scipy.special.nctdtridf(x, 1.0, 0.5)",
                        "scipy.special.nctdtridf: contad has no derivative rule"),
    "an order of complex numbers": (lambda x: np.hypot(1j * x[0], 1.0), "np.hypot(1j * x[0], 1.0)",
                                    "np.hypot: not supported on complex variables; use np.abs"),
    "float": (lambda x: float(x[0]), "float(x[0])", "float: "),
    "a dict's key": (lambda x: {x[0]: 1.0}, "{x[0]: 1.0}", "unhashable"),
    "binom.logpmf": (lambda x: scipy.stats.binom.logpmf(2, 3, x[0]), "scipy.stats.binom.logpmf(2, 3, x[0])",
                     "scipy.stats.binom.logpmf: SciPy computes with plain numbers"),
    "norm.ppf": (lambda x: scipy.stats.norm.ppf(x), "scipy.stats.norm.ppf(x)", "scipy.stats.norm.ppf: "),
    "a distribution": (lambda x: scipy.stats.norm(x[0]).logpdf(0.3), "scipy.stats.norm(x[0]).logpdf(0.3)",
                       "scipy.stats.norm.logpdf: "),
    "dirichlet": (lambda x: scipy.stats.dirichlet(x).mean(), "scipy.stats.dirichlet(x)", "scipy.stats.dirichlet: "),
    "dirichlet.logpdf": (lambda x: scipy.stats.dirichlet.logpdf(X, x), "scipy.stats.dirichlet.logpdf(X, x)",
                         "scipy.stats.dirichlet.logpdf: "),
    "expm": (lambda x: scipy.linalg.expm(x[0] * A), "scipy.linalg.expm(x[0] * A)", "scipy.linalg.expm: "),
    "an interpolation": (lambda x: scipy.interpolate.CubicSpline(X, x), "scipy.interpolate.CubicSpline(X, x)",
                         "scipy.interpolate.CubicSpline: "),
    "C calls back": (lambda x: scipy.optimize.brentq(lambda z: z - x[0], 0.0, 1.0),
                     "scipy.optimize.brentq(lambda z: z - x[0], 0.0, 1.0)", "brentq: |called back"),
    "quad": (lambda x: scipy.integrate.quad(lambda z: z * x[0], 0.0, 1.0)[0],
             "scipy.integrate.quad(lambda z: z * x[0], 0.0, 1.0)", "quad: |called back"),
    "out=": (lambda x: np.exp(x, out=DATA), "np.exp(x, out=DATA)", "out="),
    "order=": (lambda x: np.exp(x, order="F"), 'np.exp(x, order="F")', "np.exp with order=: not supported"),
    "an axis": (lambda x: np.sum(x, dtype=np.float32), "np.sum(x, dtype=np.float32)", "dtype="),
    "a statement": (assigns, "DATA[0] = x[0]", r"DATA is a plain array, .* DATA = np\.array\(DATA\) before"),
    "a row": (assigns_a_row, "rows[0] = x", r"rows is a plain array, .* rows = np\.array\(rows\) before"),
    "part of a row": (assigns_a_part, "rows[0, 1:] = x[1:] * 2.0", r"rows is a plain array"),
    "no name": (assigns_to_what_has_no_name, "(A * 1.0)[0] = x", r" z = np\.array\(A \* 1\.0\) before"),
    "in place": (adds_in_place, "a += x", "a = a \\+ x"),
    "a ufunc among objects": (lambda x: np.logaddexp(contad.to_matvar(x), 1.0),
                              "np.logaddexp(contad.to_matvar(x), 1.0)", "np.logaddexp: "),
    "linalg among objects": (lambda x: np.linalg.inv(contad.to_matvar(x[0] * A)),
                             "np.linalg.inv(contad.to_matvar(x[0] * A))", "np.linalg.inv: "),
    "isnan among objects": (lambda x: np.isnan(contad.to_matvar(x)), "np.isnan(contad.to_matvar(x))", "np.isnan: "),
    "pandas": (lambda x: SERIES * x, "SERIES * x", "pandas: "),
    "singular vectors": (
        lambda x: np.linalg.svd(x[:2, None] * x[:1]), "np.linalg.svd(x[:2, None] * x[:1])", "full_matrices"),
    "a sparse product": (lambda x: scipy.sparse.eye(3) * x, "scipy.sparse.eye(3) * x", ""),
    "sparse factors": (lambda x: FACTORS.solve(x), "FACTORS.solve(x)", "use .* contad.scipy.sparse.linalg.splu"),
    "a method": (lambda x: x.astype(np.float32), "x.astype(np.float32)", "astype: "),
    "pickle": (lambda x: pickle.dumps(x[0]), "pickle.dumps(x[0])", "pickle: "),
    "the standard library": (lambda x: statistics.stdev([x[0], 1.0]), "statistics.stdev([x[0], 1.0])", ""),
    "a C function of Python's": (lambda x: functools.reduce(operator.floordiv, [1j, x[0]]),
                                 "functools.reduce(operator.floordiv, [1j, x[0]])", "complex"),
}  # fmt: skip


def raised(call):
    with pytest.raises(VariableError) as caught:
        call()
    return caught.value


# of object arrays nothing is lost, or NumPy and SciPy raise errors of their own
OF_ARRAYS = {"np.packbits", "dirichlet", "dirichlet.logpdf", "order=", "pandas"}
CASES = [(name, engine) for name in REFUSED for engine in ("matrix", "forward")]
CASES += [(name, engine) for name in REFUSED if name not in OF_ARRAYS for engine in ("records", "closures")]


@pytest.mark.filterwarnings("ignore:Calling expm with arguments of dtype=object")  # by SciPy from 1.18 on
@pytest.mark.parametrize(("name", "engine"), CASES)
def test_every_refusal_has_its_place(name, engine):
    f, expression, told = REFUSED[name]
    line = f.__code__.co_firstlineno
    if engine == "forward":
        error = raised(lambda: contad.jvp(f, (X,), (X,)))
    else:
        error = raised(lambda: contad.grad(f, engine=engine)(X))
    found = re.match(rf"{re.escape(__file__)}:(\d+): (.*)", str(error), re.DOTALL)
    assert found is not None, str(error)
    assert 0 <= int(found[1]) - line <= 2
    if engine in ("matrix", "forward"):  # the others refuse a matrix of variables in another place
        assert found[2].startswith(f"{expression}: "), str(error)
        assert re.search(told, found[2][len(expression) :])
    assert str(error).count(__file__) == 1


OF_SCIPY = {  # a function of SciPy's, at variables: what gives the same
    "special.logsumexp": "use contad.scipy.special.logsumexp;", "special.softmax": "use contad.scipy.special.softmax;",
    "special.log_softmax": "use contad.scipy.special.log_softmax;", "integrate.trapezoid": "use np.trapezoid;",
    "integrate.simpson": "use contad.scipy.integrate.simpson;", "linalg.expm": "use contad.scipy.linalg.expm;",
    "linalg.cosm": "contad.scipy.linalg has", "stats.norm.logpdf": "use contad.scipy.stats.norm.logpdf;",
    "stats.moyal.logpdf": "use contad.scipy.stats.moyal.logpdf;",
    "stats.levy_stable.logpdf": "write its formula",
}  # fmt: skip


@pytest.mark.parametrize("name", OF_SCIPY)
def test_contads_own_is_named(name):
    function = operator.attrgetter(name)(scipy)
    error = raised(lambda: contad.grad(lambda x: np.sum(function(x[0] * A)))(X))
    assert f" scipy.{name}: SciPy computes" in str(error)
    assert f"; {OF_SCIPY[name]}" in str(error)


@pytest.mark.parametrize(
    ("name", "own"),
    [("brentq", "root_scalar"), ("root_scalar", "root_scalar"), ("fixed_point", "fixed_point"), ("root", "root"),
     ("minimize", "minimize"), ("least_squares", "least_squares")],
)
def test_contads_own_solvers_are_named(name, own):
    given = {"brentq": (0.0, 1.0), "root_scalar": ((), "brentq", (0.0, 1.0))}.get(name, (0.3,))
    solve = getattr(scipy.optimize, name)
    error = raised(lambda: contad.grad(lambda p: solve(lambda z: np.sum(z**3) - p, *given))(0.5))
    assert f"scipy.optimize.{name}: SciPy computes" in str(error)
    assert f"; use contad.scipy.optimize.{own}; else" in str(error)


def mirrors():
    """What SciPy computes with Python code and contad has under the same name."""
    for module in ("integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse.linalg", "stats"):
        scipys = importlib.import_module(f"scipy.{module}")
        for name in dir(importlib.import_module(f"contad.scipy.{module}")):
            x = getattr(scipys, name, None)
            if name[0] != "_" and (inspect.isfunction(x) or inspect.isclass(x)) and "contad" not in x.__module__:
                yield f"scipy.{module}.{name}", x


@pytest.mark.parametrize(("name", "x"), [*mirrors()])
def test_every_mirror_is_named(name, x):
    own = x.__new__(x) if inspect.isclass(x) else None
    assert library_refusals._name_in_scipy(x.__module__, "__init__" if own is not None else x.__name__, own) == name
    told = library_refusals._instead_of_scipy(name)
    assert re.match(r"use (np\.trapezoid|contad\.\S+)( of the residuals)?; else ", told), told


def test_mirrors_are_found():
    names = [name for name, _ in mirrors()]
    assert {"scipy.integrate.solve_ivp", "scipy.optimize.least_squares", "scipy.sparse.linalg.cg"} <= set(names)


@pytest.mark.parametrize(("name", "call"), [
    ("sparse.linalg.cg", lambda x: scipy.sparse.linalg.cg(np.outer(x, x), DATA)[0]),
    ("sparse.linalg.minres", lambda x: scipy.sparse.linalg.minres(np.outer(x, x), DATA)[0]),
    ("sparse.linalg.eigsh", lambda x: scipy.sparse.linalg.eigsh(np.outer(x, x), k=1)[0]),
    ("sparse.linalg.svds", lambda x: scipy.sparse.linalg.svds(np.outer(x, x), k=1)[1]),
    ("sparse.linalg.expm", lambda x: scipy.sparse.linalg.expm(np.outer(x, x))),
    ("sparse.linalg.lsqr", lambda x: scipy.sparse.linalg.lsqr(np.outer(x, x), DATA)[0]),
    ("interpolate.make_splprep", lambda x: scipy.interpolate.make_splprep([x, x])[0](0.3)),
    ("fft.fft", lambda x: np.abs(scipy.fft.fft(x))),
])  # fmt: skip
def test_scipys_own_words_about_variables_are_not_passed_on(name, call):
    """It refuses variables by their type or an attribute, and does not say what they are."""
    def f(x):
        return np.sum(call(x))

    for error in (raised(lambda: contad.grad(f)(X)), raised(lambda: contad.jvp(f, (X,), (X,)))):
        assert isinstance(error, VariableError)
        assert f": scipy.{name}: SciPy computes with plain numbers, and got an array " in str(error)


def test_errors_of_scipys_without_variables_are_its_own():
    with pytest.raises(TypeError, match="type not understood"):
        contad.grad(lambda x: np.sum(x) * scipy.sparse.linalg.cg("a", DATA)[0][0])(X)

    def refuse(t):
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        contad.grad(lambda x: x[0] * scipy.integrate.quad(refuse, 0.0, 1.0)[0])(X)


RNG = np.random.default_rng(1)
DRAWS = [
    lambda x: RNG.normal(x[0], 1.0), lambda x: np.sum(RNG.normal(x)), lambda x: np.random.default_rng(1).gamma(x[0]),
    lambda x: np.random.normal(x[0], 1.0), lambda x: uniform(0.0, x[0]),  # noqa: NPY002
]  # fmt: skip


@pytest.mark.parametrize("draw", DRAWS)
def test_draws_are_told_how_to_take_parameters(draw):
    with pytest.raises(LostDerivativeError, match=r"draw without parameters, m \+ s \* rng\.standard_normal\(n\)"):
        contad.grad(draw)(X)


def test_ufuncs_inside_of_scipys_functions_are_told_by_names_that_one_can_type():
    error = str(raised(lambda: contad.grad(lambda x: scipy.special.ellip_harm(5.0, 8.0, 1, 1, x))(2.5)))
    assert ": scipy.special.ellip_harm: contad has no" in error
    assert "_ellip_harm" not in error


def test_functions_of_math_are_told_contads():
    x = contad.var(0.5)
    for f, told in [(math.exp, "np.exp"), (math.asin, "np.arcsin"), (math.erf, "contad.erf"),
                    (math.lgamma, "contad.stan.lgamma"), (math.gamma, "contad.scipy.special.gamma")]:  # fmt: skip
        with pytest.raises(LostDerivativeError, match=rf"math\.{f.__name__}: .*; use {re.escape(told)}, or give it"):
            f(x)


class Net:
    def __init__(self, w):
        self._count, self.w = 1, w


def test_objects_are_told_how_to_go_on():
    with pytest.raises(UnsupportedError, match=r'got Net; pass a tree .*, as \{"w": x\.w\} of an object x'):
        contad.grad(lambda net: net.w.sum())(Net(X))
    net = Net(X)

    def keeps(x):
        net.w = x
        return x.sum()

    contad.grad(keeps)(X)
    with pytest.raises(StaleVariableError, match="make the object inside the function, or set the attribute"):
        net.w * 2.0


def test_places_of_other_forms():
    def over_lines(x):
        return np.packbits(
            x * 2.0
        )  # fmt: skip

    def long(x):
        return float(x[0] + x[1] + x[2] + x[0] + x[1] + x[2] + x[0] + x[1] + x[2] + x[0] + x[1] + x[2] + x[0] + x[1])

    assert ": np.packbits( x * 2.0 ): np.packbits: " in str(raised(lambda: contad.grad(over_lines)(X)))
    assert re.search(r": float\(x\[0\] \+ .{80,90} \.\.\.: float: ", str(raised(lambda: contad.grad(long)(X))))
    names = {"np": np}
    exec("def f(x):\n    return np.packbits(x)", names)  # no source
    assert str(raised(lambda: contad.grad(names["f"])(X))).startswith("<string>:2: np.packbits: ")


def test_an_error_is_told_with_one_place():
    def f(x):
        try:
            return math.exp(x[0]) * np.packbits(x)
        except Exception:
            return x[0]

    error = raised(lambda: contad.grad(f)(X))
    line = f"{__file__}:{f.__code__.co_firstlineno + 2}: np.packbits(x): np.packbits: "
    assert str(error).startswith(line) and "the function caught it" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and type(again) is UnsupportedError


def test_errors_outside_of_functions_have_none():
    kept = []
    contad.grad(lambda x: kept.append(x) or x.sum())(X)
    assert "stale" in str(raised(lambda: kept[0] * 2.0)) and isinstance(
        raised(lambda: kept[0] * 2.0), StaleVariableError
    )
    assert str(raised(lambda: contad.grad(np.sum, engine="none"))).startswith("grad: engine: ")
    x = contad.var(1.0)  # of the base stack
    assert str(raised(lambda: float(x))).startswith(f"{__file__}:") and isinstance(
        raised(lambda: float(x)), LostDerivativeError
    )


# ---- wrong arguments -------------------------------------------------------------------------------------------------
WRONG = {  # function, argument, expected, got
    "elementwise_grad: argnums must be an argument's position or a tuple of them, got 'x'": lambda: (
        contad.elementwise_grad(np.sin, "x")
    ),
    "got array([0.5, 0.3, 0.7]); the arguments of f follow: contad.grad(f)(x)": lambda: contad.grad(np.sum, X),
    "hvp: got 3 positional arguments; the form is contad.hvp(f)(x, v)": lambda: contad.hvp(np.sum, X, X),
    "hvp: argnums must be an argument's position or a tuple of them, got array": lambda: contad.hvp(np.sum, X),
    "hessian: got 3 positional arguments; the form is contad.hessian(f)(x)": lambda: contad.hessian(doubled, X, X),
    "got 0.5; for more use jvp; the arguments of f follow: contad.derivative(f)(x)": (
        lambda: contad.derivative(abs, 0.5)
    ),
    "jvp: sum: primals and tangents must be tuples of one length, one entry per argument of f: "
    "contad.jvp(f, (x,), (v,))": lambda: contad.jvp(np.sum, X, X),
    "grad: argnums must be an argument's position or a tuple of them, got -1; positions count from 0, the first": (
        lambda: contad.grad(np.dot, -1)
    ),
    "jacobian: argnums must be an argument's position or a tuple of them, got (0, -1); positions count from 0": (
        lambda: contad.jacobian(doubled, (0, -1))
    ),
    "contad.record: argnums must be an argument's position or a tuple of them, got 0.5": (
        lambda: contad.record(np.sum, X, argnums=0.5)
    ),
    "vjp: sum: the cotangent must have the structure of the result, a number or an array, got a complex": (
        lambda: contad.vjp(np.sum, X)[1](1j)
    ),
    "scan: step must be callable, got int": lambda: contad.scan(3, 0.0, X),
    "zeros: shape must be a length, or a tuple of lengths, got -1": lambda: contad.zeros(-1),
    "empty: shape must be a length, or a tuple of lengths, got 'a'": lambda: contad.empty("a"),
    "full: shape must be a length, or a tuple of lengths, got 1.5": lambda: contad.full(1.5, 0.0),
    "full: value must be a real number, got str": lambda: contad.full(3, "a"),
    "set_memory_limit: limit must be a number of bytes or None, got str": lambda: contad.set_memory_limit("a"),
    "show_stack: of must be a chain stack, as contad.stack(), or None, got int": lambda: contad.show_stack(3),
    "jvp: <lambda>, argument 0: expected real numbers, or lists, tuples, dicts and arrays of them; got an array of": (
        lambda: contad.jvp(lambda x: x, (np.array(["a"]),), (np.ones(1),))
    ),
    "jvp: <lambda>: tangent 1 must have its primal's shape, (3,), got (2,)": lambda: (
        contad.jvp(lambda x, y: x @ y, (X, X), (X, X[:2]))
    ),
    "gradient_dot_vector: v must have the shape of x, (3,), got (2,)": lambda: (
        contad.gradient_dot_vector(np.sum, X, X[:2])
    ),
    "gradient_dot_vector: v must have the shape of x, (3,), got list": lambda: (
        contad.gradient_dot_vector(np.sum, X, [1.0])
    ),
    "flat: expected real numbers, or lists, tuples, dicts and arrays of them; got str": (
        lambda: contad.flat(np.sum, "a")
    ),
    "flat: example must hold real numbers or arrays of them, got []": lambda: contad.flat(np.sum, []),
    "assigns() missing 1 required positional argument: 'x'": lambda: contad.vjp(assigns),
    "assigns() takes 1 positional argument but 2 were given": lambda: contad.grad(assigns)(X, X),
} | {
    f"{function}: x must be a number or an array, or a list, tuple or dict of them, got {type(x).__name__}": (
        functools.partial(getattr(contad, function), x)
    )
    for function, x in itertools.product(
        ("to_matvar", "to_varmat", "primal", "value_of", "value_of_rec", "stop_gradient"),
        ("a", None, object(), SERIES, scipy.sparse.csr_array(A)),
    )
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    with pytest.raises((TypeError, ValueError, UnsupportedError), match=re.escape(message)):
        WRONG[message]()


def parameters_of(f):
    try:
        return inspect.signature(f).parameters
    except (TypeError, ValueError):
        return ()


TAKE_AN_ENGINE = [name for name in contad.__all__ if "engine" in parameters_of(getattr(contad, name))]
TAKE_AN_ENGINE.remove("profile")  # which raises what value_and_grad raises


TAKE_MORE = {"grad_tr_mat_times_hessian": (X, A), "hessian_block_diag": (3,), "linearize": (X,), "vjp": (X,)}


def make_with(name, f, engine):
    if name == "nested":
        with contad.nested(engine):
            pass
    getattr(contad, name)(f, *TAKE_MORE.get(name, ()), engine=engine)


@pytest.mark.parametrize("engine", ["zz", "generated"])
@pytest.mark.parametrize("name", TAKE_AN_ENGINE)
def test_a_wrong_engine_is_refused_by_the_name_of_the_transform_when_it_is_made(name, engine):
    expected = "expected one of closures" if engine == "zz" else "'generated' differentiates functions made by numba"
    with pytest.raises(UnsupportedError, match=f"^{name}: engine: {expected}"):
        make_with(name, np.sum, engine)


@numba.njit
def doubled(x):
    return 2.0 * np.sum(x)


@pytest.mark.parametrize("name", TAKE_AN_ENGINE)
def test_so_is_one_for_a_numba_function(name):
    with pytest.raises(UnsupportedError, match=f"^{name}: engine: expected one of closures.*; got 'zz'"):
        make_with(name, doubled, "zz")
