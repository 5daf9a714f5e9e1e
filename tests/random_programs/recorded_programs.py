"""Random recordings of arrays that are large for their chains, compiled, against the eager engine elsewhere.

A program has vectors, matrices and numbers, and writes into slices in place. It is recorded at one point and run by
compiled code at others, with so little memory for a block, and so few operations for a chain, that arrays of a few
numbers have several blocks, and chains end, are divided and kept as those of large arrays are. Memory that runs get is
not a number before they write it. A failure is shrunk by removing statements while it persists.

    python -m tests.random_programs.recorded_programs --count 2000 --seed 1
"""

import random
import sys
import warnings

import numpy as np
import pytest

import contad
from contad.programs import fusion, program, strip_places
from tests.judges.written import define
from tests.programs.comparison import compare, compiled
from tests.random_programs.searching import collect, is_failure, parse_options, shrink, tell

STRIPS, FEWEST = (1, 8, 24, 100, 300, 3072), (1, 1, 16, 64, 200, 1024)
UNARY = (
    "np.sin({})", "np.exp(0.3 * {})", "np.tanh({})", "np.log1p({0} * {0})", "np.sqrt(1.0 + {0} ** 2)", "-{}", "{} ** 2",
    "np.abs({})", "np.cos({}) * 2.0", "np.exp(-np.abs({}))", "1.0 * {}", "np.maximum({}, 0.1)", "{} ** 3 * 0.1",
    "contad.stop_gradient({})", "np.expm1(0.2 * {})", "np.log(2.0 + np.cos({}))",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{} / (2.0 + {} ** 2)", "np.where(MASK[:{n}], {}, {})", "np.maximum({}, {})",
    "np.hypot({}, {})", "np.where({} > 0.2, {}, 0.5)", "0.7 * {} + 0.2 * {}",
)  # fmt: skip
TO_NUMBER = (
    "np.sum({})", "np.mean({0} * {0})", "np.max({})", "contad.logsumexp({})", "np.var({})", "np.dot({}, {})",
    "{}[{k}]", "np.sum({} * {}) / {n}", "np.prod(1.0 + 0.01 * {})",
)  # fmt: skip
OF_MATRIX = (
    "np.sum({}, axis=1)", "contad.logsumexp({}, axis=1)", "{} @ c", "{}[:, {j}]", "np.sum({} * {}, axis=1)",
    "np.max({}, axis=1)", "np.mean({}, axis=1)", "contad.logsumexp(c[None] + {}, axis=1)",
    "contad.logsumexp(w[:, None] - {}, axis=1)", "np.sum({}[:, :, None] * c, axis=(1, 2))",
)  # fmt: skip
MATRICES = (
    "{} + {}", "{} * {}", "{} * c", "{} - w[:, None]", "{} / (2.0 + c ** 2)", "np.exp(-{0} ** 2)", "np.sin({})",
    "{}[::-1]", "{} - np.sum({}, axis=0)", "{} * np.sum({}, axis=1)[:, None]", "1.0 * {}[:, ::-1]",
    "np.outer(w, c) + {}", "np.cumsum({}, axis=0) * 0.1", "np.cumsum({}, axis=1) * 0.3", "({}.T * w).T",
    "0.1 * np.sum({}[:, :, None] * c, axis=1)", "v[:{size}].reshape({rows}, {columns}) * {}",
)  # fmt: skip
WRITES = ("{} = {}", "{} += {}", "{} *= {}", "{} -= 0.3 * {}")


class Maker:
    """The lines of a program of (x, y, A, b)."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.n = self.draw.choice([7, 12, 30, 64, 150])
        self.columns = self.draw.choice([1, 2, 3, 5])
        self.rows = self.n // self.columns
        self.vectors, self.matrices, self.numbers, self.count = ["x", "y", "u"], ["A"], ["b", "0.7"], 0
        self.lines = [
            "def f(x, y, A, b):", "    u, v = 1.0 * x, x * y", f"    w, c = u[:{self.rows}], y[:{self.columns}]",
            "    B = A.copy()",
        ]  # fmt: skip
        for _ in range(self.draw.randint(5, 16)):
            self.write()
        parts = [f"np.sum({self.vector()} * {self.vector()})" for _ in range(2)]
        parts += [f"0.1 * np.sum({self.matrix()} * {self.matrix()})", "np.sum(u)", self.number()]
        self.lines.append(f"    return {' + '.join(parts)}")

    def chance(self, probability):
        return self.draw.random() < probability

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def vector(self):
        return self.vectors[-1] if self.chance(0.5) else self.draw.choice([*self.vectors, "v", "u"])

    def matrix(self):
        return self.matrices[-1] if self.chance(0.5) else self.draw.choice([*self.matrices, "B"])

    def number(self):
        return self.draw.choice(self.numbers)

    def line(self, text):
        self.lines.append(f"    {text}")

    def fill(self, form, make):
        """An expression of others in its places, in parentheses."""
        places = {
            "n": self.n, "k": self.draw.randrange(self.n), "j": self.draw.randrange(self.columns), "rows": self.rows,
            "columns": self.columns, "size": self.rows * self.columns,
        }  # fmt: skip
        return "(" + form.format(*(make() for _ in range(2)), **places) + ")"

    def expression(self, depth=2):
        """A vector of n numbers."""
        kind = self.draw.random()
        if depth == 0 or kind < 0.2:
            return self.vector()
        if kind < 0.3:
            return f"({self.number()} * {self.expression(depth - 1)})"
        form = self.draw.choice(UNARY if kind < 0.55 else BINARY)
        return self.fill(form, lambda: self.expression(depth - 1))

    def slices(self, many):
        """Slices of n elements, all as long as one another."""
        length = self.draw.randint(1, max(1, self.n - 3)) if self.chance(0.6) else max(1, self.n // 3)
        found = []
        for _ in range(many):
            step = self.draw.choice([-2, -1, 1, 1, 1, 2] if 2 * length < self.n else [-1, 1, 1, 1])
            span = abs(step) * (length - 1)
            low = self.draw.randint(0, self.n - span - 1)
            start = low if step > 0 else low + span
            stop = start + step * length
            found.append(f"[{start}:{stop if stop >= 0 else ''}:{step}]")
        return found

    def write(self):
        """A statement."""
        kind = self.draw.random()
        if kind < 0.25:
            name = self.fresh("t")
            self.line(f"{name} = {self.expression(3)}")
            self.vectors.append(name)
        elif kind < 0.35:
            name = self.fresh("s")
            self.line(f"{name} = 0.1 * {self.fill(self.draw.choice(TO_NUMBER), self.vector)}")
            self.numbers.append(name)
        elif kind < 0.6:
            a, b, c = self.slices(3)
            form, value = self.draw.choice(WRITES), f"{self.vector()}{b}"
            value = self.draw.choice([value, f"np.sin({value}) * u{c}", f"({value} + {self.number()} * v{c})", "0.4"])
            self.line(form.format(f"{self.draw.choice('uuv')}{a}", value))
        elif kind < 0.68:
            name = self.fresh("t")
            self.line(f"{name} = {self.vector()}[ORDER[:{self.n}]] * {self.number()}")
            self.vectors.append(name)
        elif kind < 0.78:
            name = self.fresh("M")
            self.line(f"{name} = {self.fill(self.draw.choice(MATRICES), self.matrix)}")
            self.matrices.append(name)
        elif kind < 0.86:
            value, n = self.fill(self.draw.choice(OF_MATRIX), self.matrix), self.rows
            self.line(self.draw.choice([f"w = {value} * 0.5", f"u[:{n}] += 0.1 * {value}", f"v[:{n}] = {value}"]))
        elif kind < 0.93:
            j, k, other = self.draw.randrange(self.columns), self.draw.randrange(self.rows), self.matrix()
            self.line(self.draw.choice([
                f"B[:, {j}] = {other}[:, 0] * w", f"B[{k}] = {other}[0] * c", f"B[1:] += 0.3 * {other}[:-1]",
                f"B[:, 1:] *= {other}[:, :-1]", f"B[::-1] -= 0.2 * {other}", f"B.T[:] = {other}.T * w",
            ]))  # fmt: skip
        else:
            self.line(f"for _ in range({self.draw.randint(2, 4)}):")
            self.lines.append(f"        u[1:-1] += 0.2 * (u[:-2] - np.sin(u[1:-1]) * {self.number()} + u[2:])")


def function_of(lines, seed):
    """The function of lines."""
    rng = np.random.default_rng(seed)
    names = {"np": np, "contad": contad, "MASK": rng.random(150) < 0.5}
    n = Maker(seed).n
    names["ORDER"] = rng.permutation(n) if seed % 2 else rng.integers(0, n, n)
    return define("\n".join(lines) + "\n", f"<recorded program {seed}>", names)["f"]


def arguments(seed):
    rng, maker = np.random.default_rng(seed), Maker(seed)
    return [*rng.normal(size=(2, maker.n)), rng.normal(size=(maker.rows, maker.columns)), 0.3 + 0.1 * rng.normal()]


def judge(lines, seed):
    """(what is wrong with a program, how many chains and blocks it has)."""
    f, args = function_of(lines, seed), arguments(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "take", lambda n: np.full(n, np.nan))
        patch.setattr(strip_places, "STRIP", STRIPS[seed % len(STRIPS)])
        patch.setattr(fusion, "FEWEST", FEWEST[(seed + seed // 6) % len(FEWEST)])
        value = f(*args)
        if not np.isfinite(value) or abs(value) > 1e6:
            return "rejected: large", {}
        made = compiled(f, *args)
        (layout,) = made._layouts
        has = {"chains": len(layout.fused_loops), "pairs": int(layout.has_pairs)}
        has["compiled"] = int(not made.traces[0].calls)
        try:
            found = compare(made, f, args, seed)
        except AssertionError as error:
            return f"wrong: {str(error).strip()[:300]}", has
    if seed % 4 == 0:
        direction = [np.random.default_rng(seed + 1).normal(size=np.shape(x)) for x in args]
        gradient = made.gradient(*args)
        slope = sum(float(np.sum(d * g)) for d, g in zip(direction, gradient, strict=True))
        steps = [difference(f, args, direction, h) for h in (1e-5, 2e-5)]
        steady = abs(steps[0] - steps[1]) <= 1e-5 * (1.0 + abs(steps[0]))
        if steady and "stop_gradient" not in "".join(lines) and abs(steps[0] - slope) > 1e-3 * (1.0 + abs(slope)):
            return f"wrong beside differences: {slope} for {steps[0]}", has
    return (None if found["agreed"] else "rejected: no run"), has


def difference(f, args, direction, h):
    """The slope of f by central differences."""
    above, below = (f(*(x + s * h * d for x, d in zip(args, direction, strict=True))) for s in (1.0, -1.0))
    return (above - below) / (2.0 * h)


def check(seed, lines=None):
    """(the outcome of the program of a seed, what it has); the outcome is None where all agree."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return judge(Maker(seed).lines if lines is None else lines, seed)
    except Exception as error:
        return f"crash {type(error).__name__}: {error}", {}


def shrunk(seed, outcome):
    """The source of a failing program, shrunk."""

    def fails(lines):
        found = check(seed, lines)[0]
        return is_failure(found) and found[:24] == outcome[:24]

    def smaller(lines):
        return (lines[:k] + lines[k + 1 + lines[k].endswith(":") :] for k in range(1, len(lines) - 1))

    return "\n".join(shrink(Maker(seed).lines, smaller, fails))


def search(seeds):
    """How many programs had what, and the failures by their seeds."""
    return collect(check, seeds)


if __name__ == "__main__":
    sys.exit(tell(*search(parse_options(__doc__, 1000).seeds), shrunk))
