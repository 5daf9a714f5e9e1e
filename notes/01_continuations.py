# %% [markdown]
# # 1. Continuations
#
# *Half an hour. You need Python and the chain rule.*
#
# We want the derivatives of a function that is written as a program. Here is the smallest program that is worth the
# trouble, at the point $x_1 = 10.3$, $x_2 = 1.1$:
#
# $$ y = x_1 \cdot x_2 \cdot 2 + 7 $$
#
# We end with a complete reverse mode in fewer than 80 lines, which agrees with the library number by number.

# %%
import math
import timeit

import contad
import numpy as np
import pictures

# %% [markdown]
# ## What does the chain rule say, step by step?
#
# A program is a list of elementary operations. Following Wengert (1964) we give every value a name of its own,
# $v_1, v_2, \dots$, and never change it again. (The field's notation is that of Griewank & Walther 2008; they count
# the inputs differently.)
#
# **Question.** Before you read on: what is $y$, to two decimals? Do it in your head. (Explanations of this example
# have been printed with another number.)

# %%
v1, v2 = 10.3, 1.1  # x1, x2
v3 = v1 * v2
v4 = v3 * 2
v5 = v4 + 7  # y
print(v3, v4, v5)
assert abs(v5 - 29.66) < 1e-12

# %% [markdown]
# Now derivatives. The *forward* way asks at each step: how fast does $v_k$ change with $x_1$? We write
# $\dot v_k = \partial v_k / \partial x_1$, the *tangent* of $v_k$, and apply the chain rule line by line. The last
# line asks contad: `contad.jvp(f, point, direction)` gives the value and the tangent; and in a later cell the pair in
# `contad.grad(f, (0, 1))` says which arguments are meant.

# %%
v1_dot, v2_dot = 1.0, 0.0  # along x1
v3_dot = v1_dot * v2 + v1 * v2_dot
v4_dot = v3_dot * 2
v5_dot = v4_dot
print("dy/dx1 =", v5_dot)
assert v5_dot == contad.jvp(lambda x1, x2: x1 * x2 * 2 + 7, (10.3, 1.1), (1.0, 0.0))[1]

# %% [markdown]
# That gives the derivative with respect to *one* input. For $x_2$ we have to run it again, with $\dot v_1 = 0$ and
# $\dot v_2 = 1$. A model with a thousand parameters needs a thousand runs.
#
# ## Can one run give all of them?
#
# Turn the question round: how fast does $y$ change with $v_k$? We write $\bar v_k = \partial y / \partial v_k$, the
# *adjoint* of $v_k$. For the last value it is known: $\bar v_5 = 1$. Every operation then tells the adjoints of its
# operands, given the adjoint of its result, so we go through the program **backwards** (Linnainmaa 1970; Speelpenning
# 1980):

# %%
v5_bar = 1.0
v4_bar = v5_bar  # v5 = v4 + 7
v3_bar = v4_bar * 2  # v4 = v3 * 2
v1_bar, v2_bar = v3_bar * v2, v3_bar * v1  # v3 = v1 * v2
print("dy/dx1 =", v1_bar, "  dy/dx2 =", v2_bar)
assert [v1_bar, v2_bar] == list(contad.grad(lambda x1, x2: x1 * x2 * 2 + 7, (0, 1))(10.3, 1.1))

# %% [markdown]
# One run backwards gave both. It would have given a thousand. That is *reverse mode*, and everything that follows is
# about doing it for programs that nobody has written out by hand.

# %%
places = {"v1": (0, 1), "v2": (0, -1), "v3": (1.6, 0), "v4": (3.2, 0), "v5": (4.8, 0)}
arrows = [("v1", "v3", "1.1"), ("v2", "v3", "10.3"), ("v3", "v4", "2"), ("v4", "v5", "1")]
notes = {"v1": "10.3\nbar 2.2", "v2": "1.1\nbar 20.6", "v3": "11.33\nbar 2", "v4": "22.66\nbar 1", "v5": "29.66\nbar 1"}
pictures.draw_graph(places, arrows, notes)
pictures.show(
    "The expression graph. Each arrow carries a partial derivative. Values flow to the right; adjoints ('bar') "
    "flow to the left, multiplied by what the arrow carries, and added up where several arrows leave a node."
)

# %% [markdown]
# ## How can a program remember what to do backwards?
#
# The lines of the backward run are fixed as soon as the forward run has passed: `v4_bar = v5_bar` belongs to the
# sum, `v3_bar = v4_bar * 2` to the second product. So let each operation, when it runs, *leave a function behind*
# that will do its backward line later. A function that says "what is still to be done" is called a
# **continuation**. (Carpenter 2019, "A new continuation-based autodiff by refactoring", on the Stan forums, makes a
# reverse mode of them; Wang and others, 2019, make one of the delimited continuations of functional languages.) In
# Python it is a closure, which captures what it needs: where its operands' adjoints are, and its partial derivatives.
#
# Each value gets an **index** when it is made, 0, 1, 2, ...: the place of its adjoint in one vector. The vector need
# not exist while the program runs: nothing reads an adjoint before the sweep, and only then its length is known. So:
#
# - a **variable** is a pair (value, index) that never changes;
# - an **operation** computes a value, takes the next index, and pushes a continuation; constants have neither;
# - a **sweep** makes a vector of zeros, puts 1 at the index of $y$, and calls the continuations from the newest to
#   the oldest.

# %% tags=["toy"]
class Stack:
    """Continuations, oldest first: the one of the variable with index k stands at place k."""

    def __init__(self):
        self.chain = []

    def push(self, value, continuation):
        self.chain.append(continuation)
        return Var(value, len(self.chain) - 1, self)

    def var(self, value):
        def input_chain(adj):
            """An independent variable passes nothing on."""

        return self.push(float(value), input_chain)

    def sweep(self, y):
        adj = [0.0] * (y.index + 1)
        adj[y.index] = 1.0
        for k in range(y.index, -1, -1):
            self.chain[k](adj)
        return adj


class Var:
    """A value and the place of its adjoint."""

    def __init__(self, value, index, stack):
        self.value, self.index, self.stack = value, index, stack

    def __add__(self, other):
        return operation("add", self.value + value(other), (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        return operation("multiply", self.value * value(other), (self, value(other)), (other, self.value))

    def __sub__(self, other):
        return self + other * -1.0

    __radd__, __rmul__ = __add__, __mul__


def value(x):
    return x.value if isinstance(x, Var) else x


def exp(x):
    z = math.exp(x.value)
    return operation("exp", z, (x, z))


def sin(x):
    return operation("sin", math.sin(x.value), (x, math.cos(x.value)))


def operation(name, z, *operands):
    """Push the continuation of z, given (operand, partial derivative) for each operand."""
    active = [(x.index, partial) for x, partial in operands if isinstance(x, Var)]
    stack = next(x.stack for x, _ in operands if isinstance(x, Var))
    k = len(stack.chain)  # the index that z is about to get

    def chain(adj):
        for i, partial in active:
            adj[i] += adj[k] * partial

    chain.__name__ = f"{name}_chain"
    return stack.push(z, chain)


def grad(f):
    """The function that gives all partial derivatives of f."""

    def gradient(*args):
        stack = Stack()
        xs = [stack.var(x) for x in args]
        adj = stack.sweep(f(*xs))
        return [adj[x.index] for x in xs]

    return gradient


# %% [markdown]
# That is all of it. Does it work, on this program and on one that loops and branches?

# %%
def program(x1, x2):
    return x1 * x2 * 2 + 7


def branching(x, y, sin=sin, exp=exp):
    total = x
    for k in range(5):
        total = total * y + 1.0 if k % 2 else sin(total)
    return total - exp(y) * x


print(grad(program)(10.3, 1.1), grad(branching)(0.4, 0.7))
assert grad(program)(10.3, 1.1) == list(contad.grad(program, (0, 1), engine="closures")(10.3, 1.1))
expected = contad.grad(lambda x, y: branching(x, y, np.sin, np.exp), (0, 1), engine="closures")(0.4, 0.7)
assert np.allclose(grad(branching)(0.4, 0.7), expected, rtol=1e-14)

# %% [markdown]
# The loop and the branch have disappeared: the stack holds what was *done*, in the order in which it was done, and
# the sweep walks back over it. That is why a program may use any of Python's control flow.
#
# ## What is on the stack?
#
# We look at it from inside, by hand, and beside it at contad's own. Its engine `closures` is this notebook, grown up.
# (Python keeps what a function has captured in its `__closure__`. `contad.nested` opens a stack that we can look at;
# in its table a constant stands in brackets.)

# %%
mine = Stack()
x1, x2 = mine.var(10.3), mine.var(1.1)
y = program(x1, x2)
for k, chain in enumerate(mine.chain):
    captured = dict(zip(chain.__code__.co_freevars, (c.cell_contents for c in chain.__closure__ or ()), strict=True))
    print(k, f"{chain.__name__:15}", captured.get("active", ""))

# %%
with contad.nested("closures") as theirs:
    x1_contad, x2_contad = contad.var(10.3), contad.var(1.1)
    y_contad = program(x1_contad, x2_contad)
    contad.gradient(y_contad, [x1_contad, x2_contad])
    print(contad.show_stack())
    their_adjoints = list(theirs.adjoints)

# %% [markdown]
# contad calls places *cells*, and counts from 1: its cell 0 is a sink for constants, which becomes useful in
# notebook 5. Apart from that every number must be the same:

# %%
my_adjoints = mine.sweep(y)
print(my_adjoints)
assert my_adjoints == their_adjoints[1:]

# %% [markdown]
# ## What does a sweep do?
#
# The picture shows the vector of adjoints after each continuation. Read it from top to bottom.

# %%
adj = [0.0] * y.index + [1.0]
rows, marked = [["start", *(f"{d:g}" for d in adj)]], [(0, 5)]
for k in range(y.index, -1, -1):
    before = list(adj)
    mine.chain[k](adj)
    rows.append([mine.chain[k].__name__, *(f"{d:g}" for d in adj)])
    marked += [(len(rows) - 1, j + 1) for j in range(5) if adj[j] != before[j]]
assert adj == my_adjoints
pictures.draw_table(["continuation", *(f"adj[{k}]" for k in range(5))], rows, marked)
pictures.show(
    "The adjoint vector during the sweep. What a continuation has changed is marked. The product of the two "
    "variables writes two adjoints; a constant operand has none to write; inputs pass nothing on."
)

# %% [markdown]
# **Question.** Suppose that after $y$ other variables have been made, $u = y \cdot 3$ say, and then somebody asks
# for the gradient of $y$. Where does the sweep begin: at the top of the stack or at $y$?

# %%
u = y * 3.0
assert mine.sweep(y) == my_adjoints
print("the sweep from y has", len(mine.sweep(y)), "adjoints;", len(mine.chain), "continuations are on the stack")

# %% [markdown]
# At $y$. Its continuation is at the place of its index, nothing newer can have contributed to it, and the vector
# needs no place for what is newer. (If one begins at the top with a vector that ends at $y$, the first newer
# continuation reads beyond its end; accounts of this idea have had that slip.) In contad, too, newer variables have
# the adjoint 0:

# %%
with contad.nested("closures"):
    a = contad.var(10.3)
    b, later = a * 2.0, contad.var(5.0)
    assert contad.gradient(b, [a, later]) == [2.0, 0.0]

# %% [markdown]
# ## Why `+=`?
#
# One variable may be used twice. Each use adds its share to the adjoint; a continuation that *assigns* loses the
# others:

# %%
def assigning(x):
    stack = Stack()
    stack.var(x)  # v, with index 0

    def square_chain(adj):
        adj[0] = adj[1] * x  # for the left operand of v * v
        adj[0] = adj[1] * x  # for the right one

    return stack.sweep(stack.push(x * x, square_chain))[0]


print("assigned:", assigning(3.0), "  right:", grad(lambda v: v * v)(3.0)[0])
assert assigning(3.0) == 3.0 and grad(lambda v: v * v)(3.0) == [6.0] == [contad.grad(lambda v: v * v)(3.0)]

# %% [markdown]
# In contad nobody can make this mistake in a rule, because rules do not touch adjoints at all: they return partial
# derivatives, and only engines add. That is the first of its three laws (`CONTRIBUTING.md` has the others).
#
# ## Why a dense vector?
#
# One could keep the adjoint inside the variable, or in a dictionary. A vector with a place for *every* value has
# three advantages. Variables stay immutable, so they can be shared and swept again. A continuation finds what it
# needs by an index, which is a number and not a pointer, so it can be written to a file, sent to compiled code, or
# drawn as a table. And the sweep's memory is one block, made on demand and given back as a whole. The price is a
# place for values that turn out not to matter.
#
# ## What does it cost?
#
# The work of a sweep is proportional to the number of operations, whatever the number of inputs. That is the *cheap
# gradient principle*: a small multiple of the cost of the function (Griewank & Walther 2008, chapter 3). We count,
# and then we measure.

# %%
def sum_of_squares(*xs):
    return sum(x * x for x in xs)


for n in (10, 100, 1000):
    stack = Stack()
    sum_of_squares(*[stack.var(k / n) for k in range(n)])
    print(f"{n:5} inputs: {len(stack.chain):5} continuations")
    assert len(stack.chain) == n + 2 * n

xs = [k / 1000 for k in range(1000)]
collecting = "import gc; gc.enable()"  # Python's garbage collector, which timeit would switch off
both = grad(sum_of_squares), sum_of_squares
times = [min(timeit.repeat(lambda f=f: f(*xs), collecting, number=1, repeat=7)) for f in both]
ratio = times[0] / times[1]
print(f"a gradient of 1000 inputs costs {ratio:.0f} times the function")

# %% [markdown]
# More than a hundred times the function, for a thousand derivatives; the forward way takes a thousand runs, each much
# dearer than the function. But such a factor is no small multiple: it is what objects and calls cost in Python.
# Notebook 2 takes it apart.
#
# ## What goes wrong?
#
# Our toy believes everything. A variable whose stack is gone, or one that belongs to another stack, can silently give
# wrong numbers: an index fits into any stack that is long enough. The library gives each variable an owner, and says
# what happened:

# %% tags=["raises"]
kept = []


def leaky(x):
    kept.append(x)
    return x * x


contad.grad(leaky)(3.0)
try:
    kept[0] * 2.0
except contad.StaleVariableError as error:
    print(f"StaleVariableError: {error}")

# %% [markdown]
# ## Where this lives
#
# - `contad/engines/closures.py::ClosureStack` is our `Stack`; its `sweep` is ours, with several seeds at once.
# - `contad/engines/closures.py::of_one` and `contad/engines/closures.py::of_two` make its continuations, nested
#   functions like ours. They capture the operands' values, and ask the rule for the partials during the sweep: what is
#   not needed is never computed.
# - `contad/variables/var.py::Var` is our `Var`, with an owner and without arithmetic of its own.
# - `contad/variables/number.py::Number` has the operators; each leads to a rule.
# - `contad/ops/arithmetic.py::multiply` is the rule of the product: the value, and one line of partials.
# - `contad/variables/continuations.py::gradient` is the sweep of this notebook;
#   `contad/transforms/gradients.py::grad` the transform.
# - `contad/variables/continuations.py::make_callback_var` lets you push a variable with a continuation of your own.
#
# ## Exercises
#
# 1. Add division to `Var`. What are its two partials?
# 2. Use `contad.make_callback_var` to write $z = x^3$ with a continuation of your own.
# 3. Our `grad` makes a place for inputs that are never used. How many adjoints of `lambda x, y: x * x` are zero after
#    the sweep, and why is that no waste worth mending?

# %% jupyter={"source_hidden": true}
# 1. z = x / y has the partials 1 / y and -x / y^2 = -z / y
def divide(x, y):
    z = value(x) / value(y)
    return operation("divide", z, (x, 1.0 / value(y)), (y, -z / value(y)))


Var.__truediv__ = divide
assert np.allclose(grad(lambda x, y: x / y)(3.0, 4.0), contad.grad(lambda x, y: x / y, (0, 1))(3.0, 4.0))

# %% jupyter={"source_hidden": true}
# 2. z is pushed as a variable; its continuation reads the adjoint of z and adds to that of x
with contad.nested():
    x = contad.var(2.0)
    z = contad.make_callback_var(x.value**3, lambda z, adj: adj.add(x, adj[z] * 3.0 * x.value**2))
    assert contad.gradient(z, [x]) == [12.0]

# %% jupyter={"source_hidden": true}
# 3. one: that of y. A place is 8 bytes in compiled engines, and nothing has to be looked up to find it.
stack = Stack()
x, y = stack.var(2.0), stack.var(5.0)
assert stack.sweep(x * x) == [4.0, 0.0, 1.0]
