"""Where what is written overlaps with what is read, the result is NumPy's: it copies the operand, in most functions.

Every way to write into an array runs with operands that are views of it. The Jacobian is held against complex steps of
the same lines in NumPy, which decides what is read first.
"""

import numpy as np
import pytest

import contad

STEP = 2.0**-100

# ---- what is written, and what is read -------------------------------------------------------------------------------
# into a vector z of six elements: places, and views of z with as many elements
PLACES = {
    "a slice": "1:5", "a reversed slice": "4:0:-1", "positions": "[3, 0, 2, 5]", "repeated positions": "[2, 1, 2, 1]",
    "an array of positions": "np.array([5, 2, 2, 0])", "a mask": "np.array([True, False, True, True, False, True])",
}  # fmt: skip
VIEWS = ["z[:4]", "z[2:]", "z[3::-1]", "z[:1:-1]", "z[1:5]", "z[[3, 1, 1, 0]]", "z.reshape(3, 2)[:2].ravel()", "z[5]"]
VECTOR_FORMS = [
    "z[{k}] = {y}", "z[{k}] += {y}", "z[{k}] -= 0.5 * {y}", "z[{k}] *= {y}", "z[{k}] /= {y}",
    "np.add.at(z, np.s_[{k}], {y})", "np.subtract.at(z, np.s_[{k}], {y})", "np.multiply.at(z, np.s_[{k}], {y})",
    "np.divide.at(z, np.s_[{k}], {y})", "np.negative.at(z, np.s_[{k}])", "np.square.at(z, np.s_[{k}])",
    "w = z[{k}]; np.add(w, {y}, out=w)", "w = z[::-1]; np.add.at(w, np.s_[{k}], {y})",
    "w = z[{k}]; w[...] = {y}", "w = z.reshape(2, 3).ravel(); w[{k}] += {y}",
]  # fmt: skip
# of the whole vector z, or the whole square matrix a
WHOLE_FORMS = [
    "np.add.at(z, [5, 4, 3, 2, 1, 0], z)", "np.add.at(z, [1, 2, 3, 4, 5, 0], z[::-1])",
    "np.add.at(z, [1, 1, 1], z[1:4])", "np.multiply.at(z, [1, 2, 3, 4, 5, 5], z)",
    "np.add.at(z[1:], [0, 1, 2, 3, 4], z[:-1])", "np.add.at(z, [0, 1], z[0])", "z[1:] += z[:-1]", "z[:-1] *= z[1:]",
    "z += z[::-1]", "z[::2] -= z[1::2]", "z **= 3", "z[:] = z[::-1]",
    "z[[0, 1, 2]], z[[3, 4, 5]] = z[[3, 4, 5]], z[[0, 1, 2]]", "z[:3], z[3:] = z[3:], z[:3]",
    "np.copyto(z[1:], z[:-1])", "np.copyto(z, z[::-1])",
    "np.copyto(z[:-1], z[1:], where=[True, False, True, True, False])", "np.copyto(z, z[0])",
    "np.put(z, [1, 2, 3], z)", "np.put(z, [1, 2, 3, 4, 5], z[:2])", "np.put(z, [5, 4, 3], z[::-1])",
    "z.put([1, 2, 3, 4, 5], z)", "np.put(z[::-1], [1, 2, 3], z)", "np.put(z, [3, 2, 1, 0], z[[1, 2]])",
    "np.place(z, [False, True, True, True, False, True], z)",
    "np.place(z, [False, True, True, False, True, True], z[:2])",
    "np.putmask(z, [False, True, True, True, False, True], z[:-1])", "np.putmask(z, [True] * 6, z[::-1])",
    "np.putmask(z[1:], [True] * 5, z[:-1])", "z.flat = z[::-1]", "z.flat[1:] = z[:-1]", "z.flat[:4] = z[:2]",
    "z.flat[[1, 2, 3]] = z[:3]", "z[::-1].flat = z", "z.fill(z[1])", "z[:] = z.reshape(2, 3).T.ravel()",
    "np.put_along_axis(z, np.array([1, 2, 3]), z[:3], 0)", "np.put_along_axis(z, np.array([1, 2, 3]), z[:3], None)",
    "np.add(z[:-1], z[1:], out=z[1:])", "np.multiply(z, z[::-1], out=z)", "np.add.accumulate(z, out=z)", "a += a.T",
    "a[...] = a.T", "a -= a[0]", "a *= a[:, :1]", "a[1:] += a[:-1]", "a[:, 1:] *= a[:, :-1]", "a @= a",
    "a.T[...] = a[::-1]", "np.add.at(a, [0, 1, 1], a)", "np.add.at(a, [1, 2, 0], a[0])",
    "np.add.at(a, ([0, 1], [1, 2]), a[:2, 0])", "np.add.at(a, np.s_[:, [1, 2, 2]], a)", "np.add.at(a.T, [2, 1, 0], a)",
    "np.multiply.at(a, (slice(None), 1), a[0])", "np.copyto(a, a.T)", "np.copyto(a[1:], a[:-1])", "np.copyto(a, a[0])",
    "np.copyto(a, a.T, where=np.eye(3) == 0.0)", "np.put(a, [1, 2, 3, 4, 5, 6], a.T)", "np.put(a.T, [1, 2, 3, 4], a)",
    "np.putmask(a, np.eye(3) == 0.0, a.T)", "np.place(a, np.eye(3) == 0.0, a.T)",
    "np.place(a, np.eye(3) == 0.0, a[0])", "np.fill_diagonal(a, a[0])", "np.fill_diagonal(a, a[:, 0])",
    "np.fill_diagonal(a, a[::-1, ::-1].diagonal())", "np.fill_diagonal(a, a)",
    "np.fill_diagonal(a[:, :2], a[1, 1:], wrap=True)", "a.flat = a.T", "a.flat[::2] = a.T", "a.flat[1:5] = a[0]",
    "a.flat[[0, 4]] = a.flat[[4, 0]]", "a.T.flat = a", "np.put_along_axis(a, np.array([[1], [2], [0]]), a[:, :1], 1)",
    "np.put_along_axis(a, np.array([[1, 2, 0]]), a[1:2], 0)", "a[[0, 1]] = a[[1, 0]]", "a[0], a[1] = a[1], a[0]",
    "a[:, [0, 1, 1]] = a", "a[np.eye(3) == 1.0] = a[0]", "np.add(a, a.T, out=a.T)", "np.matmul(a, a, out=a)",
    "np.add.at(z, [0, 1, 2], a[1])", "np.add.at(a, [0, 0], z[:3])", "a[1] = z[2:5]", "z[:3] = a[:, 1]",
]  # fmt: skip


def written(form):
    """The function that writes, and that shows all there is."""
    source = f"def f(x):\n    z = x[:6] * 1.0\n    a = x[6:].reshape(3, 3) * 1.0\n    {form}\n    return z, a\n"
    scope = {"np": np}
    exec(source, scope)
    return lambda x: scope["f"](x)


def point():
    return np.array([0.7, 1.3, -0.4, 1.9, 0.5, -1.1, 0.8, -0.6, 1.7, 0.3, 2.1, -0.9, 1.2, 0.45, -1.4])


def by_complex_steps(f):
    """Value and Jacobian; None where NumPy refuses the statement."""
    x = point()
    columns = []
    with np.errstate(all="ignore"):
        for k in range(x.size):
            shifted = x.astype(complex)
            shifted[k] += 1j * STEP
            z, a = f(shifted)
            columns.append(np.concatenate([z, a.ravel()]))
    found = np.array(columns).T
    return found.real[:, 0], found.imag / STEP


def differentiated(f, engine, mode):
    def flat(x):
        with np.errstate(all="ignore"):
            z, a = f(x)
        return np.concatenate([z, a.ravel()])

    if mode == "forward":
        x = point()
        value, rows = contad.jvp(flat, (x,), (np.eye(x.size),), several=True)
        return value, rows.T
    return flat(point()), contad.jacrev(flat, engine=engine)(point())


def check(form, engine="matrix", mode="reverse"):
    f = written(form)
    try:
        expected = by_complex_steps(f)
    except (ValueError, TypeError, IndexError):
        return False
    value, jacobian = differentiated(f, engine, mode)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12, err_msg=form)
    np.testing.assert_allclose(jacobian, expected[1], rtol=1e-11, atol=1e-13, err_msg=form)
    return True


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("form", VECTOR_FORMS)
def test_places_and_views(form, mode):
    ran = 0
    for k in PLACES.values():
        for y in VIEWS:
            ran += check(form.format(k=k, y=y), mode=mode)
    assert ran >= 20


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("form", WHOLE_FORMS)
def test_whole_arrays(form, mode):
    assert check(form, mode=mode)


def test_objects_survive_an_overlapping_flat_assignment():
    """NumPy frees objects that `a.flat = a` copies onto themselves; values are objects where derivatives are nested."""

    def f(x, y):
        a = contad.array([[x * 2.0, y], [y, x]])
        a.flat = a.T[::-1]
        a.T.flat = a
        return a[0, 0] ** 3 * a[1, 0] * a[0, 1] ** 2 * a[1, 1]

    def plain(x, y):
        a = np.array([[x * 2.0, y], [y, x]])
        a.flat = a.T[::-1]
        a.T.flat = a
        return a[0, 0] ** 3 * a[1, 0] * a[0, 1] ** 2 * a[1, 1]

    assert f(0.7, 1.3) == plain(0.7, 1.3)
    h = 1e-6
    slope = (plain(0.7 + h, 1.3) - plain(0.7 - h, 1.3)) / (2.0 * h)
    assert contad.grad(f)(0.7, 1.3) == pytest.approx(slope, rel=1e-8)
    curvature = (plain(0.7 + 1e-4, 1.3) - 2.0 * plain(0.7, 1.3) + plain(0.7 - 1e-4, 1.3)) / 1e-8
    for nested in (contad.grad(contad.grad(f)), contad.derivative(contad.grad(f))):
        assert nested(0.7, 1.3) == pytest.approx(curvature, rel=1e-5)
