"""NumPy's functions on complex variables: NumPy's values, and derivatives by both parts, or a refusal by name."""

import numpy as np
import pytest
from mpmath import mp

import contad
from contad.errors import LostDerivativeError, UnsupportedError
from contad.variables.trees import flatten
from tests.ops.example_calls import EXAMPLES
from tests.ops.plain_calls import split_calls

RNG = np.random.default_rng(7)
V, U, W = RNG.normal(size=(3, 3)) @ np.diag([1.0, 1.1, 0.9]), RNG.normal(size=3), RNG.normal(size=4)
A, S, Q = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 2)), RNG.normal(size=3)
MASK = np.array([[True, False, True], [False, True, True]])
NAMES = {"V": V, "U": U, "W": W, "A": A, "S": S, "Q": Q}
# calls over a, and of many over b, each a real or a complex array
CALLS = split_calls("""
np.where(MASK, a * b, b) | A Q; np.where(MASK, a * a, 1.5 + 1j) | A; np.select([MASK, ~MASK], [a, b * a], a * b) | A Q
np.piecewise(a, [MASK[0]], [lambda x: x * x, 2j]) | U; np.sum(a, axis=0) | A; np.mean(a, axis=1, keepdims=True) | A
np.einsum("ij,kj->ik", a, a) | A; np.einsum("ii->i", a) * a[0] | S; np.einsum("ij,ij,j->i", a, a, b) | A Q
np.tensordot(a, b, ([0], [0])) | A S; np.vdot(a, b) | U Q; np.vecdot(a, b) | A Q; np.linalg.vecdot(a, b) | A Q
np.correlate(a, b, "full") | U W; np.correlate(b, a, "same") | U W; np.correlate(a, b) | U W; np.convolve(a, b) | U W
np.inner(a, b) | A Q; np.outer(a, b) | U Q; np.kron(a, b) | A Q; np.cov(a) | A; np.cov(a, b) | U Q; np.corrcoef(a) | A
np.cov(a, fweights=[1, 2, 1], dtype=complex) | A; np.corrcoef(a, b, dtype=complex) | U Q
np.cov(a.T, rowvar=False, bias=True, aweights=[0.5, 2.0, 1.0]) | A; np.corrcoef(a, b) | U Q
np.var(a) | A; np.std(a, ddof=1) | A; a.var(0) | A; np.nanvar(a, axis=0) | A
np.nanstd(a) | A; np.nanmean(a) | A; np.nancumsum(a) | U; np.nanprod(a) | U; np.pad(a, 2, mode="reflect") | U
np.pad(a, 1, constant_values=2j) | U; np.polyval(a, b[0]) | U Q; np.polydiv(a, b)[0] | W U
np.polyfit(np.arange(4.0), a, 2) | W; np.polyder(a, 2) | W; np.polyint(a) | W
np.interp([0.4, 1.2, 5.0], [0.0, 1.0, 2.0], a) | U; np.gradient(a) | W; np.trapezoid(a, dx=0.4) | W
np.diff(a, prepend=1j) | W; np.sinc(a) | U; np.sinc(a * 0.01) | U; np.angle(a) | U; np.angle(a, deg=True) | U
np.conj(a) * a | U; np.abs(a) * a | U; np.linspace(a, b, 3, retstep=True) | U Q; np.linalg.norm(a, axis=1) | A
np.linalg.norm(a, 1) | A; np.linalg.norm(a, np.inf) | A; np.linalg.norm(a, 3) | U
np.linalg.vector_norm(a, ord=1, axis=1) | A; np.add.reduce(a) | A; np.multiply.reduce(a, axis=1) | A
np.add.accumulate(a) | U; np.multiply.outer(a, b) | U Q; a.T @ a | A; a @ b | A Q; b @ a.T | A Q; a.dot(b) | A Q
a.conj() * a.real | U; a.sum(axis=0) | A; a.prod() | A; a.cumsum() | A; a.trace() | S
a.compress([True, False, True]) | U; np.power(a, b) | U Q; a ** 3 | U; 2.0 ** a | U; a ** -1 | U; a ** 0 | U
a ** 1.5 | U; a / b | U Q; abs(a) | U; np.exp(a) | U; np.exp2(a) | U; np.expm1(a) | U; np.log(a) | U; np.log2(a) | U
np.log10(a) | U; np.log1p(a) | U; np.sqrt(a) | U; np.sin(a) | U; np.cos(a) | U; np.tan(a) | U; np.sinh(a) | U
np.cosh(a) | U; np.tanh(a) | U; np.arcsin(a) | U; np.arccos(a) | U; np.arctan(a) | U; np.arcsinh(a) | U
np.arccosh(a) | U; np.arctanh(a) | U; np.square(a) | U; np.reciprocal(a) | U; np.sign(a) | U
np.isclose(a, b) * a | U Q; np.iscomplex(a) * a | U; np.may_share_memory(a, a) * a | U; (a == b) * a | U Q
np.concatenate([a, [1.0, 2j]]) | U; np.insert(a, 1, 2j) | U; np.prod(a, axis=0) | V; np.linalg.solve(a, b) | V U
np.linalg.inv(a) | V; np.linalg.det(a) | V; np.linalg.matrix_power(a, 3) | V; np.sort(a) * b | U Q
""")


def _complexified(x, k):
    return x + 1j * np.random.default_rng(100 + k).normal(size=np.shape(x))


def _cases():
    for row in CALLS:
        text, _, names = row.rpartition(" | ")
        args = [NAMES[name] for name in names.split()]
        if any(not hasattr(np, part) for part in ("vecdot",) if part in text):
            continue
        made = eval(f"lambda {'a, b' if len(args) == 2 else 'a'}: {text}", {"np": np, "MASK": MASK})
        mixed = [{*range(len(args))}] + ([{0}, {1}] if len(args) == 2 else [])
        for chosen in mixed:
            given = [_complexified(x, k) if k in chosen else x for k, x in enumerate(args)]
            yield pytest.param(made, given, id=f"{text} {sorted(chosen)}")


def weighted(f, weights):
    def total(*args):
        leaves = flatten(f(*args)).leaves
        return sum(np.sum(w * leaf) for w, leaf in zip(weights, leaves, strict=True))

    return total


def differences(f, args, dots, h=1e-6):
    shifted = [[x + s * h * dot for x, dot in zip(args, dots, strict=True)] for s in (1.0, -1.0)]
    return (f(*shifted[0]) - f(*shifted[1])) / (2.0 * h)


def check(f, args, active):
    """The value, and the derivatives of a weighted sum of all parts along one direction, in both modes."""
    plain = flatten(f(*args)).leaves
    g = weighted(f, [np.random.default_rng(k).normal(size=np.shape(leaf)) for k, leaf in enumerate(plain)])

    def of_active(*given):
        rest = iter(given)
        return g(*(next(rest) if k in active else x for k, x in enumerate(args)))

    primals = [args[k] for k in active]
    dots = [(_complexified(x, 9) if np.iscomplexobj(x) else np.cos(x)) * 0.7 for x in primals]
    value, gradient = contad.value_and_grad(of_active, tuple(range(len(primals))))(*primals)
    np.testing.assert_allclose(value, g(*args), rtol=1e-11, atol=1e-12)
    assert [np.iscomplexobj(x) for x in gradient] == [np.iscomplexobj(x) for x in primals]
    expected = differences(of_active, primals, dots)
    found = sum(np.sum((np.conj(x) * dot).real) for x, dot in zip(gradient, dots, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(contad.jvp(of_active, primals, dots)[1], found, rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("f", "args"), [*_cases()])
def test_values_and_derivatives(f, args):
    every = range(len(args))
    for active in {(*every,), *((k,) for k in every)}:
        check(f, args, active)


@pytest.mark.parametrize("engine", ["records", "closures"])
@pytest.mark.parametrize(("f", "args"), [case for case in _cases() if all(map(np.iscomplexobj, case.values[1]))])
def test_engines_of_object_arrays_agree_or_refuse(f, args, engine):
    g = weighted(f, [np.cos(np.arange(np.size(leaf))).reshape(np.shape(leaf)) for leaf in flatten(f(*args)).leaves])
    try:
        found = contad.grad(g, engine=engine)(*args)
    except (UnsupportedError, LostDerivativeError):
        return
    np.testing.assert_allclose(found, contad.grad(g)(*args), rtol=1e-11, atol=1e-13)


# an example is refused: an order decides it, a real array would have to hold complex numbers, or there is no
# derivative yet
REFUSED = {
    "np.bincount", "np.clip", "np.fix", "np.histogram", "np.interp", "np.max", "np.amax", "np.min", "np.amin",
    "np.nanmax", "np.nanmin", "np.nanmedian", "np.nanpercentile", "np.nanquantile", "np.median", "np.partition",
    "np.percentile", "np.piecewise", "np.ptp", "np.quantile", "np.select", "np.unwrap", "np.where",
    "np.linalg.slogdet", "np.linalg.cholesky", "np.linalg.eigh", "np.linalg.eigvalsh", "np.linalg.eig",
    "np.linalg.eigvals", "np.linalg.svd", "np.linalg.svdvals", "np.linalg.qr", "np.linalg.lstsq", "np.linalg.pinv",
    "np.linalg.norm", "np.linalg.cond", "np.linalg.matrix_norm", "np.polyfit", "np.astype", "np.insert", "np.pad",
    "np.gradient", "np.ediff1d", "np.array_split", "np.fft.rfft", "np.fft.rfft2", "np.fft.rfftn", "np.fft.ihfft",
    "np.apply_over_axes", "np.matvec", "np.vecmat", "np.histogram_bin_edges", "np.histogram2d", "np.histogramdd",
    "np.logspace", "np.geomspace", "np.i0", "np.unique", "np.unique_values", "np.unique_all", "np.unique_counts",
    "np.unique_inverse", "np.union1d", "np.intersect1d", "np.setdiff1d", "np.setxor1d",
    *(name for name in EXAMPLES if name.startswith("np.lib.scimath.")),
}  # fmt: skip


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_function_is_right_or_refused(name):
    for f, *args in (example for example in EXAMPLES[name] if isinstance(example, tuple)):
        numbers = [k for k, x in enumerate(args) if np.asarray(x).dtype == float]
        for chosen in ({*numbers}, *({k} for k in numbers)):
            given = [_complexified(np.array(x), k)[()] if k in chosen else x for k, x in enumerate(args)]
            try:
                with np.errstate(all="ignore"):
                    check(f, given, tuple(numbers))
            except (UnsupportedError, LostDerivativeError, TypeError, np.exceptions.ComplexWarning):
                assert name in REFUSED


@pytest.mark.parametrize("name", ["max", "min", "argmax", "clip", "partition"])
def test_methods_that_need_an_order(name):
    args = {"clip": (0.0, 1.0), "partition": (1,)}.get(name, ())
    if name == "argmax":  # a position, as NumPy's
        contad.grad(lambda z: np.abs(z)[z.argmax()])(U + 1j * Q)
        return
    with pytest.raises(TypeError, match=f"np.{name}: complex numbers have no order"):
        contad.grad(lambda z: np.sum(np.abs(getattr(z, name)(*args))))(U + 1j * Q)


# ---- special values --------------------------------------------------------------------------------------------------
PARTS = [0.0, -0.0, 1.0, -2.0, 1e-200, 1e200, np.inf, -np.inf]
FUNCTIONS = ["exp", "log", "sqrt", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "tan", "tanh",
             "abs", "angle", "conj"]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_numpys(name):
    function = getattr(np, name)
    z = np.array([complex(x, y) for x in PARTS for y in PARTS if np.isfinite(x) and np.isfinite(y)] + [np.inf + 0j])
    found = np.asarray(contad.jvp(function, (z,), (np.ones_like(z),))[0])
    expected = np.asarray(function(z))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    for part in (np.real, np.imag):
        zero = part(expected) == 0.0
        np.testing.assert_array_equal(np.signbit(part(found))[zero], np.signbit(part(expected))[zero])


@pytest.mark.parametrize("f", [
    lambda z: z + 1.0, lambda z: 1 + z, lambda z: z - 1.0, lambda z: 1.0 - z, lambda z: -2.0 * z, lambda z: z * 2.0,
    lambda z: z / -2.0, lambda z: z / np.array(2.0), lambda z: z + (1.0 - 0.0j), lambda z: 1j * z, lambda z: z - z,
    lambda z: 1.0 - z * z, lambda z: -z, np.conj, lambda z: 1.0 - np.conj(z) * 2.0, lambda z: z * np.array(-0.5),
    lambda z: 1.0 / (z + 0.5) - 9.0, lambda z: np.sum(z) * -1.0 if np.ndim(z) else z,
])  # fmt: skip
@pytest.mark.parametrize("kind", [complex, lambda z: np.array([z])])
def test_arithmetic_keeps_to_the_side_of_a_cut(f, kind):
    for z in (complex(x, y) for x in (3.0, -3.0, 0.0, -0.0) for y in (0.0, -0.0, 2.0, -2.0)):
        expected = np.sqrt(f(kind(z)))
        found = contad.jvp(lambda z: np.sqrt(f(z)), (kind(z),), (kind(1j),))[0]
        np.testing.assert_allclose(found, expected, rtol=1e-14)


SIDE = mp.mpf(10) ** -20
HOLOMORPHIC = {
    "exp": mp.exp, "expm1": lambda z: mp.exp(z) - 1, "log": mp.log, "log2": lambda z: mp.log(z) / mp.log(2),
    "log1p": lambda z: mp.log(1 + z), "sqrt": mp.sqrt, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "sinh": mp.sinh,
    "cosh": mp.cosh, "tanh": mp.tanh, "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arcsinh": mp.asinh,
    "arccosh": mp.acosh, "arctanh": mp.atanh, "square": lambda z: z * z, "reciprocal": lambda z: 1 / z,
}  # fmt: skip
ON_AXES = [complex(*xy) for t in (0.5, -0.5, 2.0, -2.0) for zero in (0.0, -0.0) for xy in ((t, zero), (zero, t))]


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_derivatives_on_the_axes(name):
    """The sign of a zero says on which side of a branch cut a point is; elsewhere it has no effect."""
    f = getattr(np, name)
    for z in ON_AXES:
        beside = mp.mpc(*(part if part else mp.mpf(np.copysign(1.0, part)) * SIDE for part in (z.real, z.imag)))
        with mp.workdps(120):
            first, second = (complex(mp.diff(HOLOMORPHIC[name], beside, n)) for n in (1, 2))
        np.testing.assert_allclose(contad.derivative(f)(z), first, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(contad.derivative(contad.derivative(f))(z), second, rtol=1e-12, atol=1e-15)
        pushed = contad.jvp(f, (np.array([z]),), (np.array([1j]),))[1]
        np.testing.assert_allclose(pushed, [1j * first], rtol=1e-12, atol=1e-15)


def test_at_zero():
    assert contad.grad(abs)(0j) == 0.0
    assert np.isnan(contad.grad(np.angle)(0j))
    for z in (0j, complex(-0.0, -0.0)):
        value, slope = contad.value_and_grad(lambda w: np.sign(w).real)(z)
        assert (value, np.signbit(value), slope) == (0.0, False, 0.0)
    assert contad.grad(lambda z: (z**2).real)(0j) == 0.0
    assert contad.grad(lambda z: (z**1.0).real)(0j) == 1.0
    w = np.array([1.0, 2.0, 0.5, 0.0])
    found = contad.grad(lambda z: np.sum((z**w).real))(np.zeros(4, complex))
    np.testing.assert_array_equal(found[[0, 1, 3]], [1.0, 0.0, 0.0])
    assert np.isnan(found[2])
