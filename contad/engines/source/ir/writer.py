"""The writer of derivatives: it appends statements, names every value, gives values as operands; the table of names."""

import ast
import contextlib
import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from contad.engines.source.ir.runtime_functions import CALLEES, RESERVED
from contad.engines.source.ir.ssa import (
    FLOAT,
    Apply,
    For,
    Handed,
    Kind,
    Loop,
    Segments,
    SourceFunction,
    Value,
    input_name,
)
from contad.engines.source.ir.syntax import Part, clone, expression, name, number, statement, statements, substitute
from contad.engines.source.ir.tree_queries import called_name, depth_of
from contad.engines.source.ir.walks import find_written, leaves, values_in, walk
from contad.rules.scalar_rule import ScalarRule, rules

ZEROS: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}
COSTLY = 30.0  # cost, in additions, from which a function is computed only once for all chunks of directions
DEEPEST = 50  # nested expressions: Python's parser takes 200 parentheses, but Numba's recursion ends earlier
BAR = "_bar"  # the suffix of an adjoint


class Writer:
    """Writes statements. Every value has a name: the user's, with a number if the user's name has several values."""

    def __init__(self, function: SourceFunction) -> None:
        """Name every value of a function."""
        self.function = function
        self.body: list[ast.stmt] = []  # statements are appended to this list
        self.rules: dict[str, ScalarRule] = {}  # the source calls the compiled values of these rules
        self.recalls = False  # whether values of expensive functions are reused for each chunk of directions
        self.noted = 0  # the line of the user's source that was noted last
        self.inside: dict[Value, ast.expr] = {}  # values that are written inside the expression that reads them
        self.numbered: dict[str, int] = {}  # the last number given to a hint
        self.taken = RESERVED | {f"value_{rule.name}" for rule in rules()}
        self.taken |= set(function.callables)
        for parameter in function.parameters:
            for value in leaves(parameter):
                if isinstance(value, Value):
                    self.give_name(value)
        for value in function.captured_values:
            self.give_name(value)
        for operation in walk(function.block):
            inner = [c.inner for c in operation.carried] if isinstance(operation, Loop) else []
            index = [operation.index] if isinstance(operation, (For, Segments)) else []
            if isinstance(operation, Segments):
                index += [operation.first, operation.last]
            for value in (*index, *inner, *operation.results):
                self.give_name(value)

    def give_name(self, value: Value) -> None:
        """Name a value, and thereby its adjoint."""
        hint = "".join(ch for ch in value.hint.rpartition(".")[2] if ch.isidentifier() or ch.isdigit() or ch == "_")
        if not hint:
            hint = "t" if value.kind.base == "float" else "k" if value.kind.base == "int" else "test"
        if keyword.iskeyword(hint):
            hint += "_"
        value.name = self.fresh(hint)

    def fresh(self, hint: str) -> str:
        """A new name; the name of its adjoint is new, too."""
        if hint.startswith(CALLEES):  # functions are named in the same way
            hint = f"v_{hint}"
        number = self.numbered.get(hint, 1)
        name = hint if number == 1 else f"{hint}_{number}"
        while name in self.taken or name + BAR in self.taken:
            number += 1
            name = f"{hint}_{number}"
        self.numbered[hint] = number
        self.taken |= {name, name + BAR}
        return name

    def name_function(self, hint: str, function: Any) -> str:
        """The name of a function in the source."""
        name = self.fresh(hint)
        while name in self.function.callables:
            name = self.fresh(hint)
        self.function.callables[name] = function
        return name

    # ---- statements --------------------------------------------------------------------------------------------------
    def line(self, template: str, of: int = 0, **parts: Part) -> None:
        """Append statements from a template of `syntax`; `of` is the line of the user's source that they implement."""
        for made in statements(template, **parts):
            self._note(made, of)
            self.body.append(made)

    def _note(self, made: ast.stmt, of: int) -> None:
        if of and of != self.noted:
            made.note = self.noted = of  # type: ignore[attr-defined]

    @contextlib.contextmanager
    def block(self, template: str, of: int = 0, **parts: Part) -> Iterator[None]:
        """Append a loop or a branch from a template; statements written inside the `with` block replace its `pass`."""
        made = statement(template, **parts)
        self._note(made, of)
        self.body.append(made)
        made.body.clear()
        with self.writing_to(made.body):
            yield
        if not made.body:
            made.body.append(ast.Pass())

    @contextlib.contextmanager
    def otherwise(self) -> Iterator[None]:
        """Statements written inside go into the else part of the last branch."""
        branch = self.body[-1]
        assert isinstance(branch, ast.If)
        with self.writing_to(branch.orelse):
            yield

    @contextlib.contextmanager
    def writing_to(self, body: list[ast.stmt]) -> Iterator[None]:
        """Statements written inside go into another list."""
        before, self.body = self.body, body
        yield
        self.body = before

    def fold(self, value: Value, made: ast.expr, of: int = 0) -> None:
        """Write a value inside the expression that reads it, unless that would be nested too deeply."""
        if depth_of(made) > DEEPEST:
            self.line("x = made", of, x=value.name, made=made)
        else:
            self.inside[value] = made

    # ---- operands ----------------------------------------------------------------------------------------------------
    def text(self, value: Value) -> ast.expr:
        """A value as an operand."""
        if value in self.inside:
            return clone(self.inside[value])
        return name(value.name) if value.constant is None else number(value.constant)

    def subscript(self, array: Part, indices: list[Value]) -> ast.expr:
        return expression("array[indices]", array=array, indices=[self.text(i) for i in indices])

    def call_rule(self, rule: ScalarRule) -> str:
        """The name of the compiled value function of a rule whose value is not an expression."""
        self.rules[rule.name] = rule
        return f"value_{rule.name}"

    def apply(self, operation: Apply) -> ast.expr:
        """The call of a scalar function."""
        function = operation.function
        if function.template.startswith("value_") and function.rule is not None:
            self.call_rule(function.rule)
        made = function.write(list(map(self.text, operation.inputs)))
        if self.recalls and function.cost >= COSTLY and called_name(made).startswith(("math.", "value_")):
            assert isinstance(made, ast.Call)
            return expression("recall(memory, marks, given)", given=[made.func, *made.args])
        return made

    def fill(self, operation: Handed) -> ast.expr:
        """An expression that is handed on."""
        inputs = {input_name(k): self.text(x) for k, x in enumerate(operation.inputs)}
        return substitute(operation.expression, inputs)


WORK = "work"  # the name of the workspace


class NameTable:
    """The names of a derivative, their kinds, and the memory that arrays may refer to.

    x          an array of one axis, in its own memory; nothing writes it
    row        an array of one axis, in the memory of x
    s, s_bar   numbers; terms may be added to s_bar in any order
    x_bar      an array of one axis, in its own memory

    A writer of statements with new names notes their kinds here.
    """

    def __init__(self, fresh: Callable[[str], str], rules: Mapping[str, ScalarRule], title: str) -> None:
        """Start with the workspace only; `fresh` creates new names, and the source calls the values of `rules`."""
        self.fresh, self.rules, self.title = fresh, rules, title  # the title is the name of the function
        self.kinds: dict[str, Kind] = {}
        self.floats: set[str] = set()  # floating-point numbers
        self.singles: set[str] = set()  # adjoints of float32
        self.roots = {WORK: frozenset((WORK,))}  # the memory that an array may refer to
        self.constant: set[str] = set()  # arrays that nothing writes
        self.adjoints: set[str] = set()  # of numbers
        self.sums: set[str] = set()  # numbers to which terms may be added in any order
        self.lines: set[str] = set()  # lines of formulas: each is assigned once, by an expression without side effects

    def add(self, kind: Kind, names: Iterable[str], roots: frozenset[str] | None = None) -> None:
        """Note names of a kind, and the memory that they may refer to; by default each has its own."""
        for x in names:
            self.kinds[x] = kind
            if kind.ndim:
                self.roots[x] = frozenset((x,)) if roots is None else roots
            elif kind == FLOAT:
                self.floats.add(x)

    def is_single(self, tree: ast.expr) -> bool:
        """Whether Numba computes an expression, as far as this table tells, in float32."""
        if isinstance(tree, ast.Name):
            return tree.id in self.singles or (tree.id in self.kinds and self.kinds[tree.id].single)
        if isinstance(tree, ast.Subscript):
            array = tree.value.id if isinstance(tree.value, ast.Name) else ""
            return array in self.kinds and self.kinds[array].elements == "single"
        if isinstance(tree, ast.UnaryOp):
            return self.is_single(tree.operand)
        if isinstance(tree, ast.BinOp):
            is_operator = isinstance(tree.op, (ast.Add, ast.Sub, ast.Mult, ast.Div))
            return is_operator and self.is_single(tree.left) and self.is_single(tree.right)
        called = called_name(tree)
        if called == "np.float32":
            return True
        keeps = called in ("select", "masked_product", "masked_slope") or called.startswith("math.")
        return keeps and all(map(self.is_single, tree.args[called == "select" :]))  # type: ignore[attr-defined]

    def add_function(self, function: SourceFunction) -> None:
        """Note the values of a function, which already have names, and their adjoints."""
        given, written = [*values_in(function.parameters), *function.captured_values], set[Value]()
        for value in given:
            self._add_value(value)
        for o in walk(function.block):
            for value in (*o.results, *([c.inner for c in o.carried] if isinstance(o, Loop) else ())):
                self._add_value(value)
            written.update(root for array in find_written(o) for root in array.roots)
        self.constant = {x.name for x in given if x.is_array and x not in written}

    def _add_value(self, value: Value) -> None:
        roots = frozenset([root.name for root in value.roots])
        self.add(value.kind, [value.name], roots)
        self.add(Kind("float", value.kind.ndim), [value.name + BAR], frozenset([root + BAR for root in roots]))
        if not value.is_array:
            self.adjoints.add(value.name + BAR)
            if value.adds_in_any_order:
                self.sums.add(value.name)
