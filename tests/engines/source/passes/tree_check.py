"""Whether the tree of a function is one that passes may be given."""

import ast

from contad.engines.source.ir.printing import print_function


def find_faults(function):
    """What is wrong with a tree: nodes that stand in two places, and contexts that are not those of their places."""
    signs = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    seen, faults = set(), []
    for x in ast.walk(function):
        if not isinstance(x, signs) and id(x) in seen:
            faults.append(f"{ast.unparse(x)!r} stands in two places")
        seen.add(id(x))
    (read,) = ast.parse("\n".join(print_function(function))).body
    faults += [
        f"{name} is {written}, where it stands it is {meant}"
        for (name, written), (_, meant) in zip(_contexts(function), _contexts(read), strict=True)
        if written != meant
    ]
    return faults


def _contexts(function):
    """The names and elements of a function in order, and whether they are read or written."""
    kinds = (ast.Name, ast.Subscript)
    return [(ast.unparse(x), type(x.ctx).__name__) for x in ast.walk(function) if isinstance(x, kinds)]
