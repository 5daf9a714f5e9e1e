"""Derivatives by generated source, compared with those of the engine `records`."""

import inspect

import numba
import numpy as np

import contad
from contad.engines.source import build, source
from contad.engines.source.build import derivative_of
from contad.functions.python_copy import python_twin
from contad.numba_functions.request import Request


def request(function, *args, argnums=(0,), has_aux=False):
    return Request(function.py_func, function, tuple(map(numba.typeof, args)), argnums, has_aux, "value_and_grad")


def text_of(function, *args, argnums=(0,)):
    """The source of the value and gradient."""
    return source(request(function, *args, argnums=argnums))


def constants_in_python(derivative):
    """What a derivative names; of other derivatives that it calls the source as plain Python."""
    return {name: as_plain(x) for name, x in derivative.constants().items()}


def as_plain(x):
    function = getattr(x, "py_func", None)
    return x if function is None or list(inspect.signature(function).parameters)[-1:] != ["top"] else function


def as_python(asked):
    """The derivative, its source run as plain Python."""
    derivative = derivative_of(asked)
    names = {}
    exec(derivative.source(), names)
    names.update(constants_in_python(derivative))
    return names["run"]


def numbers_stored(asked, args):
    """How many numbers the workspace has room for at the end."""
    names, most = {}, [0]
    exec(source(asked), names)
    if "grow" in names:
        grow = names["grow"]
        names["grow"] = lambda work, n: (most.append(int(n)), grow(work, n))[1]
    names["run"](*args)
    return max(most)


def flat(gradient):
    return np.concatenate([np.ravel(g) for g in gradient])


def agree(function, *args, argnums=(0,), compiled=False):
    """The value and gradient by the generated source, equal to those of the engine `records`."""
    asked = request(function, *args, argnums=argnums)
    run = build(asked) if compiled else as_python(asked)
    before = [np.copy(x) for x in args]
    value, gradient = run(*args)
    for x, y in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, y)
    expected_value, expected = contad.value_and_grad(python_twin(function), argnums, engine="records")(*args)
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    scale = np.max(np.abs(flat(expected)))
    assert scale > 0.0
    np.testing.assert_allclose(flat(gradient), flat(expected), rtol=1e-10, atol=1e-12 * scale)
    return gradient
