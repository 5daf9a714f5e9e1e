"""The transforms: functions in, derivatives out."""

from typing import Any

from contad.functions.callees import set_compiled_call


def _call_compiled(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from contad.transforms.numba_calls import call  # it knows Numba

    return call(f, args, kwargs)


set_compiled_call(_call_compiled)
