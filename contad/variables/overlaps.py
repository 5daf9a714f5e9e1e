"""Arguments that share memory. contad differentiates each as a separate array, so nobody may write to them.

With plain numbers a write to one would show in the others, and it is unclear which of them is differentiated. So contad
replaces such arguments by marked copies, and marks the variables that stand for these, on every level.
"""

import itertools
import traceback
import weakref
from collections.abc import Iterable, Sequence

import numpy as np

from contad.errors import ContadError, OverlapError, VariableError
from contad.variables.array import Array, root_of
from contad.variables.complex_pair import ComplexPair, split
from contad.variables.layout import OVERLAPPING, read_only
from contad.variables.library_refusals import error_behind
from contad.variables.number import Number, peek
from contad.variables.open_types import Nested, Value
from contad.variables.trees import is_of_library, leaves_of, map_leaves


def set_apart(what: str, args: tuple[Nested, ...], first_number: int = 0) -> tuple[Nested, ...]:
    """The arguments, with read-only copies in place of arrays that share memory.

    Messages count the arguments from the first number.
    """
    if len(args) == 1 and isinstance(args[0], (np.ndarray, Array)):
        return args
    if _have_own_memory(args):
        return args
    arrays: list[Value] = []
    for x in args:
        _collect(x, arrays)
    if len(arrays) < 2:
        return args
    owners = [owner for owner in map(_owner_of, arrays) if owner is not _FOREIGN]
    if len(set(owners)) == len(owners) and (len(owners) == len(arrays) or not _may_share(arrays)):
        return args
    return _separate(what, args, first_number)


def _have_own_memory(args: tuple[Nested, ...]) -> bool:
    """Whether the arguments are numbers and arrays, or views of arrays or bytes, without common memory."""
    owners: set[int] = set()
    count = 0
    for x in args:
        kind = x.__class__
        if kind is np.ndarray:
            base: Value = x.base
            if base is None:
                base = x
            elif base.__class__ is np.ndarray and base.base is not None:
                base = base.base
                if base.__class__ is not bytes:
                    return False
            elif base.__class__ is not np.ndarray and base.__class__ is not bytes:
                return False
            owners.add(id(base))
            count += 1
        elif kind is not float:
            return False
    return len(owners) == count


def _collect(x: Nested, arrays: list[Value]) -> None:
    """Add the arrays in an argument; for the usual containers this is faster than a call of optree."""
    kind = x.__class__
    if kind is dict or kind is list or kind is tuple:
        parts = x.values() if kind is dict else x
        if {*map(type, parts)} != _FLOATS:
            for part in parts:
                if part.__class__ is not float:
                    _collect(part, arrays)
    elif isinstance(x, (np.ndarray, Array)):
        arrays.append(x)
    elif not isinstance(x, (Number, str, float, int)) and x is not None and not is_of_library(x):
        arrays += [leaf for leaf in leaves_of(x) if isinstance(leaf, (np.ndarray, Array))]


_FLOATS = {float}


def require_apart(what: str, args: Sequence[Nested]) -> None:
    """Refuse arguments that share memory, for a function that writes into its arguments."""
    for x in leaves_of(set_apart(what, tuple(args))) if len(args) > 1 else ():
        if isinstance(x, np.ndarray) and id(x) in OVERLAPPING:
            raise OverlapError(OVERLAPPING[id(x)][1])


def _may_share(arrays: list[Value]) -> bool:
    """Whether the address ranges of two arrays overlap."""
    return any(itertools.starmap(np.may_share_memory, itertools.combinations(map(peek, arrays), 2)))


_FOREIGN = None  # the owner of memory that NumPy did not allocate, perhaps that of another array


def _owner_of(x: Value) -> int | None:
    """The object that identifies the memory of an array."""
    root = root_of(x)
    return _FOREIGN if isinstance(root, np.ndarray) and root.base is not None else id(root)


def share_memory(x: Value, y: Value) -> bool:
    """Whether two arrays may share memory, or writes to either are already refused because an inner level knows
    this."""
    roots = root_of(x), root_of(y)
    if roots[0] is roots[1] or all(id(root) in OVERLAPPING for root in roots):
        return True
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)


def _separate(what: str, args: tuple[Nested, ...], first_number: int) -> tuple[Nested, ...]:
    found = ((n, x) for n, arg in enumerate(args, first_number) for x in leaves_of(arg))
    leaves = [(n, x) for n, x in found if isinstance(x, (np.ndarray, Array))]
    messages: dict[int, str] = {}  # by id, for arrays that share elements with others
    for (n, x), (k, y) in itertools.combinations(leaves, 2):
        owners = {_owner_of(x), _owner_of(y)}
        if (len(owners) == 1 or _FOREIGN in owners) and _share_elements(x, y):
            named = f"arguments {n} and {k}" if n != k else f"arrays in argument {n}"
            for one in (x, y):
                messages.setdefault(
                    id(one), f"{what}: {named} overlap in memory and the function writes into one of them; pass copies"
                )

    def copy_marked(x: Value) -> Value:
        return forbid_writing(x.copy("K"), messages[id(x)]) if id(x) in messages else x

    return tuple(map_leaves(copy_marked, x) for x in args) if messages else args


def _share_elements(x: Value, y: Value) -> bool:
    if x is y:
        return bool(x.size)
    try:
        return np.shares_memory(peek(x), peek(y), max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def forbid_writing(x: Value, message: str) -> Value:
    """x, after which a write to its memory raises OverlapError with this message."""
    root, key = root_of(x), id(root_of(x))
    OVERLAPPING[key] = weakref.ref(root, lambda _: OVERLAPPING.pop(key, None)), message
    if isinstance(x, np.ndarray):
        x.flags.writeable = root.flags.writeable = False
    elif isinstance(root, Array):
        root._value = read_only(root._value)  # for the fast path of writes to an element
    return x


def forbid_writing_shared(name: str, other: str, arrays: Iterable[Value]) -> None:
    """Make writes to one of these raise OverlapError: the result of `name`, and the arrays with which it shares
    memory."""
    for x in arrays:
        forbid_writing(
            x, f"{name}: its result and {other} share memory, and one of them is written to; return x.copy() in it"
        )


def hand_on_marks(given: Sequence[Nested], made: Sequence[Nested]) -> None:
    """Mark arrays made from marked arguments."""
    def hand_on(x: Nested, y: Nested) -> None:
        if y is not x and isinstance(x, (np.ndarray, Array)) and id(root_of(x)) in OVERLAPPING:
            for part in split(y) if isinstance(y, ComplexPair) else (y,):
                forbid_writing(part, OVERLAPPING[id(root_of(x))][1])

    for arg, own in zip(given, made, strict=True):
        map_leaves(hand_on, arg, own)


def error_instead(error: BaseException, caught: VariableError | None = None) -> ContadError | None:
    """The contad error that should replace an error of a function, if any."""
    if OVERLAPPING and isinstance(error, ValueError) and "read-only" in str(error):  # NumPy's, for a marked array
        for frame, _ in traceback.walk_tb(error.__traceback__):
            for x in frame.f_locals.values():
                if isinstance(x, np.ndarray) and id(root_of(x)) in OVERLAPPING:
                    return OverlapError(OVERLAPPING[id(root_of(x))][1])
    return error_behind(error, caught)
