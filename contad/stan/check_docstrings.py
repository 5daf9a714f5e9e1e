"""The docstrings of Stan's checks: the condition as a formula, and a call that is refused."""

from contad.distributions.docstrings import describe

# by the name without "check_": the condition; arguments after the name of the function, and the message of their
# refusal
EXAMPLES: dict[str, tuple[str, str, str]] = {
    "finite": ("|y_i| < inf", '"y", [1.0, np.inf]', "y must be finite, got inf at index 1"),
    "not_nan": ("y_i = y_i", '"y", [np.inf, np.nan]', "y must be a number, not nan, got nan at index 1"),
    "positive": ("y_i > 0", '"y", [1.0, -2.0]', "y must be positive, got -2.0 at index 1"),
    "nonnegative": ("y_i >= 0", '"y", [0.0, -2.0]', "y must be nonnegative, got -2.0 at index 1"),
    "positive_finite": ("0 < y_i < inf", '"y", [1.0, np.inf]', "y must be positive and finite, got inf at index 1"),
    "bounded": (
        "low_i <= y_i <= high_i", '"y", [0.2, 1.3], 0.0, 1.0', "y must be between 0.0 and 1.0, got 1.3 at index 1",
    ),
    "greater": ("y_i > low_i", '"y", [0.2, 0.1], 0.1', "y must be greater than 0.1, got 0.1 at index 1"),
    "greater_or_equal": ("y_i >= low_i", '"y", [0.1, 0.0], 0.1', "y must be at least 0.1, got 0.0 at index 1"),
    "less": ("y_i < high_i", '"y", [0.2, 0.1], [0.3, 0.1]', "y must be less than 0.1, got 0.1 at index 1"),
    "less_or_equal": ("y_i <= high_i", '"y", [0.2, 0.4], 0.3', "y must be at most 0.3, got 0.4 at index 1"),
    "cholesky_factor": (
        "y_ij = 0 for i < j,     y_ii > 0,     of m rows and 0 < n <= m columns", '"y", [[1.0, 0.0], [0.5, -1.0]]',
        "y must be lower triangular with a positive diagonal, no wider than high, got a diagonal of -1.0 at index 1",
    ),
    "cholesky_factor_corr": (
        "y_ij = 0 for i < j,     y_ii > 0,     |sum_j y_ij^2 - 1| <= 1e-8", '"y", [[1.0, 0.0], [0.5, 1.0]]',
        "y must be the Cholesky factor of a correlation matrix, got a row whose squares sum to 1.25 at index 1",
    ),
    "corr_matrix": (
        "x^T y x > 0 for every x other than 0,     |y_ij - y_ji| <= 1e-8,     |y_ii - 1| <= 1e-8",
        '"y", [[1.0, 0.5], [0.5, 2.0]]', "y must be a correlation matrix, got a diagonal of 2.0 at index 1",
    ),
    "cov_matrix": (
        "x^T y x > 0 for every x other than 0,     |y_ij - y_ji| <= 1e-8", '"y", [[1.0, 0.5], [0.5, 0.2]]',
        "y must be symmetric and positive definite, got a matrix with no Cholesky factor",
    ),
    "lower_triangular": (
        "y_ij = 0 for i < j", '"y", [[1.0, 0.5], [0.0, 1.0]]',
        "y must be lower triangular, got an element above of 0.5 at index (0, 1)",
    ),
    "nonzero_size": ("the number of elements > 0", '"y", []', "y must have elements, got shape (0,)"),
    "ordered": (
        "y_i > y_(i - 1)", '"y", [0.5, 1.5, 1.5]', "y must be increasing, got no greater element after 1.5 at index 1",
    ),
    "pos_definite": (
        "x^T y x > 0 for every x other than 0,     |y_ij - y_ji| <= 1e-8", '"y", [[1.0, 0.5], [0.25, 1.0]]',
        "y must be symmetric and positive definite, got elements that differ by 0.25 at index (0, 1)",
    ),
    "pos_semidefinite": (
        "x^T y x >= 0 for every x, to 1e-8,     |y_ij - y_ji| <= 1e-8", '"y", [[1.0, 0.0], [0.0, -0.5]]',
        "y must be symmetric and positive semidefinite, got the eigenvalue -0.5",
    ),
    "positive_ordered": (
        "0 <= y_1 < y_2 < ...", '"y", [-0.5, 1.5]', "y must be nonnegative and increasing, got -0.5 first",
    ),
    "simplex": (
        "y_i >= 0,     |sum_i y_i - 1| <= 1e-8", '"y", [0.25, 0.5]',
        "y must be a simplex: nonnegative numbers that sum to 1, got the sum 0.75",
    ),
    "sorted": (
        "y_i >= y_(i - 1)", '"y", [0.5, 1.5, 1.0]',
        "y must be in ascending order, got a greater element before 1.0 at index 1",
    ),
    "square": ("m = n, for m rows and n columns", '"y", [[1.0, 2.0]]', "y must be a square matrix, got shape (1, 2)"),
    "symmetric": (
        "|y_ij - y_ji| <= 1e-8", '"y", [[1.0, 0.5], [0.25, 1.0]]',
        "y must be a symmetric matrix, got elements that differ by 0.25 at index (0, 1)",
    ),
    "unit_vector": (
        "|sum_i y_i^2 - 1| <= 1e-8", '"y", [0.5, 1.0]', "y must be of length 1, got squares that sum to 1.25",
    ),
    "vector": (
        "m = 1 or n = 1, for m rows and n columns", '"y", [[1.0, 2.0], [3.0, 4.0]]',
        "y must be a vector, or a matrix of one row or column, got shape (2, 2)",
    ),
    "matching_dims": (
        "shape(y1) = shape(y2)", '"x", [1.0, 2.0], "y", [[1.0, 2.0]]',
        "x must have the shape of y, got shapes (2,) and (1, 2)",
    ),
    "matching_sizes": (
        "size(y1) = size(y2)", '"x", [1.0, 2.0], "y", [[1.0, 2.0, 3.0]]',
        "x must have as many elements as y, got shapes (2,) and (1, 3)",
    ),
    "multiplicable": (
        "columns(y1) = rows(y2) > 0", '"x", [[1.0, 2.0]], "y", [[1.0], [2.0], [3.0]]',
        "x must have as many columns as there are rows of y, got shapes (1, 2) and (3, 1)",
    ),
    "size_match": ("i = j", '"rows of x", 2, "rows of y", 3', "rows of x must be rows of y = 3, got 2"),
    "consistent_size": (
        "x is a number, or size(x) = expected_size", '"x", [1.0, 2.0], 3',
        "x must be a number or have 3 elements, got shape (2,)",
    ),
    "range": ("0 <= index < max", '"x", 3, 3', "x must have a place 3, got 3 of them, from 0"),
    "column_index": ("0 <= i < columns(y)", '"y", [[1.0, 2.0]], 2', "y must have a column 2, got 2 of them, from 0"),
    "row_index": ("0 <= i < rows(y)", '"y", [[1.0, 2.0]], 1', "y must have a row 1, got 1 of them, from 0"),
    "vector_index": ("0 <= i < size(y)", '"y", [1.0, 2.0], -1', "y must have an element -1, got 2 of them, from 0"),
}  # fmt: skip


def describe_check(name: str, what: str, arguments: str) -> str:
    """The docstring of a check of `what`; the names of its arguments are in one string."""
    formula, call, message = EXAMPLES[name.removeprefix("check_")]
    of_place = name.endswith(("_index", "_range"))
    error, what_is = ("IndexError", "how many there are") if of_place else ("ValueError", "what it is")
    fields = {
        "Arguments": f"{arguments.replace(' ', ', ')}.",
        "Raises": f"{error} that names function and argument, what it must be and {what_is}.",
        "Ref": f"Stan Math's {name}{', from 0' if of_place else ''}.",
    }
    example = f'>>> {name}("f", {call})\nTraceback (most recent call last):\n{error}: f: {message}'
    return describe(f"Raise unless {what}.", formula, fields, example)
