"""Neal's funnel by NUTS of blackjax: JAX compiles the sampler, and calls contad's gradient with no Python between them.

    python examples/adapters/funnel_by_blackjax.py
"""

import blackjax
import jax
import numpy as np
from numba import njit

from contad.interop import as_jax
from contad.stan import Model, normal_lpdf

jax.config.update("jax_enable_x64", True)  # contad computes with 64 bits


@njit
def log_density(y, x):
    """x is normal, with a scale that y tells."""
    return normal_lpdf(y, 0.0, 3.0) + normal_lpdf(x, 0.0, np.exp(y / 2.0))


funnel = Model("real y; vector<offset=0, multiplier=exp(y / 2)>[9] x;", log_density)


if __name__ == "__main__":
    density = as_jax(funnel)
    warmup = blackjax.window_adaptation(blackjax.nuts, density)
    (state, tuned), _ = warmup.run(jax.random.key(1), np.zeros(funnel.dimension), num_steps=500)
    step = blackjax.nuts(density, **tuned).step

    def advance(state, key):
        state, _ = step(key, state)
        return state, state.position

    _, draws = jax.lax.scan(advance, state, jax.random.split(jax.random.key(2), 4000))
    y = funnel.constrain(np.asarray(draws))["y"]
    print(f"y {y.mean():.1f} +- {y.std():.1f}, by theory 0 +- 3")
