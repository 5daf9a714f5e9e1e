"""The notebooks: they run as they are, their toys are small, and what they point to in the library is there."""

import ast
import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import contad
from tests.random_programs.generated_programs import namespace

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notes"
SOURCES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
# lines that are not blank, at most
TOYS = {"01_continuations": 80, "04_nesting": 60, "06_the_tape": 120, "07_generated_code": 150}
NAMES = [path.stem for path in SOURCES]
POINTER = re.compile(r"`(contad/[\w/]+(?:\.py)?/?)(?:::([\w.]+))?`")


def cells(path):
    """The cells of a source in py:percent: (options, text)."""
    found = []
    for part in re.split(r"^# %%", path.read_text(), flags=re.M)[1:]:
        options, _, text = part.partition("\n")
        if "[markdown]" in options:
            text = re.sub(r"^# ?", "", text, flags=re.M)
        found.append((options.strip(), text.strip()))
    return found


def code(path, tag=""):
    """The code of the cells with a tag; of all without one."""
    return [text for options, text in cells(path) if "[markdown]" not in options and tag in options]


def test_there_are_eight():
    assert [name[:2] for name in NAMES] == [f"{k:02}" for k in range(1, 9)]


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_the_notebook_beside_it_has_the_same_cells(path):
    notebook = json.loads(path.with_suffix(".ipynb").read_text())
    theirs = [("".join(cell["source"]).strip(), cell["cell_type"]) for cell in notebook["cells"]]
    ours = [(text, "markdown" if "[markdown]" in options else "code") for options, text in cells(path)]
    assert theirs == ours, f"run: python -m notes {path.stem[:2]}"
    executed = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert executed == [*range(1, len(executed) + 1)]
    assert not any(output["output_type"] == "error" for cell in notebook["cells"] for output in cell.get("outputs", ()))


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_it_has_what_every_part_has(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 410
    prose = "\n".join(text for options, text in cells(path) if "[markdown]" in options)
    assert "## Where this lives" in prose
    assert prose.index("## Where this lives") < prose.index("## Exercises")
    assert not re.search(r"\b(simply|obvious|obviously)\b", prose, re.I)
    assert text.count('jupyter={"source_hidden": true}') >= 2  # answers
    assert sum(text.count("assert ") for text in code(path)) >= 8
    (wrong,) = code(path, "raises")
    (handler,) = [x for x in ast.walk(ast.parse(wrong)) if isinstance(x, ast.ExceptHandler)]
    assert handler.type is not None and ast.unparse(handler.type).rpartition(".")[2] != "Exception"
    assert "pictures.show(" in text


@pytest.mark.parametrize("name", TOYS)
def test_toys_are_small(name):
    toys = code(FOLDER / f"{name}.py", "toy")
    assert toys
    lines = [line for toy in toys for line in toy.splitlines() if line.strip()]
    assert len(lines) <= TOYS[name]


@pytest.mark.parametrize("line", ["x += 1.0", "while x > 1.0: x = x - 1.0", "if x < 1.0: x = x - 1.0", "x = -x"])
def test_the_reader_refuses_what_it_does_not_know(line):
    reader = code(FOLDER / "07_generated_code.py", "toy")[0]
    names = namespace(f"import ast, inspect\n{reader}\n", "notebook reader")
    function = namespace(f"def f(x):\n    {line}\n    return x\n", f"notebook refused {line}")["f"]
    with pytest.raises(NotImplementedError, match="line 2"):
        names["Reader"](function)


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_toys_use_the_standard_library_numpy_and_numba_alone(path):
    used = {name.id for toy in code(path, "toy") for name in ast.walk(ast.parse(toy)) if isinstance(name, ast.Name)}
    imported = {}
    for text in code(path):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    module = node.module if isinstance(node, ast.ImportFrom) else alias.name
                    imported[alias.asname or alias.name] = module.partition(".")[0]
    allowed = {*sys.stdlib_module_names, "numpy", "numba"}
    assert {imported[name] for name in used & imported.keys()} <= allowed


def test_the_extra_installs_all_that_is_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["notes"]]
    installed = {re.match(r"\w+", requirement)[0] for requirement in required}
    imported = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                imported |= {name.partition(".")[0] for name in names}
    assert "mpmath" in imported
    assert imported - {*sys.stdlib_module_names, "contad", "notes", "pictures"} <= installed


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_every_pointer_leads_somewhere(path):
    found = POINTER.findall(path.read_text())
    assert len(found) >= 3
    for place, name in found:
        target = ROOT / place
        assert target.exists(), place
        if name:
            assert name in definitions(target), f"{place}::{name}"


def definitions(path):
    """The names that a file defines at its top, and those of the methods of its classes."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{x.name}" for x in node.body if isinstance(x, ast.FunctionDef)}
    return names


def test_a_pointer_to_nothing_is_found():
    assert POINTER.findall("`contad/variables/stack.py::Stack.gone`, `contad/gone.py`") == [
        ("contad/variables/stack.py", "Stack.gone"),
        ("contad/gone.py", ""),
    ]
    assert "ChainStack.sweep" in definitions(ROOT / "contad/variables/stack.py")
    assert "ChainStack.gone" not in definitions(ROOT / "contad/variables/stack.py")


def test_the_first_page_tells_of_all_parts():
    text = (FOLDER / "README.md").read_text()
    assert re.findall(r"\((\d\d_\w+)\.ipynb\)", text) == NAMES
    questions = re.findall(r"^\d+\. .*\((\d)\)$", text, re.M)
    assert len(questions) == 10


X = np.arange(5.0)
SHOWN = {"walk": ((0.5, 1.7, 9), (0, 1)), "misfit": ((X, X, 2.0, 1.0), (2, 3)), "diffuse": ((X, 0.3, 4), (0, 1))}


@pytest.mark.parametrize("name", SHOWN)
def test_the_source_that_is_shown_is_what_is_generated(name):
    path = FOLDER / "07_generated_code.py"
    definition = re.compile(rf"^def {name}\(.*?(?=\n\n\n|\Z)", re.S | re.M)
    (text,) = [found for text in code(path) for found in definition.findall(text)]
    function = namespace(f"@njit\n{text}\n", f"notebook {name}")[name]
    args, argnums = SHOWN[name]
    written = contad.source(function, *args, argnums=argnums)
    outputs = json.loads(path.with_suffix(".ipynb").read_text())["cells"]
    shown = "".join(line for cell in outputs for out in cell.get("outputs", ()) for line in out.get("text", ()))
    assert without_lines(written[written.index("def run") :]) in without_lines(shown), "run: python -m notes 07"


def without_lines(text):
    """A source without the numbers of the user's lines, which are counted from elsewhere in a notebook."""
    return re.sub(r"  # line \d+$", "", text, flags=re.M).strip()


@pytest.mark.notebooks
@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_it_runs_in_a_fresh_kernel(path):
    from notes.__main__ import execute

    execute(path)


@pytest.mark.notebooks
def test_a_failing_cell_is_noticed(tmp_path, monkeypatch):
    from nbclient.exceptions import CellExecutionError

    from notes import __main__ as notes

    monkeypatch.setattr(notes, "FOLDER", tmp_path)
    for text in ("assert 1 + 1 == 3", "import warnings\nwarnings.warn('careful', stacklevel=1)"):
        (tmp_path / "01_wrong.py").write_text(f"# %%\n{text}\n")
        with pytest.raises(CellExecutionError):
            notes.execute(tmp_path / "01_wrong.py")
        assert notes.main([]) == 1
