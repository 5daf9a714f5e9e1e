"""Generated text of a function in one of the modes of an engine, run without Numba; of several directions, too."""

import numba
import numpy as np
import pytest

from contad.engines.source.build import derivative_of
from contad.kernels.lanes import Lanes, as_lanes, lane_view
from contad.numba_functions.request import Request
from contad.variables.trees import flatten
from tests.engines.source.agreement import constants_in_python
from tests.judges.complex_differences import differences
from tests.random_programs.generated_programs import copied, grown


def generate(f, args, argnums, mode="value_and_grad", along=(), count=1):
    """The generated function, for so many directions, run without Numba."""
    made = derivative_of(Request(f.py_func, f, tuple(map(numba.typeof, args)), argnums, False, mode, along, count))
    names = {}
    exec(compile(made.source(), "<generated>", "exec"), names)
    names.update(constants_in_python(made), workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    return names["run"]


def numbers(x):
    """All numbers in nested structures."""
    return np.concatenate([np.ravel(leaf) for leaf in flatten(x).leaves])


def require_right(f, args, argnums):
    """The gradient by generated source, run as Python, is that of differences."""
    value, grads = generate(f, args, argnums)(*args)
    assert value == pytest.approx(f.py_func(*args), rel=1e-12)
    for k, bar in zip(argnums, grads, strict=True):
        right = differences(f.py_func, args, k)
        assert np.iscomplexobj(bar) == np.iscomplexobj(args[k])
        np.testing.assert_allclose(bar, right, rtol=1e-8, atol=1e-9 * max(1.0, np.max(np.abs(right))))


# ---- several directions ----------------------------------------------------------------------------------------------
def put_together(trees):
    """Directions as lanes."""
    several = zip(*(flatten(x).leaves for x in trees), strict=True)
    leaves = [as_lanes(np.stack(x, axis=-1)) if np.ndim(x[0]) else Lanes(x) for x in several]
    return flatten(trees[0]).unflatten(leaves)


def take_lane(x, k):
    """The numbers of one direction."""
    leaves = flatten(x).leaves
    return np.concatenate([np.ravel(lane_view(np.asarray(v, object) if np.ndim(v) else v, k)) for v in leaves])


def draw_direction(rng, x):
    """Random numbers as a tree that is like another one."""
    tree = flatten(x)
    return tree.unflatten([rng.standard_normal(np.shape(v)) if np.ndim(v) else rng.normal() for v in tree.leaves])


def require_lanes(f, args, argnums, mode, directions, along=(), tolerance=1e-11):
    """What is generated for several directions gives for each of them what it gives for one."""
    one, many = (generate(f, args, argnums, mode, along, count=n) for n in (1, len(directions)))
    found = many(tuple(copied(args)), put_together(directions))
    for k, x in enumerate(directions):
        right = take_lane(one(tuple(copied(args)), x), 0)
        size = np.max(np.abs(right))
        np.testing.assert_allclose(take_lane(found, k), right, rtol=tolerance, atol=tolerance * size)
