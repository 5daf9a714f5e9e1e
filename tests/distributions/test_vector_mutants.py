"""The points of densities of vectors notice a change anywhere in the functions that these are made of."""

import pytest

from contad.stan.compiled import WithBodies
from tests.distributions.vector_mutants import all_targets, cases_of, unnoticed, unnoticed_expressions
from tests.distributions.vector_points import CASES
from tests.judges.samples import sampled

# of what is no density, or of second derivatives alone
UNREACHED = [
    "multivariate_densities.MultivariateDistribution.__repr__", "multivariate_densities.gaussian_kde.covariance",
    "hidden_markov.hmm_hidden_state_prob", "hidden_markov.hmm_latent", "hidden_markov._run_recorded",
]  # fmt: skip
# the changed lines that are the same function, or what is judged in tests/scipy/test_multivariate_densities.py
IMPOSSIBLE = "return np.where(bad, np.nan, np.where(wrong, +np.inf, z))[()]"
SAME = {
    "bodies.log_jacobian_of_factor": ["logs = sum_of_products(size - np.arange(size) / 1.0, np.diag(factor))"],
    "multivariate_densities._categorical": [
        "bad = np.any(p < 0.0, axis=-1) | (np.abs(np.sum(p, axis=-1) - 1.0) > 1.001e-09)", IMPOSSIBLE,
        "places = np.broadcast_to(np.where(wrong, 0.001, k).astype(np.int64), shape)",  # truncated
    ],
    "multivariate_densities._multinomial": [
        "bad = np.any(p < 0.0, axis=-1) | (np.abs(np.sum(p, axis=-1) - 1.0) > 1.001e-09)", IMPOSSIBLE,
    ],
    "multivariate_densities._dirichlet_multinomial": ["return np.where(wrong, +np.inf, z)[()]"],
    "ordered_outcomes.ordered_lpmf": [
        "at = places(name, 'y', y, len(points) + 2)",  # of categories that there are
        "location = location - np.zeros(shape) if np.shape(location) != shape else location",
    ],
    "hidden_markov.hmm_marginal": [  # values alone, without the variables by which points are judged
        "return (_run_compiled(args, True)[0], None)", "return (_run_compiled(args, False)[1], None)",
    ],
    "forward_backward.run_both": [  # of what is impossible, see tests/stan/test_hidden_markov.py
        "shift = top if math.isfinite(top) else 0.001", "if scales[t] == 0.001:",
        "return (+math.inf, np.full((states, times), nan), np.full((states, states), nan), np.full(states, nan))",
    ],
}  # fmt: skip
TARGETS = all_targets()
REACHED = sorted(TARGETS.keys() - {*UNREACHED})
CHEAP = [name for name in REACHED if name.startswith(("bodies.", "ordered_outcomes.", "glms."))]
DEAR = [name for name in REACHED if name not in CHEAP]
INSIDE = [name for name, case in CASES.items() if isinstance(case.function, WithBodies)]


@pytest.mark.parametrize("name", sampled(REACHED, 12, dear=DEAR))
def test_every_change_of_a_function_is_noticed(name):
    assert cases_of(TARGETS[name])
    left, _ = unnoticed(TARGETS[name])
    assert {*left} <= {*SAME.get(name, [])}


@pytest.mark.parametrize("name", sampled(INSIDE, 4))
def test_every_change_of_an_expression_is_noticed(name):
    left, _ = unnoticed_expressions(name)
    assert left == []


def test_the_same_function_written_otherwise_is_a_mutant():
    for name, lines in SAME.items():
        assert {*lines} <= {line for line, _ in TARGETS[name].mutants()}


@pytest.mark.long
def test_unreached_functions_have_no_cases():
    assert [name for name in UNREACHED if cases_of(TARGETS[name])] == []
