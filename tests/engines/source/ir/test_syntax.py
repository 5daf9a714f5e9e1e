"""Derivatives are trees until they are printed: the engine reads no text that it has written."""

import ast

import pytest

from benchmarks.comparison.topic import Choice
from benchmarks.topics.passes import list_real
from contad.engines.source.build import derivative_of
from contad.engines.source.ir import syntax
from contad.engines.source.passes import order
from tests.engines.source.passes.tree_check import find_faults
from tests.judges.sources import SOURCES, nodes_of

PACKAGE = "contad.engines.source."
READERS = f"{PACKAGE}reading."  # of the user's source, pieces of which are printed in refusals
TEMPLATES, PRINTER = f"{PACKAGE}ir.syntax", f"{PACKAGE}ir.printing"
MAKERS = {"line", "block", "expression", "statement", "statements"}  # whose first argument is a template
MAKING = (TEMPLATES, f"{PACKAGE}ir.writer", f"{PACKAGE}ir.known_functions")  # where these are, and a table of templates


def breaches(module, source):
    """The lines where a module reads or prints text that it should not: (line, what is done there)."""
    functions = [x for x in nodes_of(source) if isinstance(x, ast.FunctionDef) and module == TEMPLATES]
    allowed = {x for f in functions if f.name == "_read" for x in ast.walk(f)}
    found = []
    for node in nodes_of(source):
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if text == "ast.parse" and node not in allowed:
            found.append((node.lineno, text))
        elif module.startswith(READERS):
            continue
        elif text == "ast.unparse" and module != PRINTER:
            found.append((node.lineno, text))
        elif isinstance(node, ast.Import) and any(x.name == "re" for x in node.names):
            found.append((node.lineno, "re"))
        elif isinstance(node, ast.ImportFrom) and node.module in ("ast", "re"):
            found.append((node.lineno, f"from {node.module} import"))
        elif isinstance(node, ast.Call) and node.args and made_by(node) in MAKERS and not is_literal(node.args[0]):
            if module not in MAKING or ast.unparse(node.args[0]) not in ("template", "self.template"):
                found.append((node.lineno, f"{made_by(node)} of no literal"))
    return found


def made_by(call):
    """The name of a function that is called, or of a method of a writer."""
    before, _, name = ast.unparse(call.func).rpartition(".")
    return name if before in ("", "writer", "self.writer") else ""


def is_literal(node):
    """Whether an argument is a string as it is written, or one of two."""
    if isinstance(node, ast.IfExp):
        return is_literal(node.body) and is_literal(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_text_that_was_written_is_read():
    found = {
        module: wrong
        for module, source in SOURCES.items()
        if module.startswith(PACKAGE) and (wrong := breaches(module, source))
    }
    assert found == {}


def test_a_template_is_parsed_once_in_a_process():
    before = syntax._read.cache_info().hits
    statements = [syntax.statement("x = y + made_here", x=x, y=1.0) for x in ("a", "b", "c")]
    assert syntax._read.cache_info().hits >= before + 2
    assert [ast.unparse(s) for s in statements] == ["a = 1.0 + made_here", "b = 1.0 + made_here", "c = 1.0 + made_here"]


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import ast\ntree = ast.parse(text)", ["ast.parse"]),
        ("read = ast.parse", ["ast.parse"]),
        ("text = ast.unparse(node)", ["ast.unparse"]),
        ("import math, re", ["re"]),
        ("from re import sub", ["from re import"]),
        ('self.writer.line(f"{x} = 0.0")', ["line of no literal"]),
        ("with writer.block(head): pass", ["block of no literal"]),
        ('statement("x = y" + z)', ["statement of no literal"]),
        ('expression("x + y" if adds else "x - y", x=x, y=y)', []),
        ('writer.line("x = y", x=x, y=y)', []),
    ],
)
def test_a_breach_is_found(source, what):
    assert [x for _, x in breaches(f"{PACKAGE}passes.new", source)] == what


@pytest.mark.parametrize("mode", ["value_and_grad", "hvp"])
@pytest.mark.parametrize("name", ["bundle", "lotka_volterra", "regularised_horseshoe", "gaussian_process", "upwind"])
def test_trees_are_well_formed_between_passes(name, mode, monkeypatch):
    (subject,) = list_real(Choice(names=(name,)))
    checked = []

    def check(draft):
        checked.extend(map(find_faults, draft.functions))

    passes = order.PASSES
    monkeypatch.setattr(order, "PASSES", [x for step in passes for x in (order.ListedPass("", check), step)])
    derivative_of(subject.request._replace(mode=mode)).source("njit()")
    assert len(checked) >= len(passes)
    assert [x for x in checked if x] == []


def test_a_tree_that_is_not_well_formed_is_found():
    function = syntax.statement("def run(x):\n    y = x + 1.0\n    return y")
    assert find_faults(function) == []
    function.body.append(function.body[0])
    assert "stands in two places" in find_faults(function)[0]
    function.body.pop()
    function.body[0].targets[0].ctx = ast.Load()
    assert find_faults(function) == ["y is Load, where it stands it is Store"]
