# %% [markdown]
# # 5. Matrices
#
# *Forty minutes. It helps to know notebooks 1 and 2.*
#
# Numerical programs are about arrays. How should an array carry derivatives: as an array of variables, or as one
# variable that is an array? And what happens when a program writes into it?

# %%
import time
import tracemalloc

import contad
import numpy as np
import pictures

# %% [markdown]
# ## A matrix of variables, or a variable matrix?
#
# NumPy can hold objects, so an array of the scalar variables of notebook 1 is at hand. Everything works at once:
# slicing, transposing, even `@`, which multiplies and adds variables one by one. The other choice is *one* variable
# that stands for the whole array, with one continuation for a whole product. We measure $\sum (A B)^2$ at four
# sizes.

# %%
def of_variables(a, b):
    """The same function on arrays of scalar variables."""
    z = contad.to_matvar(a) @ contad.to_matvar(b)
    return np.sum(z * z)


def variable(a, b):
    z = a @ b
    return np.sum(z * z)


def seconds(f, *args, repeat=3):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def megabytes(f, *args):
    contad.recover_memory()
    tracemalloc.start()
    f(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


rng = np.random.default_rng(1)
sizes = [4, 8, 16, 32]
times, memory = {"matrix of variables": [], "variable matrix": []}, {"matrix of variables": [], "variable matrix": []}
for n in sizes:
    a, b = rng.normal(size=(2, n, n))
    for name, f in (("matrix of variables", of_variables), ("variable matrix", variable)):
        gradient = contad.grad(f, (0, 1))
        times[name].append(seconds(gradient, a, b) * 1e6)
        memory[name].append(megabytes(gradient, a, b))
    assert np.allclose(contad.grad(of_variables)(a, b), contad.grad(variable)(a, b), rtol=1e-12)
pictures.draw_lines(sizes, times, "rows of the matrix", "microseconds")
pictures.show(
    "A product with its gradient. With a matrix of variables n³ products and nearly as many sums are recorded, each as "
    "an object; a variable matrix records one operation, whose continuation is two products of matrices."
)
pictures.draw_lines(sizes, memory, "rows of the matrix", "MiB")
pictures.show("The memory that each takes at its highest: it grows with n³ records, or with n² numbers.")
for name in times:
    print(f"{name:20} {times[name][-1]:10.0f} us, {memory[name][-1]:7.2f} MiB at {sizes[-1]} rows")
assert memory["matrix of variables"][-1] > 5 * memory["variable matrix"][-1]

# %% [markdown]
# The continuation of $Z = A B$ is known in closed form (Giles 2008): $\bar A \mathrel{+}= \bar Z B^T$ and
# $\bar B \mathrel{+}= A^T \bar Z$. So the variable matrix wins wherever whole arrays are used.
#
# But then, what is `z[0, 1]`? If $Z$ is one variable with one adjoint array, an element of it is a *new* variable
# that has to be made by an operation, with a continuation that adds into one place. A loop over elements would
# record one operation for each read. C++ libraries make their users choose: cheap elements, or cheap algebra.
#
# ## Cells
#
# There is a way out, and it comes from notebook 1: an adjoint is a *place in one dense vector*. Call such a place a
# **cell**. A scalar variable has one. An array variable has one for each element, and what makes it an array is
# that we know them all:
#
# $$ \text{array variable} = (\text{values}, \text{cells}), \quad \text{two ndarrays of one shape.} $$
#
# Then an element is (value, cell), read from the two. Nothing is recorded and nothing is new. A slice is a slice of
# both.

# %% tags=["toy"]
class Stack:
    """Continuations, and the number of cells that have been issued. Cell 0 is a sink for constants."""

    def __init__(self):
        self.chain, self.top = [], 1

    def array(self, values):
        """A new variable with fresh cells."""
        values = np.array(values, float)
        cells = np.arange(self.top, self.top + values.size).reshape(values.shape)
        self.top += values.size
        return Array(self, values, cells)

    def gradient(self, y, x_cells):
        """The adjoints of some cells. A place in the chain is no cell, so the sweep does not know where y's begin."""
        adj = np.zeros(self.top)
        adj[y.cells] = 1.0
        for continuation in reversed(self.chain):  # from the top: adj has places for what is newer than y, all 0
            continuation(adj)
            adj[0] = 0.0  # the sink is emptied
        return adj[x_cells]


class Array:
    def __init__(self, stack, values, cells):
        self.stack, self.values, self.cells = stack, values, cells

    def __getitem__(self, key):
        """A view of values and cells. No record."""
        return Array(self.stack, self.values[key], self.cells[key])

    def __setitem__(self, key, new):
        """The element becomes another variable: its value and its cell. No record either."""
        self.values[key] = new.values if isinstance(new, Array) else new
        self.cells[key] = new.cells if isinstance(new, Array) else 0

    @property
    def T(self):
        return Array(self.stack, self.values.T, self.cells.T)

    def copy(self):
        """A scalar that was read is (value, cell), as it is now; NumPy's scalars are copies, too."""
        return Array(self.stack, self.values.copy(), self.cells.copy())

    def __mul__(self, other):
        x, y = self.copy(), other.copy() if isinstance(other, Array) else other
        z = self.stack.array(x.values * (y.values if isinstance(y, Array) else y))

        def multiply_chain(adj):
            d = adj[z.cells]
            np.add.at(adj, x.cells, d * (y.values if isinstance(y, Array) else y))  # += at every cell of x
            if isinstance(y, Array):
                np.add.at(adj, y.cells, d * x.values)

        self.stack.chain.append(multiply_chain)
        return z

    def sum(self):
        x = self.copy()
        z = self.stack.array(x.values.sum())

        def sum_chain(adj):
            np.add.at(adj, x.cells, adj[z.cells])

        self.stack.chain.append(sum_chain)
        return z


# %%
stack = Stack()
x = stack.array([[1.0, 2.0], [3.0, 4.0]])
column, row, element = x.T[1], x[1], x[1, 1]
print("cells of x:", x.cells.tolist(), " of its column 1:", column.cells, " row 1:", row.cells)
print("the cell of x[1, 1]:", element.cells)
print("records:", len(stack.chain))
y = (column * row).sum()
gradient = stack.gradient(y, x.cells)
print(gradient)
assert gradient.tolist() == contad.grad(lambda x: np.sum(x.T[1] * x[1]))(x.values).tolist()

# %% [markdown]
# contad does the same, and counts:

# %%
with contad.nested() as level:
    x = contad.var(np.arange(12.0).reshape(3, 4))
    top = level.top
    views = [x[1], x[:, 2], x.T, x[::-1, 1:3], x[2, 3], np.diagonal(x)]
    assert level.top == top
    print(len(views), "views,", level.top - top, "new cells")

# %% [markdown]
# An ordinary array variable does not even store its cells: they are consecutive, so an offset and a shape say it
# all. It keeps an array of cells only from the first write on.
#
# ## Writing in place
#
# Now the hard question. A program writes `x[k] = v`. The old value may be needed by continuations that are already
# on the stack; the new one has derivatives of its own.
#
# A scheme that comes to mind: place $k$ of the array keeps *one* adjoint, whatever is in it. The assignment pushes a
# continuation which, on the way back, hands the adjoint of place $k$ to $v$, clears it, and *restores* the old value.
# Undo everything in the reverse order, and all is as it was. Let us try it on a small program: a swap.

# %%
class Restoring:
    """An array in which element k has adjoint k, whatever is in it at the moment."""

    def __init__(self, values):
        self.values, self.chain = list(values), []

    def read(self, k):
        return self.values[k], k  # (value, place of the adjoint): reading is free

    def write(self, k, new):
        value, place = new
        old = self.values[k]
        self.values[k] = value

        def assign_chain(adj):
            self.values[k] = old
            d, adj[k] = adj[k], 0.0
            adj[place] += d

        self.chain.append(assign_chain)

    def gradient(self, seeds):
        adj = list(seeds)
        for continuation in reversed(self.chain):
            continuation(adj)
        return adj


def swap(x, read, write):
    t = read(x, 0)
    write(x, 0, read(x, 1))
    write(x, 1, t)


x = Restoring([10.0, 20.0])
swap(x, Restoring.read, Restoring.write)
restored = x.gradient([3.0, 5.0])  # of 3 x[0] + 5 x[1], after the swap
print("values after the swap:", x.values, "restored by the sweep;  gradient", restored)

# %% [markdown]
# **Question.** What should the gradient be?
#
# After the swap $3 x_0 + 5 x_1$ is $5$ times the first input and $3$ times the second: $(5, 3)$. The scheme says
# $(0, 8)$. Both values came back, but both adjoints went to one input. `t` remembers "place 0", but when its adjoint
# comes there, place 0 belongs to what was written into it after `t` was read, and the 5 is added to the 3 of that one.
# To avoid this, reading would have to copy, with a record for each read.
#
# ## Cells are written once
#
# With cells nothing is restored, because nothing is ever overwritten *in the adjoint vector*: a cell belongs to one
# value for ever. An assignment changes which cell an element **has**.

# %%
stack = Stack()
x = stack.array([10.0, 20.0])
original = x.cells.copy()
print("at first      cells", x.cells, "values", x.values)
t = x[0].copy()
x[0] = x[1]
print("x[0] = x[1]   cells", x.cells, "values", x.values)
x[1] = t
print("x[1] = t      cells", x.cells, "values", x.values)
y = (x * np.array([3.0, 5.0])).sum()
gradient = stack.gradient(y, original)
print("gradient", gradient, " records:", len(stack.chain))


def swapped(x):
    t = x[0]
    x[0] = x[1]
    x[1] = t
    return 3.0 * x[0] + 5.0 * x[1]


assert gradient.tolist() == [5.0, 3.0] == contad.grad(swapped)(np.array([10.0, 20.0])).tolist()
assert restored == [0.0, 8.0]

# %% [markdown]
# The two elements have exchanged their cells, as they have exchanged their values. Other writes do the same:

# %%
x = stack.array([1.0, 2.0, 3.0, 4.0, 5.0])
steps = [("at first", x.cells.copy())]
x[1] = 7.0
steps.append(("x[1] = 7.0", x.cells.copy()))
x[2:4] = x[3:5].copy()
steps.append(("x[2:4] = x[3:5]", x.cells.copy()))
x[0] = x[4] * x[4]
steps.append(("x[0] = x[4] * x[4]", x.cells.copy()))
rows = [[text, *cells] for text, cells in steps]
marked = [(k, j + 1) for k in range(1, len(steps)) for j in range(5) if steps[k][1][j] != steps[k - 1][1][j]]
pictures.draw_table(["after", *(f"x[{j}]" for j in range(5))], rows, marked, widths=[0.3, *[0.14] * 5])
pictures.show(
    "The cells of an array after each write; what a write has changed is marked. A constant has cell 0, the sink. "
    "Elements may share a cell: then they are the same variable, and their adjoints add up. Only the product has "
    "made a new cell."
)
assert steps[-1][1][2] == steps[0][1][3] and steps[1][1][1] == 0 and steps[-1][1][0] > steps[0][1][-1]

# %% [markdown]
# The rest is NumPy's: because values and cells are two ndarrays that are sliced, transposed and written alike,
# views alias as they should, `x[i] += v` works, repeated indices follow NumPy's rule. There is nothing to get wrong
# that NumPy has not got right. The *oracle* for contad's tests follows from this: arrays of scalar variables, on
# which NumPy itself does everything, must give the same gradients on thousands of random programs.
#
# When a scattered array is used in a whole-array operation, its adjoints must be collected into consecutive cells:
# one record, a *gather*, which is kept until the next write. That is what writing costs. Here an array is filled in a
# loop, clipped by a mask, and used in slices:

# %%
def filled(x, rate=0.5):
    z = contad.zeros(len(x))
    z[0] = x[0]
    for t in range(1, len(x)):
        z[t] = rate * x[t] + (1 - rate) * z[t - 1]
    z[z > 2.4] = 2.4
    return np.sum((z[1:] - z[:-1]) ** 2)


print(contad.grad(filled)(np.array([1.0, 3.0, 2.0, 4.0])))
assert np.allclose(contad.grad(filled)(np.array([1.0, 3.0, 2.0, 4.0])), [-1.2, 0.8, -0.4, 0.0], atol=1e-15)

# %% [markdown]
# ## A complex number is two cells
#
# Every cell is real, and complex numbers need no others: $z = x + iy$ is the pair of its parts, and an operation on it
# is a few operations on them. So the gradient is a pair as well: $\partial L/\partial x + i\,\partial L/\partial y$.

# %%
def of_parts(x, y):
    u, v = x * x - y * y + 1.0, 2.0 * x * y
    return u * u + v * v


gradient = contad.grad(lambda z: abs(z * z + 1.0) ** 2)(0.7 - 0.4j)
print(gradient, contad.grad(of_parts, (0, 1))(0.7, -0.4))
assert np.allclose(gradient, complex(*contad.grad(of_parts, (0, 1))(0.7, -0.4)), rtol=1e-14)

# %% [markdown]
# ## What can still go wrong?
#
# A continuation of the *user's* may ask for the adjoints of an array after the array has been written to. Which
# adjoints? Those of the elements as they were when it was pushed. contad does not guess; the cell that is wrong on
# purpose:

# %% tags=["raises"]
try:
    with contad.nested():
        x = contad.var(np.array([1.0, 2.0]))
        z = contad.make_callback_var(3.0, lambda z, adj: adj.add(x, adj[z] * np.ones(2)))
        x[0] = 5.0
        contad.gradient(z, [x])
except contad.ContadError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# ## Where this lives
#
# - `contad/engines/matrix/array_var.py::ArrayVar` is our `Array`; `contad/variables/array.py::Array` what it shares
#   with forward mode.
# - `contad/engines/matrix/elements.py` finds the values and cells of operands.
# - `contad/engines/matrix/matrix_stack.py::MatrixStack` is the engine; `contad/engines/matrix/array_records.py`
#   pushes records of whole arrays.
# - `contad/ops/products.py::matmul` is the rule of the product, with Giles' two lines.
# - `contad/variables/creation.py::zeros` makes arrays that can hold variables.
# - `contad/variables/complex_pair.py::ComplexArray` is a pair of arrays.
#
# ## Exercises
#
# 1. Add `matmul` to the toy, for two matrices.
# 2. What are the cells of `x` after `x[[0, 0]] = x[[1, 2]]`? Which element does NumPy let win?
# 3. Why does the toy use `np.add.at` and not `adj[cells] += ...`?


# %% jupyter={"source_hidden": true}
# 1. Giles (2008)
def matmul(a, b):
    a, b = a.copy(), b.copy()
    z = a.stack.array(a.values @ b.values)

    def matmul_chain(adj):
        d = adj[z.cells]
        np.add.at(adj, a.cells, d @ b.values.T)
        np.add.at(adj, b.cells, a.values.T @ d)

    a.stack.chain.append(matmul_chain)
    return z


stack = Stack()
m = stack.array(rng.normal(size=(3, 3)))
product = matmul(m, m.T)
got = stack.gradient((product * product).sum(), m.cells)
assert np.allclose(got, contad.grad(lambda m: np.sum((m @ m.T) ** 2))(m.values), rtol=1e-12)

# %% jupyter={"source_hidden": true}
# 2. The last one wins, for values and for cells alike
x = Stack().array([1.0, 2.0, 3.0])
x[[0, 0]] = x[[1, 2]]
assert x.values.tolist() == [3.0, 2.0, 3.0] and x.cells.tolist() == [3, 2, 3]

# %% jupyter={"source_hidden": true}
# 3. Cells may repeat. `adj[cells] += d` would keep one of the contributions only.
adj = np.zeros(2)
adj[[1, 1]] += 1.0
assert adj[1] == 1.0
np.add.at(adj, [1, 1], 1.0)
assert adj[1] == 3.0
