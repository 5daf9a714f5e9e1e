"""Minima of functions of trees of parameters, by SciPy's methods with contad's derivatives."""

import inspect
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from contad.scipy.optimize.constrained_minima import conditions_of, differentiate_minimum
from contad.scipy.optimize.implicit import differentiate_root, require_plain_bounds, take_primals
from contad.transforms.flat_functions import FlatFunction, Unravel, flat
from contad.transforms.gradients import derivative
from contad.variables.arguments import fail
from contad.variables.array import numbers_in
from contad.variables.open_types import ArrayValue, Function, Nested, Options
from contad.variables.trees import flatten, holds_number

_WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_WITH_HESSIAN = {"dogleg", "trust-exact"}
_WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}


def minimize(
    fun: Function, x0: Nested, args: Sequence[Nested] = (), method: str | None = None, *, bounds: Any = None,
    constraints: Any = (), tol: float | None = None, callback: Function | None = None, options: Options | None = None,
    covariance: bool = False, progress: bool = False, sparse: bool = False,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """scipy.optimize.minimize of fun(x, *args) with exact derivatives; x is a tree of numbers and arrays.

    x0           a number, an array, or lists, tuples, dicts of these
    method       SciPy's name of a method, which receives the gradient, Hessian or Hessian products that it uses
    bounds       for trees, a dict or sequence with (low, high) in place of leaves and None for no bound; keys of dicts
                 may be omitted. Otherwise SciPy's
    constraints  NonlinearConstraint or dicts, whose functions take x like fun and get exact Jacobians; LinearConstraint
                 for the vector
    callback     like SciPy's, called with the tree
    covariance   also return the inverse of the Hessian at the minimum, the covariance of the estimates if fun is a
                 negative log likelihood. Coordinates that a bound stops before the minimum are held fixed, with a
                 UserWarning that names them: their rows and errors are nan, and the covariance of the others is
                 conditional on them, the inverse of the others' Hessian. The same applies, without a warning, if both
                 bounds are equal. `constraints` are ignored here
    progress     show a progress bar with the value and the gradient's largest element (needs tqdm)
    sparse       for "trust-constr": use sparse Hessians, with the pattern found by `sparse_hessian`

    If args or captured values are variables, the minimum is differentiable in them, at every order, by the implicit
    function theorem: `x`, `vector` and `fun` carry derivatives. Coordinates at a bound are held there. With more than
    100 parameters there is no Hessian: conjugate gradients solve with its products. x0 carries no derivative, and
    bounds must not.

        grad f(z, p) = 0,     z_dot = -H^-1 (grad f)_p p_dot

    Under constraints c, whose functions may capture variables as well, the equations are those of Karush, Kuhn and
    Tucker: grad f - sum_k l_k grad c_k = 0 and c_k = 0 for equalities and active inequalities k. Where a constraint is
    active and its multiplier l_k is zero, the minimum has no derivative.

    The result is SciPy's OptimizeResult with the tree as `x`, the vector as `vector` and `names` of its numbers; with
    `covariance` also `covariance`, a matrix in the order of `names`, and `standard_errors`, a tree as x.

    Shapes:  x0 a tree of n numbers, fun(x, *args) a number -> `x` such a tree, `vector` (n,).
    Domain:  a differentiable fun; for derivatives a minimum where the Hessian is nonsingular.
    Raises:  SciPy's errors. If a derivative is taken, SingularPointError for a singular Hessian at the minimum
             and for an active constraint without a multiplier; RuntimeError if no minimum was found, UnsupportedError
             for bounds that are variables.
             ValueError for bounds that do not fit, and for `sparse` if the method takes no sparse Hessian; ImportError
             if tqdm is missing.
    Cost:    a value with its gradient for each evaluation; n products for a Hessian of n parameters; a derivative of
             the minimum takes one Hessian, or a product with it for each step of conjugate gradients.
    Ref:     scipy.optimize.minimize.

    >>> y = np.array([1.0, 2.0, 4.0])
    >>> def loss(p):
    ...     z = (y - p["mean"]) / np.exp(p["log_width"])
    ...     return 0.5 * np.sum(z * z) + 3.0 * p["log_width"]
    >>> fit = minimize(loss, {"mean": 0.0, "log_width": 0.0}, covariance=True)
    >>> round(fit.x["mean"], 4), round(fit.standard_errors["mean"], 3)
    (2.3333, 0.72)
    >>> import contad
    >>> def ridge(penalty):
    ...     return minimize(lambda x: np.sum((x - y) ** 2) + penalty * np.sum(x**2), np.zeros(3)).x
    >>> contad.jacobian(ridge)(1.0).round(6)
    array([-0.25, -0.5 , -1.  ])
    """
    name = (method or "").lower()
    require_plain_bounds("minimize", bounds)
    x0, bounds, tol = take_primals(x0), _plain_bounds(bounds), take_primals(tol)
    if sparse and name != "trust-constr":
        fail("minimize", "method", 'be "trust-constr" for a sparse Hessian', repr(method))
    model = flat(fun, x0)
    unravel = model.unravel
    found = _PlainResults()
    supplied: dict[str, Any] = {"jac": True}
    objective: Function = found.of(model.value_and_grad)
    if name in _WITHOUT_GRADIENT:
        supplied, objective = {}, found.of(model)
    elif sparse and name == "trust-constr":
        supplied["hess"] = model.sparse_hess
    elif name in _WITH_HESSIAN:
        supplied["hess"] = found.of(model.hess)
    elif name in _WITH_PRODUCTS:
        supplied["hessp"] = found.of(model.hessp)
    if callback is not None:
        supplied["callback"] = _on_trees(callback, unravel)
    bounds = _bounds(bounds, x0, unravel)
    with _Progress(objective, progress, name not in _WITHOUT_GRADIENT) as watched:
        result = scipy.optimize.minimize(
            watched, model.x0, take_primals(tuple(args)), method, bounds=bounds, tol=tol, options=options,
            constraints=_constraints(constraints, x0, name, found), **supplied,
        )  # fmt: skip
    result.vector, result.x, result.names = result.x, unravel(result.x), unravel.names
    if covariance:
        result.covariance = _covariance(model, result.vector, take_primals(tuple(args)), bounds)
        result.standard_errors = unravel(np.sqrt(np.diag(result.covariance)))
    if found.variables or holds_number(tuple(args)):
        if constraints is None or (isinstance(constraints, (list, tuple)) and not len(constraints)):
            result.vector = _differentiate(model, result, tuple(args), bounds)
        else:
            z = np.asarray(result.vector, float)
            conditions = conditions_of(constraints, None if bounds is None else _ends(z, bounds), x0)
            result.vector = differentiate_minimum(
                "minimize", model, z, tuple(args), conditions, result.success, str(result.message)
            )
        result.x, result.fun = unravel(result.vector), model(result.vector, *args)
    return result


class _PlainResults:
    """Functions with plain results for SciPy, and whether a result was a variable."""

    def __init__(self) -> None:
        self.variables = False

    def of(self, f: Function) -> Function:
        def of_floats(*args: Nested) -> Any:
            result = f(*args)
            if not self.variables and not numbers_in(flatten(result).leaves):
                return result
            self.variables = True
            return take_primals(result)

        return of_floats


def _differentiate(
    model: FlatFunction, result: scipy.optimize.OptimizeResult, args: tuple[Nested, ...], bounds: Any
) -> ArrayValue:
    """The minimum with its derivatives: the gradient in coordinates that are not at a bound is zero."""
    z = np.asarray(result.vector, float)
    held = np.full(z.shape, False)
    if bounds is not None:
        plain = take_primals(args)
        slopes = take_primals(model.grad(z, *plain))
        low, high = _ends(z, bounds)
        held = ((z <= low) & (slopes >= 0.0)) | ((z >= high) & (slopes <= 0.0))
        near = _find_held(z, slopes, _diagonal(model, z, plain), bounds)
        held |= near[0] | near[1]
    if not held.any():
        return differentiate_root("minimize", model.grad, z, args, result.success, str(result.message), True)
    if held.all():
        return z
    free = np.flatnonzero(~held)
    back = np.argsort(np.concatenate([free, np.flatnonzero(held)]))

    def fill(x: ArrayValue) -> ArrayValue:
        return np.concatenate([x, z[held]])[back]

    def gradient(x: ArrayValue, *p: Nested) -> ArrayValue:
        return model.grad(fill(x), *p)[free]

    found = differentiate_root("minimize", gradient, z[free], args, result.success, str(result.message), True)
    return fill(found)


def _diagonal(model: FlatFunction, z: np.ndarray, args: tuple[Nested, ...]) -> np.ndarray:
    """The diagonal of the Hessian; ones if there are many parameters, which detects coordinates stopped by a bound less
    well."""
    if z.size > 100:
        return np.ones(z.size)
    return np.diag(take_primals(model.hess(z, *args)))


def _plain_bounds(bounds: Any) -> Any:
    if isinstance(bounds, scipy.optimize.Bounds) or bounds is None:
        return bounds
    return take_primals(bounds)


def _on_trees(callback: Function, unravel: Unravel) -> Function:
    """A user's callback in SciPy's form; SciPy distinguishes two forms by the parameter's name."""
    if "intermediate_result" in inspect.signature(callback).parameters:

        def of_result(intermediate_result: Any) -> Any:
            tree = scipy.optimize.OptimizeResult(intermediate_result, x=unravel(intermediate_result.x))
            return callback(intermediate_result=tree)

        return of_result

    def of_point(x: ArrayValue, *state: Any) -> Any:
        return callback(unravel(x), *state)

    return of_point


# ---- bounds and constraints ------------------------------------------------------------------------------------------
def _bounds(bounds: Any, x0: Nested, unravel: Unravel) -> Any:
    """The bounds in SciPy's form."""
    if bounds is None or isinstance(bounds, scipy.optimize.Bounds) or isinstance(x0, (np.ndarray, float, int)):
        return bounds
    low, high = np.full(unravel.size, -np.inf), np.full(unravel.size, np.inf)
    places = unravel(np.arange(unravel.size, dtype=float))
    for where, pair in _pairs(bounds, places, "bounds"):
        for side, end in zip((low, high), pair, strict=True):
            if end is not None:
                try:
                    side[np.asarray(where, int)] = end
                except ValueError:
                    fail("minimize", "bounds", f"have ends of shape {np.shape(where)}", f"shape {np.shape(end)}")
    return scipy.optimize.Bounds(low, high)


def _pairs(bounds: Any, places: Nested, name: str) -> Iterable[tuple[Any, Sequence[Any]]]:
    """(positions in the vector, (low, high)) for each leaf with a bound."""
    if bounds is None:
        return
    if isinstance(places, dict):
        if not isinstance(bounds, dict):
            fail("minimize", name, "be a dict, as x0 is there", repr(bounds))
        for key, inner in bounds.items():
            if key not in places:
                fail("minimize", name, f"have names of x0, {', '.join(map(repr, places))}", repr(key))
            yield from _pairs(inner, places[key], f"{name}[{key!r}]")
    elif isinstance(places, (list, tuple)):
        if len(bounds) != len(places):
            fail("minimize", name, f"have {len(places)} entries, as x0 there", repr(bounds))
        for k, (inner, place) in enumerate(zip(bounds, places, strict=True)):
            yield from _pairs(inner, place, f"{name}[{k}]")
    elif not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        fail("minimize", name, "be a pair (low, high) for the leaf of x0 there", repr(bounds))
    else:
        yield places, bounds


def _constraints(constraints: Any, x0: Nested, method: str, found: _PlainResults) -> Any:
    """The constraints with functions of the vector, and with their derivatives."""
    if isinstance(constraints, (list, tuple)):
        return [_constraint(c, x0, method, found) for c in constraints]
    return _constraint(constraints, x0, method, found)


def _constraint(constraint: Any, x0: Nested, method: str, found: _PlainResults) -> Any:
    if isinstance(constraint, dict):
        model = flat(constraint["fun"], x0)
        if holds_number(constraint.get("args", ())):
            found.variables = True
            constraint = {**constraint, "args": take_primals(constraint["args"])}
        return {**constraint, "fun": found.of(model), "jac": found.of(model.jac)}
    if not isinstance(constraint, scipy.optimize.NonlinearConstraint):
        return constraint
    model = flat(constraint.fun, x0)
    given = {"jac": found.of(model.jac), "keep_feasible": constraint.keep_feasible}
    if method == "trust-constr":  # other methods do not use it, and warn
        given["hess"] = lambda x, v: take_primals(flat(lambda tree: np.sum(v * constraint.fun(tree)), x0).hess(x))
    return scipy.optimize.NonlinearConstraint(found.of(model), constraint.lb, constraint.ub, **given)


# ---- the result ------------------------------------------------------------------------------------------------------
_AT_BOUND = 1e-3  # of the step to the minimum along a coordinate: a bound nearer than this fraction stops it
_ON_BOUND = 1e-6  # of the bound, or of 1: the same if there is no such step


def _covariance(model: FlatFunction, x: ArrayValue, args: tuple[Nested, ...], bounds: Any) -> Any:
    """The inverse of the Hessian of free coordinates; nan for the others, and if it is not positive definite."""
    hess = take_primals(model.hess(x, *args))
    covariance = np.full(hess.shape, np.nan)
    if bounds is None:
        free = np.full(len(x), True)
    else:
        kept, equal = _find_held(x, take_primals(model.grad(x, *args)), np.diag(hess), bounds)
        free = ~(kept | equal)
        if kept.any():
            names = [name for name, at in zip(model.names, kept, strict=True) if at]
            warnings.warn(
                f"minimize: at their bound: {', '.join(names)}; they have no standard error (nan), and the covariance "
                "of the others is conditional on them",
                UserWarning, stacklevel=3,
            )  # fmt: skip
        if not free.any():
            return covariance
    hess = hess[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(np.nan_to_num(hess))
    if np.isfinite(hess).all() and values[0] > len(hess) * np.finfo(float).eps * values[-1]:
        covariance[np.ix_(free, free)] = vectors / values @ vectors.T
        return covariance
    least, names = vectors[:, 0], [name for name, is_free in zip(model.names, free, strict=True) if is_free]
    direction = " ".join(f"{least[k]:+.2g} {names[k]}" for k in np.argsort(-np.abs(least))[:3])
    warnings.warn(
        "minimize: no covariance: the Hessian at the result is not positive definite (its least eigenvalue is "
        f"{values[0]:.2g}, along {direction}): no minimum, or a direction that the data leave open",
        RuntimeWarning, stacklevel=3,
    )  # fmt: skip
    return covariance


def _find_held(x: ArrayValue, slopes: Any, curvatures: Any, bounds: Any) -> tuple[Any, Any]:
    """Which coordinates are at a bound beyond which the function decreases, and which have two equal bounds.

    Interior methods stop before the bound: a coordinate counts as at the bound if it is much nearer to it than to the
    minimum along the coordinate.
    """
    low, high = _ends(x, bounds)
    kept = np.full(x.shape, False)
    with np.errstate(divide="ignore", invalid="ignore"):
        for end, slope in ((low, slopes), (high, -slopes)):
            near = np.where(curvatures > 0.0, _AT_BOUND * slope / curvatures, _ON_BOUND * np.maximum(1.0, np.abs(end)))
            kept |= (slope > 0.0) & np.isfinite(end) & (np.abs(x - end) <= near)
    equal = low == high
    return kept & ~equal, equal


def _ends(x: ArrayValue, bounds: Any) -> tuple[Any, Any]:
    """The lower and upper bounds, nan if there is none."""
    if isinstance(bounds, scipy.optimize.Bounds):
        low, high = (np.broadcast_to(np.asarray(end, float), x.shape) for end in (bounds.lb, bounds.ub))
    else:
        low, high = np.array([[np.nan if end is None else end for end in pair] for pair in bounds], float).T
    return low, high


class _Progress:
    """A function that SciPy evaluates, with an optional progress bar that shows its values."""

    def __init__(self, f: Function, shown: bool, with_gradient: bool) -> None:
        self.f = f
        self.with_gradient = with_gradient
        self.bar: Any = None
        if shown:
            try:
                from tqdm import tqdm
            except ImportError:
                raise ImportError("minimize: progress=True needs tqdm; pip install contad[progress]") from None
            self.bar = tqdm(unit=" evaluations", desc="minimize")

    def __enter__(self) -> Function:
        return self.f if self.bar is None else self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, x: ArrayValue, *args: Nested) -> Any:
        result = self.f(x, *args)
        value, gradient = result if self.with_gradient else (result, None)
        self.bar.update()
        told = {} if gradient is None else {"gradient": f"{np.max(np.abs(gradient), initial=0.0):.2g}"}
        self.bar.set_postfix(value=f"{value:.6g}", **told)
        return result


# ---- one unknown -----------------------------------------------------------------------------------------------------
def minimize_scalar(
    fun: Function, bracket: Any = None, bounds: Any = None, args: Any = (), method: str | None = None,
    tol: float | None = None, options: Options | None = None,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """scipy.optimize.minimize_scalar of fun(x, *args), with `x` and `fun` differentiable in args and captured values.

        f'(z, p) = 0,     z_dot = -f'_p p_dot / f''

    A minimum at a bound is held there; `bracket` and `bounds` carry no derivative.

    Shapes:  fun(x, *args) a number -> `x` a number.
    Domain:  a twice differentiable fun; a minimum where f'' is not 0.
    Raises:  SciPy's errors. If a derivative is taken, SingularPointError where f'' = 0, RuntimeError if no minimum was
             found.
    Cost:    SciPy's, and one evaluation of fun on variables for each order of derivatives.
    Ref:     scipy.optimize.minimize_scalar.

    >>> import contad
    >>> def f(p):
    ...     return minimize_scalar(lambda x: (x - p) ** 2 + 0.1 * x**4).x
    >>> z, slope = contad.value_and_grad(f)(1.2)
    >>> round(z, 6), round(slope, 6)
    (1.0, 0.625)
    """
    args = args if isinstance(args, tuple) else (args,)
    bracket, bounds, tol = map(take_primals, (bracket, bounds, tol))
    found = _PlainResults()
    result = scipy.optimize.minimize_scalar(
        found.of(fun), bracket, bounds, take_primals(args), method, tol=tol, options=options
    )
    if not found.variables and not holds_number(args):
        return result
    z, plain = float(result.x), take_primals(args)
    if bounds is not None:
        slope = float(take_primals(derivative(fun)(z, *plain)))
        for end, sign in zip(map(float, bounds), (1.0, -1.0), strict=True):
            step = abs(slope / (float(take_primals(derivative(derivative(fun))(z, *plain))) or 1e-300))
            if sign * slope > 0.0 and abs(z - end) <= _AT_BOUND * step:
                result.fun = fun(z, *args)
                return result
    message = str(getattr(result, "message", ""))
    result.x = differentiate_root("minimize_scalar", derivative(fun), z, args, result.success, message, True)
    result.fun = fun(result.x, *args)
    return result
