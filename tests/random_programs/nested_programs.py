"""Random loops in loops: what goes along rows of several iterations, and iterations at ends, against eager engines.

A program has arrays of n and of m numbers and loops over them in one another; a nest has one loop of m in one of n,
with functions in it, and everything around them that may or may not let these go along rows. Its generated derivative,
with and without functions along rows, run as plain Python with rows of 8 numbers, has to have the value and gradient
of an eager engine on the Python function, for several sizes; every fourth program also the slope of central
differences. A failure is shrunk by removing statements while it persists.

    python -m tests.random_programs.nested_programs --count 2000 --seed 1
    python -m tests.random_programs.nested_programs --count 40 --seed 1 --compiled
"""

import math
import random
import sys
import warnings

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.build import build, derivative_of
from contad.engines.source.passes import strip_mining
from contad.errors import LostDerivativeError, UnsupportedError
from contad.functions.python_copy import python_twin
from contad.numba_functions.request import ASKS, Request
from tests.engines.source.agreement import constants_in_python, flat
from tests.judges.written import define
from tests.random_programs.generated_programs import Rejected, TooSlow, copied, limited, nudge, prepare, run_text
from tests.random_programs.searching import collect, is_failure, parse_options, shrink, tell

SIZES = ((3, 2), (0, 2), (1, 3), (2, 2), (9, 2), (7, 3), (5, 0), (4, 6))  # the last one is too long for a nest
ROWS = 8  # numbers of a row
WAYS = ("libm", "simd", "auto")
ENGINES = ("records", "closures", "matrix")
FUNCTIONS = (
    "math.exp(0.3 * math.tanh({}))", "math.exp(-abs({}))", "math.exp(-0.1 * {0} * {0})", "math.tanh({})",
    "math.sin({})", "math.log(1.1 + {0} * {0})",
)  # fmt: skip
LENGTHS = {"n": "n", "n1": "n", "m": "m", "m1": "m", "steps": "steps"}
TESTS = (
    "{i} == 0", "{i} > 0", "{i} == {n} - 1", "{i} < {n} - 1", "{i} + 1 == {n}", "{i} + 1 < {n}", "{i} == 1",
    "{i} > 1", "{i} % 2 == 0", "{i} != 0", "{i} == steps",
)  # fmt: skip


class Scope:
    """The names that statements may use."""

    def __init__(self, numbers=(), integers=(), counters=(), views=()):
        """Numbers, whole numbers, counters of loops with what they are over, and arrays like x."""
        self.numbers, self.integers = list(numbers), list(integers)
        self.counters, self.views = dict(counters), list(views)

    def inner(self, **counters):
        """The names inside a block, or a loop with a counter."""
        return Scope(self.numbers, self.integers, self.counters | counters, self.views)

    def over(self, *kinds):
        """The counters of loops over one of these."""
        return [i for i, kind in self.counters.items() if kind in kinds]


class Maker:
    """The lines of a program."""

    def __init__(self, seed):
        self.draw, self.lines, self.count = random.Random(seed), [], 0
        self.has_functions = True
        self.write_program()

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def chance(self, probability):
        return self.draw.random() < probability

    def constant(self):
        return round(self.draw.uniform(-1.0, 1.0), 2)

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    # ---- expressions
    def element(self, scope, is_written=False):
        """An element of an array; None where no loop has an index of one."""
        found = []
        for i in scope.over("n", "n1"):
            found += [f"u[{i}]", f"q[{i}]", f"q[{i} + 1]", *(f"{v}[{i}]" for v in scope.views)]
            found += [] if is_written else [f"x[{i}]", f"y[{i}]", f"x[{i}]"]
            for k in scope.over("m", "m1"):
                found += [f"B[{i}, {k}]"] if is_written else [f"B[{i}, {k}]", f"A[{i}, {k}]"]
        for i in scope.over("n1"):
            found += [f"u[{i} - 1]", f"q[{i} - 1]", f"u[{i} - 1]"] + ([] if is_written else [f"x[{i} - 1]"])
        for k in scope.over("m", "m1"):
            found += [f"g[{k}]"] + ([] if is_written else [f"w[{k}]"] * 3)
            found += [] if is_written else [f"T[{j}, {k}]" for j in scope.over("m", "m1")]
        for k in scope.over("m1"):
            found += [f"g[{k} - 1]"] + ([] if is_written else [f"w[{k} - 1]"])
        return self.draw.choice(found) if found else None

    def leaf(self, scope):
        kind = self.draw.random()
        element = self.element(scope)
        if kind < 0.5 and element:
            return element
        if kind < 0.85 and scope.numbers:
            return self.draw.choice(scope.numbers)
        if kind < 0.93 and (scope.integers or scope.counters):
            return f"0.1 * {self.draw.choice([*scope.integers, *scope.counters])}"
        return str(self.constant())

    def expression(self, scope, depth=2):
        kind = self.draw.random()
        if depth == 0 or kind < 0.35:
            return self.leaf(scope)
        if kind < 0.8:
            left, right = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
            return f"({left} {self.draw.choice('+-**')} {right})"
        if kind < 0.93:
            return self.function(scope, depth - 1)
        return f"({self.expression(scope, depth - 1)} / (1.5 + abs({self.expression(scope, depth - 1)})))"

    def function(self, scope, depth):
        """A function of an expression; arithmetic where there are to be none."""
        argument = self.expression(scope, depth)
        return self.draw.choice(FUNCTIONS).format(argument) if self.has_functions else f"({argument} * 0.5)"

    def test(self, scope):
        if self.chance(0.5) and scope.counters:
            i = self.draw.choice(list(scope.counters))
            return self.draw.choice(TESTS).format(i=i, n=LENGTHS[scope.counters[i]])
        return f"{self.expression(scope, 1)} > {self.constant()}"

    # ---- statements
    def write_simple(self, scope, depth):
        """An assignment of a number, an element or a whole number."""
        kind, number = self.draw.random(), self.draw.choice(scope.numbers or ["total"])
        element = self.element(scope, True)
        if kind < 0.3:
            name = number if scope.numbers and self.chance(0.5) else self.fresh("t")
            self.line(depth, f"{name} = {self.expression(scope)}" + " * 0.5" * self.chance(0.5))
            scope.numbers += [name] if name not in scope.numbers else []
        elif kind < 0.5:
            self.line(depth, f"{number} = 0.5 * {number} + {self.expression(scope, 1)}")
        elif kind < 0.68:
            self.line(depth, f"{number} {self.draw.choice(['+=', '-=', '+='])} 0.1 * {self.function(scope, 1)}")
        elif kind < 0.8 and element:
            value = self.expression(scope)
            form = "0.5 * math.tanh({})" if self.has_functions and self.chance(0.5) else "0.3 * {}"
            self.line(depth, f"{element} = {form.format(value)}")
        elif kind < 0.9 and element:
            self.line(depth, f"{element} += 0.1 * {self.function(scope, 1)}")
        elif kind < 0.95 or not scope.integers:
            self.line(depth, f"total += {self.expression(scope, 1)}")
        else:
            k = self.draw.choice(scope.integers)
            form = self.draw.choice(["{0} + 1", "({0} * 31 + 7) % 1000", "5 - {0}", "{0} * 7919 + 3", "-{0}"])
            self.line(depth, f"{k} = {form.format(k)}")

    def write_branch(self, scope, depth):
        self.line(depth, f"if {self.test(scope)}:")
        self.write_block(scope.inner(), depth + 1, self.draw.randint(1, 2))
        if self.chance(0.4):
            self.line(depth, "else:")
            self.write_block(scope.inner(), depth + 1, self.draw.randint(1, 2))

    def write(self, scope, depth, loops=0):
        """A statement, with at most so many loops in one another."""
        kind = self.draw.random()
        if kind < 0.18:
            self.write_branch(scope, depth)
        elif kind < 0.2 and scope.counters:
            self.line(depth, f"if {self.expression(scope, 1)} > 2.0:")
            self.line(depth + 1, self.draw.choice(["break", "continue"]))
        elif kind < 0.26 and scope.integers and scope.counters:
            self.line(depth, f"if {self.test(scope)}:")
            self.line(depth + 1, f"{self.draw.choice(scope.integers)} = {self.draw.choice(list(scope.counters))}")
        elif kind < 0.33 and scope.counters and scope.numbers:
            number = self.draw.choice(scope.numbers)
            self.line(depth, f"{number} = max({number}, {self.expression(scope, 1)})")
        elif kind < 0.62 and loops:
            self.write_loop(scope, depth, loops - 1)
        elif kind < 0.66 and loops and scope.counters:
            i, view = self.draw.choice(list(scope.counters)), self.fresh("v")
            made = self.draw.choice([f"u if {i} % 2 == 0 else q[:n]", "u[::-1]", "q[1:]", "q[:-1]", "u"])
            self.line(depth, f"{view} = {made}")
            scope.views.append(view)
        else:
            self.write_simple(scope, depth)

    def write_block(self, scope, depth, count, loops=0):
        for _ in range(count):
            self.write(scope, depth, loops)

    def write_loop(self, scope, depth, loops):
        """A loop; one with none in it often ends with a sum of functions."""
        free = [i for i in "ijkl" if i not in scope.counters]
        if not free:
            self.write_simple(scope, depth)
            return
        i = free[0] if self.chance(0.7) else self.draw.choice(free)
        kind = self.draw.choice(["n", "n", "m", "m", "m", "m", "n1", "m1", "below", "steps", "down"])
        others = scope.over("n", "m")
        if kind == "below" and others:
            outer = self.draw.choice(others)
            over, kind = outer, scope.counters[outer]
        elif kind in ("below", "down"):
            kind = self.draw.choice("nm")
            over = f"{kind} - 1, -1, -1"
        else:
            over = f"1, {kind[0]}" if kind in ("n1", "m1") else kind
        self.line(depth, f"for {i} in range({over}):")
        inside = scope.inner(**{i: kind})
        self.write_block(inside, depth + 1, self.draw.randint(1, 4), loops)
        if loops == 0 or self.chance(0.3):
            self.line(depth + 1, f"{self.draw.choice([*scope.numbers, 'total'])} += 0.1 * {self.function(inside, 2)}")

    # ---- programs
    def write_program(self):
        """The function, of arrays of n and m numbers."""
        self.lines += ["def f(x, y, w, A, T, steps):", "    n, m = len(x), len(w)", "    total = 0.0"]
        self.line(1, self.draw.choice(["u = x.copy()", "u = x * 0.5", "u = np.zeros(n)"]))
        self.line(1, "q = np.zeros(n + 1)")
        self.line(1, self.draw.choice(["g = w.copy()", "g = np.zeros(m)"]))
        self.line(1, self.draw.choice(["B = A.copy()", "B = np.zeros((n, m))"]))
        scope = Scope()
        for _ in range(self.draw.randint(1, 3)):
            scope.numbers.append(self.fresh("s"))
            self.line(1, f"{scope.numbers[-1]} = {self.constant()}")
        for _ in range(self.draw.choice([0, 0, 1, 2])):
            scope.integers.append(self.fresh("p"))
            self.line(1, f"{scope.integers[-1]} = {self.draw.randint(-2, 5)}")
        self.write_loops(scope)
        for name in [*scope.numbers, *(f"0.1 * {k}" for k in scope.integers if self.chance(0.3))]:
            self.line(1, f"total += math.tanh({name})")
        sums = "0.3 * np.sum(u * u) + 0.2 * np.sum(q) + 0.1 * np.sum(g * g) + 0.1 * np.sum(B * B)"
        self.line(1, f"return total + {sums if self.chance(0.7) else 'np.sum(u)'}")

    def write_loops(self, scope):
        for _ in range(self.draw.randint(1, 2)):
            self.write_loop(scope, 1, self.draw.choice([0, 1, 1, 1, 2]))
            self.write_block(scope, 1, self.draw.randint(0, 1))


class NestMaker(Maker):
    """A program whose loop has one with functions in it, and arithmetic around them."""

    def write_loops(self, scope):
        depth = 1
        if self.chance(0.25):
            self.line(1, "for t in range(steps):")
            scope.counters["t"], depth = "steps", 2
        names = list(scope.numbers)
        kind = self.draw.choice(["n", "n", "n", "n1"])
        self.line(depth, "for i in range(n):" if kind == "n" else "for i in range(1, n):")
        outer = scope.inner(i=kind)
        self.has_functions = False
        self.write_around(outer, depth + 1)
        if self.chance(0.4):
            self.line(depth + 1, f"e = {self.expression(outer, 1)}")
            outer.numbers.append("e")
        inner = outer.inner(k="m")
        self.line(depth + 1, "for k in range(m):")
        for _ in range(self.draw.choice([0, 0, 1, 2])):
            self.write_simple(inner, depth + 2)
        target = self.element(inner, True) if self.chance(0.3) else self.draw.choice(["total", *outer.numbers])
        self.has_functions = True
        self.line(depth + 2, f"{target} += 0.2 * {self.function(inner, 2)}")
        self.has_functions = False
        for _ in range(self.draw.choice([0, 0, 1])):
            self.write_simple(inner, depth + 2)
        self.write_around(outer, depth + 1)
        self.has_functions = True
        scope.numbers[:] = names
        scope.counters.clear()

    def write_around(self, scope, depth):
        """Statements of the outer loop, among them short loops without functions."""
        for _ in range(self.draw.randint(0, 3)):
            if not self.chance(0.25):
                self.write(scope, depth)
                continue
            name = self.draw.choice(scope.numbers) if self.chance(0.5) else self.fresh("t")
            self.line(depth, f"{name} = {self.expression(scope, 1)}")
            scope.numbers += [name] if name not in scope.numbers else []
            self.line(depth, "for k in range(m):")
            form = self.draw.choice(["max({0}, {1})", "0.5 * {0} + {1}"])
            self.line(depth + 1, f"{name} = {form.format(name, self.expression(scope.inner(k='m'), 1))}")


def make(seed):
    """The lines of the program of a seed: two of three are nests."""
    return (Maker if seed % 3 == 0 else NestMaker)(seed).lines


# ---- judging ---------------------------------------------------------------------------------------------------------
class NumPyWithNothingInNewArrays:
    """NumPy, but for memory that nobody has written: that is not a number."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, *args, **kwargs):
        """An array of what was not written."""
        return spoiled(np.empty(*args, **kwargs))


def spoiled(x):
    if x.dtype == float:
        x.fill(np.nan)
    return x


def request(f, args, way, optional_value=False):
    floats = tuple(range(len(args) - 1))
    return Request(
        f.py_func, f, tuple(map(numba.typeof, args)), floats, False, "value_and_grad", numerics=way,
        optional_value=optional_value,
    )  # fmt: skip


def derivative(f, args, way, optional_value=False):
    """The derivative as plain Python, and its source; the gradient as it is where nobody asks for the value."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strip_mining, "ROWS", ROWS)
        patch.setattr(strip_mining, "LONG", 2)
        made = derivative_of(request(f, args, way, optional_value))
        text = made.source()
    names = run_text(text, constants_in_python(made) | {"np": NumPyWithNothingInNewArrays()})
    if "lent_empty" in names:
        lent = names["lent_empty"]
        names["lent_empty"] = lambda *args: spoiled(lent(*args))
    if "new_row" in names:
        row = names["new_row"]
        names["new_row"] = lambda: spoiled(row())
    run_it = names["run"]
    if not made.asks_value:
        return run_it, text
    return lambda *args: (run_it(*args, True)[0], run_it(*args, False)[1]), text


def arguments(seed, n, m):
    rng = np.random.default_rng(seed)
    sizes = (n, n, m, (n, m), (m, m))
    return [*(rng.normal(size=size) for size in sizes), int(rng.integers(0, 5))]


def numbers(value, gradient):
    """All that is compared, in a row."""
    return np.concatenate([[value], flat(gradient)])


def result_of(call, args):
    """The numbers of a derivative, or the name of the error that it raises."""
    try:
        return numbers(*call(*copied(args)))
    except (ArithmeticError, ValueError, IndexError) as error:
        return type(error).__name__


def close(got, expected, tolerance=1e-9):
    if isinstance(got, str) or isinstance(expected, str):
        return isinstance(got, str) and isinstance(expected, str) and got == expected
    size = np.abs(expected).max()
    return got.shape == expected.shape and bool(np.all(np.abs(got - expected) <= tolerance * (1.0 + size)))


def eager(f, seed):
    """The derivative by an eager engine, another one for other seeds."""
    engine = ENGINES[seed % len(ENGINES)]
    return contad.value_and_grad(python_twin(f), tuple(range(5)), engine=engine)


def difference(f, args, seed):
    """A direction, and the slope of f along it by central differences of two steps; None where these disagree."""
    rng = np.random.default_rng(seed + 1)
    direction = [rng.normal(size=x.shape) for x in args[:-1]]

    def at(step):
        return f(*(x + step * d for x, d in zip(args, direction, strict=False)), args[-1])

    slopes = [(at(h) - at(-h)) / (2.0 * h) for h in (1e-5, 2e-5)]
    return direction, None if abs(slopes[0] - slopes[1]) > 1e-6 * (1.0 + abs(slopes[0])) else slopes[0]


def judge(lines, seed, is_compiled=False):
    """(what is wrong with a program, what its derivative has); raises Rejected where it proves nothing."""
    f = njit(define("\n".join(lines) + "\n", f"<nested program {seed}>", {"np": np, "math": math})["f"])
    example = arguments(seed, *SIZES[0])
    ways = {}
    for way in WAYS[: 3 if seed % 5 == 0 else 2]:
        for optional in (False, True):
            call, text = derivative(f, example, way, optional)
            ways.setdefault(text, (way, call))
    signs = (("rows", "_rows = "), ("a nest", "wide = "), ("an optional value", ASKS))
    has = {what for what, sign in signs if any(sign in text for text in ways)}
    reference, compared = eager(f, seed), 0
    for n, m in SIZES:
        args = arguments(100 * seed + 10 * n + m, n, m)
        try:
            with np.errstate(all="raise", under="ignore"):
                f.py_func(*copied(args))
            expected = numbers(*reference(*copied(args)))
        except (ArithmeticError, ValueError, IndexError, UnsupportedError, LostDerivativeError):
            continue
        if not np.isfinite(expected).all() or np.abs(expected).max() > 1e8:
            continue
        compared += 1
        for way, call in ways.values():
            got = result_of(call, args)
            if not close(got, expected):
                if not close(result_of(reference, nudge(args, 0)), expected):
                    continue  # a tie, or a loss of all digits
                return f"wrong by {way} at {n}, {m}: {got} for {expected}", has
        if seed % 4 == 0:
            direction, slope = difference(f.py_func, args, seed)
            found = sum(float(np.sum(d * g)) for d, g in zip(direction, split(expected[1:], args), strict=True))
            if slope is not None and abs(slope - found) > 1e-4 * (1.0 + np.abs(expected).max()):
                return f"wrong beside differences at {n}, {m}: {found} for {slope}", has
    if not compared:
        raise Rejected("no size has numbers")
    return (judge_compiled(f, seed) if is_compiled else None), has


def split(gradient, args):
    """The parts of a gradient."""
    ends = np.cumsum([x.size for x in args[:-1]])
    return [part.reshape(x.shape) for part, x in zip(np.split(gradient, ends[:-1]), args, strict=False)]


def judge_compiled(f, seed):
    """What is wrong with compiled derivatives, with rows and without them and by the tape, one beside the other."""
    example = arguments(seed, *SIZES[0])
    calls = [build(request(f, example, way)) for way in ("libm", "simd")]
    calls.append(contad.value_and_grad(f, tuple(range(5)), engine="tape"))
    for n, m in [*SIZES, (300, 3), (40, 130)]:
        args = arguments(100 * seed + 10 * n + m, n, m)
        whole, *others = (result_of(call, args) for call in calls)
        if isinstance(whole, str) or not np.isfinite(whole).all() or np.abs(whole).max() > 1e8:
            continue
        for got in others:
            if not close(got, whole) and close(result_of(calls[0], nudge(args, 0)), whole):
                return f"wrong compiled at {n}, {m}: {got} for {whole}"
    return None


def check(seed, is_compiled=False, lines=None):
    """(the outcome of the program of a seed, what its derivative has); the outcome is None where all agree."""
    prepare()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), limited():
            warnings.simplefilter("ignore")
            return judge(make(seed) if lines is None else lines, seed, is_compiled)
    except (UnsupportedError, LostDerivativeError) as error:
        return f"rejected: {type(error).__name__}", set()
    except (Rejected, numba.TypingError) as error:
        return f"rejected: {str(error).splitlines()[0][:60]}", set()
    except TooSlow:
        return "rejected: slow", set()
    except Exception as error:
        return f"crash {type(error).__name__}: {error}", set()


def smaller(lines):
    """Programs without one of their statements."""
    for k in range(3, len(lines) - 1):
        depth = len(lines[k]) - len(lines[k].lstrip())
        inside = (j for j in range(k + 1, len(lines)) if len(lines[j]) - len(lines[j].lstrip()) <= depth)
        end = next(inside)
        yield lines[:k] + lines[end:]
        if end > k + 1:
            yield lines[:k] + [line[4:] for line in lines[k + 1 : end]] + lines[end:]


def shrunk(seed, outcome):
    """The source of a failing program, shrunk."""

    def fails(lines):
        found = check(seed, "compiled" in outcome, lines)[0]
        return is_failure(found) and found[:12] == outcome[:12]

    return "\n".join(shrink(make(seed), smaller, fails))


def search(seeds, is_compiled=False):
    """How many programs had what, and the failures by their seeds."""
    return collect(lambda seed: check(seed, is_compiled), seeds)


def main():
    shown = "print the program of the seed and its derivative"
    options = parse_options(__doc__, 1000, compiled="compiled as well; against the tape, too", show=shown)
    if options.show:
        text = "\n".join(make(options.seed))
        f = njit(define(text + "\n", "<shown>", {"np": np, "math": math})["f"])
        print(text, derivative(f, arguments(1, *SIZES[0]), "simd")[1], sep="\n")
        return 0
    return tell(*search(options.seeds, options.compiled), shrunk)


if __name__ == "__main__":
    sys.exit(main())
