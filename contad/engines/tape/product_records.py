"""The product of two matrices as a block of records: the sweep multiplies their adjoints."""

import numpy as np

from contad.engines.tape.arrays import zeros_of
from contad.engines.tape.block_kernels import address_of_kernel
from contad.engines.tape.block_records import (
    OF_A,
    OF_B,
    VALUE,
    add_to_operand,
    push_block,
    read_block,
    read_elements,
    sizes_of,
    take_adjoints,
    write_elements,
)
from contad.engines.tape.variables import VARIABLE
from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.product_adjoints import add_left, add_right

_zeros = zeros_of[VARIABLE]


def calculate_product(header, block):  # type: ignore[no-untyped-def]
    """The kernel of a product's value."""
    m, p, n, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    a = read_elements(header, first, np.empty((m, p)), VALUE)
    b = read_elements(header, first + m * p, np.empty((p, n)), VALUE)
    write_elements(header, of_z, np.dot(a, b), VALUE)


def pull_product(header, block):  # type: ignore[no-untyped-def]
    """The kernel of a product's adjoints."""
    m, p, n, active = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    of_b = first + m * p
    z_bar = take_adjoints(header, of_z, np.empty((m, n)))
    if active & OF_A:
        a_bar = np.zeros((m, p))
        add_left(z_bar, read_elements(header, of_b, np.empty((p, n)), VALUE), a_bar)
        add_to_operand(header, first, a_bar)
    if active & OF_B:
        b_bar = np.zeros((p, n))
        add_right(z_bar, read_elements(header, first, np.empty((m, p)), VALUE), b_bar)
        add_to_operand(header, of_b, b_bar)


_calculate, _pull = address_of_kernel(calculate_product), address_of_kernel(pull_product)


@njit(**INTERNAL_OPTIONS)
def multiply(a, b):  # type: ignore[no-untyped-def]
    """The product of two matrices, of which one or both hold variables."""
    m, p = a.shape
    n = b.shape[1]
    if m * p * n == 0:
        return _zeros((m, n))
    return push_block(_calculate(), _pull(), (m, p, n), a, b, m * n, 0).reshape((m, n))
