"""The whole derivative of a program as source: forward sweep, seed, reverse sweep, and what is returned."""

import ast
import re
from collections.abc import Callable
from typing import Any

from contad.engines.source.analysis.activity import Activity, refuse_lost
from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.analysis.linear import partial_sums
from contad.engines.source.ir.entries import Point
from contad.engines.source.ir.known_matrix_functions import KERNELS
from contad.engines.source.ir.options import options_of
from contad.engines.source.ir.printing import by_lines, print_function, print_statements, read_function
from contad.engines.source.ir.refusal import LIMIT
from contad.engines.source.ir.single_assignment import FLOAT, INT, Accumulate, Loop, SourceProgram, Store, Value
from contad.engines.source.ir.syntax import statement, statements
from contad.engines.source.ir.walks import class_of_names, leaves, values_in, walk
from contad.engines.source.ir.writer import (
    BAR,
    BRANCHLESS,
    GRAM_PRODUCTS,
    KEPT,
    LANE_PRODUCTS,
    LANES,
    LENT,
    PRODUCTS,
    RECALLED,
    SEGMENTS,
    SHARED,
    SINGLE_LANES,
    WORKSPACE,
    tuple_text,
)
from contad.engines.source.passes.dependence import WORK
from contad.engines.source.passes.strip_mining import Facts, strip_mine
from contad.engines.source.planning.fuse import fuse as fuse_loops
from contad.engines.source.planning.running_choice import choices
from contad.engines.source.planning.running_products import running_products
from contad.engines.source.planning.segments import split_into_segments
from contad.engines.source.planning.store_plan import StorePlan
from contad.engines.source.planning.versions import rename_versions
from contad.engines.source.writing.asked_value import ask_for_value
from contad.engines.source.writing.called_reverse import Functions, find_used
from contad.engines.source.writing.carried_neighbours import Vectors, carry_neighbours
from contad.engines.source.writing.end_iterations import write_ends
from contad.engines.source.writing.first_writes import write_once
from contad.engines.source.writing.hoisted_arrays import make_once
from contad.engines.source.writing.jammed_sums import jam_sums
from contad.engines.source.writing.operation_text import copy_text
from contad.engines.source.writing.reverse_sweep import ReverseSweep
from contad.engines.source.writing.shared_heads import SharedLoop
from contad.engines.source.writing.shared_loops import Shared, SharedFacts, share_loops
from contad.engines.source.writing.written_formulas import move_out
from contad.errors import UnsupportedError
from contad.native.compiling import write_options
from contad.native.request import Numerics
from contad.native.rules import needs_no_python

MOST_LINES = 25_000  # of source; what is longer is left to another engine
LOOP_LINES = 100  # Numba takes as long for a loop of a function, where there are many


# by the mode of a request: what is written, and the parameters of `run` where it takes tuples
WHAT = {
    "value_and_grad": "value and gradient",
    "vjp": "vjp",
    "jvp": "value and directional derivative",
    "hvp": "value, and product of the Hessian with a vector,",
    "dependencies": "value, and graph of what depends on what,",
    "all_dependencies": "graph of what depends on what, by all branches,",
}
_OPS = "contad.ops."  # the module of rules whose bodies have no effect but their results
_TOGETHER = {"value_and_grad": "tangents", "vjp": "cotangents", "jvp": "tangents", "hvp": "vectors"}
_PACKED = {
    "vjp": ("args", "cotangent"), "jvp": ("args", "tangents"), "hvp": ("args", "tangents"),
    "dependencies": ("args", "tangents"), "all_dependencies": ("args", "tangents"),
}  # fmt: skip
FORWARD = ("jvp", "dependencies", "all_dependencies")  # the program as it is, without a reverse


class DerivativeWriter:
    """The source of a derivative in one of the modes of `contad.native.request`; written once.

    Of a program with tangents, which returns (tangent, value), "jvp" is the program itself, and "hvp" its reverse: the
    gradient of a directional derivative is the product of the Hessian with the direction.
    """

    def __init__(
        self,
        program: SourceProgram,
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
    ) -> None:
        """Plan the derivative of a program; with `fuse`, loops may be reversed at once.

        Where it is `nested`, `run` is called by another derivative: it takes the workspace of that one behind its other
        arguments, and where that ends, and returns (what else it returns, the workspace).

        Where `numerics` is not "libm", loops are split so that elementary functions are computed in vector registers.

        With `out`, `run` takes arrays behind its other arguments, for the gradients of arrays.

        With `memory`, `run` takes that of `contad.native.recalled_values`.

        With `optional_value`, it may take whether the value is asked for: `asks_value` says so once source is written.

        It is for several directions or cotangents at once where `lanes` is more than 1; UnsupportedError where some
        operation is not.
        """
        self.mode = mode
        self.wanted = [program.parameters[k] for k in argnums] if mode not in FORWARD else []
        self.differentiated = program.returned[0] if has_aux or mode == "hvp" else program.returned
        if mode in FORWARD:
            self.differentiated = ()
        outputs = leaves(self.differentiated)
        activity = Activity(program, values_in(self.wanted), outputs)
        refuse_lost(program, activity)
        sums = partial_sums(program)
        self.lanes = self._find_lanes(program, lanes) if lanes > 1 else None
        functions = Functions(self.lanes)
        found = choices(program, activity)
        fused = fuse_loops(program, activity, sums, found, functions) if fuse else frozenset()
        plan = StorePlan(program, activity, fused, found, functions)
        if split_into_segments(program, plan):
            activity = Activity(program, values_in(self.wanted), outputs)
            sums = partial_sums(program)
            self.lanes = self._find_lanes(program, lanes) if lanes > 1 else None
            functions = Functions(self.lanes)
            found = {loop: choice for loop, choice in found.items() if not loop.checkpointed}
            fused = fuse_loops(program, activity, sums, found, functions) if fuse else frozenset()
            plan = StorePlan(program, activity, fused, found, functions)
        while late := [loop for loop in found if plan.sequential(loop)]:
            found = {loop: choice for loop, choice in found.items() if loop not in late}
            plan = StorePlan(program, activity, fused, found, functions)
        if self.lanes is None and not nested and not memory:
            plan.products = running_products(program, plan)
        self.program, self.plan = program, plan
        self.reverse_sweep = ReverseSweep(program, plan, sums, self.lanes)
        self.writer, self.adjoints = self.reverse_sweep.writer, self.reverse_sweep.adjoints
        self.adjoints.outputs = outputs
        self.has_memory, self.writer.recalls = memory, memory and numerics == "libm"
        self.is_nested = nested
        self.numerics = numerics if self.lanes is None else "libm"
        self.shared_reasons: list[tuple[SharedLoop, str]] = []  # why pranges are serial; "" where not
        self.outs = {x: f"out_{k}" for k, x in enumerate(values_in(self.wanted))} if out else {}
        self.optional_value, self.asks_value = optional_value, False
        threads = self.lanes is None and mode in ("value_and_grad", "vjp") and not nested and not memory
        self.reverse_sweep.forward_sweep.shared.enabled = threads
        if not nested:
            self.adjoints.expressions.lend_arrays()

    def _find_lanes(self, program: SourceProgram, count: int) -> LaneValues:
        """What is lanes: the tangents, and what is returned of them; or the adjoints alone."""
        shown = leaves(program.returned[0]) if self.mode == "jvp" else []
        given = [*values_in(program.tangents), *(x for x in shown if x.is_array)]
        return LaneValues(program, count, given)

    def source(self, decorator: str = "") -> str:
        """The module with the function `run`, under this decorator if there is one: a call of njit or link."""
        self._arguments()
        parameters = [v for p in self.program.parameters for v in leaves(p) if isinstance(v, Value)]
        for value in parameters:
            if value in self.adjoints.active and value.is_array:
                self.writer.line(f"{self.adjoints.bar(value)} = {self._zeros(value)}")
        seed = "cotangent" if self.mode == "vjp" else "1.0"
        self.reverse_sweep.sweep(self.program.block, lambda: self._seed(self.differentiated, seed))
        results = self._results()
        self.writer.line("return results", results=[results, "work"] if self.is_nested else results)
        given = [self._argument(k) for k in range(len(self.program.parameters))]
        arguments = [*(_PACKED.get(self.mode) or [*given, *self.outs.values()])]
        arguments += ["memory", "marks"] * self.has_memory + ["work", "top"] * self.is_nested
        function: ast.FunctionDef = statement("def run(arguments): pass", arguments=arguments)
        function.body = self.writer.body
        rename_versions(function, self.reverse_sweep.numbers(), self.writer.fresh)
        if self.reverse_sweep.storing.uses_workspace and not self.is_nested:
            function.body[:0] = statements("work, top = workspace()")
        run = by_lines(function, write_once)
        if self.lanes is None:
            run = by_lines(run, write_ends)
            carried = carry_neighbours(print_function(run), self._list_vectors(), self.writer.fresh)  # BRIDGE
            run = read_function(carried.lines)
            self.adjoints.formulas.numbers |= set(carried.numbers)
        functions = [(f, called.decorator) for called in find_used(self) for f in called.functions()]
        for called in find_used(self):
            self.writer.rules |= called.writer.rules
        shared = self._share_loops(print_function(run), [f for f, _ in functions])  # BRIDGE
        run, blocks = read_function(shared.lines), [*map(read_function, shared.functions)]
        names = self.adjoints.formulas.names
        if not self.adjoints.expressions.hands_on:
            run = by_lines(run, make_once)
        run = by_lines(run, lambda lines: move_out(lines, names))
        blocks = [by_lines(block, lambda lines: move_out(lines, names)) for block in blocks]
        definitions: list[str] = []
        if self.numerics != "libm":
            nests, facts, fresh = self.numerics == "simd", self._list_facts(), self.writer.fresh
            for k, function in enumerate([run, *blocks]):
                _, defined = strip_mine(function, facts, fresh, nests, alone=k == 0 and not blocks)
                definitions += ["", *print_statements(defined)] if defined else []
        if self.lanes is None:
            run = by_lines(run, lambda lines: jam_sums(lines, self._list_facts().roots, self.writer.fresh))
        if self.optional_value and not blocks:
            rules = {f"value_{name}" for name, rule in self.writer.rules.items() if rule.__module__.startswith(_OPS)}
            asked = ask_for_value(print_function(run), rules)  # BRIDGE
            self.asks_value = asked is not None
            run = read_function(asked) if asked else run
        return self._print(run, functions, blocks, definitions, bool(decorator), decorator)

    def _print(
        self, run: ast.FunctionDef, functions: list[tuple[ast.FunctionDef, str]], blocks: list[ast.FunctionDef],
        definitions: list[str], compiled: bool, decorator: str,
    ) -> str:  # fmt: skip
        """The text of a module: its imports, the functions that `run` calls, and `run`."""
        inside = f"link({write_options(options_of(self.program.fastmath))})"
        text = list(definitions)
        for function, link in (*functions, *((block, inside) for block in blocks)):
            text += ["", "", *([f"@{link}"] if compiled else []), *print_function(function)]
            if function in blocks:
                text += ["", "", f"share_{function.name} = sharer({function.name})"]
        text += ["", "", *([f"@{decorator}"] if decorator else []), *print_function(run)]
        text = [*self._head(text), *text]
        loops = [self._count_loops(run), *(self._count_loops(f) for f, _ in functions)]
        size = len(text) + LOOP_LINES * max(loops)
        if size > MOST_LINES:
            raise UnsupportedError(
                f"{self.program.name}: its derivative is {size} lines of source long, a loop counted as {LOOP_LINES}, "
                f"which would take minutes to compile; {MOST_LINES} is the most. Split it into functions of numbers, "
                "which are not written in place"
            )
        return "\n".join(text) + "\n"

    def _count_loops(self, function: ast.FunctionDef) -> int:
        return sum(isinstance(x, (ast.For, ast.While)) for x in ast.walk(function))

    def _share_loops(self, body: list[str], functions: list[ast.FunctionDef]) -> Shared:
        """The text with loops that threads share taken out of it."""
        heads = self.reverse_sweep.forward_sweep.shared
        facts = self._list_facts()
        kinds = dict.fromkeys(facts.floats, "float")
        for o in walk(self.program.block):
            carried = [c.inner for c in o.carried] if isinstance(o, Loop) else []
            kinds |= {x.name: x.kind.base for x in [*o.results, *carried] if not x.is_array}
        called = {f.name: print_function(f) for f in functions}
        quiet = frozenset(f"value_{name}" for name, rule in self.writer.rules.items() if needs_no_python(rule))
        shared = share_loops(
            body, heads.loops, SharedFacts(kinds, facts.roots, quiet, called), self.writer.fresh, self.program.name
        )
        self.shared_reasons = [(x, shared.reasons.get(k, "")) for k, x in enumerate(heads.loops)]
        return shared

    def _list_facts(self) -> Facts:
        """What is known of the names in the text: which are numbers, and what memory arrays may be."""
        program = self.program
        given = [v for p in program.parameters for v in leaves(p) if isinstance(v, Value)]
        read_only = {*given, *program.captured_values} - self._written_roots()
        values = [*given, *program.captured_values, *(v for o in walk(program.block) for v in o.results)]
        values += [c.inner for o in walk(program.block) if isinstance(o, Loop) for c in o.carried]
        numbers = [v for v in values if not v.is_array]
        roots = {v.name: frozenset(root.name for root in v.roots) for v in values if v.is_array}
        bars = {name + BAR: frozenset(root + BAR for root in found) for name, found in roots.items()}
        return Facts(
            {v.name for v in numbers if v.kind == FLOAT}
            | {v.name + BAR for v in numbers}
            | self.adjoints.formulas.numbers,
            roots | bars | {WORK: frozenset((WORK,))},
            {v.name for v in read_only if v.is_array},
            frozenset(v.name + BAR for v in numbers) - {v.name for v in values},
        )

    def _list_vectors(self) -> Vectors:
        """The adjoints of arrays with one axis, and what memory they may be."""
        names = (name + BAR for name, axes in self._count_axes().items() if axes == 1)
        return Vectors(frozenset(names), self._list_facts().roots)

    def _count_axes(self) -> dict[str, int]:
        """How many axes floats and arrays of them have."""
        values = [v for p in self.program.parameters for v in leaves(p) if isinstance(v, Value)]
        values += [*self.program.captured_values, *(v for o in walk(self.program.block) for v in o.results)]
        return {v.name: v.kind.ndim for v in values if v.kind.base == FLOAT.base}

    def _seed(self, tree: Any, text: str) -> None:
        """Start the adjoints of what is returned."""
        if isinstance(tree, Point):
            tree, text = tree.array, text if self.mode != "vjp" else f"{text}.reshape(1)"
        if isinstance(tree, tuple):
            for k, part in enumerate(tree):
                self._seed(part, f"{text}[{k}]")
        elif tree in self.adjoints.active and tree.is_array:
            bar = self.adjoints.bar(tree)
            self.writer.line(f"{bar} += {text}" if self.lanes is None else f"add_lanes({bar}, {text})")
        elif tree in self.adjoints.active:
            self.adjoints.add(tree, text)

    def _head(self, body: list[str]) -> list[str]:
        """The imports that the body of the function needs."""
        name = self.program.name
        many = "" if self.lanes is None else f", for {self.lanes.count} {_TOGETHER[self.mode]} at once"
        what = f"The {WHAT[self.mode]} of {name}{many}"
        lines = [f'"""{what}; generated by contad, with the lines of {name} noted."""', ""]
        lines += ["import math", "", "import numpy as np"]
        text = "".join(body)
        called = set(re.findall(r"\b(\w+)\(", text))
        own = []
        for module, names in (
            ("engines.source.writing.branchless", BRANCHLESS),
            ("engines.source.runtime.dependency_graph", ("note",)),
            ("engines.source.runtime.kept_parts", SEGMENTS),
            ("engines.source.runtime.kept_values", KEPT),
            ("engines.source.runtime.lent_arrays", LENT),
            ("engines.source.runtime.loop_blocks", SHARED),
            *((f"engines.source.runtime.{module}", names) for module, names in KERNELS.items()),
            ("engines.source.runtime.workspace", WORKSPACE),
            ("errors", (LIMIT, "RuleError", "SingularPointError")),
            ("native.elementary.rows", ("are_apart", "new_row", "place")),
            ("native.elementary.elementary_table", ("elementary", "elementary_rows")),
            ("native.gram_matrices", GRAM_PRODUCTS),
            ("native.lane_products", LANE_PRODUCTS),
            ("native.linked_code", ("link",)),
            ("native.machine_code", ("njit",)),
            ("native.lanes", LANES),
            ("native.product_adjoints", PRODUCTS),
            ("native.recalled_values", RECALLED),
            ("native.single_lanes", SINGLE_LANES),
            ("native.threads", ("sharer",)),
            ("native.written_arrays", ("fill_with_zeros",)),
        ):
            if used := [name for name in names if name in called]:
                own.append(f"from contad.{module} import {', '.join(used)}")
        if "small_zeros" in called:
            own.append("from contad.engines.source.writing.small_products import small_zeros")
            own.sort()
        if self.writer.rules:
            own += ["from contad.native.rules import value_function", "from contad.rules.scalar_rule import rule", ""]
            own += [f'value_{rule} = value_function(rule("{rule}"))' for rule in sorted(self.writer.rules)]
        return [*lines, *(["", *own] if own else [])]

    def _argument(self, k: int) -> str:
        p = self.program.parameters[k]
        return p.name if isinstance(p, Value) else f"argument_{k}"

    def _arguments(self) -> None:
        """Tuples are unpacked, and arrays that the program writes are copied: arguments are never modified."""
        if self.mode in _PACKED:
            tangents = self.program.tangents
            self._unpack(tuple(self.program.parameters[: len(self.program.parameters) - len(tangents)]), "args")
            self._unpack(tuple(tangents), "tangents")
        else:
            for k, p in enumerate(self.program.parameters):
                if isinstance(p, tuple):
                    self._unpack(p, self._argument(k))
        written = self._written_roots()
        for p in self.program.parameters:
            for value in leaves(p):
                if value in written:
                    self.writer.line(f"{value.name} = {value.name}.copy()")

    def _written_roots(self) -> set[Value]:
        return {r for o in walk(self.program.block) if isinstance(o, (Store, Accumulate)) for r in o.array.roots}

    def _unpack(self, tree: Any, text: str) -> None:
        if isinstance(tree, Point):
            self.writer.line(f"{tree.array.name} = {text}.reshape(1)")
            return
        for k, part in enumerate(tree):
            if isinstance(part, tuple):
                self._unpack(part, f"{text}[{k}]")
            elif isinstance(part, Value):
                self.writer.line(f"{part.name} = {text}[{k}]")

    def _zeros(self, value: Value) -> str:
        """The zeros that the gradient of an array starts with."""
        if value in self.outs:
            flat = ".reshape(1)" if any(isinstance(x, Point) and x.array is value for x in self.wanted) else ""
            return f"fill_with_zeros({self.outs[value]}){flat}"
        return self.adjoints.expressions.zeros(value, f"{value.name}.shape")

    def _gradient(self, tree: Any) -> str:
        if isinstance(tree, tuple):
            return self._tuple(tree, self._gradient)
        if not isinstance(tree, Value):
            return "None"
        if tree.is_array:
            return self.adjoints.bar(tree) if tree in self.adjoints.active else self._zeros(tree)
        return self.adjoints.bar(tree) if tree in self.adjoints.begun else "0.0"

    def _tuple(self, tree: tuple[Any, ...], write: Callable[[Any], str]) -> str:
        """A tuple of the class of another one; an array of no axes as one."""
        if isinstance(tree, Point):
            return f"{write(tree.array)}.reshape(())"
        parts, cls = [write(part) for part in tree], class_of_names(tree)
        if cls is None:
            return tuple_text(parts)
        name = next((name for name, known in self.program.callables.items() if known is cls), "")
        if not name:
            name = self.writer.fresh(cls.__name__)
            self.program.callables[name] = cls
        return f"{name}({', '.join(parts)})"

    def _write_returned(self, tree: Any) -> str:
        if isinstance(tree, tuple):
            return self._tuple(tree, self._write_returned)
        return copy_text(tree, self.lanes) if tree.is_array else self.writer.text(tree)

    def _results(self) -> list[str]:
        """What `run` returns."""
        returned = self.program.returned
        grads = tuple_text([self._gradient(tree) for tree in self.wanted])
        if self.mode == "vjp":
            has_aux = returned is not self.differentiated
            return [self._write_returned(returned[1]), grads] if has_aux else [grads]
        if self.mode in FORWARD:
            return [self._write_returned(returned[1]), self._write_returned(returned[0])]
        if self.mode == "hvp":
            return [self._as_float(returned[1]), grads]
        number = self._as_float(self.differentiated)
        has_aux = returned is not self.differentiated
        return [tuple_text([number, self._write_returned(returned[1])]) if has_aux else number, grads]

    def _as_float(self, value: Any) -> str:
        if isinstance(value, Point):
            return f"{value.array.name}[0]"
        return f"float({self.writer.text(value)})" if value.kind == INT else self.writer.text(value)

    def constants(self) -> dict[str, Any]:
        """The global arrays that the source reads, and the functions that it calls, by name."""
        values = self.program.captured_values
        arrays = {v.name: array for v, array in zip(values, self.program.captured.values(), strict=True)}
        return arrays | self.program.callables
