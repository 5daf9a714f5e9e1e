"""Products of matrices and vectors of which something is lanes: what is numbers is read once for all.

z = a b,     a_bar += z_bar b^T,     b_bar += a^T z_bar

A zero of z_bar masks what is infinite or nan in the other factor, lane by lane, as that of `add_left` does.
"""

from typing import Any

import numpy as np

from contad.native.lane_matrices import SMALL, add_by_loops, add_numbers_times_lanes
from contad.native.lanes import Lanes, LanesType, as_floats, lane_view, lanes_among, lanes_zeros, numbers_of
from contad.native.overloads import add_overload, in_machine_code
from contad.native.product_adjoints import add_left, add_right


# ---- in plain Python -------------------------------------------------------------------------------------------------
def lanes_product(a: Any, b: Any) -> Any:
    """a @ b, which is lanes."""
    x, y = a if a.ndim == 2 else a[None], b if b.ndim == 2 else b[:, None]
    count = next((len(v.numbers) for v in (*x.ravel(), *y.ravel()) if isinstance(v, Lanes)), 1)
    z = lanes_zeros((x.shape[0], y.shape[1]), count)
    for i, j, k in np.ndindex(*z.shape, x.shape[1]):
        z[i, j] = z[i, j] + x[i, k] * y[k, j]
    shape = a.shape[:-1] + b.shape[1:]
    return z.reshape(shape) if shape else z[0, 0]


def add_lanes_left(z_bar: Any, b: Any, a_bar: Any) -> None:
    """Add to the adjoint of the first factor."""
    z = np.reshape(z_bar, (a_bar.shape[0] if a_bar.ndim == 2 else 1, b.shape[1] if b.ndim == 2 else 1))
    y, bar = b if b.ndim == 2 else b[:, None], a_bar if a_bar.ndim == 2 else a_bar[None]
    for i, k, j in np.ndindex(*bar.shape, z.shape[1]):
        bar[i, k] = bar[i, k] + _mask(z[i, j], y[k, j])


def add_lanes_right(z_bar: Any, a: Any, b_bar: Any) -> None:
    """Add to the adjoint of the second factor."""
    z = np.reshape(z_bar, (a.shape[0] if a.ndim == 2 else 1, b_bar.shape[1] if b_bar.ndim == 2 else 1))
    x, bar = a if a.ndim == 2 else a[None], b_bar if b_bar.ndim == 2 else b_bar[:, None]
    for k, j, i in np.ndindex(*bar.shape, z.shape[0]):
        bar[k, j] = bar[k, j] + _mask(z[i, j], x[i, k])


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


def _add_matrices(x: Any, y: Any, z: Any) -> None:
    """z += x y, of matrices, of which z is lanes."""
    z += lanes_product(x, y)


@add_overload(_add_matrices)
def _add_matrices_of(x: Any, y: Any, z: Any) -> Any:
    of_x, of_y = (isinstance(t.dtype, LanesType) for t in (x, y))
    if of_x == of_y:
        return add_by_loops

    def with_lanes_second(x: Any, y: Any, z: Any) -> None:
        if x.shape[0] * x.shape[1] * y.shape[1] <= SMALL:
            add_by_loops(x, y, z)
        else:
            add_numbers_times_lanes(x, as_floats(y), as_floats(z))

    def with_lanes_first(x: Any, y: Any, z: Any) -> None:
        if x.shape[0] * x.shape[1] * y.shape[1] <= SMALL:
            add_by_loops(x, y, z)
        else:
            add_numbers_times_lanes(y.T, as_floats(x.T), as_floats(z.T))

    return with_lanes_second if of_y else with_lanes_first


def _zeros_like(x: Any) -> Any:
    """Lanes that are 0, in the shape of others."""
    return 0.0 * x


@add_overload(_zeros_like)
def _zeros_like_of(x: Any) -> Any:
    count = x.dtype.count
    return lambda x: lanes_zeros(x.shape, count)


@in_machine_code
def _add_left_by_lanes(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    for k in range(as_floats(a_bar).shape[-1]):
        add_left(lane_view(z_bar, k), lane_view(b, k), lane_view(a_bar, k))


@in_machine_code
def _add_right_by_lanes(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    for k in range(as_floats(b_bar).shape[-1]):
        add_right(lane_view(z_bar, k), lane_view(a, k), lane_view(b_bar, k))


@in_machine_code
def _left_of_vectors(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    if _is_finite(b):
        for j in range(b.shape[0]):
            a_bar[j] += z_bar * b[j]
    else:
        _add_left_by_lanes(z_bar, b, a_bar)


@in_machine_code
def _left_of_matrix_times_vector(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    if _is_finite(b):
        for i in range(a_bar.shape[0]):
            for j in range(a_bar.shape[1]):
                a_bar[i, j] += z_bar[i] * b[j]
    else:
        _add_left_by_lanes(z_bar, b, a_bar)


@in_machine_code
def _left_of_vector_times_matrix(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    made = _zeros_like(a_bar)
    for i in range(b.shape[0]):
        total = made[i]
        for j in range(b.shape[1]):
            total += b[i, j] * z_bar[j]
        made[i] = total
    if _is_finite(made):
        for i in range(b.shape[0]):
            a_bar[i] += made[i]
    else:
        _add_left_by_lanes(z_bar, b, a_bar)


@in_machine_code
def _left_of_matrices(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    if _is_finite(b):
        _add_matrices(z_bar, b.T, a_bar)
    else:
        _add_left_by_lanes(z_bar, b, a_bar)


@in_machine_code
def _right_of_vectors(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    if _is_finite(a):
        for j in range(a.shape[0]):
            b_bar[j] += z_bar * a[j]
    else:
        _add_right_by_lanes(z_bar, a, b_bar)


@in_machine_code
def _right_of_vector_times_matrix(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    if _is_finite(a):
        for i in range(b_bar.shape[0]):
            for j in range(b_bar.shape[1]):
                b_bar[i, j] += a[i] * z_bar[j]
    else:
        _add_right_by_lanes(z_bar, a, b_bar)


@in_machine_code
def _right_of_matrix_times_vector(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    made = _zeros_like(b_bar)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[j] += a[i, j] * z_bar[i]
    if _is_finite(made):
        for j in range(a.shape[1]):
            b_bar[j] += made[j]
    else:
        _add_right_by_lanes(z_bar, a, b_bar)


@in_machine_code
def _right_of_matrices(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    if _is_finite(a):
        _add_matrices(a.T, z_bar, b_bar)
    else:
        _add_right_by_lanes(z_bar, a, b_bar)


@add_overload(add_lanes_left)
def _add_left(z_bar: Any, b: Any, a_bar: Any) -> Any:
    if not isinstance(a_bar.dtype, LanesType):
        return lambda z_bar, b, a_bar: add_left(z_bar, b, a_bar)  # noqa: PLW0108  (which is emitted, not compiled)
    if a_bar.ndim == 2:
        chosen = _left_of_matrices if b.ndim == 2 else _left_of_matrix_times_vector
    else:
        chosen = _left_of_vector_times_matrix if b.ndim == 2 else _left_of_vectors
    return chosen


@add_overload(add_lanes_right)
def _add_right(z_bar: Any, a: Any, b_bar: Any) -> Any:
    if not isinstance(b_bar.dtype, LanesType):
        return lambda z_bar, a, b_bar: add_right(z_bar, a, b_bar)  # noqa: PLW0108
    if b_bar.ndim == 2:
        chosen = _right_of_matrices if a.ndim == 2 else _right_of_vector_times_matrix
    else:
        chosen = _right_of_matrix_times_vector if a.ndim == 2 else _right_of_vectors
    return chosen


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
            for i in range(a.shape[0]):
                total = z[i]
                for j in range(a.shape[1]):
                    total += a[i, j] * b[j]
                z[i] = total
            return z

        return of_matrix_and_vector

    def of_vector_and_matrix(a: Any, b: Any) -> Any:
        z = lanes_zeros((b.shape[1],), count)
        for i in range(b.shape[0]):
            for j in range(b.shape[1]):
                z[j] += a[i] * b[i, j]
        return z

    return of_vector_and_matrix
