"""Event times of a solution: roots in time, differentiable by the implicit function theorem."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.errors import SingularPointError
from contad.scipy.integrate.integral_operation import ConvertedFunction, require_found, zeros
from contad.scipy.integrate.trajectories import System, trajectory
from contad.transforms.gradients import jvp, vjp
from contad.transforms.operation import CustomOperation
from contad.variables.creation import array
from contad.variables.number import map_numbers, peek, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Real, Value
from contad.variables.trees import flatten

_PART = 0.1  # of the time: an event whose time is known no better has no derivative


def solve_with_events(
    system: System, solve: Function, at: Sequence[Any], events: Sequence[ConvertedFunction], result: Any
) -> tuple[ArrayValue, ArrayValue]:
    """(times, states) of the outputs, solved together with the events; `result` gets the events as variables."""
    start, t_span, times, params, ends_there = at
    ends_there = ends_there and result.status == 1
    first, outputs = float(peek(t_span[0])), len(times)
    last = float(result.t[-1])
    flat = [t for found in result.t_events for t in found]
    duration = abs(max([*flat, last], key=lambda t: abs(t - first)) - first)
    duration = duration or abs(float(peek(t_span[1])) - first)
    plain = np.concatenate([np.asarray(map_numbers(primal, times), float), flat])
    if ends_there:
        plain[outputs - 1] = last
        times = array([*(times[k] for k in range(outputs - 1)), last])
    order = np.argsort(np.abs(plain - first), kind="stable")
    places = np.argsort(order)
    merged = np.concatenate([times, np.array(flat)])[order]
    y = solve(system, start, t_span[0], merged, params)
    rows, t_events, y_events = y[places[:outputs]], [], []
    at_event, seen = outputs, {}
    for number, (event, found) in enumerate(zip(events, result.t_events, strict=True)):
        pairs = []
        for t in found:
            of_event = (params[0], event.captured)
            pairs.append(_event_of(system, event, number, float(t), y[places[at_event]], params, of_event, duration))
            seen[float(t)] = pairs[-1]
            at_event += 1
        t_events.append(array([t for t, _ in pairs]) if pairs else found)
        y_events.append(np.stack([row for _, row in pairs]) if pairs else result.y_events[number])
    if ends_there and last in seen:
        times = np.concatenate([times[:-1], np.reshape(seen[last][0], (1,))])
        rows = np.concatenate([rows[:-1], np.reshape(seen[last][1], (1, -1))])
    result.t_events, result.y_events = t_events, y_events
    return times, rows


def _event_of(
    system: System, event: ConvertedFunction, number: int, found: float, y: ArrayValue, params: Nested,
    event_params: Nested, duration: float,
) -> tuple[Real, ArrayValue]:  # fmt: skip
    """The time of an event and the state at that time; y is the solution at the constant time `found`.

        g(t, y(t)) = 0,     t_dot = -(g_y y_dot + g_p p_dot) / (g_t + g_y f)
    """
    time = _event_time(system, event, number, found, y, params, event_params, duration)
    return time, trajectory(system, y, found, np.reshape(time, (1,)), params)[0]


def _event_time(
    system: System, event: ConvertedFunction, number: int, found: float, y: ArrayValue, params: Nested,
    event_params: Nested, duration: float,
) -> Real:  # fmt: skip
    """The root of g(t, y(t)) at `found`, with derivatives from the solution through y at the constant time `found`."""
    name = system.settings.name

    def at(t: Real, y: ArrayValue, params: Nested, event_params: Nested) -> Value:
        """g at the time t of the solution through y."""
        state = trajectory(system, y, found, np.reshape(t, (1,)), params)[0]
        return event.call((t, state), event_params)

    def find_speed(t: Real, args: Sequence[Any]) -> Value:
        """dg/dt along the solution, which must not be zero."""
        rate = jvp(lambda t: at(t, *args), (t,), (1.0,))[1]
        if not crosses(float(peek(rate)), t, args):
            raise SingularPointError(
                f"{name}: event {number} at t = {found:.6g} has no derivative: the solution only grazes it (its event "
                f"function changes at the rate {float(peek(rate)):.3g} there)"
            )
        return rate

    def crosses(rate: float, t: Real, args: Sequence[Any]) -> bool:
        y = np.asarray(peek(args[0]), float)
        by_state = np.asarray(peek(vjp(lambda y: event.call((t, y), args[2]), args[0])[1](1.0)[0]), float)
        error = float(np.sum(np.abs(by_state) * (system.settings.atol + system.settings.rtol * np.abs(y))))
        return rate != 0.0 and error <= _PART * duration * abs(rate)

    def value(*args: Any) -> tuple[Value, None]:
        if operation.owner is None:
            require_found(name, "an event", event.call((found, args[0]), args[2]))
            return found, None
        y, params, event_params = args
        return _event_time(system, event, number, found, y, params, event_params, duration), None

    def pull(args: Sequence[Any], saved: None, z: Value, z_bar: Value) -> Sequence[Nested | None]:
        trees = [flatten(x) for x in args]
        of_leaves = _of_leaves(lambda *args: at(z, *args), trees, operation.places)
        bars = vjp(of_leaves, *(trees[n].leaves[k] for n, k in operation.places))[1](-z_bar / find_speed(z, args))
        given = dict(zip(operation.places, bars, strict=True))
        return [
            tree.unflatten([given.get((n, k), zeros(x)) for k, x in enumerate(tree.leaves)])
            for n, tree in enumerate(trees)
        ]

    def push(args: Sequence[Any], saved: None, z: Value, tangents: Sequence[Any]) -> Value:
        trees, dots = [flatten(x) for x in args], [flatten(x).leaves for x in tangents]
        of_leaves = _of_leaves(lambda *args: at(z, *args), trees, operation.places)
        primals = [trees[n].leaves[k] for n, k in operation.places]
        tangent = jvp(of_leaves, primals, [dots[n][k] for n, k in operation.places])[1]
        return -tangent / find_speed(z, args)

    operation = CustomOperation(
        name, (y, params, event_params), value, pull, push, [], [*system.settings.later, *event.later]
    )
    return operation.perform()


def _of_leaves(f: Callable[..., Value], trees: Sequence[Any], places: Sequence[tuple[int, int]]) -> Any:
    """f as a function of the leaves at these positions."""

    def of_leaves(*leaves: Value) -> Value:
        given = dict(zip(places, leaves, strict=True))
        return f(
            *(tree.unflatten([given.get((n, k), x) for k, x in enumerate(tree.leaves)]) for n, tree in enumerate(trees))
        )

    return of_leaves
