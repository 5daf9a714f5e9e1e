"""Programs are differentiated, refused, or raise, as tables say; faults that are planted in the engine are found."""

import re

import numpy as np
import pytest

import contad
from tests.engines.source.plain_text import numbers
from tests.engines.source.programs.harness import (
    Table,
    case,
    fails,
    function_of,
    given_to,
    is_refused,
    require_right,
    require_right_twice,
    run,
    text_of,
)
from tests.engines.source.programs.tables import TABLES
from tests.judges.samples import sampled
from tests.random_programs.generated_programs import copied

PROGRAMS = [(t, name) for t in TABLES for name in t.takes]


def name_of(row):
    return f"{row[0].name}: {row[1]}"


OTHERS = [row for row in PROGRAMS if row[1] not in row[0].compiled]
COMPILED = sampled(OTHERS, 80, name=name_of, dear={"constructs: solve"})
COMPILED += [case(t, name, name=name) for t in TABLES for name in t.compiled]
TAKEN = [case(*row, name=row[1]) for row in PROGRAMS]
ALWAYS = [case(t, name, name=name) for t in TABLES for name in t.twice]
SHOWN = [case(t, name, name=name) for t in TABLES for name in t.shows]
REFUSED = [case(t, *row, name=row[0]) for t in TABLES for row in t.refuses]
RAISING = [case(t, *row, name=row[0]) for t in TABLES for row in t.raises]
FAULTS = [case(t, name, name=name) for t in TABLES for name in t.faults]


@pytest.fixture(autouse=True)
def _settings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for plant in request.node.callspec.params["table"].settings:
        monkeypatch.setattr(*plant)


@pytest.mark.parametrize(("table", "name"), TAKEN)
def test_a_program_is_differentiated(table: Table, name: str) -> None:
    require_right(table, name)


@pytest.mark.parametrize(("table", "name"), ALWAYS)
def test_a_program_is_differentiated_twice(table: Table, name: str) -> None:
    """Of all other programs `test_second_orders` takes a sample."""
    require_right_twice(table, name)


@pytest.mark.filterwarnings("ignore:.*faster on contiguous arrays")  # Numba's, of the function
@pytest.mark.parametrize(("table", "name"), COMPILED)
def test_a_program_is_right_once_it_is_compiled(table: Table, name: str) -> None:
    f = function_of(table, table.takes[name], name)
    derivative, plain = contad.value_and_grad(f, table.argnums, engine="generated"), run(table, f)
    for args in (given_to(table), *table.elsewhere):
        (value, gradient), (expected, right) = derivative(*copied(args)), plain(*copied(args))
        assert value == pytest.approx(f(*copied(args)), rel=1e-13)
        assert table.overflows or value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(numbers(gradient), numbers(right), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("table", "name"), SHOWN)
def test_the_text_of_a_derivative_shows_what_is_done(table: Table, name: str) -> None:
    text = text_of(table, name)
    for pattern in table.shows[name]:
        assert bool(re.search(pattern.removeprefix("!"), text, re.MULTILINE)) != pattern.startswith("!"), pattern


@pytest.mark.parametrize(("table", "words", "body"), REFUSED)
def test_refusals_are_named(table: Table, words: str, body: str) -> None:
    assert is_refused(table, words, body)


@pytest.mark.parametrize(("table", "pattern", "body"), RAISING)
def test_errors_of_a_program_are_raised(table: Table, pattern: str, body: str) -> None:
    derivative = run(table, function_of(table, body, "raises"))
    with pytest.raises(Exception) as error:
        derivative(*given_to(table))
    assert re.match(pattern, f"{error.type.__name__}: {error.value}")


@pytest.mark.parametrize(("table", "name"), FAULTS)
def test_planted_faults_are_found(table: Table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*table.faults[name])
    assert fails(table)
