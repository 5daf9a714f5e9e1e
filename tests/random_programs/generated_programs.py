"""Random programs for the engine `generated`: its source, run as plain Python, against the eager engine on objects.

A program of `tests.random_programs.generated_grammar` is run as it is, by the engine `records` on object arrays, and
by the generated source, made with one of several plans; every fourth one also by complex steps, which share no
derivative with contad. Errors that a program raises are to be raised alike. A failure is shrunk by removing
statements while it persists.

    python -m tests.random_programs.generated_programs --count 20000 --seed 1
    python -m tests.random_programs.generated_programs --count 100 --seed 1 --compiled
"""

import cmath
import contextlib
import dis
import functools
import math
import operator
import re
import signal
import sys
import warnings
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.special
from numba import njit
from numba.core.compiler_lock import global_compiler_lock

import contad
from contad.engines.source import build
from contad.engines.source.analysis import shared_callees
from contad.engines.source.ir import ssa as ir
from contad.engines.source.planning import store_plan
from contad.engines.source.planning.parts import divide
from contad.engines.source.planning.segments import mark_loops
from contad.engines.source.reading import frontend
from contad.engines.source.reading.frontend import read
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.errors import LostDerivativeError, UnsupportedError
from contad.functions.python_copy import python_twin
from contad.numba_functions.request import Request
from tests.judges.planted import known, registered
from tests.judges.written import define
from tests.random_programs.generated_grammar import CALLEES, HELD, PLANNED, Maker, Statement, constructs, meaning
from tests.random_programs.searching import collect, parse_options, shrink, tell

KINDS = (
    ir.Kind("float", 1, order="C"), ir.Kind("float", 2, order="C"), ir.FLOAT, ir.FLOAT, ir.Kind("float", 3, order="C"),
    ir.Kind("int", 1, order="C"), ir.BOOL,
)  # fmt: skip
ARGNUMS = (0, 1, 2, 3, 4)
SECONDS = 5
# the cost of storing a number, and whether loops are reversed at once: other plans for the same program
VARIANTS = ((store_plan.STORE, True), (0.05, True), (store_plan.STORE, False), (2.0, False), (1e4, True), (1e4, False))
SEGMENTS = 4  # every so many programs have their loops checkpointed
PARTS = (0, 0, 3, 0, 8, 0, 0)  # operations of a part of the program; 0: it is whole
GLOBALS = {
    "GAIN": 0.7, "A5": np.cos(np.arange(25.0).reshape(5, 5)) * 0.4, "ORDER": np.array([2, 0, 1, 4, 3]),
    "F5": np.array([0.1, -0.7, 1.3, 0.45, -0.2], np.float32), "objmode": numba.objmode,
}  # fmt: skip

with registered():  # for each program alone

    @contad.scalar_rule
    def softened(x, y):
        """A rule of the user."""
        return x / (1.0 + x * x + y * y)

    @softened.partials
    def softened_partials(z, x, y):
        d = 1.0 + x * x + y * y
        return (1.0 - 2.0 * x * z) / d, -2.0 * y * z / d


# ---- running ---------------------------------------------------------------------------------------------------------
class Rejected(Exception):
    """The program proves nothing: it does not run, or sits on a tie."""


def namespace(text, seed, **replaced):
    """The names of a program, where others may stand for `np`, `math` and `njit`."""
    names = {
        "__name__": "program",
        "np": np,
        "math": math,
        "njit": njit,
        "contad": contad,
        "prange": numba.prange,
        "softened": softened,
        "int64": numba.int64,
    }
    names |= GLOBALS | {"Held": PLAIN_HELD if replaced else HELD_CLASS} | replaced
    if not replaced:
        names |= CALLED
        return define(text, f"<program {seed}>", names)
    define(meaning(CALLEES), "<meaning of the callees>", names)
    return define(meaning(text), f"<meaning of program {seed}>", names)


NAMES_OF_CLASS = {"float64": numba.float64, "int64": numba.int64, "__name__": "program"}
PLAIN_HELD = define(HELD, "<class>", NAMES_OF_CLASS | {"jitclass": lambda _: lambda c: c})["Held"]
HELD_CLASS = define(HELD, "<class>", NAMES_OF_CLASS | {"jitclass": numba.experimental.jitclass})["Held"]
CALLED = {}  # the callees, made once
CALLED = {name: x for name, x in namespace(CALLEES, "callees").items() if numba.extending.is_jitted(x)}
TWINS = {}  # as the eager engine runs them
for called in CALLED.values():
    python_twin(called, TWINS)


def arguments(seed):
    rng = np.random.default_rng(seed)
    numbers = [
        rng.standard_normal(5), rng.standard_normal((3, 4)), *rng.standard_normal(2), rng.standard_normal((2, 2, 2)),
    ]  # fmt: skip
    return [*numbers, np.array([3, 0, 4, 1, 1]), bool(seed % 2)]


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def flat(gradient):
    return np.concatenate([np.ravel(g) for g in gradient])


def numbers_of(value):
    """The numbers of a value, or of a value and an auxiliary tuple."""
    return np.array([value[0], *value[1]] if isinstance(value, tuple) else [value], dtype=float)


def plainly(f=None, error_model="python", **flags):
    """A function as it is, where njit would compile it."""
    if f is None:
        return lambda f: f if error_model == "python" else python_twin(njit(error_model=error_model)(f))
    return f


def grown(work, n):
    return work if n <= len(work) else np.concatenate([work, np.full(max(int(n), 2 * len(work)) - len(work), np.nan)])


@contextlib.contextmanager
def planned(store=store_plan.STORE, calls=False, parts=0):
    """Inside, what is read and written has another plan.

    With calls all callees that can be are functions of their own; with parts the program is divided into parts of as
    many operations.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_plan, "STORE", store)
        if calls:
            patch.setattr(frontend, "INLINED", 0)
            patch.setattr(shared_callees, "SMALL", -1)
        if parts:
            patch.setattr(frontend, "divide", functools.partial(divide, long=0, most=parts, least=1))
        yield


def run_text(text, constants):
    """The names that a generated text defines, as plain Python with these constants."""
    names = {}
    exec(compile(text, "<generated>", "exec"), names)
    names.update(workspace=lambda: (np.full(3, np.nan), 0), grow=grown, **constants)
    return names


def derivative(function, aux=False, store=store_plan.STORE, fuse=True, calls=False, parts=0, segments=False):
    """The generated derivative: its source, and the arrays and rules it needs; with segments, checkpointed loops."""
    with planned(store, calls, parts):
        program = read(function, KINDS, transform=mark_loops if segments else None)
        made = DerivativeWriter(program, ARGNUMS, aux, fuse=fuse)
        names = run_text(made.source(), made.constants())
    blocks = [name for name in names if name.startswith("function_objmode_block")]
    names.update({name: names[name].py_func for name in blocks})  # which takes as long as the rest to compile
    return names["run"]


def make(seed, small=False, objects=True, **options):
    """What makes the program of a seed."""
    return Maker(seed, small, objects=objects, **options)


def generated(function, args, aux=False, store=store_plan.STORE, fuse=True, calls=False, parts=0, segments=False):
    """Value and gradient by the generated source, run as Python."""
    run = derivative(function, aux, store, fuse, calls, parts, segments)
    args, before = copied(args), copied(args)
    value, gradient = run(*args)
    for x, y in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, y)
    return numbers_of(value), flat(gradient)


def eager(function, args, maker):
    """Value and gradient by an eager engine: `records`, or `matrix` where functions of matrices are called."""
    engine = "matrix" if maker.matrices else "records"
    twin = python_twin(function, dict(TWINS))
    if maker.objects:
        twin.__globals__["Held"] = PLAIN_HELD
    f = contad.value_and_grad(twin, ARGNUMS, has_aux=maker.aux, engine=engine)
    value, gradient = f(*args)
    return numbers_of(value), flat(gradient)


def meant(text, seed):
    """(the function as Python, its value, the error that it raises on purpose); Rejected where it proves nothing."""
    plain, value = namespace(text, seed, njit=plainly)["f"], math.nan
    try:
        value = numbers_of(plain(*copied(arguments(seed))))[0]
    except (ArithmeticError, NameError, ValueError, IndexError, AssertionError) as error:
        if str(error) != PLANNED:
            raise Rejected(type(error).__name__) from None
        return plain, value, error
    if not math.isfinite(value) or abs(value) > 1e8:
        raise Rejected("large")
    return plain, value, None


def failure(error, raised, of_python=(ZeroDivisionError,)):
    """What a derivative that raises shows, where the function raises that error on purpose, or None.

    Compiled code computes on where Python raises an error that is `of_python`.
    """
    if isinstance(error, UnsupportedError):
        return f"refused: {str(error).split(': ', 2)[-1]}"
    if raised is not None and (type(error), str(error)) == (type(raised), PLANNED):
        return "raised alike"
    if isinstance(error, of_python) and not is_raised_by_statement(error):
        what = "divides by zero" if isinstance(error, ZeroDivisionError) else "overflows"
        raise Rejected(f"the source {what} where only compiled code may")
    return f"crash {type(error).__name__}: {error}"


def outcome(maker, block, seed):
    """None if all agree, "raised alike", or what went wrong; raises Rejected where the program proves nothing."""
    text, independent = maker.source(block), seed % 4 == 0
    f = namespace(text, seed)["f"]
    args = arguments(seed)
    plain, value, raised = meant(text, seed)
    store, fuse = VARIANTS[seed % len(VARIANTS)]
    plan = {"calls": seed % 2 == 1, "parts": PARTS[seed % len(PARTS)], "segments": seed % SEGMENTS == 0}
    try:
        got_value, got = generated(f, args, maker.aux, store, fuse, **plan)
    except Exception as error:
        return failure(error, raised, (ZeroDivisionError, OverflowError))
    if raised is not None:
        return f"wrong: {type(raised).__name__} is not raised"
    if not close(got_value[0], value):
        if any(not close(numbers_of(plain(*nudge(args, k)))[0], value) for k in range(20)):
            raise Rejected("a tie")  # of numbers that are equal but for their last bit, as math.tanh and np.tanh are
        return f"wrong value (fuse {fuse}, store {store}): {got_value} for {value} of what is meant"
    references = []
    try:
        reference_value, reference = eager(f, args, maker)
        references.append(("", reference, 1e-9))
    except (UnsupportedError, LostDerivativeError):  # an operation in place on an array of floats
        reference_value, independent = numbers_of(plain(*copied(args))), True
        if not is_stepped(text):
            raise Rejected("neither reference takes it") from None
    if independent and is_stepped(text):
        stepped = complex_step(text, seed, args)
        references.append((" against complex steps", stepped, 1e-7))
        reference = stepped if len(references) == 1 else reference
    if not close(got_value, reference_value):
        return f"wrong value (fuse {fuse}, store {store}): {got_value} for {reference_value}"

    def steady(nudged):
        """The gradient by the reference, elsewhere."""
        return (
            eager(f, nudged, maker)[1]
            if len(references) > 1 or not independent or not is_stepped(text)
            else complex_step(text, seed, nudged)
        )

    for what, expected, tolerance in references:
        if not close(got, expected, tolerance):
            if ill_conditioned(args, reference, steady):
                raise Rejected("ill-conditioned")
            return f"wrong gradient{what} (fuse {fuse}, store {store}): {got} for {expected}"
    return None


def is_raised_by_statement(error):
    """Whether an exception comes from a `raise`, and not from an operation of Python's."""
    step = error.__traceback__
    while step.tb_next is not None:
        step = step.tb_next
    return dis.opname[step.tb_frame.f_code.co_code[step.tb_lasti]] == "RAISE_VARARGS"


def close(x, y, tolerance=1e-9):
    return np.all(np.abs(np.asarray(x) - y) <= tolerance * (1.0 + np.max(np.abs(y))))


def ill_conditioned(args, reference, gradient):
    """Whether a change of the arguments in the last digits changes the gradient: a tie, or a loss of all digits."""
    return not close(gradient(nudge(args, 0)), reference, 1e-9)


def nudge(args, seed):
    """Arguments with a change in their last digits."""
    rng = np.random.default_rng(seed)
    floats = [np.asarray(x).dtype.kind == "f" for x in args]
    return [x * (1.0 + 1e-12 * rng.standard_normal(np.shape(x))) if f else x for x, f in zip(args, floats, strict=True)]


# ---- complex steps ---------------------------------------------------------------------------------------------------
class Step:
    """A complex number that is compared by its real part."""

    __slots__ = ("z",)

    def __init__(self, z):
        self.z = z


def lift(f):
    def operation(*args):
        if any(isinstance(x, np.ndarray) for x in args):
            return NotImplemented
        return Step(f(*(x.z if isinstance(x, Step) else complex(x) for x in args)))

    return operation


def compare(f):
    return lambda x, y: f(real(x), real(y))


def real(x):
    return x.z.real if isinstance(x, Step) else x


def divided(x, y):
    """x / y, infinite where y is zero."""
    return x / y if y != 0.0 else complex(math.copysign(math.inf, x.real) if x else math.nan)


for _name in ("add", "sub", "mul", "truediv", "pow"):
    _f = getattr(operator, _name)
    _f = divided if _name == "truediv" else _f
    setattr(Step, f"__{_name}__", lift(_f))
    setattr(Step, f"__r{_name}__", lift(lambda x, y, f=_f: f(y, x)))
for _name in ("lt", "gt", "le", "ge", "eq", "ne"):
    setattr(Step, f"__{_name}__", compare(getattr(operator, _name)))
Step.__hash__ = lambda step: hash(step.z.real)  # sets look for it
Step.__pos__ = lift(operator.pos)
Step.__neg__ = lift(operator.neg)
Step.__abs__ = lift(lambda z: z if z.real > 0.0 else -z)


def slope(f, derivative):
    """A function of real numbers on complex steps."""
    return lift(lambda z: complex(f(z.real), z.imag * derivative(z.real)))


STEPS = {name: lift(getattr(cmath, name)) for name in ("sin", "cos", "tanh", "exp", "sqrt", "log", "sinh", "atan")}
STEPS["log1p"] = lift(lambda z: cmath.log(1.0 + z))
STEPS["fabs"] = lift(lambda z: z if z.real > 0.0 else -z)
VECTORS = {name: np.frompyfunc(f, 1, 1) for name, f in STEPS.items()}
VECTORS |= {
    "arctan": VECTORS["atan"],
    "square": lambda z: z * z,
    "expm1": np.frompyfunc(lambda z: STEPS["exp"](z) - 1.0, 1, 1),
}
SPECIAL = SimpleNamespace(
    erf=slope(math.erf, lambda x: 2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
    expit=lift(lambda z: 1.0 / (1.0 + cmath.exp(-z))),
    gammaln=slope(math.lgamma, scipy.special.digamma),
)


def stepping_numpy():
    """NumPy's functions on arrays of complex steps."""

    def made(value):
        return lambda shape, dtype=None: np.full(shape, value, object if dtype is None else dtype)

    return SimpleNamespace(
        **VECTORS, sum=np.sum, dot=np.dot, max=np.max, min=np.min, mean=np.mean, where=np.where, copy=np.copy,
        abs=np.abs,
        maximum=np.frompyfunc(lambda x, y: x if real(x) > real(y) else y, 2, 1),
        minimum=np.frompyfunc(lambda x, y: x if real(x) < real(y) else y, 2, 1),
        hypot=lambda x, y: STEPS["sqrt"](x * x + y * y), int64=np.int64,
        arctan2=np.frompyfunc(lambda y, x: STEPS["atan"](y / x), 2, 1),
        zeros=made(0.0), ones=made(1.0), empty=made(0.0), full=lambda n, x: np.full(n, x, object),
        zeros_like=lambda u: np.full(u.shape, 0.0, object), ndindex=np.ndindex, ndenumerate=np.ndenumerate,
        array=lambda numbers: np.array(numbers, object),
    )  # fmt: skip


def is_stepped(text):
    """Whether complex steps know all that a program has of NumPy's and contad's."""
    if re.search(r"\[\w+ [<>] |divmod", text):  # objects are no masks, and have no divmod
        return False
    text, known = meaning(text), {"np": set(vars(stepping_numpy())), "contad": set(vars(SPECIAL))}
    return all(set(re.findall(rf"\b{module}\.([\w.]+)", text)) <= names for module, names in known.items())


def complex_step(text, seed, args):
    """The gradient by complex steps."""
    module = stepping_numpy()
    f = namespace(
        text, seed, njit=plainly, math=SimpleNamespace(**STEPS), np=module, contad=SPECIAL,
        int=lambda x: int(real(x)), softened=lift(lambda x, y: x / (1.0 + x * x + y * y)),
    )["f"]  # fmt: skip
    active, rest = args[: len(ARGNUMS)], args[len(ARGNUMS) :]
    sizes = [np.size(x) for x in active]
    gradient = []
    for k in range(sum(sizes)):
        step = np.zeros(sum(sizes), complex)
        step[k] = 1e-30j
        parts = np.split(step, np.cumsum(sizes)[:-1])
        given = []
        for x, part in zip(active, parts, strict=True):
            numbers = [Step(complex(v) + d) for v, d in zip(np.ravel(x), part, strict=True)]
            if np.ndim(x):
                array = np.empty(np.size(x), object)
                array[:] = numbers
                given.append(array.reshape(np.shape(x)))
            else:
                given.append(numbers[0])
        y = f(*given, *rest)
        y = y[0] if isinstance(y, tuple) else y
        gradient.append(y.z.imag / 1e-30 if isinstance(y, Step) else 0.0)
    return np.array(gradient)


# ---- shrinking -------------------------------------------------------------------------------------------------------
def variants(block):
    """Smaller programs: a statement left out, or replaced by what is under it."""
    for k, s in enumerate(block):
        yield block[:k] + block[k + 1 :]
        if s.body is not None:
            yield block[:k] + s.body + block[k + 1 :]
            for smaller in variants(s.body):
                yield [*block[:k], Statement(s.text, smaller, s.orelse), *block[k + 1 :]]
        if s.orelse is not None:
            yield [*block[:k], Statement(s.text, s.body), *block[k + 1 :]]
            for smaller in variants(s.orelse):
                yield [*block[:k], Statement(s.text, s.body, smaller), *block[k + 1 :]]


def kind(result):
    """What a failure has in common with its smaller forms."""
    if result and result.startswith("refused"):
        return "refused" + result.partition(":")[2][-70:]
    return result and (result if result.startswith(("rejected", "raised")) else result[:8])


def attempt(maker, block, seed, judge=outcome):
    """What a judge says of one program."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), known(softened):
        warnings.simplefilter("ignore")
        return judge(maker, block, seed)


def shrunk(seed, result, judge=outcome, small=False, **options):
    """The source of a failing program, shrunk."""
    maker = make(seed, small, **options)

    def fails(block):
        try:
            with limited():  # a smaller program may run for ever
                return kind(attempt(maker, block, seed, judge)) == kind(result)
        except (Rejected, TooSlow, SyntaxError, contad.errors.ContadError):
            return False

    return maker.source(shrink(maker.program(), variants, fails))


@functools.cache
def prepare():
    """Let Numba load what it types functions of arrays with; a timer that goes off in it would leave it half loaded."""
    maker = Maker(0)
    maker.program()
    lines = ["c[:] = d[np.argsort(x)]", "p = np.argmax(x) % 3", "p = len(np.unique(idx))", "r = np.sort(idx)[1] * 0.1"]
    text = maker.source([Statement(line) for line in lines])
    with known(softened):
        derivative(namespace(text, -1)["f"], maker.aux)


def check(seed, small=False, judge=outcome, seconds=SECONDS, **options):
    """The outcome of one program: None, "raised alike", what went wrong, or "rejected: why"."""
    prepare()
    try:
        with limited(seconds):
            maker = make(seed, small, **options)
            return attempt(maker, maker.program(), seed, judge)
    except Rejected as error:
        return f"rejected: {error}"
    except TooSlow:
        return "rejected: slow"


def search(judge, options, **made):
    """Judge as many programs as the options of a command say; 1 if there are failures."""
    found, failures = collect(lambda seed: (check(seed, options.small, judge, 2 * SECONDS, **made), ()), options.seeds)
    return tell(found, failures, lambda seed, result: shrunk(seed, result, judge, options.small, **made))


@contextlib.contextmanager
def limited(seconds=SECONDS):
    """Inside, a program that takes longer than so many seconds of the processor raises TooSlow."""
    signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class TooSlow(BaseException):
    """A program took longer than SECONDS of the processor."""


def too_slow(*_):
    if global_compiler_lock.is_locked():  # kernels of the eager engines: may not be interrupted, and are compiled once
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        return
    raise TooSlow


def check_compiled(seed, small=False, tape=False):
    """As `check`, for the compiled source against the source run as Python, and against the engine `tape`."""
    result = check(seed, small)
    if result is not None:
        return result
    with known(softened):
        return compiled(make(seed, small), seed, tape)


def compiled(maker, seed, tape):
    """The outcome of a program whose derivative is compiled."""
    f = namespace(maker.source(), seed)["f"]
    args = arguments(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # as `attempt`: x / 0.0 may stand in an unused part
        warnings.simplefilter("ignore")
        value, gradient = generated(f, args, maker.aux)
    asked = Request(f.py_func, f, tuple(map(numba.typeof, args)), ARGNUMS, maker.aux, "value_and_grad")
    try:
        got_value, got = build(asked)(*args)
    except Exception as error:
        return f"crash compiled: {type(error).__name__}: {str(error)[:300]}"
    if not (close(numbers_of(got_value), value, 1e-12) and close(flat(got), gradient, 1e-12)):
        return f"wrong compiled: {flat(got)} for {gradient}"
    if tape:
        try:
            taped_value, taped = contad.value_and_grad(f, ARGNUMS, has_aux=maker.aux, engine="tape")(*args)
        except UnsupportedError:
            return "rejected: by the tape"
        if not (close(numbers_of(taped_value), value, 1e-9) and close(flat(taped), gradient, 1e-9)):
            return f"wrong beside the tape: {gradient} for {flat(taped)}"
    return None


def main():
    shown = "print the program of the seed and its derivative"
    options = parse_options(__doc__, 1000, compiled="small programs, compiled; against the tape, too", show=shown)
    if options.show:
        maker = make(options.seed)
        text = maker.source()
        program = read(namespace(text, options.seed)["f"], KINDS)
        print(text, DerivativeWriter(program, ARGNUMS, maker.aux).source(), sep="\n")
        return 0

    def examine(seed):
        result = check_compiled(seed, small=True, tape=True) if options.compiled else check(seed)
        return result, () if result and not result.startswith("raised") else constructs(make(seed).source())

    return tell(*collect(examine, options.seeds), shrunk)


if __name__ == "__main__":
    sys.exit(main())
