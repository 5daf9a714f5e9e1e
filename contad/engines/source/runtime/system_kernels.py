"""Functions of `contad.scipy.linalg`, and sums of exponentials, in generated source, as NumPy's in `matrix_kernels`."""

import numpy as np

from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.kernels_by_lanes import (
    forward_by_lanes,
    forward_solver,
    reverse_by_lanes,
    reverse_solver,
)
from contad.engines.source.runtime.matrix_kernels import keep, make_room, take
from contad.native.exponential_kernels import add_by_powers, expm_with_powers
from contad.native.log_sum_kernels import (
    normalise,
    normalise_lines,
    pull_normalised,
    pull_normalised_lines,
    share,
    share_lines,
    sum_exponentials,
    sum_lines,
)
from contad.native.matrix_loops import (
    add_back,
    add_into,
    in_order,
    in_rows,
    is_in_rows,
    is_zero,
    take_adjoint,
    take_column,
    write_column,
    write_into,
)
from contad.native.overloads import in_machine_code
from contad.native.scipy_functions import require_square
from contad.native.triangular_kernels import (
    add_band_cotangents,
    add_cho_factor,
    add_cho_solve,
    add_solve_triangular,
    check_cho_factor,
    check_cho_solve,
    check_solve_banded,
    check_solve_triangular,
    cho_factor_forward,
    cho_solve_forward,
    factor_banded,
    height_of_factors,
    require_finite,
    require_regular,
    solve_factored_band,
    solve_triangular_forward,
)


@in_machine_code
def _is(flag):  # type: ignore[no-untyped-def]
    return bool(flag[0, 0] != 0.0)


# ---- triangular systems ----------------------------------------------------------------------------------------------
@forward_kernel()
def forward_solve_triangular(a, b, transposed, lower, unit_diagonal, check_finite, z, work, top):  # type: ignore[no-untyped-def]
    """z = a^-1 b, or a^-T b, for a triangle of a; a and z are kept."""
    if _is(check_finite):
        require_finite(a)
        require_finite(b)
    check_solve_triangular(a.shape, b.shape)
    write_into(z, solve_triangular_forward(in_rows(a), in_rows(b), _is(transposed), _is(lower), _is(unit_diagonal)))
    flags, work, top = make_room(1, 3, work, top)
    flags[0, 0], flags[0, 1], flags[0, 2] = transposed[0, 0], lower[0, 0], unit_diagonal[0, 0]
    work, top = keep(a, work, top)
    return keep(z, work, top)


@reverse_kernel
def reverse_solve_triangular(z_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, a_bar -= a^-T z_bar z^T in the triangle"""
    n, k = z_bar.shape
    z, top = take(n, k, work, top)
    a, top = take(n, n, work, top)
    flags, top = take(3, 1, work, top)
    if not is_zero(z_bar):
        of_a, of_b = take_adjoint(a_bar, n, n), take_adjoint(b_bar, n, k)
        transposed, lower, unit_diagonal = flags[0, 0] != 0.0, flags[1, 0] != 0.0, flags[2, 0] != 0.0
        add_solve_triangular(in_rows(z_bar), z, a, transposed, lower, unit_diagonal, of_a, of_b)
        add_back(a_bar, of_a)
        add_back(b_bar, of_b)
    return top


forward_lanes_solve_triangular = forward_solver(forward_solve_triangular)
reverse_lanes_solve_triangular = reverse_solver(reverse_solve_triangular)


# ---- Cholesky factors ------------------------------------------------------------------------------------------------
@forward_kernel()
def forward_cho_factor(a, lower, check_finite, z, work, top):  # type: ignore[no-untyped-def]
    """The factor of a triangle of a, beside the other triangle; it is kept."""
    if _is(check_finite):
        require_finite(a)
    check_cho_factor(a.shape)
    write_into(z, cho_factor_forward(in_rows(a), _is(lower)))
    work, top = keep(lower, work, top)
    return keep(z, work, top)


@reverse_kernel
def reverse_cho_factor(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """As `add_cho_factor` has it."""
    n = len(z_bar)
    z, top = take(n, n, work, top)
    lower, top = take(1, 1, work, top)
    if not is_zero(z_bar):
        of_a = take_adjoint(a_bar, n, n)
        add_cho_factor(in_rows(z_bar), z, _is(lower), of_a)
        add_back(a_bar, of_a)
    return top


@forward_kernel()
def forward_cho_solve(c, b, lower, check_finite, z, work, top):  # type: ignore[no-untyped-def]
    """z = a^-1 b, of the factor of a; the factor is kept, and b."""
    if _is(check_finite):
        require_finite(b)
        require_finite(c)
    check_cho_solve(c.shape, b.shape)
    write_into(z, cho_solve_forward(in_rows(c), in_rows(b), _is(lower)))
    work, top = keep(lower, work, top)
    work, top = keep(c, work, top)
    return keep(b, work, top)


@reverse_kernel
def reverse_cho_solve(z_bar, c_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """Back through the two triangular systems."""
    n, k = z_bar.shape
    b, top = take(n, k, work, top)
    c, top = take(n, n, work, top)
    lower, top = take(1, 1, work, top)
    if not is_zero(z_bar):
        of_c, of_b = take_adjoint(c_bar, n, n), take_adjoint(b_bar, n, k)
        add_cho_solve(in_rows(z_bar), c, b, _is(lower), of_c, of_b)
        add_back(c_bar, of_c)
        add_back(b_bar, of_b)
    return top


forward_lanes_cho_solve, reverse_lanes_cho_solve = forward_solver(forward_cho_solve), reverse_solver(reverse_cho_solve)


# ---- banded systems, exponentials ------------------------------------------------------------------------------------
@forward_kernel()
def forward_solve_banded(ab, b, below, above, check_finite, z, work, top):  # type: ignore[no-untyped-def]
    """z = a^-1 b, of the diagonals of a; its factors are kept, and z."""
    band = in_rows(ab)
    if _is(check_finite):
        require_finite(band)
        require_finite(b)
    lower, upper = int(below[0, 0]), int(above[0, 0])
    check_solve_banded(lower, upper, ab.shape, b.shape)
    factors, work, top = make_room(height_of_factors(lower, upper), ab.shape[1], work, top)
    require_regular(factor_banded(lower, upper, band, factors))
    solution = in_rows(z)
    write_into(solution, b)
    solve_factored_band(lower, upper, factors, solution, False)
    if not is_in_rows(z):
        write_into(z, solution)
    work, top = keep(np.array([[below[0, 0], above[0, 0]]]), work, top)
    return keep(solution, work, top)


@reverse_kernel
def reverse_solve_banded(z_bar, ab_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, ab_bar -= a^-T z_bar z^T in the band"""
    n, k = z_bar.shape
    z, top = take(n, k, work, top)
    bands, top = take(2, 1, work, top)
    lower, upper = int(bands[0, 0]), int(bands[1, 0])
    factors, top = take(height_of_factors(lower, upper), n, work, top)
    if not is_zero(z_bar):
        c = in_order(z_bar)
        solve_factored_band(lower, upper, factors, c, True)
        of_ab, of_b = take_adjoint(ab_bar, lower + upper + 1, n), take_adjoint(b_bar, n, k)
        add_band_cotangents(c, z, lower, upper, of_ab, of_b)
        add_back(ab_bar, of_ab)
        add_back(b_bar, of_b)
    return top


forward_lanes_solve_banded = forward_solver(forward_solve_banded)
reverse_lanes_solve_banded = reverse_solver(reverse_solve_banded)


@forward_kernel()
def forward_expm(a, z, work, top):  # type: ignore[no-untyped-def]
    """z = e^a; a and its powers are kept."""
    require_square(a)
    n = len(a)
    work, top = keep(a, work, top)
    powers, work, top = make_room(3 * n, n, work, top)
    write_into(z, expm_with_powers(in_rows(a), powers))
    return work, top


@reverse_kernel
def reverse_expm(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += the derivative of the exponential at a^T along z_bar"""
    n = len(a_bar)
    powers, top = take(3 * n, n, work, top)
    a, top = take(n, n, work, top)
    if not is_zero(z_bar):
        of_a = take_adjoint(a_bar, n, n)
        add_by_powers(in_rows(z_bar), a, powers, of_a)
        add_back(a_bar, of_a)
    return top


forward_lanes_expm, reverse_lanes_expm = forward_by_lanes(forward_expm), reverse_by_lanes(reverse_expm)


# ---- sums of exponentials --------------------------------------------------------------------------------------------
@forward_kernel("float")
def forward_logsumexp(a, z, work, top):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(a))); a is kept."""
    z[0, 0] = sum_exponentials(a)
    return keep(a, work, top)


@reverse_kernel
def reverse_logsumexp(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z_bar exp(a - z)"""
    a, top = take(a_bar.shape[0], a_bar.shape[1], work, top)
    if z_bar[0, 0] != 0.0:
        add_into(a_bar, share(z_bar[0, 0], a))
    return top


@forward_kernel()
def forward_softmax(a, z, work, top):  # type: ignore[no-untyped-def]
    """z = exp(a) / sum(exp(a)), which is kept."""
    write_into(z, normalise(a))
    return keep(z, work, top)


@reverse_kernel
def reverse_softmax(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z (z_bar - sum(z z_bar))"""
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_into(a_bar, pull_normalised(in_rows(z_bar), z))
    return top


@forward_kernel()
def forward_logsumexp_along(a, axis, z, work, top):  # type: ignore[no-untyped-def]
    """z_i = log(sum(exp(line i))) of the lines along an axis; a is kept, and the axis."""
    write_column(z, sum_lines(a, int(axis[0, 0])))
    work, top = keep(a, work, top)
    return keep(axis, work, top)


@reverse_kernel
def reverse_logsumexp_along(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z_bar_i exp(a - z_i) in line i"""
    axis, top = take(1, 1, work, top)
    a, top = take(a_bar.shape[0], a_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_into(a_bar, share_lines(take_column(z_bar), a, int(axis[0, 0])))
    return top


@forward_kernel()
def forward_softmax_along(a, axis, z, work, top):  # type: ignore[no-untyped-def]
    """z = exp(a) over the sum along an axis; it is kept, and the axis."""
    write_into(z, normalise_lines(a, int(axis[0, 0])))
    work, top = keep(z, work, top)
    return keep(axis, work, top)


@reverse_kernel
def reverse_softmax_along(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z (z_bar - sum(z z_bar)), the sum along the axis"""
    axis, top = take(1, 1, work, top)
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_into(a_bar, pull_normalised_lines(in_rows(z_bar), z, int(axis[0, 0])))
    return top
