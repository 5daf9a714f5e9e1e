"""Methods of plain arrays that convert a variable which is passed to them, as the copy of a function calls them."""

import functools
from typing import Any

import numpy as np


class _Dot:
    """x.dot for any x: of a plain array it is NumPy's function, which asks its arguments what it means."""

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(np.dot, x) if x.__class__ is np.ndarray else x.dot


METHODS = {"dot": _Dot()}
