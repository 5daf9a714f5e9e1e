"""Stan's block of parameters as text: what it says, and the line of what it should not say."""

import types

import numpy as np
import pytest

from contad.stan.declarations import Expression, read_parameters

DATA = {"N": 4, "K": 3, "L": np.array([-1.0, -2.0, -3.0, -4.0]), "m": 3.0, "y": np.array([1.5, 2.5, 0.5]),
    "X": np.array([[1.0, 2.0], [3.0, 4.0]]),
}  # fmt: skip


def twice(k):
    return 2 * k


def read(text, **more):
    return read_parameters(text, {**DATA, **more}, {"twice": twice})


@pytest.mark.parametrize(
    ("text", "name", "shape"),
    [
        ("real x;", "real", ()), ("vector[N] x;", "real", (4,)), ("row_vector[N] x;", "real", (4,)),
        ("matrix[N, K] x;", "real", (4, 3)), ("real<lower=0> x;", "lower_bound", ()),
        ("vector<upper=1>[K * (K - 1) / 2] x;", "upper_bound", (3,)),
        ("real<lower=0, upper=1> x;", "lower_upper_bound", ()),
        ("vector<offset=m, multiplier=2>[N] x;", "offset_multiplier", (4,)), ("ordered[K] x;", "ordered", (3,)),
        ("positive_ordered[K] x;", "positive_ordered", (3,)), ("array[N, 2] simplex[K] x;", "simplex", (4, 2, 3)),
        ("unit_vector[3] x;", "unit_vector", (3,)), ("sum_to_zero_vector[3] x;", "sum_to_zero", (3,)),
        ("sum_to_zero_matrix[3, 2] x;", "sum_to_zero", (3, 2)),
        ("cholesky_factor_corr[2] x;", "cholesky_factor_corr", (2, 2)),
        ("cholesky_factor_cov[3, 2] x;", "cholesky_factor_cov", (3, 2)), ("corr_matrix[2] x;", "corr_matrix", (2, 2)),
        ("array[5] cov_matrix[2] x;", "cov_matrix", (5, 2, 2)),
        ("row_stochastic_matrix[2, 3] x;", "stochastic_row", (2, 3)),
        ("column_stochastic_matrix[2, 3] x;", "stochastic_column", (2, 3)), ("real x[N];", "real", (4,)),
        ("array[7 %/% 2, 1 + 7 % 4] real x;", "real", (3, 4)), ("vector[5 + (-7) % 4] x;", "real", (2,)),
        ("array[num_elements(L)] real x;", "real", (4,)), ("vector[min(N, K) ^ 2] x;", "real", (9,)),
        ("vector[N > 3 ? 2 : 3] x;", "real", (2,)),
        ("vector[N == 1 ? 2 : N == 4 ? (K > 2 ? 5 : 6) : 7] x;", "real", (5,)),
        ("vector[size(X[, 2])] x;", "real", (2,)), ("vector[size(X[1:2, ])] x;", "real", (2,)),
        ("vector[twice(K)] x;", "real", (6,)),
        ("vector[!(K > 2) || N != 4 ? 1 : 2] x;", "real", (2,)),
        ("array[2, 2] real<lower=X> x;", "lower_bound", (2, 2)),
        ("array[2] vector<lower={1, 2}>[2] x;", "lower_bound", (2, 2)),
    ],
)  # fmt: skip
def test_every_type(text, name, shape):
    constraint = read(text)["x"]
    assert (constraint.name, constraint.shape) == (name, shape)


def test_a_block_as_it_stands():
    block = """
    parameters {   // comments
      real<lower=0> alpha, beta; /* and
      more */
      vector<lower=L, upper=max(y) + 1>[N] x;
    }
    """
    found = read(block)
    assert list(found) == ["alpha", "beta", "x"]
    np.testing.assert_array_equal(found["x"].arguments[0], DATA["L"])
    assert found["x"].arguments[1] == 3.5


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        ("1 - a", 0.75), ("(N / 3) * a", 0.25), ("y[2] * a", 0.625), ("fmax(a, 1.0 / N)", 0.25), ("a ^ 2", 0.0625),
        ("a * sum(y .* y)", 2.1875), ("sum(a * y ./ y)", 0.75), ("sum(6 ./ -y[1:2]) * a", -1.6),
        ("sum(y[2:3]) - a", 2.75), ("-a", -0.25), ("mean(y) + sd(y) .* a", 1.75), ("lambda * a", 0.5),
        ("(a > 1 ? a : 3 * a)", 0.75), ("X[1, (N > 3 ? 2 : 1)] * a", 0.5), ("twice(a)", 0.5), ("sum(X[,2]) * a", 1.5),
    ],
)  # fmt: skip
def test_bounds_of_earlier_parameters(bound, value):
    found = read(f"real a; real<lower={bound}> x;", **{"lambda": 2.0})["x"].arguments[0]
    assert isinstance(found, Expression)
    assert found(types.SimpleNamespace(a=0.25)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("real x;\nreel y;", "line 2 of the parameters: expected a type of parameters .*, got 'reel y;'"),
        ("real x", "line 1 of the parameters: expected ;, got 'the end'"),
        ("vector x;", "expected vector with 1 sizes, got 'vector x;'"),
        ("real x;\n\nreal x;", "line 3 .*: expected a new name, and x is one of the parameters"),
        ("real N;", "expected a new name, and N is one of the data"),
        ("vector[n] x;", "expected data, or a parameter declared before, and not n"),
        ("real<lower=b> a; real b;", "expected data, or a parameter declared before, and not b"),
        ("simplex<lower=0>[3] x;", "expected no bounds of simplex"),
        ("real<lower=0, offset=1> x;", "bounds or units, not both"),
        ("real<lower=f(1)> x;", "expected a function of contad.stan, or beside the log density, and not f"),
        ("vector[2.5] x;", "expected a size, a whole number made of data"),
        ("real a; vector[a] x;", "expected a size, a whole number made of data"),
        ("real<lower=1, upper=0> x;", "upper must be greater than lower"),
        ("real<lower=> x;", "expected an expression"), ("real 3;", "expected a name, got '3;'"),
        ("real x; model {}", "expected a type of parameters"), ("parameters { real x;", "expected }, got 'the end'"),
        ("real<lower=0,\nlower=1> x;", "line 2 .*: expected lower only once, got 'lower=1> x;'"),
        ("real x;\nreal<lower=L[0]> z;", "line 2 .*: expected indices that count from 1, got 'L.0.> z;'"),
        ("real<lower=L[-1]> x;", "indices that count from 1"), ("vector[2] a; real<lower=a[0]> x;", "count from 1"),
        ("vector[3] x; real<lower=sum(x[0:2])> z;", "that count from 1"), ("vector<lower=L[1:-1]>[3] x;", "from 1"),
        ("vector<lower=L[1:4:2]>[2] x;", "expected a range without a step"),
        ("vector[num_elements(y * y)] x;", r"expected no \* or / between two arrays: write .\* or ./"),
        ("vector[3] a; vector<lower=exp(a) / y>[3] x;", r"expected no \* or / between two arrays"),
        ("real<lower=y' * y> x;", r"no \* or / between two arrays"), ("vector[N % 0] x;", "another expression"),
        ("real a; real<lower=a % 2> x;", "expected whole numbers of data beside % and %/%"),
        ("vector<lower=y @ y>[3] x;", "expected an expression"), ("simplex[0] x;", "sizes must be at least 1"),
        ("sum_to_zero_matrix[0, 0] x;", "sizes must be at least 1"), ("unit_vector[0] x;", "must be at least 1"),
        ("vector<lower=y>[N] x;", r"lower must be a number or of shape \(4,\), got shape \(3,\)"),
    ],
)  # fmt: skip
def test_errors_name_the_line(text, message):
    with pytest.raises(ValueError, match=f"Model: .*{message}"):
        read(text)
