"""Ways to differentiate a function of arrays: every engine and forward mode, on arrays and on object arrays of scalars.

A way is a name: that of an engine or of forward mode, which take arrays directly, or this name with ON_OBJECTS, which
takes an object array of scalars in place of each array. The engines `closures` and `records` turn any array into an
object array. If one of these ways cannot run f but the default engine can, checks skip the way and give the reason.
"""

import dis
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from types import TracebackType

import numpy as np

from contad.engines import DEFAULT
from contad.engines.forward import forward_level
from contad.errors import NUMPY_FILES, OWN_FILES, LostDerivativeError, UnsupportedError
from contad.protocols.number_protocols import array_ufunc
from contad.testing.specimen import FORWARD, MANY, Specimen, fill, inner, numbers_of, weights
from contad.transforms.gradients import grad, jvp, vjp
from contad.transforms.jacobians import is_array
from contad.variables.array import as_objects
from contad.variables.complex_pair import DROPPED
from contad.variables.open_types import Function, Nested
from contad.variables.trees import flatten

ON_OBJECTS = " on object arrays"
ARRAYS = ("matrix", FORWARD)  # ways with array variables, which treat object arrays differently


# ---- names -----------------------------------------------------------------------------------------------------------
def is_forward(way: str) -> bool:
    """Whether a way is forward mode."""
    return way.startswith(FORWARD)


def engine_of(way: str) -> str:
    """The name of the engine of a way in reverse mode."""
    return way.removesuffix(ON_OBJECTS)


def is_on_arrays(way: str) -> bool:
    """Whether a way has array variables or array duals, so that NumPy's functions find contad's rules."""
    return way in ARRAYS


def form(way: str, args: Sequence[Nested]) -> list[Nested]:
    """The arguments in the form that a way takes."""
    if not way.endswith(ON_OBJECTS):
        return list(args)
    trees = [flatten(x) for x in args]
    return [tree.unflatten([as_objects(x) if is_array(x) else x for x in tree.leaves]) for tree in trees]


# ---- derivatives of a function that returns one number ---------------------------------------------------------------
def gradient(g: Function, way: str) -> Callable[..., list[Nested]]:
    """The gradient of g as a function of its arguments: a list of all partial derivatives.

    Forward mode takes several tangents at once, one for each number.
    """
    if is_forward(way):
        return lambda *args: [d for axes in _axes(count_of(args)) for d in several(g, way, args, axes)]
    return lambda *args: numbers_of(list(grad(g, tuple(range(len(args))), engine=engine_of(way))(*form(way, args))))


def _axes(n: int) -> Iterator[np.ndarray]:
    """The coordinate axes, as the rows of matrices with at most MANY rows."""
    for k in range(0, n, MANY):
        yield np.eye(min(MANY, n - k), n, k)


def along(g: Function, way: str, numbers: Sequence[float]) -> Function:
    """The derivative of g in one direction, as a function of its arguments."""

    def derivative(*args: Nested) -> Nested:
        if is_forward(way):
            return jvp(g, form(way, args), like(args, numbers))[1]
        found = grad(g, tuple(range(len(args))), engine=engine_of(way))(*form(way, args))
        return inner(list(found), numbers)

    return derivative


def several(g: Function, way: str, args: Sequence[Nested], directions: np.ndarray) -> list[Nested]:
    """The derivatives of g in several directions, by one pass of forward mode."""
    with forward_level(len(directions)) as level:
        active, k = [], 0
        for x in form(way, args):
            tree = flatten(x)
            leaves = []
            for leaf in tree.leaves:
                shape = leaf.shape if is_array(leaf) else ()
                n = int(np.prod(shape))
                own = directions[:, k : k + n].reshape((len(directions), *shape))
                leaves.append(level.make_active(leaf, own, "expect_ad"))
                k += n
            active.append(tree.unflatten(leaves))
        return list(level.tangent_of(g(*active)))


def count_of(args: Sequence[Nested]) -> int:
    """The number of numbers in the arguments."""
    return sum(leaf.size if is_array(leaf) else 1 for x in args for leaf in flatten(x).leaves)


def like(args: Sequence[Nested], numbers: Sequence[float]) -> list[Nested]:
    """Plain numbers in the structures of the arguments."""
    rest = iter(numbers)
    made = []
    for x in args:
        tree = flatten(x)
        plain = [np.zeros(leaf.shape) if is_array(leaf) else 0.0 for leaf in tree.leaves]
        made.append(fill(tree._replace(leaves=plain), rest))
    return made


# ---- refusals of NumPy -----------------------------------------------------------------------------------------------
def usable(s: Specimen, ways: Sequence[str], asked: Collection[str] | None = None) -> list[str]:
    """The ways to differentiate a function of arrays, except ways on object arrays that NumPy refuses.

    Without `asked`, any other way that raises fails later. With it, only the ways that are asked for do. The other ways
    are skipped if contad refuses f, as engines without assignable arrays do, and so is forward mode if a rule has none.
    This is decided before any comparison of numbers, so a wrong number is never skipped.
    """
    every = [*ways, *(way + ON_OBJECTS for way in ways if s.has_arrays and way in ARRAYS)]
    refused: dict[str, list[str]] = {}
    for way in every:
        reason = _refusal(s, way, asked is not None and way not in asked)
        if reason is not None:
            refused.setdefault(reason, []).append(way)
    for reason, names in refused.items():
        s.report.skipped[", ".join(names)] = reason
    return [way for way in every if not any(way in names for names in refused.values())]


def _refusal(s: Specimen, way: str, lenient: bool) -> str | None:
    """The reason why a way may be unable to run f; None if it can run f, or if contad is to blame."""
    of_arrays = s.has_arrays and not is_on_arrays(way)
    if not of_arrays and not (lenient and way != DEFAULT):
        return None
    args = form(way, s.rebuilt(s.numbers))
    try:
        if is_forward(way):
            jvp(s.f, args, s.rebuilt(weights(len(s.numbers))))
        else:
            vjp(s.f, *args, engine=engine_of(way))
        return None
    except Exception as error:
        reason = refusal(error, s.f, s.rebuilt(s.numbers)) if of_arrays else None
        if reason is None and lenient and isinstance(error, (LostDerivativeError, UnsupportedError)):
            if way != FORWARD or "no forward mode" in str(error):
                return str(error)
        return reason


def refusal(error: Exception, f: Function, args: Sequence[Nested], active: Sequence[int] | None = None) -> str | None:
    """NumPy's reason for an exception that f raised on object arrays of variables, if the exception is NumPy's own.

    It is NumPy's own if NumPy raised a TypeError, asked a variable for an attribute of NumPy's numbers, or passed
    options such as out= to a ufunc of a variable; or if on plain object arrays of floats in the places of `active`
    NumPy raises the same exception, or turns them into float arrays.
    """
    if isinstance(error, UnsupportedError) and isinstance(error.__cause__, (TypeError, AttributeError, ValueError)):
        error = error.__cause__  # contad has reworded NumPy's refusal
    if is_of_numpy(error, TypeError, AttributeError):
        return f"NumPy on object arrays: {type(error).__name__}: {error}"
    if isinstance(error, UnsupportedError) and (_gave_options(error) or DROPPED in str(error)):
        return f"NumPy on object arrays: {error}"
    places = range(len(args)) if active is None else active
    objects = [form(ON_OBJECTS, [x])[0] if k in places else x for k, x in enumerate(args)]
    try:
        with np.errstate(all="ignore"):
            z = f(*objects)
    except Exception as plain:
        if type(plain) is type(error) and is_of_numpy(plain, Exception):
            return f"NumPy on object arrays of floats: {type(plain).__name__}: {plain}"
        return None
    converted = all(
        isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.dtype != object) for x in flatten(z).leaves
    )
    if isinstance(error, LostDerivativeError) and converted:
        return "NumPy makes float arrays of object arrays"
    return None


def is_of_numpy(error: Exception, *kinds: type[Exception]) -> bool:
    """Whether NumPy raised the exception: in its Python code, or in C that code outside of contad called."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not isinstance(error, kinds):
        return False
    code = last.tb_frame.f_code
    if code.co_filename.startswith((OWN_FILES, NUMPY_FILES)):
        return code.co_filename.startswith(NUMPY_FILES)
    return isinstance(error, TypeError) and dis.opname[code.co_code[last.tb_lasti]] != "RAISE_VARARGS"


def _gave_options(error: Exception) -> bool:
    """Whether the exception comes from a ufunc that NumPy's Python code called with options on a variable."""
    caller, last = [None, None, *(frame for frame, _ in traceback.walk_tb(error.__traceback__))][-2:]
    if caller is None or last is None or last.f_code is not array_ufunc.__code__:
        return False
    return bool(last.f_locals["options"]) and caller.f_code.co_filename.startswith(NUMPY_FILES)
