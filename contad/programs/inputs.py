"""The inputs of a recorded program, numbers in one array in the layout of the example, and the memory of its runs."""

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.dtypes import FLOAT, KEPT, PRECISION
from contad.variables.number import Carrier
from contad.variables.open_types import Nested, Value
from contad.variables.trees import Tree, flatten, real_leaf


class Inputs:
    """The structure of the arguments, and where each number is among the inputs."""

    def __init__(self, what: str, argnums: Sequence[int], args: Sequence[Nested]) -> None:
        self.what = what
        self.argnums = tuple(argnums)
        self.specs: list[Any] = []
        self.shapes: list[list[tuple[int, ...] | None]] = []  # of the leaves of each argument; None for a number
        self.dtypes: list[Any] = []  # of the leaves of each argument that keep theirs; None if there are none
        self.size = 0
        self.are_written = False  # whether the function writes into an argument
        for n, x in zip(argnums, args, strict=True):
            tree = flatten(x)
            leaves = [self._leaf(n, leaf) for leaf in tree.leaves]
            self.specs.append(tree.spec)
            self.dtypes.append(tree.dtypes)
            self.shapes.append([leaf.shape if isinstance(leaf, np.ndarray) else None for leaf in leaves])
            self.size += sum(leaf.size if isinstance(leaf, np.ndarray) else 1 for leaf in leaves)

    @property
    def dimensions(self) -> tuple[int | None, ...]:
        """For each argument the number of its axes, -1 for a number; None for a structure of them."""
        return tuple(
            None if spec is not None else -1 if shapes[0] is None else len(shapes[0])
            for spec, shapes in zip(self.specs, self.shapes, strict=True)
        )

    @property
    def lengths(self) -> list[int]:
        """The lengths of all axes of all arguments, in order."""
        return [n for shapes in self.shapes for shape in shapes for n in shape or ()]

    def _leaf(self, n: int, leaf: Value) -> Value:
        leaf = real_leaf(leaf, f"{self.what}, argument {n}")
        if isinstance(leaf, Carrier) or (isinstance(leaf, np.ndarray) and leaf.dtype != FLOAT):
            raise UnsupportedError(
                f"{self.what}, argument {n}: expected plain numbers or float arrays, got variables; record outside of "
                "gradient calls, and ask for its derivatives there; the program itself, program(x), takes variables"
            )
        return leaf

    def are_carriers(self, args: Sequence[Nested]) -> bool:
        """Whether variables or duals are among the arguments."""
        for x in args:
            if x.__class__ is float or (x.__class__ is np.ndarray and x.dtype is FLOAT):
                continue
            for leaf in flatten(x).leaves:
                if isinstance(leaf, Carrier) or (isinstance(leaf, np.ndarray) and leaf.dtype == object):
                    return True
        return False

    def flat(self, args: Sequence[Nested], tangents: bool = False) -> np.ndarray:
        """The numbers of the arguments, in order; it is an error if their layout differs from the example's.

        A lone array is read in place. The caller gives other arrays back after reading them. Tangents may have any
        dtype.
        """
        if len(args) == 1 == len(self.specs) and self._is_read_in_place(args[0]):
            return args[0].reshape(-1)
        if len(args) != len(self.specs):
            numbers = ", ".join(map(str, self.argnums))
            raise TypeError(
                f"{self.what}: expected {len(self.specs)} argument(s), those recorded (argnums {numbers}), got "
                f"{len(args)}; other arguments are frozen as they were"
            )
        inputs = take_inputs(self.size)
        at = 0
        for k, (n, x, spec, shapes) in enumerate(zip(self.argnums, args, self.specs, self.shapes, strict=True)):
            plain = spec is None and self.dtypes[k] is None
            if plain and x.__class__ is float and shapes[0] is None:
                inputs[at] = x
                at += 1
                continue
            if plain and x.__class__ is np.ndarray and x.dtype is FLOAT and x.shape == shapes[0]:
                inputs[at : at + x.size] = x.reshape(-1)
                at += x.size
                continue
            tree = flatten(x)
            if tree.spec != spec:
                raise TypeError(
                    f"{self.what}, argument {n}: expected the structure of the example, {Tree([], spec).describe()}, "
                    f"got {tree.describe()}"
                )
            for leaf, shape, dtype in zip(
                tree.leaves, shapes, self.dtypes[k] or [None] * len(shapes), strict=True
            ):  # fmt: skip
                v = self._leaf(n, leaf)
                if not tangents:
                    self._require_dtype(n, leaf, dtype)
                if np.shape(v) != (shape or ()):
                    expected = "a number" if shape is None else f"an array of shape {shape}"
                    got = f"an array of shape {v.shape}" if isinstance(v, np.ndarray) else "a number"
                    raise ValueError(
                        f"{self.what}, argument {n}: expected {expected}, as recorded, got {got}; record another "
                        "program for other shapes"
                    )
                size = np.size(v)
                inputs[at : at + size] = np.reshape(v, -1)
                at += size
        return inputs

    def _require_dtype(self, n: int, leaf: Value, recorded: np.dtype | None) -> None:
        """Refuse a leaf of another dtype than that which the example has kept."""
        given = getattr(leaf, "dtype", None)
        if recorded != (given if given in KEPT else None) and (recorded is not None or PRECISION.keeps):
            raise ValueError(
                f"{self.what}, argument {n}: expected {recorded or FLOAT}, as recorded, got {given or FLOAT}; record "
                "another program for other dtypes"
            )

    def _is_read_in_place(self, x: Nested) -> bool:
        return (
            self.specs[0] is None
            and self.dtypes[0] is None
            and x.__class__ is np.ndarray
            and x.dtype is FLOAT
            and x.shape == self.shapes[0][0]
            and x.flags.carray
        )

    def unflat(self, numbers: np.ndarray) -> list[Nested]:
        """The numbers in the structures of the arguments; an argument that holds most of them is a view."""
        found = []
        at = 0
        for spec, shapes, dtypes in zip(self.specs, self.shapes, self.dtypes, strict=True):
            leaves: list[Value] = []
            for shape in shapes:
                if shape is None:
                    leaves.append(float(numbers[at]))
                    at += 1
                else:
                    size = math.prod(shape)
                    part = numbers[at : at + size]
                    if 2 * size < self.size:
                        part = part.copy()
                    leaves.append(part if len(shape) == 1 else part.reshape(shape))
                    at += size
            found.append(Tree(leaves, spec, dtypes).unflatten(leaves))
        return found


# ---- memory ----------------------------------------------------------------------------------------------------------
# Runs from Python reuse memory: the operating system would clear every page of a new allocation, and for programs of
# arrays this would take longer than the run itself. A thread keeps one allocation, and a run takes it away, so that a
# rule in Python may run another program meanwhile.
FEW = 1 << 13  # numbers; Numba allocates and frees fewer than that faster
MOST = 1 << 25  # numbers that a thread keeps: 256 MiB
NONE = np.empty(0)


class _Kept(threading.local):
    numbers = NONE
    inputs = NONE


_kept = _Kept()


def take(n: int) -> np.ndarray:
    """At least n numbers for a run; an empty array where the run allocates them faster itself."""
    if n < FEW:
        return NONE
    found = _kept.numbers
    _kept.numbers = NONE
    return found if len(found) >= n else np.empty(n)


def give_back(numbers: np.ndarray) -> None:
    """Keep the numbers for the next run of this thread."""
    if len(_kept.numbers) < len(numbers) <= MOST:
        _kept.numbers = numbers


def take_inputs(n: int) -> np.ndarray:
    """An array of n numbers for the inputs of a run."""
    if n < FEW:
        return np.empty(n)
    found = _kept.inputs
    _kept.inputs = NONE
    return found if len(found) == n else np.empty(n)


def give_back_inputs(inputs: np.ndarray) -> None:
    """Keep the memory of inputs for the next run of this thread, but not arrays of the user."""
    if FEW <= len(inputs) <= MOST and inputs.base is None:
        _kept.inputs = inputs
