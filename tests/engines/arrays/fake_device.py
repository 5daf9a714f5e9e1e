"""A library like CuPy, without a device: NumPy's protocols, no conversions in silence, and a count of attempts."""

import collections
import numbers

import numpy as np

COUNTS = collections.Counter()  # conversions, by name


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose numbers are elsewhere: to read one is a synchronisation, which is counted."""

    __array_priority__ = 100

    def __init__(self, held):
        self._held = np.asarray(held)

    shape = property(lambda x: x._held.shape)
    ndim = property(lambda x: x._held.ndim)
    size = property(lambda x: x._held.size)
    dtype = property(lambda x: x._held.dtype)
    device = "fake:0"

    def __array__(self, dtype=None, copy=None):
        COUNTS["__array__"] += 1
        raise TypeError("Implicit conversion to a NumPy array is not allowed; use .get()")

    def get(self):
        return self._held.copy()

    def item(self):
        COUNTS["item"] += 1
        return self._held.item()

    def __bool__(self):
        COUNTS["bool"] += 1
        return bool(self._held)

    def __float__(self):
        COUNTS["float"] += 1
        return float(self._held)

    def __len__(self):
        return len(self._held)

    def __getitem__(self, key):
        return DeviceArray(self._held[open_all(key)])

    def __setitem__(self, key, value):
        self._held[open_all(key)] = open_all(value)

    def astype(self, dtype, copy=True):
        return DeviceArray(self._held.astype(dtype))

    def copy(self, order="C"):
        return DeviceArray(self._held.copy())

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if any(not isinstance(x, (DeviceArray, numbers.Number)) for x in inputs):
            return NotImplemented  # an array of the host beside one of the device
        out = options.pop("out", None)
        with np.errstate(all="ignore"):
            found = close_all(getattr(ufunc, method)(*map(open_all, inputs), **options))
        if out is not None:
            out[0][...] = found
        return found if out is None else out[0]

    def __array_function__(self, function, types, args, options):
        options.pop("like", None)
        return close_all(function(*open_all(args), **{k: open_all(v) for k, v in options.items()}))


def open_all(x):
    """x with NumPy's arrays in place of those of the device."""
    if isinstance(x, DeviceArray):
        return x._held
    return type(x)(map(open_all, x)) if type(x) in (list, tuple) else x


def close_all(x):
    """The reverse; numbers become arrays without axes, as on a device."""
    if isinstance(x, tuple):
        return tuple(map(close_all, x))
    return DeviceArray(x) if isinstance(x, (np.ndarray, np.generic)) else x
