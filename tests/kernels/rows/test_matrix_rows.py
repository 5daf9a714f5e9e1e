"""Every row of matrix operations against the array rule of its name, or the function: a derivative is written once.

Kernels run as Python does, without compiling; what LAPACK does for them is compiled.
"""

import contextlib
import importlib
import inspect
import zlib

import numba
import numpy as np
import pytest

import contad
from contad.kernels.rows.row_tables import MATRIX_ROWS, ROWS, SIZES, band_height, measures_of
from contad.ops import products
from contad.rules.array_rule import array_rule_of

SQUARE = ((1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 5, 3), (9, 9, 1))  # m, n and k
LONG, WIDE, EMPTY = (4, 2, 1), (2, 4, 1), (0, 0, 1)
FURTHER = dict.fromkeys(("singular_spectrum", "pinv", "lstsq"), (LONG, WIDE))
FURTHER |= {"orthogonal_factor": (LONG,), "euclidean_norm": (LONG, (1, 7, 1))}
FURTHER |= {"matmul": (LONG, WIDE, EMPTY, (3, 0, 2), (2, 3, 4))}
FURTHER |= dict.fromkeys(
    ("solve", "inv", "det", "log_determinant", "cholesky_factor", "solve_triangular", "slogdet"), (EMPTY,)
)
BANDS = [(1, 1), (1, 2)]  # lower and upper
ADD_TO_DIAGONAL = ("solve", "solve_triangular", "inv", "log_determinant", "slogdet", "singular_cofactors",
                   "cholesky_solution")  # fmt: skip


def flags(row):
    """Every combination of flags."""
    return [{x: bool(k >> i & 1) for i, x in enumerate(row.flags)} for k in range(2 ** len(row.flags))]


def fit(a, b):
    x, squares, rank, s = np.linalg.lstsq(a, b, rcond=None)
    return x, squares if np.size(squares) else np.zeros(b.shape[1]), s, rank


# what rows compute of which there is no rule with the same name: the results in order
FUNCTIONS = {
    "slogdet": np.linalg.slogdet,
    "eigvalsh": lambda a: (np.linalg.eigvalsh(a),), "eigvals": np.linalg.eig, "pinv": lambda a: (np.linalg.pinv(a),),
    "lstsq": fit,
}  # fmt: skip


def cases_of(row):
    """(sizes, options)"""
    if row.name == "banded_solution":
        sizes = [(1, 1), (2, 3), (6, 1), (6, 3)]
        return [((sum(band) + 1, *size), dict(zip(row.options, band, strict=True))) for size in sizes for band in BANDS]
    return [(sizes, options) for sizes in (*SQUARE, *FURTHER.get(row.name, ())) for options in flags(row)]


CASES = [(name, *case) for name, row in MATRIX_ROWS.items() for case in cases_of(row)]


def draw(row, sizes, options):
    """Operands of these sizes, any as well conditioned as the operation asks for."""
    rng = np.random.default_rng(zlib.crc32(repr((row.name, sizes, options)).encode()))
    shapes, _, _ = measures_of(row.name)(*sizes, *options.values())
    operands = [rng.standard_normal(shape) if shape else np.array([[1e-15]]) for shape in shapes]
    a = operands[0]
    if row.name in ADD_TO_DIAGONAL:
        a += 2.0 * np.eye(len(a))
    elif row.name in ("cholesky_factor", "filled_cholesky_factor"):
        a[:] = a @ a.T + np.eye(len(a)) + 0.1 * a  # of which a triangle is read
    elif row.name in ("real_spectrum", "eigvals"):
        a[:] = a @ a.T + np.diag(np.arange(1.0, len(a) + 1.0)) + 0.01 * a
    elif row.name == "banded_solution":
        a[options["upper"]] += 4.0
    elif row.name == "positive_banded_solution":
        a[0 if options["lower"] else -1] += 4.0 * len(a)
    return operands, rng


def run(row, purpose, known):
    """A kernel on the arrays that it names, if there is one."""
    if (kernel := row.kernel(purpose)) is not None:
        kernel(*(known[name] for name in row.parameters(purpose)))


def split(row, sizes, options, z):
    """The parts of what the rule returns, or of its adjoint or tangent, as kernels have them; None is what is constant.

    Those of a function follow one another.
    """
    _, shapes, _ = measures_of(row.name)(*sizes, *options.values())
    made, first = [], 0
    if row.name in FUNCTIONS:
        for part, (rows, columns) in zip(row.results, shapes, strict=True):
            end = first + rows * columns * is_live(row, part)
            x = z[first:end].reshape((rows, columns)) if end > first else None
            made.append(x if len(part.shape) != 1 or x is None else x[0])
            first = end
        return made
    stacked = np.reshape(z, (-1, shapes[0][1])) if np.size(z) else np.empty(shapes[0])
    for part, (rows, _) in zip(row.results, shapes, strict=True):
        x = stacked[first : first + rows]
        made.append(np.ascontiguousarray(x[0] if len(part.shape) == 1 else x.T if part.is_turned else x))
        first += rows
    return made


def is_live(row, part):
    """Whether a result has a derivative."""
    return f"{part.name}_bar" in row.parameters("adjoint")


def function_of(row, options):
    """The rule, or the function whose results with a derivative follow one another."""
    if row.name not in FUNCTIONS:
        rule = array_rule_of(row.name)
        return lambda *args: rule(*args, **options)
    live = [is_live(row, part) for part in row.results]

    def f(*args):
        found = zip(FUNCTIONS[row.name](*args), live, strict=True)
        return np.concatenate([np.reshape(x, -1) for x, is_asked in found if is_asked])

    return f


def prepare(row, sizes, options, operands):
    """The arrays that kernels take, after the value."""
    known = dict(zip((*SIZES, *row.options), (*sizes, *options.values()), strict=True))
    known |= zip((x.name for x in row.operands), operands, strict=True)
    room = {"band_height": band_height, "p": min(sizes[:2]), **known}
    known |= {x.name: np.empty([eval(n, {}, room) for n in x.shape] or (1, 1)) for x in (*row.results, *row.saved)}
    run(row, "factor", known)
    run(row, "value", known)
    return known


def agree(found, expected):
    """Require numbers of a kernel to be those of the rule; or both to be lost, as where eigenvalues are equal."""
    found, expected = np.asarray(found), np.asarray(expected)
    is_lost = [not np.all(np.abs(x) < 1e8) for x in (found, expected)]
    assert is_lost[0] == is_lost[1]
    if is_lost[0]:
        return
    scale = max(1.0, np.max(np.abs(np.nan_to_num(expected)), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * scale)


def compare(name, sizes, options, spoil=lambda a: a):
    """Require value, adjoint and tangent to be those of the rule."""
    row = MATRIX_ROWS[name]
    operands, rng = draw(row, sizes, options)
    operands[0] = spoil(operands[0])
    known = prepare(row, sizes, options, operands)
    asked = [k for k, x in enumerate(row.operands) if f"{x.name}_bar" in row.parameters("adjoint")]
    names, given = [x.name for x in row.results], [row.operands[k].name for k in asked]
    operands = [operands[k] for k in asked]
    f = function_of(row, options)

    def parts(z):
        return [(x, y) for x, y in zip(names, split(row, sizes, options, z), strict=True) if y is not None]

    if not all(np.all(np.isfinite(known[x])) for x in names):  # Python does it
        with contextlib.suppress(np.linalg.LinAlgError, ValueError):
            assert not np.all(np.isfinite(f(*operands)))
        return
    z, pullback = contad.vjp(f, *operands, engine="matrix")
    for x, y in parts(z):
        agree(known[x], y)

    z_bar = rng.standard_normal(np.shape(z))
    bars = pullback(z_bar if np.ndim(z) else float(z_bar))
    starts = [rng.standard_normal(x.shape) for x in operands]
    for chosen in range(1, 2 ** len(operands)):  # those of the others have size 0
        known |= {f"{x}_bar": y.copy() for x, y in parts(z_bar)}
        for k, (x, start) in enumerate(zip(given, starts, strict=True)):
            known[f"{x}_bar"] = start.copy() if chosen >> k & 1 else np.empty((0, 0))
        run(row, "adjoint", known)
        for k, (x, start) in enumerate(zip(given, starts, strict=True)):
            if chosen >> k & 1:
                agree(known[f"{x}_bar"] - start, bars[k])

    dots = [rng.standard_normal(x.shape) for x in operands]
    known |= {f"{x}_dot": y for x, y in zip(given, dots, strict=True)}
    known |= {f"{x}_dot": np.empty(known[x].shape) for x in names}
    run(row, "tangent", known)
    for x, y in parts(contad.jvp(f, operands, dots)[1]) if row.kernel("tangent") else ():
        agree(known[f"{x}_dot"], y)


@pytest.mark.parametrize(("name", "sizes", "options"), CASES)
def test_kernels_are_those_of_the_rule(name, sizes, options):
    compare(name, sizes, options)


LAYOUTS = {
    "F": np.asfortranarray, "columns": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "rows": lambda x: np.repeat(x, 3, axis=0)[::3], "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ROWS)
def test_rules_take_any_layout(name, layout):
    """They give what they do of operands in C order, for which kernels are."""
    row, (sizes, options) = ROWS[name], cases_of(ROWS[name])[2]
    operands, rng = draw(row, sizes, options)
    z, pullback = contad.vjp(function_of(row, options), *operands)
    other, pull_laid = contad.vjp(function_of(row, options), *map(LAYOUTS[layout], operands))
    agree(other, z)
    z_bar = rng.standard_normal(np.shape(z)) if np.ndim(z) else 1.7
    for x, y in zip(pull_laid(LAYOUTS[layout](z_bar) if np.ndim(z) else z_bar), pullback(z_bar), strict=True):
        agree(x, y)


ONE = "euclidean_norm", "banded_solution", "positive_banded_solution"  # rules of one array


@pytest.mark.parametrize("name", [name for name in ROWS if name not in ONE])
def test_stacks_are_the_kernels_matrix_by_matrix(name):
    """Values and adjoints of the rule of a stack of three, with right-hand sides of which each is another."""
    row, (sizes, options) = ROWS[name], cases_of(ROWS[name])[2]
    operands, rng = draw(row, sizes, options)
    stacks = [np.stack([(1.0 + 0.1 * k) * x for k in range(3)]) for x in operands]
    z, pullback = contad.vjp(function_of(row, options), *stacks)
    z_bar = rng.standard_normal(np.shape(z))
    bars = pullback(z_bar)
    for k in range(3):
        known = prepare(row, sizes, options, [x[k].copy() for x in stacks])
        for x, y, bar in zip(row.results, *(split(row, sizes, options, v[k]) for v in (z, z_bar)), strict=True):
            agree(known[x.name], y)
            known[f"{x.name}_bar"] = bar.copy()
        known |= {f"{x.name}_bar": np.zeros(known[x.name].shape) for x in row.operands}
        run(row, "adjoint", known)
        for x, bar in zip(row.operands, bars, strict=True):
            agree(known[f"{x.name}_bar"], bar[k])


def spoiled(number):
    """A matrix with another number on its diagonal, or its last row."""

    def spoil(a):
        made = a.copy()
        made[-1, min(made.shape) - 1] = number
        return made

    return spoil


EDGES = {"nan": spoiled(np.nan), "inf": spoiled(np.inf), "-inf": spoiled(-np.inf), "zero": np.zeros_like,
         "deficient": lambda a: np.ones_like(a), "one row": lambda a: np.outer(np.arange(len(a)), a[-1])}  # fmt: skip


# Python multiplies 0 by inf in LAPACK, or has singular values of it; what is compiled refuses it
INFINITE = {"solve": ("inf", "-inf"), "pinv": ("inf", "-inf"), "lstsq": ("inf", "-inf")}
AT_EDGES = [
    (name, edge) for name in MATRIX_ROWS for edge in EDGES
    if edge not in INFINITE.get(name, ()) and name != "singular_cofactors"  # of singular matrices there is a test below
]  # fmt: skip


@pytest.mark.parametrize(("name", "edge"), AT_EDGES)
def test_at_edges_kernels_raise_or_are_those_of_the_rule(name, edge):
    """What they leave to Python raises or is not finite; what is finite is the rule's, and so are its derivatives."""
    row = MATRIX_ROWS[name]
    for sizes, options in [case for case in cases_of(row)[2:] if 0 not in case[0]]:
        operands, _ = draw(row, sizes, options)
        with np.errstate(all="ignore"):
            try:
                run(row, "leave", prepare(row, sizes, options, [EDGES[edge](operands[0]), *operands[1:]]))
            except (np.linalg.LinAlgError, ValueError, ZeroDivisionError):
                continue
            try:
                compare(name, sizes, options, EDGES[edge])
            except np.linalg.LinAlgError:  # some processors find one eigenvector twice, exactly
                if (name, edge) not in {("real_spectrum", "deficient"), ("eigvals", "deficient")}:
                    raise
            except AssertionError:  # a matrix of rank 1 has many orthogonal factors, which rounding tells apart
                if (name, edge) != ("orthogonal_factor", "one row"):
                    raise


def test_a_kernel_that_misses_an_edge_is_found(monkeypatch):
    """As LAPACK does, it leaves the right-hand side as it was where the factor is singular."""
    home = importlib.import_module("contad.kernels.rows.triangle_rows")
    kernel = home.cholesky_solution_value

    def wrong(c, b, lower, z):
        if np.all(np.diag(c)):
            kernel(c, b, lower, z)
        else:
            z[...] = b

    monkeypatch.setattr(home, "cholesky_solution_value", wrong)
    with pytest.raises(np.linalg.LinAlgError, match="element 0 of the diagonal is 0"):
        test_at_edges_kernels_raise_or_are_those_of_the_rule("cholesky_solution", "zero")


SINGULAR = {"solve": np.ones((3, 3)), "inv": np.zeros((2, 2)), "log_determinant": np.ones((2, 2)),
            "cholesky_factor": -np.eye(3), "solve_triangular": np.zeros((2, 2))}  # fmt: skip


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices_raise(name):
    row, a = ROWS[name], SINGULAR[name]
    options = dict.fromkeys(row.options, False)
    operands = [a, np.ones((len(a), 1))][: len(row.operands)]
    with pytest.raises(np.linalg.LinAlgError):
        prepare(row, (*a.shape, 1), options, operands)


def test_cofactors_of_a_singular_matrix_are_those_of_the_rule():
    a = np.diag([1.0, 0.0, 2.0, -3.0]) + np.outer([1.0, 0.0, 1.0, 0.0], np.ones(4))
    known = prepare(ROWS["det"], (4, 4, 1), {}, [a])
    known |= {"z_bar": np.array([[1.7]]), "a_bar": np.zeros((4, 4))}
    run(ROWS["det"], "adjoint", known)
    agree(known["a_bar"], 1.7 * contad.grad(np.linalg.det)(a))


@pytest.mark.parametrize("purpose", ["value", "adjoint", "tangent"])
@pytest.mark.parametrize("name", MATRIX_ROWS)
def test_planted_faults_are_found(name, purpose, monkeypatch):
    """An array that a kernel writes has another sign."""
    row = MATRIX_ROWS[name]
    kernel, (live, *_) = row.kernel(purpose), (x.name for x in row.results if is_live(row, x))
    if kernel is None:
        return  # tangents of cofactors are a formula
    names = row.parameters(purpose)
    written = {"value": live, "adjoint": f"{row.operands[0].name}_bar", "tangent": f"{live}_dot"}[purpose]

    def wrong(*args):
        z = args[names.index(written)]
        before = z.copy() if purpose == "adjoint" else np.zeros(z.shape)
        kernel(*args)
        z[...] = 2.0 * before - z

    wrong.__signature__ = inspect.signature(kernel)
    monkeypatch.setattr(importlib.import_module(f"contad.kernels.rows.{row.module}"), f"{name}_{purpose}", wrong)
    with pytest.raises(AssertionError):
        compare(name, *cases_of(row)[2])


# ---- products, as engines multiply -----------------------------------------------------------------------------------
def of_matrices(a, b, c):
    return np.sum(c * (a @ b)) + np.sum(c.T * (b.T @ a.T))


def of_vectors(a, b, c):
    return np.sum(c[0] * (a[0] @ b)) + np.sum(c[:, 0] * (a @ a[0])) + np.sum(b @ c[0]) + a[0] @ a[0]


def of_one_matrix(a, b, c):
    return np.sum(a @ a.T) + np.sum(a.T @ a)


def of_stacks(a, b, c):
    return np.sum(c * (a[None] @ b)) + np.sum(a @ b[None])


# of each the products: the adjoint of the result, and the factors
PRODUCTS = {
    of_matrices: lambda a, b, c: [(c, a, b), (c.T, b.T, a.T)],
    of_vectors: lambda a, b, c: [(c[0], a[0], b), (c[:, 0], a, a[0]), (np.ones(len(b)), b, c[0]), (1.0, a[0], a[0])],
    of_one_matrix: lambda a, b, c: [(np.ones((len(x), len(x))), x, x.T) for x in (a, a.T)],
    of_stacks: lambda a, b, c: [(c[None], a[None], b), (np.ones((1, *c.shape)), a, b[None])],
}
PRODUCT_SIZES = [(1, 1, 1), (2, 3, 4), (4, 1, 3), (1, 5, 2), (12, 11, 13), (40, 31, 1), (1, 31, 40)]
WAYS = ["eager", "recorded", "tape", "generated"]
COMPILED = {}


def expected(f, operands, dots):
    """Value, gradient and directional derivative by the rule."""
    bars, dots = [np.zeros(x.shape) for x in operands], (*dots, np.zeros(operands[2].shape))
    of = PRODUCTS[f]
    value = along = 0.0
    for (z_bar, x, y), (_, x_bar, y_bar), (_, x_dot, y_dot) in zip(of(*operands), of(*bars), of(*dots), strict=True):
        z = x @ y
        x_bar[...] += products.matmul.pull("a", z, z_bar, (x, y), {})
        y_bar[...] += products.matmul.pull("b", z, z_bar, (x, y), {})
        value += np.sum(z_bar * z)
        along += np.sum(z_bar * contad.jvp(np.matmul, (x, y), (x_dot, y_dot))[1])
    return value, bars[:2], along


def multiply(f, way, operands, dots):
    """The same by an engine."""
    c = operands[2]
    if way == "recorded":
        program = contad.record(lambda a, b: f(a, b, c), *operands[:2])
        program._compile()
        return *program.value_and_grad(*operands[:2]), program.jvp(operands[:2], dots)[1]
    if way != "eager":
        f = COMPILED.setdefault(f, numba.njit(f))
    engine = "matrix" if way == "eager" else way
    value, gradient = contad.value_and_grad(f, argnums=(0, 1), engine=engine)(*operands)
    return value, gradient, contad.jvp(f, operands, (*dots, np.zeros(c.shape)))[1]


def require_rule(f, way, operands, dots):
    """The numbers of an engine are those of the rule."""
    with np.errstate(all="ignore"):
        wanted, found = expected(f, operands, dots), multiply(f, way, operands, dots)
    for x, y in zip((found[0], *found[1]), (wanted[0], *wanted[1]), strict=True):
        agree(x, y)
    if np.isfinite(wanted[0]):
        agree(found[2], wanted[2])


def draw_product(m, p, n):
    """Factors and the adjoint of their product; and tangents."""
    rng = np.random.default_rng(zlib.crc32(repr((m, p, n)).encode()))
    shapes = (m, p), (p, n), (m, n)
    return [rng.standard_normal(x) for x in shapes], [rng.standard_normal(x) for x in shapes[:2]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [of_matrices, of_vectors, of_one_matrix])
def test_products_are_those_of_the_rule(f, way):
    """In both orders of memory; and where a zero of the adjoint meets what is infinite or nan."""
    for size in PRODUCT_SIZES:
        operands, dots = draw_product(*size)
        require_rule(f, way, operands, dots)
        if way in ("eager", "recorded"):
            require_rule(f, way, [np.asfortranarray(x) for x in operands], dots)
        a, b, c = operands
        if f is of_matrices and size[0] > 1:
            a[1, 0], b[-1, 0] = np.inf, np.nan
            c[1] = c[:, 0] = 0.0
            require_rule(f, way, operands, dots)


@pytest.mark.parametrize("way", WAYS)
def test_products_may_be_empty(way):
    for size in ((2, 0, 3), (0, 2, 3), (2, 3, 0), (0, 0, 0)):
        require_rule(of_matrices, way, *draw_product(*size))


@pytest.mark.parametrize("way", ["eager", "recorded"])
def test_products_of_stacks_are_those_of_the_rule(way):
    require_rule(of_stacks, way, *draw_product(3, 2, 4))


@pytest.mark.parametrize("name", ["left_cotangent", "right_cotangent"])
def test_kernels_of_products_do_not_follow_a_fault_of_the_rule(name, monkeypatch):
    right = getattr(products, name)
    monkeypatch.setattr(products, name, lambda *args: -right(*args))
    with pytest.raises(AssertionError):
        require_rule(of_matrices, "eager", *draw_product(2, 3, 4))
