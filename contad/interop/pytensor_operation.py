"""A model, or a function of one vector, as an operation of PyTensor's graphs, and so of PyMC."""

import functools
from typing import Any

import numpy as np

from contad.errors import REJECTIONS, UnsupportedError
from contad.front.user_function import UserFunction
from contad.transforms.gradients import value_and_grad
from contad.variables.arguments import fail


def as_pytensor(f: Any) -> Any:
    """A `contad.stan.Model`, or a function of one vector that returns a number, as an Op of PyTensor.

    The Op has the gradient as its second result, so PyTensor evaluates both at once. Numba functions, and models of
    them, are called by PyTensor's Numba code without Python. Where a model rejects a point by an exception, value and
    gradient are nan; other exceptions pass. It has first derivatives only, and can be pickled.

    In PyMC the unconstrained numbers of a model are a flat vector:

        u = pm.Flat("u", shape=model.dimension)
        pm.Potential("model", as_pytensor(model)(u))

    Raises:  ValueError if the argument is not a vector; UnsupportedError for second derivatives.

    >>> import pytensor, pytensor.tensor as pt                                                  # doctest: +SKIP
    >>> u = pt.dvector()                                                                        # doctest: +SKIP
    >>> value = as_pytensor(lambda x: np.sum(x**3))(u)                                          # doctest: +SKIP
    >>> pytensor.function([u], pytensor.grad(value, u))(np.array([1.0, 2.0]))                   # doctest: +SKIP
    array([ 3., 12.])
    """
    return _make_class()(f)


@functools.cache
def _make_class() -> Any:
    """The class of these operations, made once: PyTensor finds compiled code by the class."""
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType
    from pytensor.graph import Apply, Op
    from pytensor.link.numba.dispatch import numba_funcify

    class Operation(Op):
        default_output = 0

        def __init__(self, f: Any) -> None:
            self.f, self.n = f, getattr(f, "dimension", None)
            self.run = value_and_grad(f) if self.n is None else f.log_density_gradient

        def __reduce__(self) -> Any:
            return as_pytensor, (self.f,)

        def make_node(self, x: Any) -> Any:
            vector = pt.as_tensor_variable(x)
            if vector.ndim != 1 or vector.type.shape[0] not in (None, self.n or vector.type.shape[0]):
                expected = "be a vector" + (f" of {self.n} numbers" if self.n else "")
                fail("as_pytensor", "x", expected, f"shape {vector.type.shape}")
            return Apply(self, [vector.astype("float64")], [pt.dscalar(), pt.dvector()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            x = np.ascontiguousarray(inputs[0])
            try:
                value, outputs[1][0] = self.run(x)
            except REJECTIONS:
                if self.n != len(x):
                    raise
                value, outputs[1][0] = np.nan, np.full(len(x), np.nan)
            outputs[0][0] = np.asarray(value, float)

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            if not isinstance(cotangents[1].type, DisconnectedType):
                raise UnsupportedError("as_pytensor: the function has first derivatives only")
            return [cotangents[0] * outputs[1]]

        L_op = pullback  # its name before PyTensor 3

    @numba_funcify.register(Operation)
    def compile_operation(op: Any, **more: Any) -> Any:
        """The value and the gradient in PyTensor's Numba code."""
        import numba

        f = op.f if op.n is None else op.f.is_compiled and op.f.compiled_log_density()
        if not f or UserFunction("as_pytensor", f).dispatcher is None:
            return numba_funcify.dispatch(object)(op, **more)
        both, n = value_and_grad(f), -1 if op.n is None else op.n

        @numba.njit
        def evaluate(x):  # type: ignore[no-untyped-def]
            point = np.ascontiguousarray(x)
            if len(x) == n:
                try:
                    value, slope = both(point)
                except Exception:
                    value, slope = np.nan, np.full(n, np.nan)
            else:
                value, slope = both(point)
            return np.asarray(value), slope

        return evaluate

    return Operation
