"""Names in generated text, and which of them are live."""

import ast

import pytest

from contad.engines.source.ir.syntax import names_in
from contad.engines.source.passes import liveness

TEXT = """
def run(x, *, y=z):
    global g
    total: float = 0.0
    for i, (j, k) in zip(a, b):
        total += x[i, j : k] * -y.real if i < n <= m else {p: q, **r}[s]
        while not (total and flag):
            if (w := f(x, *args, key=v, **rest)) or [c for c in d if e]:
                raise Problem(f"{text!r:>{width}}") from cause
    return lambda u: u + total
"""

NEST = """
def run(n):
    for i in range(n):
        for j in range(n):
            a = b
            b = c
            c = a
"""


def test_all_names_in_statements_are_found() -> None:
    tree = ast.parse(TEXT)
    expected = [x for x in ast.walk(tree) if isinstance(x, ast.Name)]
    found = names_in(tree)
    assert len(found) == len(expected)
    assert set(found) == set(expected)


def test_statements_in_loops_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (function,) = ast.parse(NEST).body
    read: list[str] = []

    def names_read(node: ast.AST) -> frozenset[str]:
        read.append(ast.unparse(node))
        return frozenset(x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))

    monkeypatch.setattr(liveness, "names_read", names_read)
    liveness.LiveNames(function.body)  # type: ignore[attr-defined]
    assert [read.count(s) for s in ("a = b", "b = c", "c = a")] == [1, 1, 1]
