"""`contad.scan`: the loop that it stands for, its derivatives, and what its pieces keep."""

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.errors import RuleError

A = np.array([[0.5, -0.3], [0.2, 0.8]])
XS = np.arange(14.0).reshape(7, 2) / 10.0
V = np.array([0.7, 0.2, -0.4])


def step(state, x):
    h, c, r = state
    h = np.tanh(r * h + A @ x["x"]) + x["t"]
    return (h, c + np.sum(h * x["x"]), r), {"h": h * c, "c": c, "nothing": None}


def model(v, **options):
    (h, c, _), ys = contad.scan(step, (v[1:], v[0] ** 2, v[0]), {"x": XS, "t": XS[:, 1]}, **options)
    assert ys["nothing"] is None
    return np.sum(ys["h"] ** 2 * XS) + np.sum(ys["c"] * np.arange(7.0)) + c * h[0]


def by_complex_steps(**options):
    return np.array([model(V + 1e-30j * e, **options).imag / 1e-30 for e in np.eye(3)])


def test_it_is_the_loop():
    state, ys = (V[1:], V[0] ** 2, V[0]), []
    for x, t in zip(XS, XS[:, 1], strict=True):
        state, y = step(state, {"x": x, "t": t})
        ys.append(y["h"])
    (h, _, _), found = contad.scan(step, (V[1:], V[0] ** 2, V[0]), {"x": XS, "t": XS[:, 1]})
    np.testing.assert_array_equal(h, state[0])
    np.testing.assert_array_equal(found["h"], ys)
    assert contad.scan(lambda n, k: (n + k, k), 1, np.arange(4))[1].dtype == int
    assert contad.scan(step, 2.5, length=0) == (2.5, None)


@pytest.mark.parametrize("options", [{}, {"pieces": 3}, {"reverse": True}, {"pieces": 20, "reverse": True}], ids=str)
def test_derivatives(options):
    right = by_complex_steps(**options)
    forwards = {"reverse": options.get("reverse", False)}
    for engine in engine_names():
        gradient = contad.grad(lambda v: model(v, **options), engine=engine)(V)
        np.testing.assert_allclose(gradient, right, rtol=1e-12)
        hessian = contad.hessian(lambda v: model(v, **options), engine=engine)(V)
        np.testing.assert_allclose(hessian, contad.jacfwd(contad.jacfwd(lambda v: model(v, **forwards)))(V), rtol=1e-10)
    slope = contad.jvp(lambda v: model(v, **options), (V,), (np.ones(3),))[1]
    assert slope == pytest.approx(np.sum(right), rel=1e-12)


def test_derivatives_by_the_rows():
    def by_rows(xs):
        state, ys = contad.scan(lambda z, x: (z * np.sin(x), z * x), 0.5, xs, pieces=2)
        return state + np.sum(ys**2)

    x = np.array([0.4, 1.3, 2.0, -0.6])
    right = [by_rows(x + 1e-30j * e).imag / 1e-30 for e in np.eye(4)]
    np.testing.assert_allclose(contad.grad(by_rows)(x), right, rtol=1e-12)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("start", [0.5 + 1j, np.array([0.5 + 1j, 0.3])], ids=["number", "array"])
def test_complex_results_of_which_the_first_is_a_constant(engine, start):
    def f(a):
        z, ys = contad.scan(lambda z, x: (z * a * x, z), start, np.array([0.3, 0.1, 0.7]))
        return np.sum(np.abs(z) ** 2) + np.sum(np.abs(ys))

    expected = (f(0.9 + 1e-6) - f(0.9 - 1e-6)) / 2e-6
    assert contad.grad(f, engine=engine)(0.9) == pytest.approx(expected, rel=1e-8)


def test_a_step_may_write_into_its_state():
    def add(s, x):
        s[0] += x
        return s, s

    start, weights = np.zeros(2), np.array([[1.0, 0.0], [10.0, 0.0]])
    np.testing.assert_array_equal(contad.scan(add, start, np.array([1.0, 3.0]))[1], [[1.0, 0.0], [4.0, 0.0]])
    np.testing.assert_array_equal(start, [0.0, 0.0])

    def by_start(k):
        return np.sum(contad.scan(add, np.array([k, k**2]), np.array([1.0, 3.0]))[1] ** 2 * weights)

    assert contad.grad(by_start)(0.5) == pytest.approx(2.0 * 1.5 + 20.0 * 4.5)


def test_pieces_keep_less():
    def kept(pieces):
        top = []

        def f(v):
            z, _ = contad.scan(lambda z, _: (np.sin(z) + z * z * 0.1, None), v, length=400, pieces=pieces)
            top.append(contad.stack().top)
            return np.sum(z)

        contad.grad(f)(np.array([0.3, 0.4]))
        return top[0]

    assert kept(20) < kept(1) / 10


def test_bad_input():
    with pytest.raises(ValueError, match="scan: expected xs of one length, or a length, but got 2, 7"):
        contad.scan(step, 0.0, XS, length=2)
    with pytest.raises(ValueError, match="but got neither"):
        contad.scan(step, 0.0)
    with pytest.raises(ValueError, match="axis of steps, but a leaf is a number"):
        contad.scan(step, 0.0, (XS, 3.0))
    with pytest.raises(ValueError, match="scan: step 0 changes the structure of the state"):
        contad.scan(lambda s, _: ((s, s), None), 0.0, length=2)
    with pytest.raises(TypeError, match=r"scan: expected step to return \(state, y\), but got float"):
        contad.scan(lambda s, _: s, 0.0, length=2)
    with pytest.raises(ValueError, match="pieces to be a positive integer, but got 0"):
        contad.scan(step, 0.0, length=2, pieces=0)
    with pytest.raises(ValueError, match="length to be 0 or more, but got -1"):
        contad.scan(step, 0.0, length=-1)
    for steps in (lambda s, x: (s, None if x > 1.0 else x), lambda s, x: (s, np.ones(int(x)))):
        with pytest.raises(ValueError, match="scan: step 1 changes the structure of y"):
            contad.scan(steps, 0.0, np.array([1.0, 2.0, 3.0]))
    with pytest.raises(RuleError, match="scan"):
        contad.grad(lambda v: contad.scan(lambda s, _: (s * v, None), 1.0, length=4, pieces=2)[0])(2.0)
