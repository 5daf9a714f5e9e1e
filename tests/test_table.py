"""The table of functions says what the registries say, and what its columns claim is true."""

import subprocess
import sys

import numpy as np
import pytest

import contad
from contad import ContadError, table
from contad.engines import engine_names
from contad.rules import numpy_functions
from contad.rules.array_rule import array_rule, array_rules
from contad.rules.numpy_functions import entries, find_exported_name
from contad.rules.scalar_rule import ScalarRule, rules
from contad.testing.specimen import numbers_of
from tests.judges.array_derivatives import directional, split
from tests.judges.samples import sampled
from tests.ops.example_calls import EXAMPLES


def names(text):
    """The names of the scalar rules of a table, in order."""
    return [
        line.split("`")[1] for line in text.partition("## Functions of arrays")[0].splitlines() if line[:3] == "| `"
    ]


def test_every_rule_has_a_row():
    text = table.function_table()
    assert names(text) == sorted(rule.name for rule in rules())
    assert f"\n{len(names(text))} rules: " in text


def test_every_row_has_every_column():
    scalars, arrays = table.function_table().split("## Functions of arrays")
    for text, header in ((scalars, table.HEADER), (arrays, table.ARRAY_HEADER)):
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert {line.replace("\\|", "").count("|") for line in lines} == {len(header) + 1}


def test_row_of_a_rule_that_misses_the_bound():
    def ratio(x, y):
        """The ratio |x| / |y|.

            z = |x| / |y|,     dz/dx = sign(x) / |y|

        Accuracy: 40 ulp near y = 0.
        """
        return abs(x) / abs(y)

    assert table._row(ScalarRule(ratio, "scipy.special.ratio", "truediv", True, ())) == [
        "`ratio`", "x, y", "The ratio \\|x\\| / \\|y\\|.", "`z = \\|x\\| / \\|y\\|, dz/dx = sign(x) / \\|y\\|`",
        "`scipy.special.ratio`", "`truediv`", "compiled", "40 ulp near y = 0.",
    ]  # fmt: skip


def test_row_of_a_rule_without_docstring():
    row = table._row(ScalarRule(lambda x: x, None, None, False, ()))
    assert row == ["`<lambda>`", "x", "", "", "", "", "stored partials", table._BOUND]


def test_command_prints_the_table_of_the_bundled_rules():
    done = subprocess.run([sys.executable, "-m", "contad.table"], capture_output=True, text=True, check=True)
    assert names(done.stdout) == sorted(rule.name for rule in rules() if rule.__module__.startswith("contad.ops."))


@pytest.mark.parametrize("arguments", [["--help"], ["sin"], ["--stan", "b"]])
def test_an_argument_is_answered_with_the_usage(arguments):
    command = [sys.executable, "-m", "contad.table", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: python -m contad.table [--stan | --jax | --autograd | --scipy | --torch]\n"


# ---- functions of arrays: what the columns say is held against what happens ------------------------------------------
X = np.array([1.3, -0.7, 2.1, 0.4])
M = np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]])
H = np.array([0.9, np.nan, -1.6, 2.3])
WAYS = (*engine_names(), "forward")
MORE = {  # examples beside those of tests/ops/test_array_expect_ad.py, because object arrays need not do the same here
    "np.nansum": [(lambda a: np.nansum(a * H), X)],
    "np.nanprod": [(lambda a: np.nanprod(a * H), X)],
    "np.nancumsum": [(lambda a: np.nancumsum(a * H), X)],
    "np.nancumprod": [(lambda a: np.nancumprod(a * H), X)],
    "np.nanmean": [(lambda a: np.nanmean(a * H), X)],
    "np.percentile": [(lambda a: np.percentile(a, 30.0) * a[0], X)],
}
CONSTANT = {
    **{f: (f, X) for f in (np.argmax, np.argmin, np.argsort, np.nonzero, np.flatnonzero, np.argwhere, np.any, np.all)},
    **{f: (f, X) for f in (np.angle, np.isneginf, np.isposinf, np.iscomplex, np.isreal, np.iscomplexobj, np.isrealobj)},
    **{f: (f, X) for f in (np.count_nonzero, np.result_type, np.common_type)},
    **{f: (f, X) for f in (np.array_str, np.array_repr, np.array2string)},
    **{f: (f, M[:, :2]) for f in (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from)},
    **{f: (f, X, X + 1e-9) for f in (np.isclose, np.allclose, np.array_equal, np.array_equiv)},
    **{f: (lambda a, f=f: f(a, a[1:]), X) for f in (np.may_share_memory, np.shares_memory)},
    **{f: (lambda a, f=f: f(a * H), X) for f in (np.nanargmax, np.nanargmin)},
    np.argpartition: (lambda a: np.argpartition(a, 2)[2], X),
    np.searchsorted: (lambda a: np.searchsorted(a, [0.9, 0.4]), np.array([0.2, 0.5, 1.1])),
    np.digitize: (lambda a: np.digitize(a, [0.0, 1.0]), X), np.lexsort: (lambda a: np.lexsort((a,)), X),
    np.can_cast: (lambda a: np.can_cast(np.result_type(a), float), X), np.min_scalar_type: (np.min_scalar_type, X),
    np.linalg.matrix_rank: (np.linalg.matrix_rank, M), np.isin: (lambda a: np.isin(a, [0.4, 1.3]), X),
}  # fmt: skip


def examples(row):
    """The example calls for the functions of a row: (f, *arrays)."""
    if row[2] == "constant":
        return [CONSTANT[entry.function] for entry in group(row)]
    found = [
        call
        for entry in group(row)
        for calls in (EXAMPLES, MORE)
        for call in calls.get(find_exported_name(entry.function), ())
    ]
    if row[2] == "rule" and not found:
        (rule,) = [rule for rule in array_rules() if f"`{rule.name}`" == row[0]]
        points = [split(point) for point in rule.points]
        found = [(lambda *a, options=options: rule(*a, **options), *arrays) for arrays, options in points]
    return found


def group(row):
    """The entries of a row."""
    return [entry for entry in entries() if f"`{find_exported_name(entry.function)}`" in row[1].split(", ")]


# ---- the columns hold ------------------------------------------------------------------------------------------------
OTHERS = {f"`{rule.name}`" for rule in array_rules() if not rule.__module__.startswith("contad.ops.")}  # of other tests
ROWS = [row for row in table.array_rows() if row[2] != "rule" or row[0] not in OTHERS]
ACTIVE = [row for row in ROWS if row[5]]


def name_of_row(row):
    return f"{row[0]}-{row[1]}".replace("`", "")


by_row = pytest.mark.parametrize("row", ACTIVE, ids=name_of_row)


def total(f):
    """One number made of all results of f, with derivatives of every order."""

    def of_numbers(*args):
        return sum(np.sin(k + 1.0) * x**3 for k, x in enumerate(numbers_of(f(*args))))

    return of_numbers


def directions_of(args):
    """A tangent for every argument, without zeros and of one sign, so that linear functions do not cancel it."""
    directions = [0.7 + 0.4 * np.cos(1.0 + np.asarray(x)) for x in args]
    return [d if d.ndim else float(d) for d in directions]


def along(f, way, directions):
    """The derivative of f, which returns one number, along directions, as a function of its arguments."""

    def derivative(*args):
        if way == "forward":
            return contad.jvp(f, args, tuple(directions))[1]
        gradient = contad.grad(f, tuple(range(len(args))), engine=way)(*args)
        return sum(np.sum(np.asarray(d) * g) for d, g in zip(directions, gradient, strict=True))

    return derivative


def is_right(f, args, way):
    """Whether f is differentiated in one way, rightly; a constant result must be that of floats."""
    directions = directions_of(args)
    expected = directional(total(f), args, directions)
    try:
        found = along(total(f), way, directions)(*args)
    except (ContadError, TypeError, AttributeError, ValueError, AssertionError):
        return False
    return bool(np.isclose(found, expected, rtol=1e-8))


def checked(f):
    """A function whose result has the derivative of its first argument, if f gives what it gives of floats."""

    def g(*args):
        np.testing.assert_equal(f(*args), f(*map(contad.value_of, args)))
        return args[0]

    return g


def right_ways(row):
    """The ways that differentiate every example of a row."""
    calls = examples(row)
    assert calls
    if row[2] == "constant":
        calls = [(checked(f), *args) for f, *args in calls]
    return [way for way in WAYS if all(is_right(f, args, way) for f, *args in calls)]


@by_row
def test_engines_are_those_that_differentiate(row):
    assert ", ".join(right_ways(row)) == row[5]


@pytest.mark.parametrize("row", sampled(ACTIVE, 4, name=name_of_row))
def test_orders_are_those_that_differentiate(row):
    assert row[6] == ("" if row[2] == "constant" else "every")
    for f, *args in () if row[2] == "constant" else examples(row):
        directions = directions_of(args)

        def third(*ways, f=f, directions=directions):
            g = total(f)
            for way in ways:
                g = along(g, way, directions)
            return g

        expected = directional(third("matrix", "forward"), args, directions)
        assert abs(expected) > 1e-4
        for ways in (
            ("forward", "forward", "forward"),
            ("matrix", "matrix", "forward"),
            ("forward", "matrix", "matrix"),
        ):
            np.testing.assert_allclose(third(*ways)(*args), expected, rtol=1e-6)


def test_every_entry_and_every_rule_is_in_one_row():
    rows = table.array_rows()
    listed = [name for row in rows for name in row[1].split(", ") if name]
    assert sorted(listed) == sorted(f"`{find_exported_name(entry.function)}`" for entry in entries())
    assert {f"`{rule.name}`" for rule in array_rules()} == {row[0] for row in rows if row[2] == "rule"}
    assert {row[2] for row in rows} == {"rule", "movement", "composite", "constant"}
    assert f"\n{len(rows)} functions. " in table.function_table()


def test_a_row_shows_its_columns():
    rows = {row[1]: row for row in ROWS}
    everywhere = "closures, records, matrix, forward"
    assert rows["`np.matmul`, `np.linalg.matmul`"] == [
        "`matmul`", "`np.matmul`, `np.linalg.matmul`", "rule",
        "Matrix product, also of stacks; vectors are rows on the left and columns on the right.",
        "`z = a b, z_dot = a_dot b + a b_dot, a_bar = z_bar b^T, b_bar = a^T z_bar`", everywhere, "every",
    ]  # fmt: skip
    assert rows["`np.cumsum`"][4].startswith("`z_i = ")
    assert rows["`np.roll`"] == [
        "`roll`", "`np.roll`", "movement", "Roll array elements along a given axis.", "", everywhere, "every",
    ]  # fmt: skip
    assert all(row[3].endswith((".", ")")) and len(row[3]) < 200 for row in ROWS)


def test_a_rule_of_a_user_claims_no_more_than_it_declares(monkeypatch):
    monkeypatch.setattr(numpy_functions, "_entries", dict(numpy_functions._entries))
    monkeypatch.setattr(sys.modules["contad.rules.array_rule"], "_array_rules", {})

    @array_rule(numpy=np.i0)
    def cardinal(a, b):
        return np.i0(a) * b

    @cardinal.vjp("a")
    def cardinal_vjp_a(z, z_bar, a, b):
        return z_bar * a

    (row,) = [row for row in table.array_rows() if row[2] == "rule"]
    assert row == ["`cardinal`", "`np.i0`", "rule", "", "", "matrix (not b)", "every"]


@pytest.mark.parametrize("claim", [("np.bincount", False), ("np.roll", True)])
def test_a_wrong_claim_is_noticed(monkeypatch, claim):
    name, refused = claim
    monkeypatch.setattr(table, "NOT_ON_OBJECTS", table.NOT_ON_OBJECTS - {name} | ({name} if refused else set()))
    (row,) = [row for row in table.array_rows() if row[1] == f"`{name}`"]
    assert ", ".join(right_ways(row)) != row[5]


# ---- ufuncs on object arrays -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", engine_names())
def test_ufuncs_that_are_said_to_refuse_object_arrays_do(name):
    refused = set()
    for ufunc in (ufunc for rule in rules() for ufunc in rule.ufuncs if isinstance(ufunc, np.ufunc)):

        def f(x, ufunc=ufunc):
            ufunc(*[contad.to_matvar(x)] * ufunc.nin)
            return x

        try:
            with np.errstate(invalid="ignore"):
                contad.vjp(f, np.array([0.3, 0.6]), engine=name)
        except (TypeError, AttributeError, ContadError):
            refused.add(f"np.{ufunc.__name__}")
    assert "np.logaddexp" in refused
    constants = {"np.isfinite", "np.isinf", "np.isnan", "np.signbit"}
    assert refused | constants == set(table.ufuncs_not_on_objects())
