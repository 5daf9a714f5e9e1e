"""The layout of the package: who imports whom, who touches adjoints, how long files are and what they are called."""

import ast
import functools
import re
from pathlib import Path

import pytest

from contad.compile.compiling import UNUSED
from tests.judges.sources import PACKAGE, ROOT, SOURCES, nodes_of, offences, parse

MAX_LINES = 600
VAGUE = {"utils", "helpers", "misc", "data"}

# The rooms of a package, bottom to top: a module imports from rooms below its own. What stands on one floor are
# siblings, which know nothing of each other; `...` stands for every other folder and file, and a folder inside another
# one may have a floor of its own. Where a package has no floors its modules import each other as they like, in no
# circle.
FLOORS = {
    "contad": (
        ("errors", "forks", "display"),
        ("compile", "variables", "progress_bars"),
        ("rules", "elementary", "python_objects", "memory"),
        "ops",
        ("distributions", "protocols", "functions", "kernels"),
        ("compiled_rules", "numba_functions"),
        ("engines", "_generated"),
        ("front", "patterns"),
        ("transforms", "programs"),
        ("scipy", "testing", "profiling", "warming", "optim"),
        ("stan", "command", "interop", "counts"),
        ("__init__", "__main__", "table", "example"),
    ),
    "contad.engines": ("stream", ..., "second_order", "__init__"),
    "contad.engines.source": (
        *("ir", "analysis", "planning", "passes", "writing", "reading", "tangents", "runtime"),
        *("build", ("description", "listing"), "__init__"),
    ),
}
ROOT_MODULES = {"errors", "forks", "optim", "progress_bars", "table"}  # beside __init__ and __main__


# ---- imports ---------------------------------------------------------------------------------------------------------
class Imports(ast.NodeVisitor):
    """The package's modules that a source imports, at once, when it runs, or for its types, with the line."""

    def __init__(self):
        self.found = []

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


def floor(package, name):
    """The floor of a file or folder in a package with floors; None where it has none."""
    floors = [names if isinstance(names, tuple) else (names,) for names in FLOORS[package]]
    for named in (name, ...):
        for k, names in enumerate(floors):
            if named in names:
                return k
    return None


def parting(module, target):
    """The package where the ways to two modules part, and the names that they take there."""
    one, other = module.split("."), (target if target in SOURCES else f"{target}.__init__").split(".")
    k = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if k is None:
        return None, None, None
    package = ".".join(one[:k])
    return package, room_of(package, one[k:]), room_of(package, other[k:])


def room_of(package, names):
    """The room of a module in a package: its folder, or a folder inside that which has a floor of its own."""
    inner = ".".join(names[:2])
    return inner if inner in FLOORS.get(package, ()) else names[0]


@functools.cache
def imports_of(source):
    """(what a source imports, line), in their order."""
    imports = Imports()
    imports.visit(parse(source))
    return tuple(imports.found)


def wrong_imports(module, source):
    """What a module may not import, as `line N: ...`: rooms above, siblings, relative and computed names."""
    wrong = []
    for target, line in imports_of(source):
        if target == "a computed import":
            wrong.append(f"line {line}: the name of an import is computed")
            continue
        if target.startswith("."):
            wrong.append(f"line {line}: {target} is relative; write the full name")
            continue
        package, here, there = parting(module, target)
        if package not in FLOORS or (here, there) == ("example", "__init__"):  # which is written as users write
            continue
        floors = floor(package, here), floor(package, there)
        if None in floors:
            lacking = f"{package}.{here if floors[0] is None else there}"
            wrong.append(f"line {line}: {lacking} has no floor; give it one in tests/test_layers.py")
        elif floors[1] > floors[0]:
            wrong.append(f"line {line}: {module} imports {target} of a higher floor")
        elif floors[1] == floors[0]:
            wrong.append(f"line {line}: {module} imports its sibling {target}")
    return wrong


def test_every_room_has_a_floor():
    assert len(FLOORS["contad"]) <= 12
    names = {module.split(".")[1] for module in SOURCES}
    assert {name for name in names if floor("contad", name) is None} == set()
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert modules - {"__init__", "__main__"} == ROOT_MODULES
    assert len(ROOT_MODULES) <= 5


def floors_of(text):
    """{room: floor} by the rows of a table `| floor | rooms | ...`."""
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", text, re.MULTILINE)
    return {room: int(floor) for floor, rooms in rows for room in re.findall(r"`contad/(\w+)", rooms)}


def test_the_map_has_the_floors():
    by_floor = [floor if isinstance(floor, tuple) else (floor,) for floor in FLOORS["contad"]]
    right = {room: k for k, rooms in enumerate(by_floor, 1) for room in rooms if room != "__main__"}
    assert floors_of((ROOT / "notes" / "architecture.md").read_text()) == right


def test_imports_point_down_and_siblings_do_not_meet():
    found = {module: wrong_imports(module, source) for module, source in SOURCES.items()}
    assert {module: wrong for module, wrong in found.items() if wrong} == {}


def imported_rooms(source):
    return {room_of("contad", target.split(".")[1:]) for target, _ in imports_of(source) if target.count(".")}


def test_compiled_code_imports_no_room_that_is_apart_from_it():
    apart = (*UNUSED, "__init__", "__main__", "table")
    rest = {module: imported_rooms(source) for module, source in SOURCES.items() if module.split(".")[1] not in apart}
    assert len(rest) > 600
    assert {module: rooms for module, rooms in rest.items() if not rooms.isdisjoint(UNUSED)} == {}
    assert not imported_rooms("from contad.testing import expect_ad\n").isdisjoint(UNUSED)


@pytest.mark.parametrize(("module", "source", "message"), [
    ("contad.variables.stack", "from contad.rules.scalar_rule import rules", "rules.scalar_rule of a higher floor"),
    ("contad.variables.number", "import contad.ops", "imports contad.ops of a higher floor"),
    ("contad.kernels.lanes", "from contad.distributions.faces import x", "its sibling contad.distributions.faces"),
    ("contad.transforms.gradients", "import contad.scipy.optimize", "contad.scipy.optimize of a higher floor"),
    ("contad.ops.special", "from contad import grad", "contad.ops.special imports contad of a higher floor"),
    ("contad.ops.special", "from contad import engines", "imports contad.engines of a higher floor"),
    ("contad.rules.body", "def f():\n    from contad.engines import engine",
     "line 2: contad.rules.body imports contad.engines"),
    ("contad.engines.tape.building", "from contad.engines.source import build", "imports its sibling"),
    ("contad.engines.records", "from contad.engines.matrix.array_var import ArrayVar", "imports its sibling"),
    ("contad.engines.records", "from contad.engines.closures import x", "its sibling contad.engines.closures"),
    ("contad.engines.closures", "from contad.engines import records", "its sibling contad.engines.records"),
    ("contad.engines.stream.methods", "import contad.engines.records", "contad.engines.records of a higher floor"),
    ("contad.engines.source.ir.walks", "from contad.engines.source.reading import scope", "of a higher floor"),
    ("contad.rules.body", "from .errors import RuleError", ".errors is relative"),
    ("contad.rules.body", "from . import errors", "is relative"),
    ("contad.rules.body", "importlib.import_module('contad.engines')", "the name of an import is computed"),
    ("contad.transforms.gradients", "import contad.novelty", "contad.novelty has no floor"),
    ("contad.rules.body", "if TYPE_CHECKING:\n    import contad.ops", "line 2: contad.rules.body imports contad.ops"),
])  # fmt: skip
def test_a_wrong_import_is_found(module, source, message):
    (wrong,) = wrong_imports(module, source)
    assert message in wrong


@pytest.mark.parametrize(("module", "source"), [
    ("contad.engines.records", "from contad.engines.stream.methods import generate"),
    ("contad.engines.records", "from contad.rules.scalar_rule import rules"),
    ("contad.engines.second_order.passes", "from contad.engines.matrix.array_sweep import inputs_of"),
    ("contad.variables.stack", "from contad.variables.var import Var\nimport numpy as np"),
    ("contad.transforms.gradients", "if TYPE_CHECKING:\n    from contad.rules.body import x"),
    ("contad.__init__", "from contad.transforms.gradients import grad"),
    ("contad.example.logistic_regression", "import contad"),
])  # fmt: skip
def test_a_right_import_is_left_alone(module, source):
    assert wrong_imports(module, source) == []


def circles(sources):
    """Groups of modules that import each other, at once, when they run, or for their types."""
    arrows = {}
    for module, source in sources.items():
        targets = {target if target in sources else f"{target}.__init__" for target, _ in imports_of(source)}
        arrows[module] = targets & sources.keys() - {module}
    remaining, size = dict(arrows), None
    while size != len(remaining):  # take away what imports nothing that remains, and what nothing that remains imports
        size = len(remaining)
        imported = set().union(*remaining.values()) if remaining else set()
        remaining = {m: targets & remaining.keys() for m, targets in remaining.items() if targets & remaining.keys()}
        remaining = {m: targets for m, targets in remaining.items() if m in imported}
    return sorted(remaining)


def test_no_modules_import_each_other_in_a_circle():
    assert circles(SOURCES) == []


def test_a_circle_is_found():
    planted = SOURCES | {"contad.rules.a": "import contad.rules.b", "contad.rules.b": "import contad.rules.a"}
    assert circles(planted) == ["contad.rules.a", "contad.rules.b"]


# ---- Numba and LLVM --------------------------------------------------------------------------------------------------
INTERNALS = ("numba.core", "numba.np", "numba.cpython", "numba.parfors", "numba.misc", "llvmlite", "numpy._core")
# private names of Python, of locks, and of executors that Stan's parallel functions are given
OF_OTHERS = {
    *("_asdict", "_field_defaults", "_getframe", "_bootstrap", "_module_locks", "_is_owned", "_at_fork_reinit"),
    *("_client", "_kwargs", "_shutdown", "_ivp"),
}


def private_names(sources):
    """The private names that sources define or assign, as attributes, names, parameters and slots."""
    found = set()
    for source in sources:
        for node in nodes_of(source):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg | ast.keyword):
                found.add(node.arg)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                found.add(node.value)  # slots, and attributes that are set by name
    return {name for name in found if name and name.startswith("_")}


def reached_internals(source, own):
    """Lines that reach into Numba, LLVM or NumPy: imports, also in generated text, and attributes of modules.

    A private attribute that contad does not define belongs to somebody else. `own` are the names that it defines.
    """
    lines = [
        f"line {k}: {text.strip()}"
        for k, text in enumerate(source.splitlines(), 1)
        if re.match(r"\s*(from|import) (numba import core\b|" + "|".join(map(re.escape, INTERNALS)) + r")\b", text)
    ]
    for node in nodes_of(source):
        name = of = ""
        if isinstance(node, ast.Attribute):
            name, of = node.attr, ast.unparse(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr") and len(node.args) > 1:
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
        is_private = name.startswith("_") and not name.startswith("__")
        if (is_private and (of in MODULES or name not in own | OF_OTHERS)) or f"{of}.{name}" in INTERNALS:
            lines.append(f"line {node.lineno}: {ast.unparse(node)}")
    return lines


MODULES = {"np", "numpy", "numba", "types"}
OUTSIDE = {module: source for module, source in SOURCES.items() if not module.startswith("contad.compile.")}


@functools.cache
def own_private_names():
    return private_names(OUTSIDE.values())


def test_one_room_knows_the_insides_of_numba_and_numpy():
    assert offences(lambda source: reached_internals(source, own_private_names()), OUTSIDE) == {}


def test_that_room_reaches_them():
    """The search sees what does exist."""
    inside = [source for module, source in SOURCES.items() if module not in OUTSIDE]
    assert sum(len(reached_internals(source, own_private_names())) for source in inside) > 50


@pytest.mark.parametrize("source", [
    "from numba.core import cgutils", "def f():\n    import llvmlite.binding as llvm", "from numba import core",
    "TEXT = \"\"\"\nfrom llvmlite import ir\n\"\"\"", "np._core.umath.clip", "numba.core.config.CACHE_DIR = 1",
    "np._NoValue", "types._type", "f._can_compile", "getattr(f, '_can_compile', True)", "made._getvalue()",
])  # fmt: skip
def test_a_reach_into_numba_is_found(source):
    assert len(reached_internals(source, own_private_names())) == 1


@pytest.mark.parametrize(
    "source", ["from numba import njit, types", "import numba", "sys._getframe(1)", "f.__dict__", "numba.typed.List"]
)
def test_the_public_numba_is_left_alone(source):
    assert reached_internals(source, own_private_names()) == []


# ---- operations ------------------------------------------------------------------------------------------------------
def orphans(sources):
    """The modules of contad.ops that importing the package does not reach, and what to do: their rules are nowhere."""
    start = "contad.ops.__init__"
    reached, waiting = set(), [start]
    while waiting:
        module = waiting.pop()
        reached.add(module)
        waiting += [target for target, _ in imports_of(sources[module]) if target in sources and target not in reached]
    found = sorted(module for module in sources if module.startswith("contad.ops.") and module not in reached)
    return [f"{module}: import its functions in contad/ops/__init__.py" for module in found]


def test_every_module_of_operations_is_imported():
    assert orphans(SOURCES) == []


def test_an_orphan_is_found():
    planted = {"contad.ops.softsign": "from contad.rules.scalar_rule import scalar_rule", "contad.ops.used": ""}
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
    for node in nodes_of(source):
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
    sweeping = ("contad.engines.", "contad.programs.", "contad.variables.stack")
    assert offences(adjoint_writes, {m: s for m, s in SOURCES.items() if not m.startswith(sweeping)}) == {}


def test_engines_write_adjoints():
    """The search sees the writes that do exist."""
    assert any(adjoint_writes(source) for module, source in SOURCES.items() if module.startswith("contad.engines."))


@pytest.mark.parametrize("source", [
    "adj[3] = 1.0", "adj[i] += d * p", "stack.adjoints[k] += 1.0", "self.adjoints = []", "adj.add(x, z_bar)",
    "def f(adj):\n    def g():\n        adj[0], y = 1.0, 2.0", "del stack._adjoints[0]", "adjoint.fill(0.0)",
])  # fmt: skip
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


def repeated(named):
    """The names that several modules have, with the modules; `named` gives pairs of both."""
    found = {}
    for name, module in named:
        found.setdefault(name, []).append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def classes_in(sources):
    """The classes at the top level of modules."""
    return [(n.name, m) for m, source in sources.items() for n in parse(source).body if isinstance(n, ast.ClassDef)]


def files_of(modules):
    """The names of files; mirrors of SciPy's modules are called as these are."""
    names = [(module.rpartition(".")[2], module) for module in modules]
    return [(n, m) for n, m in names if n != "__init__" and not (n == "linalg" and m.startswith("contad.scipy."))]


def test_every_class_has_a_name_of_its_own():
    assert repeated(classes_in(SOURCES)) == {}


def test_every_file_has_a_name_of_its_own():
    assert repeated(files_of(SOURCES)) == {}


def test_repeated_names_are_found():
    planted = {"a": "class Plan: pass", "b": "class Plan: pass\nclass Step: pass"}
    assert repeated(classes_in(planted)) == {"Plan": ["a", "b"]}
    planted = ["a.b.arrays", "a.arrays", "a.__init__", "a.b.__init__", "contad.scipy.linalg", "contad.scipy.a.linalg"]
    assert repeated(files_of(planted)) == {"arrays": ["a.b.arrays", "a.arrays"]}


# ---- docstrings ------------------------------------------------------------------------------------------------------
OF_RULES = {"partials", "vjp", "structure", "jvp", "forward", "common", "overload"}  # decorators of bodies


def undocumented(source):
    """The module, and public functions and classes at its top level, that lack a docstring.

    Rule bodies are excepted (the rule's function documents them), and so are overloads.
    """
    tree = parse(source)
    missing = [] if ast.get_docstring(tree) else ["module"]
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            decorators = {ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in node.decorator_list}
            if not ast.get_docstring(node) and not decorators & OF_RULES:
                missing.append(node.name)
    return missing


def test_public_names_have_docstrings():
    assert offences(undocumented) == {}


def undocumented_inside(source):
    """Classes, and functions of more than ten lines, at any depth, that lack a docstring."""
    return [
        f"line {node.lineno}: {node.name}"
        for node in nodes_of(source)
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 10)
        if not ast.get_docstring(node)
    ]


def test_compiled_engines_are_documented_throughout():
    rooms = ("contad.engines.source.", "contad.engines.tape.")
    assert offences(undocumented_inside, {m: s for m, s in SOURCES.items() if m.startswith(rooms)}) == {}


UNDOCUMENTED = """
def public(): pass
def documented(): "yes"
def _private(): pass
class Bare: pass
@documented.partials
def documented_partials(z, x): return x
@overload
def typed(x: int) -> int: ...
"""


def test_missing_docstrings_are_found():
    assert undocumented(UNDOCUMENTED) == ["module", "public", "Bare"]
    lines = "\n".join(f"        x{k} = {k}" for k in range(9))
    source = f"class A:\n    def f(self):\n{lines}\n        pass\n    def g(self): pass"
    assert undocumented_inside(source) == ["line 1: A", "line 2: f"]
