"""Roots and fixed points, differentiable in everything on which the equation depends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize

from contad.scipy.optimize.implicit import differentiate_root, take_primals
from contad.scipy.optimize.newton_steps import find_root
from contad.transforms.gradients import derivative
from contad.transforms.jacobians import jacobian
from contad.variables.arguments import fail
from contad.variables.open_types import ArrayValue, Function, Nested, Options


def root(
    fun: Function, x0: ArrayValue, args: Sequence[Nested] = (), method: str = "hybr", *, tol: float | None = None,
    options: Options | None = None,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """scipy.optimize.root of fun(x, *args) = 0, with `x` differentiable in args and captured values.

        F(z, p) = 0,     z_dot = -F_z^-1 F_p p_dot,     p_bar = -F_p^T F_z^-T z_bar

    SciPy solves, with the exact Jacobian for the methods that use one ("hybr", "lm"); "newton" is contad's own,
    Newton's method with steps halved until F decreases. The derivative is that of steps z - J^-1 F(z, p) from the root,
    with the constant Jacobian J there. Each step makes derivatives of one more order right, including Hessians. With
    more than 100 unknowns J is not formed: GMRES solves with its products, also in "newton"; "krylov" is SciPy's method
    for this case. x0 carries no derivative.

    Shapes:  x0 (n,) or a number, as in SciPy; fun returns n numbers -> x (n,).
    Domain:  a fun with a root near x0 where its Jacobian is nonsingular.
    Raises:  ValueError if fun does not return n numbers. If a derivative is taken, SingularPointError if the Jacobian
             is (nearly) singular at the root, if solutions meet there, or if fun jumps; RuntimeError if SciPy does not
             converge.
    Cost:    SciPy's, and for derivatives an evaluation of fun on variables for each order, one Jacobian and its
             inverse; with more than 100 unknowns, a product with the Jacobian for each step of GMRES.
    Ref:     Griewank & Walther (2008), section 15.1; Christianson (1994), Optimization Methods and Software 3.

    >>> import contad
    >>> def f(p):
    ...     return root(lambda x, p: x**3 + x - p, np.array([1.0, 1.0]), (p,)).x
    >>> f(np.array([2.0, 10.0]))
    array([1., 2.])
    >>> contad.jacobian(f)(np.array([2.0, 10.0])).round(6)
    array([[0.25    , 0.      ],
           [0.      , 0.076923]])
    """
    plain_args = take_primals(tuple(args))
    start = np.atleast_1d(take_primals(x0))
    supplied = {"jac": lambda x, *p: take_primals(jacobian(fun)(x, *p))} if method in ("hybr", "lm") else {}

    def of_floats(x: ArrayValue, *p: Nested) -> Any:
        value = take_primals(fun(x, *p))
        if np.size(value) != np.size(x) and method != "lm":  # "lm" allows more equations than unknowns
            fail("root", "fun", f"return {np.size(x)} numbers, as many as x0 has", np.size(value))
        return value

    if method == "newton":
        result = _by_newton(of_floats, lambda x: fun(x, *plain_args), start, plain_args, tol, options or {})
    else:
        result = scipy.optimize.root(of_floats, start, plain_args, method, tol=tol, options=options, **supplied)
    result.x = differentiate_root("root", fun, result.x, tuple(args), result.success, result.message)
    return result


def _by_newton(
    of_floats: Function, of_variables: Function, start: ArrayValue, args: tuple[Nested, ...], tol: float | None,
    options: Options,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    unknown = options.keys() - {"ftol", "maxiter"}
    if unknown:
        fail("root", "options", 'have "ftol" and "maxiter" for method="newton"', ", ".join(map(repr, sorted(unknown))))
    limit = options.get("ftol", 1e-10 if tol is None else tol)
    found = find_root(lambda x: of_floats(x, *args), of_variables, start, limit, options.get("maxiter", 200))
    return scipy.optimize.OptimizeResult(
        x=found.x, fun=found.fun, success=not found.problem, nit=found.steps, status=int(not found.problem),
        message=found.problem or "The solution converged.",
    )  # fmt: skip


def root_scalar(f: Function, args: Sequence[Nested] = (), method: str | None = None, **options: Any) -> Any:
    """scipy.optimize.root_scalar of f(x, *args) = 0, with `root` differentiable in args and captured values.

        f(z, p) = 0,     z_dot = -f_p p_dot / f_z

    `bracket`, `x0`, `x1` and the other options are SciPy's, and carry no derivative. "newton" and "halley" receive
    exact derivatives.

    Shapes:  f(x, *args) a number -> `root` a number.
    Domain:  an f with a root in the bracket, or near x0, where its slope is not 0.
    Raises:  like `root`.
    Cost:    SciPy's, and one evaluation of f on variables for each order of derivatives.
    Ref:     scipy.optimize.root_scalar.

    >>> import contad
    >>> def f(p):
    ...     return root_scalar(lambda x: x**3 + x - p, bracket=(0.0, 5.0)).root
    >>> contad.value_and_grad(f)(10.0)
    (2.0, 0.07692307692307693)
    """
    options = take_primals(options)
    name = (method or "").lower()
    if name in ("newton", "halley"):
        options.setdefault("fprime", lambda x, *p: take_primals(derivative(f)(float(x), *p)))
    if name == "halley":
        options.setdefault("fprime2", lambda x, *p: take_primals(derivative(derivative(f))(float(x), *p)))

    def of_floats(x: float, *p: Nested) -> Any:
        return take_primals(f(x, *p))

    result = scipy.optimize.root_scalar(of_floats, take_primals(tuple(args)), method, **options)
    result.root = differentiate_root("root_scalar", f, float(result.root), tuple(args), result.converged, result.flag)
    return result


def fixed_point(
    func: Function, x0: ArrayValue, args: Sequence[Nested] = (), xtol: float = 1e-8, maxiter: int = 500,
    method: str = "del2",
) -> ArrayValue:  # fmt: skip
    """scipy.optimize.fixed_point, x = func(x, *args), differentiable in args and captured values.

        z = G(z, p),     z_dot = (I - G_z)^-1 G_p p_dot

    Shapes:  x0 (n,) or a number, func(x, *args) like x0 -> like x0.
    Domain:  a func with a fixed point near x0 where I - G_z is nonsingular.
    Raises:  like `root`; RuntimeError if SciPy does not converge.
    Cost:    that of `root`.
    Ref:     scipy.optimize.fixed_point.

    >>> import contad
    >>> def f(p):
    ...     return fixed_point(lambda x: np.cos(p * x), 0.5)
    >>> z, z_bar = contad.value_and_grad(f)(1.0)
    >>> bool(abs(z - 0.7390851332) < 1e-9), round(z_bar, 6)
    (True, -0.297474)
    """

    def of_floats(x: ArrayValue, *p: Nested) -> Any:
        return take_primals(func(x, *p))

    def difference(x: ArrayValue, *p: Nested) -> Any:
        return func(x, *p) - x

    found = scipy.optimize.fixed_point(of_floats, take_primals(x0), take_primals(tuple(args)), xtol, maxiter, method)
    found = float(found) if np.ndim(found) == 0 else found
    return differentiate_root("fixed_point", difference, found, tuple(args), True, "")


# ---- SciPy's older names ---------------------------------------------------------------------------------------------
def fsolve(func: Function, x0: ArrayValue, args: Any = (), *, xtol: float = 1.49012e-8, **options: Any) -> ArrayValue:
    """scipy.optimize.fsolve of func(x, *args) = 0: the `x` of `root`, with SciPy's other arguments as options.

        F(z, p) = 0,     z_dot = -F_z^-1 F_p p_dot

    Shapes:  x0 (n,) or a number, func(x, *args) (n,) -> (n,).
    Domain:  that of `root`.
    Raises:  like `root`; TypeError for `fprime`, which contad supplies, and `full_output`, which `root` replaces.
    Cost:    that of `root`.
    Ref:     scipy.optimize.fsolve.

    >>> fsolve(lambda x, p: x**3 + x - p, np.array([1.0]), (10.0,)).round(6)
    array([2.])
    """
    for name in ("fprime", "full_output", "col_deriv"):
        if options.pop(name, None):
            raise TypeError(f"fsolve: leave out {name}; contad supplies derivatives, and root returns all of SciPy's")
    args = args if isinstance(args, tuple) else (args,)
    return root(func, x0, args, "hybr", options={"xtol": xtol, **options}).x


def _make_solver(name: str) -> Any:
    def solve(
        f: Function, a: float, b: float, args: Any = (), xtol: float = 2e-12, rtol: float = 8.881784197001252e-16,
        maxiter: int = 100, full_output: bool = False, disp: bool = True,
    ) -> Any:  # fmt: skip
        args = args if isinstance(args, tuple) else (args,)
        found = root_scalar(f, args, name, bracket=(a, b), xtol=xtol, rtol=rtol, maxiter=maxiter)
        if disp and not found.converged:
            raise RuntimeError(f"{name}: no root in {maxiter} steps")
        return (found.root, found) if full_output else found.root

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"""scipy.optimize.{name} of f(x, *args) = 0 between a and b: the `root` of `root_scalar`.

        f(z, p) = 0,     z_dot = -f_p p_dot / f_z

    Shapes:  f(x, *args) a number -> a number.
    Domain:  f(a) and f(b) with different signs; a root where the slope of f is not 0.
    Raises:  like `root_scalar`; RuntimeError beyond maxiter steps.
    Cost:    that of `root_scalar`.
    Ref:     scipy.optimize.{name}.

    >>> round({name}(lambda x, p: x**3 + x - p, 0.0, 5.0, (10.0,)), 9)
    2.0
    """
    return solve


# the strings below are for the documentation, which reads the source
bisect = _make_solver("bisect")
"""`scipy.optimize.bisect`, the root of `root_scalar(f, args, "bisect", bracket=(a, b))`."""
ridder = _make_solver("ridder")
"""`scipy.optimize.ridder`, the root of `root_scalar(f, args, "ridder", bracket=(a, b))`."""
brenth = _make_solver("brenth")
"""`scipy.optimize.brenth`, the root of `root_scalar(f, args, "brenth", bracket=(a, b))`."""
toms748 = _make_solver("toms748")
"""`scipy.optimize.toms748`, the root of `root_scalar(f, args, "toms748", bracket=(a, b))`."""
