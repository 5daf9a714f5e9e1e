"""Random functions of nested loops, in the statements that derivatives have: what all passes are tried on.

Adjoints of zeros to which loops add, neighbours, tests of ends, sums of triangles, arrays that iterations make, and
functions in inner loops; every index is inside.
"""

import random
import textwrap

import numpy as np

VECTORS, FLOATS = ("u_bar", "v_bar", "v"), frozenset(("s", "t", "c", "d", "e", "f", "g", "h"))
ARRAYS = ("x", "w", "a", "l", "b", "b_2", "b_3", *VECTORS)
HEADS = (
    "range(n)", "range(n)", "range(n)", "range(1, n)", "range(k)", "range(1, k)", "range(n - 1, -1, -1)",
    "range(n - 1, 0, -1)", "range(0, n, 2)",
)  # fmt: skip
TESTS = (
    "i > 0", "i == 0", "i < n - 1", "i + 1 == n", "0 < i", "i != 0", "i == n - 1", "i == 2", "i < n - 2",
    "x[i] > 0.0", "s > c",
)  # fmt: skip


class _Writer:
    """The text of a function."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines = ["def run(x, w, a):", "    n = x.shape[0]", "    m = w.shape[0]", "    k = n - 1"]
        self.line(1, "m_2 = m")
        for name, value in zip("stcdefgh", (0.3, 0.1, 0.2, 0.7, 0.4, 0.8, 0.5, 0.6), strict=True):
            self.line(1, f"{name} = {value}")
        self.line(1, "p = 1")
        self.line(1, "v = np.empty((n,))\nfor i in range(n):\n    v[i] = 0.5 * x[i]")
        self.line(1, "l = np.ones((n + 2, n + 2))")
        for name in self.draw.sample(VECTORS[:2], 2):
            self.line(1, f"{name} = {self.draw.choice(('np.zeros(x.shape)', 'np.zeros((n,))'))}")
            if self.chance(0.2):
                self.line(1, f"{name}[0] += x[-1]")
        for _ in range(self.draw.randint(2, 4)):
            self.draw.choice((self.loop, self.loop, self.loop, self.triangle))(1)
            for _ in range(self.draw.randrange(4)):
                self.line(1, self.draw.choice(("f = 0.5 * s", "f += t", "f = c * f", "f -= h", "s += f")))
        self.line(1, "return s, t, c, d, e, f, g, h, p, u_bar, v_bar, v, l")

    def line(self, depth: int, text: str) -> None:
        self.lines += textwrap.indent(text, "    " * depth).splitlines()

    def chance(self, probability: float) -> bool:
        return self.draw.random() < probability

    # ---- expressions
    def leaf(self, at: tuple[str, ...]) -> str:
        elements = ["x[i]", "v[i]", "x[i]", *(f"x[{place}]" for place in at)] + (["w[j]", "a[j]"] if "j" in at else [])
        elements = [x for x in elements if x != "x[j]"]
        return self.draw.choice((*elements, *"stc", *"stc", f"{self.draw.uniform(0.1, 0.9):.1f}"))

    def value(self, at: tuple[str, ...]) -> str:
        found = f"{self.leaf(at)} {self.draw.choice('+-**')} {self.leaf(at)}"
        return found if self.chance(0.7) else f"0.5 * ({found}) - {self.leaf(at)}"

    def function(self, at: tuple[str, ...]) -> str:
        return f"math.{self.draw.choice(('tanh', 'sin', 'cos', 'atan'))}({self.value(at)})"

    # ---- statements
    def number(self, depth: int, at: tuple[str, ...]) -> None:
        name = self.draw.choice("ssstc")
        value = self.function(at) if self.chance(0.3) else self.value(at)
        if self.chance(0.5):
            self.line(depth, f"{name} {self.draw.choice('+-')}= 0.1 * ({value})")
        else:
            self.line(depth, f"{name} = {self.draw.choice(('0.5 * ' + name, name, '0.3'))} + 0.1 * ({value})")

    def element(self, depth: int, at: tuple[str, ...]) -> None:
        name = self.draw.choice(("u_bar", "u_bar", "v_bar", "v"))
        way = self.draw.choice(("+=", "+=", "+=", "-=", "=")) if name == "v" else self.draw.choice(("+=", "+=", "-="))
        self.line(depth, f"{name}[{self.draw.choice(at)}] {way} {self.value(at)}")

    def neighbours(self, depth: int, at: tuple[str, ...]) -> None:
        for place in self.draw.sample(at, len(at)):
            self.line(depth, f"u_bar[{place}] {self.draw.choice(('+=', '-='))} {self.value(at)}")

    def branch(self, depth: int, at: tuple[str, ...]) -> None:
        test = self.draw.choice(TESTS)
        if self.chance(0.3):
            self.line(depth, f"test = {test}")
            test = "test"
        self.line(depth, f"if {test}:")
        self.draw.choice((self.number, self.element))(depth + 1, at)
        if self.chance(0.3):
            self.line(depth, "else:")
            self.number(depth + 1, at)

    def inner(self, depth: int, at: tuple[str, ...]) -> None:
        if self.chance(0.4):
            self.line(depth, f"{self.draw.choice('de')} = {self.value(at)}")
        self.line(depth, f"for j in {self.draw.choice(('range(m)', 'range(m)', 'range(p)'))}:")
        if self.chance(0.4):
            self.line(depth + 1, f"g = {self.function((*at, 'j'))}")
        for _ in range(self.draw.randint(1, 2)):
            of = self.draw.choice((self.function((*at, "j")), "g", "g * d", "w[j]", "e", self.value((*at, "j"))))
            into = self.draw.choice(("s", "s", "h", "a[j]"))
            self.line(depth + 1, f"{into} {self.draw.choice('+-')}= 0.1 * {of}")
        if self.chance(0.3):
            self.line(depth, f"{self.draw.choice(('d', 'e', 'h', 'a[0]'))} = 0.1 * {self.leaf(at)}")

    def made(self, depth: int, at: tuple[str, ...]) -> None:
        b = self.draw.choice(("b", "b_2", "b_3"))
        choices = ("empty", "empty", "zeros"), ("m", "m", "m_2"), ("m", "m_2")
        make, length, end = map(self.draw.choice, choices)
        self.line(depth, f"{b} = np.{make}(({length},))\nfor j in range({end}):\n    {b}[j] = w[j] * {self.leaf(at)}")
        self.line(depth, f"s += 0.1 * {b}[{self.draw.choice(('0', '-1', 'p - 1'))}]")

    def loop(self, depth: int) -> None:
        head = self.draw.choice(HEADS)
        at: tuple[str, ...] = ("i",)
        if not head.startswith(("range(n)", "range(n - 1, -1", "range(0", "range(k")):
            at = "i", "i - 1"
        if head.startswith(("range(k", "range(1, k")):
            at = (*at, "i + 1")
        if depth == 1 and self.chance(0.15):
            self.line(depth, "for q in range(2):")
            depth += 1
        self.line(depth, f"for i in {head}:")
        parts = [self.number, self.neighbours, self.inner, self.made] + [self.element, self.branch] * 2
        for _ in range(self.draw.randint(1, 4)):
            self.draw.choice(parts)(depth + 1, at)
        if self.chance(0.05):
            self.line(depth + 1, "if s > 3.0:\n    break")

    def triangle(self, depth: int) -> None:
        """A loop in which sums over what came before are waited for."""
        terms = "l[0, j]", "l[i, j]", "l[r, j]", "l[j, r]", "a[j % m]", "l[j, j]"
        self.line(depth, f"for r in range({self.draw.choice('n2')}):\n    for i in range({self.draw.choice('nnk')}):")
        begin = self.draw.choice(("x[i]", "x[i]", "l[r, i]", "l[i, r]", "h"))
        one, other = self.draw.choice(terms), self.draw.choice(terms)
        self.line(depth + 2, f"e = {begin}\nfor j in range(i):\n    e {self.draw.choice('+-')}= 0.1 * {one} * {other}")
        if self.chance(0.3):
            self.line(depth + 2, "if i == r:\n    e += 0.3")
        stored = self.draw.choice(("l[r, i]", "l[r, i]", "l[r, i]", "l[i, r]", "l[r, i + 1]", "h"))
        self.line(depth + 2, f"{stored} = math.sin(e)")


def write(seed: int) -> str:
    """The function of a seed."""
    return "\n".join(_Writer(seed).lines)


def arguments() -> list[tuple[np.ndarray, ...]]:
    """Vectors of several lengths; the last one is that of the second."""
    rng = np.random.default_rng(0)
    sizes = (0, 2), (1, 1), (3, 2), (9, 3), (2, 9)
    return [tuple(rng.uniform(-0.9, 0.9, size) for size in (n, m, m)) for n, m in sizes]
