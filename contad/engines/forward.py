"""Forward mode at the speed of generated methods: duals compute z_dot from the same partials as the reverse engines."""

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import numpy as np

from contad.engines.stream.methods import generate
from contad.errors import error_behind
from contad.ops.powers import partial_of_rule
from contad.protocols.array_protocols import install_arrays
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule, rules
from contad.variables.dual import ArrayDual, Dual, ForwardLevel, NumpyDual, array_dual
from contad.variables.stack import THREAD

FLOAT = np.dtype(np.float64)
_sum = np.add.reduce


def implement(rule: ScalarRule, cls: type[Dual] = Dual) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    """The methods of a rule on duals; beyond two arguments the general way of `ForwardLevel.apply`."""
    if rule.arity > 2:
        return lambda *args: rule.general(args), None
    return generate(cls, rule, _record)


def implement_numpy(rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    """The same on duals in place of NumPy's numbers."""
    return implement(rule, NumpyDual)


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    values = ", ".join("zxy"[: rule.arity + 1])
    lines = [f"if s.ended is not None: s.check_usable({rule.name!r})"]
    names: dict[str, Any] = {}
    terms = []
    for k, kind in enumerate(active):
        if kind == "v":
            names |= {f"p{k}": partial_of_rule(rule, k, active), f"product{k}": rule.product(k)}
            t = "tu"[k]
            lines.append(f"{t} = {'ab'[k]}._tangent; p = p{k}({values})")
            # only a tangent of zero can mask a partial, only a partial of zero routes, and only a number of an outer
            # level needs more than a product
            zero = "p" if rule.body is not None and rule.body.routes(k) else t
            lines.append(f"{t} = {t} * p if type({t}) is float and {zero} != 0.0 else product{k}({t}, p)")
            terms.append(t)
    lines.append(f"c = Var(); c._value = z; c._owner = s; c._tangent = {' + '.join(terms)}")
    return "\n".join(lines), names


# ---- arrays ----------------------------------------------------------------------------------------------------------
def implement_arrays(rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    """The methods of a rule on array duals: operands with plain values go a short way, others that of the level."""
    if rule.arity > 2:
        return rule.generally, None
    rule.methods[ArrayDual], reflected = _methods(rule, rule.generally)
    if rule.arity == 1:
        return rule.methods[ArrayDual], None
    rule.reflected[ArrayDual] = reflected
    return _methods(rule, rule.operate_slowly)


def _methods(rule: ScalarRule, slowly: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def method(x: ArrayDual, *others: Any) -> Any:
        z = _of_plain_arrays(rule, x._owner, (x, *others))
        return slowly(x, *others) if z is None else z

    def reflected(y: ArrayDual, x: Any) -> Any:
        z = _of_plain_arrays(rule, y._owner, (x, y))
        return slowly(x, y) if z is None else z

    return method, reflected


def _of_plain_arrays(rule: ScalarRule, s: Any, args: tuple[Any, ...]) -> ArrayDual | None:
    """The result where all values and tangents are plain and the tangents finite, so that no zero has to mask; or None.

    Results are fresh arrays, in NumPy's layout.
    """
    if s.__class__ is not ForwardLevel or s.ended is not None or s.thread != get_ident():
        return None
    values: list[Any] = []
    tangents: list[Any] = []
    for x in args:
        kind = x.__class__
        v, t = x, None
        if kind is ArrayDual:
            if x._owner is not s:
                return None
            if x._parent is not None:
                x._sync()
            v, t = x._value, x._tangents
            if v.__class__ is not np.ndarray or v.dtype is not FLOAT:
                return None
        elif kind is Dual or kind is NumpyDual:
            if x._owner is not s or x._value.__class__ is not float or s.several is not None:
                return None
            v, t = x._value, (x._tangent,)
        elif kind is int:
            v = float(x)
        elif kind is not float and (kind is not np.ndarray or x.dtype is not FLOAT):
            return None
        values.append(v)
        tangents.append(t)
    with np.errstate(all="ignore"):
        z = rule.array_values(*values)
        if not z.ndim:
            return None
        z_dots = []
        partials: list[Any] = [None if t is None else rule.array_partial(k)(z, *values) for k, t in enumerate(tangents)]
        for j in range(s.several or 1):
            z_dot: Any = None
            for t, p in zip(tangents, partials, strict=True):
                if t is not None:
                    t_j = t[j]
                    if t_j.__class__ is not float and (t_j.__class__ is not np.ndarray or t_j.dtype is not FLOAT):
                        return None
                    term = t_j * p
                    # a partial that is not finite makes a term that is not
                    if not math.isfinite(_sum(term, None)):
                        return None
                    z_dot = term if z_dot is None else z_dot + term
            if z_dot.__class__ is not np.ndarray or z_dot.shape != z.shape:
                z_dot = np.broadcast_to(z_dot, z.shape).copy()
            z_dots.append(z_dot)
    if z.base is not None or any(z is v for v in values):
        z = z.copy("K")
    return array_dual(s, z, z_dots)


@functools.cache
def _install() -> None:
    """Operator methods, on first use: most sessions never use forward mode."""
    for cls, made in ((Dual, implement), (NumpyDual, implement_numpy)):
        cls.implement = staticmethod(made)  # type: ignore[attr-defined]
        install(cls, made)
    install_arrays(ArrayDual, implement_arrays)
    for rule in rules():
        implement_arrays(rule)


@contextmanager
def forward_level(several: int | None = None) -> Iterator[ForwardLevel]:
    """A forward level, whose duals are stale after it."""
    _install()
    level = (ForwardLevel if THREAD.watch is None else THREAD.watch.level_class())(several)
    THREAD.forward.append(level)
    try:
        yield level
        if level.caught is not None:
            level.require_none_caught()
    except Exception as error:
        behind = error_behind(error, level.caught and level.caught[0])
        if behind is None:
            raise
        raise behind from (None if behind is error.__cause__ else error)
    finally:
        if level in THREAD.forward:
            THREAD.forward.remove(level)
        level.ended = "its jvp call has ended"
        level.caught = None
