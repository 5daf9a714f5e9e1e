"""Arrays of numbers at which functions along lines have edges, made of ordinary ones: by name."""

import numpy as np

INF, NAN = np.inf, np.nan
SPECIAL = {
    "ordinary": lambda x: x,
    "-inf": lambda x: np.where(x > 0.3, -INF, x),
    "inf": lambda x: np.where(x > 0.3, INF, x),
    "nan": lambda x: np.where(x > 0.8, NAN, x),
    "all -inf": lambda x: np.full(x.shape, -INF),
    "zeros": lambda x: np.where(x > 0.3, 0.0, np.where(x < -0.8, -0.0, x)),
    "inf and nan": lambda x: np.where(x > 0.3, INF, np.where(x < -0.8, NAN, x)),
    "ties": np.round,
    "equal": lambda x: np.full(x.shape, 0.7),
    "large": lambda x: 300.0 * x,
}
