"""The map of the package: every room is on it, and every file and name on it is there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAP = ROOT / "notes" / "architecture.md"
PLACE = re.compile(r"(?<![\w/])((?:contad|tests)/[\w/]*[\w/](?:\.py)?)(?:::([\w.]+))?")
INNER = ("contad/engines", "contad/engines/source")  # rooms whose own rooms are on the map, too


def wrong_places(text):
    """Files, folders and names in a text that are not there."""
    wrong = []
    for path, name in PLACE.findall(text):
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


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("`contad/rules/scalar_rules.py`", "contad/rules/scalar_rules.py"),
        ("`contad/rulers/`", "contad/rulers/"),
        ("`contad/rules/scalar_rule.py::Rule`", "contad/rules/scalar_rule.py::Rule"),
    ],
)
def test_a_place_that_is_not_there_is_found(planted, found):
    assert wrong_places(planted) == [found]


def test_a_room_that_is_missing_is_found():
    text = MAP.read_text()
    assert missing_rooms(text.replace("contad/rules/", "contad/x/")) == ["contad/rules/"]
    assert missing_rooms(text.replace("contad/errors.py", "")) == ["contad/errors.py"]
