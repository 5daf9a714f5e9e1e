"""Riccati's equation in continuous time, and Lyapunov's, which its derivative requires.

Both are solved by the matrix sign function, x -> (x + x^-1) / 2, with operations that Numba compiles.
"""

# bodies are untyped by design: one runs on every kind of number
# mypy: allow-untyped-defs

import numpy as np

from contad.ops.linear_systems import solve
from contad.ops.products import matmul
from contad.rules.array_rule import array_rule
from contad.scipy.mirroring import as_one, inside_njit, matrices, mirror, over_stacks
from contad.variables.complex_pair import holds_complex, join, split_evenly
from contad.variables.dtypes import float64_only
from contad.variables.open_types import ArrayValue

_A, _G = [[0.6, -1.2, 0.3], [0.4, 0.7, -0.5], [-0.8, 0.2, -1.1]], [[1.4, 0.3, 0.1], [0.4, 0.8, -0.2], [0.0, -0.3, 1.3]]
_Q = [[2.3, 0.5, -0.6], [0.3, 1.7, 0.2], [-0.4, 0.1, 1.1]]
_DOUBLE = float64_only("its iteration ends where the digits of double precision do")


@array_rule(dtypes=_DOUBLE, points=[([[-1.2, 0.7], [-0.3, -0.4]], [[0.9, -1.3], [0.4, 1.7]]), ([[-0.6]], [[1.3]])])
def stable_lyapunov(a, q):
    """The solution of a z + z a^T = q for a stable matrix a, whose eigenvalues have negative real parts.

        z_dot:  a z_dot + z_dot a^T = q_dot - a_dot z - z a_dot^T
        q_bar:  a^T q_bar + q_bar a = z_bar,     a_bar = -q_bar z^T - q_bar^T z

    Shapes:  a, q (n, n) -> z (n, n).
    Domain:  every stable a, every q.
    Raises:  LinAlgError if a is not stable.
    Cost:    O(n^3): about ten inverses, forward and again in reverse; saves nothing.
    Ref:     Roberts (1980), section 3, for the sign; Giles (2008), section 2.3.1, for the derivative.

    >>> stable_lyapunov(np.array([[-2.0]]), np.array([[8.0]]))
    array([[-2.]])
    """
    x, p = a.copy(), -q
    if not np.any(p):
        return p
    for _ in range(100):
        y = np.linalg.inv(x)
        c = np.sqrt(np.sqrt(np.sum(y * y) / np.sum(x * x)))
        after = 0.5 * (c * x + y / c)
        p = 0.5 * (c * p + y @ p @ y.T / c)
        change = np.max(np.abs(after - x))
        x = after
        if change <= 1e-9:  # each step doubles the digits, and the sign of a stable matrix is -1
            break
    if not np.max(np.abs(x + np.eye(len(x)))) <= 1e-6:
        raise np.linalg.LinAlgError("an equation of Lyapunov or Riccati has no stable solution")
    return 0.5 * p


@stable_lyapunov.common
def stable_lyapunov_common(z, z_bar, a, q):
    return stable_lyapunov(a.T, z_bar)


@stable_lyapunov.vjp("a")
def stable_lyapunov_vjp_a(z, z_bar, a, q, common):
    return -(common @ z.T + common.T @ z)


@stable_lyapunov.vjp("q")
def stable_lyapunov_vjp_q(z, z_bar, a, q, common):
    return common


@stable_lyapunov.jvp
def stable_lyapunov_jvp(z, a_dot, q_dot, a, q):
    return stable_lyapunov(a, q_dot - a_dot @ z - z @ a_dot.T)


@array_rule(dtypes=_DOUBLE, points=[(_A, _G, _Q), ([[0.6]], [[1.3]], [[0.7]])])
def continuous_riccati(a, g, q):
    """The stabilising solution of a^T z + z a - z g z + q = 0; only the symmetric parts of g and q matter.

        c = a - g z
        z_dot:  c^T z_dot + z_dot c = -(e + e^T),     e = z a_dot + (q_dot - z g_dot z) / 2
        z_bar:  c s + s c^T = z_bar,     a_bar = -2 z s,     g_bar = z s z,     q_bar = -s

    Only the symmetric part of z_bar matters.

    Shapes:  a, g, q (n, n) -> z (n, n).
    Domain:  no eigenvalue of [[a, -g], [-q, -a^T]] on the imaginary axis, and a stabilising z exists.
    Raises:  LinAlgError if there is no such solution.
    Cost:    O(n^3): about ten inverses of 2 n rows and two Lyapunov equations; one more in reverse; saves nothing.
    Ref:     Roberts (1980), section 4; Kleinman (1968) for the steps behind it.

    >>> continuous_riccati(np.array([[0.0]]), np.array([[1.0]]), np.array([[4.0]]))
    array([[2.]])
    """
    n, g, q = len(a), 0.5 * (g + g.T), 0.5 * (q + q.T)
    h = np.empty((2 * n, 2 * n))
    h[:n, :n], h[:n, n:], h[n:, :n], h[n:, n:] = a, -g, -q, -a.T
    for _ in range(100):
        y = np.linalg.inv(h)
        c = np.sqrt(np.sqrt(np.sum(y * y) / np.sum(h * h)))
        after = 0.5 * (c * h + y / c)
        change = np.max(np.abs(after - h))
        h = after
        if change <= 1e-9 * np.max(np.abs(h)):
            break
    one = np.eye(n)
    z = np.linalg.lstsq(np.concatenate((h[:n, n:], h[n:, n:] + one)), -np.concatenate((h[:n, :n] + one, h[n:, :n])))[0]
    for _ in range(2):  # Newton steps; the first detects a z that does not stabilise
        z = 0.5 * (z + z.T)
        c = a - g @ z
        z = z - stable_lyapunov(c.T, a.T @ z + z @ c + q)
    return 0.5 * (z + z.T)


@continuous_riccati.common
def continuous_riccati_common(z, z_bar, a, g, q):
    return stable_lyapunov(a - 0.5 * (g + g.T) @ z, 0.5 * (z_bar + z_bar.T))


@continuous_riccati.vjp("a")
def continuous_riccati_vjp_a(z, z_bar, a, g, q, common):
    return -2.0 * z @ common


@continuous_riccati.vjp("g")
def continuous_riccati_vjp_g(z, z_bar, a, g, q, common):
    return z @ common @ z


@continuous_riccati.vjp("q")
def continuous_riccati_vjp_q(z, z_bar, a, g, q, common):
    return -common


@continuous_riccati.jvp
def continuous_riccati_jvp(z, a_dot, g_dot, q_dot, a, g, q):
    e = z @ a_dot + 0.5 * (q_dot - z @ g_dot @ z)
    return stable_lyapunov(a.T - 0.5 * z @ (g + g.T), -(e + e.T))


def is_symmetric(x):
    """Whether a matrix is symmetric up to rounding."""
    return np.max(np.abs(x - x.T)) <= 1e-13 * np.max(np.abs(x))


def as_real_blocks(x):
    """The real matrix that stands for a complex one: products and inverses are those of the complex matrices."""
    x, y = split_evenly(np.atleast_2d(as_one(x)))
    return np.concatenate([np.concatenate([x, -y], axis=1), np.concatenate([y, x], axis=1)])


@inside_njit(
    {"nn nk nn kk": "continuous_riccati(a, b @ np.linalg.solve(r, b.T), q)"},
    inside=[("is_symmetric(q)", "q must be symmetric"), ("is_symmetric(r)", "r must be symmetric")],
    continuous_riccati=continuous_riccati, is_symmetric=is_symmetric,
)  # fmt: skip
@mirror
@over_stacks(a=2, b=2, q=2, r=2, e=2, s=2)
def solve_continuous_are(
    a: ArrayValue, b: ArrayValue, q: ArrayValue, r: ArrayValue, e: ArrayValue | None = None,
    s: ArrayValue | None = None, balanced: bool = True,
) -> ArrayValue:  # fmt: skip
    """The stabilising solution of Riccati's equation in continuous time.

        a^T z + z a - z b r^-1 b^T z + q = 0,     k = r^-1 b^T z,     c = a - b k,
        c t + t c^T = z_bar,     a_bar = -2 z t,     b_bar = 2 z t k^T,     q_bar = -t,     r_bar = -k t k^T

    For complex matrices ^T conjugates, and the real matrices [[Re x, -Im x], [Im x, Re x]] stand for them.
    With e and s the equation is e^T z a + a^T z e - (e^T z b + s) r^-1 (b^T z e + s^T) + q = 0.

    Shapes:  a, q, e (..., n, n), b, s (..., n, k), r (..., k, k) -> (..., n, n); inside njit, stacks, e and s are not
             supported.
    Domain:  (a, b) stabilisable, q and r symmetric, r and e nonsingular.
    Raises:  LinAlgError if there is no such solution, ValueError for wrong shapes, for q or r that are not symmetric,
             and for values that are not finite.
    Cost:    O(n^3), about twenty inverses of 2 n rows; the sweep solves a Lyapunov equation.
    Ref:     Roberts (1980), section 4; Kao & Hennequin (2020), section 3, for the derivative.

    >>> solve_continuous_are(np.array([[0.0]]), np.array([[1.0]]), np.array([[4.0]]), np.array([[1.0]]))
    array([[2.]])
    """
    if any(map(holds_complex, (a, b, q, r, e, s))):
        a, b, q, r, e, s = (None if x is None else as_real_blocks(x) for x in (a, b, q, r, e, s))
        z, n = solve_continuous_are(a, b, q, r, e, s), np.shape(a)[0] // 2
        return join(z[:n, :n], z[n:, :n])
    a, b, q, r = (np.atleast_2d(x) for x in matrices("solve_continuous_are", True, a, b, q, r))
    for name, x in (("q", q), ("r", r)):
        if np.shape(x) != np.shape(x)[::-1] or not is_symmetric(x):
            raise ValueError(f"contad.scipy.linalg.solve_continuous_are: {name} must be symmetric")
    if e is not None:
        (e,) = matrices("solve_continuous_are", True, e)
        a, half = solve(e.T, a.T).T, solve(e.T, q)
        q = solve(e.T, half.T)
    if s is not None:
        (s,) = matrices("solve_continuous_are", True, s)
        s = s if e is None else solve(e.T, s)
        gain = solve(r, s.T)
        a, q = a - matmul(b, gain), q - matmul(s, gain)
    return continuous_riccati(a, matmul(b, solve(r, b.T)), q)
