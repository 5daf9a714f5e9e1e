"""Rules of users' have one derivative at every order, or are refused, in random programs."""

import pytest

from contad.rules import array_rule
from contad.transforms import custom
from tests.judges.samples import shortened
from tests.random_programs import rule_programs


@pytest.mark.parametrize("count", shortened(30, 600))
def test_rules_are_right_or_refused(count):
    assert not [text for seed in range(count) if (text := rule_programs.mismatch(seed))]
    assert 0 < sum(rule_programs.Program(seed).is_complex for seed in range(count)) < count / 2


def call_with_anything(f, *args, **options):
    return f(*args, **options)


def is_noticed(seed):
    """Whether a program of that seed has another number, or ends in no error of contad's."""
    try:
        return rule_programs.mismatch(seed) is not None
    except Exception:
        return True


def test_rules_that_are_given_object_arrays_are_noticed(monkeypatch):
    monkeypatch.setattr(custom, "call_with_arrays", call_with_anything)
    monkeypatch.setattr(array_rule, "call_with_arrays", call_with_anything)
    assert is_noticed(1) and is_noticed(3)


def test_complex_values_that_are_cast_are_noticed(monkeypatch):
    monkeypatch.setattr(array_rule, "require_real", lambda function, name, z: None)
    assert is_noticed(2)
