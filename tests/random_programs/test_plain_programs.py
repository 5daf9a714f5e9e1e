"""Random programs as people type them have the derivatives of those that are written for contad."""

import collections

import numpy as np
import pytest

import contad
from contad.functions import bound_names, callees, math_functions, reached, stand_in_classes, stand_in_objects
from contad.rules.definition import global_names
from tests.judges.samples import shortened
from tests.random_programs.in_place_programs import generate
from tests.random_programs.plain_programs import GIVEN, REACHED, Writer, edit, edited, run
from tests.random_programs.searching import find_disagreement

X = np.array([0.6, -0.9, 1.3])


def disagreement(seed):
    """What is wrong with the program of a seed, also after its functions were edited; None where nothing is."""
    program = Writer(seed)
    module, explicit = run(program.typed), run(program.explicit).main
    wrong = compared(module, explicit, True)
    if not wrong:
        edit(module, edited(program.typed, "math"))
        wrong = compared(module, run(edited(program.explicit, "np")).main, False)
    return wrong


def compared(module, explicit, is_new):
    """Where values and derivatives of a module's `main` are not those of a function in which nothing is rewritten."""
    typed, others = module.main, (module.TABLE, module.OBJECT)
    try:
        value = typed(X, *others)
    except OverflowError:
        return None
    with contad.settings(rewrite=False):
        right, slope = contad.value_and_grad(explicit)(X, *others)
        curvature = contad.hvp(explicit, vector=1)(X, X, *others)
    for _ in range(1 + is_new):  # the second call has found that variables are assigned
        found, gradient = contad.value_and_grad(typed)(X, *others)
        if not np.allclose([value, found], right, rtol=1e-12, atol=1e-12):
            return f"values {value}, {found}, {right}"
        if not np.allclose(gradient, slope, rtol=1e-9, atol=1e-11 * np.abs(slope).max()):
            return f"gradients {gradient}, {slope}"
    products = contad.hvp(typed, vector=1)(X, X, *others)
    least = 1e-9 * np.max(np.abs(curvature), where=~np.isnan(curvature), initial=0.0)  # none at kinks
    if not np.allclose(products, curvature, rtol=1e-8, atol=least, equal_nan=True):
        return "products with the Hessian"
    return None


@pytest.mark.parametrize("count", shortened(200, 20000))
def test_random_plain_programs(count):
    assert find_disagreement(disagreement, range(count)) is None


# ---- arguments that share memory -------------------------------------------------------------------------------------
def lost_write(seed, argnums):
    """What is wrong where a program is called with arrays that may overlap; None where nothing is."""
    program = generate(seed, 14, shared=True)
    value = program.function(*generate(seed, 14, shared=True).inputs)
    try:
        found = contad.value_and_grad(program.function, argnums)(*program.inputs)[0]
    except contad.OverlapError:
        return None if np.shares_memory(*program.inputs[:2]) else "arrays that share nothing are refused"
    except contad.LostDerivativeError:  # of a constant array that is written to
        return None if argnums != (0, 1) else "a write of a variable is refused"
    return None if np.isclose(found, value, rtol=1e-10, equal_nan=True) else f"values {value}, {found}"


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize("count", shortened(100, 4000))
def test_a_write_to_shared_memory_is_seen_or_refused(count, argnums):
    with np.errstate(all="ignore"):
        assert [(seed, wrong) for seed in range(count) if (wrong := lost_write(seed, argnums))] == []


def test_every_way_of_reaching_a_function_is_tried():
    ways = collections.Counter(way for seed in range(200) for way in Writer(seed).ways)
    assert set(ways) == {*REACHED, *GIVEN}


# ---- planted faults --------------------------------------------------------------------------------------------------
def forget_inner_code(code, values):
    new = bound_names.bind_names(code, values)
    return new.replace(co_consts=code.co_consts + new.co_consts[len(code.co_consts) :])


def without_bases(cls, bases, is_told):
    return stand_in_classes.stand_for_class(cls, cls.__bases__, is_told)


def no_named_tuples(cls, is_users_class=reached.is_users_class):
    return not issubclass(cls, tuple) and is_users_class(cls)


FAULTS = {
    "code inside functions": (callees, "bind_names", forget_inner_code),
    "stand-ins of bases": (callees, "stand_for_class", without_bases),
    "functions in containers": (reached, "looked_into", lambda x: []),
    "names in strings": (reached, "attributes_of", lambda code: frozenset(global_names(code))),
    "functions that are passed": (callees._StandIns, "of_argument", lambda self, x: x),
    "objects": (callees._StandIns, "of_object", lambda self, x: x),
    "attributes": (stand_in_objects._Reached, "__get__", lambda self, x, cls=None: x.__dict__[self.name]),
    "named tuples": (reached, "is_users_class", no_named_tuples),
    "what is watched": (reached.Family, "_watches", lambda self: ()),
    "what is left of an attempt": (callees, "forget_since", lambda before: None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name, monkeypatch):
    monkeypatch.setattr(*FAULTS[name])
    assert find_disagreement(disagreement, range(200)) is not None


def test_a_wrong_function_of_math_is_found(monkeypatch):
    monkeypatch.setitem(math_functions.OF_MATH, "asinh", np.arctan)
    assert find_disagreement(disagreement, range(200)) is not None
