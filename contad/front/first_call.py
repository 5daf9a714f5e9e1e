"""The first call of a compiled derivative from Python compares the engine's value with that of the function itself.

contad compares once for each signature and version of a function and remembers this in the cache of the machine; later
calls go straight to machine code. Compiled callers never come here.
"""

import contextlib
import dis
import functools
import warnings
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType

import numpy as np
from numba import NumbaError, types

from contad.errors import ValueMismatchError
from contad.front.form import Form
from contad.numba_functions.writes import is_repeatable, may_write_arrays
from contad.variables.open_types import Nested, NumbaFunction, NumbaType, Real
from contad.variables.trees import flatten, leaves_of, map_leaves

_CLOSE = 1e-12  # relative: sums in another order, products for powers
_CLOSE_SINGLE = 1e-5  # if there are float32 numbers, which an engine may round less often
_SINGLE = {"float32", "single", "complex64", "csingle"}
_FAST = 1e-6  # if fastmath lets every operation round freely
_RUNS, _SPREADS = 8, 100.0  # values of f with an ulp of noise in its arguments; tolerated multiple of their spread
_COMPARED = (types.Number, types.Boolean, types.Array, types.BaseTuple, types.NoneType, types.Dispatcher, types.Omitted)


def is_comparable(dispatchers: Sequence[NumbaFunction], given: Sequence[NumbaType]) -> bool:
    """Whether a function may be run once more for the same value: it draws no random numbers and prints nothing.

    Nor does it take arguments that such a run might change permanently: random generators, lists, instances.
    """
    return all(map(_is_plain, given)) and all(is_repeatable(f.py_func) for f in dispatchers)


def _is_plain(t: NumbaType) -> bool:
    if isinstance(t, types.BaseTuple):
        return all(map(_is_plain, t))
    return isinstance(t, _COMPARED)


class FirstCall:
    """One call of `derivative`, the Python function around an engine's `run`, with the comparison."""

    def __init__(self, f: NumbaFunction, dispatchers: Sequence[NumbaFunction], what: str, engine: str) -> None:
        self.f = f
        self.dispatchers = dispatchers
        self.what = what
        self.engine = engine
        self.close = _CLOSE  # the relative distance of values that are taken to be the same

    def __call__(
        self, derivative: FunctionType, run_types: Sequence[NumbaType], form: Form, args: tuple[Nested, ...]
    ) -> Nested:
        """The derivative, of this form, at these arguments.

        Raises ValueMismatchError if the values differ, and f's exception if only f raises.
        """
        seen: list[Nested] = []
        run = derivative.__globals__["run"]

        def spy(*given: Nested) -> Nested:
            asks = [True] * (len(given) - len(run_types))  # for the value, if `run` takes whether the caller wants it
            given = tuple(_as_typed(x, t) for x, t in zip(given, run_types, strict=False))
            out = run(*given, *asks)
            seen.append((given, out))
            return out

        body = FunctionType(derivative.__code__, derivative.__globals__ | {"run": spy}, derivative.__name__)
        result = body(*args)
        if seen:  # an empty argument has no directions
            given, out = seen[0]
            self.require_same(out[0], form.of_f(args), form.of_run(given))
        return result

    def require_same(self, got: Nested, args: tuple[Nested, ...], converted: tuple[Nested, ...]) -> None:
        """Raise ValueMismatchError unless f gives this value, up to rounding.

        f gets the arguments as they are. If it does not take them, or if they are float32 and f would round
        accordingly, it gets them in float64, as the engine did.
        """
        taken = converted if any(map(_rounds, _numbers_in(args))) else args
        fast = any(f.targetoptions.get("fastmath") for f in self.dispatchers)
        single = any(map(_rounds, _numbers_in(converted))) or any(map(_names_single, self.dispatchers))
        self.close = _CLOSE_SINGLE if single else _FAST if fast else _CLOSE
        kinds = [[leaf.dtype for leaf in map(np.asarray, _numbers_in(x))] for x in (taken, converted)]
        if kinds[0] == kinds[1] and self._is_so_in_python(got, taken, fast):
            return
        try:
            expected = self._value(taken)
        except (NumbaError, TypeError):  # TypeError if f has signatures and none takes them
            try:
                taken = converted
                expected = self._value(taken)
            except (NumbaError, TypeError):
                return
        distance = _distance(got, expected, fast)
        if distance <= self.close:
            return
        if _distance(self._value(taken), expected, fast) > 0.0:
            return  # f has no definite value: for example, it counts its calls
        if is_rounding(self._value, taken, got, expected, fast):
            return
        if kinds[0] != kinds[1] and taken is args and self._is_so_of_floats(got, converted, fast):
            raise ValueMismatchError(
                f"{self.what}: the function gives {_show(expected)} at integers, and {_show(got)} at the same numbers "
                "as floats, of which it would be the derivative: integers wrap around beyond 64 bits, and arrays of "
                "them drop fractions; pass floats"
            )
        raise ValueMismatchError(
            f"{self.what}: the engine {self.engine} computes the value {_show(got)} where the function gives "
            f"{_show(expected)}, so its derivative would be that of another function; ask for another engine by "
            "engine=, and report it"
        )

    def _is_so_of_floats(self, got: Nested, converted: tuple[Nested, ...], fast: bool) -> bool:
        """Whether f has this value at the arguments as the engine took them."""
        with contextlib.suppress(NumbaError, TypeError):
            return _distance(got, self._value(converted), fast) <= self.close
        return False

    def _is_so_in_python(self, got: Nested, args: tuple[Nested, ...], fast: bool) -> bool:
        """Whether f in Python has this value, for an uncompiled f that runs each of its lines at most once.

        Compiling f takes longer than its derivative if f adds and multiplies whole arrays. If Python and Numba
        disagree, Numba decides.
        """
        f = self.f
        if f.signatures or len(self.dispatchers) > 1 or not _passes_once(f.py_func):
            return False
        with contextlib.suppress(Exception), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _distance(got, f.py_func(*self._spare(args)), fast) <= self.close
        return False

    def _value(self, args: tuple[Nested, ...]) -> Nested:
        return self.f(*self._spare(args))

    def _spare(self, args: tuple[Nested, ...]) -> tuple[Nested, ...]:
        """The arguments, or copies if f may write into them."""
        return map_leaves(_copy, args) if may_write_arrays(self.f) else args


def is_rounding(
    value: Callable[[tuple[Nested, ...]], Nested], args: tuple[Nested, ...], got: Nested, expected: Nested, fast: bool
) -> bool:
    """Whether two results of a function differ by no more than a change in the last bits of its arguments would
    cause."""
    distance = _distance(got, expected, fast)
    draws = map(np.random.default_rng, range(_RUNS if np.isfinite(distance) else 0))
    spread = max((_distance(value(_nudge(args, draw)), expected, fast) for draw in draws), default=0.0)
    return distance <= _SPREADS * spread


def _passes_once(function: FunctionType) -> bool:
    """Whether a function runs each of its instructions at most once: no loops, no inner functions, no recursion."""
    code = function.__code__
    if any(isinstance(x, CodeType) for x in code.co_consts) or code.co_name in (*code.co_names, *code.co_freevars):
        return False
    return not any("JUMP_BACKWARD" in i.opname or i.opname == "FOR_ITER" for i in dis.get_instructions(code))


def _numbers_in(x: Nested) -> list[Real]:
    return [leaf for leaf in leaves_of(x) if isinstance(leaf, (int, float, np.ndarray, np.generic))]


def _rounds(x: Real) -> bool:
    """Whether a number or the numbers of an array have fewer digits than float64."""
    dtype = np.asarray(x).dtype
    return dtype.kind in "fc" and dtype not in (float, complex)


def _names_single(f: NumbaFunction) -> bool:
    """Whether the code of a function names a type of few digits."""
    return not _SINGLE.isdisjoint(f.py_func.__code__.co_names)


def _as_typed(x: Nested, t: NumbaType) -> Nested:
    """An argument of exactly the type that `run` is compiled for: Python's conversions keep the layout."""
    if isinstance(t, types.BaseTuple):
        parts = [_as_typed(part, kind) for part, kind in zip(x, t, strict=True)]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if isinstance(t, types.Array) and t.layout in "CF":
        return np.require(x, requirements=t.layout)
    return x


def _copy(x: Nested) -> Nested:
    if not isinstance(x, np.ndarray):
        return x
    copied = x.copy("K")
    copied.flags.writeable = x.flags.writeable
    return copied


def _nudge(args: tuple[Nested, ...], draw: np.random.Generator) -> Nested:
    """The arguments with floats one ulp away."""
    return map_leaves(functools.partial(_move, draw), args)


def _move(draw: np.random.Generator, x: Nested) -> Nested:
    if not isinstance(x, (np.ndarray, np.inexact, float, complex)) or np.asarray(x).dtype.kind not in "fc":
        return x
    dtype = np.asarray(x).dtype
    ulp = np.finfo(dtype).eps
    moved = np.asarray(x * (1.0 + draw.choice([-ulp, ulp], np.shape(x)))).astype(dtype)
    if not isinstance(x, np.ndarray):
        return moved[()]
    moved.flags.writeable = x.flags.writeable
    return moved


def _distance(got: Nested, expected: Nested, fast: bool) -> float:
    """The largest relative difference of two results; infinite if their shapes differ, or only one is a nan."""
    pairs = list(zip(flatten(got).leaves, flatten(expected).leaves, strict=False))
    if len(flatten(got).leaves) != len(flatten(expected).leaves):
        return np.inf
    worst = 0.0
    for a, b in pairs:
        if not all(isinstance(v, (int, float, np.number, np.ndarray)) for v in (a, b)):
            continue
        x, y = np.asarray(a, float), np.asarray(b, float)
        if x.shape != y.shape:
            return np.inf
        finite = np.isfinite(x) & np.isfinite(y)
        if not fast and not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return np.inf
        if finite.any():
            scale = max(np.abs(y[finite]).max(), np.finfo(float).tiny)
            with np.errstate(over="ignore"):  # of something beside 0
                worst = max(worst, float(np.abs(x[finite] - y[finite]).max() / scale))
    return worst


def _show(x: Nested) -> str:
    text = repr(float(x)) if np.ndim(x) == 0 and not isinstance(x, (tuple, complex)) else repr(x)
    return text if len(text) < 80 else f"{text[:77]}..."
