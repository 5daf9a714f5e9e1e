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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from contad.errors import UnsupportedError
from contad.rules.array_rule import ArrayRule
from contad.variables.arguments import fail
from contad.variables.array import numbers_in
from contad.variables.complex_pair import holds_complex, is_complex, join, split, split_evenly
from contad.variables.open_types import Nested, Option, Options, Saved, Value


class ComplexForm:
    """A rule whose arguments at some places are complex: the methods of the operation on their parts."""

    def __init__(self, rule: ArrayRule, places: tuple[bool, ...]) -> None:
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
        z, saved = self.rule.evaluate(self._join(values), options)
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
        parts = {name: split(turn(a_bar)) for name, a_bar in zip(wanted, found, strict=True)}
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
def complex_form(rule: ArrayRule, places: tuple[bool, ...]) -> ArrayRule:
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
        fail(rule.name, name, "be an array of real numbers", f"dtype {x.dtype}", UnsupportedError)
    if not numbers_in([*args]):
        return rule.function(*args, **options)
    if len(args) == 1 and rule.linear:
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


ArrayRule.at_complex = at_complex
