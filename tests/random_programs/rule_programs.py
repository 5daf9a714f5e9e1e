"""Random programs with rules of users' that read the memory of what they are given, as C does, at every order.

A program is a few lines of NumPy's functions and rules, written twice: with rules, and with NumPy alone. Derivatives of
the first text, by every engine and at nested orders, are those of the second. A program in which a rule gives complex
numbers is refused in every way.

    python -m tests.random_programs.rule_programs --count 500 --seed 1
"""

import ctypes
import random

import numpy as np

import contad
from contad.engines import engine_names
from contad.errors import ContadError
from tests.random_programs.searching import run_command

POINTER = ctypes.POINTER(ctypes.c_double)


def read(x):
    """What C reads where an array lies; a number, or a variable of an outer level, as it is."""
    assert not (isinstance(x, np.ndarray) and x.dtype == object), "C would take addresses of objects for numbers"
    try:
        place = x.ctypes.data
    except AttributeError:
        return x
    if not x.flags.c_contiguous:
        return read(x.copy())
    return np.ctypeslib.as_array(ctypes.cast(place, POINTER), x.shape).copy()


def by_vjp(value, x_bar, y_bar, factor=1.0):
    """A custom_vjp of the function."""
    f = contad.custom_vjp(lambda x, y: value(read(x), read(y)) * factor)
    f.defvjp(
        lambda x, y: (value(read(x), read(y)) * factor, {"x": x, "y": [y]}),
        lambda s, d: (x_bar(read(d), read(s["x"]), read(s["y"][0])), y_bar(read(d), read(s["x"]), read(s["y"][0]))),
    )
    return f


def by_jvp(value, x_bar, y_bar, factor=1.0):
    """A custom_jvp of the function, whose derivatives are those of element by element."""
    f = contad.custom_jvp(lambda x, y: value(read(x), read(y)) * factor)

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (x_dot, y_dot) = map(read, primals), map(read, tangents)
        return value(x, y) * factor, x_bar(x_dot, x, y) + y_bar(y_dot, x, y)

    return f


def by_gradients(value, x_bar, y_bar, factor=1.0):
    """A call of function_gradients."""
    grads = (lambda z, d, x, y: x_bar(read(d), read(x), read(y)), lambda z, d, x, y: y_bar(read(d), read(x), read(y)))
    return lambda x, y: contad.function_gradients((x, y), lambda x, y: value(read(x), read(y)) * factor, grads)


# value, and what its derivatives make of a cotangent or tangent; and the same as NumPy's functions
FUNCTIONS = {
    "product": (lambda x, y: x * y, lambda d, x, y: d * y, lambda d, x, y: d * x),
    "wave": (lambda x, y: np.sin(x) * y, lambda d, x, y: d * np.cos(x) * y, lambda d, x, y: d * np.sin(x)),
    "decay": (lambda x, y: np.exp(-x * x) + y, lambda d, x, y: -2.0 * d * x * np.exp(-x * x), lambda d, x, y: d * 1.0),
}
MAKERS = {"vjp": by_vjp, "jvp": by_jvp, "gradients": by_gradients}
RULES = {
    f"{name}_by_{how}{suffix}": make(*parts, factor)
    for name, parts in FUNCTIONS.items() for how, make in MAKERS.items()
    for suffix, factor in (("", 1.0), ("_complex", 1.0 + 0.0j))
}  # fmt: skip


@contad.array_rule
def product_by_array_rule(x, y):
    return read(x) * read(y)


@contad.array_rule
def product_by_array_rule_complex(x, y):
    return read(x) * read(y) * (1.0 + 0.0j)


for made in (product_by_array_rule, product_by_array_rule_complex):

    @made.vjp("x")
    def vjp_x(z, z_bar, x, y):
        return z_bar * y

    @made.vjp("y")
    def vjp_y(z, z_bar, x, y):
        return z_bar * x

    @made.jvp
    def push(z, x_dot, y_dot, x, y):
        return x_dot * y + x * y_dot

    RULES[made.__name__] = made

PLAIN = ("np.tanh({0}) * {1}", "{0} + 0.3 * {1}", "{0}[::-1] * 0.7", "np.concatenate(({0}[1:], {1}[:1]))")


class Program:
    """A function of an array of three numbers, in two texts."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.point = np.array([round(r.uniform(0.2, 1.2), 2) for _ in range(3)])
        self.is_complex = r.random() < 0.2
        names, lines, plain = ["x"], [], []
        count = r.randint(1, 3)
        for k in range(count):
            if r.random() < 0.7:
                form = r.choice(PLAIN).format(r.choice(names), r.choice(names))
                lines.append(f"    a{k} = {form}")
                plain.append(lines[-1])
                names.append(f"a{k}")
            suffix = "_complex" if self.is_complex and k == count - 1 else ""
            known = [name for name in RULES if name.endswith("_complex") == bool(suffix)]
            rule = r.choice([*known, *(name for name in 5 * known if "array_rule" in name)])
            given = f"({r.choice(names)}, {r.choice(names)})"
            lines.append(f"    b{k} = {rule}{given}")
            plain.append(f"    b{k} = {rule.partition('_')[0]}{given}")
            names.append(f"b{k}")
        end = f"    return np.sum({names[-1]} * np.array([0.7, -1.3, 0.4]) * x)"
        self.source, self.plain = ("\n".join(["def f(x):", *text, end, ""]) for text in (lines, plain))

    def function(self, text):
        """The function of a text."""
        scope = {"np": np} | RULES | {name: parts[0] for name, parts in FUNCTIONS.items()}
        exec(text, scope)
        return scope["f"]


def derivatives(engine=None):
    """Ways to derivatives of f at x, by name."""
    v = np.array([1.0, -0.5, 2.0])
    grad = lambda f: contad.grad(f, engine=engine)  # noqa: E731
    return {
        "grad": lambda f, x: grad(f)(x),
        "hessian": lambda f, x: contad.hessian(f, engine=engine)(x),
        "jacobian of grad": lambda f, x: contad.jacobian(grad(f), engine=engine)(x),
        "grad of grad": lambda f, x: grad(lambda x: np.sum(np.sin(grad(f)(x))))(x),
        "jvp of grad": lambda f, x: contad.jvp(grad(f), (x,), (v,))[1],
        "third order": lambda f, x: grad(lambda x: np.sum(grad(lambda x: np.sum(grad(f)(x) * v))(x) * v))(x),
    }


FORWARD = {
    "jvp": lambda f, x: contad.jvp(f, (x,), (np.array([1.0, -0.5, 2.0]),))[1],
    "grad of jvp": lambda f, x: contad.grad(lambda x: contad.jvp(f, (x,), (np.array([1.0, -0.5, 2.0]),))[1])(x),
    "record": lambda f, x: contad.grad(contad.record(f, x))(x),
}
WAYS = {f"{way}, {engine}": f for engine in engine_names() for way, f in derivatives(engine).items()} | FORWARD


def mismatch(seed, compiled=False):
    """What is not right, in words."""
    program = Program(seed)
    f, plain, x = program.function(program.source), program.function(program.plain), program.point
    expected = {way: find(plain, x) for way, find in (derivatives() | FORWARD).items()}
    for name, find in WAYS.items():
        try:
            found = np.asarray(find(f, x))
        except ContadError as error:
            if program.is_complex or "a custom_vjp has no forward mode" in str(error):
                continue
            return f"seed {seed}, {name}: {error}\n{program.source}"
        truth = expected[name.partition(",")[0]]
        if program.is_complex or not np.allclose(found, truth, rtol=1e-9, atol=1e-9):
            return f"seed {seed}, {name}: {found.tolist()} for {np.asarray(truth).tolist()}\n{program.source}"
    return None


if __name__ == "__main__":
    run_command(__doc__, mismatch)
