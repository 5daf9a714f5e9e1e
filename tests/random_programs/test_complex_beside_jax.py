"""Random complex programs beside JAX, whose gradients are conjugates; run in an environment that has JAX.

JAX's arrays cannot be written to, so these programs are the ones without writes.
"""

import numpy as np
import pytest

import contad
from tests.random_programs import complex_programs
from tests.random_programs.complex_programs import AsComplex, make_program, run

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

Z, X = np.array([0.4 + 0.3j, -0.5 + 0.6j, 0.2 - 0.7j]), np.array([0.6, -0.3, 0.5])
ARGUMENTS = Z, X, 0.7 - 0.2j, -0.4


def programs(start, end):
    """The programs of these seeds without writes and without what NumPy alone has."""
    for seed in range(start, end):
        program = [statement for statement in make_program(seed) if statement.makes]
        if all(statement.function not in ("collect", "zeros") for statement in program):
            yield program


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_gradients_are_conjugates(start, monkeypatch):
    compared = 0
    for program in programs(start, start + 100):
        f = lambda *args, program=program: run(program, AsComplex(), *args)  # noqa: E731
        found = contad.value_and_grad(f, (0, 1, 2, 3))(*ARGUMENTS)
        with monkeypatch.context() as patch:
            patch.setattr(complex_programs, "np", jax.numpy)
            of_jax = jax.value_and_grad(f, (0, 1, 2, 3))
            expected = of_jax(*map(jax.numpy.asarray, ARGUMENTS))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        for ours, theirs in zip(found[1], expected[1], strict=True):
            text = "; ".join(map(str, program))
            np.testing.assert_allclose(ours, np.conj(theirs), rtol=1e-9, atol=1e-11, err_msg=text)
        compared += 1
    assert compared > 10
