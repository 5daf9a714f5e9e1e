"""Stan's constraining transforms: from numbers without constraints to parameters, back, and the log-Jacobian between.

Each function makes a `Constraint`; `Parameters` holds a tree of them, so that a model is a function of named values:

>>> parameters = Parameters({"mu": real(), "sigma": lower_bound(0.0), "theta": simplex(3)})
>>> parameters.size
4
>>> values, log_jacobian = parameters.constrain(np.zeros(4))
>>> values["theta"]
array([0.33333333, 0.33333333, 0.33333333])
>>> parameters.unconstrain(values)
array([0., 0., 0., 0.])
"""

import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import optree

from contad.errors import UnsupportedError
from contad.ops.exponential import exp, log
from contad.ops.hyperbolic import arctanh, tanh
from contad.ops.logistic import log_expit, logit
from contad.ops.products import as_array, matmul
from contad.stan.compiled_constraints import ConstraintFunction, as_shape
from contad.variables.creation import zeros
from contad.variables.open_types import ArrayValue, Nested, Real, Value

__all__ = [
    "Constraint", "Parameters", "cholesky_factor_corr", "cholesky_factor_cov", "corr_matrix", "cov_matrix",
    "lower_bound", "lower_upper_bound", "offset_multiplier", "ordered", "positive_ordered", "real", "simplex",
    "stochastic_column", "stochastic_row", "sum_to_zero", "unit_vector", "upper_bound",
]  # fmt: skip

REAL = "1.0 * u", "0.0 * np.sum(u)", "1.0 * y", "True"
IS_SIMPLEX = "np.all(y >= 0.0) and abs(np.sum(y) - 1.0) <= 1e-8"


class Constraint(ModuleType):
    """A constraint: `size` numbers without one stand for a value of `shape`.

    It is a namespace of three functions, which Numba functions may call as those of a module:

    constrain(u)      the value of the parameter for numbers without constraints
    log_jacobian(u)   the logarithm of the absolute Jacobian determinant of `constrain`
    unconstrain(y)    the numbers that `constrain` makes y of; ValueError where y does not meet the constraint

    forward     of a vector: the value, and the log-Jacobian
    backward    of a value that has been checked
    accepts     whether a value meets the constraint, which is `expected`, in words
    loops       what compiled code has in the place of the three and of `accepts`, as expressions of u or y
    """

    def __init__(
        self, name: str, size: int, shape: tuple[int, ...], forward: Callable[[ArrayValue], tuple[Value, Real]],
        backward: Callable[[ArrayValue], ArrayValue], accepts: Callable[[ArrayValue], bool], expected: str,
        loops: Sequence[str] = (),
    ) -> None:  # fmt: skip
        # compiled code is kept by the name of a module of contad's: it tells all that the functions depend on
        super().__init__(f"{__name__}.{name}{shape}{tuple(loops)}", self.__doc__)
        self.name, self.size, self.shape, self.expected, self.accepts = name, size, shape, expected, accepts
        self.forward, self.backward = forward, backward
        self.loops = tuple(loops)
        value, logs, inverse, test = loops or ("", "", "", "")
        self.constrain = ConstraintFunction(self, self._constrain, "u", as_shape(value, shape))
        self.log_jacobian = ConstraintFunction(self, self._log_jacobian, "u", logs)
        self.unconstrain = ConstraintFunction(self, self._unconstrain, "y", inverse, test)

    def __repr__(self) -> str:
        return f"<{self.name} of shape {self.shape}>"

    def rename(self, name: str) -> "Constraint":
        """The same under another name."""
        return Constraint(
            name, self.size, self.shape, self.forward, self.backward, self.accepts, self.expected, self.loops
        )

    def _constrain(self, u: Nested) -> Value:
        return self.forward(self._vector(u))[0]

    def _log_jacobian(self, u: Nested) -> Real:
        return self.forward(self._vector(u))[1]

    def _unconstrain(self, y: Nested) -> ArrayValue:
        value = as_array(y)
        if np.shape(value) != self.shape:
            raise ValueError(f"{self.name}: y must have the shape {self.shape}, got {np.shape(value)}")
        if not self.accepts(value):
            raise ValueError(f"{self.name}: y must {self.expected}")
        return np.reshape(self.backward(value), (self.size,))

    def _vector(self, u: Nested) -> ArrayValue:
        given = as_array(u)
        if np.size(given) != self.size:
            raise ValueError(f"{self.name}: u must have {self.size} elements, got shape {np.shape(given)}")
        return np.reshape(given, (self.size,))


class Parameters:
    """A tree of transforms, as one vector without constraints."""

    def __init__(self, tree: Any) -> None:
        self.transforms: list[Constraint]
        self.transforms, self._structure = optree.tree_flatten(tree, is_leaf=lambda x: isinstance(x, Constraint))
        self.size = sum(t.size for t in self.transforms)

    @property
    def _numba_type_(self) -> NoReturn:
        raise UnsupportedError(
            "Parameters: a tree has no place inside njit; call constrain and log_jacobian of each constraint there, "
            "with its part of u"
        )

    def constrain(self, u: Nested) -> tuple[Any, Real]:
        """The tree of values, and the sum of the log-Jacobians."""
        given = as_array(u)
        if np.shape(given) != (self.size,):
            raise ValueError(f"Parameters: u must have {self.size} elements, got shape {np.shape(given)}")
        values, total, start = [], 0.0, 0
        for transform in self.transforms:
            value, log_jacobian = transform.forward(given[start : start + transform.size])
            values.append(value)
            total = total + log_jacobian
            start += transform.size
        return optree.tree_unflatten(self._structure, values), total

    def unconstrain(self, values: Any) -> ArrayValue:
        """The vector that `constrain` makes the tree of; ValueError where a value does not meet its constraint."""
        leaves = self._structure.flatten_up_to(values)
        parts = [t.unconstrain(x) for t, x in zip(self.transforms, leaves, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0)


# ---- numbers ---------------------------------------------------------------------------------------------------------
def _elementwise(
    name: str, shape: tuple[int, ...], forward: Any, backward: Any, accepts: Any, expected: str, loops: Sequence[str]
) -> Constraint:
    def run(u: ArrayValue) -> tuple[Value, Real]:
        value, logs = forward(u)
        return np.reshape(value, shape) if shape else value[0], logs

    size = math.prod(shape)
    return Constraint(name, size, shape, run, lambda y: backward(np.reshape(y, (size,))), accepts, expected, loops)


def real(shape: tuple[int, ...] = ()) -> Constraint:
    """Numbers without a constraint."""
    return _elementwise("real", shape, lambda u: (u, 0.0), lambda y: y, lambda y: True, "be real", REAL)


def lower_bound(lower: float, shape: tuple[int, ...] = ()) -> Constraint:
    """y = lower + e^u; log-Jacobian sum u."""
    if lower == -math.inf:
        return real(shape).rename("lower_bound")
    return _elementwise(
        "lower_bound", shape, lambda u: (exp(u) + lower, np.sum(u)), lambda y: log(y - lower),
        lambda y: bool(np.all(y >= lower)), f"be at least {lower}",
        (f"np.exp(u) + {lower!r}", "np.sum(u)", f"np.log(y - {lower!r})", f"np.all(y >= {lower!r})"),
    )  # fmt: skip


def upper_bound(upper: float, shape: tuple[int, ...] = ()) -> Constraint:
    """y = upper - e^u; log-Jacobian sum u."""
    if upper == math.inf:
        return real(shape).rename("upper_bound")
    return _elementwise(
        "upper_bound", shape, lambda u: (upper - exp(u), np.sum(u)), lambda y: log(upper - y),
        lambda y: bool(np.all(y <= upper)), f"be at most {upper}",
        (f"{upper!r} - np.exp(u)", "np.sum(u)", f"np.log({upper!r} - y)", f"np.all(y <= {upper!r})"),
    )  # fmt: skip


def lower_upper_bound(lower: float, upper: float, shape: tuple[int, ...] = ()) -> Constraint:
    """y = lower + (upper - lower) expit(u); log-Jacobian sum of log(upper - lower) + log expit(u) + log expit(-u)."""
    if not lower < upper:
        raise ValueError(f"lower_upper_bound: upper must be greater than lower, got {upper} and {lower}")
    if lower == -math.inf or upper == math.inf:
        one = upper_bound(upper, shape) if lower == -math.inf else lower_bound(lower, shape)
        return one.rename("lower_upper_bound")
    width = upper - lower

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        logs = log_expit(u)
        return lower + width * exp(logs), np.sum(logs + log_expit(-u)) + np.size(u) * math.log(width)

    return _elementwise(
        "lower_upper_bound", shape, forward, lambda y: logit((y - lower) / width),
        lambda y: bool(np.all((y >= lower) & (y <= upper))), f"be between {lower} and {upper}",
        (
            f"bounded_of(u, {lower!r}, {width!r})", f"log_jacobian_of_bounded(u, {width!r})",
            f"np.log((y - {lower!r}) / ({upper!r} - y))", f"np.all(y >= {lower!r}) and np.all(y <= {upper!r})",
        ),
    )  # fmt: skip


def offset_multiplier(offset: Real, multiplier: Real, shape: tuple[int, ...] = ()) -> Constraint:
    """y = offset + multiplier u; log-Jacobian n log multiplier. Both may be variables."""
    if not multiplier > 0.0:
        raise ValueError("offset_multiplier: multiplier must be positive")
    scaled: Sequence[str] = ()
    if isinstance(offset, (int, float)) and isinstance(multiplier, (int, float)):
        a, b = float(offset), float(multiplier)
        scaled = f"{a!r} + {b!r} * u", f"len(u) * {math.log(b)!r}", f"(y - {a!r}) / {b!r}", "True"
    return _elementwise(
        "offset_multiplier", shape, lambda u: (offset + multiplier * u, float(np.size(u)) * log(multiplier)),
        lambda y: (y - offset) / multiplier, lambda y: True, "be real", scaled,
    )  # fmt: skip


# ---- vectors ---------------------------------------------------------------------------------------------------------
def ordered(k: int) -> Constraint:
    """y_1 = u_1, y_i = y_(i-1) + e^u_i; log-Jacobian sum of u_2, ..., u_k."""

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        return np.cumsum(np.concatenate([u[:1], exp(u[1:])])), np.sum(u[1:])

    return Constraint(
        "ordered", k, (k,), forward, lambda y: np.concatenate([y[:1], log(y[1:] - y[:-1])]),
        lambda y: bool(np.all(y[1:] > y[:-1])), "increase",
        ("ordered_of(u)", "np.sum(u[1:])", "unordered_of(y)", "np.all(y[1:] > y[:-1])"),
    )  # fmt: skip


def positive_ordered(k: int) -> Constraint:
    """y_1 = e^u_1, y_i = y_(i-1) + e^u_i; log-Jacobian sum of u."""
    return Constraint(
        "positive_ordered", k, (k,), lambda u: (np.cumsum(exp(u)), np.sum(u)),
        lambda y: log(np.concatenate([y[:1], y[1:] - y[:-1]])),
        lambda y: bool(np.all(y[1:] > y[:-1]) and np.all(y > 0.0)), "be positive, and increase",
        (
            "positive_ordered_of(u)", "np.sum(u)", "positive_unordered_of(y)",
            "np.all(y[1:] > y[:-1]) and np.all(y > 0.0)",
        ),
    )  # fmt: skip


def _break_stick(u: ArrayValue) -> tuple[ArrayValue, Real]:
    """A simplex by the shares z_i = expit(u_i - log(k - i)) of what is left of 1."""
    count = np.shape(u)[0]
    shifted = u - np.log(np.arange(count, 0, -1.0))
    taken, left = log_expit(shifted), log_expit(-shifted)
    before = np.concatenate([np.zeros(1), np.cumsum(left)])
    logs = np.concatenate([taken + before[:-1], before[-1:]])
    return exp(logs), np.sum(taken) + np.sum(left) + np.sum(before[:-1])


def _mend_stick(y: ArrayValue) -> ArrayValue:
    count = np.shape(y)[0] - 1
    left = np.cumsum(y[::-1])[::-1]
    return log(y[:-1]) - log(left[1:]) + np.log(np.arange(count, 0, -1.0))


def _is_simplex(y: ArrayValue) -> bool:
    return bool(np.all(y >= 0.0) and abs(np.sum(y) - 1.0) <= 1e-8)


def simplex(k: int) -> Constraint:
    """k nonnegative numbers that sum to 1, by breaking a stick k - 1 times; u = 0 gives equal ones.

    y_i = z_i (1 - y_1 - ... - y_(i-1)) with z_i = expit(u_i - log(k - i)); log-Jacobian the sum of
    log z_i + log(1 - z_i) + log(1 - y_1 - ... - y_(i-1)).
    """
    return Constraint(
        "simplex", k - 1, (k,), _break_stick, _mend_stick, _is_simplex, "be nonnegative, and sum to 1",
        ("simplex_of(u)", "log_jacobian_of_simplex(u)", "sticks_of(y)", IS_SIMPLEX),
    )  # fmt: skip


def _stochastic(name: str, shape: tuple[int, int], axis: int) -> Constraint:
    count, k = shape[1 - axis], shape[axis]

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        parts = [_break_stick(u[j * (k - 1) : (j + 1) * (k - 1)]) for j in range(count)]
        total: Real = 0.0
        for _, logs in parts:
            total = total + logs
        return np.stack([y for y, _ in parts], axis=1 - axis), total

    def lines(y: ArrayValue) -> list[ArrayValue]:
        return [y[:, j] if axis == 0 else y[j] for j in range(count)]

    return Constraint(
        name, count * (k - 1), shape, forward, lambda y: np.concatenate([_mend_stick(line) for line in lines(y)]),
        lambda y: all(map(_is_simplex, lines(y))), f"have {'columns' if axis == 0 else 'rows'} that are simplices",
        (
            f"columns_of(u, {k}, {count}){'.T' if axis else ''}", f"log_jacobian_of_simplices(u, {count}, {k})",
            f"sticks_of_columns(y{'.T' if axis else ''})",
            f"np.all(y >= 0.0) and np.all(np.abs(np.sum(y, axis={axis}) - 1.0) <= 1e-8)",
        ),
    )  # fmt: skip


def stochastic_column(m: int, n: int) -> Constraint:
    """m x n matrices whose columns are simplices; column by column, as `simplex`."""
    return _stochastic("stochastic_column", (m, n), 0)


def stochastic_row(m: int, n: int) -> Constraint:
    """m x n matrices whose rows are simplices; row by row, as `simplex`."""
    return _stochastic("stochastic_row", (m, n), 1)


def sum_to_zero(k: int) -> Constraint:
    """k numbers that sum to 0, by an orthonormal basis of these; log-Jacobian 0."""
    basis = np.zeros((k, k - 1))
    for j in range(1, k):
        basis[:j, j - 1], basis[j, j - 1] = 1.0, -float(j)
        basis[:, j - 1] /= math.sqrt(j * (j + 1.0))
    return Constraint(
        "sum_to_zero", k - 1, (k,), lambda u: (matmul(basis, u), 0.0), lambda y: matmul(basis.T, y),
        lambda y: bool(abs(np.sum(y)) <= 1e-8), "sum to 0",
        ("zero_sum_of(u)", "0.0 * np.sum(u)", "free_of_zero_sum(y)", "abs(np.sum(y)) <= 1e-8"),
    )  # fmt: skip


def unit_vector(k: int) -> Constraint:
    """y = u / |u|; the term -|u|^2 / 2 in place of a log-Jacobian makes the length of u proper.

    `unconstrain` gives y itself.
    """

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        squares = np.sum(u * u)
        if not squares > 0.0:
            raise ValueError("unit_vector: u must be other than 0")
        return u / np.sqrt(squares), -0.5 * squares

    return Constraint(
        "unit_vector", k, (k,), forward, lambda y: y, lambda y: bool(abs(np.sum(y * y) - 1.0) <= 1e-8), "have length 1",
        ("u / np.sqrt(np.sum(u * u))", "-0.5 * np.sum(u * u)", "1.0 * y", "abs(np.sum(y * y) - 1.0) <= 1e-8"),
    )  # fmt: skip


# ---- matrices --------------------------------------------------------------------------------------------------------
def _log_squared_sech(u: ArrayValue) -> ArrayValue:
    """log(1 - tanh(u)^2)."""
    return 2.0 * math.log(2.0) + log_expit(2.0 * u) + log_expit(-2.0 * u)


def _correlation_rows(rows: list[ArrayValue]) -> tuple[ArrayValue, Real]:
    """The factor whose row i has the partial correlations tanh(rows[i - 1]), and the log-Jacobian."""
    size = len(rows) + 1
    made = zeros((size, size))
    made[0, 0] = 1.0
    total: Real = 0.0
    for i, u in enumerate(rows, start=1):
        logs = _log_squared_sech(u)
        sums = np.concatenate([np.zeros(1), np.cumsum(logs)])
        made[i, :i] = tanh(u) * exp(0.5 * sums[:-1])
        made[i, i] = exp(0.5 * sums[-1])
        total = total + np.sum(logs) + 0.5 * np.sum(sums[:-1])
    return made, total


def _partial_correlations(factor: ArrayValue) -> list[ArrayValue]:
    rows = []
    for i in range(1, np.shape(factor)[0]):
        row = factor[i, : i + 1]
        left = np.cumsum((row * row)[::-1])[::-1]
        rows.append(arctanh(row[:-1] / np.sqrt(left[:-1])))
    return rows


def _is_factor(y: ArrayValue) -> bool:
    return bool(np.all(np.diagonal(y) > 0.0) and np.all(y[np.triu_indices(np.shape(y)[0], 1, np.shape(y)[1])] == 0.0))


def _is_positive_definite(y: ArrayValue) -> bool:
    if not np.all(abs(y - y.T) <= 1e-8):
        return False
    try:
        np.linalg.cholesky(y)
    except np.linalg.LinAlgError:
        return False
    return True


def cholesky_factor_corr(k: int) -> Constraint:
    """Cholesky factors of k x k correlation matrices, by partial correlations tanh(u), row by row."""

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        return _correlation_rows([u[i * (i - 1) // 2 : i * (i + 1) // 2] for i in range(1, k)])

    return Constraint(
        "cholesky_factor_corr", k * (k - 1) // 2, (k, k), forward,
        lambda y: np.concatenate([np.zeros(0), *_partial_correlations(y)]),
        lambda y: _is_factor(y) and bool(np.all(abs(np.sum(y * y, axis=1) - 1.0) <= 1e-8)),
        "be lower triangular with a positive diagonal and rows of length 1",
        (
            f"correlation_factor_of(u, {k}, False)", f"log_jacobian_of_correlation_factor(u, {k})",
            "partial_correlations_of(y, False)", "is_cholesky_factor(y) and has_unit_rows(y)",
        ),
    )  # fmt: skip


def _columns_first(k: int) -> list[list[int]]:
    """The places, column by column below the diagonal, of the elements of each row."""
    place = {pair: n for n, pair in enumerate((i, j) for j in range(k) for i in range(j + 1, k))}
    return [[place[i, j] for j in range(i)] for i in range(1, k)]


def corr_matrix(k: int) -> Constraint:
    """k x k correlation matrices, by partial correlations tanh(u), column by column."""
    places = _columns_first(k)

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        factor, _ = _correlation_rows([u[at] for at in places])
        columns = np.concatenate([np.full(k - 1 - j, float(k - j - 2)) for j in range(k - 1)] or [np.zeros(0)])
        return matmul(factor, factor.T), np.sum((1.0 + 0.5 * columns) * _log_squared_sech(u))

    def backward(y: ArrayValue) -> ArrayValue:
        rows = _partial_correlations(np.linalg.cholesky(y))
        order = np.argsort(np.concatenate([np.zeros(0, int), *map(np.asarray, places)]).astype(int))
        return np.concatenate([np.zeros(0), *rows])[order]

    return Constraint(
        "corr_matrix", k * (k - 1) // 2, (k, k), forward, backward,
        lambda y: bool(np.all(abs(np.diagonal(y) - 1.0) <= 1e-8)) and _is_positive_definite(y),
        "be symmetric and positive definite, with ones on the diagonal",
        (
            f"correlations_of(u, {k})", f"log_jacobian_of_correlations(u, {k})",
            "partial_correlations_of(cholesky(y), True)", "has_unit_diagonal(y) and is_symmetric(y)",
        ),
    )  # fmt: skip


def _fill_factor(u: ArrayValue, m: int, n: int) -> tuple[ArrayValue, ArrayValue]:
    """A factor by rows, with exponentials on the diagonal, and the logarithms of these."""
    made, start, logs = zeros((m, n)), 0, []
    for i in range(m):
        width = min(i, n)
        made[i, :width] = u[start : start + width]
        start += width
        if i < n:
            made[i, i] = exp(u[start])
            logs.append(u[start : start + 1])
            start += 1
    return made, np.concatenate(logs)


def _read_factor(y: ArrayValue) -> ArrayValue:
    m, n = np.shape(y)
    parts = []
    for i in range(m):
        parts.append(y[i, : min(i, n)])
        if i < n:
            parts.append(np.reshape(log(y[i, i]), (1,)))
    return np.concatenate(parts)


def cholesky_factor_cov(m: int, n: int | None = None) -> Constraint:
    """m x n lower triangular matrices with a diagonal e^u, n <= m; log-Jacobian the sum of these u."""
    columns = m if n is None else n
    size = columns * (columns + 1) // 2 + (m - columns) * columns

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        factor, logs = _fill_factor(u, m, columns)
        return factor, np.sum(logs)

    return Constraint(
        "cholesky_factor_cov", size, (m, columns), forward, _read_factor, _is_factor,
        "be lower triangular with a positive diagonal",
        (
            f"factor_of(u, {m}, {columns})", f"log_jacobian_of_factor(u, {m}, {columns})", "free_of_factor(y)",
            "is_cholesky_factor(y)",
        ),
    )  # fmt: skip


def cov_matrix(k: int) -> Constraint:
    """k x k covariance matrices L L^T, with L as of `cholesky_factor_cov`.

    log-Jacobian k log 2 + sum_i (k - i + 2) u_i, of the u_i on the diagonal, i = 1, ..., k.
    """

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        factor, logs = _fill_factor(u, k, k)
        return matmul(factor, factor.T), k * math.log(2.0) + np.sum(np.arange(k + 1.0, 1.0, -1.0) * logs)

    return Constraint(
        "cov_matrix", k * (k + 1) // 2, (k, k), forward, lambda y: _read_factor(np.linalg.cholesky(y)),
        _is_positive_definite, "be symmetric and positive definite",
        (
            f"covariance_of(u, {k})", f"log_jacobian_of_covariance(u, {k})", "free_of_factor(cholesky(y))",
            "is_symmetric(y)",
        ),
    )  # fmt: skip
