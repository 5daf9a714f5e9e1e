"""Conditions on the arguments of densities of vectors and matrices: declared once, for Python and for compiled code.

A demand is the name of an argument with a kind of KINDS, or a condition on several arguments with its description in
words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from contad.distributions.faces import DOMAINS, check_domain
from contad.stan import bodies, checks
from contad.stan.recorded_checks import (
    are_between,
    are_finite,
    are_surely_counts,
    equals_its_transposed,
    has_surely_units,
    is_cholesky_factor,
    is_surely_cholesky_factor,
    is_surely_simplex,
    is_symmetric,
    values_of,
)
from contad.variables import arguments
from contad.variables.dtypes import is_float64
from contad.variables.number import peek
from contad.variables.open_types import Value

Demands = Sequence[tuple[str, str]]
Require = Callable[[str, str, Value], None]


class ArgumentKind(NamedTuple):
    """A condition on one argument: in words, as a check in Python, and as an expression in compiled code."""

    words: str
    require: Require  # called with the names of a function and an argument, and a value
    condition: str
    is_surely: Callable[[Any], bool]  # a fast test of plain numbers; False if it cannot decide


def _elements(name: str) -> ArgumentKind:
    words, condition = DOMAINS[name]
    return ArgumentKind(words, partial(_require_elements, name), condition, _SURELY.get(name, _never))


def _never(x: Any) -> bool:
    return False


_SURELY: dict[str, Callable[[Any], bool]] = {
    "real": partial(are_between, -np.inf, True),
    "finite": partial(are_between, -np.inf, True),
    "positive": partial(are_between, 0.0, False),
    "positive finite": partial(are_between, 0.0, True),
    "count": are_surely_counts,
}


def _require_elements(kind: str, function: str, name: str, x: Value) -> None:
    check_domain(function, name, x, kind)


def _array(judged: str, holds: Callable[[Any], bool], condition: str, is_surely: Callable[[Any], bool]) -> ArgumentKind:
    return ArgumentKind(checks.ARRAYS[judged][0], partial(_require_array, judged, holds), condition, is_surely)


def _require_array(judged: str, holds: Callable[[Any], bool], function: str, name: str, x: Value) -> None:
    seen = x if is_float64(x) else values_of(function, name, x)
    if holds(seen):
        return
    words, judge = checks.ARRAYS[judged]
    if found := judge(arguments.array(function, name, peek(x))):
        arguments.fail(function, name, words, found)


def _is_correlation(a: Any) -> bool:
    return is_symmetric(a) and bool(
        np.all(np.abs(np.diagonal(a) - 1.0) <= checks.TOLERANCE) and np.all(np.abs(a) < np.inf)
    )


def _is_simplex(a: Any) -> bool:
    return np.size(a) > 0 and bool(bodies.is_simplex(a))


def _is_surely_correlation(a: Any) -> bool:
    return equals_its_transposed(a) and are_finite(a) and has_surely_units(a)


# The Cholesky factor, which is computed anyway, shows whether a covariance is positive definite; the value of the
# density shows whether it is finite.
KINDS: dict[str, ArgumentKind] = {
    **{name: _elements(name) for name in DOMAINS},
    "binary": _elements("binary")._replace(condition="({x} * {x} == {x}) and ({x} < np.inf)"),
    "symmetric": _array("finite_symmetric", is_symmetric, "is_symmetric({x})", equals_its_transposed),
    "correlation": _array(
        "unit_symmetric", _is_correlation, "is_finite_symmetric({x}) and has_unit_diagonal({x})",
        _is_surely_correlation,
    ),
    "Cholesky factor": _array(
        "cholesky_factor", is_cholesky_factor, "is_cholesky_factor({x})", is_surely_cholesky_factor
    ),
    "simplex": _array("simplex", _is_simplex, "len({x}) > 0 and is_simplex({x})", is_surely_simplex),
}  # fmt: skip


def _require_simplices(function: str, name: str, x: Value) -> None:
    for k in range(len(x)):
        KINDS["simplex"].require(function, f"{name}[{k}]", x[k])


KINDS["simplices"] = ArgumentKind(
    "have rows that are simplices",
    _require_simplices, "are_simplices({x})", lambda a: all(map(is_surely_simplex, a)),
)  # fmt: skip


def _find_kind(what: str, axes: int) -> ArgumentKind:
    """A kind for an argument with this number of axes: simplices are the rows of a matrix."""
    return KINDS["simplices" if what == "simplex" and axes == 2 else what]


# conditions without a loop in Python
_KNOWN = vars(bodies) | {"np": np, "is_cholesky_factor": is_cholesky_factor, "is_symmetric": is_symmetric}


def _is_of_numbers(demand: tuple[str, str], axes: Mapping[str, int]) -> bool:
    """Whether a condition is void because it is about the length of an argument that is a number."""
    return any(axes.get(name) == 0 for name in re.findall(r"len\((\w+)\)", demand[0]))


def write_demands(function: str, demands: Demands, axes: Mapping[str, int]) -> list[str]:
    """The lines of a compiled body that check arguments with these numbers of axes."""
    lines: list[str] = []
    for subject, what in demands:
        if what in KINDS:
            kind = _find_kind(what, axes[subject])
            test, message = kind.condition.format(x=subject), f"{subject} must {kind.words}"
            if what in DOMAINS and axes[subject]:
                test = " and ".join(f"np.all({part})" for part in test.split(" and "))
        elif _is_of_numbers((subject, what), axes):
            continue
        else:
            test, message = subject, what
        lines += [f"    if not ({test}):", f"        raise ValueError({f'{function}: {message}'!r})"]
    return lines


class Requirements(NamedTuple):
    """The conditions on arguments with some numbers of axes."""

    names: Sequence[str]
    holds: Callable[..., Any]  # whether all conditions on several arguments, or on one number, hold
    kinds: Sequence[tuple[int, Callable[[Any], bool], Callable[[Value], None]]]  # of arguments, by position
    each: Sequence[Callable[[Mapping[str, Value]], None]]  # for each condition; raises ValueError

    def require(self, given: Sequence[Value]) -> None:
        """Raise ValueError if a demand is not met."""
        try:
            good = self.holds(*given)
        except (AttributeError, IndexError, TypeError):  # shapes that do not suit a condition
            good = False
        if not good:
            named = dict(zip(self.names, given, strict=True))
            for require in self.each:
                require(named)
        for k, is_surely, require_kind in self.kinds:
            if not is_surely(given[k]):
                require_kind(given[k])


def list_requirements(
    function: str, demands: Demands, names: Sequence[str], axes: Mapping[str, int]
) -> Requirements:  # fmt: skip
    """The conditions in Python on arguments with these numbers of axes."""
    conditions, kinds, each = ["True"], [], []
    for subject, what in demands:
        if what in KINDS:
            kind = _find_kind(what, axes[subject])
            if axes[subject] or what not in DOMAINS:
                kinds.append((names.index(subject), kind.is_surely, partial(kind.require, function, subject)))
                continue
            conditions.append(kind.condition.format(x=subject))
            each.append(partial(_require_kind, kind.require, function, subject))
        elif "are_categories" in subject:  # `places` checks this and names the element
            continue
        elif not _is_of_numbers((subject, what), axes):
            shown = [name for name in names if re.search(rf"\b{name}\b", f"{subject} {what}")]
            each.append(partial(_require_condition, _function_of(names, subject), f"{function}: {what}", tuple(shown)))
            conditions.append(subject)
    holds = _function_of(names, " and ".join(f"({x})" for x in conditions))
    return Requirements(names, holds, kinds, each)


def _function_of(names: Sequence[str], expression: str) -> Callable[..., Any]:
    found: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {expression}", _KNOWN)
    return found


def _require_kind(require: Require, function: str, name: str, given: Mapping[str, Value]) -> None:
    require(function, name, given[name])


def _require_condition(
    holds: Callable[..., Any], message: str, shown: Sequence[str], given: Mapping[str, Value]
) -> None:
    try:
        good = bool(holds(**given))
    except (AttributeError, IndexError):  # shapes that do not suit the condition
        good = False
    if not good:
        raise ValueError(f"{message}, got {', '.join(_show(name, given[name]) for name in shown)}")


def _show(name: str, x: Value) -> str:
    return f"{name} of shape {np.shape(x)}" if np.ndim(x) else f"{name} = {arguments.array('', name, peek(x))}"
