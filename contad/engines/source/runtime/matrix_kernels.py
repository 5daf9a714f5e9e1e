"""Kernels of matrix functions that have no row in `contad.kernels.rows`, written by hand.

The tangents of eigenvalues and singular values take the values themselves as operands without a derivative. The norm
calls BLAS, and has derivative 0 at its kink.
"""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.kernels_by_lanes import forward_by_lanes, reverse_by_lanes
from contad.engines.source.runtime.row_kernels import bar_of
from contad.engines.source.runtime.workspace import grow, kept_matrix
from contad.kernels.matrix_loops import (
    add_scaled,
    is_zero,
    take_column,
    write_column,
    write_into,
)
from contad.kernels.spectral_kernels import (
    add_eigh,
    add_eigh_along,
    add_svd,
    add_svd_along,
    eigh_along,
    svd_along,
)


# ---- kept values -----------------------------------------------------------------------------------------------------
@in_machine_code
def make_room(rows, columns, work, top):  # type: ignore[no-untyped-def]
    """Push a matrix for the caller to fill; it is valid until the next push."""
    first, top = top, top + rows * columns
    work = grow(work, top)
    return kept_matrix(work, first, rows, columns), work, top


@in_machine_code
def keep(x, work, top):  # type: ignore[no-untyped-def]
    """Push the elements of a matrix."""
    room, work, top = make_room(x.shape[0], x.shape[1], work, top)
    write_into(room, x)
    return work, top


@in_machine_code
def take(rows, columns, work, top):  # type: ignore[no-untyped-def]
    """Pop a matrix."""
    first = top - rows * columns
    return kept_matrix(work, first, rows, columns), first


# ---- tangents of eigenvalues and singular values ---------------------------------------------------------------------
@forward_kernel("w_dot v_dot")
def forward_eigh_along(a, a_dot, w, v, again, w_dot, v_dot, work, top):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and eigenvectors; keeps both, and the direction."""
    of_values, of_vectors = eigh_along(a, a_dot, take_column(w), v, again[0, 0])
    write_column(w_dot, of_values)
    write_into(v_dot, of_vectors)
    work, top = keep(w, work, top)
    work, top = keep(v, work, top)
    return keep(a_dot, work, top)


@reverse_kernel
def reverse_eigh_along(w_bar, v_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar, the adjoint of the direction's lower triangle, += its gradient; a_bar += the change of that gradient."""
    n = max(len(a_bar), len(b_bar))
    a_dot, top = take(n, n, work, top)
    v, top = take(n, n, work, top)
    w, top = take(n, 1, work, top)
    if not (is_zero(w_bar) and is_zero(v_bar)):
        of_values, of_vectors, values = take_column(bar_of(w_bar, n, 1)), bar_of(v_bar, n, n), take_column(w)
        if b_bar.size != 0:
            add_eigh(of_values, of_vectors, values, v, b_bar)
        if a_bar.size != 0:
            add_eigh_along(of_values, of_vectors, values, v, a_dot, a_bar)
    return top


forward_lanes_eigh_along, reverse_lanes_eigh_along = (
    forward_by_lanes(forward_eigh_along), reverse_by_lanes(reverse_eigh_along),
)  # fmt: skip


@forward_kernel("u_dot s_dot vt_dot")
def forward_svd_along(a, a_dot, u, s, vt, again, u_dot, s_dot, vt_dot, work, top):  # type: ignore[no-untyped-def]
    """The tangents of singular values and vectors; keeps both, and the direction."""
    of_left, of_values, of_right = svd_along(a, a_dot, u, take_column(s), vt, again[0, 0])
    write_into(u_dot, of_left)
    write_column(s_dot, of_values)
    write_into(vt_dot, of_right)
    work, top = keep(u, work, top)
    work, top = keep(s, work, top)
    work, top = keep(vt, work, top)
    return keep(a_dot, work, top)


@reverse_kernel
def reverse_svd_along(u_bar, s_bar, vt_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar, the adjoint of the direction, += its gradient; a_bar += the change of that gradient."""
    m, n = max(a_bar.shape[0], b_bar.shape[0]), max(a_bar.shape[1], b_bar.shape[1])
    k = min(m, n)
    a_dot, top = take(m, n, work, top)
    vt, top = take(k, n, work, top)
    s, top = take(k, 1, work, top)
    u, top = take(m, k, work, top)
    if not (is_zero(u_bar) and is_zero(s_bar) and is_zero(vt_bar)):
        of_u, of_s, of_vt = bar_of(u_bar, m, k), take_column(bar_of(s_bar, k, 1)), bar_of(vt_bar, k, n)
        values = take_column(s)
        if b_bar.size != 0:
            add_svd(of_u, of_s, of_vt, u, values, vt, b_bar)
        if a_bar.size != 0:
            add_svd_along(of_u, of_s, of_vt, u, values, vt, a_dot, a_bar)
    return top


forward_lanes_svd_along, reverse_lanes_svd_along = (
    forward_by_lanes(forward_svd_along), reverse_by_lanes(reverse_svd_along),
)  # fmt: skip


# ---- norms -----------------------------------------------------------------------------------------------------------
@forward_kernel("", "float")
def forward_norm(a, z, work, top):  # type: ignore[no-untyped-def]
    """The square root of the sum of squares; keeps a and the value."""
    z[0, 0] = np.linalg.norm(a)
    work, top = keep(a, work, top)
    return keep(z, work, top)


@reverse_kernel
def reverse_norm(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z_bar a / z, and nothing at the kink, where z is 0"""
    z, top = take(1, 1, work, top)
    a, top = take(a_bar.shape[0], a_bar.shape[1], work, top)
    if z_bar[0, 0] != 0.0 and z[0, 0] != 0.0:
        add_scaled(a_bar, 0, 0, z_bar[0, 0] / z[0, 0], a)
    return top
