"""Routines of BLAS and LAPACK on float64 inside Numba, by the C addresses that SciPy publishes for Cython.

Matrices are in Fortran order, as the routines expect. A caller may pass an array as the address of its first number.
"""

import ctypes
import functools
from typing import Any

from numba import types
from numba.extending import intrinsic
from numba.np.linalg import (
    _LAPACK as _BINDING,
    F_INT_nptype as INTEGER,
    _check_finite_matrix as require_finite,
    _inv_err_handler as require_inverted,
)

from contad.compile.emitting import cgutils, ir, make_array
from contad.compile.named_code import emit_address
from contad.compile.words import WORD

__all__ = [
    "INTEGER", "find_routine", "gbtrf", "gbtrs", "gemm", "gemv", "gttrf", "gttrs", "of_numba", "potrf",
    "require_finite", "require_inverted", "syrk", "trsm", "trtrs",
]  # fmt: skip

# of each routine: c a character, i an integer, d a number, a an array; without LAPACK's last argument, the report
_LAPACK = {
    "dtrtrs": "ccciiaiai", "dpotrf": "ciai", "dgbtrf": "iiiiaia", "dgbtrs": "ciiiiaiaai", "dgttrf": "iaaaaa",
    "dgttrs": "ciiaaaaaai",
}  # fmt: skip
_BLAS = {"dgemm": "cciiidaiaidai", "dgemv": "ciidaiaidai", "dsyrk": "cciidaidai", "dtrsm": "cccciidaiai"}
_ROUTINES = _LAPACK | _BLAS
_C_TYPES = {"c": ir.IntType(8), "i": ir.IntType(32), "d": ir.DoubleType()}


@functools.cache
def find_routine(name: str) -> int:
    """The address of a routine."""
    from scipy.linalg import cython_blas, cython_lapack

    module = cython_blas if name in _BLAS else cython_lapack
    capsule = module.__pyx_capi__[name]
    read_name, read_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    read_name.restype, read_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    read_pointer.restype, read_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    declared = read_name(capsule)
    kinds = {"c": b"char *", "i": b"int *"}
    given = declared.partition(b"(")[2].split(b", ")
    if len(given) != len(_ROUTINES[name]) + (name in _LAPACK) or not all(
        x.startswith(kinds.get(k, b"")) for k, x in zip(_ROUTINES[name], given, strict=False)
    ):
        raise ImportError(f"contad: {module.__name__} has another {name}: {declared.decode()}")
    return int(read_pointer(capsule, declared))


def _routine(name: str) -> Any:
    """The routine as an njit function of one tuple with its arguments; it gives LAPACK's report, 0 for success.

    A BLAS routine gives 0.
    """

    @intrinsic
    def call(typingctx, args):  # type: ignore[no-untyped-def]
        """Call the routine."""
        if not isinstance(args, types.BaseTuple) or len(args) != len(_ROUTINES[name]):
            return None
        find_routine(name)

        def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            pointers = []
            for kind, of_type, x in zip(_ROUTINES[name], args, cgutils.unpack_tuple(builder, given[0]), strict=True):
                if kind == "a" and isinstance(of_type, types.Integer):
                    address = context.cast(builder, x, of_type, types.int64)
                    pointers.append(builder.inttoptr(address, cgutils.voidptr_t))
                elif kind == "a":
                    data = make_array(of_type)(context, builder, x).data
                    pointers.append(builder.bitcast(data, cgutils.voidptr_t))
                else:
                    number = context.cast(builder, x, of_type, types.float64 if kind == "d" else types.int64)
                    if kind != "d":
                        number = builder.trunc(number, _C_TYPES[kind])
                    held = cgutils.alloca_once_value(builder, number)
                    pointers.append(builder.bitcast(held, cgutils.voidptr_t))
            report = cgutils.alloca_once_value(builder, ir.Constant(_C_TYPES["i"], 0))
            if name in _LAPACK:
                pointers.append(builder.bitcast(report, cgutils.voidptr_t))
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(pointers))
            address = emit_address(context, builder, find_routine, name)
            function = builder.inttoptr(address, kind.as_pointer())
            builder.call(function, pointers)
            return builder.sext(builder.load(report), WORD)

        return types.int64(args), codegen

    return call


def of_numba(name: str) -> Any:
    """Numba's binding of a float64 routine, called with a character for the kind of numbers and with pointers."""
    return getattr(_BINDING(), f"numba_{name}")(types.float64)


gemm, gemv, syrk, trsm = _routine("dgemm"), _routine("dgemv"), _routine("dsyrk"), _routine("dtrsm")
trtrs, potrf = _routine("dtrtrs"), _routine("dpotrf")
gbtrf, gbtrs, gttrf, gttrs = _routine("dgbtrf"), _routine("dgbtrs"), _routine("dgttrf"), _routine("dgttrs")
