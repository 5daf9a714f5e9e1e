"""Generated text of a function in one of the modes of an engine, run without Numba."""

import numba
import numpy as np

from contad.engines.source.build import derivative_of
from contad.native.request import Request
from contad.variables.trees import flatten
from tests.engines.source.agreement import constants_in_python
from tests.random_programs.generated_programs import grown


def generate(f, args, argnums, mode="value_and_grad", along=()):
    """The generated function, run without Numba."""
    made = derivative_of(Request(f.py_func, f, tuple(map(numba.typeof, args)), argnums, False, mode, along))
    names = {}
    exec(compile(made.source(), "<generated>", "exec"), names)
    names.update(constants_in_python(made), workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    return names["run"]


def numbers(x):
    """All numbers in nested structures."""
    return np.concatenate([np.ravel(leaf) for leaf in flatten(x).leaves])
