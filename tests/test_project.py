"""The project's own files agree with each other."""

import ast
import os
import re
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from tests.judges.sources import nodes_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def bounds(requirements):
    """{name: version} of requirements such as `numpy>=2.0` or `numpy==2.0.0; python_version < "3.13"`."""
    found = [re.fullmatch(r"([\w-]+)[>=]=([\d.]+)\s*(;.*)?", line) for line in requirements]
    return {m[1]: m[2] for m in reversed(found)}  # the first of several lines for one name


def oldest():
    lines = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    return bounds(line for line in lines if not line.startswith("#"))


def same_release(a, b):
    """Whether 2.0 and 2.0.0 are one release."""
    a, b = ([int(n) for n in v.split(".")] for v in (a, b))
    width = max(len(a), len(b))
    return a + [0] * (width - len(a)) == b + [0] * (width - len(b))


def differences(declared, pinned):
    return {
        n for n in declared | pinned if not (n in declared and n in pinned and same_release(declared[n], pinned[n]))
    }


def test_oldest_releases_are_the_lower_bounds():
    declared = bounds(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"])
    assert differences(declared, oldest()) == set()


def test_a_difference_of_bounds_is_found():
    assert differences({"a": "2.0", "b": "1.1", "c": "1"}, {"a": "2.0.0", "b": "1.2", "d": "1"}) == {"b", "c", "d"}


def undeclared(sources, declared):
    """The top-level names that sources import though neither Python, this project nor a declared package has them."""
    known = sys.stdlib_module_names | {"contad", "tests", "benchmarks", "notes"} | declared
    nodes = [node for source in sources for node in nodes_of(source)]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.split(".")[0] for name in names} - known


def test_the_tests_import_what_the_project_declares():
    declared = bounds(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]).keys()
    notebooks = {"nbclient", "matplotlib"}  # for tests with marks of their own, under the extras notes and screen
    assert undeclared((path.read_text() for path in (ROOT / "tests").rglob("*.py")), declared | notebooks) == set()


def test_an_undeclared_package_is_found():
    assert undeclared(["import os\nimport pandas as pd\nfrom contad.x import y", "from a.b import c"], {"numpy"}) == {
        "pandas",
        "a",
    }


def imports_of_tests(source):
    """The files of tests that a source imports from; what tests share stands in files without tests."""
    nodes = nodes_of(source)
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [f"{node.module}.{alias.name}" for node in froms for alias in node.names]
    return [name for name in names if name.startswith("tests.") and ".test_" in name]


def test_no_test_imports_from_another():
    sources = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    found = {str(path): names for path, source in sources.items() if (names := imports_of_tests(source))}
    assert found == {}


@pytest.mark.parametrize(
    "source", ["from tests.ops.test_shape import CALLS", "from tests.ops import test_shape as shape",
               "def test():\n    import tests.ops.test_shape"],
)  # fmt: skip
def test_an_import_from_a_test_is_found(source):
    assert len(imports_of_tests(source)) == 1
    assert imports_of_tests(source.replace("test_shape", "movement_calls")) == []


def long_releases(text):
    """The releases of a changelog that take more than a page."""
    releases = re.findall(r"^## (\[.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return [title for title, page in releases if page.count("\n") > 200]


def test_changelog_has_one_unreleased_section():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.count("## [Unreleased]") == 1


def test_a_release_is_a_page_of_the_changelog():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert long_releases(text) == []
    assert long_releases(text + "## [0.0.1]\n" + "- A line.\n" * 201) == ["[0.0.1]"]


def test_warnings_are_errors():
    with pytest.raises(UserWarning):
        warnings.warn("planted", stacklevel=1)


def test_the_check_is_executable():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
