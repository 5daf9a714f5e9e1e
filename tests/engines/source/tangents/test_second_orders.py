"""What `generated` takes once it takes twice, and three times: every written program that is differentiated elsewhere.

Products of Hessians with vectors by the generated text, run without Numba, against the engine `matrix` and against
differences of generated gradients; third derivatives against differences of the products.
"""

import ast
import warnings

import numba
import numpy as np
import pytest

import contad
from benchmarks import loops
from contad.engines.source.build import derivative_of
from contad.engines.source.ir import ssa as ir
from contad.engines.source.ir.walks import walk
from contad.errors import LostDerivativeError, UnsupportedError
from contad.functions.python_copy import python_twin
from contad.numba_functions.request import Request
from contad.variables.trees import flatten
from tests.engines import matrix_programs, user_rules
from tests.engines.source.agreement import request
from tests.engines.source.plain_text import draw_direction, generate, numbers
from tests.engines.source.programs.harness import function_of, given_to
from tests.engines.source.programs.matrix_functions import MATRICES, A, X, function_named
from tests.engines.source.programs.tables import TABLES
from tests.front import array_functions, covered
from tests.judges.planted import known
from tests.judges.samples import sampled
from tests.random_programs.generated_programs import copied

# by name; a function or the name of a program of a table, its arguments or table and which are differentiated
PROGRAMS = {
    f"{item} {f.__name__} {k}": (f, args, (0,)) for item, rows in covered.COVERED.items()
    for k, (f, *args) in enumerate(rows)
}  # fmt: skip
PROGRAMS |= {f"loops {name}": (f, args, argnums) for name, (f, args, argnums) in loops.problems(0.01).items()}
PROGRAMS |= {
    f"arrays {f.__name__}": (f, [array_functions.X, array_functions.DATA], (0,))
    for f in array_functions.FUNCTIONS
}
PROGRAMS |= {f"matrices {name}": matrix_programs.PROGRAMS[name] for name in ("spectra", "factors", "powers", "systems")}
PROGRAMS["matrices filtered"] = matrix_programs.PROGRAMS["Kalman"]
TABLES_BY_NAME = {f"{table.name}: {name}": (table, body) for table in TABLES for name, body in table.takes.items()}
PROGRAMS |= {name: (name, table, table.argnums) for name, (table, _) in TABLES_BY_NAME.items()}
PROGRAMS |= {f"tangents {name}": (function_named(name), [X, A], (0,)) for name in MATRICES}
# two dozen calls in one function, or singular values that are left out: third derivatives take more source than is
# compiled
TOO_LONG = {f"matrices {name}" for name in ("spectra", "factors", "systems", "filtered")}
TOO_LONG |= {
    f"tangents {name}"
    for name in (
        "pseudoinverse of low rank", "truncated pseudoinverse", "truncated least squares", "least squares of columns"
    )
}  # fmt: skip
UNSTEADY = {"tangents singular determinant"}  # differences of its products lose half of the digits


# functions with rules of users': a third derivative takes the forward mode of a rule
RULES = {f"rules {f.__name__}": (f, user_rules.ARGUMENTS, (0, 1)) for f in user_rules.TWICE}
PROGRAMS |= RULES
TWICE_ONLY = "rules by_custom_vjp"
NO_THIRD = "halved: it has no forward mode, which third derivatives take; write it with contad.custom_jvp"


@pytest.fixture(autouse=True)
def users_rule():
    """The rule of a program is registered, and Python's warnings of plain text run as such are not errors."""
    with known(covered.cubed), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def moved(x, v, h):
    tree = flatten(x)
    pairs = zip(tree.leaves, flatten(v).leaves, strict=True)
    return tree.unflatten([np.asarray(a, float) + h * b if np.ndim(a) else float(a) + h * b for a, b in pairs])


def by_differences(run, args, argnums, v, h=1e-5):
    """The derivative along v of what `run` gives, by differences of the fourth order."""

    def at(step):
        given = list(args)
        for k, d in zip(argnums, v, strict=True):
            given[k] = moved(args[k], d, step)
        return numbers(run(*copied(given)))

    return (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)


def take(name):
    f, args, argnums = PROGRAMS[name]
    draw = np.random.default_rng(3)
    if isinstance(f, str):
        f, args = function_of(*TABLES_BY_NAME[f], f), given_to(args)
    return f, args, argnums, tuple(draw_direction(draw, args[k]) for k in argnums)


def require_close(found, right, tolerance):
    assert np.max(np.abs(found - right)) <= tolerance * max(np.max(np.abs(right)), 1e-3)


@pytest.mark.parametrize("name", sampled(PROGRAMS, 24))
def test_products_with_hessians(name):
    f, args, argnums, v = take(name)
    first = generate(f, args, argnums)
    _, products = generate(f, args, argnums, "hvp")(tuple(copied(args)), v)
    found = numbers(products)
    require_close(found, by_differences(lambda *given: first(*given)[1], args, argnums, v), 1e-6)
    try:
        expected = contad.hvp(python_twin(f), argnums)(*args, v)
    except (UnsupportedError, LostDerivativeError):  # what variables cannot be in Python
        return
    require_close(found, numbers(expected), 1e-9)


@pytest.mark.parametrize("name", sampled(PROGRAMS, 60, dear=UNSTEADY))
def test_third_derivatives(name):
    f, args, argnums, v = take(name)
    second = generate(f, args, argnums, "hvp")
    if name in TOO_LONG or name == TWICE_ONLY:
        with pytest.raises(UnsupportedError, match=NO_THIRD if name == TWICE_ONLY else "lines of source long"):
            generate(f, args, argnums, "hvp", (argnums, argnums))
        return
    third = generate(f, args, argnums, "hvp", (argnums, argnums))
    _, found = third(tuple(copied(args)), (*v, *v))
    right = by_differences(lambda *given: second(given, v)[1], args, argnums, v)
    require_close(numbers(found), right, 1e-2 if name in UNSTEADY else 1e-5)


@pytest.mark.parametrize("name", RULES)
def test_second_derivatives_of_rules(name):
    test_products_with_hessians(name)


# ---- what it costs ---------------------------------------------------------------------------------------------------
def operations_in(source):
    """How many operations of arithmetic and calls of functions of numbers a generated text has."""
    (run,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == "run")
    nodes = list(ast.walk(run))
    arithmetic = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow
    found = sum(isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, arithmetic) for node in nodes)
    calls = (ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call))
    return found + sum(call.startswith(("math.", "np.")) for call in calls)


@pytest.mark.parametrize("name", sampled(loops.problems(0.01), 4))
def test_a_product_takes_a_bounded_number_of_operations(name, report):
    f, args, argnums = loops.problems(0.01)[name]
    asked = f.py_func, f, tuple(map(numba.typeof, args)), argnums, False
    made = derivative_of(Request(*asked, "value_and_grad"))
    own = sum(isinstance(o, ir.Apply) and o.result.kind == ir.FLOAT for o in walk(made.function.block))
    gradient, product = operations_in(made.source()), operations_in(derivative_of(Request(*asked, "hvp")).source())
    ratios = f"{product / own:.1f} operations for each of the function's, {product / gradient:.2f} for the gradient's"
    report(f"{name}: one product with the Hessian", ratios)
    assert product <= 18 * own and product <= 2.6 * gradient


def test_rcond_is_written_where_it_leaves_something_out():
    """Of NumPy's own rcond it is rounding: no singular values, and fewer loops."""
    found = [
        derivative_of(request(function_named(name), X, A)._replace(mode="hvp")).source()
        for name in ("pseudoinverse", "truncated pseudoinverse")
    ]
    whole, truncated = found
    assert "svd" not in whole and "svd" in truncated
    assert 3 * whole.count("for ") < 2 * truncated.count("for ")


@pytest.fixture
def limited():
    yield contad.set_memory_limit
    contad.set_memory_limit(None)


def test_products_with_hessians_hold_the_limit_of_memory(limited):
    @numba.njit
    def iterated(x, n):
        y = x
        for _ in range(n):
            y = np.sin(y) + 0.1 * y * y
        return y

    product = contad.hvp(iterated)
    few = product(0.3, 10, 1.0)
    limited(2**20)
    with pytest.warns(UserWarning, match="needs more memory than .*; its loops are checkpointed"):
        many = product(0.3, 10**5, 1.0)
    assert product(0.3, 10, 1.0) == few
    limited(None)
    assert contad.hvp(iterated)(0.3, 10**5, 1.0) == many
