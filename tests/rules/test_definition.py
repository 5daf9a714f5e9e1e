"""Source read from a file is held against the code that was imported."""

import ast
import dis
import importlib.util
import inspect
import textwrap

import numba
import numpy as np
import pytest

import contad
from contad.errors import StaleSourceError
from contad.rules import definition
from contad.rules.definition import _parse_definition, definition_of
from tests.judges.planted import registered

RULES = """
import contad

@contad.scalar_rule
def {first}(x):
    return x * x * x

@{first}.partials
def {first}_partials(z, x):
    return 3.0 * x * x

@contad.scalar_rule
def {second}(x):
    return 7.0 * x

@{second}.partials
def {second}_partials(z, x):
    return 7.0
"""


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "edited_rules.py"
    path.write_text(RULES.format(first="first_edited", second="second_edited"))
    with registered():
        yield path


EDITS = {
    "a rule removed above": lambda text: text[: text.index("@contad")] + text[text.index("@contad", 20) :],
    "a line added above": lambda text: text.replace("import contad", "import contad\n\n\n\n"),
    "a constant": lambda text: text.replace("3.0", "5.0"),
    "an operator": lambda text: text.replace("3.0 * x", "3.0 + x"),
    "no longer Python": lambda text: text.replace("return 3.0", "return ) 3.0"),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("engine", ["closures", "records"])
def test_an_edit_after_the_import_never_gives_another_derivative(file, edit, engine):
    module = imported(file)
    file.write_text(EDITS[edit](file.read_text()))
    with pytest.raises(StaleSourceError, match=r"edited_rules.py:\d+: the source of .* restart Python"):
        contad.grad(module.first_edited, engine=engine)(2.0)


def test_unchanged_source_is_read(file):
    module = imported(file)
    assert contad.grad(module.first_edited)(2.0) == 12.0
    definition, line = definition_of(module.second_edited.function)
    assert (definition.name, line) == ("second_edited", 12)


def test_nested_functions_closures_and_asserts_are_recognised():
    a = 3.0

    def f(x, *, b=a):
        """With a captured value, an inner function and an assertion."""

        def g(y):
            return y * a

        return g(x) * b

    def g(x):
        assert x
        return x

    for function in (f, g):
        definition, line = definition_of(function)
        assert definition.name == function.__name__ and line == function.__code__.co_firstlineno


def test_an_edited_njit_function_is_refused(tmp_path):
    path = tmp_path / "edited_njit.py"
    path.write_text("from numba import njit\n\n@njit\ndef f(x):\n    return x * x\n")
    f = imported(path).f
    assert isinstance(f, numba.core.registry.CPUDispatcher)
    path.write_text(path.read_text().replace("x * x", "x * x * x"))
    with pytest.raises(StaleSourceError, match=r"edited_njit.py:3: the source of f has changed"):
        contad.grad(f, engine="matrix")(2.0)
    assert contad.grad(f)(2.0) == 4.0  # of what was imported, which the compiled engines have


ENDS = {
    "another definition": "@decorated\ndef f(x):\n\n    return x\n\n\n@decorated\ndef g(x):\n    return x\n",
    "a statement": "def f(x):\n    # of x\n# as it is\n    return x\nvalue = f(1)\n",
    "the other branch": "    def f(x):\n        return x\nelse:\n    f = None\n",
    "the end of the file": "def f(x): return x",
    "not in a string": 'def f(x):\n    """Of x\nas it is.\n"""\n    return x\n\ng = f\n',
    "not in an expression": "def f(\nx,\n):\n    return (x +\nx\n)\ng = f\n",
    "not in a continued line": "def f(x):\n    return x + \\\n1\ng = f\n",
    "not where its decorator does": "@decorated(\n    0,\n)\ndef f(x):\n    return x\ng = f\n",
}


@pytest.mark.parametrize("case", ENDS)
def test_a_definition_ends_where_inspect_finds_its_end(case):
    lines = ENDS[case].splitlines(keepends=True)
    expected = ast.parse(textwrap.dedent("".join(inspect.getblock(lines)))).body[0]
    assert ast.dump(_parse_definition(lines), include_attributes=True) == ast.dump(expected, include_attributes=True)


def waves(x):
    s = 0.0
    for k in range(x.size):
        s += np.cos(x[k]) * k
    return s


def test_a_definition_is_not_read_word_by_word(monkeypatch):
    monkeypatch.setattr(inspect, "getblock", None)
    assert definition_of(waves)[0].name == "waves"


def test_a_definition_is_read_without_the_rest_of_its_file(monkeypatch):
    monkeypatch.setattr(definition, "_compile", None)
    monkeypatch.setattr(inspect, "findsource", None)
    for function in (waves, contad.ops.exp.function, contad.ops.tanh.body.function):
        assert definition_of(function)[0].name == function.__name__


def test_code_that_depends_on_what_is_around_it_is_held_against_its_file():
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return x * count

    found, line = definition_of(counted)
    assert (found.name, line) == ("counted", counted.__code__.co_firstlineno)


@pytest.mark.parametrize("padding", [1, 2, 7])
def test_code_that_a_profiler_has_padded_is_that_of_its_file(padding):
    before = waves.__code__
    x = np.array([0.4, 1.3])
    try:  # as line_profiler does
        waves.__code__ = before.replace(co_code=before.co_code + bytes((dis.opmap["NOP"], 0)) * padding)
        assert definition_of(waves)[0].name == "waves" and "sin" in contad.source(waves, x)
        gradient = contad.grad(numba.njit(waves), engine="matrix")(x)
    finally:
        waves.__code__ = before
    np.testing.assert_array_equal(gradient, [0.0, -np.sin(1.3)])


def test_other_code_at_its_end_is_not_padding():
    before = waves.__code__
    try:
        waves.__code__ = before.replace(co_code=before.co_code + before.co_code[-2:])
        with pytest.raises(StaleSourceError, match="the source of waves has changed"):
            definition_of(waves)
    finally:
        waves.__code__ = before
