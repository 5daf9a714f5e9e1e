# %% [markdown]
# # 6. The tape
#
# *Forty minutes. It helps to know notebook 2, and to have used Numba.*
#
# In notebook 2 the sweep was compiled and cost next to nothing. What cost the better part of a microsecond for each
# operation was Python, which ran the function and pushed the records. But a function that Numba compiles does not run
# in Python at all. Can *it* push the records?

# %%
import math
import operator
import time

import contad
import numpy as np
import pictures
from numba import njit, types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.extending import intrinsic, lower_cast, make_attribute_wrapper, models, overload, register_model


# %%
@njit
def walk(x, a, steps):
    """The function that we want to differentiate. It knows nothing of derivatives."""
    total = 0.0
    for _ in range(steps):
        x = math.sin(x * a) + 0.1
        total += x * x
    return total


print(walk(0.7, 1.3, 1000))

# %% [markdown]
# ## How does a compiler meet a new kind of number?
#
# Numba compiles a function anew for each combination of argument *types*. `walk(0.7, 1.3, 1000)` is compiled for
# two floats and an integer. If we call it with a type of our own, and tell Numba what `*`, `+` and `math.sin` mean
# on that type, it compiles the same source into a program that pushes records.
#
# Our type is what a variable has been since notebook 1: a value and an index, and here also the tape to push to.
# And since partials can be computed on the spot, in compiled code, we store the **partials** and forget the
# operation: a record is $(p, i, q, j)$, which says "add $p$ times my adjoint to adjoint $i$, and $q$ times it to
# $j$". The sweep need not know a single rule.
#
# Numba has to be told of the type: how it lies in memory (`register_model`), what an attribute is
# (`make_attribute_wrapper`), how a number becomes one (`lower_cast`), and what operators and functions mean for it
# (`overload`: a function of the types gives the function to compile). An `intrinsic` writes machine code directly.

# %% tags=["toy"]
class VariableType(types.Type):
    """The type of (value, cell, tape) in compiled code."""

    def __init__(self):
        super().__init__("Variable")

    def can_convert_from(self, context, other):
        """A number may become a variable: `total = 0.0` is one after `total += x * x`."""
        if isinstance(other, (types.Float, types.Integer)):
            return Conversion.safe


VARIABLE = VariableType()
FIELDS = [("value", types.float64), ("cell", types.int64), ("tape", types.float64[:, ::1])]  # a matrix, row by row


@register_model(VariableType)
class VariableModel(models.StructModel):
    """How it lies in memory: a struct of three fields."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, FIELDS)


for name, _ in FIELDS:
    make_attribute_wrapper(VariableType, name, name)


@intrinsic
def variable(context, value, cell, tape):
    """Put a struct together."""

    def generate(context, builder, signature, args):
        made = cgutils.create_struct_proxy(VARIABLE)(context, builder)
        made.value, made.cell, made.tape = args
        context.nrt.incref(builder, signature.args[2], args[2])  # Numba counts who uses an array: one more
        return made._getvalue()

    return VARIABLE(types.float64, types.int64, types.float64[:, ::1]), generate


@lower_cast(types.Float, VariableType)
@lower_cast(types.Integer, VariableType)
def from_number(context, builder, fromty, toty, value):
    """A constant: its cell is 0 and it has no tape."""
    made = cgutils.create_struct_proxy(toty)(context, builder)
    made.value = context.cast(builder, value, fromty, types.float64)
    return made._getvalue()


@njit
def push(z, p, x, q, y):
    """The variable z, with the partials p in x and q in y. Row 0 of the tape holds the number of records."""
    tape = x.tape if x.cell != 0 else y.tape
    if x.cell == 0 and y.cell == 0:
        return variable(z, 0, tape)
    k = int(tape[0, 0]) + 1
    if k == tape.shape[0]:
        raise MemoryError("the tape is full")
    tape[0, 0] = k
    tape[k, 0], tape[k, 1], tape[k, 2], tape[k, 3] = p, x.cell, q, y.cell
    return variable(z, k, tape)


@njit
def lift(x, like):
    return variable(float(x), 0, like.tape)


def binary(function, rule):
    """Teach Numba an operator on variables, and on a variable and a number."""

    @overload(function)
    def typed(x, y):
        if x == VARIABLE and y == VARIABLE:
            return rule
        if x == VARIABLE and isinstance(y, types.Number):
            return lambda x, y: function(x, lift(y, x))
        if y == VARIABLE and isinstance(x, types.Number):
            return lambda x, y: function(lift(x, y), y)


binary(operator.add, lambda x, y: push(x.value + y.value, 1.0, x, 1.0, y))
binary(operator.iadd, lambda x, y: push(x.value + y.value, 1.0, x, 1.0, y))
binary(operator.mul, lambda x, y: push(x.value * y.value, y.value, x, x.value, y))


@overload(math.sin)
def sin_of_variable(x):
    if x == VARIABLE:
        return lambda x: push(math.sin(x.value), math.cos(x.value), x, 0.0, x)


@njit
def value_and_grad(f, x, a, steps, tape):
    """f and its derivatives in x and a; cells 1 and 2 are theirs."""
    tape[0, 0] = 2
    z = f(variable(x, 1, tape), variable(a, 2, tape), steps)
    adjoint = np.zeros(max(z.cell, 2) + 1)  # f may return x or a itself
    adjoint[z.cell] = 1.0
    for k in range(z.cell, 2, -1):
        d = adjoint[k]
        adjoint[int(tape[k, 1])] += d * tape[k, 0]
        adjoint[int(tape[k, 3])] += d * tape[k, 2]
    return z.value, (adjoint[1], adjoint[2])


# %%
tape = np.zeros((300_000, 4))
print(value_and_grad(walk, 0.7, 1.3, 1000, tape))
print(contad.value_and_grad(walk, (0, 1), engine="tape")(0.7, 1.3, 1000))
value, gradient = value_and_grad(walk, 0.7, 1.3, 1000, tape)
expected = contad.value_and_grad(walk, (0, 1), engine="tape")(0.7, 1.3, 1000)
assert value == expected[0] == walk(0.7, 1.3, 1000) and np.allclose(gradient, expected[1], rtol=1e-12)

# %% [markdown]
# `walk` was not changed, or even looked at: it was compiled a second time. The tape is the stack of continuations
# again. Here are its records for two steps:

# %%
value_and_grad(walk, 0.7, 1.3, 2, tape)
rows = [[k, f"{p:.4g}", int(i), f"{q:.4g}", int(j)] for k, (p, i, q, j) in enumerate(tape[: int(tape[0, 0]) + 1])][3:]
pictures.draw_table(["cell", "p", "i", "q", "j"], rows)
pictures.show(
    "The tape of two steps. Each row says: p times my adjoint goes to cell i, q times it to cell j. Cell 0 is the "
    "sink of constants; cells 1 and 2 are x and a."
)
assert len(rows) == 10

# %% [markdown]
# **Question.** What in `walk` made the first row with $j = 0$ and $q = 1$? And the only one with $i = 0$?
#
# `+ 0.1`. The number was lifted to a variable with cell 0, whose adjoint nobody reads. That is cheaper than a test
# in the sweep. The other is the first `total += x * x`: there `total` is still the number 0. (A function of one
# operand, the sine, has $q = 0$.)
#
# ## What does it cost?

# %%
@njit
def by_hand(x, a, steps):
    kept = np.empty(steps)
    total = 0.0
    for t in range(steps):
        kept[t] = x
        x = math.sin(x * a) + 0.1
        total += x * x
    x_bar, a_bar = 0.0, 0.0
    for t in range(steps - 1, -1, -1):
        following = kept[t + 1] if t + 1 < steps else x
        u_bar = (x_bar + 2.0 * following) * math.cos(kept[t] * a)
        a_bar += u_bar * kept[t]
        x_bar = u_bar * a
    return total, (x_bar, a_bar)


def seconds(f, *args, repeat=15):
    f(*args)  # compiles
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


STEPS = 50_000
OPERATIONS = 5 * STEPS
theirs = {name: contad.value_and_grad(walk, (0, 1), engine=name) for name in ("tape", "generated")}
assert np.allclose(by_hand(0.7, 1.3, STEPS)[1], theirs["tape"](0.7, 1.3, STEPS)[1], rtol=1e-9)
bars = {
    "the function itself": seconds(walk, 0.7, 1.3, STEPS),
    "gradient by hand": seconds(by_hand, 0.7, 1.3, STEPS),
    "contad, generated": seconds(theirs["generated"], 0.7, 1.3, STEPS),
    "contad, tape": seconds(theirs["tape"], 0.7, 1.3, STEPS),
    "our tape": seconds(value_and_grad, walk, 0.7, 1.3, STEPS, tape),
}
bars = {name: t / OPERATIONS * 1e9 for name, t in bars.items()}
pictures.draw_bars(bars, "ns")
pictures.show(
    "Nanoseconds for an operation. contad's tape, pushed from compiled code, costs some nanoseconds for each "
    "operation, about a hundred times less than records pushed from Python. What little separates it from the gradient "
    "by hand is memory: it writes and reads a record for every operation, where one number for each step is enough. "
    "Notebook 7 does without the records."
)

# %% [markdown]
# Why is contad's tape faster than ours? Its variables hold a plain address in place of an array, so that Numba need
# not count users when one is copied; a record has 24 bytes in place of 32; and the sweep keeps the adjoint of the next
# record in a register, because most operations use the result of the one before. Its records and adjoints live in
# memory of the thread, which is kept from one call to the next, so a gradient allocates nothing.
#
# ## What can go wrong?
#
# Our tape has a fixed length. contad's grows, and because a loop can be long it is bounded: by most of the
# machine's memory, or by what you say. The cell that is wrong on purpose:

# %% tags=["raises"]
contad.recover_memory()
contad.set_memory_limit(1_000_000)
try:
    theirs["tape"](0.7, 1.3, STEPS)
except MemoryError as error:
    print("MemoryError:", error)
finally:
    contad.set_memory_limit(None)
assert np.allclose(theirs["tape"](0.7, 1.3, 10)[1], by_hand(0.7, 1.3, 10)[1])

# %% [markdown]
# ## Inside a compiled loop
#
# The gradient is itself a Numba function. So a whole optimiser, or a sampler, runs without Python:

# %%
@njit
def descend(x, a, steps, rate):
    for _ in range(1000):
        slope = contad.grad(walk)(x, a, steps)
        x = x - rate * slope
    return x


lowest = descend(0.7, 1.3, 5, 0.01)
print(lowest, walk(lowest, 1.3, 5))
assert walk(lowest, 1.3, 5) < walk(0.7, 1.3, 5)
assert abs(contad.grad(walk)(lowest, 1.3, 5)) < 0.01 * abs(contad.grad(walk)(0.7, 1.3, 5))

# %% [markdown]
# ## Where this lives
#
# - `contad/engines/tape/variables.py::variable` makes the variables; `contad/engines/tape/variables.py::emit_chain` is
#   our `push`.
# - `contad/engines/tape/operations.py` teaches Numba every rule of the registry, by the same bodies as everywhere.
# - `contad/engines/tape/tape_sweep.py::sweep` is the sweep, and `contad/engines/tape/guard.py::guard` what leaves
#   the tape as it was when the function raises.
# - `contad/memory/arena.py` is the memory of a thread, found by name from compiled code, so that machine code can
#   be kept on disk.
# - `contad/engines/tape/arrays.py` does arrays: one of variables, with NumPy's indexing.
#
# ## Exercises
#
# 1. Teach the toy `math.exp` and subtraction.
# 2. Our `push` returns a variable of cell 0 when both operands are constants. What would go wrong without that?
# 3. How long may `steps` be before the toy's tape is full?


# %% jupyter={"source_hidden": true}
# 1. One line each
@overload(math.exp)
def exp_of_variable(x):
    if x == VARIABLE:
        return lambda x: push(math.exp(x.value), math.exp(x.value), x, 0.0, x)


binary(operator.sub, lambda x, y: push(x.value - y.value, 1.0, x, -1.0, y))


@njit
def decay(x, a, steps):
    return math.exp(x * a - steps)


got = value_and_grad(decay, 0.7, 1.3, 2, tape)
assert np.allclose(got[1], contad.grad(decay, (0, 1))(0.7, 1.3, 2))

# %% jupyter={"source_hidden": true}
# 2. A constant that was cast from a number has no tape at all: pushing to it would write to address 0. And a record
#    that nothing active hangs on is a waste.
assert len(rows) == 10  # five operations for each step: none for constants

# %% jupyter={"source_hidden": true}
# 3. Five records for each step, and rows 0 to 2 are taken
most = (tape.shape[0] - 3) // 5
value_and_grad(walk, 0.7, 1.3, most, tape)
try:
    value_and_grad(walk, 0.7, 1.3, most + 1, tape)
    raise AssertionError("the tape is longer than we think")
except MemoryError as error:
    print(error)
