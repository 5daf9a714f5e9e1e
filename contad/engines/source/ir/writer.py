"""Writing derivatives: statements, a name for every value, and values as operands."""

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
COSTLY = 30.0  # additions that a function takes which is not computed again for each block of directions
DEEPEST = 50  # expressions in one another; Python takes 200 parentheses, and Numba's frames run out before
BAR = "_bar"  # the suffix of an adjoint


class Writer:
    """Statements, and a name for every value: the user's, with a number where it has several values."""

    def __init__(self, program: SourceFunction) -> None:
        """Give every value of a program its name."""
        self.program = program
        self.body: list[ast.stmt] = []  # where statements are written now
        self.rules: dict[str, ScalarRule] = {}  # whose compiled values the source calls
        self.recalls = False  # whether what takes long to compute is read again for each block of directions
        self.noted = 0  # the line of the user's source that was noted last
        self.inside: dict[Value, ast.expr] = {}  # what is written inside the expression that reads it
        self.numbered: dict[str, int] = {}  # the last number that a hint was given
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
        """The name of a value, and with it that of its adjoint."""
        hint = "".join(ch for ch in value.hint.rpartition(".")[2] if ch.isidentifier() or ch.isdigit() or ch == "_")
        if not hint:
            hint = "t" if value.kind.base == "float" else "k" if value.kind.base == "int" else "test"
        if keyword.iskeyword(hint):
            hint += "_"
        value.name = self.fresh(hint)

    def fresh(self, hint: str) -> str:
        """A name that nothing else has, with its adjoint's."""
        if hint.startswith(CALLEES):  # as the functions are named
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
        """A name under which the source finds a function."""
        name = self.fresh(hint)
        while name in self.program.callables:
            name = self.fresh(hint)
        self.program.callables[name] = function
        return name

    # ---- statements --------------------------------------------------------------------------------------------------
    def line(self, template: str, of: int = 0, **parts: Part) -> None:
        """Statements by a template of `syntax`; `of` is the line of the user's source that they stand for."""
        for made in statements(template, **parts):
            self._note(made, of)
            self.body.append(made)

    def _note(self, made: ast.stmt, of: int) -> None:
        if of and of != self.noted:
            made.note = self.noted = of  # type: ignore[attr-defined]

    @contextlib.contextmanager
    def block(self, template: str, of: int = 0, **parts: Part) -> Iterator[None]:
        """A loop or a branch by a template with `pass` in it, in whose place comes what is written inside."""
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
        """What runs where the test of the last branch does not hold."""
        branch = self.body[-1]
        assert isinstance(branch, ast.If)
        with self.writing_to(branch.orelse):
            yield

    @contextlib.contextmanager
    def writing_to(self, body: list[ast.stmt]) -> Iterator[None]:
        """Statements go into another list inside."""
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
        """The name of the compiled value of a rule that is no expression."""
        self.rules[rule.name] = rule
        return f"value_{rule.name}"

    def apply(self, operation: Apply) -> ast.expr:
        """A function of numbers."""
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
