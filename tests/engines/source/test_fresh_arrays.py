"""Arrays that loops and branches make anew: contents are carried, names may alias, and writes are right or refused."""

import contextlib
import random
import re

import numpy as np
import pytest

import contad
from contad.engines.source.reading import fresh_arrays
from contad.errors import EngineLimitError, UnsupportedError
from contad.functions.python_copy import python_twin
from tests.engines.source.bodies import ARGUMENTS, agree, bodies_in, function_of, generated
from tests.engines.source.bodies_of_fresh_arrays import RIGHT, SHRINKING
from tests.judges.samples import shortened
from tests.random_programs import generated_programs

# ---- written out -----------------------------------------------------------------------------------------------------
# two names of one array, of which one is written: a loop has two copies
REFUSED = bodies_in("""\
u = x
for i in range(k):
    u[0] = a
    u = u * 0.7
return np.sum(u * x)

u = x.copy()
w = u
for i in range(k):
    u[0] = a
    u = u * 0.7
return np.sum(u * w)

u = x.copy()
w = x * 2.0
for i in range(k):
    w[1] = 3.0
    u = u * 0.7
    w = u
return np.sum(u * w)

u = x.copy()
w = x * 2.0
for i in range(k - 2):
    u = u * 0.7
    w = u
u[0] = 4.0
return np.sum(u * w) * a

u = x
for i in range(k - 2):
    u = u * 0.7
x[0] = 4.0
return np.sum(u * u) * a

w = x.copy()
u = x * 2.0
s = a
for i in range(3):
    w[0] += 1.0
    s += u[0]
    u = w
    for j in range(i):
        u = u + a
return s

""")


@pytest.mark.parametrize("body", RIGHT)
def test_contents_are_carried(body):
    agree(body)


@pytest.mark.parametrize("body", REFUSED)
def test_writes_into_what_has_two_names_are_refused(body):
    line = 2 + next(n for n, text in enumerate(body.splitlines(), 1) if re.search(r"\[\d\] \+?= ", text))
    with pytest.raises(UnsupportedError, match=rf":{line}: f: a write into an array that may be the one named [uw], "):
        agree(body)


@pytest.mark.parametrize("body", SHRINKING)
def test_arrays_become_shorter_from_iteration_to_iteration(body):
    agree(body)


LONGER = """
u = x[:1] * a
for i in range(3):
    w = np.zeros(len(u) + 1)
    w[1:] = u
    u = w
return np.sum(u * u)

n = 2
u = np.zeros(n) + a
for i in range(3):
    n = n + 1
    w = u
    u = np.zeros(n)
    u[: n - 1] = w
return np.sum(u)

n = 2
u = np.zeros(n) + a
while n < 5:
    n += 1
    u = np.ones(n) * u[0]
return np.sum(u)

k = 5
u = x * a
while k > 1:
    k -= 1
    u = np.ones(2 * k) * u[1] * x[k]
return np.sum(u)
""".strip("\n").split("\n\n")


@pytest.mark.parametrize("body", LONGER)
def test_arrays_become_longer_from_iteration_to_iteration(body):
    agree(body)


def test_an_array_that_grows_by_what_must_not_be_drawn_twice_is_refused():
    body = "u = x * a\nfor i in range(3):\n    u = np.append(u, u[: np.random.randint(3)])\nreturn np.sum(u)"
    with pytest.raises(UnsupportedError, match="the array u, which may have another length after each iteration"):
        agree(body)


def test_an_array_that_is_replaced_by_one_of_another_length_is_an_error():
    with pytest.raises(EngineLimitError, match="an array that a loop carries changes its shape"):
        agree("u = x * a\nfor i in range(3):\n    u = m[0] * a\nreturn np.sum(u)")


# ---- random programs with two names for one array --------------------------------------------------------------------
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
    f = function_of(aliasing(seed), seed)
    args = generated_programs.copied(ARGUMENTS)
    expected_value = f.py_func(*generated_programs.copied(args))
    try:
        got_value, got = generated(f, args)
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


def writes_allowed(monkeypatch):
    monkeypatch.setattr(fresh_arrays.FreshArrays, "wrongly_written", lambda self, block: None)


def copies_one_after_the_other(monkeypatch):
    monkeypatch.setattr(fresh_arrays.FreshArrays, "_is_free", lambda self, k, waiting: True)


@pytest.mark.parametrize("plant", [writes_allowed, copies_one_after_the_other])
def test_planted_faults_are_found(plant, monkeypatch):
    plant(monkeypatch)
    assert any((outcome(seed) or "").startswith("wrong") for seed in range(300))
