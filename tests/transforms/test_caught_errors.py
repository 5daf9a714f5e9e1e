"""A function that catches an error of contad, and goes on as it does not with plain numbers, gives no derivative."""

import contextlib
import gc
import logging
import math
import operator
import threading
import weakref

import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import contad
from contad.engines import engine_names
from contad.errors import LostDerivativeError, OtherThreadError, UnsupportedError, VariableError
from contad.variables.stack import THREAD
from tests.judges.refusals import refused
from tests.judges.written import define

AGAIN = r"(?s)This error was raised at .*test_caught_errors\.py:\d+, in .*the function caught it"


# ---- functions that lose an error: (function, point) -----------------------------------------------------------------
def by_handler(x):
    try:
        return x * float(x)
    except Exception:
        return -np.inf


def by_a_bare_handler(x):
    try:
        return x * float(x)
    except:  # noqa: E722
        return 0.0 * x


def by_suppress(x):
    with contextlib.suppress(Exception):
        x = x * float(x)
    return x


def by_finally(x):
    for _ in range(1):
        try:
            x = float(x)
        finally:
            break  # noqa: B012
    return x


def by_a_generator(x):
    def values():
        for k in range(3):
            try:
                yield float(x + k)
            except Exception:
                yield 0.0

    return x * sum(values())


def by_a_context_manager(x):
    class Forgiving:
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return True

    with Forgiving(), np.errstate(all="ignore"):
        x = float(x)
    return x


def by_a_getter(x):
    class Model:
        @property
        def rate(self):
            try:
                return float(x)
            except Exception:
                raise AttributeError("rate") from None

    return x * getattr(Model(), "rate", 1.0)


def by_hasattr(x):
    class Model:
        def __getattr__(self, name):
            with contextlib.suppress(Exception):
                return float(x)
            raise AttributeError(name)

    return 2.0 * x if hasattr(Model(), "rate") else x


def by_numpy(x):
    """np.array_equal catches what the conversion of its arguments raises, and returns False."""
    v = np.array([1.0, 2.0]) * x
    w = contad.zeros(2) + v if contad.value_of(x) else v
    return x if np.array_equal([w], [w]) else 2.0 * x


def by_a_missing_rule(x):
    try:
        return np.sum(np.packbits(np.ones(3) * x))
    except Exception:
        return x


def by_a_thread(x):
    found = [0.0]

    def work():
        with contextlib.suppress(Exception):
            found[0] = x * x

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return x + found[0]


OUT = np.zeros(2)


def by_a_write(x):
    out = OUT
    try:
        out[0] = x
    except Exception:
        out[0] = 3.0
    return x + np.sum(out)


def by_logging(x):
    logger = logging.getLogger("contad.test")
    logger.propagate = False
    handler = logging.StreamHandler(open("/dev/null", "w"))  # noqa: SIM115
    logger.addHandler(handler)
    try:
        with contextlib.suppress(Exception):
            logger.warning("%f", x)
    finally:
        logger.removeHandler(handler)
        handler.stream.close()
    return x * x


def by_a_key(x):
    try:
        return {x: 2.0}[x] * x
    except Exception:
        return x


def by_an_inner_call(x):
    """The error is of a number of the outer level."""
    return x * contad.grad(lambda y: y * by_handler(x))(2.0)


def by_an_inner_handler(x):
    def inner(y):
        return y * y * float(x)

    try:
        return x * contad.grad(inner)(2.0)
    except Exception:
        return x


ON_NUMBERS = [
    by_handler, by_a_bare_handler, by_suppress, by_finally, by_a_generator, by_a_context_manager, by_a_getter,
    by_hasattr, by_a_thread, by_a_write, by_logging, by_a_key, by_an_inner_call, by_an_inner_handler,
]  # fmt: skip
WITH_ARRAYS = [by_numpy, by_a_missing_rule]

WAYS = {
    **{f"grad by {name}": lambda f, name=name: contad.grad(f, engine=name)(0.7) for name in engine_names()},
    "value_and_grad": lambda f: contad.value_and_grad(f)(0.7),
    "vjp": lambda f: contad.vjp(f, 0.7),
    "jvp": lambda f: contad.jvp(f, (0.7,), (1.0,)),
    "jvp several": lambda f: contad.jvp(f, (0.7,), (np.ones(3),), several=True),
    "derivative": lambda f: contad.derivative(f)(0.7),
    "jacobian": lambda f: contad.jacobian(f)(0.7),
    "jacfwd": lambda f: contad.jacfwd(f)(0.7),
    "jacrev": lambda f: contad.jacrev(f)(0.7),
    "hessian": lambda f: contad.hessian(f)(0.7),
    "hvp": lambda f: contad.hvp(f)(0.7, 1.0),
    "grad of grad": lambda f: contad.grad(contad.grad(f))(0.7),
    "grad of jvp": lambda f: contad.grad(lambda x: contad.jvp(f, (x,), (1.0,))[1])(0.7),
    "jvp of grad": lambda f: contad.jvp(contad.grad(f), (0.7,), (1.0,)),
    "linearize": lambda f: contad.linearize(f, 0.7),
    "checkpoint": lambda f: contad.grad(contad.checkpoint(f))(0.7),
    "checkpoint in jvp": lambda f: contad.jvp(contad.checkpoint(f), (0.7,), (1.0,)),
    "debug_nans": lambda f: watched(f),
    "nested": lambda f: by_hand(f),
}


def watched(f):
    with contad.debug_nans():
        return contad.grad(f)(0.7)


def by_hand(f):
    with contad.nested():
        x = contad.var(0.7)
        return contad.gradient(f(x), [x])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", ON_NUMBERS, ids=lambda f: f.__name__)
def test_an_error_that_the_function_has_caught_is_raised(f, way):
    levels = len(THREAD.open), len(THREAD.forward)
    first = way == "debug_nans" and f is by_an_inner_call  # the infinity that the handler has made
    with pytest.raises(VariableError, match="multiply made -inf" if first else AGAIN):
        WAYS[way](f)
    assert (max(len(THREAD.open), 1), len(THREAD.forward)) == (max(levels[0], 1), levels[1])
    assert contad.grad(lambda x: x * x)(3.0) == 6.0  # nothing is left of it


@pytest.mark.parametrize("f", WITH_ARRAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["grad by matrix", "jvp", "hessian"])
def test_an_error_that_numpy_or_a_missing_rule_has_raised(f, way):
    with pytest.raises(VariableError, match="the function caught it"):
        WAYS[way](f)


def test_a_recording_raises_it():
    with pytest.raises(LostDerivativeError, match=AGAIN):
        contad.record(by_handler, 0.7)

    def reading(x):
        with contextlib.suppress(Exception):
            return x * contad.value_of(x)
        return x

    with pytest.raises(UnsupportedError, match="the function caught it"):
        contad.record(reading, 0.7)


@numba.njit
def guarded(p):
    try:
        if p[0] > 5.0:
            raise ValueError("beyond")
        return p[0] * math.exp(p[1]) * np.ones(len(p) - 1)[0]  # whose length is not known
    except Exception:
        return -np.inf


def test_a_numba_function_by_its_copy():
    p = np.array([2.0, 0.3])
    expected = [math.exp(0.3), 2.0 * math.exp(0.3)]
    for engine in ("matrix", "records", "closures"):
        np.testing.assert_allclose(contad.grad(guarded, engine=engine)(p), expected)
    with pytest.warns(UserWarning, match="guarded: try/except.*a Python copy of it answers"):
        np.testing.assert_allclose(contad.hessian(guarded)(p)[1], expected)
    np.testing.assert_allclose(contad.hessian(guarded)(2.0 * p)[0], [0.0, math.exp(0.6)])  # it is said once

    class Meta(type):
        def __call__(cls):  # for such a class nothing stands, and the dispatcher refuses variables
            return type.__call__(cls)

    class Holder(metaclass=Meta):
        kernel = staticmethod(guarded)

    def f(p):
        try:
            return Holder.kernel(p) * p[0]
        except Exception:
            return p[0]

    with pytest.raises(UnsupportedError, match="the function caught it"):
        contad.grad(f)(p)


# ---- what a callback or a rule catches -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", engine_names())
def test_an_error_that_a_callback_has_caught(name):
    def f(x):
        z = contad.make_callback_var(2.0 * contad.value_of(x), lambda z, adj: swallowed(adj, x, z))
        return z * x

    def swallowed(adj, x, z):
        with contextlib.suppress(Exception):
            adj.add(z, adj[z] * 2.0)  # which is not older than this callback

    with pytest.raises(LostDerivativeError, match="adj.add: .*"):
        contad.grad(f, engine=name)(0.7)
    _, pullback = contad.vjp(f, 0.7, engine=name)
    with pytest.raises(LostDerivativeError, match="the function caught it"):
        pullback(1.0)


# ---- NumPy's own refusals, of lists and object arrays ----------------------------------------------------------------
KINDS = (ArithmeticError, TypeError)
CAUGHT = {  # what is tried, which errors are caught, and what is returned then
    "of_a_list": ("np.sum(np.exp([x, 1.0]))", " Exception", "7.0 * x"),
    "of_a_list_by_its_type": ("np.sum(np.hypot([1.0, x], [x, 1.0]))", " (ValueError, AttributeError)", "7.0 * x"),
    "of_a_matrix": ("np.logaddexp(np.array([[x, 0.0], [0.0, 1.0]], dtype=object), 1.0)[0, 0]", " TypeError as error",
                    "7.0 * x if error else x"),
    "of_a_test": ("x * np.sum(np.isnan([x, 1.0]))", " (LookupError, BaseException)", "7.0 * x"),
    "of_a_rule_that_is_missing": ("np.sum(np.nextafter([x, x], 2.0))", "", "7.0 * x"),
    "by_a_handler_without_a_name": ("np.sum(np.exp([x, 1.0]))", "", "7.0 * x"),
    "by_a_handler_of_an_alias": ("np.sum(np.exp([x, 1.0]))", " KINDS", "7.0 * x"),
    "by_a_solver_of_scipys": ("scipy.optimize.root(lambda t: t**3 - x, [0.3]).x[0] * x", "", "7.0 * x"),
}  # fmt: skip


def catching(name, filename=None):
    """The function of a row, in a file with a source or in one without."""
    tried, kinds, value = CAUGHT[name]
    text = f"def {name}(x):\n    try:\n        return {tried}\n    except{kinds}:\n        return {value}\n"
    names = {"__name__": __name__, "np": np, "scipy": scipy, "KINDS": KINDS}
    if filename:
        exec(compile(text, filename, "exec"), names)
    else:
        define(text, f"<{name}>", names)
    return names[name]


class Guarded:
    def loss(self, x):
        try:
            return np.sum(np.logaddexp([x, 1.0], 0.0))
        except Exception:
            return 7.0 * x


def of_a_callee(x):
    return 2.0 * of_a_list(x)


of_a_list = catching("of_a_list")


def by_suppressing_it(x):
    with contextlib.suppress(Exception):
        return np.sum(np.exp([1.0, x]))
    return 7.0 * x


def by_one_of_several_managers(x):
    with contextlib.suppress(Exception), np.errstate(over=np.exp([1.0, x])[0]):
        pass
    return 7.0 * x


def by_a_return_in_finally(x):
    z = 7.0 * x
    try:
        z = np.sum(np.exp([x, 1.0]))
    finally:
        return z  # noqa: B012


def by_a_function_inside(x):
    def exp(y):
        try:
            return np.sum(np.exp([y, 1.0]))
        except:  # noqa: E722
            return 7.0 * y

    return exp(x)


def by_a_manager_that_is_a_generator(x):
    @contextlib.contextmanager
    def forgiving():
        try:  # noqa: SIM105
            yield
        except:  # noqa: E722
            pass

    with forgiving():
        x = np.sum(np.exp([x, 1.0]))
    return x


def by_an_integrator_of_scipys(x):
    with contextlib.suppress(BaseException):
        return scipy.integrate.odeint(lambda y, t: -x * y, [1.0], [0.0, 1.0])[-1, 0] * x
    return 7.0 * x


REFUSALS = [
    *map(catching, CAUGHT), catching("of_a_list", "<string>"), Guarded().loss, of_a_callee, by_suppressing_it,
    by_one_of_several_managers, by_a_return_in_finally, by_a_function_inside, by_a_manager_that_is_a_generator,
    by_an_integrator_of_scipys,
]  # fmt: skip


@pytest.mark.parametrize("way", ["grad by closures", "grad by records", "grad by matrix", "derivative", "hessian"])
@pytest.mark.parametrize("f", REFUSALS, ids=lambda f: f.__name__)
def test_a_refusal_of_numpys_that_the_function_has_caught_is_raised(f, way, capfd):
    with pytest.raises((UnsupportedError, LostDerivativeError), match="the function caught it"):
        WAYS[way](f)
    assert contad.grad(lambda x: x * x)(3.0) == 6.0


# ---- what may be caught ----------------------------------------------------------------------------------------------
def test_errors_of_numbers_are_caught_as_ever():
    def f(x):
        try:
            return np.sum(np.linalg.cholesky(-np.eye(2)) * x)
        except np.linalg.LinAlgError:
            pass
        with contextlib.suppress(TypeError):  # as of a float
            operator.index(x)
        with contextlib.suppress(IndexError, ZeroDivisionError):
            x / 0 if contad.value_of(x) > 1e9 else [1.0][len("abc")]
        try:
            raise TypeError("mine")
        except Exception:
            return x * x

    assert contad.grad(f)(3.0) == 6.0
    assert contad.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)


def test_a_function_that_raises_raises_its_own_error():
    def f(x):
        try:
            return float(x)
        except Exception as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError, match="mine"):
        contad.grad(f)(1.0)
    assert contad.grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("kinds", [(TypeError, ValueError), (RuntimeError, ArithmeticError), (OSError, LookupError)])
def test_handlers_for_what_numbers_do_wrong_let_it_pass(kinds):
    def f(x):
        try:
            return float(x)
        except kinds:
            return 0.0

    with pytest.raises(LostDerivativeError) as found:
        contad.grad(f)(1.0)
    assert "the function caught it" not in str(found.value)

    def g(x):
        try:
            return np.packbits(x)[0]
        except kinds:
            return 0.0

    with pytest.raises(UnsupportedError) as missing:
        contad.grad(g)(np.eye(2))
    assert "the function caught it" not in str(missing.value)


def test_an_inner_call_that_fails_for_plain_numbers_too_may_be_caught():
    def h(y):
        return y * float(y)

    def f(x):
        try:
            return x * contad.grad(h)(2.0)  # it would fail as well if x were a number
        except contad.LostDerivativeError:
            return 3.0 * x

    assert contad.grad(f)(1.0) == 3.0
    assert f(1.0) == 3.0


def test_probes_of_contad_itself_are_not_remembered():
    # a power of numbers of two levels: math.pow refuses the outer one first
    cube = contad.grad(contad.grad(lambda x: (x * 1.0) ** 3.0))
    assert cube(2.0) == pytest.approx(12.0)
    assert contad.grad(lambda x: contad.grad(lambda y: (y * x) ** (x + 1.0))(1.5))(2.0) > 0.0
    # packing a stream that holds numbers of an outer level
    long = contad.grad(lambda x: contad.grad(lambda y: sum([x * y for _ in range(5000)]) * y)(1.0))
    assert long(2.0) == pytest.approx(10000.0)

    # a rule without forward mode, where jacobian asks both
    @contad.custom_vjp
    def twice(x):
        return 2.0 * x

    twice.defvjp(lambda x: (2.0 * x, None), lambda saved, z_bar: (2.0 * z_bar,))
    jacobian = contad.jacobian(lambda v: [twice(v[0]), v[0] * v[0], v[0]])
    assert jacobian([3.0]) == [[2.0], [6.0], [1.0]]
    assert contad.grad(lambda x: x * contad.jacobian(lambda v: [twice(v[0]), v[0], v[0]])([x])[0][0])(3.0) == 2.0


@numba.njit
def with_a_list(x):
    return sum([x * k for k in range(3)]) + max([x, 1.0])


@numba.njit
def with_text(x, name):
    return x if len(name) else 2.0 * x


def test_refusals_of_compiled_engines_are_not_remembered():
    assert contad.grad(lambda x: with_a_list(x) * x)(2.0) == pytest.approx(16.0)
    assert contad.grad(lambda x: with_text(x, "ab") * x)(2.0) == pytest.approx(4.0)
    assert contad.grad(contad.grad(with_a_list))(2.0) == 0.0
    assert contad.jvp(lambda x: contad.grad(with_a_list)(x) * x, (2.0,), (1.0,)) == (8.0, 4.0)


def test_a_deliberate_probe_is_told_to_use_the_value():
    def f(x):
        try:
            known = float(x)
        except contad.LostDerivativeError:
            known = contad.value_of(x)
        return x * known

    with pytest.raises(LostDerivativeError, match=r"contad\.value_of\(v\) for a constant"):
        contad.grad(f)(3.0)
    assert contad.grad(lambda x: x * contad.value_of(x))(3.0) == 3.0


def test_a_stack_by_hand_goes_on_after_it_has_raised_once():
    with contad.nested():
        x = contad.var(2.0)
        y = x * (1.0 if by_suppress(x) is x else 2.0)
        with pytest.raises(LostDerivativeError, match="the function caught it"):
            contad.gradient(y, [x])
        assert contad.gradient(y, [x]) == [1.0]
    with contad.nested():  # without a sweep there is no number to be wrong
        by_suppress(contad.var(2.0))


def test_no_level_outlives_its_error():
    class Large(list):
        pass

    kept = []

    def f(x):
        large = Large()
        kept.append(weakref.ref(large))
        with contextlib.suppress(Exception):
            float(x)
        if len(kept) == 1:
            raise KeyError
        return x

    gc.disable()
    try:
        with pytest.raises(KeyError):
            contad.grad(f)(1.0)
        with refused(LostDerivativeError):
            contad.grad(f)(1.0)
    finally:
        gc.enable()
    gc.collect()
    assert [one() for one in kept] == [None, None]


def test_errors_of_another_thread_reach_the_level_of_the_number():
    with pytest.raises(OtherThreadError, match="the function caught it"):
        contad.grad(by_a_thread)(2.0)
