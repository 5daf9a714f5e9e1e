"""Forward mode with generated methods: duals compute z_dot from the same partials as the reverse engines."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

import numpy as np
from numpy import add, errstate, ndarray, vdot

from contad.engines.stream.methods import generate
from contad.ops.powers import partial_of_rule
from contad.protocols.array_protocols import install_arrays
from contad.protocols.number_protocols import install
from contad.rules.array_rule import ArrayRule, array_rule_of
from contad.rules.numpy_functions import entry_of
from contad.rules.scalar_rule import ScalarRule, rules
from contad.variables.dtypes import FLOAT
from contad.variables.dual import ArrayDual, Dual, ForwardLevel, NumpyDual, array_dual
from contad.variables.open_types import Function, Option, Owner, Value
from contad.variables.overlaps import error_instead
from contad.variables.stack import THREAD


def implement(rule: ScalarRule, cls: type[Dual] = Dual) -> tuple[Function, Function | None]:
    """The methods of a rule on duals; for more than two arguments it is `ForwardLevel.apply`."""
    if rule.arity > 2:
        return lambda *args: rule.general(args), None
    return generate(cls, rule, _record)


def implement_numpy(rule: ScalarRule) -> tuple[Function, Function | None]:
    """The methods of a rule on duals in place of NumPy's numbers."""
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
            # `scale` differs from a product only for a tangent of zero, which masks a partial, for a partial of zero,
            # which routes, and for numbers of an outer level
            zero = f"p != 0.0 != {t}" if rule.body is not None and rule.body.routes(k) else f"{t} != 0.0"
            lines.append(f"{t} = {t} * p if type({t}) is float and {zero} else product{k}({t}, p)")
            terms.append(t)
    lines.append(f"c._tangent = {' + '.join(terms)}")
    return "\n".join(lines), names


# ---- arrays ----------------------------------------------------------------------------------------------------------
def implement_arrays(rule: ScalarRule) -> tuple[Function, Function | None]:
    """The methods of a rule on array duals: a short path for operands with plain values, else the path of the level."""
    if rule.arity > 2:
        return rule.generally, None
    rule.methods[ArrayDual], reflected = _methods(rule, rule.generally)
    if rule.arity == 1:
        return rule.methods[ArrayDual], None
    rule.reflected[ArrayDual] = reflected
    return _methods(rule, rule.operate_slowly)


def _methods(rule: ScalarRule, slowly: Function) -> tuple[Function, Function]:
    partials: list[Function | None] = [None] * rule.arity

    def method(x: ArrayDual, *others: Value) -> Value:
        z = _of_plain_arrays(rule, partials, x._owner, (x, *others))
        return slowly(x, *others) if z is None else z

    def reflect(y: ArrayDual, x: Value) -> Value:
        z = _of_plain_arrays(rule, partials, y._owner, (x, y))
        return slowly(x, y) if z is None else z

    return method, reflect


def _of_plain_arrays(
    rule: ScalarRule, partials: list[Function | None], s: Owner, args: tuple[Value, ...]
) -> ArrayDual | None:
    """The result if all values and tangents are plain and the tangents finite, so that no zero has to mask; else None.

    Results are fresh arrays, in NumPy's layout. `partials` caches the rule's partials.
    """
    if s.__class__ is not ForwardLevel or s.ended is not None or not s.is_here():
        return None
    values: list[Value] = []
    active: list[tuple[int, Sequence[Value]]] = []
    for k, x in enumerate(args):
        kind = x.__class__
        v = x
        if kind is ArrayDual:
            if x._owner is not s or not _is_plain(x):
                return None
            v = x._value
            if not x.is_constant:
                active.append((k, x._tangents))
        elif kind is Dual or kind is NumpyDual:
            v, t = x._value, x._tangent
            if x._owner is not s or v.__class__ is not float or t.__class__ is not float:
                return None
            active.append((k, (t,)))
        elif kind is int:
            v = float(x)
        elif kind is not float and (kind is not ndarray or x.dtype is not FLOAT):
            return None
        values.append(v)
    z_dots: list[Value] = []
    with errstate(all="ignore"):
        z = rule.array_values(*values)
        if not z.ndim:
            return None
        for k, tangents in active:
            partial = partials[k]
            if partial is None:
                partial = partials[k] = rule.array_partial(k, True)
            p = partial(z, *values)
            if z_dots:
                z_dots = [z_dot + t * p for z_dot, t in zip(z_dots, tangents, strict=True)]
            else:
                z_dots = [t * p for t in tangents]
        for j, z_dot in enumerate(z_dots):
            # a term that is not finite makes the sum not finite; large numbers that overflow here take the slow path
            if not isfinite(vdot(z_dot, z_dot)):
                return None
            if z_dot.__class__ is not ndarray or z_dot.shape != z.shape:
                z_dots[j] = np.broadcast_to(z_dot, z.shape).copy()
    for x in values:
        if z is x:
            z = z.copy("K")
    z = z if z.base is None else z.copy("K")
    return array_dual(s, z, z_dots) if active else s.writable(z)


def _is_plain(x: ArrayDual) -> bool:
    """Whether the value of an array and its tangents, both brought up to date, hold plain numbers."""
    if x._parent is not None:
        x._sync()
    v = x._value
    if v.__class__ is not ndarray or v.dtype is not FLOAT:
        return False
    for t in x._tangents:  # noqa: SIM110  (a generator costs more than this)
        if t.__class__ is not ndarray or t.dtype is not FLOAT:
            return False
    return True


def _fast_sum(rule: ArrayRule, general: Function) -> Function:
    """A fast method for the sum of all elements of an array; other sums call the general method."""

    def method(x: ArrayDual, *args: Option, **options: Option) -> Value:
        s: Any = x._owner
        usable = s.__class__ is ForwardLevel and s.several is None and s.ended is None and s.is_here()
        if not usable or args or options or x.is_constant or not _is_plain(x):
            return general(x, *args, **options)
        return s.dual(float(add.reduce(x._value, None)), float(add.reduce(x._tangents[0], None)))

    return method


@functools.cache
def _install() -> None:
    """Install operator methods, on first use: most sessions never use forward mode."""
    for cls, made in ((Dual, implement), (NumpyDual, implement_numpy)):
        cls.implement = staticmethod(made)  # type: ignore[attr-defined]
        install(cls, made)
    install_arrays(ArrayDual, implement_arrays)
    for rule in rules():
        implement_arrays(rule)
    total, entry = array_rule_of("sum"), entry_of(np.sum)
    assert entry is not None
    total.methods[ArrayDual] = _fast_sum(total, total.generally)
    entry.methods[ArrayDual] = _fast_sum(total, entry.implementation)


@contextmanager
def forward_level(several: int | None = None) -> Iterator[ForwardLevel]:
    """A forward level, whose duals are stale after it."""
    _install()
    level = ForwardLevel(several) if THREAD.watch is None else THREAD.watch.forward_level(several)
    THREAD.forward.append(level)
    try:
        yield level
        if level.caught is not None:
            level.require_none_caught()
    except Exception as error:
        behind = error_instead(error, level.caught and level.caught[0])
        if behind is None:
            raise
        raise behind from (None if behind is error.__cause__ else error)
    finally:
        if level in THREAD.forward:
            THREAD.forward.remove(level)
        level.ended = "its jvp call has ended"
        level.caught = None
