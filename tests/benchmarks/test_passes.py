"""Passes of the engine `generated` left out: each can be, sources tell, and derivatives are compared."""

from types import FunctionType

import numpy as np
import pytest

from benchmarks import passes
from benchmarks.comparison.topic import Choice
from benchmarks.passes import PASSES
from benchmarks.topics import passes as topic
from contad.engines.source.passes import order

SIX = ("lse", "gp_regr", "columns_of_air", "hand_tracking", "forward_algorithm", "ode")


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_looked_up_where_it_says(name):
    found = [module for module in PASSES[name].looked_up if hasattr(module, name)]
    assert found
    with passes.without({name}):
        assert all(getattr(module, name) is PASSES[name].off for module in found)
    assert not any(getattr(module, name) is PASSES[name].off for module in found)


def test_no_pass_is_missing():
    """What the list of passes rewrites with; but for calls of one kind, and for threads."""
    functions = {name: x.__module__ for name, x in vars(order).items() if isinstance(x, FunctionType)}
    known = {name for name, module in functions.items() if module not in (order.__name__, "typing")}
    assert known - {"ask_for_value", "share_loops"} <= PASSES.keys()
    assert len(known) == len(order.PASSES)


@pytest.mark.parametrize("subject", topic.list_real(Choice(names=SIX)), ids=lambda subject: subject.name)
def test_the_passes_that_change_a_source_are_found(subject):
    whole = passes.write(subject.request)
    assert passes.write(subject.request) == whole
    assert passes.find_changing(subject.request) == {p for p in PASSES if passes.write(subject.request, {p}) != whole}


def test_programs_of_the_comparison_are_asked_of_the_engine():
    found = {subject.name: subject for subject in topic.list_ours(Choice(quick=True))}
    assert {"kalman", "kalman of loops", "product, reassociating"} <= found.keys()
    assert "find_nest" in passes.find_changing(found["gaussian_process_lapack"].request)
    assert "running_products" in passes.find_changing(found["product, reassociating"].request)


def test_a_derivative_that_is_another_one_is_noticed():
    right = topic.Built(lambda x: (x, (np.array([2.0, 3.0]),)), 1.0)
    wrong = topic.Built(lambda x: (x, (np.array([2.0, 3.0 + 1e-7]),)), 1.0)
    assert topic.compare(right, right, (1.0,), quick=True) > 0.0
    with pytest.raises(AssertionError, match="Mismatched elements: 1"):
        topic.compare(right, wrong, (1.0,), quick=True)


def test_a_pass_that_brings_nothing_is_told():
    table = {
        "fires": {"real: of 9": 6, "real: off / on": 1.2, "lines": 10},
        "is rare": {"real: of 9": 4, "real: off / on": 1.2, "lines": 20},
        "is slow": {"real: of 9": 9, "real: off / on": 1.01, "lines": 30},
        "is not timed": {"real: of 9": 9, "lines": 40},
    }
    assert topic.remark({topic.TABLE: {"table": table}}) == [
        "is rare: 4 of real, 1.20 in the median; 20 lines", "is slow: 9 of real, 1.01 in the median; 30 lines",
    ]  # fmt: skip


def test_files_of_tests_are_there():
    folder = passes.ROOT / "tests" / "engines" / "source"
    assert [p.name for p in passes.PASSES.values() if p.tests and not (folder / p.tests).exists()] == []
