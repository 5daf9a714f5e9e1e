"""The functions of JAX, autograd and SciPy that are installed here, and how contad fares with each."""

import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from contad.counts.example_expressions import EXPRESSIONS, FORMS, WITHOUT_NUMBERS
from contad.counts.judgement import JudgedExpression, Judgement, MirroredScipy, judge
from contad.counts.torch_spellings import SPELLINGS, differentiable_operations

METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
SHAPES = "yzgloe"  # the names of parameters of a distribution


def jax_names() -> list[str]:
    """The functions of jax.numpy and jax.scipy, as names of NumPy and SciPy."""
    return _names_in("jax.", ["numpy", "numpy.linalg", "numpy.fft", *_modules_in("jax.scipy")])


def autograd_names() -> list[str]:
    """The functions that have a derivative in autograd, as names of NumPy and SciPy."""
    with_vjp = pkgutil.resolve_name("autograd.core").primitive_vjps
    modules = ["numpy", "numpy.linalg", "numpy.fft", *_modules_in("autograd.scipy")]
    return _names_in("autograd.", modules, lambda function: function in with_vjp)


def scipy_names() -> list[str]:
    """The functions of scipy.special, and the methods of the distributions of scipy.stats."""
    stats: Any = pkgutil.resolve_name("scipy.stats")
    methods = {stats.rv_continuous: ("pdf", "logpdf", "ppf", "isf"), stats.rv_discrete: ("pmf", "logpmf")}
    found = _names_in("", ["scipy.special"])
    for kind, own in methods.items():
        names = [name for name, x in sorted(vars(stats).items()) if isinstance(x, kind)]
        found += [f"scipy.stats.{name}.{method}" for name in names for method in (*own, "cdf", "logcdf", "sf", "logsf")]
    return found


def _modules_in(package: str) -> list[str]:
    """The public modules below a package, without the name of the library."""
    found = pkgutil.walk_packages(pkgutil.resolve_name(package).__path__, f"{package}.")
    return [name.partition(".")[2] for _, name, _ in found if "._" not in name]


def _names_in(library: str, modules: Iterable[str], wanted: Any = lambda function: True) -> list[str]:
    """The functions in modules of a library, as names of NumPy and SciPy."""
    found = []
    for place in modules:
        module = pkgutil.resolve_name(library + place)
        named = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
        short = "np" + place.removeprefix("numpy") if place.startswith("numpy") else place
        found += [f"{short}.{name}" for name, x in named.items()
                  if callable(x) and not isinstance(x, type) and wanted(x)]  # fmt: skip
    return sorted(set(found))


def judge_names(names: Iterable[str]) -> Iterator[Judgement]:
    """A judgement of each name of NumPy or SciPy.

    >>> [found.status for found in judge_names(["np.sin", "np.argmax", "np.lax"])]
    ['right', 'no derivative', 'not NumPy']
    """
    for name in names:
        if name.rpartition(".")[2] in WITHOUT_NUMBERS:
            yield Judgement(name, "", "no derivative")
        elif name in EXPRESSIONS:
            yield judge(name, EXPRESSIONS[name])
        elif not _exists(name):
            yield Judgement(name, "", "not NumPy")
        elif name.startswith("scipy.stats.") and name.rpartition(".")[2] in METHODS:
            yield judge(name, *call_of_distribution(name))
        else:
            yield judge(name, expression_of(name))


def _exists(name: str) -> bool:
    root, *parts = name.split(".")
    found: Any = np if root == "np" else MirroredScipy()
    try:
        for part in parts:
            found = getattr(found, part)
    except AttributeError:
        return False
    return True


def expression_of(name: str) -> str:
    """The first of the forms whose value has a derivative; or else the first one that has a value.

    >>> expression_of("np.arctan2")
    'np.arctan2(v, w)'
    """
    first = ""
    for form in FORMS:
        text = form.format(name)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expression = JudgedExpression(text)
            try:
                expression.plain(*expression.point)
            except Exception:
                continue
            if all(np.all(np.isfinite(part)) for part in expression.parts):
                first = first or text
                if expression.parts and expression.names and expression.find_slope():
                    return text
    return first


def call_of_distribution(name: str) -> tuple[str, dict[str, float]]:
    """A call of a method of a distribution of scipy.stats, and the numbers that it is called with."""
    stats, examples = pkgutil.resolve_name("scipy.stats"), pkgutil.resolve_name("scipy.stats._distr_params")
    *_, kind, method = name.split(".")
    distribution = getattr(stats, kind)
    given: tuple[float, ...] = dict((*examples.distcont, *examples.distdiscrete)).get(kind, ())
    parameters = dict(zip(SHAPES, given, strict=False))
    discrete = isinstance(distribution, stats.rv_discrete)
    if not discrete:
        parameters |= {"a": 0.2, "b": 1.3}  # loc and scale
    point = 0.45 if method in ("ppf", "isf") else distribution.ppf(0.4, *parameters.values())
    values = {"x": int(point) if discrete else float(point)} | parameters
    return f"{name}({', '.join(values)})", values


def judge_torch() -> Iterator[Judgement]:
    """A judgement of each differentiable operation of PyTorch, by its spelling or by NumPy's function of that name."""
    for name in differentiable_operations():
        if name in SPELLINGS:
            yield judge(name, SPELLINGS[name])
        else:
            yield from (found._replace(name=name) for found in judge_names([f"np.{name}"]))


COUNTED: dict[str, Callable[[], Iterator[Judgement]]] = {
    "jax": lambda: judge_names(jax_names()),
    "autograd": lambda: judge_names(autograd_names()),
    "scipy": lambda: judge_names(scipy_names()),
    "torch": judge_torch,
}
