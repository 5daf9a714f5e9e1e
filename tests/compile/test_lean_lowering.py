"""Generated code on its way to LLVM: fewer words, and the numbers, errors and references of Numba."""

import inspect
import re

import numba
import numpy as np
import pytest
from numba.core.codegen import CPUCodeLibrary
from numba.core.lowering import Lower

import contad
from contad.compile.lean_lowering import LeanLower
from contad.compile.linked_code import link
from tests.compile.watching import caller_of, note_calls, watched_memory

DRAW = np.random.default_rng(11)


def call(f, *args):
    """The result of f for compiled code."""
    return caller_of(f, error_model="numpy")(*args)


def both(f, *args):
    """The results of a function as generated code is compiled, and as Numba does it."""
    return call(link(error_model="numpy")(f), *args), call(numba.njit(error_model="numpy")(f), *args)


def elements(a, i, j):
    a[i, j] += a[j, i] * 2
    a[-1, j] = a[i, -2]
    a[0, 1] = 3
    return a[i, j], a[-1, -1], a[0, 1], a[i][j]


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.bool_])
def test_elements_of_two_axes_in_each_order_from_both_ends(kind):
    whole = (10.0 * DRAW.standard_normal((8, 8))).astype(kind)
    given = (whole[:5, :5].copy(), whole[:5, :5].copy("F"), whole[1::2, ::-1], whole.T[2:, 3:])
    f = elements if kind is not np.bool_ else lambda a, i, j: (a[i, j], a[-1, j], a[i][j])
    for a in given:
        for i, j in ((1, 2), (-2, 0), (3, -3)):
            first, second = a.copy("K"), a.copy("K")
            assert call(link()(f), first, i, j) == call(numba.njit(f), second, i, j)
            np.testing.assert_array_equal(first, second)


def test_elements_of_one_axis_and_of_three():
    def f(x, y, i):
        x[-i] = y[i, -1, 0]
        y[0, i, -i] = x[0] + x[i]
        return x[-1], x.sum(), y.sum(), y[1, 0, 2]

    for x, y in ((np.arange(4.0), DRAW.random((3, 3, 4))), (np.arange(8.0)[::2], DRAW.random((4, 3, 3)).T)):
        first, second = (x.copy(), y.copy("K")), (x.copy(), y.copy("K"))
        assert call(link()(f), *first, 2) == call(numba.njit(f), *second, 2)
        np.testing.assert_array_equal(first[1], second[1])


def test_elements_at_literal_indices_are_lowered_as_others(monkeypatch):
    def f(a, n):
        total = 0.0
        for i in range(n):
            a[i, 0] += a[i, 1] * a[0, i]
            total += a[i, 0] + a[1, -1]
        return total

    a = DRAW.random((3, 3))
    read, written = (note_calls(monkeypatch, Lower, name) for name in ("lower_getitem", "lower_setitem"))
    made = call(link()(f), a.copy(), 2)
    assert not read and not written
    assert made == call(numba.njit(f), a.copy(), 2)
    assert read or written


PLACES = np.array([2, 99, 3])
LARGEST = np.array([4, np.iinfo(np.int64).max])
NEGATIVE = np.array([[-3, 0], [1, -1]])
NONE = np.array([], np.int64)
MANY = np.zeros(10**6 // 8 + 1, np.int64)


def gathered(a, i):
    return a[PLACES[i] % 8], a[NEGATIVE[i, 1]] + a[NEGATIVE[i, 0]], LARGEST[i], MANY[i], NEGATIVE[i][0], len(NONE)


def test_integers_of_constant_arrays_have_ranges(monkeypatch):
    """The end is excluded, and at least 64. No range is stated for large arrays, which may change, and none that ends
    after the greatest int64."""
    texts, add = [], CPUCodeLibrary.add_ir_module

    def noted(library, module):
        texts.append(str(module))
        add(library, module)

    monkeypatch.setattr(CPUCodeLibrary, "add_ir_module", noted)
    a, f = np.arange(8.0), link()(gathered)
    for i in (0, 1, -1):
        assert call(f, a, i) == call(numba.njit(gathered), a, i)
    stated = {pair for text in texts for pair in re.findall(r"!{ i64 (-?\d+), i64 (-?\d+) }", text)}
    of_lengths = ("0", str(2**63 - 1))  # which Numba states
    assert stated - {of_lengths} == {("2", "100"), ("-3", "64")}


def test_numbers_of_other_types_are_read_and_written():
    def f(small, complexes, x):
        small[1] = x
        complexes[0] += 1j * small[1]
        return small[1] * x, complexes[0], small[np.uint8(2)]

    given = lambda: (np.arange(3, dtype=np.float32), np.arange(3) * (1.0 + 2j), 0.1)  # noqa: E731
    assert call(link()(f), *given()) == call(numba.njit(f), *given())


def counted(n, step):
    """A number made of what ranges give, one after the other, and what is left of their names."""
    seen, last = 1, -7
    for i in range(n):
        if i == 7:
            break
        seen = 31 * seen + i
    for i in range(n, 2 * n + 1):
        seen = 31 * seen - i
    for last in range(n - 1, -1, -1):
        if last == 2:
            continue
        seen = 31 * seen + last
    for i in range(3, n, step):
        seen = 31 * seen - i
    for i in range(n, -n, -3):
        for j in range(i):
            seen = 31 * seen + 7 * i + j
    chosen = range(n) if n > 2 else range(n, 5)
    for i in chosen:
        seen = 31 * seen + i
    return seen, last, i


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 3, 9])
@pytest.mark.parametrize("step", [1, 2, -1, -4])
def test_ranges_of_any_step(n, step):
    first, second = both(counted, n, step)
    assert first == second


def test_a_step_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="must not be zero"):
        both(counted, 4, 0)


def test_operators_of_mixed_numbers():
    def f(x, n, test):
        return x + n, n - x, n / 3, n // 3, -n % 4, x**2, n**2, x < n, test + n, test == True, n != 2.0, x * test  # noqa: E712

    assert both(f, 1.7, 3, True)[0] == both(f, 1.7, 3, True)[1]
    first, second = both(lambda n: (1 / n, -1.0 / n), 0)
    assert first == second == (np.inf, -np.inf)


def test_arrays_are_given_back_once():
    def f(n):
        total = 0.0
        for k in range(n):
            x = np.ones(k + 3)
            y = x
            if k == 2:
                continue
            x = x + y
            total += x[k] + y[-1]
        return total

    outer = caller_of(link()(f))
    assert outer(5) == f(5)
    with watched_memory() as memory:
        outer(50)
    assert memory.asked == memory.returned >= 50


def test_a_third_fewer_words(monkeypatch):
    words = {}
    add = CPUCodeLibrary.add_ir_module

    def noted(library, module):
        words[module.name.rpartition(".")[2]] = len(str(module).split())
        add(library, module)

    monkeypatch.setattr(CPUCodeLibrary, "add_ir_module", noted)
    lines = [
        "a, b, c):", "    for i in range(len(a)):", "        for j in range(len(b)):",
        "            for k in range(len(c)):", "                c[i, j] += a[i, k] * b[k, j]", "    return c[0, 0]",
    ]  # fmt: skip
    made, a = {}, np.ones((2, 2))
    for name, decorate in (("linked", link()), ("numbas", numba.njit)):
        exec("\n".join([f"def {name}({lines[0]}", *lines[1:]]), made)
        assert call(decorate(made[name]), a, a, a.copy()) == 3.0
    of = {name: sum(n for key, n in words.items() if key.startswith(name)) for name in ("linked", "numbas")}
    assert 0 < 3 * of["linked"] < 2 * of["numbas"]


def test_written_derivatives_are_lowered_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    seen = []

    def noted(self):
        seen.append(self.func_ir.func_id.func_name)
        Lower.lower(self)

    monkeypatch.setattr(LeanLower, "lower", noted, raising=False)

    @numba.njit
    def cubes(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] ** 3
        return total

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(contad.value_and_grad(cubes, engine="generated")(x)[1], 3.0 * x * x)
    assert seen.count("run") == 1 and "cubes" not in seen


def test_overridden_methods_have_numbas_names():
    own = {name for name, x in vars(LeanLower).items() if inspect.isfunction(x) and not name.startswith("_")}
    assert own <= set(dir(Lower)) and len(own) > 5
