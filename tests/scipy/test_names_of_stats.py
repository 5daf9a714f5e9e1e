"""How many of SciPy's distributions contad has: a count of what the installed SciPy has, not of a list."""

import numpy as np
import pytest
import scipy.stats
from scipy.stats._multivariate import multi_rv_generic

import contad
from contad.scipy import stats

KINDS = {"continuous": scipy.stats.rv_continuous, "discrete": scipy.stats.rv_discrete, "multivariate": multi_rv_generic}
DENSITIES = ("logpdf", "logpmf")
LACKING = {  # of which only the density has a formula here
    "norminvgauss", "genhyperbolic", "geninvgauss", "ncx2", "skellam",
}  # fmt: skip


def names_of(kind):
    """SciPy's distributions of a kind that have a density or mass."""
    found = {name: getattr(scipy.stats, name) for name in dir(scipy.stats)}
    kept = {name for name, x in found.items() if isinstance(x, KINDS[kind])}
    return {name for name in kept if any(hasattr(found[name], method) for method in DENSITIES)}


@pytest.mark.parametrize(("kind", "most"), [("continuous", 14), ("discrete", 2), ("multivariate", 2)])
def test_few_distributions_are_refused(kind, most):
    """By name: of SciPy 1.17 there are 110, 21 and 13."""
    names = names_of(kind)
    there = {name for name in names if name in stats.__all__ or name in stats.MULTIVARIATE}
    assert len(names - there) <= most
    for name in names - there:
        with pytest.raises(AttributeError, match=f"has no {name}, because it has no derivative here"):
            getattr(stats, name)


def test_every_method_is_there():
    """Continuous ones have all methods of probabilities and quantiles, except those that only have a density."""
    for name in {*stats.__all__} & names_of("continuous") - {*LACKING, "nct"}:
        lacking = [x for x in ("cdf", "sf", "logcdf", "logsf", "ppf", "isf") if not hasattr(getattr(stats, name), x)]
        assert lacking == [], name
    for name in LACKING:
        assert not hasattr(getattr(stats, name), "cdf")


def test_numba_functions_call_those_made_at_their_first_use():
    numba = pytest.importorskip("numba")

    @numba.njit
    def f(x, c):
        return stats.genlogistic.logpdf(x, c) + stats.foldnorm.ppf(0.3, c) + stats.planck.logsf(2.0, c)

    assert f(0.7, 0.6) == pytest.approx(f.py_func(0.7, 0.6), rel=1e-13)
    np.testing.assert_allclose(contad.grad(f, (0, 1))(0.7, 0.6), contad.grad(f.py_func, (0, 1))(0.7, 0.6), rtol=1e-11)
