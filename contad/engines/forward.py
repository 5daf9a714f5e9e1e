"""Forward mode at the speed of generated methods: duals compute z_dot from the same partials as the reverse engines."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from contad.dual import Dual, ForwardLevel
from contad.engines.methods import generate
from contad.number import scale
from contad.protocols import install
from contad.rule import ScalarRule
from contad.stack import THREAD


def implement(rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    """The methods of a rule on duals; beyond two arguments the general way of `ForwardLevel.apply`."""
    if rule.arity > 2:
        return lambda *args: rule.general(args), None
    return generate(Dual, rule, _record)


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    values = ", ".join("zxy"[: rule.arity + 1])
    lines = [f"if s.ended is not None: s.check_usable({rule.name!r})"]
    names: dict[str, Any] = {"scale": scale}
    terms = []
    for k, kind in enumerate(active):
        if kind == "v":
            names[f"p{k}"] = rule.partial(k)
            t = "tu"[k]
            lines.append(f"{t} = {'ab'[k]}._tangent; p = p{k}({values})")
            # only a tangent of zero can mask a partial, and only a number of an outer level needs more than a product
            lines.append(f"{t} = {t} * p if type({t}) is float and {t} != 0.0 else scale({t}, p)")
            terms.append(t)
    lines.append(f"c = Var(); c._value = z; c._owner = s; c._tangent = {' + '.join(terms)}")
    return "\n".join(lines), names


@functools.cache
def _install() -> None:
    """Operator methods, on first use: most sessions never use forward mode."""
    Dual.implement = staticmethod(implement)  # type: ignore[attr-defined]
    install(Dual, implement)


@contextmanager
def forward_level(several: int | None = None) -> Iterator[ForwardLevel]:
    """A forward level, whose duals are stale after it."""
    _install()
    level = (ForwardLevel if THREAD.watch is None else THREAD.watch.level_class())(several)
    THREAD.forward.append(level)
    try:
        yield level
    finally:
        if level in THREAD.forward:
            THREAD.forward.remove(level)
        level.ended = "its jvp call has ended"
