"""The fields of the shape of an operation on matrices, which its kernels read; plain numbers, for Python and Numba.

In order: the place that says whether Python has to do the operation, 0 in a recording that is swept at once; the place
of the saved numbers (minus their address in words, if they are not in cells), and the first cell of the result; for
both operands the place, and whether it is in cells (1), among constants (0) or at an address in words (-1); for the
result and both operands, whether the cells hold the transpose; three sizes and three options, which are the rule's; the
first two fields of the record that keeps the factors; and the address of the adjoint kernel, in a recording that is
swept at once.
"""

STATUS, SAVED, RESULT, A, A_CELLS, B, B_CELLS, TURNED, A_TURNED, B_TURNED = range(10)
M, N, K, FIRST, SECOND, THIRD, KEEPER, KEPT, ADJOINT = range(10, 19)
FIELDS = 18  # that kernels read
# After these, for a sum of exponentials of x + sign y: the place of x, whether x is in cells, and its strides along
# times, lines and elements; the same for y; and the sign.
X, X_CELLS, X_STRIDES, Y, Y_CELLS, Y_STRIDES, SIGN = 18, 19, 20, 23, 24, 25, 28
PAIRED = 29  # fields
AT_ADDRESS = -1
IS_CHECKED = 8  # a flag of a kernel record in a recording that is swept at once: its operands must be finite
