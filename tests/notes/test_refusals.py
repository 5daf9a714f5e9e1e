"""The page of what generated derivatives refuse is that of the source; every refusal tells what to write instead."""

import ast

import pytest

from contad.engines.source.reading import scope
from contad.engines.source.reading.progress import Progress
from contad.errors import UnsupportedError
from notes import refusals


def test_the_page_is_that_of_the_source():
    expected = refusals.page()
    assert refusals.PAGE.read_text() == expected, "write it anew: python -m notes.refusals"


def test_every_refusal_names_a_construct_and_a_remedy():
    found = refusals.find_refusals()
    assert len(found) > 150
    assert [x for x in found if not x.construct or not x.remedy] == []


def calls_of_refuse(tree):
    """The lines of all calls of `refuse` and `stop`, but for those that hand on what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            handed_on = "remedy" in {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
            if name in ("refuse", "refusal", "stop", "UnsupportedError") and not handed_on:
                yield node.lineno


def test_none_is_left_out():
    listed = {(x.file, x.line) for x in refusals.find_refusals()}
    for file in refusals.SOURCE.rglob("*.py"):
        for line in calls_of_refuse(ast.parse(file.read_text())):
            assert (file, line) in listed


def test_a_message_has_file_line_function_construct_and_remedy():
    with pytest.raises(UnsupportedError, match="^name.py:7: f: the construct; the remedy$"):
        scope.refuse(scope.Place("name.py", "f", 7), "the construct", "the remedy")
    assert Progress.refuse.__defaults__ == ('rewrite it, or use engine="tape"',)


def test_an_unnamed_remedy_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "new.py").write_text("def f(place):\n    raise UnsupportedError(f'{place}: a construct')\n")
    monkeypatch.setattr(refusals, "SOURCE", tmp_path)
    (found,) = refusals.find_refusals()
    assert (found.construct, found.remedy) == ("a construct", "")
