"""The compiled sweep: what is in it, and that its branches are the rule bodies."""

import math

import pytest

import contad
from contad.engines.records import RecordStack
from contad.engines.stream import sweep
from contad.engines.stream.storage import INPUT, KERNELS
from contad.engines.stream.sweep import OPERATIONS, compile_sweeps, operation_code, sweep_source
from contad.rules.scalar_rule import rules
from contad.variables.stack import opened


def test_it_covers_the_core_rules_and_no_others():
    compiled = {rule.name for rule, _ in OPERATIONS.values()}
    assert compiled == {rule.name for rule in rules() if rule.core and operation_code(rule, "v" * rule.arity)}
    assert "multiply" in compiled and "erf" not in compiled


def test_the_source_is_deterministic_and_names_no_foreign_symbol():
    source = sweep_source()
    assert source == sweep_source()
    imports = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    own = (
        "compile.image_code import builtin_function, inline", "compile.named_code import attempt_call",
        "python_objects.python_functions import as_integer, as_number, from_integer, give_lock_up, take_lock",
        "python_objects.python_functions import read_numbers",
        "compile.words import array_at, call_kernel, call_rule, integers_at, word",
    )  # fmt: skip
    assert imports == ["import math", "import numpy as np", *(f"from contad.{name}" for name in own)]


def test_a_partial_that_is_zero_costs_nothing():
    code = operation_code(contad.ops.floor, "v")
    assert f"code == {code}:" not in sweep_source()


@pytest.mark.parametrize("code", OPERATIONS, ids=lambda code: "-".join((OPERATIONS[code][0].name, OPERATIONS[code][1])))
def test_every_branch_equals_the_rule_body(code):
    """One record of the operation, swept compiled; against the Python body at the same operands."""
    rule, active = OPERATIONS[code]
    for point in rule.points:
        with opened(RecordStack) as s:
            args = [s.variable(x) if kind == "v" else x for kind, x in zip(active, point, strict=True)]
            z = rule(*args)
            found = s.gradient(z, [v for v in args if isinstance(v, contad.Var)])
        expected = [rule.partial(k)(z.value, *point) for k, kind in enumerate(active) if kind == "v"]
        for a, b in zip(found, expected, strict=True):
            assert a == pytest.approx(b, rel=1e-14), (rule, point)


def test_the_other_rules_are_compiled_when_a_record_needs_one(monkeypatch):
    """The sweep waits for them at that record, and goes on from there; where no record needs them they stay away."""
    made = []
    monkeypatch.setattr(sweep, "compile_rules", lambda real=sweep.compile_rules: made.append(1) or real())
    KERNELS[INPUT] = 0  # found again when it is asked for
    with opened(RecordStack) as s:
        x, y = s.variable(0.5), s.variable(2.0)
        common = contad.ops.exp(x) * y
        z = contad.ops.arctan2(common, y) + contad.ops.log1p(common) * x
        assert s.gradient(common, [x, y]) == [common.value, math.exp(0.5)] and not made
        slopes = [2.0 / (2.0**2 + common.value**2) + 0.5 / (1.0 + common.value), math.log1p(common.value)]
        expected = slopes[0] * common.value + slopes[1]
        for _ in range(2):
            assert s.gradient(z, [x]) == pytest.approx([expected], rel=1e-14)
    assert made == [1] and KERNELS[INPUT]


def test_a_sweep_of_a_part_waits_for_the_other_rules_too():
    KERNELS[INPUT] = 0  # found again when it is asked for
    with opened(RecordStack) as s:
        x = s.variable(0.5)
        z = contad.ops.log1p(contad.ops.exp(x)) * 2.0
        s.flush()
        adjoints = s.buffers.zero_adjoints(s.top)
        adjoints[z.index] = 1.0
        last = s.rows_packed - 1
        assert compile_sweeps().sweep(s.buffers, last, z.index, z.index, last - 1) == (last - 1, 0)  # the product
        assert adjoints[z.index - 1] == 2.0 and not KERNELS[INPUT]
        assert compile_sweeps().sweep(s.buffers, last - 1, z.index - 1, z.index, last - 2) == (last - 2, 0)
        assert adjoints[z.index - 2] == pytest.approx(2.0 / (1.0 + math.exp(0.5)))


def test_signed_seeds_and_dead_records():
    with opened(RecordStack) as s:
        x = s.variable(0.0)
        contad.ops.log(x) * contad.ops.sqrt(x)  # nonfinite partials, not used
        y = x * 3.0
        assert s.gradient(y, [x], seed=-2.0) == [-6.0]
        assert s.gradient(contad.ops.log(x), [x]) == [math.inf]


def test_another_numbering_of_the_operations_is_another_module(monkeypatch):
    """A cached sweep must never be used with codes that mean other operations."""
    asked = []
    monkeypatch.setattr(sweep, "find_function", lambda name, source, depends: asked.append(depends) or 1)
    items = list(OPERATIONS.items())
    for numbering in (items, [(items[0][0], items[1][1]), (items[1][0], items[0][1]), *items[2:]]):
        monkeypatch.setattr(sweep, "OPERATIONS", dict(numbering))
        sweep.numbering.cache_clear()
        sweep.compile_sweeps.__wrapped__()
    sweep.numbering.cache_clear()
    assert asked[0] != asked[1]


def test_it_is_compiled_once():
    assert compile_sweeps() is compile_sweeps()
