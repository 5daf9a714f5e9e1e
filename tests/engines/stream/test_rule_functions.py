"""Rules in loops over records: the common ones as branches, all others by functions of their code."""

import pytest

from contad.engines.stream.rule_functions import (
    COMMON,
    find_rules,
    find_runs,
    number_operations,
    write_function,
    write_partials,
)
from contad.engines.stream.sweep import OPERATIONS
from contad.programs.codes import SCALARS
from contad.rules.scalar_rule import rule


@pytest.mark.parametrize("operations", [OPERATIONS, SCALARS])
def test_every_operation_is_common_or_in_one_run(operations):
    for code, (found, active) in operations.items():
        runs = [run for run in find_runs(operations) if run.first <= code <= run.last]
        assert len(runs) == (found.name not in COMMON)
        for run in runs:
            assert run.active == active
            assert find_rules(operations)[code - run.shift] is found


def test_other_codes_between_two_runs_belong_to_none():
    operations = number_operations(5, [rule("sinh"), rule("hypot")])
    operations |= number_operations(20, [rule("cosh"), rule("multiply")])
    assert [(run.first, run.last, run.active, run.shift) for run in find_runs(operations)] == [
        (5, 5, "v", 0), (6, 6, "vv", 0), (7, 7, "vc", 1), (8, 8, "cv", 2), (23, 23, "v", 0)
    ]  # fmt: skip


def test_the_functions_are_those_of_the_rules():
    scope = {"njit": lambda *args, **options: lambda f: f, "math": __import__("math")}
    values = {code: [f"return {len(found.name)}.0"] for code, found in find_rules(OPERATIONS).items()}
    exec(write_partials(OPERATIONS, "") + write_function("value_of", "code, x, y", OPERATIONS, values, ""), scope)
    for code, found in find_rules(OPERATIONS).items():
        assert scope["value_of"](code, 0.5, 0.5) == len(found.name)
        point = found.points[0]
        x, y = (*point, 0.0)[:2]
        z = found(*point)
        for k, name in enumerate("xy"[: found.arity]):
            expected = -1.5 * found.partial(k)(z, *point)
            assert scope[f"times_by_{name}"](code, -1.5, z, x, y) == pytest.approx(expected, rel=1e-14)
    assert scope["times_by_x"](0, -1.5, 1.0, 1.0, 1.0) == 0.0
