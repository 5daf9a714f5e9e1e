"""Kernels of patterns give in plain Python what they give when they are compiled, and are compiled in time."""

import numpy as np
import pytest
from scipy import sparse

from contad.patterns import closure_kernels, colouring_kernels, compression, plain_first
from contad.patterns.plain_first import PlainFirst, Spent
from tests.judges.empty_caches import run_with_empty_cache

KERNELS = {
    name: f
    for module in (closure_kernels, colouring_kernels, compression)
    for name, f in vars(module).items()
    if isinstance(f, PlainFirst)
}


@pytest.fixture(autouse=True)
def spent(monkeypatch):
    """As in a process that has not found a pattern yet."""
    monkeypatch.setattr(plain_first.PATIENCE, "loading", 0.2)
    monkeypatch.setattr(plain_first.PATIENCE, "compiling", 2.0)
    monkeypatch.setattr(plain_first, "SPENT", Spent())
    return plain_first.SPENT


def draw_arguments(name, seed):
    draw = np.random.default_rng(seed)
    n = 80
    if name in ("mark_ancestors", "mark_shared", "find_sets"):
        counts = np.r_[np.zeros(10, np.int64), draw.integers(0, 4, n - 10)]
        starts = np.concatenate([[0], np.cumsum(counts)])
        parents = np.concatenate([draw.integers(0, k, c) for k, c in enumerate(counts) if c])
        marked, kept = draw.random(n) < 0.3, draw.random(n) < 0.7
        kept[0] = False
        of_inputs = np.r_[-1, np.arange(9), np.full(n - 10, -1)]
        return starts, parents, *{"find_sets": (of_inputs, kept), "mark_shared": (marked, kept)}.get(name, (marked,))
    matrix = sparse.csr_array(draw.random((n, n)) * (draw.random((n, n)) < (0.04, 0.9)[seed]))
    if name == "find_wrong_rows":
        v, noise = draw.normal(size=n), 1e-9
        exact = matrix @ v
        exact[[3, 7, 11]] += [1.0, -0.5, np.nan]
        matrix.data[:2] = np.inf, np.nan
        return matrix.indptr, matrix.indices, matrix.data, v, exact, noise, 5
    pattern = ((matrix + matrix.T) != 0).tocsr()
    pattern.setdiag(False)
    pattern.eliminate_zeros()
    starts, columns = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    order = draw.permutation(n)
    edges = np.unique(np.sort(np.stack(pattern.nonzero())), axis=1)
    numbers = {(i, j): k for k, (i, j) in enumerate(edges.T.tolist())}
    both = [numbers.get((min(i, j), max(i, j)), 0) for i, j in np.stack(pattern.nonzero()).T.tolist()]
    return {
        "colour_apart": (starts, columns, starts, columns, order),
        "colour_most_constrained": (starts, columns, starts, columns),
        "colour_stars": (starts, columns, np.array(both), order),
        "order_smallest_last": (starts, columns),
    }[name]


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


@pytest.mark.parametrize("seed", [0, 1])  # sparse, and so dense that there are more colours than bits
@pytest.mark.parametrize("name", KERNELS)
def test_plain_python_does_what_compiled_code_does(name, seed, spent):
    kernel = KERNELS[name]
    args = draw_arguments(name, seed)
    plain, compiled = copies(args), copies(args)
    with np.errstate(all="ignore"):
        found = kernel.plainly(10**6)(*plain)
    expected = kernel.compile()(*compiled)
    for a, b in zip((found, *plain), (expected, *compiled), strict=True):
        for one, other in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
            np.testing.assert_array_equal(one, other)
    assert (name in ("mark_ancestors", "mark_shared")) == (found is None)


def total(numbers, helper_calls):
    s = 0
    for _ in range(helper_calls):
        s = add(s, len(numbers))
    return s


def add(s, n):
    return s + n


@pytest.fixture
def kernel(monkeypatch):
    made = PlainFirst(total, None, lambda numbers, helper_calls: len(numbers), [add])
    made.compilations = []
    monkeypatch.setattr(made, "compile", lambda: made.compilations.append(1) or total)
    return made


def test_steps_are_counted_and_end_patience(kernel, spent):
    numbers = np.zeros(400_000)
    assert kernel(numbers, 3) == 1_200_000 and spent.seconds == pytest.approx(0.400003)
    assert kernel(numbers, 0) == 0 and spent.seconds == pytest.approx(0.800003) and not kernel.compilations
    assert kernel(numbers, 1) == 400_000 and kernel.compilations  # of which 0.2 s are left
    assert kernel(numbers, 1) == 400_000 and len(kernel.compilations) == 1


def test_a_call_that_goes_on_is_compiled_instead(kernel, spent):
    spent.seconds = 0.9995
    assert kernel(np.zeros(2), 1000) == 2000 and kernel.compilations


def test_machine_code_on_the_disk_is_asked_for_earlier(kernel, spent, tmp_path, monkeypatch):
    kernel.is_kept = True
    assert kernel(np.zeros(300_000), 1) == 300_000 and kernel.compilations


IN_AN_EMPTY_CACHE = """
import sys, numpy as np, contad
from contad.patterns.plain_first import PlainFirst
PlainFirst.is_kept = False
x = np.linspace(0.5, 1.5, 40)
hessian = contad.sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))
assert hessian(x).nnz == 118 and hessian.passes == 3
assert contad.sparse_jacobian(lambda x: x[1:] - x[:-1] ** 2)(x).nnz == 78
assert "numba" not in sys.modules
"""


def test_a_first_sparse_derivative_compiles_nothing_and_loads_no_compiler(tmp_path):
    run_with_empty_cache(IN_AN_EMPTY_CACHE, tmp_path)
