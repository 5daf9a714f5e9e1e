"""Every registered rule keeps every promise, because these tests read the registry: a new rule needs no new test."""

import importlib.util
import itertools
import linecache
import math
import operator
import random

import numpy as np
import pytest
import scipy.special

import contad
from contad import table
from contad.engines import engine, engine_names
from contad.engines.forward import forward_level
from contad.engines.stream.sweep import sweep_source
from contad.rules.scalar_rule import rule_of_ufunc, rules
from contad.testing import expect_ad
from contad.variables.dual import Dual
from contad.variables.number import Number
from contad.variables.stack import opened
from contad.variables.var import Var
from tests.judges.planted import registered
from tests.judges.samples import sampled

RULES = list(rules())
by_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
by_engine = pytest.mark.parametrize("name", engine_names())


def zero_gradient(rule):
    """Whether the partials are written as zeros."""
    return all(rule.body.literal(k) == 0.0 for k in range(rule.arity))


# ---- derivatives -----------------------------------------------------------------------------------------------------
POINTS = [(rule, point) for rule in RULES for point in rule.points]


@pytest.mark.parametrize(("rule", "point"), sampled(POINTS, 3, name=lambda case: f"{case[0].name}-{case[1]}"))
def test_derivatives(rule, point):
    expect_ad(rule, *point, zero_gradient=zero_gradient(rule))


def without_points(found):
    return [rule.name for rule in found if not rule.points]


def test_every_rule_has_points():
    assert without_points(RULES) == []


def test_a_rule_without_points_is_found():
    with registered():

        @contad.scalar_rule
        def planted(x):
            return x

        assert without_points(rules()) == ["planted"]


@by_rule
def test_points_show_every_partial(rule):
    """At some point each partial is not zero, unless it is written as zero."""
    partials = [[rule.partial(k)(rule(*point), *point) for k in range(rule.arity)] for point in rule.points]
    for k in range(rule.arity):
        assert rule.body.literal(k) == 0.0 or any(row[k] != 0.0 for row in partials)


# ---- the type table --------------------------------------------------------------------------------------------------
KINDS = ("float", "Var", "Dual", "Dual of Var")
CONSTANTS = {"int": int, "np.int64": np.int64, "np.float64": np.float64, "np.float32": np.float32}


def least_upper_bound(kinds):
    """float is below Var and below Dual, and these are below Dual of Var; every constant is a float."""
    levels = {word for kind in kinds for word in kind.split(" of ")} & {"Var", "Dual"}
    return " of ".join(sorted(levels)) or "float"


@pytest.mark.parametrize(("kinds", "bound"), [
    (["float", "int"], "float"), (["Var", "float"], "Var"), (["np.float64", "Dual"], "Dual"),
    (["Var", "Dual"], "Dual of Var"), (["float", "Dual of Var", "Var"], "Dual of Var"),
])  # fmt: skip
def test_least_upper_bound(kinds, bound):
    assert least_upper_bound(kinds) == bound


def kind_of(z):
    """The kind of a result; a number of the wrong nesting has none of the names above."""
    if isinstance(z, Dual):
        inner = kind_of(z.value)
        assert kind_of(z.tangent) in ("float", inner)
        return "Dual" if inner == "float" else f"Dual of {inner}"
    if isinstance(z, Var):
        assert type(z.value) is float
        return "Var"
    return type(z).__name__


def as_called(rule):
    """The ways of writing the operation: the contad name, ufuncs, operator, reflected operators included."""
    yield rule
    for ufunc in rule.ufuncs:
        yield getattr(scipy.special, ufunc.rpartition(".")[2]) if isinstance(ufunc, str) else ufunc
    if rule.operator is not None:
        yield getattr(operator, rule.operator)


def mixtures(rule):
    """A kind for each argument: all mixtures, or of many arguments some of them."""
    found = itertools.product(KINDS, repeat=rule.arity)
    return found if rule.arity < 5 else random.Random(rule.name).sample(list(found), 256)


@by_rule
@by_engine
def test_type_table(rule, name):
    """{float, Var, Dual, Dual of Var} per argument, in every way of writing the operation."""
    point = rule.points[0]
    with opened(engine(name)) as s, forward_level() as level:
        make = {
            "float": float, "Var": s.variable, "Dual": lambda x: level.dual(x, 1.0),
            "Dual of Var": lambda x: level.dual(s.variable(x), 1.0),
        }  # fmt: skip
        for kinds in mixtures(rule):
            args = [make[kind](x) for kind, x in zip(kinds, point, strict=True)]
            for call in as_called(rule) if any(isinstance(x, Number) for x in args) else [rule]:
                z = call(*args)
                assert kind_of(z) == least_upper_bound(kinds), (call, kinds)
                assert contad.value_of_rec(z) == rule(*point)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.arity > 1], ids=lambda rule: rule.name)
@by_engine
def test_constants_of_other_types(rule, name):
    """ints and NumPy numbers beside a number act as the float of their value, on either side."""
    point = [math.copysign(math.ceil(abs(x)), x) for x in rule.points[0]]
    with opened(engine(name)) as s, forward_level() as level:
        make = {"Var": s.variable, "Dual": lambda x: level.dual(x, 1.0)}
        for place, kind, constant in itertools.product(range(rule.arity), make, CONSTANTS):
            args = [CONSTANTS[constant](x) for x in point]
            args[place] = make[kind](point[place])
            for call in as_called(rule):
                z = call(*args)
                assert kind_of(z) == kind, (call, kind, constant)
                np.testing.assert_equal(z.value, rule(*point))


# ---- containers ------------------------------------------------------------------------------------------------------
@by_rule
def test_operations_map_over_containers(rule):
    """Every argument may be a container; numbers meet each of its elements."""
    args = rule.points[0]
    z = rule(*args)
    for place in range(rule.arity):
        nested = list(args)
        x = nested[place]
        nested[place] = [x, (x, {"key": x, "array": np.array([x, x])}), []]
        mapped = rule(*nested)
        assert type(mapped[1]) is tuple and mapped[:1] == [z] and mapped[1][0] == mapped[1][1]["key"] == z
        # NumPy's loops round otherwise than Python's math
        np.testing.assert_allclose(mapped[1][1]["array"], [z, z], rtol=1e-15)
        assert mapped[2] == []
    both = rule(*([x, {"key": x}] for x in args))
    assert both == [z, {"key": z}]


@by_rule
@by_engine
def test_gradient_through_containers(rule, name):
    point = rule.points[0]
    expected = contad.grad(rule, tuple(range(rule.arity)), engine=name)(*point)

    def mapped(*args):
        first, _ = rule(*([x, {"key": x}] for x in args))
        (second,) = rule(*((x,) for x in args))
        return 2.0 * first + second

    found = contad.grad(mapped, tuple(range(rule.arity)), engine=name)(*point)
    np.testing.assert_allclose(found, [3.0 * p for p in expected], rtol=1e-14)


def test_different_structures_are_refused():
    with pytest.raises(TypeError, match="add: containers must have one structure, got list of 2 and list of 3"):
        contad.ops.add([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"add: containers must have one structure, got dict with keys \['a'\]"):
        contad.ops.add({"a": 1.0}, (1.0,))


# ---- a rule in a file of its own -------------------------------------------------------------------------------------
RULE_FILE = '''\
"""A user's rule."""

import math

import numpy as np

import contad


@contad.scalar_rule(ufunc=np.nextafter, array=np.logaddexp2, points=[(0.7, -0.4), (1.3, 2.6)])
def log2_of_sum(x, y):
    """log2(2^x + 2^y).

        z = log2(2^x + 2^y),     dz/dx = 2^(x-z),     dz/dy = 2^(y-z)
    """
    return max(x, y) + math.log2(1.0 + math.exp2(-abs(x - y)))


@log2_of_sum.partials
def log2_of_sum_partials(z, x, y):
    return contad.ops.exp2(x - z), contad.ops.exp2(y - z)
'''


@pytest.fixture
def rule_of_file(tmp_path):
    """The rule of a file that was written to a directory and imported, long after the engines were made."""
    path = tmp_path / "own_rules.py"
    path.write_text(RULE_FILE)
    spec = importlib.util.spec_from_file_location("own_rules", path)
    module = importlib.util.module_from_spec(spec)
    with registered():
        spec.loader.exec_module(module)
        yield module.log2_of_sum
    assert rule_of_ufunc(np.nextafter) is None


GRADIENT = [2.0**0.7 / (2.0**0.7 + 2.0**-0.4), 2.0**-0.4 / (2.0**0.7 + 2.0**-0.4)]


def test_new_rule_in_every_engine(rule_of_file):
    for point in rule_of_file.points:
        report = expect_ad(rule_of_file, *point, order=3)
        assert report.passed["gradient"] == 2 * len(engine_names())


@by_engine
def test_new_rule_in_ufunc_dispatch(rule_of_file, name):
    np.testing.assert_allclose(contad.grad(np.nextafter, (0, 1), engine=name)(0.7, -0.4), GRADIENT, rtol=1e-14)
    (found,) = contad.grad(lambda x: np.nextafter(np.float64(0.7), x), (0,), engine=name)(-0.4)
    assert math.isclose(found, GRADIENT[1], rel_tol=1e-14)


@by_engine
def test_new_rule_on_arrays(rule_of_file, name):
    found = contad.grad(lambda a: rule_of_file(a, 0.0).sum(), engine=name)
    expected = [2.0**x / (2.0**x + 1.0) for x in (0.7, -0.4)]
    np.testing.assert_allclose(found(np.array([0.7, -0.4])), expected, rtol=1e-14)


def test_new_rule_in_dual(rule_of_file):
    assert math.isclose(contad.derivative(np.nextafter)(0.7, -0.4), GRADIENT[0], rel_tol=1e-14)
    assert contad.jvp(rule_of_file, (0.7, -0.4), (1.0, 1.0))[1] == pytest.approx(1.0, rel=1e-14)


def test_new_rule_in_table(rule_of_file):
    rows = [line for line in table.function_table().splitlines() if line.startswith("| `log2_of_sum` |")]
    assert len(rows) == 1
    assert "`z = log2(2^x + 2^y), dz/dx = 2^(x-z), dz/dy = 2^(y-z)`" in rows[0]
    assert "`numpy.nextafter`" in rows[0]


def test_new_rule_leaves_the_compiled_sweep_alone(rule_of_file):
    assert "log2_of_sum" not in sweep_source()


@by_engine
def test_new_rule_in_show_stack(rule_of_file, name):
    with opened(engine(name)) as s:
        np.nextafter(s.variable(0.7), -0.4)
        assert f"{GRADIENT[0]:.6g}" in contad.show_stack(s)


def test_ufunc_without_rule_says_how_to_write_one():
    own = np.frompyfunc(lambda x: x * x * x, 1, 1)
    with pytest.raises(contad.UnsupportedError, match=r"contad has no derivative rule .* @contad\.scalar_rule"):
        contad.grad(own)(0.7)


def test_ufunc_of_the_users_own():
    own = np.frompyfunc(lambda x: x * x * x, 1, 1)
    with registered():

        @contad.scalar_rule(ufunc=own, points=[(1.3,)])
        def planted_cube(x):
            return x * x * x

        @planted_cube.partials
        def planted_cube_partials(z, x):
            return 3.0 * x * x

        for name in engine_names():
            assert contad.grad(own, engine=name)(2.0) == 12.0
        expect_ad(planted_cube, 1.3)


# ---- a notebook's cells, run again with other contents ---------------------------------------------------------------
CELL = """
@contad.scalar_rule{options}
def planted_cell(x):
    return factor * x

@planted_cell.partials
def planted_cell_partials(z, x):
    return {partial}
"""
CALLER = """
@contad.scalar_rule
def planted_caller(x):
    return planted_cell(x)

@planted_caller.partials
def planted_caller_partials(z, x):
    return planted_cell(x) / x * factor / factor
"""


@pytest.fixture
def run_cell(tmp_path):
    """Runs source in one namespace, as a notebook does."""
    scope = {"__name__": "planted_notebook", "contad": contad, "factor": 3.0}
    cells = itertools.count()

    def run(source):
        path = tmp_path / f"cell_{next(cells)}.py"
        path.write_text(source)
        exec(compile(source, str(path), "exec"), scope)
        linecache.checkcache()
        return scope

    with registered():
        yield run


@by_engine
def test_partials_declared_again_replace_the_old_ones(run_cell, name):
    scope = run_cell(CELL.format(options="", partial="factor"))
    assert contad.grad(lambda x: scope["planted_cell"](x), engine=name)(2.0) == 3.0
    run_cell("@planted_cell.partials\ndef other(z, x):\n    return 100.0\n")
    assert contad.grad(lambda x: scope["planted_cell"](x), engine=name)(2.0) == 100.0


@by_engine
def test_a_body_sees_constants_and_rules_that_are_defined_again(run_cell, name):
    scope = run_cell(CELL.format(options="", partial="factor"))
    run_cell(CALLER)
    caller = contad.value_and_grad(lambda x: scope["planted_caller"](x), engine=name)
    assert caller(2.0) == (6.0, 3.0)
    scope["factor"] = 5.0
    assert caller(2.0) == (10.0, 5.0)
    run_cell(CELL.format(options="", partial="factor").replace("factor * x", "7.0 * x"))
    assert caller(2.0) == (14.0, 7.0)


@by_engine
def test_a_ufunc_dispatches_to_the_rule_registered_last(run_cell, name):
    options = "(ufunc='scipy.special.bei')"
    for partial in (3.0, 4.0):
        run_cell(CELL.format(options=options, partial=partial))
        assert contad.grad(lambda x: scipy.special.bei(x), engine=name)(2.0) == partial
    run_cell(CELL.format(options="", partial="5.0"))
    assert rule_of_ufunc(scipy.special.bei) is None
    with pytest.raises(contad.errors.RuleError, match="already dispatches to exp"):
        run_cell(CELL.format(options="(ufunc=('scipy.special.bei', contad.ops.exp.ufuncs[0]))", partial="5.0"))
    assert rule_of_ufunc(scipy.special.bei) is None


def test_planted_rules_are_gone():
    assert [rule.name for rule in RULES] == [rule.name for rule in rules()]
