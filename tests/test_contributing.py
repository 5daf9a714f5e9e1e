"""CONTRIBUTING is short, its first change works, and every rule of it and of its pages names tests that exist."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from contad.testing import expect_ad
from tests.judges.planted import registered

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
RULES = ("CONTRIBUTING.md", "notes/recipes.md", "notes/testing.md")  # pages whose numbered rules name tests
PAGES = (*RULES, "notes/words.md", "SECURITY.md", "notes/guide/portability.md")  # whose promises name tests


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


@pytest.mark.parametrize("page", PAGES)
def test_every_named_test_exists(page):
    text = (ROOT / page).read_text()
    assert named_tests(text)
    assert missing(text) == []


@pytest.mark.parametrize("page", RULES)
def test_every_rule_names_a_test(page):
    assert rules_without_test((ROOT / page).read_text()) == []


def test_a_wrong_name_is_caught(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(
        "def test_right(): pass\nclass TestIt:\n    def test_method(self): pass\n# def test_comment(): pass\n"
        "def helper():\n    def test_inner(): pass\n"
    )
    names = [
        "test_a.py::test_right", "test_a.py::test_method", "test_a.py::test_comment", "test_a.py::test_inner",
        "test_b.py::test_right",
    ]  # fmt: skip
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


@pytest.mark.parametrize("page", RULES)
def test_commands_run_modules_that_exist(page):
    assert missing_modules((ROOT / page).read_text()) == []


def test_a_missing_module_is_caught(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").touch()
    assert missing_modules("python -m tests.a -x, python -m tests.b; python -m pytest", tmp_path) == ["tests.b"]


def test_it_is_short():
    assert CONTRIBUTING.count("\n") <= 150


def first_change(text, folder):
    """The operation that a text has as its example, from a file in a folder."""
    path = folder / "first_change.py"
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    imports = "import math\n\nfrom contad import scalar_rule\nfrom contad.ops.hyperbolic import tanh\n\n\n"
    path.write_text(imports + block)
    spec = importlib.util.spec_from_file_location("first_change", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sech


@pytest.mark.parametrize("sign", ["-", ""])
def test_the_first_change_works(sign, tmp_path):
    with registered():
        sech = first_change(CONTRIBUTING.replace("return -z", f"return {sign}z"), tmp_path)
        assert sech(0.0) == 1.0 and sech(-1000.0) == 0.0
        for point in sech.points:
            if sign:
                expect_ad(sech, *point, order=3)
            else:  # what it says to try
                with pytest.raises(AssertionError):
                    expect_ad(sech, *point)
