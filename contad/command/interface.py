"""Options, output and exit status of `python -m contad`."""

import argparse
import contextlib
import csv
import math
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from contad.command.examination import examine
from contad.command.report import as_json
from contad.command.source import CommandError, Problem, assignment, bind, load_module
from contad.variables.open_types import Options

DESCRIPTION = """\
Differentiate a function of a Python file, at the point and with the data that the file defines, and check the gradient
against finite differences. Without FILE.py:FUNCTION: fit a Bayesian logistic regression to the 569 patients of the
Wisconsin breast-cancer table with contad's gradient."""

EPILOG = """\
Parameters with numeric defaults are the point. A parameter without a default takes the file's variable of that name and
is constant, unless --wrt names it. Lists, tuples, dicts and arrays of numbers are differentiated number by number.

example: model.py contains
    import contad
    times = [1.0, 2.0, 4.0]
    def log_likelihood(times, rate=0.5):
        return sum(contad.log(rate) - rate * t for t in times)
and then
    python -m contad model.py:log_likelihood
    python -m contad model.py:log_likelihood --at rate=0.7 --check

exit status: 0 done; 1 --check found a disagreement; 2 an error, named in one line on stderr."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see python -m contad --help)")


def parser() -> argparse.ArgumentParser:
    """The options."""
    p = _Parser("python -m contad", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    p.formatter_class = argparse.RawDescriptionHelpFormatter
    p.add_argument("target", nargs="?", metavar="FILE.py:FUNCTION")
    p.add_argument("--at", action="append", default=[], metavar="NAME=VALUE", help="move the point; may be repeated")
    p.add_argument(
        "--wrt",
        action="append",
        default=[],
        metavar="NAME,NAME",
        help="the parameters to differentiate; may be repeated",
    )
    p.add_argument("--engine", metavar="NAME", help="matrix (the default), records or closures")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    p.add_argument("--check", action="store_true", help="exit 1 if gradient and differences disagree")
    p.add_argument("--tolerance", type=float, default=1e-6, metavar="T", help="largest relative disagreement, 1e-6")
    p.add_argument("--data", metavar="FILE.csv", help="another table for the example")
    p.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        try:
            options = parser().parse_args(arguments)
        except SystemExit as stop:  # --help
            return int(stop.code or 0)
        with _warnings(debug):
            return _example(options) if options.target is None else _file(options)
    except Exception as error:
        if debug:
            traceback.print_exc()
        known = isinstance(error, CommandError)
        message = error if known else f"unexpected {type(error).__name__}: {error} (--debug shows where)"
        print("contad:", _line(message), file=sys.stderr)
        return 2


def _file(options: argparse.Namespace) -> int:
    """Report on a function of a user's file."""
    path, colon, name = options.target.rpartition(":")
    if not colon or not path or not name:
        raise CommandError(f"expected FILE.py:FUNCTION, got {options.target!r}")
    if options.data is not None:
        raise CommandError("--data is for the example; a function's data are in its own file")
    _check_tolerance(options.tolerance)
    at = dict(map(assignment, options.at))
    wrt = [name.strip() for names in options.wrt for name in names.split(",")]
    # with --json, standard output is for the report alone
    with (
        contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext(),
        load_module(path) as module,
    ):
        report = examine(bind(module, path, name, at, wrt), options.engine, options.tolerance)
    print(as_json(report.as_dict()) if options.json else report.text())
    return 1 if options.check and not report.agrees else 0


def _example(options: argparse.Namespace) -> int:
    """Report on the function of the bundled example, and fit it."""
    from contad.example import logistic_regression

    if options.at or options.wrt:
        raise CommandError("--at and --wrt need a FILE.py:FUNCTION")
    _check_tolerance(options.tolerance)
    path = logistic_regression.DATA if options.data is None else options.data
    try:
        table = logistic_regression.read_table(path)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:
        raise CommandError(str(error)) from error
    names = ["intercept", *table.names]
    values: Options = {"coefficients": [logistic_regression.CHECKED_AT] * len(names)}
    values |= {"features": table.features, "malignant": table.malignant}
    label = "contad.example.logistic_regression:log_posterior"
    problem = Problem(label, logistic_regression.__file__, logistic_regression.log_posterior, values, ("coefficients",))
    report = examine(problem, options.engine, options.tolerance, names)
    try:
        fitted = logistic_regression.fit(table, options.engine)
    except ArithmeticError as error:
        raise CommandError(f"{path}: {error}") from error
    if options.json:
        coefficients = {n: {"mean": m, "sd": s} for n, m, s in zip(names, fitted.mean, fitted.sd, strict=True)}
        found = {
            "patients": len(table.malignant),
            "malignant": int(sum(table.malignant)),
            "coefficients": coefficients,
            "log_posterior": fitted.log_posterior,
            "correct": fitted.correct,
            "accuracy": fitted.correct / len(table.malignant),
            "gradients": fitted.gradients,
        }
        print(as_json({"fit": found} | report.as_dict()))
    else:
        print(_fit_text(table, names, fitted))
        print(f"\nThe gradient, where all coefficients are {logistic_regression.CHECKED_AT}:\n{report.text()}")
    return 1 if options.check and not report.agrees else 0


def _fit_text(table: Any, names: list[str], fitted: Any) -> str:
    patients = len(table.malignant)
    lines = [f"Bayesian logistic regression: {patients} patients, {sum(table.malignant):.0f} malignant", ""]
    width = max(map(len, names))
    lines.append(f"  {'coefficient':<{width}}       mean        sd")
    for name, mean, sd in zip(names, fitted.mean, fitted.sd, strict=True):
        lines.append(f"  {name:<{width}}  {mean:9.6f}  {sd:8.6f}")
    lines += ["", f"accuracy      {fitted.correct / patients:.4f} ({fitted.correct} of {patients})"]
    lines.append(f"log posterior {fitted.log_posterior:.10g} at the mode, after {fitted.gradients} gradients")
    return "\n".join(lines)


def _check_tolerance(tolerance: float) -> None:
    if not 0.0 < tolerance < math.inf:
        raise CommandError(f"--tolerance: expected a positive number, got {tolerance}")


@contextlib.contextmanager
def _warnings(debug: bool) -> Iterator[None]:
    """Keep warnings off stderr, where an error is one line; --debug shows them."""
    if debug:
        yield
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _line(message: object, longest: int = 400) -> str:
    """The message on one line, shortened."""
    line = " ".join(str(message).split())
    return line if len(line) <= longest else line[: longest - 4] + " ..."
