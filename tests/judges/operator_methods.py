"""Operators of scalars by their methods, where Python calls machine code in their place."""

import contextlib

from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.matrix_stack import MatrixStack, MatrixVar, NumpyMatrixVar
from contad.python_objects import elementwise_operators
from contad.python_objects.number_operators import BINARY, OPERATORS


def compile_operators():
    """Let Python call machine code from now on."""
    MatrixStack.native.is_due = False
    MatrixStack.native.install()


@contextlib.contextmanager
def methods_of_python():
    """A context in which Python calls the methods: what is set anew is called."""
    compile_operators()
    for cls in (MatrixVar, NumpyMatrixVar):
        for name in OPERATORS:
            for method in (f"__{name}__", f"__r{name}__") if name in BINARY else (f"__{name}__",):
                setattr(cls, method, vars(cls)[method])
    ArrayVar.__matmul__ = ArrayVar.__matmul__
    for name in elementwise_operators.OPERATORS:
        setattr(ArrayVar, f"__{name}__", vars(ArrayVar)[f"__{name}__"])
    try:
        yield
    finally:
        MatrixStack.native.install()
