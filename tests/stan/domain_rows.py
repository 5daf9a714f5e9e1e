"""The table of what Stan Math does at the edges of domains: its rows, as arguments and outcomes, and what differs."""

import functools
import math
import re
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("domain_table.txt")
NAMES = {"nan": math.nan, "inf": math.inf}

# where contad does something else, and why: what the rows look like, and whether contad raises or gives a value
KEPT = [
    (r"uniform_l?c?cdf", "value", "above the interval the probability is 1; Stan 4.9 has 0 there"),
    (r"beta_binomial_l?c?cdf iidd", "value", "the probability exists; Stan's series for it does not converge"),
    (r"gaussian_dlm_obs_lpdf .*0\.4,nan", "value", "nan marks a value that is missing, which contad documents"),
    (r"lkj_cov_lpdf mvvd .* 1\.0$", "value", "at eta = 1 Stan 4.9 refuses covariances other than correlations"),
    (r"lkj_corr_cholesky_lpdf .*\[\[1.0,0.0\],\[0.6,0.8\],\[0.6,0.8\]\]", "raise", "a correlation's factor is square"),
    (r"multi_normal(_prec)?_lpdf V[vV]m \[\] ", "value", "no vectors: a sum of no terms, whatever the parameters are"),
    (r"multi_student_t_lpdf vdvm \[\]", "raise", "one vector whose length is not that of the matrix"),
    (r"inv_wishart_cholesky_lpdf .*\[\[inf", "value", "nan, of an infinite factor: infinite terms of both signs"),
    (r"(inverse|mdivide_(left|right)|chol2inv) ", "raise", "as NumPy: a singular matrix has no inverse"),
    (r"eigenvectors_sym m \[\[inf", "value", "nan, of an infinite matrix: LAPACK's are any numbers"),
    (r"log_determinant_spd ", "raise", "as cholesky_decompose: the matrix is not positive definite"),
    (r"lower_upper_bound vvv .*-inf", "raise", "bounds in an array are finite, as the transform's docstring says"),
    (r"(lower_bound|upper_bound|lower_upper_bound|offset_multiplier) v", "value", "bounds broadcast to a shape"),
]  # fmt: skip


@functools.cache
def read_table():
    """The rows, as (arguments, outcome), by name and kinds of arguments."""
    found = {}
    rows = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            continue
        if " = " in line:
            rows += [tuple(row.split(" = ")) for row in line.split("; ")]
        else:
            rows = found[tuple(line.split())] = []
    return found


def read(text, kind):
    """An argument as contad takes it."""
    x = eval(text, NAMES)
    if kind in "mV":
        return np.array(x, dtype=float).reshape((len(x), -1) if x else (0, 0))
    return float(x) if kind in "di" else np.array(x, dtype=float)


def outcome_of(function, args):
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*args), dtype=float)
    except ValueError as error:  # LinAlgError is one
        return "raise" if re.search(r"\w+: |positive definite|[Ss]ingular", str(error)) else f"without a name: {error}"


def agrees(found, expected):
    if expected == "raise" or isinstance(found, str):
        return str(found) == "raise" and expected in ("raise", "nan")
    wanted = np.array(eval(expected, NAMES), dtype=float)
    close = np.isclose(found, wanted, rtol=1e-6, atol=1e-9) if found.size == wanted.size else False
    return bool(np.all(close | np.isnan(wanted)))  # for nan contad may have the limit


def reason_to_differ(name, kinds, given, found):
    what = "raise" if isinstance(found, str) else "value"
    return any(re.match(row, f"{name} {kinds} {given}") and what == kind for row, kind, _ in KEPT)
