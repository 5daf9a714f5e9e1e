"""Random hierarchies of classes: methods that call super() in its forms, with and without `math`, mixins and diamonds.

Each is written twice: with `math`, so that some methods run as copies, and with `np.` for it, which needs no copies.
"""

import random

from tests.random_programs.plain_programs import run

HEADER = "import abc\nimport math\nimport numpy as np\n\n"
TERMS = ["math.exp(0.3 * {})", "math.sin({})", "np.cos({})", "{} ** 2", "1.5 * {}", "self.k * {}"]
CERTAIN = ["super().{m}(x)", "super({c}, self).{m}(x)", "super(__class__, self).{m}(x)", "{base}.{m}(self, x)"]
PERHAPS = ["(super().{m}(x) if hasattr(super(), '{m}') else 0.5 * x[1])",
           "getattr(super(), '{m}', lambda x: 0.5 * x[0])(x)"]  # fmt: skip
METHODS = ["first", "second", "third"]
# what every object has
ROOT = """\
    k = 1.25
    def __init__(self, v=np.ones(2)):
        super().__init__()
        self.v = v
    @classmethod
    def make(cls, x):
        return cls(2.0 * x)
    def times(self, k):
        self.v = self.v * k
        return self
    @property
    def value(self):
        return self.v[0] * self.k
    def __call__(self, x):
        return self.value * x[0]
"""
# what a class below others may have, with a choice each
BELOW = {
    "    def __init__(self, v=np.ones(2)):\n        super().__init__(v)\n        self.v = self.v * {}\n":
        ["math.cos(0.5)", "1.5", "self.k"],
    "    k = {}\n": ["0.75", "1.5"],
    "    @classmethod\n    def make(cls, x):\n        made = super().make(x)\n        return made.times({})\n":
        ["2.0", "cls.k", "math.exp(x[0])"],
    "    @property\n    def value(self):\n        return {} * super().value\n":
        ["math.exp(0.1 * self.v[1])", "self.v[1]"],
    "    def __call__(self, x):\n        return super().__call__(x) * {}\n": ["math.cosh(x[1])", "x[1]"],
    "    def __setattr__(self, name, value):\n        super().__setattr__(name, value * {})\n":
        ["math.cos(0.4)", "1.25"],
    "    def __init_subclass__(cls):\n        super().__init_subclass__()\n        cls.k = cls.k * {}\n": ["1.5"],
}  # fmt: skip


class Classes:
    """The classes of a seed, as `typed` and as `explicit` source."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.known = {}
        text = "".join(self.write_class(f"C{k}") for k in range(self.random.randint(2, 5)))
        last = f"C{len(self.known) - 1}"
        uses = [f"{x}.{m}(x)" for m in METHODS for x in (f"{last}(x)", "OBJECT")]
        uses = self.random.sample([*uses, f"{last}.make(x).first(x)", "OBJECT.value * x[0]", "OBJECT(x)"], 3)
        total = " + ".join(f"{self.random.uniform(0.5, 2.0):.2f} * {use}" for use in uses)
        main = self.pick(["total", "total", f"OBJECT.{self.pick(METHODS)}", "OBJECT"])
        made = f"OBJECT = {last}(np.array([0.3, 0.4]))\ndef total(x):\n    return {total}\nmain = {main}\n"
        self.typed = HEADER + text + made
        self.explicit = self.typed.replace("math.", "np.")

    def pick(self, choices):
        return self.random.choice(choices)

    def bases(self):
        """Some of the classes so far, such that Python finds an order for them."""
        names = self.random.sample([*self.known], min(len(self.known), self.pick([0, 1, 1, 2, 2, 3])))
        try:
            type("C", tuple(self.known[name] for name in names), {})
        except TypeError:
            return names[:1]
        return names

    def write_class(self, name):
        bases = self.bases()
        self.known[name] = type(name, tuple(self.known[base] for base in bases), {})
        above = ", ".join(bases) or self.pick(["", "abc.ABC"])
        text = f"class {name}({above}):\n"
        if bases:
            chosen = [x for x in BELOW if self.random.random() < 0.25]
            text += "    pass\n" + "".join(x.format(self.pick(BELOW[x])) for x in chosen)
        else:
            text += ROOT
        for m in METHODS:
            if not bases or self.random.random() < 0.5:
                text += f"    def {m}(self, x):\n        return {self.expression(name, m, bases)}\n"
        return text + "\n"

    def expression(self, name, method, bases):
        term = self.pick(TERMS).format(self.pick(["x[0]", "x[1]", "self.v[0]", "self.v[1]"]))
        if self.random.random() < 0.4:
            return term
        call = self.pick(CERTAIN if bases and self.random.random() < 0.7 else PERHAPS)
        call = call.format(m=method, c=name, base=self.pick(bases or [""]))
        return f"{call} {self.pick(['+', '-', '*'])} {term}"


def modules(seed):
    """The modules of a seed, as typed and as explicit."""
    written = Classes(seed)
    return run(written.typed), run(written.explicit)
