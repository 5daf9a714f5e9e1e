"""Comparisons with nan that NumPy makes for np.max, np.clip and np.sort of lists and object arrays of variables.

Of floats these functions propagate nan. Of objects NumPy asks for `x >= y` and takes the other one where that is False,
which loses the nan without a word. A comparison that a program writes itself is an instruction of its code; what comes
from NumPy's code is refused.
"""

import dis
import sys
from types import FrameType

from contad.errors import UnsupportedError

_COMPARE = dis.opmap["COMPARE_OP"]


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
    if name.startswith("contad.") or not (symbol in (">=", "<=") or name.startswith("numpy.")):
        return
    called = ""
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("numpy."):
        called, frame = f"np.{frame.f_code.co_name.lstrip('_')}: ", frame.f_back
    raise UnsupportedError(
        f"{frame.f_code.co_filename}:{frame.f_lineno}: {called}NumPy compares the variables in a list or an object "
        "array one by one, one of them is nan, and the nan would be lost; give it contad.to_varmat(v), or leave "
        "engine= out, so that arrays are array variables; np.fmax, np.nanmax and their like leave nan out",
        level=level,
    )
