"""A row of second derivatives for every array rule: each way to a product with the Hessian, against differences.

The reference is that of values alone, which are NumPy's: differences of second order along sums of two directions.
"""

import functools
import linecache

import numba
import numpy as np
import pytest

import contad
from contad.errors import ContadError
from contad.front.user_function import UserFunction
from contad.transforms.hessians import Curvature
from tests.engines.second_order.array_rule_rows import COMPILED, REFUSED
from tests.engines.source.plain_text import generate, numbers, put_together, take_lane
from tests.judges.array_derivatives import in_shape, split
from tests.judges.own_rules import own_array_rules
from tests.judges.samples import sampled

OWN = {rule.name: rule for rule in own_array_rules()}
POINTS = [(name, k) for name, rule in OWN.items() for k in range(len(rule.points))]
ROWS = [(name, k) for name, rows in COMPILED.items() for k in range(len(rows))]
HERE = "tests/engines/second_order/array_rule_rows.py"
STEP = 2.0**-9
WEIGHTS = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)  # of f(x + k h), of the eighth order


# ---- the reference ---------------------------------------------------------------------------------------------------
class Point:
    """A function of arrays at a point, with a direction."""

    def __init__(self, f, args):
        self.f, self.args, self.argnums = f, args, tuple(range(len(args)))
        self.ends = np.cumsum([x.size for x in args])[:-1]
        self.x = np.concatenate([np.ravel(x) for x in args])
        self.v = np.cos(1.0 + 1.3 * np.arange(self.x.size))

    def part(self, numbers_of_all):
        """Numbers in a row as the arguments are."""
        parts = np.split(numbers_of_all, self.ends)
        return tuple(np.reshape(p, x.shape) for p, x in zip(parts, self.args, strict=True))

    @property
    def direction(self):
        return self.part(self.v)

    def _second(self, d):
        """The second derivative along d."""
        with np.errstate(all="ignore"):
            values = [float(self.f(*self.part(self.x + k * STEP * d))) for k in range(-4, 5)]
        return sum(WEIGHTS[abs(k - 4)] * value for k, value in enumerate(values)) / STEP**2

    def differences(self):
        """The product of the Hessian with the direction."""
        return np.array([(self._second(self.v + e) - self._second(self.v - e)) / 4.0 for e in np.eye(self.x.size)])

    def require(self, found, expected, way):
        scale = np.max(np.abs(expected))
        assert scale > 1e-6, "the Hessian is zero there: take another point"
        assert np.max(np.abs(found - expected)) <= 2e-8 * scale, f"{way}: {found}, by differences {expected}"


def row_of(found):
    return np.concatenate([np.ravel(x) for x in found])


# ---- eager -----------------------------------------------------------------------------------------------------------
def by_one_recording(point):
    """The pass up and down one recording, which no array rule may leave to duals."""
    with Curvature("hvp", UserFunction("hvp", point.f), point.argnums, None, tuple(point.args), {}) as curvature:
        (found,) = curvature(point.v[None])
        assert curvature.may_record, "the recording did not do, and duals were taken"
    return found


def by_duals(point, engine=None):
    """Forward mode over the gradient: duals inside variables."""
    gradient = contad.grad(point.f, point.argnums, engine=engine)
    return row_of(contad.jvp(gradient, tuple(point.args), point.direction)[1])


def by_gradients(point, engine=None):
    """Variables inside variables."""
    gradient = contad.grad(point.f, point.argnums, engine=engine)

    def along(*args):
        return sum(np.sum(g * v) for g, v in zip(gradient(*args), point.direction, strict=True))

    return row_of(contad.grad(along, point.argnums, engine=engine)(*point.args))


WAYS = {
    "one recording": by_one_recording, "duals": by_duals, "gradients": by_gradients,
    "closures and duals": functools.partial(by_duals, engine="closures"),
    "closures": functools.partial(by_gradients, engine="closures"),
    "records and duals": functools.partial(by_duals, engine="records"),
}  # fmt: skip


def eager_point(rule, k):
    """The sum of weighted sines of what a rule gives at one of its points."""
    args, options = split(rule.points[k])
    weights = in_shape(rule(*args, **options))

    def f(*arrays):
        terms = np.sin(0.7 * rule(*arrays, **options)) * (weights if weights.ndim else float(weights))
        return np.sum(terms) if weights.ndim else terms

    return Point(f, args)


@pytest.mark.parametrize(("name", "k"), sampled(POINTS, 6, name=lambda case: f"{case[0]}-{case[1]}"))
def test_eager_ways(name, k):
    point = eager_point(OWN[name], k)
    expected = point.differences()
    for way, find in WAYS.items():
        point.require(find(point), expected, way)


def test_a_planted_bug_is_noticed(monkeypatch):
    """A tangent of the cotangent that lacks a term: right at first order."""
    rule = OWN["cumprod"]
    real = rule.vjps["a"]
    monkeypatch.setitem(
        rule.vjps, "a", lambda z, z_bar, a, **options: real(z, z_bar, contad.stop_gradient(a), **options)
    )
    point = eager_point(rule, 0)
    monkeypatch.setattr(rule, "_pass", lambda body: body)
    with pytest.raises(AssertionError, match="by differences"):
        point.require(by_duals(point), point.differences(), "duals")


# ---- compiled --------------------------------------------------------------------------------------------------------
@functools.cache
def function_of(expression, count, ndim):
    """A Numba function of so many arrays around an expression that gives an array or a number."""
    names = ", ".join("abc"[:count])
    sines = f"np.sin(0.7 * ({expression})) * weights"
    text = f"def around({names}, weights):\n    return {f'np.sum({sines})' if ndim else sines}\n"
    filename = f"<{expression} of {count}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    made = {"np": np, "contad": contad}
    exec(compile(text, filename, "exec"), made)
    return numba.njit(made["around"])


def compiled_point(expression, *args):
    """The Numba function, its weights, and the point of the function of the other arguments."""
    value = eval(expression, {"np": np, "contad": contad}, dict(zip("abc", args, strict=False)))
    weights = in_shape(value) if np.ndim(value) else 0.9
    f = function_of(expression, len(args), np.ndim(value))
    return f, weights, Point(lambda *arrays: f.py_func(*arrays, weights), args)


def name_of_row(case):
    name, k = case
    return f"{name}: {COMPILED[name][k][0]} {k}"


@pytest.mark.parametrize(("name", "k"), sampled(ROWS, 6, name=name_of_row))
def test_generated_text(name, k):
    """One direction, and four at once of which the product is one."""
    f, weights, point = compiled_point(*COMPILED[name][k])
    args, expected = (*point.args, weights), point.differences()
    with np.errstate(all="ignore"):
        found = generate(f, args, point.argnums, "hvp")(args, point.direction)[1]
        point.require(numbers(found), expected, "one direction")
        if OWN[name].__module__.startswith("contad.scipy."):
            return  # whose bodies are compiled, for one direction
        others = [point.part(np.roll(point.v, k)) for k in range(3)]
        several = generate(f, args, point.argnums, "hvp", count=4)(args, put_together([*others, point.direction]))
    point.require(take_lane(several[1], 3), expected, "four directions")


COMPILED_ROWS = [
    pytest.param(*row, id=name_of_row(row), marks=[pytest.mark.long] * (row != ("matmul", 6))) for row in ROWS
]  # others compile for up to a minute


@pytest.mark.parametrize(("name", "k"), COMPILED_ROWS)
def test_machine_code(name, k):
    """Products and the matrix of the Numba function, as users ask for them."""
    f, weights, point = compiled_point(*COMPILED[name][k])
    args, expected = (*point.args, weights), point.differences()
    found = contad.hvp(f, point.argnums, engine="generated")(*args, point.direction)
    point.require(row_of(found), expected, "hvp")
    matrix = contad.hessian(f, point.argnums, engine="generated")(*args)
    products = [sum(np.tensordot(h, v, v.ndim) for h, v in zip(row, point.direction, strict=True)) for row in matrix]
    point.require(row_of(products), expected, "hessian")


@pytest.mark.parametrize("name", sampled(REFUSED, 4))
def test_rules_without_a_compiled_row_are_refused(name):
    expression, *args = REFUSED[name]
    f = function_of(expression, len(args), 2)
    said = None
    try:
        generate(f, (*args, np.ones(1)), tuple(range(len(args))))
    except ContadError as error:
        said = str(error)
    assert said is not None, f"compiled engines take {name} now: move it in {HERE} from REFUSED to COMPILED"
    assert "is not defined" not in said


# ---- the list --------------------------------------------------------------------------------------------------------
def missing(names):
    """What to add for rules of these names."""
    told = [f"{name}: add a row to COMPILED, or to REFUSED if no compiled engine takes it" for name in names]
    return [line for name, line in zip(names, told, strict=True) if (name in COMPILED) + (name in REFUSED) != 1]


def test_every_rule_has_a_row():
    """Of eager ways by its points; of compiled ones here."""
    assert [name for name, rule in OWN.items() if not rule.points] == [], "give the decorator points="
    assert missing(OWN) == [], f"second-order rows are missing in {HERE}"
    assert [name for name in (*COMPILED, *REFUSED) if name not in OWN] == [], f"no rules of that name: see {HERE}"


def test_a_rule_without_a_row_is_named():
    assert missing(["sum", "a_new_rule"]) == [
        "a_new_rule: add a row to COMPILED, or to REFUSED if no compiled engine takes it"
    ]
