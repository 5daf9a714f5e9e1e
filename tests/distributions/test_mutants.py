"""The points at which distributions are judged reach every formula and every rule, and notice a change anywhere."""

import pytest

from contad.distributions.formula import CHOICES
from contad.scipy import stats
from tests.distributions.formula_mutants import FORMULAS, RULES, mutants, reached, unnoticed
from tests.judges.samples import sampled

# functions of a distribution that neither Stan nor SciPy has a name for
NAMELESS = [
    "std_normal_ccdf", "std_normal_quantile", "std_normal_upper_quantile", "skew_double_exponential_ccdf",
    "von_mises_ccdf", "inv_chi_square_ccdf", "scaled_inv_chi_square_ccdf", "beta_proportion_cdf",
    "beta_proportion_ccdf", "neg_binomial_ccdf", "neg_binomial_2_ccdf",
]  # fmt: skip
PROFILES = {name for name in FORMULAS if name.endswith("_profile")}  # of covariances
DERIVED = {name for name in FORMULAS if "_lcdf_by_" in name}  # whose source comes from another formula
SERIES = {"log1pmx_rate", "pearson3_log_density"}  # whose last terms the values of the table show
# of standard forms: both tails, of which a changed one that is larger is not taken; the table's values judge them
EITHER = ("f = ", "g = ", "below = ", "above = ")
# what rules call by their values alone, or partials call
OF_VALUES = ["as_constant", "log_beta_powers", "log_few_choices", "log_gamma_power"]
OF_PROGRAMS = [rule.name for rule in CHOICES]  # which recorded programs write
# the changed lines that are the same function, where it is called
SAME = {
    "inverse_gaussian_log_density": [  # of a lambda of 1
        "return -0.5 * lambda_ * r * (r / y) - 1.5 * log(y) - 0.5 * log(lambda_) - LOG_SQRT_TWO_PI",
        "return -0.5 / lambda_ * r * (r / y) - 1.5 * log(y) + 0.5 * log(lambda_) - LOG_SQRT_TWO_PI",
        "return -0.5 * lambda_ * r * (r / y) - 1.5 * log(y) + 0.5005 * log(lambda_) - LOG_SQRT_TWO_PI",
    ],
    "inverse_gaussian_quantile": ["return weight * standard_inverse_gaussian_quantile(0.0, p, mu * weight)"],
    "inverse_gaussian_upper_quantile": ["return weight * standard_inverse_gaussian_quantile(1.0, q, mu * weight)"],
    "log_upper_part_of_square": [  # far is at least 1e100
        "last = (a + 1.0) * (2.0 * log(far) - LOG_2) - gammaln(a) - 0.5 * far * far",
        "last = (a - 1.001) * (2.0 * log(far) - LOG_2) - gammaln(a) - 0.5 * far * far",
    ],
    "cauchy_quantile": ["centre = tan(3.141592653589793 * (select(middle, p, 0.5) + 0.5))"],  # has the period pi
    "cauchy_upper_quantile": ["centre = tan(3.141592653589793 * (select(middle, q, 0.5) + 0.5))"],
    "zipf_log_ccdf": [  # with fewer digits near a = 1, of which see test_extremes.py
        "below = log_power_sum(1.0, k, a) + whole", "below = log_power_sum(0.0, k, a) - whole",
    ],
    "moderate_student_cdf_by_freedom": [  # where the middle ends, on either side of which it is linear
        "near = select(beyond, 1.0, select(middle, MIDDLE / root, r))", "root = sqrt(nu * 1.001)",
    ],
    "log_gamma_part_of_log": [  # beyond 600, where only its slope is visible beside the exponential
        "last = (a + 1.0) * large - gammaln(a) - exp(large)", "last = (a - 1.001) * large - gammaln(a) - exp(large)",
    ],
    "uniform_ccdf": ["above = (beta - y) / (beta + alpha)"],  # of an alpha of 0
    "uniform_quantile": ["return alpha + p * (beta + alpha)"],
    "uniform_upper_quantile": ["return beta - q * (beta + alpha)"],
}  # fmt: skip


def test_every_formula_and_rule_is_reached():
    """By a function of a distribution at one of its points."""
    found = reached()
    assert sorted(name for name in FORMULAS if not found.get(name)) == sorted([*NAMELESS, *PROFILES])
    assert sorted(name for name in RULES if not found.get(name)) == sorted([*OF_VALUES, *OF_PROGRAMS])
    assert SAME.keys() <= FORMULAS.keys() - {*NAMELESS, *PROFILES}


@pytest.mark.parametrize("name", sampled(sorted(FORMULAS.keys() - {*NAMELESS, *PROFILES, *DERIVED, *SERIES}), 12))
def test_every_change_of_a_formula_is_noticed(name):
    """Whose values and derivatives at these points are judged beside mpmath's, as those of the functions."""
    left = {*unnoticed(FORMULAS[name], reached()[name])} - {*SAME.get(name, [])}
    is_standard = name.rpartition("_")[0] in (*stats._FORMS, *stats.COUNTS)
    assert {line for line in left if not (is_standard and line.startswith(EITHER))} == set()


def test_the_same_function_written_otherwise_is_a_mutant():
    for name, lines in SAME.items():
        assert {*lines} <= {line for line, _ in mutants(FORMULAS[name])}
