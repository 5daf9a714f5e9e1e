"""Seven Numba programs of `benchmarks.loops`, at points where both branches are taken and derivatives live."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks import loops, loops_by_hand


class Program(NamedTuple):
    """A Numba function, its (value, gradients) by hand, and a point."""

    name: str
    f: Any
    by_hand: Callable[..., tuple[float, tuple[Any, ...]]]
    point: tuple[Any, ...]
    argnums: tuple[int, ...]


def programs(scale: float = 1.0) -> list[Program]:
    """The seven programs at random points; `scale` 1 is the size of the benchmark, 0.01 that of the tests."""
    draw = np.random.default_rng(11)

    def many(n: int) -> int:
        return max(8, int(n * scale))

    features = draw.standard_normal((many(1000), 6))
    beta = 0.3 * draw.standard_normal(6)
    labels = (draw.random(len(features)) < 1.0 / (1.0 + np.exp(-features @ beta))) * 1.0
    d, k = 4, 5
    size = d * (d + 1) // 2
    mixture_point = (
        draw.standard_normal(k), draw.random((k, d)), 0.5 * draw.standard_normal((k, size)),
        draw.standard_normal((many(500), d)), 1.3, 2,
    )  # fmt: skip
    # both branches are taken, and the derivative lives: at other points it underflows or is that of chaos
    recurrence_point = (0.7, 0.9245, -0.4, 100_000) if scale == 1.0 else (0.7, 0.95, -0.4, 60)
    points = {
        "rosenbrock": ((draw.standard_normal(many(1000)),), (0,)),
        "logistic": ((beta, features, labels), (0,)),
        "logistic_arrays": ((beta, features, labels), (0,)),
        "recurrence": (recurrence_point, (0, 1, 2)),
        "heat": ((draw.standard_normal(many(500)), 0.2, many(200)), (0, 1)),
        "newtons": ((draw.random(many(1000)) * 3.0 + 0.5, draw.random(many(1000))), (0, 1)),
        "mixture": (mixture_point, (0, 1, 2)),
    }
    return [
        Program(name, getattr(loops, name), getattr(loops_by_hand, name), point, argnums)
        for name, (point, argnums) in points.items()
    ]
