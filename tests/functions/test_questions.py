"""Functions that ask for the types of their arguments take the branch that they take on plain numbers."""

import functools
import numbers
import types
import warnings

import numpy as np
import pytest

import contad
from contad import select
from contad.functions import questions
from tests.judges.ways import POINT, WAYS, agree, differentiate

KINDS = (float, np.floating)


def doubled(x):
    """Asked by a function that is called."""
    return 2.0 * x if isinstance(x, np.ndarray) else 5.0 * x


def scaled(x, by=doubled):
    """A default argument."""
    return by(x)


class Model:
    """What isinstance is asked for with a class of the user's."""

    def __init__(self, w):
        self.w = w

    def scaled(self, x):
        """A method that asks."""
        return self.w * np.sum(x) if isinstance(x, np.ndarray) else 5.0 * x[0]

    def __call__(self, x):
        return self.w * x[0] if type(x[0]) is np.float64 else 5.0 * x[0]


@functools.singledispatch
def by_type(x):
    """5 of anything but an array."""
    return 5.0 * x


@by_type.register(np.ndarray)
def _(x):
    return 2.0 * x


CALLS = 0


def counted(x):
    global CALLS
    CALLS += 1
    return x[0] if isinstance(x[0], float) else 3.0 * x[1]


METHODS = {
    "a method": Model(2.0).scaled, "an object": Model(2.0), "a function with a global": counted, "dispatch": by_type
}  # fmt: skip

QUESTIONS = {
    "a type": lambda x: x[0] if type(x) is np.ndarray and type(x[0]) == np.float64 else 3.0 * x[1],  # noqa: E721
    "a type among types": lambda x: x[0] if type(x) in (list, np.ndarray) else 3.0 * x[1],
    "a subclass": lambda x: x[0] if issubclass(type(x[0]), float) else 3.0 * x[1],
    "two types": lambda x: x[0] if type(x[0]) is type(np.float64(1.0)) else 3.0 * x[1],
    "a number by a type": lambda x: x[0] * type(x[0])(2.0),
    "a class of classes": lambda x: x[0] if isinstance(float, type) and type(float) is type else 3.0 * x[1],
    "a class that is made": lambda x: type("Made", (), {"rate": 2.0}).rate * x[0],
    "an attribute": lambda x: x[1] if hasattr(x[0], "__iter__") else x[0] if hasattr(x, "__iter__") else 3.0 * x[2],
    "in a dispatch": lambda x: np.sum(by_type(x)),
    "an array": lambda x: x.sum() if isinstance(x, np.ndarray) else 3.0 * x.sum(),
    "an element": lambda x: x[0] if isinstance(x[0], float) else 3.0 * x[1],
    "a number of NumPy's": lambda x: x[0] if isinstance(x[0], np.float64) else 3.0 * x[1],
    "a floating number": lambda x: x[0] if isinstance(x[0], (np.floating, int)) else 3.0 * x[1],
    "a union": lambda x: x[0] if isinstance(x[0], float | int) else 3.0 * x[1],
    "classes in a global": lambda x: x[0] if isinstance(x[0], KINDS) else 3.0 * x[1],
    "a real number": lambda x: x[0] if isinstance(x[0], numbers.Real) else 3.0 * x[1],
    "isscalar": lambda x: x[0] if np.isscalar(x[0]) else 3.0 * x[1],
    "ndim": lambda x: x[0] if np.ndim(x[0]) == 0 and np.shape(x[0]) == () else 3.0 * x[1],
    "no integer": lambda x: x[0] if not isinstance(x[0], (int, np.integer)) else 3.0 * x[1],
    "no array": lambda x: x[0] if not isinstance(x[0], np.ndarray) else 3.0 * x[1],
    "no number": lambda x: x[0] if not isinstance(x, float) else 3.0 * x[1],
    "of a constant": lambda x: x[0] if isinstance(1.0, float) and not isinstance("a", float) else 3.0 * x[1],
    "in a callee": lambda x: np.sum(doubled(x)),
    "in a default": lambda x: np.sum(scaled(x)),
    "in a comprehension": lambda x: sum(v if isinstance(v, float) else 3.0 * v for v in x),
    "a class of the user's": lambda x: Model(x).w[0] if isinstance(Model(x), (Model, float)) else 3.0 * x[1],
    "beside contad's functions": lambda x: select(True, x[0], x[1]) if isinstance(x[0], float) else 3.0 * x[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_variables_are_what_they_stand_for(name, way):
    agree(QUESTIONS[name], way)


@pytest.mark.parametrize("way", WAYS)
def test_a_float_is_no_number_of_numpys(way):
    def f(x):
        return x * x if isinstance(x, float) and not isinstance(x, np.floating) else 3.0 * x

    if way == "forward":
        assert contad.derivative(f)(0.5) == 1.0
    else:
        assert contad.grad(f, engine=way)(0.5) == 1.0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", METHODS)
def test_a_stand_in_is_called_in_place_of_a_function(name, way):
    f = METHODS[name]
    agree((lambda x: np.sum(f(x))) if name == "dispatch" else f, way)


def test_a_global_that_is_assigned_is_the_functions_own():
    calls = CALLS + 1
    assert contad.grad(counted)(POINT)[0] == 1.0 and calls == CALLS
    assert counted.__globals__["__builtins__"] is __builtins__


def matching(x):
    match x:
        case np.ndarray():
            return x[0]
    return 3.0 * x[1]


def comparing(x):
    return x[0] if x.__class__ is np.ndarray else 3.0 * x[1]


@pytest.mark.parametrize(("f", "what"), [(matching, "match"), (comparing, r"x\.__class__")])
def test_a_question_without_answer_is_warned_of_once(f, what):
    with pytest.warns(RuntimeWarning, match=f"{what} sees the class of a variable.*ask by isinstance") as found:
        contad.grad(f)(POINT)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contad.jvp(f, (POINT,), (POINT,))


class Askers:
    def run(self, x):
        return x[0] if isinstance(x, np.ndarray) else 3.0 * x[1]

    def outer(self, x):
        return self.run(x)

    @staticmethod
    def plain(x):
        return x[0] * x[1]

    @property
    def chosen(self):
        return lambda x: x[0] if type(x) is np.ndarray else 3.0 * x[1]


def asking(k, x):
    return x[0] if isinstance(x, np.ndarray) else k * x[1]


def naming(x):
    return asking(3.0, x)


ASKERS = Askers()
ASKING, LISTED, NAMED = functools.partial(asking, 3.0), [asking], types.ModuleType("named")
NAMED.naming, NAMED.asking = naming, asking
REACHED = {
    "a new object": lambda x: Askers().run(x), "a method": lambda x: ASKERS.run(x), "another method": ASKERS.outer,
    "a property": lambda x: ASKERS.chosen(x), "a partial": lambda x: ASKING(x), "a list": lambda x: LISTED[0](3.0, x),
    "a module": lambda x: NAMED.asking(3.0, x), "a module's that names it": lambda x: NAMED.naming(x),
}  # fmt: skip


@pytest.mark.parametrize("name", REACHED)
def test_variables_are_what_they_stand_for_however_a_function_is_reached(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert contad.grad(REACHED[name])(POINT).tolist() == [1.0, 0.0, 0.0]


def test_methods_of_new_objects_are_warned_of_where_classes_are_compared():
    questions.warn_if_it_asks.known.clear()

    def f(x):
        return Askers().run(x) if type(ASKERS) is Askers else 0.0

    with pytest.warns(RuntimeWarning, match="Askers.run: isinstance sees variables there, not the floats") as found:
        contad.grad(f)(POINT)
    assert [(w.filename, len(found)) for w in found] == [(__file__, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contad.grad(f)(POINT)


def test_functions_that_do_not_ask_run_as_they_are():
    def f(x):
        return x[0] * x[1]

    assert contad.grad(f).direct is f


def test_globals_are_read_live():
    def f(x):
        return x[0] * OFFSET if isinstance(x[0], float) else 0.0

    assert differentiate(f, POINT, "matrix")[0] == 0.3 * OFFSET


OFFSET = 2.0
