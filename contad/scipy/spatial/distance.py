"""`scipy.spatial.distance` on variables: distances of vectors, and of all pairs of rows of matrices.

Vectors, weights and parameters of metrics may be variables. If nothing is a variable, SciPy's own functions are called.
Metrics that count unequal elements ("hamming", "jaccard" and their kin) have no derivative. Where a distance is zero,
its derivative in a kink is 0.

>>> import contad
>>> contad.grad(lambda x: np.sum(pdist(x)))(np.array([[0.0, 0.0], [3.0, 4.0]]))
array([[-0.6, -0.8],
       [ 0.6,  0.8]])
"""

import functools
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import spatial_distance
from contad.ops.entropies import rel_entr
from contad.scipy.mirroring import as_one, mirror_of, refuse_missing
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Function, Option, Real, Value

__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "directed_hausdorff",
    "euclidean", "jensenshannon", "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip

_mirror = mirror_of(spatial_distance)
_FORMS: dict[str, Function] = {}  # of arrays (..., n) that broadcast


def _metric(form: Function) -> Any:
    """A distance of two vectors, from its formula for the last axis of arrays."""
    _FORMS[form.__name__] = form

    @functools.wraps(form)
    def of_vectors(u: ArrayValue, v: ArrayValue, *args: Value, **options: Value) -> Value:
        u, v = as_one(u), as_one(v)
        if np.ndim(u) != 1 or np.ndim(v) != 1:
            raise ValueError("Input vector should be 1-D.")
        return form(u, v, *args, **options)

    return _mirror(of_vectors)


def _sum(x: ArrayValue, w: ArrayValue | None) -> ArrayValue:
    return np.sum(x if w is None else _weights(w) * x, axis=-1)


def _weights(w: ArrayValue) -> ArrayValue:
    w = as_one(w)
    if np.any(observe(np.less, w, 0.0)):
        raise ValueError("Input weights should be all non-negative")
    return w


def _root(x: ArrayValue, power: Any = 0.5) -> ArrayValue:
    """A root with derivative 0 where x is 0."""
    held = observe(np.equal, x, 0.0)
    return np.where(held, 0.0, np.where(held, 1.0, x) ** power)


# ---- metrics ---------------------------------------------------------------------------------------------------------
@_metric
def euclidean(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """The Euclidean distance of two vectors.

        z = sqrt(sum_i w_i (u_i - v_i)^2),     u_bar_i = z_bar w_i (u_i - v_i) / z

    Shapes:  u, v, w (n,) -> ().
    Domain:  every u and v, w >= 0; the derivative is 0 where u = v.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.euclidean.

    >>> float(euclidean(np.array([1.0, 2.0]), np.array([4.0, 6.0])))
    5.0
    """
    return np.linalg.norm(u - v, axis=-1) if w is None else _root(_sum((u - v) ** 2, w))


@_metric
def sqeuclidean(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """The squared Euclidean distance of two vectors.

        z = sum_i w_i (u_i - v_i)^2,     u_bar_i = 2 z_bar w_i (u_i - v_i)

    Shapes:  u, v, w (n,) -> ().
    Domain:  every u and v, w >= 0.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.sqeuclidean.

    >>> float(sqeuclidean(np.array([1.0, 2.0]), np.array([4.0, 6.0])))
    25.0
    """
    return _sum((u - v) ** 2, w)


@_metric
def cityblock(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """The sum of absolute differences.

        z = sum_i w_i |u_i - v_i|,     u_bar_i = z_bar w_i sign(u_i - v_i)

    Shapes:  u, v, w (n,) -> ().
    Domain:  every u and v, w >= 0; a kink where u_i = v_i.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.cityblock.

    >>> float(cityblock(np.array([1.0, 2.0]), np.array([4.0, 6.0])))
    7.0
    """
    return _sum(np.abs(u - v), w)


@_metric
def chebyshev(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """The largest absolute difference, among elements with a positive weight.

        z = max_i |u_i - v_i|,     u_bar_i = z_bar sign(u_i - v_i) at the largest

    Shapes:  u, v, w (n,) -> ().
    Domain:  every u and v; a kink where several differences are largest, which share the derivative.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.chebyshev.

    >>> float(chebyshev(np.array([1.0, 2.0]), np.array([4.0, 6.0])))
    4.0
    """
    d = np.abs(u - v)
    return np.max(d if w is None else observe(np.greater, _weights(w), 0.0) * d, axis=-1)


@_metric
def minkowski(u: ArrayValue, v: ArrayValue, p: Real = 2, w: ArrayValue | None = None) -> ArrayValue:
    """The p-norm of a difference; p may be a variable.

        z = (sum_i w_i |u_i - v_i|^p)^(1/p),     u_bar_i = z_bar w_i sign(u_i - v_i) (|u_i - v_i| / z)^(p - 1)

    Shapes:  u, v, w (n,) -> ().
    Domain:  every u and v, p > 0, w >= 0; the derivative is 0 where u = v.
    Raises:  ValueError for other shapes, negative weights and p that is not positive.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.minkowski.

    >>> round(float(minkowski(np.array([1.0, 2.0]), np.array([2.0, 4.0]), 3)), 6)
    2.080084
    """
    if not p > 0:
        raise ValueError("p must be greater than 0")
    if observe(np.equal, p, np.inf):
        return _FORMS["chebyshev"](u, v, w)
    return _root(_sum(np.abs(u - v) ** p, w), 1.0 / p)


@_metric
def canberra(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """The sum of relative differences.

        z = sum_i w_i |u_i - v_i| / (|u_i| + |v_i|),     0 / 0 = 0

    Shapes:  u, v, w (n,) -> ().
    Domain:  every u and v, w >= 0; a kink where u_i = v_i.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.canberra.

    >>> float(canberra(np.array([1.0, 2.0]), np.array([3.0, 6.0])))
    1.0
    """
    size = np.abs(u) + np.abs(v)
    return _sum(np.abs(u - v) / np.where(observe(np.equal, size, 0.0), 1.0, size), w)


@_metric
def braycurtis(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """The sum of absolute differences, relative to that of sums.

        z = sum_i w_i |u_i - v_i| / sum_i w_i |u_i + v_i|

    Shapes:  u, v, w (n,) -> ().
    Domain:  u and v that are not opposite, w >= 0; a kink where u_i = v_i or u_i = -v_i.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.braycurtis.

    >>> float(braycurtis(np.array([1.0, 2.0]), np.array([3.0, 6.0])))
    0.5
    """
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


@_metric
def cosine(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None) -> ArrayValue:
    """1 minus the cosine of the angle of two vectors.

        z = 1 - u.v / (|u| |v|),     u.v = sum_i w_i u_i v_i

    Shapes:  u, v, w (n,) -> ().
    Domain:  u and v that are not 0, w >= 0.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.cosine.

    >>> round(float(cosine(np.array([1.0, 0.0]), np.array([3.0, 4.0]))), 6)
    0.4
    """
    return 1.0 - _sum(u * v, w) / np.sqrt(_sum(u * u, w) * _sum(v * v, w))


@_metric
def correlation(u: ArrayValue, v: ArrayValue, w: ArrayValue | None = None, centered: bool = True) -> ArrayValue:
    """1 minus the correlation of two vectors.

        z = `cosine` of u - mean(u) and v - mean(v); the means are weighted

    Shapes:  u, v, w (n,) -> ().
    Domain:  u and v that are not constant, w >= 0.
    Raises:  ValueError for other shapes and negative weights.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.correlation.

    >>> round(float(correlation(np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]))), 6)
    1.5
    """
    if centered:
        share = np.full(np.shape(u)[-1:], 1.0 / np.shape(u)[-1]) if w is None else _weights(w) / np.sum(_weights(w))
        u, v = (x - np.sum(share * x, axis=-1, keepdims=True) for x in (u, v))
    return _FORMS["cosine"](u, v, w)


@_metric
def seuclidean(u: ArrayValue, v: ArrayValue, V: ArrayValue) -> ArrayValue:
    """The Euclidean distance in units of standard deviations.

        z = sqrt(sum_i (u_i - v_i)^2 / V_i)

    Shapes:  u, v, V (n,) -> ().
    Domain:  every u and v, V > 0; the derivative is 0 where u = v.
    Raises:  ValueError for other shapes.
    Cost:    O(n).
    Ref:     scipy.spatial.distance.seuclidean.

    >>> round(float(seuclidean(np.array([1.0, 2.0]), np.array([4.0, 6.0]), np.array([9.0, 16.0]))), 6)
    1.414214
    """
    return _root(np.sum((u - v) ** 2 / as_one(V), axis=-1))


@_metric
def mahalanobis(u: ArrayValue, v: ArrayValue, VI: ArrayValue) -> ArrayValue:
    """The distance by the inverse of a covariance.

        z = sqrt((u - v)^T VI (u - v)),     u_bar = z_bar (VI + VI^T) (u - v) / (2 z)

    Shapes:  u, v (n,), VI (n, n) -> ().
    Domain:  every u and v, VI positive definite; the derivative is 0 where u = v.
    Raises:  ValueError for other shapes.
    Cost:    O(n^2).
    Ref:     scipy.spatial.distance.mahalanobis.

    >>> round(float(mahalanobis(np.array([1.0, 2.0]), np.array([4.0, 6.0]), np.diag([1.0 / 9.0, 1.0 / 16.0]))), 6)
    1.414214
    """
    d = u - v
    return _root(np.sum(np.matmul(d, as_one(VI)) * d, axis=-1))


@_mirror
def jensenshannon(
    p: ArrayValue, q: ArrayValue, base: Real | None = None, *, axis: int = 0, keepdims: bool = False
) -> ArrayValue:
    """The square root of the divergence of Jensen and Shannon of two distributions, which are scaled to sums of 1.

        z = sqrt((D(p, m) + D(q, m)) / (2 log base)),     m = (p + q) / 2,     D(p, m) = sum_i p_i log(p_i / m_i)

    Shapes:  p, q (..., n, ...) with n in `axis` -> (...).
    Domain:  p and q >= 0 with a positive sum; base e if there is none.
    Cost:    O(n).
    Ref:     Lin (1991), IEEE Transactions on Information Theory 37; scipy.spatial.distance.jensenshannon.

    >>> round(float(jensenshannon(np.array([1.0, 0.0]), np.array([0.5, 0.5]))), 6)
    0.464501
    """
    p, q = as_one(p), as_one(q)
    p, q = p / np.sum(p, axis=axis, keepdims=True), q / np.sum(q, axis=axis, keepdims=True)
    m = 0.5 * (p + q)
    found = np.sum(rel_entr(p, m) + rel_entr(q, m), axis=axis, keepdims=keepdims)
    return _root(0.5 * found if base is None else 0.5 * found / np.log(base))


_FORMS["jensenshannon"] = lambda u, v: jensenshannon.implementation(u, v, axis=-1)


# ---- all pairs -------------------------------------------------------------------------------------------------------
def _measure(name: str, u: ArrayValue, v: ArrayValue, rows: list[ArrayValue], metric: Any, options: Any) -> ArrayValue:
    """The distances of arrays (..., n); `rows` are the matrices that give the default scales."""
    if options.pop("out", None) is not None:
        raise UnsupportedError(f"contad.scipy.spatial.distance.{name}: out= is not supported on variables")
    key = metric.lower() if isinstance(metric, str) else getattr(metric, "__name__", "")
    own = metric in (getattr(spatial_distance(), key, None), globals().get(key)) if callable(metric) else True
    if key not in _FORMS or not own:
        if callable(metric):
            pairs = [np.reshape(x, (-1, np.shape(x)[-1])) for x in np.broadcast_arrays(u, v)]
            values = [metric(*pair, **options) for pair in zip(*pairs, strict=True)]
            return np.reshape(np.stack(values), np.broadcast_shapes(np.shape(u), np.shape(v))[:-1])
        raise UnsupportedError(
            f"contad.scipy.spatial.distance.{name}: on variables metric must be a function or one of "
            f"{', '.join(_FORMS)}, got {metric!r}"
        )
    every: Any = np.concatenate(rows) if key in ("seuclidean", "mahalanobis") else None
    if key == "seuclidean" and options.get("V") is None:
        options["V"] = np.var(every, axis=0, ddof=1)
    if key == "mahalanobis" and options.get("VI") is None:
        options["VI"] = np.linalg.inv(np.cov(np.transpose(every)))
    return _FORMS[key](u, v, **options)


@_mirror
def cdist(XA: ArrayValue, XB: ArrayValue, metric: Any = "euclidean", **options: Option) -> ArrayValue:
    """The distances of all rows of one matrix from all rows of another.

        z_ij = d(XA_i, XB_j)

    metric is the name of a metric of this module or a function of two vectors; options are its own (w, p, V, VI,
    centered). Without V or VI, these come from the rows of both matrices and carry their derivative.

    Shapes:  XA (m, n), XB (k, n) -> (m, k).
    Domain:  that of the metric.
    Raises:  ValueError for shapes that do not fit; UnsupportedError on variables for metrics without a derivative.
    Cost:    O(m k n) operations and memory.
    Ref:     scipy.spatial.distance.cdist.

    >>> cdist(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[5.],
           [4.]])
    """
    XA, XB = as_one(XA), as_one(XB)
    for label, x in (("XA", XA), ("XB", XB)):
        if np.ndim(x) != 2:
            raise ValueError(f"{label} must be a 2-dimensional array.")
    if np.shape(XA)[1] != np.shape(XB)[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return _measure("cdist", XA[:, None, :], XB[None, :, :], [XA, XB], metric, options)


@_mirror
def pdist(X: ArrayValue, metric: Any = "euclidean", **options: Option) -> ArrayValue:
    """The distances of all pairs of rows of a matrix, in the order of `squareform`.

        z_(i, j) = d(X_i, X_j) for i < j

    metric and options are those of `cdist`.

    Shapes:  X (m, n) -> (m (m - 1) / 2,).
    Domain:  that of the metric.
    Raises:  ValueError if X is no matrix; UnsupportedError on variables for metrics without a derivative.
    Cost:    O(m^2 n) operations and memory.
    Ref:     scipy.spatial.distance.pdist.

    >>> pdist(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]))
    array([3., 5., 4.])
    """
    X = as_one(X)
    if np.ndim(X) != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    i, j = np.triu_indices(np.shape(X)[0], 1)
    return _measure("pdist", X[i], X[j], [X], metric, options)


@_mirror
def squareform(X: ArrayValue, force: str = "no", checks: bool = True) -> ArrayValue:
    """The symmetric matrix of a vector of distances, or the vector of such a matrix.

        z_ij = z_ji = x_(i, j) for i < j, z_ii = 0, or the reverse

    Shapes:  X (m (m - 1) / 2,) -> (m, m), or the reverse.
    Domain:  a matrix must be symmetric, with zeros in its diagonal, unless checks is False.
    Raises:  ValueError for other lengths, shapes and matrices, and if force is the other form.
    Cost:    O(m^2).
    Ref:     scipy.spatial.distance.squareform.

    >>> squareform(np.array([3.0, 5.0, 4.0]))
    array([[0., 3., 5.],
           [3., 0., 4.],
           [5., 4., 0.]])
    """
    X = as_one(X)
    m = observe(lambda x: len(spatial_distance().squareform(x, force, checks)), X)  # SciPy checks the argument
    if np.ndim(X) == 2:
        return X[np.triu_indices(np.shape(X)[0], 1)]
    places = np.full((m, m), np.size(X))
    i, j = np.triu_indices(m, 1)
    places[i, j] = places[j, i] = np.arange(np.size(X))
    return np.concatenate([X, np.zeros(1)])[places]


@_mirror
def directed_hausdorff(u: ArrayValue, v: ArrayValue, rng: Option = 0) -> tuple[ArrayValue, int, int]:
    """(z, i, j): the largest distance of a row of u from its nearest row of v, and the places of these rows.

        z = max_i min_j |u_i - v_j|,     u_bar_i = z_bar (u_i - v_j) / z

    Shapes:  u (m, n), v (k, n) -> ().
    Domain:  every u and v; a kink where several pairs have this distance.
    Raises:  ValueError for different numbers of columns.
    Cost:    O(m k n) at most.
    Ref:     scipy.spatial.distance.directed_hausdorff.

    >>> directed_hausdorff(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[3.0, 4.0]]))
    (5.0, 0, 0)
    """
    u, v = as_one(u), as_one(v)
    i, j = observe(lambda u, v: spatial_distance().directed_hausdorff(u, v, rng)[1:], u, v)
    return np.linalg.norm(u[i] - v[j]), i, j


def __getattr__(name: str) -> Any:
    refuse_missing(__name__, spatial_distance, name)
