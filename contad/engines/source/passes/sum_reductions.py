"""Recognises sum reductions: numbers to which statements only add, so that the sum of a strip can begin at zero.

    if test:
        t_2 = total + x[i]        total, t_2: the old total, plus a term that does not depend on it
    else:
        t_2 = total
    total = t_2

Ref: Allen & Kennedy (2001), section 5.6; Bacon, Graham & Sharp (1994), section 6.5.4.
"""

import ast

from contad.engines.source.ir.syntax import nodes_in
from contad.engines.source.passes.liveness import names_assigned, names_read


def is_sum(name: str, body: list[ast.stmt], carried: frozenset[str]) -> bool:
    """Whether statements only add to a number, via temporaries; `carried` names outlive an iteration."""
    nodes = [node for s in body for node in nodes_in(s)]
    moved = {name}  # names that hold the number plus some terms
    while True:
        found = {
            target
            for node in nodes
            if isinstance(node, ast.Assign) and _base_of(node.value, moved)
            for target in names_assigned(node.targets)
        }
        if found <= moved:
            break
        moved |= found
    if moved & carried != {name}:
        return False
    allowed = 0
    for node in nodes:
        if isinstance(node, ast.Assign) and names_assigned(node.targets) & moved:
            (target,) = node.targets
            if not isinstance(target, ast.Name) or not _base_of(node.value, moved):
                return False
            allowed += 1
        elif isinstance(node, ast.AugAssign) and names_assigned([node.target]) & moved:
            if not isinstance(node.op, (ast.Add, ast.Sub)) or names_read(node.value) & moved:
                return False
        elif isinstance(node, ast.For) and names_assigned([node.target]) & moved:
            return False
    reads = sum(isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load) and x.id in moved for x in nodes)
    return reads == allowed


def _base_of(value: ast.expr, moved: set[str]) -> bool:
    """Whether an expression is one of these names, or the sum of one and a term that reads none of them."""
    if isinstance(value, ast.Name):
        return value.id in moved
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return False
    if isinstance(value.left, ast.Name) and value.left.id in moved:
        return not names_read(value.right) & moved
    added = isinstance(value.op, ast.Add) and isinstance(value.right, ast.Name) and value.right.id in moved
    return added and not names_read(value.left) & moved
