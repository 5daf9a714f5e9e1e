"""The docstrings of functions under the names of Stan and SciPy: formula, domain, source, and an example that runs."""

import doctest
import inspect
import math
import re

import pytest

import contad
from contad import stan
from contad.distributions.faces import Face
from contad.scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats
from contad.scipy.sparse import linalg as sparse_linalg
from contad.scipy.spatial import transform

PARTS = {"formula": r"^    \S", "domain": r"^(Domain|Arguments): ", "source": r"^Ref: ", "example": r"^>>> "}
METHODS = ("logpdf", "pdf", "logpmf", "pmf")
MODULES = {
    "integrate": integrate, "interpolate": interpolate, "linalg": linalg, "ndimage": ndimage, "optimize": optimize,
    "signal": signal, "sparse": sparse, "sparse.linalg": sparse_linalg, "spatial": transform, "special": special,
}  # fmt: skip


def faces():
    """Every name, with its function or distribution."""
    found = {f"stan.{name}": getattr(stan, name) for name in stan.__all__ if name != "Model"}  # a class
    found["stan.real"] = stan.transforms.real
    for label, module in MODULES.items():
        names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        found |= {f"{label}.{name}": getattr(module, name) for name in names}
    for name in [*stats.__all__, *stats.MULTIVARIATE]:
        home = getattr(stats, name)
        found[f"stats.{name}"] = home
        methods = {key: face for key, face in vars(home).items() if isinstance(face, Face)}
        methods |= {key: getattr(home, key) for key in METHODS if hasattr(home, key)}
        found |= {f"stats.{name}.{key}": method for key, method in methods.items()}
    return found


FACES = faces()


def lacking(text):
    docstring = inspect.cleandoc(text or "")
    return [part for part, pattern in PARTS.items() if not re.search(pattern, docstring, re.MULTILINE)]


def test_every_docstring_has_all_parts():
    assert {name: parts for name, face in FACES.items() if (parts := lacking(face.__doc__))} == {}


def test_variants_say_in_whole_what_they_share():
    """`with_rest_of` completes the docstrings of Stan's variants, which refer to others in their source."""
    unfinished = re.compile(r"^[A-Z]\w+: +as there", re.MULTILINE)
    assert [name for name, face in FACES.items() if unfinished.search(face.__doc__)] == []
    marginal, draw = inspect.getdoc(stan.laplace_marginal), inspect.getdoc(stan.laplace_latent_tol_rng)
    assert re.search("Domain: .*", marginal)[0] == re.search("Domain: .*", draw)[0]
    assert "the mode is not found; ValueError for settings outside" in draw


def test_a_gap_in_a_docstring_is_found():
    assert lacking("The square.\n\n    z = x^2\n\n>>> square(2.0)\n4.0") == ["domain", "source"]


class ScipysNumbers(doctest.OutputChecker):
    """Numbers to what SciPy's own functions, which answer for plain numbers, may be off."""

    def check_output(self, want, got, optionflags):
        try:
            return math.isclose(float(want), float(got), rel_tol=1e-11)
        except ValueError:
            return super().check_output(want, got, optionflags)


def failures(names):
    """What the examples of these print where it is not what they show."""
    runner, report = doctest.DocTestRunner(ScipysNumbers()), []
    modules = {"special": special, "stats": stats}
    for name in names:
        home = modules[name.partition(".")[0]]
        names_there = [*home.__all__, *getattr(home, "MULTIVARIATE", ())]
        known = {"contad": contad} | {key: getattr(home, key) for key in names_there}
        text = inspect.cleandoc(FACES[name].__doc__)
        runner.run(doctest.DocTestParser().get_doctest(text, known, name, None, 0), out=report.append)
    return "".join(report)


# those of other functions, and of formulas, are collected as doctests
OTHERS = [name for name in FACES if name.startswith(("special.", "stats."))]


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, 16))])
def test_examples(part):
    assert failures(OTHERS[part::16]) == ""
