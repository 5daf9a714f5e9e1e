"""Random programs, recorded at one input and run at others, against their gradients there; planted bugs."""

import random
from collections import Counter

import numpy as np
import pytest

import contad
from contad.programs import codes, trace
from contad.programs.tracer import Tracer
from tests.programs.comparison import compare, of_one_number
from tests.random_programs.array_statements import generate as generate_arrays
from tests.random_programs.number_programs import LIMITS, Arithmetic, Gene, generate

SCALARS, ARRAYS = 60, 6
LONG_SCALARS, LONG_ARRAYS = 20_000, 5_000


def of_scalars(seed):
    """A random function of three numbers, with loops, branches and derivatives in it, and its point."""
    draw = random.Random(seed)
    genes = [Gene(*(draw.randint(0, limit) for limit in LIMITS)) for _ in range(draw.randint(3, 12))]
    program = generate(genes, tuple(round(draw.uniform(-2.0, 2.0), 3) for _ in range(3)))
    return program.function(Arithmetic()), program.point


def of_arrays(seed):
    """A random function of arrays, with views, assignments and NumPy's functions, and its inputs in C order."""
    program, _ = generate_arrays(seed)
    inputs = [np.array(x, order="C") if isinstance(x, np.ndarray) else float(x) for x in program.inputs]
    f = program.function()
    return f if program.result == "s" else of_one_number(f), inputs


def search(make, seeds):
    """How many runs agreed, and how many a guard stopped; raises AssertionError at the first that disagrees."""
    found = Counter()
    for seed in seeds:
        f, args = make(seed)
        found += compare(contad.record(f, *args), f, args, seed, tries=3)
    return found


@pytest.mark.parametrize(("make", "count"), [(of_scalars, SCALARS), (of_arrays, ARRAYS)])
def test_random_programs(make, count):
    found = search(make, range(count))
    assert found["agreed"] > 2.5 * count and found["guarded"] > 0


@pytest.mark.long
@pytest.mark.parametrize(("make", "count"), [(of_scalars, LONG_SCALARS), (of_arrays, LONG_ARRAYS)])
def test_many_random_programs(make, count):
    assert search(make, range(1000, 1000 + count))["agreed"] > 2.5 * count


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def lost_guard(tracer, name, x, y):
    """A guard that is not recorded."""
    z = y._value if isinstance(y, contad.Var) else y
    return bool(getattr(x._value, f"__{name}__")(z))


def swapped(plain):
    of_two_cells = {code for code, (*_, active) in (codes.SCALARS | codes.GUARDS).items() if active == "vv"}

    def push(self, code, x, y, value):
        """Operands in the wrong order, where both are variables: the size of a call would be believed by a run."""
        return plain(self, code, y, x, value) if code in of_two_cells else plain(self, code, x, y, value)

    return push


def one_off(plain):
    """The cells of what is gathered, of which the last two change places."""

    def gather(self, cells, values):
        cells = cells.copy()
        if len(cells) > 1:
            cells[-2:] = cells[-2:][::-1].copy()
        return plain(self, cells, values)

    return gather


@pytest.mark.parametrize(("owner", "name", "planted", "make"), [
    (Tracer, "guard", lambda plain: lost_guard, of_scalars),
    (Tracer, "_push", swapped, of_scalars),
    (trace._Translation, "gather", one_off, of_arrays),
    (Tracer, "push_guard", lambda plain: lambda *args: None, of_arrays),
], ids=["lost guard", "swapped operands", "swapped cells", "lost guard of arrays"])  # fmt: skip
def test_a_planted_bug_is_noticed(monkeypatch, owner, name, planted, make):
    monkeypatch.setattr(owner, name, planted(getattr(owner, name)))
    with pytest.raises(AssertionError):
        search(make, range(400))
