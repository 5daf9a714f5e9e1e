"""Functions of `scipy.linalg` that are functions of matrices, and the equations of Sylvester and Lyapunov."""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import linear_systems, matrix_functions
from contad.ops.linear_systems import check_square, conj_transposed_of, transposed_of
from contad.scipy.mirroring import inside_njit, matrices, mirror, over_stacks
from contad.variables.array import numbers_in
from contad.variables.open_types import ArrayValue, Option, Real


# ---- functions of matrices -------------------------------------------------------------------------------------------
@mirror
def expm(A: ArrayValue) -> ArrayValue:
    """The exponential of a square matrix, or of each matrix in a stack.

        z = sum_k a^k / k!,     a_bar = L(a^T, z_bar),     L(a, e) = int_0^1 exp(s a) e exp((1 - s) a) ds

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every finite a.
    Raises:  ValueError or LinAlgError if a is not square, ValueError if it is not finite.
    Cost:    O(n^3), about three times that in the sweep.
    Ref:     Al-Mohy & Higham (2009), section 2.

    >>> expm(np.array([[0.0, 0.5], [-0.5, 0.0]])).round(6)
    array([[ 0.877583,  0.479426],
           [-0.479426,  0.877583]])
    """
    return matrix_functions.expm(*matrices("expm", True, A))


@inside_njit({"nn nn": "take_upper_half(expm(augment(A, E)))"}, expm=expm)
@mirror
def expm_frechet(
    A: ArrayValue, E: ArrayValue, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> ArrayValue | tuple[ArrayValue, ...]:
    """The exponential of a and its derivative along e.

        z = L(a, e) of `expm`, linear in e:     e_bar = L(a^T, z_bar)

    Shapes:  a, e (n, n) -> (n, n) and (n, n), or the second alone.
    Domain:  every finite a and e.
    Raises:  ValueError for different shapes and values that are not finite.
    Cost:    O(n^3), about three times `expm`, for each of value and sweep.
    Ref:     Al-Mohy & Higham (2009); Mathias (1996) for what a gets.

    >>> expm_frechet(np.diag([1.0, 2.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), compute_expm=False).round(6)  # [e^2 - e]
    array([[0.      , 4.670774],
           [0.      , 0.      ]])
    """
    a, e = matrices("expm_frechet", check_finite, A, E)
    along = matrix_functions.exponential_along(a, e)
    return (matrix_functions.expm(a), along) if compute_expm else along


def _refuse_estimate(name: str, disp: Option) -> None:
    """Refuse disp=False, with which SciPy also returns an error estimate, and values that are not flags."""
    if disp is not None and not (isinstance(disp, (bool, np.bool_)) and disp):
        raise UnsupportedError(
            f"contad.scipy.linalg.{name}: disp must be True or omitted on variables, because there is no error "
            f"estimate; got {disp!r}"
        )


@mirror
@over_stacks(A=2)
def logm(A: ArrayValue, disp: Option = None) -> ArrayValue:
    """The principal logarithm of a square matrix.

        exp(z) = a,     a_bar = L(a^T, z_bar),     L(a, e): the upper right block of logm([[a, e], [0, a]])

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  a without eigenvalues that are 0; if a real a has negative ones, the result is complex.
    Raises:  ValueError if a is not square or not finite.
    Cost:    O(n^3), about eight times that in the sweep.
    Ref:     Higham (2008), theorem 3.6.

    >>> logm(np.array([[2.0, 1.0], [0.0, 2.0]])).round(6)
    array([[0.693147, 0.5     ],
           [0.      , 0.693147]])
    """
    _refuse_estimate("logm", disp)
    (a,) = matrices("logm", True, A)
    return matrix_functions.possibly_complex(matrix_functions.logm, a)


@mirror
@over_stacks(A=2)
def sqrtm(A: ArrayValue, disp: Option = None, blocksize: Option = None) -> ArrayValue:
    """The principal square root of a square matrix.

        z z = a,     z^T a_bar + a_bar z^T = z_bar

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  a without eigenvalues that are 0; if a real a has negative ones, the result is complex.
    Raises:  ValueError if a is not square or not finite.
    Cost:    O(n^3), and so is the sweep.
    Ref:     Higham (2008), section 6.1.

    >>> sqrtm(np.array([[4.0, 5.0], [0.0, 9.0]]))
    array([[2., 1.],
           [0., 3.]])
    """
    _refuse_estimate("sqrtm", disp)
    (a,) = matrices("sqrtm", True, A)
    return matrix_functions.possibly_complex(matrix_functions.sqrtm, a)


@mirror
@over_stacks(a=2, b=2, q=2)
def solve_sylvester(a: ArrayValue, b: ArrayValue, q: ArrayValue) -> ArrayValue:
    """The solution of Sylvester's equation.

        a z + z b = q,
        a^T q_bar + q_bar b^T = z_bar,     a_bar = -q_bar z^T,     b_bar = -z^T q_bar

    Shapes:  a (..., m, m), b (..., n, n), q (..., m, n) -> like q.
    Domain:  a and -b have no eigenvalue in common.
    Raises:  LinAlgError if the equation is singular, ValueError for wrong shapes and values that are not finite.
    Cost:    O(m^3 + n^3) by Schur decompositions, and again in the sweep.
    Ref:     Giles (2008), section 2.3.1, for the linear map z -> a z + z b.

    >>> a, b = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[1.0]])
    >>> solve_sylvester(a, b, np.array([[4.0], [4.0]]))
    array([[1.],
           [1.]])
    """
    a, b, q = matrices("solve_sylvester", True, a, b, q)
    return matrix_functions.solve_sylvester(a, b, q)


@mirror
@over_stacks(a=2, q=2)
def solve_continuous_lyapunov(a: ArrayValue, q: ArrayValue) -> ArrayValue:
    """The solution of Lyapunov's equation in continuous time.

        a z + z a^T = q,  where ^T conjugates a complex a
        a^T q_bar + q_bar a = z_bar,     a_bar = -q_bar z^T - q_bar^T z

    Shapes:  a, q (..., n, n) -> (..., n, n).
    Domain:  a and -a have no eigenvalue in common.
    Raises:  LinAlgError if the equation is singular, ValueError for wrong shapes and values that are not finite.
    Cost:    O(n^3), like `solve_sylvester`, which also gives the derivative.
    Ref:     Giles (2008), section 2.3.1.

    >>> solve_continuous_lyapunov(np.array([[-1.0, 0.5], [0.0, -2.0]]), -np.eye(2)).round(6)
    array([[0.520833, 0.041667],
           [0.041667, 0.25    ]])
    """
    a, q = matrices("solve_continuous_lyapunov", True, a, q)
    return matrix_functions.solve_sylvester(a, conj_transposed_of(a), q)


@mirror
@over_stacks(a=2, q=2)
def solve_discrete_lyapunov(a: ArrayValue, q: ArrayValue, method: str | None = None) -> ArrayValue:
    """The solution of Lyapunov's equation in discrete time, by a bilinear map to continuous time.

        a z a^T - z + q = 0,  where ^T conjugates a complex a
        q_bar = a^T q_bar a + z_bar,     a_bar = q_bar a z^T + q_bar^T a z

    Shapes:  a, q (..., n, n) -> (..., n, n).
    Domain:  no product of two eigenvalues of a, which may be the same one, is 1.
    Raises:  LinAlgError if the equation is singular, ValueError for wrong shapes and values that are not finite.
    Cost:    O(n^3): three systems and `solve_sylvester`, and again in the sweep.
    Ref:     Giles (2008), section 2.3.1, for the linear map z -> z - a z a^T.

    >>> solve_discrete_lyapunov(np.array([[0.5, 0.25], [0.0, 0.5]]), np.eye(2)).round(6)
    array([[1.518519, 0.222222],
           [0.222222, 1.333333]])
    """
    a, q = matrices("solve_discrete_lyapunov", True, a, q)
    identity = np.eye(np.shape(a)[-1])
    ah = conj_transposed_of(a)
    shifted = ah + identity
    b = transposed_of(linear_systems.solve(transposed_of(shifted), transposed_of(ah - identity)))
    half = linear_systems.solve(conj_transposed_of(shifted), q)
    c = 2.0 * transposed_of(linear_systems.solve(transposed_of(shifted), transposed_of(half)))
    return matrix_functions.solve_sylvester(conj_transposed_of(b), b, -c)


# ---- functions by exponentials and logarithms ------------------------------------------------------------------------
@mirror
@over_stacks(A=2)
def fractional_matrix_power(A: ArrayValue, t: Real) -> ArrayValue:
    """A real power of a square matrix; t may be a variable.

        z = exp(t log a),     and a product of matrices where t is a whole number that is a constant

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  A without eigenvalues that are 0; if a real A has negative ones, the result is complex. Every nonsingular A
             for whole t.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `logm` and `expm`.
    Ref:     Higham (2008), section 7.1.

    >>> fractional_matrix_power(np.array([[4.0, 5.0], [0.0, 9.0]]), 0.5).round(12)
    array([[2., 1.],
           [0., 3.]])
    """
    (a,) = matrices("fractional_matrix_power", True, A)
    if not numbers_in(t) and float(t).is_integer():
        return np.linalg.matrix_power(a, int(t))
    return expm.implementation(t * logm.implementation(a))


def _quarters(name: str, A: ArrayValue, sign: float) -> tuple[ArrayValue, ArrayValue]:
    """The even and the odd part of an exponential: both columns of exp([[0, sign a], [a, 0]])."""
    (a,) = matrices(name, True, A)
    check_square(f"contad.scipy.linalg.{name}", a)
    n = np.shape(a)[-1]
    zero = 0.0 * a
    whole = matrix_functions.expm(
        np.concatenate([np.concatenate([zero, sign * a], axis=-1), np.concatenate([a, zero], axis=-1)], axis=-2)
    )
    return whole[..., :n, :n], whole[..., n:, :n]


@mirror
def cosm(A: ArrayValue) -> ArrayValue:
    """The cosine of a square matrix.

        exp([[0, -a], [a, 0]]) = [[cos a, -sin a], [sin a, cos a]]

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  every finite A.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `expm` with 2 n rows.
    Ref:     Higham (2008), section 12.1.

    >>> cosm(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6)
    array([[0.540302, 0.      ],
           [0.      , 0.540302]])
    """
    return _quarters("cosm", A, -1.0)[0]


@mirror
def sinm(A: ArrayValue) -> ArrayValue:
    """The sine of a square matrix.

        exp([[0, -a], [a, 0]]) = [[cos a, -sin a], [sin a, cos a]]

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  every finite A.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `expm` with 2 n rows.
    Ref:     Higham (2008), section 12.1.

    >>> sinm(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6)
    array([[0.      , 0.841471],
           [0.841471, 0.      ]])
    """
    return _quarters("sinm", A, -1.0)[1]


@mirror
def tanm(A: ArrayValue) -> ArrayValue:
    """The tangent of a square matrix.

        cos(a) z = sin(a)

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  A without eigenvalues at odd multiples of pi / 2.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `expm` with 2 n rows.
    Ref:     Higham (2008), section 12.1.

    >>> tanm(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6)
    array([[0.      , 1.557408],
           [1.557408, 0.      ]])
    """
    return linear_systems.solve(*_quarters("tanm", A, -1.0))


@mirror
def coshm(A: ArrayValue) -> ArrayValue:
    """The hyperbolic cosine of a square matrix.

        exp([[0, a], [a, 0]]) = [[cosh a, sinh a], [sinh a, cosh a]]

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  every finite A.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `expm` with 2 n rows.
    Ref:     Higham (2008), section 12.1.

    >>> coshm(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6)
    array([[1.543081, 0.      ],
           [0.      , 1.543081]])
    """
    return _quarters("coshm", A, 1.0)[0]


@mirror
def sinhm(A: ArrayValue) -> ArrayValue:
    """The hyperbolic sine of a square matrix.

        exp([[0, a], [a, 0]]) = [[cosh a, sinh a], [sinh a, cosh a]]

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  every finite A.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `expm` with 2 n rows.
    Ref:     Higham (2008), section 12.1.

    >>> sinhm(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6)
    array([[0.      , 1.175201],
           [1.175201, 0.      ]])
    """
    return _quarters("sinhm", A, 1.0)[1]


@mirror
def tanhm(A: ArrayValue) -> ArrayValue:
    """The hyperbolic tangent of a square matrix.

        cosh(a) z = sinh(a)

    Shapes:  A (..., n, n) -> (..., n, n).
    Domain:  A without eigenvalues at i times odd multiples of pi / 2.
    Raises:  ValueError if A is not square or not finite.
    Cost:    that of `expm` with 2 n rows.
    Ref:     Higham (2008), section 12.1.

    >>> tanhm(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6)
    array([[0.      , 0.761594],
           [0.761594, 0.      ]])
    """
    return linear_systems.solve(*_quarters("tanhm", A, 1.0))
