"""A model with every type of parameter beside the same program in Stan, by the interpreter stanli."""

import numpy as np
import pytest

from contad.stan import Model

BLOCK = """
parameters {
  real a; real<lower=0> b; real<upper=a> c; real<lower=c, upper=c + b> d; real<offset=2, multiplier=b> e;
  vector<lower=1, upper=y>[3] f; matrix<lower=-1>[2, 3] g; array[2, 3] real h; array[2] vector<upper=4>[3] i;
  array[2] matrix[2, 3] j; ordered[3] k; array[2] positive_ordered[3] l; simplex[4] m; array[2] simplex[3] n;
  unit_vector[3] o; sum_to_zero_vector[3] p; sum_to_zero_matrix[3, 2] q; cholesky_factor_corr[3] r;
  corr_matrix[3] s; cholesky_factor_cov[3, 2] t; array[2] cov_matrix[2] u;
}
"""
SHAPES = {
    "f": (3,), "g": (2, 3), "h": (2, 3), "i": (2, 3), "j": (2, 2, 3), "k": (3,), "l": (2, 3), "m": (4,), "n": (2, 3),
    "o": (3,), "p": (3,), "q": (3, 2), "r": (3, 3), "s": (3, 3), "t": (3, 2), "u": (2, 2, 2),
}  # fmt: skip
Y = [2.0, 3.5, 5.0]


def log_density(y, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u):  # noqa: E741
    """The sum of all elements, each times another number."""
    total = 0.1 * (a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * e)
    for n_th, x in enumerate((f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)):
        total = total + np.sum(x * np.reshape(np.cos(np.arange(n_th, n_th + np.size(x))), np.shape(x)))
    return total


def write_program():
    """The same in Stan; indices run through arrays by rows."""
    lines = ["target += 0.1 * (a + 2 * b + 3 * c + 4 * d + 5 * e);"]
    for k, (name, shape) in enumerate(SHAPES.items()):
        for n, place in enumerate(np.ndindex(shape)):
            lines.append(f"target += {name}[{', '.join(str(x + 1) for x in place)}] * cos({k + n});")
    return f"data {{ vector[3] y; }}\n{BLOCK}\nmodel {{\n" + "\n".join(lines) + "\n}\n"


def test_every_type():
    stanli = pytest.importorskip("stanli", reason="stanli, which runs programs of Stan, is not installed")
    other = stanli.Model(stan_code=write_program(), data={"y": Y})
    model = Model(BLOCK, log_density, y=Y)
    assert model.dimension == other.n_unconstrained
    names = [name.replace("[", ".").replace(",", ".").rstrip("]") for name in other.constrained_names]
    assert model.param_names() == names
    for seed in range(3):
        u = np.random.default_rng(seed).uniform(-1.0, 1.0, model.dimension)
        value, gradient = model.log_density_gradient(u)
        expected, slopes = other.log_prob_grad(u)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-11)
