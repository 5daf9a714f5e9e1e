"""Array rules at complex arguments.

A rule is written once, for real arrays. Where its bodies are algebraic, as those of sums, products and solutions of
linear systems are, they hold for complex arrays too: the value is holomorphic, and J^T z_bar with conjugates around it
is the cotangent that pairs as Re(conj(a_bar) a_dot):

    a_bar = J^H z_bar = conj(J^T conj(z_bar))

Bodies of decompositions have conjugate transposes, which do nothing to real arrays; declared as `HERMITIAN`, they take
and give the cotangents themselves.

`ComplexForm` is the rule as an operation on the real and imaginary parts, which engines record like any other.
"""

import functools
import operator
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.errors import RuleError, UnsupportedError
from contad.rules.array_rule import ArrayRule
from contad.rules.scalar_rule import ScalarRule
from contad.variables.arguments import fail, kind_of
from contad.variables.array import numbers_in
from contad.variables.complex_pair import as_complex, holds_complex, is_complex, join, split, split_evenly
from contad.variables.dtypes import HERMITIAN
from contad.variables.open_types import Nested, Option, Options, Saved, Value


class ComplexForm:
    """A rule whose arguments at some places are complex: the methods of the operation on their parts."""

    def __init__(self, rule: "ArrayRule | ElementwiseForm", places: tuple[bool, ...]) -> None:
        self.rule = rule
        self.places = places
        self.argument_names = tuple(
            f"{name}{part}"
            for name, one in zip(rule.argument_names, places, strict=True)
            for part in ((".real", ".imag") if one else ("",))
        )

    def needs(self, name: str) -> frozenset[str]:
        """Everything."""
        return frozenset(("z", *self.argument_names))

    def _join(self, parts: Sequence[Value]) -> list[Value]:
        """The arguments of the rule from those of this form."""
        given = iter(parts)
        return [join(next(given), next(given)) if one else next(given) for one in self.places]

    def value(self, *values: Value, **options: Option) -> Value:
        """The parts of z."""
        return self.evaluate(values, options)[0]

    def evaluate(self, values: Sequence[Value], options: Options) -> tuple[Value, Saved]:
        """The parts of z, and what the rule saves."""
        z, saved = self.rule.evaluate_complex(self._join(values), options)
        return split_each(z), saved

    def pull_each(
        self, names: Iterable[str], z: Value, z_bar: Value, values: Sequence[Value], options: Options,
        saved: Saved = None,
    ) -> Iterator[Value]:  # fmt: skip
        """The cotangents of parts; those of one argument are computed together."""
        names = tuple(names)
        wanted = [name for name in self.rule.argument_names if any(n.partition(".")[0] == name for n in names)]
        turn = conjugate if self.rule.dtypes.holomorphic else positive
        z_bar = turn(join_each(z_bar, z))
        found = self.rule.pull_each(wanted, join_each(z, z), z_bar, self._join(values), options, saved)
        parts = {name: split_evenly(turn(a_bar)) for name, a_bar in zip(wanted, found, strict=True)}
        for name in names:
            argument, _, part = name.partition(".")
            yield parts[argument][part == "imag"]

    def pull(
        self, name: str, z: Value, z_bar: Value, values: Sequence[Value], options: Options, saved: Saved = None
    ) -> Value:
        """The cotangent of one part."""
        return next(self.pull_each((name,), z, z_bar, values, options, saved))

    def push(
        self, z: Value, tangents: Sequence[Value | None], values: Sequence[Value], options: Options, saved: Saved = None
    ) -> Value:
        """The tangents of the parts of z."""
        given = iter(tangents)
        dots = [_joined_tangents(next(given), next(given)) if one else next(given) for one in self.places]
        return split_each(self.rule.push(join_each(z, z), dots, self._join(values), options, saved))


@functools.cache
def complex_form(rule: "ArrayRule | ElementwiseForm", places: tuple[bool, ...]) -> ArrayRule:
    """The form of a rule for complex arguments at these places."""
    form = ComplexForm(rule, places)
    made = ArrayRule(rule.function, None, "", (), ())
    made.name = f"{rule.name} of complex arrays"
    made.__dict__ |= {
        "function": form.value, "argument_names": form.argument_names, "functions": rule.functions, "needs": form.needs,
        "evaluate": form.evaluate, "pull": form.pull, "pull_each": form.pull_each, "push": form.push,
    }  # fmt: skip
    return made


def at_complex(rule: ArrayRule, args: Sequence[Nested], options: Options) -> Any:
    """A rule at arguments of which some are complex: of variables, or plain."""
    args = [rule_argument(x) for x in args]
    if "D" not in rule.dtypes.letters:
        name, x = next((name, x) for name, x in zip(rule.argument_names, args, strict=True) if is_complex(x))
        remedy = "" if rule.__module__.startswith("contad.") else "; declare complex=True, if its bodies take them"
        fail(rule.name, name, "be an array of real numbers", f"{kind_of(x)}{remedy}", UnsupportedError)
    if not numbers_in([*args]):
        return rule.function(*args, **options)
    if len(args) == 1 and rule.linear and rule.__module__.startswith("contad."):
        return join(*(rule(part, **options) for part in split(args[0])))
    form = complex_form(rule, tuple(map(is_complex, args)))
    parts = [part for x in args for part in (split(x) if is_complex(x) else (x,))]
    z = form.general(parts, options)
    return join_each(z, z)


def rule_argument(x: Nested) -> Value:
    """An argument; a list of complex numbers becomes an array."""
    return join(*split(x)) if isinstance(x, (list, tuple)) and holds_complex(x) else x


# ---- results ---------------------------------------------------------------------------------------------------------
def split_each(z: Value) -> tuple[Value, ...]:
    """The parts of a result, or of each of several."""
    return tuple(part for one in (z if isinstance(z, tuple) else (z,)) for part in split_evenly(one))


def join_each(parts: Sequence[Value], z: Sequence[Value]) -> Any:
    """A result, or several, of parts or of their cotangents."""
    joined = tuple(join(parts[k], parts[k + 1]) for k in range(0, len(z), 2))
    return joined[0] if len(joined) == 1 else joined


def conjugate(z: Value) -> Value:
    """The conjugate of a result, or of each of several."""
    return tuple(map(conjugate, z)) if isinstance(z, tuple) else z.conjugate()


def positive(z: Value) -> Value:
    """z."""
    return z


def _joined_tangents(x: Value, y: Value) -> Value:
    if x is None and y is None:
        return None
    return join(0.0 * y if x is None else x, 0.0 * x if y is None else y)


# ---- holomorphic functions of numbers --------------------------------------------------------------------------------
class ElementwiseForm:
    """A scalar rule that is declared as holomorphic, as a rule of complex numbers or arrays of one shape."""

    dtypes = HERMITIAN

    def __init__(self, rule: ScalarRule) -> None:
        self.rule, self.name, self.argument_names = rule, rule.name, rule.argument_names
        self.function, self.functions = rule.function, rule.functions

    def evaluate_complex(self, values: Sequence[Value], options: Options) -> tuple[Value, Saved]:
        """z, which is complex."""
        if numbers_in([*values]):
            return as_complex(self.rule(*values)), None
        z = np.frompyfunc(self.rule.function, len(values), 1)(*values)
        z = np.asarray(z, np.complex128)[()]
        if sys.flags.dev_mode and np.size(z):
            self._compare([complex(np.ravel(x)[0]) for x in values], np.ravel(z)[0])
        return z, None

    def pull_each(
        self, names: Iterable[str], z: Value, z_bar: Value, values: Sequence[Value], options: Options, saved: Saved
    ) -> Iterator[Value]:
        """The cotangents, z_bar conj(f')."""
        for name in names:
            yield z_bar * np.conj(self._partial(self.argument_names.index(name), z, values))

    def push(
        self, z: Value, tangents: Sequence[Value | None], values: Sequence[Value], options: Options, saved: Saved
    ) -> Value:
        """The tangent, the sum of f' times tangents."""
        terms = [self._partial(k, z, values) * dot for k, dot in enumerate(tangents) if dot is not None]
        return as_complex(functools.reduce(operator.add, terms))

    def _partial(self, k: int, z: Value, values: Sequence[Value]) -> Value:
        """A complex partial."""
        self.rule.partial(k)  # checks the body
        assert self.rule.body is not None
        found = self.rule.body.function(z, *values)
        return found[k] if self.rule.arity > 1 else found

    def _compare(self, values: Sequence[complex], z: complex) -> None:
        """Raise RuleError unless the partials are the slopes along both axes, as Cauchy and Riemann ask."""
        for k, x in enumerate(values):
            given = complex(self._partial(k, z, values))
            h = 1e-6 * max(1.0, abs(x))

            def slope(step: complex, k: int = k, x: complex = x) -> complex:
                ends = (complex(self.function(*values[:k], y, *values[k + 1 :])) for y in (x + step, x - step))
                return (next(ends) - next(ends)) / (2.0 * step)

            for step, axis in ((h, "real"), (1j * h, "imaginary")):
                found, again = slope(step), slope(0.5 * step)
                size = 1e-5 * max(1.0, abs(found), abs(given))
                if abs(found - again) <= size < abs(found - given):
                    raise RuleError(
                        f"{self.name}: the partial by {self.argument_names[k]} is {given} at {values}, where the slope "
                        f"along the {axis} axis is {found}; a holomorphic rule has the same slope along both axes"
                    )


@functools.cache
def elementwise_form(rule: ScalarRule) -> ElementwiseForm:
    """The rule of complex arrays for a holomorphic scalar rule."""
    return ElementwiseForm(rule)


def at_complex_numbers(rule: ScalarRule, args: Sequence[Nested]) -> Any:
    """A holomorphic scalar rule at numbers and arrays: of variables, or plain."""
    shape = np.broadcast_shapes(*map(np.shape, args))
    args = [x if np.shape(x) == shape else _spread(x, shape) for x in args]
    form = elementwise_form(rule)
    if not numbers_in([*args]):
        return form.evaluate_complex(args, {})[0]
    parts = [part for x in args for part in (split(x) if is_complex(x) else (x,))]
    z = complex_form(form, tuple(map(is_complex, args))).general(parts, {})
    return join_each(z, z)


def _spread(x: Value, shape: tuple[int, ...]) -> Value:
    parts = [np.copy(np.broadcast_to(part, shape)) for part in (split(x) if is_complex(x) else (x,))]
    return parts[0] if len(parts) == 1 else join(*parts)


ScalarRule.make_complex = at_complex_numbers
ArrayRule.at_complex = at_complex
