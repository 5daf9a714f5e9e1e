"""Random programs as people type them: `math`, arrays that are filled, and functions reached in many ways.

Each is written twice: as it would be typed, and with `np.` for `math.`, `contad.zeros` for `np.zeros` and direct calls,
which need no copies. Both have one derivative.
"""

import random
from types import ModuleType

UNARY = ["sin", "cos", "tanh", "atan", "erf", "exp", "expm1", "cosh", "asinh", "fabs"]
NUMPY = {"atan": "np.arctan", "erf": "contad.erf", "asinh": "np.arcsinh", "fabs": "np.abs"}
REACHED = {
    "by name": "{f}({args})",
    "a partial": "functools.partial({f}, {first})({rest})",
    "a list": "[{f}, None][0]({args})",
    "a table": "TABLE['{f}']({args})",
    "a module": "MODULE.{f}({args})",
    "an inner function": "(lambda: {f}({args}))()",
    "an argument": "call({f}, {args})",
    "by keyword": "by_keyword({args}, f={f})",
    "decorated": "decorate({f})({args})",
    "a method": "OBJECT.{f}({args})",
    "of a new object": "Derived(1.0).{f}({args})",
    "of a base": "Base(0.0).{f}({args})",
    "a class method": "Derived.of_class_{f}({args})",
    "a static method": "Base.static_{f}({args})",
    "an object": "call_method(OBJECT, '{f}', {args})",
    "super()": "Derived(2.0).above_{f}({args})",
    "called": "Derived(0.5)({f}, {args})",
    "a comprehension": "sum([g({args}) for g in ({f},)])",
    "mapped": "next(iter(map({f}, [{first}], [{rest}])))",
    "vectorized": "np.vectorize({f})({args})[()]",
    "an attribute's method": "OWNER.inner.{f}({args})",
    "a list in an object": "OWNER.parts[-1].{f}({args})",
    "a function in an object": "OWNER.table['{f}']({args})",
    "its owner": "OWNER.inner.owner.table['{f}']({args})",
    "an object with slots": "SLOTS.inner.{f}({args})",
    "a named tuple": "PAIR.object.{f}({args})",
    "a method of a tuple": "PAIR.call('{f}', {args})",
    "a namespace": "SPACE.{f}({args})",
    "one object": "same(OWNER.inner, OWNER.parts[0], {f}, {args})",
    "type(self)": "OBJECT.again().{f}({args})",
    "a descriptor": "Described({first}, {rest}).{f}",
    "a context": "in_context({f}, {args})",
    "a plain product": "np.array([[0.0, 1.0]]).dot(np.array([1.0, {f}({args})]))[0]",
}
GIVEN = {"a given table": "given['{f}']({args})", "a given object": "model.{f}({args})"}  # as arguments of main
HEADER = """\
import contextlib
import functools
import math
from math import exp as natural_exp
from types import SimpleNamespace
from typing import NamedTuple

import contad
import numpy as np


def call(f, *args):
    return f(*args)


def same(a, b, f, *args):
    return f(*args) if a is b else 0.0 * args[0]


@contextlib.contextmanager
def given(f, *args):
    z = np.zeros(2)
    z[0] = f(*args)
    yield z


def in_context(f, *args):
    with given(f, *args) as z:
        return z.sum()


def by_keyword(*args, f):
    return f(*args)


def call_method(x, name, *args):
    return getattr(x, name)(*args)


def decorate(f):
    @functools.wraps(f)
    def run(*args, **kwargs):
        return f(*args, **kwargs)
    return run


"""


OWNERS = """
class Owner:
    def __init__(self, *parts):
        self.inner, self.parts, self.table = parts[0], list(parts), dict(TABLE)
        for part in parts:
            part.owner = self

class Slots:
    __slots__ = ("inner",)
    def __init__(self, inner):
        self.inner = inner

class Pair(NamedTuple):
    number: float
    object: Base
    def call(self, name, *args):
        z = np.zeros(1)
        z[0] = TABLE[name](*args)
        return z[0]

class Called:
    def __init__(self, f):
        self.f = f
    def __get__(self, x, cls=None):
        return self.f(*x.args)

OWNER = Owner(Derived(0.25), Base(1.0))
SLOTS = Slots(Derived(1.25))
PAIR = Pair(1.0, Base(2.0))
"""


class Writer:
    """A program from a seed, as `typed` and as `explicit` source, and which ways of reaching functions are in it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ways = set()
        count = self.random.randint(2, 4)
        functions = [self.function(f"f{k}", k) for k in range(count)]
        main = self.main(count)
        self.typed = HEADER + "\n".join(f[0] for f in functions) + self.classes(count) + main[0]
        self.explicit = HEADER + "\n".join(f[1] for f in functions) + "\n" + main[1]

    def pick(self, *choices):
        return self.random.choice(choices)

    def expression(self, names, depth=2):
        """An expression of numbers, twice."""
        kind = self.random.random()
        if depth == 0 or kind < 0.2:
            leaf = self.random.choice(names) if self.random.random() < 0.8 else f"{self.random.uniform(-2.0, 2.0):.2f}"
            return leaf, leaf
        if kind < 0.55:
            a, b = self.expression(names, depth - 1), self.expression(names, depth - 1)
            form = self.pick("({} + {})", "({} - {})", "({} * {})", "({} / (1.5 + {} ** 2))")
            return form.format(a[0], b[0]), form.format(a[1], b[1])
        a = self.expression(names, depth - 1)
        name = self.random.choice(UNARY)
        if name in ("exp", "expm1", "cosh"):
            a = tuple(f"(0.3 * {x})" for x in a)
        typed = "natural_exp" if name == "exp" and self.random.random() < 0.5 else f"math.{name}"
        return f"{typed}({a[0]})", f"{NUMPY.get(name, f'np.{name}')}({a[1]})"

    def function(self, name, earlier):
        """A function of two numbers that returns one, twice."""
        lines = [], []

        def write(typed, explicit=None):
            lines[0].append(typed)
            lines[1].append(typed if explicit is None else explicit)

        names = ["a", "b"]
        make = self.pick("zeros(3)", "ones(3)", "full(3, 0.5)", "empty(3)", "zeros_like(np.arange(3.0))")
        style = self.random.random()
        if style < 0.7:
            start = "0.5" if "full" in make else "1.0" if "ones" in make else "0.0"
            explicit = f"contad.full(3, {start})"
            write(f"c = np.{make}", f"c = {explicit}")
            for k in range(3):
                e = self.expression([*names, *(f"c[{j}]" for j in range(k))])
                write(f"c[{k}] = {e[0]}", f"c[{k}] = {e[1]}")
            if self.random.random() < 0.5:
                e = self.expression(names, 1)
                form = self.pick("c += {}", "c *= {}", "c[1:] -= {}", "c[::2] = c[::2] * {}")
                write(form.format(e[0]), form.format(e[1]))
            names += ["c[0]", "c[1]", "c[2]", "c.sum()", "(c @ c)"]
        if self.random.random() < 0.4:
            e, g = self.expression(names, 1), self.expression(names, 1)
            write(f"if isinstance(a, float) and {e[0]} > 0.1:", f"if {e[1]} > 0.1:")
            write(f"    b = {g[0]}", f"    b = {g[1]}")
        if earlier and self.random.random() < 0.6:
            called = f"f{self.random.randrange(earlier)}"
            e, g = self.expression(names, 1), self.expression(names, 1)
            write("b = 0.5 * " + self.reach(called, e[0], g[0]), f"b = 0.5 * {called}({e[1]}, {g[1]})")
        e = self.expression(names, 3)
        write(f"return {e[0]} + 0.1 * a * b", f"return {e[1]} + 0.1 * a * b")
        return tuple(f"def {name}(a, b):\n    " + "\n    ".join(part) + "\n\n" for part in lines)

    def reach(self, name, first, rest, ways=REACHED):
        way = self.random.choice(list(ways))
        self.ways.add(way)
        return ways[way].format(f=name, first=first, rest=rest, args=f"{first}, {rest}")

    def classes(self, count):
        """What the ways of reaching functions need."""
        base, derived = [], []
        for k in range(count):
            base += [f"    def f{k}(self, a, b):\n        return f{k}(a, b) + self.shift - self.shift",
                     f"    @staticmethod\n    def static_f{k}(a, b):\n        return f{k}(a, b)"]  # fmt: skip
            if self.random.random() < 0.5:
                derived.append(f"    def f{k}(self, a, b):\n        return super().f{k}(a, b)")
            derived += [f"    @classmethod\n    def of_class_f{k}(cls, a, b):\n        return cls(0.0).f{k}(a, b)",
                        f"    def above_f{k}(self, a, b):\n        return super().f{k}(a, b)"]  # fmt: skip
        names = ", ".join(f"'f{k}': f{k}" for k in range(count))
        return (
            "\nclass Base:\n    def __init__(self, shift):\n        self.shift = shift\n" + "\n".join(base)
            + "\n\nclass Derived(Base):\n    def __call__(self, f, *args):\n        return f(*args)\n"
            + "\n".join(derived)
            + "\n    def again(self):\n        return type(self)(0.5)\n"
            + f"\n\nTABLE = {{{names}}}\nOBJECT = Derived(0.25)\n" + OWNERS + self.described(count)
            + f"SPACE = SimpleNamespace({names.replace(chr(39), '').replace(':', ' =')})\n\n"
        )  # fmt: skip

    @staticmethod
    def described(count):
        names = "".join(f"    f{k} = Called(f{k})\n" for k in range(count))
        return f"class Described:\n    def __init__(self, *args):\n        self.args = args\n{names}\n"

    def main(self, count):
        lines = ["total = 0.0"], ["total = 0.0"]
        for _ in range(self.random.randint(2, 4)):
            name = f"f{self.random.randrange(count)}"
            points = ["x[0]", "x[1]", "x[2]"]
            e, g = self.expression(points, 1), self.expression([*points, "total"], 1)
            lines[0].append("total = total + " + self.reach(name, e[0], g[0], REACHED | GIVEN))
            lines[1].append(f"total = total + {name}({e[1]}, {g[1]})")
        if self.random.random() < 0.5:
            lines[0].append("u = np.zeros(4)\n    u[1:] = x\n    u[0] = total\n    return (u * u[::-1]).sum()")
            lines[1].append("u = contad.zeros(4)\n    u[1:] = x\n    u[0] = total\n    return (u * u[::-1]).sum()")
        else:
            lines[0].append("return total + x.sum()")
            lines[1].append("return total + x.sum()")
        return tuple("def main(x, given, model):\n    " + "\n    ".join(part) + "\n" for part in lines)


def run(source):
    """The module of a source, which it knows as MODULE: `main` takes a point, its table and its object."""
    module = ModuleType("a_program")
    module.MODULE = module
    exec(compile(source, "<a program>", "exec"), vars(module))
    return module


def edited(source, sine):
    """The source with other functions, which name `math` or NumPy for a sine."""
    return source.replace(" + 0.1 * a * b\n", f" + 0.2 * a * b + {sine}.sin(b) ** 2\n")


def edit(module, source):
    """Give the functions of a module the code of this source, as IPython's autoreload does."""
    for name, new in vars(run(source)).items():
        if name[0] == "f" and name[1:].isdigit():
            vars(module)[name].__code__ = new.__code__
