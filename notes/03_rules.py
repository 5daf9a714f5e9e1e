# %% [markdown]
# # 3. Rules
#
# *Half an hour. It helps to know notebook 1.*
#
# The sweep is the same for every program. What differs is the derivatives of the elementary operations, of which a
# useful library has hundreds. Where do they stand? In how many copies? And who says that they are right?

# %%
import math

import contad
import mpmath
import numpy as np
import pictures
from contad.testing import expect_ad

# %% [markdown]
# ## How many derivatives does one operation need?
#
# Count the places where a library may want the derivative of $\tanh$: in the continuation of every engine, in
# forward mode, in second derivatives, in compiled code. Written out each time, that is half a dozen chances to get
# a sign wrong, to mend it in some places only, or to leave one out. (It happens: among the special functions of the
# `autograd` package some thirty have a reverse rule and one has a forward rule.)
#
# So we write a derivative **once**, as a pure function: from the result $z$ and the arguments to the partial
# derivatives. It knows nothing of stacks, adjoints or engines.

# %% tags=["toy"]
RULES = {}


def rule(value):
    """Register an operation by its value function; `.partials` registers its derivatives."""
    RULES[value.__name__] = {"value": value}

    def apply(*args):
        own = [x for x in args if isinstance(x, (Var, Dual))]
        if not own:
            return value(*args)
        return own[0].apply(value.__name__, args)

    apply.partials = lambda body: RULES[value.__name__].update(partials=body) or body
    apply.__name__ = value.__name__
    return apply


class Number:
    """Operators for every kind of number that carries a derivative."""

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return multiply(self, other)

    def __neg__(self):
        return multiply(self, -1.0)

    def __sub__(self, other):
        return add(self, -other)

    def __rsub__(self, other):
        return add(-self, other)

    __radd__, __rmul__ = __add__, __mul__


class Var(Number):
    """Reverse mode: a value and an index. Its chain is a list, shared by all variables of a stack."""

    def __init__(self, value, chain, operands=()):
        self.value, self.chain, self.index = value, chain, len(chain)
        chain.append(operands)

    def apply(self, name, args):
        values = [x.value if isinstance(x, Var) else x for x in args]
        z = call(name, values)
        partials = RULES[name]["partials"](z, *values)
        operands = [(x.index, p) for x, p in zip(args, partials, strict=True) if isinstance(x, Var)]
        return Var(z, self.chain, operands)


class Dual(Number):
    """Forward mode: a value and its tangent."""

    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def apply(self, name, args):
        values = [x.value if isinstance(x, Dual) else x for x in args]
        z = call(name, values)
        partials = RULES[name]["partials"](z, *values)
        terms = [p * x.tangent for x, p in zip(args, partials, strict=True) if isinstance(x, Dual)]
        return Dual(z, sum(terms))


def call(name, values):
    """The operation on values, which may themselves be numbers with derivatives."""
    own = [x for x in values if isinstance(x, Number)]
    return own[0].apply(name, values) if own else RULES[name]["value"](*values)


def grad(f):
    def gradient(x):
        chain = []
        argument = Var(x, chain)
        y = f(argument)
        adj = [0.0] * len(chain)
        adj[y.index] = 1.0
        for k in range(y.index, -1, -1):
            for i, p in chain[k]:
                adj[i] = adj[i] + adj[k] * p
        return adj[argument.index]

    return gradient


def derivative(f):
    return lambda x: f(Dual(x, 1.0)).tangent


# %% [markdown]
# And now the rules. Each is a value and one line:

# %%
@rule
def add(x, y):
    return x + y


add.partials(lambda z, x, y: (1.0, 1.0))


@rule
def multiply(x, y):
    return x * y


multiply.partials(lambda z, x, y: (y, x))


@rule
def exp(x):
    return math.exp(x)


exp.partials(lambda z, x: (z,))


@rule
def tanh(x):
    return math.tanh(x)


tanh.partials(lambda z, x: (1.0 - z * z,))


def bump(x):
    return tanh(x * x) * exp(-x) + x


print("reverse", grad(bump)(0.7), "  forward", derivative(bump)(0.7))
expected = contad.grad(lambda x: np.tanh(x * x) * np.exp(-x) + x)(0.7)
assert np.isclose(grad(bump)(0.7), expected, rtol=1e-14) and np.isclose(derivative(bump)(0.7), expected, rtol=1e-14)

# %% [markdown]
# Both modes come from the same lines. And because a rule's body contains nothing but arithmetic and other
# operations, it runs on numbers that themselves carry derivatives. Second derivatives cost no further line. (This toy
# can be confused where two derivatives meet in one operation; notebook 4 is about that.)

# %%
second = derivative(grad(bump))(0.7)
print("second derivative", second, "=", grad(derivative(bump))(0.7))
expected = contad.derivative(contad.grad(lambda x: np.tanh(x * x) * np.exp(-x) + x))(0.7)
assert np.isclose(second, expected, rtol=1e-13) and np.isclose(grad(derivative(bump))(0.7), expected, rtol=1e-13)

# %% [markdown]
# This works only if bodies stay what they are: assignments and one `return`, with calls of operators and of
# operations that have rules. No `math.cos`, which knows floats only. And no `if`: a body also runs on variables, on
# duals and inside compiled sweeps, where one text must serve all inputs, and a condition would be decided once, for
# the values of that moment. The *value* function may branch: it is called on plain numbers only. In contad this is
# the second law, and every body is checked when it is first used. The cell that is wrong on purpose:

# %% tags=["raises"]
@contad.scalar_rule
def softplus(x):
    return math.log1p(math.exp(x)) if x < 30.0 else x


@softplus.partials
def softplus_partials(z, x):
    if x > 0:
        return 1.0 / (1.0 + contad.ops.exp(-x))
    return contad.ops.exp(x) / (1.0 + contad.ops.exp(x))


try:
    contad.grad(softplus)(0.5)
except contad.RuleError as error:
    print("RuleError: line", str(error).rpartition("py:")[2])  # the message begins with the file

# %% [markdown]
# What a branch would do is done by `select`, an operation that computes both and takes one.
#
# ## Right is not enough
#
# Look at the rule of $\tanh$ above: $1 - z^2$ is what every textbook says. How many of its digits are right? We
# need a judge who does not share our mistakes: *mpmath* computes with as many digits as we ask for.

# %%
mpmath.mp.dps = 50
points = np.array([0.5, 2.0, 5.0, 10.0, 15.0, 19.0])
rows, textbook, ours = [], [], []
for x in points:
    true = mpmath.sech(mpmath.mpf(float(x))) ** 2
    errors = [abs(mpmath.mpf(float(p)) / true - 1) for p in (1.0 - np.tanh(x) ** 2, contad.grad(np.tanh)(float(x)))]
    textbook.append(float(errors[0]))
    ours.append(max(float(errors[1]), 1e-17))
    rows.append([f"{x:g}", mpmath.nstr(true, 6), f"{float(errors[0]):.1e}", f"{float(errors[1]):.1e}"])
pictures.draw_table(["x", "tanh'(x)", "relative error of 1 - z²", "relative error of contad"], rows)
pictures.show(
    "The derivative of tanh by two formulas that are the same to a mathematician. The closer z comes to 1, the more "
    "digits the difference 1 - z² loses; at 19 it is 0. contad computes sech² = 1 - tanh² from e^(-2|x|), which is "
    "right to the last places."
)
assert textbook[-1] == 1.0 and max(ours) < 1e-15

# %% [markdown]
# contad holds every partial of every rule against mpmath, over the whole range where the function is finite. The
# bound is a few units in the last place, plus what the conditioning of the point excuses.
#
# ## Who finds a wrong rule?
#
# A test that can fail. `expect_ad` runs a function on every engine and compares with sources that do not use the
# rule. We plant mistakes and see which *leg* of the test finds each. All are rules for $z = x^2 y$, at $(1.3,
# 0.8)$.

# %%
def right(z, x, y):
    return 2.0 * x * y, x * x


def factor_is_missing(z, x, y):
    return x * y, x * x


def sign_is_wrong(z, x, y):
    return 2.0 * x * y, -x * x


def partials_are_swapped(z, x, y):
    return x * x, 2.0 * x * y


def one_is_constant(z, x, y):
    return 2.0 * x * y, 1.3 * 1.3


def both_are_constant(z, x, y):
    return 2.0 * 1.3 * 0.8, 1.3 * 1.3


def leg_that_finds(body, x, y):
    @contad.scalar_rule
    def square_times(x, y):
        return x * x * y

    square_times.partials(body)
    try:
        expect_ad(square_times, x, y)
    except AssertionError as error:
        return str(error).partition("leg ")[2].partition(",")[0]
    return "-"


bodies = [right, factor_is_missing, sign_is_wrong, partials_are_swapped, one_is_constant, both_are_constant]
found = {body.__name__: leg_that_finds(body, 1.3, 0.8) for body in bodies}
for name, leg in found.items():
    print(f"{name:22} {leg}")

# %% [markdown]
# The leg *gradient* compares with differences of the value. At $(1.3, 0.8)$ a constant can pass it. But second
# derivatives are made from the partials, and $\partial^2 z / \partial x \partial y$ must come out the same in either
# order: the leg *symmetry* finds a Hessian that differs from its transpose.
#
# **Question.** The last one was not found. Whose fault is that?
#
# Ours: we chose the point badly. Two constants have a Hessian of zeros, which is symmetric, and they happen to be right
# here. Somewhere else they are not. So points are chosen where nothing is zero, nothing symmetric and nothing special,
# and there is more than one:

# %%
print(leg_that_finds(both_are_constant, 1.1, 0.8))
assert leg_that_finds(both_are_constant, 1.1, 0.8) == "gradient"
assert found["right"] == found["both_are_constant"] == "-" and found["one_is_constant"] == "symmetry"
assert found["factor_is_missing"] == found["sign_is_wrong"] == found["partials_are_swapped"] == "gradient"

# %% [markdown]
# The library does this to itself: a program (`tests/judges/mutation.py`) plants wrong derivatives in every rule,
# hundreds in all, and counts those that the tests notice. The others must be the same formula.
#
# ## A rule of one's own
#
# Sometimes the value comes from an iteration, and differentiating the iteration is a waste: what matters is the
# equation that it solves. Let $z$ be the root of
#
# $$ F(z, x) = z + \ln z - x = 0 . $$
#
# Along the root $F$ stays 0. With $F_z = 1 + 1/z$ and $F_x = -1$ for its partial derivatives that says
# $F_z \, dz + F_x \, dx = 0$, and by the *implicit function theorem*
#
# $$ \frac{dz}{dx} = -\frac{F_x}{F_z} = \frac{1}{1 + 1/z} = \frac{z}{1 + z} . $$
#
# The value may use any algorithm. The rule is one line.

# %%
@contad.scalar_rule
def wright_omega(x):
    """The root z of z + log z = x."""
    z = x if x > 1.0 else math.exp(x)
    for _ in range(40):
        z -= (z + math.log(z) - x) / (1.0 + 1.0 / z)
    return z


@wright_omega.partials
def wright_omega_partials(z, x):
    return z / (1.0 + z)


second = contad.derivative(contad.grad(wright_omega))(2.0)
print(wright_omega(2.0), contad.grad(wright_omega)(2.0), second)
assert math.isclose(second, mpmath.diff(lambda x: mpmath.lambertw(mpmath.exp(x)).real, 2, 2), rel_tol=1e-13)
print(expect_ad(wright_omega, 2.0, order=2))

# %% [markdown]
# The last line lists the legs of `expect_ad` and how much each has compared (`help(contad.expect_ad)` says what each
# compares with what). Now it works in every engine, in both
# modes and at every order, because the second derivative is again made from that line: $z$ in the body is the
# *result*, a number with derivatives.
#
# What would it have cost to differentiate the iteration instead? We count the operations that are recorded:

# %%
def iterated(x):
    z = x
    for _ in range(40):
        z = z - (z + np.log(z) - x) / (1.0 + 1.0 / z)
    return z


def operations(f):
    with contad.nested() as level:
        x = contad.var(2.0)
        before = level.top
        f(x)
        return level.top - before


print(operations(iterated), "operations, or", operations(wright_omega))
assert operations(iterated) > 200 and operations(wright_omega) == 1
assert math.isclose(contad.grad(iterated)(2.0), contad.grad(wright_omega)(2.0), rel_tol=1e-14)

# %% [markdown]
# ## Where this lives
#
# - `contad/rules/scalar_rule.py::scalar_rule` is our `rule`. What it makes,
#   `contad/rules/scalar_rule.py::ScalarRule`, also writes out its body for compiled code.
# - `contad/rules/body.py` checks bodies, and takes them apart, so that only the partials that are needed are evaluated.
# - `contad/ops/` has the rules, one file for each family: `contad/ops/hyperbolic.py::tanh` is the one with
#   $e^{-2|x|}$.
# - `contad/variables/dual.py::Dual` is our `Dual`; it also knows its level, so that two derivatives are not confused:
#   notebook 4.
# - `contad/ops/logic.py::select` is the branch of straight-line code.
# - `contad/testing/__init__.py::expect_ad` is the judge; `contad/rules/array_rule.py::array_rule` does for functions of
#   arrays what this notebook does for numbers.
#
# ## Exercises
#
# 1. Write the rule of division for the toy, using $z$.
# 2. The value function of `wright_omega` branches; its body may not. Why is the one harmless and the other not?
# 3. Which leg of `expect_ad` would notice an engine that writes `=` for `+=`?

# %% jupyter={"source_hidden": true}
# 1. The body calls the operation itself: dz/dx = 1/y, dz/dy = -z/y
@rule
def divide(x, y):
    return x / y


divide.partials(lambda z, x, y: (divide(1.0, y), -divide(z, y)))
assert grad(lambda x: divide(3.0, x * x))(2.0) == -0.75
assert math.isclose(derivative(grad(lambda x: divide(3.0, x * x)))(2.0), 18 / 16)

# %% jupyter={"source_hidden": true}
# 2. A value function is called on floats only: it may look at them. A body also runs on variables and duals, and inside
#    compiled sweeps, where a branch on a value would be decided once for all inputs, or would not compile.
assert isinstance(contad.grad(wright_omega)(2.0), float)

# %% jupyter={"source_hidden": true}
# 3. fan-out: it computes f(x) + f(x), where adjoints meet
assert "fan-out" in str(expect_ad(contad.ops.tanh, 0.7))
