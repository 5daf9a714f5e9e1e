"""Random programs with complex numbers for every engine, against differences of the function itself.

The way "text" runs the generated source as plain Python; the others are engines, forward mode and recorded programs.
Derivatives along random directions, complex ones for complex arguments, are held against central differences; a program
is rejected where differences of two steps disagree.

    python -m tests.random_programs.complex_loops --count 2000 --seed 1
"""

import cmath
import math
import sys
import warnings

import numpy as np
from numba import TypingError, njit

import contad
from contad.errors import LostDerivativeError, UnsupportedError
from tests.engines.source.plain_text import generate
from tests.judges.written import define
from tests.random_programs.searching import run_command

HEAD = "def f(x, v, c, w):\n"
LENGTH = 4
ARGNUMS = (0, 1, 2, 3)


@njit
def unit(z):
    return z / (1.0 + abs(z))


@njit
def turned(z, x):
    if x > 0.3:
        return z * np.exp(1j * x)
    return z.conjugate() - x


class Maker:
    """Makes the statements of one program."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.complex, self.real, self.arrays = ["c", "z1"], ["x"], ["w"]
        self.lines, self.indent = [], 1

    def one_of(self, *ways):
        return ways[self.draw.integers(len(ways))]

    def write(self, line):
        self.lines.append("    " * self.indent + line)

    # ---- expressions -------------------------------------------------------------------------------------------------
    def index(self):
        return self.one_of("0", "1", "2", "3", "-1", *(["k"] * 4 if "k" in self.real else []))

    def number(self, depth=2):
        """A complex number."""
        z, more = lambda: self.number(depth - 1), lambda: self.scalar(depth - 1)
        leaves = (
            lambda: self.one_of(*self.complex), lambda: f"{self.one_of(*self.arrays)}[{self.index()}]",
            lambda: self.one_of("1j", "(0.3 - 0.2j)", "2.0", "PHASE", "TABLE[1]"),
        )  # fmt: skip
        inner = (
            lambda: f"({z()} {self.one_of('+', '-', '*')} {z()})", lambda: f"({more()} * {z()})",
            lambda: f"({z()} {self.one_of('+', '-')} 1j * {more()})", lambda: f"({z()} / (2.5 + unit({z()})))",
            lambda: f"(1.0 / (1.5j + unit({z()})))", lambda: f"complex({more()}, {more()})",
            lambda: f"np.exp(1j * {more()})", lambda: f"{self.one_of('np', 'cmath')}.exp(unit({z()}))",
            lambda: f"{self.one_of('np.sin', 'np.cos', 'cmath.cosh', 'np.sinh', 'np.tanh', 'cmath.tan')}(unit({z()}))",
            lambda: f"{self.one_of('np.sqrt', 'np.log', 'cmath.sqrt', 'cmath.log')}(2.0 + unit({z()}))",
            lambda: f"np.conj({z()})", lambda: f"({z()}).conjugate()",
            lambda: f"(unit({z()}) ** {self.one_of(2, 3, -1)})",
            lambda: f"((2.0 + unit({z()})) ** {self.one_of('1.5', '0.5', '(1 - 0.5j)', more())})", lambda: f"(-{z()})",
            lambda: f"np.sum({self.array(depth - 1)})", lambda: f"np.vdot({self.array(depth - 1)}, {self.array(0)})",
            lambda: f"({z()} if {self.test()} else {z()})", lambda: f"turned({z()}, {more()})",
            lambda: f"np.mean({self.array(depth - 1)})", lambda: f"cmath.rect({more()}, {more()})",
            lambda: f"({self.one_of(*self.arrays)} @ {self.one_of(*self.arrays)})",
        )  # fmt: skip
        return self.one_of(*(inner if depth > 0 else leaves))()

    def scalar(self, depth=2):
        """A real number."""
        z = lambda: self.number(depth - 1)  # noqa: E731
        leaves = (
            lambda: self.one_of(*self.real), lambda: f"v[{self.index()}]", lambda: self.one_of("0.7", "-1.3", "2"),
        )  # fmt: skip
        inner = (
            lambda: f"abs({z()})", lambda: f"np.abs({z()}) ** 2", lambda: f"({z()}).real", lambda: f"({z()}).imag",
            lambda: f"np.angle(1.5 + unit({z()}))", lambda: f"({self.scalar(0)} * {self.scalar(depth - 1)})",
            lambda: f"np.real({z()})", lambda: f"np.sum(np.abs({self.array(depth - 1)}) ** 2)",
            lambda: f"np.linalg.norm({self.one_of(*self.arrays)})", lambda: f"math.cos({self.scalar(depth - 1)})",
            lambda: f"({self.array(depth - 1)}).imag.sum()", lambda: f"cmath.polar({z()})[0]",
        )  # fmt: skip
        return self.one_of(*(inner if depth > 0 else leaves))()

    def array(self, depth=1):
        """A complex array."""
        u = lambda: self.array(depth - 1)  # noqa: E731
        inner = (
            lambda: f"({u()} {self.one_of('+', '-', '*')} {u()})", lambda: f"({self.number(1)} * {u()})",
            lambda: f"(v * {u()})", lambda: "np.exp(1j * v)", lambda: f"np.conj({u()})",
            lambda: f"({u()} / (3.0 + 1j * v))", lambda: "(v + 1j * v[::-1])", lambda: f"({u()} + {self.scalar(1)})",
            lambda: f"np.where(v > 0.1, {u()}, {self.number(1)})", lambda: f"{u()}[::-1]",
            lambda: f"np.cumsum({u()})", lambda: f"np.array([{self.number(0)}, 1.0, {self.number(0)}, c])",
            lambda: f"np.sqrt(4.0 + {self.one_of(*self.arrays)})", lambda: f"{u()} ** 2", lambda: f"({u()}).copy()",
        )  # fmt: skip
        return self.one_of(*inner)() if depth > 0 else self.one_of(*self.arrays)

    def test(self):
        return f"{self.scalar(1)} {self.one_of('<', '>')} {self.one_of('0.2', '0.9', '-0.4')}"

    # ---- statements --------------------------------------------------------------------------------------------------
    def statement(self, depth=2):
        ways = [self.assign_number, self.assign_scalar, self.update, self.write_element, self.write_array, self.swap]
        if depth > 0:
            ways += [lambda: self.branch(depth - 1), lambda: self.loop(depth - 1), lambda: self.sum_up()]
        if self.indent == 1:
            ways += [self.make_array, self.make_array]
        self.one_of(*ways)()

    def assign_number(self):
        names = [x for x in self.complex if x != "c"]
        name = f"z{len(self.complex)}" if self.indent == 1 or not names else self.one_of(*names)
        self.write(f"{name} = unit({self.number()})")
        if name not in self.complex:
            self.complex.append(name)

    def assign_scalar(self):
        if self.indent == 1:
            self.write(f"r{len(self.real)} = math.tanh({self.scalar()})")
            self.real.append(f"r{len(self.real)}")
        else:
            self.write(f"{self.one_of(*self.arrays)}.real[{self.index()}] += 0.1 * {self.scalar(1)}")

    def update(self):
        name = self.one_of(*self.complex)
        self.write(f"{name} {self.one_of('+=', '-=', '*=')} {self.one_of(self.number(1), self.scalar(1))}")
        self.write(f"{name} = unit({name})")

    def write_element(self):
        name = self.one_of(*self.arrays)
        self.write(f"{name}[{self.index()}] {self.one_of('=', '+=', '-=', '*=')} unit({self.number()})")

    def write_array(self):
        name = self.one_of(*self.arrays)
        self.write(self.one_of(
            f"{name}[1:] = {name}[:-1] * {self.number(0)}", f"{name}.imag[:] = v", f"{name} *= unit({self.number(1)})",
            f"{name}[:2] += {self.one_of(*self.arrays)}[2:]", f"{name}[:] = 0.5 * {self.array(1)}",
            f"{name}[ORDER] = {name} * {self.number(0)}", f"{name}[::2] -= 0.2j", f"{name}.real[:] = 0.5 * {name}.real",
            f"{name}[v > 0.2] = {self.number(0)}",
        ))  # fmt: skip

    def make_array(self):
        name = f"u{len(self.arrays)}"
        self.write(f"{name} = {self.one_of(f'0.5 * {self.array(2)}', 'np.zeros(4, np.complex128)', 'w.copy()')}")
        self.arrays.append(name)

    def swap(self):
        a, b = self.one_of(*self.complex), self.one_of(*self.complex)
        self.write(f"{a}, {b} = {b}, unit({a} + {self.number(0)})")

    def block(self, depth, count=2):
        self.indent += 1
        for _ in range(count):
            self.statement(depth)
        self.indent -= 1

    def branch(self, depth):
        self.write(f"if {self.test()}:")
        self.block(depth)
        self.write("else:")
        self.block(depth, 1)

    def loop(self, depth):
        self.write(f"for k in range({self.one_of('4', 'w.size', '1, 4', '3, -1, -1')}):")
        known = list(self.real)
        self.real.append("k")
        self.block(depth)
        if self.one_of(True, False, False):
            self.write(f"    if {self.scalar(1)} > 1.4:")
            self.write(f"        {self.one_of('break', 'continue')}")
        self.real = known

    def sum_up(self):
        """A sum that begins as a real number, or as an integer."""
        name = f"z{len(self.complex)}"
        self.write(f"{name} = {self.one_of('0', '0.0', '0j')}")
        self.write(f"for q in {self.one_of(*self.arrays)}:")
        self.write(f"    {name} {self.one_of('+=', '-=')} q * {self.number(0)}")
        if self.indent == 1:
            self.complex.append(name)

    def source(self):
        """The text of a program."""
        self.write("z1 = 0.5 * c")
        for name in self.one_of((), ("w",), ("w",)):
            self.write(f"{name} = {name}.copy()")
        for _ in range(int(self.draw.integers(3, 8))):
            self.statement()
        names = [*self.complex, *(f"np.sum({u} * {u})" for u in self.arrays)]
        parts = [f"({n}).real - 0.3 * ({n}).imag" for n in names] + [f"0.1 * {r}" for r in self.real]
        return HEAD + "\n".join([*self.lines, f"    return {' + '.join(parts)}"]) + "\n"


def make(seed):
    """The Numba function of a seed, and its arguments."""
    text = Maker(seed).source()
    known = {
        "np": np, "math": math, "cmath": cmath, "unit": unit, "turned": turned, "PHASE": 0.6 + 0.8j,
        "TABLE": np.array([0.1 + 0.2j, -0.5j]), "ORDER": np.array([2, 0, 3, 1]),
    }  # fmt: skip
    draw = np.random.default_rng([seed, 1])
    w = draw.normal(size=LENGTH) + 1j * draw.normal(size=LENGTH)
    args = float(draw.normal()), draw.normal(size=LENGTH), complex(draw.normal(), draw.normal()), w
    return njit(define(text, f"<complex program {seed}>", known)["f"]), args, text


COMPILED = ("generated", "tape")
REFUSING = ("records", "closures", "recorded")  # real elements beside complex ones; what no guard can check


def gradient_by(way, f, args):
    """The function that gives value and gradient of a Numba function in one of the ways."""
    if way == "text":
        return generate(f, args, ARGNUMS)
    if way in COMPILED:
        return contad.value_and_grad(f, ARGNUMS, engine=way)
    if way == "recorded":
        return contad.value_and_grad(contad.record(f.py_func, *args), ARGNUMS)
    if way == "forward":
        return lambda *args: (f.py_func(*copies(args)), _by_forward_mode(f.py_func, args))
    return contad.value_and_grad(f.py_func, ARGNUMS, engine=way)


def copies(args):
    return tuple(np.copy(x) if np.ndim(x) else x for x in args)


def _by_forward_mode(f, args):
    """The gradient, by a tangent for each part of each number."""
    made = []
    for k in ARGNUMS:
        bar = np.zeros(np.shape(args[k]), np.asarray(args[k]).dtype)
        for at in np.ndindex(bar.shape):
            for unit in (1.0, 1j) if np.iscomplexobj(bar) else (1.0,):
                dots = [np.zeros_like(x) if np.ndim(x) else 0.0 * x for x in args]
                e = np.zeros_like(bar)
                e[at] = unit
                dots[k] = e if np.ndim(e) else e.item()
                bar[at] += unit * contad.jvp(f, copies(args), tuple(dots))[1]
        made.append(bar)
    return made


def mismatch(seed, way="text"):
    """What is wrong with the program of a seed; None if nothing is, or if differences do not say."""
    f, args, text = make(seed)
    fresh = lambda: copies(args)  # noqa: E731
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = f.py_func(*fresh())
        except ZeroDivisionError:
            return None
        if not np.isfinite(value):
            return None
        try:
            found, grads = gradient_by(way, f, fresh())(*fresh())
        except ZeroDivisionError:  # of a partial that is not selected, which Python computes all the same
            return None
        except (UnsupportedError, LostDerivativeError) as error:
            if way in REFUSING or (way in COMPILED and not _compiles(f, fresh())):
                return None
            return f"seed {seed}: refused: {error}\n{text}"
        except Exception as error:
            return f"seed {seed}: {type(error).__name__}: {error}\n{text}"
        if not np.isclose(found, value, rtol=1e-9):
            return f"seed {seed}: the value {found} in place of {value}\n{text}"
        draw = np.random.default_rng([seed, 2])
        for k, bar in zip(ARGNUMS, grads, strict=True):
            direction = draw.normal(size=np.shape(args[k]))
            if np.iscomplexobj(args[k]):
                direction = direction + 1j * draw.normal(size=np.shape(args[k]))
            along = float(np.sum(np.conj(bar) * direction).real)
            one, two = (_difference(f.py_func, fresh, k, direction, h) for h in (1e-4, 2e-5))
            size = max(abs(one), abs(two), 1e-3 * abs(value), 1e-6)
            if abs(one - two) > 1e-5 * size:
                return None  # a kink or a decision between them
            if not abs(two - along) <= 2e-5 * size:
                return f"seed {seed}: argument {k}: {along} in place of {two}\n{text}"
    return None


def _compiles(f, args):
    """Whether Numba takes the program: for example, it has no cmath.cosh of a real number."""
    try:
        f(*args)
    except TypingError:
        return False
    return True


def _difference(f, fresh, k, direction, h):
    values = []
    for s in (2 * h, h, -h, -2 * h):
        args = list(fresh())
        args[k] = args[k] + s * direction
        args[k] = args[k] if np.ndim(args[k]) else args[k].item()
        values.append(f(*args))
    return (-values[0] + 8.0 * values[1] - 8.0 * values[2] + values[3]) / (12.0 * h)


if __name__ == "__main__":
    sys.exit(run_command(__doc__, mismatch))
