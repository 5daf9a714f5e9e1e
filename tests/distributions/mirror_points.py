"""The distributions of `contad.scipy.stats`, and points and shapes to try them at."""

import numpy as np

from contad.scipy import stats

SHAPES = {
    "df": 3.3, "K": 1.7, "a": 2.2, "s": 0.7, "c": 0.6, "b": 1.9, "dfn": 3.1, "dfd": 5.2, "d": 1.3, "mu": 0.8, "p": 0.3,
    "n": 7.0, "alpha": 1.7, "kappa": 1.4, "nc": 0.8,
    "beta": 1.9, "m": 3.0, "skew": 0.8, "nu": 1.7, "k": 1.7,
}  # fmt: skip
AT = {
    "truncnorm": (-0.5, 2.0), "hypergeom": (11.0, 4.0, 5.0), "zipf": (2.4,), "norminvgauss": (2.2, 0.9),
    "genhyperbolic": (0.3, 2.2, 0.9), "geninvgauss": (0.3, 1.9), "loguniform": (0.1, 2.9), "reciprocal": (0.1, 2.9),
    "truncpareto": (1.9, 4.5), "truncweibull_min": (1.6, 0.1, 1.9), "trapezoid": (0.3, 0.7), "genexpon": (2.2, 1.9,
    0.6), "rdist": (3.1,), "erlang": (2.0,), "dlaplace": (0.8,), "planck": (0.6,), "boltzmann": (0.6, 7.0),
    "zipfian": (1.3, 9.0), "skellam": (2.3, 1.4), "nhypergeom": (11.0, 4.0, 5.0), "randint": (-2.0, 6.0),
    "nchypergeom_fisher": (11.0, 4.0, 5.0, 1.3), "logser": (0.6,), "skewcauchy": (0.4,),
}  # fmt: skip
X = np.array([-30.0, -3.0, -1.0, -0.2, 0.0, 0.1, 0.5, 0.55, 0.9, 1.0, 1.3, 2.0, 7.0, 40.0])
K = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 0.5, 40.0])
INSIDE = {"pareto": 2.7, "truncpareto": 2.7, "weibull_max": -0.9, "levy_l": -0.9}  # others have 0.47 in their support
BY_NAME = {name: getattr(stats, name) for name in stats.__all__}
CONTINUOUS = sorted(name for name, d in BY_NAME.items() if hasattr(d, "logpdf"))
DISCRETE = sorted(BY_NAME.keys() - set(CONTINUOUS))


def is_lost(found, expected):
    """Where SciPy's is nan or infinite, because a number on the way to it underflows or overflows."""
    with np.errstate(invalid="ignore"):
        is_tiny = (found < -50.0) & np.isfinite(found) | (found > 0.0) & (found < 1e-100)
        return ~np.isfinite(expected) & (is_tiny | np.isnan(expected) & ((found == -np.inf) | (found == 0.0)))


def shapes_of(name):
    return AT.get(name) or tuple(SHAPES[shape] for shape in BY_NAME[name].shapes.split())
