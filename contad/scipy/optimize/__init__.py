"""`scipy.optimize` for functions that contad differentiates: parameters are trees, derivatives are supplied."""

from contad.scipy.optimize.curves import curve_fit, parameter_jacobian
from contad.scipy.optimize.least_squares_fits import least_squares
from contad.scipy.optimize.minimization import minimize
from contad.scipy.optimize.roots import fixed_point, root, root_scalar

__all__ = ["curve_fit", "fixed_point", "least_squares", "minimize", "parameter_jacobian", "root", "root_scalar"]
