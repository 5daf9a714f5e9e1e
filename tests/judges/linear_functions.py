"""Linear functions of real or complex arrays, judged by their dense matrix: values, and derivatives of both orders."""

import numpy as np

import contad


def reals(z):
    """A real or complex array as a vector of real numbers: all real parts, then all imaginary ones."""
    z = np.asarray(z)
    return np.concatenate([z.real.ravel(), z.imag.ravel()]) if np.iscomplexobj(z) else z.ravel()


def like(v, z):
    """The array like z that `reals` takes to the vector v."""
    if not np.iscomplexobj(z):
        return v.reshape(np.shape(z))
    return (v[: np.size(z)] + 1j * v[np.size(z) :]).reshape(np.shape(z))


def matrix_of(f, x):
    """The matrix of a linear function, from its values at unit vectors."""
    return np.stack([reals(f(like(e, x))) for e in np.eye(reals(x).size)], axis=1)


def weights_of(z, seed=0):
    """Numbers like z, none of them equal."""
    return like(np.cos(1.0 + seed + 1.7 * np.arange(reals(z).size)), z)


def weighted(f, weights):
    """The sum of weights * sin(f(x)), of each part apart."""

    def loss(x):
        z = f(x)
        if not np.iscomplexobj(weights):
            return np.sum(weights * np.sin(z))
        return np.sum(weights.real * np.sin(z.real)) + np.sum(weights.imag * np.sin(z.imag))

    return loss


def check_linear(f, x, expected=None, engines=("matrix",), rtol=1e-14):
    """f, a linear function that also takes variables, against `expected`, NumPy's or SciPy's function.

    The gradient of its weighted sum of sines at x is J^T (w cos z), the Hessian -J^T diag(w sin z) J.
    """
    expected = f if expected is None else expected
    j, value = matrix_of(expected, x), expected(x)
    weights = weights_of(value)
    scale = max(np.abs(j).sum(axis=0).max(), 1.0)
    loss = weighted(f, weights)
    found = []

    def noting(x):
        z = f(x)
        found.append(contad.value_of(z.real) + (1j * contad.value_of(z.imag) if np.iscomplexobj(value) else 0.0))
        return loss(x)

    gradient = j.T @ (reals(weights) * np.cos(reals(value)))
    for engine in engines:
        g = contad.grad(noting, engine=engine)(x)
        close(reals(found[-1]), reals(value), rtol, np.abs(value).max(initial=1.0))
        close(reals(g), gradient, rtol, scale)
        assert np.shape(g) == np.shape(x) and np.iscomplexobj(g) == np.iscomplexobj(x)
    dot = weights_of(x, 1)
    z, z_dot = contad.jvp(f, (x,), (dot,))
    close(reals(z), reals(value), rtol, np.abs(value).max(initial=1.0))
    close(reals(z_dot), j @ reals(dot), rtol, scale)
    curvature = -j.T @ (reals(weights) * np.sin(reals(value)) * (j @ reals(dot)))
    forward = contad.jvp(contad.grad(loss), (x,), (dot,))[1]
    close(reals(forward), curvature, rtol, scale * scale)

    def along(x):
        g = contad.grad(loss)(x)
        return np.sum(g.real * dot.real + g.imag * dot.imag) if np.iscomplexobj(dot) else np.sum(g * dot)

    close(reals(contad.grad(along)(x)), curvature, rtol, scale * scale)


def close(found, expected, rtol, scale):
    np.testing.assert_allclose(found, expected, rtol=10 * rtol, atol=10 * rtol * scale)
