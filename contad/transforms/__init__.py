"""The transforms: functions in, derivatives out."""

from collections.abc import Callable, Sequence
from typing import Any

from contad.rules.capturing import set_data_of


def _data_of(name: str, functions: Sequence[Any], keep: Callable[[Any], Any]) -> Any:
    from contad.functions.captured import Captured  # for rules of users' own

    found = Captured(name, functions, keep)
    return found if found.has_data() else None


set_data_of(_data_of)
