"""Functions of matrices in generated source: the value, and the adjoints from what the value has left in the workspace.

    work, top = forward_solve(a, b, z, work, top)
    top = reverse_solve(z_bar, a_bar, b_bar, work, top)

The first writes z, which is new, and keeps what the second takes back; the second adds to the adjoints of the operands.
Instead of an adjoint that nobody asks for stands None.
"""

import numpy as np

from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.kernels_by_lanes import (
    forward_by_lanes,
    forward_solver,
    reverse_by_lanes,
    reverse_solver,
)
from contad.engines.source.runtime.workspace import grow, kept_matrix
from contad.native.factor_kernels import (
    add_cholesky,
    add_cofactors,
    add_inv,
    add_solve,
    check_least_squares,
    check_system,
    cofactors,
    cofactors_by_values,
    require_square,
    transposed_inverse,
    write_cholesky,
)
from contad.native.matrix_loops import (
    add_back,
    add_scaled,
    clear,
    in_order,
    in_rows,
    is_zero,
    take_adjoint,
    take_column,
    write_column,
    write_into,
)
from contad.native.overloads import in_machine_code
from contad.native.small_systems import factor_slogdet, find_det, invert, solve_forward
from contad.native.spectral_kernels import (
    add_eig,
    add_eigh,
    add_eigh_along,
    add_lstsq,
    add_pinv,
    add_qr,
    add_svd,
    add_svd_along,
    eigh_along,
    find_real_spectrum,
    reduced_svd,
    svd_along,
)


# ---- what is kept ----------------------------------------------------------------------------------------------------
@in_machine_code
def make_room(rows, columns, work, top):  # type: ignore[no-untyped-def]
    """A matrix to be filled that is kept; it is good until more is kept."""
    first, top = top, top + rows * columns
    work = grow(work, top)
    return kept_matrix(work, first, rows, columns), work, top


@in_machine_code
def keep(x, work, top):  # type: ignore[no-untyped-def]
    """Keep the elements of a matrix."""
    room, work, top = make_room(x.shape[0], x.shape[1], work, top)
    write_into(room, x)
    return work, top


@in_machine_code
def take(rows, columns, work, top):  # type: ignore[no-untyped-def]
    """The matrix that was kept last."""
    first = top - rows * columns
    return kept_matrix(work, first, rows, columns), first


@in_machine_code
def _adjoint(z_bar, z):  # type: ignore[no-untyped-def]
    """The adjoint of a result in C order: zeros where nobody has asked for one."""
    return in_rows(z_bar) if z_bar.size != 0 else np.zeros(z.shape)


# ---- systems ---------------------------------------------------------------------------------------------------------
@forward_kernel()
def forward_solve(a, b, z, work, top):  # type: ignore[no-untyped-def]
    """z = a^-1 b; the factors of a, and z, are kept."""
    check_system(a, b)
    found, factors, exchanges = solve_forward(a, b)
    write_into(z, found)
    work, top = keep(exchanges.reshape((-1, 1)), work, top)
    work, top = keep(factors, work, top)
    return keep(found, work, top)


@reverse_kernel
def reverse_solve(z_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, a_bar -= a^-T z_bar z^T"""
    n, k = z_bar.shape
    z, top = take(n, k, work, top)
    factors, top = take(n, n, work, top)
    exchanges, top = take(n, 1, work, top)
    if not is_zero(z_bar):
        add_solve(z_bar, z, factors, take_column(exchanges), a_bar, b_bar)
    return top


forward_lanes_solve, reverse_lanes_solve = forward_solver(forward_solve), reverse_solver(reverse_solve)


@forward_kernel()
def forward_inv(a, z, work, top):  # type: ignore[no-untyped-def]
    """z = a^-1, which is kept."""
    require_square(a)
    write_into(z, invert(a))
    return keep(z, work, top)


@reverse_kernel
def reverse_inv(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar -= z^T z_bar z^T"""
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_inv(in_rows(z_bar), z, a_bar)
    return top


# ---- determinants ----------------------------------------------------------------------------------------------------
@forward_kernel("float")
def forward_det(a, z, work, top):  # type: ignore[no-untyped-def]
    """The determinant; a is kept, and the value."""
    require_square(a)
    z[0, 0] = find_det(a)
    work, top = keep(a, work, top)
    return keep(z, work, top)


@reverse_kernel
def reverse_det(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z_bar times the cofactors of a"""
    z, top = take(1, 1, work, top)
    a, top = take(a_bar.shape[0], a_bar.shape[1], work, top)
    if z_bar[0, 0] != 0.0:
        add_scaled(a_bar, 0, 0, z_bar[0, 0], cofactors(z[0, 0], a))
    return top


@forward_kernel()
def forward_cofactors(a, z, work, top):  # type: ignore[no-untyped-def]
    """The cofactors by singular values; a is kept."""
    write_into(z, cofactors_by_values(a))
    return keep(a, work, top)


@reverse_kernel
def reverse_cofactors(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += the change of the cofactors along z_bar"""
    a, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_cofactors(in_rows(z_bar), a, a_bar)
    return top


@forward_kernel("float", "float")
def forward_slogdet(a, sign, log, work, top):  # type: ignore[no-untyped-def]
    """The sign, which is constant, and the logarithm; the factors of a are kept, and the logarithm."""
    require_square(a)
    sign[0, 0], log[0, 0], factors, exchanges = factor_slogdet(a)
    work, top = keep(exchanges.reshape((-1, 1)), work, top)
    work, top = keep(factors, work, top)
    return keep(log, work, top)


@reverse_kernel
def reverse_slogdet(log_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += log_bar a^-T"""
    n = a_bar.shape[0]
    log, top = take(1, 1, work, top)
    factors, top = take(n, n, work, top)
    exchanges, top = take(n + 1, 1, work, top)
    if log_bar[0, 0] != 0.0:
        add_scaled(a_bar, 0, 0, log_bar[0, 0], transposed_inverse(log[0, 0], factors, take_column(exchanges)))
    return top


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
@forward_kernel()
def forward_cholesky(a, z, work, top):  # type: ignore[no-untyped-def]
    """z z^T = a, of the lower triangle; z is kept."""
    require_square(a)
    write_cholesky(a, z)
    return keep(z, work, top)


@reverse_kernel
def reverse_cholesky(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z^-T P(z^T z_bar) z^-1, on the lower triangle; P: the lower triangle, diagonal halved"""
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_cholesky(in_rows(z_bar), z, a_bar)
        clear(z_bar)  # it was overwritten where it is in C order, and nobody reads it any more
    return top


# ---- eigenvalues and singular values ---------------------------------------------------------------------------------
@forward_kernel()
def forward_eigh(a, w, v, work, top):  # type: ignore[no-untyped-def]
    """Eigenvalues and eigenvectors of the lower triangle, which are kept."""
    require_square(a)
    values, vectors = np.linalg.eigh(in_rows(a))
    write_column(w, values)
    write_into(v, vectors)
    work, top = keep(w, work, top)
    return keep(v, work, top)


@reverse_kernel
def reverse_eigh(w_bar, v_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += v (diag(w_bar) + f (v^T v_bar)) v^T on the lower triangle, f_ij = 1 / (w_j - w_i)"""
    n = a_bar.shape[0]
    v, top = take(n, n, work, top)
    w, top = take(n, 1, work, top)
    if not (is_zero(w_bar) and is_zero(v_bar)):
        add_eigh(take_column(_adjoint(w_bar, w)), _adjoint(v_bar, v), take_column(w), v, a_bar)
    return top


@forward_kernel()
def forward_eigh_along(a, a_dot, w, v, again, w_dot, v_dot, work, top):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and eigenvectors; these are kept, and the direction."""
    values, vectors = in_order(w), in_order(v)
    of_values, of_vectors = eigh_along(a, in_order(a_dot), take_column(values), vectors, again[0, 0])
    write_column(w_dot, of_values)
    write_into(v_dot, of_vectors)
    work, top = keep(values, work, top)
    work, top = keep(vectors, work, top)
    return keep(a_dot, work, top)


@reverse_kernel
def reverse_eigh_along(w_bar, v_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """On the lower triangle b_bar, of the direction, += what the values and vectors have; a_bar += its change."""
    n = max(len(a_bar), len(b_bar))
    a_dot, top = take(n, n, work, top)
    v, top = take(n, n, work, top)
    w, top = take(n, 1, work, top)
    if not (is_zero(w_bar) and is_zero(v_bar)):
        of_values, of_vectors = take_column(_adjoint(w_bar, w)), in_order(_adjoint(v_bar, v))
        values, vectors = take_column(w), in_order(v)
        if b_bar.size != 0:
            add_eigh(of_values, of_vectors, values, vectors, b_bar)
        if a_bar.size != 0:
            add_eigh_along(of_values, of_vectors, values, vectors, in_order(a_dot), a_bar)
    return top


forward_lanes_eigh_along, reverse_lanes_eigh_along = (
    forward_by_lanes(forward_eigh_along), reverse_by_lanes(reverse_eigh_along),
)  # fmt: skip


@forward_kernel()
def forward_eigvalsh(a, w, work, top):  # type: ignore[no-untyped-def]
    """Eigenvalues of the lower triangle of a, which is kept."""
    require_square(a)
    write_column(w, np.linalg.eigvalsh(in_rows(a)))
    return keep(a, work, top)


@reverse_kernel
def reverse_eigvalsh(w_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += v diag(w_bar) v^T on the lower triangle, with vectors that the value does without"""
    n = a_bar.shape[0]
    a, top = take(n, n, work, top)
    if not is_zero(w_bar):
        w, v = np.linalg.eigh(a)
        add_eigh(take_column(w_bar), np.zeros((n, n)), w, in_order(v), a_bar)
    return top


@forward_kernel()
def forward_eig(a, w, v, work, top):  # type: ignore[no-untyped-def]
    """Real eigenvalues and eigenvectors, which are kept."""
    require_square(a)
    values, vectors = find_real_spectrum(in_rows(a), False)
    write_column(w, values)
    write_into(v, vectors)
    work, top = keep(w, work, top)
    return keep(v, work, top)


@reverse_kernel
def reverse_eig(w_bar, v_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """As `add_eig` has it."""
    n = a_bar.shape[0]
    v, top = take(n, n, work, top)
    w, top = take(n, 1, work, top)
    if not (is_zero(w_bar) and is_zero(v_bar)):
        add_eig(take_column(_adjoint(w_bar, w)), _adjoint(v_bar, v), take_column(w), v, a_bar)
    return top


@forward_kernel()
def forward_eigvals(a, w, v, work, top):  # type: ignore[no-untyped-def]
    """Likewise, where the eigenvalues alone are asked for: the vectors are for the derivative."""
    require_square(a)
    values, vectors = find_real_spectrum(in_rows(a), True)
    write_column(w, values)
    write_into(v, vectors)
    work, top = keep(w, work, top)
    return keep(v, work, top)


@reverse_kernel
def reverse_eigvals(w_bar, v_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += v^-T diag(w_bar) v^T"""
    n = a_bar.shape[0]
    v, top = take(n, n, work, top)
    w, top = take(n, 1, work, top)
    if not (is_zero(w_bar) and is_zero(v_bar)):
        add_eig(take_column(_adjoint(w_bar, w)), _adjoint(v_bar, v), take_column(w), v, a_bar)
    return top


@forward_kernel()
def forward_svd(a, u, s, vt, work, top):  # type: ignore[no-untyped-def]
    """Singular values and vectors of the shorter side, which are kept."""
    left, values, right = reduced_svd(in_rows(a))
    write_into(u, left)
    write_column(s, values)
    write_into(vt, right)
    work, top = keep(u, work, top)
    work, top = keep(s, work, top)
    return keep(vt, work, top)


@reverse_kernel
def reverse_svd(u_bar, s_bar, vt_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """As `add_svd` has it."""
    m, n = a_bar.shape
    k = min(m, n)
    vt, top = take(k, n, work, top)
    s, top = take(k, 1, work, top)
    u, top = take(m, k, work, top)
    if not (is_zero(u_bar) and is_zero(s_bar) and is_zero(vt_bar)):
        add_svd(_adjoint(u_bar, u), take_column(_adjoint(s_bar, s)), _adjoint(vt_bar, vt), u, take_column(s), vt, a_bar)
    return top


@forward_kernel()
def forward_svd_along(a, a_dot, u, s, vt, again, u_dot, s_dot, vt_dot, work, top):  # type: ignore[no-untyped-def]
    """The tangents of singular values and vectors; these are kept, and the direction."""
    left, values, right = in_order(u), in_order(s), in_order(vt)
    of_left, of_values, of_right = svd_along(a, in_order(a_dot), left, take_column(values), right, again[0, 0])
    write_into(u_dot, of_left)
    write_column(s_dot, of_values)
    write_into(vt_dot, of_right)
    work, top = keep(left, work, top)
    work, top = keep(values, work, top)
    work, top = keep(right, work, top)
    return keep(a_dot, work, top)


@reverse_kernel
def reverse_svd_along(u_bar, s_bar, vt_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar, of the direction, += what the values and vectors have; a_bar += its change."""
    m, n = max(a_bar.shape[0], b_bar.shape[0]), max(a_bar.shape[1], b_bar.shape[1])
    k = min(m, n)
    a_dot, top = take(m, n, work, top)
    vt, top = take(k, n, work, top)
    s, top = take(k, 1, work, top)
    u, top = take(m, k, work, top)
    if not (is_zero(u_bar) and is_zero(s_bar) and is_zero(vt_bar)):
        of_u, of_vt = in_order(_adjoint(u_bar, u)), in_order(_adjoint(vt_bar, vt))
        of_s = take_column(_adjoint(s_bar, s))
        left, values, right = in_order(u), take_column(s), in_order(vt)
        if b_bar.size != 0:
            add_svd(of_u, of_s, of_vt, left, values, right, b_bar)
        if a_bar.size != 0:
            add_svd_along(of_u, of_s, of_vt, left, values, right, in_order(a_dot), a_bar)
    return top


forward_lanes_svd_along, reverse_lanes_svd_along = (
    forward_by_lanes(forward_svd_along), reverse_by_lanes(reverse_svd_along),
)  # fmt: skip


# ---- QR factors and least squares ------------------------------------------------------------------------------------
@forward_kernel()
def forward_qr(a, q, r, work, top):  # type: ignore[no-untyped-def]
    """The factors of the shorter side; they are kept, and the columns behind the square part of a."""
    orthogonal, upper = np.linalg.qr(in_rows(a))
    write_into(q, orthogonal)
    write_into(r, upper)
    work, top = keep(a[:, len(r) :], work, top)
    work, top = keep(q, work, top)
    return keep(r, work, top)


@reverse_kernel
def reverse_qr(q_bar, r_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """As `add_qr` has it."""
    m, n = a_bar.shape
    k = min(m, n)
    r, top = take(k, n, work, top)
    q, top = take(m, k, work, top)
    rest, top = take(m, n - k, work, top)
    if not (is_zero(q_bar) and is_zero(r_bar)):
        add_qr(_adjoint(q_bar, q), _adjoint(r_bar, r), q, r, rest, a_bar)
    return top


@forward_kernel()
def forward_pinv(a, rcond, z, work, top):  # type: ignore[no-untyped-def]
    """The pseudoinverse; it is kept, with rcond and a."""
    write_into(z, np.linalg.pinv(in_rows(a), rcond[0, 0]))
    work, top = keep(rcond, work, top)
    work, top = keep(a, work, top)
    return keep(z, work, top)


@reverse_kernel
def reverse_pinv(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """As `add_pinv` has it."""
    m, n = a_bar.shape
    z, top = take(n, m, work, top)
    a, top = take(m, n, work, top)
    rcond, top = take(1, 1, work, top)
    if not is_zero(z_bar):
        add_pinv(in_rows(z_bar), z, a, rcond[0, 0], a_bar)
    return top


@forward_kernel("int")
def forward_lstsq(a, b, rcond, x, squares, s, rank, work, top):  # type: ignore[no-untyped-def]
    """The solution, the sums of squares if they are not zero, singular values and the rank; kept with a and b."""
    check_least_squares(a, b)
    solution, rest, found, values = np.linalg.lstsq(in_rows(a), in_rows(b), rcond[0, 0])
    write_into(x, solution)
    for k in range(squares.shape[0]):
        squares[k, 0] = 0.0
    write_column(squares, rest)
    write_column(s, values)
    rank[0, 0] = found
    work, top = keep(a, work, top)
    work, top = keep(b, work, top)
    work, top = keep(x, work, top)
    return keep(np.array([[float(a.shape[0]), a.shape[1], b.shape[1], found]]), work, top)


@reverse_kernel
def reverse_lstsq(x_bar, squares_bar, s_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """As `add_lstsq` has it."""
    sizes, top = take(4, 1, work, top)
    m, n, k, rank = int(sizes[0, 0]), int(sizes[1, 0]), int(sizes[2, 0]), int(sizes[3, 0])
    x, top = take(n, k, work, top)
    b, top = take(m, k, work, top)
    a, top = take(m, n, work, top)
    if not (is_zero(x_bar) and is_zero(squares_bar) and is_zero(s_bar)):
        squares = take_column(_adjoint(squares_bar, np.empty((k, 1))))
        s = take_column(_adjoint(s_bar, np.empty((min(m, n), 1))))
        of_a, of_b = take_adjoint(a_bar, m, n), take_adjoint(b_bar, m, k)
        add_lstsq(_adjoint(x_bar, x), squares, s, x, rank, a, b, of_a, of_b)
        add_back(a_bar, of_a)
        add_back(b_bar, of_b)
    return top


# ---- norms -----------------------------------------------------------------------------------------------------------
@forward_kernel("float")
def forward_norm(a, z, work, top):  # type: ignore[no-untyped-def]
    """The root of the sum of squares; a is kept, and the value."""
    z[0, 0] = np.linalg.norm(in_rows(a))
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
