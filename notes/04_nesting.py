# %% [markdown]
# # 4. Nesting
#
# *Half an hour. It helps to know notebooks 1 and 3.*
#
# A gradient is a function. So it can be differentiated; it can be called inside a function that is being
# differentiated; and it can use variables of the function around it. Everything in this notebook is about keeping
# these levels apart.

# %%
import math
import time

import contad
import numpy as np
import pictures
from contad.engines.stream.patience import PATIENCE

# %% [markdown]
# ## A derivative inside a derivative
#
# Here is a program of one line, due to Siskind & Pearlmutter (2005):
#
# $$ \frac{d}{dx} \left. \left( x \cdot \frac{d}{dy} (x + y) \Big|_{y = 1} \right) \right|_{x = 1} $$
#
# **Question.** What is it? (The inner derivative is that of $x + y$ with respect to $y$.)
#
# The inner derivative is 1, whatever $x$ is. So we differentiate $x \cdot 1$, and the answer is 1. Now we write
# forward mode as anybody would: a number with a tangent.

# %%
class Naive:
    def __init__(self, value, tangent=0.0):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        other = other if isinstance(other, Naive) else Naive(other)
        return Naive(self.value + other.value, self.tangent + other.tangent)

    def __mul__(self, other):
        other = other if isinstance(other, Naive) else Naive(other)
        return Naive(self.value * other.value, self.value * other.tangent + self.tangent * other.value)

    __radd__, __rmul__ = __add__, __mul__


def naive(f, x):
    return f(Naive(x, 1.0)).tangent


confused = naive(lambda x: x * naive(lambda y: x + y, 1.0), 1.0)
print("naive:", confused)
assert confused == 2.0

# %% [markdown]
# Two! The inner call asks for the tangent of `x + y`. It wants the one along $y$. But `x` carries a tangent as
# well, the one along $x$, and `+` adds the two: *perturbation confusion*. Nothing fails; the number is wrong.
# Nobody would write this program, one might say. Everybody who minimises something inside a loss does.
#
# ## What keeps them apart?
#
# A **level**. Each derivative that is being taken gets a number from a counter, and every number that it makes
# carries it. When two numbers meet, the one with the higher level owns the operation, *and to it the other is a
# constant*. Its value may itself be a number of a lower level.

# %% tags=["toy"]
LEVELS = 0


class Dual:
    def __init__(self, level, value, tangent):
        self.level, self.value, self.tangent = level, value, tangent

    def __add__(self, other):
        return operate(lambda x, y: x + y, lambda x, y: (1.0, 1.0), self, other)

    def __mul__(self, other):
        return operate(lambda x, y: x * y, lambda x, y: (y, x), self, other)

    __radd__, __rmul__ = __add__, __mul__


def operate(function, partials, x, y):
    level = max(getattr(a, "level", 0) for a in (x, y))
    a, a_dot = parts(x, level)
    b, b_dot = parts(y, level)
    p, q = partials(a, b)
    return Dual(level, function(a, b), p * a_dot + q * b_dot)


def parts(x, level):
    """The value and the tangent of x at a level; a number of another level is a constant there."""
    return (x.value, x.tangent) if getattr(x, "level", 0) == level else (x, 0.0)


def derivative(f):
    def along(x):
        global LEVELS
        LEVELS += 1
        level = LEVELS
        return parts(f(Dual(level, x, 1.0)), level)[1]

    return along


# %%
answer = derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0)
print("with levels:", answer)
assert answer == 1.0
for inner in (contad.derivative, contad.grad):
    for outer in (contad.derivative, contad.grad):
        assert outer(lambda x, inner=inner: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
cube = derivative(derivative(derivative(lambda x: x * x * x * x)))
print("third derivative of x^4 at 2:", cube(2.0))
assert cube(2.0) == 48.0

# %% [markdown]
# The same holds backwards. In reverse mode a level is a *stack*: each gradient call opens one, with a number from
# the same counter, so that forward and reverse levels may alternate. We look at the inner stack while both are open,
# and at the outer one as soon as the inner sweep is over:

# %%
seen = []


def inner(y, x):
    seen.append(str(contad.show_stack()))
    return x * x * y


def outer(x):
    slope = contad.grad(inner)(3.0, x)
    seen.append(str(contad.show_stack()))
    return slope * x


print(contad.grad(outer)(2.0))
print("inside:", seen[0], "outside, after the inner sweep:", seen[1], sep="\n")
assert contad.grad(outer)(2.0) == 12.0

# %% [markdown]
# The inner level holds `y` only: `x` is a constant there. What concerns `x` went to the outer stack. Its lines 2 and 3
# were pushed while `inner` ran: `x * x`, and the *value* of the inner product, which depends on `x`. The partial of
# that product in `y` is line 2, an *outer variable*. So the inner sweep, $\bar y = 0 + 1 \cdot x^2$, pushed lines 4 and
# 5. A sweep is a program like any other. That is all there is to higher derivatives.
#
# ## Four ways to a Hessian
#
# The second derivatives of a function of $n$ numbers form a matrix. Each of the two derivatives can be taken
# forwards or backwards:

# %%
runs = []  # one entry for each time that Python runs the function


def energy(x):
    """A chain of springs and a wall: every number meets its neighbour."""
    runs.append(1)
    return np.sum((x[1:] - x[:-1]) ** 4) + np.sum(np.exp(-x))


ways = {
    "forward over reverse": contad.jacfwd(contad.grad(energy)),
    "reverse over reverse": contad.jacrev(contad.grad(energy)),
    "reverse over forward": contad.jacrev(contad.jacfwd(energy)),
    "forward over forward": contad.jacfwd(contad.jacfwd(energy)),
    "contad.hessian": contad.hessian(energy),
}
x = np.linspace(0.1, 1.3, 5)
hessian = ways["contad.hessian"](x)
print(hessian.round(3))
for name, way in ways.items():
    runs.clear()
    assert np.allclose(way(x), hessian, rtol=1e-12) and len(runs) == 1, name

# %%
PATIENCE.loading = PATIENCE.compiling = 0.0  # what is timed are compiled sweeps, which else come after seconds


def seconds(f, *args, repeat=7):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


sizes = [4, 8, 16, 32]
cost = {name: [] for name in ways}
for n in sizes:
    x = np.linspace(0.1, 1.3, n)
    gradient = seconds(contad.grad(energy), x)
    for name, way in ways.items():
        cost[name].append(seconds(way, x) / gradient)
pictures.draw_lines(sizes, cost, "inputs", "time, in gradients")
pictures.show(
    "A Hessian by all four nestings of the general transforms, and by contad.hessian. Forward over forward takes a "
    "tangent for each pair of inputs through every operation and grows fastest; in the others a mode is reverse. "
    "contad.hessian differentiates the sweep over one record, along all axes together."
)
for name in ways:
    print(f"{name:22} {cost[name][-1]:6.0f} gradients for {sizes[-1]} inputs")

# %% [markdown]
# Python runs the function once in all of them. Forward mode takes $n$ tangents through it together (up to 32 in one
# run); reverse mode sweeps one record again for each row. So forward over forward has $n^2$ tangents to carry, and the
# others $n$ sweeps, or one sweep with $n$ tangents. The constant depends on how much of that is Python: the general
# transforms nest whatever they are given, while `contad.hessian`, which also goes forward over reverse, records plain
# numbers and differentiates the sweep over the records. If only the product $H v$ is wanted, as in Newton's method
# with conjugate gradients, *one* direction does it, and no matrix is formed:

# %%
x, v = np.linspace(0.1, 1.3, 2000), np.sin(np.arange(2000.0))
ratio = seconds(contad.hvp(energy), x, v) / seconds(contad.grad(energy), x)
print(f"a product with the Hessian of 2000 inputs costs about {ratio:.0f} gradients")
small = x[:6]
assert np.allclose(contad.hvp(energy)(small, v[:6]), contad.hessian(energy)(small) @ v[:6])

# %% [markdown]
# ## Values of any kind
#
# The value of a variable may be a number of an outer level, because operations ask for nothing but operators. For the
# same reason it may be an array of any library. This is the stack of closures from notebook 1 on whole arrays. It names
# no library: each array says itself where its functions are, in `__array_namespace__`.

# %% tags=["toy"]
class Anywhere:
    def __init__(self, value, stack):
        self.value, self.stack, self.cell = value, stack, len(stack)
        stack.append(lambda adj: None)

    def apply(self, value, pull, *others):
        z = Anywhere(value, self.stack)

        def chain(adj):  # the library that owns the adjoint computes
            for x, x_bar in zip((self, *others), pull(adj[z.cell]), strict=True):
                adj[x.cell] = adj[x.cell] + x_bar if x.cell in adj else x_bar

        self.stack[z.cell] = chain
        return z

    def __mul__(self, other):
        return self.apply(self.value * other.value, lambda d: (d * other.value, d * self.value), other)

    def exp(self):
        z = self.value.__array_namespace__().exp(self.value)
        return self.apply(z, lambda d: (d * z,))

    def sum(self):
        xp = self.value.__array_namespace__()
        return self.apply(xp.sum(self.value), lambda d: (xp.broadcast_to(d, self.value.shape),))


def gradient_anywhere(f, value):
    x = Anywhere(value, [])
    z = f(x)
    adj = {z.cell: z.value * 0 + 1}
    for k in range(z.cell, -1, -1):
        if k in adj:
            x.stack[k](adj)
    return adj[x.cell]


# %% [markdown]
# With arrays of PyTorch, JAX or CuPy the numbers would not leave the GPU, because nothing here reads one. With arrays
# of Dask nothing would be computed yet: the sweep, too, only extends the graph. We have NumPy's float32, which stays:

# %%
single = np.linspace(0.0, 1.0, 4, dtype=np.float32)
found = gradient_anywhere(lambda x: (x.exp() * x).sum(), single)
print(found, found.dtype)
assert found.dtype == np.float32
assert np.allclose(found, contad.grad(lambda x: np.sum(np.exp(x) * x), engine="arrays")(single), rtol=1e-6)

# %% [markdown]
# ## Where does a nan come from?
#
# $f(x) = \sqrt{x^2}$ at 0 has the partial $1 / (2 \sqrt 0) = \infty$, times the partial $2 x = 0$ of the square.
# Zero times infinity is nan. A subtler case: a branch that was *not* taken, with an infinite partial. Its adjoint
# is 0, and $0 \cdot \infty$ is nan again. contad masks a partial that is not finite where its adjoint is exactly 0,
# because nothing can come from there:

# %%
def safe(x):
    return np.sum(np.where(x > 0.0, np.sqrt(np.maximum(x, 0.0)), 0.0))


print(contad.grad(safe)(np.array([4.0, 0.0])))
assert contad.grad(safe)(np.array([4.0, 0.0])).tolist() == [0.25, 0.0]
print(contad.grad(lambda x: np.sqrt(x * x))(0.0))
assert math.isnan(contad.grad(lambda x: np.sqrt(x * x))(0.0))

# %% [markdown]
# The second is honest: $|x|$ has no derivative at 0, and the program was written so that it shows. In a model of a
# thousand lines one wants to know *where*. The cell that is wrong on purpose asks:

# %% tags=["raises"]
try:
    with contad.debug_nans():
        contad.grad(lambda x: np.sqrt(x * x))(0.0)
except contad.NonFiniteError as error:
    print("NonFiniteError:", str(error).partition(",")[0], "...")  # the message goes on with file and line

# %% [markdown]
# ## Where this lives
#
# - `contad/variables/level.py::Level` has the number of a level; `contad/variables/stack.py::opened` opens one for a
#   gradient call.
# - `contad/variables/var.py::Var` and `contad/variables/dual.py::Dual` are owned by a level, which decides what is a
#   constant.
# - `contad/transforms/hessians.py::hessian` and `contad/transforms/hessians.py::hvp` go forward over reverse;
#   `contad/engines/second_order/passes.py` differentiates a whole sweep at once, for many directions.
# - `contad/engines/arrays/library_stack.py::LibraryStack` is the stack of `Anywhere`, with contad's rules.
# - `contad/transforms/debugging.py::debug_nans` watches values and partials.
#
# ## Exercises
#
# 1. What does the naive version give for `x * naive(lambda y: y * y, x)` at 3, and why is it right?
# 2. How many tangents does a Jacobian of a function from 3 numbers to 1000 need, and how many sweeps?
# 3. Use a gradient inside a function: the position after one step of gradient descent, differentiated by the step
#    size.

# %% jupyter={"source_hidden": true}
# 1. It gives d/dx (x * 2x) = 4x = 12. The outer number comes in as the *value* of the inner one, wrapped, so the two
#    tangents lie in different objects. Confusion needs an outer number that meets the inner one from the side.
assert naive(lambda x: x * naive(lambda y: y * y, x), 3.0) == 12.0
assert derivative(lambda x: x * derivative(lambda y: y * y)(x))(3.0) == 12.0

# %% jupyter={"source_hidden": true}
# 2. Three tangents, or a thousand sweeps; contad.jacobian chooses forwards here
tall = contad.jacobian(lambda p: p[0] * np.sin(p[1] * np.arange(1000.0)) + p[2])
assert tall(np.array([1.0, 2.0, 3.0])).shape == (1000, 3)


# %% jupyter={"source_hidden": true}
# 3. d/ds energy(x - s g) = -g . grad energy(x - s g)
def after(step):
    return energy(small - step * contad.grad(energy)(small))


g = contad.grad(energy)(small)
assert math.isclose(contad.grad(after)(0.1), -g @ contad.grad(energy)(small - 0.1 * g), rel_tol=1e-12)
