"""The kernels of functions of matrices, each against its rule: any size, zeros, equal values, deficient ranks.

They run as Python does, without compiling; what LAPACK does for the kernels is compiled.
"""

import numpy as np
import pytest

import contad
from contad.engines.source.ir.runtime_functions import FUNCTIONS as KNOWN
from contad.engines.source.runtime import matrix_kernels, row_kernels
from contad.engines.source.runtime.workspace import workspace
from tests.kernels.drawn_matrices import Draw

draw = Draw(71)


def reduced(a):
    return np.linalg.svd(a, full_matrices=False)


def fitted(a, b):
    """The results of lstsq that have a derivative; without a rest NumPy gives no squares, and the kernel zeros."""
    x, squares, _, s = np.linalg.lstsq(a, b, rcond=None)
    return x, squares if np.size(squares) else np.zeros(b.shape[1]), s


DOUBLE = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -0.7]])  # two eigenvalues are equal
CASES = [
    *((KNOWN["solve"], np.linalg.solve, draw.system(n, k)) for n, k in [(1, 1), (2, 3), (5, 4), (11, 13), (30, 26)]),
    *((KNOWN["inv"], np.linalg.inv, draw.system(n)[:1]) for n in (1, 2, 5, 12)),
    *((KNOWN["det"], np.linalg.det, draw.system(n)[:1]) for n in (0, 1, 2, 3, 4, 9)),
    (KNOWN["det"], np.linalg.det, (np.outer(draw(4), draw(4)) + np.outer(draw(4), draw(4)),)),  # no cofactor but zeros
    (KNOWN["det"], np.linalg.det, (np.diag([1.0, 0.0, 2.0, -3.0]) @ draw.system(4)[0],)),
    *((KNOWN["slogdet"], np.linalg.slogdet, draw.system(n)[:1]) for n in (1, 2, 5, 9)),
    *((KNOWN["cholesky"], np.linalg.cholesky, (draw.positive(n),)) for n in (0, 1, 2, 5, 48, 129)),
    *((KNOWN["eigh"], np.linalg.eigh, (draw(n, n),)) for n in (1, 2, 6)),
    *((KNOWN["eigvalsh"], np.linalg.eigvalsh, (draw(n, n),)) for n in (1, 2, 6)),
    (KNOWN["eigvalsh"], np.linalg.eigvalsh, (DOUBLE,)),
    *((KNOWN["svd"], reduced, (draw(*shape),)) for shape in [(1, 1), (3, 3), (5, 3), (3, 5), (12, 11)]),
    *((KNOWN["qr"], np.linalg.qr, (draw(*shape),)) for shape in [(1, 1), (3, 3), (5, 3), (3, 5), (12, 11)]),
    *((KNOWN["pinv"], np.linalg.pinv, (draw(*shape),)) for shape in [(1, 1), (3, 3), (5, 3), (3, 5)]),
    (KNOWN["pinv"], np.linalg.pinv, (np.outer(draw(4), draw(3)),)),
    *((KNOWN["lstsq"], fitted, (draw(m, n), draw(m, 2))) for m, n in [(1, 1), (5, 3), (3, 5), (3, 3)]),
    (KNOWN["lstsq"], fitted, (np.outer(draw(4), draw(3)), draw(4, 2))),
    *((KNOWN["norm"], np.linalg.norm, (a,)) for a in (draw(3, 2), draw(1, 1), np.zeros((2, 2)))),
]


def kernel_of(name):
    """A kernel of generated code, made from a row or written by hand."""
    return getattr(row_kernels, name, None) or getattr(matrix_kernels, name)


def compute(function, operands, results):
    """(the results, the workspace and its top) of the kernel, which fills arrays of these results' shapes."""
    flags = {KNOWN["pinv"]: [1e-15], KNOWN["lstsq"]: [-1.0]}.get(function, [])
    filled = [np.empty(np.shape(x)) for x in results if np.ndim(x)]
    work, top = workspace()
    *computed, work, top = kernel_of(f"forward_{function.name}")(*operands, *flags, *filled, work, top)
    found = filled if function is KNOWN["lstsq"] else [*computed, *filled]  # there what is computed is the rank
    for x, y in zip(found, results, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    return work, top


@pytest.mark.parametrize("chosen", ["all", "first", "last", "none"])
@pytest.mark.parametrize(("function", "rule", "operands"), CASES)
def test_adjoints_are_those_of_the_rule(function, rule, operands, chosen):
    """Adjoints are added to, in Fortran's order; results whose cotangent is zero do not matter."""
    value, pullback = contad.vjp(rule, *operands, engine="matrix")
    results = list(value) if isinstance(value, tuple) else [value]
    work, top = compute(function, operands, results)
    bars = [draw(*np.shape(x)) if np.ndim(x) else 1.7 for x in results]
    live = {"all": bars, "first": bars[:1], "last": bars[-1:], "none": []}[chosen]
    bars = [bar if any(bar is x for x in live) else 0.0 * bar for bar in bars]
    if function is KNOWN["lstsq"]:
        bars[1] *= results[1] != 0.0  # squares that NumPy does not give have no cotangent
    if function is KNOWN["qr"]:
        bars[1][np.tril_indices(len(bars[1]), -1, operands[0].shape[1])] = np.inf  # below the diagonal r is constant
    made = value._make if hasattr(value, "_make") else tuple
    expected = pullback(made(bars) if isinstance(value, tuple) else bars[0])
    starts = [draw(*np.shape(x)) for x in operands]
    after = [np.array(start, order="F") for start in starts]
    assert kernel_of(f"reverse_{function.name}")(*bars[function.constant :], *after, work, top) == 0
    for x, start, y in zip(after, starts, expected, strict=True):
        scale = max(1.0, np.abs(np.nan_to_num(y)).max(initial=0.0))
        np.testing.assert_allclose(x - start, y, rtol=1e-8, atol=1e-10 * scale)


OF_VECTORS = [(KNOWN["eigh"], np.linalg.eigh, 0), (KNOWN["svd"], reduced, 2)]


@pytest.mark.parametrize(("function", "rule", "column"), OF_VECTORS)
@pytest.mark.parametrize("simple", [True, False])
def test_vectors_of_equal_values_have_no_derivative(function, rule, column, simple):
    """That of the value that occurs once has one, and is the rule's."""
    value, pullback = contad.vjp(rule, DOUBLE, engine="matrix")
    work, top = compute(function, [DOUBLE], list(value))
    bars = [0.0 * x for x in value]
    vectors = bars[-1].T if function is KNOWN["eigh"] else bars[-1]  # in rows
    vectors[column if simple else 1] = [0.3, -0.7, 1.1]
    a_bar = np.zeros((3, 3))
    kernel_of(f"reverse_{function.name}")(*bars, a_bar, work, top)
    np.testing.assert_allclose(a_bar, pullback(value._make(bars))[0], rtol=1e-12)
    assert np.isfinite(a_bar).all() == simple


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_singular_values_that_rcond_drops_belong_to_the_derivative(shape):
    a, b = draw(*shape), draw(shape[0], 2)
    s = np.linalg.svd(a)[1]
    rcond = np.sqrt(s[1] * s[2]) / s[0]
    for rule, kernel, operands in (
        (lambda a: np.linalg.pinv(a, rcond), "pinv", (a,)),
        (lambda a, b: np.linalg.lstsq(a, b, rcond)[0], "lstsq", (a, b)),
    ):
        value, pullback = contad.vjp(rule, *operands, engine="matrix")
        z, bar = np.empty(value.shape), draw(*value.shape)
        more = [np.zeros(2), np.zeros(3)] if kernel == "lstsq" else []
        work, top = workspace()
        *_, work, top = kernel_of(f"forward_{kernel}")(*operands, rcond, z, *more, work, top)
        np.testing.assert_allclose(z, value, rtol=1e-12)
        bars = [np.zeros(x.shape) for x in operands]
        kernel_of(f"reverse_{kernel}")(bar, *(0.0 * x for x in more), *bars, work, top)
        for x, y in zip(bars, pullback(bar), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
