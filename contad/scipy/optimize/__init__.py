"""`scipy.optimize` for functions that contad differentiates: parameters are trees, derivatives are supplied."""

from contad.scipy.optimize.curves import curve_fit, parameter_jacobian
from contad.scipy.optimize.minimization import minimize

__all__ = ["curve_fit", "minimize", "parameter_jacobian"]
