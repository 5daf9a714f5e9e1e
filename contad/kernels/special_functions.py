"""SciPy's special functions of one to four floats inside Numba, by the C addresses that SciPy publishes for Cython.

The addresses are external symbols, so that machine code from a disk cache finds them; importing this module registers
them.
"""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.emitting import name_address
from contad.compile.machine_code import njit

_OPTIONS = NJIT_OPTIONS | {"cache": False}  # cached with its callers: Numba loses closures over such symbols
# callees of the value functions of contad.ops, with the number of arguments
ARITIES = {
    "beta": 2, "betainc": 3, "betaincc": 3, "betainccinv": 3, "betaincinv": 3, "betaln": 2, "binom": 2, "boxcox": 2,
    "boxcox1p": 2, "cosm1": 1, "dawsn": 1, "ellipe": 1, "ellipeinc": 2, "ellipk": 1, "ellipkinc": 2, "ellipkm1": 1,
    "entr": 1, "erfc": 1, "erfcinv": 1, "erfcx": 1, "erfi": 1, "erfinv": 1, "exp1": 1, "expi": 1, "expn": 2,
    "exprel": 1, "gamma": 1, "gammainc": 2, "gammaincc": 2, "gammainccinv": 2, "gammaincinv": 2, "gammaln": 1,
    "gammasgn": 1, "hyp0f1": 2, "hyp1f1": 3, "hyp2f1": 4, "hyperu": 3,
    "i0": 1, "i0e": 1, "i1": 1, "i1e": 1, "inv_boxcox": 2, "inv_boxcox1p": 2,
    "iv": 2, "ive": 2, "j0": 1, "j1": 1, "jv": 2, "k0": 1, "k0e": 1, "k1": 1, "k1e": 1, "kl_div": 2, "kv": 2, "kve": 2,
    "log_ndtr": 1, "logit": 1, "ndtri": 1, "ndtri_exp": 1, "owens_t": 2, "poch": 2, "psi": 1, "rel_entr": 2,
    "rgamma": 1, "spence": 1, "wright_bessel": 3, "wrightomega": 1, "xlog1py": 2, "xlogy": 2, "y0": 1, "y1": 1, "yv": 2,
}  # fmt: skip
# likewise, with one argument, and the number of results
RESULTS = {"airy": 4, "fresnel": 2, "shichi": 2, "sici": 2}


def _address(name: str, arity: int) -> int:
    """The address of `double f(double, ..., int)` among the variants that Cython makes of a function."""
    return _find(name, b"double (" + b"double, " * arity + b"int", f"{arity} float(s)")


def _address_of_several(name: str, count: int) -> int:
    """The address of `void f(double, double *, ...)`, which has several results."""
    return _find(name, b"void (double" + b", double *" * count, f"one float with {count} results")


def _find(name: str, wanted: bytes, what: str) -> int:
    """The address of the variant whose declaration has this beginning."""
    from scipy.special import cython_special

    read_name, read_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    read_name.restype, read_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    read_pointer.restype, read_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for variant in (name, *(f"__pyx_fuse_{k}{name}" for k in range(4))):
        capsule = cython_special.__pyx_capi__.get(variant)
        if capsule is not None:
            declared = read_name(capsule)
            if declared.startswith(wanted):
                return int(read_pointer(capsule, declared))
    raise ImportError(f"contad: scipy.special.cython_special has no {name} of {what}")


def _function(name: str, arity: int) -> Any:
    name_address(f"contad_special_{name}", _address(name, arity))
    signature = types.float64(*[types.float64] * arity, types.int32)  # Cython's last argument is of no use here
    external = types.ExternalFunction(f"contad_special_{name}", signature)
    if arity == 1:
        return njit(**_OPTIONS)(lambda x: external(x, 0))
    if arity == 2:
        return njit(**_OPTIONS)(lambda x, y: external(x, y, 0))
    if arity == 3:
        return njit(**_OPTIONS)(lambda x, y, z: external(x, y, z, 0))
    return njit(**_OPTIONS)(lambda w, x, y, z: external(w, x, y, z, 0))


def _function_of_several(name: str, count: int) -> Any:
    """Wraps a function of one float that writes its results to addresses as one that returns them."""
    name_address(f"contad_special_{name}", _address_of_several(name, count))
    pointer = types.CPointer(types.float64)
    external = types.ExternalFunction(f"contad_special_{name}", types.void(types.float64, *[pointer] * count))
    if count == 2:

        @njit(**_OPTIONS)
        def two(x):  # type: ignore[no-untyped-def]
            z = np.empty(2)
            external(x, z.ctypes, z[1:].ctypes)
            return z[0], z[1]

        return two

    @njit(**_OPTIONS)
    def four(x):  # type: ignore[no-untyped-def]
        z = np.empty(4)
        external(x, z.ctypes, z[1:].ctypes, z[2:].ctypes, z[3:].ctypes)
        return z[0], z[1], z[2], z[3]

    return four


@njit(**NJIT_OPTIONS)
def _loggamma(x):  # type: ignore[no-untyped-def]
    """The value at a real argument, whose real part gammaln takes; C's lgamma is accurate at the roots, too."""
    return complex(math.lgamma(x.real), 0.0)


@njit(**NJIT_OPTIONS)
def _zeta(s, x):  # type: ignore[no-untyped-def]
    """Hurwitz's zeta function has no C address: 0 makes polygamma sum its own series."""
    return 0.0


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _function(name, arity) for name, arity in ARITIES.items()}
FUNCTIONS.update({name: _function_of_several(name, count) for name, count in RESULTS.items()})
FUNCTIONS.update(loggamma=_loggamma, zeta=_zeta)
