"""Products of matrices in loops: large ones are calls of BLAS, small ones loops; and loops that stay loops."""

import numpy as np

from contad.engines.source.writing.loop_products import ProductWriter
from tests.engines.source.programs.harness import Table, programs

SMALL, LARGE = 3, 8
CALLED = r" put_product\(", r" add_left\(", r" add_right\("


def matrices(order):
    return np.random.default_rng(5).normal(size=(4, order, order)) / np.sqrt(order)


PRODUCTS = programs("""
    # a chain
    product = a[0]
    for k in range(1, a.shape[0]):
        product = product @ a[k]
    return np.sum(product * product)
    # turned factors, columns alone, expressions, the same array twice; in a branch, and in two loops
    x, total = a[0, :, 1:], 0.0
    for i in range(2):
        for k in range(a.shape[0]):
            if k == 1:
                x = a[k] @ np.sin(x)
            else:
                x = np.tanh(a[i].T @ x + 0.5)
            total += np.sum(x.T @ x)
        y = a[i] @ a[i]
        total += y[0, 1]
    return total
""")
# as often as the numbers tell, which is not known before
UNTIL = programs("""
    # a product that is written afterwards
    x = 0.1 * a[0]
    while np.sum(x) < 50.0:
        x = a[1] @ x
        x[0, 0] += 3.0
    return np.sum(x * x)
""")


def calls_one(self, product, reverse, calls=ProductWriter._calls):
    return calls(self, product, reverse)[:1]


LOOP_PRODUCTS = Table(
    "loop products", PRODUCTS, by_records=True, compiled=PRODUCTS, shows=dict.fromkeys(PRODUCTS, CALLED), head="a",
    faults={"a contribution is lost": (ProductWriter, "_calls", calls_one)},
    arguments=(matrices(LARGE),), elsewhere=[(matrices(SMALL),)], argnums=(0,),
)  # fmt: skip
NO_LOOP_PRODUCTS = LOOP_PRODUCTS._replace(
    name="no loop products", takes=UNTIL, compiled=(), faults={},
    shows={name: tuple(f"!{x}" for x in CALLED) for name in UNTIL},
    arguments=(np.abs(matrices(LARGE)) + 0.2,), elsewhere=[(np.abs(matrices(SMALL)) + 0.2,)],
)  # fmt: skip
