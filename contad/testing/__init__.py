"""Checks of your own functions and rules: every engine against the plain call and against differences.

`expect_ad(f, *args)` runs every leg, `check_grads(f, args)` checks only derivatives. A failure is an AssertionError
that names function, leg, engine, argument, expected and got.
"""

from collections.abc import Iterable, Sequence

from contad.engines import engine_names
from contad.testing import array_legs, complex_legs, legs
from contad.testing.forms import usable
from contad.testing.specimen import (
    FORWARD,
    TOLERANCES,
    AdTolerances,
    Report,
    Specimen,
    Tolerances,
    describe_arguments,
)
from contad.variables.open_types import Function, Nested

__all__ = ["TOLERANCES", "AdTolerances", "Report", "Tolerances", "check_grads", "expect_ad"]


def expect_ad(
    f: Function,
    *args: Nested,
    order: int | None = None,
    zero_gradient: bool = False,
    nan: bool = False,
    engines: Sequence[str] | None = None,
    tolerances: Tolerances | AdTolerances = TOLERANCES,
    verbose: bool = False,
) -> Report:
    """Check everything that contad promises about f at args, on every engine; the report lists the legs.

    The arguments are numbers, or pytrees and arrays of numbers; f returns one number, or a pytree of several. A complex
    number counts as two numbers, its real and its imaginary part.

    - errors: if the plain call raises, every engine raises the same; otherwise none may raise
    - value: every engine gives the value of the plain call
    - vacuity: the gradient is not zero, because a zero proves little; `zero_gradient=True` declares that it is zero
    - gradient, jvp: reverse and forward mode against differences
    - agreement: engines and modes agree up to rounding, at every order
    - hessian, order 3: every mode and engine over every other, against differences of one of the inner ones, with which
      the others agree nearby; likewise for a higher `order`, which is 3 for functions of one or two numbers, else 2
    - symmetry: the Hessian equals its transpose, for 2 to 8 numbers, and arrays of up to 16; this finds a partial that
      is right only at args, such as a constant
    - jacobian: the derivatives of several results against differences
    - holomorphic: `jacobian(holomorphic=True)` of complex results by complex arguments is du/dx + i dv/dx, or raises
      NotHolomorphicError where the equations of Cauchy and Riemann fail
    - product: <z_bar, J x_dot> = <J^T z_bar, x_dot>
    - mixes: every subset of the arguments active, the others constant, as float, NumPy number and int
    - fan-out: f + f, f f, f + x, and one input in place of several: adjoints add up
    - special: at 0, -0, inf, -inf and nan the value or exception of the plain call, and one gradient from all engines
    - unmutated: no call changes an argument

    If there are arrays among the arguments, every leg runs on the engine `matrix` and in forward mode with array
    variables, and in all ways on object arrays of scalars; `skipped` names the ways that NumPy refuses, with its
    reason. Second derivatives are then taken along one direction, and there are three more legs:

    - whole hessian: `contad.hessian` of up to 16 numbers on every engine, against differences of the gradient
    - elements: every other element of the arrays is a constant
    - several: forward mode with several tangents at once

    Empty arrays may be among the arguments. If the arguments or the result hold no number, the only leg is *empty*: the
    value, and derivatives that have the shapes of arguments and result and are 0. Arguments such as [] and () are
    constants.

    `tolerances` are the same for all orders, or `AdTolerances` has those of each: second derivatives of a solver may be
    less exact. A derivative that is nan fails; `nan=True` declares that nan is expected, and all engines must agree on
    it. Choose arguments at which no component is zero by symmetry. `verbose` prints the report.

    >>> import contad
    >>> expect_ad(contad.ops.square, 3.0).skipped["mixes"]
    'one argument'
    >>> report = expect_ad(contad.ops.square, 3.0, tolerances=AdTolerances(gradient=1e-8, hessian=1e-5, third=1e-3))
    >>> expect_ad(lambda x: contad.stop_gradient(x) * x, 3.0)
    Traceback (most recent call last):
    AssertionError: <lambda>(3.0): leg gradient, engine closures, argument x: expected 6.0, got 3.0
    """
    specimen = Specimen(f, args, nan, tolerances)
    ways = [*(engine_names() if engines is None else engines), FORWARD]
    if specimen.raised is not None:
        check = array_legs.check_same_exception if specimen.has_arrays else legs.check_same_exception
        check(specimen, ways, "errors", specimen.numbers, specimen.raised)
        specimen.report.skipped["all others"] = "the plain call raises"
    else:
        specimen.report.skipped["errors"] = "the plain call does not raise"
        if specimen.has_arrays:
            ways = usable(specimen, ways)
        if specimen.has_arrays and array_legs.is_empty(specimen):
            array_legs.check_empty(specimen, ways)
            specimen.report.skipped["all others"] = "there is no number in the arguments, or none in the result"
        else:
            _check_numbers(specimen, ways, order, zero_gradient)
    if verbose:
        print(specimen.report)
    return specimen.report


def _check_numbers(specimen: Specimen, ways: Sequence[str], order: int | None, zero_gradient: bool) -> None:
    """The legs that compare derivatives of numbers."""
    of_kind = array_legs if specimen.has_arrays else legs
    legs.check_value(specimen, ways)
    if order is None:
        order = 3 if not specimen.has_arrays and len(specimen.numbers) <= 2 else 2
    gradient = of_kind.check_derivatives(specimen, ways, order, zero_gradient)
    if specimen.has_arrays and order > 1:
        array_legs.check_whole_hessian(specimen, ways)
    legs.check_jacobian(specimen, ways)
    complex_legs.check_holomorphic(specimen, ways)
    legs.check_product(specimen, ways)
    legs.check_mixes(specimen, ways, gradient)
    if specimen.has_arrays:
        array_legs.check_elements(specimen, ways, gradient)
        array_legs.check_several(specimen, ways, gradient)
    of_kind.check_fan_out(specimen, ways, gradient)
    of_kind.check_special(specimen, ways)


def check_grads(
    f: Function,
    args: Sequence[Nested],
    order: int = 2,
    modes: str | Iterable[str] = ("rev", "fwd"),
    *,
    engines: Sequence[str] | None = None,
    tolerances: Tolerances | AdTolerances = TOLERANCES,
    verbose: bool = False,
) -> Report:
    """Check the derivatives of f at args up to `order` against differences, in every nesting of modes "rev" and "fwd".

    args is a tuple of the arguments. `modes` is one mode or several. The check runs on all engines that can run f. If
    an engine other than the default refuses f (`closures` and `records` cannot assign to arrays), or a rule has no
    forward mode, the report's `skipped` has the reason. Engines named in `engines`, and "fwd" alone, must not refuse.

    >>> import numpy as np
    >>> report = check_grads(lambda x, y: x * np.exp(y), (1.3, 0.7), order=3)
    >>> check_grads(np.exp, (1.3,), modes="rev", engines=["matrix"]).passed["gradient"]
    1
    """
    chosen = {modes} if isinstance(modes, str) else set(modes)
    if not chosen or chosen - {"rev", "fwd"}:
        raise ValueError(f"check_grads: modes must be 'rev', 'fwd' or both, got {sorted(chosen)}")
    if not isinstance(args, (tuple, list)):
        got = describe_arguments([args])
        raise TypeError(f"check_grads: args must be a tuple of the arguments, got {got}; write ({got},)")
    named = engine_names() if engines is None else engines
    ways = [*(named if "rev" in chosen else ()), *([FORWARD] if "fwd" in chosen else [])]
    asked = {*(engines or ()), *([FORWARD] if chosen == {"fwd"} else [])}
    specimen = Specimen(f, tuple(args), False, tolerances)
    if specimen.raised is not None:
        raise ValueError(f"check_grads: {specimen.report.call} raises {specimen.raised}")
    if not specimen.numbers:
        raise ValueError(f"{specimen.report.call}: there is no number in the arguments, and so no derivative to check")
    ways = usable(specimen, ways, asked)
    if not ways:
        raise ValueError(f"check_grads: there is nothing to check: {specimen.report}")
    of_kind = array_legs if specimen.has_arrays else legs
    of_kind.check_derivatives(specimen, ways, order)
    if verbose:
        print(specimen.report)
    return specimen.report
