"""The Jacobian of reprojection errors, as the benchmark ADBench defines them, on synthetic cameras.

Each observation has its own row of cameras, points and weights (those of the camera and the point that it belongs to),
so that the blocks of the sparse Jacobian are per observation, and ones as cotangents give all of a component at once.
"""

from typing import Any

import numpy as np
from numba import njit

import contad
from benchmarks.comparison import shaped
from benchmarks.comparison.cameras import by_hand, project, reprojection
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C, MAPACCUM

Pair = tuple[Any, Any]


def inputs(cameras: int, points: int, observations: int) -> tuple[Any, ...]:
    """Cameras about ten in front of a cloud of points; features are what they see, and noise."""
    rng = np.random.default_rng(43)
    draw = rng.normal
    of_cameras = np.empty((cameras, 11))
    of_cameras[:, :3] = 0.3 * draw(size=(cameras, 3))
    of_cameras[:, 3:6] = 0.5 * draw(size=(cameras, 3)) - np.array([0.0, 0.0, 10.0])
    of_cameras[:, 6] = 500.0 + 20.0 * draw(size=cameras)
    of_cameras[:, 7:9] = 10.0 * draw(size=(cameras, 2))
    of_cameras[:, 9:] = 0.1 * draw(size=(cameras, 2))
    of_points = draw(size=(points, 3))
    seen = of_cameras[rng.integers(0, cameras, observations)], of_points[rng.integers(0, points, observations)]
    exact = reprojection(*seen, np.ones(observations), np.zeros((observations, 2)))
    weights = 0.5 + rng.random(observations)
    return *seen, weights, exact + draw(size=exact.shape)


# ---- arrays ----------------------------------------------------------------------------------------------------------
def of_components(np: Any, cameras: Any, points: Any, weights: Any, features: Any) -> Pair:
    """Both components of the errors, of one observation or of many: the last axis holds what belongs together.

    No synthetic camera is without rotation, for which the loops have a branch.
    """
    a, b, c = cameras[..., 0], cameras[..., 1], cameras[..., 2]
    x = points[..., 0] - cameras[..., 3]
    y = points[..., 1] - cameras[..., 4]
    z = points[..., 2] - cameras[..., 5]
    angle = np.sqrt(a * a + b * b + c * c)
    cosine, sine = np.cos(angle), np.sin(angle)
    a, b, c = a / angle, b / angle, c / angle
    along = (1.0 - cosine) * (a * x + b * y + c * z)
    depth = z * cosine + (a * y - b * x) * sine + c * along
    p = (x * cosine + (b * z - c * y) * sine + a * along) / depth
    q = (y * cosine + (c * x - a * z) * sine + b * along) / depth
    r2 = p * p + q * q
    scale = cameras[..., 6] * (1.0 + cameras[..., 9] * r2 + cameras[..., 10] * r2 * r2)
    u = weights * (p * scale + cameras[..., 7] - features[..., 0])
    return u, weights * (q * scale + cameras[..., 8] - features[..., 1])


def blocks(rows: Any) -> tuple[Any, ...]:
    """The blocks of the Jacobian from the cotangents of the two components."""
    return tuple(np.stack(pair, 1) for pair in zip(*rows, strict=True))


# ---- contad ----------------------------------------------------------------------------------------------------------
@njit
def of_observation(camera, point, weight, feature):
    """Both components of the error of one observation, of numbers; and once more as what is wanted beside."""
    u, v = project(camera, point)
    error = weight * (u - feature[0]), weight * (v - feature[1])
    return error, error


def by_blocks(*args: Any) -> Run:
    """The Jacobian of one observation, inside a Numba function that goes through all of them."""
    block = contad.jacobian(of_observation, (0, 1, 2), has_aux=True)

    @njit
    def jacobian(cameras, points, weights, features):
        n = len(weights)
        errors, of_weights = np.empty((n, 2)), np.empty((n, 2))
        of_cameras, of_points = np.empty((n, 2, 11)), np.empty((n, 2, 3))
        for i in range(n):
            c, p, f = cameras[i], points[i], features[i]
            camera = (c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10])
            rows, (errors[i, 0], errors[i, 1]) = block(camera, (p[0], p[1], p[2]), weights[i], (f[0], f[1]))
            for e in range(2):
                of_camera, of_point, of_weights[i, e] = rows[e]
                for k in range(11):
                    of_cameras[i, e, k] = of_camera[k]
                for k in range(3):
                    of_points[i, e, k] = of_point[k]
        return errors, (of_cameras, of_points, of_weights)

    return lambda: jacobian(*args)


@njit
def summed(cameras, points, weights, features, component):
    """The sum of one component, whose gradient is that component's part of all blocks; and the errors."""
    errors = reprojection(cameras, points, weights, features)
    return np.sum(errors[:, component]), errors


def compiled(engine: str) -> shaped.Version:
    """The gradient of each component, inside a Numba function that puts the blocks together."""
    gradient = contad.value_and_grad(summed, (0, 1, 2), has_aux=True, engine=engine)

    @njit
    def jacobian(cameras, points, weights, features):
        n = len(weights)
        of_cameras, of_points, of_weights = np.empty((n, 2, 11)), np.empty((n, 2, 3)), np.empty((n, 2))
        for k in range(2):
            (_, errors), parts = gradient(cameras, points, weights, features, k)
            of_cameras[:, k], of_points[:, k], of_weights[:, k] = parts
        return errors, (of_cameras, of_points, of_weights)

    return lambda *args: lambda: jacobian(*args)


def matrix(cameras: Any, points: Any, weights: Any, features: Any) -> Run:
    """contad.vjp of the NumPy function: one recording, swept for each component."""
    ones, zeros = np.ones(len(weights)), np.zeros(len(weights))
    features = contad.constant(features)

    def run() -> Pair:
        value, pullback = contad.vjp(lambda *point: of_components(np, *point, features), cameras, points, weights)
        return np.stack(value, 1), blocks([pullback((ones, zeros)), pullback((zeros, ones))])

    return run


# ---- peers -----------------------------------------------------------------------------------------------------------
def autograd(cameras: Any, points: Any, weights: Any, features: Any) -> Run:
    import autograd
    import autograd.numpy as anp

    ones = np.zeros((2, 2, len(weights)))
    ones[0, 0] = ones[1, 1] = 1.0

    def errors(point: Any) -> Any:
        return anp.array(of_components(anp, *point, features))

    def run() -> Pair:
        pullback, value = autograd.make_vjp(errors)((cameras, points, weights))
        return value.T, blocks([pullback(c) for c in ones])

    return run


def jax(*args: Any) -> Run:
    jax, jnp = shaped.import_jax()

    def errors(*observation: Any) -> Pair:
        e = jnp.stack(of_components(jnp, *observation))
        return e, e

    def both(*args: Any) -> Pair:
        jacobian, value = jax.vmap(jax.jacrev(errors, (0, 1, 2), has_aux=True))(*args)
        return value, jacobian

    f, own = jax.jit(both), [jnp.asarray(x) for x in args]
    return lambda: jax.block_until_ready(f(*own))


def torch(*args: Any) -> Run:
    torch = shaped.import_torch()

    def errors(*observation: Any) -> Pair:
        e = torch.stack(of_components(torch, *observation))
        return e, e

    f = torch.func.vmap(torch.func.jacrev(errors, (0, 1, 2), has_aux=True))
    own = [torch.tensor(x) for x in args]

    def run() -> Pair:
        jacobian, value = f(*own)
        return value, jacobian

    return run


def casadi(*args: Any) -> Run:
    import casadi

    n = len(args[2])
    columns = [np.ascontiguousarray(x.reshape(n, -1)) for x in args]  # as columns of CasADi's matrices
    symbols = [casadi.SX.sym("x", x.shape[1]) for x in columns]
    rows = [_Row(x) for x in symbols]
    errors = casadi.vertcat(*of_components(casadi, rows[0], rows[1], symbols[2], rows[3]))
    transposed = casadi.jacobian(errors, casadi.vertcat(*symbols[:3])).T  # its columns are the rows, as NumPy has them
    f = casadi.Function("blocks", symbols, [errors, casadi.densify(transposed)]).map(n)
    given = [casadi.MX.sym("x", *f.size_in(k)) for k in range(f.n_in())]
    f = casadi.Function("all", given, f(*given), shaped.choose_options_of_c())
    (value, jacobian), trigger = shaped.make_buffers(f, *columns)
    value, jacobian = value.reshape(n, 2), jacobian.reshape(n, 2, 15)

    def run() -> Pair:
        trigger()
        return value, (jacobian[:, :, :11], jacobian[:, :, 11:14], jacobian[:, :, 14])

    return run


class _Row:
    """A vector of CasADi that takes the index [..., k]."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __getitem__(self, index: Any) -> Any:
        return self.x[index[1]]


def xad(*args: Any) -> Run:
    if len(args[2]) > 5000:
        raise TooSlow("a tape for each of tens of thousands of observations takes seconds")
    from xad import math
    from xad.adj_1st import Tape

    tape, n = Tape(), len(args[2])
    rows = [x.reshape(n, -1).tolist() for x in args]

    def run() -> Pair:
        value, jacobian = np.empty((n, 2)), np.empty((n, 2, 15))
        with tape:
            for i in range(n):
                x = shaped.make_reals([*rows[0][i], *rows[1][i], *rows[2][i]])
                tape.registerInputs(x)
                tape.newRecording()
                parts = _Row(x[:11]), _Row(x[11:14]), x[14], _Row(rows[3][i])
                errors = of_components(math, *parts)
                tape.registerOutputs(errors)
                for e in range(2):
                    tape.clearDerivatives()
                    errors[e].derivative = 1.0
                    tape.computeAdjoints()
                    value[i, e] = errors[e].value
                    jacobian[i, e] = [v.derivative for v in x]
        return value, (jacobian[:, :, :11], jacobian[:, :, 11:14], jacobian[:, :, 14])

    return run


REMARKS = (
    "generated takes the block of an observation, two rows at once from one forward pass; tape and matrix the gradient "
    "of each component's sum. casadi has the whole block as one straight piece of C."
)

PROGRAM = Program(
    name="bundle_adjustment",
    about="Jacobian of weighted reprojection errors w (project(camera, point) - feature) by camera, point and weight",
    sizes={
        "small": {"cameras": 5, "points": 50, "observations": 100},
        "medium": {"cameras": 10, "points": 500, "observations": 2000},
        "large": {"cameras": 49, "points": 7776, "observations": 31843},  # those of ADBench's first problem
    },
    inputs=inputs,
    argnums=(0, 1, 2),
    primal=reprojection,
    by_hand=by_hand,
    contad={"generated": by_blocks, "tape": compiled("tape"), "matrix": matrix},
    peers={"autograd": autograd, "jax": jax, "torch": torch, "casadi": casadi, "xad": xad},
    idioms=IDIOMS
    | {
        "autograd": "make_vjp of the errors of all observations, and a pullback for each component (docs/tutorial.md)",
        "jax": "jit of vmap of jacrev, as a block has more columns than rows (docs.jax.dev: The autodiff cookbook)",
        "torch": "torch.func.vmap of jacrev (docs.pytorch.org/tutorials/intermediate/jacobians_hessians.html)",
        "casadi": f"SX for an observation, casadi.jacobian, map over all ({MAPACCUM}); {IN_C}",
        "xad": "a tape for each observation, clearDerivatives between its two components "
        "(auto-differentiation.github.io/ref/tape)",
    },
    remarks=REMARKS,
)
