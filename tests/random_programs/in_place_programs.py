"""Random simulations that write slices of arrays in place: steps read slices of the last ones, with old ends beside."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class InPlaceProgram(NamedTuple):
    """A function of two arrays and a number, its inputs, and what it does as text."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    text: str


KINDS = {
    "linear": "{a} += 0.1 * ({x} - 2.0 * {y} + {z})",
    "by k": "{a} += k * ({x} - 2.0 * {y} + {z})",
    "products": "{a} = {x} * {y} / (1.0 + {x} * {x}) + k * {z}",
    "sines": "{a} += 0.1 * np.sin({x}) * {y} - 0.05 * {z}",
    "copies": "{a} = {y}",
    "ends": "{array}[0], {array}[-1] = k * {others}[1], {others}[-2]",
    "sums": "total = total + np.sum({x} * {y} - {z})",
    "squares": "total = total + np.sum({x} * {x})",
    "new": "{array} = {array} * 0.9 + 0.1 * {others}",
    "turned": "{a} = 0.5 * {x}[::-1] + k * {y}",
}


def generate(seed: int, n: int, shared: bool = False) -> InPlaceProgram:
    """A program on arrays of n numbers; of shared ones, it has no copies, and its arguments may overlap."""
    draw = random.Random(seed)
    lines = []
    kinds = draw.sample(list(KINDS), draw.randint(1, 4))
    for _ in range(draw.randint(1, 4)):
        low, high = draw.choice(((1, 1), (1, 1), (2, 1), (0, 3), (9, 1), (3, 8)))
        array, *others = (draw.choice("uv") for _ in range(4))

        def read(name: str, low: int = low, high: int = high) -> str:
            by = draw.choice((-1, 0, 0, 1)) if min(low, high) else draw.choice((0, max(low, high) // 3))
            by = by if low + by >= 0 and by <= high else 0
            return f"{name}[{low + by} : {n - high + by}]"

        x, y, z = map(read, others)
        text = KINDS[draw.choice(kinds)]
        lines.append(text.format(a=f"{array}[{low} : {n - high}]", array=array, others=others[0], x=x, y=y, z=z))
    steps = draw.randint(2, 5)
    end = draw.choice(("np.sum(u * u) + np.sum(v)", "np.sum(u * v)", "np.sum(u[1:-1]) + u[0] + np.sum(v[3:] * v[:-3])"))
    body = "\n        ".join(lines)
    first = "total = 0.0" if shared else "u, v, total = u.copy(), v.copy(), 0.0"
    text = (
        f"def f(u, v, k):\n    {first}\n    for _ in range({steps}):\n        {body}\n"
        f"    return total + {end}\n"
    )
    space: dict[str, Any] = {"np": np}
    exec(text, space)
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n))
    if shared:
        memory = np.concatenate([u, v])
        u, v = memory[:n], draw.choice((memory[:n], memory[n:], memory[2 : n + 2], memory[n - 1 :: -1]))
    return InPlaceProgram(space["f"], (u, v, 0.3), text)
