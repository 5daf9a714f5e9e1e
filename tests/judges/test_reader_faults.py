"""Faults of the engine `generated` are not taken for refusals."""

import math

import numba
import pytest

import contad
from contad.engines import source
from contad.engines.source.reading.statements import StatementReader
from tests.judges.reader_faults import is_fault


def f(x):
    total = 0.0
    while total < x:
        total += math.sin(total + x)
    return total


def test_a_planted_fault_is_raised(monkeypatch):
    def fault(reader, statement, env):
        return {}["a name"]

    fault.__code__ = fault.__code__.replace(co_filename=source.__file__)
    monkeypatch.setattr(StatementReader, "do_While", fault)
    with pytest.raises(KeyError, match="a name"):
        contad.grad(numba.njit(f))(0.7)


@pytest.mark.parametrize("error", [contad.UnsupportedError("a construct"), KeyError("of somebody else")])
def test_other_errors_are_no_faults(error):
    with pytest.raises(type(error)) as raised:
        raise error
    assert not is_fault(raised.value)
