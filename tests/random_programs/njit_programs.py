"""Random Numba programs: loops, branches, callees, arrays written in place, views, whole-array operations.

Each is compared with the engine `records`, which runs its Python copy on object arrays of scalar variables, so that
NumPy itself supplies the meaning of every array operation; its value with that of the compiled function; and each
fourth with differences of mpmath numbers.

    python -m tests.random_programs.njit_programs --count 2000 --seed 1
"""

import argparse
import importlib.util
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

import contad
from contad.compile.linked_code import defer_code
from contad.engines.tape import build
from contad.errors import UnsupportedError
from contad.functions.python_copy import python_twin
from tests.engines.tape.requests import request

Vector = np.ndarray

SIZE = 4
GROUP = 10  # programs in one compiled module
PER_PROCESS = 100
RELATIVE = 1e-12
NOISE_RUNS = 8
ULP = 2.0**-52
LARGEST, SMALLEST = 1e6, 1e-6  # of a value or a gradient in a program that is not discarded
DIGITS, STEP = 60, 20
FEATURES = ("in place", "while", "break", "early return")
RARER = ("overlap",)  # features that a tenth of the programs have

UNARY = (
    "math.sin({})", "np.cos({})", "np.tanh({})", "math.atan({})", "abs({})", "-{}", "math.exp(-abs({}))",
    "np.exp(0.3 * np.sin({}))", "float({})", "({}) ** 2", "np.square({})", "math.sqrt(1.3 + ({0}) * ({0}))",
    "np.log1p(({0}) * ({0}))", "np.arcsinh({})", "1.0 / (1.2 + ({0}) * ({0}))",
)  # fmt: skip
BINARY = (
    "({} + {})", "({} - {})", "({} * {})", "({} + {})", "({} * {})", "{} / (1.5 + abs({}))", "max({}, {})",
    "min({}, {})", "np.maximum({}, {})", "np.hypot({}, 1.1 + abs({}))", "math.atan2({}, 1.7 + abs({}))",
)  # fmt: skip
ELEMENTS = (
    "w[{i}], w[{j}] = w[{j}], w[{i}]", "w[{i}] += {}", "w[{i}] = {}", "w[{i}] *= {}", "v = w[1:]\nv[0] += {}",
    "for e in range(n):\n    w[e] -= {} * w[e + 1]",
)  # fmt: skip
ARRAYS = (
    "w += {} * c", "w[1:3] *= {}", "w[:] = np.tanh(w * x + {})", "w[::2] -= c[::2] * {}", "w = w * {} + x",
    "w = np.sin(w) + c * {}", "w = np.sort(w) * {}", "w = w * np.cumprod(x * 0.5) + {}",
    "w[0], w[1], w[2] = w[1:] * {}",
)  # fmt: skip
# of parts that overlap, as Numba computes them: each element is written before the next is read; and what they mean
OVERLAPS = {
    "w[1:] += 0.5\nw[1:] += w[:-1]": "w[1:] += 0.5\nfor e in range(3):\n    w[e + 1] += w[e]",
    "w += w[::-1]": "for e in range(4):\n    w[e] += w[3 - e]",
    "w[:3] *= w[1:]": "for e in range(3):\n    w[e] *= w[e + 1]",
    "w[1:] *= w[:-1]": "for e in range(3):\n    w[e + 1] *= w[e]",
    "w -= w[0:1]": "for e in range(4):\n    w[e] -= w[0]",
    "v = w[1:]\nv -= w[:-1]": "for e in range(3):\n    w[e + 1] -= w[e]",
    "v = w.reshape((2, 2))\nv += v.T": "w[0] += w[0]\nw[1] += w[2]\nw[2] += w[1]\nw[3] += w[3]",
    "w[1:] = w[:-1]": "w[1:] = [w[e] for e in range(3)]",
    "w[1:] += w[:-1] * c[1:]": "w[1:] += np.array([w[e] * c[e + 1] for e in range(3)])",
}
# callees that declare types: what is cast, and what that means
DECLARED = {
    '@njit("float64(int64, float64)")\ndef cast_{}(a, b):\n': "def cast_{}(a, b):\n    a = int(a)\n",
    "    k = 3.0 * a\n": "    k = int(3.0 * a)\n",
    '@njit("int64(float64)")\ndef whole_{}(a):\n    return 4.0 * a\n': "def whole_{}(a):\n    return int(4.0 * a)\n",
}
# calls of recursive callees: for a constant, for a number, without the last argument; of one that declares its types
RECURSIVE = ("deep_{}(2, {}, {})", "deep_{}(n, {}, {})", "(deep_{}(1, {}) - {})", "(fall_{}({}) * {})")
REDUCTIONS = ("np.sum(w * x)", "(w @ c)", "np.dot(w, w)", "w.sum()", "np.mean(w)", "np.prod(w * 0.7)")


class Generator:
    """The source of one program, `f(x, y, c, n)`; and of a function that it calls."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed} {number}")
        self.number = number
        self.features: set[str] = set()
        self.loops: list[str] = []
        self.arrays_left = 2 if number % 8 == 0 else 0  # whole-array operations, which take most time to compile
        self.overlaps_left = 1 if number % 2 else 0  # of arrays with parts of themselves, in place

    def leaf(self) -> str:
        r = self.random
        index = r.choice(self.loops) if self.loops and r.random() < 0.6 else str(r.randrange(SIZE))
        return r.choice([f"s{r.randrange(4)}", f"s{r.randrange(4)}", f"x[{index}]", f"w[{index}]", f"c[{index}]",
                         f"{r.uniform(-1.5, 1.5):.3f}"])  # fmt: skip

    def expression(self, depth: int) -> str:
        r = self.random
        if depth == 0 or r.random() < 0.15:
            return self.leaf()
        kind = r.random()
        if kind < 0.35:
            return r.choice(UNARY).format(self.expression(depth - 1))
        if kind < 0.45 and self.arrays_left:
            self.arrays_left -= 1
            return r.choice(REDUCTIONS)
        if kind < 0.50:
            declared = r.choice(["cast_{}({}, {})", "counted_{}({}, {})", "(0.2 * whole_{}({}) * {})", *RECURSIVE])
            return declared.format(self.number // GROUP, self.expression(depth - 1), self.leaf())
        if kind < 0.58:
            return f"callee_{self.number // GROUP}({self.expression(depth - 1)}, {self.leaf()})"
        return r.choice(BINARY).format(self.expression(depth - 1), self.expression(depth - 1))

    def condition(self) -> str:
        return f"{self.expression(1)} {self.random.choice('<>')} {self.expression(1)} + 0.01"

    def assignment(self) -> list[str]:
        target = f"s{self.random.randrange(4)}"
        bounded = self.random.choice(["np.tanh({})", "0.4 * ({})", "math.sin({})"])
        return [f"{target} = {bounded.format(self.expression(2))}"]

    def statements(self, depth: int, count: int) -> list[str]:
        lines = []
        for _ in range(count):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        r = self.random
        kind = r.random()
        if depth == 0 or kind < 0.3:
            return self.assignment()
        if kind < 0.5:
            self.features.add("in place")
            i, j = r.sample(range(SIZE), 2)
            if self.overlaps_left and r.random() < 0.6:
                self.overlaps_left -= 1
                self.features.add("overlap")
                return r.choice(list(OVERLAPS)).split("\n")
            whole = self.arrays_left and r.random() < 0.5
            self.arrays_left -= bool(whole)
            text = r.choice(ARRAYS if whole else ELEMENTS).format(f"np.tanh({self.expression(2)})", i=i, j=j)
            return text.split("\n")
        if kind < 0.6:
            a, b = r.sample(range(4), 2)
            return [f"s{a}, s{b} = {self.leaf()}, 0.5 * ({self.expression(1)})"]
        if kind < 0.75:
            body = indented(self.statements(depth - 1, 2))
            lines = [f"if {self.condition()}:", *body]
            if r.random() < 0.8:
                self.features.add("early return")
                lines.append(f"    return {self.expression(2)} + 0.3 * x[0] * s0")
            return lines if r.random() < 0.5 else [*lines, "else:", *indented(self.statements(depth - 1, 1))]
        k = f"k{len(self.loops)}"
        if len(self.loops) == 2:
            return self.assignment()
        self.loops.append(k)
        if kind < 0.88:
            lines = [f"for {k} in range({r.choice(['n', 'len(x)', '3'])}):", *indented(self.statements(depth - 1, 2))]
        else:
            self.features.add("while")
            body = [*self.statements(depth - 1, 2), f"{k} += 1"]
            lines = [f"{k} = 0", f"while {k} < {SIZE} and abs(s{r.randrange(4)}) < {r.uniform(0.5, 3):.3f}:"]
            lines += indented(body)
        if r.random() < 0.5:
            self.features.add("break")
            lines += indented([f"if {self.condition()}:", "    break"]) if kind < 0.88 else []
            if kind >= 0.88:
                lines[-1:] = [*indented([f"if {self.condition()}:", "    break"]), lines[-1]]
        self.loops.pop()
        return lines

    def source(self) -> str:
        """The text of the program."""
        start = ["s0 = y", "s1 = 0.0", "s2 = x[1] * y", "s3 = 0.7"]
        start.append(self.random.choice(["w = np.zeros(4)", "w = x.copy()", "w = np.ones_like(c)"]))
        body = indented([*start, *self.statements(2, 3)])
        result = " + ".join(f"{self.random.uniform(0.5, 1.5):.2f} * s{k}" for k in range(4))
        program = [
            "@njit", f"def f_{self.number}(x, y, c, n):", *body, f"    return {result} + w[0] * w[3] - 0.3 * w[1]",
        ]  # fmt: skip
        return "\n".join([*program, ""])

    def callee(self) -> str:
        """The text of a function that the programs of a group call."""
        lines = ["@njit", f"def callee_{self.number // GROUP}(a, b):", f"    if a {self.random.choice('<>')} b + 0.03:",
                 f"        return {self.random.choice(UNARY).format('a')} * b",
                 f"    return {self.random.choice(BINARY).format('b', 'a')}", ""]  # fmt: skip
        cast, name, whole = (text.format(self.number // GROUP) for text in DECLARED)
        counted = f'@njit(locals={{"k": int64}})\ndef counted_{self.number // GROUP}(a, b):\n{name}    return k * b\n'
        group = self.number // GROUP
        deep = (
            f"@njit\ndef deep_{group}(m, a, b=0.7):\n    if m == 0:\n"
            f"        return {self.random.choice(UNARY).format('a')} * b\n"
            f"    return deep_{group}(m - 1, np.tanh(a), b) + 0.5 * a * b\n"
        )
        fall = (
            f'@njit("float64(float64)")\ndef fall_{group}(a):\n    if abs(a) > 0.7:\n'
            f"        return fall_{group}(0.5 * a) * a\n    return {self.random.choice(UNARY).format('a')}\n"
        )
        return "\n".join([*lines, f"{cast}    return a * b\n", counted, whole, deep, fall])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


# ---- the three ways --------------------------------------------------------------------------------------------------
def point(seed: int) -> tuple[Any, ...]:
    """Where the programs of a seed are differentiated: x and y active, c and n constant."""
    draw = np.random.default_rng(seed)
    return draw.uniform(-1.5, 1.5, SIZE), float(draw.uniform(0.3, 1.5)), draw.uniform(-1.0, 1.0, SIZE), 3


class Group:
    """Several programs in one file; a function that returns all their values is differentiated."""

    def __init__(self, seed: int, numbers: list[int], folder: Path) -> None:
        self.args = point(seed)
        self.numbers = numbers
        generators = [Generator(seed, k) for k in numbers]
        self.sources = [generator.source() for generator in generators]
        self.features = [generator.features for generator in generators]
        calls = ", ".join(f"f_{k}(x, y, c, n)" for k in numbers)
        every = f"@njit\ndef every(x, y, c, n):\n    return ({calls},)\n"
        self.text = "\n\n".join([generators[0].callee(), *self.sources, every])
        path = folder / f"programs_{seed}_{numbers[0]}.py"
        path.write_text(f"import math\n\nimport numpy as np\nfrom numba import int64, njit\n\n\n{self.text}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = self.module  # or else Numba cannot compile recursive functions
        spec.loader.exec_module(self.module)

    def by_tape(self) -> list[Vector]:
        """The gradient of each program in (x, y)."""
        with defer_code():  # as a derivative is compiled
            run = build(request(self.module.every, *self.args, argnums=(0, 1), mode="vjp"))
        n = len(self.numbers)
        bars = [run(self.args, tuple(float(j == k) for j in range(n))) for k in range(n)]
        return [np.array([*x_bar, y_bar]) for x_bar, y_bar in bars]

    def by_records(self, number: int, nudge: int | None = None) -> tuple[float, Vector]:
        """(value, gradient) by the Python copy on object arrays; with `nudge`, at a point one ulp away."""
        x, y, c, n = self.args
        if nudge is not None:
            draw = np.random.default_rng(nudge)
            x = x * (1.0 + draw.choice([-ULP, ULP], SIZE))
            y, c = y * (1.0 + draw.choice([-ULP, ULP])), c * (1.0 + draw.choice([-ULP, ULP], SIZE))
        f = python_twin(getattr(self.module, f"f_{number}"))
        value, (x_bar, y_bar) = contad.value_and_grad(f, (0, 1), engine="records")(x, y, c, n)
        return value, np.array([*x_bar, y_bar])

    def values(self) -> tuple[float, ...]:
        """The values of the programs, as Numba computes them."""
        found: tuple[float, ...] = self.module.every(*self.args)
        return found

    def meaning(self) -> str:
        """The text with what Numba does written out: updates of overlapping parts, casts to declared types."""
        text = self.text
        for written, meant in DECLARED.items():
            group = self.numbers[0] // GROUP
            text = text.replace(written.format(group), meant.format(group))
        lines = text.split("\n")
        for written, meant in OVERLAPS.items():
            pattern = written.split("\n")
            for k in range(len(lines) - len(pattern), -1, -1):
                found = lines[k : k + len(pattern)]
                if [line.strip() for line in found] == pattern:
                    space = found[0][: len(found[0]) - len(found[0].lstrip())]
                    lines[k : k + len(pattern)] = [space + line for line in meant.split("\n")]
        return "\n".join(lines)

    def by_differences(self, number: int) -> Vector | None:
        """The gradient by central differences of mpmath numbers; None at a kink or a jump."""
        names: dict[str, Any] = {"np": Numbers, "math": Numbers, "njit": _njit, "float": lambda v: v, "int64": int}
        exec(self.meaning(), names)
        f, (x, y, c, n) = names[f"f_{number}"], self.args
        given = [mp.mpf(v) for v in (*x, y)]

        def at(k: int, h: Any) -> Any:
            moved = [v + h if j == k else v for j, v in enumerate(given)]
            return f(np.array(moved[:SIZE], object), moved[SIZE], np.array([mp.mpf(v) for v in c], object), n)

        found = []
        with mp.workdps(DIGITS):
            h, here = mp.mpf(10) ** -STEP, at(0, mp.mpf(0))
            for k in range(SIZE + 1):
                above, below = (at(k, h) - here) / h, (here - at(k, -h)) / h
                if abs(above - below) > 1e-9 * (1 + abs(above)):
                    return None
                found.append(float((above + below) / 2))
        return np.array(found)


def _njit(function: Any = None, **options: Any) -> Any:
    return function if callable(function) else lambda f: f


def _elementwise(function: Any) -> Any:
    return lambda *args: np.frompyfunc(function, len(args), 1)(*args)


class Numbers:
    """What the programs use of math and NumPy, on mpmath numbers."""

    sin, cos, tanh, exp, sqrt, log1p, arcsinh, atan, atan2, hypot = map(
        staticmethod,
        map(_elementwise, (mp.sin, mp.cos, mp.tanh, mp.exp, mp.sqrt, mp.log1p, mp.asinh, mp.atan, mp.atan2, mp.hypot)),
    )
    square = staticmethod(lambda v: v * v)
    maximum = staticmethod(_elementwise(max))
    zeros = staticmethod(lambda n: np.array([mp.mpf(0)] * n, object))
    ones_like = staticmethod(lambda v: np.array([mp.mpf(1)] * len(v), object))
    sum, mean, dot, array, prod = np.sum, np.mean, np.dot, np.array, np.prod
    cumprod, sort = np.cumprod, np.sort


# ---- comparison ------------------------------------------------------------------------------------------------------
def compare(group: Group, counts: Counter[str]) -> list[str]:
    """What is wrong with the gradients of a group, with the source."""
    wrong = []
    rows = zip(group.numbers, group.sources, group.features, group.by_tape(), group.values(), strict=True)
    for number, source, features, got, plain in rows:
        try:
            value, expected = group.by_records(number)
        except UnsupportedError:  # its copy met an array of constants only, which cannot take variables
            counts["refused by records"] += 1
            continue
        scale = np.abs(expected).max()
        if not (np.isfinite(expected).all() and abs(value) < LARGEST and SMALLEST < scale < LARGEST):
            counts["discarded"] += 1
            continue
        counts.update(["programs", *features])
        if not abs(value - plain) <= 1e-9 * (1.0 + abs(plain)):
            spread = max(abs(group.by_records(number, k)[0] - value) for k in range(NOISE_RUNS))
            if not abs(value - plain) <= 10.0 * spread:
                wrong.append(f"value {value} by records, {plain} by Numba\n{source}")
        difference = np.abs(got - expected).max()
        if not difference <= RELATIVE * scale:
            nudged = [group.by_records(number, k)[1] for k in range(NOISE_RUNS)]
            spread = max(np.abs(g - expected).max() for g in nudged)
            counts["noisy"] += 1
            if not difference <= 10.0 * spread:
                wrong.append(f"tape {got}, records {expected}, spread {spread}\n{source}")
        if number % 4 == 0:
            reference = group.by_differences(number)
            counts["kinks" if reference is None else "references"] += 1
            if reference is not None and not np.abs(got - reference).max() <= 1e-9 * scale:
                wrong.append(f"tape {got}, differences {reference}\n{source}")
    return wrong


def check(count: int, seed: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """Compare so many programs; counts, and what is wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for start in range(first, first + count, GROUP):
            group = Group(seed, list(range(start, min(start + GROUP, first + count))), Path(folder))
            wrong += compare(group, counts)
    return counts, wrong


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    # Numba keeps what it compiled, so a process takes some hundred programs
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        firsts = range(0, options.count, PER_PROCESS)
        sizes = [min(PER_PROCESS, options.count - first) for first in firsts]
        for found, wrong_ones in pool.map(check, sizes, [options.seed] * len(sizes), firsts):
            counts += found
            wrong += wrong_ones
            print("\n".join(wrong_ones), flush=True)
    print(f"{len(wrong)} mismatches; {dict(counts)}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
