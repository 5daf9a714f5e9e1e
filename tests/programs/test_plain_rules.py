"""Every rule and every NumPy function in recorded programs: right at other inputs, guarded, or refused by name."""

import numpy as np
import pytest

import contad
from contad.rules.scalar_rule import rules
from tests.judges.samples import sampled
from tests.ops.example_calls import CALLS, EXAMPLES
from tests.programs.comparison import compare, of_one_number

# What a program cannot check; each is refused where it is recorded.
REFUSED = {
    "np.geomspace", "np.histogram", "np.histogram2d", "np.histogram_bin_edges", "np.histogramdd", "np.intersect1d",
    "np.nanmax", "np.nanmedian", "np.nanmin", "np.nanpercentile", "np.nanquantile", "np.partition", "np.setdiff1d",
    "np.setxor1d", "np.union1d", "np.unique", "np.unique_all", "np.unique_counts", "np.unique_inverse",
    "np.unique_values", "np.unwrap",
}  # fmt: skip


def floats(args):
    return [np.array(x, np.float64) if isinstance(x, np.ndarray) else float(x) for x in args]


@pytest.mark.parametrize("rule", [r for r in rules() if r.__module__.startswith("contad.ops")], ids=lambda r: r.name)
def test_scalar_rule(rule):
    for point in rule.points:
        f = lambda *xs: rule(*xs) * xs[0]  # noqa: E731
        assert compare(contad.record(f, *point), f, point)["agreed"] >= 2


@pytest.mark.parametrize(("name", "k"), sampled(CALLS, 3))
def test_numpy_function(name, k):
    f, *args = EXAMPLES[name][k]
    f, args = of_one_number(f), floats(args)
    if name in REFUSED:
        with pytest.raises(contad.UnsupportedError, match=r"contad.record: total: .*\.py:\d+ "):
            contad.record(f, *args)
    else:
        assert compare(contad.record(f, *args), f, args)["agreed"] >= 2
