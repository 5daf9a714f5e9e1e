"""The interface between the readers of one function: their shared state, and calls to each other.

Each special reader holds the `Reader`, and none holds another special reader; the front end connects them.
"""

import ast
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from contad.engines.source.ir.entries import (
    SMALL,
    ArrayOfComplex,
    Complex,
    Elementwise,
    Object,
    Point,
    constant,
    is_number,
)
from contad.engines.source.ir.known_functions import OR
from contad.engines.source.ir.ssa import MOST_AXES, Kind, Value
from contad.engines.source.ir.walks import find_written_roots, like
from contad.engines.source.reading.builder import Builder, fits
from contad.engines.source.reading.complex_numbers import ComplexNumbers
from contad.engines.source.reading.elementwise import WholeArrays, arrays_of
from contad.engines.source.reading.fresh_arrays import FreshArrays
from contad.engines.source.reading.merging import Merging
from contad.engines.source.reading.progress import Environment, Progress


class Reader:
    """The progress of reading a function, the builder of operations, and functions that read parts of the source."""

    # the entry of an expression, including expressions that are handed on to Numba
    expression: Callable[[ast.expr, Environment], Any]
    condition: Callable[[ast.expr, Environment], Value]  # an expression as a truth value
    define: Callable[..., Any]  # a nested function
    binary: Callable[[str, Any, Any, ast.AST], Any]  # x operator y
    subscript: Callable[[Value, ast.expr, Environment], list[Any]]  # an index or a slice for each dimension
    statements: Callable[[list[ast.stmt], Environment], None]
    assign: Callable[..., None]  # target = entry
    loop: Callable[..., None]  # a loop that assigns names
    # the limits of the range of a loop, and the entry of its target at an index
    items: Callable[[Any, ast.AST], tuple[list[Value], Callable[[Value], Any]]]
    inline: Callable[..., Any]  # inlines a call of a function
    library: Callable[..., Any]  # a call of a function of NumPy, Python or contad

    def __init__(self, progress: Progress, most: int) -> None:
        """Start at the beginning of a function, which may have `most` operations."""
        self.progress, self.refuse = progress, progress.refuse
        self.builder = Builder(progress, most)
        self.arrays, self.merging = WholeArrays(self.builder), Merging(FreshArrays(self.builder))
        self.complex = ComplexNumbers(self.arrays)

    def number(self, node: ast.expr, env: Environment) -> Value:
        """An expression that must be a number."""
        entry = self.expression(node, env)
        if isinstance(entry, Complex):
            self.refuse(node, "the complex number {node} where a real one is needed", "take .real, .imag or abs(...)")
        if not is_number(entry):
            self.refuse(node, "{node} where a number is needed", "give a number")
        return entry

    def settle(self, entry: Any, hint: str = "") -> Any:
        """Compute an array expression; other entries are unchanged."""
        if isinstance(entry, Complex):
            return self.complex.compute(entry, hint)
        return self.arrays.compute(entry, hint) if isinstance(entry, Elementwise) else entry

    def ends(self, statement: ast.For | ast.While, env: Environment) -> Value | None:
        """The condition on which a loop ends after this iteration; None if nothing in its body ends it."""
        ends = None
        for name in statement.flags:  # type: ignore[union-attr]
            flag = env[name]
            if flag.constant is not False:
                ends = flag if ends is None else self.builder.apply(OR, ends, flag)
        return ends

    @contextlib.contextmanager
    def forbid_writes(self, entries: list[Any], node: ast.AST) -> Iterator[None]:
        """Inside, refuse writes to arrays of these entries, which are not computed yet."""
        before = len(self.builder.block.operations)
        yield
        arrays = [array for x in entries if isinstance(x, (Elementwise, Complex)) for array in arrays_of(x)]
        pending = {root for array in arrays for root in array.roots}
        if pending and any(pending & find_written_roots(o) for o in self.builder.block.operations[before:]):
            what = "a call that writes into an array of the same expression"
            self.refuse(node, what, "give it its own statement")

    # ---- going back --------------------------------------------------------------------------------------------------
    def state(self) -> tuple[Any, ...]:
        """The current state, for `return_to`."""
        block = self.builder.block
        return block, len(block.operations), len(self.progress.frames), self.progress.position()

    def return_to(self, state: tuple[Any, ...]) -> None:
        """Undo all reading since a state; branches and loops read since were not added yet."""
        self.builder.block, operations, frames, position = state
        del self.builder.block.operations[operations:]
        del self.progress.frames[frames:]
        self.progress.return_to(position)

    # ---- objects from outside the function ---------------------------------------------------------------------------
    def import_constant(self, x: Any, node: ast.AST, name: str) -> Any:
        """The entry of a constant."""
        if isinstance(x, (bool, np.bool_)):
            return constant(bool(x))
        if isinstance(x, (int, np.integer)):
            if not fits(int(x)):
                self.refuse(node, f"the integer {x}, which does not have 64 bits", "write it as a float")
            return constant(int(x))
        if isinstance(x, (float, np.float64)):
            return constant(float(x))
        if isinstance(x, complex):  # np.complex128 included
            return Complex(constant(x.real), constant(x.imag))
        if isinstance(x, tuple):
            return like(x, (self.import_constant(part, node, name) for part in x))
        if isinstance(x, np.ndarray):
            return self.capture_array(x, node, name)
        return Object(x)

    def capture_array(self, x: np.ndarray, node: ast.AST, name: str) -> Any:
        """The value of a global array, which is a constant for Numba."""
        bases, small = {"f": "float", "i": "int", "b": "bool", "u": "int"}, SMALL.get(str(x.dtype), "")
        if x.dtype == np.complex128 and x.ndim:
            parts = self.progress.parts_of(x)
            return ArrayOfComplex(*(self.capture_array(part, node, f"{name}_{k}") for k, part in parts.items()))
        if not x.ndim:
            return Point(self.capture_array(x.reshape(1), node, name))
        known = x.dtype.kind in "ib" or x.dtype == np.float64 or small
        if not known or not 1 <= x.ndim <= MOST_AXES:
            what = f"the global array {name} of {x.dtype} with {x.ndim} dimensions"
            self.refuse(node, what, "pass it as an argument")
        for value, array in self.progress.captured.values():
            if array is x:
                return value
        narrow = x.dtype.kind != "b" and x.dtype not in (np.int64, np.float32, np.float64)
        value = Value(Kind(bases[x.dtype.kind], x.ndim, narrow, small), name)
        value.order = "C" if x.flags.c_contiguous else ""
        self.progress.constants.add(value)
        self.progress.captured[f"{name}_{len(self.progress.captured)}"] = (value, x)
        return value
