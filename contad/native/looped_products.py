"""Products of small matrices in recordings, as loops: a call of BLAS takes as long as many multiplications."""

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.narrow_products import numbers_at
from contad.native.product_kernels import add_few

SMALL = 300  # multiplications that take less time than the call of a routine for them


# of each factor where it begins, and the two strides, in numbers
@njit(**INTERNAL_OPTIONS)
def put_small(z, z_0, a, a_0, a_row, a_step, b, b_0, b_row, b_step, m, p, n):  # type: ignore[no-untyped-def]
    """z = a b, for a product in C order."""
    for i in range(m):
        for k in range(n):
            total = 0.0
            for j in range(p):
                total += a[a_0 + i * a_row + j * a_step] * b[b_0 + j * b_row + k * b_step]
            z[z_0 + i * n + k] = total


@njit(**INTERNAL_OPTIONS)
def pull_small(z_bar_at, a_at, a_bar_at, a_turned, b_at, b_bar_at, b_turned, m, p, n):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T, b_bar += a^T z_bar, each unless its address is 0; a zero of z_bar masks its factors."""
    a_steps = (1, 0, m) if a_turned else (p, 0, 1)
    b_steps = (0, p, 1) if b_turned else (0, 1, n)
    z_bar, lengths = numbers_at(z_bar_at), (m, n, p)
    if a_bar_at != 0:
        add_few(z_bar, lengths, numbers_at(b_at), b_steps, numbers_at(a_bar_at), a_steps)
    if b_bar_at != 0:
        add_few(z_bar, lengths, numbers_at(a_at), a_steps, numbers_at(b_bar_at), b_steps)
