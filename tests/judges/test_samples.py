"""Samples have every family, are the same in every run, and lose no case."""

import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.judges.samples import choose_share, deselect, name_of, sampled


def chosen(parameters):
    return {p.id for p in parameters if pytest.mark.long not in p.marks}


CASES = list(product([f"f{k}" for k in range(40)], ["generated", "tape"]))


def test_every_family_is_chosen_and_no_case_is_lost():
    found = sampled(CASES, 1000, family=lambda case: case[0])
    assert [p.values for p in found] == CASES
    assert len(chosen(found)) == 40 == len({name.partition("-")[0] for name in chosen(found)})
    assert {name.partition("-")[2] for name in chosen(found)} == {"generated", "tape"}


def test_about_the_share_is_chosen():
    assert 15 <= len(chosen(sampled(CASES, 4))) <= 25
    assert chosen(sampled(CASES, 1)) == {name_of(case) for case in CASES}


def test_a_new_case_changes_the_choice_of_no_other():
    one = sampled(CASES, 4)
    assert chosen(sampled([("new", "tape"), *CASES[::-1]], 4)) - {"new-tape"} == chosen(one)


def test_a_share_of_a_run_has_every_test_function():
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "tests/engines/test_routing.py"]

    def collect(*options):
        root = Path(__file__).parents[2]
        done = subprocess.run([*command, *options], cwd=root, check=True, capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if "::" in line]

    whole, share = collect(), collect("--share=4")
    assert set(share) < set(whole) and len(share) < len(whole) / 2
    assert {name.partition("[")[0] for name in share} == {name.partition("[")[0] for name in whole}


def test_a_thin_run_is_a_fixed_part_of_one():
    def left(thin, part=0):
        items = [SimpleNamespace(nodeid=f"tests/test_a.py::test_{k}[{n}]") for k in range(100) for n in range(10)]
        hook = SimpleNamespace(pytest_deselected=lambda items: None)
        deselect(SimpleNamespace(hook=hook), items, 4, thin, part)
        return {item.nodeid for item in items}

    assert left(8) < left(1) and 0.5 < 8 * len(left(8)) / len(left(1)) < 1.5
    parts = [left(8, part) for part in range(8)]
    assert set.union(*parts) == left(1) and sum(map(len, parts)) == len(left(1))


def test_a_run_of_the_whole_suite_takes_a_quarter():
    def share(source="TESTPATHS", keyword="", marks="not long and not notebooks"):
        option = SimpleNamespace(keyword=keyword, markexpr=marks)
        return choose_share(SimpleNamespace(args_source=pytest.Config.ArgsSource[source], option=option))

    assert share() == 4
    assert share(source="ARGS") == share(keyword="routing") == share(marks="long") == 1
