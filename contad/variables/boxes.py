"""Object arrays without axes, which engines without array variables have for np.array(x) of a number."""

import numpy as np

from contad.variables.open_types import Key, Option, Value


class NumberBox(np.ndarray):
    """An object array of one number, without axes.

    NumPy stores an array without axes itself as an element of an object array: after z[()] = z, every operation on z
    calls itself until the process dies. Here its element is stored, as in an array of floats.
    """

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **options: Option) -> Value:
        """As of a plain object array, whose results without axes are their elements."""
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        z = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return out[0] if out is not None and len(out) == 1 else z


def box_up(a: np.ndarray) -> np.ndarray:
    """An object array, as a box where it has no axes; anything else as it is."""
    return a.view(NumberBox) if a.ndim == 0 and a.dtype == object else a


def _plain(x: Value) -> Value:
    return x.view(np.ndarray) if isinstance(x, NumberBox) else x
