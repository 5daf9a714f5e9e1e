"""Every function of a distribution, by what the modules hold: its points, and its definition in mpmath.

The points are those of `reference_faces.TABLE`, which has the logarithms: a density and a probability stand at the
points of their logarithm, a quantile at the probability of each point. What is not in the table has no case.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

from mpmath import mp

from contad import stan
from contad.distributions.faces import Face
from contad.scipy import stats
from tests.distributions.reference_faces import TABLE

LOGARITHM = {
    "pdf": "logpdf", "pmf": "logpmf", "cdf": "logcdf", "sf": "logsf", "ppf": "logcdf", "isf": "logsf",
}  # fmt: skip
Points = list[tuple[float, ...]]
LEAST, MOST = 1e-290, 1.0 - 1e-9  # probabilities of which a quantile tells something


class Case:
    """A function, its definition in mpmath, and the points at which it is judged."""

    def __init__(self, name: str, face: Face, reference: Callable[..., Any], find: Callable[[], Points]) -> None:
        self.name, self.face, self.reference, self._find = name, face, reference, find

    @functools.cached_property
    def points(self) -> Points:
        return self._find()

    @property
    def active(self) -> tuple[int, ...]:
        """The positions of the arguments that have a derivative."""
        return tuple(k for k, name in enumerate(self.face.names) if name not in self.face.formula.body.whole)

    @property
    def family(self) -> str:
        """The distribution."""
        home, name, *_ = self.name.split(".")
        return f"{home}.{name if home == 'stats' else name.rpartition('_')[0]}"

    @property
    def kind(self) -> str:
        """What the function is of the distribution: pdf, lcdf, ppf ..."""
        return self.name.rpartition("." if self.name.startswith("stats") else "_")[2]


def all_faces() -> dict[str, Face]:
    """Every function of one number's distribution that contad has."""
    found = {f"stan.{name}": f for name in dir(stan) if isinstance(f := getattr(stan, name), Face)}
    for name in stats.__all__:
        methods = vars(getattr(stats, name))
        found |= {f"stats.{name}.{method}": f for method, f in methods.items() if isinstance(f, Face)}
    return found


def logarithm_of(name: str) -> str:
    """The function of the table at whose points another one is judged."""
    head, dot, method = name.rpartition(".")
    if name in TABLE:
        return name
    if name.startswith("stan."):
        return f"{name[: -len('cdf')]}lcdf" if name.endswith("_cdf") else name
    return head + dot + LOGARITHM.get(method, method)


def _exponential(reference: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: mp.exp(reference(*args))


def _inverse(name: str, face: Face, logarithm: Callable[..., Any], upper: bool) -> Callable[..., Any]:
    """By Newton's method for the logarithm of the probability, from the function's own value."""
    density, _ = TABLE[f"{name.rpartition('.')[0]}.logpdf"]

    def quantile(q: Any, *args: Any) -> Any:
        *shapes, loc, scale = args
        near = (float(x) if abs(x) > 1e-12 else 0.0 for x in shapes)  # on the right side of 0
        x, wanted = loc + mp.mpf(face(float(q), *near, 0.0, float(scale))), mp.log(q)
        for _ in range(3):
            found = logarithm(x, *args)
            x += (found - wanted) * mp.exp(found - density(x, *args)) * (1 if upper else -1)
        return x

    return quantile


@functools.cache
def probabilities(logarithm: str) -> list[tuple[float, ...]]:
    """(the probability, the parameters) of the points of a function of the table."""
    reference, points = TABLE[logarithm]
    found = []
    for x, *args in points:
        with mp.workdps(45):
            q = mp.exp(reference(*map(mp.mpf, (x, *args))))
        if LEAST < q < MOST:
            found.append((float(q), *args))
    return found


def case_of(name: str, face: Face) -> Case | None:
    """The case of a function; None where the table has none for it."""
    known = logarithm_of(name)
    if name == "stan.wiener_lpdf":
        return Case(name, face, wiener, lambda: list(face.formula.points))
    if known not in TABLE:
        return None
    reference, points = TABLE[known]
    if name.endswith((".ppf", ".isf")):
        return Case(name, face, _inverse(name, face, reference, name.endswith(".isf")), lambda: probabilities(known))
    return Case(name, face, reference if name in TABLE else _exponential(reference), lambda: list(points))


def wiener(y: Any, alpha: Any, tau: Any, beta: Any, delta: Any, spread: Any) -> Any:
    """The logarithm of the sum over images at the upper end, averaged over a normal drift in closed form."""
    t, v, left = y - tau, spread**2, 1 - beta
    u, d = t / alpha**2, alpha * left
    series = mp.fsum((x := left + 2 * k) * mp.exp(-(x**2) / (2 * u)) for k in range(-30, 31))
    drift = (v * d**2 + 2 * d * delta - delta**2 * t) / (2 * (1 + v * t)) - mp.log(1 + v * t) / 2
    return mp.log(series / mp.sqrt(2 * mp.pi * u**3) / alpha**2) + drift


FACES = all_faces()
CASES = {name: case for name, face in FACES.items() if (case := case_of(name, face))}
FAMILIES = sorted({case.family for case in CASES.values()})


def magnitude(point: tuple[Any, ...], k: int) -> Any:
    """Of an argument, in mpmath; a place of 0 is subtracted from the first argument."""
    return mp.mpf(abs(point[k]) or abs(point[0]) or 1)


def is_defined(case: Case, point: tuple[float, ...]) -> bool:
    """Whether the function is a number at a point, and not one that underflows."""
    value = case.face(*point)
    return math.isfinite(value) and (value == 0.0 or abs(value) > 1e-290)
