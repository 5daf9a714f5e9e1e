"""The transforms of vectors: ordered vectors, simplices, vectors with sum 0 and unit vectors."""

from contad.stan.transforms.constraints import Constraint


def ordered(k: int) -> Constraint:
    """k numbers that increase.

        y_1 = u_1, y_i = y_(i-1) + e^u_i,     log |J| = u_2 + ... + u_k

    Domain:  every u.
    Ref:     Stan Reference Manual, ordered vector.

    >>> ordered(3).constrain([-1.0, 0.0, 0.5]).round(6)
    array([-1.      ,  0.      ,  1.648721])
    """
    return Constraint("ordered", (k,), (k,))


def positive_ordered(k: int) -> Constraint:
    """k positive numbers that increase.

        y_1 = e^u_1, y_i = y_(i-1) + e^u_i,     log |J| = sum u

    Domain:  every u.
    Ref:     Stan Reference Manual, positive ordered vector.

    >>> positive_ordered(3).constrain([-1.0, 0.0, 0.5]).round(6)
    array([0.367879, 1.367879, 3.016601])
    """
    return Constraint("positive_ordered", (k,), (k,))


def simplex(k: int, stan_version: str = "2.37") -> Constraint:
    """k nonnegative numbers that sum to 1, by isometric log-ratios; u = 0 gives equal numbers.

        y = softmax(B_k u),     B_k an orthonormal basis of k numbers that sum to 0,
        log |J| = log(k) / 2 + sum_i log y_i

    Before version 2.37, Stan broke sticks:

        y_i = z_i r_i,     z_i = expit(u_i - log(k - i)), r_i = 1 - y_1 - ... - y_(i-1),
        log |J| = sum_i log z_i + log(1 - z_i) + log r_i

    Domain:  every u.
    Ref:     Stan Reference Manual, unit simplex; Egozcue et al. (2003).

    >>> simplex(3).constrain([0.5, -1.0]).round(6)
    array([0.257544, 0.126987, 0.615468])
    >>> simplex(3, stan_version="2.36").constrain([0.5, -1.0]).round(6)
    array([0.451863, 0.147417, 0.40072 ])
    """
    return Constraint("simplex", (k,), (k - 1,)).of_version(stan_version)


def sum_to_zero(m: int, n: int | None = None) -> Constraint:
    """m numbers that sum to 0; or m x n matrices whose rows and columns sum to 0, column by column.

        y = B_m u,     y = C_m u C_n^T,     B_k an orthonormal basis of k numbers that sum to 0,     log |J| = 0

    C_k is B_k with its first row behind the last one.

    Domain:  every u.
    Ref:     Stan Reference Manual, zero sum vector and zero sum matrix.

    >>> sum_to_zero(3).constrain([0.5, -1.0]).round(6)
    array([-0.054695, -0.761802,  0.816497])
    >>> sum_to_zero(2, 3).constrain([0.5, -1.0]).round(6)
    array([[ 0.538675, -0.57735 ,  0.038675],
           [-0.538675,  0.57735 , -0.038675]])
    """
    return Constraint("sum_to_zero", (m,), (m - 1,)) if n is None else Constraint("sum_to_zero", (m, n), (m - 1, n - 1))


def unit_vector(k: int) -> Constraint:
    """Vectors of length 1.

        y = u / |u|,     -|u|^2 / 2 in the place of log |J|, which makes the length of u proper

    `unconstrain` returns y itself.

    Domain:  u other than 0.
    Raises:  ValueError if u is 0.
    Ref:     Stan Reference Manual, unit vector.

    >>> unit_vector(2).constrain([3.0, 4.0]).round(6)
    array([0.6, 0.8])
    """
    return Constraint("unit_vector", (k,), (k,))
