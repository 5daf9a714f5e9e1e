"""Calls that pick elements, and the arrays that they pick from."""

import numpy as np

from tests.ops.plain_calls import accepted, split_calls

RNG = np.random.default_rng(7)
V, M = RNG.permutation(np.arange(1.3, 6.0)), RNG.permutation(np.arange(6.4, 18.0)).reshape(3, 4)
T = RNG.permutation(np.arange(20.2, 44.0)).reshape(2, 3, 4)
C = -np.arange(5.0)
# what picks elements: values, and positions of the inputs that they are
PICKS = split_calls("""
np.max(m); np.max(m, 1); np.max(t, axis=(0, 2)); np.max(t, axis=(2, 0), keepdims=True)
np.max(m, axis=None, keepdims=True); np.max(v, 0); np.max(m, axis=-1, out=None, where=True); np.amax(t, 1); np.min(m)
np.min(t, axis=0, keepdims=True); np.amin(m, axis=(0, 1)); np.nanmax(m, axis=0); np.nanmin(t, axis=(0, 1)); np.sort(v)
np.sort(m, 0); np.sort(m, axis=None, kind="stable"); np.sort(t, axis=1, stable=True); np.median(v)
np.median(m, axis=0); np.median(m, axis=0, keepdims=True); np.median(m[:, :3], (0, 1)); np.quantile(v, 0.25)
np.quantile(v, [0.25, 0.5, 1.0]); np.quantile(m[:, :3], [[0.0, 0.5], [1.0, 0.5]], axis=1)
np.quantile(m[:, :3], q=[0.0, 0.5], axis=1, keepdims=True, method="linear"); np.percentile(v, 75)
np.percentile(m, [0.0, 50.0, 100.0], axis=0); np.clip(v, None, None); np.select([m > 14.0, m > 10.0], [m, v[:4]])
np.select([c < -2.0, v > 2.0], [c, v], default=v[2]); np.nan_to_num(np.where(v > 2.0, v, np.inf), posinf=-3.0)
np.nan_to_num(np.where(v > 2.0, v, np.nan))
np.piecewise(v, [v < 2.0, v > 4.0], [lambda x: x[::-1], -1.0, lambda x: x])
np.piecewise(v, v < 3.0, [lambda x, k: x, -2.0], 3); np.zeros_like(m); np.zeros_like(m, dtype=int)
np.zeros_like(m, shape=(2, 2)); np.full_like(v, -2.0); np.full_like(v, v[1]); np.full_like(m, m[0])
np.full_like(v, -2, dtype=int); np.real(v); np.real_if_close(v); np.imag(v)
""")


def evaluate(call, level=None):
    """A call on plain arrays, or on inputs of a level."""
    active = {"v": V, "m": M, "t": T} if level is None else dict(zip("vmt", map(level.input, (V, M, T)), strict=True))
    return eval(call, {"np": np, "c": C} | active)


NEWER = {"np.clip(v, None, None)"}  # NumPy 2.1, as np.unstack
EVERY_PICK, PICKS = PICKS, accepted(PICKS, evaluate)
