"""Stan's functions of functions, made of contad's solvers; `contad.stan` has their names."""

from contad.stan.functionals.integrals import integrate_1d, integrate_1d_double_exponential, integrate_1d_gauss_kronrod

__all__ = ["integrate_1d", "integrate_1d_double_exponential", "integrate_1d_gauss_kronrod"]
