"""Values of a call on variables beside NumPy's own, at every combination of shapes, kinds and memory orders."""

import itertools
import random
import re
import warnings

import numpy as np

import contad
from contad.errors import ContadError
from contad.variables.array import Array
from contad.variables.number import Number

SHAPES = ((), (1,), (3,), (1, 3), (2, 1), (2, 3), (3, 3), (2, 3, 3), (0,), (2, 0))
USUAL = (TypeError, ValueError, IndexError, AttributeError)  # which NumPy raises as its code happens to be written
NAMED = re.compile(r"(<\w+>:\d+: )?([a-z]\w*\.)*[a-z]\w+: ")  # how a refusal by name begins


def kinds_of(shape, place):
    """(whether it is a variable, argument) of every kind with a shape, at a place among the arguments."""
    n = int(np.prod(shape))
    x = np.random.default_rng([place, *shape]).permutation(np.linspace(-1.37, 2.91, n + 4))[:n].reshape(shape)
    if shape[-2:] == (3, 3):
        x = x + np.diag([3.1, 4.7, 6.4])  # regular
    whole, truth = np.rint(3.0 * x).astype(int), x > 0.6
    if not shape:
        numbers = [float(x), int(whole), bool(truth), np.float64(x)]
        return [(True, float(x)), (True, x), *((False, y) for y in (*numbers, x, whole, np.array(truth)))]
    wide = np.repeat(x, 2, axis=-1)[..., ::2]  # a view with gaps
    lists = [x.tolist(), whole.tolist()]
    found = [(True, x), (True, wide), *((False, y) for y in (x, whole, truth, *lists))]
    if len(shape) > 1:
        found += [(True, np.asfortranarray(x)), (False, np.asfortranarray(x)), (False, np.asfortranarray(whole))]
    return found


def arguments_of(call):
    """The names among a, b and c that a call uses."""
    return [name for name in "abc" if re.search(rf"(?<![\w.]){name}\b(?!\()", call)]


def combinations(names, most):
    """At most so many choices of the arguments, a fixed sample, in which there is a variable."""
    kinds = [[kind for shape in SHAPES for kind in kinds_of(shape, place)] for place in range(len(names))]
    number = int(np.prod([len(k) for k in kinds]))
    if number <= most:
        chosen = itertools.product(*kinds)
    else:
        draw = random.Random(len(names))
        chosen = ([draw.choice(k) for k in kinds] for _ in range(most))
    return [choice for choice in chosen if any(active for active, _ in choice)]


def outcome(call, args):
    """(the result, or None; the exception, or None)"""
    try:
        return call(*args), None
    except Exception as e:
        return None, e


def values_in(x):
    """The structure and the arrays of a result."""
    if isinstance(x, (tuple, list)):
        return [len(x), *(leaf for part in x for leaf in values_in(part))]
    return [str(x)] if isinstance(x, (str, type, np.dtype)) else [np.asarray(contad.value_of(x))]


def variables_in(x):
    """The variables in a result."""
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in variables_in(part)]
    return [x] if isinstance(x, (Array, Number)) else []


def differentiated(call, args, places, forward):
    """The outcome on variables at some places; what differentiating raises counts, too."""
    found = []

    def f(*variables):
        given = list(args)
        for place, x in zip(places, variables, strict=True):
            given[place] = x
        z, error = outcome(call, given)
        found[:] = [None if error else values_in(z), error]
        return sum((np.sum(x) for x in (*variables, *variables_in(z))), 0.0)

    primals = [args[place] for place in places]
    try:
        if forward:
            contad.jvp(f, tuple(primals), tuple(0.5 * x for x in primals))
        else:
            contad.grad(f, tuple(range(len(primals))))(*primals)
    except ContadError as e:
        if not found or found[1] is None:
            return None, e
    return found


def compare(values, expected, picks):
    """What differs between two lists of `values_in`; what is picked from a list may be a constant as it was there."""
    if len(values) != len(expected):
        return f"{len(values)} parts, not {len(expected)}"
    for x, y in zip(values, expected, strict=True):
        if not isinstance(y, np.ndarray):
            if x is y or x == y:
                continue
            return f"{x!r}, not {y!r}"
        if x.shape != y.shape or (x.dtype.kind != y.dtype.kind and not (picks and x.shape == ())):
            return f"shape {x.shape} of {x.dtype}, not {y.shape} of {y.dtype}"
        if not np.allclose(x.astype(float), y.astype(float), rtol=1e-9, atol=1e-9, equal_nan=True):
            return f"{x}, not {y}"
    return None


def judge(call, args, places, forward, may_refuse, picks):
    """None where the outcome on variables is NumPy's, else what differs."""
    value, error = differentiated(call, args, places, forward)
    said = ""
    # a variable that is a Python float has the methods of np.float64, as what NumPy computes has
    for given in (args, [np.float64(x) if type(x) is float else x for x in args]):
        expected, refusal = outcome(call, given)
        if error is None and refusal is None:
            said = compare(value, values_in(expected), picks)
        elif refusal is None:
            by_name = isinstance(error, ContadError) or NAMED.match(str(error))
            said = None if may_refuse and by_name else f"raises {error!r}, where NumPy has {expected!r}"
        elif error is None:
            said = f"gives {value}, where NumPy raises {refusal!r}"
        else:
            usual = isinstance(error, USUAL) and isinstance(refusal, USUAL)
            same = usual or isinstance(error, (ContadError, type(refusal)))
            said = None if same else f"raises {error!r}, where NumPy raises {refusal!r}"
        if said is None:
            return None
    return said


def differences(text, function, most, may_refuse=False):
    """What differs from NumPy at combinations of a call's arguments: (mode, arguments, what)."""
    names = arguments_of(text)
    found = []

    def call(*xs):
        return function(**dict(zip(names, xs, strict=True)))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for choice in combinations(names, most):
            places = [k for k, (active, _) in enumerate(choice) if active]
            for forward, mode in ((False, "grad"), (True, "jvp")):
                args = [x.copy("K") if isinstance(x, np.ndarray) else x for _, x in choice]
                said = judge(call, args, places, forward, may_refuse, "[a, b]" in text)
                if said is not None:
                    found.append((mode, dict(zip(names, args, strict=True)), said))
    return found
