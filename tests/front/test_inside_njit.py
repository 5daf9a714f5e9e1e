"""What functions have frozen is noted as Numba compiles them."""

import os

import numba
import numpy as np
import pytest

from contad.numba_functions.fingerprint import is_told
from tests.compile.processes import run_python


def test_notes_are_made_of_what_numba_does_not_keep():
    data = np.array([1.0, 2.0])

    @numba.njit
    def untold(x):
        return data[1] * x

    assert is_told([untold])  # nothing is compiled
    assert untold(2.0) == 4.0 and is_told([untold])
    (overload,) = untold.overloads.values()
    ((_, _, parts),) = overload.environment.consts
    assert parts.keys() == {"untold.data"}
    overload.environment.consts.clear()
    assert not is_told([untold])


# ---- names in machine code -------------------------------------------------------------------------------------------
CLOSURES = """
import os
import sys

from numba import njit

import contad


def times(k):
    @njit
    def product(x):
        return k * x

    return product


doubled, tripled = times(2.0), times(3.0)


@njit(cache=True)
def f(x):
    return doubled(x)


@njit(cache=True)
def g(x):
    return tripled(x)


def in_child(function):
    if (child := os.fork()) == 0:
        function(1.0)
        os._exit(0)
    os.waitpid(child, 0)


if "forked" in sys.argv:
    times(4.0)(1.0)  # the parent has compiled a function
    in_child(f)
    in_child(g)
else:
    print(*[globals()[name](1.0) for name in sys.argv[1:]])
"""


def run(path, *arguments):
    """What a script prints in a process of its own, with the disk of its folder, where functions are not inlined."""
    places = {name: path.with_name("cache") for name in ("CONTAD_CACHE_DIR", "NUMBA_CACHE_DIR")}
    return run_python("-m", "tests.judges.light_compiling", path, *arguments, **places).split()


@pytest.mark.parametrize("makers", [[["f"], ["g"]], pytest.param([["forked"]], marks=pytest.mark.skipif(
    not hasattr(os, "fork"), reason="the system has no fork"))])  # fmt: skip
def test_functions_of_one_name_that_two_processes_have_kept_are_two(tmp_path, makers):
    path = tmp_path / "model.py"
    path.write_text(CLOSURES)
    for names in makers:
        run(path, *names)
    assert [*tmp_path.rglob("*.f-*.nbc")] and [*tmp_path.rglob("*.g-*.nbc")]
    assert run(path, "f", "g") == ["2.0", "3.0"]
    assert run(path, "g", "f") == ["3.0", "2.0"]
