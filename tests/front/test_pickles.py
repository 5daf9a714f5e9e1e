"""Derivatives in other processes: of functions of modules, of the main program, and made inside functions."""

import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest

import contad

X = np.array([0.5, 1.5])


@numba.njit
def cubes(x):
    return np.sum(x * x * x)


def plain(x):
    return np.sum(x * x * x)


def make(a):
    @numba.njit
    def scaled(x):
        return a * np.sum(x * x * x)

    return scaled


@contad.checkpoint
def by_checkpoint(x):
    return np.sum(x * x * x)


@contad.custom_vjp
def by_vjp(x):
    return np.sum(x * x * x)


by_vjp.defvjp(lambda x: (np.sum(x * x * x), x), lambda x, z_bar: (3.0 * z_bar * x * x,))


@contad.custom_jvp
def by_jvp(x):
    return np.sum(x * x * x)


by_jvp.defjvps(lambda x_dot, z, x: np.sum(3.0 * x * x * x_dot))


def forward(x):
    return np.sum(x * x * x), x


def backward(x, z_bar):
    return (3.0 * z_bar * x * x,)


def of_tangent(x_dot, z, x):
    return np.sum(3.0 * x * x * x_dot)


class Model:
    rate = 1.0

    @contad.checkpoint
    def loss(self, x):
        return self.rate * np.sum(x * x * x)


MADE = {
    "grad": (lambda f: contad.grad(f), (X,)),
    "value_and_grad": (lambda f: contad.value_and_grad(f, (0,)), (X,)),
    "grad on matrix": (lambda f: contad.grad(f, engine="matrix"), (X,)),
    "elementwise_grad": (lambda f: contad.elementwise_grad(f), (X,)),
    "jacobian": (lambda f: contad.jacobian(f), (X,)),
    "jacrev": (lambda f: contad.jacrev(f, (0,)), (X,)),
    "jacfwd": (lambda f: contad.jacfwd(f), (X,)),
    "hessian": (lambda f: contad.hessian(f), (X,)),
    "hvp": (lambda f: contad.hvp(f, engine="matrix"), (X, X)),
    "laplacian": (lambda f: contad.laplacian(f), (X,)),
    "hessian_block_diag": (lambda f: contad.hessian_block_diag(f, 1), (X,)),
    "linearize": (lambda f: contad.linearize(f, X)[1], (X,)),
    "make_jvp": (lambda f: contad.make_jvp(f), (X,)),
    "derivative": (lambda f: contad.derivative(f), (0.5,)),
    "hessian of a gradient's sum": (lambda f: contad.jacobian(contad.grad(f)), (X,)),
}


def value_of(made, args):
    y = made(*args)
    return y(X) if callable(y) else y


def leaves(y):
    return [leaf for part in y for leaf in leaves(part)] if isinstance(y, (tuple, list)) else [y]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("f", [cubes, plain], ids=["numba", "plain"])
def test_whatever_a_transform_returns_pickles_by_the_name_of_the_function(name, f):
    transform, args = MADE[name]
    made = transform(f)
    expected = value_of(made, args)
    text = pickle.dumps(made)
    assert len(text) < 500
    for a, b in zip(leaves(expected), leaves(value_of(pickle.loads(text), args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("name", ["grad", "jacobian", "hvp", "linearize", "elementwise_grad"])
def test_of_a_numba_function_made_in_a_function(name):
    transform, args = MADE[name]
    made = transform(make(2.0))
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_allclose(value_of(again, args), value_of(made, args), rtol=1e-13)


def test_a_linear_map_keeps_its_point():
    x = X.copy()
    tangent_map = contad.linearize(plain, x)[1]
    x[:] = 100.0
    assert pickle.loads(pickle.dumps(tangent_map))(X) == tangent_map(X) == pytest.approx(10.5)


def undecorated(kind):
    made = kind(plain)
    made.defvjp(forward, backward) if kind is contad.custom_vjp else made.defjvps(of_tangent)
    return made


@pytest.mark.parametrize(
    "made",
    [
        by_checkpoint, by_vjp, by_jvp, contad.checkpoint(plain), contad.checkpoint(cubes),
        undecorated(contad.custom_vjp), undecorated(contad.custom_jvp), contad.primitive(cubes),
    ],
    ids=["decorated checkpoint", "decorated custom_vjp", "decorated custom_jvp", "checkpoint", "checkpoint of njit",
         "custom_vjp", "custom_jvp", "primitive"],
)  # fmt: skip
def test_functions_with_derivatives_of_their_own(made):
    again = pickle.loads(pickle.dumps(made))
    assert again is made or made not in (by_checkpoint, by_vjp, by_jvp)
    assert again.__name__ == made.__name__ and again(X) == made(X) == 3.5
    np.testing.assert_allclose(contad.grad(lambda x: 2.0 * again(x))(X), 6.0 * X * X)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(contad.grad(made)))(X), 3.0 * X * X)


def test_a_checkpoint_is_a_method_where_it_stands_in_a_class():
    np.testing.assert_allclose(contad.grad(lambda x: Model().loss(x))(X), 3.0 * X * X)


@pytest.mark.parametrize("f", [plain, cubes], ids=["plain", "numba"])
def test_a_recorded_program(f):
    again = pickle.loads(pickle.dumps(contad.record(f, X)))
    np.testing.assert_allclose(again.gradient(2.0 * X), 12.0 * X * X)


def test_a_recorded_program_with_a_rule_of_its_own():
    with pytest.raises(contad.UnsupportedError, match="calls of custom_vjp: by_vjp.*record it there"):
        pickle.dumps(contad.record(by_vjp, X))


def test_pullbacks_and_stacks_say_what_to_send():
    made = [contad.vjp(f, X)[1] for f in (plain, cubes)] + [contad.make_vjp(plain)(X)[0], contad.stack()]
    for x in [*made, contad.cfunc(cubes, 2)]:
        told = r"call contad\.vjp there|pickle values|call contad\.cfunc\(f, n\) there"
        with pytest.raises(contad.UnsupportedError, match=told):
            pickle.dumps(x)
    assert made[0].__qualname__ == "pullback of plain"
    again = pickle.loads(pickle.dumps(contad.make_jvp(plain)(X)))
    assert again(X) == contad.jvp(plain, (X,), (X,))


PROGRAM = """
import multiprocessing, sys
import numba
import numpy as np
import contad

X = np.array([0.5, 1.5])
RATE = 2.0

@numba.njit
def inner(x):
    return RATE * x

@numba.njit
def cubes(x):
    return inner(np.sum(x * x * x))

def plain(x):
    return 2.0 * np.sum(x * x * x)

def make(a):
    @numba.njit
    def scaled(x):
        return a * np.sum(x * x * x)

    def plain_scaled(x):
        return a * np.sum(x * x * x)

    return scaled, plain_scaled

@contad.custom_vjp
def rule(x):
    return 2.0 * np.sum(x * x * x)

rule.defvjp(lambda x: (rule(x), x), lambda x, z_bar: (6.0 * z_bar * x * x,))

@contad.custom_jvp
def jvp_rule(x):
    return 2.0 * np.sum(x * x * x)

jvp_rule.defjvps(lambda x_dot, z, x: np.sum(6.0 * x * x * x_dot))

@contad.checkpoint
def kept(x):
    return 2.0 * np.sum(x * x * x)

def call(made, *args):
    return made(*args)

if __name__ == "__main__":
    functions = [cubes, plain, *make(2.0)]
    g = contad.grad
    for f in functions:
        g(f)(X)  # what has been compiled stays here
    if sys.argv[1] == "joblib":
        from joblib import Parallel, delayed

        calls = [delayed(made)(X) for f in functions for made in (g(f), contad.jacobian(f))]
        calls += [delayed(contad.hessian(f))(X) for f in functions]
        calls += [delayed(lambda x, f=f: contad.grad(f)(x))(X) for f in functions]  # made there
        calls += [delayed(g(f))(X) for f in (contad.checkpoint(plain), rule, jvp_rule)]
        calls += [delayed(lambda x: contad.grad(lambda y: rule(y) + 0.0 * kept(y))(x))(X)]
        found = Parallel(n_jobs=2)(calls)
    else:
        importable = [f for f in functions if f is plain or hasattr(f, "py_func")]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            made = [(t(f), X) for f in importable for t in (g, contad.jacobian, contad.hessian)]
            made += [(t(f), X) for f in (rule, jvp_rule, kept) for t in (lambda f: f, g)]
            made += [(contad.hvp(f), X, X) for f in importable] + [(contad.linearize(f, X)[1], X) for f in importable]
            found = pool.starmap(call, made)
    by_hand = [2.0 * np.sum(X**3), 6.0 * X * X, np.diag(12.0 * X), 12.0 * X * X, 6.0 * np.sum(X**3)]
    for y in found:
        assert any(np.shape(y) == np.shape(z) and np.allclose(y, z, rtol=1e-12) for z in by_hand), y
    print(len(found))
"""


@pytest.mark.parametrize(("way", "count"), [pytest.param("joblib", 20, marks=pytest.mark.long), ("spawn", 21)])
def test_other_processes_of_a_main_program(way, count, tmp_path):
    if way == "joblib":
        pytest.importorskip("joblib")
    path = tmp_path / "main.py"
    path.write_text(PROGRAM)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, str(path), way]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(count)]
