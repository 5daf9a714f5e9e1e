"""Constraining transforms, and trees of them."""

import contextlib
import functools
import hashlib
import math
import operator
import re
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import optree

from contad.errors import UnsupportedError
from contad.ops.cotangents import plain
from contad.ops.products import as_array
from contad.stan.compiled_constraints import (
    IN_PYTHON,
    ConstraintFunction,
    FreeTree,
    TreeFunction,
    write_free,
    write_value,
)
from contad.stan.transform_functions import FUNCTIONS, TRANSFORMS
from contad.variables.arguments import fail
from contad.variables.open_types import ArrayValue, Nested, Real, Value


def axes_of(name: str, shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """A shape as a tuple; an integer is the length of one axis."""
    axes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    whole = all(hasattr(n, "__index__") for n in axes)
    if not whole or any(n < 0 for n in axes):
        error = ValueError if whole else TypeError
        fail(name, "shape", "be the length of an axis or a tuple of them", repr(shape), error)
    return tuple(map(operator.index, axes))


@functools.cache
def _compile(text: str) -> CodeType:
    return compile(text, "<constraint>", "exec")


class Constraint(ModuleType):
    """A constraint: `size` unconstrained numbers represent a value of `shape`.

    It is a namespace of three functions, which Numba functions may call like those of a module:

    constrain(u)      the value of the parameter for unconstrained numbers
    log_jacobian(u)   the logarithm of the absolute Jacobian determinant of `constrain`
    unconstrain(y)    the inverse of `constrain`; ValueError if y violates the constraint

    transform     the row of `contad.stan.transform_functions.TRANSFORMS`
    arguments     those of its functions after u: bounds, or sizes. A bound may be a function of other parameters; the
                  constraint then belongs to a `contad.stan.Model`, and has no functions of its own.
    element       the shape of one element of an array of such values; all of it without `array`
    free_shape    the shape in which its functions take the unconstrained numbers
    array_shape   the shape of an array of values that are made one by one
    order         the order in which unconstrained numbers fill a matrix: "C" by rows, "F" by columns
    """

    def __init__(
        self, name: str, element: tuple[int, ...], free: tuple[int, ...] | None = None, arguments: Sequence[Any] = (),
        transform: str = "", array: tuple[int, ...] = (), order: str = "C",
    ) -> None:  # fmt: skip
        arguments = [x.item() if isinstance(x, np.generic) else x for x in arguments]
        self.transform = transform or name
        self._made_of = name, element, free, tuple(arguments), transform, array, order
        self.name, self.element, self.shape, self.arguments = name, element, array + element, tuple(arguments)
        by_element = any(pattern.startswith("0") for pattern in TRANSFORMS[self.transform].ways)
        self.free_shape = self.shape if by_element else element if free is None else free
        if min(self.free_shape, default=0) < 0 or (self.transform == "unit_vector" and 0 in element):
            raise ValueError(f"{name}: sizes must be at least 1, got shape {element}")
        self.array_shape = () if by_element else array
        self.order = order if by_element and len(element) > 1 else "C" if by_element else "F"
        self.size = math.prod(self.free_shape) * math.prod(self.array_shape)
        self.literal = all(isinstance(x, (int, float, np.ndarray)) for x in arguments)
        # compiled code is cached under a module name that contains everything on which the functions depend
        depends = name, element, free, tuple(map(_describe, arguments)), transform, array, order
        super().__init__(f"{__name__}.{name}{depends[1:]}", self.__doc__)
        self.constrain = ConstraintFunction(self, self._constrain, "u")
        self.log_jacobian = ConstraintFunction(self, self._log_jacobian, "u")
        self.unconstrain = ConstraintFunction(self, self._unconstrain, "y")
        self._functions: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<{self.name} of shape {self.shape}>"

    def __reduce__(self) -> Any:
        return Constraint, self._made_of

    @property
    def expected(self) -> str:
        """The condition on a value, in words."""
        t = TRANSFORMS[self.transform]
        text = t.expected
        for name, x in zip(t.arguments.split(", "), self.arguments, strict=False):
            text = text.replace(name, str(plain(x))) if name in {"lower", "upper"} else text
        return text

    def array(self, *shape: int) -> "Constraint":
        """An array of such values, as in Stan's `array[5] simplex[2] theta`.

        >>> from contad.stan.transforms import simplex
        >>> simplex(2).array(5)
        <simplex of shape (5, 2)>
        """
        return self._change(array=axes_of("array", shape) + self._made_of[5])

    def of_numbers(self) -> "Constraint":
        """The same constraint as an array of numbers, which fill it in the order of its indices."""
        return self._change(element=(), array=self.shape)

    def _change(self, **changes: Any) -> "Constraint":
        names = ("name", "element", "free", "arguments", "transform", "array", "order")
        return Constraint(**dict(zip(names, self._made_of, strict=True)) | changes)

    def rename(self, name: str) -> "Constraint":
        """The same constraint under another name."""
        return self._change(name=name, transform=self.transform)

    def ordered_by(self, order: str) -> "Constraint":
        """The same constraint, with matrices in another order."""
        return self._change(order=order)

    def of_version(self, stan_version: str) -> "Constraint":
        """The same constraint in a version of Stan: before 2.37 simplices break sticks."""
        numbers = [int(x) for x in re.findall(r"\d+", stan_version)]
        sticks = f"{self.transform}_of_sticks"
        return self._change(transform=sticks) if sticks in TRANSFORMS and numbers < [2, 37] else self

    def name_arguments(self, prefix: str, known: dict[str, Any]) -> list[str]:
        """The expressions of the arguments: numbers, and names of arrays, which `known` gets."""
        if any(map(callable, self.arguments)):
            raise UnsupportedError(f"{self.name}: a bound depends on other parameters, which contad.stan.Model knows")
        found = []
        for k, x in enumerate(self.arguments):
            is_number = isinstance(x, (int, float)) and math.isfinite(x)
            found.append(repr(x) if is_number else f"{prefix}_{k}")
            if not is_number:
                known[found[-1]] = x
        return found

    def write(self, kind: str, literal: bool) -> list[str]:
        """The statements of a function: "constrain", "log_jacobian", "both" of these, or "unconstrain".

        Unless they are literal, the arguments have names there.
        """
        numbers = self.name_arguments("", {})
        given = numbers if literal else [f"_{k}" for k in range(len(self.arguments))]
        if kind == "unconstrain":
            return [*write_free("u", self, given, "y"), "return u"]
        result = {"constrain": "y", "log_jacobian": "_logs", "both": "y, _logs"}[kind]
        lines = write_value("y", self, given, "u", copies=literal)
        if self.transform == "real" or self.array_shape:
            return ["_logs = 0.0", *lines, f"return {result}"]
        return [lines[0].replace(", _log =", ", _logs =", 1), f"return {result}"]

    def run(self, kind: str, x: ArrayValue) -> Any:
        """Run one of these functions in Python, without checks of the shape."""
        if kind not in self._functions:
            known = IN_PYTHON | {f"_{k}": x for k, x in enumerate(self.arguments)}
            axes = len(self.free_shape), *map(np.ndim, self.arguments)
            for name in (f"{self.transform}_jacobian", f"{self.transform}_constrain"):
                known[name] = FUNCTIONS[name].for_axes(axes)
            argument = "y" if kind == "unconstrain" else "u"
            exec(_compile("\n    ".join([f"def {kind}({argument}):", *self.write(kind, literal=False)])), known)
            self._functions[kind] = known[kind]
        return self._functions[kind](x)

    def accepts(self, y: ArrayValue) -> bool:
        """Whether an array of the right shape meets the constraint."""
        with contextlib.suppress(ValueError):
            self.run("unconstrain", y)
            return True
        return False

    def _constrain(self, u: Nested) -> Value:
        return self.run("constrain", self._vector(u))

    def _log_jacobian(self, u: Nested) -> Real:
        return self.run("log_jacobian", self._vector(u))

    def _unconstrain(self, y: Nested) -> ArrayValue:
        value = as_array(y)
        if np.shape(value) != self.shape:
            raise ValueError(f"{self.name}: y must have the shape {self.shape}, got {np.shape(value)}")
        try:
            return self.run("unconstrain", value)
        except ValueError as error:
            raise ValueError(f"{self.name}: y must {self.expected}") from error

    def _vector(self, u: Nested) -> ArrayValue:
        given = as_array(u)
        if np.size(given) != self.size:
            raise ValueError(f"{self.name}: u must have {self.size} elements, got shape {np.shape(given)}")
        return np.reshape(given, (self.size,))


def _describe(x: Any) -> Any:
    """An argument in the name of a constraint."""
    return (x.shape, hashlib.sha256(x.tobytes()).hexdigest()) if isinstance(x, np.ndarray) else x


class Parameters(ModuleType):
    """A tree of transforms, as one unconstrained vector.

    Numba functions may call `constrain` and `unconstrain`, like functions of a module; a dict of values is a named
    tuple there.

    `order` is the order in which the vector fills matrices of bounded or unbounded numbers: "C" by rows, or "F" by
    columns, as in Stan.
    """

    def __init__(self, tree: Any, order: str = "C") -> None:
        self._made_of = tree, order
        leaves, self._structure = optree.tree_flatten(tree, is_leaf=lambda x: isinstance(x, Constraint))
        for x in leaves:
            if not isinstance(x, Constraint):
                fail("Parameters", "tree", "hold constraints, such as real() or lower_bound(0.0)", repr(x), TypeError)
        self.transforms: list[Constraint] = [x if order == "C" else x.ordered_by(order) for x in leaves]
        ends = np.cumsum([0, *(t.size for t in self.transforms)]).tolist()
        self.size = ends[-1]
        self._parts = [(t, slice(*ends[k : k + 2])) for k, t in enumerate(self.transforms)]
        depends = self._structure, [t.__name__ for t in self.transforms]  # as in the name of a constraint
        super().__init__(f"{__name__}.Parameters {depends}", self.__doc__)
        places = optree.tree_unflatten(self._structure, range(len(leaves)))
        self.constrain = TreeFunction(self._constrain, self.transforms, places, "Parameters", self.size)
        self.unconstrain = FreeTree(self._unconstrain, self.transforms, places)

    def __reduce__(self) -> Any:
        return Parameters, self._made_of

    def _constrain(self, u: Nested) -> tuple[Any, Real]:
        """The tree of values, and the sum of the log-Jacobians."""
        given = as_array(u)
        shape = getattr(given, "shape", ())
        if shape != (self.size,):
            raise ValueError(f"Parameters: u must have {self.size} elements, got shape {shape}")
        values, total = [], 0.0
        for transform, part in self._parts:
            value, log_jacobian = transform.run("both", given[part])
            values.append(value)
            if log_jacobian.__class__ is not float or log_jacobian != 0.0:
                total = total + log_jacobian
        return optree.tree_unflatten(self._structure, values), total

    def _unconstrain(self, values: Any) -> ArrayValue:
        """The inverse of `constrain`; ValueError if a value violates its constraint."""
        leaves = self._structure.flatten_up_to(values)
        parts = [t.unconstrain(x) for t, x in zip(self.transforms, leaves, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0)
