"""The legs of `expect_ad`: each checks one promise against an independent source, and fails with AssertionError."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from contad.testing.differences import gradient_by_differences
from contad.testing.forms import engine_of, form, is_forward, is_on_arrays, like, refusal
from contad.testing.specimen import (
    FEW,
    FORWARD,
    MANY,
    Specimen,
    combine,
    direction_of,
    fill,
    numbers_of,
    outcome,
    size_of,
    weights,
)
from contad.transforms.gradients import grad, jvp, vjp
from contad.transforms.jacobians import jacrev
from contad.variables.open_types import Function, Nested, Real
from contad.variables.trees import elements, flatten

SPECIAL_VALUES = (0.0, -0.0, math.inf, -math.inf, math.nan)

Ways = Sequence[str]  # the names of engines, and FORWARD


# ---- value and errors ------------------------------------------------------------------------------------------------
def check_same_exception(s: Specimen, ways: Ways, leg: str, numbers: Sequence[float], expected: str) -> None:
    """Every engine raises the exception of the plain call at these numbers."""
    for way in ways:
        _, got = outcome(s.gradient(s.flat, way), *numbers)
        if got != expected:
            s.fail(leg, way, "", expected, got or "no exception")
        s.count(leg)


def check_value(s: Specimen, ways: Ways) -> None:
    """Every engine gives the plain value."""
    expected = s.results(s.plainly(s.f, s.rebuilt(s.numbers)))
    size = size_of(expected) if s.has_arrays else 0.0  # sums may have another order
    for way in ways:
        got = s.run("value", way, value_by, s, way, s.args)
        s.equal("value", way, "", len(got), len(expected))
        for a, b in zip(got, expected, strict=True):
            s.equal("value", way, "", a, b, s.tolerances(0).value * max(abs(b), size))


def value_by(s: Specimen, way: str, args: Sequence[Nested]) -> list[Nested]:
    """The numbers of the result of f, computed in a way."""
    if is_forward(way):
        return s.results(jvp(s.f, form(way, args), s.rebuilt(0.0 for _ in s.numbers))[0])
    return s.results(vjp(s.f, *form(way, args), engine=engine_of(way))[0])


# ---- derivatives of any order ----------------------------------------------------------------------------------------
class _Reference(NamedTuple):
    """The reference for all functions of one order: they must be the same function, differentiated in other ways."""

    value: np.ndarray  # the derivatives, by differences of the first function
    error: np.ndarray
    terms: float  # the size of their terms, over |x_k|
    nearby: list[tuple[list[float], float]]  # points nearby, and the value of the first function there


def check_derivatives(s: Specimen, ways: Ways, order: int, zero_gradient: bool | None = None) -> np.ndarray:
    """Compare every derivative up to `order` with differences of the one below; returns the gradient.

    One way supplies the differences. The check compares the others with it at nearby points, where a derivative that is
    right only at the point itself differs.
    """
    level: list[tuple[Function, tuple[str, ...]]] = [(s.flat, ())]
    gradient = None
    for _ in range(order):
        above: list[tuple[Function, tuple[str, ...]]] = []
        reference = _reference(s, level[0][0])
        for g, inner in level:
            if g is not level[0][0]:
                _check_nearby(s, g, inner, reference)
            found = _derivatives(s, ways, g, inner, reference, zero_gradient if gradient is None else None)
            gradient = found if gradient is None else gradient
            for way in ways:
                d = s.gradient(g, way)
                above.append((lambda *v, d=d: combine(d(*v)), (*inner, way)))
        level = above
    assert gradient is not None
    return gradient


def _reference(s: Specimen, g: Function) -> _Reference:
    value, error = gradient_by_differences(lambda v: s.plainly(g, v), s.numbers)
    scales = np.array([abs(x) or 1.0 for x in s.numbers])
    nearby = []
    for k, x in enumerate(s.numbers):
        at = [*s.numbers[:k], x + 1e-3 * max(abs(x), 1.0), *s.numbers[k + 1 :]]
        nearby.append((at, _value_at(s, g, at)))
    terms = [*np.abs(value) * scales, abs(_value_at(s, g, s.numbers)), *(abs(z) for _, z in nearby)]
    return _Reference(value, error, size_of(terms), nearby)


def _value_at(s: Specimen, g: Function, at: Sequence[float]) -> float:
    """The value at numbers; nan if there is none."""
    value, _ = outcome(s.plainly, g, at)
    return math.nan if value is None else float(value)


def _check_nearby(s: Specimen, g: Function, inner: tuple[str, ...], reference: _Reference) -> None:
    """Check that another way gives the same function; where either has no value, differences have none either."""
    for at, expected in reference.nearby:
        got = _value_at(s, g, at)
        if math.isfinite(got) and math.isfinite(expected):
            allowed = 0.01 * s.tolerances(len(inner)).differences * reference.terms
            where = f"of numbers, at {', '.join(map(repr, at))}"
            s.equal("agreement", way_label(inner), where, got, expected, allowed)


def _derivatives(
    s: Specimen, ways: Ways, g: Function, inner: tuple[str, ...], found: _Reference, zero_gradient: bool | None
) -> np.ndarray:
    """The derivatives of g, which is f differentiated in the inner ways."""
    t, x = s.tolerances(len(inner) + 1), np.array(s.numbers)
    size = found.terms / np.array([abs(x) or 1.0 for x in s.numbers])
    slack = 10.0 * found.error + t.negligible * size
    resolved = 10.0 * found.error <= np.maximum(t.resolved * np.abs(found.value), t.negligible * size)
    if not (np.all(resolved) or s.nan):
        k = int(np.argmin(resolved))
        got = f"{found.value[k]} +- {found.error[k]:.0e}; choose another point, or declare nan"
        s.fail(leg_of(inner, FORWARD), way_label(inner), s.labels[k], "finite differences that converge", got)
    if zero_gradient is not None and not s.nan:
        if zero_gradient != bool(np.all(np.abs(found.value) <= slack)):
            what = "that is zero, as declared" if zero_gradient else "other than zero, or zero_gradient=True"
            s.fail("vacuity", "", "", f"a gradient {what}", found.value.tolist())
        s.count("vacuity")
    results: list[list[float]] = []
    for way in ways:
        leg, label = leg_of(inner, way), way_label((*inner, way))
        results.append(s.run(leg, label, s.gradient(g, way), *s.numbers))
        if np.all(resolved):
            s.equal_along(leg, label, results[-1], found.value, t.differences * np.abs(found.value) + slack)
        first = np.array(results[0])
        if len(results) > 1 and len(first) == len(x):
            s.equal_along("agreement", label, results[-1], first, t.agreement * np.abs(first) + t.rounding * size)
    if len(inner) == 1 and FORWARD in ways and np.all(resolved):
        _check_symmetry(s, inner[0], np.array(results[0]), slack)
    return np.array(results[0])


def _check_symmetry(s: Specimen, way: str, expected: np.ndarray, slack: np.ndarray) -> None:
    """H w = H^T w: the derivative of the gradient along w equals the gradient of w^T gradient, which is `expected`.

    A partial of which only the value is right fails here, even if its differences agree.
    """
    n = len(s.numbers)
    if not 1 < n <= FEW:
        s.report.skipped["symmetry"] = "one number" if n == 1 else f"more than {FEW} numbers"
        return
    _, got = s.run("symmetry", way, jvp, s.gradient(s.flat, way), s.numbers, weights(n))
    for k, label in enumerate(s.labels):
        allowed = s.tolerances(2).differences * abs(expected[k]) + slack[k]
        s.equal("symmetry", way, label, got[k], expected[k], allowed)


def leg_of(inner: tuple[str, ...], way: str) -> str:
    """The name of the leg that differentiates f in a way, after the inner ones."""
    if inner:
        return "hessian" if len(inner) == 1 else f"order {len(inner) + 1}"
    return "jvp" if is_forward(way) else "gradient"


def way_label(ways: Ways) -> str:
    """A text for nested ways, for messages."""
    return " over ".join(reversed(ways))


def check_jacobian(s: Specimen, ways: Ways) -> None:
    """Compare every derivative of several results with differences."""
    z = s.plainly(s.f, s.rebuilt(s.numbers))
    if flatten(z).spec is None and np.ndim(z) == 0:
        s.report.skipped["jacobian"] = "one result"
        return
    if s.has_arrays and len(s.numbers) > MANY:
        s.report.skipped["jacobian"] = f"more than {MANY} numbers"
        return
    found = gradient_by_differences(lambda v: s.results(s.plainly(s.f, s.rebuilt(v))), s.numbers)
    finite = np.abs(found.value[np.isfinite(found.value)])
    rounding = 20.0 * s.tolerances(1).rounding * np.max(finite, initial=0.0)  # for results that depend on each other
    heights = [len(elements(leaf)) for leaf in flatten(z).leaves]
    widths = [len(elements(leaf)) for tree in s.trees for leaf in tree.leaves]
    pairs = s.is_complex or flatten(z).is_complex
    f = s.by_parts(lambda *args: flatten(s.f(*args)).leaves) if pairs else s.f
    for way in ways:
        if not is_forward(way):
            args = s.parts(form(way, s.args)) if pairs else form(way, s.args)
            derivative = jacrev(f, tuple(range(len(args))), engine=engine_of(way))
            made = s.run("jacobian", way, derivative, *args)
            blocks = iter(flatten(made).leaves)
            matrix = np.block([[np.reshape(next(blocks), (height, width)) for width in widths] for height in heights])
            for (i, k), a in np.ndenumerate(matrix):
                expected, error = found.value[i, k], found.error[i, k]
                allowed = s.tolerances(1).differences * abs(expected) + 10.0 * error + rounding
                s.equal("jacobian", way, f"{s.labels[k]} (result {i})", a, expected, allowed)


def check_product(s: Specimen, ways: Ways) -> None:
    """<z_bar, J x_dot> = <J^T z_bar, x_dot>."""
    x_dot = weights(len(s.numbers))
    z_dot = s.results(s.run("product", FORWARD, jvp, s.f, s.args, s.rebuilt(x_dot))[1])
    z_bar = [w + 0.7 for w in weights(len(z_dot))]
    forward = sum(a * b for a, b in zip(z_bar, z_dot, strict=True))
    for way in ways:
        if not is_forward(way):
            z, pullback = s.run("product", way, lambda way=way: vjp(s.f, *form(way, s.args), engine=engine_of(way)))
            x_bar = numbers_of(s.run("product", way, pullback, fill(flatten(z), z_bar)))
            terms = [a * b for a, b in zip(x_bar, x_dot, strict=True)]
            s.equal("product", way, "", sum(terms), forward, 10.0 * s.tolerances(1).agreement * sum(map(abs, terms)))


# ---- constants -------------------------------------------------------------------------------------------------------
def check_mixes(s: Specimen, ways: Ways, gradient: np.ndarray) -> None:
    """With some arguments active, the others constants of any number type, the derivatives are the same."""
    n = len(s.args)
    if n == 1:
        s.report.skipped["mixes"] = "one argument"
        return
    owners = np.repeat(range(n), [len(numbers_of(x)) for x in s.args])
    for size in range(1, n) if n <= 4 else (1, n - 1):
        for active in itertools.combinations(range(n), size):
            _mix(s, ways, active, gradient[np.isin(owners, active)].tolist())


def _mix(s: Specimen, ways: Ways, active: tuple[int, ...], expected: list[float]) -> None:
    others = [k for k in range(len(s.args)) if k not in active and s.is_number(k)]
    numpy = [np.float64(x) if k in others else x for k, x in enumerate(s.args)]
    rounded = [math.copysign(math.ceil(abs(x)), x) if k in others else x for k, x in enumerate(s.args)]
    integers = [int(x) if k in others else x for k, x in enumerate(rounded)]
    for way in ways:
        if s.has_arrays and _is_refused(s, way, active):
            continue
        wanted = expected
        if is_forward(way):
            wanted = [sum(a * w for a, w in zip(expected, direction_of(len(expected)), strict=True))]
        for kind, args in (("float", s.args), ("np.float64", numpy)):
            _compare(s, way, f"constants {kind}", s.run("mixes", way, _restrict, s, way, active, args), wanted)
        float_result, float_raised = outcome(_restrict, s, way, active, rounded)
        int_result, int_raised = outcome(_restrict, s, way, active, integers)
        if int_raised != float_raised:
            s.fail("mixes", way, "constants int", float_raised or "no exception", int_raised or "no exception")
        if float_raised is None:
            _compare(s, way, "constants int", int_result, float_result)


def _is_refused(s: Specimen, way: str, active: tuple[int, ...]) -> bool:
    """Whether NumPy refuses a way here: it does not see variables that are numbers, or elements of object arrays."""
    try:
        with np.errstate(all="ignore"):
            _restrict(s, way, active, s.args)
        return False
    except Exception as error:
        has_arrays = any(isinstance(leaf, np.ndarray) for k in active for leaf in s.trees[k].leaves)
        seen = has_arrays and is_on_arrays(way)
        reason = None if seen else refusal(error, s.f, s.rebuilt(s.numbers), active)
        if reason is not None:
            s.report.skipped[f"mixes, {way}, {', '.join(map(s.name_of_argument, active))}"] = reason
        return reason is not None


def _compare(s: Specimen, way: str, name: str, got: Sequence[Real], expected: Sequence[Real]) -> None:
    size = max(map(abs, expected), default=0.0)
    for a, b in zip(got, expected, strict=True):
        s.equal("mixes", way, name, a, b, s.tolerances(1).agreement * size, nan=True)


def _restrict(s: Specimen, way: str, active: tuple[int, ...], args: Sequence[Nested]) -> list[Nested]:
    """The derivatives by some arguments, with the others constant; forward mode gives a combination of them."""
    if s.writes:
        args = [x if k in active else fill(flatten(x), numbers_of(x)) for k, x in enumerate(args)]
    args = [form(way, [x])[0] if k in active else x for k, x in enumerate(args)]
    if not is_forward(way):
        return numbers_of(grad(s.scalar, active, engine=engine_of(way))(*args))

    def function_of_active(*chosen: Nested) -> Nested:
        given = dict(zip(active, chosen, strict=True))
        return s.scalar(*(given.get(k, x) for k, x in enumerate(args)))

    primals = [args[k] for k in active]
    direction = direction_of(sum(len(numbers_of(x)) for x in primals))
    return [jvp(function_of_active, primals, like(primals, direction))[1]]


# ---- adding up -------------------------------------------------------------------------------------------------------
def check_fan_out(s: Specimen, ways: Ways, gradient: np.ndarray) -> None:
    """Adjoints add up: f + f, f f, f + x, the same inside an outer level, and one input in place of several."""
    value, w = float(s.plainly(s.flat, s.numbers)), np.array(weights(len(s.numbers)))
    g, g_size, w_size = gradient, np.abs(gradient), np.abs(w)
    u, u_size = 2.0 * value + float(w @ s.numbers), 2.0 * abs(value) + float(w_size @ np.abs(s.numbers))

    def linear(v: Sequence[Real]) -> Real:
        return sum(a * b for a, b in zip(v, w.tolist(), strict=True))

    def square(*v: Real) -> Real:
        u = s.flat(*v) + s.flat(*v) + linear(v)
        return u * u

    sums: tuple[tuple[str, Function, np.ndarray, np.ndarray], ...] = (
        ("f + f", lambda *v: s.flat(*v) + s.flat(*v), 2.0 * g, 2.0 * g_size),
        ("f f", lambda *v: s.flat(*v) * s.flat(*v), 2.0 * value * g, 2.0 * abs(value) * g_size),
        ("f + x", lambda *v: s.flat(*v) + linear(v), g + w, g_size + w_size),
    )
    for way in ways:
        for name, function, expected, size in sums:
            got = s.run("fan-out", way, s.gradient(function, way), *s.numbers)
            s.equal_along("fan-out", way, got, expected, s.tolerances(1).agreement * size, name)
        # inside an outer level, where the adjoint of f is a number of that level
        got, _ = s.run("fan-out", way, jvp, s.gradient(square, way), s.numbers, w.tolist())
        allowed = s.tolerances(2).agreement * 2.0 * u_size * (2.0 * g_size + w_size)
        s.equal_along("fan-out", way, got, 2.0 * u * (2.0 * g + w), allowed, "(f + f + x)^2")
    for x in dict.fromkeys(s.numbers[:2]) if len(s.numbers) > 1 else ():
        _check_one_input(s, ways, [x] * len(s.numbers))


def _check_one_input(s: Specimen, ways: Ways, at: list[float]) -> None:
    for way in ways:
        separate, raised = outcome(s.gradient(s.flat, way), *at)
        if raised is not None or not np.all(np.isfinite(separate)) or len(separate) < len(at):
            s.report.skipped["one input"] = f"no finite gradient by {way} at {at}"
            continue
        (one,) = s.run("fan-out", way, s.gradient(lambda x: s.flat(*[x] * len(at)), way), at[0])
        allowed = s.tolerances(1).agreement * sum(map(abs, separate))
        s.equal("fan-out", way, f"one input {at[0]}", one, sum(separate), allowed)


# ---- special values --------------------------------------------------------------------------------------------------
def check_special(s: Specimen, ways: Ways) -> None:
    """At zeros, infinities and nan: the plain value or exception, and one gradient from all engines if it is finite.

    If it is not finite, gradients may differ: a zero adjoint or tangent masks an infinite partial, and the two modes
    have zeros at different places.
    """
    n = len(s.numbers)
    places = [(k,) for k in range(0, n, -(-n // FEW))] + ([tuple(range(n))] if n > 1 else [])
    for place, special in itertools.product(places, SPECIAL_VALUES):
        at = [special if k in place else x for k, x in enumerate(s.numbers)]
        z, raised = outcome(lambda at=at: s.results(s.plainly(s.f, s.rebuilt(at))))
        if raised is None:
            _check_at(s, ways, f"{', '.join(s.labels[k] for k in place)} = {special}", at, z)
        else:
            check_same_exception(s, ways, "special", at, raised)


def _check_at(s: Specimen, ways: Ways, label: str, at: Sequence[float], z: Sequence[float]) -> None:
    of_value, of_gradient = s.tolerances(0).value, s.tolerances(1).agreement
    gradients: list[list[Nested]] = []
    for way in ways:
        if len(z) == 1:
            value, gradient = s.run("special", way, s.value_and_gradient(s.flat, way), *at)
            got = [value]
        else:
            got = s.run("special", way, value_by, s, way, s.rebuilt(at))
            gradient = s.run("special", way, s.gradient(s.flat, way), *at)
        for a, b in zip(got, z, strict=True):
            if not s.is_complex or math.isfinite(b):  # products with real numbers keep infinities
                s.equal("special", way, label, a, b, of_value * abs(b), nan=True)
        gradients.append(gradient)
        if len(gradients[-1]) == len(gradients[0]):
            for a, b in zip(gradients[-1], gradients[0], strict=True):
                if way != FORWARD or (math.isfinite(a) and math.isfinite(b)):
                    s.equal("special", way, f"gradient at {label}", a, b, of_gradient * abs(b), nan=True)
