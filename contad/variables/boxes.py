"""Object arrays without axes: the result of np.array(x) for a number on engines without array variables."""

import numpy as np

from contad.variables.open_types import Key, Option, Value


class NumberBox(np.ndarray):
    """An object array of one number, without axes.

    NumPy stores an array without axes as an object in an object array: after z[()] = z, every operation on z recurses
    until the process dies. This class stores the element instead, as an array of floats does.
    """

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **options: Option) -> Value:
        """As for a plain object array, whose results without axes are their elements."""
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        z = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return out[0] if out is not None and len(out) == 1 else z


def box_up(a: np.ndarray) -> np.ndarray:
    """An object array, as a box if it has no axes; anything else unchanged."""
    return a.view(NumberBox) if a.ndim == 0 and a.dtype == object else a


def _plain(x: Value) -> Value:
    return x.view(np.ndarray) if isinstance(x, NumberBox) else x
