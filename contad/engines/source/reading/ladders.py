"""Long ladders of `elif` as short ones, one after the other: Python takes a hundred levels of indentation, no more.

    if a: ...                     .pending1 = False
    elif b: ...                   if a: ...
    elif c: ...          ->       elif b: ...
    elif d: ...                   else: .pending1 = True
    else: ...                     if .pending1:
                                      .pending1 = False
                                      if c: ...
                                      elif d: ...
                                      else: ...
"""

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence

from contad.engines.source.reading.exits import LONGEST, assign, locate


def without_ladders(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without ladders of more than LONGEST rungs; the new names begin with a dot, as no user's does."""
    numbers = itertools.count(1)

    def block(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, and those inside of them, without long ladders."""
        done: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.If):
                done += ladder(statement)
            elif isinstance(statement, (ast.For, ast.While)):
                changed = copy.copy(statement)
                changed.body, changed.orelse = block(statement.body), block(statement.orelse)
                done.append(changed)
            else:
                done.append(statement)
        return done

    def ladder(statement: ast.If) -> list[ast.stmt]:
        """An if as ladders of LONGEST rungs, of which the flag tells whether the next is to be climbed."""
        rungs = list(_rungs(statement))
        otherwise = block(rungs[-1].orelse)
        parts = [rungs[k : k + LONGEST] for k in range(0, len(rungs), LONGEST)]
        pending = f".pending{next(numbers)}"
        done: list[ast.stmt] = []
        for part in parts:
            below = otherwise if part is parts[-1] else [assign(pending, ast.Constant(True), part[-1])]
            for rung in reversed(part):
                changed = copy.copy(rung)
                changed.body, changed.orelse = block(rung.body), below
                below = [changed]
            if len(parts) > 1:
                below = [assign(pending, ast.Constant(False), part[0]), *below]
            done += below if part is parts[0] else [_if(pending, below, part[0])]
        return done

    return block(body)


def _rungs(statement: ast.If) -> Iterator[ast.If]:
    """An if, and every elif."""
    yield statement
    while len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If):
        statement = statement.orelse[0]
        yield statement


def _if(name: str, body: list[ast.stmt], place: ast.stmt) -> ast.stmt:
    return locate(ast.If(ast.Name(name, ast.Load()), body, []), place)
