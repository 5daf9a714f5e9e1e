"""Random programs that choose, fill and cast have NumPy's values, shapes and kinds on variables."""

import warnings

import numpy as np
import pytest

import contad
from contad.errors import ContadError
from contad.rules import numpy_functions
from contad.rules.numpy_functions import entry_of
from tests.judges.samples import shortened
from tests.random_programs.value_programs import generate


def plain(z):
    """The floats of a value; elements of an array of objects may be variables, and what np.asarray makes has room."""
    x = contad.value_of(np.asarray(contad.value_of(z)))
    return np.vectorize(contad.value_of, otypes=[float])(x) if x.dtype == object else x


def difference(seed):
    """What differs from NumPy where all inputs are variables, or None; a refusal by name is no difference."""
    program = generate(seed)
    f = program.function()
    found = []

    def kept(*inputs):
        found[:] = [plain(z) for z in f(*inputs)]
        return sum(np.sum(x) for x in inputs)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = list(map(np.asarray, f(*program.inputs)))
        for forward in (False, True):
            found.clear()
            try:
                if forward:
                    contad.jvp(kept, program.inputs, program.inputs)
                else:
                    contad.grad(kept, (0, 1, 2))(*program.inputs)
            except ContadError:
                continue
            for line, x, y in zip(program.lines, found, expected, strict=True):
                if x.shape != y.shape or not np.allclose(x, y, rtol=1e-9, atol=1e-9, equal_nan=True):
                    return f"seed {seed}: {line}: {x}, not {y}\n{program.source()}"
    return None


@pytest.mark.parametrize("count", shortened(300, 5000))
def test_random_value_programs_agree(count):
    assert [said for said in map(difference, range(count)) if said] == []


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (np.piecewise, lambda x, *args: 1.5 * x),
        (np.full_like, lambda a, fill: np.zeros_like(a)),
        (np.copyto, lambda dst, src, casting="same_kind", where=True: None),  # which np.full_like calls
        (np.nan_to_num, lambda x, **options: x),
    ],
)
def test_a_wrong_value_is_noticed(monkeypatch, function, wrong):
    monkeypatch.setitem(numpy_functions._entries, function, entry_of(function)._replace(implementation=wrong))
    assert any(difference(seed) for seed in range(100))
