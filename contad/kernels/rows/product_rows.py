"""Kernels of products: `matrix_rows` specifies them."""

from contad.compile.overloads import in_machine_code
from contad.kernels.matrix_loops import clear
from contad.kernels.product_adjoints import add_left, add_right, put_product


@in_machine_code
def matmul_value(a, b, z):  # type: ignore[no-untyped-def]
    """z = a b"""
    put_product(z, a, b)


@in_machine_code
def matmul_adjoint(z_bar, a, b, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T, b_bar += a^T z_bar"""
    if a_bar.size != 0:
        add_left(z_bar, b, a_bar)
    if b_bar.size != 0:
        add_right(z_bar, a, b_bar)


@in_machine_code
def matmul_tangent(a, b, a_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """z_dot = a_dot b + a b_dot, each by the adjoint of the other direction."""
    clear(z_dot)
    add_left(a_dot, b.T, z_dot)
    add_right(b_dot, a.T, z_dot)
