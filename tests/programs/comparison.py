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


def compiled(f: Callable[..., Any], *example: Any, **how: Any) -> Any:
    """A program whose runs are compiled code's from the first."""
    program = contad.record(f, *example, **how)
    program.compile_tangents()
    program._compile()
    return program


def layout_of(f: Callable[..., Any], *inputs: Any, may_be_guarded: bool = False) -> Any:
    """The layout of a compiled program that agrees with f."""
    program = compiled(f, *inputs)
    found = compare(program, f, inputs)
    assert found["agreed"] + may_be_guarded * found["guarded"] == 4
    (layout,) = program._layouts
    return layout


def require_derivatives(
    program: Any, f: Callable[..., Any], args: Sequence[Any], engine: str | None = None, forward: bool = False,
    value_digits: float = 1e-12, gradient_digits: tuple[float, float] = (1e-10, 1e-12),
    slope_digits: tuple[float, float] = (1e-9, 1e-9),
) -> None:  # fmt: skip
    """A program has the value, the gradient and the slope of f, which an eager engine or forward mode finds.

    The digits are relative and absolute tolerances.
    """
    with np.errstate(all="ignore"):
        value, gradient = contad.value_and_grad(f, tuple(range(len(args))), engine=engine)(*args)
        directions = tuple(np.cos(np.arange(np.size(x)) + 1.0).reshape(np.shape(x)) for x in args)
        slope = sum(np.vdot(g, d) for g, d in zip(gradient, directions, strict=True))
        if forward:
            slope = contad.jvp(f, tuple(args), directions)[1]
    got, found = program.value_and_grad(*args)
    np.testing.assert_allclose(got, value, rtol=value_digits)
    assert program(*args) == got
    for g, expected in zip(found if len(args) > 1 else (found,), gradient, strict=True):
        np.testing.assert_allclose(g, expected, *gradient_digits)
    np.testing.assert_allclose(program.jvp(tuple(args), directions), (value, slope), *slope_digits)
