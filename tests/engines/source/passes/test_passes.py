"""Passes change what they must, to the bit, and nothing else; faults that are planted in them are found."""

from itertools import repeat

import pytest

from tests.engines.source.passes import random_nests
from tests.engines.source.passes.harness import Table, is_wrong, require_change, rewrite, text_with
from tests.engines.source.passes.tables import TABLES

MUST = [pytest.param(t, name, id=f"{t.name}: {name}") for t in TABLES for name in t.changes]
STAY = [pytest.param(t, name, id=f"{t.name}: {name}") for t in TABLES for name in t.leaves]
FAULTS = [pytest.param(t, name, id=f"{t.name}: {name}") for t in TABLES for name in t.faults]
NESTS = range(60)


@pytest.fixture(autouse=True)
def _settings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for plant in request.node.callspec.params["table"].settings:
        monkeypatch.setattr(*plant)


@pytest.mark.parametrize(("table", "name"), MUST)
def test_changed_programs_give_the_same_bits(table: Table, name: str) -> None:
    require_change(table, name)


@pytest.mark.parametrize(("table", "name"), STAY)
def test_programs_not_known_to_be_safe_stay(table: Table, name: str) -> None:
    before, after, is_changed = rewrite(table, text_with(table, table.leaves[name]))
    assert not is_changed
    assert after == before


@pytest.mark.parametrize("table", [pytest.param(t, id=t.name) for t in TABLES])
def test_random_nests_give_the_same_bits(table: Table) -> None:
    texts = [random_nests.write(seed) for seed in NESTS]
    assert [text for text in texts if is_wrong(table._replace(arguments=random_nests.arguments), text)] == []
    assert sum(rewrite(table, text)[2] for text in texts) >= table.nests


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 5000, 200))
@pytest.mark.parametrize("table", [pytest.param(t, id=t.name) for t in TABLES])
def test_more_random_nests_give_the_same_bits(table: Table, start: int) -> None:
    table = table._replace(arguments=random_nests.arguments)
    assert [seed for seed in range(start, start + 200) if is_wrong(table, random_nests.write(seed))] == []


@pytest.mark.parametrize(("table", "name"), FAULTS)
def test_planted_faults_are_found(table: Table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*table.faults[name])
    nests = table._replace(arguments=random_nests.arguments)
    is_found = any(map(fails, repeat(table), table.changes)) or any(
        is_wrong(table, text_with(table, body)) for body in table.leaves.values()
    )
    assert is_found or any(is_wrong(nests, random_nests.write(seed)) for seed in NESTS)


def fails(table: Table, name: str) -> bool:
    try:
        require_change(table, name)
    except AssertionError:
        return True
    return False
