"""Random programs whose loops and branches make arrays anew, under names that may alias: right, or refused."""

import contextlib
import random

import numpy as np
import pytest

import contad
from contad.engines.source.reading import fresh_arrays
from contad.errors import UnsupportedError
from contad.functions.python_copy import python_twin
from tests.engines.source.programs.fresh_arrays import FRESH_ARRAYS
from tests.engines.source.programs.harness import ARGUMENTS, function_of, run
from tests.judges.samples import shortened
from tests.random_programs import generated_programs

STATEMENTS = (
    "{c} = {d}", "{c} = {d} * 0.9 + 0.1 * x", "{c} = np.sin({d})", "{c}[{i}] = {d}[{j}] * a", "{c}[{i}] += 0.3",
    "{c}, {d} = {d}, {c}", "{c} = {d}[::-1]", "{c} = {d}.copy()", "{c}[:] = {d}", "{c} = np.ones(5) * a",
    "a += 0.1 * {c}[{i}]", "{c} *= 0.8",
)  # fmt: skip


def lines_of(r, depth, budget, loop):
    """Statements on three names, in loops and branches."""
    out = []
    for _ in range(r.randrange(1, 4)):
        budget[0] -= 1
        if budget[0] < 0:
            break
        pad = "    " * depth
        kind = r.random()
        if kind < 0.2 and depth < 3:
            out += [
                f"{pad}for i{depth} in range({r.choice(['0', '2', '3', 'k'])}):",
                *lines_of(r, depth + 1, budget, True),
            ]
        elif kind < 0.35 and depth < 3:
            out += [f"{pad}if {r.choice('cdo')}[{r.randrange(5)}] > 0.3:", *lines_of(r, depth + 1, budget, loop)]
            if r.random() < 0.4:
                out += [f"{pad}else:", *lines_of(r, depth + 1, budget, loop)]
        elif kind < 0.4 and loop:
            return [*out, pad + "break"]
        else:
            c, d = r.sample("cdo", 2) if r.random() < 0.7 else [r.choice("cdo")] * 2
            text = r.choice(STATEMENTS).format(c=c, d=d, i=r.randrange(5), j=r.randrange(5))
            out.append(pad + text)
    return out or ["    " * depth + "pass"]


def aliasing(seed):
    r = random.Random(seed)
    head = [
        "c = x.copy()",
        r.choice(["d = c", "d = x * a", "d = x"]),
        r.choice(["o = d", "o = np.zeros(5)", "o = c[::-1]"]),
    ]
    tail = ["return np.sum(c * x) + 2.0 * np.sum(d) + 3.0 * np.sum(o * o) + a + x[0]"]
    return "\n".join([*head, *lines_of(r, 0, [9], False), *tail])


def outcome(seed):
    """None where the generated derivative agrees, "refused", or what is wrong."""
    f = function_of(FRESH_ARRAYS, aliasing(seed), str(seed))
    args = generated_programs.copied(ARGUMENTS)
    expected_value = f.py_func(*generated_programs.copied(args))
    try:
        got_value, got = run(FRESH_ARRAYS, f)(*args)
    except UnsupportedError:
        return "refused"
    if not np.isclose(got_value, expected_value, rtol=1e-10):
        return f"wrong value {got_value} for {expected_value}"
    with contextlib.suppress(UnsupportedError):
        _, expected = contad.value_and_grad(python_twin(f), (0, 1), engine="records")(*args)
        if not generated_programs.close(generated_programs.flat(got), generated_programs.flat(expected)):
            return f"wrong gradient {got} for {expected}"
    return None


@pytest.mark.parametrize("count", shortened(200, 600))
def test_random_aliases_are_right_or_refused(count, report):
    outcomes = [outcome(seed) for seed in range(count)]
    assert [o for o in outcomes if o not in (None, "refused")] == []
    assert outcomes.count(None) > count / 3
    report("arrays made anew", f"{outcomes.count(None)} random programs agree, {outcomes.count('refused')} are refused")


FAULTS = {
    "writes are allowed": ("wrongly_written", lambda self, block: None),
    "copies come one after the other": ("_is_free", lambda self, k, waiting: True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(fresh_arrays.FreshArrays, *FAULTS[fault])
    assert any((outcome(seed) or "").startswith("wrong") for seed in range(300))
