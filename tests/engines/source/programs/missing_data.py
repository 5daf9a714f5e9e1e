"""Data that are nan or infinite, where no result depends on them: their elements take no part in a derivative.

A residual that is selected away has an adjoint of 0, and a partial that is nan; their product is 0.
"""

import numpy as np

from tests.engines.source.programs.harness import Table, programs

MODELS = programs("""
# summed by nansum: return np.nansum((p[0] * t + p[1] - d) ** 2)
# chosen by where
r = (p[0] * t + p[1] - d) ** 2
return np.sum(np.where(np.isfinite(d), r, 0.0))
# stored and chosen
r = p[0] * t + p[1] - d
q = np.empty(len(t))
for i in range(len(t)):
    q[i] = r[i] * r[i]
total = 0.0
for i in range(len(t)):
    if np.isfinite(d[i]):
        total += q[i]
return total
# cut off
r = (p[0] * t + p[1] - d) ** 2
return np.sum(r[:3])
# overtaken
last = 0.0
total = 0.0
for i in range(len(t) - 1, -1, -1):
    r = p[0] * t[i] + p[1] - d[i]
    last = r * r
    if i < 3:
        total += last
return total
# each state is overtaken by the next, which does not depend on it
state = p[0]
for i in range(len(d) - 1, -1, -1):
    x = p[0] - d[i]
    state = x * x
return state
""")
MISSING_DATA = Table(
    "missing data", MODELS, head="p, t, d", argnums=(0,),
    arguments=(np.array([0.7, 0.4]), np.array([1.0, 2.0, 3.0, 4.5]), np.array([1.5, 3.0, 7.0, np.nan])),
)  # fmt: skip
