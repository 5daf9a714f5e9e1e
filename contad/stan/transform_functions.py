"""Stan's transforms as functions, which Numba functions may also call: `X_constrain`, `X_jacobian`, `X_unconstrain`.

`X_jacobian` returns the value of `X_constrain` and the log-Jacobian, which Stan's function of that name adds to its
target. A transform has a row in `TRANSFORMS`, and `contad.stan.transforms` makes constraints of it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from contad.distributions.docstrings import describe
from contad.distributions.faces import function_of_text
from contad.distributions.ways_by_axes import Pattern
from contad.ops.exponential import exp
from contad.ops.hyperbolic import tanh
from contad.ops.log_sums import logsumexp
from contad.ops.logistic import log_expit
from contad.ops.products import matmul
from contad.ops.triangular_factors import cholesky_factor
from contad.stan import bodies, constraint_bodies
from contad.stan.compiled import Evaluated
from contad.stan.constraint_bodies import log_squared_sech, place_of, weight_of
from contad.stan.recorded_checks import is_cholesky_factor, is_symmetric
from contad.variables.creation import zeros
from contad.variables.open_types import ArrayValue, Real, Value

KNOWN = {**vars(bodies), **vars(constraint_bodies), "np": np}
_IN_PYTHON = KNOWN | {
    "cholesky": cholesky_factor, "is_cholesky_factor": is_cholesky_factor, "is_symmetric": is_symmetric
}


class StanTransform(NamedTuple):
    """A transform, by expressions of unconstrained numbers u, of values y, and of the further arguments.

    arguments   the names after u, and after y where they are needed
    ways        the value and the log-Jacobian, for each pattern of axes of u and the arguments
    back        the inverse for each pattern of axes of y and the arguments, and the test of the constraint
    expected    the condition on a value, in words
    domain      a test of u and the arguments, and the condition in words; "" if there is none
    forward     the value and the log-Jacobian in Python, if Python does not evaluate the expressions
    example     the arguments in the example of the docstring
    """

    arguments: str
    ways: Mapping[Pattern, str]
    back: Mapping[Pattern, tuple[str, str]]
    expected: str
    domain: tuple[str, str] = ("", "")
    forward: Callable[..., tuple[Value, Real]] | None = None
    example: tuple[str, ...] = ("np.array([0.5, -1.0])",)


# ---- Python functions, where the expressions are loops ---------------------------------------------------------------
def zero_sum_basis(k: int) -> np.ndarray:
    """An orthonormal basis of the vectors of k numbers that sum to 0, in columns."""
    basis = np.zeros((k, k - 1))
    for j in range(1, k):
        basis[:j, j - 1], basis[j, j - 1] = 1.0, -float(j)
        basis[:, j - 1] /= math.sqrt(j * (j + 1.0))
    return basis


def _sum_to_zero(u: ArrayValue) -> tuple[ArrayValue, Real]:
    if np.ndim(u) == 1:
        return matmul(zero_sum_basis(np.shape(u)[0] + 1), u), 0.0
    rows, columns = (np.roll(zero_sum_basis(n + 1), -1, axis=0) for n in np.shape(u))
    return matmul(matmul(rows, u), columns.T), 0.0


def _simplex(u: ArrayValue) -> tuple[ArrayValue, Real]:
    """A simplex, or a matrix with one in each column."""
    size = np.shape(u)[0] + 1
    z = matmul(zero_sum_basis(size), u)
    logs = z - logsumexp(z, axis=0)
    return exp(logs), np.sum(logs) + 0.5 * math.log(size) * (np.size(logs) // size)


def _broken_sticks(u: ArrayValue) -> tuple[ArrayValue, Real]:
    """A simplex by the shares expit(u_i - log(k - i)) of the remaining part of 1, or one for each row.

    The rest after a share is a factor of all later shares, so its logarithm counts for each of them, too.
    """
    *rows, size = np.shape(u)
    counts, end = np.arange(size, 0, -1.0), np.zeros((*rows, 1))
    shifted = u - np.log(counts)
    taken, left = log_expit(shifted), log_expit(-shifted)
    before = np.concatenate([end, np.cumsum(left, axis=-1)], axis=-1)
    logs = before + np.concatenate([taken, end], axis=-1)
    return exp(logs), np.sum(taken + counts * left)


def _by_rows(forward: Callable[..., tuple[Value, Real]], u: ArrayValue) -> tuple[Value, Real]:
    value, log_jacobian = forward(np.transpose(u))
    return np.transpose(value), log_jacobian


def _ordered(u: ArrayValue) -> tuple[ArrayValue, Real]:
    return np.cumsum(np.concatenate([u[:1], exp(u[1:])])), np.sum(u[1:])


def _correlation_factor(u: ArrayValue, k: int, by_columns: bool = False) -> tuple[ArrayValue, Real]:
    """The factor with the partial correlations tanh(u), and the log-Jacobian of it or of its product."""
    pairs = [(i, j) for i in range(k) for j in range(i)]
    pairs.sort(key=lambda pair: place_of(pair[0], pair[1], k, by_columns))
    weights = np.array([weight_of(*pair, k, by_columns) for pair in pairs])
    shares, logs = tanh(u), log_squared_sech(u)
    made = zeros((k, k))
    if k:
        made[0, 0] = 1.0
    for i in range(1, k):
        row = [place_of(i, j, k, by_columns) for j in range(i)]
        sums = np.concatenate([np.zeros(1), np.cumsum(logs[row])])
        made[i, :i] = shares[row] * exp(0.5 * sums[:-1])
        made[i, i] = exp(0.5 * sums[-1])
    return made, np.sum(weights * logs)


def _correlations(u: ArrayValue, k: int) -> tuple[ArrayValue, Real]:
    factor, log_jacobian = _correlation_factor(u, k, by_columns=True)
    return matmul(factor, factor.T), log_jacobian


# ---- the table -------------------------------------------------------------------------------------------------------
def _one_bound(bound: str, way: str, back: str) -> StanTransform:
    test, what = ("y, lower", "at least") if bound == "lower" else ("upper, y", "at most")
    inverse = back, f"is_at_least({test})"
    return StanTransform(
        bound, {"0 0": way.replace("np.sum(u)", "u"), "1234 01234": way},
        dict.fromkeys(("0 0", "1234 01234"), inverse), f"be {what} {bound}", example=("0.5", "1.0"),
    )  # fmt: skip


def _of_vector(way: str, back: str, test: str, expected: str, **more: Any) -> StanTransform:
    return StanTransform("", {"1": way}, {"1": (back, test)}, expected, **more)


def _stochastic(way: str, back: str, axis: int, forward: Any) -> StanTransform:
    """Stochastic matrices by columns (axis 0), or by rows, from the expressions for columns."""
    sums = f"np.all(y >= 0.0) and np.all(np.abs(np.sum(y, axis={axis}) - 1.0) <= 1e-8)"
    way, back = (f"as_rows({way}(u.T))", f"{back}(y.T).T") if axis else (f"{way}(u)", f"{back}(y)")
    return StanTransform(
        "", {"2": way}, {"2": (back, sums)}, f"have {('columns', 'rows')[axis]} that are simplices", forward=forward,
        example=("np.array([[0.5, -1.0], [0.2, 0.7]])",),
    )  # fmt: skip


_ADDS_UP = "np.all(y >= 0.0) and abs(np.sum(y) - 1.0) <= 1e-8"
_INCREASES = "np.all(y[1:] > y[:-1])"
_BETWEEN = "is_at_least(y, lower) and is_at_least(upper, y)"
_ZERO_SUMS = "np.all(np.abs(np.sum(y, axis=0)) <= 1e-8) and np.all(np.abs(np.sum(y, axis=1)) <= 1e-8)"
_OF_PAIRS = "2 * len(u) == k * (k - 1)", "u must have k (k - 1) / 2 elements"
_FACTOR = "y.size == 0 or is_cholesky_factor(y)"

TRANSFORMS = {
    "real": StanTransform(
        "", {"0": "u, 0.0", "1234": "1.0 * u, 0.0"}, dict.fromkeys(("0", "1234"), ("1.0 * y", "True")), "be real",
        example=("0.5",),
    ),
    "lower_bound": _one_bound("lower", "above(u, lower)", "free_above(y, lower)"),
    "upper_bound": _one_bound("upper", "below(u, upper)", "free_below(y, upper)"),
    "finite_lower_bound": _one_bound("lower", "lower + exp(u), np.sum(u)", "log(y - lower)"),
    "finite_upper_bound": _one_bound("upper", "upper - exp(u), np.sum(u)", "log(upper - y)"),
    "lower_upper_bound": StanTransform(
        "lower, upper",
        {
            **dict.fromkeys(("0 0 0", "1234 0 0"), "between_numbers(u, lower, upper)"),
            "1234 01234 01234": "sum_logs(between(u, lower, upper))",
        },
        {
            **dict.fromkeys(("0 0 0", "1234 0 0"), ("free_between_numbers(y, lower, upper)", _BETWEEN)),
            "1234 01234 01234": ("free_between(y, lower, upper)", _BETWEEN),
        },
        "be between lower and upper", ("is_less(lower, upper)", "upper must be greater than lower"),
        example=("0.5", "1.0", "3.0"),
    ),
    "finite_lower_upper_bound": StanTransform(
        "lower, upper",
        {"0 0 0": "between(u, lower, upper)", "1234 01234 01234": "sum_logs(between(u, lower, upper))"},
        dict.fromkeys(("0 0 0", "1234 01234 01234"), ("free_between(y, lower, upper)", _BETWEEN)),
        "be between lower and upper", example=("0.5", "1.0", "3.0"),
    ),
    "offset_multiplier": StanTransform(
        "offset, multiplier", dict.fromkeys(("0 0 0", "1234 01234 01234"), "scale(u, offset, multiplier)"),
        dict.fromkeys(("0 0 0", "1234 01234 01234"), ("(y - offset) / multiplier", "True")), "be real",
        ("is_less(0.0, multiplier)", "multiplier must be positive"), example=("0.5", "1.0", "3.0"),
    ),
    "ordered": _of_vector(
        "ordered_of(u), np.sum(u[1:])", "unordered_of(y)", _INCREASES, "increase", forward=_ordered
    ),
    "positive_ordered": _of_vector(
        "positive_ordered_of(u), np.sum(u)", "positive_unordered_of(y)", f"{_INCREASES} and np.all(y > 0.0)",
        "be positive, and increase", forward=lambda u: (np.cumsum(exp(u)), np.sum(u)),
    ),
    "simplex": _of_vector(
        "simplex_of(u)", "free_of_simplex(y)", _ADDS_UP, "be nonnegative, and sum to 1", forward=_simplex
    ),
    "simplex_of_sticks": _of_vector(
        "broken_sticks_of(u)", "sticks_of(y)", _ADDS_UP, "be nonnegative, and sum to 1", forward=_broken_sticks
    ),
    "stochastic_column": _stochastic("stochastic_of", "free_of_stochastic", 0, _simplex),
    "stochastic_row": _stochastic("stochastic_of", "free_of_stochastic", 1, lambda u: _by_rows(_simplex, u)),
    "stochastic_column_of_sticks": _stochastic(
        "broken_columns_of", "sticks_of_columns", 0, lambda u: _by_rows(_broken_sticks, u)
    ),
    "stochastic_row_of_sticks": _stochastic("broken_columns_of", "sticks_of_columns", 1, _broken_sticks),
    "sum_to_zero": StanTransform(
        "", {"1": "zero_sum_of(u), 0.0 * np.sum(u)", "2": "zero_sums_of(u), 0.0 * np.sum(u)"},
        {"1": ("free_of_zero_sum(y)", "abs(np.sum(y)) <= 1e-8"), "2": ("free_of_zero_sums(y)", _ZERO_SUMS)},
        "sum to 0, or have rows and columns that sum to 0", forward=_sum_to_zero,
    ),
    "unit_vector": _of_vector(
        "u / np.sqrt(np.sum(u * u)), -0.5 * np.sum(u * u)", "1.0 * y", "abs(np.sum(y * y) - 1.0) <= 1e-8",
        "have length 1", domain=("0.0 < np.sum(u * u) < np.inf", "u must be finite and other than 0"),
        example=("np.array([0.6, 0.8])",),
    ),
    "cholesky_factor_corr": StanTransform(
        "k", {"1 0": "correlation_factor_of(u, k, False), log_jacobian_of_correlations(u, k, False)"},
        {"nn": ("partial_correlations_of(y, False)", "y.size == 0 or (is_cholesky_factor(y) and has_unit_rows(y))")},
        "be lower triangular with a positive diagonal and rows of length 1", _OF_PAIRS,
        forward=_correlation_factor,
        example=("np.array([0.5, -0.3, 0.8])", "3"),
    ),
    "corr_matrix": StanTransform(
        "k", {"1 0": "correlations_of(u, k), log_jacobian_of_correlations(u, k, True)"},
        {"nn": ("partial_correlations_of(cholesky(y), True)", "has_unit_diagonal(y) and is_symmetric(y)")},
        "be symmetric and positive definite, with ones on the diagonal", _OF_PAIRS, forward=_correlations,
        example=("np.array([0.5, -0.3, 0.8])", "3"),
    ),
    "cholesky_factor_cov": StanTransform(
        "m, n", {"1 0 0": "factor_of(u, m, n), log_jacobian_of_factor(u, m, n)"},
        {"2": ("free_of_factor(y)", _FACTOR)}, "be lower triangular with a positive diagonal",
        ("2 * len(u) == n * (2 * m - n + 1) and m >= n", "u must have n (2 m - n + 1) / 2 elements, and m >= n"),
        example=("np.array([0.5, 1.0, -0.5])", "2", "2"),
    ),
    "cov_matrix": StanTransform(
        "k", {"1 0": "covariance_of(u, k), log_jacobian_of_covariance(u, k)"},
        {"nn": ("free_of_factor(cholesky(y))", "is_symmetric(y)")}, "be symmetric and positive definite",
        ("2 * len(u) == k * (k + 1)", "u must have k (k + 1) / 2 elements"),
        example=("np.array([0.5, 1.0, -0.5])", "2"),
    ),
}  # fmt: skip


# ---- the functions ---------------------------------------------------------------------------------------------------
_TITLES = {
    "constrain": ("The value of `contad.stan.{}` for unconstrained numbers u.", "y = y(u)"),
    "jacobian": ("Likewise with the log-Jacobian, for `contad.stan.{}`.", "y = y(u), log |dy / du|"),
    "unconstrain": ("The inverse: the unconstrained numbers of `contad.stan.{}`.", "u with y(u) = y"),
}


def _make(name: str, kind: str) -> Evaluated:
    """One of the three functions of a transform: "constrain", "jacobian" or "unconstrain"."""
    t = TRANSFORMS[name]
    arguments = list(filter(None, t.arguments.split(", ")))
    in_python: dict[Pattern, str] = {}
    if kind == "unconstrain":
        arguments = ["y", *arguments[: max(len(pattern.split()) for pattern in t.back) - 1]]
        ways = {pattern: back for pattern, (back, _) in t.back.items()}
        tests = {pattern: (test, f"y must {t.expected}") for pattern, (_, test) in t.back.items()}
    else:
        arguments, part = ["u", *arguments], "" if kind == "jacobian" else "[0]"
        ways = {pattern: f"({way}){part}" for pattern, way in t.ways.items()}
        tests = dict.fromkeys(t.ways, t.domain) if t.domain[0] else {}
        if t.forward:
            in_python = dict.fromkeys(t.ways, f"forward({', '.join(arguments)}){part}")
    full = f"{name}_{kind}"
    function = function_of_text(f"def {full}({', '.join(arguments)}):\n    pass\n", full, {})
    function.__module__ = __name__
    call = f"{full}({', '.join(t.example[: len(arguments)])})"
    if kind == "unconstrain":
        call = call.replace(t.example[0], f"{name}_constrain({', '.join(t.example)})", 1)
    title, formula = _TITLES[kind]
    fields = {
        "Domain": f"{t.domain[1] or 'every u'}; y must {t.expected}.", "Raises": "ValueError outside this domain.",
        "Ref": "Stan Functions Reference, variable transformation functions.",
    }  # fmt: skip
    function.__doc__ = describe(title.format(name), formula, fields, f">>> import numpy as np\n>>> y = {call}")
    return Evaluated(function, ways, KNOWN, tests, in_python, _IN_PYTHON | {"forward": t.forward})


FUNCTIONS = {f"{name}_{kind}": _make(name, kind) for name in TRANSFORMS for kind in _TITLES}
__all__ = [name for name in FUNCTIONS if not (name.startswith(("real", "finite_")) or "_of_sticks_" in name)]
globals().update(FUNCTIONS)
