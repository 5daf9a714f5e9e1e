"""Linear transforms of real arrays: by cosines and sines (`scipy.fft.dctn`, `dstn`), and the fast Hankel transform.

The transposes of the matrices of cosines and sines are again among them, up to weights of their first or last rows and
columns: types 1 and 4 are symmetric, and type 3 is the transpose of type 2.
"""

import numpy as np

from contad.ops._scipy import fft
from contad.ops.fourier_transforms import resize
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import dtype_beside, float64_only

_TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}
_LINE, _MATRIX = [0.6, 1.7, -0.2, 0.9, -1.3], [[0.6, 1.7, -0.2], [0.9, -1.3, 0.4]]
_POINTS = [
    *(
        (_LINE, {"sine": sine, "type": k, "s": (5,), "axes": (0,), "norm": norm, "orthogonal": is_orthogonal})
        for sine in (False, True)
        for k in (1, 2, 3, 4)
        for norm, is_orthogonal in (("backward", False), ("ortho", True))
    ),
    (_MATRIX, {"sine": False, "type": 2, "s": (4, 2), "axes": (1, 0), "norm": "forward"}),
    (_MATRIX, {"sine": True, "type": 3, "s": (2, 4), "axes": (0, 1), "norm": "ortho", "orthogonal": False}),
]


@array_rule(linear=("x",), points=_POINTS)
def transform_by_cosines(x, *, sine, type, s, axes, norm="backward", orthogonal=False, workers=None):
    """The transform of an array by cosines, or by sines, along axes.

        z_k = c sum_n C_kn x_n, with C_kn = 2 cos(pi (2 n + 1) k / (2 N)) for cosines of type 2, and so on;
        z_dot: the transform of x_dot,     x_bar = c C^T z_bar, the transform of the transposed type, weighted

    Shapes:  x (..., m, ...) -> z (..., N, ...), cut or padded with zeros to the lengths s along the axes.
    Domain:  types 1 to 4; different axes; lengths of at least 1, and 2 for cosines of type 1.
    Cost:    O(n log n), and so is a sweep; saves nothing.
    Ref:     Makhoul (1980), IEEE Transactions on Acoustics, Speech, and Signal Processing 28; scipy.fft.dctn, dstn.

    >>> transform_by_cosines(np.array([1.0, 2.0]), sine=False, type=2, s=(2,), axes=(0,))
    array([ 6.        , -1.41421356])
    """
    function = fft().dstn if sine else fft().dctn
    return function(x, type, s, axes, norm, workers=workers, orthogonalize=orthogonal)


@transform_by_cosines.vjp("x")
def transform_by_cosines_vjp_x(
    z, z_bar, x, *, sine, type, s, axes, norm="backward", orthogonal=False, workers=None
):  # fmt: skip
    return cosine_cotangent(z_bar, np.shape(x), sine, type, s, axes, norm, orthogonal, workers)


def cosine_cotangent(z_bar, shape, sine, type, s, axes, norm, orthogonal, workers):
    """The adjoint of `transform_by_cosines` for an argument of that shape."""
    weights = None if orthogonal else _weights(z_bar, sine, type, axes)
    before = z_bar if weights is None or type == 3 else weights * z_bar
    found = transform_by_cosines(
        before, sine=sine, type=_TRANSPOSED[type], s=s, axes=axes, norm=norm, orthogonal=orthogonal, workers=workers
    )
    return resize(found if weights is None or type == 2 else found / weights, shape)


def _weights(z, sine, type, axes):
    """2 for the rows that SciPy's matrix of this type, or its transpose, has with half the weight of the others.

    They are the first and the last of cosines of type 1, the first of cosines of types 2 and 3, the last of sines of
    types 2 and 3. None where there are no such rows.
    """
    ends = () if type == 4 or (sine and type == 1) else (0, -1) if type == 1 else (-1 if sine else 0,)
    if not ends:
        return None
    along = {axis % np.ndim(z) for axis in axes}
    found = np.ones([n if k in along else 1 for k, n in enumerate(np.shape(z))], dtype_beside(z))
    for axis in axes:
        for end in ends:
            np.moveaxis(found, axis, 0)[end] *= 2.0
    return found


# ---- the Hankel transform --------------------------------------------------------------------------------------------
@array_rule(
    linear=("a",),
    dtypes=float64_only("SciPy transforms in double precision"),
    points=[
        (_LINE, {"dln": 0.2, "mu": 0.5}),
        ([*_LINE, 0.4], {"dln": 0.3, "mu": 1.5, "offset": 0.1, "bias": -0.2, "inverse": True}),
        (_MATRIX, {"dln": 0.3, "mu": 0.0, "bias": 0.4}),
    ],
)
def transform_by_bessels(a, *, dln, mu, offset=0.0, bias=0.0, inverse=False):
    """The fast Hankel transform of a function at points with distances dln of their logarithms; the last axis.

        z_i = sum_j A_ij a_j,     A_ij = w_i w_j c_(i + j),     z_dot = A a_dot,     a_bar = A z_bar:  A is symmetric

    Shapes:  a (..., n) -> z (..., n).
    Domain:  n >= 1; mu, offset and bias as in SciPy, constants.
    Cost:    O(n log n), and so is a sweep; saves nothing.
    Ref:     Hamilton (2000), Monthly Notices of the Royal Astronomical Society 312, appendix B; scipy.fft.fht.

    >>> transform_by_bessels(np.array([1.0, 2.0, 0.5]), dln=0.2, mu=0.5)
    array([1.22137158, 0.37702236, 1.90160606])
    """
    return (fft().ifht if inverse else fft().fht)(a, dln, mu, offset, bias)


@transform_by_bessels.vjp("a")
def transform_by_bessels_vjp_a(z, z_bar, a, *, dln, mu, offset=0.0, bias=0.0, inverse=False):
    return transform_by_bessels(z_bar, dln=dln, mu=mu, offset=offset, bias=bias, inverse=inverse)
