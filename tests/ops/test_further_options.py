"""NumPy's further options and functions on variables: out=, where=, initial=, folds of ufuncs, lists of variables.

`judge` compares values and shapes with NumPy's, and first and second derivatives with differences.
"""

import numpy as np
import pytest

import contad
from contad.counts.judgement import judge

RIGHT = """
np.sum(v, initial=x, where=p); np.prod(v, initial=x, where=p); np.mean(v, where=p); np.var(v, where=p); np.std(v,
where=p, ddof=1); np.var(v, correction=1); np.var(v, mean=np.mean(w, keepdims=True)); np.sum(v, dtype=float);
np.max(v, initial=x, where=p); np.min(v, initial=x); np.nanmax(v, initial=x); np.nanmean(v, where=p); np.trace(a,
dtype=float); np.nanvar(v, where=p); np.add.reduce(v, initial=x); np.maximum.reduce(v, initial=x);
np.multiply.reduce(v, where=p); np.divide(v, w, out=np.zeros(4), where=w > 0.5); np.divide(v, x, out=w * 1.0,
where=[True, False, True, True]); np.divide(1.0, w - w[0], out=np.zeros_like(w), where=w != w[0]); np.exp(v,
np.zeros_like(v)); np.add(v, v, out=v * 1.0); np.dot(a, b, out=np.zeros((3, 3))); np.dot(a, b, np.zeros_like(a));
np.einsum('ij,jk->ik', a, b, out=np.zeros((3, 3))); np.outer(v, w, np.zeros_like(v)[:, None] + np.zeros_like(w));
np.sum(a, 0, out=np.zeros(3)); np.clip(v, z, x, v * 1.0); np.max(a, 0, out=np.zeros(3)); np.cumsum(v,
out=np.zeros(4)); np.take(v, [2, 1], out=np.zeros(2)); np.median(a, 0, out=np.zeros(3)); np.concatenate([v, w],
out=np.zeros(8)); np.stack([v, w], out=np.zeros((2, 4))); np.matmul(a, b, out=np.zeros((3, 3))); o = np.zeros((2, 3));
np.sum(t[0, :, :3, :3], 1, out=o[:, ::-1]); o; o = v * x; np.multiply(o, o, out=o); o; np.maximum.accumulate(v);
np.minimum.accumulate(a, axis=1); np.logaddexp.reduce(a, axis=0); np.logaddexp.accumulate(v); np.add.reduceat(v, [0,
2, 1]); np.multiply.reduceat(a, [0, 2], axis=1); np.subtract.reduce(v); np.hypot.reduce(a, axis=1); np.modf(u);
np.frexp(u); np.nextafter(v, 2.0); np.i0(v); np.kaiser(5, x); np.matvec(a, q); np.vecmat(q, a); np.i0(x);
np.unique(np.concatenate([v, v, w])); np.unique(v, True, True, True); np.union1d(v, w); np.intersect1d(np.append(w,
v), v); np.setdiff1d(v, w); np.setxor1d(v, w); np.histogram(v, 3); np.histogram(v, 3, (0.0, 1.0), weights=w);
np.histogram_bin_edges(v, 3); np.histogram(v, 2, (0.0, x + y), True, w); np.histogram2d(v, w, 2, weights=u);
np.histogramdd(m, 2, weights=q); np.cov(a, aweights=q ** 2); np.geomspace(v, w, 3); np.logspace(v, w, 3, base=u);
np.pad(v, 2, 'linear_ramp', end_values=x); np.pad(a, 2, 'mean'); np.pad(v, 2, 'maximum', stat_length=2); np.pad(a, 3,
'reflect', reflect_type='odd'); np.sort(c); np.sort_complex(c); np.apply_over_axes(np.sum, a, [0, 1]);
np.emath.sqrt(-v); np.emath.log(v); np.emath.logn(y, q); np.emath.power(q, x); np.emath.arccos(u); np.emath.log2(q);
np.r_[v, x, 1.0]; np.r_['0,2', v, w]; np.c_[v, [x, y, 1.0, 2.0]]; np.r_[1:4, v, 0:1:3j]; np.stack([e * k[0] for k, e
in np.ndenumerate(v)]); np.linalg.inv([[x, 1.0], [2.0, y]]); np.linalg.solve([[x, 1.0], [2.0, y]], [1.0, x]);
np.linalg.inv(np.diag([x, y])); np.linalg.inv(np.block([[x, 1.0], [2.0, y]])); np.quantile([x, y, 1.0], 0.3);
np.gradient([x, y, 1.0])
"""


def calls():
    """The expressions, which hold assignments before a last one; the installed NumPy may lack a function."""
    found, parts = [], []
    for part in map(str.strip, RIGHT.replace("\n", " ").split(";")):
        parts.append(part)
        if not part.startswith("o = ") and not (len(parts) == 2 and "out=o" in part):
            found.append("; ".join(parts))
            parts = []
    return found


@pytest.mark.parametrize("call", calls())
def test_values_and_derivatives_are_numpys(call):
    if "np.matvec" in call or "np.vecmat" in call:
        pytest.importorskip("numpy", "2.2")
    found = judge("", call)
    assert found.status == "right", found


def test_elements_that_a_mask_leaves_out_have_no_derivative():
    b = np.array([0.0, 2.0, 4.0])

    def f(b):
        return np.sum(np.divide(1.0, b, out=np.zeros_like(b), where=b != 0.0))

    np.testing.assert_array_equal(contad.grad(f)(b), [0.0, -0.25, -0.0625])
    np.testing.assert_array_equal(np.diag(contad.hessian(f)(b)), [0.0, 0.25, 2.0 / 64.0])


@pytest.mark.parametrize(
    ("f", "error", "told"),
    [
        (lambda x: np.sum(x, 0, None, DATA[0]), contad.LostDerivativeError, r"np\.sum: an array of floats cannot hold"),
        (lambda x: np.exp(x, out=DATA, where=x > 0.0), contad.LostDerivativeError, r"np\.exp: an array of floats"),
        (lambda x: np.dot(x, x, out=x[0]), ValueError, r"np\.dot: out must have shape \(2, 2\), got \(2,\)"),
        (lambda x: np.sum(x, where=[1.0, 0.0]), TypeError, "where must be an array of bool, got float64"),
        (lambda x: np.exp(x, where=[1.0, 0.0]), TypeError, r"np\.exp: where must be an array of bool, got float64"),
        (lambda x: np.sum(x, dtype=np.float32), contad.UnsupportedError, r"np\.sum: dtype= is not supported"),
        (lambda x: np.hypot.reduce(x, where=x > 0.0), contad.UnsupportedError, r"np\.hypot\.reduce: where= is not"),
        (lambda x: np.add.reduceat(x, [0, 2]), IndexError, r"np\.add\.reduceat: index 2 out-of-bounds \[0, 2\)"),
        (lambda x: np.pad(x, 1, lambda *args: None), contad.UnsupportedError, r"np\.pad: mode must be one of NumPy's"),
        (lambda x: np.histogram(x, "auto"), contad.UnsupportedError, "bins must be a number or edges"),
        (lambda x: np.geomspace(x, -x), ValueError, r"np\.geomspace: start and stop must not be 0, and of one sign"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(f, error, told):
    with pytest.raises(error, match=told):
        contad.grad(lambda x: np.sum(f(x)))(np.array([[0.3, 1.2], [0.7, 2.0]]))


DATA = np.zeros((2, 2))
X = np.array([0.4, 1.7, 0.9])
ON_ENGINES = {
    "fold": lambda x: np.sum(np.maximum.accumulate(x) * x), "parts": lambda x: np.modf(x[1] * x[0])[0] * x[2],
    "mantissa": lambda x: np.frexp(x[1] * x[0])[0] * x[2],
    "list": lambda x: np.linalg.inv([[x[0], 1.0], [x[2], x[1]]])[0, 1],
    "next": lambda x: np.nextafter(x[0], 2.0) * x[1],
}  # fmt: skip


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("name", ON_ENGINES)
def test_engines_agree(name, engine):
    f = ON_ENGINES[name]
    expected = contad.testing.differences.gradient_by_differences(lambda x: f(np.array(x)), X).value
    np.testing.assert_allclose(contad.grad(f, engine=engine)(X), expected, rtol=1e-8)
