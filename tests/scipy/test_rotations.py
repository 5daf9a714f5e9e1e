"""Rotations of variables: SciPy's values in every form, derivatives of both orders, the hard places, and refusals."""

import itertools

import numpy as np
import pytest
import scipy.spatial.transform

import contad
import contad.scipy.spatial.transform as mirror
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
Q, ONE, V = RNG.normal(size=(3, 4)), RNG.normal(size=4), RNG.normal(size=(3, 3))
M = scipy.spatial.transform.Rotation.random(3, random_state=1).as_matrix() + 0.1 * RNG.normal(size=(3, 3, 3))
ORDERS = ["".join(p) for p in itertools.product("xyz", repeat=3) if p[0] != p[1] and p[1] != p[2]]
TIMES = [0.0, 1.0, 2.5]


def quat(m, q, **options):
    return m.Rotation.from_quat(q, **options)


def vector(m, v, **options):
    return m.Rotation.from_rotvec(v, **options)


CASES = {
    "matrices": (lambda m, q: quat(m, q).as_matrix(), Q),
    "a matrix": (lambda m, q: quat(m, q, scalar_first=True).as_matrix(), ONE),
    "quaternions": (lambda m, q: quat(m, q).as_quat(canonical=True, scalar_first=True), Q),
    "of vectors": (lambda m, v: vector(m, v).as_quat(), V),
    "of vectors in degrees": (lambda m, v: vector(m, v, degrees=True).as_matrix(), 50.0 * V),
    "of small vectors": (lambda m, v: vector(m, v).as_matrix(), 1e-5 * V),
    "of zeros": (lambda m, v: vector(m, v).as_matrix(), 0.0 * V),
    "vectors": (lambda m, q: quat(m, q).as_rotvec(), Q),
    "small vectors": (lambda m, v: vector(m, v).as_rotvec(), 1e-4 * V),
    "modified parameters": (lambda m, v: m.Rotation.from_mrp(v).as_mrp() + m.Rotation.from_mrp(v).as_rotvec(), V),
    "of matrices": (lambda m, x: m.Rotation.from_matrix(x).as_rotvec(), M),
    "of an angle": (lambda m, x: m.Rotation.from_euler("y", x[0]).as_matrix(), V[0]),
    "of two angles": (lambda m, x: m.Rotation.from_euler("yz", x, degrees=True).as_matrix(), 60.0 * V[:, :2]),
    "apply": (lambda m, q, v: quat(m, q).apply(v), Q, V),
    "apply the inverse": (lambda m, q, v: quat(m, q).apply(v, inverse=True), ONE, V),
    "product": (lambda m, q, p: (quat(m, q) * quat(m, p)).as_quat(), Q, ONE),
    "inverse and magnitude": (lambda m, q: quat(m, q).inv().magnitude(), Q),
    "power": (lambda m, q: (quat(m, q) ** 1.7).as_matrix(), ONE),
    "Slerp": (lambda m, q, t: m.Slerp(TIMES, quat(m, q))(t).as_matrix(), Q, np.array([0.3, 1.2, 1.7])),
    "Slerp, one": (lambda m, q, t: m.Slerp(TIMES, quat(m, q))(t[0]).as_matrix(), Q, np.array([0.3])),
    "stacks": (lambda m, q, p: m.Rotation.concatenate([quat(m, q), quat(m, p)])[1:].as_matrix(), Q, ONE),
    **{f"angles {s}": (lambda m, q, s=s: quat(m, q).as_euler(s), Q) for s in (*ORDERS, *map(str.upper, ORDERS))},
    **{f"of angles {s}": (lambda m, v, s=s: m.Rotation.from_euler(s, v).as_matrix(), V) for s in ("xyz", "ZXZ")},
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.spatial.transform, mirror, False, 1e-13, 3e-14)


def test_with_rotations_of_scipys():
    turn = scipy.spatial.transform.Rotation.from_rotvec([0.1, 0.2, 0.3])
    f = lambda q: (turn * mirror.Rotation(q) * turn).as_matrix()[0, 1]
    expected = (turn * scipy.spatial.transform.Rotation(ONE) * turn).as_matrix()[0, 1]
    assert contad.value_and_grad(f)(ONE)[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("order", ["xyz", "ZYX", "zxz", "XYX"])
@pytest.mark.parametrize("end", [0, 1])
def test_angles_that_are_not_determined(order, end):
    middle = (0.0, np.pi)[end] if order[0] == order[2] else (np.pi / 2.0, -np.pi / 2.0)[end]
    q = scipy.spatial.transform.Rotation.from_euler(order, [0.3, middle, 0.5]).as_quat()
    with pytest.warns(UserWarning, match="Gimbal lock"):
        expected = scipy.spatial.transform.Rotation(q).as_euler(order)
    with pytest.warns(UserWarning, match="Gimbal lock"):
        given = mirror.Rotation(q).as_euler(order)
    np.testing.assert_allclose(given, expected, atol=1e-7)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda v: mirror.Rotation(v).as_quat(), ValueError, r"expected shape \(4\) or \(n, 4\), got \(3,\)"),
    (lambda v: mirror.Rotation(np.zeros(4) * v[0]).as_quat(), ValueError, "zero norm"),
    (lambda v: mirror.Rotation.from_matrix(-np.eye(3) * v[0] ** 2).as_quat(), ValueError, "determinant"),
    (lambda v: mirror.Rotation.from_euler("xyX", v).as_quat(), ValueError, "seq must be axes"),
    (lambda v: mirror.Rotation.from_euler("xxy", v).as_quat(), ValueError, "twice in a row"),
    (lambda v: mirror.Rotation.from_euler("xy", v).as_quat(), ValueError, r"expected 2 angle"),
    (lambda v: mirror.Rotation.from_rotvec(v)[0].as_quat(), TypeError, "not subscriptable"),
    (lambda v: mirror.RotationSpline(v), AttributeError, "has no RotationSpline"),
])  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda v: np.sum(call(v)))(V[0])
