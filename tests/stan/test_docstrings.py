"""Docstrings of functions of functions tell shapes and cost, and have an example."""

import inspect

import pytest

from contad import stan
from contad.scipy.integrate import cubature, solve_bvp, tanhsinh

FUNCTIONALS = [f for name in stan.__all__ if ".functionals." in (f := getattr(stan, name)).__module__]


@pytest.mark.parametrize("f", [*FUNCTIONALS, stan.gaussian_dlm_obs_lpdf, cubature, solve_bvp, tanhsinh])
def test_docstrings_tell_shapes_and_cost(f):
    assert all(part in inspect.getdoc(f) for part in ("Shapes: ", "Cost: ", ">>> "))


def test_functions_of_functions_are_found():
    names = {f.__name__ for f in FUNCTIONALS}
    assert len(names) >= 49 and {"reduce_sum", "hmm_latent", "ode_adjoint_tol_ctl", "solve_powell"} <= names
