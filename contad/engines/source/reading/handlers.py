"""Turns try/except into branches: `raise` inside a try exits to its end, and the handler follows.

    try:                                .raised1 = False
        if x < 0.0:                     (setting .raised1 to True leaves the region)
            raise ValueError                if x < 0.0: .raised1 = True
        y = a / x               ->          .divisor1 = x; if .divisor1 == 0: .raised1 = True
    except Exception:                       y = a / .divisor1
        y = 0.0                         if .raised1: y = 0.0

Numba's handlers catch every exception. The reader refuses anything else in a try that may raise.
"""

import ast
import copy
import itertools
from collections.abc import Callable
from typing import NoReturn

from contad.engines.source.ir import ssa
from contad.engines.source.ir.walks import is_natural
from contad.engines.source.reading.exits import Region, Thrown, assign, locate

Refuse = Callable[[ast.AST, str, str], NoReturn]  # a node, the construct, and a remedy
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
_LAZY = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


class DividesByZero(ast.expr):
    """An expression: whether a division by a number raises."""

    _fields = ("divisor",)

    def __init__(self, divisor: ast.expr | None = None) -> None:  # copies need defaults
        super().__init__()
        if divisor is not None:
            self.divisor = divisor


def without_tries(body: list[ast.stmt], refuse: Refuse) -> list[ast.stmt]:
    """Statements with regions and branches in place of try; those in a region have the attribute `in_try`."""
    return _Tries(refuse).block(body, "")


class _Tries:
    """Rewrites the statements of one function."""

    def __init__(self, refuse: Refuse) -> None:
        self.refuse = refuse
        self.numbers = itertools.count(1)

    def block(self, statements: list[ast.stmt], flag: str) -> list[ast.stmt]:
        """Rewrite statements of a region, which exceptions leave by setting the flag; "" means no region."""
        return [made for statement in statements for made in self.statement(statement, flag)]

    def statement(self, statement: ast.stmt, flag: str) -> list[ast.stmt]:
        """The statements that replace a statement."""
        if isinstance(statement, ast.Try):
            made = self.handle(statement, flag)
        elif isinstance(statement, (ast.If, ast.For, ast.While)):
            changed = copy.copy(statement)
            changed.body, changed.orelse = self.block(statement.body, flag), self.block(statement.orelse, flag)
            made = [changed]
        elif flag and isinstance(statement, ast.Raise):
            made = [locate(Thrown(flag), statement)]
        elif flag and isinstance(statement, ast.Assert):
            thrown: list[ast.stmt] = [locate(Thrown(flag), statement)]
            made = [locate(ast.If(ast.UnaryOp(ast.Not(), statement.test), thrown, []), statement)]
        elif flag and isinstance(statement, _SIMPLE):
            made = self.divide(statement, flag)
        else:
            made = [copy.copy(statement)] if flag else [statement]
        for x in made if flag else []:
            x.in_try = True  # type: ignore[attr-defined]
        return made

    def handle(self, statement: ast.Try, outer: str) -> list[ast.stmt]:
        """A try: its region, then the handler or `else`, then `finally`."""
        yields = [x for x in ast.walk(statement) if isinstance(x, (ast.Yield, ast.YieldFrom))]
        if yields:
            self.refuse(yields[0], "a yield inside try", "write it behind the try")
        if len(statement.handlers) > 1:
            self.refuse(statement.handlers[1], "several handlers of one try", "tell the cases apart by numbers")
        inner = [*statement.body, *statement.handlers, *statement.orelse]
        leaves = (ast.Return, ast.Break, ast.Continue)
        if statement.finalbody and any(isinstance(x, leaves) for part in inner for x in ast.walk(part)):
            self.refuse(statement, "finally behind statements that leave it", "write what is done at last twice")
        last = self.block(statement.finalbody, outer)
        if not statement.handlers:
            return [*self.block(statement.body, outer), *last]
        (handler,) = statement.handlers
        if handler.type is not None and getattr(handler.type, "id", "") != "Exception":
            self.refuse(handler, f"except {ast.unparse(handler.type)}", "catch Exception, as Numba asks for")
        if statement.finalbody and any(isinstance(x, ast.Raise) for part in handler.body for x in ast.walk(part)):
            self.refuse(statement, "finally behind a handler that raises", "write what is done at last twice")
        flag = f".raised{next(self.numbers)}"
        region = locate(Region(flag, self.block(statement.body, flag)), statement)
        caught, calm = self.block(handler.body, outer), self.block(statement.orelse, outer)
        branch = locate(ast.If(ast.Name(flag, ast.Load()), caught, calm), statement)
        return [assign(flag, ast.Constant(False), statement), region, branch, *last]

    def divide(self, statement: ast.stmt, flag: str) -> list[ast.stmt]:
        """A statement, after tests of all its divisors."""
        statement = copy.deepcopy(statement)
        divisors = _Divisors(self.numbers)
        for name in ("value", "target"):
            if isinstance(getattr(statement, name, None), ast.expr):
                setattr(statement, name, divisors.visit(getattr(statement, name)))
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, _DIVISIONS):
            statement.value = divisors.take(statement.value)
        made: list[ast.stmt] = []
        for name, divisor in divisors.found:
            test = ast.copy_location(DividesByZero(ast.Name(name, ast.Load())), divisor)
            thrown: list[ast.stmt] = [locate(Thrown(flag), statement)]
            made += [assign(name, divisor, statement), locate(ast.If(test, thrown, []), statement)]
        return [*made, statement]


class _Divisors(ast.NodeTransformer):
    """Names the divisors in an expression, except those that are computed conditionally."""

    def __init__(self, numbers: "itertools.count[int]") -> None:
        self.numbers = numbers
        self.found: list[tuple[str, ast.expr]] = []

    def visit(self, node: ast.AST) -> ast.AST:
        return node if isinstance(node, _LAZY) else super().visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return node if len(node.ops) > 1 else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, _DIVISIONS):
            node.right = self.take(node.right)
        return node

    def take(self, divisor: ast.expr) -> ast.expr:
        if isinstance(divisor, ast.Constant):
            return divisor
        name = f".divisor{next(self.numbers)}"
        self.found.append((name, divisor))
        return ast.copy_location(ast.Name(name, ast.Load()), divisor)


# ---- operations that may raise ---------------------------------------------------------------------------------------
_SAFE = (
    ssa.Apply,
    ssa.Load,
    ssa.Length,
    ssa.Store,
    ssa.Accumulate,
    ssa.If,
    ssa.For,
    ssa.While,
    ssa.Choose,
    ssa.Permuted,
)


def raised_by(o: ssa.Operation, tested: set[ssa.Value]) -> str:
    """The exception that an operation in a try may raise after tests of these divisors; "" if none."""
    if isinstance(o, ssa.Check):
        never = o.inputs[0].constant is False or _is_tested(o, tested)
        what: str = o.exception[0]
        return "" if never else "arrays, whose lengths may differ" if what == ssa.LIMIT else what
    if isinstance(o, ssa.Create):
        known = all(isinstance(x.operation, ssa.Length) or is_natural(x) for x in o.inputs)
        return "" if known else "the making of an array, whose length may be negative"
    if isinstance(o, ssa.View):
        steps = [part[2] for part in o.spec or () if isinstance(part, tuple) and part[2] is not None]
        return "a slice with a step that may be 0" if any(not o.inputs[k].constant for k in steps) else ""
    if isinstance(o, ssa.Call):
        return "a call" if o.callee.may_raise else ""
    return "" if isinstance(o, _SAFE) else "a call"


def _is_tested(o: ssa.Check, tested: set[ssa.Value]) -> bool:
    """Whether a check tests a divisor that was tested before."""
    test = o.inputs[0].operation
    return o.exception == ssa.DIVISION_BY_ZERO and isinstance(test, ssa.Apply) and test.inputs[0] in tested
