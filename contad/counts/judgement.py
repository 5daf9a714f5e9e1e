"""Whether contad differentiates an expression: it is evaluated on variables, and compared with NumPy and differences.

An expression is Python of one line. Its names are those of `SPECIMENS`, of which floats and arrays of floats become
variables, those of `DERIVED`, which are made from these, and `np`, `scipy` and `contad`. `scipy` has contad's mirrors,
and SciPy's own functions where there are none.
"""

import contextlib
import copy
import math
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from contad.errors import ContadError
from contad.rules.compilable import functions_of_text
from contad.testing.differences import derivative_by_differences
from contad.transforms.gradients import grad, jvp
from contad.transforms.hessians import hvp
from contad.variables.complex_pair import ComplexPair
from contad.variables.number import Number, peek

RTOL = 1e-6

SPECIMENS: dict[str, Any] = {
    "x": 0.7, "y": 1.3, "z": 0.45,
    "v": np.array([0.42, 0.31, 0.77, 0.58]), "w": np.array([0.23, 0.84, 0.36, 0.69]),
    "u": np.array([1.4, 3.3, 2.7, 1.9]), "q": np.array([0.6, -0.35, 0.8]), "r": np.array([0.25, 0.9, -0.5]),
    "a": np.array([[1.3, 0.4, -0.2], [0.3, 1.9, 0.5], [-0.6, 0.2, 2.4]]),
    "b": np.array([[0.7, -0.3, 0.9], [1.1, 0.6, -0.8], [0.2, 1.4, 0.35]]),
    "m": np.arange(12.0).reshape(3, 4) % 5.0 * 0.37 + 0.1 * np.cos(np.arange(12.0)).reshape(3, 4) + 0.2,
    "t": np.sin(1.7 * np.arange(1.0, 33.0)).reshape(1, 2, 4, 4), "h": np.cos(np.arange(36.0)).reshape(2, 2, 3, 3) * 0.4,
    "k": 2, "n": 4, "i": np.array([2, 0, 3, 1]), "j": np.array([5, 2, 7, 3]), "p": np.array([True, False, True, True]),
}  # fmt: skip
DERIVED = {"s": "a @ a.T + 2.0 * np.eye(3)", "c": "v + 1j * w", "d": "a + 1j * b"}
NAME = re.compile(r"(?<![\w.\"'])[a-z]\b(?!\s*=[^=]|['\"])")


class Judgement(NamedTuple):
    """What became of an expression, with the reason where it is not right."""

    name: str
    expression: str
    status: str
    remark: str = ""


class MirroredScipy:
    """SciPy's modules with contad's functions in place of SciPy's where contad has them."""

    def __init__(self, path: str = "scipy") -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}"
        own: Any = sys.modules["contad"]
        for part in path.split("."):
            own = getattr(own, part, None)
        with contextlib.suppress(ImportError, AttributeError):
            if isinstance(pkgutil.resolve_name(path), ModuleType):
                return MirroredScipy(path)
        return getattr(pkgutil.resolve_name(self._path), name) if own is None else own


class JudgedExpression:
    """An expression as a function of those of its names that hold floats: a weighted sum of the floats in its value."""

    def __init__(self, text: str, values: Mapping[str, Any] = SPECIMENS) -> None:
        used = NAME.findall(text)
        *statements, last = text.split("; ")
        lines = [f"    {name} = {DERIVED[name]}\n" for name in DERIVED if name in used]
        used += [name for line in lines for name in NAME.findall(line.partition("=")[2])]
        self.values = {name: copy.copy(x) for name, x in values.items() if name in used}
        self.names = [name for name, x in self.values.items() if np.asarray(x).dtype == float]
        self.point = [self.values[name] for name in self.names]
        self.directions = [np.cos(1.0 + k + np.arange(x.size)).reshape(x.shape)[()]
                           for k, x in enumerate(map(np.asarray, self.point))]  # fmt: skip
        self.text = f"def f({', '.join(self.names)}):\n{''.join(lines)}"
        self.text += "".join(f"    {statement}\n" for statement in statements) + f"    return total({last})\n"
        self.parts: list[np.ndarray] = []  # the floats in the value of the last call
        self.on_variables = self._function(MirroredScipy())
        self.plain = self._function(pkgutil.resolve_name("scipy"))
        try:
            self.plain(*self.point)
        except AttributeError:  # a function that SciPy lacks
            self.plain = self._function(MirroredScipy())
        except Exception:  # the caller sees it
            pass

    def _function(self, library: Any) -> Callable[..., Any]:
        def total(*z: Any) -> Any:
            parts = parts_of(z)
            self.parts = [np.array(peek(x)) for x in parts]
            return sum(np.sum(x * _weights(np.shape(x))) for x in parts)

        names = self.values | {"np": np, "scipy": library, "contad": sys.modules["contad"], "total": total}
        function: Callable[..., Any] = functions_of_text(self.text, names)["f"]
        return function

    def on_line(self, function: Callable[..., Any], t: float) -> Any:
        """A function at a point of the line along the directions."""
        return function(*(x + t * d for x, d in zip(self.point, self.directions, strict=True)))

    def along(self, gradients: Any) -> Any:
        """The slope on that line."""
        return sum(np.sum(g * d) for g, d in zip(gradients, self.directions, strict=True))

    def find_slope(self) -> float:
        """The slope by differences."""
        return float(derivative_by_differences(lambda t: self.on_line(self.plain, t), 0.0).value)


def parts_of(z: Any) -> list[Any]:
    """The real numbers and arrays of floats in a result, the parts of complex ones apart."""
    if isinstance(z, (list, tuple)):
        return [part for x in z for part in parts_of(x)]
    kind = getattr(np.asarray(peek(z)).dtype if isinstance(z, (float, complex)) else peek(z).dtype
                   if hasattr(peek(z), "dtype") else None, "kind", "")  # fmt: skip
    if isinstance(z, ComplexPair) or kind == "c":
        return [z.real, z.imag]
    return [z] if isinstance(z, Number) or kind == "f" else []


def _weights(shape: tuple[int, ...]) -> Any:
    return np.cos(0.3 + np.arange(float(math.prod(shape)))).reshape(shape)[()]


def judge(name: str, text: str, values: Mapping[str, Any] = SPECIMENS) -> Judgement:
    """The judgement of one expression, whose names have these values.

    >>> judge("sin", "np.sin(x)").status, judge("argsort", "np.argsort(v)").status
    ('right', 'no derivative')
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expression = JudgedExpression(text, values)
        try:
            status, remark = _compare(expression)
        except (ContadError, AttributeError) as error:  # a function that contad's module lacks
            status, remark = "refused", f"{type(error).__name__}: {error}"
            if expression.names and expression.find_slope() == 0.0:
                status = "no derivative"
        except Exception as error:
            status, remark = "wrong", f"{type(error).__name__}: {error}"
        return Judgement(name, text, status, remark)


def _compare(e: JudgedExpression) -> tuple[str, str]:
    e.plain(*e.point)
    expected = e.parts
    if not e.names or not expected:
        return "no derivative", ""
    places, slope = tuple(range(len(e.names))), e.find_slope()
    gradient = grad(e.on_variables, argnums=places)(*e.point)
    found = e.parts
    if [x.shape for x in found] != [x.shape for x in expected]:
        return "wrong", f"shapes {[x.shape for x in found]}, not {[x.shape for x in expected]}"
    if not all(np.allclose(x, y, RTOL, 1e-9) for x, y in zip(found, expected, strict=True)):
        return "wrong", f"values {found}, not {expected}"
    if not np.isclose(e.along(gradient), slope, RTOL, 1e-7):
        return "wrong", f"slope {e.along(gradient)}, by differences {slope}"
    if slope == 0.0:
        return "no derivative", ""
    forward = jvp(e.on_variables, tuple(e.point), tuple(e.directions))[1]
    if not np.isclose(forward, slope, RTOL, 1e-7):
        return "wrong", f"slope {forward} in forward mode, by differences {slope}"
    product = e.along(hvp(e.on_variables, argnums=places)(*e.point, tuple(e.directions)))
    gradient_at = grad(e.on_variables, argnums=places)
    bend = derivative_by_differences(lambda t: e.along(e.on_line(gradient_at, t)), 0.0).value
    if not np.isclose(product, bend, RTOL, 1e-6):
        return "wrong", f"second derivative {product}, by differences {bend}"
    return "right", ""
