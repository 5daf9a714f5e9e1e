"""Functions given by their bodies, differentiated by the generated source, run as plain Python."""

import linecache
import math

import numba
import numpy as np
from numba import njit

import contad
from contad.engines.source.build import derivative_of
from contad.numba_functions.request import Request
from tests.random_programs.generated_programs import copied, grown

ARGUMENTS = [
    np.array([0.3, -1.2, 0.7, 1.9, -0.4]), 0.7, 2, np.array([3, 0, -4, 1, 1]),
    np.arange(12.0).reshape(3, 4) * 0.3 - 1.0, True, np.array([2**31 - 1, 3, 7], np.int32),
]  # fmt: skip
HEAD = "@njit\ndef f(x, a, k, idx, m, on, small):\n"


def bodies_in(text):
    """The bodies in a text, which blank lines separate."""
    return text.strip().split("\n\n")


def function_of(body, name=""):
    """An njit function with a body, in a file of its own; definitions may stand before a line `---`."""
    before, _, body = body.rpartition("---\n")
    text = before + HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    filename = f"<body {name or hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names = {"np": np, "math": math, "njit": njit, "contad": contad}
    exec(compile(text, filename, "exec"), names)
    return names["f"]


def request(f, args=ARGUMENTS):
    """What is asked for: value and gradient by x and a."""
    return Request(f.py_func, f, tuple(map(numba.typeof, args)), (0, 1), False, "value_and_grad")


def generated(f, args=ARGUMENTS):
    """Value and gradient."""
    derivative = derivative_of(request(f, args))
    names = {}
    exec(derivative.source(), names)
    names.update(derivative.constants(), workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    return names["run"](*copied(args))


def differences(f, args=ARGUMENTS, step=1e-6):
    """The gradient by x and a by differences of the function itself, run as Python."""
    x, a, *rest = args
    sides = []
    for sign in (1.0, -1.0):
        moved = [x + sign * step * row for row in np.eye(len(x))]
        sides.append(
            [f.py_func(z.copy(), a, *copied(rest)) for z in moved]
            + [f.py_func(x.copy(), a + sign * step, *copied(rest))]
        )
    return (np.array(sides[0], float) - np.array(sides[1], float)) / (2.0 * step)


def agree(body):
    """The generated derivative of a body agrees with the function, run as Python, and with differences of it."""
    f = function_of(body)
    value, (by_x, by_a) = generated(f)
    np.testing.assert_allclose(value, f.py_func(*copied(ARGUMENTS)), rtol=1e-12)
    np.testing.assert_allclose([*by_x, by_a], differences(f), rtol=1e-6, atol=1e-7)
