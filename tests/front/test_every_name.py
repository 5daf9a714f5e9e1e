"""Every name of `contad.stan` and of SciPy's mirrors has a value and derivatives in njit, or is refused by name.

A name is called with the arguments of the example in its docstring, or at the points of its rule.
"""

import contextlib
import doctest
import functools
import io
import re
import sys

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.distributions.faces import Face
from contad.rules.compilable import Compilable, functions_of_text
from contad.rules.scalar_rule import ScalarRule
from contad.scipy import integrate, linalg, special, stats
from contad.variables.trees import holds_number
from tests.judges.samples import sampled

ROOMS = {"stan": stan, "linalg": linalg, "special": special, "integrate": integrate}
# what has no meaning inside njit yet; functions of functions are refused as well
REFUSED = {
    *("linalg.block_diag", "linalg.eig", "linalg.eigvals", "linalg.logm", "linalg.lu", "linalg.lu_factor"),
    *("linalg.lu_solve", "linalg.null_space"),
    *(f"special.{name}" for name in special.__all__ if name.startswith("eval_")),
    *("linalg.orth", "linalg.schur", "linalg.solve_continuous_lyapunov", "linalg.solve_discrete_lyapunov"),
    *(f"linalg.{name}" for name in ("companion", "convolution_matrix", "fiedler", "khatri_rao", "leslie")),
    *(f"linalg.{name}" for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm", "hessenberg", "rq")),
    "linalg.fractional_matrix_power",
    *(f"linalg.{name}" for name in ("ldl", "lstsq", "orthogonal_procrustes", "pinvh", "solve_discrete_are")),
    *("linalg.solve_sylvester", "linalg.sqrtm", "linalg.subspace_angles", "integrate.simpson"),
    *("integrate.cumulative_simpson", "integrate.romb"),
}
MAKERS = stan.transforms.__all__
SOLVERS = {"dblquad", "fixed_quad", "nquad", "tplquad"}
SOLVERS |= {"cubature", "odeint", "quad", "quad_vec", "solve_bvp", "solve_ivp", "tanhsinh"}
FUNCTIONALS = {*SOLVERS, "dae", "dae_tol", "ode_adjoint_tol_ctl"}


def functions():
    """(the name with its room, the function) of every name; of distributions all methods."""
    for room, module in ROOMS.items():
        for name in module.__all__:
            if not isinstance(found := getattr(module, name), type):
                yield f"{room}.{name}", found
    for name in stats.__all__:
        for method, found in vars(getattr(stats, name)).items():
            if isinstance(found, Face):
                yield f"stats.{name}.{method}", found


EVERY = dict(functions())


def may_be_refused(name):
    short = name.rpartition(".")[2]
    return name in REFUSED or short in MAKERS or short in FUNCTIONALS


def test_every_name_is_known_to_numba_or_refused_with_what_to_do():
    refused = {}
    for name, function in EVERY.items():
        try:
            assert function._numba_type_ is not None
        except contad.UnsupportedError as error:
            refused[name] = str(error)
    assert {*refused} == set(filter(may_be_refused, EVERY))
    for name, message in refused.items():
        assert re.search(rf"{name.rpartition('.')[2]} cannot be called inside njit; \w", message)


# ---- values and derivatives ------------------------------------------------------------------------------------------
def as_argument(x):
    """Lists as arrays, of floats but for places."""
    found = np.asarray(x) if isinstance(x, list) else x
    return found.astype(float) if isinstance(found, np.ndarray) and found.ndim == 2 else found


M, S = np.array([[1.0, 0.4], [0.3, 2.0]]), np.array([[2.0, 0.5], [0.5, 3.0]])
ARGUMENTS = {  # where the example has options
    "linalg.cho_factor": (S,), "linalg.eigh": (S,), "linalg.eigh_tridiagonal": (np.array([2.0, 3.0]), np.array([0.5])),
    "linalg.expm_frechet": (M, S), "linalg.qr": (M,), "linalg.solve_triangular": (M, np.array([0.7, -1.2])),
    "linalg.svd": (M,), "linalg.solveh_banded": (M, np.array([0.7, -1.2])),
    "linalg.matmul_toeplitz": (M[0], M[1]), "linalg.solve_toeplitz": (M[0], M[1]),
    "integrate.cumulative_trapezoid": (np.array([0.3, 1.1, 4.0]), np.array([0.0, 0.5, 2.0])),
}  # fmt: skip


@functools.cache
def arguments_of(name):
    """What the example in the docstring calls a function with, or a point of its rule; None where there is none."""
    function = EVERY[name]
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    rule = function if isinstance(function, ScalarRule) else getattr(function, "function", None)
    if isinstance(rule, ScalarRule):
        return rule.points[0]
    calls = []

    def spy(*args, **options):
        calls.append((args, options))
        return function(*args, **options)

    names = dict(vars(sys.modules[function.__module__])) | {"contad": contad, "np": np, name.rpartition(".")[2]: spy}
    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):  # examples of errors
            exec(compile(example.source, "<example>", "single"), names)
    plain = [args for args, options in calls if not options and not any(map(holds_number, args))]
    return tuple(map(as_argument, plain[0])) if plain else None


def active_in(args):
    """The places of arguments that are floats, or arrays of them."""
    return tuple(k for k, x in enumerate(args) if isinstance(x, float) or getattr(x, "dtype", int) == np.float64)


def function_of(name, count):
    """A function of Python with a call of a name, whose lines can be read."""
    arguments = ", ".join(f"x{k}" for k in range(count))
    text = f"def f({arguments}):\n    return function({arguments})\n"
    return functions_of_text(text, {"function": EVERY[name]})["f"]


def sum_of(f, z, count):
    """A function whose value is a number made of what f gives."""
    values = z if isinstance(z, tuple) else (z,)
    parts = [f"z[{k}]" for k in range(len(z))] if isinstance(z, tuple) else ["z"]
    pairs = zip(parts, values, strict=True)
    parts = [f"({x}.real ** 2 + {x}.imag ** 2)" if np.iscomplexobj(y) else x for x, y in pairs]
    total = " + ".join(f"np.sum({x} * np.cos({x} + 0.3))" if np.ndim(y) else f"{x} * np.cos({x} + 0.3)"
                       for x, y in zip(parts, values, strict=True))  # fmt: skip
    arguments = ", ".join(f"x{k}" for k in range(count))
    text = f"def g({arguments}):\n    z = f({arguments})\n    return {total}\n"
    return functions_of_text(text, {"f": f, "np": np})["g"]


def assert_same(found, expected, rtol):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert_same(x, y, rtol)
    else:
        np.testing.assert_allclose(found, expected, rtol, 1e-9)


# densities have tests of their own, and so have checks
CALLED = [
    name for name, x in EVERY.items() if isinstance(x, (Compilable, ScalarRule)) and not isinstance(x, Face)
    and not may_be_refused(name) and ".check_" not in name
]  # fmt: skip


OF_ANY_PHASE = ("stan.complex_schur_decompose", "stan.complex_schur_decompose_u")
NOT_ON_THE_TAPE = {"stan.fft", "stan.fft2", "stan.inv_fft", "stan.inv_fft2"}


@pytest.mark.parametrize("name", sampled(CALLED, 40))
def test_values_and_gradients(name):
    args = arguments_of(name)
    plain = function_of(name, len(args))
    f, z = njit(plain), plain(*args)
    assert_same(*map(np.abs, (f(*args), z)) if name in OF_ANY_PHASE else (f(*args), z), 1e-9)
    active = active_in(args)
    if not active:  # sizes and constants
        return
    expected = contad.grad(sum_of(plain, z, len(args)), active)(*args)
    assert_same(contad.grad(njit(sum_of(f, z, len(args))), active)(*args), expected, 1e-7)


OF_NUMBERS = [
    name for name in CALLED
    if isinstance(EVERY[name], ScalarRule) or isinstance(getattr(EVERY[name], "function", None), ScalarRule)
    if name != "special.expn"  # SciPy warns of floats in the place of its integer
]  # fmt: skip


@pytest.mark.parametrize("name", sampled(OF_NUMBERS, 80))
def test_arrays_by_elements(name):
    """What is called with numbers above takes arrays of them, too."""
    args = arguments_of(name)
    active = active_in(args)
    plain = function_of(name, len(args))
    arrays = [np.full(2, x) if k in active else x for k, x in enumerate(args)]
    f, z = njit(plain), plain(*arrays)
    assert_same(f(*arrays), np.full(2, plain(*args)), 1e-9)
    bars = contad.grad(njit(sum_of(f, z, len(args))), active)(*arrays)
    assert_same(bars, contad.grad(sum_of(plain, z, len(args)), active)(*arrays), 1e-7)


def at(args, active, given):
    """The arguments with others in the places of those that are differentiated."""
    found = dict(zip(active, given, strict=True))
    return [found.get(k, x) for k, x in enumerate(args)]


@pytest.mark.parametrize("name", sampled(CALLED, 160, family=lambda name: name.partition(".")[0]))
def test_every_transform(name):
    args = arguments_of(name)
    if not active_in(args):
        return
    plain = function_of(name, len(args))
    z = plain(*args)
    g, expected = njit(sum_of(njit(plain), z, len(args))), sum_of(plain, z, len(args))
    active = active_in(args)
    primals = [np.asarray(args[k]) for k in active]
    bars = contad.grad(expected, active)(*args)
    if name not in NOT_ON_THE_TAPE:
        assert_same(contad.grad(g, active, engine="tape")(*args), bars, 1e-7)
    if name != "stan.hypergeometric_3F2":  # its check reads values, so that `record` refuses it
        program = contad.record(lambda *given: g(*at(args, active, given)), *primals)
        assert_same(contad.grad(program, tuple(range(len(active))))(*primals), bars, 1e-7)
    tangents = tuple(0.3 * x + 0.1 for x in primals)
    _, along = contad.jvp(lambda *given: g(*at(args, active, given)), tuple(primals), tangents)
    assert_same(along, sum(np.sum(bar * t) for bar, t in zip(bars, tangents, strict=True)), 1e-7)
    first, others = args[active[0]], args[active[0] + 1 :]
    second = [contad.hessian(lambda x, f=f: f(*args[: active[0]], x, *others))(first) for f in (g, expected)]
    assert_same(*second, 1e-6)
