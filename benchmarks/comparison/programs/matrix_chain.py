"""The sum of a product of matrices, multiplied from the left to the right."""

from typing import Any

import numpy as np
from numba import njit

from benchmarks.comparison import shaped
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C, MAPACCUM

ARGNUMS = (0,)


def inputs(matrices: int, order: int) -> tuple[Any, ...]:
    """The matrices (matrices, order, order), so scaled that products keep their size."""
    return (np.random.default_rng(53).normal(size=(matrices, order, order)) / np.sqrt(order),)


def primal(a: Any) -> Any:
    product = a[0]
    for k in range(1, a.shape[0]):
        product = product @ a[k]
    return product.sum()


@njit
def compiled(a):
    product = a[0]
    for k in range(1, a.shape[0]):
        product = product @ a[k]
    return np.sum(product)


@njit
def by_hand(a):
    """The products before each matrix, and the adjoint of those up to it."""
    if a.shape[1] < 8:
        return in_loops(a)
    n = len(a)
    products = np.empty(a.shape)
    products[0] = a[0]
    for k in range(1, n):
        np.dot(products[k - 1], a[k], products[k])
    a_bar = np.empty(a.shape)
    bar = np.ones(a[0].shape)
    before = np.empty(a[0].shape)
    for k in range(n - 1, 0, -1):
        np.dot(products[k - 1].T, bar, a_bar[k])
        np.dot(bar, a[k].T, before)
        bar, before = before, bar
    a_bar[0] = bar
    return np.sum(products[n - 1]), (a_bar,)


@njit
def in_loops(a):
    """The same without calls, of which each takes longer than a product of small matrices."""
    n, m, _ = a.shape
    products = np.empty(a.shape)
    products[0] = a[0]
    for k in range(1, n):
        for i in range(m):
            for j in range(m):
                total = 0.0
                for c in range(m):
                    total += products[k - 1, i, c] * a[k, c, j]
                products[k, i, j] = total
    a_bar = np.empty(a.shape)
    bar = np.ones((m, m))
    before = np.empty((m, m))
    for k in range(n - 1, 0, -1):
        for i in range(m):
            for j in range(m):
                of_a, of_product = 0.0, 0.0
                for c in range(m):
                    of_a += products[k - 1, c, i] * bar[c, j]
                    of_product += bar[i, c] * a[k, j, c]
                a_bar[k, i, j] = of_a
                before[i, j] = of_product
        bar, before = before, bar
    a_bar[0] = bar
    return np.sum(products[n - 1]), (a_bar,)


# ---- peers -----------------------------------------------------------------------------------------------------------
def jax(a: np.ndarray) -> Run:
    from jax.lax import scan

    def f(a: Any) -> Any:
        return scan(lambda product, factor: (product @ factor, None), a[0], a[1:])[0].sum()

    return shaped.with_jax(lambda _: f, ARGNUMS)(a)


def casadi(a: np.ndarray) -> Run:
    """One product as a Function of matrices, accumulated over all; the matrices stand side by side."""
    import casadi

    n, order, _ = a.shape
    x, y = casadi.MX.sym("x", order, order), casadi.MX.sym("y", order, order)
    step = casadi.Function("step", [x, y], [x @ y])
    factors = casadi.MX.sym("a", order, n * order)
    products = step.mapaccum(n - 1)(factors[:, :order], factors[:, order:])
    value = casadi.sum1(casadi.sum2(products[:, -order:]))
    f = casadi.Function("gradient", [factors], [value, casadi.gradient(value, factors)], shaped.choose_options_of_c())
    columns = np.ascontiguousarray(a.transpose(0, 2, 1))
    (value, flat), trigger = shaped.make_buffers(f, columns.ravel())
    gradient = flat.reshape(n, order, order).transpose(0, 2, 1)

    def run() -> Any:
        trigger()
        return value[0], (gradient,)

    return run


def xad(a: np.ndarray) -> Run:
    if a.size * a.shape[1] > 1_000_000:
        raise TooSlow("xad has no matrices: one gradient records millions of scalar operations, called from Python")

    def f(a: Any) -> Any:
        product = a[0]
        for factor in a[1:]:
            columns = list(zip(*factor, strict=True))
            product = [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in product]
        return sum(x for row in product for x in row)

    return shaped.with_xad(f, ARGNUMS)(a)


REMARKS = (
    "casadi is first at order 4, where its products are C compiled for this order, in memory that it keeps. Large "
    "matrices are a matter of the product alone, and that of XLA, which jax calls, is faster here than OpenBLAS, which "
    "NumPy and Numba call. `tape` keeps a record for each element."
)

PROGRAM = Program(
    name="matrix_chain",
    about="sum of all entries of A_1 A_2 ... A_n; every version multiplies matrices, in this order",
    sizes={
        "small": {"matrices": 10, "order": 4}, "medium": {"matrices": 20, "order": 40},
        "large": {"matrices": 20, "order": 300},
    },
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    contad=shaped.on_compiled(compiled, ARGNUMS) | shaped.on_bound(compiled, ARGNUMS)
    | shaped.on_eager(primal, ARGNUMS),
    peers={
        "autograd": shaped.with_autograd(lambda _: primal, ARGNUMS), "jax": jax,
        "torch": shaped.with_torch(lambda _: primal, ARGNUMS), "casadi": casadi, "xad": xad,
    },
    idioms=IDIOMS | {
        "jax": IDIOMS["jax"] + "; lax.scan over the matrices (docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)",
        "casadi": f"MX for a product, mapaccum over the matrices ({MAPACCUM}); {IN_C}. Products are loops, not BLAS",
    },
    remarks=REMARKS,
)  # fmt: skip
