"""The product of two matrices as a block of records: the sweep multiplies their adjoints."""

import numpy as np

from contad.engines.tape.arrays import zeros_of
from contad.engines.tape.block_kernels import address_of_kernel
from contad.engines.tape.block_records import (
    OF_A,
    OF_B,
    add_to_operand,
    numbers_of,
    push_block,
    read_block,
    read_elements,
    sizes_of,
    take_adjoints,
)
from contad.engines.tape.variables import VARIABLE
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.product_kernels import add_left_matrix, add_right_matrix

_zeros = zeros_of[VARIABLE]


def propagate_product(header, block):  # type: ignore[no-untyped-def]
    """The kernel of a product."""
    m, p, n, active = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    of_b = first + m * p
    z_bar = take_adjoints(header, of_z, (m, n))
    if active & OF_A:
        a_bar = np.zeros((m, p))
        add_left_matrix(z_bar, read_elements(header, of_b, (p, n)), a_bar)
        add_to_operand(header, first, a_bar)
    if active & OF_B:
        b_bar = np.zeros((p, n))
        add_right_matrix(z_bar, read_elements(header, first, (m, p)), b_bar)
        add_to_operand(header, of_b, b_bar)


_kernel = address_of_kernel(propagate_product)


@njit(**INTERNAL_OPTIONS)
def multiply(a, b):  # type: ignore[no-untyped-def]
    """The product of two matrices, of which one or both hold variables."""
    m, p = a.shape
    n = b.shape[1]
    if m * p * n == 0:
        return _zeros((m, n))
    x, y = numbers_of(a), numbers_of(b)
    z = np.dot(x, y)
    return push_block(_kernel(), (m, p, n), a, x, b, y, z.reshape(z.size), np.empty(0)).reshape((m, n))
