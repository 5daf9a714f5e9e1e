"""The table of words: a name of contad that contains one of the words is on it, and each name on it is there."""

import re
from pathlib import Path

import pytest

from tests.judges.sources import SOURCES, nodes_of

PAGE = (Path(__file__).parents[1] / "notes" / "words.md").read_text()
WORD = re.compile(r"(chain|block|step|trace|tracer|traced|record(ed|ing|er)?|program|plan|planned)s?")


def names_of(sources):
    """The names of modules, and of their public classes."""
    for module, source in sources.items():
        yield module.rpartition(".")[2]
        yield from (node.name for node in nodes_of(source) if type(node).__name__ == "ClassDef")


def has_word(name):
    """Whether a name contains one of the words."""
    return not name.startswith("_") and any(WORD.fullmatch(part.lower()) for part in re.findall("[A-Z]?[a-z]+", name))


def listed(page):
    """The names that a page says are right."""
    lines = re.findall(r"^(?:- \*\*|  `).*", page, re.MULTILINE)
    return {name for line in lines for name in re.findall(r"`(\w+)`", line)}


def unlisted(sources, page):
    return {name for name in names_of(sources) if has_word(name)} - listed(page)


def gone(sources, page):
    return listed(page) - set(names_of(sources))


def test_every_name_is_listed():
    assert unlisted(SOURCES, PAGE) == set()


def test_nothing_listed_is_gone():
    assert gone(SOURCES, PAGE) == set()


@pytest.mark.parametrize("planted", ["class NextSteps: pass", "class StackOfRecords: pass", "class TracedList: pass"])
def test_a_name_that_is_not_listed_is_found(planted):
    assert unlisted({"contad.file": planted}, PAGE) == {planted.split()[1].strip(":")}
    assert unlisted({"contad.next_step": ""}, PAGE) == {"next_step"}
    assert unlisted({"contad.file": "class Explanation: pass\nclass _Step: pass"}, PAGE) == set()


def test_a_name_that_is_gone_is_found():
    assert gone({}, "- **step**: `a`, `b`,\n  `c`\n\n| `D` | `E` |\n") == set("abc")
