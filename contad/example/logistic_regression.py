"""Bayesian logistic regression: which features of a cell nucleus speak of a malignant tumour, and how surely?

    malignant ~ Bernoulli(expit(intercept + sum_k slope_k x_k)),     intercept, slope_k ~ Normal(0, 2.5)

where x_k are standardised features. The log posterior is plain scalar Python; contad differentiates it twice: once for
the optimiser, and once more for the standard deviations of the normal approximation at the mode.
"""

import csv
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import contad

DATA = Path(__file__).with_name("breast_cancer.csv")
PRIOR_SD = 2.5
CHECKED_AT = 0.5  # every component of the gradient is large where all coefficients have this value


class Table(NamedTuple):
    """Patients: the names of the features, their standardised values, and 1.0 for malignant, 0.0 for benign."""

    names: list[str]
    features: list[list[float]]
    malignant: list[float]


class Fit(NamedTuple):
    """The mode of the posterior, its standard deviations there, and what became of the patients it was fitted to."""

    mean: list[float]
    sd: list[float]
    log_posterior: float
    correct: int
    gradients: int


def log_posterior(coefficients: Any, features: list[list[float]], malignant: list[float]) -> Any:
    """The log density of the coefficients given the data, up to a constant."""
    intercept, *slopes = coefficients
    total = 0.0
    for c in coefficients:
        total = total - 0.5 * (c / PRIOR_SD) ** 2
    for x, y in zip(features, malignant, strict=True):
        logit = intercept
        for slope, value in zip(slopes, x, strict=True):
            logit = logit + slope * value
        total = total + y * logit - np.logaddexp(0.0, logit)
    return total


def fit(table: Table, engine: str | None = None) -> Fit:
    """Maximise the log posterior with SciPy; ArithmeticError if that fails."""
    from scipy.optimize import minimize

    value_and_grad = contad.value_and_grad(log_posterior, engine=engine)

    def loss(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_grad(coefficients.tolist(), table.features, table.malignant)
        return -value, -np.array(gradient)

    start = np.zeros(len(table.names) + 1)
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6})
    if not np.max(np.abs(found.jac)) < 1e-3:
        raise ArithmeticError(f"the fit did not converge: {found.message}")
    mean = found.x.tolist()
    precision = -np.array(contad.hessian(log_posterior, engine=engine)(mean, table.features, table.malignant))
    sd = np.sqrt(np.diag(np.linalg.inv(precision))).tolist()
    correct = sum((_logit(mean, x) > 0.0) == (y == 1.0) for x, y in zip(table.features, table.malignant, strict=True))
    return Fit(mean, sd, -float(found.fun), correct, int(found.nfev))


def _logit(coefficients: list[float], x: list[float]) -> float:
    return coefficients[0] + sum(c * v for c, v in zip(coefficients[1:], x, strict=True))


def read_table(path: Path | str = DATA) -> Table:
    """The table in a CSV file with a column `diagnosis` (M or B) and columns of numbers.

    Raises ValueError that names the row (the first below the header is 1) and the column of a cell it cannot use.
    """
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    names = [name for name in header if name != "diagnosis"]
    if len(header) - len(names) != 1 or not names:
        raise ValueError(f"{path}: expected a header with one column 'diagnosis' and at least one other, got {header}")
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: a column's name occurs twice in the header {header}")
    if len(rows) < 2:
        raise ValueError(f"{path}: expected at least two rows below the header, got {len(rows)}")
    diagnoses, columns = [], {name: [] for name in names}  # type: tuple[list[float], dict[str, list[float]]]
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            missing = f": no {header[len(row)]!r}" if len(row) < len(header) else ""
            raise ValueError(f"{path}: row {number} has {len(row)} cells, expected {len(header)}{missing}")
        for name, cell in zip(header, row, strict=True):
            if name == "diagnosis":
                diagnoses.append(_diagnosis(cell, f"{path}: row {number}, column {name!r}"))
            else:
                columns[name].append(_number(cell, f"{path}: row {number}, column {name!r}"))
    for name, column in columns.items():
        if len(set(column)) == 1:
            raise ValueError(f"{path}: column {name!r} has the value {column[0]:g} in every row")
    standardised = [_standardise(column) for column in columns.values()]
    return Table(names, [list(x) for x in zip(*standardised, strict=True)], diagnoses)


def _standardise(column: list[float]) -> list[float]:
    """The column with mean 0 and standard deviation 1."""
    mean = math.fsum(column) / len(column)
    sd = math.sqrt(math.fsum((x - mean) ** 2 for x in column) / len(column))
    return [(x - mean) / sd for x in column]


def _number(cell: str, place: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{place}: expected a finite number, got {cell!r}")
    return value


def _diagnosis(cell: str, place: str) -> float:
    if cell not in ("M", "B"):
        raise ValueError(f"{place}: expected M (malignant) or B (benign), got {cell!r}")
    return 1.0 if cell == "M" else 0.0
