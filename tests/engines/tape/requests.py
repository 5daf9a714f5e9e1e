"""Requests to the engine tape, as the front makes them."""

from numba import njit, typeof

from contad.compile.words import word
from contad.engines.tape import build
from contad.memory.arena import ARRAY_RECORD, USED, arena
from contad.numba_functions.request import Request


def request(f, *args, argnums=(0,), has_aux=False, mode="value_and_grad"):
    """The request for a derivative of a dispatcher at arguments like these."""
    return Request(f.py_func, f, tuple(map(typeof, args)), argnums, has_aux, mode)


def value_and_grad(f, *args, argnums=(0,), has_aux=False):
    """(value, grads) by the tape."""
    return build(request(f, *args, argnums=argnums, has_aux=has_aux))(*args)


def vjp(f, args, z_bar, argnums=(0,)):
    """The gradients of <z_bar, f> by the tape."""
    return build(request(f, *args, argnums=argnums, mode="vjp"))(args, z_bar)


def jvp(f, args, tangents, argnums=(0,)):
    """(value, tangent) by duals."""
    return build(request(f, *args, argnums=argnums, mode="jvp"))(args, tangents)


@njit
def state():
    """How many cells of the thread's tape are used, and in which block."""
    header = arena()
    return word(header, USED), word(header, ARRAY_RECORD)
