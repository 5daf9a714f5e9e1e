"""Random programs of Stan's densities and distribution functions, at points in and at the edges of their domains.

A program is a weighted sum of calls whose arguments are rows of the table that Stan Math printed; numbers that are not
whole are elements of the program's argument x. So it is known whether the program raises, is infinite or has a value.
Every engine must do the same; and gradients must agree, and be a slope to one side or between those to both sides.

    python -m tests.random_programs.domain_programs --count 500 --seed 1
"""

import random
import re

import numba
import numpy as np

import contad
from contad import stan
from contad.distributions.faces import function_of_text
from tests.random_programs.searching import run_command
from tests.stan.domain_rows import NAMES, agrees, outcome_of, read, read_table, reason_to_differ

H = 1e-6  # of one-sided differences
READS = "gaussian_dlm_obs_lpdf"  # reads which values are missing, so that programs and njit refuse it


class Program:
    """A program, its point, and what Stan has there: "raise" or a number."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        known = [key for key in read_table() if re.search("_(lpdf|lpmf|l?c?cdf)$", key[0]) and key[0] != READS]
        numbers: list[float] = []
        terms, self.stan = [], 0.0
        for _ in range(draw.randint(1, 3)):
            name, kinds, given, expected = draw_row(draw, known)
            arguments = [write_argument(read(x, kind), kind, numbers) for x, kind in zip(given, kinds, strict=True)]
            weight = draw.choice((0.7, 1.0, 1.3))
            terms.append(f"{weight} * stan.{name}({', '.join(arguments)})")
            if expected == "raise" or self.stan == "raise":
                self.stan = "raise"
            else:
                self.stan += weight * eval(expected, NAMES)
        self.point = np.array(numbers)
        self.text = f"def f(x):\n    return {' + '.join(terms)}\n"
        self.function = function_of_text(self.text, "f", {"stan": stan, "np": np})


def draw_row(draw, known):
    """A row that differs from contad's behaviour for no reason, and has elements: name, kinds, arguments, outcome."""
    while True:
        name, kinds = draw.choice(known)
        given, expected = draw.choice(read_table()[name, kinds])
        kept = any(reason_to_differ(name, kinds, given, found) for found in ("raise", 0.0))
        if "[]" not in given and "nan" not in expected and not kept:
            return name, kinds, given.split(), expected


def write_argument(x, kind, numbers):
    """The text of an argument; what is not whole comes from x."""
    if kind in "iI":
        return repr(x) if kind == "i" else f"np.array({x.tolist()})".replace("inf", "np.inf").replace("nan", "np.nan")
    start = len(numbers)
    numbers.extend(np.ravel(x).tolist())
    part = f"x[{start}:{len(numbers)}]"
    return f"x[{start}]" if kind == "d" else f"{part}.reshape({x.shape})" if x.ndim == 2 else part


WAYS = {
    "plain": lambda f, x: (f(x), None),
    "matrix": lambda f, x: contad.value_and_grad(f)(x),
    "records": lambda f, x: contad.value_and_grad(f, engine="records")(x),
    "closures": lambda f, x: contad.value_and_grad(f, engine="closures")(x),
    "forward": lambda f, x: (f(x), np.array([contad.jvp(f, (x,), (e,))[1] for e in np.eye(len(x))])),
    "record": lambda f, x: contad.value_and_grad(contad.record(f, x))(x),
}
COMPILED = {
    "njit": lambda f, x: (numba.njit(f)(x), None),
    "generated": lambda f, x: contad.value_and_grad(numba.njit(f))(x),
}


def run(way, f, x):
    """The outcome, "raise" or a value, and the gradient where there is one."""
    slopes = []

    def value(x):
        found, slope = way(f, x)
        slopes.append(slope)
        return found

    return outcome_of(value, [x]), slopes[0] if slopes else None


def is_a_slope(f, x, k, slope):
    """Whether a partial is a slope to a side, or between two; True where there is no side."""
    here = f(x)
    e = np.eye(len(x))[k] * H
    ends = [outcome_of(f, [x + sign * e]) for sign in (-1.0, 1.0)]
    sides = [sign * (end - here) / H for sign, end in zip((-1.0, 1.0), ends, strict=True) if not isinstance(end, str)]
    sides = [side for side in sides if abs(side) < 1e4]
    near = 1e-3 * (1.0 + abs(slope))
    return not sides or min(sides) - near <= slope <= max(sides) + near


def mismatch(seed: int, compiled: bool = False) -> str | None:
    """What an engine does otherwise than Stan or other engines, in words."""
    program = Program(seed)
    f, x = program.function, program.point
    gradient = None
    for name, way in (WAYS | COMPILED if compiled else WAYS).items():
        found, slope = run(way, f, x)
        told = f"seed {seed}, {name}, at {x.tolist()}:\n{program.text}"
        if not agrees(found, str(program.stan)):
            return f"{told}gives {found}, Stan {program.stan}"
        if slope is None or not np.isfinite(found):
            continue
        if gradient is None:
            gradient = slope
            for k in np.flatnonzero(np.isfinite(x)):
                if not is_a_slope(f, x, k, slope[k]):
                    return f"{told}has the partial {slope[k]} by x[{k}]"
        elif not np.allclose(slope, gradient, rtol=1e-9, atol=1e-12, equal_nan=True):
            return f"{told}has the gradient {slope}, not {gradient}"
    return None


if __name__ == "__main__":
    run_command(__doc__, mismatch)
