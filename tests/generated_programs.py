"""Random programs for the engine `generated`: its source, run as plain Python, against the eager engine on objects.

A program is a tree of statements over the grammar that the engine supports. The function is run as it is, by the
engine `records` on object arrays, and by the generated source; every fourth one also by complex steps, which share no
derivative with contad. A failure is shrunk by removing statements while it persists.

    python -m tests.generated_programs --count 20000 --seed 1
    python -m tests.generated_programs --count 100 --seed 1 --compiled
"""

import argparse
import cmath
import collections
import linecache
import math
import operator
import random
import signal
import sys
import warnings
from types import SimpleNamespace

import numba
import numpy as np
from numba import njit

import contad
from contad.dispatcher import python_twin
from contad.engines.generated import build, ir, plan
from contad.engines.generated.derivative import Derivative
from contad.engines.generated.frontend import read
from contad.errors import UnsupportedError
from contad.native.request import Request

KINDS = (ir.Kind("float", 1), ir.Kind("float", 2), ir.FLOAT, ir.FLOAT, ir.Kind("int", 1))
ARGNUMS = (0, 1, 2, 3)
SECONDS = 10
UNLUCKY = ("x_bar", "t_2", "r_t", "s_bar", "base", "work", "top", "u_bar")  # as names of the generated source
# the cost of storing a number, and whether loops are reversed at once: other plans for the same program
VARIANTS = ((0.05, True), (0.05, False), (2.0, False), (1e4, True), (1e4, False))
REDUCTIONS = (
    "np.sum(u * w)", "np.sum(u)", "np.dot(u, x)", "w.sum()", "np.max(u)", "np.mean(q)", "np.sum(np.sin(u) * a)",
    "np.sum(v * v)",
)  # fmt: skip
CALLEES = """\
@njit
def g(y, c):
    if y > c:
        return y * 0.5
    z = math.sin(y) * c
    return z


@njit
def h(v, c, k=1):
    for j in range(len(v)):
        if v[j] > 1.2:
            break
        v[j] = math.tanh(v[j] * c + 0.1 * k)
        if j == 2:
            return c, v[j] * 0.3
    return v[0] * c, c


"""


# ---- programs --------------------------------------------------------------------------------------------------------
class Statement:
    """A line, and for compound statements the block under it and the lines that may follow (else and its block)."""

    def __init__(self, text, body=None, orelse=None):
        self.text, self.body, self.orelse = text, body, orelse

    def lines(self, depth):
        out = ["    " * depth + self.text]
        if self.body is not None:
            out += block_lines(self.body, depth + 1)
        if self.orelse is not None:
            out += ["    " * depth + "else:", *block_lines(self.orelse, depth + 1)]
        return out


def block_lines(block, depth):
    return [line for s in block for line in s.lines(depth)] or ["    " * depth + "pass"]


def source(block):
    """The whole function, callees before it."""
    head = [
        "@njit", "def f(x, m, a, b, idx):", "    n = len(x)", "    s = 0", "    p = 0", "    r = 0.5",
        "    u = x.copy()", "    w = np.zeros(n)", "    q = m.copy()", "    v = u[1:4]",
    ]  # fmt: skip
    tail = [
        "    for z in range(n):",
        "        s += u[z] * w[z] + 0.1 * u[z] + 0.3 * q[z % 3, 1]",
        "    return s + a * b + r",
    ]
    return CALLEES + "\n".join([*head, *block_lines(block, 1), *tail]) + "\n"


class Maker:
    """Makes a random program."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.budget = self.r.choice([6, 12, 24, 30])
        self.names = 0
        self.depth = 0
        self.scalars = ["a", "b", "r", "s"]

    def index(self, ivs):
        r = self.r
        if not ivs or r.random() < 0.15:
            return str(r.choice([0, 1, 2, 3, -1, -2]))
        i = r.choice(ivs)
        return r.choice(
            [i, i, i, f"({i} + {r.randrange(1, 3)}) % n", f"n - 1 - {i}", f"({i} + p) % n", f"idx[{i}]", f"-1 - {i}"]
        )

    def element(self, ivs):
        r = self.r
        if r.random() < 0.2:
            return f"q[{self.index(ivs)} % 3, {self.index(ivs)} % 4]"
        name = r.choice(["x", "u", "w", "u", "w", "v"])
        return f"v[{self.index(ivs)} % 3]" if name == "v" else f"{name}[{self.index(ivs)}]"

    def target(self, ivs):
        found = self.element(ivs)
        return "u" + found[1:] if found.startswith("x") else found

    def expr(self, sc, ivs, d=0):
        r, e = self.r, self.expr
        if d > 2 or r.random() < 0.3:
            c = r.random()
            if c < 0.45:
                return r.choice(sc)
            if c < 0.85:
                return self.element(ivs)
            if c < 0.9 and ivs:
                return f"0.1 * {r.choice(ivs)}"
            return f"{r.uniform(0.2, 1.5):.2f}"
        c = r.random()
        if c < 0.35:
            return f"({e(sc, ivs, d + 1)} {r.choice('+-*')} {e(sc, ivs, d + 1)})"
        if c < 0.42:
            return f"{e(sc, ivs, d + 1)} / (1.5 + abs({e(sc, ivs, d + 1)}))"
        if c < 0.62:
            return f"{r.choice(['math.sin', 'math.cos', 'np.tanh', 'np.arctan', 'math.tanh'])}({e(sc, ivs, d + 1)})"
        if c < 0.67:
            return f"math.sqrt(1.1 + {r.choice(sc)} ** 2)"
        if c < 0.71:
            return f"math.exp(-abs({e(sc, ivs, d + 1)}))"
        if c < 0.75:
            return f"(1.3 + abs({r.choice(sc)})) ** {r.choice(['3', '0.5', '-1', '1.7', '2'])}"
        if c < 0.8:
            return f"g({e(sc, ivs, d + 1)}, {r.choice(sc)})"
        if c < 0.85:
            return f"({e(sc, ivs, d + 1)} if {self.cond(sc, ivs)} else {e(sc, ivs, d + 1)})"
        if c < 0.9:
            return f"{r.choice(['max', 'min'])}({e(sc, ivs, d + 1)}, {e(sc, ivs, d + 1)})"
        if c < 0.94:
            return f"math.tanh({r.choice(REDUCTIONS)})"
        if c < 0.97:
            return f"np.maximum({e(sc, ivs, d + 1)}, {e(sc, ivs, d + 1)})"
        return f"-{e(sc, ivs, d + 1)}"

    def cond(self, sc, ivs):
        r = self.r
        c = f"{self.expr(sc, ivs, 2)} {r.choice(['<', '>'])} {self.expr(sc, ivs, 2)}"
        if ivs and r.random() < 0.3:
            i = r.choice(ivs)
            c = r.choice(
                [
                    f"{i} % {r.randrange(2, 4)} == {r.randrange(2)}",
                    f"{i} < {r.randrange(3)} or {c}",
                    f"not p > 2 and {c}",
                ]
            )
        return c

    def block(self, sc, ivs, loop, n):
        sc, out = list(sc), []
        self.depth += 1
        for _ in range(n):
            if self.budget <= 0:
                break
            self.budget -= 1
            out += self.statement(sc, ivs, loop)
        self.depth -= 1
        return out

    def statement(self, sc, ivs, loop):
        r, S = self.r, Statement
        c = r.random()
        bounded = (lambda e: f"math.tanh({e})") if loop else (lambda e: e)
        if c < 0.22:
            v = r.choice(["a", "b", "r", "s"])
            if r.random() < 0.3:
                self.names += 1
                v = r.choice([f"t{self.names}", *UNLUCKY])
            text = f"{v} = {bounded(self.expr(sc, ivs))}"
            if v not in sc:
                sc.append(v)
            return [S(text)]
        if c < 0.29:
            return [S(f"{r.choice(['a', 'b', 'r', 's'])} {r.choice('+-')}= 0.3 * {self.expr(sc, ivs, 1)}")]
        if c < 0.32:
            i, j = r.sample(["a", "b", "r"], 2)
            return [S(f"{i}, {j} = {j}, {bounded(self.expr(sc, ivs, 1))}")]
        if c < 0.45:
            return [S(f"{self.target(ivs)} = {bounded(self.expr(sc, ivs))}")]
        if c < 0.54:
            return [S(f"{self.target(ivs)} {r.choice('+-')}= 0.2 * {self.expr(sc, ivs, 1)}")]
        if c < 0.56:
            return [S(f"{self.target(ivs)} *= {bounded(self.expr(sc, ivs, 1))}")]
        if c < 0.60:
            return [S(r.choice(["p += 1", "p += 2", "p = 1", "p -= 1"]) if len(ivs) < 2 else "p = 2")]
        if c < 0.63:
            return [S("u, w = w, u")]
        if c < 0.65:
            if self.depth > 1:  # a name that is bound to an array made in a branch or loop is refused
                return [S("v[:] = u[:3]")]
            return [S(r.choice(["v = u[1:4]", "v = w[0:3]", "v = q[1, :3]", "v = q[:, 2]", "v = x[::2].copy()"]))]
        if c < 0.71:
            e = r.choice([
                "u[:] = u * 0.5 + w", "w += 0.1 * u", "w[1:] = u[:-1] * a", "u[1:] = u[:-1] * 0.5", "q *= 0.9",
                "u[:] = np.sin(u) - b", "q[0] = u[:4] * r", "w[:] = np.where(u > w, u, -w)", "u[:] = 0.3",
                "w[:] = np.exp(-u * u) / (1.0 + w * w)", "q[:] = q * u[:4] + 0.1", "w = u * 0.7", "u = np.tanh(u + w)",
                "u = u.copy()", "w = np.zeros_like(u)",
            ])  # fmt: skip
            if self.depth > 1 and e.startswith(("w =", "u =")):
                e = e[0] + "[:]" + e[1:]
            return [S(e)]
        if c < 0.73:
            return [S(f"a, r = h({r.choice(['u', 'w', 'v'])}, {r.choice(sc)}{r.choice(['', ', 2', ', k=3'])})")]
        if c < 0.74:
            return [S("assert s < 1e30"), S("if s > 1e30:", [S("raise ValueError('large')")])]
        if c < 0.86:
            body = self.block(sc, ivs, loop, r.randrange(1, 4)) + self.exit(loop, ivs)
            orelse = self.block(sc, ivs, loop, r.randrange(1, 4)) + self.exit(loop, ivs) if r.random() < 0.5 else None
            return [S(f"if {self.cond(sc, ivs)}:", body, orelse)]
        if len(ivs) >= 3:
            return []
        if r.random() < 0.8:
            i = f"i{len(ivs)}"
            more = [f"range({ivs[-1]})", f"range({ivs[-1]} + 1, n)", f"range({ivs[-1]}, -1, -1)"] if ivs else []
            head = r.choice(
                [
                    "range(n)",
                    "range(n)",
                    "range(n)",
                    "range(1, n)",
                    "range(3)",
                    "range(0, n, 2)",
                    "range(n - 1, -1, -1)",
                    "range(n - 1, 0, -2)",
                    "range(2, 2)",
                    "range(p)",
                    *more,
                ]
            )
            body = self.block(sc, [*ivs, i], True, r.randrange(1, 6)) + self.exit(True, ivs, 0.1)
            return [S(f"for {i} in {head}:", body)]
        if r.random() < 0.4:
            self.names += 1
            e = f"e{self.names}"
            head = r.choice(
                [
                    f"for {e} in u:",
                    f"for {e} in x[1:]:",
                    f"for i{len(ivs)}, {e} in enumerate(w):",
                    f"for {e}, y{e} in zip(u, x):",
                    f"for {e} in idx:",
                ]
            )
            new = [f"i{len(ivs)}"] if "enumerate" in head else [e] if "idx" in head else []
            body = self.block(sc if "idx" in head else [*sc, e], [*ivs, *new], True, r.randrange(1, 4)) + self.exit(
                True, ivs, 0.1
            )
            return [S(head, body)]
        self.names += 1
        k = f"k{self.names}"
        body = [S(f"{k} += 1"), *self.block(sc, ivs, True, r.randrange(1, 5))]
        return [S(f"{k} = 0"), S(f"while {k} < {r.randrange(2, 5)} and {self.cond(sc, ivs)}:", body)]

    def exit(self, loop, ivs, probability=0.25):
        if self.r.random() > probability:
            return []
        c = self.r.random()
        if loop and c < 0.4:
            return [Statement("break")]
        if loop and c < 0.7:
            return [Statement("continue")]
        return [Statement(f"return {self.r.choice(['a', 'b', 'r', 's'])} * 0.5")] if c > 0.9 else []

    def program(self):
        return self.block(self.scalars, [], False, 8)


# ---- running ---------------------------------------------------------------------------------------------------------
class Rejected(Exception):
    """The program proves nothing: it does not run, or sits on a tie."""


def namespace(text, seed, **replaced):
    filename = f"<program {seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names = {"np": np, "math": math, "njit": njit, **replaced}
    exec(compile(text, filename, "exec"), names)
    return names


def arguments(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(5), rng.standard_normal((3, 4)), *rng.standard_normal(2), np.array([3, 0, 4, 1, 1])]


def flat(gradient):
    return np.concatenate([np.ravel(g) for g in gradient])


def grown(work, n):
    return work if n <= len(work) else np.concatenate([work, np.full(max(int(n), 2 * len(work)) - len(work), np.nan)])


def generated(function, args, store=plan.STORE, fuse=True):
    """Value and gradient by the generated source, run as Python; and the source."""
    usual, plan.STORE = plan.STORE, store
    try:
        text = Derivative(read(function, KINDS), ARGNUMS, fuse=fuse).source()
    finally:
        plan.STORE = usual
    names = {}
    exec(compile(text, "<generated>", "exec"), names)
    names.update(workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    args = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    before = [np.copy(x) for x in args]
    value, gradient = names["run"](*args)
    for x, y in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, y)
    return value, flat(gradient), text


def eager(function, args):
    """Value and gradient by the eager engine `records`."""
    value, gradient = contad.value_and_grad(python_twin(function), argnums=ARGNUMS, engine="records")(*args)
    return value, flat(gradient)


def outcome(block, seed, independent=False):
    """None if all agree, else what went wrong; raises Rejected where the program proves nothing."""
    text = source(block)
    names = namespace(text, seed)
    args = arguments(seed)
    plain = namespace(text, seed, njit=lambda f: f)["f"]
    try:
        value = plain(*[np.copy(x) if isinstance(x, np.ndarray) else float(x) for x in args])
    except (ArithmeticError, NameError, ValueError, IndexError) as error:
        raise Rejected(type(error).__name__) from None
    if not math.isfinite(value) or abs(value) > 1e8:
        raise Rejected("large")
    reference_value, reference = eager(names["f"], args)
    for store, fuse in ((plan.STORE, True), VARIANTS[seed % len(VARIANTS)]):
        try:
            got_value, got, _ = generated(names["f"], args, store, fuse)
        except UnsupportedError as error:
            return f"refused: {str(error).split(': ', 2)[-1]}"
        except Exception as error:
            return f"crash {type(error).__name__}: {error}"
        for what, x, y in (("value", got_value, reference_value), ("gradient", got, reference)):
            if not close(x, y):
                if ill_conditioned(names["f"], args, reference):
                    raise Rejected("ill-conditioned")
                return f"wrong {what} (fuse {fuse}, store {store}): {x} for {y}"
    if independent:
        stepped = complex_step(text, seed, args)
        if not close(stepped, reference, 1e-7):
            if ill_conditioned(names["f"], args, reference):
                raise Rejected("ill-conditioned")
            return f"wrong against complex steps: {reference} for {stepped}"
    return None


def close(x, y, tolerance=1e-9):
    return np.all(np.abs(np.asarray(x) - y) <= tolerance * (1.0 + np.max(np.abs(y))))


def ill_conditioned(function, args, reference):
    """Whether a change of the arguments in the last digits changes the gradient: a tie, or a loss of all digits."""
    rng = np.random.default_rng(0)
    nudged = [
        x * (1.0 + 1e-12 * rng.standard_normal(np.shape(x))) if np.asarray(x).dtype.kind == "f" else x for x in args
    ]
    return not close(eager(function, nudged)[1], reference, 1e-9)


# ---- complex steps ---------------------------------------------------------------------------------------------------
class Step:
    """A complex number that is compared by its real part."""

    __slots__ = ("z",)

    def __init__(self, z):
        self.z = z


def lift(f):
    def operation(*args):
        return Step(f(*(x.z if isinstance(x, Step) else complex(x) for x in args)))

    return operation


def compare(f):
    return lambda x, y: f(real(x), real(y))


def real(x):
    return x.z.real if isinstance(x, Step) else x


for _name in ("add", "sub", "mul", "truediv", "pow"):
    _f = getattr(operator, _name)
    setattr(Step, f"__{_name}__", lift(_f))
    setattr(Step, f"__r{_name}__", lift(lambda x, y, f=_f: f(y, x)))
for _name in ("lt", "gt", "le", "ge"):
    setattr(Step, f"__{_name}__", compare(getattr(operator, _name)))
Step.__neg__ = lift(operator.neg)
Step.__abs__ = lift(lambda z: z if z.real > 0.0 else -z)


def complex_step(text, seed, args):
    """The gradient by complex steps."""
    functions = {name: lift(getattr(cmath, name)) for name in ("sin", "cos", "tanh", "exp", "sqrt")}
    vectorised = {name: np.frompyfunc(f, 1, 1) for name, f in functions.items()}
    vectorised["arctan"] = np.frompyfunc(lift(cmath.atan), 1, 1)
    module = SimpleNamespace(
        **vectorised, sum=np.sum, dot=np.dot, max=np.max, mean=np.mean, where=np.where,
        maximum=lambda x, y: x if real(x) > real(y) else y,
        zeros=lambda n: np.full(n, 0.0, object), zeros_like=lambda u: np.full(u.shape, 0.0, object),
    )  # fmt: skip
    f = namespace(text, seed, njit=lambda f: f, math=SimpleNamespace(**functions), np=module)["f"]
    sizes = [np.size(x) for x in args[:4]]
    gradient = []
    for k in range(sum(sizes)):
        step = np.zeros(sum(sizes), complex)
        step[k] = 1e-30j
        parts = np.split(step, np.cumsum(sizes)[:-1])
        given = []
        for x, part in zip(args[:4], parts, strict=True):
            numbers = [Step(complex(v) + d) for v, d in zip(np.ravel(x), part, strict=True)]
            if np.ndim(x):
                array = np.empty(np.size(x), object)
                array[:] = numbers
                given.append(array.reshape(np.shape(x)))
            else:
                given.append(numbers[0])
        y = f(*given, args[4])
        gradient.append(y.z.imag / 1e-30 if isinstance(y, Step) else 0.0)
    return np.array(gradient)


# ---- shrinking -------------------------------------------------------------------------------------------------------
def variants(block):
    """Smaller programs: a statement left out, or replaced by what is under it."""
    for k, s in enumerate(block):
        yield block[:k] + block[k + 1 :]
        if s.body is not None:
            yield block[:k] + s.body + block[k + 1 :]
            for smaller in variants(s.body):
                yield [*block[:k], Statement(s.text, smaller, s.orelse), *block[k + 1 :]]
        if s.orelse is not None:
            yield [*block[:k], Statement(s.text, s.body), *block[k + 1 :]]
            for smaller in variants(s.orelse):
                yield [*block[:k], Statement(s.text, s.body, smaller), *block[k + 1 :]]


def shrink(block, fails):
    """The smallest program found that still fails."""
    while True:
        smaller = next((b for b in variants(block) if fails(b)), None)
        if smaller is None:
            return block
        block = smaller


def kind(result):
    """What a failure has in common with its smaller forms."""
    return result.partition(":")[2][-70:] if result and result.startswith("refused") else result and result[:8]


def attempt(block, seed, independent=False):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return outcome(block, seed, independent)


def shrunk(seed, result):
    """The source of a failing program, shrunk."""

    def fails(block):
        try:
            return kind(attempt(block, seed)) == kind(result)
        except (Rejected, SyntaxError, contad.errors.ContadError):
            return False

    return source(shrink(Maker(seed).program(), fails))


def check(seed):
    """The outcome of one program: None, what went wrong, or "rejected: why"."""
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(SECONDS)
    try:
        return attempt(Maker(seed).program(), seed, independent=seed % 4 == 0)
    except Rejected as error:
        return f"rejected: {error}"
    except TooSlow:
        return "rejected: slow"
    finally:
        signal.alarm(0)


class TooSlow(BaseException):
    """A program took longer than SECONDS."""


def too_slow(*_):
    raise TooSlow


def check_compiled(seed):
    """As `check`, for the compiled source against the source run as Python; small programs only."""
    maker = Maker(seed)
    block = maker.program()
    outcome = check(seed)
    if outcome is not None:
        return outcome
    f = namespace(source(block), seed)["f"]
    args = arguments(seed)
    value, gradient, _ = generated(f, args)
    asked = Request(f.py_func, f, tuple(map(numba.typeof, args)), ARGNUMS, False, "value_and_grad")
    try:
        got_value, got = build(asked)(*args)
    except Exception as error:
        return f"crash compiled: {type(error).__name__}: {str(error)[:300]}"
    same = close(got_value, value, 1e-12) and close(flat(got), gradient, 1e-12)
    return None if same else f"wrong compiled: {flat(got)} for {gradient}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiled", action="store_true", help="compile every program, too")
    parser.add_argument("--show", action="store_true", help="print the program of the seed and its derivative")
    options = parser.parse_args()
    if options.show:
        text = source(Maker(options.seed).program())
        print(text, Derivative(read(namespace(text, options.seed)["f"], KINDS), ARGNUMS).source(), sep="\n")
        return 0
    counts, failures = collections.Counter(), {}
    for seed in range(options.seed, options.seed + options.count):
        result = check_compiled(seed) if options.compiled else check(seed)
        counts["agree" if result is None else kind(result)] += 1
        if (seed + 1 - options.seed) % 1000 == 0:
            print(f"{seed + 1 - options.seed}: {dict(counts)}", flush=True)
        if result is not None and not result.startswith("rejected"):
            failures.setdefault(result[:60], (seed, result))
            print(f"seed {seed}: {result[:100]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()))
    for seed, result in list(failures.values())[:12]:
        print(
            f"\nseed {seed}: {result}\n{shrunk(seed, result)}" if len(failures) < 4 else f"seed {seed}: {result[:150]}"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
