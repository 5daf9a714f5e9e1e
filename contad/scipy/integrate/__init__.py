"""`scipy.integrate` for functions that contad differentiates: integrals and solutions of differential equations."""

from contad.scipy.integrate.adaptive_quadrature import quad, quad_vec
from contad.scipy.integrate.differential_equations import odeint, solve_ivp
from contad.scipy.integrate.trajectories import Adjoint

__all__ = ["Adjoint", "odeint", "quad", "quad_vec", "solve_ivp"]
