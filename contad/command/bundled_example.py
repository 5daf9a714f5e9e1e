"""`python -m contad` without a function: the bundled example, its fit and its gradient."""

import csv
from pathlib import Path
from typing import Any, NamedTuple

from contad.command.examination import examine
from contad.command.point import Problem
from contad.command.report import CommandReport
from contad.command.user_file import CommandError, load_module
from contad.variables.open_types import Options

_EXAMPLE = Path(__file__).parents[1] / "example" / "logistic_regression.py"  # treated like any user's file


class ExampleReport(NamedTuple):
    """The report on the log posterior, and its maximum."""

    report: CommandReport
    table: Any
    names: list[str]
    fitted: Any
    checked_at: float

    def text(self, colours: bool) -> str:
        """The report for people."""
        point = f"The gradient, where all coefficients are {self.checked_at}:"
        return f"{self._fit_text()}\n\n{point}\n{self.report.text(colours)}"

    def as_dict(self) -> dict[str, Any]:
        """The report in types that JSON can hold."""
        fitted, malignant = self.fitted, self.table.malignant
        coefficients = {n: {"mean": m, "sd": s} for n, m, s in zip(self.names, fitted.mean, fitted.sd, strict=True)}
        found = {
            "patients": len(malignant),
            "malignant": int(sum(malignant)),
            "coefficients": coefficients,
            "log_posterior": fitted.log_posterior,
            "correct": fitted.correct,
            "accuracy": fitted.correct / len(malignant),
            "gradients": fitted.gradients,
        }
        return {"fit": found} | self.report.as_dict()

    def _fit_text(self) -> str:
        fitted, patients = self.fitted, len(self.table.malignant)
        lines = [f"Bayesian logistic regression: {patients} patients, {sum(self.table.malignant):.0f} malignant", ""]
        width = max(map(len, self.names))
        lines.append(f"  {'coefficient':<{width}}       mean        sd")
        for name, mean, sd in zip(self.names, fitted.mean, fitted.sd, strict=True):
            lines.append(f"  {name:<{width}}  {mean:9.6f}  {sd:8.6f}")
        lines += ["", f"accuracy      {fitted.correct / patients:.4f} ({fitted.correct} of {patients})"]
        lines.append(f"log posterior {fitted.log_posterior:.10g} at the mode, after {fitted.gradients} gradients")
        return "\n".join(lines)


def examine_example(path: str | None, engine: str | None, tolerance: float) -> ExampleReport:
    """Differentiate the log posterior of the table in a file, or of the bundled one, and fit it.

    Raises CommandError for a table that it cannot use.
    """
    with load_module(str(_EXAMPLE)) as logistic_regression:
        place = logistic_regression.DATA if path is None else path
        try:
            table = logistic_regression.read_table(place)
        except OSError as error:
            raise CommandError(f"{place}: {error.strerror or error}") from error
        except (ValueError, csv.Error) as error:
            raise CommandError(str(error)) from error
        names = ["intercept", *table.names]
        values: Options = {"coefficients": [logistic_regression.CHECKED_AT] * len(names)}
        values |= {"features": table.features, "malignant": table.malignant}
        label = "contad.example.logistic_regression:log_posterior"
        log_posterior = logistic_regression.log_posterior
        problem = Problem(label, str(_EXAMPLE), log_posterior, values, ("coefficients",))
        report = examine(problem, engine, tolerance, names)
        try:
            fitted = logistic_regression.fit(table, engine)
        except ArithmeticError as error:
            raise CommandError(f"{place}: {error}") from error
        return ExampleReport(report, table, names, fitted, logistic_regression.CHECKED_AT)
