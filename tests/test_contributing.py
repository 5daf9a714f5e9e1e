"""Every rule of CONTRIBUTING names tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PAGES = ("SECURITY.md", "notes/guide/portability.md")  # other pages whose promises name tests


def named_tests(text):
    """The `tests/file.py::test_name` of a text, as (file, name) pairs."""
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)


def collected(source):
    """The names of the tests that pytest finds in a source, at its top level and in its Test classes."""
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    bodies = [tree.body, *(node.body for node in classes)]
    return {
        node.name
        for body in bodies
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


def missing(text, root=ROOT):
    """The tests that a text names and that do not exist."""
    return [
        f"{file}::{name}"
        for file, name in named_tests(text)
        if not (root / file).exists() or name not in collected((root / file).read_text())
    ]


def rules_without_test(text):
    """The numbered items of a text that name no test."""
    items = re.findall(r"^(\d+\. .*?)(?=^\d+\. |^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert items
    return [item.splitlines()[0] for item in items if not named_tests(item)]


def test_every_named_test_exists():
    assert missing(CONTRIBUTING) == []
    for page in PAGES:
        text = (ROOT / page).read_text()
        assert named_tests(text), page
        assert missing(text) == [], page


def test_every_rule_names_a_test():
    assert rules_without_test(CONTRIBUTING) == []


def test_a_wrong_name_is_caught(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(
        "def test_right(): pass\nclass TestIt:\n    def test_method(self): pass\n# def test_comment(): pass\n"
        "def helper():\n    def test_inner(): pass\n"
    )
    names = [
        "test_a.py::test_right",
        "test_a.py::test_method",
        "test_a.py::test_comment",
        "test_a.py::test_inner",
        "test_b.py::test_right",
    ]
    text = " ".join(f"`tests/{name}`" for name in names)
    assert missing(text, tmp_path) == [f"tests/{name}" for name in names[2:]]


def test_a_rule_without_test_is_caught():
    text = "1. Held: `tests/test_a.py::test_right`.\n2. Loose.\n   More words.\n## Next\n"
    assert rules_without_test(text) == ["2. Loose."]


def missing_modules(text, root=ROOT):
    """The modules of this repository that a text runs with `python -m` and that do not exist."""
    modules = re.findall(r"python -m ((?:tests|benchmarks|contad)\b[\w.]*)", text)
    paths = [root.joinpath(*module.split(".")) for module in modules]
    return [m for m, p in zip(modules, paths, strict=True) if not (p.with_suffix(".py").exists() or p.is_dir())]


def test_commands_run_modules_that_exist():
    assert missing_modules(CONTRIBUTING) == []


def test_a_missing_module_is_caught(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").touch()
    assert missing_modules("python -m tests.a -x, python -m tests.b; python -m pytest", tmp_path) == ["tests.b"]
