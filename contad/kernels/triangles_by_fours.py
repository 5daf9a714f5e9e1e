"""Triangular systems with one right-hand side, and the adjoint of the triangle, by matrix blocks of four rows in
registers.

    is_done = solve_by_fours(a, z, transposed, lower, unit)                z = a^-1 z, or a^-T z
    is_done = subtract_by_fours(x, y, lower, unit_diagonal, a_bar)         a_bar -= x y^T in the triangle

Four rows together take a quarter of the time of four rows in sequence, each of which waits for the previous one. These
functions refuse triangles with few or many rows, and systems whose solution is not finite.
"""

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.kernels.factors_by_fours import FEWEST_ROWS, MOST_ROWS, numbers_of, turn_four
from contad.kernels.lanes import lanes_at, put_lanes

_OPTIONS = INTERNAL_OPTIONS | {"fastmath": {"contract"}}  # as BLAS does


# Element (i, j) of the matrix of the system, which may be the transpose, is number i row + j column.
@njit(**_OPTIONS)
def _solve_rest(a, row, column, z, first, end, ascending, unit):  # type: ignore[no-untyped-def]
    """Solve for rows from first to end, by substitution among them."""
    for done in range(end - first):
        i = first + done if ascending else end - 1 - done
        left, right = (first, i) if ascending else (i + 1, end)
        x = z[i]
        for j in range(left, right):
            x -= a[i * row + j * column] * z[j]
        z[i] = x if unit else x / a[i * (row + column)]


@njit(**_OPTIONS)
def _solve_four(a, row, column, z, j, ascending, unit):  # type: ignore[no-untyped-def]
    """Solve for rows from j to j + 4."""
    at, to, next_row, next_column, along = j * (row + column), j, row, column, 1
    if not ascending:
        at, to, next_row, next_column, along = at + 3 * (row + column), j + 3, -row, -column, -1
    b, c, d = at + next_row, at + 2 * next_row, at + 3 * next_row
    if unit:
        over_0 = over_1 = over_2 = over_3 = 1.0
    else:
        over_0, over_1 = 1.0 / a[at], 1.0 / a[b + next_column]
        over_2, over_3 = 1.0 / a[c + 2 * next_column], 1.0 / a[d + 3 * next_column]
    z_0 = z[to] * over_0
    z_1 = (z[to + along] - a[b] * z_0) * over_1
    z_2 = (z[to + 2 * along] - a[c] * z_0 - a[c + next_column] * z_1) * over_2
    z_3 = (z[to + 3 * along] - a[d] * z_0 - a[d + next_column] * z_1 - a[d + 2 * next_column] * z_2) * over_3
    z[to], z[to + along], z[to + 2 * along], z[to + 3 * along] = z_0, z_1, z_2, z_3


@njit(**_OPTIONS)
def _subtract_solved(a, stride, z, j, left, right, transposed):  # type: ignore[no-untyped-def]
    """Subtract the contribution of rows j to j + 4 to rows left to right, a multiple of four."""
    z_0, z_1, z_2, z_3 = z[j], z[j + 1], z[j + 2], z[j + 3]
    for k in range(left, right, 4):
        at, next_row = (j * stride + k, stride) if transposed else (k * stride + j, stride)
        p, q = lanes_at(a, at, 4), lanes_at(a, at + next_row, 4)
        r, s = lanes_at(a, at + 2 * next_row, 4), lanes_at(a, at + 3 * next_row, 4)
        if not transposed:
            p, q, r, s = turn_four(p, q, r, s)
        put_lanes(z, k, lanes_at(z, k, 4) - p * z_0 - q * z_1 - r * z_2 - s * z_3, 4)


@njit(**_OPTIONS)
def solve_by_fours(a, z, transposed, lower, unit):  # type: ignore[no-untyped-def]
    """Solve; return whether it is done. If not, z is overwritten, unless this refused the triangle."""
    n = z.size
    if not FEWEST_ROWS <= n <= MOST_ROWS:
        return False
    numbers, solution = numbers_of(a), numbers_of(z)
    row, column = (1, n) if transposed else (n, 1)
    ascending, whole = lower != transposed, n // 4 * 4
    if not ascending:
        _solve_rest(numbers, row, column, solution, whole, n, ascending, unit)
        for j in range(whole, n):
            x = solution[j]
            for i in range(whole):
                solution[i] -= numbers[i * row + j * column] * x
    for done in range(0, whole, 4):
        j = done if ascending else whole - 4 - done
        left, right = (j + 4, whole) if ascending else (0, j)
        _solve_four(numbers, row, column, solution, j, ascending, unit)
        _subtract_solved(numbers, n, solution, j, left, right, transposed)
    if ascending:
        for i in range(whole, n):
            x = solution[i]
            for j in range(whole):
                x -= numbers[i * row + j * column] * solution[j]
            solution[i] = x
        _solve_rest(numbers, row, column, solution, whole, n, ascending, unit)
    nothing = 0.0
    for i in range(n):
        nothing += solution[i] * 0.0
    return nothing == 0.0


@njit(**_OPTIONS)
def subtract_by_fours(x, y, lower, unit_diagonal, a_bar):  # type: ignore[no-untyped-def]
    """a_bar -= x y^T in the triangle, for vectors of finite numbers; return whether it is done."""
    n = x.size
    if not FEWEST_ROWS <= n <= MOST_ROWS:
        return False
    apart = 1 if unit_diagonal else 0
    of_a, columns, whole = numbers_of(a_bar), numbers_of(y), n // 4 * 4
    for i in range(0, n, 4):
        end = min(i + 4, n)
        left, right = (0, i) if lower else (i + 4, whole)
        if end == i + 4:
            at = i * n
            a_0, a_1, a_2, a_3 = x[i], x[i + 1], x[i + 2], x[i + 3]
            for k in range(left, right, 4):
                p = lanes_at(columns, k, 4)
                put_lanes(of_a, at + k, lanes_at(of_a, at + k, 4) - p * a_0, 4)
                put_lanes(of_a, at + n + k, lanes_at(of_a, at + n + k, 4) - p * a_1, 4)
                put_lanes(of_a, at + 2 * n + k, lanes_at(of_a, at + 2 * n + k, 4) - p * a_2, 4)
                put_lanes(of_a, at + 3 * n + k, lanes_at(of_a, at + 3 * n + k, 4) - p * a_3, 4)
        for r in range(i, end):
            if lower:
                first = i if end == i + 4 else 0
                for k in range(first, r + 1 - apart):
                    a_bar[r, k] -= x[r] * y[k]
            else:
                for k in range(r + apart, end):
                    a_bar[r, k] -= x[r] * y[k]
                for k in range(max(whole, end), n):
                    a_bar[r, k] -= x[r] * y[k]
    return True
