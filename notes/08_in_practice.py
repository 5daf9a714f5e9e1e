# %% [markdown]
# # 8. In practice
#
# *Forty minutes. You need to have seen a likelihood before; the other notebooks help, but are not needed.*
#
# Two models with real data. A regression in plain NumPy is fitted by SciPy; a system of differential equations in
# Numba is sampled by Hamiltonian Monte Carlo, and then the regression too. At the end stands a table that says which
# engine to use when.

# %%
import json
import math
import time
from pathlib import Path

import contad
import matplotlib.pyplot as plt
import numpy as np
import pictures
from contad.example.logistic_regression import DATA, read_table
from numba import njit
from scipy.optimize import minimize

# %% [markdown]
# ## A regression in plain NumPy
#
# 569 tumours, and what was measured on images of their cell nuclei (Street, Wolberg & Mangasarian 1993; the table
# comes with contad). Which are malignant? The model is a logistic regression with a weak prior on its coefficients:

# %%
table = read_table(DATA)
X = np.column_stack([np.ones(len(table.malignant)), np.array(table.features)])
malignant = np.array(table.malignant)
print(X.shape, table.names)


def loss(w, X, y):
    """Minus the log posterior."""
    logit = X @ w
    return np.sum(np.logaddexp(0.0, logit) - y * logit) + 0.5 * np.sum((w / 2.5) ** 2)


# %% [markdown]
# SciPy's optimisers ask for a gradient, and estimate it by differences if they get none. That takes a run of the
# function for each coefficient, and leaves half of the digits. We give them the derivative, and count what they ask
# for:

# %%
calls = {"differences": 0, "contad": 0}


def counted(name, f):
    def call(*args):
        calls[name] += 1
        return f(*args)

    return call


start = np.zeros(X.shape[1])
by_differences = minimize(counted("differences", loss), start, (X, malignant), method="BFGS")
value_and_grad = contad.value_and_grad(loss)
with_gradient = counted("contad", value_and_grad)
fit = minimize(with_gradient, start, (X, malignant), jac=True, method="BFGS", options={"gtol": 1e-6})
print(calls, " largest gradient left:", f"{np.max(np.abs(fit.jac)):.1e}")
assert fit.success and calls["differences"] > 5 * calls["contad"]

# %% [markdown]
# ### How sure are we?
#
# Near its maximum a posterior is about normal, and its precision is the *Hessian* of the loss. The standard errors
# are the roots of the diagonal of its inverse. Here a formula is known, $X^T \mathrm{diag}(p (1 - p)) X$ plus the
# prior's, where $p$ is the fitted probability of each case, so we can check:

# %%
precision = contad.hessian(loss)(fit.x, X, malignant)
errors = np.sqrt(np.diag(np.linalg.inv(precision)))
for name, w, error in zip(["intercept", *table.names], fit.x, errors, strict=True):
    print(f"{name:18} {w:6.2f} +- {error:.2f}")
p = 1.0 / (1.0 + np.exp(-X @ fit.x))
assert np.allclose(precision, X.T @ ((p * (1.0 - p))[:, None] * X) + np.eye(len(start)) / 2.5**2, rtol=1e-10)
accuracy = np.mean((X @ fit.x > 0.0) == (malignant == 1.0))
print(f"accuracy {accuracy:.3f}, on the cases that it was fitted to")
assert accuracy > 0.93

# %% [markdown]
# ## Hares and lynxes
#
# The Hudson's Bay Company counted pelts, in thousands, from 1900 to 1920 (on the lynxes: Elton & Nicholson 1942; the
# numbers of both as published by Howard 2009). Lotka and Volterra's equations say how the hares $u$ and the lynxes $v$
# make each other rise and fall:
#
# $$ \frac{du}{dt} = (\alpha - \beta v) u, \qquad \frac{dv}{dt} = (-\gamma + \delta u) v . $$
#
# What was counted is these numbers times a factor whose logarithm is normal, with a scale for each animal. A solver is
# a loop that overwrites its state. This is the kind of program that array libraries make you rewrite,
# and that Numba takes as it is.

# %%
hares = np.array(
    [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4,
     27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
)
lynxes = np.array(
    [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1,
     7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
)
STEPS = 10  # in a year


@njit
def simulate(p, years):
    """The numbers of both animals in each year, by the classical Runge-Kutta method."""
    alpha, beta, gamma, delta = p[0], p[1], p[2], p[3]
    u, v = p[4], p[5]
    found = np.empty((years, 2))
    h = 1.0 / STEPS
    for year in range(years):
        found[year, 0] = u
        found[year, 1] = v
        for _ in range(STEPS):
            u1, v1 = (alpha - beta * v) * u, (-gamma + delta * u) * v
            a, b = u + 0.5 * h * u1, v + 0.5 * h * v1
            u2, v2 = (alpha - beta * b) * a, (-gamma + delta * a) * b
            a, b = u + 0.5 * h * u2, v + 0.5 * h * v2
            u3, v3 = (alpha - beta * b) * a, (-gamma + delta * a) * b
            a, b = u + h * u3, v + h * v3
            u4, v4 = (alpha - beta * b) * a, (-gamma + delta * a) * b
            u += h / 6.0 * (u1 + 2.0 * u2 + 2.0 * u3 + u4)
            v += h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
    return found


@njit
def log_posterior(q, hares, lynxes):
    """Of the logarithms of alpha, beta, gamma, delta, the two numbers at the start and the two scales of the noise.

    Priors as in Carpenter (2018), "Predator-prey population dynamics".
    """
    p = np.exp(q)
    total = np.sum(q)  # from a density of p to one of q = log p
    total -= 0.5 * (((p[0] - 1.0) / 0.5) ** 2 + ((p[2] - 1.0) / 0.5) ** 2)
    total -= 0.5 * (((p[1] - 0.05) / 0.05) ** 2 + ((p[3] - 0.05) / 0.05) ** 2)
    for k in range(4, 6):
        total -= 0.5 * (q[k] - math.log(10.0)) ** 2 + q[k]
    for k in range(6, 8):
        total -= 0.5 * (q[k] + 1.0) ** 2 + q[k]
    expected = simulate(p, hares.shape[0])
    for year in range(hares.shape[0]):
        if expected[year, 0] <= 0.0 or expected[year, 1] <= 0.0:
            return -np.inf
        total -= 0.5 * ((math.log(hares[year]) - math.log(expected[year, 0])) / p[6]) ** 2 + q[6]
        total -= 0.5 * ((math.log(lynxes[year]) - math.log(expected[year, 1])) / p[7]) ** 2 + q[7]
    return total


guess = np.log(np.array([0.5, 0.03, 0.8, 0.03, 30.0, 5.0, 0.3, 0.3]))
print(contad.explain(log_posterior, guess, hares, lynxes).partition("\n")[0])
gradient = contad.grad(log_posterior)(guess, hares, lynxes)
step = 1e-6 * np.eye(8)
differences = [
    (log_posterior(guess + e, hares, lynxes) - log_posterior(guess - e, hares, lynxes)) / 2e-6 for e in step
]
print(gradient.round(3))
assert np.allclose(gradient, differences, rtol=1e-5, atol=1e-5)

# %%
@njit
def minus(q, hares, lynxes):
    return -log_posterior(q, hares, lynxes)


mode = minimize(contad.value_and_grad(minus), guess, (hares, lynxes), jac=True, method="BFGS")
print(*np.exp(mode.x).round(3), "after", mode.nfev, "gradients")
assert np.max(np.abs(mode.jac)) < 1e-3

# %% [markdown]
# ## A sampler, all of it compiled
#
# Hamiltonian Monte Carlo (Neal 2011) moves a particle through the parameters: the gradient is its force. Each draw
# kicks it at random, follows it by leapfrog steps, and is accepted if these have kept the energy. The
# sampler is a Numba function that asks for the gradient of another; in the loop there is no Python. The Hessian at
# the mode tells it the scales of the parameters. What it should find is known: the means that Carpenter (2018)
# published for this model.

# %%
def sampler(log_density):
    """The sampler of a density of q and two arrays of data. Each draw follows the force in `steps` small steps."""
    value_and_slope = contad.value_and_grad(log_density)

    @njit
    def sample(q, scales, draws, steps, size, data, more, rng):
        kept = np.empty((draws, q.shape[0]))
        accepted = 0
        value, slope = value_and_slope(q, data, more)
        for n in range(draws):
            momentum = rng.standard_normal(q.shape[0])
            before = value - 0.5 * np.sum(momentum**2)  # minus the energy
            q_new, value_new, slope_new = q.copy(), value, slope
            for _ in range(steps):
                momentum += 0.5 * size * scales.T @ slope_new
                q_new += size * scales @ momentum
                value_new, slope_new = value_and_slope(q_new, data, more)
                momentum += 0.5 * size * scales.T @ slope_new
            if math.log(rng.random()) < value_new - 0.5 * np.sum(momentum**2) - before:
                q, value, slope = q_new, value_new, slope_new
                accepted += 1
            kept[n] = q
        return kept, accepted / draws

    return sample


sample = sampler(log_posterior)
scales = np.linalg.cholesky(np.linalg.inv(-contad.hessian(log_posterior)(mode.x, hares, lynxes)))
draws, accepted = sample(mode.x, scales, 2, 8, 0.2, hares, lynxes, np.random.default_rng(1))  # compiles
start = time.perf_counter()
draws, accepted = sample(mode.x, scales, 2000, 8, 0.2, hares, lynxes, np.random.default_rng(1))
elapsed = time.perf_counter() - start
print(f"{accepted:.0%} accepted; {elapsed / 16_000 * 1e6:.0f} us for a gradient, sampler included")
names = ["alpha", "beta", "gamma", "delta", "hares 1900", "lynxes 1900", "noise, hares", "noise, lynxes"]
published = [0.55, 0.028, 0.80, 0.024, 34.0, 5.9, 0.25, 0.25]
for name, x, expected in zip(names, np.exp(draws.T), published, strict=True):
    print(f"{name:14} {np.mean(x):7.3f} +- {np.std(x):.3f}   published {expected}")
assert accepted > 0.6
assert np.allclose(np.mean(np.exp(draws), axis=0), published, rtol=0.08)

# %%
years = np.arange(1900, 1921)
some = np.array([simulate(np.exp(q), 21) for q in draws[::20]])
_, axes = plt.subplots()
for k, (name, data, color, marker) in enumerate((("hares", hares, "#1b3a57", "o"), ("lynxes", lynxes, "#c05a1c", "s"))):
    low, high = np.quantile(some[:, :, k], [0.05, 0.95], axis=0)
    axes.fill_between(years, low, high, color=color, alpha=0.25, hatch="//" if k else None)
    axes.plot(years, data, marker, color=color, label=name)
axes.set_xticks(years[::4])
axes.set_ylabel("pelts, thousands")
axes.legend()
pictures.show(
    "What was counted, and where the fitted model expects it. The bands hold 90 % of the curves; the noise of "
    "the counts is not in them, so points may lie outside."
)

# %% [markdown]
# And the regression? Written in loops for Numba, it goes through the same sampler. Its draws say how far the errors
# from the Hessian, which take the posterior for a normal distribution, can be trusted:

# %%
@njit
def log_density(w, X, y):
    """Minus `loss`."""
    total = -0.5 * np.sum((w / 2.5) ** 2)
    for i in range(X.shape[0]):
        logit = X[i] @ w
        total += y[i] * logit - max(logit, 0.0) - math.log1p(math.exp(-abs(logit)))
    return total


assert np.isclose(log_density(fit.x, X, malignant), -loss(fit.x, X, malignant))
coefficients, accepted = sampler(log_density)(
    fit.x, np.linalg.cholesky(np.linalg.inv(precision)), 2000, 8, 0.25, X, malignant, np.random.default_rng(2)
)
print(f"{accepted:.0%} accepted; standard errors by draws, over those by the Hessian:")
print((np.std(coefficients, axis=0) / errors).round(2))
assert accepted > 0.6 and np.allclose(np.std(coefficients, axis=0), errors, rtol=0.3)

# %% [markdown]
# ## What if the model is wrong somewhere?
#
# Models fail in the middle of a night's run. A compiled gradient raises where the function raises, with its words,
# and leaves everything usable. The cell that is wrong on purpose has data of the wrong length:

# %% tags=["raises"]
@njit
def checked(q, hares, lynxes):
    if hares.shape[0] != lynxes.shape[0]:
        raise ValueError("hares and lynxes must be counted in the same years")
    return log_posterior(q, hares, lynxes)


try:
    contad.grad(checked)(mode.x, hares, lynxes[:-1])
except ValueError as error:
    print("ValueError:", error)
assert np.allclose(contad.grad(checked)(mode.x, hares, lynxes), contad.grad(log_posterior)(mode.x, hares, lynxes))

# %% [markdown]
# ## How fast is it, beside others?
#
# `benchmarks/` compares contad with five tools and with gradients written by hand. The figures in the repository are
# measured by one command:

# %%
root = next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "benchmarks").is_dir())
results = json.loads((root / "benchmarks/results/comparison.json").read_text())
ratios = {}
for program in results["programs"]:
    for figures in program["sizes"].values():
        by_hand = figures["versions"]["by hand"]["seconds"]
        best = {}
        for version, found in figures["versions"].items():
            tool = version.split()[0]
            if "seconds" in found and not version.startswith(("primal", "by hand")):
                best[tool] = min(best.get(tool, math.inf), found["seconds"] / by_hand)
        for tool, ratio in best.items():
            ratios.setdefault(tool, []).append(ratio)
means = {tool: math.exp(np.mean(np.log(x))) for tool, x in ratios.items()}
means = dict(sorted(means.items(), key=lambda item: item[1]))
pictures.draw_bars(means, "times by hand", log=True)
pictures.show(
    "Time for value and gradient over that of code written by hand: the geometric mean over "
    f"{len(results['programs'])} programs, in all sizes that a tool runs (not the same for all), "
    "each tool in its fastest way. benchmarks/README.md says how it is measured, and what each tool is good at."
)
assert min(means, key=means.get) == "contad" and len(means) - 1 == 5

# %% [markdown]
# ## Which engine when?
#
# You rarely choose: `contad.grad` takes `generated` for Numba functions and `matrix` for everything else. But it
# helps to know what runs.
#
# | what you have | engine | what it costs | notebook |
# |---|---|---|---|
# | an `@njit` function | `generated` | about what a gradient by hand costs; compile time once | 7 |
# | with lists that grow, dicts that change, `try` | `tape` | some ns and 32 bytes (24 and an adjoint) for each | 6 |
# | NumPy code on arrays | `matrix` | a microsecond or so for each call of NumPy; no compilation | 5 |
# | Python code on numbers | `matrix` or `records` | up to a microsecond for each operation | 2 |
# | the same program many times, at new inputs | `contad.record` | some nanoseconds for each operation | 2 |
# | a question about what happens | `closures` | some microseconds for each operation; you can read it | 1 |
# | few inputs, many outputs | forward mode: `jvp`, `jacfwd` | a run of the function for every few inputs | 3 |
# | second derivatives | `hessian`, `hvp` | `hvp`: a few gradients | 4 |
#
# `contad.explain(f, *args)` tells for a given call which one it is, and why.

# %%
assert contad.engine_name(log_posterior, args=(mode.x, hares, lynxes)) == "generated"
assert contad.engine_name(loss) == "matrix"

# %% [markdown]
# ## Where this lives
#
# - `contad/example/logistic_regression.py::fit` is the regression of `python -m contad`, on numbers.
# - `contad/front/derivative.py::Derivative` is the object that is called from Python and from compiled code alike.
# - `contad/transforms/hessians.py::hessian` has made the standard errors.
# - `examples/hmc.py` and `examples/nile.py` are programs of this kind, to be run.
#
# ## Exercises
#
# 1. Standard errors of the rates of hares and lynxes from the Hessian at the mode: how far are they from the
#    sampler's?
# 2. The Jacobian of the simulated numbers by the four rates: which is the cheaper mode?
# 3. Minimise `loss` by Newton's method with `contad.hessian`. How many steps does it take?

# %% jupyter={"source_hidden": true}
# 1. On the scale of logarithms, where the posterior is nearly normal
laplace = np.sqrt(np.diag(scales @ scales.T))[:4]
print(laplace, np.std(draws[:, :4], axis=0))
assert np.allclose(laplace, np.std(draws[:, :4], axis=0), rtol=0.3)

# %% jupyter={"source_hidden": true}
# 2. Four inputs, 42 outputs: forward, four directions
p = np.exp(mode.x)
forward = contad.jacfwd(lambda rates: simulate(np.concatenate((rates, p[4:])), 21))(p[:4])
assert forward.shape == (21, 2, 4)

# %% jupyter={"source_hidden": true}
# 3. A handful
w = np.zeros(X.shape[1])
for steps in range(20):
    g = contad.grad(loss)(w, X, malignant)
    if np.max(np.abs(g)) < 1e-8:
        break
    w = w - np.linalg.solve(contad.hessian(loss)(w, X, malignant), g)
print(steps, "steps")
assert steps < 12 and np.allclose(w, fit.x, rtol=1e-5)
