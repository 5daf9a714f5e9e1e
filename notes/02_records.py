# %% [markdown]
# # 2. Records
#
# *Half an hour. It helps to know notebook 1.*
#
# The closures of notebook 1 are right, and a gradient with them costs a hundred times the function and more. Where does
# the time go? And what can stand in the place of a closure, so that compiled code can run the sweep?

# %%
import gc
import math
import sys
import time
import tracemalloc

import contad
import numpy as np
import pictures
from numba import njit

# %% [markdown]
# ## What is a continuation made of?
#
# This is the continuation of a product $z = x \cdot y$, as in notebook 1:

# %%
def multiply(chain, x, i, y, j):
    k = len(chain)

    def multiply_chain(adj):
        adj[i] += adj[k] * y
        adj[j] += adj[k] * x

    chain.append(multiply_chain)
    return x * y, k


chain = [None, None]
multiply(chain, 10.3, 0, 1.1, 1)
closure = chain[-1]
parts = {"function": closure, "tuple of cells": closure.__closure__}
parts |= {f"cell of {name}": cell for name, cell in zip(closure.__code__.co_freevars, closure.__closure__, strict=True)}
total = sum(map(sys.getsizeof, parts.values()))
for name, part in parts.items():
    print(f"{name:15} {sys.getsizeof(part):4} bytes")
print(f"together        {total:4} bytes, and the numbers themselves")

# %% [markdown]
# Several hundred bytes, in seven objects, for what is really this: *which operation* (a product), *two
# indices* and *two values*. Everything else is there so that Python can call it. The values are known elsewhere,
# too: they are the values of the variables $i$ and $j$.
#
# ## What does it cost in time?
#
# $n$ times $x \leftarrow \sin(x \cdot a)$. The stack is kept, so Python's garbage collector walks over it repeatedly:

# %%
def with_closures(x, a, steps):
    """The value, and the gradient by a sweep over closures."""
    chain = [lambda adj: None, lambda adj: None]
    index = 0
    for _ in range(steps):
        x, index = multiply(chain, x, index, a, 1)
        k, i, slope = len(chain), index, math.cos(x)

        def sin_chain(adj, k=k, i=i, slope=slope):
            adj[i] += adj[k] * slope

        chain.append(sin_chain)
        x, index = math.sin(x), k
    adj = [0.0] * len(chain)
    adj[index] = 1.0
    for continuation in reversed(chain):
        continuation(adj)
    return x, (adj[0], adj[1])


def seconds(f, *args, repeat=5):
    """The least of several runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


STEPS = 20_000
per_operation = {}
per_operation["closures"] = seconds(with_closures, 0.7, 1.3, STEPS) / (2 * STEPS) * 1e9
gc.disable()
per_operation["closures, collector off"] = seconds(with_closures, 0.7, 1.3, STEPS) / (2 * STEPS) * 1e9
gc.enable()
tracemalloc.start()
with_closures(0.7, 1.3, 1000)
bytes_per_operation = tracemalloc.get_traced_memory()[1] / 2000
tracemalloc.stop()
for name, ns in per_operation.items():
    print(f"{name:25} {ns:6.0f} ns for an operation with its gradient")
print(f"memory                    {bytes_per_operation:6.0f} bytes for an operation")
assert 200 < bytes_per_operation < 1000

# %% [markdown]
# The objects cost twice: when they are made, and when the collector visits them.
#
# ## What did continuations replace?
#
# Stan Math began with *one object for each value*: value, adjoint, operands, and a virtual method `chain` that passes
# the adjoint on (Carpenter et al. 2015). Compare `multiply_chain` and `sin_chain`: classes have become closures.

# %%
class Product:
    def __init__(self, value, *operands):
        self.value, self.adjoint, self.operands = value, 0.0, operands

    def chain(self):
        x, y = self.operands
        x.adjoint += self.adjoint * y.value
        y.adjoint += self.adjoint * x.value


class Sine(Product):
    def chain(self):
        self.operands[0].adjoint += self.adjoint * math.cos(self.operands[0].value)


def with_objects(x, a, steps):
    x, a = stack = [Product(x), Product(a)]
    for _ in range(steps):
        stack.append(Product(x.value * a.value, x, a))
        stack.append(x := Sine(math.sin(stack[-1].value), stack[-1]))
    x.adjoint = 1.0
    for node in stack[:1:-1]:
        node.chain()
    return x.value, (stack[0].adjoint, a.adjoint)


assert with_objects(0.7, 1.3, 100) == with_closures(0.7, 1.3, 100)
per_operation["objects"] = seconds(with_objects, 0.7, 1.3, STEPS) / (2 * STEPS) * 1e9
print("objects: {objects:.0f} ns, closures: {closures:.0f} ns for an operation".format(**per_operation))

# %% [markdown]
# Closures are not faster here. The gain is elsewhere: a new operation needs no class, adjoints are a vector that any
# number of sweeps can use, and what a closure captures can be *written down*.
#
# ## What replaces a closure?
#
# A **record**: a few numbers of a fixed size, in one flat array. The continuation's *code* shrinks to a number that
# names the operation, its *captured values* to indices into a second array, which holds the value of every variable:
#
# | field | what it says |
# |---|---|
# | `op` | which operation made the value |
# | `i`, `j` | the indices of its operands |
#
# Record $k$ belongs to value $k$ and adjoint $k$. Nothing in it is a Python object, so the sweep can be compiled.
# There is only one sweep for all programs: it looks at `op`, computes the partials from the *values*, and adds.

# %% tags=["toy"]
INPUT, CONSTANT, ADD, MULTIPLY, SIN, EXP = range(6)


class Records:
    """A flat stream of records (op, i, j), and beside it the value of every variable."""

    def __init__(self):
        self.stream, self.values = [], []

    def push(self, op, i, j, value):
        self.stream.extend((op, i, j))
        self.values.append(value)
        return Var(value, len(self.values) - 1, self)

    def gradient(self, y, xs):
        stream = np.array(self.stream, np.int64).reshape(-1, 3)
        adjoints = np.zeros(len(self.values))
        adjoints[y.index] = 1.0
        sweep(stream, np.array(self.values), adjoints, y.index)
        return [float(adjoints[x.index]) for x in xs]


class Var:
    """A value and its index, as before."""

    __slots__ = ("index", "records", "value")

    def __init__(self, value, index, records):
        self.value, self.index, self.records = value, index, records

    def __add__(self, other):
        other = self.lift(other)
        return self.records.push(ADD, self.index, other.index, self.value + other.value)

    def __mul__(self, other):
        other = self.lift(other)
        return self.records.push(MULTIPLY, self.index, other.index, self.value * other.value)

    def lift(self, other):
        return other if isinstance(other, Var) else self.records.push(CONSTANT, 0, 0, float(other))

    __radd__, __rmul__ = __add__, __mul__


def sin(x):
    return x.records.push(SIN, x.index, 0, math.sin(x.value))


def exp(x):
    return x.records.push(EXP, x.index, 0, math.exp(x.value))


def interpreted_sweep(stream, values, adjoints, top):
    for k in range(top, -1, -1):
        op, i, j, d = stream[k, 0], stream[k, 1], stream[k, 2], adjoints[k]
        if op == ADD:
            adjoints[i] += d
            adjoints[j] += d
        elif op == MULTIPLY:
            adjoints[i] += d * values[j]
            adjoints[j] += d * values[i]
        elif op == SIN:
            adjoints[i] += d * math.cos(values[i])
        elif op == EXP:
            adjoints[i] += d * values[k]


sweep = njit(interpreted_sweep)

# %%
records = Records()
x1, x2 = records.push(INPUT, 0, 0, 10.3), records.push(INPUT, 0, 0, 1.1)
y = x1 * x2 * 2 + 7
gradient = records.gradient(y, [x1, x2])
names = ["input", "constant", "add", "multiply", "sin", "exp"]
for k, (op, i, j) in enumerate(np.array(records.stream).reshape(-1, 3)):
    print(f"{k:2}  {names[op]:9} {i:2} {j:2}   value {records.values[k]:g}")
print(gradient)
assert gradient == list(contad.grad(lambda x1, x2: x1 * x2 * 2 + 7, (0, 1), engine="records")(10.3, 1.1))

# %% [markdown]
# Two records are there for the constants 2 and 7, which nobody differentiates. contad avoids them: its operation "a
# product with a constant" keeps the constant in the record, in the place of the second index:

# %%
with contad.nested("records") as theirs:
    x1, x2 = contad.var(10.3), contad.var(1.1)
    y = x1 * x2 * 2 + 7
    print(contad.show_stack())
    assert theirs.top == 6  # five cells, from 1

# %% [markdown]
# ## What does compiling buy, and what not?
#
# We time the two halves, without compilation: making records, and sweeping them, as Python and compiled.

# %%
def with_records(steps, records):
    x, a = records.push(INPUT, 0, 0, 0.7), records.push(INPUT, 0, 0, 1.3)
    for _ in range(steps):
        x = sin(x * a)
    return x


def sweep_alone(sweep, stream, values, adjoints):
    adjoints[:] = 0.0
    adjoints[-1] = 1.0
    sweep(stream, values, adjoints, len(values) - 1)


records = Records()
with_records(STEPS, records)
arrays = np.array(records.stream).reshape(-1, 3), np.array(records.values), np.zeros(len(records.values))
sweep_alone(sweep, *arrays)  # compiles
assert np.allclose(arrays[2][:2], with_closures(0.7, 1.3, STEPS)[1])
parts = {
    "pushing records from Python": seconds(lambda: with_records(STEPS, Records())),
    "the sweep as Python": seconds(sweep_alone, interpreted_sweep, *arrays),
    "the sweep, compiled": seconds(sweep_alone, sweep, *arrays, repeat=20),
}
for name, time_taken in parts.items():
    print(f"{name:28} {time_taken / (2 * STEPS) * 1e9:7.1f} ns for an operation")

# %% [markdown]
# The compiled sweep, now a loop over an array, is about a hundred times faster than the same lines in Python: all but
# free. But *pushing* is still Python: one method call and one small object for each operation, whatever one records.
# contad pays more than the toy, most of a microsecond: it also checks owners, and packs its lists into arrays.
#
# ## Where are we, in one picture?

# %%
@njit
def by_hand(x, a, steps):
    """The gradient as one would write it: the same arithmetic, with one stored number for each step."""
    kept = np.empty(steps)
    for t in range(steps):
        kept[t] = x
        x = math.sin(x * a)
    x_bar, a_bar = 1.0, 0.0
    for t in range(steps - 1, -1, -1):
        t_bar = x_bar * math.cos(kept[t] * a)
        a_bar += t_bar * kept[t]
        x_bar = t_bar * a
    return x, (x_bar, a_bar)


def loop(x, a):
    for _ in range(STEPS):
        x = np.sin(x * a)
    return x


def ns(f, *args):
    return seconds(f, *args) / (2 * STEPS) * 1e9


assert np.allclose(by_hand(0.7, 1.3, STEPS)[1], with_closures(0.7, 1.3, STEPS)[1])
theirs = {name: contad.grad(loop, (0, 1), engine=name) for name in ("closures", "records")}
for gradient in theirs.values():
    assert np.allclose(gradient(0.7, 1.3), by_hand(0.7, 1.3, STEPS)[1])
bars = {
    "objects, toy": per_operation["objects"],
    "closures, toy": per_operation["closures"],
    "records, toy": (parts["pushing records from Python"] + parts["the sweep, compiled"]) / (2 * STEPS) * 1e9,
    "contad, closures": ns(theirs["closures"], 0.7, 1.3),
    "contad, records": ns(theirs["records"], 0.7, 1.3),
    "C++ tapes (quoted)": 10.0,
    "by hand, compiled": ns(by_hand, 0.7, 1.3, STEPS),
}
pictures.draw_bars(bars, "ns", log=True)
pictures.show(
    "Time for an operation and its gradient. From closures to records the objects go; what is left is Python's "
    "time to push. The two lowest bars record without Python, or not at all: notebooks 6 and 7. C++ tapes are quoted, "
    "from another machine: 5 to 15 ns for an addition or a product, so do not rank that bar against the one below it; "
    "see Carpenter et al. (2015) and Yang (2021). What is left by hand is mostly the sine and the cosine."
)

# %% [markdown]
# ## A stream can be played again
#
# A list of closures has captured the values of one run. A stream of records has not: with other input values, the
# same records can be *evaluated* again, forwards, by a loop like the sweep. No Python runs then. contad calls that
# a recorded program:

# %%
example = contad.record(lambda x, a: np.sin(x * a) * x, 0.7, 1.3)
value, gradient = example.value_and_grad(0.2, 2.0)
print(value, gradient)
assert np.allclose(gradient, contad.grad(lambda x, a: np.sin(x * a) * x, (0, 1))(0.2, 2.0))

# %% [markdown]
# There is a price: a stream has the records of one branch, and at another value a toy would give a wrong number. contad
# records a *guard*, which compares again and stops if the answer is another one. The cell that is wrong on purpose:

# %% tags=["raises"]
huber = contad.record(lambda x: x * x if abs(x) < 1.0 else 2.0 * abs(x) - 1.0, 0.5)
print(huber.gradient(-0.25))
try:
    huber.gradient(3.0)
except contad.GuardError as error:
    print("GuardError:", str(error).partition(" at ")[0], "...")  # the message goes on with file and line

# %% [markdown]
# ## Where this lives
#
# - `contad/engines/stream/record_stream.py::Recording` is our `Records`: numbers go into a list, which is packed into
#   an array every few thousand records, because Python's collector looks at whatever stays in lists.
# - `contad/engines/stream/sweep.py::compile_sweeps` is our `sweep`. It is written by a program, from the rules: each
#   branch of its `if op == ...` holds the body of a rule, so that a derivative is still written once.
# - `contad/engines/stream/sweep.py::operation_code` numbers the operations and their variants.
# - `contad/engines/records.py::RecordStack` is the engine; `contad/engines/stream/record_stream.py::implementation`
#   makes the methods that push.
# - `contad/programs/program.py::Program` is a recorded program.
#
# ## Exercises
#
# 1. Add subtraction without a new operation, and then with one. How many records does `x - 1` take in each?
# 2. Why may the compiled sweep go from newest to oldest in one loop, though it knows nothing of the expression graph?
# 3. Let the toy play its stream again at new inputs.

# %% jupyter={"source_hidden": true}
# 1. x + (-1) * 1 takes four: two constants, a product, a sum. An operation takes two; one with a variant for constants:
with contad.nested("records") as theirs:
    contad.var(3.0) - 1.0
    assert theirs.top == 3

# %% jupyter={"source_hidden": true}
# 2. Operands are older than results: their indices are smaller. So the order of the stream is an order in which every
#    adjoint is complete before it is read.
stream = np.array(records.stream).reshape(-1, 3)
assert all(i < k and j < k for k, (op, i, j) in enumerate(stream) if op not in (INPUT, CONSTANT))


# %% jupyter={"source_hidden": true}
# 3. The same loop, forwards
def replay(stream, values):
    for k, (op, i, j) in enumerate(stream):
        if op == ADD:
            values[k] = values[i] + values[j]
        elif op == MULTIPLY:
            values[k] = values[i] * values[j]
        elif op in (SIN, EXP):
            values[k] = (math.sin if op == SIN else math.exp)(values[i])


short = Records()
with_records(3, short)
values = np.array(short.values)
values[:2] = 0.2, 2.0
replay(np.array(short.stream).reshape(-1, 3), values)
assert values[-1] == math.sin(math.sin(math.sin(0.2 * 2.0) * 2.0) * 2.0)
