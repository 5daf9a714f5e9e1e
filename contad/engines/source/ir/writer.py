"""The writer of derivatives: it appends statements, names every value, and gives values as operands."""

import ast
import contextlib
import keyword
from collections.abc import Iterator
from typing import Any

from contad.engines.source.ir.runtime_names import CALLEES, RESERVED
from contad.engines.source.ir.single_assignment import (
    Apply,
    For,
    Handed,
    Loop,
    Segments,
    SourceFunction,
    Value,
    input_name,
)
from contad.engines.source.ir.syntax import (
    Part,
    called_name,
    clone,
    depth_of,
    expression,
    name,
    number,
    statement,
    statements,
    substitute,
)
from contad.engines.source.ir.walks import leaves, walk
from contad.rules.scalar_rule import ScalarRule, rules

ZEROS: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}
COSTLY = 30.0  # cost, in additions, from which a function is computed only once for all chunks of directions
DEEPEST = 50  # nested expressions: Python's parser takes 200 parentheses, but Numba's recursion ends earlier
BAR = "_bar"  # the suffix of an adjoint


class Writer:
    """Writes statements. Every value has a name: the user's, with a number if the user's name has several values."""

    def __init__(self, program: SourceFunction) -> None:
        """Name every value of a function."""
        self.program = program
        self.body: list[ast.stmt] = []  # statements are appended to this list
        self.rules: dict[str, ScalarRule] = {}  # the source calls the compiled values of these rules
        self.recalls = False  # whether values of expensive functions are reused for each chunk of directions
        self.noted = 0  # the line of the user's source that was noted last
        self.inside: dict[Value, ast.expr] = {}  # values that are written inside the expression that reads them
        self.numbered: dict[str, int] = {}  # the last number given to a hint
        self.taken = RESERVED | {f"value_{rule.name}" for rule in rules()}
        self.taken |= set(program.callables)
        for parameter in program.parameters:
            for value in leaves(parameter):
                if isinstance(value, Value):
                    self.give_name(value)
        for value in program.captured_values:
            self.give_name(value)
        for operation in walk(program.block):
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
        while name in self.program.callables:
            name = self.fresh(hint)
        self.program.callables[name] = function
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
