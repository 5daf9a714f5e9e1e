"""Writes the whole derivative of a function as source: forward sweep, seed, reverse sweep, and return."""

import ast
from collections.abc import Callable
from typing import Any

from contad.compile.compiling import write_options
from contad.engines.source.analysis.activity import Activity, refuse_lost
from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.analysis.linear import partial_sums
from contad.engines.source.ir.entries import Complex, Point
from contad.engines.source.ir.printing import ModuleFunction, options_of, print_module
from contad.engines.source.ir.ssa import INT, SourceFunction, Value
from contad.engines.source.ir.syntax import call, expression, name, number, statement, statements, tuple_of
from contad.engines.source.ir.tree_queries import walk_statements
from contad.engines.source.ir.walks import class_of_names, leaves, values_in
from contad.engines.source.passes.order import Draft, optimise
from contad.engines.source.passes.parallelise import SharedLoop
from contad.engines.source.planning.fuse import fuse as fuse_loops
from contad.engines.source.planning.running_choice import choices
from contad.engines.source.planning.running_products import running_products
from contad.engines.source.planning.segments import split_into_segments
from contad.engines.source.planning.store_plan import StorePlan
from contad.engines.source.writing.called_reverse import Functions, find_used
from contad.engines.source.writing.operation_text import copy_of
from contad.engines.source.writing.reverse_sweep import ReverseSweep
from contad.errors import UnsupportedError
from contad.numba_functions.request import Numerics

MOST_LINES = 25_000  # of source; longer derivatives are left to another engine
LOOP_LINES = 100  # a loop takes Numba as long as this many lines, in functions with many loops


# by the mode of a request: a description, and the parameters of `run` if it takes tuples
WHAT = {
    "value_and_grad": "value and gradient",
    "vjp": "vjp",
    "jvp": "value and directional derivative",
    "hvp": "value and Hessian-vector product",
    "dependencies": "value and dependency graph",
    "all_dependencies": "dependency graph for all branches",
}
_TOGETHER = {"value_and_grad": "tangents", "vjp": "cotangents", "jvp": "tangents", "hvp": "vectors"}
_PACKED = {
    "vjp": ("args", "cotangent"), "jvp": ("args", "tangents"), "hvp": ("args", "tangents"),
    "dependencies": ("args", "tangents"), "all_dependencies": ("args", "tangents"),
}  # fmt: skip
FORWARD = ("jvp", "dependencies", "all_dependencies")  # modes without a reverse sweep


class DerivativeWriter:
    """Writes the source of a derivative, once, in one of the modes of `contad.numba_functions.request`.

    For a function with tangents, which returns (tangent, value), "jvp" writes the function itself, and "hvp" its
    reverse: the gradient of a directional derivative is the product of the Hessian with the direction.
    """

    def __init__(
        self,
        function: SourceFunction,
        argnums: tuple[int, ...],
        has_aux: bool = False,
        mode: str = "value_and_grad",
        fuse: bool = True,
        lanes: int = 1,
        nested: bool = False,
        numerics: Numerics = "libm",
        memory: bool = False,
        out: bool = False,
        optional_value: bool = False,
        in_parts: bool = False,
    ) -> None:
        """Plan the derivative of a function; with `fuse`, loops may reverse each iteration at once.

        If `nested`, another derivative calls `run`: it takes the caller's workspace and its end after its other
        arguments, and returns (its usual result, the workspace).

        Unless `numerics` is "libm", loops are split so that elementary functions run in vector registers.

        With `out`, `run` takes arrays for the gradients of arrays after its other arguments.

        With `memory`, `run` takes the memory of `contad.kernels.recalled_values`.

        With `in_parts`, complex numbers in directions, and in what comes for them, are pairs.

        With `optional_value`, `run` may take a flag that asks for the value; `asks_value` is set if it does.

        With `lanes` > 1, the derivative takes several directions or cotangents at once; raises UnsupportedError if an
        operation cannot.
        """
        self.mode, self.in_parts = mode, in_parts
        self.wanted = [function.parameters[k] for k in argnums] if mode not in FORWARD else []
        self.differentiated = function.returned[0] if has_aux or mode == "hvp" else function.returned
        if mode in FORWARD:
            self.differentiated = ()
        outputs = leaves(self.differentiated)
        activity = Activity(function, values_in(self.wanted), outputs)
        refuse_lost(function, activity)
        sums = partial_sums(function)
        self.lanes = self._find_lanes(function, lanes) if lanes > 1 else None
        functions = Functions(self.lanes)
        found = choices(function, activity)
        fused = fuse_loops(function, activity, sums, found, functions) if fuse else frozenset()
        plan = StorePlan(function, activity, sums, fused, found, functions)
        if split_into_segments(function, plan):
            activity = Activity(function, values_in(self.wanted), outputs)
            sums = partial_sums(function)
            self.lanes = self._find_lanes(function, lanes) if lanes > 1 else None
            functions = Functions(self.lanes)
            found = {loop: choice for loop, choice in found.items() if not loop.checkpointed}
            fused = fuse_loops(function, activity, sums, found, functions) if fuse else frozenset()
            plan = StorePlan(function, activity, sums, fused, found, functions)
        while late := [loop for loop in found if plan.sequential(loop)]:
            found = {loop: choice for loop, choice in found.items() if loop not in late}
            plan = StorePlan(function, activity, sums, fused, found, functions)
        if self.lanes is None and not nested and not memory:
            plan.products = running_products(function, plan)
        self.function, self.plan = function, plan
        self.reverse_sweep = ReverseSweep(function, plan, sums, self.lanes)
        self.writer, self.adjoints = self.reverse_sweep.writer, self.reverse_sweep.adjoints
        self.adjoints.outputs = outputs
        self.has_memory, self.writer.recalls = memory, memory and numerics == "libm"
        self.is_nested = nested
        self.numerics = numerics if self.lanes is None else "libm"
        self.shared_reasons: list[tuple[SharedLoop, str]] = []  # why pranges are serial; "" for parallel ones
        self.outs = {x: f"out_{k}" for k, x in enumerate(values_in(self.wanted))} if out else {}
        self.optional_value, self.asks_value = optional_value, False
        threads = self.lanes is None and mode in ("value_and_grad", "vjp") and not nested and not memory
        self.reverse_sweep.forward_sweep.shared.enabled = threads
        if not nested:
            self.adjoints.expressions.lend_arrays()

    def _find_lanes(self, function: SourceFunction, count: int) -> LaneValues:
        """The values with lanes: the tangents and the results that depend on them; or only the adjoints."""
        shown = leaves(function.returned[0]) if self.mode == "jvp" else []
        given = [*values_in(function.tangents), *(x for x in shown if x.is_array)]
        return LaneValues(function, count, given)

    def source(self, decorator: str = "") -> str:
        """The module with the function `run`, with this decorator, if any: a call of njit or link."""
        self._arguments()
        for value in values_in(self.function.parameters):
            if value in self.adjoints.active and value.is_array:
                self.writer.line("bar = zeros", bar=self.adjoints.bar(value), zeros=self._zeros(value))
        seed = name("cotangent") if self.mode == "vjp" else number(1.0)
        self.reverse_sweep.sweep(self.function.block, lambda: self._seed(self.differentiated, seed))
        results = self._results()
        self.writer.line("return results", results=[results, "work"] if self.is_nested else results)
        given = [self._argument(k) for k in range(len(self.function.parameters))]
        arguments = [*(_PACKED.get(self.mode) or [*given, *self.outs.values()])]
        arguments += ["memory", "marks"] * self.has_memory + ["work", "top"] * self.is_nested
        run: ast.FunctionDef = statement("def run(arguments): pass", arguments=arguments)
        run.body = self.writer.body
        if self.reverse_sweep.storing.uses_workspace and not self.is_nested:
            run.body[:0] = statements("work, top = workspace()")
        draft = Draft(
            run, self.adjoints.names, self.numerics, self.lanes is not None, self.adjoints.expressions.hands_on,
            self.optional_value,
        )  # fmt: skip
        called = find_used(self)
        made = [(f, x) for x in called for f in x.functions()]
        functions = [(f, x.decorator) for f, x in made]
        for x in called:
            self.writer.rules |= x.writer.rules
        loops = self.reverse_sweep.forward_sweep.shared.loops
        draft.arrays = self.constants()
        draft.loops, draft.called = loops, {f.name: f for f, _ in functions}
        draft.tables = {f.name: x.adjoints.names for f, x in made}
        optimise(draft)
        self.asks_value = draft.asks_value
        self.shared_reasons = [(x, draft.serial.get(k, "")) for k, x in enumerate(loops)]
        return self._print(draft, functions, decorator)

    def _print(self, draft: Draft, functions: list[tuple[ast.FunctionDef, str]], decorator: str) -> str:
        """The text of the module; UnsupportedError if it is so long that compiling it would take minutes."""
        inside = f"link({write_options(options_of(self.function.fastmath))})"
        made = [ModuleFunction(function, link if decorator else "") for function, link in functions]
        made += [ModuleFunction(strip, inside if decorator else "", is_shared=True) for strip in draft.strips]
        name = self.function.name
        many = "" if self.lanes is None else f", for {self.lanes.count} {_TOGETHER[self.mode]} at once"
        what = f"The {WHAT[self.mode]} of {name}{many}; generated by contad, with the lines of {name} noted."
        made.append(ModuleFunction(draft.run, decorator))
        text = print_module(what, self.writer.rules, draft.definitions, made)
        loops = max(_count_loops(f.function) for f in made if not f.is_shared)
        size = text.count("\n") + LOOP_LINES * loops
        if size > MOST_LINES:
            raise UnsupportedError(
                f"{name}: its derivative is {size} lines of source long, a loop counted as {LOOP_LINES}, "
                f"which would take minutes to compile; {MOST_LINES} is the most. Split it into functions of numbers, "
                "which are not written in place"
            )
        return text

    def _seed(self, tree: Any, seed: ast.expr) -> None:
        """Seed the adjoints of the results."""
        if isinstance(tree, Point):
            tree = tree.array
            if self.mode == "vjp":
                seed = expression("seed.reshape(1)", seed=seed)
        if isinstance(tree, Complex) and not self.in_parts:
            self._seed(tree.real, expression("seed.real", seed=seed))
            self._seed(tree.imag, expression("seed.imag", seed=seed))
        elif isinstance(tree, tuple):
            for k, part in enumerate(tree):
                self._seed(part, expression("seed[k]", seed=seed, k=k))
        elif tree in self.adjoints.active and tree.is_array:
            bar = self.adjoints.bar(tree)
            self.writer.line("bar += seed" if self.lanes is None else "add_lanes(bar, seed)", bar=bar, seed=seed)
        elif tree in self.adjoints.active:
            self.adjoints.add(tree, seed)

    def _argument(self, k: int) -> str:
        p = self.function.parameters[k]
        return p.name if isinstance(p, Value) else f"argument_{k}"

    def _arguments(self) -> None:
        """Unpack tuples, and copy the arrays that the function writes, so that arguments are never modified."""
        if self.mode in _PACKED:
            tangents = self.function.tangents
            self._unpack(tuple(self.function.parameters[: len(self.function.parameters) - len(tangents)]), name("args"))
            self._unpack(tuple(tangents), name("tangents"))
        else:
            for k, p in enumerate(self.function.parameters):
                if isinstance(p, tuple):
                    self._unpack(p, name(self._argument(k)))
        for value in values_in(self.function.parameters):
            if value.is_array and value.name not in self.adjoints.names.constant:
                self.writer.line("x = x.copy()", x=value.name)

    def _unpack(self, tree: Any, given: ast.expr) -> None:
        """Name the parts of a tuple, of a complex argument, and of a 0-dimensional array."""
        if isinstance(tree, Point):
            self.writer.line("x = given.reshape(1)", x=tree.array.name, given=given)
            return
        if isinstance(tree, Complex):
            self.writer.line("x, y = parts_of(given)", x=tree.real.name, y=tree.imag.name, given=given)
            return
        for k, part in enumerate(tree):
            if isinstance(part, tuple):
                self._unpack(part, expression("given[k]", given=given, k=k))
            elif isinstance(part, Value):
                self.writer.line("x = given[k]", x=part.name, given=given, k=k)

    def _zeros(self, value: Value) -> ast.expr:
        """The initial zeros of the gradient of an array."""
        if value not in self.outs:
            return self.adjoints.expressions.zeros_like(value)
        zeros = expression("fill_with_zeros(out)", out=self.outs[value])
        is_point = any(isinstance(x, Point) and x.array is value for x in self.wanted)
        return expression("zeros.reshape(1)", zeros=zeros) if is_point else zeros

    def _gradient(self, tree: Any) -> ast.expr:
        if isinstance(tree, tuple):
            return self._tuple(tree, self._gradient, self.in_parts)
        if not isinstance(tree, Value):
            return number(None)
        if tree.is_array and tree not in self.adjoints.active:
            return self._zeros(tree)
        has_bar = tree.is_array or tree in self.adjoints.begun
        return name(self.adjoints.bar(tree)) if has_bar else number(0.0)

    def _tuple(self, tree: tuple[Any, ...], write: Callable[[Any], ast.expr], in_parts: bool) -> ast.expr:
        """A tuple of the same class as `tree`; a 0-dimensional array for a `Point`."""
        if isinstance(tree, Point):
            return expression("x.reshape(())", x=write(tree.array))
        parts, cls = [write(part) for part in tree], class_of_names(tree)
        if isinstance(tree, Complex) and not in_parts:
            return call("join_parts" if tree.real.is_array else "complex", parts)
        if cls is None or isinstance(tree, Complex):
            return tuple_of(parts)
        known = next((known for known, x in self.function.callables.items() if x is cls), "")
        if not known:
            known = self.writer.fresh(cls.__name__)
            self.function.callables[known] = cls
        return call(known, parts)

    def _write_returned(self, tree: Any, in_parts: bool = False) -> ast.expr:
        if isinstance(tree, tuple):
            return self._tuple(tree, lambda part: self._write_returned(part, in_parts), in_parts)
        return copy_of(tree, self.lanes) if tree.is_array else self.writer.text(tree)

    def _results(self) -> list[ast.expr]:
        """The results of `run`."""
        returned = self.function.returned
        grads = tuple_of([self._gradient(tree) for tree in self.wanted])
        if self.mode == "vjp":
            has_aux = returned is not self.differentiated
            return [self._write_returned(returned[1]), grads] if has_aux else [grads]
        if self.mode in FORWARD:
            return [self._write_returned(returned[1]), self._write_returned(returned[0], self.in_parts)]
        if self.mode == "hvp":
            return [self._as_float(returned[1]), grads]
        value = self._as_float(self.differentiated)
        has_aux = returned is not self.differentiated
        return [tuple_of([value, self._write_returned(returned[1])]) if has_aux else value, grads]

    def _as_float(self, value: Any) -> ast.expr:
        if isinstance(value, Point):
            return expression("x[0]", x=value.array.name)
        found = self.writer.text(value)
        return expression("float(x)", x=found) if value.kind == INT else found

    def constants(self) -> dict[str, Any]:
        """The global arrays that the source reads, and the functions that it calls, by name."""
        values = self.function.captured_values
        arrays = {v.name: array for v, array in zip(values, self.function.captured.values(), strict=True)}
        return arrays | self.function.callables


def _count_loops(function: ast.FunctionDef) -> int:
    return sum(isinstance(s, (ast.For, ast.While)) for s in walk_statements(function.body))
