"""The libraries whose arrays the tests pass, where they are installed."""

import numpy as np
import pytest

from tests.engines.arrays.fake_device import DeviceArray


def library(name):
    """(NumPy's array -> the library's, the reverse), or a skip with the reason."""
    if name == "a fake of CuPy":
        return DeviceArray, lambda x: x.get()
    module = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "array_api_strict":
        return lambda v: module.asarray(v.tolist(), dtype=getattr(module, v.dtype.name)), lambda x: np.asarray(x._array)
    if name == "torch":
        return lambda v: module.asarray(v.copy()), lambda x: x.numpy()
    if name == "jax":
        module.config.update("jax_enable_x64", True)
        return module.numpy.asarray, np.asarray
    if name == "dask.array":
        return lambda v: module.from_array(v, chunks=2), lambda x: x.compute()
    return module.COO.from_numpy, lambda x: x.todense()
