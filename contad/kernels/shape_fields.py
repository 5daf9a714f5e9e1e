"""The fields of the shape of an operation on matrices, which its kernels read; plain numbers, for Python and Numba.

The place that says whether Python has to do it, which is 0 in a recording that is swept at once; the place of what is
saved (minus its address in words, where it is not in cells), and the first cell of the result; of both operands the
place and whether it is in cells (1), among constants (0) or at an address in words (-1); of these three, whether the
cells are those of the transpose; three sizes and three options, which are the rule's; of the step that keeps the
factors the first two; and the address of the kernel of adjoints, in a recording that is swept at once.
"""

STATUS, SAVED, RESULT, A, A_CELLS, B, B_CELLS, TURNED, A_TURNED, B_TURNED = range(10)
M, N, K, FIRST, SECOND, THIRD, KEEPER, KEPT, ADJOINT = range(10, 19)
FIELDS = 18  # that kernels read
# Behind these, of a sum of exponentials of x + sign y: of x the place, whether it is in cells, and its steps from one
# of the times, lines and elements to the next; the same of y; and the sign.
X, X_CELLS, X_STEPS, Y, Y_CELLS, Y_STEPS, SIGN = 18, 19, 20, 23, 24, 25, 28
PAIRED = 29  # fields
AT_ADDRESS = -1
IS_CHECKED = 8  # among the flags of a step in a recording that is swept at once: its operands are to be finite
