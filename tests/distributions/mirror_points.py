"""The distributions of `contad.scipy.stats`, and points and shapes to try them at."""

import numpy as np

from contad.scipy import stats

SHAPES = {
    "df": 3.3, "K": 1.7, "a": 2.2, "s": 0.7, "c": 0.6, "b": 1.9, "dfn": 3.1, "dfd": 5.2, "d": 1.3, "mu": 0.8, "p": 0.3,
    "n": 7.0, "alpha": 1.7, "kappa": 1.4, "nc": 0.8,
}  # fmt: skip
AT = {"truncnorm": (-0.5, 2.0), "hypergeom": (11.0, 4.0, 5.0), "zipf": (2.4,)}
X = np.array([-30.0, -3.0, -1.0, -0.2, 0.0, 0.1, 0.5, 0.55, 0.9, 1.0, 1.3, 2.0, 7.0, 40.0])
K = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 0.5, 40.0])
BY_NAME = {name: getattr(stats, name) for name in stats.__all__}
CONTINUOUS = sorted(name for name, d in BY_NAME.items() if hasattr(d, "logpdf"))
DISCRETE = sorted(BY_NAME.keys() - set(CONTINUOUS))


def shapes_of(name):
    return AT.get(name) or tuple(SHAPES[shape] for shape in BY_NAME[name].shapes.split())
