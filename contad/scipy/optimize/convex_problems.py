"""Linear and quadratic programmes, and linear least squares with bounds, differentiable in all their data.

A solver of SciPy finds which inequalities hold with equality. The solution is then that of a linear system, whose
derivatives are those of the programme. A degenerate solution, where this choice could change, is refused.
"""

from typing import Any

import numpy as np
import scipy.optimize

from contad.errors import SingularPointError, UnsupportedError
from contad.scipy.mirroring import as_one
from contad.scipy.optimize.constrained_minima import find_active
from contad.scipy.optimize.implicit import require_plain_bounds, take_primals
from contad.variables.array import numbers_in
from contad.variables.open_types import ArrayValue, Option

_DEGENERATE = 1e-9  # of the largest: smaller multipliers and distances count as zero


def _plain(x: Any) -> Any:
    return None if x is None else np.asarray(take_primals(as_one(x)), float)


def _bounds(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper bounds in SciPy's forms."""
    if isinstance(bounds, scipy.optimize.Bounds):
        low, high = bounds.lb, bounds.ub
    else:
        pairs = [bounds] * n if np.ndim(bounds[0]) == 0 else bounds
        low = [-np.inf if one[0] is None else one[0] for one in pairs]
        high = [np.inf if one[1] is None else one[1] for one in pairs]
    return np.broadcast_to(np.asarray(low, float), (n,)), np.broadcast_to(np.asarray(high, float), (n,))


def linprog(
    c: ArrayValue, A_ub: ArrayValue | None = None, b_ub: ArrayValue | None = None, A_eq: ArrayValue | None = None,
    b_eq: ArrayValue | None = None, bounds: Any = (0, None), method: str = "highs", **options: Option,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """scipy.optimize.linprog: the least c.x with A_ub x <= b_ub, A_eq x = b_eq and bounds, differentiable in all data.

        a z = b, a and b the rows that are active at the vertex z,     z_dot = a^-1 (b_dot - a_dot z),
        (c.z)_dot = c_dot.z + c.z_dot

    `x`, `fun` and `slack` carry derivatives. Bounds are plain numbers.

    Shapes:  c (n,), A_ub (k, n), b_ub (k,), A_eq (l, n), b_eq (l,) -> `x` (n,).
    Domain:  a solution that is unique, and a vertex of exactly n active rows.
    Raises:  if a derivative is taken, SingularPointError for any other solution, RuntimeError if there is none,
             UnsupportedError for bounds that carry a derivative.
    Cost:    SciPy's; a derivative takes a system of n rows.
    Ref:     scipy.optimize.linprog; Bertsimas & Tsitsiklis (1997), section 5.1.

    >>> import contad
    >>> def profit(b):
    ...     return -linprog([-3.0, -5.0], [[1.0, 0.0], [0.0, 2.0], [3.0, 2.0]], b).fun
    >>> contad.value_and_grad(profit)(np.array([4.0, 12.0, 18.0]))
    (36.0, array([0. , 1.5, 1. ]))
    """
    given = (c, A_ub, b_ub, A_eq, b_eq)
    require_plain_bounds("linprog", bounds)
    result = scipy.optimize.linprog(*map(_plain, given), bounds=bounds, method=method, **options)
    if not any(numbers_in(x) for x in given if x is not None):
        return result
    if not result.success:
        raise RuntimeError(f"linprog: no solution was found, so there is no derivative: {result.message}")
    n, z = np.size(result.x), result.x
    if not hasattr(result, "ineqlin"):
        raise UnsupportedError(f"linprog: on variables method must be one of HiGHS's, got {method!r}")
    low, high = _bounds(bounds, n)
    force = np.concatenate([result.ineqlin.marginals, result.lower.marginals, result.upper.marginals])
    slack = np.concatenate([result.slack, z - low, high - z])
    is_active = slack <= _DEGENERATE * (1.0 + np.max(np.abs(z)))
    count = int(is_active.sum()) + np.size(result.con)
    size = np.max(np.abs(result.x)) + np.max(np.abs(force), initial=0.0)
    if count != n or np.any(np.abs(force[is_active]) <= _DEGENERATE * size):
        raise SingularPointError(
            f"linprog: the solution is degenerate or not unique, so it has no derivative: {count} of the constraints "
            f"hold with equality at a solution of {n} numbers, and their multipliers are {force[is_active]}"
        )
    k = np.size(result.slack)
    rows, sides = [], []
    if k and is_active[:k].any():
        rows.append(as_one(A_ub)[np.flatnonzero(is_active[:k])])
        sides.append(as_one(b_ub)[np.flatnonzero(is_active[:k])])
    if np.size(result.con):
        rows.append(as_one(A_eq))
        sides.append(as_one(b_eq))
    for held, end in ((is_active[k : k + n], low), (is_active[k + n :], high)):
        if held.any():
            rows.append(np.eye(n)[held])
            sides.append(end[held])
    result.x = np.linalg.solve(np.concatenate(rows), np.concatenate(sides))
    result.fun = np.sum(as_one(c) * result.x)
    if k:
        result.slack = as_one(b_ub) - np.matmul(as_one(A_ub), result.x)
    return result


def solve_qp(
    P: ArrayValue, q: ArrayValue, G: ArrayValue | None = None, h: ArrayValue | None = None,
    A: ArrayValue | None = None, b: ArrayValue | None = None, lb: ArrayValue | None = None,
    ub: ArrayValue | None = None,
) -> ArrayValue:  # fmt: skip
    """The solution of a strictly convex quadratic programme, differentiable in all data.

        z minimises z^T P z / 2 + q^T z,     G z <= h,     A z = b,     lb <= z <= ub;
        P z + g^T l = -q,     g z = s,     g and s the rows of equalities and active inequalities, l their multipliers

    Arguments have the names of the package qpsolvers. SciPy's SLSQP finds the active inequalities.

    Shapes:  P (n, n), q (n,), G (k, n), h (k,), A (l, n), b (l,), lb, ub (n,) -> (n,).
    Domain:  P symmetric, positive definite on the directions that the equalities leave; constraints that can be
             satisfied, with independent active rows.
    Raises:  RuntimeError if there is no solution; SingularPointError if an inequality is active without a multiplier;
             LinAlgError if active rows depend on each other.
    Cost:    SLSQP's, and a system of n and the number of active rows, which the sweep solves again.
    Ref:     Amos & Kolter (2017), OptNet; Nocedal & Wright (2006), section 16.1.

    >>> import contad
    >>> def weights(mean):
    ...     return solve_qp(np.diag([1.0, 2.0, 4.0]), -mean, lb=np.zeros(3), A=np.ones((1, 3)), b=np.ones(1))
    >>> weights(np.array([0.5, 0.6, -1.0])).round(6) + 0.0
    array([0.633333, 0.366667, 0.      ])
    >>> contad.jacobian(weights)(np.array([0.5, 0.6, -1.0])).round(6) + 0.0
    array([[ 0.333333, -0.333333,  0.      ],
           [-0.333333,  0.333333,  0.      ],
           [ 0.      ,  0.      ,  0.      ]])
    """
    P, q = as_one(P), as_one(q)
    n = np.size(q)
    rows, sides = [], []
    for matrix, side, sign in ((G, h, 1.0), (None if lb is None else np.eye(n), lb, -1.0),
                               (None if ub is None else np.eye(n), ub, 1.0)):  # fmt: skip
        if matrix is not None:
            rows.append(sign * as_one(matrix))
            sides.append(sign * np.reshape(np.broadcast_to(as_one(side), (np.shape(matrix)[0],)), (-1,)))
    m = 0 if A is None else np.shape(A)[0]
    if A is not None:
        rows, sides = [as_one(A), *rows], [as_one(b), *sides]
    a = np.concatenate(rows) if rows else np.zeros((0, n))
    s = np.concatenate(sides) if sides else np.zeros(0)
    h_plain, g_plain, a_plain, s_plain = map(_plain, (P, q, a, s))
    finite = np.isfinite(s_plain)
    chosen = np.flatnonzero(finite)
    multipliers = _find_active_rows(h_plain, g_plain, a_plain[finite], s_plain[finite], m)
    active = chosen[multipliers]
    if not len(active):
        return np.linalg.solve(P, -q)
    a, s = a[active], s[active]
    held = np.zeros((len(active), len(active)))
    matrix = np.concatenate([np.concatenate([P, np.transpose(a)], axis=1), np.concatenate([a, held], axis=1)])
    return np.linalg.solve(matrix, np.concatenate([-q, s]))[:n]


def _find_active_rows(p: np.ndarray, q: np.ndarray, a: np.ndarray, s: np.ndarray, m: int) -> np.ndarray:
    """The places of the rows a z <= s that are active at the minimum; the first m are equalities."""
    n = len(q)
    if not len(s):
        return np.zeros(0, int)
    constraints = []
    for kind, part in (("eq", slice(0, m)), ("ineq", slice(m, None))):
        if len(s[part]):
            constraints.append({
                "type": kind, "fun": lambda z, part=part: s[part] - a[part] @ z, "jac": lambda z, part=part: -a[part],
            })  # fmt: skip
    half = 0.5 * (p + p.T)
    found = scipy.optimize.minimize(
        lambda z: (0.5 * z @ half @ z + q @ z, half @ z + q), np.zeros(n), jac=True, method="SLSQP",
        constraints=constraints, options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    if not found.success and found.status != 8:  # 8: no better step, after the last digit
        raise RuntimeError(f"solve_qp: no solution was found: {found.message}")
    z = found.x
    rest = s - a @ z
    beyond = np.max(np.concatenate([np.abs(rest[:m]), -rest[m:]]))
    if not beyond <= 1e-6 * (1.0 + np.max(np.abs(s)) + np.max(np.abs(z))):
        raise RuntimeError(f"solve_qp: no solution was found: a constraint is missed by {beyond:.2g}")
    equal = np.arange(len(s)) < m
    active, _ = find_active("solve_qp", z, half @ z + q, s - a @ z, -a, equal)
    return np.flatnonzero(active)


def lsq_linear(
    A: ArrayValue, b: ArrayValue, bounds: Any = (-np.inf, np.inf), **options: Option
) -> scipy.optimize.OptimizeResult:
    """scipy.optimize.lsq_linear: the least |A x - b| with bounds, with `x`, `fun` and `cost` differentiable in A and b.

        A_f^T A_f z_f = A_f^T (b - A_h z_h),     f the free elements, and h those held at a bound

    Shapes:  A (m, n), b (m,) -> `x` (n,).
    Domain:  A whose columns are independent, no free element at a bound.
    Raises:  if a derivative is taken, SingularPointError for an element at a bound that does not hold it back;
             RuntimeError if there is no solution, UnsupportedError for bounds that carry a derivative.
    Cost:    SciPy's, and a factorisation of A for the derivative.
    Ref:     scipy.optimize.lsq_linear.

    >>> import contad
    >>> def f(b):
    ...     return lsq_linear(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), b, (0.0, 1.0)).x
    >>> f(np.array([0.0, 2.0, 3.0])).round(6)
    array([0.666667, 1.      ])
    >>> contad.jacobian(f)(np.array([0.0, 2.0, 3.0])).round(6)
    array([[0.333333, 0.333333, 0.333333],
           [0.      , 0.      , 0.      ]])
    """
    require_plain_bounds("lsq_linear", bounds)
    result = scipy.optimize.lsq_linear(_plain(A), _plain(b), bounds, **options)
    if not numbers_in(A) and not numbers_in(b):
        return result
    if not result.success:
        raise RuntimeError(f"lsq_linear: no solution was found, so there is no derivative: {result.message}")
    n = np.size(result.x)
    low, high = _bounds(bounds, n) if isinstance(bounds, scipy.optimize.Bounds) else (
        np.broadcast_to(np.asarray(end, float), (n,)) for end in bounds
    )
    result.x = _solve_free("lsq_linear", as_one(A), as_one(b), result.x, low, high)
    result.fun = np.matmul(as_one(A), result.x) - as_one(b)
    result.cost = 0.5 * np.sum(result.fun**2)
    return result


def nnls(A: ArrayValue, b: ArrayValue, **options: Option) -> tuple[ArrayValue, ArrayValue]:
    """scipy.optimize.nnls: (z, |A z - b|) for the least |A z - b| with z >= 0, differentiable in A and b.

        A_f^T A_f z_f = A_f^T b,     f the elements that are not 0

    Shapes:  A (m, n), b (m,) -> (n,), ().
    Domain:  A whose columns are independent; no element is 0 unless the bound holds it back.
    Raises:  like `lsq_linear`.
    Cost:    SciPy's, and a factorisation of A for the derivative.
    Ref:     Lawson & Hanson (1974), chapter 23; scipy.optimize.nnls.

    >>> z, rest = nnls(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0]))
    >>> z.round(6), round(float(rest), 6)
    (array([1.5, 0. ]), 0.707107)
    """
    z, rest = scipy.optimize.nnls(_plain(A), _plain(b), **options)
    if not numbers_in(A) and not numbers_in(b):
        return z, rest
    A, b = as_one(A), as_one(b)
    z = _solve_free("nnls", A, b, z, np.zeros(len(z)), np.full(len(z), np.inf))
    return z, np.linalg.norm(np.matmul(A, z) - b)


def _solve_free(
    what: str, A: ArrayValue, b: ArrayValue, z: np.ndarray, low: np.ndarray, high: np.ndarray
) -> ArrayValue:
    """The least squares in the elements that are not at a bound, with the others held there."""
    n = len(z)
    a = _plain(A)
    slope = a.T @ (a @ z - _plain(b))
    sides = np.concatenate([np.isfinite(low), np.isfinite(high)])
    values = np.concatenate([z - low, high - z])[sides]
    slopes = np.concatenate([np.eye(n), -np.eye(n)])[sides]
    chosen, _ = find_active(what, z, slope, values, slopes, np.zeros(len(values), bool))
    held = np.full(2 * n, False)
    held[np.flatnonzero(sides)[chosen]] = True
    below, above = held[:n], held[n:]
    ends = np.where(below, low, np.where(above, high, 0.0))
    free = np.flatnonzero(~below & ~above)
    if not len(free):
        return ends
    q, r = np.linalg.qr(A[:, free])
    found = np.linalg.solve(r, np.matmul(np.transpose(q), b - np.matmul(A, ends)))
    return ends + np.matmul(np.eye(n)[:, free], found)
