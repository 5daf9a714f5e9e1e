"""A recorded program against the function itself: value, gradient and slope at other inputs."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import contad
from tests.judges.array_agreement import flat, weights_like


def of_one_number(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with one number as its result: the weighted sum of the numbers of what it returns."""

    def total(*args: Any) -> Any:
        result = f(*args)
        s = 0.0
        parts = result if isinstance(result, (tuple, list)) else (result,)
        for k, z in enumerate(parts):
            w = weights_like(np.zeros(np.shape(z)), 3 * k)
            s = s + (np.sum(z * w) if np.ndim(z) else z * float(w))
        return s

    return total


def numbers(value: Any, gradient: Any, slope: Any) -> np.ndarray:
    """All that is compared, in a row."""
    return np.concatenate([[value], flat(gradient), [slope]])


def directly(f: Callable[..., Any], args: Sequence[Any], direction: Sequence[Any]) -> np.ndarray:
    """Value, gradient and slope of f, the last two by one recording."""
    with np.errstate(all="ignore"):
        value, gradient = contad.value_and_grad(f, tuple(range(len(args))))(*args)
    along = [(g, d) for g, d in zip(flat(gradient), flat(list(direction)), strict=True) if d != 0.0]
    return numbers(value, gradient, sum(g * d for g, d in along))


def replayed(program: Any, args: Sequence[Any], direction: Sequence[Any]) -> np.ndarray:
    """The same of a program."""
    value, gradient = program.value_and_grad(*args)
    alone = program(*args)
    again, slope = program.jvp(tuple(args), tuple(direction))
    # any of these runs may be the first compiled one, after a while in Python, and the last digits may be others then
    np.testing.assert_allclose([alone, again], value, rtol=1e-8, atol=1e-9)
    return numbers(value, gradient, slope)


def nearby(rng: np.random.Generator, args: Sequence[Any], size: float) -> list[Any]:
    """Other arguments of the same shapes."""
    return [
        np.asarray(x + size * rng.normal(size=x.shape)) if isinstance(x, np.ndarray) else x + size * rng.normal()
        for x in args
    ]


def compare(program: Any, f: Callable[..., Any], args: Sequence[Any], seed: int = 0, tries: int = 4) -> Counter[str]:
    """How often the program agreed with f at the example and around it, and how often a guard stopped it.

    Raises AssertionError where they disagree; at the example a guard must hold.
    """
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for k in range(tries):
        x = list(args) if k == 0 else nearby(rng, args, (0.0, 1e-3, 0.1, 0.4)[k % 4])
        direction = nearby(rng, args, 1.0)
        try:
            expected = directly(f, x, direction)
        except (ValueError, IndexError):
            continue
        try:
            got = replayed(program, x, direction)
        except contad.GuardError:
            assert k, "a guard of the program fails where it was recorded"
            found["guarded"] += 1
            continue
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)
        found["agreed"] += 1
    return found
