# %% [markdown]
# # 7. Generated code
#
# *Fifty minutes. It helps to know notebooks 1 and 6.*
#
# A tape writes down, at run time, what a program has done. But the program is there to be *read*. Its derivative can be
# written once, as another program, and compiled: no records, no tape. This is source-to-source differentiation
# (Speelpenning 1980; Griewank & Walther 2008, chapter 6; Innes 2018 for programs in single assignment; Moses & Churavy
# 2020 on the compiler's own form). In notebook 6 its bar stands beside that of the gradient by hand.

# %%
import ast
import inspect
import math
import timeit

import contad
import numpy as np
import pictures
from numba import njit


# %%
def straight(x, y):
    return math.sin(x * y) * x + math.exp(y)


def walk(x, a, n):
    for i in range(n):
        if x > 0.0:
            x = math.sin(x) * a
        else:
            x = x * x - i
    return x


# %% [markdown]
# ## Stage 1: read, and put into single assignment
#
# We read the function's text with Python's own `ast`, and rewrite it so that each statement does one operation, and
# each name is assigned **once**. Why once? Going backwards we need values as they were, and a name that has been
# overwritten no longer tells. Where a loop carries a value from one iteration to the next, the loop says so: *inside*
# an iteration the value has one name, at its *end* another. A branch says which names of its two sides are merged.

# %% tags=["toy"]
class Reader(ast.NodeVisitor):
    """A function as statements: ("let", z, op, args), ("loop", ...) and ("branch", ...), every name assigned once."""

    def __init__(self, function):
        tree = ast.parse(inspect.getsource(function)).body[0]
        self.count, self.out = {}, []
        self.parameters = [argument.arg for argument in tree.args.args]
        self.names = {name: self.fresh(name) for name in self.parameters}
        for statement in tree.body:
            self.visit(statement)

    def generic_visit(self, node):
        raise NotImplementedError(f"line {node.lineno}: {ast.unparse(node)}")

    def fresh(self, name):
        k = self.count[name] = self.count.get(name, 0) + 1
        return name if k == 1 else f"{name}_{k}"

    def let(self, name, op, *args):
        z = self.fresh(name)
        self.out.append(("let", z, op, args))
        return z

    def value(self, node, name="t"):
        """The name of a new value, or of one that is there; a constant is its own text."""
        if isinstance(node, ast.Constant):
            return repr(node.value)
        if isinstance(node, ast.Name):
            return self.names[node.id]
        if isinstance(node, ast.BinOp):
            return self.let(name, OPERATORS[type(node.op)], self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Gt):
            return self.let("test", ">", self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.Call):
            return self.let(name, node.func.attr, *map(self.value, node.args))
        self.generic_visit(node)

    def visit_Assign(self, node):
        name = node.targets[0].id
        z = self.value(node.value, name)
        self.names[name] = z if self.out and self.out[-1][1] == z else self.let(name, "copy", z)

    def visit_Return(self, node):
        self.result = self.let("result", "copy", self.value(node.value))

    def block(self, statements):
        """A block on its own: its statements, and the names after it."""
        before, outer = dict(self.names), self.out
        self.out = []
        for statement in statements:
            self.visit(statement)
        block, after, self.out, self.names = self.out, self.names, outer, before
        return block, after

    def visit_For(self, node):
        n = self.value(node.iter.args[0])
        carried = sorted({x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)})
        carried = [name for name in carried if name in self.names and name != node.target.id]
        starts = {name: self.names[name] for name in carried}
        self.names |= {name: self.fresh(name) for name in carried} | {node.target.id: node.target.id}
        body, after = self.block(node.body)
        self.out.append(("loop", node.target.id, n, [(self.names[c], starts[c], after[c]) for c in carried], body))

    def visit_If(self, node):
        test = self.value(node.test)
        (then, after), (other, after_other) = self.block(node.body), self.block(node.orelse)
        changed = [name for name in self.names if after[name] != after_other[name]]
        merged = [(self.fresh(name), after[name], after_other[name]) for name in changed]
        self.names |= dict(zip(changed, [z for z, _, _ in merged], strict=True))
        self.out.append(("branch", test, then, other, merged))


OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


# %%
for function in (straight, walk):
    pictures.print_statements(Reader(function).out)

# %% [markdown]
# ## Stage 2: write the forward sweep, stage 3: write the reverse sweep
#
# Forwards, the statements are written as they are. Backwards, each `let` becomes a line for each operand,
# `operand_bar += z_bar * partial`, with the partial from a table of rules. A branch is reversed by reversing the side
# that was taken; a loop by reversing its iterations, from the last to the first. Each needs the values that it had. So
# before each we **store** what the loop carries, in `kept`; on the way back we take that, and **recompute** the rest.
# What one iteration ends with the next begins with, so these two have one adjoint, which is handed over.

# %% tags=["toy"]
RULES = {  # the value, and the partial in each operand; z is the result
    "+": ("{0} + {1}", "1.0", "1.0"),
    "-": ("{0} - {1}", "1.0", "-1.0"),
    "*": ("{0} * {1}", "{1}", "{0}"),
    "sin": ("math.sin({0})", "math.cos({0})"),
    "exp": ("math.exp({0})", "{z}"),
    "copy": ("{0}", "1.0"),
    ">": ("{0} > {1}",),
}


def names_in(block):
    """The names that a block and the blocks in it assign."""
    for kind, *parts in block:
        if kind == "let":
            yield parts[0]
        elif kind == "loop":
            yield from (*(inside for inside, _, _ in parts[2]), *names_in(parts[3]))
        else:
            yield from (*names_in(parts[1]), *names_in(parts[2]), *(z for z, _, _ in parts[3]))


def indented(lines):
    return [f"    {line}" for line in lines] or ["    pass"]


def forward(block, keep, store_all=False):
    """The lines that go forwards; where `keep` is true they store, too."""
    lines = []
    for kind, *parts in block:
        if kind == "let":
            z, op, args = parts
            lines.append(f"{z} = {RULES[op][0].format(*args)}")
        elif kind == "loop":
            i, n, carried, body = parts
            kept = [inside for inside, _, _ in carried]
            inner = [f"kept.append({x})" for x in kept if keep] + forward(body, keep=False)
            inner += [f"kept.append({x})" for x in names_in(body) if keep and store_all]
            inner.append(f"{', '.join(kept)} = {', '.join(end for _, _, end in carried)}")
            lines += [f"{inside} = {start}" for inside, start, _ in carried]
            lines += [f"for {i} in range({n}):", *indented(inner)]
        else:
            test, then, other, merged = parts
            lines += [f"if {test}:", *indented(forward(then, keep) + [f"{z} = {x}" for z, x, _ in merged])]
            lines += ["else:", *indented(forward(other, keep) + [f"{z} = {y}" for z, _, y in merged])]
    return lines


def reverse(block, active, store_all=False):
    """The lines that go back; `active` are the names that have an adjoint: not `n`, and not a constant."""
    lines = []
    for kind, *parts in reversed(block):
        if kind == "let":
            z, op, args = parts
            for x, partial in zip(args, RULES[op][1:], strict=False):
                if x in active and z in active:
                    lines.append(f"{x}_bar += {z}_bar * ({partial.format(*args, z=z)})")
        elif kind == "loop":
            i, n, carried, body = parts
            inner = [f"{x} = kept.pop()" for x in reversed([*names_in(body)])] if store_all else []
            inner += [f"{inside} = kept.pop()" for inside, _, _ in reversed(carried)]
            inner += [] if store_all else forward(body, keep=True)
            inner += [f"{x}_bar = 0.0" for x in names_in(body)]
            for inside, _, end in carried:
                inner += [f"{end}_bar += {inside}_bar", f"{inside}_bar = 0.0"]
            inner += reverse(body, active)
            lines += [f"for {i} in range({n} - 1, -1, -1):", *indented(inner)]
            lines += [f"{start}_bar += {inside}_bar" for inside, start, _ in carried if start in active]
        else:
            test, then, other, merged = parts
            sides = [[f"{side[1 + k]}_bar += {side[0]}_bar" for side in merged] for k in (0, 1)]
            lines += [f"if {test}:", *indented(sides[0] + reverse(then, active))]
            lines += ["else:", *indented(sides[1] + reverse(other, active))]
    return lines


def derivative_source(function, wrt, store_all=False):
    """The text of a function that gives the value and the derivatives in the parameters `wrt`."""
    read = Reader(function)
    active = {*wrt, *names_in(read.out)}
    lines = ["kept = [0.0]", *forward(read.out, keep=True, store_all=store_all)]  # 0.0 tells Numba what the list holds
    lines += [f"{x}_bar = 0.0" for x in (*wrt, *names_in(read.out))] + [f"{read.result}_bar = 1.0"]
    lines += reverse(read.out, active, store_all)
    lines.append(f"return {read.result}, ({', '.join(f'{x}_bar' for x in wrt)},)")
    return "\n".join([f"def derivative({', '.join(read.parameters)}):", *indented(lines)])


# %%
print(derivative_source(straight, ["x", "y"]), derivative_source(walk, ["x", "a"]), sep="\n\n")


def compiled(source):
    names = {"math": math}
    exec(source, names)
    return njit(names["derivative"])


examples = [(straight, (0.7, 1.3), "xy"), (walk, (0.5, 1.7, 9), "xa"), (walk, (-0.4, 0.9, 6), "xa")]
for f, args, wrt in examples:
    value, gradient = compiled(derivative_source(f, wrt))(*args)
    expected = contad.value_and_grad(njit(f), (0, 1))(*args)
    print(f.__name__, value, gradient)
    assert value == expected[0] and np.allclose(gradient, expected[1], rtol=1e-12)

# %% [markdown]
# ## Store or recompute?
#
# We might also store *everything* that an iteration computes (the toy can do so for a loop with no loop or branch
# inside), and recompute nothing. The same loop both ways:

# %%
def smooth_walk(x, a, n):
    for i in range(n):
        x = math.sin(x * a) + math.exp(0.0 - x * x) * a
    return x


walked = njit(smooth_walk)
texts = {
    "toy, recompute": derivative_source(smooth_walk, ["x", "a"]),
    "toy, store all": derivative_source(smooth_walk, ["x", "a"], store_all=True),
}
timed = {"the function": walked, "contad": contad.value_and_grad(walked, (0, 1))}
timed |= {name: compiled(text) for name, text in texts.items()}
for name in texts:
    assert np.allclose(timed[name](0.5, 0.8, 50)[1], timed["contad"](0.5, 0.8, 50)[1], rtol=1e-9)
bars = {}
for name, f in timed.items():
    bars[name] = min(timeit.repeat(lambda f=f: f(0.5, 0.8, 20_000), number=1, repeat=40)) / 20_000 * 1e9
numbers = {name: text.count("kept.append") for name, text in texts.items()}
print("numbers stored in an iteration:", numbers)
for name, count in numbers.items():
    print(f"{name}: {8 * count * 20_000 / 1e6:.2f} MB for 20 000 iterations")
pictures.draw_bars(bars, "ns")
pictures.show(
    "Time for one iteration. Recomputing stores one number and evaluates sine and exponential twice; storing "
    "everything moves eight numbers through memory. (Both toys also pay for a list that grows.) The best choice is "
    "between the two, value by value."
)
assert list(numbers.values()) == [1, 8]

# %% [markdown]
# For each loop contad asks: which set of values, if stored, lets everything that the reverse needs be recomputed
# cheaply? An exponential costs more than a load and is stored; a product costs less and is computed again. (The sine
# is not needed backwards: its partial is a cosine.) The cheapest set that separates the two kinds in the graph of the
# iteration is called a *minimum cut*. `contad.explain` tells what it chose:

# %%
print(contad.explain(walked, 0.5, 0.8, 50))

# %% [markdown]
# ## What contad writes
#
# Now you can read it. The program of the beginning:

# %%
print(contad.source(njit(walk), 0.5, 1.7, 9, argnums=(0, 1)).partition("\n\n\n")[2])

# %% [markdown]
# - `work` is one array of floats, memory of the thread that the next call uses again; `top` is the number of those
#   in use. `grow` gives it room for what the whole loop will store, once, before the loop.
# - The sine is stored here, because `a_bar` needs it; the test is not: `x > 0.0` is cheaper to compute again.
# - The adjoint that the loop carries wanders from iteration to iteration. When it is 0, nothing before can matter.
#
# ### A sum: forwards and backwards in one loop
#
# Here the toy would store the total in each iteration. Must anything be stored?

# %%
@njit
def misfit(x, y, a, b):
    s = 0.0
    for i in range(len(x)):
        r = a * x[i] + b - y[i]
        s += r * r
    return s


text = contad.source(misfit, np.arange(5.0), np.ones(5), 2.0, 1.0, argnums=(2, 3))
print(text.partition("\n\n\n")[2])
assert text.count("for ") == 1 and "work" not in text.partition("def run")[2]

# %% [markdown]
# `s = s + t` is special: each term has the adjoint of the total, which is known before the loop runs. It is 1, because
# `s` is what the function returns. So each iteration is reversed as soon as it has run, while its numbers are still in
# their variables. One loop, nothing stored: what one writes by hand.
#
# ### Arrays that change places
#
# An array is large. Must it be copied before each step that writes into it?

# %%
@njit
def diffuse(x, k, steps):
    u = x.copy()
    w = x.copy()
    for _ in range(steps):
        for i in range(1, len(x) - 1):
            w[i] = u[i] * math.exp(-k * u[i - 1])
        u, w = w, u
    return np.sum(u)


print(contad.source(diffuse, np.linspace(0.2, 1.0, 6), 0.3, 4, argnums=(0, 1)).partition("\n\n\n")[2])

# %% [markdown]
# - Every array has an array of adjoints. Arrays are neither saved nor restored (the copies are the user's): what the
#   reverse needs of them is a value that was read, and values are stored or recomputed like numbers.
# - An assignment `w[i] = v` takes the adjoint of the element, gives it to `v`, and clears it. Adjoints of places are
#   what got the swap of notebook 5 wrong. Here they are right, because a read, `t = x[0]`, is a value with an adjoint
#   of its own, `t_bar`, which the place gives up when it is written. There that would have cost a record for each
#   read; in generated code it costs a local variable.
# - `u` and `w` stand for either array. What a name stands for in each step is a small integer.
# - `masked_product(d, p)` is `d * p`, and 0 where the adjoint is 0, even if the partial is not finite: notebook 4.
#
# ## What is refused
#
# A generator must know what it reads. The toy raises on what it does not know. So does contad, with file, line and a
# remedy, and the tape of notebook 6 takes over, at a higher cost. The cell that is wrong on purpose:

# %% tags=["raises"]
@njit
def counted(x):
    seen = [x]
    return seen.pop() * x


try:
    contad.source(counted, 2.0)
except contad.UnsupportedError as error:
    print("UnsupportedError: line", str(error).rpartition("py:")[2])  # the message begins with the file
assert contad.engine_name(counted, args=(2.0,)) == "tape" and contad.grad(counted)(2.0) == 4.0

# %% [markdown]
# ## Where this lives
#
# - `contad/engines/source/reading/frontend.py` and its neighbours read functions, callees and arrays;
#   `contad/engines/source/ir/ssa.py` is the form in which every name is assigned once.
# - `contad/engines/source/planning/store_plan.py` decides what is stored; `contad/engines/source/planning/fuse.py`
#   which loops are reversed at once; `contad/engines/source/analysis/linear.py` knows sums.
# - `contad/engines/source/writing/forward_sweep.py` and `contad/engines/source/writing/reverse_sweep.py` write the
#   two sweeps; `contad/engines/source/runtime/workspace.py` is `work`.
# - `contad/transforms/compiled_code.py::source` and `contad/transforms/compiled_code.py::explain` show it to you.
#
# ## Exercises
#
# 1. Teach the toy `math.log`.
# 2. How many numbers does the recomputing toy store for a loop of $n$ iterations inside a loop of $m$?

# %% jupyter={"source_hidden": true}
# 1. One line
RULES["log"] = ("math.log({0})", "1.0 / {0}")


def entropy(p, q):
    return 0.0 - p * math.log(p) - q * math.log(q)


got = compiled(derivative_source(entropy, ["p", "q"]))(0.2, 0.5)[1]
assert np.allclose(got, [-math.log(0.2) - 1.0, -math.log(0.5) - 1.0])


# %% jupyter={"source_hidden": true}
# 2. m for the outer loop, and n at a time for the inner one: its values are stored when an outer iteration is computed
#    again, and used up before the next. A tape would store m * n.
def twofold(x, m, n):
    for i in range(m):
        for j in range(n):
            x = math.sin(x)
    return x


text = derivative_source(twofold, ["x"])
assert text.count("kept.append") == 2 and text.index("for j") < text.index("kept.pop") < text.rindex("kept.append")
assert math.isclose(compiled(text)(0.5, 3, 4)[1][0], contad.grad(njit(twofold))(0.5, 3, 4), rel_tol=1e-12)
