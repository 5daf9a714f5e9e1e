"""The findings of the command, as text and as JSON."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from contad.command.point import Components, Problem, components, leaves
from contad.command.terminal import BOLD, RED, Group, paint, table
from contad.variables.open_types import Nested


@dataclass(frozen=True)
class CommandReport:
    """The findings on one function at one point. Times are in seconds."""

    problem: Problem
    engine: str
    value: float
    gradient: dict[str, Any]  # by parameter, in its structure
    derivatives: Components  # the same, number by number
    disagreements: dict[str, float]  # relative, by component, and also for the value
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
        """The largest relative disagreement; inf if differences are unusable."""
        return self.disagreements[self.worst]

    @property
    def checked(self) -> int:
        """The number of compared components."""
        return len(self.disagreements) - 1

    @property
    def agrees(self) -> bool:
        """Whether the disagreement is within the tolerance."""
        return self.disagreement <= self.tolerance

    @property
    def ratio(self) -> float:
        """The cost of a gradient relative to an evaluation of the function."""
        return self.gradient_time / self.primal_time

    def text(self, colours: bool = False) -> str:
        """The report for people, optionally in the colours of a terminal."""
        lines = [paint(self.problem.label, BOLD, colours), "", f"value         {self.value:.12g}", ""]
        lines += [*table(list(self._groups()), colours), ""]
        constants = [name for name in self.problem.values if name not in self.problem.active]
        if constants:
            lines.append(f"constant      {', '.join(describe(n, self.problem.values[n]) for n in constants)}")
        if self.problem.data is not None:
            unused = [name for name in self.problem.data.names if name not in self.problem.from_data]
            rest = f"; not used: {', '.join(unused)}" if unused else ""
            lines.append(f"data          {self.problem.data.path}: {', '.join(self.problem.from_data)}{rest}")
        lines.append(f"engine        {self.engine}")
        lines.append(f"differences   {paint(self._agreement(), RED, colours and not self.agrees)}")
        lines.append(
            f"time          function {duration(self.primal_time)}, gradient {duration(self.gradient_time)}, "
            f"ratio {self.ratio:.1f}; first gradient {duration(self.first_gradient_time)}"
        )
        return "\n".join(lines)

    def _groups(self) -> Iterator[Group]:
        """The numbers and arrays of the active parameters, with their derivatives."""
        rest = iter(self.derivatives)
        for parameter in self.problem.active:
            for name, leaf in leaves(parameter, self.problem.values[parameter]):
                point = [float(x) for _, x in components(name, leaf)]
                named = [next(rest) for _ in point]
                if named:
                    names, derivatives = zip(*named, strict=True)
                    yield Group(name, np.shape(leaf), names, point, derivatives)

    def _agreement(self) -> str:
        total = len(self.derivatives)
        share = "" if self.checked == total else f"; {self.checked} of {total} components checked"
        if math.isinf(self.disagreement):
            return f"DISAGREE: no reliable difference can be taken at {self.worst}{share}"
        found = f"largest relative disagreement {self.disagreement:.2g}, at {self.worst}{share}"
        return found if self.agrees else f"DISAGREE: {found}; the tolerance is {self.tolerance:g}"

    def as_dict(self) -> dict[str, Any]:
        """The report as an argument for `as_json`; a disagreement of inf becomes null."""
        found = {
            "function": self.problem.label,
            "engine": self.engine,
            "value": self.value,
            "gradient": self.gradient,
            "point": {name: self.problem.values[name] for name in self.problem.active},
            "constants": [name for name in self.problem.values if name not in self.problem.active],
            "differences": {
                "disagreement": self.disagreement,
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
        data = self.problem.data
        return found if data is None else found | {"data": {"file": data.path, "names": list(self.problem.from_data)}}


def describe(name: str, value: Nested) -> str:
    """A constant in few words.

    >>> describe("n", 3), describe("times", [1.0, 2.0]), describe("table", np.ones((2, 3))), describe("f", math.sin)
    ('n = 3', 'times (list of 2)', 'table (array 2 x 3)', 'f')
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return f"{name} (array {' x '.join(map(str, value.shape))})"
    if isinstance(value, (list, tuple, dict)):
        return f"{name} ({type(value).__name__} of {len(value)})"
    if isinstance(value, (str, int, float, np.generic)) and len(str(value)) <= 20:
        return f"{name} = {value}"
    return name


def duration(seconds: float) -> str:
    """
    >>> duration(0.00123), duration(4.56e-7), duration(2.0)
    ('1.23 ms', '456 ns', '2.00 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds >= 10 * size else f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def plain(x: Any) -> Any:
    """Numbers, truth values and texts in dicts, lists and arrays as JSON types; None for nan and infinities.

    >>> plain({"a": (np.float64(1.5), np.True_), 2: np.array([1.0, np.inf])})
    {'a': [1.5, True], '2': [1.0, None]}
    """
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(value) for value in x]
    if isinstance(x, (np.ndarray, np.generic)):
        return plain(x.tolist())
    return None if isinstance(x, float) and not math.isfinite(x) else x


def as_json(found: dict[str, Any]) -> str:
    """One line of JSON; the findings may contain NumPy types."""
    return json.dumps(plain(found), allow_nan=False)
