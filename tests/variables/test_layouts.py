"""Results have NumPy's memory order, flags and aliases: on these it depends what a later write through a view reaches.

Every NumPy function of the table, every method and some operators are called on views of all kinds. The strides and
flags of what comes out, and with which arguments and other results it shares elements, are held against NumPy's.
"""

import contextlib
import copy  # noqa: F401  (named in a table)
import re
from itertools import product

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.rules.numpy_functions import entries, find_exported_name
from contad.variables.array import Array
from contad.variables.array_methods import DELEGATED
from contad.variables.number import peek
from tests.judges.samples import sampled
from tests.ops.plain_calls import split_calls

# ---- arrays of many layouts ------------------------------------------------------------------------------------------
# from an array in C order, of that shape after the first function, the array that is passed: both run on variables
LAYOUTS = {
    "C": (lambda s: s, lambda x: x),
    "transposed": (lambda s: s[::-1], lambda x: x.T),
    "rolled axes": (lambda s: (s[-1], *s[:-1]), lambda x: np.moveaxis(x, 0, -1)),
    "swapped": (lambda s: (*s[:-2], *s[-2:][::-1]), lambda x: x if x.ndim < 2 else np.swapaxes(x, -1, -2)),
    "reversed": (lambda s: s, lambda x: x[::-1]),
    "reversed, transposed": (lambda s: s[::-1], lambda x: x.T[..., ::-1]),
    "strided": (lambda s: (*s[:-1], 2 * s[-1]), lambda x: x[..., ::2]),
    "strided, transposed": (lambda s: (*s[1:], 3 * s[0]), lambda x: np.moveaxis(x[..., ::3], -1, 0)),
    "a part": (lambda s: (s[0] + 1, *s[1:]), lambda x: x[1:]),
    "broadcast": (lambda s: (1, *s[1:]), lambda x: np.broadcast_to(x[0], (3, *x.shape[1:]))),
    "broadcast columns": (lambda s: (*s[:-1], 1), lambda x: np.broadcast_to(x, (*x.shape[:-1], 3))),
}
OF_VECTORS = ["C", "reversed", "strided", "a part"]
OF_EMPTY = ["C", "transposed", "strided"]
OF_MATRICES = [layout for layout in LAYOUTS if layout not in ("rolled axes", "swapped")]
SHAPES = [(3,), (2, 3), (3, 3), (1, 3), (2, 3, 3), (2, 1, 3), (0, 3), (2, 0), (0,)]
SHORT = [(3,), (2, 3), (3, 3), (2, 3, 3)]
ARGUMENTS = {
    "argument in C order": np.ascontiguousarray,
    "argument in Fortran order": np.asfortranarray,
    "argument with reversed memory": lambda x: np.array(x[::-1], order="C")[::-1],
}


def regular(a):
    """A positive definite matrix, or a stack of them, in the layout of a, which has square matrices."""
    return a + 0.1 * (a * a) + 9.0 * np.diag(1.0 + np.arange(a.shape[-1]))


def laid_out(layout, shape, start=0):
    """The array in C order from which the layout makes one of the shape."""
    shape = LAYOUTS[layout][0](shape)
    n = int(np.prod(shape))
    return (((np.arange(n) + start) * 7 % 17) * 0.11 + 0.2 - 0.017 * np.arange(n)).reshape(shape)


# ---- calls -----------------------------------------------------------------------------------------------------------
def call_of(text):
    return eval(f"lambda a, b: {text}", globals())


def read_calls(table):
    """The calls of a table by function: that before the bracket, or before a colon."""
    found = {}
    for row in split_calls(table):
        name, end = re.match(r"([\w.]+)(: |\()", row).groups()
        found.setdefault(name, []).append(call_of(row.removeprefix(f"{name}: ") if end == ": " else row))
    return found


INDEX = np.array([1, 0, 1])
# NumPy's eigenvalues are complex, or views of complex ones
CALLS = read_calls("""
np.cumsum(a, 0); np.cumsum(a, -1); np.cumsum(a); np.cumprod(a, 0); np.cumprod(a, -1); np.cumulative_sum(a, axis=0)
np.cumulative_sum(a, axis=-1, include_initial=True); np.cumulative_prod(a, axis=-1); np.nancumsum(a, 0)
np.nancumprod(a, -1)
""") | {
    f"np.{name}": [
        lambda a, b, f=name: getattr(np, f)(a, 0), lambda a, b, f=name: getattr(np, f)(a, -1),
        lambda a, b, f=name: getattr(np, f)(a, axis=0, keepdims=True),
        lambda a, b, f=name: getattr(np, f)(a, axis=(0, -1)), lambda a, b, f=name: getattr(np, f)(a, keepdims=True),
    ]
    for name in ("sum", "mean", "var", "std", "prod", "ptp", "max", "amax", "min", "amin", "nansum", "nanprod",
                 "nanmean", "nanmax", "nanmin", "median")
} | {
    f"np.fft.{name}": [lambda a, b, f=name: getattr(np.fft, f)(a).real * 1.0]
    for name in ("fft", "ifft", "rfft", "ihfft", "fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn")
} | read_calls("""
np.average(a, 0); np.average(a, -1, np.arange(1.0, 1.0 + a.shape[-1])); np.average(a, 0, b * b + 1.0, returned=True)
np.average(a, 0, returned=True); np.trace(a); np.trace(a, 0, 1, 2); np.linalg.trace(a); np.linalg.solve(regular(a), b)
np.linalg.inv(regular(a)); np.linalg.det(regular(a)); np.linalg.slogdet(regular(a))
np.linalg.tensorsolve(regular(a), b[0]); np.linalg.tensorinv(regular(a), 1); np.linalg.matrix_power(regular(a), 3)
np.linalg.matrix_power(regular(a), 1); np.linalg.matrix_power(regular(a), 0)
np.linalg.multi_dot([a, np.transpose(b), a]); np.linalg.multi_dot([a[0], np.transpose(b), a])
np.linalg.cholesky(regular(a)); np.linalg.cholesky(regular(a), upper=True); np.linalg.eigh(regular(a))
np.linalg.eigvalsh(regular(a)); np.linalg.eig: [x.real * 1.0 for x in np.linalg.eig(regular(a))]
np.linalg.eigvals(regular(a)).real * 1.0; np.linalg.svd(a, full_matrices=False); np.linalg.svdvals(a); np.linalg.qr(a)
np.linalg.qr(a, "r"); np.linalg.lstsq(a, b); np.linalg.pinv(a); np.linalg.norm(a)
np.linalg.norm(a, 2, axis=(0, 1), keepdims=True); np.linalg.norm(a, axis=0, keepdims=True)
np.linalg.vector_norm(a, axis=0, keepdims=True); np.linalg.matrix_norm(a, ord=1); np.linalg.cond(regular(a))
np.linalg.cross(a, b); np.linalg.matrix_rank(a); np.cov(a); np.cov(a, b); np.corrcoef(a + b * b)
np.polyval([1.0, 2.0, 0.5], a); np.polyval(np.ravel(a)[:3], b); np.vander(a); np.vander(a, 2, increasing=True)
np.linspace(a, b, 4); np.linspace(a, b, 4, axis=-1); np.zeros_like(a); np.zeros_like(a, order="C")
np.empty_like(a, shape=(3, 2)); np.ones_like(a); np.ones_like(a, order="F"); np.full_like(a, 1.5); np.full_like(a, b)
np.fft.irfft(a); np.fft.irfft(a, 5, 0); np.fft.irfft(a * (1.0 + 2.0j)); np.fft.hfft(a); np.fft.irfft2(a)
np.fft.irfftn(a); np.fft.irfftn(a, (4, 3), (0, 1)); np.fft.fftshift(a); np.fft.fftshift(a, 0); np.fft.ifftshift(a)
np.apply_along_axis(lambda row: row * row[0], 0, a)
np.apply_along_axis(lambda row: row[1], -1, a); np.apply_along_axis(lambda row: row[:2, None] * row[None, :], 0, a)
np.apply_along_axis(lambda row: row[:2, None] * row[None, :], -1, a); np.astype(a, np.float64)
np.astype(a, np.float64, copy=False); np.shape(a); np.ndim(a); np.size(a); np.transpose(a); np.moveaxis(a, 0, -1)
np.rollaxis(a, -1); np.swapaxes(a, 0, -1); np.squeeze(a); np.expand_dims(a, 1); np.matrix_transpose(a)
np.linalg.matrix_transpose(a); np.broadcast_to(a, (2, *a.shape)); np.broadcast_to(a, a.shape); np.tile(a, 2)
np.tile(a, (2, 1)); np.tile(a, 1); np.repeat(a, 2); np.repeat(a, 2, 0); np.repeat(a, 2, -1); np.roll(a, 1)
np.roll(a, 1, 0); np.rot90(a); np.rot90(a, 2); np.rot90(a, 4); np.flip(a); np.flip(a, 0); np.fliplr(a); np.flipud(a)
np.take(a, INDEX, 0); np.take(a, [1, 0], -1); np.take(a, [[1]])
np.take_along_axis(a, np.argsort(contad.value_of(b), 0), 0)
np.take_along_axis(a, np.argsort(contad.value_of(b), -1), -1); np.diag(a); np.diag(a, 1); np.diagflat(a)
np.diagonal(a); np.diagonal(a, 0, -1, 0); np.linalg.diagonal(a); np.tril(a); np.triu(a, 1); np.delete(a, 1, 0)
np.delete(a, [0], -1); np.delete(a, 0); np.resize(a, (2, 4)); np.resize(a, a.shape); np.copy(a); np.copy(a, "C")
np.copy(a, "F"); np.compress([True, False, True], a, -1); np.compress([True], a, 0); np.compress([True, True], a)
np.extract(contad.value_of(b) > 0.5, a); np.choose(np.zeros(a.shape, int), [a, b]); np.append(a, b)
np.append(a, b, 0); np.append(a, b, -1); np.where(a > 0.5, a, b); np.where(a > 0.5, a, 1.5); np.where(True, a, b)
np.where(np.ones(a.shape, bool), 2.0, b); np.select([a > 0.9, b > 0.4], [a, b], 0.5); np.select([a > 0.9], [a * b], b)
np.select([a > 0.9], [a]); np.reshape(a, (-1,)); np.reshape(a, (-1,), order="F"); np.reshape(a, (-1,), order="A")
np.reshape(a, (3, -1)); np.reshape(a, a.shape); np.reshape(a, (3, -1), copy=True); np.ravel(a); np.ravel(a, "F")
np.ravel(a, "K"); np.ravel(a, "A"); np.atleast_1d(a); np.atleast_1d(a, b); np.atleast_2d(a); np.atleast_2d(a, b)
np.atleast_3d(a); np.broadcast_arrays(a, b); np.broadcast_arrays(a, b[:1]); np.meshgrid(np.ravel(a), np.ravel(b)[:2])
np.meshgrid(a, b, indexing="ij"); np.meshgrid(a, b, copy=False); np.meshgrid(a, b, sparse=True)
np.meshgrid(a, b, sparse=True, copy=False); np.concatenate([a, b]); np.concatenate([a, b], -1)
np.concatenate([a, b], None); np.concatenate(a); np.stack([a, b]); np.stack([a, b], -1); np.stack(a)
np.block([[a, b], [b, a]]); np.block([a, b]); np.block(a); np.vstack([a, b]); np.hstack([a, b]); np.dstack([a, b])
np.column_stack([a, b]); np.insert(a, 1, b[:1], 0); np.insert(a, 0, 2.0); np.ediff1d(a); np.ediff1d(a, to_begin=b)
np.pad(a, 1); np.pad(a, 1, "edge"); np.pad(a, 1, "reflect"); np.pad(a, 0); np.array_split(a, 2)
np.array_split(a, 2, -1); np.split(a, [1]); np.split(a, 3, -1); np.hsplit(a, [1]); np.vsplit(a, [1])
np.dsplit(a, [1]); np.unstack(a); np.unstack(a, axis=-1); np.matmul(a, b.T); np.matmul(a, b); np.matmul(a[0], b.T)
np.linalg.matmul(a, np.swapaxes(b, -1, -2)); np.dot(a, b.T); np.dot(a, b); np.dot(2.0, a); np.dot(a, 2.0)
np.dot(a, np.ravel(b)[:3]); np.vdot(a, b); np.inner(a, b); np.inner(a, 2.0); np.outer(a, b)
np.linalg.outer(np.ravel(a), np.ravel(b)); np.kron(a, b); np.kron(a, np.ravel(b)[:2]); np.tensordot(a, b, 1)
np.tensordot(a, b, ([0], [0])); np.tensordot(np.ones((4, 3)), a, ([1], [1])); np.tensordot(a, b, np.array([[1], [1]]))
np.tensordot(a, b, 0); np.tensordot(a, b, ([1, 0], [1, 0])); np.linalg.tensordot(a, b, axes=([-1], [-1]))
np.vecdot(a, b); np.vecdot(a, b, axis=0); np.linalg.vecdot(a, b); np.cross(a, b); np.cross(a, b, axis=0)
np.cross(a, b[0]); np.cross(a, b, axisc=0); np.convolve(a, b); np.correlate(a, b); np.einsum("ij,kj->ik", a, b)
np.einsum("ij,kj->ki", a, b); np.einsum("ij->ji", a); np.einsum("ij->ij", a); np.einsum("ii->i", a)
np.einsum("ij,ij->ij", a, b); np.einsum("ij,ij->ji", a, b); np.einsum("ijk->ki", a); np.einsum("ijk,ilk->ljk", a, b)
np.einsum("ijk,ilk->ijl", a, b); np.einsum("i->i", a); np.einsum("...j,...j->...", a, b); np.einsum("ij->i", a)
np.einsum("ij,jk->ik", a, b); np.einsum("ij,kj->ki", np.ones((5, 3)), a); np.einsum("j,ij->ji", np.arange(3), a)
np.einsum(a, [0, 1], b, [2, 1], [2, 0]); np.einsum("ij,jk,kl->li", a, b, a, optimize=True); np.diff(a)
np.diff(a, axis=0); np.diff(a, 0); np.diff(a, prepend=0.0); np.diff(a, append=b); np.diff(a, 2); np.gradient(a)
np.gradient(a, 0.5, axis=0); np.gradient(a, axis=-1); np.gradient(a, np.array([0.0, 0.4, 1.0]), axis=-1, edge_order=2)
np.trapezoid(a); np.trapezoid(a, axis=0); np.trapezoid(a, b); np.bincount(np.arange(a.size) % 3, np.ravel(a))
np.interp(a, [0.0, 0.5, 1.0], [1.0, 2.0, 4.0]); np.interp(a, np.arange(float(b.size)), np.ravel(b))
np.histogram(a, [0.0, 0.5, 1.0])[0]; np.nanmedian(a, 0); np.nanpercentile(a, 30.0, 0); np.nanquantile(a, 0.3, -1)
np.nanstd(a, 0); np.nanvar(a, -1); np.unwrap(4.0 * a); np.polyadd(np.ravel(a), np.ravel(b))
np.polysub(np.ravel(a), np.ravel(b)); np.polymul(np.ravel(a), np.ravel(b)); np.polyder(np.ravel(a))
np.polyint(np.ravel(a)); np.poly(np.ravel(a)); np.angle(a); np.quantile(a, 0.3, 0); np.quantile(a, [0.3, 0.6], -1)
np.quantile(a, [[0.3], [0.6]], 0, keepdims=True); np.quantile(a, [0.5, 1]); np.quantile(a, 0.5, 0)
np.quantile(a, 0.0, (0, -1)); np.percentile(a, 30.0, -1); np.percentile(a, [0.0, 70.0], 0); np.sort(a); np.sort(a, 0)
np.sort(a, None); np.partition(a, 1); np.partition(a, 1, 0); np.partition(a, 1, None); np.clip(a, 0.4, 1.0)
np.clip(a, b, None); np.clip(a, 0.1, b); np.clip(a, b, b); np.clip(a, None, None); np.round(a); np.round(a, 1)
np.round(a, -1); np.around(a, 2); np.fix(a); np.sinc(a); np.nan_to_num(a); np.nan_to_num(a, nan=1.0, posinf=2.0)
np.piecewise(a, [contad.value_of(a) > 0.5], [lambda x: x * x, 1.5]); np.real(a); np.real_if_close(a); np.imag(a)
np.argsort(a); np.argsort(a, 0); np.argsort(a, None); np.argpartition(a, 1, 0); np.argmax(a, 0)
np.argmax(a, -1, keepdims=True); np.argmin(a, 0); np.nanargmax(a, 0); np.nanargmin(a, -1); np.argwhere(a > 0.5)
np.nonzero(a); np.flatnonzero(a); np.searchsorted([0.3, 0.8], a); np.digitize(a, [0.3, 0.8]); np.lexsort((a, b))
np.lexsort(a, 0); np.any(a, 0); np.all(a, -1, keepdims=True); np.isclose(a, b); np.isin(a, b); np.isneginf(a)
np.isposinf(a); np.iscomplex(a); np.isreal(a); np.count_nonzero(a, 0); np.diag_indices_from(a)
np.tril_indices_from(a); np.triu_indices_from(a); np.i0(a); np.apply_over_axes(np.sum, a, 0); np.matvec(a, b[0])
np.vecmat(a, np.swapaxes(b, -1, -2)); np.unique(a); np.unique_all(a)[0]; np.unique_counts(a)[0]; np.unique_inverse(a)[0]
np.unique_values(a); np.union1d(a, b); np.intersect1d(a, b); np.setdiff1d(a, b); np.setxor1d(a, b); np.logspace(a, b, 3)
np.histogram_bin_edges(a, 3); np.histogram2d(np.ravel(a), np.ravel(b), 2); np.histogramdd(a, 2)[0]
np.geomspace(a + 2.0, b + 2.0, 3); np.geomspace(a + 2.0, b + 2.0, 3, axis=-1); np.pad(a, 1, "mean")
np.pad(a, 1, "linear_ramp"); np.lib.scimath.sqrt(a * a); np.lib.scimath.log(a * a); np.lib.scimath.log2(a * a)
np.lib.scimath.log10(a * a); np.lib.scimath.logn(2.0, a * a); np.lib.scimath.power(a * a, 2.5)
np.lib.scimath.arccos(a / 90.0); np.lib.scimath.arcsin(a / 90.0); np.lib.scimath.arctanh(a / 90.0)
""")  # fmt: skip
NO_ARRAYS = {
    "np.copyto", "np.put", "np.place", "np.putmask", "np.fill_diagonal", "np.put_along_axis", "np.result_type",
    "np.can_cast", "np.common_type", "np.min_scalar_type", "np.allclose", "np.array_equal", "np.array_equiv",
    "np.iscomplexobj", "np.isrealobj", "np.may_share_memory", "np.shares_memory", "np.array_str", "np.array_repr",
    "np.array2string", "np.lib.stride_tricks.sliding_window_view", "np.polydiv", "np.polyfit", "np.roots",
    "np.trim_zeros",
}  # fmt: skip
OPERATORS = split_calls("""
+a; -a; abs(a); a + b; 2.0 * a; a + b[:1]; a[:1] * b; a**2; a @ b.T; a < b; a % b; divmod(a, b); a // 0.3
1.0 / (a * a + 1.0); np.positive(a); np.conjugate(a); np.sin(a); np.hypot(a, b); np.divmod(a, b); np.isnan(a)
np.sign(a); np.rint(a); np.logaddexp(a, b); np.add.outer(a, b); np.add.reduce(a); np.add.accumulate(a, -1)
np.maximum.reduce(a, -1); copy.copy(a); copy.deepcopy(a); a[:, [1, 0]]; a[[0, 0]]; a[contad.value_of(b) > 0.5]
a[..., [0, 1], 0]; a[[0, 1], :, [0, 1]]; a[None]; a[..., :1]; list(a)
""")
METHODS = {
    "all": (0,), "any": (0,), "argmax": (0,), "argmin": (0,), "argpartition": (1, 0), "argsort": (0,), "cumprod": (0,),
    "cumsum": (0,), "diagonal": (), "dot": (2.0,), "max": (0,), "mean": (0,), "min": (0,), "nonzero": (), "prod": (-1,),
    "repeat": (2, 0), "round": (1,), "squeeze": (), "std": (0,), "sum": (0,), "swapaxes": (0, -1), "take": ([1, 0], 0),
    "trace": (), "var": (-1,), "copy": (), "ravel": (), "reshape": (-1,), "transpose": (), "flatten": (), "conj": (),
    "conjugate": (), "clip": (0.3, 1.0), "compress": ([True], 0), "astype": (float,), "__copy__": (), "tolist": (),
    "item": (0,),
}  # fmt: skip
MORE_METHODS = split_calls("""
a.copy("F"); a.copy("A"); a.copy("K"); a.ravel("F"); a.ravel("K"); a.ravel("A"); a.reshape(-1, order="F")
a.reshape(-1, order="A"); a.flatten("F"); a.flatten("K"); a.T; a.mT; a.real; a.imag; a.astype(float, copy=False)
a.astype(int); a.astype(float, order="C"); a.astype(float, order="F"); a.flat[:]; a.flat[1:]; a.reshape(a.shape)
np.ravel(a).searchsorted(np.ravel(b))
""")
REFUSED = {"np.reshape 2", "np.ravel 2", "np.ravel 3", "np.vecdot 1"}  # by name
# np.median keeps no axes, and np.i0 gives an array; np.where, of numbers that NumPy made of the array; a difference of
# order 0
OTHERWISE_WITHOUT_AXES = {"np.median 4", "np.select 1", "np.diff 2", "np.i0 0"}
# an assignment to these is deprecated in NumPy, which says that they will not be writeable
DEPRECATED = {*CALLS["np.broadcast_arrays"], CALLS["np.meshgrid"][2]}
OTHER = (
    {f"operator {text}": call_of(text) for text in OPERATORS}
    | {f"method {name}": lambda a, b, m=name, x=x: getattr(a, m)(*x) for name, x in METHODS.items()}
    | {f"method {text}": call_of(text) for text in MORE_METHODS}
)
ALL = {f"{name} {k}": f for name, calls in CALLS.items() for k, f in enumerate(calls)} | OTHER


# ---- comparison ------------------------------------------------------------------------------------------------------
def leaves(x):
    """The arrays in a result, in order."""
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in leaves(item)]
    return [x] if isinstance(x, (np.ndarray, Array)) else []


def parts(x):
    """What of an array the layout is of: its values, and what aliases like them."""
    if not isinstance(x, Array):
        return [x]
    x._sync_parts()
    return [peek(x), x.cells()] if hasattr(x, "_cells") else [peek(x), *map(peek, x._tangents)]


def description(a):
    """The shape, and the strides and flags where there is something to choose."""
    steps = tuple(s if n > 1 else None for s, n in zip(a.strides, a.shape, strict=True)) if a.size else None
    return a.shape, steps, a.flags.c_contiguous, a.flags.f_contiguous


def aliases(arrays):
    """Which pairs share elements."""
    return [
        (j, k) for k in range(len(arrays)) for j in range(k) if np.shares_memory(arrays[j], arrays[k])
    ]  # fmt: skip


def compare(call, make_a, make_b, a, b, mode):
    """What differs from NumPy's layout, in words; None where NumPy refuses the call."""
    x, y = make_a(a.copy("K")), make_b(b.copy("K"))
    try:
        expected = leaves(call(x, y))
    except (TypeError, ValueError, IndexError, ZeroDivisionError, AttributeError):
        return None
    wrong = []

    def f(a, b):
        u, v = make_a(a), make_b(b)
        got = leaves(call(u, v))
        if len(got) != len(expected):
            wrong.append(f"{len(got)} arrays for {len(expected)}")
            return 0.0
        for k, (z, e) in enumerate(zip(got, expected, strict=True)):
            for name, part in zip(("values", "companion", "more"), parts(z), strict=False):
                if description(part) != description(e) and z.size:
                    wrong.append(f"result {k}, {name}: {description(part)}, of NumPy {description(e)}")
            if z.size and is_writeable(z) != e.flags.writeable and call not in DEPRECATED:
                wrong.append(f"result {k}: writeable {is_writeable(z)}, of NumPy {e.flags.writeable}")
        ours, theirs = aliases([peek(z) for z in (u, v, *got)]), aliases([x, y, *expected])
        if ours != theirs:
            wrong.append(f"shared are {ours}, with NumPy {theirs}")
        return 0.0

    try:
        if mode == "reverse":
            contad.vjp(f, a, b)
        else:
            contad.jvp(f, (a, b), (np.ones(a.shape), np.ones(b.shape)))
    except (contad.UnsupportedError, ValueError, ZeroDivisionError):  # as few as `ran` below allows
        return None
    return "; ".join(wrong)


def is_writeable(z):
    """Whether an assignment to the array works."""
    try:
        z[...] = 0.0
    except ValueError:
        return False
    return True


def cases(mode):
    """Shapes with the layouts of two arguments."""
    for shape in SHAPES if mode == "reverse" else SHORT:
        layouts = OF_VECTORS if len(shape) < 2 else OF_EMPTY if 0 in shape or 1 in shape else OF_MATRICES
        for layout in LAYOUTS if shape == (2, 3, 3) else layouts:
            yield shape, layout, layout
            if shape == (2, 3) and layout != "C" and mode == "reverse":
                yield shape, layout, "C"
                yield shape, "C", layout


# ---- tests -----------------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "mode"), sampled(product(ALL, ["reverse", "forward"]), 4))
def test_layouts_are_numpys(name, mode):
    call = ALL[name]
    found, ran = [], 0
    for shape, first, second in cases(mode):
        points = laid_out(first, shape), laid_out(second, shape, 3)
        difference = compare(call, LAYOUTS[first][1], LAYOUTS[second][1], *points, mode)
        ran += difference is not None
        if difference:
            found.append(f"{shape} {first}/{second}: {difference}")
    assert ran >= 3 or name in REFUSED
    assert not found, "\n".join([f"{len(found)} of {ran}", *found[:12]])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("argument", sampled(ARGUMENTS, 3))
def test_layouts_of_arguments(argument):
    """Arguments have the order of the caller's arrays, without gaps."""
    found = []
    for name, call in ALL.items():
        for shape in SHORT:
            a, b = (ARGUMENTS[argument](laid_out("C", shape, start)) for start in (0, 3))
            difference = compare(call, np.copy, np.copy, a, b, "reverse")
            if difference:
                found.append(f"{name}, {shape}: {difference}")
    assert not found, "\n".join(found[:12])


def test_every_function_takes_part():
    names = {find_exported_name(e.function) for e in entries()}
    assert sorted(names - CALLS.keys()) == sorted(NO_ARRAYS) and sorted(CALLS.keys() - names) == []
    assert sorted(set(DELEGATED) - METHODS.keys() - {"choose", "put", "searchsorted"}) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_arrays_without_axes_give_arrays_and_numbers_where_numpys_do(name):
    """An array may be written to under another name, a number is immutable."""
    if name in OTHERWISE_WITHOUT_AXES:
        pytest.skip("left as it is")
    a, found = np.array(0.6), []
    try:
        expected = leaves(ALL[name](a.copy(), a.copy()))
    except (TypeError, ValueError, IndexError, ZeroDivisionError, AttributeError):
        return
    with contextlib.suppress(UnsupportedError):
        contad.grad(lambda x: (found.append(leaves(ALL[name](x, x))), x)[1])(a)
        assert [z.shape for z in found[0]] == [z.shape for z in expected]
