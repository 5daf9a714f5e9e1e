"""Users' rules with complex numbers in compiled code, as rules of the real and imaginary parts.

For a call with arguments of given types, the functions of a rule are wrapped: arguments come as parts, a complex value
goes as an array whose first axis has its two parts, and what the rule saves is real. The types of the rule's own
functions tell which numbers are complex.
"""

import functools
from typing import Any

import numba
import numpy as np
from numba import types

from contad.compiled_rules.user_rules import backward_of, backward_types, compile_parts, names_of, saved_types
from contad.errors import UnsupportedError
from contad.kernels.complex_arrays import join_parts
from contad.rules.compilable import Parts, WithParts, functions_of_text
from contad.rules.scalar_rule import ScalarRule
from contad.variables.open_types import Function


def is_complex(kind: Any) -> bool:
    """Whether a type is that of a complex number or array."""
    return isinstance(getattr(kind, "dtype", kind), types.Complex)


class _Called(WithParts):
    """An operation that only compiled code calls; Numba takes callable objects for functions."""

    def __call__(self, *args: Any) -> Any:
        """Its value."""
        return self.compiled_parts().value(*args)


class HolomorphicParts(_Called):
    """A holomorphic scalar rule at complex numbers, as an operation with a reverse rule."""

    def __init__(self, rule: ScalarRule) -> None:
        self.name, self.rule = rule.name, rule
        self.value = numba.njit(rule.function)

    def functions(self) -> tuple[Function | None, ...]:
        """The functions of the scalar rule."""
        return self.rule.functions()

    @functools.cache  # noqa: B019  (rules live as long as the process)
    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts; cotangents are z_bar conj(f')."""
        rule, names = self.rule, ", ".join(self.rule.argument_names)
        rule.partial(0)  # checks the body
        assert rule.body is not None
        bars = [f"z_bar * np.conj(p{f'[{k}]' if rule.arity > 1 else ''})" for k in range(rule.arity)]
        text = f"def forward({names}):\n    z = value({names})\n    return z, (z, {names})\n"
        text += f"def backward(saved, z_bar):\n    z, {names} = saved\n    p = partials(z, {names})\n"
        text += f"    return ({', '.join(bars)},)\n"
        known = {"np": np, "value": self.value, "partials": numba.njit(rule.body.function)}
        known = functions_of_text(text, known)
        return Parts(self.value, known["forward"], known["backward"], ())


holomorphic_parts = functools.cache(HolomorphicParts)


class RuleOfParts(_Called):
    """The rule of real parts for a call of another rule with arguments of these types."""

    def __init__(self, rule: WithParts, plain: tuple[Any, ...]) -> None:
        """Compile the forward part. Raises UnsupportedError if there is none, or if an option is complex."""
        self.name, self.rule, self.plain = rule.name, rule, plain
        parts = compile_parts(rule)
        if parts.backward is None or any(is_complex(plain[k]) for k in parts.options):
            raise UnsupportedError(f"{rule.name}: inside njit it is compiled for real numbers only")
        self.z, self.saved = saved_types(rule, parts, plain)
        for kind in (self.z, *plain):
            if is_complex(kind) and kind not in (types.complex128, getattr(kind, "copy", dict)()):
                raise UnsupportedError(f"{rule.name}: inside njit its numbers must be complex128, got {kind}")
        self.names = names_of(parts)
        self.given = [x for name, kind in zip(self.names, plain, strict=True) for x in _split_name(name, kind)]

    def functions(self) -> tuple[Function | None, ...]:
        """Those of the rule."""
        return self.rule.functions()

    @functools.cache  # noqa: B019
    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts around those of the rule."""
        parts = compile_parts(self.rule)
        place, places = 0, []  # the arguments of the rule at the parts
        for n, kind in enumerate(self.plain):
            places += [n] * (1 + is_complex(kind))
        of_rule = tuple(dict.fromkeys(places[k] for k in wanted))
        known: dict[str, Any] = {"np": np, "join_parts": join_parts, "value_": parts.value, "forward_": parts.forward}
        arguments = zip(self.names, self.plain, strict=True)
        joined = ", ".join(_join(_split_name(name, kind), kind) for name, kind in arguments)
        given = ", ".join(self.given)
        text = f"def value({given}):\n    z = value_({joined})\n    return {_pack(self.z)}\n"
        text += f"def forward({given}):\n    z, saved = forward_({joined})\n"
        text += f"    return {_pack(self.z)}, {_split_saved('saved', self.saved)}\n"
        options = [self.names[k] for k in parts.options]
        bars = []
        if wanted:
            known["backward_"] = backward_of(self.rule, of_rule)
            kinds = (*(self.plain[k] for k in parts.options), self.saved, self.z)
            rest = [n for n in range(len(self.plain)) if n not in parts.options]
            for n, kind in zip(rest, backward_types(self.rule, known["backward_"], kinds, len(rest)), strict=True):
                bars += _split_bar(f"bars[{place}]", kind, is_complex(self.plain[n]))
                place += 1
            z_bar = _join([f"z_bar[{k}]" for k in (0, 1)], self.z) if is_complex(self.z) else "z_bar"
            text += f"def backward({', '.join([*options, 'saved', 'z_bar'])}):\n"
            text += f"    bars = backward_({', '.join([*options, _join_saved('saved', self.saved), z_bar])})\n"
            text += f"    return ({', '.join(bars)},)\n"
        else:
            text += f"def backward({', '.join([*options, 'saved', 'z_bar'])}):\n    return ()\n"
        known = functions_of_text(text, known)
        first = {n: k for k, n in reversed([*enumerate(places)])}
        return Parts(known["value"], known["forward"], known["backward"], tuple(first[n] for n in parts.options))


rule_of_parts = functools.cache(RuleOfParts)


# ---- text ------------------------------------------------------------------------------------------------------------
def _split_name(name: str, kind: Any) -> list[str]:
    return [f"{name}_real", f"{name}_imag"] if is_complex(kind) else [name]


def _join(parts: list[str], kind: Any) -> str:
    """The expression of a number or an array from its parts."""
    if not is_complex(kind):
        return parts[0]
    return f"{'join_parts' if isinstance(kind, types.Array) else 'complex'}({', '.join(parts)})"


def _split(text: str, kind: Any) -> list[str]:
    """The expressions of the parts; those of an array are contiguous."""
    copied = ".copy()" if isinstance(kind, types.Array) else ""
    return [f"{text}.{part}{copied}" for part in ("real", "imag")] if is_complex(kind) else [text]


def _pack(kind: Any) -> str:
    """The value z as the rule of parts returns it."""
    if not is_complex(kind):
        return "z"
    return "np.stack((z.real, z.imag))" if isinstance(kind, types.Array) else "np.array([z.real, z.imag])"


def _split_saved(text: str, kind: Any) -> str:
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return f"({''.join(_split_saved(f'{text}[{k}]', x) + ', ' for k, x in enumerate(kind))})"
    return f"({', '.join(_split(text, kind))})" if is_complex(kind) else text


def _join_saved(text: str, kind: Any) -> str:
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return f"({''.join(_join_saved(f'{text}[{k}]', x) + ', ' for k, x in enumerate(kind))})"
    return _join([f"{text}[{k}]" for k in (0, 1)], kind) if is_complex(kind) else text


def _split_bar(text: str, kind: Any, wants_both: bool) -> list[str]:
    """The cotangents of the parts of an argument, from a cotangent of that type."""
    if isinstance(kind, types.NoneType):
        return ["None"] * (1 + wants_both)
    found = _split(text, kind)
    if not wants_both:
        return found[:1]
    return found if len(found) == 2 else [text, "None"]
