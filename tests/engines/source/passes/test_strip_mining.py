"""Loops, and nests of them, in strips, so that elementary functions run in vector registers: whole derivatives."""

import functools
import math
import re
import sys
import warnings

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.elementary.elementary_table import has_fast_registers
from contad.elementary.rows import are_apart
from contad.engines.source.build import build, derivative_of
from contad.engines.source.passes import strip_mining
from contad.numba_functions.request import Request
from tests.compile.watching import caller_of
from tests.engines.source.agreement import as_python, flat
from tests.judges.light_compiling import optimised, whole
from tests.random_programs import generated_programs
from tests.random_programs.generated_grammar import Maker

pytestmark = pytest.mark.skipif(not has_fast_registers(), reason="this processor has no such registers")


def request(f, *args, numerics="simd", argnums=None):
    floats = tuple(k for k, x in enumerate(args) if isinstance(x, float) or getattr(x, "dtype", "") == "float64")
    kinds = tuple(map(numba.typeof, args))
    return Request(f.py_func, f, kinds, argnums or floats, False, "value_and_grad", numerics=numerics)


def text_of(f, *args, numerics="simd"):
    return derivative_of(request(f, *args, numerics=numerics)).source()


def require_close(got, expected, tolerance=1e-13):
    """Values, and gradients by their size, up to some ulps times the conditioning of sums."""
    (value, gradient), (known, slopes) = got, expected
    np.testing.assert_allclose(value, known, rtol=tolerance)
    scale = np.abs(flat(slopes)).max()
    assert scale > 0.0
    np.testing.assert_allclose(flat(gradient), flat(slopes), rtol=tolerance, atol=0.04 * tolerance * scale)


def require_same(f, *args, make=as_python, numerics="simd", tolerance=1e-13):
    """What derivatives give is what they give with the functions of the C library."""
    asked, of_library = (make(request(f, *args, numerics=x)) for x in (numerics, "libm"))
    require_close(asked(*args), of_library(*args), tolerance)


def optimised_code(run):
    """The optimised machine code of a derivative in words, compiled anew: kept code cannot be looked at."""
    anew = njit(error_model="numpy")(run.py_func)
    with optimised():
        anew.compile(run.signatures[0])
    return "".join(anew.inspect_llvm().values())


# ---- functions -------------------------------------------------------------------------------------------------------
@njit
def logistic(w, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        eta = 0.0
        for j in range(x.shape[1]):
            eta += x[i, j] * w[j]
        total += y[i] * eta - math.log1p(math.exp(eta))
    return total


@njit
def log_sum_exp(x):
    largest = np.max(x)
    total = 0.0
    for k in range(len(x)):
        total += math.exp(x[k] - largest)
    return largest + math.log(total)


@njit
def graded(x, cuts, y):
    """Categories between cuts, the first and the last of which are open: every branch has its functions."""
    total = 0.0
    for i in range(len(x)):
        if y[i] == 0:
            total += contad.ops.log_expit(cuts[0] - x[i])
        elif y[i] == len(cuts):
            total += contad.ops.log_expit(x[i] - cuts[y[i] - 1])
        else:
            low, high = cuts[y[i] - 1] - x[i], cuts[y[i]] - x[i]
            total += contad.ops.log1m_exp(low - high) + contad.ops.log_expit(-low) + contad.ops.log_expit(high)
    return total


@njit
def censored(x, a):
    """A branch in a branch, and functions that are infinite, or have no value, where their branch is not taken."""
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0.0:
            total += math.log(x[k]) / a
            if x[k] > 1.0:
                total += math.log(x[k] - 1.0) * math.exp(-a * x[k])
        else:
            total -= math.log1p(a * a - x[k])
    return total


@njit
def on_arrays(x, y):
    return np.sum(np.tanh(x * y) * np.exp(-x)) + np.mean(np.log(1.0 + x * x))


@njit(error_model="numpy")
def quotients(x, a):
    total = 0.0
    for k in range(len(x)):
        total += math.exp(-x[k]) / (a + x[k] * x[k])
    return total


@njit
def volatility(h, mu, phi, y):
    """Neighbours, of which the first has none, and a number to whose adjoint an iteration adds twice."""
    total = 0.0
    for t in range(len(h)):
        total -= h[t] + y[t] * y[t] * math.exp(-h[t])
        if t > 0:
            step = h[t] - mu - phi * (h[t - 1] - mu)
            total -= step * step
    return total


@njit
def between(x, a):
    """An iteration adds to the adjoint of a, and takes from it."""
    total = 0.0
    for k in range(len(x)):
        total += math.exp(-x[k]) * (x[k] - a) * (x[k] + a) * (2.0 + x[k] * x[k])
    return total


@njit
def heavy_tailed(x, y, sigma):
    total = 0.0
    for k in range(len(x)):
        total += contad.scipy.stats.cauchy.logpdf(y[k], x[k], sigma)
    return total


@njit
def mixture(x, centres, w):
    """A logarithm of sums of few terms, with the greatest one, which an iteration counts."""
    total = 0.0
    for i in range(len(x)):
        largest = -math.inf
        for k in range(len(centres)):
            largest = max(largest, w[k] - x[i] * centres[k])
        s = 0.0
        for k in range(len(centres)):
            s += math.exp(w[k] - x[i] * centres[k] - largest)
        total += largest + math.log(s)
    return total


@njit
def chain_of_states(alpha, transition, steps):
    """Arrays that are read and written in turn."""
    n = len(alpha)
    now, following = alpha.copy(), np.empty(n)
    for _ in range(steps):
        for s in range(n):
            largest = now[0] + transition[0, s]
            for r in range(1, n):
                largest = max(largest, now[r] + transition[r, s])
            total = 0.0
            for r in range(n):
                total += math.exp(now[r] + transition[r, s] - largest)
            following[s] = largest + 0.1 * total
        now, following = following, now
    total = 0.0
    for s in range(n):
        total += math.exp(0.1 * now[s])
    return total


@njit
def where_the_greatest_is(x, w):
    """A whole number that the first part makes, and the rest reads."""
    total = 0.0
    for i in range(x.shape[0]):
        best, at = x[i, 0], 0
        for k in range(1, x.shape[1]):
            if x[i, k] > best:
                best = x[i, k]
                at = k
        s = 0.0
        for k in range(x.shape[1]):
            s += math.exp(x[i, k] - best) * w[k]
        total += s * w[at]
    return total


def numbers(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


ROWS = {
    "logistic": (logistic, (0.3 * numbers(3), numbers((300, 3), 1), np.abs(numbers(300, 2)))),
    "log_sum_exp": (log_sum_exp, (numbers(600),)),
    "graded": (graded, (1.5 * numbers(300), np.array([-1.0, 0.2, 0.9]), np.arange(300) * 7 % 11 % 4)),
    "censored": (censored, (numbers(300), 0.8)),
    "on_arrays": (on_arrays, (numbers(270), numbers(270, 1))),
}


@pytest.mark.parametrize("name", ROWS)
def test_gradients_agree_with_those_of_the_c_library(name):
    f, args = ROWS[name]
    assert "_rows(" in text_of(f, *args)
    require_same(f, *args)


@pytest.mark.parametrize("name", ["logistic", "graded", "censored"])
def test_compiled(name):
    f, args = ROWS[name]
    require_same(f, *args, make=build)


# ---- what is left of the C library -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "functions"), [("logistic", 2), ("log_sum_exp", 1)])
def test_functions_of_loops_are_along_rows(name, functions):
    """No loop has a function of its own, and each is computed once."""
    f, args = ROWS[name]
    text = text_of(f, *args)
    loops = [line for line in text.splitlines() if line.startswith("        ")]
    assert len(re.findall(r"^ +\w+_rows\(", text, re.MULTILINE)) == functions
    assert [line for line in loops if re.search(r"\b(math\.)?(exp|log1p|sin|cos|tanh|erf)\(", line)] == []


LIBM = {"exp", "log1p", "numba_exp", "numba_log1p", "llvm.exp.f64"}


def called_in(run):
    """The functions of the C library that compiled code calls; compiled anew, as kept code cannot be looked at."""
    anew = njit(error_model="numpy")(run.py_func)
    with whole():
        anew.compile(run.signatures[0])
    text = "".join(anew.inspect_llvm().values())
    return {name for name in LIBM if re.search(rf'call [^\n]*@"?{re.escape(name)}"?\(', text)}


def test_machine_code_calls_no_function_of_the_c_library():
    f, args = ROWS["logistic"]
    run = build(request(f, *args))
    assert not called_in(run) & LIBM
    assert called_in(build(request(f, *args, numerics="libm"))) & LIBM


def test_quotients_go_to_vector_registers_beside_sums_in_their_order():
    """Sums wait for each other, and have a loop of their own."""
    f, args = quotients, (numbers(600), 1.5)
    require_same(f, *args)
    text = text_of(f, *args)
    assert re.findall(r"^ +(\w+) ([-+]=) \w+_terms\[at\w*\]$", text, re.MULTILINE) != []
    assert re.search(r"fdiv <\d+ x double>", optimised_code(build(request(f, *args))))


def test_neighbours_go_to_vector_registers_beside_what_an_iteration_adds_to_an_adjoint_at_once():
    for n in (1, 2, 256, 257, 258, 513, 600):
        args = numbers(n), 0.3, 0.9, numbers(n)[::-1].copy()
        require_same(volatility, *args)
    text = text_of(volatility, *args)
    loop = text.partition("exp_rows(")[2].partition("for at in range")[2].partition("for at in range")[0]
    assert re.findall(r"^ +(\w+_bar) = add_freely\(mu_bar, -mu_bar_terms\[at\]\)$", text, re.MULTILINE) == ["mu_bar"]
    assert len(re.findall(r" mu_bar_terms\[at\] (?:|[-+])= ", loop)) == 2
    code = optimised_code(build(request(volatility, *args))).replace(".", "_")
    assert re.search(r"shufflevector <(\d+) x double> %vector_recur\w*, <\1 x double>", code)


def test_terms_of_an_adjoint_have_their_signs():
    args = numbers(600), 0.4
    terms = re.findall(r"^ +a_bar_terms\[at\] ([-+]?)=", text_of(between, *args), re.MULTILINE)
    assert sorted(terms) == ["", "-"]
    require_same(between, *args)


def test_formulas_that_a_density_calls_are_written_out():
    """Their functions go along rows, and partials have the lines of the value."""
    args = numbers(300), 2.0 * numbers(300, 1), 0.7
    text = text_of(heavy_tailed, *args)
    assert "log1p_rows(" in text and "log_rows(" in text and "value_log_one_plus_square" not in text
    loops = text.split("log1p_rows(")[-1].splitlines()
    texts = [line.partition(" = ")[2] for line in loops if line.startswith("            ") and "rows[" not in line]
    texts = [x for x in texts if x]
    assert len(texts) > 10 and len(texts) == len(set(texts))
    require_same(heavy_tailed, *args)


def test_partials_of_a_formula_divide_by_nothing_that_stays():
    """They multiply by its inverse, which is computed before the loop; and by inverses that a line has."""
    text = text_of(heavy_tailed, numbers(300), 2.0 * numbers(300, 1), 0.7)
    partials = [line for line in text.splitlines() if re.match(r" {8,}\w+__d\d+ = ", line)]
    assert len(partials) > 5 and not [line for line in partials if re.search(r"/ \w*sigma", line)]
    assert re.findall(r"^    (\w+) = 1\.0 / sigma$", text, re.MULTILINE) == ["sigma_inverse"]
    named = set(re.findall(r"\w+ = 1\.0 / (\w+)$", text, re.MULTILINE))
    assert named > {"sigma"}
    assert not [line for line in partials if (found := re.search(r"/ (\w+)", line)) and found[1] in named]


def test_the_default_is_named():
    f, args = ROWS["log_sum_exp"]
    default, auto, libm = (
        contad.source(gradient, *args)
        for gradient in (contad.grad(f), contad.grad(f, numerics="auto"), contad.grad(f, numerics="libm"))
    )
    assert default == auto != libm


def test_without_fast_registers_nothing_is_split(monkeypatch):
    f, args = ROWS["logistic"]
    monkeypatch.setattr(sys.modules[build.__module__], "has_fast_registers", lambda: False)
    assert text_of(f, *args) == derivative_of(request(f, *args, numerics="libm")).source()


# ---- results do not depend on the length of what is left over --------------------------------------------------------
def test_bits_of_an_element_depend_on_it_alone():
    @njit
    def f(x):
        total = 0.0
        for k in range(len(x)):
            total += math.exp(math.sin(x[k])) * math.tanh(x[k])
        return total

    gradient = contad.grad(f, numerics="simd")
    x = numbers(800)
    expected = gradient(x)
    for n in (1, 2, 7, 8, 9, 255, 256, 257, 511, 513):
        assert np.array_equal(gradient(x[:n]), expected[:n])
        assert np.array_equal(gradient(x[3:][:n]), expected[3:][:n])


# ---- functions in branches -------------------------------------------------------------------------------------------
def forward_of(text):
    """The forward sweep, which ends where the result gets its adjoint."""
    return text.partition("def run(")[2].partition("_bar = 1.0")[0]


def lines_of_branches(text):
    return [line for line in text.splitlines() if re.match(" {16}", line)]


@pytest.mark.parametrize(("name", "functions"), [("graded", 11), ("censored", 4)])
def test_functions_in_branches_are_along_rows(name, functions):
    """No branch calls one; each is computed once, of the iterations that ask for it."""
    f, args = ROWS[name]
    for numerics in ("auto", "simd"):
        text = text_of(f, *args, numerics=numerics)
        assert len(re.findall(r"^ +\w+_rows\(", text, re.MULTILINE)) == functions
        calls = r"\b(exp|expm1|log|log1p|sin|cos|value_log_expit|value_expit|value_log1m_exp)\("
        assert [line for line in lines_of_branches(forward_of(text)) if re.search(calls, line)] == []


def test_branches_that_ask_the_same_are_one_where_arguments_are_gathered():
    """Those of the way back ask again."""
    f, args = ROWS["graded"]
    loops = text_of(f, *args).split("    for at in range(")
    gathering, using = loops[1], loops[2]
    assert gathering.count("if test") == 2 and using.count("if test") == 4
    assert gathering.count("+= 1") == using.count("+= 1") == 3


def test_a_branch_that_is_not_taken_has_no_part_in_gradients():
    """Where nothing is positive there is no logarithm of it, and its partial of 1 / 0 is none."""
    f, (some, a) = ROWS["censored"]
    for x in (np.zeros(20), -np.abs(some), np.where(some > 0.0, 1.0, some)):
        assert np.all(np.isfinite(flat(as_python(request(f, x, a))(x, a)[1])))
        require_same(f, x, a)


# ---- nests -----------------------------------------------------------------------------------------------------------
NESTS = {f.py_func.__name__: f for f in (mixture, chain_of_states, where_the_greatest_is)}
SIZES = [(1, 1), (2, 3), (3, 2), (7, 3), (5, 4), (6, 1), (3, 9)]


def arguments(f, n, m):
    rng = np.random.default_rng(100 * n + m)
    if f is chain_of_states:
        return rng.normal(size=m), rng.normal(size=(m, m)), n
    if f is where_the_greatest_is:
        return rng.normal(size=(n, m)), rng.normal(size=m)
    return rng.normal(size=n), rng.normal(size=m), rng.normal(size=m)


@pytest.mark.parametrize("numerics", ["simd", "auto"])
@pytest.mark.parametrize("name", NESTS)
def test_gradients_of_nests_agree_with_those_of_whole_loops(name, numerics, monkeypatch):
    """Blocks of 8 numbers: of several iterations, of one, and inner loops that are too long."""
    monkeypatch.setattr(strip_mining, "ROWS", 8)
    monkeypatch.setattr(strip_mining, "LONG", 2)
    f = NESTS[name]
    assert "wide = 8 // max(" in text_of(f, *arguments(f, 5, 4), numerics=numerics)
    for n, m in SIZES:
        require_same(f, *arguments(f, n, m), numerics=numerics, tolerance=1e-12)


@pytest.mark.parametrize("name", NESTS)
def test_compiled_nests(name):
    f = NESTS[name]
    runs = [build(request(f, *arguments(f, 5, 4), numerics=numerics)) for numerics in ("auto", "libm")]
    for n, m in [*SIZES, (3, 130), (40, 31), (300, 2)]:
        args = arguments(f, n, m)
        require_close(*(run(*args) for run in runs), 1e-11)


def test_a_step_is_one_call_for_all_states():
    """The functions of a step of a chain go along one row, if its states are few; no test is left to the number 12."""
    text = text_of(chain_of_states, *arguments(chain_of_states, 5, 4), numerics="auto")
    assert re.search(r"long = (\w+) \* \1 >= 12\n", text)
    assert re.search(r"if (\w+) <= 128 and are_apart\(\w+, \w+\):\n +wide = 256 // max\(\1, 1\)", text)
    calls = [0]
    names = {}
    exec(re.sub(r"exp_rows = .*", "", text), names)

    def exp_rows(x, z, n):
        calls[0] += 1
        z[:n] = np.exp(x[:n])

    names.update(exp_rows=exp_rows, workspace=lambda: (np.full(3, np.nan), 0), grow=generated_programs.grown)
    names["run"](*arguments(chain_of_states, 5, 4))
    assert calls[0] == 5 + 1


def test_a_loop_in_no_other_asks_for_no_length_of_those_in_it():
    assert "long" not in text_of(mixture, *arguments(mixture, 5, 4), numerics="auto")


def test_where_arrays_are_apart():
    x, compiled = np.arange(24.0).reshape(4, 6), caller_of(are_apart)
    for first, second, expected in (
        (x, x, False), (x[:2], x[2:], True), (x[::2], x[1::2], False), (x[0], x[1], True), (x[1], x[0], True),
        (x[::-1][:2], x[:2], True), (x[::-1][:2], x[2:], False), (x[0, :3], x[0, 3:], True), (x[0, :0], x[0], True),
        (x[1:1], x, True), (x, x.copy(), True), (x[0, :4], x[0, 3:], False),
    ):  # fmt: skip
        assert are_apart(first, second) == compiled(first, second) == expected
        assert not expected or not np.shares_memory(first, second)


# ---- random programs -------------------------------------------------------------------------------------------------
def outcome_of(seed, numerics):
    """What the derivative of a random program gives, or raises, as plain Python, and whether it has rows."""
    maker = Maker(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"), generated_programs.known(generated_programs.softened):
        warnings.simplefilter("ignore")
        f = generated_programs.namespace(maker.source(), seed)["f"]
        with pytest.MonkeyPatch.context() as patch:
            writer = generated_programs.DerivativeWriter
            patch.setattr(
                generated_programs, "DerivativeWriter", functools.partial(writer, numerics=numerics)
            )
            patch.setattr(strip_mining, "ROWS", 3)
            patch.setattr(strip_mining, "FEWEST", 3)
            patch.setattr(strip_mining, "LONG", 2)
            run = generated_programs.derivative(f, maker.aux, fuse=bool(seed % 3))
        try:
            value, gradient = run(*generated_programs.copied(generated_programs.arguments(seed)))
        except Exception as error:
            return repr(error), "new_row" in run.__globals__
        return np.concatenate([generated_programs.numbers_of(value), flat(gradient)]), "new_row" in run.__globals__


def disagreement(seed, numerics="simd"):
    """Whether the program has rows, and what is wrong with them."""
    got, has_rows = outcome_of(seed, numerics)
    if not has_rows:
        return False, None
    expected, _ = outcome_of(seed, "libm")
    if isinstance(got, str) or isinstance(expected, str):
        return True, None if isinstance(got, str) and got == expected else f"seed {seed}: {got} for {expected}"
    finite = np.isfinite(expected)
    size = min(np.abs(expected[finite]).max(initial=1.0), 1e8)
    close = np.abs(got - expected)[finite] <= 1e-9 * np.abs(expected[finite]) + 1e-11 * size
    same = np.array_equal(finite, np.isfinite(got)) and close.all()
    return True, None if same else f"seed {seed}: {got} for {expected}"


@pytest.mark.parametrize("numerics", ["simd", "auto"])
def test_random_programs_in_blocks_of_three(numerics):
    found = [disagreement(seed, numerics) for seed in (*range(300, 314), 334, 339)]
    assert [wrong for _, wrong in found if wrong] == []
    assert sum(has_rows for has_rows, _ in found) >= 2


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 3000, 100))
def test_more_random_programs_in_blocks_of_three(start):
    for numerics in ("simd", "auto"):
        found = [disagreement(seed, numerics) for seed in range(start, start + 100)]
        assert [wrong for _, wrong in found if wrong] == []


def test_only_loops_with_functions_are_looked_through(monkeypatch):
    asked = []
    find = strip_mining.find_parts

    def noted(body, *rest):
        asked.append(body.index)
        return find(body, *rest)

    monkeypatch.setattr(strip_mining, "find_parts", noted)

    @njit
    def weighted(x, y):
        total = 0.0
        for i in range(len(x)):
            total += x[i] * y[i]
        for j in range(len(x)):
            total += math.exp(x[j] * y[j])
        for k in range(len(x)):
            total -= x[k] * total
        return total

    text = text_of(weighted, np.ones(3), np.ones(3))
    assert "exp_rows(" in text
    assert set(asked) == {"j"}
