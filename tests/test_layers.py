"""The layout of the package: who imports whom, who touches adjoints, how long files are and what they are called."""

import ast
from pathlib import Path

import pytest

from contad.engines import engine_names

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "contad"
MAX_LINES = 320
VAGUE = {"utils", "helpers", "misc", "data"}

# Bottom to top; a module imports from its own layer and from those below it.
LAYERS = (
    ("errors", "layout"),
    ("number", "arguments", "array_base", "containers", "check", "compiled", "definition", "differences", "trees"),
    ("body", "elementwise", "var", "adjoints", "level", "dual", "stack"),
    ("rule", "body_derivatives"),
    ("array_functions",),
    ("array_body",),
    ("array_rule",),
    ("ops",),
    ("activation", "array_methods", "protocols"),
    ("array_protocols", "creation", "continuations", "dispatcher", "callees", "calls"),
    ("native", "_generated"),
    ("engines",),
    ("front",),
    ("numba_transforms", "functional", "numba_calls", "compilation", "inside_njit", "recording", "stack_table"),
    ("jacobians",),
    ("hessians", "operation"),
    ("linearized", "custom", "checkpoints", "debugging", "testing", "table", "array_table"),
    ("transforms",),
    ("command", "__main__", "example", "__init__"),
)
LAYER = {name: level for level, names in enumerate(LAYERS) for name in names}


def module_name(path):
    """`contad.ops.special` for contad/ops/special.py; a package's own file keeps its `__init__`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


REGISTRY = "contad.engines.__init__"
SOURCES = {module_name(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


# ---- imports ---------------------------------------------------------------------------------------------------------
class Imports(ast.NodeVisitor):
    """The package's modules that a source imports at run time, with the line; imports for type checkers are free."""

    def __init__(self):
        self.found = []

    def visit_If(self, node):
        if "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_Import(self, node):
        self.found += [(alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "contad"]

    def visit_ImportFrom(self, node):
        source = "." * node.level + (node.module or "")
        if node.level or source.split(".")[0] == "contad":
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                self.found.append((inner if is_module(inner) else source, node.lineno))

    def visit_Call(self, node):
        if ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}:
            self.found.append(("a computed import", node.lineno))
        self.generic_visit(node)


def is_module(name):
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def layer(module):
    """The layer of a module by the name under `contad.`; None for a module that has none."""
    return LAYER.get(module.removeprefix("contad").strip(".").split(".")[0] or "__init__")


def engine_of(module):
    """The engine that a module belongs to, or None for what engines share."""
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["engines"] and len(parts) > 2 and parts[2] in engine_names() else None


def wrong_imports(module, source):
    """What a module may not import, as `line N: ...`: layers above, another engine, relative and computed names."""
    imports = Imports()
    imports.visit(ast.parse(source))
    wrong = []
    here = layer(module)
    beside_engines = module.startswith("contad.engines.") and module != REGISTRY
    if here is None:
        return [f"line 1: {module} has no layer; give it one in tests/test_layers.py"]
    for target, line in imports.found:
        if target == "a computed import":
            if module != REGISTRY:
                wrong.append(f"line {line}: only the registry of engines computes the name of an import")
        elif target.startswith("."):
            wrong.append(f"line {line}: {target} is relative; write the full name")
        elif layer(target) is None:
            wrong.append(f"line {line}: {target} has no layer; give it one in tests/test_layers.py")
        elif layer(target) > here:
            wrong.append(f"line {line}: {module} imports {target} of a higher layer")
        elif beside_engines and engine_of(target) not in (None, engine_of(module)):
            wrong.append(f"line {line}: {module} imports the engine {target}")
    return wrong


def test_every_module_has_a_layer():
    assert [module for module in SOURCES if layer(module) is None] == []


def test_imports_point_down_and_engines_are_siblings():
    found = {module: wrong_imports(module, source) for module, source in SOURCES.items()}
    assert {module: wrong for module, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("contad.stack", "from contad.rule import rules", "contad.stack imports contad.rule of a higher layer"),
        ("contad.number", "import contad.ops", "contad.number imports contad.ops of a higher layer"),
        ("contad.ops.special", "from contad import grad", "contad.ops.special imports contad of a higher layer"),
        ("contad.ops.special", "from contad import engines", "imports contad.engines of a higher layer"),
        (
            "contad.rule",
            "def f():\n    from contad.engines import engine",
            "line 2: contad.rule imports contad.engines",
        ),
        (
            "contad.engines.records",
            "from contad.engines.closures import x",
            "imports the engine contad.engines.closures",
        ),
        ("contad.engines.closures", "from contad.engines import records", "imports the engine contad.engines.records"),
        ("contad.engines.methods", "import contad.engines.records", "imports the engine contad.engines.records"),
        ("contad.rule", "from .errors import RuleError", ".errors is relative"),
        ("contad.rule", "from . import errors", "is relative"),
        ("contad.rule", "importlib.import_module('contad.engines')", "only the registry of engines computes"),
        ("contad.functional", "import contad.novelty", "contad.novelty has no layer"),
        (
            "contad.rule",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import contad.ops",
            "line 4: contad.rule imports contad.ops",
        ),
    ],
)
def test_a_wrong_import_is_found(module, source, message):
    (wrong,) = wrong_imports(module, source)
    assert message in wrong


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("contad.engines.records", "from contad.engines.methods import generate\nfrom contad.rule import rules"),
        ("contad.stack", "from contad.var import Var\nimport numpy as np"),
        ("contad.rule", "if TYPE_CHECKING:\n    from contad.functional import grad"),
        ("contad.__init__", "from contad.functional import grad"),
    ],
)
def test_a_right_import_is_left_alone(module, source):
    assert wrong_imports(module, source) == []


# ---- operations ------------------------------------------------------------------------------------------------------
def orphans(sources):
    """The modules of contad.ops that importing the package does not reach, and what to do: their rules are nowhere."""
    start = "contad.ops.__init__"
    reached, waiting = set(), [start]
    while waiting:
        module = waiting.pop()
        reached.add(module)
        imports = Imports()
        imports.visit(ast.parse(sources[module]))
        waiting += [target for target, _ in imports.found if target in sources and target not in reached]
    found = sorted(module for module in sources if module.startswith("contad.ops.") and module not in reached)
    return [f"{module}: import its functions in contad/ops/__init__.py" for module in found]


def test_every_module_of_operations_is_imported():
    assert orphans(SOURCES) == []


def test_an_orphan_is_found():
    planted = {"contad.ops.softsign": "from contad.rule import scalar_rule", "contad.ops.used": ""}
    planted["contad.ops.softsign_forms"] = "from contad.ops.softsign import softsign"
    sources = SOURCES | planted
    sources["contad.ops.__init__"] += "\nimport contad.ops.used"
    assert orphans(sources) == [
        "contad.ops.softsign: import its functions in contad/ops/__init__.py",
        "contad.ops.softsign_forms: import its functions in contad/ops/__init__.py",
    ]


# ---- adjoints --------------------------------------------------------------------------------------------------------
def adjoint_writes(source):
    """Lines that write to something whose name speaks of adjoints: `adj[i] = v`, `s.adjoints += v`, `adj.add(x, v)`."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            written = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITERS:
            written = node.func.value
        else:
            continue
        if any("adj" in name for name in leaf_names(written)):
            lines.append(f"line {node.lineno}: {ast.unparse(node)}")
    return lines


WRITERS = {"add", "append", "extend", "insert", "fill", "put", "at", "__setitem__"}


def leaf_names(node):
    """The attribute and variable names on the way down from `s.adjoints[i]`: adjoints and s."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def test_only_engines_write_adjoints():
    others = {m: s for m, s in SOURCES.items() if not m.startswith("contad.engines.") and m != "contad.stack"}
    found = {module: adjoint_writes(source) for module, source in others.items()}
    assert {module: lines for module, lines in found.items() if lines} == {}


def test_engines_write_adjoints():
    """The search sees the writes that do exist."""
    assert any(adjoint_writes(SOURCES[f"contad.engines.{name}"]) for name in engine_names())


@pytest.mark.parametrize(
    "source",
    [
        "adj[3] = 1.0",
        "adj[i] += d * p",
        "stack.adjoints[k] += 1.0",
        "self.adjoints = []",
        "adj.add(x, z_bar)",
        "def f(adj):\n    def g():\n        adj[0], y = 1.0, 2.0",
        "del stack._adjoints[0]",
        "adjoint.fill(0.0)",
    ],
)
def test_a_write_to_an_adjoint_is_found(source):
    assert len(adjoint_writes(source)) == 1


@pytest.mark.parametrize("source", ["y = adj[3]", "adj = stack.adjoints", "names.add(x)", "total[i] += 1.0"])
def test_reading_an_adjoint_is_left_alone(source):
    assert adjoint_writes(source) == []


# ---- files -----------------------------------------------------------------------------------------------------------
def long_files(sources):
    return {name: count for name, text in sources.items() if (count := len(text.splitlines())) > MAX_LINES}


def test_files_are_short():
    assert long_files(SOURCES) == {}


def test_a_long_file_is_found():
    assert long_files({"a": "x\n" * MAX_LINES, "b": "x\n" * (MAX_LINES + 1)}) == {"b": MAX_LINES + 1}


def vague_names(paths):
    return [str(path) for path in paths if VAGUE & {part.split(".")[0].strip("_") for part in path.parts}]


def test_no_file_has_a_vague_name():
    folders = ["contad", "tests", "benchmarks", "examples", "notes"]
    paths = [path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*")]
    assert vague_names(path for path in paths if "__pycache__" not in path.parts) == []


@pytest.mark.parametrize("name", ["contad/utils.py", "contad/ops/_helpers.py", "contad/misc/x.py", "tests/data/a.csv"])
def test_a_vague_name_is_found(name):
    assert vague_names([Path(name), Path("contad/database.py")]) == [name]


# ---- docstrings ------------------------------------------------------------------------------------------------------
def undocumented(source):
    """The module, and public functions and classes at its top level, that lack a docstring.

    Rule bodies are excepted (the rule's function documents them), and so are overloads.
    """
    tree = ast.parse(source)
    missing = [] if ast.get_docstring(tree) else ["module"]
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            decorators = {ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in node.decorator_list}
            if not ast.get_docstring(node) and not decorators & {"partials", "vjp", "jvp", "forward", "overload"}:
                missing.append(node.name)
    return missing


def test_public_names_have_docstrings():
    found = {module: undocumented(source) for module, source in SOURCES.items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_a_missing_docstring_is_found():
    source = """
def public(): pass
def documented(): "yes"
def _private(): pass
class Bare: pass
@documented.partials
def documented_partials(z, x): return x
@overload
def typed(x: int) -> int: ...
"""
    assert undocumented(source) == ["module", "public", "Bare"]
