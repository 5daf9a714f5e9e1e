"""The transforms: functions in, derivatives out."""

from collections.abc import Callable, Sequence
from typing import Any

from contad.functions.callees import set_compiled_call
from contad.rules.capturing import set_data_of


def _call_compiled(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from contad.transforms.numba_calls import call  # it knows Numba

    return call(f, args, kwargs)


def _data_of(name: str, functions: Sequence[Any], keep: Callable[[Any], Any]) -> Any:
    from contad.functions.captured import Captured  # for rules of users' own

    found = Captured(name, functions, keep)
    return found if found.has_data() else None


set_compiled_call(_call_compiled)
set_data_of(_data_of)
