"""Reads statements: assignments, branches, loops, assert and raise."""

import ast
import builtins
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    Complex,
    Grid,
    Iteration,
    Object,
    Opaque,
    Point,
    Range,
    StructuredArray,
    Yielding,
    constant,
    is_array,
    is_number,
)
from contad.engines.source.ir.ssa import INT, Accumulate, Block, Check, For, Kind, Loop, Value, While, kind_of_elements
from contad.engines.source.ir.syntax import expression, place_at
from contad.engines.source.ir.walks import find_written_roots
from contad.engines.source.reading import class_instances, complex_writes, made_containers, points, structured_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.buffer_bounds import count_axis
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.complex_numbers import has_axes, join
from contad.engines.source.reading.declared_names import cast
from contad.engines.source.reading.elementwise import is_unit, overlaps
from contad.engines.source.reading.exits import locate
from contad.engines.source.reading.generators import OUTER, GeneratorLoop, Yielded, is_counted
from contad.engines.source.reading.index_arrays import IndexArrays, has_arrays
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.python_blocks import is_objmode, read_objmode
from contad.engines.source.reading.reader import Reader
from contad.errors import SingularPointError, UnsupportedError


class StatementReader:
    """Reads statements, in order, into the current block."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.arrays, self.merging = reader, reader.arrays, reader.merging
        self.builder, self.progress = reader.builder, reader.progress
        self.index_arrays = IndexArrays(reader)

    def statements(self, body: list[ast.stmt], env: Environment) -> None:
        """Read statements in order; those in a try must not raise unnoticed."""
        for statement in body:
            read = getattr(self, f"do_{type(statement).__name__}", None)
            if read is None:
                self.reader.refuse(statement, _NAMES.get(type(statement), f"the statement {type(statement).__name__}"))
            self.progress.line = getattr(statement, "lineno", self.progress.line)
            trying = self.progress.trying
            self.progress.trying = trying or getattr(statement, "in_try", False)
            read(statement, env)
            self.progress.trying = trying

    def do_Pass(self, statement: ast.Pass, env: Environment) -> None:
        pass

    def do_Expr(self, statement: ast.Expr, env: Environment) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.reader.expression(statement.value, env)

    # ---- assignments -------------------------------------------------------------------------------------------------
    def do_Assign(self, statement: ast.Assign, env: Environment) -> None:
        filled = made_containers.read_filled(self.reader, statement, env)
        entry = self.reader.expression(statement.value, env) if filled is None else filled
        if len(statement.targets) > 1:
            entry = self.reader.settle(entry)
        for target in statement.targets:
            self.assign(target, entry, env, statement)

    def do_AnnAssign(self, statement: ast.AnnAssign, env: Environment) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.reader.expression(statement.value, env), env)

    def assign(self, target: ast.expr, entry: Any, env: Environment, statement: ast.stmt | None = None) -> None:
        """target = entry."""
        if isinstance(target, ast.Name):
            entry = self.reader.settle(entry, target.id)
            scope = self.progress.scope
            entry = cast(self.builder, scope.dispatcher, target.id, entry, scope.declared.get(target.id))
            if isinstance(entry, Value) and not entry.hint and entry.constant is None:
                entry.hint = target.id
            env[target.id] = entry
        elif isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(part, ast.Starred) for part in target.elts):
                self.reader.refuse(target, "a starred target", "write the names out")
            parts = self.unpack(entry, len(target.elts), target)
            for part, value in zip(target.elts, parts, strict=True):
                self.assign(part, value, env, statement)
        elif isinstance(target, ast.Subscript):
            self.assign_elements(target, entry, env, statement)
        elif isinstance(target, ast.Attribute):
            instance = self.reader.expression(target.value, env)
            if isinstance(instance, StructuredArray):
                structured_arrays.assign_field(self.reader, instance, target.attr, target, entry)
                return
            class_instances.assign_field(self.reader, instance, target, entry, env)
        else:
            self.reader.refuse(target, "the assignment to {node}")

    def unpack(self, entry: Any, n: int, node: ast.AST) -> tuple[Any, ...]:
        """The n parts of a tuple, or the n elements or rows of an array."""
        if isinstance(entry, Complex):
            parts = [self.unpack(part, n, node) for part in self.reader.complex.compute(entry)]
            return tuple(map(join, zip(*parts, strict=True)))
        if isinstance(entry, tuple):
            if len(entry) != n:
                self.reader.refuse(node, f"{n} names for {len(entry)} values", "give one name for each value")
            return entry
        if is_array(entry):
            array = self.arrays.compute(entry)
            differs = known_functions.COMPARISONS["NotEq"]
            self.builder.add(Check(self.builder.apply(differs, self.builder.length(array, 0), constant(n)), _UNPACKED))
            rest: list[Any] = [WHOLE] * (array.kind.ndim - 1)
            ways: list[list[Any]] = [[constant(k), *rest] for k in range(n)]
            return tuple(self.builder.view(array, way) if rest else self.builder.load(array, way) for way in ways)
        return self.reader.refuse(node, "unpacking of something that is no tuple", "assign the elements one by one")

    def assign_elements(
        self, target: ast.Subscript, entry: Any, env: Environment, statement: ast.stmt | None = None
    ) -> None:
        """target = entry, for elements or slices of an array, or a value of a dict."""
        filled = env.get(target.value.id) if isinstance(target.value, ast.Name) else None
        if isinstance(filled, KeyedBuffer):
            filled.assign(self.reader.expression(target.slice, env), entry, target, statement)
            return
        with self.reader.forbid_writes([entry], target):
            structured = self.structured_at(target, env)
            if structured is not None:
                structured_arrays.assign_element(self.reader, structured, entry, target)
                return
            array, spec = self.place(target, env)
            entry = points.element(self.arrays, entry)
        if isinstance(array, Complex):
            complex_writes.assign(self.reader, array, spec, entry, target)
            return
        if has_arrays(spec) and (is_number(entry) or is_array(entry)):
            self.index_arrays.write(array, spec, entry, target)
            return
        if all(is_number(part) for part in spec):
            if not is_number(entry):
                self.reader.refuse(target, "the assignment of something that is no number to {node}", "give a number")
            self.arrays.put(array, spec, entry)
            return
        if not (is_number(entry) or is_array(entry)):
            what = "the assignment to {node} of something that is no number or array"
            self.reader.refuse(target, what, "give numbers and arrays")
        everything = all(part == WHOLE for part in spec)
        self.arrays.fill(array if everything else self.builder.view(array, spec), entry, target)

    def structured_at(self, target: ast.Subscript, env: Environment) -> Any:
        """The structured array, or its element, that an assignment replaces; None for other targets."""
        of = target.value
        if not isinstance(of, ast.Name) or not isinstance(env.get(of.id), (StructuredArray, Opaque)):
            return None
        read = ast.Subscript(target.value, target.slice, ast.Load(), lineno=target.lineno)
        found = self.reader.expression(read, env)
        return found if isinstance(found, StructuredArray) else None

    def place(self, target: ast.Subscript, env: Environment) -> tuple[Any, list[Any]]:
        """The array and the indices of an assignment."""
        array = self.reader.expression(target.value, env)
        if isinstance(array, (BoundedBuffer, KeyedBuffer)):
            return array.place(self.reader.expression(target.slice, env), target)
        if isinstance(array, StructuredArray):
            name = self.reader.expression(target.slice, env)
            return structured_arrays.find_place(self.reader, array, getattr(name, "value", None), target)
        if isinstance(array, Point):
            return points.find_place(self.reader, array, target, env)
        if isinstance(array, Complex) and is_array(array.real):
            return array, self.reader.subscript(array.real, target.slice, env)
        if not isinstance(array, Value) or not array.is_array:
            self.reader.refuse(target, "the assignment to {node}", "assign to the elements of an array")
        return array, self.reader.subscript(array, target.slice, env)

    def do_AugAssign(self, statement: ast.AugAssign, env: Environment) -> None:
        """x op= y, for a name, an element or a slice."""
        target, operator = statement.target, type(statement.op).__name__
        placed = None
        if isinstance(target, ast.Subscript):
            placed = self.place(target, env)
        elif isinstance(target, ast.Attribute):
            instance = self.reader.expression(target.value, env)
            if isinstance(instance, StructuredArray):
                placed = structured_arrays.find_place(self.reader, instance, target.attr, target)
            elif (cell := class_instances.find_cell(instance, target)) is not None:
                placed = cell, [constant(0)]
        elif not isinstance(target, ast.Name):
            self.reader.refuse(statement, f"the assignment to {ast.unparse(target)!r}")
        if placed is not None and isinstance(placed[0], Complex):
            complex_writes.update(self.reader, *placed, operator, statement, env)
            return
        if placed is not None and (has_arrays(placed[1]) or all(isinstance(part, Value) for part in placed[1])):
            self._update_elements(*placed, operator, statement, env)
            return
        if placed is not None:
            old: Any = self.builder.view(*placed)
        else:
            read = copy.copy(target)
            read.ctx = ast.Load()
            old = self.reader.expression(ast.copy_location(read, statement), env)
        entry = self.reader.expression(statement.value, env)
        if isinstance(old, Point):
            points.update(self.reader, old, operator, statement, entry)
            return
        if is_array(old) and isinstance(entry, Value) and entry.is_array and overlaps(old, entry):
            self._update_in_order(old, entry, operator, statement)
            return
        new = self.reader.binary(operator, old, entry, statement)
        if isinstance(old, Complex) and has_axes(old):
            self.reader.complex.fill(old, new, statement)
        elif isinstance(old, Value) and old.is_array:
            self.arrays.fill(old, new, statement)
        else:
            self.assign(target, new, env)

    def _update_in_order(self, array: Value, other: Value, operator: str, statement: ast.AugAssign) -> None:
        """array op= other, if they may overlap: Numba writes each element before it reads the next one."""
        function = known_functions.OPERATORS.get(operator)
        if array.kind.ndim > 1 or array.kind != Kind("float", 1) or function is None:
            what = "{node} of overlapping parts, where Numba and NumPy differ"
            self.reader.refuse(statement, what, "copy the right side first")
        (length,) = self.arrays.shape(array)
        (others,) = self.arrays.shape(other)
        self.arrays.require_equal(constant(1) if is_unit(other, -1) else length, others)

        def update(at: list[Value]) -> None:
            x, y = self.builder.load(array, at), self.arrays.element(other, at)
            new = self.builder.power(x, y) if operator == "Pow" else self.builder.apply(function, x, y)
            self.arrays.put(array, at, new)

        self.arrays.over([length], update)

    def _update_elements(
        self, array: Value, spec: list[Any], operator: str, statement: ast.AugAssign, env: Environment
    ) -> None:
        """array[spec] op= value, for one element or those at an index array, which are all read before any is written.

        += is its own operation, because its reverse is cheap.
        """
        several = has_arrays(spec)
        if array.kind.narrow and not several:
            what = "a write into an array of fewer than 64 bits, which wraps or rounds"
            self.reader.refuse(statement, what, "make it int64 or float64")
        base, target = array.kind.base, statement.target
        # read it before the right-hand side, which may write it
        old = self.index_arrays.read(array, spec, target) if several else self.builder.load(array, spec)
        before = len(self.builder.block.operations)
        value = (self.reader.expression if several else self.reader.number)(statement.value, env)
        written = {root for o in self.builder.block.operations[before:] for root in find_written_roots(o)}
        if operator in ("Add", "Sub") and not several and not written & set(array.roots):
            if base == "float" or value.kind.base == base == "int":
                number = self.builder.convert(value, kind_of_elements(array.kind.elements))
                self.builder.add(Accumulate(array, spec, number, "+" if operator == "Add" else "-"))
                return
        new = self.reader.binary(operator, old, value, statement)
        if new.kind.base == "float" and base != "float":
            self.reader.refuse(statement, "a float stored in an array of integers", "make the array one of floats")
        if several:
            self.index_arrays.write(array, spec, new, target)
        else:
            self.arrays.put(array, spec, new)

    def do_FunctionDef(self, statement: ast.FunctionDef, env: Environment) -> None:
        if self.progress.loop_depth:
            self.reader.refuse(statement, "a function inside a loop", "define it before the loop")
        env[statement.name] = self.reader.define(statement, env)

    # ---- branches and errors -----------------------------------------------------------------------------------------
    def do_If(self, statement: ast.If, env: Environment) -> None:
        """A branch; if the condition is constant, only one side is read."""
        condition = self.reader.condition(statement.test, env)
        if condition.constant is not None:
            self.statements(statement.body if condition.constant else statement.orelse, env)
            return
        self.merging.branch(
            condition,
            env,
            lambda changed: self.statements(statement.body, changed),
            lambda changed: self.statements(statement.orelse, changed),
        )

    def do_Assert(self, statement: ast.Assert, env: Environment) -> None:
        message = statement.msg.value if isinstance(statement.msg, ast.Constant) else ""
        failed = self.builder.negate(self.reader.condition(statement.test, env))
        self.builder.add(Check(failed, ("AssertionError", message) if message else ("AssertionError",)))

    def do_Raise(self, statement: ast.Raise, env: Environment) -> None:
        """Raise an exception when this point is reached."""
        raised = statement.exc
        call = raised if isinstance(raised, ast.Call) else None
        name = call.func if call is not None else raised
        found = self._find_outside(name, env)
        arguments = list(call.args) if call is not None else []
        own = found is SingularPointError or found is np.linalg.LinAlgError
        known = own or getattr(builtins, getattr(found, "__name__", ""), None) is found
        if not (isinstance(found, type) and issubclass(found, Exception) and known):
            self.reader.refuse(statement, "{node}", "raise a built-in exception")
        if arguments and isinstance(text := self._find_outside(arguments[0], env), str):
            arguments[0] = ast.Constant(text)
        numbers: list[Value] = []  # numbers after a constant text
        if arguments and isinstance(arguments[0], ast.Constant) and all(isinstance(a, ast.Name) for a in arguments[1:]):
            numbers = [self.reader.expression(a, env) for a in arguments[1:]]
            numbers = numbers if all(map(is_number, numbers)) else []
        # any other computed message is shown as its source text
        said = [a.value if isinstance(a, ast.Constant) else ast.unparse(a) for a in arguments]
        spelled = "np.linalg.LinAlgError" if found is np.linalg.LinAlgError else found.__name__
        self.builder.add(Check(constant(True), (spelled, *said[: len(said) - len(numbers)]), numbers))

    def _find_outside(self, node: ast.expr | None, env: Environment) -> Any:
        """The object of a global name; None for other expressions and for local names."""
        if isinstance(node, ast.Attribute):
            return getattr(self._find_outside(node.value, env), node.attr, None)
        if not isinstance(node, ast.Name) or node.id in env:
            return None
        try:
            return self.progress.scope.outer(node.id)
        except KeyError:
            return None

    def do_With(self, statement: ast.With, env: Environment) -> None:
        if not is_objmode(self.reader, statement):
            self.reader.refuse(statement, "the statement with")
        for name, entry in read_objmode(self.reader, statement, env).items():
            self.assign(ast.Name(name, ast.Store()), entry, env)

    # ---- loops -------------------------------------------------------------------------------------------------------
    def do_While(self, statement: ast.While, env: Environment) -> None:
        """A loop with an unknown trip count."""

        def write(inner: Environment, start: Callable[[Environment], None]) -> Loop:
            with self.builder.inside(Block()) as test:
                start(inner)
                condition = self.reader.condition(statement.test, inner)
            with self.builder.inside(Block()) as body:
                self.statements(statement.body, inner)
                ends = self.reader.ends(statement, inner)
            return While(test, condition, body, ends)

        self.loop(env, find_assigned(statement.body), write, statement)

    def loop(self, env: Environment, names: list[str], write: Callable[..., Loop], statement: Any = None) -> None:
        """A loop that assigns names; in a user's `statement`, arrays may grow."""

        def count(name: str, axis: int, refusal: UnsupportedError) -> Value:
            if statement is None:
                raise refusal
            return count_axis(self.reader, statement, name, axis, env, refusal)

        self.progress.loop_depth += 1
        self.merging.iterate(env, names, write, count)
        self.progress.loop_depth -= 1

    def do_For(self, statement: ast.For, env: Environment) -> None:
        """A loop over a range, an array, a tuple, or an argument that is a list or a dict."""
        statement = self._over_argument(statement, env)
        head = made_containers.list_arrays_as_tuple(self.reader, statement.iter, env)
        iterated = self.reader.expression(head, env)
        if isinstance(iterated, Iteration):
            iterated = _parts_of(iterated)
        if isinstance(iterated, Yielding) or is_counted(iterated):
            counted = isinstance(iterated, Iteration)
            yielding, start = (iterated.arguments[0], iterated.start) if counted else (iterated, None)
            GeneratorLoop(self.reader, statement, yielding, start).read(env)
            return
        if isinstance(iterated, tuple) and not isinstance(iterated, Complex):
            self._unroll(statement, iterated, env)
            return
        if isinstance(iterated, Grid):
            self._walk(statement, iterated, env)
            return
        keyed = self._dict_of(statement, iterated, env)
        before = None if keyed is None else keyed.count()
        if isinstance(iterated, KeyedBuffer):
            iterated = iterated.list_keys(statement)
        if isinstance(iterated, BoundedBuffer) and any(x in iterated.sites for x in ast.walk(statement)):
            self.reader.refuse(statement, "a loop over a list that grows in it", "loop over range(len(...)) before")
        limits, item = self.items(iterated, statement)
        hint = statement.target.id if isinstance(statement.target, ast.Name) and isinstance(iterated, Range) else "k"

        def write(inner: Environment, start: Callable[[Environment], None]) -> Loop:
            """Write the loop; `inner` is the environment at the start of an iteration."""
            index = Value(INT, hint)
            with self.builder.inside(Block()) as body:
                start(inner)
                self.assign(statement.target, item(index), inner)
                self.statements(statement.body, inner)
                ends = self.reader.ends(statement, inner)
                if keyed is not None and before is not None:
                    keyed.check_count(before, ends)
            loop = For(limits, index, body, ends)
            loop.checkpointed = isinstance(iterated, Range) and iterated.checkpointed
            loop.is_parallel = isinstance(iterated, Range) and iterated.is_parallel
            return loop

        names = find_assigned([ast.Assign([statement.target], statement.iter), *statement.body])
        self.loop(env, names, write, statement)

    def _dict_of(self, statement: ast.For, iterated: Any, env: Environment) -> KeyedBuffer | None:
        """The dict that a loop iterates over and fills; None if there is none."""
        node = statement.iter
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        named = env.get(node.id) if isinstance(node, ast.Name) else None
        found = iterated if isinstance(iterated, KeyedBuffer) else named
        filled = isinstance(found, KeyedBuffer) and any(x in found.values.sites for x in ast.walk(statement))
        return found if filled else None

    def do_Yielded(self, statement: Yielded, env: Environment) -> None:
        statement.loop.write_body(statement, env)

    def _walk(self, statement: ast.For, grid: Grid, env: Environment) -> None:
        """A loop over the indices of a shape, or over the elements of an array in C order: a loop for each axis."""
        depth = self.progress.loop_depth
        lengths, at = ([f".{name}{depth}_{axis}" for axis in range(len(grid.shape))] for name in ("length", "at"))
        env.update(zip(lengths, grid.shape, strict=True))
        env |= {".range": Object(range), f".array{depth}": grid.array}
        index: ast.expr = ast.Tuple([ast.Name(name, ast.Load()) for name in at], ast.Load())
        element = ast.Subscript(ast.Name(f".array{depth}", ast.Load()), index, ast.Load())
        items = {"ndindex": index, "flat": element, "ndenumerate": ast.Tuple([index, element], ast.Load())}
        nested: list[ast.stmt] = [locate(ast.Assign([statement.target], items[grid.kind]), statement), *statement.body]
        for name, length in zip(reversed(at), reversed(lengths), strict=True):
            loop = copy.copy(statement)
            loop.target, loop.body = ast.Name(name, ast.Store()), nested
            loop.iter = ast.Call(ast.Name(".range", ast.Load()), [ast.Name(length, ast.Load())], [])
            nested = [loop]
        for node in ast.walk(ast.Module(nested, [])):
            if isinstance(node, (ast.expr, ast.stmt)) and not hasattr(node, "lineno"):
                ast.copy_location(node, statement)
        self.statements(nested, env)

    def _over_argument(self, statement: ast.For, env: Environment) -> ast.For:
        """Rewrite a loop over a dict argument as one over arrays of its keys and values."""
        iterated, read, call = statement.iter, "keys", statement.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not call.args:
            iterated, read = call.func.value, call.func.attr
        entry = env.get(iterated.id) if isinstance(iterated, ast.Name) else None
        known = isinstance(entry, Opaque) and isinstance(entry.type, types.DictType)
        if not isinstance(iterated, ast.Name) or not known or read not in ("keys", "values", "items"):
            return statement
        made = copy.copy(statement)
        arrays = [
            expression("__array(__list(parts()))", parts=f"{iterated.id}.{k}")
            for k in ("keys", "values")
            if read in (k, "items")
        ]
        # under new names, because the function may rebind the usual ones
        env.update((f"__{f.__name__}", Object(f)) for f in (np.array, list, zip))
        made.iter = place_at(arrays[0] if len(arrays) == 1 else expression("__zip(arrays)", arrays=arrays), statement)
        return made

    def _unroll(self, statement: ast.For, parts: tuple[Any, ...], env: Environment) -> None:
        """Unroll a loop over a tuple: repeat its body for each part."""
        if not parts:
            return
        self.assign(statement.target, parts[0], env)
        self.statements(statement.body, env)
        ends = self.reader.ends(statement, env)
        if ends is None:
            self._unroll(statement, parts[1:], env)
        else:
            self.merging.branch(ends, env, lambda _: None, lambda after: self._unroll(statement, parts[1:], after))

    def items(self, iterated: Any, node: ast.AST) -> tuple[list[Value], Callable[[Value], Any]]:
        """The limits of the range of a loop, and the entry of its target at an index."""
        if isinstance(iterated, Range):
            return iterated.limits, lambda index: index
        if isinstance(iterated, Complex) and has_axes(iterated):
            parts = [self.items(part, node) for part in self.reader.complex.compute(iterated)]
            return parts[0][0], lambda index: join(item(index) for _, item in parts)
        if is_array(iterated) or isinstance(iterated, BoundedBuffer):
            array = iterated.elements() if isinstance(iterated, BoundedBuffer) else self.arrays.compute(iterated)
            rest = [WHOLE] * (array.kind.ndim - 1)
            limits = [constant(0), self.builder.length(array, 0), constant(1)]
            return (
                limits,
                lambda index: self.builder.view(array, [index, *rest]) if rest else self.builder.load(array, [index]),
            )
        if structured_arrays.is_argument(iterated):
            iterated = structured_arrays.read_argument(self.reader, iterated)
        if isinstance(iterated, StructuredArray) and iterated.ndim == 1 and iterated.fields:
            (length,) = structured_arrays.shape_of(self.reader, iterated)
            return [constant(0), length, constant(1)], lambda index: structured_arrays.read_item(iterated, index)
        if isinstance(iterated, Opaque) and isinstance(iterated.type, (types.ListType, types.List)):
            names: Environment = {"iterated": iterated, "len": Object(len)}
            length = self.reader.number(place_at(expression("len(iterated)"), node), names)
            element = place_at(expression("iterated[index]"), node)
            limits = [constant(0), length, constant(1)]
            return limits, lambda index: self.reader.expression(element, names | {"index": index})
        if isinstance(iterated, Iteration):
            found = [self.items(argument, node) for argument in iterated.arguments]
            for limits, _ in found:
                if limits[0].constant != 0 or limits[2].constant != 1:
                    self.reader.refuse(
                        node, "zip of a range that does not count from 0 by 1", "compute the number in the loop"
                    )
            stop = found[0][0][1]
            for limits, _ in found[1:]:
                less = self.builder.apply(known_functions.COMPARISONS["Lt"], limits[1], stop)
                stop = self.builder.apply(known_functions.SELECT, less, limits[1], stop)
            limits = [constant(0), stop, constant(1)]
            if iterated.kind == "enumerate":
                add = known_functions.ADD
                return limits, lambda index: (self.builder.apply(add, index, iterated.start), found[0][1](index))
            return limits, lambda index: tuple(item(index) for _, item in found)
        if isinstance(iterated, Yielding):
            what = "a generator in step with something else, or in a list or a comprehension"
            self.reader.refuse(node, what, "let a loop run over it, and count or append in the loop")
        return self.reader.refuse(
            node, "a loop over something that is no range, array or tuple", "loop over range(...)"
        )


def _parts_of(iterated: Iteration) -> Any:
    """enumerate or zip of tuples as a tuple; None for other iterables."""
    parts = [_parts_of(x) if isinstance(x, Iteration) else x for x in iterated.arguments]
    if not all(isinstance(x, tuple) and not isinstance(x, Complex) for x in parts) or iterated.start.constant is None:
        return iterated
    if iterated.kind == "enumerate":
        return tuple((constant(iterated.start.constant + k), x) for k, x in enumerate(parts[0]))
    return tuple(zip(*parts, strict=False))


def find_assigned(statements: list[ast.stmt]) -> list[str]:
    """The names that statements assign, in order."""
    names: list[str] = []
    for node in [x for statement in statements for x in ast.walk(statement)]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, Yielded):
            names += [*node.loop.find_assigned(), *(OUTER + name for name in find_assigned(node.assignments()))]
    return list(dict.fromkeys(names))


_UNPACKED = "ValueError", "unpacking an array of another length"
_NAMES: dict[type, str] = {
    ast.ClassDef: "a class", ast.Delete: "the statement del", ast.Import: "an import", ast.Global: "a global name",
    ast.Nonlocal: "a name of an outer function", ast.Match: "the statement match",
}  # fmt: skip
