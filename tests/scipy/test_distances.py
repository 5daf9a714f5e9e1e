"""The mirror of scipy.spatial.distance: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.spatial.distance

import contad
import contad.scipy.spatial.distance as mirror
from contad.errors import UnsupportedError
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
X, Y, W = RNG.uniform(0.2, 2.0, (4, 3)), RNG.uniform(0.2, 2.0, (2, 3)), np.array([0.6, 1.3, 0.9])
S = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]])
WEIGHTED = ["euclidean", "sqeuclidean", "cityblock", "minkowski", "canberra", "braycurtis", "cosine", "correlation"]
PLAIN = [*WEIGHTED, "chebyshev", "jensenshannon", "seuclidean", "mahalanobis"]

CASES = {
    **{f"cdist, {name}": (lambda m, x, y, name=name: m.cdist(x, y, name), X, RNG.uniform(0.2, 2.0, (3, 3)))
       for name in PLAIN},
    **{f"pdist, {name}": (lambda m, x, name=name: m.pdist(x, name), RNG.uniform(0.2, 2.0, (5, 3)))
       for name in ("euclidean", "chebyshev", "seuclidean", "mahalanobis")},
    **{f"{name}, weights": (lambda m, u, v, w, name=name: getattr(m, name)(u, v, w=w), X[0], Y[0], W)
       for name in WEIGHTED},
    "minkowski, p": (lambda m, u, v, w, p: m.minkowski(u, v, p, w), X[0], Y[0], W, 3.2),
    "cdist, p": (lambda m, x, y: m.cdist(x, y, "minkowski", p=1.4), X, Y),
    "cdist, scales": (lambda m, x, y, v: m.cdist(x, y, "seuclidean", V=v), X, Y, W),
    "cdist, covariance": (lambda m, x, y, v: m.cdist(x, y, "mahalanobis", VI=v), X, Y, S),
    "cdist, weights": (lambda m, x, y, w: m.cdist(x, y, "cosine", w=w), X, Y, W),
    "mahalanobis": (lambda m, u, v, vi: m.mahalanobis(u, v, vi), X[0], Y[0], S),
    "seuclidean": (lambda m, u, v, w: m.seuclidean(u, v, w), X[0], Y[0], W),
    "jensenshannon, axis": (lambda m, u, v: m.jensenshannon(u, v, 2.0, axis=1, keepdims=True), X[:2], Y),
    "correlation, about 0": (lambda m, u, v: m.correlation(u, v, centered=False), X[0], Y[0]),
    "of a function": (lambda m, x, y: m.cdist(x, y, lambda u, v: np.sum(np.tanh(u - v) ** 2)), X, Y),
    "of SciPy's function": (lambda m, x: m.pdist(x, scipy.spatial.distance.cityblock), X),
    "squareform": (lambda m, x: m.squareform(x), X[:2].ravel()),
    "squareform, back": (lambda m, x: m.squareform(x + x.T, checks=False), RNG.normal(size=(4, 4))),
    "directed_hausdorff": (lambda m, u, v: m.directed_hausdorff(u, v)[0], X, Y),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.spatial.distance, mirror, exact=name != "squareform, back")


@pytest.mark.parametrize("name", ["euclidean", "seuclidean", "mahalanobis", "minkowski", "cityblock", "chebyshev",
                                  "jensenshannon"])  # fmt: skip
def test_equal_rows_have_no_slope(name):
    """The diagonal of cdist(x, x) is 0, and adds nothing to a gradient."""
    options = {"seuclidean": {"V": W}, "mahalanobis": {"VI": S}}.get(name, {})
    whole = contad.grad(lambda x: np.sum(mirror.cdist(x, x, name, **options)))(X)
    pairs = contad.grad(lambda x: 2.0 * np.sum(mirror.pdist(x, name, **options)))(X)
    np.testing.assert_allclose(whole, pairs, rtol=1e-12)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: mirror.cdist(x, Y, "hamming"), UnsupportedError, "metric must be a function or one of"),
    (lambda x: mirror.pdist(x, out=np.zeros(6)), UnsupportedError, "out= is not supported"),
    (lambda x: mirror.cdist(x, Y[:, :2]), ValueError, "same number of columns"),
    (lambda x: mirror.cdist(x[0], Y), ValueError, "XA must be a 2-dimensional array"),
    (lambda x: mirror.pdist(x[0]), ValueError, "2-dimensional"),
    (lambda x: mirror.pdist(x, "euclidean", p=3.0), TypeError, "unexpected keyword"),
    (lambda x: mirror.euclidean(x, x), ValueError, "1-D"),
    (lambda x: mirror.euclidean(x[0], x[1], -W), ValueError, "non-negative"),
    (lambda x: mirror.minkowski(x[0], x[1], -1.0), ValueError, "greater than 0"),
    (lambda x: mirror.squareform(x[0, :2]), ValueError, "[Ii]ncompatible"),
    (lambda x: mirror.squareform(x[:3]), ValueError, "symmetric"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.jvp(call, (X,), (X,))


def test_what_counts_elements_is_refused_by_name():
    with pytest.raises(AttributeError, match="has no hamming, because it has no derivative here"):
        mirror.hamming
