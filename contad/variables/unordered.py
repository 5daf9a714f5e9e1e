"""Comparisons with nan that NumPy makes for np.max, np.clip and np.sort of lists and object arrays of variables.

Of floats these functions propagate nan. Of objects NumPy asks for `x >= y` and takes the other one where that is False,
which loses the nan without a word. A comparison that a program writes itself is an instruction of its code; what comes
from NumPy's code is refused. Methods of arrays are C code that a program calls itself, as Python's sorted is: they are
known by the name that the instruction calls.
"""

import dis
import functools
import sys
from types import CodeType, FrameType

from contad.errors import UnsupportedError

_COMPARE = dis.opmap["COMPARE_OP"]
_IN_C = {"sort", "argsort", "argmax", "argmin", "partition", "argpartition", "searchsorted", "lexsort"}


def refuse_of_numpy(symbol: str, level: object) -> None:
    """Raise UnsupportedError where NumPy has asked for a comparison with nan, and its answer would lose the nan.

    Called by what a comparison calls. `>` and `<` are asked by Python's max and sorted, too, which do so with floats.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("contad.variables."):
        frame = frame.f_back
    if frame is None or frame.f_code.co_code[frame.f_lasti] == _COMPARE:
        return
    name = str(frame.f_globals.get("__name__"))
    method = "" if name.startswith("numpy.") else _method_of_numpy(frame)
    if name.startswith("contad.") or not (symbol in (">=", "<=") or name.startswith("numpy.") or method):
        return
    called = f"{method}: " if method else ""
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("numpy."):
        called, frame = f"np.{frame.f_code.co_name.lstrip('_')}: ", frame.f_back
    raise UnsupportedError(
        f"{frame.f_code.co_filename}:{frame.f_lineno}: {called}NumPy compares the variables in a list or an object "
        "array one by one, one of them is nan, and the nan would be lost; give it contad.to_varmat(v), or leave "
        "engine= out, so that arrays are array variables; np.fmax, np.nanmax and their like leave nan out",
        level=level,
    )


def _method_of_numpy(frame: FrameType) -> str:
    """The name of the function of NumPy's that this frame calls, if its C code asks for comparisons; or ""."""
    name, owner = _called(frame.f_code, frame.f_lasti)
    of_list = isinstance(frame.f_locals.get(owner, frame.f_globals.get(owner)), list)
    return name if name in _IN_C and not (name == "sort" and of_list) else ""


@functools.lru_cache
def _called(code: CodeType, offset: int) -> tuple[str, str]:
    """The attribute that an instruction calls, and the variable it is an attribute of; "" where there is none."""
    instructions = {one.offset: one for one in dis.get_instructions(code)}
    place = instructions[offset].positions
    name = owner = ""
    for one in instructions.values():
        if one.offset >= offset:
            break
        if place is None or one.positions is None or one.positions[::2] != place[::2]:  # line and column of the start
            continue
        if one.opname in ("LOAD_METHOD", "LOAD_ATTR"):
            name, owner = one.argval, "" if name else owner
        elif one.opname.startswith("LOAD_") and one.opname != "LOAD_CONST":  # names of keywords lie there, too
            name, owner = "", str(one.argval)
    return name, owner
