"""The structure of the code: how short files are and how much they import, how deep classes stand, what functions are
called, and that each has a body of its own."""

import ast
import importlib

import pytest

from tests.judges.sources import SOURCES, nodes_of, offences

MAX_DEPTH = 3  # a class and two ancestors
MIN_LINES = 60
MOST_NAMES = 12
# the files with fewer lines, and why
SHORT = {
    "contad.kernels.shape_fields": "numbers that modules import by this name, with Numba and without it",
    "contad.variables.open_types": "names of types, which every room imports",
    "contad.variables.weak_cache": "a decorator of five rooms",
    "contad.engines.records": "one of the five levels of refinement, which readers compare",
    "contad.engines.source.passes.code_motion": "a pass, in a file of its own like the others",
    "contad.engines.source.passes.reassociation": "a pass, in a file of its own like the others",
    "contad.engines.source.passes.stack_allocation": "a pass, in a file of its own like the others",
    "contad.engines.source.planning.running_products": "a transformation with a standard name",
    "contad.engines.source.planning.sinking": "a transformation with a standard name",
    "contad.numba_functions.checkpointed": "the engine and the public name need it, and nothing else of its subject",
    "contad.stan.shapes": "five rooms of checks import it",
    "contad.transforms.on_demand": "the table of public names that are imported on first use",
}
# the files that import more names from a module of contad; the `__init__` of a package offers what it imports
WIDE = {
    "contad.stan.scalar_functions", "contad.scipy.linalg",
}


# ---- files -----------------------------------------------------------------------------------------------------------
def short_files(sources):
    """The files with fewer lines than a subject has. A package and a command begin as short as they like."""
    found = {module for module, source in sources.items() if source.count("\n") < MIN_LINES}
    return {module for module in found if module.rpartition(".")[2] not in ("__init__", "__main__")}


def wide_imports(sources):
    """The files that import so many names from one module that importing the module would read better."""
    found = set()
    for module, source in sources.items():
        imports = [node for node in nodes_of(source) if isinstance(node, ast.ImportFrom)]
        if any(len(n.names) > MOST_NAMES and n.module.startswith("contad.") for n in imports if n.module):
            found.add(module)
    return {module for module in found if not module.endswith("__init__")}


def test_files_are_no_splinters():
    assert short_files(SOURCES) == set(SHORT)


def test_imports_are_narrow():
    assert wide_imports(SOURCES) == WIDE


def test_a_splinter_and_a_wide_import_are_found():
    names = [f"name_{k}" for k in range(MOST_NAMES + 1)]
    planted = {
        "contad.room.short": "x = 1\n" * (MIN_LINES - 1), "contad.room.long": "x = 1\n" * MIN_LINES,
        "contad.room.__init__": f"from contad.room.short import {', '.join(names)}\n",
        "contad.wide": f"from contad.room.short import {', '.join(names)}\n" + "\n" * MIN_LINES,
        "contad.narrow": f"from contad.room.short import {', '.join(names[1:])}\n" + "\n" * MIN_LINES,
    }  # fmt: skip
    assert short_files(planted) == {"contad.room.short"}
    assert wide_imports(planted) == {"contad.wide"}


# ---- classes ---------------------------------------------------------------------------------------------------------
def classes_of(package):
    """Every class of a package that exists by now, those made inside functions included."""
    found, waiting = set(), [object]
    while waiting:
        for cls in type.__subclasses__(waiting.pop()):
            if cls not in found:
                found.add(cls)
                waiting.append(cls)
    return {cls for cls in found if str(cls.__module__).partition(".")[0] == package}


def deep_classes(package):
    """The classes with more ancestors in their package than two, as `module.name: ancestors`."""
    own = classes_of(package)
    chains = {cls: [c.__name__ for c in cls.__mro__ if c in own] for cls in own}
    return sorted(f"{c.__module__}.{c.__name__}: {', '.join(n)}" for c, n in chains.items() if len(n) > MAX_DEPTH)


def test_no_class_is_deep():
    for module in SOURCES:
        if not module.endswith("__main__"):
            importlib.import_module(module.removesuffix(".__init__"))
    assert deep_classes("contad") == []


def test_a_deep_class_is_found():
    def declare(name, *bases):
        return type(name, bases, {"__module__": "planted.classes"})

    one = declare("One")
    two = declare("Two", one)
    mixin = declare("Mixin")
    kept = declare("Three", two), declare("Mixed", mixin, two)  # a class that nobody keeps is no class of anybody
    assert deep_classes("planted") == ["planted.classes.Mixed: Mixed, Mixin, Two, One"]
    assert kept[0].__mro__[1] is two


# ---- functions -------------------------------------------------------------------------------------------------------
def stubs(source):
    """The lines that raise NotImplementedError: an interface has abstract methods or is a protocol."""
    if "NotImplementedError" not in source:
        return []
    raised = [node for node in nodes_of(source) if isinstance(node, ast.Raise) and node.exc is not None]
    return [f"line {n.lineno}" for n in raised if ast.unparse(n.exc).partition("(")[0] == "NotImplementedError"]


def test_no_body_is_a_stub():
    assert offences(stubs) == {}


def free_selves(source):
    """Functions with a parameter `self` outside of a class: what is no method has a name for what it takes."""
    methods, found = set(), []
    for node in nodes_of(source):  # classes before what is in them
        if isinstance(node, ast.ClassDef):
            methods.update(node.body)
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)) and node not in methods:
            taken = {a.arg for a in (*node.args.posonlyargs, *node.args.args)}
            found += [f"line {node.lineno}"] if "self" in taken else []
    return found


def test_only_methods_have_a_self():
    assert offences(free_selves) == {}


# ---- names -----------------------------------------------------------------------------------------------------------
IRREGULAR = {
    *("made", "taken", "given", "held", "kept", "shown", "told", "found", "said", "known", "written", "drawn"),
    *("chosen", "lost", "seen", "done", "bound", "built", "sent"),
}
# the last five are users' names
NO_PARTICIPLES = {"seed", "need", "nested", "factorized", "searchsorted", "ordered", "checkpointed"}


def participles(source):
    """Functions named by a bare participle: a function is a verb, a noun for what it returns, or a property."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef):
            name = node.name.strip("_")
            is_value = any("property" in ast.unparse(d) for d in node.decorator_list)
            if not is_value and (name in IRREGULAR or (name.endswith("ed") and "_" not in name)):
                found += [f"line {node.lineno}"] if name not in NO_PARTICIPLES else []
    return found


def test_functions_are_verbs():
    assert offences(participles) == {}


@pytest.mark.parametrize(("search", "source", "lines"), [
    (stubs, "class A:\n    def f(self): raise NotImplementedError", ["line 2"]),
    (stubs, "def f():\n    raise NotImplementedError('later')", ["line 2"]),
    (stubs, "def f(x): raise TypeError('NotImplementedError')\ndef g(): return NotImplemented", []),
    (participles, "def moved(x): pass\ndef _made(): pass\ndef move(x): pass", ["line 1", "line 2"]),
    (participles, "class A:\n    @property\n    def taken(self): pass\n    def read_only(self): pass", []),
    (free_selves, "def f(self): pass\nclass A:\n    g = lambda self: 1", ["line 1", "line 3"]),
    (free_selves, "def make():\n    def method(self, /, x): return x\n    return method", ["line 2"]),
    (free_selves, "def make():\n    class A:\n        def f(self): pass\n    return A", []),
])  # fmt: skip
def test_a_planted_fault_is_found(search, source, lines):
    assert sorted(search(source)) == lines
