"""Array programs of many equal steps, to see what one NumPy call costs: `x = x * y` over and over, on three numbers.

A chain is written as text, once for every library: its name is the statement that is timed, and the statements of its
gradient by hand stand beside it. Chains stand where a step neither shrinks nor grows a derivative much, so that
adjoints stay alive.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import Version, on_engine, with_autograd, with_torch
from benchmarks.comparison.topic import ONE, QUICK

X = np.array([0.7, -1.2, 0.4])
NEAR_ONE = 1.0005, 0.9993, 1.001
SQUARE = np.array([[0.7, -1.2, 0.4], [0.3, 0.5, -0.9], [1.1, 0.2, -0.6]])
C, S = 0.8, 0.6
ROTATION = np.array([[C, S, 0.0], [-S * C, C * C, S], [S * S, -S * C, C]])  # which keeps lengths

FUNCTION = """\
def f({arguments}, indices):
    {first}
    for i in indices:
        {step}
    return {value}
"""
BY_HAND = """\
def by_hand({arguments}, indices):
    states = []
    {first}
    for i in indices:
        {forth}
    value = {value}
    {start}
    for kept in reversed(states or indices):
        {back}
    return value, ({gradients},)
"""


class Chain(NamedTuple):
    """A step of a program, and its derivative, as statements; `indices` and a list of `states` are there to be used."""

    step: str
    calls: int  # NumPy calls, scalar operations, element reads and slices in a step
    point: dict[str, Any]  # what is differentiated
    value: str
    start: str  # the adjoints where the way back begins
    back: str  # a step of it: `kept` is the last of the states, or the last index where there are none
    gradients: str
    first: str = "pass"  # before the steps
    forth: str = ""  # the step by hand, if it keeps a state
    data: dict[str, Any] = {}  # noqa: RUF012  (constants, which nobody changes)
    name: str = ""  # if it is not that of the step
    modulus: int = 3  # the indices go round


T = {"first": "t = 0.0"}
CHAINS = (
    Chain(
        "x = x * y", 1, {"x": X, "y": np.array(NEAR_ONE)}, "np.sum(x)", "x_bar, y_bar = np.ones(3), np.zeros(3)",
        "y_bar = y_bar + x_bar * kept; x_bar = x_bar * y", "x_bar, y_bar", forth="states.append(x); x = x * y",
    ),
    Chain("x = x + 0.5", 1, {"x": X}, "np.sum(x * x)", "x_bar = 2.0 * x", "break", "x_bar"),
    Chain(
        "x = s * x", 1, {"x": X, "s": 1.0007}, "np.sum(x)", "x_bar, s_bar = np.ones(3), 0.0",
        "s_bar += np.sum(x_bar * kept); x_bar = s * x_bar", "x_bar, s_bar", forth="states.append(x); x = s * x",
        name="x = s * x, s a number",
    ),
    Chain(
        "x = c * x", 1, {"x": X}, "x @ x", "x_bar = 2.0 * x", "x_bar = c * x_bar", "x_bar",
        data={"c": np.array(NEAR_ONE)}, name="x = c * x, c constant",
    ),
    Chain(  # 1 is a fixed point of slope 1, approached like 1 - 2 / steps
        "x = np.exp(x - 1.0)", 2, {"x": np.array([0.8, 0.9, 0.95])}, "np.sum(x)", "x_bar = np.ones(3)",
        "x_bar = x_bar * kept", "x_bar", forth="x = np.exp(x - 1.0); states.append(x)",
    ),
    Chain(
        "t = t + np.sum(x)", 2, {"x": X}, "t * t", "x_bar = np.zeros(3)", "x_bar = x_bar + 2.0 * t", "x_bar", **T
    ),
    Chain(
        "t = t + np.dot(x, y)", 2, {"x": X, "y": np.array([0.3, 0.5, -0.9])}, "t * t",
        "x_bar, y_bar = np.zeros(3), np.zeros(3)", "x_bar = x_bar + 2.0 * t * y; y_bar = y_bar + 2.0 * t * x",
        "x_bar, y_bar", **T,
    ),
    Chain(
        "t = t + x[1:] * x[:-1]", 4, {"x": X}, "np.sum(t)", "x_bar, t_bar = np.zeros(3), np.ones(2)",
        "x_bar[1:] += t_bar * x[:-1]; x_bar[:-1] += t_bar * x[1:]", "x_bar", **T,
    ),
    Chain(
        "a = np.matmul(a, b)", 1, {"a": SQUARE, "b": ROTATION}, "np.sum(a)",
        "a_bar, b_bar = np.ones((3, 3)), np.zeros((3, 3))",
        "b_bar = b_bar + np.matmul(kept.T, a_bar); a_bar = np.matmul(a_bar, b.T)", "a_bar, b_bar",
        forth="states.append(a); a = np.matmul(a, b)",
    ),
    Chain("t = x[i]", 1, {"x": X}, "t * t", "x_bar = np.zeros(3); x_bar[i] = 2.0 * t", "break", "x_bar", **T),
    Chain(
        "t = t + x[i]", 2, {"x": np.array([0.7, -1.3, 0.4])}, "t * t", "x_bar = np.zeros(3)",
        "x_bar[kept] += 2.0 * t", "x_bar", **T,
    ),
)  # fmt: skip


def write_elements(size: int) -> Chain:
    """x[i] = v, over and over, into an array of `size` elements; v is a number that is differentiated too.

    All but the last element are written, so that x keeps a derivative.
    """
    return Chain(
        "x[i] = v", 1, {"x": 0.5 + np.arange(size) / size, "v": 0.8}, "np.sum(x * x)", "x_bar, v_bar = 2.0 * x, 0.0",
        "v_bar += x_bar[kept]; x_bar[kept] = 0.0", "x_bar, v_bar", first="x = x + 0.0",  # fresh in every library
        name="x[i] = v" if size == 3 else f"x[i] = v, size {size}", modulus=size - 1,
    )  # fmt: skip


def run_text(text: str, name: str, **names: Any) -> Callable[..., Any]:
    """The function of this name that a text defines."""
    exec(text, names)
    found: Callable[..., Any] = names[name]
    return found


def make_program(chain: Chain, steps: int, engines: Sequence[str], peers: bool = True) -> Program:
    """The program of a chain; a step is counted as its calls, and its time is that over the program of one step."""
    arguments = (*chain.point, *chain.data)
    values = (*chain.point.values(), *chain.data.values())
    texts = chain._asdict() | {"arguments": ", ".join(arguments), "forth": chain.forth or chain.step}
    function, argnums = FUNCTION.format(**texts), tuple(range(len(chain.point)))

    def write(np: Any) -> Callable[..., Any]:
        return run_text(function, "f", np=np)

    def draw(steps: int) -> tuple[Any, ...]:
        return *(np.copy(x) if np.ndim(x) else x for x in values), [k % chain.modulus for k in range(steps)]

    ways: dict[str, Version] = {name: on_engine(write(np), argnums, name, wrapped=False) for name in engines}
    return Program(
        name=f"`{chain.name or chain.step}`",
        about=f"{chain.calls} calls a step",
        sizes={ONE: {"steps": 1}, QUICK: {"steps": 20}, "full": {"steps": steps}},
        inputs=draw,
        argnums=argnums,
        primal=write(np),
        by_hand=run_text(BY_HAND.format(**texts), "by_hand", np=np),
        contad=ways,
        peers={"autograd": with_autograd(write, argnums), "torch": with_torch(write, argnums)} if peers else {},
        count=lambda steps: steps * chain.calls,
    )
