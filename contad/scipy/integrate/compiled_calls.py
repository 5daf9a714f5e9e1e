"""The compiled solvers as methods of `solve_ivp`: one operation with compiled derivatives."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.functions.user_call import memo_of
from contad.scipy.integrate.integral_operation import ConvertedFunction, require_found
from contad.transforms.gradients import jvp, vjp
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.open_types import ArrayValue, Function, Nested, NumbaFunction, Options, Real

COMPILED = ("dopri5", "sdirk4")
_MOST = 1e6  # steps
_OURS = tuple(f"contad.scipy.integrate.{solver}: " for solver in COMPILED)


def solve_compiled(
    method: str, frozen: ConvertedFunction, y0: ArrayValue, t0: Real, ts: ArrayValue, args: Sequence[Nested],
    rtol: float, atol: Any, options: Options,
) -> ArrayValue:  # fmt: skip
    """The solution at times ts: (T, n)."""
    if frozen.dispatcher is None:
        arguments.fail("solve_ivp", "fun", f'be a Numba function for the method "{method}"', "a Python function")
    bands = [options.pop(name, None) for name in ("lband", "uband")] if method == "sdirk4" else []
    for name, x in options.items():
        if x not in (None, False):
            raise UnsupportedError(f'solve_ivp: {name}= is not supported by the method "{method}"')
    if np.ndim(rtol) or np.ndim(atol) or not (rtol > 0.0 and atol > 0.0):
        arguments.fail("solve_ivp", "rtol and atol", f'be positive numbers for the method "{method}"', (rtol, atol))
    times = np.concatenate([np.reshape(t0, (1,)), ts])
    settings = (float(rtol), float(atol), _MOST, *(float(_read_band(x, bands)) for x in bands))
    return _perform(_bind(method, frozen.dispatcher), (times, y0, tuple(args)), settings)


def _read_band(x: int | None, both: Sequence[int | None]) -> int:
    """One of the widths; if it is missing, 0 if the other is given, as in SciPy, otherwise -1."""
    return x if x is not None else -1 if both == [None, None] else 0


def _bind(method: str, fun: NumbaFunction) -> NumbaFunction:
    """The solver for one right-hand side, made once."""
    import numba

    from contad.scipy.integrate import compiled_solvers

    memo, key = memo_of(fun), ("solve_ivp", method)
    if key not in memo:
        solver = getattr(compiled_solvers, method)

        @numba.njit
        def solve(times, y0, args, rtol, atol, most):  # type: ignore[no-untyped-def]
            return solver(fun, times, y0, args, rtol, atol, int(most))

        @numba.njit
        def solve_band(times, y0, args, rtol, atol, most, lband, uband):  # type: ignore[no-untyped-def]
            return solver(fun, times, y0, args, rtol, atol, int(most), int(lband), int(uband))

        memo[key] = solve if method == "dopri5" else solve_band
    return memo[key]


def _perform(solve: NumbaFunction, args: Sequence[Any], settings: tuple[float, ...]) -> ArrayValue:
    def value(*args: Any) -> tuple[ArrayValue, None]:
        if operation.owner is not None:
            return _perform(solve, args, settings), None
        times, y0, given = args
        found = _run(solve, np.array(times, float), np.array(y0, float), given, *settings)
        require_found("solve_ivp", "fun", found)
        return found[1:], None

    def pad(z_bar: ArrayValue) -> ArrayValue:
        return np.concatenate([np.zeros((1, np.shape(z_bar)[1])), z_bar])

    def pull(args: Sequence[Any], saved: None, z: ArrayValue, z_bar: ArrayValue) -> Sequence[Nested | None]:
        return list(vjp(solve, *args, *settings)[1](pad(z_bar))[:3])

    def push(args: Sequence[Any], saved: None, z: ArrayValue, tangents: Sequence[Any]) -> ArrayValue:
        return jvp(solve, (*args, *settings), (*tangents, *(0.0 for _ in settings)))[1][1:]

    operation = CustomOperation("solve_ivp", args, value, pull, push, [], [])
    return operation.perform()


def _run(solve: Function, *args: Any) -> np.ndarray:
    """The solution, with errors in the form of `solve_ivp`."""
    try:
        found: np.ndarray = solve(*args)
    except (ValueError, RuntimeError) as error:
        text = str(error.args[0]) if error.args else ""
        if not text.startswith(_OURS):
            raise
        numbers = "".join(f" {x:.6g}" for x in error.args[1:])
        _, _, reason = text.partition(": ")
        raise type(error)(f"solve_ivp: {reason}{numbers}") from error
    return found
