"""An example call of every NumPy function that contad differentiates, in which inputs are used twice."""

import re

import numpy as np

import contad  # noqa: F401  (registers everything)
from contad.rules.numpy_functions import entries, find_exported_name
from tests.ops.plain_calls import split_calls

# numbers of both signs, none equal, none symmetric
V = np.array([1.3, -0.7, 2.1])
U = np.array([0.4, 1.9, -1.1])
D = np.array([0.9, -0.2, 1.4])
W = np.array([0.6, 1.7, -0.2, 2.3])
A = np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]])
B = np.array([[0.6, 1.7], [-0.2, 2.3], [0.9, -1.6]])
S = np.array([[1.3, -0.7], [0.4, 1.9]])
P = np.array([[1.3, -0.7], [-0.7, 1.9]])
C = np.array([[[1.3, -0.7], [2.1, 0.4]], [[1.9, -1.1], [0.6, 1.7]], [[-0.2, 2.3], [0.9, -1.6]]])
ONE = np.array([[[1.3, -0.7, 2.1]]])
ORDER = np.array([[2, 0, 1], [1, 2, 0]])
MASK = np.array([[True, False, True], [False, True, True]])


def written(write, a):
    """A function that writes into an array made of its argument."""

    def f(a):
        z = np.multiply(a, a)
        write(z, a)
        return z

    return f, a


def like(make):
    """A function that assigns to an array like its argument."""

    def f(a):
        z = make(a)
        z[0] = a[1] * a[0]
        return z

    return f


def read_examples(table):
    """{function: [(f, arguments), ...]}: an example is a call and what its names are, or makes such a pair itself."""
    found = {}
    for row in split_calls("\n".join(line for line in table.strip().split("\n") if line[0] != "#")):
        name, end = re.match(r"([\w.]+)(: |\()", row).groups()
        call, _, given = (row.removeprefix(f"{name}: ") if end == ": " else row).partition(" | ")
        args = eval(f"dict({given})", globals())
        made = eval(f"lambda {', '.join(args)}: {call}" if args else call, globals())
        found.setdefault(name, []).append((made, *args.values()) if args else made)
    return found


EXAMPLES = read_examples("""
# accumulations and reductions
np.cumsum(a, axis=1) | a=A; np.cumsum(a) | a=S; np.cumprod(a, axis=0) | a=A; np.cumprod(a) | a=S
np.sum(a, axis=(0, 2)) | a=C; np.sum(a * a, 1, keepdims=True) | a=A; np.mean(a, axis=0) | a=A; np.mean(a * a) | a=A
np.var(a, axis=1, ddof=1) | a=A; np.std(a, axis=0, keepdims=True) | a=A; np.prod(a, axis=1) | a=A; np.prod(a) | a=V
np.average(a, axis=1, weights=w) | a=A, w=V; np.average(a, weights=w) | a=V, w=np.array([0.4, 1.9, 1.1])
np.lib.stride_tricks.sliding_window_view(a, 2) * a[0] | a=V; np.trace(a) | a=S; np.trace(a, 0, 1, 2) | a=C
np.ptp(a, axis=1) | a=A; np.cumulative_sum(a, axis=1) * a | a=A; np.cumulative_prod(a, axis=0) | a=A
np.nansum(a * a, axis=1) | a=A; np.nanprod(a, axis=1) | a=A; np.nanmean(a * a, axis=0) | a=A
np.nanvar(a, axis=0, ddof=1) * a[0, 0] | a=A; np.nanstd(a, axis=1) * a[0, 0] | a=A; np.nancumsum(a * a) | a=V
np.nancumprod(a, axis=1) | a=A; np.linalg.trace(a) * a[0, 1] | a=S
# linear algebra: S is regular, P symmetric and positive definite
np.linalg.solve(a, b) | a=S, b=B[:2]; np.linalg.inv(a) | a=S; np.linalg.det(a) | a=S; np.linalg.slogdet(a)[1] | a=S
np.linalg.tensorsolve(a, b) | a=S, b=V[:2]; np.linalg.tensorinv(a, 1) | a=S; np.linalg.matrix_power(a, 3) | a=S
np.linalg.multi_dot([a, b, a]) | a=A, b=B; np.linalg.cholesky(a) | a=P; np.linalg.cholesky(a, upper=True) | a=P
np.linalg.eigh(a)[1] ** 2 | a=P; np.linalg.eigvalsh(a) | a=P; np.linalg.eig(a)[1] ** 2 | a=P
np.linalg.eigvals(a) | a=P; np.linalg.svd(a, full_matrices=False)[0] ** 2 | a=A; np.linalg.svdvals(a) | a=B
np.linalg.qr(a)[0] | a=B; np.linalg.qr(a)[1] | a=A; np.linalg.lstsq(a, b)[0] | a=B, b=V[:3]; np.linalg.pinv(a) | a=A
np.linalg.norm(a) | a=V; np.linalg.norm(a, "nuc") | a=A; np.linalg.vector_norm(a, axis=0, ord=3) | a=A
np.linalg.matrix_norm(a, ord=2) | a=C; np.linalg.cond(a) | a=S; np.linalg.cross(a, b) | a=V[:3], b=W[:3]
np.cov(a) | a=A; np.corrcoef(a)[0, 1] | a=A; np.polyval(p, x) | p=V[:3], x=W[:2]
np.polyadd(p * q[0], q) | p=V[:3], q=W[:2]; np.polysub(p, p[0] * q) | p=V[:2], q=W[:3]
np.polymul(p, q) | p=V[:3], q=W[:2]; np.polydiv(p, q)[1] | p=np.array([1.3, 0.4, -0.7, 2.1]), q=W[:3]
np.polyder(p * p) | p=V; np.polyint(p * p, 2, p[:2]) | p=V; np.polyfit(x, y, 1) | x=V[:3], y=W[:3]
np.trim_zeros(a * np.array([0.0, 1.0, 1.0, 0.0][: a.shape[0]])) * a[1] | a=V; np.vander(a, 4) | a=V
np.linspace(a, b, 3) * a | a=V[:2], b=W[:2]
np.roots(p) * p[1] | p=np.array([1.0, -1.1, -4.09, 3.059]); np.poly(a) * a[0] | a=V
# arrays like a given one, and assignment
np.zeros_like: (like(np.zeros_like), V); np.empty_like: (like(lambda a: np.empty_like(a, shape=(1,))), V)
np.ones_like: (like(np.ones_like), V); np.full_like: (like(lambda a: np.full_like(a, 1.5)), V)
np.full_like(a, a[1] * a[1]) | a=V; np.copyto: written(lambda z, a: np.copyto(z, a[0]), A)
np.copyto: written(lambda z, a: np.copyto(z, a[0] * a, where=MASK), A)
np.put: written(lambda z, a: np.put(z, [4, 0, 2], a[0]), A)
np.place: written(lambda z, a: np.place(z, MASK, a[1]), A)
np.putmask: written(lambda z, a: np.putmask(z, MASK, a[1]), A)
np.fill_diagonal: written(lambda z, a: np.fill_diagonal(z, a[1]), S)
np.put_along_axis: written(lambda z, a: np.put_along_axis(z, ORDER, a[::-1], 1), A)
# elements moved
np.fft.fftshift(a) * a | a=V; np.fft.ifftshift(a, axes=1) * a | a=A
np.apply_along_axis(lambda row: row * row[0], 1, a) | a=A; np.astype(a * a, np.float64) | a=V
np.apply_over_axes(np.sum, a, [0]) * a | a=A
np.iscomplexobj: (not np.iscomplexobj(a)) * a * a | a=A; np.isrealobj(a) * a * a | a=A
np.shape(a)[1] * a * a | a=A; np.ndim(a) * a * a | a=A; np.size(a, 1) * a * a | a=A
np.transpose(a, (2, 0, 1)) * np.transpose(a)[0, 0, 1] | a=C; np.moveaxis(a, 0, -1) * a[0, 1, 0] | a=C
np.rollaxis(a, 2, 1) * a[0, 1, 0] | a=C; np.swapaxes(a, 0, 2) * a[0, 1, 0] | a=C; np.squeeze(a) * a[0, 0, 1] | a=ONE
np.expand_dims(a, 1) * a | a=V; np.matrix_transpose(a) * a[0, 1] | a=A; np.linalg.matrix_transpose(a) * a[0, 1] | a=A
np.broadcast_to(a, (2, 3)) * a | a=V; np.tile(a, (2, 1)) * a | a=V; np.repeat(a, [2, 0, 1]) * a | a=V
np.repeat(a, 2, axis=0) | a=A; np.roll(a, 1, axis=1) * a | a=A; np.rot90(a) * a[0, 1] | a=A; np.flip(a, 1) * a | a=A
np.fliplr(a) * a | a=A; np.flipud(a) * a | a=A; np.take(a, [2, 0, 2]) * a | a=V; np.take(a, [[1, 0]], axis=1) | a=A
np.take_along_axis(a, ORDER, 1) * a | a=A; np.diag(a) * a | a=V; np.diag(a) * a[0, 1] | a=S
np.diagflat(a, 1) * a[0] | a=V; np.diagonal(a, 0, 1, 2) * a[0, 0, 1] | a=C; np.linalg.diagonal(a) * a[0, 0, 1] | a=C
np.tril(a) * a | a=A; np.triu(a, 1) * a | a=A; np.delete(a, 1) * a[1] | a=W; np.resize(a, (2, 2)) * a[1] | a=V
np.copy: written(lambda z, a: z.__setitem__(0, np.copy(z)[1]), V)
np.compress([True, False, True], a, axis=1) * a[0, 1] | a=A; np.extract(MASK, a) * a[0, 1] | a=A
np.choose([0, 1, 0], [a, b]) * a | a=V, b=U; np.append(a, b) * a[0] | a=V, b=U; np.where(a > b, a * b, b) | a=A, b=D
np.where(a > 0.0, a * a, 1.5) | a=A; np.select([a > 1.5, a > 0.0], [a, b], a * b) | a=A, b=D
np.reshape(a, (3, -1)) * a[0, 1] | a=A; np.ravel(a, "F") * a[0, 1] | a=A
np.atleast_1d(a) * np.atleast_1d(x) | a=V, x=0.6; np.atleast_2d(a) * a | a=V; np.atleast_3d(a) * a[0, 1] | a=A
np.broadcast_arrays: np.multiply(*np.broadcast_arrays(a, b)) | a=A, b=V
np.meshgrid: np.multiply(*np.meshgrid(a, b)) | a=V, b=W; np.concatenate([a, b, a]) * a[1] | a=V, b=W
np.concatenate(a, 1) | a=C; np.stack([a, b], axis=1) * a[1] | a=V, b=U
np.block([[a, a], [a, b]]) * a[0, 1] | a=S, b=S.T * 0.7; np.vstack([a, b]) * b | a=A, b=V
np.hstack([a, b]) * a[0] | a=V, b=W; np.dstack([a, b]) * a[0] | a=V, b=U; np.column_stack([a, b]) * a[0, 1] | a=B, b=V
np.insert(a, [1, 3], b[:2]) * a[0] | a=V, b=W; np.ediff1d(a * a, to_end=b) | a=W, b=V; np.pad(a, (1, 2)) * a[0] | a=V
np.pad(a, 1, "reflect") * a[0, 1] | a=A; np.pad(a, (2, 1), constant_values=x) * x | a=V, x=0.6
np.array_split: np.multiply.reduce([x[0] for x in np.array_split(a, 3)]) | a=W
np.split: [x * a[0] for x in np.split(a, [1, 3])] | a=W; np.hsplit: [x * a[0, 1] for x in np.hsplit(a, 3)] | a=A
np.vsplit: [x * a[0, 1] for x in np.vsplit(a, 2)] | a=A; np.dsplit: [x * a[0, 0, 1] for x in np.dsplit(a, 2)] | a=C
np.unstack: np.multiply(*np.unstack(a)) | a=A
# products
np.matmul(a, b) | a=A, b=B; np.matmul: a @ b | a=V, b=U; np.linalg.matmul(a, b) | a=A, b=B; np.dot(a, b) | a=A, b=B
np.dot(a, b) | a=V, b=U; np.dot(x, a) | a=V, x=0.6; np.vdot(a, b) | a=A, b=B.T * 0.7; np.inner(a, b) | a=A, b=V
np.outer(a, b) | a=V, b=W; np.linalg.outer(a, b) | a=V, b=W; np.kron(a, b) | a=S, b=V
np.tensordot(a, b, axes=([0, 1], [1, 0])) | a=A, b=B; np.tensordot(a, b, 1) | a=A, b=V
np.linalg.tensordot(a, b, axes=1) | a=A, b=B; np.matvec(a, b) | a=A, b=V; np.vecmat(b, a) | a=B, b=V
np.vecdot(a, b) | a=A, b=V; np.linalg.vecdot(a, b) | a=A, b=V
np.cross(a, b) | a=A, b=V; np.convolve(a, b, "same") | a=W, b=V; np.correlate(a, b, "full") | a=W, b=V
np.einsum("ij,jk->ik", a, b) | a=A, b=B; np.einsum("i,ij,j", a, b, c) | a=np.array([0.6, 1.7]), b=A, c=V
np.einsum("ii->i", a) * a[0, 1] | a=S
# sampled functions
np.diff(a * a, 2) | a=W; np.diff(a, axis=0, prepend=0.4) * a | a=A; np.gradient(a, h) | a=W, h=0.6
np.gradient(a, np.array([0.0, 0.7, 1.0]), axis=1) | a=A; np.trapezoid(a, x) | a=V, x=U
np.trapezoid(a * a, dx=0.3) | a=A; np.unwrap(3.0 * a, axis=0) * a | a=A; np.bincount([2, 0, 2], a) | a=V
np.interp(x, [-1.0, 0.5, 1.6, 3.0], fp) | x=V, fp=W
np.histogram: [np.histogram(a, [-1.0, 0.5, 1.0, 3.0])[0] * x for x in a] | a=V
np.histogram_bin_edges(a, 3) * a[0] | a=V; np.histogram(a, 2, weights=a * a)[0] | a=V
np.histogram2d: [x * a[0] for x in np.histogram2d(a, b, 2, weights=a * b)] | a=V, b=D
np.histogramdd(a, 2, weights=a[:, 0] * a[:, 1])[0] * a[0, 1] | a=B
# numbers in a logarithmic or complex domain
np.logspace(a, b, 3) * a | a=V[:2], b=W[:2]; np.geomspace(a * a, b * b, 3) * a | a=V[:2], b=W[:2]; np.i0(a) * a | a=V
np.lib.scimath.sqrt(a * a) * a | a=W; np.lib.scimath.log(a * a) * a | a=W; np.lib.scimath.log2(a * a) * a | a=W
np.lib.scimath.log10(a * a) * a | a=W; np.lib.scimath.logn(a * a + 1.0, b * b) | a=V, b=U
np.lib.scimath.power(a * a, b) | a=V, b=U; np.lib.scimath.arccos(a / 3.0) * a | a=V
np.lib.scimath.arcsin(a / 3.0) * a | a=V; np.lib.scimath.arctanh(a / 3.0) * a | a=V
# spectra
np.fft.fft(a).real * a | a=V; np.fft.ifft(a).imag * a | a=V; np.fft.rfft(a, 4).imag + a * a | a=V
np.fft.irfft(a, 3) * a | a=V; np.fft.hfft(a, 3) * a | a=V; np.fft.ihfft(a, 4).real * a | a=V
np.fft.fft2(a).imag * a | a=A; np.fft.ifft2(a).real * a | a=A; np.fft.rfft2(a, (2, 4)).real * a | a=A
np.fft.irfft2(a, (2, 3)) * a | a=A; np.fft.fftn(a, axes=(0,)).real * a | a=A; np.fft.ifftn(a).imag * a | a=A
np.fft.rfftn(a, (2, 4), (0, 1)).imag + a * a | a=A; np.fft.irfftn(a, (2, 3), (0, 1)) * a | a=A
# selection by value
np.max(a, axis=1) * a[0, 1] | a=A; np.amax(a) * a[0, 1] | a=A; np.min(a, axis=0, keepdims=True) * a | a=A
np.amin(a) * a[0, 0] | a=A; np.nanmax(a, axis=1) * a[0, 1] | a=A; np.nanmin(a) * a[0, 0] | a=A
np.sort(a, axis=0) * a | a=A; np.partition(a, 1) * a | a=V; np.median(a, axis=1) * a[0, 1] | a=A
np.median(a) * a[0] | a=W; np.quantile(a, 0.3) * a[0] | a=W; np.percentile(a, [20.0, 70.0], axis=1) * a[0, 1] | a=A
np.nanmedian(a, axis=0) * a[0, 1] | a=A; np.nanquantile(a, 0.3, axis=1, method="hazen") * a[0, 1] | a=A
np.nanpercentile(a, [20.0, 70.0], axis=1) * a[0, 1] | a=A
np.unique(a) * a | a=V
np.unique_values(a) * a | a=V; np.unique_all(a)[0] * a | a=V; np.unique_counts(a)[0] * a | a=V
np.unique_inverse(a)[0] * a | a=V; np.union1d(a, b) * a[0] | a=V, b=U; np.intersect1d(a, a[1:]) * a[0] | a=V
np.setdiff1d(a, b) * a | a=V, b=U; np.setxor1d(a, b) * a[0] | a=V, b=U
# element by element
np.clip(a, -0.6, b) * a | a=A, b=np.array([1.1, 1.6, 1.4]); np.round(a / 10.0, 1) + a * a | a=V
np.round(a * 10.0, -1) + a * a | a=V; np.around(a) + a * a | a=V; np.fix(a) * a | a=V; np.sinc(a) * a | a=V
np.sinc(a / 20.0) | a=V; np.nan_to_num(a) * a | a=V
np.piecewise(a, [a < 0.0, a > 2.0], [lambda x: x * x, 1.5, lambda x: x * x * x]) | a=V; np.real(a) * a | a=V
np.real_if_close(a) * a | a=V; np.imag(a) + a * a | a=V
""")
TABLE = {find_exported_name(e.function) for e in entries() if e.kind in ("rule", "movement", "composite")}
CALLS = [(name, k) for name, calls in EXAMPLES.items() for k in range(len(calls)) if name in TABLE]
