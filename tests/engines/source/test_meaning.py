"""What statements and expressions mean: each body as Python itself runs it, raises, or is refused by name."""

import numpy as np
import pytest

from contad.engines.source.build import build
from contad.errors import UnsupportedError
from tests.engines.source.bodies import ARGUMENTS, agree, bodies_in, copied, function_of, generated, request
from tests.engines.source.bodies_of_statements import AS_NUMBA, AS_PYTHON, HANDED_ON, LAZY
from tests.judges.samples import sampled


@pytest.mark.parametrize("body", AS_PYTHON)
def test_a_body_means_what_python_means(body):
    agree(body)


@pytest.mark.parametrize("body", LAZY)
def test_a_chain_of_comparisons_stops_where_it_is_false(body):
    agree(body)


RAISING = bodies_in("""\
s = 0.0
for j in range(0, 5, k - 2):
    s += x[j] * j * a
return s + a

assert a < 0.5, 'no'
return a

assert a < 0.5
return a

if a > 0.5:
    raise ValueError("big", 3)
return a

big = a * 2.0
if a > 0.5:
    raise ValueError("big", big, k)
return a

if a > 0.5:
    raise ValueError
return a

return a / (k - 2) + x[0]

return a % (k - 2) + x[0]

return (3 // (k - 2)) * a + x[0]

if a > 0.5:
    raise ValueError(f"bad {a}")
return a * x[0]
""")


@pytest.mark.parametrize("body", RAISING)
def test_what_the_function_raises_is_raised(body):
    f = function_of(body)
    with pytest.raises((ArithmeticError, AssertionError, ValueError)) as expected:
        f.py_func(*copied(ARGUMENTS))
    with pytest.raises(expected.type) as found:
        generated(f)
    if "{" not in body and ("raise" in body or "assert" in body):  # of a computed message the source is shown
        assert str(found.value) == str(expected.value)


REFUSED = bodies_in("""\
# a call that writes into an array of the same expression
@njit
def h(v):
    v[0] = 5.0
    return v * 2.0
---
u = x.copy()
w = u * a + h(u)
return np.sum(w)

# a call that writes into an array of the same expression
@njit
def h(v):
    v[0] = 5.0
    return 2.0
---
u = x.copy()
w = u * a + h(u)
return np.sum(w)

# a write into an array of fewer than 64 bits, which wraps or rounds
small[0] += 1
return small[0] * a + x[0]

# 'a and x[0]', which is one of its operands
return (a and x[0]) + (k or 3)

# 'a or x[0]', which is one of its operands
z = a or x[0]
return z * x[0]

# the statement del
del k
return a * x[0]

# 'a and on', which is one of its operands
return (a and on) * x[0]

# the index 'on'
return x[on] * a

# 'q[:, :-1] += q[:, 1:]' of overlapping parts, where Numba and NumPy differ
q = m.copy()
q[:, :-1] += q[:, 1:]
return np.sum(q * m) * a

# 'q += q[::-1]' of overlapping parts, where Numba and NumPy differ
q = m.copy()
q += q[::-1]
return np.sum(q * m) * a

# integers whose result does not have 64 bits
z = 9223372036854775807
return a * x[0] + (z + 1) * 1e-20

# the function g, handed to another
@njit
def h(q):
    return q(2.0)
---
def g(y):
    return y * a
return h(g) * x[0]

# a function whose captured names have changed since
c = 3.0
def g(y):
    if y > 0.5:
        return y * c
    w = y
    return w * w
c = 2.0
return g(a)
""")  # after the construct that is named


@pytest.mark.parametrize("body", REFUSED)
def test_what_would_mean_something_else_is_refused(body):
    construct, _, body = body.partition("\n")
    with pytest.raises(UnsupportedError) as found:
        generated(function_of(body))
    assert construct.removeprefix("# ") in str(found.value)


# ---- what Python and Numba do differently: as Numba ------------------------------------------------------------------


@pytest.mark.parametrize("body", AS_NUMBA)
def test_small_integers_and_booleans_are_widened(body):
    f = function_of(body)
    expected = f(*copied(ARGUMENTS))
    assert build(request(f))(*ARGUMENTS)[0] == expected
    if "s * small" not in body:  # integers of Python do not wrap
        assert generated(f)[0] == expected


def by_numba(f, args, step=1e-6):
    """Value and gradient by x and a of the compiled function, by differences."""
    x, a, *rest = args
    moved = [(x + s * step * row, a) for row in np.eye(len(x)) for s in (1, -1)] + [(x, a + step), (x, a - step)]
    values = np.array([f(z.copy(), b, *copied(rest)) for z, b in moved])
    return f(*copied(args)), (values[::2] - values[1::2]) / (2 * step)


@pytest.mark.parametrize("body", sampled(HANDED_ON, 5))
def test_what_carries_no_derivative_is_computed_by_numba(body):
    f = function_of(body)
    value, (by_x, by_a) = build(request(f))(*ARGUMENTS)
    expected, gradient = by_numba(f, ARGUMENTS)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose([*by_x, by_a], gradient, rtol=1e-7, atol=1e-8)


LOST = bodies_in("""\
# the call of 'setdiff1d'
return np.setdiff1d(x * a, x)[0]

# the call of 'asfortranarray'
w = x[:4].copy()
w[0] = a
return np.asfortranarray(w)[1]

# the array method .view
w = m[0].copy()
v = w.view(np.float64)
w[1] = 7.0
return v[1] * a

# the call of 'fill_diagonal'
w = m[:3, :3].copy()
np.fill_diagonal(w, 1.0)
return w[0, 0] * a

# the recursive function power
@njit
def power(n):
    return 2 if n == 0 else 2 * power(n - 1)
---
return power(k) * a

# 'found.popitem()' of a dict
found = {}
found[0] = x[0]
return found.popitem()[1] * a
""")


@pytest.mark.parametrize("body", LOST)
def test_calls_through_which_a_derivative_or_a_write_would_pass_are_refused(body):
    construct, _, body = body.partition("\n")
    with pytest.raises(UnsupportedError) as found:
        generated(function_of(body))
    assert construct.removeprefix("# ") in str(found.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.float32, np.complex128])
def test_arrays_of_other_types_are_read_by_numba(dtype):
    args = [*ARGUMENTS[:3], np.arange(1.0, 4.0).astype(dtype), *ARGUMENTS[4:]]
    f = function_of("return x[0] * np.float64(idx[1].real) * a + np.float64(idx[2].real) * x[1]")
    value, (by_x, by_a) = build(request(f, args))(*args)
    expected, gradient = by_numba(f, args)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose([*by_x, by_a], gradient, rtol=1e-7, atol=1e-8)
    with pytest.raises(UnsupportedError):
        generated(function_of("idx[0] = 2\nreturn x[0] * a"), args)
