"""Products of a matrix and a vector, or of two vectors, of which something is lanes: the matrix is read once for all.

z = a b,     a_bar += z_bar b^T,     b_bar += a^T z_bar
"""

from typing import Any

from contad.native.lanes import Lanes, LanesType, lanes_among, lanes_zeros
from contad.native.overloads import add_overload


def lanes_product(a: Any, b: Any) -> Any:
    """a @ b, which is lanes."""
    if a.ndim == 1 and b.ndim == 1:
        return sum((a[j] * b[j] for j in range(a.shape[0])), 0.0)
    first = next((x for x in (*a.ravel(), *b.ravel()) if isinstance(x, Lanes)), None)
    if a.ndim == 2:
        z = lanes_zeros((a.shape[0],), 1 if first is None else len(first.numbers))
        for i in range(a.shape[0]):
            z[i] = sum((a[i, j] * b[j] for j in range(a.shape[1])), 0.0)
    else:
        z = lanes_zeros((b.shape[1],), 1 if first is None else len(first.numbers))
        for j in range(b.shape[1]):
            z[j] = sum((a[i] * b[i, j] for i in range(b.shape[0])), 0.0)
    return z


def _left_of_vectors(z_bar: Any, b: Any, a_bar: Any) -> None:
    for j in range(b.shape[0]):
        a_bar[j] += z_bar * b[j]


def _left_of_matrix_times_vector(z_bar: Any, b: Any, a_bar: Any) -> None:
    for i in range(a_bar.shape[0]):
        for j in range(a_bar.shape[1]):
            a_bar[i, j] += z_bar[i] * b[j]


def _left_of_vector_times_matrix(z_bar: Any, b: Any, a_bar: Any) -> None:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            a_bar[i] += b[i, j] * z_bar[j]


def _right_of_matrix_times_vector(z_bar: Any, a: Any, b_bar: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b_bar[j] += a[i, j] * z_bar[i]


def _right_of_vector_times_matrix(z_bar: Any, a: Any, b_bar: Any) -> None:
    for i in range(b_bar.shape[0]):
        for j in range(b_bar.shape[1]):
            b_bar[i, j] += a[i] * z_bar[j]


def _choose_left(b: Any, a_bar: Any) -> Any:
    if a_bar.ndim == 2:
        return _left_of_matrix_times_vector
    return _left_of_vector_times_matrix if b.ndim == 2 else _left_of_vectors


def _choose_right(a: Any, b_bar: Any) -> Any:
    if b_bar.ndim == 2:
        return _right_of_vector_times_matrix
    return _right_of_matrix_times_vector if a.ndim == 2 else _left_of_vectors


def add_lanes_left(z_bar: Any, b: Any, a_bar: Any) -> None:
    """Add to the adjoint of the first factor."""
    _choose_left(b, a_bar)(z_bar, b, a_bar)


def add_lanes_right(z_bar: Any, a: Any, b_bar: Any) -> None:
    """Add to the adjoint of the second factor."""
    _choose_right(a, b_bar)(z_bar, a, b_bar)


# ---- in compiled code ------------------------------------------------------------------------------------------------
@add_overload(add_lanes_left)
def _add_left(z_bar: Any, b: Any, a_bar: Any) -> Any:
    return _bare(_choose_left(b, a_bar))


@add_overload(add_lanes_right)
def _add_right(z_bar: Any, a: Any, b_bar: Any) -> Any:
    chosen = _choose_right(a, b_bar)

    if chosen is _left_of_vectors:

        def of_vectors(z_bar: Any, a: Any, b_bar: Any) -> None:
            for j in range(a.shape[0]):
                b_bar[j] += z_bar * a[j]

        return of_vectors
    return _bare(chosen)


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


def _bare(function: Any) -> Any:
    function.__annotations__ = {}  # which Numba would compare
    return function
