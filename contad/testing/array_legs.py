"""The legs of `expect_ad` for functions of arrays, which run in every way that `contad.testing.forms` names.

Second derivatives are taken along one direction in general position: an array has many elements.
"""

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.testing.differences import derivative_by_differences, gradient_by_differences
from contad.testing.forms import (
    ARRAYS,
    ON_OBJECTS,
    along,
    engine_of,
    form,
    gradient,
    is_forward,
    is_on_arrays,
    like,
    refusal,
    several,
)
from contad.testing.legs import SPECIAL_VALUES, leg_of, value_by, way_label
from contad.testing.specimen import (
    FORWARD,
    MANY,
    Specimen,
    direction_of,
    fill,
    inner,
    numbers_of,
    outcome,
    size_of,
    weights,
)
from contad.transforms.gradients import jvp, vjp
from contad.transforms.hessians import hessian
from contad.variables.creation import zeros
from contad.variables.open_types import Function, Nested, Real, Value
from contad.variables.trees import elements, flatten

PLACES = 3  # up to so many numbers take special values one by one

Ways = Sequence[str]


# ---- errors ----------------------------------------------------------------------------------------------------------
def check_same_exception(s: Specimen, ways: Ways, leg: str, numbers: Sequence[float], expected: str) -> None:
    """Every way raises the exception type of the plain call at these numbers, or that of NumPy on object arrays."""
    for way in ways:
        args = s.rebuilt(numbers)
        derivative = gradient(s.scalar, way) if s.numbers else along(s.scalar, way, [])
        _, got = outcome(derivative, *args)
        if not is_on_arrays(way) and _type(got) == _type(outcome(s.f, *form(ON_OBJECTS, args))[1]):
            s.count(leg)
        elif _type(got) != _type(expected):
            s.fail(leg, way, "", expected, got or "no exception")
        else:
            s.count(leg)


def _type(raised: str | None) -> str:
    return (raised or "").partition(":")[0]


# ---- no numbers ------------------------------------------------------------------------------------------------------
def is_empty(s: Specimen) -> bool:
    """Whether the arguments hold no number, or the result of the plain call holds empty arrays alone."""
    z = s.plainly(s.f, s.rebuilt(s.numbers))
    leaves = flatten(z).leaves
    if leaves and all(isinstance(leaf, np.ndarray) and not leaf.size for leaf in leaves):
        return True
    s.results(z)  # refuses what is no number
    return not s.numbers


def check_empty(s: Specimen, ways: Ways) -> None:
    """The value in every way, and derivatives that are 0 or have no elements, in the shapes of arguments and result."""
    z = s.plainly(s.f, s.rebuilt(s.numbers))
    for way in ways:
        if is_forward(way):
            got, z_dot = s.run("empty", way, jvp, s.f, form(way, s.args), like(s.args, weights(len(s.numbers))))
            derivatives, expected = z_dot, z
        else:
            got, pullback = s.run("empty", way, lambda way=way: vjp(s.f, *form(way, s.args), engine=engine_of(way)))
            derivatives = list(s.run("empty", way, pullback, fill(flatten(got), weights(len(numbers_of(z))))))
            expected = list(s.args)
        if _shapes(got) != _shapes(z) or _shapes(derivatives) != _shapes(expected):
            shapes = f"{_shapes(got)} and derivatives {_shapes(derivatives)}"
            s.fail("empty", way, "", f"the shapes {_shapes(z)} and derivatives {_shapes(expected)}", shapes)
        s.count("empty")
        for a, b in zip(numbers_of(got), numbers_of(z), strict=True):
            s.equal("empty", way, "", a, b, s.tolerances(0).value * abs(b))
        for a in numbers_of(derivatives):
            s.equal("empty", way, "", a, 0.0)


def _shapes(x: Nested) -> list[tuple[int, ...]]:
    return [np.shape(leaf) for leaf in flatten(x).leaves]


# ---- derivatives of any order ----------------------------------------------------------------------------------------
def check_derivatives(s: Specimen, ways: Ways, order: int, zero_gradient: bool | None = None) -> np.ndarray:
    """Compare partial derivatives with differences, then derivatives along one direction; returns the gradient."""
    t, x = s.tolerances(1), np.array(s.numbers)
    scales = np.where(x == 0.0, 1.0, np.abs(x))

    def plain(numbers: Real) -> Real:
        return s.plainly(s.scalar, s.rebuilt(np.asarray(numbers, dtype=float).tolist()))

    direction = scales * direction_of(len(x))
    if len(x) <= MANY:
        value, error = gradient_by_differences(plain, s.numbers)
    else:
        value, error = derivative_by_differences(lambda h: plain(x + h * direction), 0.0)
    size = max(np.max(np.abs(value) * (scales if len(x) <= MANY else 1.0), initial=0.0), abs(float(plain(x))))
    slack = 10.0 * error + t.negligible * size / (scales if len(x) <= MANY else 1.0)
    resolved = 10.0 * error <= np.maximum(t.resolved * np.abs(value), slack - 10.0 * error)
    if not (np.all(resolved) or s.nan):
        _refuse_point(s, (), value, error)
    if zero_gradient is not None and not s.nan:
        if zero_gradient != bool(np.all(np.abs(value) <= slack)):
            what = "that is zero, as declared" if zero_gradient else "other than zero, or zero_gradient=True"
            s.fail("vacuity", "", "", f"a gradient {what}", np.asarray(value).tolist())
        s.count("vacuity")
    first: Any = None
    for way in ways:
        leg = leg_of((), way)
        found = np.array(s.run(leg, way, gradient(s.scalar, way), *s.args), dtype=float)
        if np.all(resolved) and len(x) <= MANY:
            for k, label in enumerate(s.labels):
                allowed = t.differences * abs(value[k]) + slack[k]
                s.equal(leg, way, label, found[k], value[k], allowed)
        elif np.all(resolved):
            allowed = t.differences * np.abs(found) @ np.abs(direction) + slack
            s.equal(leg, way, "all", found @ direction, value, allowed)
        first = found if first is None else first
        _agree(s, way, 1, found, first, size / scales)
    if order > 1:
        numbers = direction.tolist()
        level: list[tuple[Function, tuple[str, ...]]] = [(along(s.scalar, way, numbers), (way,)) for way in ways]
        for _ in range(1, order):
            reference = _reference(s, level[0][0], direction)
            for g, inside in level:
                _along(s, ways, g, inside, reference, numbers)
            level = [(along(g, way, numbers), (*inside, way)) for g, inside in level for way in _over(ways, inside)]
    return np.array(first)


class _AlongReference(NamedTuple):
    """The reference for all functions of one order, which must be equal: as in `legs`, along a direction."""

    value: float
    error: float
    size: float
    nearby: tuple[list[float], float]


def _reference(s: Specimen, g: Function, direction: np.ndarray) -> _AlongReference:
    x = np.array(s.numbers)
    value, error = derivative_by_differences(
        lambda h: s.plainly(g, s.rebuilt((x + h * direction).tolist())), 0.0
    )  # fmt: skip
    here, there = (float(s.plainly(g, s.rebuilt((x * h).tolist()))) for h in (1.0, 1.001))
    size = max(abs(value), abs(here), abs(there))
    return _AlongReference(value, error, size if math.isfinite(size) else 0.0, ((x * 1.001).tolist(), there))


def _along(
    s: Specimen, ways: Ways, g: Function, inside: tuple[str, ...], reference: _AlongReference, numbers: list[float]
) -> None:
    """The derivatives of g, which is f differentiated in the ways `inside`, along a direction."""
    t, x, direction = s.tolerances(len(inside) + 1), np.array(s.numbers), np.array(numbers)
    value, error, size, (at, expected) = reference
    slack = 10.0 * error + t.negligible * size
    resolved = 10.0 * error <= max(t.resolved * abs(value), t.negligible * size)
    if not (resolved or s.nan):
        _refuse_point(s, inside, value, error)
    if inside != (ways[0],) * len(inside):
        near = float(s.plainly(g, s.rebuilt(at)))
        if math.isfinite(near) and math.isfinite(expected):
            allowed = 0.01 * s.tolerances(len(inside)).differences * size
            s.equal("agreement", way_label(inside), "of arrays times 1.001", near, expected, allowed)
    first: Any = None
    for way in _over(ways, inside):
        leg, label = leg_of(inside, way), way_label((*inside, way))
        if is_forward(way):
            got = s.run(leg, label, along(g, way, numbers), *s.args)
        else:
            found = np.array(s.run(leg, label, gradient(g, way), *s.args), dtype=float)
            got = float(found @ direction)
            first = found if first is None else first
            _agree(s, label, len(inside) + 1, found, first, size / np.where(x == 0.0, 1.0, np.abs(x)))
        if resolved:
            s.equal(leg, label, "all", got, value, t.differences * abs(value) + slack)


def _over(ways: Ways, inside: tuple[str, ...]) -> Ways:
    """The ways to differentiate once more. Object arrays are those of the ways inside too, which may have refused."""
    refused = any(way in ARRAYS and way + ON_OBJECTS not in ways for way in inside)
    return [way for way in ways if not refused or ON_OBJECTS not in way]


def _refuse_point(s: Specimen, inside: tuple[str, ...], value: Value, error: Value) -> None:
    k = int(np.argmax(np.asarray(error) / np.maximum(np.abs(value), 1e-300)))
    got = f"{np.ravel(value)[k]} +- {np.ravel(error)[k]:.0e}; choose another point, or declare nan"
    label = s.labels[k] if np.ndim(value) else "all"
    s.fail(leg_of(inside, FORWARD), way_label(inside), label, "finite differences that converge", got)


def _agree(s: Specimen, way: str, order: int, found: np.ndarray, first: np.ndarray, size: np.ndarray) -> None:
    """Require that two gradients agree up to rounding of terms that may cancel in them."""
    t = s.tolerances(order)
    for k, label in enumerate(s.labels):
        s.equal("agreement", way, label, found[k], first[k], t.agreement * abs(first[k]) + 10.0 * t.rounding * size[k])


# ---- constants among the elements ------------------------------------------------------------------------------------
def check_elements(s: Specimen, ways: Ways, expected: np.ndarray) -> None:
    """Make every other element of the arrays constant: the derivatives by the remaining elements stay the same."""
    if len(s.numbers) < 2:
        s.report.skipped["elements"] = "one number"
        return
    chosen = np.arange(len(s.numbers)) % 2 == 0
    allowed = s.tolerances(1).agreement * np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)
    for way in ways:

        def partly_constant(*args: Nested, way: str = way) -> Nested:
            return s.scalar(*_partly_constant(s, way, args, chosen))

        reason = None if is_on_arrays(way) else _describe_refusal(s, way, partly_constant)
        if reason is not None:
            s.report.skipped[f"elements, {way}"] = reason
            continue
        got = s.run("elements", way, gradient(partly_constant, way), *s.args)
        for k, label in enumerate(s.labels):
            s.equal("elements", way, label, got[k], expected[k] if chosen[k] else 0.0, allowed, nan=True)


def _describe_refusal(s: Specimen, way: str, f: Function) -> str | None:
    """The reason why NumPy refuses object arrays of variables and floats: floats lack methods that it calls."""
    try:
        with np.errstate(all="ignore"):
            gradient(f, way)(*s.args)
        return None
    except Exception as error:
        return refusal(error, s.f, s.rebuilt(s.numbers))


def _partly_constant(s: Specimen, way: str, args: Sequence[Nested], chosen: np.ndarray) -> list[Nested]:
    """The arguments with constants in the places that are not chosen; into array variables they are assigned."""
    made, k = [], 0
    for x, plain in zip(args, s.rebuilt(s.numbers), strict=True):
        tree, constants = flatten(x), flatten(plain).leaves
        leaves = []
        for leaf, constant in zip(tree.leaves, constants, strict=True):
            if not isinstance(constant, np.ndarray):
                leaves.append(leaf if chosen[k] else constant)
                k += 1
                continue
            own = chosen[k : k + constant.size].reshape(constant.shape)
            k += constant.size
            if is_on_arrays(way):
                mixed = zeros(constant.shape)
                mixed[...] = constant
                mixed[own] = leaf[own]
            else:
                mixed = np.where(own, leaf, constant)
            leaves.append(mixed)
        made.append(tree.unflatten(leaves))
    return made


# ---- several tangents at once ----------------------------------------------------------------------------------------
def check_several(s: Specimen, ways: Ways, expected: np.ndarray) -> None:
    """Forward mode gives the same for two tangents at once as for one at a time."""
    two = np.array([weights(len(s.numbers)), direction_of(len(s.numbers))])
    for way in ways:
        if is_forward(way):
            both = s.run("several", way, several, s.scalar, way, s.args, two)
            for numbers, got in zip(two, both, strict=True):
                one = s.run("several", way, along(s.scalar, way, numbers.tolist()), *s.args)
                allowed = s.tolerances(1).agreement * float(np.abs(numbers) @ np.abs(expected))
                s.equal("several", way, "all", got, one, allowed)


# ---- adding up -------------------------------------------------------------------------------------------------------
def check_fan_out(s: Specimen, ways: Ways, expected: np.ndarray) -> None:
    """Adjoints add up: f + f, f f, f + x, the same inside an outer level, and one argument in two places."""
    x, w = np.array(s.numbers), np.array(weights(len(s.numbers)))
    value = float(s.plainly(s.scalar, s.rebuilt(s.numbers)))
    g, g_size = expected, np.abs(expected)
    u, u_size = 2.0 * value + float(w @ x), 2.0 * abs(value) + float(np.abs(w) @ np.abs(x))

    def square(*args: Nested) -> Real:
        u = s.scalar(*args) + s.scalar(*args) + inner(list(args), w.tolist())
        return u * u

    sums: tuple[tuple[str, Function, np.ndarray, np.ndarray], ...] = (
        ("f + f", lambda *a: s.scalar(*a) + s.scalar(*a), 2.0 * g, 2.0 * g_size),
        ("f f", lambda *a: s.scalar(*a) * s.scalar(*a), 2.0 * value * g, 2.0 * abs(value) * g_size),
        ("f + x", lambda *a: s.scalar(*a) + inner(list(a), w.tolist()), g + w, g_size + np.abs(w)),
    )
    agreement = s.tolerances(1).agreement
    for way in ways:
        for name, function, wanted, size in sums:
            got = s.run("fan-out", way, gradient(function, way), *s.args)
            _compare(s, way, f" of {name}", got, wanted, agreement * (size + np.max(size, initial=0.0)))
        # inside an outer level, where the adjoints are numbers of that level
        got, _ = s.run("fan-out", way, jvp, gradient(square, way), list(s.args), s.rebuilt(w.tolist()))
        size = 2.0 * u_size * (2.0 * g_size + np.abs(w))
        allowed = s.tolerances(2).agreement * (size + np.max(size, initial=0.0))
        _compare(s, way, " of (f + f + x)^2", got, 2.0 * u * (2.0 * g + w), allowed)
    shapes = [x.shape if isinstance(x, np.ndarray) else () if s.is_number(k) else None for k, x in enumerate(s.args)]
    for i, k in itertools.combinations(range(len(s.args)), 2):
        if shapes[i] is not None and shapes[i] == shapes[k] and s.trees[i].matches(s.trees[k]):
            _check_one_argument(s, ways, i, k)


def _check_one_argument(s: Specimen, ways: Ways, i: int, k: int) -> None:
    """Put one argument in the places i and k: its derivative is the sum of both."""
    numbers = np.array(s.numbers)
    ends = np.cumsum([0, *(len(numbers_of(x)) for x in s.args)])
    numbers[ends[k] : ends[k + 1]] = numbers[ends[i] : ends[i + 1]]
    at = s.rebuilt(numbers.tolist())
    for way in ways:
        separate, raised = outcome(gradient(s.scalar, way), *at)
        if raised is not None or not np.all(np.isfinite(np.array(separate, dtype=float))):
            s.report.skipped["one argument twice"] = f"no finite gradient by {way} with {i} in place of {k}"
            continue

        def join(x: Nested) -> Nested:
            return s.scalar(*(x if n in (i, k) else y for n, y in enumerate(at)))

        got = s.run("fan-out", way, gradient(join, way), at[i])
        first, second = (np.array(separate[ends[n] : ends[n + 1]]) for n in (i, k))
        allowed = s.tolerances(1).agreement * (np.abs(first) + np.abs(second) + np.max(np.abs(separate)))
        for j, (a, b) in enumerate(zip(got, first + second, strict=True)):
            s.equal("fan-out", way, f"{s.labels[ends[i] + j]} in two places", a, b, allowed[j])


def _compare(s: Specimen, way: str, of: str, got: Sequence[Real], expected: np.ndarray, allowed: np.ndarray) -> None:
    for k, label in enumerate(s.labels):
        s.equal("fan-out", way, label + of, got[k], expected[k], allowed[k])


# ---- special values --------------------------------------------------------------------------------------------------
def check_special(s: Specimen, ways: Ways) -> None:
    """At zeros, infinities and nan: the plain value or exception, and if it is finite the same gradient in all ways.

    On object arrays NumPy's functions may have other values at such points: then the check expects these.
    """
    n = len(s.numbers)
    places = (
        [(k,) for k in range(0, n, -(-n // PLACES) if n <= MANY else n)] + ([tuple(range(n))] if n > 1 else [])
        if n
        else []
    )
    for place, special in itertools.product(places, SPECIAL_VALUES):
        at = [special if k in place else x for k, x in enumerate(s.numbers)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns of some errors outside its error state
            z, raised = outcome(lambda at=at: s.results(s.plainly(s.f, s.rebuilt(at))))
            if raised is None:
                _check_at(s, ways, f"{', '.join(s.labels[k] for k in place[:PLACES])} = {special}", at, z)
            else:
                check_same_exception(s, ways, "special", at, raised)


def _check_at(s: Specimen, ways: Ways, label: str, at: Sequence[float], z: Sequence[float]) -> None:
    of_value, of_gradient = s.tolerances(0).value, s.tolerances(1).agreement
    refused = outcome(s.f, *form(ON_OBJECTS, s.rebuilt(at)))[1]
    of_objects, unusual = outcome(lambda: s.results(s.plainly(s.f, form(ON_OBJECTS, s.rebuilt(at)))))
    gradients: dict[str, list[Real]] = {}
    for way in ways:
        got, raised = outcome(value_by, s, way, s.rebuilt(at))
        lost = _type(raised) == "UnsupportedError" and any(map(math.isnan, at))  # NumPy refused objects
        if raised is not None and (is_on_arrays(way) or not (lost or _type(raised) == _type(refused))):
            s.fail("special", way, "", "no exception, as from the plain call", raised)
        if raised is not None:
            s.count("special")
            continue
        like_floats = np.allclose(got, z, rtol=1e-9, equal_nan=True)  # contad's own functions
        expected = z if is_on_arrays(way) or unusual is not None or like_floats else of_objects
        for a, b in zip(got, expected, strict=True):
            if not s.is_complex or np.isfinite(b):  # products with real numbers keep infinities
                s.equal("special", way, label, a, b, of_value * max(abs(b), size_of(expected)), nan=True)
        gradients[way] = s.run("special", way, gradient(s.scalar, way), *s.rebuilt(at))
        # NumPy's operations on objects, and forward mode, mask other partials than the rules of arrays do; if the
        # result is nan, they may have chosen other elements
        on_objects = [w for w in gradients if not is_on_arrays(w) and not is_forward(w)]
        first = gradients[on_objects[0] if way in on_objects else next(iter(gradients))]
        for a, b in zip(gradients[way], first, strict=True):
            if way in on_objects or (math.isfinite(a) and math.isfinite(b) and not any(map(math.isnan, got))):
                allowed = of_gradient * max(abs(b), size_of(first))
                s.equal("special", way, f"gradient at {label}", a, b, allowed, nan=True)


# ---- whole Hessians --------------------------------------------------------------------------------------------------
WHOLE = 16  # up to so many numbers the whole Hessian is computed


def check_whole_hessian(s: Specimen, ways: Sequence[str]) -> None:
    """Compare every second derivative of `contad.hessian` with differences, and with its mirror image."""
    n = len(s.numbers)
    if not 0 < n <= WHOLE:
        s.report.skipped["whole hessian"] = f"not between 1 and {WHOLE} numbers"
        return
    t, x = s.tolerances(2), np.array(s.numbers)
    scales = np.where(x == 0.0, 1.0, np.abs(x))
    first = gradient(s.scalar, ways[0])
    value, error = gradient_by_differences(lambda v: np.array(first(*s.rebuilt(v)), dtype=float), s.numbers)
    size = np.max(
        np.abs(value) * np.outer(scales, scales), initial=abs(float(s.plainly(s.scalar, s.rebuilt(s.numbers))))
    )
    slack = 10.0 * error + t.negligible * size / np.outer(scales, scales)
    resolved = 10.0 * error <= np.maximum(t.resolved * np.abs(value), slack - 10.0 * error)
    f = s.by_parts(s.scalar) if s.is_complex else s.scalar
    for way in ways:
        if is_forward(way):
            continue
        args = s.parts(form(way, s.args)) if s.is_complex else form(way, s.args)
        blocks = s.run("whole hessian", way, hessian(f, tuple(range(len(args))), engine=engine_of(way)), *args)
        sizes = [len(elements(leaf)) for tree in s.trees for leaf in tree.leaves]
        rest = iter(flatten(blocks).leaves)
        found = np.block([[np.reshape(next(rest), (a, b)).astype(float) for b in sizes] for a in sizes])
        for (i, k), a in np.ndenumerate(found):
            if resolved[i, k]:
                allowed = t.differences * abs(value[i, k]) + slack[i, k]
                s.equal("whole hessian", way, f"{s.labels[i]} and {s.labels[k]}", a, value[i, k], allowed)
                if i < k and resolved[k, i]:
                    allowed += t.differences * abs(value[k, i]) + slack[k, i]
                    s.equal("symmetry", way, f"{s.labels[i]} and {s.labels[k]}", a, found[k, i], allowed)
