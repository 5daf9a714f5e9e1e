"""Functions that may catch errors of NumPy and SciPy, as copies that see an error before a handler catches it.

For lists and object arrays of variables NumPy raises without asking contad. So an error swallowed by a bare `except:`,
`contextlib.suppress` or a `finally` that returns would go unnoticed. The copy is compiled from the source of the
function, and wraps each body of `try` or `with` in a `with` of a contad object.
"""

import ast
import dis
import functools
import linecache
from types import CodeType, TracebackType
from typing import Any

from contad.errors import ContadError
from contad.variables.library_refusals import error_behind
from contad.variables.stack import THREAD
from contad.variables.weak_cache import weak_cache

_MARK = "contad: watched"  # the constant that the object replaces
_FUTURE = 0x1FF0000  # flags of code that `from __future__` sets


class _Watch:
    """Looks at errors that leave a block. The levels remember errors of contad when these are made."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            look_at(error)


def look_at(error: BaseException | None) -> None:
    """Make the contad error behind an error of NumPy or SciPy, if anything is differentiated."""
    if isinstance(error, Exception) and not isinstance(error, ContadError):
        if THREAD.forward or any(s.level > 0 for s in THREAD.open):
            error_behind(error)


_WATCH = _Watch()


class _Wrapping(ast.NodeTransformer):
    """Wraps the bodies of `try` and `with` in a `with` of the mark."""

    def visit_Try(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        inside = ast.With([_mark()], node.body)
        node.body = [ast.copy_location(inside, node.body[0])]
        return node

    visit_TryStar = visit_AsyncWith = visit_Try

    def visit_With(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.items = [item for each in node.items for item in (each, _mark())]  # of later items, too
        return node


def _mark() -> ast.withitem:
    return ast.withitem(ast.Constant(_MARK))


@weak_cache
def watch(code: CodeType) -> CodeType | None:
    """The code of a function, and of functions inside it, with watched blocks; None without any, or without source."""
    if not _has_handlers(code):
        return None
    text = "".join(linecache.getlines(code.co_filename))
    for plain, with_watch in _compile(text, code.co_filename, code.co_flags & _FUTURE):
        if plain == code:  # the source belongs to this code
            return with_watch if with_watch.co_qualname == code.co_qualname else None
    return None


def _has_handlers(code: CodeType) -> bool:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return any(i.opname == "PUSH_EXC_INFO" for i in dis.get_instructions(code)) or any(map(_has_handlers, inner))


@functools.lru_cache(64)
def _compile(text: str, file: str, flags: int) -> list[tuple[CodeType, CodeType]]:
    """Each code object of a file, unchanged and with watched blocks."""
    try:
        trees = ast.parse(text), ast.fix_missing_locations(_Wrapping().visit(ast.parse(text)))
        plain, with_watch = (compile(tree, file, "exec", flags, dont_inherit=True) for tree in trees)
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return []
    pairs = [(plain, _watching(with_watch))]
    for a, b in pairs:
        inside = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (a, b)]
        pairs += zip(*inside, strict=True)
    return pairs


def _watching(code: CodeType) -> CodeType:
    """The code, with the object in place of the mark."""
    constants = (_watching(x) if isinstance(x, CodeType) else x for x in code.co_consts)
    return code.replace(co_consts=tuple(_WATCH if x.__class__ is str and x == _MARK else x for x in constants))
