"""`scipy.integrate` for functions that contad differentiates: integrals and solutions of differential equations."""

from contad.scipy.integrate.adaptive_quadrature import quad, quad_vec

__all__ = ["quad", "quad_vec"]
