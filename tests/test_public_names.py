"""The names of `contad`: what the top level has, and old names, which work and say where a function is now."""

import pickle
import re
import warnings

import numpy as np
import pytest
from numba import njit

import contad
import contad.stan
from contad import ops
from tests.judges.sources import ROOT

OLD = sorted(set(ops.__all__) - set(contad.__all__))
WHOLE = {"expn": 0, "ldexp": 1, "multigammaln": 1}  # arguments of NumPy's and SciPy's functions that are whole numbers


def told(name):
    """What reading an old name gives, and the place that the warning names."""
    with pytest.warns(DeprecationWarning, match=rf"^contad\.{name} will be removed in contad 0\.4: use ") as caught:
        found = getattr(contad, name)
    (message,) = {str(warning.message) for warning in caught}
    return found, message.partition(": use ")[2].partition(",")[0]


def test_the_top_level_has_some_ninety_names():
    assert len(set(contad.__all__)) == len(contad.__all__) <= 96
    assert set(dir(contad)) - set(contad.__all__) == {"__version__", "ops", "optim", "scipy", "stan", "testing"}
    known = {}
    exec("from contad import *", known)
    assert set(contad.__all__) <= set(known) and set(OLD).isdisjoint(known)


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_gives_the_function_and_says_where_it_is(name):
    contad._told.clear()
    found, place = told(name)
    assert found is getattr(ops, name)
    now = eval(place, {"np": np, "contad": contad})
    assert now is found or place.startswith(("np.", "contad.scipy.special.")) or name == "log_mix"
    for point in found.points:
        x = [int(v) if k == WHOLE.get(name) else v for k, v in enumerate(point)]
        np.testing.assert_allclose(now(*x), found(*x), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("exp", "np.exp"), ("gamma", "contad.scipy.special.gamma"), ("tgamma", "contad.stan.tgamma"),
        ("i0", "contad.scipy.special.i0"), ("sinc", "contad.scipy.special.sinc"), ("airy_ai", "contad.ops.airy_ai"),
    ],
)  # fmt: skip
def test_a_name_goes_to_the_library_that_has_it(name, place):
    contad._told.clear()
    assert told(name)[1] == place


def test_a_line_is_told_once_for_each_name():
    contad._told.clear()
    with pytest.warns(DeprecationWarning, match="will be removed") as caught:
        _ = [(contad.gamma(x) + contad.exp(x),
              contad.gamma(x)) for x in (0.3, 0.4)]  # fmt: skip
    assert [warning.filename for warning in caught] == [__file__] * 3
    assert len({warning.lineno for warning in caught}) == 2


def test_where_warnings_are_errors_each_use_is_one():
    contad._told.clear()
    for _ in range(2):
        with pytest.raises(DeprecationWarning, match="use np.exp"):
            contad.exp(1.0)


def test_an_old_name_is_imported_and_unpickled():
    contad._told.clear()
    with pytest.warns(DeprecationWarning, match="use contad.scipy.special.gamma") as caught:
        from contad import gamma
    assert gamma is ops.gamma and {warning.filename for warning in caught} == {__file__}
    with pytest.warns(DeprecationWarning, match="use contad.stan.tgamma"):
        assert pickle.loads(b"ccontad\ntgamma\n.") is ops.tgamma


@njit
def with_old_names(x):
    return contad.gamma(x) * contad.log1m(0.1 * x) + np.exp(x)


@njit
def with_new_names(x):
    return contad.scipy.special.gamma(x) * contad.stan.log1m(0.1 * x) + np.exp(x)


@njit
def calls_with_new_names(x):
    return with_new_names(x) + np.log(x) * contad.expit(x)


def test_numba_functions_read_old_names():
    contad._told.clear()
    with pytest.warns(DeprecationWarning, match="will be removed") as caught:
        value = with_old_names(1.3)
    assert value == with_new_names(1.3)
    assert sorted(str(warning.message).split()[0] for warning in caught) == ["contad.gamma", "contad.log1m"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for engine in ("tape", "generated", None):
            expected = contad.grad(with_new_names, engine=engine)(1.3)
            assert contad.grad(with_old_names, engine=engine)(1.3) == pytest.approx(expected, rel=1e-14)


def test_functions_of_numpy_beside_contads_are_no_old_names():
    """What looks through the names of a function asks `contad` for no `exp` or `log`."""
    for engine in ("tape", "generated"):
        assert contad.grad(calls_with_new_names, engine=engine)(1.3) == pytest.approx(
            contad.grad(calls_with_new_names.py_func, engine="matrix")(1.3), rel=1e-14
        )


def old_names_in(text):
    """The old names that a text uses as attributes of contad, or imports from it."""
    found = set(re.findall(r"(?<![\w.])contad\.(\w+)\b(?! import)", text))
    for names in re.findall(r"from contad import \(?([\w, \n]+)", text):
        found |= set(re.findall(r"\w+", names))
    return found & set(OLD)


def test_nothing_here_uses_an_old_name():
    roots = ("contad", "notes", "benchmarks", "examples", "README.md", "CONTRIBUTING.md", "SECURITY.md")
    files = [path for root in map(ROOT.joinpath, roots) for path in ([root] if root.is_file() else root.rglob("*"))]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md", ".ipynb")}
    assert len(texts) > 700
    assert {str(path): found for path, text in texts.items() if (found := old_names_in(text))} == {}


def test_an_old_name_is_found():
    assert old_names_in("z = contad.exp(x) + contad.ops.log(x)") == {"exp"}
    assert old_names_in("from contad import (\n    gamma, grad,\n)\nfrom contad.ops import sin") == {"gamma"}
