"""Stan's checks of arguments inside njit: their conditions, by the name of the check and the axes of values.

Messages are those of Python without the value received, which compiled code cannot format. The names of the function
and of its argument are literal strings in the call.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.distributions.faces import DOMAINS, function_of_text
from contad.ops.logic import stop_gradient
from contad.stan import bodies

# numbers of axes of the values of checks of elements
_NUMBERS = "0", "0 0", "0 0 0"
_ARRAYS = "1", "2", "1 0", "2 0", "1 1", "2 2", "1 0 0", "2 0 0", "1 1 1", "2 2 2"
# by kind: the condition on each element in words and as an expression; both contain the names of bounds
ELEMENTS = {
    "finite": DOMAINS["finite"],
    "not_nan": DOMAINS["real"],
    "positive": DOMAINS["positive"],
    "nonnegative": DOMAINS["nonnegative"],
    "positive_finite": DOMAINS["positive finite"],
    "bounded": ("be between {low} and {high}", "({x} >= low) and ({x} <= high)"),
    "greater": ("be greater than {low}", "{x} > low"),
    "greater_or_equal": ("be at least {low}", "{x} >= low"),
    "less": ("be less than {high}", "{x} < high"),
    "less_or_equal": ("be at most {high}", "{x} <= high"),
}
# by check: the condition, by the numbers of axes of its values
ARRAYS = {
    "check_cholesky_factor": {"2": "is_cholesky_factor(y)"},
    "check_cholesky_factor_corr": {"2": "is_square(y) and is_cholesky_factor(y) and has_unit_rows(y)"},
    "check_corr_matrix": {"2": "is_positive_definite(y) and has_unit_diagonal(y)"},
    "check_cov_matrix": {"2": "is_positive_definite(y)"},
    "check_lower_triangular": {"2": "is_lower_triangular(y)"},
    "check_nonzero_size": {"1": "len(y) > 0", "2": "y.shape[0] * y.shape[1] > 0"},
    "check_ordered": {"1": "increases(y) and np.all(y == y)"},
    "check_pos_definite": {"2": "is_positive_definite(y)"},
    "check_pos_semidefinite": {
        "2": "is_symmetric(y) and has_factor(stop_gradient(y) + 1e-8 * max(np.max(np.diag(y)), 1.0) * np.eye(len(y)))"
    },
    "check_positive_ordered": {"1": "increases(y) and np.all(y >= 0.0)"},
    "check_simplex": {"1": "len(y) > 0 and is_simplex(y)"},
    "check_sorted": {"1": "np.all(y[1:] >= y[:-1]) and np.all(y == y)"},
    "check_square": {"2": "is_square(y)"},
    "check_symmetric": {"2": "is_symmetric(y)"},
    "check_unit_vector": {"1": "abs(np.sum(y * y) - 1.0) <= 1e-8"},
    "check_vector": {"1": "True", "2": "y.shape[0] == 1 or y.shape[1] == 1"},
    "check_matching_dims": {
        "1 1": "len(y1) == len(y2)", "2 2": "y1.shape[0] == y2.shape[0] and y1.shape[1] == y2.shape[1]",
    },
    "check_matching_sizes": {
        "1 1": "len(y1) == len(y2)", "2 2": "y1.shape[0] * y1.shape[1] == y2.shape[0] * y2.shape[1]",
    },
    "check_multiplicable": {"2 1": "y1.shape[1] == len(y2) > 0", "2 2": "y1.shape[1] == y2.shape[0] > 0"},
    "check_size_match": {"0 0": "i == j"},
    "check_consistent_size": {"0 0": "True", "1 0": "len(x) == expected_size"},
    "check_range": {"0 0": "0 <= index < max"},
    "check_column_index": {"2 0": "0 <= i < y.shape[1]"},
    "check_row_index": {"2 0": "0 <= i < y.shape[0]", "1 0": "0 <= i < len(y)"},
    "check_vector_index": {"1 0": "0 <= i < len(y)"},
    "check_2F1_converges": {"0 0 0 0": "has_sum(np.array([a1, a2]), np.array([b1]), z)"},
    "check_3F2_converges": {"0 0 0 0 0 0": "has_sum(np.array([a1, a2, a3]), np.array([b1, b2]), z)"},
}  # fmt: skip


def condition_of(check: str, axes: Sequence[int]) -> str | None:
    """The condition on values with these numbers of axes; None if compiled code has no such check."""
    pattern = " ".join(map(str, axes))
    kind = check.removeprefix("check_")
    if kind in ELEMENTS:
        parts = ELEMENTS[kind][1].format(x="y").split(" and ")
        of_each = "({})" if pattern in _NUMBERS else "np.all({})"
        return " and ".join(map(of_each.format, parts)) if pattern in _NUMBERS or pattern in _ARRAYS else None
    return ARRAYS.get(check, {}).get(pattern)


def write_sizes(check: str, names: Sequence[str], given: Sequence[Any]) -> Any:
    """The body of a check that values with a size, each after its name, have the same size."""
    of, least = ("len({})", 2) if check.endswith("_mvt") else ("{}.size", 1)
    values = [(given[k - 1], of.format(names[k])) for k in range(2, len(given), 2)]
    sizes = [pair for pair, axes in zip(values, given[2::2], strict=True) if axes >= least]
    lines = [f"def {check}({', '.join(names[: len(given)])}):"]
    for name, size in sizes:
        message = f"{given[0]}: {name} must have the size of {sizes[0][0]}"
        lines += [f"    if {size} != {sizes[0][1]}:", f"        raise ValueError({message!r})"]
    return function_of_text("\n".join([*lines, "    return None"]) + "\n", check, {})


def write_check(check: str, names: Sequence[str], given: Sequence[Any], what: str) -> Any:
    """The body of a check; None if there is none.

    what     the condition in words, with the names of arguments in braces
    """
    texts = {name: x for name, x in zip(names, given, strict=False) if isinstance(x, str)}
    condition = condition_of(check, [x for x in given if not isinstance(x, str)])
    if len(given) != len(names) or condition is None:
        return None
    error = "IndexError" if check.endswith(("_index", "_range")) else "ValueError"
    named = {name: texts.get(name, name) for name in names}
    series = check.split("_")[1]  # in checks that get no name
    subject = next((texts[name] for name in ("name", "name1", "name_i") if name in texts), series)
    message = f"{texts['function']}: {subject} must {what.format(**named)}"
    text = f"def {check}({', '.join(names)}):\n    if not ({condition}):\n        raise {error}({message!r})\n"
    return function_of_text(text, check, vars(bodies) | {"np": np, "stop_gradient": stop_gradient})
