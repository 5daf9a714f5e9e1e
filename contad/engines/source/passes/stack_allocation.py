"""Stack allocation: an array that dies with its iteration is on the stack if it has few elements.

    for n in range(m):                         for n in range(m):
        y = np.empty((k,))             ->          y = brief_empty((k,))
        y_bar = np.zeros((k,))                     y_bar = brief_zeros((k,))

An array outlives its iteration only under a name that occurs outside of the loop. In a callee, which returns numbers,
each array dies with the call. To allocate a small array on the heap takes longer than to compute it.

Ref: Choi, Gupta, Serrano, Sreedhar & Midkiff (1999), Escape analysis for Java, OOPSLA.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from contad.engines.source.ir.tree_queries import called_name, nodes_in
from contad.engines.source.ir.writer import NameTable

BRIEF = {"np.empty": "brief_empty", "np.zeros": "brief_zeros"}
MOST = 64  # arrays, each with room for ON_STACK numbers
_KEEPS = "keep_"  # the prefix of calls that keep an array for the reverse sweep


def allocate_on_stack(function: ast.FunctionDef, names: NameTable, is_callee: bool = False) -> None:
    """Put such arrays on the stack; in a callee, all arrays that are made in it."""
    found = list(_find(function.body, function if is_callee else None))
    if not found:
        return
    everywhere = _count_names(function)
    inside: dict[ast.stmt, Counter[str]] = {}
    kept = {x for node in nodes_in(function) if called_name(node).startswith(_KEEPS) for x in _count_names(node)}
    for made, name, loop in found[:MOST]:
        if loop not in inside:
            inside[loop] = _count_names(loop)
        aliases = [name, *(x for x, roots in names.roots.items() if name in roots and x != name)]
        if all(everywhere[x] == inside[loop][x] and x not in kept for x in aliases):
            made.func = ast.Name(BRIEF[called_name(made)], ast.Load())


def _find(body: list[ast.stmt], loop: ast.stmt | None) -> Iterator[tuple[ast.Call, str, ast.stmt]]:
    """The allocations of arrays of numbers in loops: the call, the array's name, the innermost loop."""
    for s in body:
        if isinstance(s, (ast.For, ast.While)):
            yield from _find(s.body, s)
        elif isinstance(s, ast.If):
            yield from _find([*s.body, *s.orelse], loop)
        elif loop is not None and isinstance(s, ast.Assign) and isinstance(s.value, ast.Call):
            target = s.targets[0]
            if called_name(s.value) in BRIEF and len(s.value.args) == 1 and isinstance(target, ast.Name):
                yield s.value, target.id, loop


def _count_names(tree: ast.AST) -> Counter[str]:
    return Counter(node.id for node in nodes_in(tree) if isinstance(node, ast.Name))
