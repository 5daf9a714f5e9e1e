"""Products of matrices and functions of matrices along several directions at once, against one at a time."""

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.build import derivative_of
from contad.engines.source.ir.runtime_functions import FUNCTIONS
from contad.engines.source.runtime import kernels_by_lanes, line_kernels, matrix_kernels, row_kernels
from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.matrix_kernels import keep, take
from contad.engines.source.runtime.workspace import workspace
from contad.kernels.lane_products import add_lanes_left, add_lanes_right, lanes_product
from contad.kernels.lanes import as_floats, lanes_zeros
from contad.numba_functions.request import Request
from contad.ops.products import left_cotangent, right_cotangent
from contad.scipy import linalg
from tests.engines import matrix_programs
from tests.engines.source.plain_text import draw_direction, generate, require_lanes
from tests.engines.source.programs.matrix_functions import MATRICES, A, X, function_named
from tests.judges.samples import sampled
from tests.random_programs.generated_programs import copied

COUNT = 4
MODULES = {x.__name__.rpartition(".")[2]: x for x in (row_kernels, matrix_kernels, line_kernels)}
RNG = np.random.default_rng(7)
# what is left out: squares of least squares, which are given an element in machine code alone
PROGRAMS = {
    name: (function_named(name), [X, A], (0,)) for name in MATRICES if "least squares" not in name
}
PROGRAMS |= {name: matrix_programs.PROGRAMS[name] for name in ("spectra", "powers", "systems")}
PROGRAMS["filtered"] = matrix_programs.PROGRAMS["Kalman"]


# ---- the text, run as Python -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sampled(PROGRAMS, 12))
@pytest.mark.parametrize("mode", ["hvp", "vjp"])
def test_several_directions(name, mode):
    f, args, argnums = PROGRAMS[name]
    directions = [tuple(draw_direction(RNG, args[k]) for k in argnums) for _ in range(COUNT)]
    with np.errstate(all="ignore"):
        if mode == "vjp":
            value = generate(f, args, argnums, "jvp")(tuple(copied(args)), directions[0])[0]
            directions = [draw_direction(RNG, value) for _ in range(COUNT)]
        require_lanes(f, args, argnums, mode, directions, tolerance=1e-9)


def test_every_function_of_matrices_takes_lanes():
    """Adjoints everywhere; tangents enter the right sides of solvers, the exponential of a block, and transforms."""
    takes = {f.name for f in FUNCTIONS.values() if f.lanes}
    solvers = {"solve", "solve_triangular", "cho_solve", "solve_banded", "solveh_banded"}
    transforms = {"fourier", "half_fourier", "real_fourier", "cosines"}
    assert takes == solvers | transforms | {"expm", "eigh_along", "svd_along"}
    for f in FUNCTIONS.values():
        module = MODULES[f.module]
        adjoints = getattr(module, f"reverse_{f.name}").parameters
        added = [x for x in adjoints if x in kernels_by_lanes.OPERAND_BARS]
        assert adjoints[-f.operands :] == added and len(added) == f.operands  # all others are read
        if f.lanes:
            assert f"forward_lanes_{f.name}" in vars(module) and f"reverse_lanes_{f.name}" in vars(module)


# ---- how often a kernel runs -----------------------------------------------------------------------------------------
@forward_kernel("a z")
def forward_counted(a, b, z, work, top):  # type: ignore[no-untyped-def]
    """z = 2 b, which is kept; counts its calls in a."""
    a[0, 0] += 1.0
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            z[i, j] = 2.0 * b[i, j]
    return keep(z, work, top)


@reverse_kernel
def reverse_counted(z_bar, a_bar, b_bar, work, top):  # type: ignore[no-untyped-def]
    """b_bar += 2 z_bar, a_bar += z_bar z; counts its calls in the last number of a_bar."""
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    for i in range(z_bar.shape[0]):
        for j in range(z_bar.shape[1]):
            if b_bar.size != 0:
                b_bar[i, j] += 2.0 * z_bar[i, j]
            a_bar[i, j] += z_bar[i, j] * z[i, j]
    return top


forward_lanes_counted = kernels_by_lanes.forward_solver(forward_counted)
reverse_lanes_counted = kernels_by_lanes.reverse_solver(reverse_counted)


@pytest.mark.long  # as long as it takes to compile
def test_a_solver_factors_once_for_all_directions():
    @numba.njit
    def run(a, directions, z_bar):
        work, top = workspace()
        b, z, a_bar, b_bar = lanes_zeros((2, 3), 4), lanes_zeros((2, 3), 4), lanes_zeros((2, 3), 4), np.zeros((2, 3))
        as_floats(b)[...] = directions
        work, top = forward_lanes_counted(a, b, z, work, top)
        kept = top
        top = reverse_lanes_counted(z_bar, a_bar, b_bar, 4, work, top)
        return as_floats(z).copy(), as_floats(a_bar).copy(), b_bar, kept, top

    a, directions, z_bar = np.zeros((1, 1)), RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 3))
    z, a_bar, b_bar, kept, top = run(a, directions, z_bar)
    assert a[0, 0] == 1.0 and kept == 24 and top == 0
    np.testing.assert_array_equal(z, 2.0 * directions)
    np.testing.assert_array_equal(a_bar, z_bar[:, :, None] * z)
    np.testing.assert_array_equal(b_bar, 2.0 * z_bar)  # the same for all lanes: added once


def test_a_text_factors_outside_of_loops():
    """For eight directions as many calls as for one: a factor for the value, and one for all tangents."""
    f, args, argnums = PROGRAMS["solve"]
    texts = [
        derivative_of(Request(f.py_func, f, tuple(map(numba.typeof, args)), argnums, False, "hvp", (), n)).source()
        for n in (1, 8)
    ]
    calls = [text.count("= forward_solve(") + text.count("= forward_lanes_solve(") for text in texts]
    assert calls == [2, 2] and texts[1].count("reverse_lanes_solve(") == 1


# ---- products in compiled code ---------------------------------------------------------------------------------------
def as_lanes_in_njit(x):
    z = lanes_zeros((x.shape[0], x.shape[1]), 4)
    as_floats(z)[...] = x
    return z


as_lanes_in_njit = numba.njit(as_lanes_in_njit, no_cpython_wrapper=True)  # lanes are nothing in Python


@numba.njit
def multiply(a, b, a_lanes, b_lanes, z_lanes):
    """a b for lanes on either side, once transposed, and the adjoints of both factors."""
    a_bar, b_bar = lanes_zeros(a.shape, 4), lanes_zeros(b.shape, 4)
    add_lanes_left(as_lanes_in_njit(z_lanes), b, a_bar)
    add_lanes_right(as_lanes_in_njit(z_lanes), a, b_bar)
    first = lanes_product(as_lanes_in_njit(a_lanes), b)
    second = lanes_product(a, as_lanes_in_njit(b_lanes.transpose(1, 0, 2)).T)
    return as_floats(first).copy(), as_floats(second).copy(), as_floats(a_bar).copy(), as_floats(b_bar).copy()


@pytest.mark.long
@pytest.mark.parametrize("is_infinite", [False, True])
def test_products_of_matrices(is_infinite):
    """A zero of an adjoint masks what is infinite, in its own lane."""
    for m, p, n in ((2, 3, 4), (9, 10, 11), (1, 9, 200), (30, 20, 1), (0, 3, 2), (3, 0, 2)):
        a, b, z_bar = RNG.normal(size=(m, p)), RNG.normal(size=(p, n)), RNG.normal(size=(m, n, 4))
        of_a, of_b = RNG.normal(size=(m, p, 4)), RNG.normal(size=(p, n, 4))
        if is_infinite and m * p:
            a[0, 0], b[0, 0] = np.nan, np.inf
            z_bar[0, 0, 0] = 0.0
            z_bar[:, :, 1] = 0.0
        with np.errstate(invalid="ignore"):
            expected = [
                [of_a[:, :, k] @ b, a @ of_b[:, :, k], left_cotangent(z_bar[:, :, k], a.shape, b),
                 right_cotangent(z_bar[:, :, k], a, b.shape)] for k in range(4)
            ]  # fmt: skip
        for found, right in zip(multiply(a, b, of_a, of_b, z_bar), zip(*expected, strict=True), strict=True):
            np.testing.assert_allclose(found, np.stack(right, axis=-1), rtol=1e-12, atol=1e-12)


# ---- tangents of tangents --------------------------------------------------------------------------------------------
@numba.njit
def by_arrays(x):
    y = np.sin(x)
    return np.sum(y * y * y) + np.sum(np.outer(y, x) @ np.outer(x, y))


def test_adjoints_of_tangents_differ_where_tangents_are_multiplied():
    asked = by_arrays.py_func, by_arrays, (numba.typeof(np.ones(3)),), (0,), False, "hvp"
    second, third = (derivative_of(Request(*asked, along, 4)).lanes for along in (((0,),), ((0,), (0,))))
    assert isinstance(second, LaneValues) and not second.masked and third.masked


@numba.njit
def of_solutions(a, b):
    """The adjoints of the tangents of solutions are twice these, for all directions."""
    z, y = np.linalg.solve(a, b), linalg.solve_banded((0, 1), a[:2], b)
    return np.sum(z * z) + np.sum(y * y) + np.sum(np.linalg.cholesky(a @ a.T))


def test_kernels_overwrite_copies_of_arrays_that_other_directions_read():
    a, b = 3.0 * np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3), np.array([0.3, -1.2, 0.7])
    found = contad.hessian(of_solutions, engine="generated")(a, b)
    np.testing.assert_allclose(found, contad.hessian(of_solutions.py_func)(a, b), rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_third_derivatives_by_arrays():
    x, m = RNG.normal(size=5), RNG.normal(size=(5, 5))
    found = contad.grad_tr_mat_times_hessian(by_arrays, x, m)
    np.testing.assert_allclose(found, contad.grad_tr_mat_times_hessian(by_arrays.py_func, x, m), rtol=1e-10)
    assert "at once" in contad.explain(contad.grad_tr_mat_times_hessian, by_arrays, x, m)


# ---- in another order of memory --------------------------------------------------------------------------------------
@numba.njit
def of_a_column(b):
    """An operand that is written later on, and so is kept."""
    d = np.zeros((len(b), 3))
    d[:, 1] = b
    z = d[:, 1] @ d[:, 1]
    d[:, 1] = d[:, 1] * d[:, 1]
    return z + np.sum(d)


@numba.njit
def to_a_column(b):
    d = np.zeros((len(b), 3))
    d[:, 1] = b * b
    return d[:, 1]


@pytest.mark.filterwarnings("ignore:.*faster on contiguous arrays")
@pytest.mark.parametrize(("f", "transform"), [(of_a_column, contad.hessian), (to_a_column, contad.jacfwd)])
def test_columns_of_lanes_are_copied(f, transform):
    """Numba's own copy takes each vector to lie at a multiple of its size; where it does not, that is a segfault."""
    b = RNG.normal(size=5)
    np.testing.assert_allclose(transform(f)(b), transform(f.py_func)(b), rtol=1e-12, atol=1e-12)
