"""Derivatives of implicitly defined values: the implicit function theorem, by factors or without a matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse.linalg

from contad.errors import SingularPointError, UnsupportedError
from contad.transforms.gradients import derivative, jvp, vjp
from contad.transforms.jacobians import jacobian
from contad.transforms.operation import CustomOperation
from contad.variables.arguments import fail
from contad.variables.array import numbers_in
from contad.variables.number import Carrier, map_numbers, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Real
from contad.variables.trees import holds_number, leaves_of

_LARGEST = 1e13  # condition number beyond which the derivative of a root has no digits
_DOUBTFUL = 1e6  # condition number from which the error of the root is checked
_HALF_THE_DIGITS = 1.5e-8  # relative accuracy of a double root
_FAR = 1e-6  # a Newton step, relative to the root or to 1, too large for a true root
_CHANGE = 0.4  # largest difference between 1 and the inverse Jacobian times another Jacobian
_DENSE = 100  # unknowns up to which the Jacobian is a matrix; beyond, only its products are used
_TOLERANCE = 1e-12  # of iterations, relative to the right-hand side
_ENOUGH = 1e-8  # the relative residual that suffices if rounding prevents convergence
_RESTART = 150  # vectors that GMRES keeps


def differentiate_root(
    what: str, fun: Function, z: ArrayValue, args: tuple[Nested, ...], success: bool, message: str,
    symmetric: bool = False, inverse: Function | None = None,
) -> ArrayValue:  # fmt: skip
    """The root z of fun(z, *args) = 0 with the derivatives of the equation; z itself if there are none.

    Each step z - J^-1 fun(z, p), with the constant Jacobian J at the root, makes derivatives of one more order right. A
    `symmetric` J is the Jacobian of a gradient, and z a stationary point. `inverse` returns the function r -> J^-1 r
    for plain arguments, if the caller knows the structure of J.
    """
    residual = fun(z, *args)
    size = sum(np.size(take_primals(leaf)) for leaf in leaves_of(residual))
    if size != np.size(z):
        fail(what, "fun", f"return as many numbers as there are unknowns, {np.size(z)}", size)
    depth = max((_depth(leaf) for leaf in leaves_of(residual)), default=0)
    if not depth:
        return z
    if not success:
        reason = " ".join(message.split())
        found = "minimum" if symmetric else "root"
        raise RuntimeError(f"{what}: no {found} was found, so there is no derivative: {reason}")
    plain = take_primals(args)
    solve = _find_inverse(what, fun, z, plain, symmetric) if inverse is None else inverse(plain)
    x: Any = z
    for _ in range(depth + 1):  # a recording at one level may be differentiated twice
        x = x - solve(fun(x, *args))
    return x


def _find_inverse(what: str, fun: Function, z: ArrayValue, args: tuple[Nested, ...], symmetric: bool) -> Function:
    """r -> J^-1 r, with the plain Jacobian of the equation at its root, on r of any level."""
    if np.ndim(z) == 0:
        slope: Real = take_primals(derivative(fun)(float(z), *args))
        if not np.isfinite(slope) or slope == 0.0:
            raise SingularPointError(f"{what}: the derivative of the function at the root {z:.6g} is {slope:.6g}")
        rest = float(take_primals(fun(float(z), *args)))
        step = rest / slope
        far = abs(step) > _FAR * max(abs(float(z)), 1.0)
        if far and not abs(float(take_primals(fun(float(z) - step, *args)))) <= 0.5 * abs(rest):
            raise SingularPointError(f"{what}: at {z:.6g} the function is {rest:.3g}, and jumps: that is not a root")
        _require_simple(what, float(z), step, slope, lambda x: take_primals(derivative(fun)(x, *args)))
        return lambda r: r / slope
    if np.size(z) > _DENSE:
        return ProductsOfInverse(what, _Iterations(what, fun, z, args, symmetric).apply, symmetric).solve
    matrix = np.reshape(take_primals(jacobian(fun)(z, *args)), (np.size(z), np.size(z)))
    condition = np.linalg.cond(matrix) if np.isfinite(matrix).all() else np.inf
    if condition > _LARGEST:
        of = "Hessian at the minimum" if symmetric else "Jacobian at the root"
        raise SingularPointError(
            f"{what}: the {of} is singular (condition number {condition:.1e}): the "
            f"{'minimum' if symmetric else 'root'} is not a smooth function of its parameters"
        )
    inverse = np.linalg.inv(matrix)
    if np.size(z) == 1 or condition > _DOUBTFUL:
        step = np.reshape(inverse @ np.reshape(np.asarray(take_primals(fun(z, *args)), float), (-1,)), np.shape(z))
        _require_simple(what, z, step, matrix, lambda x: take_primals(jacobian(fun)(x, *args)))
    return lambda r: np.reshape(inverse @ np.reshape(r, (-1,)), np.shape(z))


def _require_simple(what: str, z: Any, step: Any, slope: Any, slope_at: Function) -> None:
    """Raise if the slope changes within a Newton step, as it does near a multiple root.

    Near a multiple root the step is a fraction of the distance to the root, and the slope drops to at most one half. A
    simple root is known up to rounding, and the slope does not change. A single unknown moves by at least half of its
    digits.
    """
    if np.size(z) == 1:
        step = np.copysign(np.maximum(np.abs(step), _HALF_THE_DIGITS * np.abs(z)), step)
    other = np.reshape(slope_at(z - step), np.shape(slope))
    change = np.abs(other / slope - 1.0) if np.ndim(slope) == 0 else np.abs(np.linalg.solve(slope, other - slope))
    if np.max(change, initial=0.0) > _CHANGE:
        raise SingularPointError(
            f"{what}: several solutions meet at the one that was found, or nearly so: its derivative changes by "
            f"{np.max(change):.2g} times itself within the error of the solution"
        )


class ProductsOfInverse:
    """Products with the inverse of a constant Jacobian, at every level; apply(r, transposed) computes them for plain
    r."""

    def __init__(self, what: str, apply: Function, symmetric: bool = False) -> None:
        self.what, self.apply, self.symmetric = what, apply, symmetric

    def solve(self, r: ArrayValue, transposed: bool = False) -> Any:
        """J^-1 r or J^-T r: an operation, linear in r."""
        if self.symmetric:
            transposed = False

        def value(r: ArrayValue) -> tuple[ArrayValue, None]:
            return (self.solve(r, transposed) if numbers_in(r) else self.apply(np.asarray(r), transposed)), None

        def pull(args: Sequence[Any], saved: None, z: ArrayValue, z_bar: ArrayValue) -> Sequence[ArrayValue]:
            return (self.solve(z_bar, not transposed),)

        def push(args: Sequence[Any], saved: None, z: ArrayValue, tangents: Sequence[Any]) -> ArrayValue:
            return self.solve(tangents[0], transposed)

        return CustomOperation(self.what, (r,), value, pull, push, [], []).perform()


class _Iterations:
    """The inverse of a large Jacobian, from its products: by conjugate gradients if it is symmetric, otherwise by
    GMRES."""

    def __init__(self, what: str, fun: Function, z: ArrayValue, args: tuple[Nested, ...], symmetric: bool) -> None:
        self.what, self.symmetric = what, symmetric
        self.z, self.f = z, lambda x: fun(x, *args)

    def apply(self, r: np.ndarray, transposed: bool) -> np.ndarray:
        """J^-1 r or J^-T r."""
        n, shape = np.size(self.z), np.shape(self.z)
        pullback = vjp(self.f, self.z)[1] if transposed else None

        def times(v: np.ndarray) -> np.ndarray:
            v = np.reshape(v, shape)
            product = pullback(v)[0] if pullback is not None else jvp(self.f, (self.z,), (v,))[1]
            return np.reshape(np.asarray(take_primals(product), float), (-1,))

        b = np.reshape(np.asarray(r, float), (-1,))
        operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=times, dtype=float)
        if self.symmetric:
            x, _ = scipy.sparse.linalg.cg(operator, b, rtol=_TOLERANCE, atol=0.0, maxiter=4 * n)
        else:
            kept = min(n, _RESTART)
            x, _ = scipy.sparse.linalg.gmres(
                operator, b, rtol=_TOLERANCE, atol=0.0, restart=kept, maxiter=max(20, 4 * n // kept)
            )
        scale = np.linalg.norm(b)
        error = np.linalg.norm(times(x) - b) if np.isfinite(x).all() else np.inf
        if not error <= _ENOUGH * scale:
            of, at = ("Hessian", "minimum") if self.symmetric else ("Jacobian", "root")
            raise SingularPointError(
                f"{self.what}: the {of} at the {at} is singular, or nearly so: iterations leave a residual of "
                f"{error / scale:.1e} of the right-hand side"
            )
        return np.reshape(x, shape)


def require_plain_bounds(what: str, bounds: Any) -> None:
    """Raise if bounds carry a derivative, because a solution at a bound would move with it."""
    if holds_number([getattr(bounds, "lb", bounds), getattr(bounds, "ub", None)]):
        raise UnsupportedError(
            f"{what}: bounds that carry a derivative are not supported; give plain numbers, or solve for an x without "
            "bounds, of which they are made, as in low + (high - low) * contad.expit(x)"
        )


def _depth(x: Nested) -> int:
    """The number of levels of derivatives that a number or an array carries."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        return max(map(_depth, x.flat), default=0)
    depth = 0
    while isinstance(x, Carrier):
        depth += 1
        x = x._sync_parts()._value
    return depth


def take_primals(x: Nested) -> Any:
    """The primals under all levels."""
    return map_numbers(primal, x)
