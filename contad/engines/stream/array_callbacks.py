"""Array rules on levels that have scalars only: one continuation of many variables, which calls the rule's vjps."""

from collections.abc import Sequence

import numpy as np

from contad.variables.adjoints import Adjoints
from contad.variables.array import as_objects, copy_parts
from contad.variables.level import array_of
from contad.variables.number import primal
from contad.variables.open_types import ArrayValue, Options, Real, Rule, Value
from contad.variables.stack import ChainStack
from contad.variables.trees import like_tuple
from contad.variables.var import Var


def apply_as_callback(stack: ChainStack, rule: Rule, args: Sequence[Value], options: Options) -> Value:
    """The result of an array rule as an object array of variables (or one), behind one callback."""
    values, active = [], []
    for k, x in enumerate(args):
        variables = as_objects(x)
        own = [v if isinstance(v, Var) and v._owner is stack else None for v in variables.flat]
        values.append(_values(variables, stack) if any(v is not None for v in own) else copy_parts(x))
        if any(v is not None for v in own):
            active.append((rule.argument_names[k], own))
    options = {name: copy_parts(option) for name, option in options.items()}
    z, saved = rule.evaluate(values, options)
    # the rule's author may reuse it
    z = like_tuple(z, map(copy_parts, z)) if isinstance(z, tuple) else copy_parts(z)
    results: list[list[Var]] = []

    def array_chain(adj: Adjoints) -> None:
        bars = [
            _array([adj[v] for v in variables], np.shape(part))
            for variables, part in zip(results, _parts(z), strict=True)
        ]
        if all(isinstance(b, (float, np.ndarray)) and not np.any(primal(b)) for b in bars):
            return
        z_bar = tuple(bars) if isinstance(z, tuple) else bars[0]
        found = rule.pull_each([name for name, _ in active], z, z_bar, values, options, saved)
        for (_, own), c in zip(active, found, strict=True):
            for v, d in zip(own, as_objects(np.broadcast_to(c, np.shape(c))).flat, strict=True):
                if v is not None:
                    adj.add(v, d)

    stack.push_callback(array_chain, 0.0)
    results += [[stack.variable(v) for v in as_objects(part).flat] for part in _parts(z)]
    shaped = [_shape(variables, np.shape(part)) for variables, part in zip(results, _parts(z), strict=True)]
    return like_tuple(z, shaped) if isinstance(z, tuple) else shaped[0]


def _parts(z: Value) -> tuple[Value, ...]:
    return z if isinstance(z, tuple) else (z,)


def _values(variables: np.ndarray, stack: ChainStack) -> ArrayValue:
    return _array(
        [v._value if isinstance(v, Var) and v._owner is stack else v for v in variables.flat], variables.shape
    )


def _array(numbers: list[Real], shape: tuple[int, ...]) -> ArrayValue:
    """One number as it is; several as an array of the highest level among them."""
    return array_of(numbers, shape) if shape else numbers[0]


def _shape(numbers: list[Real], shape: tuple[int, ...]) -> ArrayValue:
    if not shape:
        return numbers[0]
    a = np.empty(shape, object)
    a.reshape(-1)[:] = numbers
    return a
