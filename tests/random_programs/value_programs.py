"""Random programs of NumPy's functions that choose, fill and cast, whose values and shapes are easily not NumPy's."""

import random
from typing import Any, NamedTuple

import numpy as np

SHAPES = ("", "", "(3,)", "(2, 3)", "(3, 1)")
FORMS = (
    "np.heaviside({x}, {y})", "np.clip({x}, {y}, {y} + 0.7)", "np.clip({x}, None, {y})", "np.maximum({x}, {y})",
    "np.where({x} > 0.2, {x}, {y})", "np.select([{x} > 0.2, {y} > 0.1], [{x}, {y}], 0.3)",
    "np.choose(np.array([1, 0, 1]), [{x}, {y}])", "np.full_like(np.arange(3), {x})", "np.full_like({k}, {y})",
    "np.full(3, {x})", "np.full((2, 3), {y})", "np.full_like({x}, {y})",
    "np.insert({k}, 1, {x})", "np.insert({x}, 0, {y})", "np.append({k}, {x})",
    "np.piecewise({x}, {x} > 0.2, [lambda v: v * v, 1.5])", "np.piecewise({x}, [{k} > 1, {k} < 1], [2, lambda v: -v])",
    "np.put(d := {x} * 1.0, [0], {y}) or d", "np.putmask(d := {x} * 1.0, {x} > 0.2, {y}) or d",
    "np.copyto(d := {x} * 1.0, {y}) or d", "np.nan_to_num({x})", "np.sinc({x}) + {y}", "np.round({x}, 1) + {k}",
    "np.nan_to_num(np.divide({x}, np.maximum({y}, 0.0)))",
    "np.fmin({x}, {y})", "np.copysign({x}, {y})", "np.fmod({x}, 0.7) * {y}", "np.trapezoid({x})", "np.diff({x})",
)  # fmt: skip
KINDS = ("np.arange(3)", "np.array([True, False, True])", "np.array([2, 0, 1])", "np.array([[1, 0, 2]])")


class Program(NamedTuple):
    """Lines that each define one value from those before, of which the first are the inputs."""

    inputs: tuple[Any, ...]
    lines: tuple[str, ...]

    def source(self) -> str:
        """The text of a function of the inputs."""
        body = "".join(f"    {line}\n" for line in self.lines)
        names = ", ".join(f"v{k}" for k in range(len(self.inputs)))
        return f"def program({names}):\n{body}    return {', '.join(self.defined())}\n"

    def defined(self) -> list[str]:
        """The names of the values."""
        return [line.partition(" ")[0] for line in self.lines]

    def function(self) -> Any:
        """The program as a function."""
        scope: dict[str, Any] = {"np": np}
        exec(self.source(), scope)
        return scope["program"]


def generate(seed: int) -> Program:
    """The random program of a seed; each line is tried on NumPy, and left out where NumPy raises."""
    r = random.Random(f"values/{seed}")
    draw = np.random.default_rng(seed)
    inputs = tuple(round(float(draw.normal()), 2) if not s else draw.normal(size=eval(s)).round(2) for s in
                   (r.choice(SHAPES), r.choice(SHAPES[2:]), r.choice(SHAPES)))  # fmt: skip
    scope = {"np": np} | {f"v{k}": x for k, x in enumerate(inputs)}
    names, lines = list(scope)[1:], []
    while len(lines) < 6:
        x, y = (r.choice([*names, f"{r.uniform(-1.0, 2.0):.2f}"]) for _ in range(2))
        line = r.choice(FORMS).format(x=x, y=y, k=r.choice(KINDS))
        try:
            with np.errstate(all="ignore"):
                value = eval(line, scope)
        except Exception:
            continue
        if isinstance(value, (list, tuple)) or np.size(value) > 40 or not np.size(value):
            continue
        name = f"v{len(names)}"
        scope[name] = value
        names.append(name)
        lines.append(f"{name} = {line}")
    return Program(inputs, tuple(lines))
