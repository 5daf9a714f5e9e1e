"""What people asked other libraries to differentiate, statement by statement as in their threads."""

import re
from math import *  # noqa: F403  (as it was typed)

import numpy as np
import pytest
import xarray as xr
from numpy import sqrt
from scipy.integrate import odeint

import contad
from contad.errors import LostDerivativeError

DRAW = np.random.default_rng(12)


# ---- HIPS/autograd ---------------------------------------------------------------------------------------------------
def two_elements(b):  # autograd 375
    c = np.zeros(2)
    c[0] = b[0] * b[0]
    c[1] = b[1] * b[0] + b[2]
    return c


def row_by_row(param):  # autograd 177
    res = np.zeros(5)
    for m in range(5):
        res[m] = np.sum(param[m] * param[0])
    return np.sum(res)


def a_block(A):  # autograd 58
    B = np.zeros((4, 4))
    B[:2, :2] = A
    return B.sum()


def camera(params):  # autograd 515
    ksi, ku, kv, skew, uo, vo, theta = params
    for p in params:
        assert type(p) == np.float64  # noqa: E721
    K = np.array([[ku, skew, uo], [0.0, kv, vo], [0.0, 0.0, 1.0]])
    rotMat = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    alpha = np.dot(np.linalg.inv(K), np.append(rotMat @ np.array([0.4, 0.9]), 1.0))
    quad_a = 1.0 / alpha[0] ** 2 - (ksi**2.0) * (1.0 + (alpha[1] ** 2.0) / (alpha[0] ** 2.0))
    quad_b = -2.0 / alpha[0]
    quad_c = 1.0 - ksi**2
    if quad_b**2 < 4 * quad_a * quad_c:
        return 0.0 * ksi
    return (-quad_b + np.sqrt(quad_b**2.0 - 4.0 * quad_a * quad_c)) / (2.0 * quad_a)


def numpy_CG(A, b, x0, tol, max_iter):  # autograd 556
    r = b - A @ x0
    p = r + 0.0
    count = 0
    x = x0 + 0.0
    while count <= min(max_iter, A.shape[0]):
        alpha_k = np.dot(p, r) / np.dot(p, A @ p)
        x = x + alpha_k * p
        r_ = r - A @ x
        if np.linalg.norm(r_) < tol:
            return x
        p = r_ - np.dot(A @ p, r_) / np.dot(p, A @ p) * p
        count += 1
    return x


def columns_by_conjugate_gradients(b):
    A, GSK = MATRIX, np.arange(6.0).reshape(3, 2)
    X = np.zeros((GSK.shape[0], GSK.shape[1]))
    M = A.T @ np.diag(b) @ A
    for z in range(2):
        X[:, z] = numpy_CG(M, GSK[:, z], np.ones(3), 1e-9, 2)
    return np.diag(b) @ A @ X


MATRIX = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, 0.4], [0.0, 0.1, 1.1]])


def loss_n(x):  # autograd 246
    return exp(np.dot(x, x))  # noqa: F405


A = lambda th: [[th[0], th[1]], [th[2], th[3]]]
B = lambda f: lambda th: np.array(f(th), np.float64)


def exponential(variable=None):  # autograd 416
    result = np.exp(variable)
    return result


def shf_Lambda(PC):  # autograd 190
    return 0.0003 * pow(PC, -0.557) + 0.0816


def meshed(x):  # autograd 457
    X, Y = np.meshgrid(x, x)
    return np.exp(X) * Y


def vector_to_polar(xy_real, xy_imag, _ur):  # autograd 394
    return np.arctan2(xy_imag, xy_real) * _ur / (2.0 * np.pi), np.sqrt(xy_real**2 + xy_imag**2)


def residuals(xy):
    d0, a0 = vector_to_polar(xy[0::2], xy[1::2], 0.7)
    d1, a1 = vector_to_polar(1.3 - xy[0::2], 0.4 - xy[1::2], 0.7)
    amp, p = np.array([a0, a1]), np.array([d0, d1]) * 2.0 * np.pi / 0.9
    return np.sum(amp * np.cos(p), axis=0) ** 2 + np.sum(amp * np.sin(p), axis=0) ** 2


def labelled(x):  # autograd 647
    data = xr.DataArray(x, dims=range(x.ndim)).data
    return np.sum(data**2)


# ---- jax-ml/jax ------------------------------------------------------------------------------------------------------
def inplace_func(a):  # jax 7116
    for i in range(a.size):
        a[i] = 2 * (2 * (a[i] + 1) + 1)
    return a


def of_reference(a):  # jax 226
    b = a
    b += 10
    return a * b


def pendulum(p):  # jax 2287
    dt, N = 0.1, 8
    tab_x = np.zeros(N)
    tab_v = np.zeros(N)
    x, v = p
    for i in range(N):
        x = x + v * dt
        v = v - 4 * np.pi**2 * np.sin(x) * dt
        tab_x[i] = x
        tab_v[i] = v
    return tab_x * tab_v


def radec2lm(radec, ra0=3.09, dec0=-0.52):  # jax 7545
    lm = np.empty((radec.shape[0], 2), radec.dtype)
    for s in range(radec.shape[0]):
        ra, dec = radec[s]
        delta_ra = ra - ra0
        lm[s, 0] = np.cos(dec) * np.sin(delta_ra)
        lm[s, 1] = np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(delta_ra)
    return lm


def batches(data):  # jax 101
    x_train = np.zeros((6, 2))
    for i in range(1, 4):
        x_train[(i - 1) * 2 : i * 2, :] = data * i
    return x_train


def counted(x):  # jax 101, of the answer
    for i in range(x.shape[0]):
        x[i, :] = (i, 2 * i * x[i, 0])
    return x


# ---- pytorch/pytorch -------------------------------------------------------------------------------------------------
class Bias:  # pytorch 9634
    def __init__(self, dim):
        self.bias = dim

    def forward(self, x):
        x += self.bias
        return x


def biased(bias):
    return Bias(bias).forward(np.ones(3)) ** 2


def patches(pred):  # pytorch 2425
    sub_patch = np.zeros((5, 5))
    for i in range(3):
        for j in range(3):
            sub_patch[i : (i + 3), j : (j + 3)] += FILTER * pred[i, j]
    return sub_patch


FILTER = np.array([[1.0, -0.5, 0.2], [0.3, 2.0, -1.0], [0.0, 0.7, 0.4]])


def added_tanh(x):  # pytorch 10346
    y = np.array([0.5, -1.0, 2.0])
    y += np.tanh(x)
    return y * y


class Attention:  # pytorch 8106
    def __init__(self):
        self.history = np.zeros(3)

    def forward(self, hidden):
        w = np.exp(hidden) / np.exp(hidden).sum()
        self.history += w.reshape(self.history.shape)
        return self.history * hidden


def attended(x):
    attention = Attention()
    attention.forward(x)
    return attention.forward(x * x)


POINTS = DRAW.uniform(0.3, 1.2, (5, 3))
WORKING = {
    "autograd 375": (two_elements, np.array([1.0, 2.0, 2.5])), "autograd 177": (row_by_row, POINTS),
    "autograd 58": (a_block, POINTS[:2, :2]), "autograd 515": (camera, np.array([0.3, 1.2, 1.4, 0.1, 0.2, -0.1, 0.4])),
    "autograd 556": (columns_by_conjugate_gradients, POINTS[0]), "autograd 246": (loss_n, np.asarray([0.9, 0.4])),
    "autograd 304": (B(A), np.array([1.0, 2.0, 3.0, 4.0])), "autograd 416": (exponential, POINTS[0]),
    "autograd 190": (shf_Lambda, 3.56086), "autograd 331": (lambda x: np.append(x, 4) ** 2, POINTS[0]),
    "autograd 457": (meshed, np.array([1.0, 2.0, 3.0, 4.0])), "autograd 394": (residuals, POINTS[:2].ravel()),
    "autograd 176": (lambda x: sqrt(x), 10.0), "autograd 586": (lambda x: np.linalg.norm(x) ** 2, np.zeros(2)),
    "autograd 85": (lambda x: -0.5 * np.sum(x**2), POINTS[1]), "autograd 548": (lambda x: np.add(x, 1) * x, 1.3),
    "autograd 647": (labelled, POINTS), "jax 7116": (inplace_func, np.arange(4.0)),
    "jax 226": (of_reference, POINTS[0]),
    "jax 2287": (pendulum, np.array([1.5, 0.2])), "jax 7545": (radec2lm, POINTS[:, :2]),
    "jax 101": (batches, POINTS[:2, :2]), "jax 101, answer": (counted, POINTS[:, :2]),
    "pytorch 9634": (biased, POINTS[0]), "pytorch 2425": (patches, POINTS[:3]),
    "pytorch 10346": (added_tanh, POINTS[0]), "pytorch 8106": (attended, POINTS[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKING)
def test_code_of_threads(name):
    f, x = WORKING[name]
    h = 1e-6
    copy = lambda x: np.array(x) if isinstance(x, np.ndarray) else x
    found = contad.jacobian(f)(x)
    steps = np.eye(np.size(x)).reshape(np.size(x), *np.shape(x)) if np.ndim(x) else [1.0]
    columns = [(np.asarray(f(copy(x + h * e))) - np.asarray(f(copy(x - h * e)))) / (2.0 * h) for e in steps]
    expected = np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + np.shape(x))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert f(copy(x)) is not None and np.shape(found) == expected.shape


def test_there_are_many():
    assert len(WORKING) >= 25 and np.count_nonzero([name.startswith("autograd") for name in WORKING]) >= 15


# ---- what cannot be --------------------------------------------------------------------------------------------------
a = np.ones((7, 7))


def objective(b):  # autograd 559: the array is made where no derivative is taken
    a[2:5, 3:6] = b.flatten().reshape((3, 3))
    return a.sum()


def sir(y, t, beta, gamma):  # autograd 684
    S, I, R = y  # noqa: E741, RUF059
    return np.array([-beta * S * I, beta * S * I - gamma * I, gamma * I])


def sir_loss(params):
    beta, gamma = params
    sol = odeint(sir, y0=np.array([0.95, 0.05, 0.0]), t=np.linspace(0, 3, 5), args=(beta, gamma))
    return np.linalg.norm(sol, 2)


def func(y, t, c):  # autograd 362
    return [y[1], -c[0] * y[0]]


def cost(coeffs):
    func_vals = odeint(func, [1.0, 0.0], [0.0, 1.0], args=(coeffs,))[0]
    return func_vals @ func_vals


IMPOSSIBLE = {
    "autograd 559": (objective, 2.0 * np.ones((3, 3)), 1, "a[2:5, 3:6] = b.flatten().reshape((3, 3)): "),
    "autograd 684": (sir_loss, np.array([0.4, 0.1]), 2, "odeint(sir, y0=np.array([0.95, 0.05, 0.0])"),
    "autograd 362": (cost, np.array([0.4]), 1, "odeint(func, [1.0, 0.0], [0.0, 1.0], args=(coeffs,)): scipy."),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_call_names_the_expression(name):
    f, x, line, told = IMPOSSIBLE[name]
    place = f"{__file__}:{f.__code__.co_firstlineno + line}: {told}"
    with pytest.raises(LostDerivativeError, match=f"^{re.escape(place)}"):
        contad.grad(f)(x)
    a[:] = 1.0
