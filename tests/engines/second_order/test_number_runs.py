"""Runs of numbers in plain Python give what compiled loops give, to the last bit, and give way to them in time."""


import numpy as np
import pytest

import contad
from contad.engines.second_order import number_runs, passes
from contad.engines.second_order.number_runs import RunPatience, compile_runs
from tests.judges.empty_caches import run_with_empty_cache
from tests.judges.planted import registered

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310]


class Endless(RunPatience):
    """One that never asks for compiled code, and counts."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def allows(self, seconds, records, directions):
        self.asked += 1
        return True


# ---- the loops -------------------------------------------------------------------------------------------------------
def draw_tables(special, count, records=60, start=5):
    """Tangents, adjoints and their tangents, then the tables of a run."""
    draw = np.random.default_rng(count)
    cells = np.stack([draw.integers(0, start + np.arange(records)) for _ in range(2)], axis=1)
    arrays = [draw.normal(size=shape) for shape in ((records, 2), (records, 4))]
    arrays[1][draw.random(arrays[1].shape) < 0.5] = 0.0
    top = start + records
    cotangents = [draw.normal(size=shape) for shape in ((count, top), top, (count, top))]
    if special:
        for a in (*arrays, *cotangents):
            a.flat[draw.integers(0, a.size, a.size // 20)] = draw.choice(SPECIAL, a.size // 20)
    return cotangents, (start, cells, *arrays)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_loops_are_the_compiled_ones(special, count):
    (dots, bars, bar_dots), (start, cells, first, second) = draw_tables(special, count)
    tables = [table.tolist() for table in (cells, first, second)]
    expected = [a.copy() for a in (dots, bars, bar_dots)]
    compile_runs().up(expected[0], start, cells, first)
    number_runs.up(dots, start, *tables[:2])
    np.testing.assert_array_equal(dots, expected[0])
    compile_runs().down(*expected, start, cells, first, second)
    number_runs.down(dots, bars, bar_dots, start, *tables)
    np.testing.assert_array_equal(bars, expected[1])
    np.testing.assert_array_equal(bar_dots, expected[2])


def recurrence(x):
    s = x[0]
    for k in range(1, len(x)):
        s = np.sin(s) * x[k] + x[k] ** 2 / (1.0 + np.exp(s)) + 0.5 * s
    return s * x[0]


CALLS = {
    "hessian": lambda x: contad.hessian(recurrence)(x),
    "hvp": lambda x: contad.hvp(recurrence)(x, x[::-1]),
    "of several arguments": lambda x: contad.hessian(lambda x, y: recurrence(x) * y, (0, 1))(x, 2.0)[0][0],
    "linearize": lambda x: contad.linearize(lambda x: np.array([recurrence(x), x[0] * x[1]]), x)[1](x),
}


@pytest.mark.parametrize("name", CALLS)
def test_derivatives_are_those_of_compiled_loops(name, monkeypatch):
    x = np.array([0.3, -1.2, 0.7, 1.9])
    expected = CALLS[name](x)
    monkeypatch.setattr(number_runs, "OF_RUNS", Endless())
    np.testing.assert_array_equal(CALLS[name](x), expected)
    assert number_runs.OF_RUNS.asked


# ---- rules that are not compiled into sweeps -------------------------------------------------------------------------
def special(x):
    """Of one and two arguments, with constants on either side, between operations that are compiled into sweeps."""
    z = contad.ops.log1p_exp(x[0]) * contad.erf(x[1]) + contad.ops.boxcox(x[2], 0.3) - contad.ops.lbeta(x[3], 2.5)
    for v in x:
        z = np.logaddexp(z * 0.5, v) + contad.ops.lbeta(1.5, v) + contad.ops.log1p_exp(v - z)
    return z + contad.ops.lbeta(x[0], x[3])


@pytest.fixture
def made(monkeypatch):
    """The records of every recording that is differentiated twice."""
    found = []
    find = passes.SecondOrder._find_records
    monkeypatch.setattr(passes.SecondOrder, "_find_records", lambda self: found.append(find(self)) or found[-1])
    return found


@pytest.mark.parametrize("plainly", [False, True])
def test_special_functions_are_rows_of_a_run(plainly, made, monkeypatch):
    if plainly:
        monkeypatch.setattr(number_runs, "OF_RUNS", Endless())
    x = [0.4, 0.9, 1.3, 0.7]
    found = contad.hessian(special)(x)
    assert [[type(record) for record in records] for records in made] == [[number_runs.Numbers]]
    np.testing.assert_allclose(found, contad.jacobian(contad.grad(special))(x), rtol=1e-12, atol=1e-14)
    pattern = contad.sparsity(lambda x: contad.gammaln(x[0]) + contad.ops.log1p_exp(x[1]) + 2.0 * x[2], x, of="hessian")
    assert pattern.nnz == 2


def test_rules_that_capture_data_are_records_of_their_own(made):
    data = np.array([2.0, 5.0])
    with registered():

        @contad.scalar_rule
        def weighted(x):
            return data[0] * x * x

        @weighted.partials
        def weighted_partials(z, x):
            return 2.0 * z / x

        assert contad.hessian(lambda x: weighted(x[0]) * x[1])([3.0, 1.0]) == [[4.0, 12.0], [12.0, 0.0]]
    assert [[type(record) is number_runs.Numbers for record in records] for records in made] == [[False, True]]


# ---- when they give way ----------------------------------------------------------------------------------------------
IN_AN_EMPTY_CACHE = """
import sys, math, contad
f = lambda x: sum(math.pi * x[k] ** 3 * x[k + 1] for k in range(3))
assert contad.hessian(f)([1.0, 2.0, 3.0, 4.0])[0][1] == 3.0 * math.pi
assert contad.hvp(f)([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 0.0])[0] == 3.0 * math.pi
assert "numba" not in sys.modules
"""


def test_a_first_hessian_compiles_nothing_and_loads_no_compiler(tmp_path):
    run_with_empty_cache(IN_AN_EMPTY_CACHE, tmp_path)
    assert not list(tmp_path.iterdir())


def test_records_are_counted_and_the_disk_is_looked_at_once(monkeypatch):
    looked = []
    monkeypatch.setattr(number_runs, "has_compiled_runs", lambda: bool(looked.append(1)))
    monkeypatch.setattr(number_runs.PATIENCE, "loading", 0.2)
    monkeypatch.setattr(number_runs.PATIENCE, "compiling", 2.0)
    compile_runs.cache_clear()
    patience = RunPatience()
    assert patience.allows(1e-6, 50_000, 2) and patience.spent == pytest.approx(0.15) and not looked
    assert patience.allows(1e-6, 50_000, 2) and len(looked) == 1  # 0.3 seconds: it is not there, and takes one
    assert patience.allows(1e-6, 60_000, 9) and not patience.allows(1e-6, 50_000, 2)
    assert patience.spent == pytest.approx(0.9) and len(looked) == 1
    assert not RunPatience().allows(1e-12, 1 << 17, 1)  # whose tables are large
    patience = RunPatience()
    monkeypatch.setattr(number_runs, "has_compiled_runs", lambda: True)
    assert patience.allows(1e-6, 50_000, 2) and not patience.allows(1e-6, 50_000, 2)
    compile_runs()
    assert not RunPatience().allows(1e-12, 1, 1)
