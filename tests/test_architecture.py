"""The map of the package: it is short, every room is on it, and every file and name on it is there."""

import importlib
import re
from pathlib import Path

import pytest

from tests.notes import documents

ROOT = Path(__file__).parents[1]
MAP = ROOT / "notes" / "architecture.md"
PLACE = re.compile(r"(?<![\w/])((?:contad|tests)/[\w/]*[\w/](?:\.py)?)(?:::([\w.]+))?")
SHORT = re.compile(r"`((?!contad/|tests/|benchmarks/)(?:\w+/)*\w+\.py)(?:::([\w.]+))?`")  # the end of a path
INNER = ("contad/engines", "contad/engines/source")  # rooms whose own rooms are on the map, too


def in_full(path):
    """The files of the package whose paths end like that."""
    return [str(found.relative_to(ROOT)) for found in (ROOT / "contad").rglob(Path(path).name) if found.match(path)]


def wrong_places(text):
    """Files, folders and names in a text that are not there, and ends of paths that do not tell which file is meant."""
    places = PLACE.findall(text)
    wrong = []
    for end, name in SHORT.findall(text):
        found = in_full(end)
        places += [(path, name) for path in found]
        wrong += [end] if len(found) != 1 else []
    for path, name in places:
        found = ROOT / path
        if not (found.is_dir() if path.endswith("/") else found.is_file()):
            wrong.append(path)
        elif name:
            value = importlib.import_module(path.removesuffix(".py").replace("/", "."))
            for part in name.split("."):
                value = getattr(value, part, None)
            if value is None:
                wrong.append(f"{path}::{name}")
    return wrong


def missing_rooms(text):
    """Folders and loose files of the package, and of its inner rooms, that a text does not name."""
    rooms = []
    for inside in ("contad", *INNER):
        for path in sorted((ROOT / inside).iterdir()):
            if path.is_dir() and any(path.glob("*.py")):
                rooms.append(f"{path.relative_to(ROOT)}/")
            elif path.suffix == ".py" and inside == "contad" and path.name != "__main__.py":
                rooms.append(str(path.relative_to(ROOT)))
    named = {path for path, _ in PLACE.findall(text)}
    return [room for room in rooms if room not in named]


def test_every_place_on_the_map_is_there():
    assert wrong_places(MAP.read_text()) == []


def test_every_room_is_on_the_map():
    assert missing_rooms(MAP.read_text()) == []


@pytest.mark.parametrize(("planted", "found"), [
    ("`contad/rules/scalar_rules.py`", "contad/rules/scalar_rules.py"),
    ("`contad/rulers/`", "contad/rulers/"),
    ("`contad/rules/scalar_rule.py::Rule`", "contad/rules/scalar_rule.py::Rule"),
    ("`ops/scalar_rule.py`", "ops/scalar_rule.py"),
    ("`scalar_rule.py::Rule`", "contad/rules/scalar_rule.py::Rule"),
    ("`__init__.py`", "__init__.py"),
])  # fmt: skip
def test_a_place_that_is_not_there_is_found(planted, found):
    assert wrong_places(planted) == [found]


def test_a_room_that_is_missing_is_found():
    text = MAP.read_text()
    assert missing_rooms(text.replace("contad/rules/", "contad/x/")) == ["contad/rules/"]
    assert missing_rooms(text.replace("contad/errors.py", "")) == ["contad/errors.py"]


# ---- a sitting -------------------------------------------------------------------------------------------------------
def long_parts(text):
    """The pages of a text that are longer than a screen, and its long paragraphs; a row of a table is none."""
    pages = re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    parts = [part for _, page in pages for part in re.split(r"\n\n|\n(?= *(?:\d\.|[-|`]))", page)]
    long = [part.strip()[:10] for part in parts if part.count("\n") > 8 and not part.startswith("`")]
    return [title for title, page in pages if page.count("\n") > 55] + long


def test_each_page_is_short():
    assert long_parts(MAP.read_text()) == []


def test_a_long_page_is_found():
    assert long_parts("## Rooms\n" + "A line.\n\n" * 28) == ["Rooms"]
    assert long_parts("## Rooms\n\n" + "Many lines\n" * 10) == ["Many lines"]


@pytest.mark.parametrize(("add", "right"), [("+=", True), ("=", False)])
def test_the_idea_runs(add, right, tmp_path):
    text = MAP.read_text().replace("+= adj[z]", f"{add} adj[z]")
    assert (documents.wrong_documents({"map": text}, tmp_path) == []) == right
