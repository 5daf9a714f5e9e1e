"""Bodies of contad's own array rules in machine code: what they are given, and what they raise."""

import numpy as np
import pytest
from numba import njit, types

from contad.compile import named_bodies
from contad.scipy.linalg import solve_continuous_are
from contad.scipy.riccati_equations import stable_lyapunov

A, Q = np.array([[-1.2, 0.7], [-0.3, -0.4]]), np.array([[3.0, -1.0], [2.0, 5.0]])


@njit
def solve(a, q):
    return stable_lyapunov(a, q)


@njit
def control(a, q):
    return solve_continuous_are(a, q, q, q)


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "made", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], read_only, lambda x: x[::-1][::-1],
             lambda x: x.astype(np.int64), lambda x: x.astype(np.float32)],
    ids=["F", "strided", "read-only", "reversed", "integers", "float32"],
)  # fmt: skip
def test_arguments_of_any_layout_and_real_type(made):
    q = made(Q)
    np.testing.assert_allclose(solve(A, q), stable_lyapunov(A, Q), rtol=1e-14)
    np.testing.assert_array_equal(q, Q)


def test_errors_of_a_body_are_raised():
    with pytest.raises(np.linalg.LinAlgError, match="has no stable solution"):
        solve(-A, Q)
    with pytest.raises(ValueError, match="q must be symmetric"):
        control(A, Q)


def test_types_are_read_as_they_are_written():
    kinds = types.Array(types.float64, 2, "C"), types.float64, types.Array(types.float64, 1, "C")
    given = [*kinds, types.Tuple(kinds), types.Tuple((types.Tuple(kinds[:1]), *kinds))]
    text = "".join(map(named_bodies._write_type, given))
    assert text == "201(201)((2)201)"
    assert [*named_bodies._read_types(iter(text))] == given


def test_a_body_is_found_by_its_name(monkeypatch):
    """The machine code is that of the body, and none of its caller's."""
    name = "contad.scipy.riccati_equations:stable_lyapunov/22"
    solve(A, Q)
    assert named_bodies._compile.cache_info().currsize
    made = named_bodies._compile(name)
    np.testing.assert_array_equal(made(A, Q), solve(A, Q))
    assert named_bodies.find_body(name) == named_bodies.address_of(made)
