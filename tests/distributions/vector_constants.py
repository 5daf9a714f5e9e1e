"""What `propto=True` leaves out of densities of vectors: the terms of their formulas that have no derivative."""

from math import comb, lgamma, log, pi

import numpy as np

_of_normal = lambda y, mu, *args: -0.5 * np.size(y - mu) * log(2.0 * pi)
_of_student = lambda y, nu, mu, scale: -0.5 * np.size(y - mu) * log(pi)
_choices = lambda n, *args: lgamma(sum(n) + 1.0) - sum(lgamma(k + 1.0) for k in n)
_of_processes = lambda y, covariance, w: -0.5 * y.size * log(2.0 * pi)
_of_factor = lambda factor, *args: len(factor) * log(2.0)


def _of_binomials(n, N, x, *args):
    rows = np.broadcast_arrays(n, N, np.empty(len(np.atleast_2d(x))))
    return sum(log(comb(int(total), int(k))) for k, total, _ in zip(*rows, strict=True))


_of_counts = lambda y, x, *args: -sum(lgamma(k + 1.0) for k in np.broadcast_to(y, len(np.atleast_2d(x))))
DROPPED = {
    "multi_normal_lpdf": _of_normal,
    "multi_normal_cholesky_lpdf": _of_normal,
    "multi_normal_prec_lpdf": _of_normal,
    "multi_student_t_lpdf": _of_student,
    "multi_student_t_cholesky_lpdf": _of_student,
    "multi_gp_lpdf": _of_processes,
    "multi_gp_cholesky_lpdf": _of_processes,
    "multinomial_lpmf": _choices,
    "multinomial_logit_lpmf": _choices,
    "dirichlet_multinomial_lpmf": lambda n, alpha: log(sum(n) or 1.0) - sum(log(k) for k in n if k),
    "wishart_cholesky_lpdf": _of_factor,
    "inv_wishart_cholesky_lpdf": _of_factor,
    "lkj_cov_lpdf": lambda y, *args: -0.5 * len(y) * log(2.0 * pi),
    "normal_id_glm_lpdf": lambda y, x, *args: -0.5 * len(np.atleast_2d(x)) * log(2.0 * pi),
    "binomial_logit_glm_lpmf": _of_binomials,
    "poisson_log_glm_lpmf": _of_counts,
    "gaussian_dlm_obs_lpdf": lambda y, *args: -0.5 * np.count_nonzero(y == y) * log(2.0 * pi),
}  # others have a derivative in each term: log c(eta), log Gamma_k(nu / 2), log B(alpha), log softmax
