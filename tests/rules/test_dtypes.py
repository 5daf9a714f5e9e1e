"""Array rules take dtypes by their form: bodies keep float32 and complex128, where the rule's declaration says so."""

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.rules.array_rule import array_rule
from contad.variables import dtypes
from contad.variables.dtypes import COMPLEX, FLOATS, float64_only
from tests.judges.array_derivatives import split
from tests.judges.own_rules import own_array_rules
from tests.judges.planted import registered

OWN = {rule.name: rule for rule in own_array_rules()}
EPS = float(np.finfo(np.float32).eps)
INF = np.inf
# beside the rules' own points: empty arrays, and branches that those do not reach
MORE = {
    "cumsum": [([],)], "cumprod": [([],), ([1e-36, 2.0, 3.0],)], "sum": [([],)], "prod": [([],), ([1e-36, 2.0, 3.0],)],
    "linear_recurrence": [([], [])], "logsumexp": [([INF, 1.0, INF],), ([-INF, -INF],)], "softmax": [([],)],
    "matmul": [(np.ones((2, 0)), np.ones((0, 3))), ([[INF, 1.0]], [[0.0], [2.0]])],
    "solve": [(np.eye(2), np.ones((2, 0)))], "solve_triangular": [(np.eye(2), np.ones((2, 0)))],
    "cholesky_factor": [(np.ones((0, 0)),)], "solve_spd": [(np.eye(2), np.ones((2, 0)))],
    "inverse_spd": [(np.ones((0, 0)),)], "log_determinant_spd": [(np.ones((0, 0)),), (np.ones((2, 0, 0)),)],
    "det": [([[2.3, 0.6], [0.4, 1.9]],), ([[1.0, 2.0], [2.0, 4.0]],), (np.ones((4, 4)),), ([[1.0, INF], [2.0, 3.0]],)],
    "log_determinant": [(np.ones((2, 2)),)], "logm": [(np.ones((0, 0)),)], "sqrtm": [(np.ones((0, 0)),)],
    "expm": [([[INF]],)], "polar_factors": [(np.ones((2, 2)),)], "orthogonal_factor": [(np.ones((2, 2)),)],
    "triangular_eigenvectors": [(np.eye(2),)], "squared_distances": [(np.ones((0, 2)), np.ones((3, 2)))],
    "filter_signal": [([1.3], [1.7], [0.4, 0.9], []), ([1.3], [1.7], [], [])], "lu_factors": [(np.ones((2, 0)),)],
    "interp": [([0.4, 2.0], [1.7], {"xp": [1.0]})], "solve_sylvester": [(np.ones((0, 0)), [[2.0]], np.ones((0, 1)))],
    "std": [([2.0, 2.0],)], "euclidean_norm": [([0.0, 0.0],)], "power_norm": [([0.0, 0.0], {"ord": 3})],
    "pseudoinverse": [(np.ones((2, 2)),)], "circulant_solution": [([1.7, 0.4], [0.6, 1.3])],
}  # fmt: skip
CASES = [(rule, point) for rule in OWN.values() for point in (*rule.points, *MORE.get(rule.name, ()))]
FLOAT_CASES = [case for case in CASES if "f" in case[0].dtypes.letters]
HOLOMORPHIC = [rule for rule in OWN.values() if "D" in rule.dtypes.letters and rule.dtypes.holomorphic]
COMPLEX_CASES = [(rule, point) for rule in HOLOMORPHIC for point in rule.points]
BRANCHES = {"log_determinant"}  # of negative real numbers, only the real part is that at real arrays
UP_TO_SIGNS = {"schur_factors"}  # LAPACK's signs of vectors differ from one precision to the other


def named(cases):
    return [f"{rule.name}-{k}" for k, (rule, _) in enumerate(cases)]


def directions(args, z):
    """Tangents of the arguments and a cotangent of z, in float32."""
    rng = np.random.default_rng(0)
    given = [*map(np.shape, args), np.shape(z)]
    *dots, z_bar = [(rng.uniform(0.5, 1.5, n) * rng.choice([-1.0, 1.0], n)).astype(np.float32) for n in given]
    return dots, z_bar[()]


def bodies(rule, args, options, z, dots, z_bar):
    """What all bodies give where the value is z, by name; `saved` is their own."""
    saved = rule.evaluate(args, options)[1]
    yield "jvp", rule.push(z, dots, args, options, saved)
    for k, name in enumerate(rule.argument_names):
        yield f"jvp {name}", rule.push(z, [d if i == k else None for i, d in enumerate(dots)], args, options, saved)
        yield f"vjp {name}", rule.pull(name, z, z_bar, args, options, saved)


@np.errstate(all="ignore")
def report(rule, point):
    """What is wrong with a rule in float32: a dtype that is not kept, or a difference from the result in float64."""
    given, options = split(point)
    args = [x.astype(np.float32) for x in given]
    wide = [x.astype(np.float64) for x in args]
    z = rule.evaluate(args, options)[0]
    dots, z_bar = directions(args, z)
    found = [("value", rule.function(*args, **options)), ("forward", z)]
    expected = [rule.function(*wide, **options)] * 2
    found += bodies(rule, args, options, z, dots, z_bar)
    of_wide = np.float64(z), [d.astype(np.float64) for d in dots], np.float64(z_bar)
    expected += [x for _, x in bodies(rule, wide, options, *of_wide)]
    wrong = []
    for (what, x), y in zip(found, expected, strict=True):
        if getattr(x, "dtype", None) != np.float32:
            wrong.append(f"{what}: {getattr(x, 'dtype', type(x))}")
            continue
        most = np.max(np.abs(y), initial=1.0, where=np.isfinite(y))
        same = np.abs if rule.name in UP_TO_SIGNS and what in ("value", "forward") else np.positive
        if not np.allclose(same(x), same(y), rtol=500.0 * EPS, atol=500.0 * EPS * most, equal_nan=True):
            wrong.append(f"{what}: {x} in float32, {y} in float64")
    return wrong


@pytest.mark.parametrize(("rule", "point"), FLOAT_CASES, ids=named(FLOAT_CASES))
def test_bodies_keep_float32(rule, point):
    assert report(rule, point) == []


def test_functions_of_float64_alone_say_why():
    alone = {rule.name: rule.dtypes.reason for rule in OWN.values() if "f" not in rule.dtypes.letters}
    assert all(alone.values())
    assert {rule.dtypes.letters for rule in OWN.values()} == {"d", "dD", FLOATS.letters, COMPLEX.letters}
    assert alone.keys() == {
        *("symmetric_spectrum", "robust_spectrum", "real_spectrum", "singular_spectrum", "logm", "iterative_solution"),
        *("stable_lyapunov", "continuous_riccati", "transform_by_bessels"),
    }


# ---- complex numbers -------------------------------------------------------------------------------------------------
def report_complex(rule, point):
    """What is wrong with the value of a rule at complex numbers, which have its jvp in their imaginary parts."""
    args, options = split(point)

    def forward(xs):
        return rule.evaluate(xs, options)[0]

    z, saved = rule.evaluate(args, options)
    rng = np.random.default_rng(1)
    dots = [rng.uniform(0.5, 1.5, x.shape) for x in args]
    step = 1e-6  # whose square is below the rounding of Fourier transforms, too
    wrong = []
    for what, f in (("value", lambda xs: rule.function(*xs, **options)), ("forward", forward)):
        real, beside = f([x + 0j for x in args]), f([x + 1j * step * d for x, d in zip(args, dots, strict=True)])
        if real.dtype != complex or beside.dtype != complex:
            wrong.append(f"{what}: {real.dtype}")
            continue
        real = real.real if rule.name in BRANCHES else real
        for at, y, bound in (("x + 0j", real, 1e-13), ("x + ih", beside.real, 1e-9)):
            if not np.allclose(y, z, rtol=bound, atol=bound * np.max(np.abs(z), initial=1.0)):
                wrong.append(f"{what}: {y} at {at}, {z} at x")
        tangent = rule.push(z, dots, args, options, saved)
        beside = beside - 1j * np.pi * (rule.name in BRANCHES and np.round(beside.imag / np.pi))
        if not np.allclose(beside.imag / step, tangent, rtol=1e-8, atol=1e-8 * np.max(np.abs(tangent), initial=1.0)):
            wrong.append(f"{what}: {beside.imag / step} by a complex step, jvp {tangent}")
    return wrong


@pytest.mark.parametrize(("rule", "point"), COMPLEX_CASES, ids=named(COMPLEX_CASES))
def test_values_at_complex_numbers_have_the_jvp_in_their_imaginary_part(rule, point):
    assert report_complex(rule, point) == []


# ---- what these tests find -------------------------------------------------------------------------------------------
def cumsum_of_half_precision(a, *, axis=None):
    return np.cumsum(np.float32(np.float16(a)) if a.dtype == np.float32 else a, axis)


PLANTED = {
    "value: float64": {"function": lambda a, *, axis=None: np.cumsum(a, axis) + np.zeros(np.size(a))},
    "jvp: float64": {"function": lambda a, *, axis=None: np.cumsum(a, axis, float)},
    "vjp a: float64": {"vjps": {"a": lambda z, z_bar, a, *, axis=None: np.eye(len(a)) @ z_bar}},
    "value: [": {"function": cumsum_of_half_precision},
}


@pytest.mark.parametrize("message", PLANTED)
def test_a_body_that_loses_float32_or_its_digits_is_found(message, monkeypatch):
    for name, x in PLANTED[message].items():
        monkeypatch.setattr(OWN["cumsum"], name, x)
    assert any(found.startswith(message) for found in report(OWN["cumsum"], OWN["cumsum"].points[0]))


@pytest.mark.parametrize("value", [np.abs, lambda a: a * np.conj(a), lambda a: a + np.imag(a)])
def test_a_value_that_is_not_holomorphic_is_found(value, monkeypatch):
    monkeypatch.setattr(OWN["cumsum"], "function", lambda a, *, axis=None: value(np.cumsum(a)))
    assert report_complex(OWN["cumsum"], OWN["cumsum"].points[0])


# ---- the door --------------------------------------------------------------------------------------------------------
SINGLE, TURNED = np.float32([1.3, -0.7]), np.array([1.3 + 0.4j, -0.7])
DECLARED = {"floats": FLOATS, "complex": COMPLEX, "float64": float64_only("a test")}


@pytest.fixture(params=DECLARED)
def declared(request):
    """(a rule with that declaration, its key above)."""
    with registered():

        @array_rule(linear=("a",), dtypes=DECLARED[request.param])
        def doubled_dtypes(a):
            return 2.0 * a

        @doubled_dtypes.vjp("a")
        def vjp_a(z, z_bar, a):
            return 2.0 * z_bar

        yield doubled_dtypes, request.param


def test_variables_have_double_precision_whatever_is_declared(declared):
    rule, key = declared
    assert rule.general([SINGLE], {}).dtype == np.float64
    assert contad.grad(lambda x: np.sum(rule(x)))(SINGLE).dtype == np.float64
    if key == "complex":
        assert rule.general([TURNED], {}).dtype == np.complex128
        np.testing.assert_array_equal(contad.grad(lambda x: np.sum(rule(x).imag))(TURNED), [2.0j, 2.0j])
        return
    message = "doubled_dtypes: a must be an array of real numbers, got {}; take z.real, .*; declare complex=True"
    with pytest.raises(UnsupportedError, match=message.format("an array of complex128")):
        rule.general([TURNED], {})
    with pytest.raises(UnsupportedError, match=message.format("ComplexArray")):
        contad.grad(lambda x: np.sum(rule(x).imag))(TURNED)


def test_the_door_reads_the_declaration_once_variables_have_more_dtypes(declared, monkeypatch):
    rule, key = declared
    monkeypatch.setattr(dtypes, "VARIABLES", COMPLEX.letters)
    assert rule.general([SINGLE], {}).dtype == (np.float64 if key == "float64" else np.float32)


# ---- dtype= ----------------------------------------------------------------------------------------------------------
REFUSED = {
    "np.cov": lambda x: np.cov(x, dtype=np.float32), "np.corrcoef": lambda x: np.corrcoef(x, dtype=int),
    "np.linspace": lambda x: np.linspace(x[0], 1.0, 3, dtype=np.float32),
    "np.stack": lambda x: np.stack([x], dtype=int),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_dtypes_are_refused_in_one_form(name):
    name_of = {"np.corrcoef": "np.cov"}.get(name, name)  # which it calls
    with pytest.raises(UnsupportedError, match=f"{name_of}: dtype must be float64 on variables, got (float32|int64)"):
        contad.grad(lambda x: np.sum(REFUSED[name](x)))(np.array([[1.3, -0.7], [0.4, 1.9]])[0])
