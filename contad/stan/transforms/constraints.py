"""Constraining transforms, and trees of them."""

import contextlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import optree

from contad.errors import UnsupportedError
from contad.ops.products import as_array
from contad.stan.compiled_constraints import ConstraintFunction, as_shape, evaluate
from contad.variables.open_types import ArrayValue, Nested, Real, Value


class Constraint(ModuleType):
    """A constraint: `size` unconstrained numbers represent a value of `shape`.

    It is a namespace of three functions, which Numba functions may call like those of a module:

    constrain(u)      the value of the parameter for unconstrained numbers log_jacobian(u)   the logarithm of the
    absolute Jacobian determinant of `constrain` unconstrain(y)    the inverse of `constrain`; ValueError if y violates
    the constraint

    expected    the condition on a value, in words
    loops       the three functions, and the test of the constraint, as expressions of u or y
    forward     the value and the log-Jacobian for a vector, if Python does not evaluate the expressions
    backward    the vector for a checked value, if Python does not evaluate the expression
    accepts     whether a value meets the constraint, if Python does not evaluate the expression
    """

    def __init__(
        self, name: str, size: int, shape: tuple[int, ...], expected: str, loops: Sequence[str] = (),
        forward: Callable[[ArrayValue], tuple[Value, Real]] | None = None,
        backward: Callable[[ArrayValue], ArrayValue] | None = None,
        accepts: Callable[[ArrayValue], bool] | None = None,
    ) -> None:  # fmt: skip
        # compiled code is cached under a module name that contains everything on which the functions depend
        super().__init__(f"{__name__}.{name}{shape}{tuple(loops)}", self.__doc__)
        self.name, self.size, self.shape, self.expected = name, size, shape, expected
        self.loops = tuple(loops)
        value, logs, inverse, test = loops or ("", "", "", "")
        self.forward = forward or evaluate("u", f"({value}, {logs})")
        self.backward, self.accepts = backward or evaluate("y", inverse), accepts or evaluate("y", test)
        self.constrain = ConstraintFunction(self, self._constrain, "u", as_shape(value, shape))
        self.log_jacobian = ConstraintFunction(self, self._log_jacobian, "u", logs)
        self.unconstrain = ConstraintFunction(self, self._unconstrain, "y", inverse, test)

    def __repr__(self) -> str:
        return f"<{self.name} of shape {self.shape}>"

    def rename(self, name: str) -> "Constraint":
        """The same constraint under another name."""
        return Constraint(
            name, self.size, self.shape, self.expected, self.loops, self.forward, self.backward, self.accepts
        )

    def _constrain(self, u: Nested) -> Value:
        return self.forward(self._vector(u))[0]

    def _log_jacobian(self, u: Nested) -> Real:
        return self.forward(self._vector(u))[1]

    def _unconstrain(self, y: Nested) -> ArrayValue:
        value = as_array(y)
        if np.shape(value) != self.shape:
            raise ValueError(f"{self.name}: y must have the shape {self.shape}, got {np.shape(value)}")
        if self.accepts(value):
            with contextlib.suppress(np.linalg.LinAlgError):  # no Cholesky factor
                return np.reshape(self.backward(value), (self.size,))
        raise ValueError(f"{self.name}: y must {self.expected}")

    def _vector(self, u: Nested) -> ArrayValue:
        given = as_array(u)
        if np.size(given) != self.size:
            raise ValueError(f"{self.name}: u must have {self.size} elements, got shape {np.shape(given)}")
        return np.reshape(given, (self.size,))


class Parameters:
    """A tree of transforms, as one unconstrained vector."""

    def __init__(self, tree: Any) -> None:
        self.transforms: list[Constraint]
        self.transforms, self._structure = optree.tree_flatten(tree, is_leaf=lambda x: isinstance(x, Constraint))
        ends = np.cumsum([0, *(t.size for t in self.transforms)]).tolist()
        self.size = ends[-1]
        self._parts = [(t.forward, slice(*ends[k : k + 2])) for k, t in enumerate(self.transforms)]

    @property
    def _numba_type_(self) -> NoReturn:
        raise UnsupportedError(
            "Parameters: a tree is not supported inside njit; call constrain and log_jacobian of each constraint "
            "there, "
            "with its part of u"
        )

    def constrain(self, u: Nested) -> tuple[Any, Real]:
        """The tree of values, and the sum of the log-Jacobians."""
        given = as_array(u)
        shape = getattr(given, "shape", ())
        if shape != (self.size,):
            raise ValueError(f"Parameters: u must have {self.size} elements, got shape {shape}")
        values, total = [], 0.0
        for forward, part in self._parts:
            value, log_jacobian = forward(given[part])
            values.append(value)
            if log_jacobian.__class__ is not float or log_jacobian != 0.0:
                total = total + log_jacobian
        return optree.tree_unflatten(self._structure, values), total

    def unconstrain(self, values: Any) -> ArrayValue:
        """The inverse of `constrain`; ValueError if a value violates its constraint."""
        leaves = self._structure.flatten_up_to(values)
        parts = [t.unconstrain(x) for t, x in zip(self.transforms, leaves, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0)
