"""Random recordings in small blocks agree with the eager engine, and faults planted for them are found."""

import pytest

from contad.programs.cell_ranges import CopiedCells
from contad.programs.strip_places import AdjointPlaces
from tests.judges.samples import sampled
from tests.random_programs import recorded_programs
from tests.random_programs.searching import is_failure


@pytest.mark.parametrize("start", sampled(range(1, 901, 4), 100000))
def test_random_recordings_in_small_blocks_agree(start):
    found, failures = recorded_programs.search(range(start, start + 4))
    assert failures == {}
    assert found["agree"] > 2 and found["compiled"] > 2 and found["chains"] > 4


@pytest.mark.parametrize(("owner", "name", "planted", "seed"), [
    (CopiedCells, "rows_of", lambda *_: [], 5),
    (AdjointPlaces, "_find_passed", lambda self, member, own: [k for k, _ in member.partials()], 1),
], ids=["copies that are overlooked", "adjoints that share memory"])  # fmt: skip
def test_a_planted_fault_is_found(owner, name, planted, seed, monkeypatch):
    assert recorded_programs.check(seed)[0] is None
    monkeypatch.setattr(owner, name, planted)
    assert is_failure(recorded_programs.check(seed)[0])
