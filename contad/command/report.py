"""What the command found, as text and as JSON."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from contad.command.source import Components, Problem
from contad.variables.open_types import Nested

SHOWN = 24  # components that are printed; --json gives all


@dataclass(frozen=True)
class CommandReport:
    """The findings on one function at one point. Times are in seconds."""

    problem: Problem
    engine: str
    value: float
    gradient: dict[str, Any]  # by parameter, in its structure
    derivatives: Components  # the same, number by number
    disagreements: dict[str, float]  # relative, by component, and that of the value
    tolerance: float
    first_gradient_time: float
    primal_time: float
    gradient_time: float

    @property
    def worst(self) -> str:
        """The component with the largest disagreement."""
        return max(self.disagreements, key=self.disagreements.__getitem__)

    @property
    def disagreement(self) -> float:
        """The largest relative disagreement; inf where differences say nothing."""
        return self.disagreements[self.worst]

    @property
    def checked(self) -> int:
        """How many components were compared."""
        return len(self.disagreements) - 1

    @property
    def agrees(self) -> bool:
        """Whether the disagreement is within the tolerance."""
        return self.disagreement <= self.tolerance

    @property
    def ratio(self) -> float:
        """The cost of a gradient in evaluations of the function."""
        return self.gradient_time / self.primal_time

    def text(self) -> str:
        """The report for people."""
        rows = self.derivatives[:SHOWN]
        width = max(len(name) for name, _ in rows)
        lines = [self.problem.label, f"value         {self.value:.12g}", "gradient"]
        lines += [f"  {name:<{width}}  {x:.12g}" for name, x in rows]
        if len(rows) < len(self.derivatives):
            lines.append(f"  ... and {len(self.derivatives) - len(rows)} more; --json prints all")
        constants = [name for name in self.problem.values if name not in self.problem.active]
        if constants:
            lines.append(f"constant      {', '.join(constants)}")
        lines.append(f"engine        {self.engine}")
        lines.append(f"differences   {self._agreement()}")
        lines.append(
            f"time          function {duration(self.primal_time)}, gradient {duration(self.gradient_time)}, "
            f"ratio {self.ratio:.1f}; first gradient {duration(self.first_gradient_time)}"
        )
        return "\n".join(lines)

    def _agreement(self) -> str:
        total = len(self.derivatives)
        share = "" if self.checked == total else f"; {self.checked} of {total} components checked"
        if math.isinf(self.disagreement):
            return f"DISAGREE: no reliable difference can be taken at {self.worst}{share}"
        found = f"largest relative disagreement {self.disagreement:.2g}, at {self.worst}{share}"
        return found if self.agrees else f"DISAGREE: {found}; the tolerance is {self.tolerance:g}"

    def as_dict(self) -> dict[str, Any]:
        """The report as what JSON can hold; a disagreement of inf is None."""
        return {
            "function": self.problem.label,
            "engine": self.engine,
            "value": self.value,
            "gradient": {name: plain(x) for name, x in self.gradient.items()},
            "point": {name: plain(self.problem.values[name]) for name in self.problem.active},
            "constants": [name for name in self.problem.values if name not in self.problem.active],
            "differences": {
                "disagreement": None if math.isinf(self.disagreement) else self.disagreement,
                "component": self.worst,
                "checked": self.checked,
                "components": len(self.derivatives),
                "tolerance": self.tolerance,
                "agrees": self.agrees,
            },
            "seconds": {
                "function": self.primal_time,
                "gradient": self.gradient_time,
                "first_gradient": self.first_gradient_time,
            },
            "ratio": self.ratio,
        }


def duration(seconds: float) -> str:
    """
    >>> duration(0.00123), duration(4.56e-7), duration(2.0)
    ('1.23 ms', '456 ns', '2.00 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds >= 10 * size else f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def plain(x: Nested) -> Any:
    """A pytree of numbers as what JSON can hold."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(value) for value in x]
    return x.tolist() if isinstance(x, np.ndarray) else float(x)


def as_json(found: dict[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(found, allow_nan=False)
