"""Python's collector after a compilation: what the compiler made is walked through later."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from contad.native import linked_code

MANY = 50_000


class Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        self.ring = self


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    """Nothing is frozen, and nothing waits."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def put_off(monkeypatch: pytest.MonkeyPatch) -> linked_code._PutOff:
    """What the collector has not walked through."""
    made = linked_code._PutOff()
    monkeypatch.setattr(linked_code, "_PUT_OFF", made)
    return made


def test_what_a_compiler_made_is_not_walked_through_at_once(put_off: linked_code._PutOff) -> None:
    walks: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        walks.append(phase)

    gc.callbacks.append(note)
    try:
        with linked_code._without_collections():
            made = [Ring() for _ in range(MANY)]
        made += [Ring() for _ in range(10)]
    finally:
        gc.callbacks.remove(note)
    assert gc.isenabled() and not walks
    assert put_off.objects >= MANY


def test_it_is_walked_through_when_there_is_much_of_it(put_off: linked_code._PutOff) -> None:
    put_off.objects = put_off.MOST
    with linked_code._without_collections():
        lost = weakref.ref(Ring())
        made = [Ring() for _ in range(MANY)]
    assert lost() is None
    assert made and not put_off.objects


def test_few_objects_are_left_to_the_collector(put_off: linked_code._PutOff) -> None:
    gc.collect()
    with linked_code._without_collections():
        made = [Ring() for _ in range(100)]
    assert made and not put_off.objects


def test_what_somebody_has_frozen_stays_frozen(put_off: linked_code._PutOff) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with linked_code._without_collections():
        made = [Ring() for _ in range(MANY)]
    assert made and gc.get_freeze_count() == frozen
