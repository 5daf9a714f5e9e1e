"""The leg of `expect_ad` on whole Hessians of functions of arrays."""

from collections.abc import Sequence

import numpy as np

from contad.testing.differences import gradient_by_differences
from contad.testing.forms import engine_of, form, gradient, is_forward
from contad.testing.specimen import Specimen
from contad.transforms.hessians import hessian
from contad.variables.trees import elements, flatten

WHOLE = 16  # beyond so many numbers the Hessian is not taken whole


def check_whole_hessian(s: Specimen, ways: Sequence[str]) -> None:
    """Every second derivative, as `contad.hessian` gives it: against differences, and against its mirror image."""
    n = len(s.numbers)
    if not 0 < n <= WHOLE:
        s.report.skipped["whole hessian"] = f"not between 1 and {WHOLE} numbers"
        return
    t, x = s.tolerances, np.array(s.numbers)
    scales = np.where(x == 0.0, 1.0, np.abs(x))
    first = gradient(s.scalar, ways[0])
    value, error = gradient_by_differences(lambda v: np.array(first(*s.rebuilt(v)), dtype=float), s.numbers)
    size = np.max(
        np.abs(value) * np.outer(scales, scales), initial=abs(float(s.plainly(s.scalar, s.rebuilt(s.numbers))))
    )
    slack = 10.0 * error + t.negligible * size / np.outer(scales, scales)
    resolved = 10.0 * error <= np.maximum(t.resolved * np.abs(value), slack - 10.0 * error)
    numbers = tuple(range(len(s.args)))
    for way in ways:
        if is_forward(way):
            continue
        blocks = s.run("whole hessian", way, hessian(s.scalar, numbers, engine=engine_of(way)), *form(way, s.args))
        sizes = [len(elements(leaf)) for tree in s.trees for leaf in tree.leaves]
        rest = iter(flatten(blocks).leaves)
        found = np.block([[np.reshape(next(rest), (a, b)).astype(float) for b in sizes] for a in sizes])
        for (i, k), a in np.ndenumerate(found):
            if resolved[i, k]:
                allowed = t.differences * abs(value[i, k]) + slack[i, k]
                s.equal("whole hessian", way, f"{s.labels[i]} and {s.labels[k]}", a, value[i, k], allowed)
                if i < k and resolved[k, i]:
                    allowed += t.differences * abs(value[k, i]) + slack[k, i]
                    s.equal("symmetry", way, f"{s.labels[i]} and {s.labels[k]}", a, found[k, i], allowed)
