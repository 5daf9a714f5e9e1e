"""Steps of optimisers over trees of parameters, with optax's names: `adam`, `adamw`, `sgd`, `lion`, `lbfgs` and more.

An optimiser has two pure functions. `init(params)` returns a state, and `update(grads, state, params)` returns updates
and the next state; `apply_updates` adds the updates. Trees are numbers, arrays, lists, tuples and dicts of them. A
learning rate is a number or a schedule, a function of the step. A loop of such steps is differentiable in its start and
in the rates.

>>> import contad
>>> def loss(p):
...     return np.sum((p["a"] - 3.0) ** 2) + p["b"] ** 2
>>> params = {"a": np.zeros(2), "b": 1.0}
>>> optimiser = adam(0.1)
>>> state = optimiser.init(params)
>>> for _ in range(300):
...     updates, state = optimiser.update(contad.grad(loss)(params), state, params)
...     params = apply_updates(params, updates)
>>> params["a"].round(3), round(abs(float(params["b"])), 3)
(array([3., 3.]), 0.0)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.transforms.flat_functions import ravel
from contad.variables.number import observe
from contad.variables.open_types import Nested, Value
from contad.variables.trees import flatten

__all__ = [
    "GradientTransformation", "adam", "adamw", "add_decayed_weights", "apply_updates", "chain", "clip",
    "clip_by_global_norm", "constant_schedule", "cosine_decay_schedule", "exponential_decay", "global_norm",
    "join_schedules", "lbfgs", "linear_schedule", "lion", "momentum", "piecewise_constant_schedule", "rmsprop",
    "scale", "scale_by_adam", "scale_by_learning_rate", "sgd", "trace", "warmup_cosine_decay_schedule",
]  # fmt: skip

Rate = Any  # a number, or a schedule
Schedule = Callable[[int], Any]  # a function of the step


class GradientTransformation(NamedTuple):
    """Two pure functions, init(params) -> state and update(updates, state, params) -> (updates, state)."""

    init: Callable[..., Any]
    update: Callable[..., Any]


def _map(f: Callable[..., Value], tree: Nested, *rest: Nested) -> Nested:
    """f of the leaves of trees of one structure."""
    first, others = flatten(tree), [flatten(one) for one in rest]
    for other in others:
        if not first.matches(other):
            raise ValueError(
                f"contad.optim: gradients, state and parameters must have one structure, got {first.describe()} and "
                f"{other.describe()}"
            )
    return first.unflatten([f(*leaves) for leaves in zip(first.leaves, *(o.leaves for o in others), strict=True)])


def _stateless(f: Callable[[Nested, Nested], Nested]) -> GradientTransformation:
    return GradientTransformation(lambda params: (), lambda updates, state, params=None: (f(updates, params), state))


def _zeros(params: Nested) -> Nested:
    return _map(lambda x: np.zeros(np.shape(x)) if np.ndim(x) else 0.0, params)


def _mix(old: Nested, new: Nested, share: Any, power: int = 1) -> Nested:
    """A running mean: share old + (1 - share) new^power."""
    return _map(lambda m, g: share * m + (1.0 - share) * (g if power == 1 else g * g), old, new)


def apply_updates(params: Nested, updates: Nested) -> Nested:
    """params + updates, leaf by leaf."""
    return _map(lambda p, u: p + u, params, updates)


def global_norm(tree: Nested) -> Value:
    """The Euclidean norm of all numbers of a tree."""
    return np.sqrt(sum(np.sum(x * x) for x in flatten(tree).leaves))


def chain(*transformations: GradientTransformation) -> GradientTransformation:
    """The transformations one after the other."""

    def update(updates: Nested, state: Sequence[Any], params: Nested = None) -> tuple[Nested, tuple[Any, ...]]:
        after = []
        for one, inner in zip(transformations, state, strict=True):
            updates, new = one.update(updates, inner, params)
            after.append(new)
        return updates, tuple(after)

    return GradientTransformation(lambda params: tuple(one.init(params) for one in transformations), update)


def scale(factor: Any) -> GradientTransformation:
    """factor g."""
    return _stateless(lambda g, params: _map(lambda x: factor * x, g))


def clip(max_delta: Any) -> GradientTransformation:
    """g between -max_delta and max_delta, element by element."""
    return _stateless(lambda g, params: _map(lambda x: np.clip(x, -max_delta, max_delta), g))


def clip_by_global_norm(max_norm: Any) -> GradientTransformation:
    """g max_norm / |g| where the norm of all of g exceeds max_norm."""

    def shorten(g: Nested, params: Nested) -> Nested:
        size = global_norm(g)
        return _map(lambda x: x * (max_norm / size), g) if observe(np.greater, size, max_norm) else g

    return _stateless(shorten)


def add_decayed_weights(weight_decay: Any = 0.0) -> GradientTransformation:
    """g + weight_decay p."""
    return _stateless(lambda g, params: _map(lambda x, p: x + weight_decay * p, g, params))


def scale_by_learning_rate(learning_rate: Rate) -> GradientTransformation:
    """-learning_rate g, or -learning_rate(step) g."""
    if not callable(learning_rate):
        return scale(-1.0 * learning_rate)

    return GradientTransformation(
        lambda params: 0, lambda g, count, params=None: (scale(-1.0 * learning_rate(count)).update(g, ())[0], count + 1)
    )


def trace(decay: Any, nesterov: bool = False) -> GradientTransformation:
    """t = g + decay t_before; with nesterov g + decay t."""

    def update(g: Nested, state: Nested, params: Nested = None) -> tuple[Nested, Nested]:
        t = _map(lambda x, m: x + decay * m, g, state)
        return (_map(lambda x, m: x + decay * m, g, t) if nesterov else t), t

    return GradientTransformation(_zeros, update)


def scale_by_adam(b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, eps_root: Any = 0.0) -> GradientTransformation:
    """m / (1 - b1^k) / (sqrt(v / (1 - b2^k) + eps_root) + eps), m and v running means of g and g^2 after k steps."""

    def update(g: Nested, state: Any, params: Nested = None) -> tuple[Nested, Any]:
        k, m, v = state[0] + 1, _mix(state[1], g, b1), _mix(state[2], g, b2, 2)
        rise, width = 1.0 - b1**k, 1.0 - b2**k
        return _map(lambda m, v: m / rise / (np.sqrt(v / width + eps_root) + eps), m, v), (k, m, v)

    return GradientTransformation(lambda params: (0, _zeros(params), _zeros(params)), update)


def sgd(learning_rate: Rate, momentum: Any = None, nesterov: bool = False) -> GradientTransformation:
    """Gradient descent, p - rate g, with the momentum of `trace` unless it is None."""
    parts = [] if momentum is None else [trace(momentum, nesterov)]
    return chain(*parts, scale_by_learning_rate(learning_rate))


def momentum(learning_rate: Rate, decay: Any = 0.9, nesterov: bool = False) -> GradientTransformation:
    """`sgd` with momentum."""
    return sgd(learning_rate, decay, nesterov)


def adam(
    learning_rate: Rate, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, eps_root: Any = 0.0
) -> GradientTransformation:
    """Adam (Kingma & Ba 2014): `scale_by_adam` times the rate."""
    return chain(scale_by_adam(b1, b2, eps, eps_root), scale_by_learning_rate(learning_rate))


def adamw(
    learning_rate: Rate, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, eps_root: Any = 0.0,
    weight_decay: Any = 1e-4,
) -> GradientTransformation:  # fmt: skip
    """Adam with weights that decay beside the gradient (Loshchilov & Hutter 2019)."""
    parts = scale_by_adam(b1, b2, eps, eps_root), add_decayed_weights(weight_decay)
    return chain(*parts, scale_by_learning_rate(learning_rate))


def rmsprop(
    learning_rate: Rate, decay: Any = 0.9, eps: Any = 1e-8, initial_scale: float = 0.0, eps_in_sqrt: bool = True,
    centered: bool = False, momentum: Any = None, nesterov: bool = False,
) -> GradientTransformation:  # fmt: skip
    """g / sqrt(v + eps), v a running mean of g^2, minus that of g squared if centered (Hinton 2012)."""

    def update(g: Nested, state: Any, params: Nested = None) -> tuple[Nested, Any]:
        m, v = _mix(state[0], g, decay), _mix(state[1], g, decay, 2)
        around = _map(lambda v, m: v - m * m, v, m) if centered else v
        inside, outside = (eps, 0.0) if eps_in_sqrt else (0.0, eps)
        return _map(lambda x, v: x / (np.sqrt(v + inside) + outside), g, around), (m, v)

    init = lambda params: (_zeros(params), _map(lambda x: x + initial_scale, _zeros(params)))  # noqa: E731
    parts = [] if momentum is None else [trace(momentum, nesterov)]
    return chain(GradientTransformation(init, update), scale_by_learning_rate(learning_rate), *parts)


def lion(learning_rate: Rate, b1: Any = 0.9, b2: Any = 0.99, weight_decay: Any = 1e-3) -> GradientTransformation:
    """sign(b1 m + (1 - b1) g) + weight_decay p, m a running mean of g by b2 (Chen et al. 2023)."""

    def update(g: Nested, m: Nested, params: Nested = None) -> tuple[Nested, Nested]:
        return _map(np.sign, _mix(m, g, b1)), _mix(m, g, b2)

    parts = GradientTransformation(_zeros, update), add_decayed_weights(weight_decay)
    return chain(*parts, scale_by_learning_rate(learning_rate))


def lbfgs(learning_rate: Any = None, memory_size: int = 10) -> GradientTransformation:
    """The step of limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.4).

    Without a learning rate, `update` takes value_fn, a function of the parameters, and halves the step until the value
    decreases by 1e-4 of what the slope promises. The state is the last point, gradient, and the pairs of their changes
    whose product is positive.
    """

    def update(
        grads: Nested, state: Any, params: Nested, *, value_fn: Any = None, **more: Any
    ) -> tuple[Nested, Any]:
        (x, unravel), g = ravel(params), ravel(grads)[0]
        pairs = state[2] if state else ()
        if state:
            s, y = x - state[0], g - state[1]
            if observe(np.greater, np.sum(s * y), 0.0):
                pairs = (*pairs, (s, y))[-memory_size:]
        q, weights = g, []
        for s, y in reversed(pairs):
            weights.append(np.sum(s * q) / np.sum(s * y))
            q = q - weights[-1] * y
        if pairs:
            s, y = pairs[-1]
            q = q * (np.sum(s * y) / np.sum(y * y))
        elif learning_rate is None:
            q = q / np.maximum(1.0, np.sqrt(np.sum(q * q)))
        for (s, y), a in zip(pairs, reversed(weights), strict=True):
            q = q + s * (a - np.sum(y * q) / np.sum(s * y))
        rate, halvings = (1.0, 40) if learning_rate is None else (learning_rate, 0)
        at, promised = value_fn(params) if halvings and value_fn else 0.0, 1e-4 * np.sum(q * g)
        for _ in range(halvings if value_fn else 0):
            if observe(np.less_equal, value_fn(unravel(x - rate * q)), at - rate * promised):
                break
            rate = 0.5 * rate
        return unravel(-rate * q), (x, g, pairs)

    return GradientTransformation(lambda params: (), update)


def constant_schedule(value: Any) -> Schedule:
    """The same at every step."""
    return lambda count: value


def linear_schedule(init_value: Any, end_value: Any, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """A line from init_value to end_value, and constant before and after."""
    return lambda count: init_value + (end_value - init_value) * min(
        max((count - transition_begin) / max(transition_steps, 1), 0.0), 1.0
    )


def exponential_decay(
    init_value: Any, transition_steps: int, decay_rate: Any, transition_begin: int = 0, staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:  # fmt: skip
    """init_value decay_rate^(k / transition_steps), k whole multiples if it is a staircase, not beyond end_value."""

    def value(count: int) -> Any:
        k = max(count - transition_begin, 0) / transition_steps
        found = init_value * decay_rate ** (np.floor(k) if staircase else k)
        return found if end_value is None else (max if decay_rate < 1.0 else min)(found, end_value)

    return value


def cosine_decay_schedule(init_value: Any, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0) -> Schedule:
    """init_value ((1 - alpha) ((1 + cos(pi k / decay_steps)) / 2)^exponent + alpha), constant after decay_steps."""
    return lambda count: init_value * (
        (1.0 - alpha) * (0.5 * (1.0 + np.cos(np.pi * min(count, decay_steps) / decay_steps))) ** exponent + alpha
    )


def piecewise_constant_schedule(init_value: Any, boundaries_and_scales: Mapping[int, Any]) -> Schedule:
    """init_value times the scales of all boundaries that the step has passed."""
    rows = boundaries_and_scales.items()
    return lambda count: init_value * np.prod([factor for boundary, factor in rows if count >= boundary])


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Each schedule from its boundary on, where its own count begins."""

    def value(count: int) -> Any:
        k = sum(count >= boundary for boundary in boundaries)
        return schedules[k](count - (boundaries[k - 1] if k else 0))

    return value


def warmup_cosine_decay_schedule(
    init_value: Any, peak_value: Any, warmup_steps: int, decay_steps: int, end_value: Any = 0.0, exponent: float = 1.0
) -> Schedule:
    """A line from init_value to peak_value, and then a cosine down to end_value, at step decay_steps."""
    fall = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, end_value / peak_value, exponent)
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), fall], [warmup_steps])
