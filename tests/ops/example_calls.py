"""An example call of every NumPy function that contad differentiates, in which inputs are used twice."""

import numpy as np

import contad  # noqa: F401  (registers everything)
from contad.rules.numpy_functions import entries, find_exported_name

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


EXAMPLES = {
    # accumulations and reductions
    "np.cumsum": [(lambda a: np.cumsum(a, axis=1), A), (lambda a: np.cumsum(a), S)],
    "np.cumprod": [(lambda a: np.cumprod(a, axis=0), A), (lambda a: np.cumprod(a), S)],
    "np.sum": [(lambda a: np.sum(a, axis=(0, 2)), C), (lambda a: np.sum(a * a, 1, keepdims=True), A)],
    "np.mean": [(lambda a: np.mean(a, axis=0), A), (lambda a: np.mean(a * a), A)],
    "np.var": [(lambda a: np.var(a, axis=1, ddof=1), A)],
    "np.std": [(lambda a: np.std(a, axis=0, keepdims=True), A)],
    "np.prod": [(lambda a: np.prod(a, axis=1), A), (lambda a: np.prod(a), V)],
    "np.average": [
        (lambda a, w: np.average(a, axis=1, weights=w), A, V),
        (lambda a, w: np.average(a, weights=w), V, np.array([0.4, 1.9, 1.1])),
    ],
    "np.lib.stride_tricks.sliding_window_view": [
        (lambda a: np.lib.stride_tricks.sliding_window_view(a, 2) * a[0], V),
    ],
    "np.trace": [(lambda a: np.trace(a), S), (lambda a: np.trace(a, 0, 1, 2), C)],
    "np.ptp": [(lambda a: np.ptp(a, axis=1), A)],
    "np.cumulative_sum": [(lambda a: np.cumulative_sum(a, axis=1) * a, A)],
    "np.cumulative_prod": [(lambda a: np.cumulative_prod(a, axis=0), A)],
    "np.nansum": [(lambda a: np.nansum(a * a, axis=1), A)],
    "np.nanprod": [(lambda a: np.nanprod(a, axis=1), A)],
    "np.nanmean": [(lambda a: np.nanmean(a * a, axis=0), A)],
    "np.nanvar": [(lambda a: np.nanvar(a, axis=0, ddof=1) * a[0, 0], A)],
    "np.nanstd": [(lambda a: np.nanstd(a, axis=1) * a[0, 0], A)],
    "np.nancumsum": [(lambda a: np.nancumsum(a * a), V)],
    "np.nancumprod": [(lambda a: np.nancumprod(a, axis=1), A)],
    "np.linalg.trace": [(lambda a: np.linalg.trace(a) * a[0, 1], S)],
    # linear algebra: S is regular, P symmetric and positive definite
    "np.linalg.solve": [(lambda a, b: np.linalg.solve(a, b), S, B[:2])],
    "np.linalg.inv": [(lambda a: np.linalg.inv(a), S)],
    "np.linalg.det": [(lambda a: np.linalg.det(a), S)],
    "np.linalg.slogdet": [(lambda a: np.linalg.slogdet(a)[1], S)],
    "np.linalg.tensorsolve": [(lambda a, b: np.linalg.tensorsolve(a, b), S, V[:2])],
    "np.linalg.tensorinv": [(lambda a: np.linalg.tensorinv(a, 1), S)],
    "np.linalg.matrix_power": [(lambda a: np.linalg.matrix_power(a, 3), S)],
    "np.linalg.multi_dot": [(lambda a, b: np.linalg.multi_dot([a, b, a]), A, B)],
    "np.linalg.cholesky": [(lambda a: np.linalg.cholesky(a), P), (lambda a: np.linalg.cholesky(a, upper=True), P)],
    "np.linalg.eigh": [(lambda a: np.linalg.eigh(a)[1] ** 2, P)],
    "np.linalg.eigvalsh": [(lambda a: np.linalg.eigvalsh(a), P)],
    "np.linalg.eig": [(lambda a: np.linalg.eig(a)[1] ** 2, P)],
    "np.linalg.eigvals": [(lambda a: np.linalg.eigvals(a), P)],
    "np.linalg.svd": [(lambda a: np.linalg.svd(a, full_matrices=False)[0] ** 2, A)],
    "np.linalg.svdvals": [(lambda a: np.linalg.svdvals(a), B)],
    "np.linalg.qr": [(lambda a: np.linalg.qr(a)[0], B), (lambda a: np.linalg.qr(a)[1], A)],
    "np.linalg.lstsq": [(lambda a, b: np.linalg.lstsq(a, b)[0], B, V[:3])],
    "np.linalg.pinv": [(lambda a: np.linalg.pinv(a), A)],
    "np.linalg.norm": [(lambda a: np.linalg.norm(a), V), (lambda a: np.linalg.norm(a, "nuc"), A)],
    "np.linalg.vector_norm": [(lambda a: np.linalg.vector_norm(a, axis=0, ord=3), A)],
    "np.linalg.matrix_norm": [(lambda a: np.linalg.matrix_norm(a, ord=2), C)],
    "np.linalg.cond": [(lambda a: np.linalg.cond(a), S)],
    "np.linalg.cross": [(lambda a, b: np.linalg.cross(a, b), V[:3], W[:3])],
    "np.cov": [(lambda a: np.cov(a), A)],
    "np.corrcoef": [(lambda a: np.corrcoef(a)[0, 1], A)],
    "np.polyval": [(lambda p, x: np.polyval(p, x), V[:3], W[:2])],
    "np.polyadd": [(lambda p, q: np.polyadd(p * q[0], q), V[:3], W[:2])],
    "np.polysub": [(lambda p, q: np.polysub(p, p[0] * q), V[:2], W[:3])],
    "np.polymul": [(lambda p, q: np.polymul(p, q), V[:3], W[:2])],
    "np.polydiv": [(lambda p, q: np.polydiv(p, q)[1], np.array([1.3, 0.4, -0.7, 2.1]), W[:3])],
    "np.polyder": [(lambda p: np.polyder(p * p), V)],
    "np.polyint": [(lambda p: np.polyint(p * p, 2, p[:2]), V)],
    "np.polyfit": [(lambda x, y: np.polyfit(x, y, 1), V[:3], W[:3])],
    "np.trim_zeros": [(lambda a: np.trim_zeros(a * np.array([0.0, 1.0, 1.0, 0.0][: a.shape[0]])) * a[1], V)],
    "np.vander": [(lambda a: np.vander(a, 4), V)],
    "np.linspace": [(lambda a, b: np.linspace(a, b, 3) * a, V[:2], W[:2])],
    # arrays like a given one, and assignment
    "np.zeros_like": [(like(np.zeros_like), V)],
    "np.empty_like": [(like(lambda a: np.empty_like(a, shape=(1,))), V)],
    "np.ones_like": [(like(np.ones_like), V)],
    "np.full_like": [(like(lambda a: np.full_like(a, 1.5)), V), (lambda a: np.full_like(a, a[1] * a[1]), V)],
    "np.copyto": [
        written(lambda z, a: np.copyto(z, a[0]), A),
        written(lambda z, a: np.copyto(z, a[0] * a, where=MASK), A),
    ],
    "np.put": [written(lambda z, a: np.put(z, [4, 0, 2], a[0]), A)],
    "np.place": [written(lambda z, a: np.place(z, MASK, a[1]), A)],
    "np.putmask": [written(lambda z, a: np.putmask(z, MASK, a[1]), A)],
    "np.fill_diagonal": [written(lambda z, a: np.fill_diagonal(z, a[1]), S)],
    "np.put_along_axis": [written(lambda z, a: np.put_along_axis(z, ORDER, a[::-1], 1), A)],
    # elements moved
    "np.fft.fftshift": [(lambda a: np.fft.fftshift(a) * a, V)],
    "np.fft.ifftshift": [(lambda a: np.fft.ifftshift(a, axes=1) * a, A)],
    "np.apply_along_axis": [(lambda a: np.apply_along_axis(lambda row: row * row[0], 1, a), A)],
    "np.astype": [(lambda a: np.astype(a * a, np.float64), V)],
    "np.shape": [(lambda a: np.shape(a)[1] * a * a, A)],
    "np.ndim": [(lambda a: np.ndim(a) * a * a, A)],
    "np.size": [(lambda a: np.size(a, 1) * a * a, A)],
    "np.transpose": [(lambda a: np.transpose(a, (2, 0, 1)) * np.transpose(a)[0, 0, 1], C)],
    "np.moveaxis": [(lambda a: np.moveaxis(a, 0, -1) * a[0, 1, 0], C)],
    "np.rollaxis": [(lambda a: np.rollaxis(a, 2, 1) * a[0, 1, 0], C)],
    "np.swapaxes": [(lambda a: np.swapaxes(a, 0, 2) * a[0, 1, 0], C)],
    "np.squeeze": [(lambda a: np.squeeze(a) * a[0, 0, 1], ONE)],
    "np.expand_dims": [(lambda a: np.expand_dims(a, 1) * a, V)],
    "np.matrix_transpose": [(lambda a: np.matrix_transpose(a) * a[0, 1], A)],
    "np.linalg.matrix_transpose": [(lambda a: np.linalg.matrix_transpose(a) * a[0, 1], A)],
    "np.broadcast_to": [(lambda a: np.broadcast_to(a, (2, 3)) * a, V)],
    "np.tile": [(lambda a: np.tile(a, (2, 1)) * a, V)],
    "np.repeat": [(lambda a: np.repeat(a, [2, 0, 1]) * a, V), (lambda a: np.repeat(a, 2, axis=0), A)],
    "np.roll": [(lambda a: np.roll(a, 1, axis=1) * a, A)],
    "np.rot90": [(lambda a: np.rot90(a) * a[0, 1], A)],
    "np.flip": [(lambda a: np.flip(a, 1) * a, A)],
    "np.fliplr": [(lambda a: np.fliplr(a) * a, A)],
    "np.flipud": [(lambda a: np.flipud(a) * a, A)],
    "np.take": [(lambda a: np.take(a, [2, 0, 2]) * a, V), (lambda a: np.take(a, [[1, 0]], axis=1), A)],
    "np.take_along_axis": [(lambda a: np.take_along_axis(a, ORDER, 1) * a, A)],
    "np.diag": [(lambda a: np.diag(a) * a, V), (lambda a: np.diag(a) * a[0, 1], S)],
    "np.diagflat": [(lambda a: np.diagflat(a, 1) * a[0], V)],
    "np.diagonal": [(lambda a: np.diagonal(a, 0, 1, 2) * a[0, 0, 1], C)],
    "np.linalg.diagonal": [(lambda a: np.linalg.diagonal(a) * a[0, 0, 1], C)],
    "np.tril": [(lambda a: np.tril(a) * a, A)],
    "np.triu": [(lambda a: np.triu(a, 1) * a, A)],
    "np.delete": [(lambda a: np.delete(a, 1) * a[1], W)],
    "np.resize": [(lambda a: np.resize(a, (2, 2)) * a[1], V)],
    "np.copy": [written(lambda z, a: z.__setitem__(0, np.copy(z)[1]), V)],
    "np.compress": [(lambda a: np.compress([True, False, True], a, axis=1) * a[0, 1], A)],
    "np.extract": [(lambda a: np.extract(MASK, a) * a[0, 1], A)],
    "np.choose": [(lambda a, b: np.choose([0, 1, 0], [a, b]) * a, V, U)],
    "np.append": [(lambda a, b: np.append(a, b) * a[0], V, U)],
    "np.where": [(lambda a, b: np.where(a > b, a * b, b), A, D), (lambda a: np.where(a > 0.0, a * a, 1.5), A)],
    "np.select": [(lambda a, b: np.select([a > 1.5, a > 0.0], [a, b], a * b), A, D)],
    "np.reshape": [(lambda a: np.reshape(a, (3, -1)) * a[0, 1], A)],
    "np.ravel": [(lambda a: np.ravel(a, "F") * a[0, 1], A)],
    "np.atleast_1d": [(lambda a, x: np.atleast_1d(a) * np.atleast_1d(x), V, 0.6)],
    "np.atleast_2d": [(lambda a: np.atleast_2d(a) * a, V)],
    "np.atleast_3d": [(lambda a: np.atleast_3d(a) * a[0, 1], A)],
    "np.broadcast_arrays": [(lambda a, b: np.multiply(*np.broadcast_arrays(a, b)), A, V)],
    "np.meshgrid": [(lambda a, b: np.multiply(*np.meshgrid(a, b)), V, W)],
    "np.concatenate": [(lambda a, b: np.concatenate([a, b, a]) * a[1], V, W), (lambda a: np.concatenate(a, 1), C)],
    "np.stack": [(lambda a, b: np.stack([a, b], axis=1) * a[1], V, U)],
    "np.block": [(lambda a, b: np.block([[a, a], [a, b]]) * a[0, 1], S, S.T * 0.7)],
    "np.vstack": [(lambda a, b: np.vstack([a, b]) * b, A, V)],
    "np.hstack": [(lambda a, b: np.hstack([a, b]) * a[0], V, W)],
    "np.dstack": [(lambda a, b: np.dstack([a, b]) * a[0], V, U)],
    "np.column_stack": [(lambda a, b: np.column_stack([a, b]) * a[0, 1], B, V)],
    "np.insert": [(lambda a, b: np.insert(a, [1, 3], b[:2]) * a[0], V, W)],
    "np.ediff1d": [(lambda a, b: np.ediff1d(a * a, to_end=b), W, V)],
    "np.pad": [
        (lambda a: np.pad(a, (1, 2)) * a[0], V),
        (lambda a: np.pad(a, 1, "reflect") * a[0, 1], A),
        (lambda a, x: np.pad(a, (2, 1), constant_values=x) * x, V, 0.6),
    ],
    "np.array_split": [(lambda a: np.multiply.reduce([x[0] for x in np.array_split(a, 3)]), W)],
    "np.split": [(lambda a: [x * a[0] for x in np.split(a, [1, 3])], W)],
    "np.hsplit": [(lambda a: [x * a[0, 1] for x in np.hsplit(a, 3)], A)],
    "np.vsplit": [(lambda a: [x * a[0, 1] for x in np.vsplit(a, 2)], A)],
    "np.dsplit": [(lambda a: [x * a[0, 0, 1] for x in np.dsplit(a, 2)], C)],
    "np.unstack": [(lambda a: np.multiply(*np.unstack(a)), A)],
    # products
    "np.matmul": [(lambda a, b: np.matmul(a, b), A, B), (lambda a, b: a @ b, V, U)],
    "np.linalg.matmul": [(lambda a, b: np.linalg.matmul(a, b), A, B)],
    "np.dot": [
        (lambda a, b: np.dot(a, b), A, B),
        (lambda a, b: np.dot(a, b), V, U),
        (lambda a, x: np.dot(x, a), V, 0.6),
    ],
    "np.vdot": [(lambda a, b: np.vdot(a, b), A, B.T * 0.7)],
    "np.inner": [(lambda a, b: np.inner(a, b), A, V)],
    "np.outer": [(lambda a, b: np.outer(a, b), V, W)],
    "np.linalg.outer": [(lambda a, b: np.linalg.outer(a, b), V, W)],
    "np.kron": [(lambda a, b: np.kron(a, b), S, V)],
    "np.tensordot": [
        (lambda a, b: np.tensordot(a, b, axes=([0, 1], [1, 0])), A, B),
        (lambda a, b: np.tensordot(a, b, 1), A, V),
    ],
    "np.linalg.tensordot": [(lambda a, b: np.linalg.tensordot(a, b, axes=1), A, B)],
    "np.vecdot": [(lambda a, b: np.vecdot(a, b), A, V)],
    "np.linalg.vecdot": [(lambda a, b: np.linalg.vecdot(a, b), A, V)],
    "np.cross": [(lambda a, b: np.cross(a, b), A, V)],
    "np.convolve": [(lambda a, b: np.convolve(a, b, "same"), W, V)],
    "np.correlate": [(lambda a, b: np.correlate(a, b, "full"), W, V)],
    "np.einsum": [
        (lambda a, b: np.einsum("ij,jk->ik", a, b), A, B),
        (lambda a, b, c: np.einsum("i,ij,j", a, b, c), np.array([0.6, 1.7]), A, V),
        (lambda a: np.einsum("ii->i", a) * a[0, 1], S),
    ],
    # sampled functions
    "np.diff": [(lambda a: np.diff(a * a, 2), W), (lambda a: np.diff(a, axis=0, prepend=0.4) * a, A)],
    "np.gradient": [
        (lambda a, h: np.gradient(a, h), W, 0.6),
        (lambda a: np.gradient(a, np.array([0.0, 0.7, 1.0]), axis=1), A),
    ],
    "np.trapezoid": [(lambda a, x: np.trapezoid(a, x), V, U), (lambda a: np.trapezoid(a * a, dx=0.3), A)],
    "np.unwrap": [(lambda a: np.unwrap(3.0 * a, axis=0) * a, A)],
    "np.bincount": [(lambda a: np.bincount([2, 0, 2], a), V)],
    "np.interp": [(lambda x, fp: np.interp(x, [-1.0, 0.5, 1.6, 3.0], fp), V, W)],
    "np.histogram": [(lambda a: [np.histogram(a, [-1.0, 0.5, 1.0, 3.0])[0] * x for x in a], V)],
    # selection by value
    "np.max": [(lambda a: np.max(a, axis=1) * a[0, 1], A)],
    "np.amax": [(lambda a: np.amax(a) * a[0, 1], A)],
    "np.min": [(lambda a: np.min(a, axis=0, keepdims=True) * a, A)],
    "np.amin": [(lambda a: np.amin(a) * a[0, 0], A)],
    "np.nanmax": [(lambda a: np.nanmax(a, axis=1) * a[0, 1], A)],
    "np.nanmin": [(lambda a: np.nanmin(a) * a[0, 0], A)],
    "np.sort": [(lambda a: np.sort(a, axis=0) * a, A)],
    "np.partition": [(lambda a: np.partition(a, 1) * a, V)],
    "np.median": [(lambda a: np.median(a, axis=1) * a[0, 1], A), (lambda a: np.median(a) * a[0], W)],
    "np.quantile": [(lambda a: np.quantile(a, 0.3) * a[0], W)],
    "np.percentile": [(lambda a: np.percentile(a, [20.0, 70.0], axis=1) * a[0, 1], A)],
    "np.nanmedian": [(lambda a: np.nanmedian(a, axis=0) * a[0, 1], A)],
    "np.nanquantile": [(lambda a: np.nanquantile(a, 0.3, axis=1, method="hazen") * a[0, 1], A)],
    "np.nanpercentile": [(lambda a: np.nanpercentile(a, [20.0, 70.0], axis=1) * a[0, 1], A)],
    # element by element
    "np.clip": [(lambda a, b: np.clip(a, -0.6, b) * a, A, np.array([1.1, 1.6, 1.4]))],
    "np.round": [(lambda a: np.round(a / 10.0, 1) + a * a, V), (lambda a: np.round(a * 10.0, -1) + a * a, V)],
    "np.around": [(lambda a: np.around(a) + a * a, V)],
    "np.fix": [(lambda a: np.fix(a) * a, V)],
    "np.sinc": [(lambda a: np.sinc(a) * a, V), (lambda a: np.sinc(a / 20.0), V)],
    "np.nan_to_num": [(lambda a: np.nan_to_num(a) * a, V)],
    "np.piecewise": [(lambda a: np.piecewise(a, [a < 0.0, a > 2.0], [lambda x: x * x, 1.5, lambda x: x * x * x]), V)],
    "np.real": [(lambda a: np.real(a) * a, V)],
    "np.real_if_close": [(lambda a: np.real_if_close(a) * a, V)],
    "np.imag": [(lambda a: np.imag(a) + a * a, V)],
}  # fmt: skip
TABLE = {find_exported_name(e.function) for e in entries() if e.kind in ("rule", "movement", "composite")}
CALLS = [(name, k) for name, calls in EXAMPLES.items() for k in range(len(calls)) if name in TABLE]
