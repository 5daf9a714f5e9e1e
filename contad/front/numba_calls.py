"""Numba functions called with variables by plain Python code: compiled, as one continuation on the caller's stack.

The function's Python copy runs in all other cases: for variables of several levels, duals, object arrays, functions
that write into their arguments, and functions that no compiled engine differentiates.
"""

import functools
import inspect
from collections.abc import Hashable, Sequence
from types import ModuleType

import numpy as np

from contad.compile.dispatchers import signature_for
from contad.engines import engine as engine_class
from contad.engines.stream.pullbacks import number_result, several_results
from contad.errors import LostDerivativeError, OutputError, UnsupportedError
from contad.front.checked_twin import checked_twin
from contad.front.first_call import is_comparable
from contad.front.numba_transforms import pair_of
from contad.front.quick_calls import QuickCalls, keep, shares_memory
from contad.front.recorded import Recorded
from contad.functions.user_call import OnNumbers, memo_of, name_of
from contad.variables.array import Array, lower_constants
from contad.variables.dtypes import is_float64
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Nested, NumbaFunction, NumbaType, Options
from contad.variables.stack import THREAD, attempt, stack
from contad.variables.trees import holds_number, map_leaves
from contad.variables.var import Var, value_of


def call_at_variables(stand_in: OnNumbers, args: tuple[Nested, ...], kwargs: Options) -> Nested:
    """The result of a Numba function called with variables, by its Python copy if necessary."""
    if any(isinstance(x, Array) and x.is_constant for x in (*args, *kwargs.values())):
        from contad.numba_functions.writes import may_write_arrays

        if not may_write_arrays(stand_in.dispatcher):
            args, kwargs = tuple(map(lower_constants, args)), {name: lower_constants(x) for name, x in kwargs.items()}
            if not any(map(holds_number, (*args, *kwargs.values()))):
                return stand_in(*args, **kwargs)
    result = _call_compiled(stand_in, args, kwargs)
    if result is not NotImplemented:
        return result
    if stand_in.twin is None:
        stand_in.twin = checked_twin(stand_in.dispatcher, keeps_arrays=True)
    return stand_in.twin(*args, **kwargs)


def _call_compiled(stand_in: OnNumbers, args: tuple[Nested, ...], kwargs: Options) -> Nested:
    """The compiled function at arguments with variables; NotImplemented if the Python copy has to run."""
    f, given = stand_in.dispatcher, args
    missing = f.py_func.__code__.co_argcount - len(args)
    defaults = f.py_func.__defaults__ or ()
    if kwargs or not 0 <= missing <= len(defaults):
        bound = inspect.signature(f.py_func).bind(*args, **kwargs)
        bound.apply_defaults()
        args = bound.args
    elif missing:
        args = args + defaults[-missing:]
    active = tuple(k for k, x in enumerate(args) if isinstance(x, Carrier))
    # a recorded program needs the operations of the function, and so does a search for dependences
    if stack().tracer is not None or stack().opens_calls:
        return NotImplemented
    plain = [value_of(x) if isinstance(x, Carrier) else x for x in args]
    if not _takes(args, plain, active):
        return NotImplemented
    how = _how(f, plain, active)
    if how is None:
        return NotImplemented
    result, derivative = how
    # x may change after this; the derivative is with respect to its present contents
    inputs = [args[k].copy() if isinstance(args[k], Array) else args[k] for k in active]
    if result == "number":
        if not kwargs:
            _answer_quickly(stand_in, given, args, how)
        value, gradients = derivative(*plain)
        return number_result(value, inputs, gradients)
    if not stack().has_arrays:
        return NotImplemented
    kept = tuple(map_leaves(keep, x) for x in plain)
    z = f(*plain)
    if shares_memory(z, plain):
        return NotImplemented  # a write to one of them would change the other
    arrays = [a for a in (found() for found in derivative.noted.arrays) if a is not None]
    if arrays:
        return several_results(z, inputs, _pull_unchanged(f, arrays, functools.partial(derivative, kept)))
    if not kwargs and all(map(_is_plain, z if isinstance(z, tuple) else (z,))):
        _answer_quickly(stand_in, given, args, how)
    return several_results(z, inputs, functools.partial(derivative, kept))


def _pull_unchanged(f: NumbaFunction, arrays: list[np.ndarray], pullback: Function) -> Function:
    """A pullback of f that refuses to run after a change of global arrays, which f reads in place."""
    known = memo_of(f).setdefault("contents of global arrays", {})  # which calls share as long as nobody writes to them
    then = []
    for a in arrays:
        if id(a) not in known or not _is_same(a, known[id(a)]):
            known[id(a)] = a.copy()
        then.append(known[id(a)])

    def pull(cotangent: Nested) -> Nested:
        for a, copy in zip(arrays, then, strict=True):
            if not _is_same(a, copy):
                raise LostDerivativeError(
                    f"{name_of(f)}: a global array that it reads, of {a.dtype} with shape {a.shape}, was written to "
                    "between the call and the sweep; pass it as an argument"
                )
        return pullback(cotangent)

    return pull


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same, bit by bit."""
    x, y = (np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in (a, b))
    return np.array_equal(x, y)


def _answer_quickly(
    stand_in: OnNumbers, given: tuple[Nested, ...], args: tuple[Nested, ...], how: tuple[str, NumbaFunction]
) -> None:
    """Record later calls with arguments like the given ones at once; `args` includes omitted ones."""
    quick = stand_in.quick
    if not isinstance(quick, QuickCalls):
        quick = stand_in.quick = QuickCalls(stand_in.dispatcher)
    quick.learn(given, how, args[len(given) :])


def _is_plain(x: Nested) -> bool:
    """Whether a result, or a part of it, is a number or an array of numbers that can be recorded."""
    return x.__class__ is float or (is_float64(x) and x.ndim > 0)


def value_and_gradients(f: NumbaFunction, plain: Sequence[Nested], active: tuple[int, ...]) -> NumbaFunction | None:
    """The compiled (value, gradients) of f at arguments like these, some of them differentiated.

    None if there is none: f does not return a number, may write into arrays, or no compiled engine differentiates it.
    """
    how = _how(f, plain, active)
    return how[1] if how is not None and how[0] == "number" else None


def _takes(args: tuple[Nested, ...], plain: list[Nested], active: tuple[int, ...]) -> bool:
    """Whether all variables belong to the innermost level, have plain values, and are not inside other objects."""
    s = stack()
    if not active or (THREAD.forward and THREAD.forward[-1].level > s.level):
        return False
    for k, (x, value) in enumerate(zip(args, plain, strict=True)):
        if k in active:
            if not isinstance(x, (Var, Array)) or x._owner is not s:
                return False
            # an element of an array has a NumPy scalar as its value
            if not isinstance(value, float) and not is_float64(value):
                return False
        elif value.__class__ not in _PLAIN and (holds_number(x) or isinstance(x, OnNumbers)):
            return False
    return True


_PLAIN = frozenset({float, int, bool, str, type(None)})  # types without contents


def _how(f: NumbaFunction, plain: Sequence[Nested], active: tuple[int, ...]) -> tuple[str, NumbaFunction] | None:
    """("number" or "several", the compiled derivative) for arguments of these types; None if there is none."""
    memo = memo_of(f)
    key = "call", active, tuple(_kind(f, n, x) for n, x in enumerate(plain))
    if key not in memo:
        from numba import types

        try:
            given = tuple(_type_of(f, n, x) for n, x in enumerate(plain))
        except ValueError:  # Numba's, for values without a type
            return None
        with attempt():
            memo[key] = _find(f, types, given, active)
    return memo[key]


def _kind(f: NumbaFunction, n: int, x: Nested) -> Hashable:
    """A key for the type of an argument; for numbers and arrays it is faster than Numba's type."""
    kind = x.__class__
    if kind is float:
        return kind
    if kind is np.ndarray:
        return x.dtype, x.ndim, x.flags.num
    try:
        return _type_of(f, n, x)
    except ValueError:
        return None


def _type_of(f: NumbaFunction, n: int, x: Nested) -> NumbaType:
    """The Numba type of argument n; unlike Numba's, the refusal says what to pass instead."""
    from numba import NumbaError, typeof

    try:
        return typeof(x)
    except NumbaError:
        from contad.numba_functions.array_arguments import require_read

        require_read(f.__name__, [(f"argument {n}", x)])
        raise


def _find(
    f: NumbaFunction, types: ModuleType, given: tuple[NumbaType, ...], active: tuple[int, ...]
) -> tuple[str, NumbaFunction] | None:
    from contad.numba_functions.writes import may_write_arrays

    if not all(isinstance(x, types.Number | types.Boolean | types.UnicodeType) for x in given) and may_write_arrays(f):
        return None
    from numba import NumbaError

    try:
        signature = signature_for(f, given)
    except NumbaError:  # f itself cannot be compiled, as its copy will report
        return None
    if signature is None:  # f has declared signatures, and none fits
        return None
    returned = signature.return_type
    try:
        if returned == types.float64:
            derivative = pair_of(f, "value_and_grad", functools.partial(_gradient, active), argnums=active)
            derivative.compile(given)
            return "number", derivative
        derivative = pair_of(f, "vjp", functools.partial(_pull, active), argnums=active)
        # f runs at the call and again in the sweep, and must not draw other random numbers or print again
        if not is_comparable(derivative.noted.dispatchers, given):
            return None
        derivative.compile((types.Tuple(given), returned))
    except (UnsupportedError, OutputError):
        return None
    return "several", derivative


def _gradient(active: tuple[int, ...], f: NumbaFunction, *args: Nested) -> tuple[Nested, tuple[Nested, ...]]:
    """The value and the gradients by the default engine, for arguments that no compiled engine takes."""
    recorded = _record(active, f, args)
    return recorded.value, recorded.pullback()(1.0)


def _pull(
    active: tuple[int, ...], f: NumbaFunction, primals: tuple[Nested, ...], cotangent: Nested
) -> tuple[Nested, ...]:
    """The same pullback by the default engine, if cotangents are numbers of an outer level."""
    return _record(active, f, primals).pullback()(cotangent)


def _record(active: tuple[int, ...], f: NumbaFunction, args: tuple[Nested, ...]) -> Recorded:
    def of_active(*given: Nested) -> Nested:
        full = list(args)
        for k, x in zip(active, given, strict=True):
            full[k] = x
        return f(*full)

    return Recorded(of_active, [args[k] for k in active], f"vjp: {name_of(f)}", engine_class())
