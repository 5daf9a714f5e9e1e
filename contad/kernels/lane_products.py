"""Matrix products with lanes in one operand: a factor of plain numbers is read once for all lanes.

z = a b,     a_bar += z_bar b^T,     b_bar += a^T z_bar

A zero in z_bar masks an infinity or nan in the other factor, lane by lane, as in `add_left`.
"""

from typing import Any

import numpy as np

from contad.compile.overloads import add_overload, in_machine_code
from contad.kernels.lanes import Lanes, LanesType, as_floats, lane_view, lanes_among, lanes_zeros, numbers_of
from contad.kernels.rows.product_rows import add_left, add_right


# ---- in plain Python -------------------------------------------------------------------------------------------------
def lanes_product(a: Any, b: Any) -> Any:
    """a @ b, as lanes."""
    x, y = a if a.ndim == 2 else a[None], b if b.ndim == 2 else b[:, None]
    count = next((len(v.numbers) for v in (*x.ravel(), *y.ravel()) if isinstance(v, Lanes)), 1)
    z = lanes_zeros((x.shape[0], y.shape[1]), count)
    for i, j, k in np.ndindex(*z.shape, x.shape[1]):
        z[i, j] = z[i, j] + x[i, k] * y[k, j]
    shape = a.shape[:-1] + b.shape[1:]
    return z.reshape(shape) if shape else z[0, 0]


def add_lanes_left(z_bar: Any, b: Any, a_bar: Any) -> None:
    """Add to the adjoint of the first factor."""
    bar, y = a_bar if a_bar.ndim == 2 else a_bar[None], b if b.ndim == 2 else b[:, None]
    _add_masked(np.reshape(z_bar, (bar.shape[0], y.shape[1])), y.T, bar)


def add_lanes_right(z_bar: Any, a: Any, b_bar: Any) -> None:
    """Add to the adjoint of the second factor."""
    bar, x = b_bar if b_bar.ndim == 2 else b_bar[:, None], a if a.ndim == 2 else a[None]
    _add_masked(np.reshape(z_bar, (x.shape[0], bar.shape[1])).T, x, bar.T)


def _add_masked(d: Any, p: Any, c: Any) -> None:
    """c += d p; p and c may be single rows, in which case d is a number or a column."""
    for i, k, j in np.ndindex(*c.shape, p.shape[0]):
        c[i, k] = c[i, k] + _mask(d[i, j], p[j, k])


def _mask(d: Any, p: Any) -> Any:
    """d p, 0 where d is 0."""
    of_d, of_p = np.broadcast_arrays(numbers_of(d), numbers_of(p))
    found = np.multiply(of_d, of_p, out=np.zeros(of_d.shape), where=of_d != 0.0)
    return Lanes(found) if isinstance(d, Lanes) or isinstance(p, Lanes) else float(found)


# ---- in compiled code ------------------------------------------------------------------------------------------------
def _is_finite(x: Any) -> Any:
    """Whether no element of an array of numbers or lanes is infinite or nan."""
    return all(np.all(np.isfinite(numbers_of(e))) for e in np.ravel(x))


@add_overload(_is_finite)
def _is_finite_of(x: Any) -> Any:
    if isinstance(x.dtype, LanesType):
        return lambda x: _is_finite(as_floats(x))
    if x.ndim == 1:

        def of_vector(x: Any) -> Any:
            total = 0.0
            for i in range(x.shape[0]):
                total += 0.0 * x[i]
            return total == 0.0

        return of_vector

    def of_rows(x: Any) -> Any:
        for i in range(x.shape[0]):  # noqa: SIM110  (Numba has no generators)
            if not _is_finite(x[i]):
                return False
        return True

    return of_rows


@in_machine_code
def _add_matrices(x, y, z):  # type: ignore[no-untyped-def]
    """z += x y, for matrices of numbers and lanes; z has lanes.

    Unroll-and-jam: four rows read y once.
    """
    together = x.shape[0] // 4 * 4
    for i in range(0, together, 4):
        for j in range(y.shape[1]):
            z_0, z_1, z_2, z_3 = z[i, j], z[i + 1, j], z[i + 2, j], z[i + 3, j]
            for k in range(y.shape[0]):
                z_0 += x[i, k] * y[k, j]
                z_1 += x[i + 1, k] * y[k, j]
                z_2 += x[i + 2, k] * y[k, j]
                z_3 += x[i + 3, k] * y[k, j]
            z[i, j], z[i + 1, j], z[i + 2, j], z[i + 3, j] = z_0, z_1, z_2, z_3
    for i in range(together, x.shape[0]):
        for j in range(y.shape[1]):
            total = z[i, j]
            for k in range(y.shape[0]):
                total += x[i, k] * y[k, j]
            z[i, j] = total


def _zeros_like(x: Any) -> Any:
    """Lanes that are 0, in the shape of others."""
    return 0.0 * x


@add_overload(_zeros_like)
def _zeros_like_of(x: Any) -> Any:
    count = x.dtype.count
    return lambda x: lanes_zeros(x.shape, count)


@in_machine_code
def _add_by_lanes(d, p, c):  # type: ignore[no-untyped-def]
    for k in range(as_floats(c).shape[-1]):
        add_left(lane_view(d, k), lane_view(p, k).T, lane_view(c, k))


@in_machine_code
def _add_row(d, p, c):  # type: ignore[no-untyped-def]
    if _is_finite(p):
        for j in range(p.shape[0]):
            c[j] += d * p[j]
    else:
        _add_by_lanes(d, p, c)


@in_machine_code
def _add_outer(d, p, c):  # type: ignore[no-untyped-def]
    if _is_finite(p):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] += d[i] * p[j]
    else:
        _add_by_lanes(d, p, c)


def _multiply_row(d: Any, p: Any, z: Any) -> None:
    """z += d p, in the memory order of p."""
    z += lanes_product(d, p)


@add_overload(_multiply_row, inline="always")
def _multiply_row_of(d: Any, p: Any, z: Any) -> Any:
    def by_columns(d: Any, p: Any, z: Any) -> None:
        for j in range(p.shape[1]):
            total = z[j]
            for i in range(p.shape[0]):
                total += p[i, j] * d[i]
            z[j] = total

    def by_rows(d: Any, p: Any, z: Any) -> None:
        for i in range(p.shape[0]):
            for j in range(p.shape[1]):
                z[j] += p[i, j] * d[i]

    return by_columns if p.layout == "F" else by_rows


@in_machine_code
def _add_row_times_matrix(d, p, c):  # type: ignore[no-untyped-def]
    made = _zeros_like(c)
    _multiply_row(d, p, made)
    if _is_finite(made):
        for j in range(c.shape[0]):
            c[j] += made[j]
    else:
        _add_by_lanes(d, p, c)


@in_machine_code
def _add_matrix(d, p, c):  # type: ignore[no-untyped-def]
    if _is_finite(p):
        _add_matrices(d, p, c)
    else:
        _add_by_lanes(d, p, c)


@add_overload(_add_masked, inline="always")
def _add_masked_of(d: Any, p: Any, c: Any) -> Any:
    if c.ndim == 2:
        return _add_matrix if p.ndim == 2 else _add_outer
    return _add_row_times_matrix if p.ndim == 2 else _add_row


@add_overload(add_lanes_left)
def _add_left(d: Any, p: Any, c: Any) -> Any:
    if not isinstance(c.dtype, LanesType):
        return lambda d, p, c: add_left(d, p, c)  # noqa: PLW0108  (which is emitted, not compiled)
    if p.ndim == 1:
        return _add_masked_of(d, p, c)
    return lambda d, p, c: _add_masked(d, p.T, c)


@add_overload(add_lanes_right)
def _add_right(d: Any, p: Any, c: Any) -> Any:
    if not isinstance(c.dtype, LanesType):
        return lambda d, p, c: add_right(d, p, c)  # noqa: PLW0108
    if c.ndim == 1:
        return _add_masked_of(d, p, c)
    if p.ndim == 1:
        return lambda d, p, c: _add_masked(d, p, c.T)
    return lambda d, p, c: _add_masked(d.T, p, c.T)


@add_overload(lanes_product)
def _product(a: Any, b: Any) -> Any:
    kind = lanes_among((a.dtype, b.dtype))
    if not isinstance(kind, LanesType):
        return None
    count = kind.count
    if a.ndim == 1 and b.ndim == 1:

        def of_vectors(a: Any, b: Any) -> Any:
            total = a[0] * b[0] if a.shape[0] else lanes_zeros((1,), count)[0]
            for j in range(1, a.shape[0]):
                total += a[j] * b[j]
            return total

        return of_vectors
    if a.ndim == 2 and b.ndim == 2:

        def of_matrices(a: Any, b: Any) -> Any:
            z = lanes_zeros((a.shape[0], b.shape[1]), count)
            _add_matrices(a, b, z)
            return z

        return of_matrices

    if a.ndim == 2:

        def of_matrix_and_vector(a: Any, b: Any) -> Any:
            z = lanes_zeros((a.shape[0],), count)
            _multiply_row(b, a.T, z)
            return z

        return of_matrix_and_vector

    def of_vector_and_matrix(a: Any, b: Any) -> Any:
        z = lanes_zeros((b.shape[1],), count)
        _multiply_row(a, b, z)
        return z

    return of_vector_and_matrix
