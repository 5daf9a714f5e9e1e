"""Models for nutpie, and draws for ArviZ, with the names and shapes of parameters and of generated quantities."""

from typing import Any

import numpy as np

from contad.errors import REJECTIONS
from contad.variables.arguments import fail


def as_nutpie(model: Any, *, dims: Any = None, coords: Any = None) -> Any:
    """A `contad.stan.Model` as a compiled model of nutpie, for `nutpie.sample`.

    Its draws have the parameters and the generated quantities by name. `dims` and `coords` name their axes, as in
    ArviZ. A point that the density rejects by an exception has the log density nan.

    >>> import nutpie                                                                           # doctest: +SKIP
    >>> trace = nutpie.sample(as_nutpie(model), seed=1)                                         # doctest: +SKIP
    """
    from nutpie.compiled_pyfunc import from_pyfunc

    def evaluate(u: Any) -> Any:
        try:
            return model.log_density_gradient(u)
        except REJECTIONS:
            return np.nan, np.full(len(u), np.nan)

    def make_expansion(*seeds: int) -> Any:
        rng = np.random.default_rng(seeds)
        return lambda u: {name: np.asarray(x) for name, x in model.quantities(u, rng).items()}

    found = make_expansion(0)(model.draw_initial_values(0))
    return from_pyfunc(
        model.dimension, lambda: evaluate, make_expansion, [x.dtype for x in found.values()],
        [x.shape for x in found.values()], list(found), dims=dims, coords=coords,
    )  # fmt: skip


def as_inference_data(
    model: Any, draws: Any, *, seed: Any = None, dims: Any = None, coords: Any = None, **groups: Any
) -> Any:
    """Draws of the unconstrained numbers of a `contad.stan.Model` as ArviZ's InferenceData; its DataTree from 1.0 on.

    draws    shape (chain, draw, dimension)
    seed     of generated quantities: a seed or a random generator
    groups   further groups by name, such as observed_data={"y": model.data["y"]}

    The group `posterior` has the parameters and the generated quantities, with names and shapes; `sample_stats` has the
    log density `lp`, unless it is given.

    Raises:  ValueError for other shapes.

    >>> data = as_inference_data(model, draws)                                                  # doctest: +SKIP
    >>> arviz.summary(data)                                                                     # doctest: +SKIP
    """
    import arviz

    points = np.asarray(draws, dtype=np.float64)
    if points.ndim != 3 or points.shape[-1] != model.dimension:
        fail("as_inference_data", "draws", f"have shape (chain, draw, {model.dimension})", f"shape {points.shape}")
    groups = {"posterior": model.quantities(points, seed), **groups}
    groups.setdefault("sample_stats", {"lp": np.apply_along_axis(model.log_density, -1, points)})
    if arviz.__version__.startswith("0."):
        return arviz.from_dict(**groups, dims=dims, coords=coords)
    return arviz.from_dict(groups, dims=dims, coords=coords)
