"""Random loops in loops agree with eager engines, and faults planted for them are found."""

import pytest

from contad.elementary.elementary_table import has_fast_registers
from contad.engines.source.passes import collapsing
from tests.judges.samples import sampled
from tests.random_programs import nested_programs
from tests.random_programs.searching import is_failure

pytestmark = pytest.mark.skipif(not has_fast_registers(), reason="this processor has no such registers")


@pytest.mark.parametrize("start", sampled(range(0, 3000, 20), 100))
def test_random_nests_agree(start):
    found, failures = nested_programs.search(range(start, start + 20))
    assert failures == {}
    assert found["agree"] > 14 and found["rows"] > 4 and found["a nest"] > 0


@pytest.mark.long
@pytest.mark.parametrize("start", range(5000, 5100, 10))
def test_random_nests_agree_compiled(start):
    assert nested_programs.search(range(start, start + 10), is_compiled=True)[1] == {}


@pytest.mark.parametrize(
    ("owner", "name", "planted", "seed"),
    [
        (collapsing.OuterBody, "is_still", lambda self, array: True, 19),
    ],
    ids=["an array that the loop writes"],
)
def test_a_planted_fault_is_found(owner, name, planted, seed, monkeypatch):
    assert not is_failure(nested_programs.check(seed)[0])
    monkeypatch.setattr(owner, name, planted)
    assert is_failure(nested_programs.check(seed)[0])
