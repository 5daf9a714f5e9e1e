"""Elementary functions against mpmath, at special values, along rows, and in machine code."""

import math
import platform
import re
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from numba import njit

from contad.elementary.elementary_table import ELEMENTARY, elementary, elementary_rows, has_fast_registers
from contad.elementary.rows import ROWS
from tests.compile.processes import run_python
from tests.judges.light_compiling import optimised

NAMES = sorted(ELEMENTARY)
INF, NAN, TINY, SUBNORMAL, HUGE = math.inf, math.nan, 5e-324, 1e-310, 1.7976931348623157e308
EXACT = {
    "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "expit": lambda x: 1 / (1 + mp.exp(-x)), "log": mp.log, "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10), "log1p": mp.log1p, "log1p_exp": lambda x: mp.log1p(mp.exp(x)),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)), "sin": mp.sin, "cos": mp.cos,
    "log1m_exp": lambda x: mp.log(-mp.expm1(x)) if x > -1.0 else mp.log1p(-mp.exp(x)),
    "tan": mp.tan, "arctan": mp.atan, "erf": mp.erf, "erfc": mp.erfc,
}  # fmt: skip
# where results are finite and not 0
RANGES = {
    "exp": (-745.1, 709.78), "exp2": (-1074.0, 1023.9), "expm1": (-50.0, 709.78), "sinh": (-710.4, 710.4),
    "cosh": (-710.4, 710.4), "tanh": (-25.0, 25.0), "expit": (-745.1, 50.0), "log": (0.0, HUGE), "log2": (0.0, HUGE),
    "log10": (0.0, HUGE), "log1p": (-1.0, HUGE), "log1p_exp": (-745.1, 1e5), "log_expit": (-1e5, 745.1),
    "log1m_exp": (-745.1, 0.0), "sin": (-1e9, 1e9), "cos": (-1e9, 1e9), "tan": (-1e9, 1e9), "arctan": (-HUGE, HUGE),
    "erf": (-6.0, 6.0), "erfc": (-6.0, 27.2),
}  # fmt: skip


def points(name, count, seed=0):
    """Uniform over the range, near 0 and 1, and of every magnitude."""
    low, high = RANGES[name]
    draw = np.random.default_rng(seed)
    many = [draw.uniform(max(low, -width), min(high, width), count // 4) for width in (1.5, 30.0, 1e4)]
    sizes = 10.0 ** draw.uniform(-300 if name.startswith("log") else -20, math.log10(high or -low), count // 4)
    many += [-sizes] if high == 0.0 else [sizes if low >= 0.0 else sizes * draw.choice([-1.0, 1.0], len(sizes))]
    found = np.concatenate(many)
    return found[(found > low) & (found < high)]


def sign(x):
    return math.copysign(1.0, x)


def along(name, x):
    """The function along rows."""
    fill, z = elementary_rows(name), np.empty(len(x))
    for k in range(0, len(x), ROWS):
        row, out = np.zeros(ROWS), np.empty(ROWS)
        count = min(ROWS, len(x) - k)
        row[:count] = x[k : k + count]
        fill(row, out, count)
        z[k : k + count] = out[:count]
    return z


def worst_error(name, x):
    """The largest error in units of the last place of the exact number."""
    worst = 0.0
    with mp.workprec(140):
        for given, got in zip(x.tolist(), along(name, x).tolist(), strict=True):
            exact = EXACT[name](mp.mpf(given))
            worst = max(worst, float(abs(mp.mpf(got) - exact) / mp.mpf(math.ulp(float(exact)))))
    return worst


@pytest.mark.parametrize("name", NAMES)
def test_error_in_units_of_the_last_place(name):
    assert worst_error(name, points(name, 400)) <= ELEMENTARY[name].ulps


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_error_of_a_million(name):
    assert worst_error(name, points(name, 1_000_000, seed=1)) <= ELEMENTARY[name].ulps


def test_a_kernel_that_is_wrong_is_found(monkeypatch):
    """The judge sees an error in the last two digits of a coefficient."""
    monkeypatch.setitem(EXACT, "exp", lambda x: mp.exp(x) * (1 + mp.mpf(2) ** -51))
    assert worst_error("exp", points("exp", 400)) > 1.0


def test_the_guide_tells_the_bounds():
    page = Path(__file__).parents[2] / "notes" / "guide" / "elementary-functions.md"
    told = {}
    for names, bound in re.findall(r"^\| (`.*`) \| (\d)", page.read_text(encoding="utf-8"), re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), float(bound))
    assert told == {name: found.ulps for name, found in ELEMENTARY.items()}


# ---- special values --------------------------------------------------------------------------------------------------
_ODD = {x: x for x in (0.0, TINY, -TINY, SUBNORMAL)}
ODD = ("expm1", "sinh", "tanh", "log1p", "sin", "tan", "arctan", "erf")  # -0.0 stays -0.0
SPECIAL = {
    "exp": {0.0: 1.0, INF: INF, -INF: 0.0, 709.79: INF, -746.0: 0.0, TINY: 1.0, -745.13: TINY, HUGE: INF, 1e-20: 1.0},
    "exp2": {0.0: 1.0, INF: INF, -INF: 0.0, 1024.0: INF, -1074.0: TINY, -1076.0: 0.0, 3.0: 8.0, -1022.0: 2.0**-1022},
    "expm1": {**_ODD, INF: INF, -INF: -1.0, 710.0: INF, -800.0: -1.0},
    "sinh": {**_ODD, INF: INF, -INF: -INF, 711.0: INF, -HUGE: -INF},
    "cosh": {0.0: 1.0, INF: INF, -INF: INF, 711.0: INF, TINY: 1.0},
    "tanh": {**_ODD, INF: 1.0, -INF: -1.0, 30.0: 1.0, -HUGE: -1.0},
    "expit": {0.0: 0.5, INF: 1.0, -INF: 0.0, -800.0: 0.0, 800.0: 1.0, -745.13: TINY},
    "log": {0.0: -INF, 1.0: 0.0, INF: INF, -1.0: NAN, -INF: NAN, TINY: math.log(TINY)},
    "log2": {0.0: -INF, 1.0: 0.0, INF: INF, -1.0: NAN, TINY: -1074.0, 8.0: 3.0, 2.0**1000: 1000.0},
    "log10": {0.0: -INF, 1.0: 0.0, INF: INF, -1.0: NAN, 1000.0: 3.0, 1e22: 22.0},
    "log1p": {**_ODD, -1.0: -INF, -2.0: NAN, INF: INF, -INF: NAN, HUGE: math.log(HUGE)},
    "log1p_exp": {-INF: 0.0, INF: INF, 0.0: math.log(2.0), 800.0: 800.0, -800.0: 0.0, HUGE: HUGE},
    "log1m_exp": {0.0: -INF, -INF: -0.0, -800.0: -0.0, -745.13: -TINY, 1.0: NAN, INF: NAN, -TINY: math.log(TINY)},
    "log_expit": {-INF: -INF, INF: -0.0, 0.0: -math.log(2.0), -800.0: -800.0, 800.0: -0.0, -HUGE: -HUGE},
    "sin": {**_ODD, INF: NAN, -INF: NAN, 1e22: math.sin(1e22), -HUGE: math.sin(-HUGE)},
    "cos": {0.0: 1.0, TINY: 1.0, INF: NAN, -INF: NAN, 1e22: math.cos(1e22), HUGE: math.cos(HUGE)},
    "tan": {**_ODD, INF: NAN, -INF: NAN, 1e22: math.tan(1e22), HUGE: math.tan(HUGE)},
    "arctan": {**_ODD, INF: math.pi / 2, -INF: -math.pi / 2, 1.0: math.pi / 4, HUGE: math.pi / 2},
    "erf": {0.0: 0.0, INF: 1.0, -INF: -1.0, 7.0: 1.0, TINY: math.erf(TINY)},
    "erfc": {0.0: 1.0, INF: 0.0, -INF: 2.0, 28.0: 0.0, -HUGE: 2.0},
}


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name):
    cases = [*SPECIAL[name].items(), (NAN, NAN), (-0.0, -0.0 if name in ODD else SPECIAL[name].get(0.0, -0.0))]
    got = along(name, np.array([x for x, _ in cases]))
    for (x, expected), z in zip(cases, got.tolist(), strict=True):
        same = math.isnan(z) if math.isnan(expected) else z == expected and sign(z) == sign(expected)
        assert same, f"{name}({x!r}) is {z!r}, not {expected!r}"


# ---- the same bits everywhere ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_bits_depend_on_the_argument_alone(name):
    """Alone, in rows of any length from any place, and in a loop of a caller that may reorder."""
    x = points(name, 160)[:37]
    expected = np.array([elementary(name)(v) for v in x])
    fill, wide, out = elementary_rows(name), np.zeros(80), np.empty(80)
    for start in (0, 1, 3, 7):
        for count in (1, 7, 8, 9, 37):
            wide[start : start + count] = x[:count]
            fill(wide[start:], out[start:], count)
            assert np.array_equal(out[start : start + count].view(int), expected[:count].view(int))
    kernel = ELEMENTARY[name].kernel

    @njit(fastmath={"reassoc", "nsz", "arcp", "contract"}, error_model="numpy")
    def reordering(x, z):
        for k in range(len(x)):
            z[k] = 3.0 * kernel(x[k]) + 0.0

    z = np.empty(len(x))
    reordering(x, z)
    assert np.array_equal(z, 3.0 * expected)


def require_vectors(name):
    """Sums and products of machine code are of four doubles and more, and it calls nothing but for what is far."""
    fill = njit(error_model="numpy")(elementary_rows(name).py_func)
    with optimised():
        fill(np.zeros(ROWS), np.zeros(ROWS), ROWS)
    (text,) = fill.inspect_llvm().values()
    assert re.search(r"call <[48] x double> @llvm.fma", text)
    called = set(re.findall(r'call [^\n]*@"?(\w+)"?\(', text)) & {name, f"numba_{name}", "exp", "log", "fma"}
    assert called <= ({name, f"numba_{name}"} if ELEMENTARY[name].far else set())


@pytest.mark.skipif(not has_fast_registers(), reason="this processor has no such registers")
@pytest.mark.parametrize("name", ["exp", "log1p", "sin"])
def test_loops_along_rows_are_vectorised(name):
    require_vectors(name)


@pytest.mark.long
@pytest.mark.skipif(not has_fast_registers(), reason="this processor has no such registers")
@pytest.mark.parametrize("name", NAMES)
def test_all_loops_along_rows_are_vectorised(name):
    require_vectors(name)


PLAIN = """
from contad.elementary.elementary_table import elementary, has_fast_registers
print(has_fast_registers(), *(elementary(name)(x).hex() for name in ("exp", "tanh", "sin") for x in (0.3, 2.3)))
"""


@pytest.mark.long
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the features are those of x86")
def test_a_processor_without_fma_finds_the_same_bits(tmp_path):
    tmp_path.chmod(0o700)
    features = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse,+sse2,+cx16,+fxsr"}
    folders = {"CONTAD_CACHE_DIR": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    found = run_python("-c", PLAIN, **features, **folders)
    here = [elementary(name)(x).hex() for name in ("exp", "tanh", "sin") for x in (0.3, 2.3)]
    assert found.split() == ["False", *here]


@pytest.mark.parametrize("name", [name for name, found in ELEMENTARY.items() if found.single is not None])
def test_float32_numbers_have_kernels_of_their_own(name):
    """Every 4099th of all float32 numbers, special ones included, against NumPy's function in float64."""
    bits = np.append(np.arange(0, 2**32, 4099, dtype=np.uint32), np.uint32([0x7F800000, 0xFF800000, 0x80000000, 1]))
    x = bits.view(np.float32)
    x, z = np.pad(x, (0, -len(x) % ROWS)), np.zeros(len(x) + -len(x) % ROWS, np.float32)
    elementary_rows(name)(x, z, len(x))
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(float))
        rounded = exact.astype(np.float32)
        finite = np.isfinite(rounded) & np.isfinite(z)
        np.testing.assert_array_equal(z[~finite], rounded[~finite])
        ulps = np.abs(z[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite]))
    assert np.max(ulps) <= (1.5 if name == "tanh" else 1.0)
