"""Checkpointed loops: to the last bit the derivatives of plain ones, with memory that grows with the root."""

import warnings

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.runtime import kept_parts
from contad.engines.source.writing.segment_text import SegmentWriter
from contad.memory.arena import memory_in_use
from tests.engines.source.plain_text import generate
from tests.engines.source.programs.segments import MARKED, marked_and_plain, point

LENGTHS = (0, 1, 2, 3, 5, 16, 29)
CHEAP = {"recurrence"}  # to compile
compiled = [pytest.param(name, marks=[] if name in CHEAP else [pytest.mark.long]) for name in MARKED]


@njit
def unmarked(iterable):
    return iterable


def lengths(name):
    return LENGTHS[1:] if name == "with a break" else LENGTHS  # it reads the index after the loop


def require_equal(a, b, what):
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            require_equal(x, y, what)
    else:
        assert np.array_equal(a, b), what


def same_text(name, mode="value_and_grad"):
    """Both derivatives run as Python; whether loops were checkpointed is seen by their states."""
    marked, plain = marked_and_plain(name)
    for n in lengths(name):
        args = (point(name), n)
        runs = [generate(f, args, (0,), mode) for f in (marked, plain)]
        given = args if mode == "value_and_grad" else (args, (1.0 + 0.5 * args[0],))
        require_equal(*(run(*given) for run in runs), n)


# ---- derivatives -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [name for name in MARKED if name != "returned array"])
def test_gradients_are_those_of_plain_loops(name):
    with np.errstate(all="ignore"):
        same_text(name)


@pytest.mark.parametrize("name", ["recurrence", "table of rows", "in place", "with a break"])
def test_products_with_hessians_are_those_of_plain_loops(name):
    same_text(name, "hvp")


@pytest.mark.parametrize("name", compiled)
def test_compiled_gradients_are_those_of_plain_loops(name):
    marked, plain = (
        contad.value_and_grad(f, has_aux=name == "returned array", engine="generated") for f in marked_and_plain(name)
    )
    for n in (*lengths(name), 100):
        require_equal(marked(point(name), n), plain(point(name), n), n)
    assert name != "recurrence" or "root_of" in contad.source(marked, point(name), 10)
    assert "root_of" not in contad.source(plain, point(name), 10)


@pytest.mark.long
@pytest.mark.parametrize("name", ["recurrence", "two levels", "rows added to", "nested loops"])
def test_hessians_are_those_of_plain_loops(name):
    marked, plain = marked_and_plain(name)
    x, n = point(name), 23
    for transform in (contad.hessian, contad.hvp):
        a, b = (transform(f, engine="generated") for f in (marked, plain))
        given = (x, n, 0.3 * x) if transform is contad.hvp else (x, n)
        require_equal(a(*given), b(*given), transform.__name__)


@pytest.mark.parametrize(
    "engine", ["closures", *(pytest.param(name, marks=pytest.mark.long) for name in ("tape", "matrix", "records"))]
)
def test_other_engines_take_a_plain_loop(engine):
    marked, _ = marked_and_plain("with continue")
    function = marked if engine == "tape" else marked.py_func
    expected = contad.grad(marked, engine="generated")(0.4, 29)
    assert np.isclose(contad.grad(function, engine=engine)(0.4, 29), expected, rtol=1e-12)


# ---- the mark --------------------------------------------------------------------------------------------------------
def test_the_mark_is_the_range_itself():
    r = range(3, -4, -2)
    assert contad.checkpointed(r) is r
    with pytest.raises(TypeError, match="checkpointed: iterable must be a range, got list"):
        contad.checkpointed([1, 2])


def test_functions_that_are_not_differentiated_run_as_without_it():
    marked, plain = marked_and_plain("backwards")
    assert marked(0.4, 29) == plain(0.4, 29) == marked.py_func(0.4, 29)


def over_an_array(x, n):
    s = 0.0
    for y in contad.checkpointed(x):
        s += y * y
    return s


def test_arrays_are_refused_by_name():
    said = r"test_segment_text.py:\d+: over_an_array: .*something that is no"
    with pytest.raises(contad.UnsupportedError, match=said):
        contad.grad(njit(over_an_array), engine="generated")(np.ones(3), 3)


# ---- memory ----------------------------------------------------------------------------------------------------------
def bytes_of(gradient, n):
    contad.recover_memory()
    gradient(0.4, n)
    return memory_in_use()


def test_memory_grows_with_the_root():
    marked, plain = (contad.grad(f, engine="generated") for f in marked_and_plain("recurrence"))
    few, many = bytes_of(marked, 250_000), bytes_of(marked, 1_000_000)
    assert many < 50_000
    assert 1.8 < many / few < 2.2
    assert bytes_of(plain, 1_000_000) >= 24_000_000


def test_the_option_checkpoints_loops_that_are_not_marked():
    _, plain = marked_and_plain("recurrence")
    gradient = contad.grad(plain, checkpoint=True)
    assert gradient(0.4, 100) == contad.grad(plain)(0.4, 100)
    told = str(contad.explain(gradient, 0.4, 100))
    assert "the loop is checkpointed, in segments of about the root of its length: keeps x, s where one begins" in told
    assert "checkpointed" not in str(contad.explain(contad.grad(plain), 0.4, 100))


def test_the_option_is_true_or_false():
    for transform in (contad.grad, contad.value_and_grad, contad.hvp):
        with pytest.raises(ValueError, match=f"{transform.__name__}: checkpoint must be True or False, got 100"):
            transform(unmarked, checkpoint=100)


def recurrence_of_its_own(x, n):
    for t in range(n):
        x = x + 0.01 * np.sin(x) * (t % 3)
    return x


def test_loops_are_checkpointed_by_themselves_where_memory_does_not_suffice():
    gradient = contad.grad(njit(recurrence_of_its_own))
    expected = gradient(0.4, 100_000)
    contad.recover_memory()
    contad.set_memory_limit(300_000)
    try:
        with pytest.warns(UserWarning, match=r"its loops are checkpointed.*Ask for it by checkpoint=True"):
            assert gradient(0.4, 100_000) == expected
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert gradient(0.4, 100_000) == expected
            fresh = contad.grad(njit(recurrence_of_its_own), engine="generated")
        with pytest.warns(UserWarning, match="its loops are checkpointed"):  # at the first call of a gradient
            assert fresh(0.4, 100_000) == expected
        contad.set_memory_limit(100)
        contad.recover_memory()
        with pytest.raises(MemoryError, match="with all loops checkpointed where they can be"):
            gradient(0.4, 100_000)
    finally:
        contad.set_memory_limit(None)


# ---- what stays as it is ---------------------------------------------------------------------------------------------
def random_walk(x, n):
    s = x
    for _ in contad.checkpointed(range(n)):
        s = s * np.cos(s) + 0.1 * np.random.normal()  # noqa: NPY002
    return s


@njit
def seed(k):
    np.random.seed(k)  # noqa: NPY002


@njit
def with_fixed_numbers(x, numbers):
    s = x
    for number in numbers:
        s = s * np.cos(s) + 0.1 * number
    return s


@njit
def draw(n):
    return np.array([np.random.normal() for _ in range(n)])  # noqa: NPY002


def test_a_loop_that_draws_is_not_run_again():
    f = njit(random_walk)
    gradient = contad.grad(f, engine="generated")
    seed(5)
    numbers = draw(30)
    seed(5)
    gradient(0.3, 30)  # which compares the value, and draws for that
    seed(5)
    assert np.isclose(gradient(0.3, 30), contad.grad(with_fixed_numbers)(0.3, numbers), rtol=1e-12)
    told = str(contad.explain(gradient, 0.3, 30))
    assert "it is marked, and not checkpointed: something in it might not come out the same when it runs again" in told


# ---- planted bugs ----------------------------------------------------------------------------------------------------
FORGOTTEN = [(SegmentWriter, "_restore_carried", "recurrence"), (SegmentWriter, "_find_disturbed", "sum that is shown")]
FORGOTTEN += [
    (kept_parts, "put_part_back", name)
    for name in ("in place", "rows added to", "smoothed ahead", "written afterwards", "integers carried")
]


@pytest.mark.parametrize(("owner", "function", "name"), FORGOTTEN)
def test_planted_faults_are_found(owner, function, name, monkeypatch):
    monkeypatch.setattr(owner, function, lambda *_: [])
    args = (point(name), 16)
    runs = [generate(f, args, (0,))(*args) for f in marked_and_plain(name)]
    with pytest.raises(AssertionError):
        require_equal(*runs, name)
