"""Random programs have one gradient, planted bugs are noticed, and constants and pytrees of any kind fit."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import contad
from contad.engines import engine_names, records
from contad.engines.stream.sweep import sweep_source
from contad.rules.scalar_rule import rules, scalar_rule
from contad.variables.array import Array
from tests.judges.agreement import Discard, Probe, Statistics, check, programs, reverse, search
from tests.judges.comparison import Disagreement
from tests.judges.domains import RULES, WHOLE_ARGUMENTS, safe_box, safe_boxes
from tests.judges.mutation import mutants
from tests.judges.planted import compiled, registered
from tests.judges.samples import shortened
from tests.random_programs.number_programs import (
    Arithmetic,
    Branch,
    Comparison,
    Derivative,
    Loop,
    Operation,
    Program,
    Select,
    forms,
    ufunc_named,
)


@pytest.mark.parametrize("count", shortened(75, 2100))
def test_random_programs_agree(report, count):
    statistics = Statistics()
    start = time.process_time()
    try:
        search(count, statistics)
    finally:
        report(f"random programs ({time.process_time() - start:.0f} s)", str(statistics))
    assert statistics.programs >= count / 1.05
    assert statistics.mismatches == 0
    assert statistics.discard_rate <= 0.05
    assert statistics.zero_share <= 0.05
    assert statistics.mean_operations >= 20
    undrawn = [name for name, times in statistics.rarest if times == 0]
    assert len(undrawn) <= len(RULES) // 5 and (count < 10 * len(RULES) or not undrawn)
    structures = [statistics.structures[name] for name in ("loop", "branch", "select", "derivative", "constant")]
    assert min(structures) >= count / 21
    assert statistics.reference_share >= 0.25
    assert statistics.without_reference == 0
    assert statistics.second_order >= count / 10.5


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def found(count=300, shrink=False):
    """The message of the disagreement that a search finds."""
    with pytest.raises(Disagreement) as info:
        search(count, Statistics(), seed=4, shrink=shrink)
    return str(info.value)


@pytest.fixture(autouse=True, scope="module")
def _boxes():
    """Safe boxes are found before anything wrong is planted."""
    for name in RULES:
        safe_boxes(name)


@pytest.mark.parametrize("kind", ["1.001 times x", "detached x"])
# a search for a rule that is drawn seldom takes long
@pytest.mark.parametrize("name", ["tanh", pytest.param("arctan", marks=pytest.mark.long)])
def test_a_wrong_partial_is_noticed_though_engines_share_it(name, kind):
    (mutant,) = [m for m in mutants(RULES[name]) if m.name == f"{name}: {kind}"]
    with mutant.planted():
        message = found()
    assert "mpmath gives" in message
    assert name in message


@pytest.mark.long
def test_an_engine_that_assigns_is_noticed():
    with compiled(sweep_source().replace("+=", "=")):
        message = found(shrink=True)
    assert "closures gives" in message
    assert "records gives" in message


# to shrink a program by Hypothesis takes four times as long as to find it
@pytest.mark.parametrize("shrink", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_branch_taken_differently_is_noticed(shrink, monkeypatch):
    for name in ("__lt__", "__gt__", "__le__", "__ge__"):
        for cls in (records.RecordVar, records.NumpyRecordVar):
            right = getattr(cls, name)
            monkeypatch.setattr(cls, name, lambda x, y, right=right: not right(x, y))
    message = found(shrink=shrink)
    assert "records gives" in message
    source = message.partition("\n\n")[2]
    assert "if " in source or "select" in source
    assert not shrink or len(source.splitlines()) <= 16, "the simplest program is short"


def test_a_dual_that_forgets_its_level_is_noticed(monkeypatch):
    """Nested derivatives are mixed up when a forward level takes the tangents of another level for its own."""

    def apply(self, rule, args):
        own = [isinstance(x, contad.Dual) for x in args]
        values = [x.value if o else x for x, o in zip(args, own, strict=True)]
        z = rule(*values)
        terms = [x.tangent * rule.partial(k)(z, *values) for k, x in enumerate(args) if own[k]]
        return self.dual(z, sum(terms[1:], terms[0]))

    monkeypatch.setattr("contad.variables.dual.ForwardLevel.apply", apply)
    assert "gives" in found()


# ---- programs --------------------------------------------------------------------------------------------------------
LOOP_BODY = (Operation("t5", "add", "contad", ("c3", "k2")), Operation("t6", "sin", "np.sin", ("t5",)))
DERIVATIVE_BODY = (Operation("t13", "multiply", "operator", ("u11", "t9")),)
EXAMPLE = Program(
    (0.7, 1.3),
    (
        Operation("t0", "multiply", "operator", ("x0", "x1")),
        Operation("t1", "power", "operator", (-0.5, 2)),
        Loop("k2", 3, ("c3", "c4"), ("t0", "x1"), LOOP_BODY, ("t6", "c3")),
        Branch("t7", Comparison("<", "c3", 0.25), (), "c4", (Operation("t8", "exp", "contad", ("c4",)),), "t8"),
        Select("t9", Comparison(">=", "t7", "x0"), "t7", "c4"),
        Derivative("t12", "grad", "g10", "u11", DERIVATIVE_BODY, "t13", "x1"),
    ),
    "t12",
)

SOURCE = """\
import contad
import numpy as np

def f(x0, x1):
    t0 = x0 * x1
    t1 = (-0.5) ** 2
    c3, c4 = t0, x1
    for k2 in range(3):
        t5 = contad.ops.add(c3, k2)
        t6 = np.sin(t5)
        c3, c4 = t6, c3
    if c3 < 0.25:
        t7 = c4
    else:
        t8 = contad.ops.exp(c4)
        t7 = t8
    t9 = contad.select(t7 >= x0, t7, c4)
    def g10(u11):
        t13 = u11 * t9
        return t13
    t12 = contad.grad(g10)(x1)
    return t12

print(contad.value_and_grad(f, (0, 1))(*(0.7, 1.3)))"""


def test_a_program_prints_as_source():
    assert str(EXAMPLE) == SOURCE


def test_the_interpreter_does_what_it_should():
    def f(x0, x1):
        a, b = x0 * x1, x1
        for k in range(3):
            a, b = math.sin(a + k), a
        return b if a < 0.25 else math.exp(b)

    assert EXAMPLE.function(Arithmetic())(0.7, 1.3) == f(0.7, 1.3)
    check(EXAMPLE, Statistics())


@pytest.mark.filterwarnings("ignore:floating point number truncated")  # SciPy's, of the order of expn
@settings(max_examples=60, report_multiple_bugs=False)
@given(programs())
def test_the_source_computes_what_the_interpreter_does(program):
    try:
        reverse(program, Probe(engine_names()[0]))
    except (Discard, ValueError, ArithmeticError):
        return
    scope = {}
    exec(str(program).rpartition("print")[0], scope)
    argnums = tuple(range(len(program.point)))
    value, gradient = contad.value_and_grad(scope["f"], argnums)(*program.point)
    expected = reverse(program, Arithmetic())
    # of constants SciPy computes, whose last digits are not those of a rule with a value of its own
    scipys = any(f"{ufunc}(" in str(program) for rule in RULES.values() if rule.array for ufunc in rule.ufuncs)
    assert (value, *gradient) == (pytest.approx(expected, rel=1e-9) if scipys else expected)


@pytest.mark.parametrize("program", [(0.3, 0.3), (0.3, 0.3 + 1e-10), (-0.7, -0.7)])
def test_a_comparison_near_a_tie_is_discarded(program):
    tied = Program(program, (Select("t0", Comparison("<", "x0", "x1"), "x0", "x1"),), "t0")
    statistics = Statistics()
    check(tied, statistics)
    assert statistics.discarded == {"a tie": 1}
    assert statistics.discard_rate == 1.0


@pytest.mark.parametrize(("name", "args"), [
    ("floor", (2.0 + 1e-11,)),
    ("absolute", (1e-12,)),
    ("maximum", (1.5, 1.5)),
    ("remainder", (3.0, 1.5)),
    ("arctan2", (1e-12, -1.0)),
    ("sqrt", (1e-13,)),
])  # fmt: skip
def test_an_operation_near_a_jump_or_kink_is_discarded(name, args):
    inputs = tuple(f"x{k}" for k in range(len(args)))
    statistics = Statistics()
    check(Program(args, (Operation("t0", name, "contad", inputs),), "t0"), statistics)
    assert statistics.discarded == {"a tie": 1}


# ---- safe boxes ------------------------------------------------------------------------------------------------------
def test_every_rule_takes_part():
    assert [r.name for r in rules() if r.__module__.startswith("contad.ops.")] == list(RULES)
    assert all(safe_boxes(name) for name in RULES)


def test_a_safe_box_stops_at_a_pole_and_at_the_end_of_a_domain():
    with registered():

        @scalar_rule(points=[(0.9, 1.4)])
        def tried(x, y):
            return math.sqrt(x) / (2.0 - y)

        @tried.partials
        def tried_partials(z, x, y):
            return 0.5 * z / x, z / (2.0 - y)

        (low, high), (_, top) = safe_box(tried, tried.points[0])
    assert 0.0 < low < 0.5
    assert 1.3 < high < 1.8
    assert 1.4 < top < 2.0


def test_a_rule_without_points_is_named():
    with registered(), pytest.MonkeyPatch.context() as patch:

        @scalar_rule
        def pointless(x):
            return x

        patch.setitem(RULES, "pointless", pointless)
        with pytest.raises(ValueError, match="pointless: declare the rule with points="):
            safe_boxes("pointless")


# ---- constants -------------------------------------------------------------------------------------------------------
BINARY = [name for name, rule in RULES.items() if rule.arity == 2 and not WHOLE_ARGUMENTS & set(rule.argument_names)]


@settings(max_examples=200)
@given(
    st.sampled_from(BINARY),
    st.sampled_from([float, int, np.float64, np.float32, np.int64]),
    st.sampled_from(["contad", "operator", "ufunc"]),
    st.tuples(*[st.integers(0, 99)] * 4),
)
def test_a_constant_operand_is_a_frozen_variable(name, kind, form, choices):
    """The derivative in one operand with the other constant equals the partial of the operation on two variables."""
    boxes = [box for box in safe_boxes(name) if all(low < high for low, high in box)]
    box = boxes[choices[2] % len(boxes)]
    point = [low + (high - low) * (c + 0.37) / 100.0 for c, (low, high) in zip(choices, box, strict=False)]
    side = choices[3] % 2
    fixed = kind(point[side])
    if not box[side][0] <= fixed <= box[side][1]:
        return
    point[side] = float(fixed)
    call = operation(name, form)

    def with_constant(v):
        return call(*((fixed, v) if side == 0 else (v, fixed)))

    for engine in engine_names():
        value, gradient = contad.value_and_grad(call, (0, 1), engine=engine)(*point)
        alone, slope = contad.value_and_grad(with_constant, engine=engine)(point[1 - side])
        assert (alone, slope) == (value, gradient[1 - side])
        assert type(alone) is type(slope) is float
    forward = contad.jvp(with_constant, (point[1 - side],), (1.0,))
    assert forward == pytest.approx((value, gradient[1 - side]), rel=1e-15)


def operation(name, form):
    """A rule as a function of its arguments: called by name, as an operator or as a ufunc, whichever there is."""
    ufuncs = [f for f in forms(name) if "." in f]
    if form == "operator" and "operator" in forms(name):
        step = Operation("", name, "operator", ())
        return lambda *args: Arithmetic().operation(step, list(args))
    return ufunc_named(ufuncs[0]) if form == "ufunc" and ufuncs else RULES[name]


# ---- pytrees ---------------------------------------------------------------------------------------------------------
NUMBERS = st.integers(-30, 30).map(lambda n: n / 16.0 + 0.01)
ARRAYS = st.lists(NUMBERS, min_size=4, max_size=4).map(lambda xs: np.array(xs).reshape(2, 2))
TREES = st.recursive(
    NUMBERS | ARRAYS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1)
    ),
    max_leaves=6,
)


def mapped(f, *trees):
    """Trees of one structure, combined number by number."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: mapped(f, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(mapped(f, *items) for items in zip(*trees, strict=True))
    if isinstance(first, np.ndarray):
        combined = [f(*numbers) for numbers in zip(*(tree.flat for tree in trees), strict=True)]
        return np.array(combined).reshape(first.shape)
    return f(*trees)


def same(got, expected):
    """Whether two trees have one structure, one kind of leaf, and numbers within a few ulp."""
    if type(got) is not type(expected):
        return False
    if isinstance(got, dict):
        return got.keys() == expected.keys() and all(same(got[key], expected[key]) for key in got)
    if isinstance(got, (list, tuple)):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(got, np.ndarray):
        return got.shape == expected.shape and got.dtype == expected.dtype and np.allclose(got, expected, 1e-15, 0.0)
    return math.isclose(got, expected, rel_tol=1e-15)


def total(tree):
    """The sum of the numbers of a tree."""
    if isinstance(tree, dict):
        return sum(map(total, tree.values()))
    if isinstance(tree, (list, tuple)):
        return sum(map(total, tree))
    return sum(tree.flat) if isinstance(tree, (np.ndarray, Array)) else tree


@settings(max_examples=150)
@given(TREES, st.sampled_from(engine_names()))
def test_derivatives_have_the_structure_of_arguments_and_results(tree, engine):
    weights = itertools.count(1)
    w = mapped(lambda x: float(next(weights)), tree)
    cosines = mapped(math.cos, tree)
    sines = mapped(math.sin, tree)
    weighted = mapped(lambda a, b: a * b, w, cosines)

    value, gradient = contad.value_and_grad(lambda t: total(contad.ops.sin(t)), engine=engine)(tree)
    assert math.isclose(value, total(sines), rel_tol=1e-12, abs_tol=1e-15)
    assert same(gradient, cosines)

    value, pullback = contad.vjp(contad.ops.sin, tree, engine=engine)
    assert same(value, sines)
    (cotangent,) = pullback(w)
    assert same(cotangent, weighted)

    value, tangent = contad.jvp(contad.ops.sin, (tree,), (w,))
    assert same(value, sines)
    assert same(tangent, weighted)

    both = contad.grad(lambda a, t, b: total(contad.ops.sin(t)) * a * b, argnums=(1, 2), engine=engine)(2.0, tree, 3.0)
    assert same(both[0], mapped(lambda c: 6.0 * c, cosines))
    assert math.isclose(both[1], 2.0 * total(sines), rel_tol=1e-12, abs_tol=1e-15)
