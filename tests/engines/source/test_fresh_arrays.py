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
from tests.judges.samples import shortened
from tests.random_programs import generated_programs

# ---- written out -----------------------------------------------------------------------------------------------------
RIGHT = bodies_in("""\
A = m[:, :3] * 0.3
u = x[:3] * 1.0
for i in range(4):
    u = A @ u
return np.sum(u * x[:3]) * a

x0 = x
for i in range(3):
    x = x + a * np.sin(x)
return np.sum(x) + np.sum(x0 * x)

for i in range(k - 2):
    x = x + a * np.sin(x)
return np.sum(x * x) * a

u = x * a
w = np.ones(5)
for i in range(3):
    u = np.exp(-u * u) * w
    w = w * 0.9 + x
return np.sum(u) + w[1]

u = x * a
prev = u
for i in range(3):
    prev = u
    u = u + np.sin(prev)
return np.sum(u * prev)

u = x * a
prev = np.zeros(5)
for i in range(4):
    new = 2.0 * u - 0.5 * prev + 0.1 * x
    prev = u
    u = new
return np.sum(u * prev)

u = x * a
for i in range(5):
    if x[i] > 0.0:
        u = u * 2.0
return np.sum(u * x)

u = x * a
w = x * 2.0
for i in range(5):
    if x[i] > 0.0:
        u = u * 0.5 + w
    else:
        u, w = w, u
return np.sum(u * x) + np.sum(w)

u = x * a
w = x + 2.0
for i in range(3):
    u, w = w * 0.5, u + 1.0
    u, w = w, u
return np.sum(u * x) + np.sum(w)

u = x * a
i = 0
while np.sum(u * u) > 0.1 and i < 10:
    u = u * 0.7
    i += 1
return np.sum(u * x) * i

u = x * a
for i in range(10):
    u = u * 0.7 + 0.1
    if u[0] < 0.3:
        return u[1] * u[2]
    if i % 3 == 0:
        continue
    u = u - 0.05 * x
return np.sum(u * x)

u = x * a
for i in range(3):
    for j in range(i):
        u = u * 0.7 + np.sin(u) * x[j]
    u = u + x
return np.sum(u * x)

u = x.copy()
for i in range(3):
    u[0] = a
    u = u * 0.7 + np.sin(u)
    u[1] = 0.2
u[2] = a * a
return np.sum(u * x)

u = x
for i in range(k):
    u = u * 0.7
    u[0] = a
return np.sum(u * x)

u = x.copy()
w = x * 2.0
for i in range(k):
    u = u * 0.7
    w = u
    w[0] = a
return np.sum(u * w)

u = x.copy()
for i in range(k):
    new = np.empty(5)
    for j in range(5):
        new[j] = u[j - 1] * a + u[j]
    u = new
return np.sum(u * x)

u = x * 1.0
for i in range(4):
    u = u[::-1]
    u = np.sin(u) if i % 2 else u * a
return np.sum(u * x)

u = x * a
for i in range(3):
    u = u[::-1]
return u[0] + 2.0 * u[1]

u = x[0:3] * a
v = u[1:]
for i in range(4):
    u = u * 0.5 + 1.0
    v = u[1:]
return np.sum(v) + np.sum(u)

if a > 5.0:
    u = np.zeros(k)
    u[0] = a
else:
    u = np.ones(k + 1) * a
return np.sum(u) * x[0]

if k > 5:
    u = np.zeros(k - 5)
else:
    u = x[1:]
return np.sum(u) * x[0]

if a > 0.5:
    A = m @ m.T
    u = A @ x[:3]
else:
    u = x[1:4] * a
return np.sum(u) * x[0]

u = x * a
w = u if a > 0.5 else x * x
return np.sum(u) * np.sum(w)

p = (x * a, 1.0)
for i in range(3):
    p = (p[0] * 0.5 + x, p[1] * a)
return np.sum(p[0]) * p[1]

u = x * a
w = x * 2.0
z = x * 3.0
for i in range(4):
    u, w, z = w, z, u
    u = u * 0.5
return np.sum(u) + 2.0 * np.sum(w * x) + 3.0 * np.sum(z)

u = x * a
for i in range(3):
    w = u * 2.0
    for j in range(2):
        w = w * 0.5 + u
    u = w
return np.sum(u)

w = x.copy()
s = 0.0
for i in range(3):
    w[0] += 1.0
    u = w
    for j in range(i):
        u = u + a
    s += u[0]
return s

o = x * 0.3
if a < 0.5:
    for i in range(3):
        o = np.ones(5) * a
o[0] += 0.2 * x[1]
return np.sum(o * x)

o = x * 0.3
for i in range(3):
    for j in range(i):
        o = np.cos(o) * a
o[2] *= 1.2
return np.sum(o * x)

""")
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


SHRINKING = bodies_in("""\
u = x * a
for i in range(3):
    u = u[1:]
return np.sum(u)

u = x * a
s = 0.0
for _ in range(3):
    u = u[1:] * u[:-1]
    s += np.sum(u)
return s

v = x
s = 0.0
while len(v) > 0:
    s += v[0] * len(v) * v[0]
    v = v[1:]
return s * a

v = x * a
while len(v) > 1:
    v = v[::2] * 2.0 if len(v) % 2 else v[::2] + v[1::2]
return v[0] * a

u = x.copy()
w = x * 2.0
for i in range(len(x) - 1):
    w = w[:-1]
    u = u[1:] + w * u[:-1]
return u[0] + w[0] * a

q = x[:, None] * x[None, :]
s = 0.0
for i in range(3):
    q = q[1:, :-1] * q[0, 1]
    s += np.sum(q)
return s * a + q[0, 0]

v = x * a
for i in range(4):
    if x[i] > 0.5:
        v = v[1:]
    else:
        v = v * 1.1
return np.sum(v * v)

v = x * 1.5
for i in range(4):
    w = np.empty(len(v) - 1)
    for j in range(len(w)):
        w[j] = v[j + 1] - v[j] * v[j] * a
    v = w
return np.sum(v * v)

s = 0.0
for j in range(3):
    v = x[j:] * a
    while len(v) > 1:
        v = v[1:] * v[:-1]
    s += v[0]
return s

v = x.copy()
w = x * a
while v.size > 1:
    v, w = w[1:], v[:-1] * a
    a = a + v[0] * w[0]
return a

v = np.ones(5) * a
while v.size > 1:
    v = np.diff(v) + v[1:] * x[0]
return v[0]
""")


@pytest.mark.parametrize("body", SHRINKING)
def test_arrays_become_shorter_from_iteration_to_iteration(body):
    agree(body)


def test_an_array_that_grows_is_refused_when_it_is_compiled():
    body = "u = x[:1] * a\nfor i in range(3):\n    w = np.zeros(len(u) + 1)\n    w[1:] = u\n    u = w\nreturn np.sum(u)"
    with pytest.raises(UnsupportedError, match="the array u, which may have another length after each iteration"):
        agree(body)


COUNTED = """
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


@pytest.mark.parametrize("body", COUNTED)
def test_a_length_that_is_counted_is_refused_when_it_is_compiled(body):
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
