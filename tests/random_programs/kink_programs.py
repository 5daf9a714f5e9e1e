"""Random programs whose second derivatives pass through a norm, a root or an absolute value that is 0, or a pole.

A program is a sum of weighted even functions of lengths of residuals, all of which are 0 at the point, beside smooth
terms. It is written twice: with the lengths, which have a kink there, and as the smooth function that it is to second
order. Differences of complex steps of the second text are the truth, which shares no derivative with contad. Second
derivatives of the first text must be this number or nan.

    python -m tests.random_programs.kink_programs --count 500 --seed 1 --compiled
"""

import random
import zlib

import numba
import numpy as np

import contad
from tests.judges.written import define
from tests.random_programs.searching import run_command

# text with a kink, and the same to second order
TERMS = (
    ("np.linalg.norm({r}) ** 2", "np.sum({r} * {r})"),
    ("np.linalg.norm({r}) * np.linalg.norm({r}) * 0.7", "0.7 * np.sum({r} * {r})"),
    ("np.linalg.norm({r}) ** 4", "np.sum({r} * {r}) ** 2"),
    ("np.hypot({r}[0], {r}[1]) ** 2", "{r}[0] * {r}[0] + {r}[1] * {r}[1]"),
    ("np.abs({r}[1]) ** 2", "{r}[1] * {r}[1]"),
    ("np.abs({r}[0]) * np.abs({r}[0])", "{r}[0] * {r}[0]"),
    ("np.std({r}) ** 2", "np.mean(({r} - np.mean({r})) ** 2)"),
    ("np.exp(-np.linalg.norm({r}) ** 2)", "np.exp(-np.sum({r} * {r}))"),
    ("np.cos(np.linalg.norm({r}))", "1.0 - 0.5 * np.sum({r} * {r})"),
    ("(1.0 + np.linalg.norm({r})) * np.exp(-np.linalg.norm({r}))", "1.0 - 0.5 * np.sum({r} * {r})"),
    ("np.sqrt(np.sum({r} * {r})) ** 2", "np.sum({r} * {r})"),
    ("np.sqrt({r}[0] ** 4)", "{r}[0] * {r}[0]"),
    ("np.cbrt({r}[1] ** 6)", "{r}[1] * {r}[1]"),
    ("np.sqrt(np.abs({r}[0] ** 3) ** (4 / 3))", "{r}[0] * {r}[0]"),
    ("np.cbrt(({r}[1] ** 3) ** 2)", "{r}[1] * {r}[1]"),
    ("(({r}[0] ** 3) ** 4) ** (1 / 6)", "{r}[0] * {r}[0]"),
    ("np.log1p(np.sqrt(np.sqrt(({r}[1] ** 4) ** 2)))", "{r}[1] * {r}[1]"),
    ("np.maximum({r}[0], -{r}[0]) ** 2", "{r}[0] * {r}[0]"),
    ("(2.0 + np.fmax({r}[0], {r}[1])) * (2.0 + np.fmin({r}[0], {r}[1]))", "(2.0 + {r}[0]) * (2.0 + {r}[1])"),
    ("np.exp(np.minimum({r}[1], np.sin({r}[0]))) * np.exp(np.maximum({r}[1], np.sin({r}[0])))",
     "np.exp({r}[1] + np.sin({r}[0]))"),
    ("np.maximum({r}[0] * {r}[0], -{r}[0] * {r}[0])", "{r}[0] * {r}[0]"),
    ("np.max(np.stack(({r}[:1], -{r}[:1]))) ** 2", "{r}[0] * {r}[0]"),
    ("np.sort(np.stack(({r}[:1], -{r}[:1])).reshape(-1))[1] ** 2", "{r}[0] * {r}[0]"),
    ("np.median(np.stack(({r}[1:2], -{r}[1:2], 3.0 + {r}[:1])).reshape(-1)) ** 2", "{r}[1] * {r}[1]"),
    ("np.maximum({r}[0], 0.0) ** 2 + np.maximum(-{r}[0], 0.0) ** 2", "{r}[0] * {r}[0]"),
    ("(1.0 + np.maximum({r}[1], 0.0)) * (1.0 - np.fmax(-{r}[1], 0.0))", "1.0 + {r}[1]"),
    ("np.maximum({r}[0] * {r}[0], 0.0)", "{r}[0] * {r}[0]"),
    ("np.clip({r}[0], 0.0, 2.0) ** 2 + np.clip({r}[0], -2.0, 0.0) ** 2", "{r}[0] * {r}[0]"),
    ("np.maximum({r}[0], 0.0) - np.maximum(-{r}[0] - {r}[0] ** 2, 0.0) + np.maximum({r}[0], 0.0) ** 2",
     "{r}[0] + {r}[0] ** 2"),
    ("np.arccos(np.cos({r}[0])) ** 2", "{r}[0] * {r}[0]"),
    ("(np.arcsin(1.0 - 0.5 * {r}[1] ** 2) - 0.5 * np.pi) ** 2", "{r}[1] * {r}[1]"),
    ("np.arccosh(1.0 + 2.0 * np.sum({r} * {r})) ** 2", "4.0 * np.sum({r} * {r})"),
    ("np.copysign({r}[0], -1.5) ** 2", "{r}[0] * {r}[0]"),
    ("np.sum(np.sin(x) * x)", "np.sum(np.sin(x) * x)"),
)
# text with a pole
POLES = (
    ("np.exp(np.log({r}[0] ** 2))", "{r}[0] * {r}[0]"),
    ("np.exp2(np.log2({r}[1] ** 2) + 1.0) * 10.0 ** np.log10(1.0 + {r}[0] ** 2)", "2.0 * {r}[1] * {r}[1]"),
    ("np.sum(np.exp(np.log1p({r} * {r} - 1.0)))", "np.sum({r} * {r})"),
    ("np.sum(1.0 / (1.0 / ({r} * {r})))", "np.sum({r} * {r})"),
    ("np.sum(np.arctan({r}[:1] / {r}[:1] ** 3))", "-{r}[0] * {r}[0]"),
    ("np.sum(np.tanh(np.arctanh(1.0 - {r} * {r})))", "-np.sum({r} * {r})"),
    ("(({r}[0] ** 2) ** -1.0) ** -1.0", "{r}[0] * {r}[0]"),
    ("np.logaddexp(np.log({r}[1] ** 2), x[0])", "x[0] + {r}[1] ** 2 * np.exp(-x[0])"),
    ("np.sum(np.where({r} ** 2 > 0.0, np.log({r} ** 2), {r} ** 2))", "np.sum({r} ** 2)"),
)
# what picks an element
PICKS = (
    ("np.max({p}) * np.min({p})", "-{r}[0] * {r}[0]"),
    ("np.ptp({p}) ** 2", "4.0 * {r}[0] * {r}[0]"),
    ("np.sort({p})[0] * np.max({p}) * 2.0", "-2.0 * {r}[0] * {r}[0]"),
    ("np.median(np.concatenate(({p}, 3.0 + {r}[1:2]))) ** 2", "{r}[0] * {r}[0]"),
    ("np.max(np.concatenate(({r}[:1] ** 2, -{r}[:1] ** 2)))", "{r}[0] * {r}[0]"),
    ("np.max(np.exp({q})) * np.min(np.exp({q})) * x[0]", "np.exp({r}[0] + {r}[1]) * x[0]"),
    ("np.sort({p})[0] * np.sort({p})[1] + np.nanmax({p}) * np.nanmin({p})", "-2.0 * {r}[0] * {r}[0]"),
    ("np.linalg.norm({p}, np.inf) ** 2", "{r}[0] * {r}[0]"),
)
WEIGHTS = ("0.7", "(1.0 + 0.3 * np.sin(x[{j}]))", "x[{j}]", "np.exp(0.2 * x[{j}])")


class Program:
    """A program with its point, and the product of its Hessian with the unit vectors as differences."""

    def __init__(self, seed: int, compiled: bool = False) -> None:
        draw = random.Random(seed)
        pairs = TERMS + POLES + PICKS
        if compiled:
            pairs = tuple(pair for pair in TERMS + POLES + 3 * PICKS if "clip" not in pair[0])
        n = draw.randint(2, 3)
        self.point = np.array([round(draw.uniform(0.2, 1.5), 2) for _ in range(n)])
        lines, kinked, smooth = [], [], []
        for k in range(draw.randint(1, 3)):
            rows = [[float(draw.randint(-2, 2)) for _ in range(n)] for _ in range(draw.randint(2, 3))]
            lines.append(f"    r{k} = np.dot(np.array({rows}), x - np.array({self.point.tolist()}))")
            weight = draw.choice(WEIGHTS).format(j=draw.randrange(n))
            r = f"r{k}"
            named = {"p": f"np.concatenate(({r}[:1], -{r}[:1]))", "q": f"np.concatenate(({r}[:1], {r}[1:2]))"}
            for text, found in zip(draw.choice(pairs), (kinked, smooth), strict=True):
                found.append(f"{weight} * ({text.format(r=r, **named)})")
        head = "\n".join(["def f(x):", *lines])
        self.kinked, self.smooth = (f"{head}\n    return {' + '.join(terms)}\n" for terms in (kinked, smooth))

    def function(self, text: str):
        """The function of a text."""
        return define(text, f"<kink program {zlib.crc32(text.encode())}>", {"np": np})["f"]

    def truth(self) -> np.ndarray:
        """The Hessian."""
        f, n, h = self.function(self.smooth), len(self.point), 1e-5

        def gradient(x):
            return np.array([f(x + 1e-30j * e).imag / 1e-30 for e in np.eye(n)])

        return np.array([(gradient(self.point + h * e) - gradient(self.point - h * e)) / (2.0 * h) for e in np.eye(n)])


def second_derivatives(f, x, compiled=False):
    """Ways to the Hessian of f at x: name, and the matrix."""
    unit = np.eye(len(x))
    yield "hessian", contad.hessian(f)(x)
    yield "hvp", np.stack([contad.hvp(f)(x, e) for e in unit])
    yield "hvp to the other side", -np.stack([contad.hvp(f)(x, -e) for e in unit])
    if compiled:
        return
    yield "jvp of grad", np.stack([contad.jvp(contad.grad(f), (x,), (e,))[1] for e in unit])
    yield "grad of grad", np.stack([contad.grad(lambda y, e=e: contad.grad(f)(y) @ e)(x) for e in unit])
    yield "jacobian of grad", contad.jacobian(contad.grad(f))(x)
    for engine in ("records", "closures"):
        yield f"hessian, {engine}", contad.hessian(f, engine=engine)(x)


def mismatch(seed: int, compiled: bool = False) -> str | None:
    """What is neither the truth nor nan, in words."""
    program = Program(seed, compiled)
    f, truth = program.function(program.kinked), program.truth()
    with np.errstate(all="ignore"):  # at poles
        every = list(second_derivatives(numba.njit(f) if compiled else f, program.point, compiled))
    for name, found in every:
        wrong = ~np.isnan(found) & ~(np.abs(found - truth) <= 1e-6 * (1.0 + np.abs(truth)))
        if np.any(wrong):
            return f"seed {seed}, {name}: {found.tolist()} for {truth.tolist()}\n{program.kinked}"
    return None


def exact(seed: int) -> bool:
    """Whether the Hessian is there, and not nan."""
    program = Program(seed)
    with np.errstate(all="ignore"):
        return not np.any(np.isnan(contad.hessian(program.function(program.kinked))(program.point)))


if __name__ == "__main__":
    run_command(__doc__, mismatch, exact)
