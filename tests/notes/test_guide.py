"""The guide is true: its pages run and print what they show, its links lead somewhere, its limits hold."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import contad
from contad import errors, table
from contad.engines import engine_names
from notes import drawn_pages
from tests.notes import documents

ROOT = Path(__file__).parents[2]
GUIDE = {path.name: path.read_text() for path in sorted((ROOT / "notes" / "guide").glob("*.md"))}
DOCUMENTS = sorted([*(ROOT / "notes").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"])


def test_pages_print_what_they_show(tmp_path):
    pages = {name: text for name, text in GUIDE.items() if not documents.needs(text)}
    assert len(pages) >= 5
    wrong = documents.wrong_documents(pages, tmp_path)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.adapters
def test_pages_with_other_libraries_print_what_they_show(tmp_path):
    pages = {name: text for name, text in GUIDE.items() if documents.needs(text)}
    assert pages
    wrong = documents.wrong_documents(pages, tmp_path)
    assert not wrong, "\n\n".join(wrong)


def test_pictures_of_pages_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    pages = drawn_pages.pages_with_pictures()
    assert pages
    for page in pages:
        for picture in drawn_pages.draw_page(page, tmp_path):
            assert picture.stat().st_size > 10_000
            assert (page.parent / picture.name).is_file()


PLANTED = {
    "right": "```python\nx = 2\nprint(x)  # 2\n```\n",
    "wrong": "```python\nprint(1)  # 2\n```\n",
    "silent": "```python\nprint(1)\n```\n",
    "raises": "```python\nprint(1)  # 1\n1 / 0\n```\n",
    "long": "```python\nfor k in range(3):\n    print(k)\n```\n\n```text\n0\n...\n2\n```\n",
    "longer": "```python\nfor k in range(3):\n    print(k)\n```\n\n```text\n0\n1\n```\n",
    "broken": '```python title="Broken"\n1 / 0\n```\n\n```text\nZeroDivisionError: ... zero\n```\n',
    "mended": '```python title="Broken"\n1 / 1\n```\n\n```text\nZeroDivisionError: division by zero\n```\n',
    "warns": "```python\nimport warnings\nwarnings.warn('no')\n```\n",
    "command": "```python\n# m.py\ndef f(x=3.0):\n    return x * x\n```\n\n"
    "```sh\n.venv/bin/python -m contad m.py:f\n```\n\n```text\nm.py:f\nvalue 9\n...\n```\n",
    "other": "```python\n# m.py\ndef f(x=3.0):\n    return x * x\n```\n\n"
    "```sh\n.venv/bin/python -m contad m.py:f\n```\n\n```text\nm.py:f\nvalue 8\n...\n```\n",
}


def test_pages_that_are_not_true_are_found(tmp_path):
    wrong = {line.partition(":")[0] for line in documents.wrong_documents(PLANTED, tmp_path)}
    assert wrong == {"wrong", "silent", "raises", "longer", "mended", "warns", "other"}


def test_blocks_and_shown_output_are_found():
    text = "# x\n```python\nprint(1)  # 1\nif x:\n    print(2)\n# two\n```\n```sh\nls\n```\n"
    text += "```python\n# model.py\ny = 1\n```\n"
    assert documents.session(text) == "print(1)  # 1\nif x:\n    print(2)\n# two\n"
    assert documents.shown(documents.session(text)) == ["1", "two"]
    assert documents.files(text) == {"model.py": "# model.py\ny = 1\n"}
    assert documents.blocks(text, "sh") == ["ls\n"]


# ---- links -----------------------------------------------------------------------------------------------------------
def test_links_lead_somewhere():
    assert {path.name: dead for path in DOCUMENTS if (dead := documents.dead_links(path))} == {}


def test_every_page_of_the_navigation_is_there():
    text = (ROOT / "mkdocs.yml").read_text()
    named = re.findall(r"^ *- (?:[\w. ]+: )?((?:guide/|0|arch)[\w/-]+\.\w+)", text, re.MULTILINE)
    assert len(named) >= 30
    assert [name for name in named if not (ROOT / "notes" / name).is_file()] == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# A `b` c\n")
    page = tmp_path / "page.md"
    page.write_text("[a](other.md#a-b-c) [b](other.md#d) [c](gone.md) [d](https://x.org/gone) [e](#page)\n# Page\n")
    assert documents.dead_links(page) == ["other.md#d", "gone.md"]


# ---- errors ----------------------------------------------------------------------------------------------------------
def classes():
    """The error classes of contad, by their names."""
    found = vars(errors).values()
    return {x.__name__: x for x in found if isinstance(x, type) and issubclass(x, errors.ContadError)}


def entries(text):
    """{heading: text} of the sections of a page."""
    return dict(re.findall(r"^## `?(\w+)`?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def wrong_entries(text):
    """The error classes that have no example, or one of another class; what is no class among the headings."""
    found = entries(text)
    wrong = set(classes()) ^ set(found)
    for name in classes().keys() & found.keys():
        blocks = list(documents.program(found[name]))
        raised = [output.partition(":")[0] for title, _, output in blocks if title == "Broken" and output]
        mended = [source for title, source, _ in blocks if title == "Mended"]
        if not raised or not mended or not all(issubclass(classes().get(r, int), classes()[name]) for r in raised):
            wrong.add(name)
    return wrong


def test_every_error_has_a_broken_and_a_mended_example():
    assert wrong_entries(GUIDE["errors.md"]) == set()


def test_an_error_without_example_is_found():
    text = GUIDE["errors.md"]
    assert wrong_entries(text.replace("## `GuardError`", "## `GuardsError`")) == {"GuardError", "GuardsError"}
    assert wrong_entries(text.replace("\nGuardError: ", "\nValueError: ")) == {"GuardError"}


# ---- limits ----------------------------------------------------------------------------------------------------------
LIMITS = [line.strip() for line in re.split(r"\n(?=- )", GUIDE["limits.md"])[1:]]


def limit(words):
    """The one limit that these words are in."""
    (found,) = [text for text in LIMITS if words in " ".join(text.split())]
    return found


FLOATS = np.zeros(3)


def of_floats(x):
    a = FLOATS
    a += x
    return np.sum(a)


def added(x):
    a = np.zeros(3)
    a = a + x
    return np.sum(a)


def element(make):
    def f(x):
        a = make(3)
        a[0] = x[1]
        return np.sum(a)

    return f


@pytest.mark.parametrize(("words", "refused", "remedy"), [
    ("`data * 1.0`", element(lambda n: FLOATS * 1.0), element(lambda n: np.array(FLOATS))),
    ("`a += x`", of_floats, added),
    ("`out=a`", lambda x: np.sum(np.exp(x, out=FLOATS)), lambda x: np.sum(np.exp(x, out=contad.zeros(3)))),
    ("The method `a.dot` by itself", lambda x: next(map(np.eye(3)[0].dot, [x])), lambda x: np.eye(3)[0].dot(x)),
    ("`dtype=`", lambda x: np.sum(x, dtype=np.float32), np.sum),
    ("`scipy.special.logsumexp`", scipy.special.logsumexp, contad.logsumexp),
])  # fmt: skip
def test_a_limit_holds_and_its_remedy_works(words, refused, remedy):
    assert limit(words)
    x = np.array([1.3, 0.7, 2.1])
    with pytest.raises(contad.ContadError):
        contad.grad(refused)(x)
    assert np.any(contad.grad(remedy)(x) != 0.0)


def by_address(x):
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[0]


def test_memory_of_object_arrays_is_read_in_rules_alone():
    assert limit("`x.ctypes`")
    rule = contad.custom_vjp(by_address)
    rule.defvjp(lambda x: (by_address(x), None), lambda saved, z_bar: (np.array([z_bar, 0.0]),))
    for engine in engine_names():
        np.testing.assert_array_equal(contad.grad(rule, engine=engine)(np.array([1.5, 2.5])), [1.0, 0.0])
    with pytest.raises(AttributeError, match="custom_vjp"):
        contad.grad(by_address)(np.ones(2))


def test_arrays_that_share_memory_are_seen_among_arguments():
    assert limit("If a global or captured array shares memory")
    y = np.array([1.0, 2.0])

    def f(a, b):
        a[0] = 3.0
        return a[0] * b[0]

    assert contad.value_and_grad(lambda a: f(a, y))(y)[0] == 3.0  # and 9 with plain numbers
    with pytest.raises(contad.OverlapError):
        contad.grad(f)(y, y)


def test_object_arrays_refuse_as_the_table_says():
    refusals, _, _ = limit("functions on object arrays of variables. It refuses").partition(" (`python -m")
    names = re.findall(r"`(np\.\w+)`", refusals)
    assert len(names) >= 5
    assert set(names) <= {*table.NOT_ON_OBJECTS, *table.ufuncs_not_on_objects()}
