"""Jobs as they travel to other processes: messages, parcels, and what a worker does with them.

In a message large arrays that nobody can write to (`contad.constant`), and the function, are parcels, named by a digest
of their content. A worker keeps parcels; it answers with the names of those that it lacks.
"""

import hashlib
import pickle
import traceback
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.forks import make_lock
from contad.stan.functionals.job_functions import Leaves, Results
from contad.variables.layout import is_immutable
from contad.variables.open_types import Nested
from contad.variables.stack import alone
from contad.variables.trees import map_leaves

PARCEL_BYTES = 1024  # from which on content goes as a parcel
KEPT_BYTES = 1 << 30  # what a worker keeps of parcels; the one that has not been used for the longest goes first


class Job(NamedTuple):
    """What a worker is given of one job; the label is for messages."""

    broadcast: Leaves
    own: Leaves
    point: Any
    label: str


class Parcel(NamedTuple):
    """What is sent once; without content where the worker is taken to have it."""

    digest: bytes
    content: Any


class PlaceOfParcel(NamedTuple):
    """In a message, where the array of a parcel belongs."""

    parcel: int


class Message(NamedTuple):
    """A job as it travels; the first parcel is the function, whose pickle is its content."""

    job: Job
    parcels: tuple[Parcel, ...]


class Missing(NamedTuple):
    """What a worker lacks."""

    digests: list[bytes]


class Raised(NamedTuple):
    """What the function has raised, and the lines that led there, if another process has."""

    error: BaseException
    trace: str


# ---- on the worker ---------------------------------------------------------------------------------------------------
class ParcelStore:
    """Contents by digest, of at most so many bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._kept: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._lock = make_lock()  # workers may be threads of one process

    def find(self, digest: bytes) -> Any:
        """What is kept, or None."""
        with self._lock:
            if digest not in self._kept:
                return None
            self._kept.move_to_end(digest)
            return self._kept[digest][0]

    def keep(self, digest: bytes, content: Any, size: int) -> None:
        """Keep it, and forget what was used longest ago."""
        with self._lock:
            if digest in self._kept:
                return
            self._kept[digest] = content, size
            self.size += size
            while self.size > self.most and len(self._kept) > 1:
                self.size -= self._kept.popitem(last=False)[1][1]


_STORE = ParcelStore(KEPT_BYTES)


def run_message(message: Message, *arrays: Any) -> Results | Missing | Raised:
    """The results of a job, in a worker; `arrays` are the contents of the parcels after the first, where the executor
    has brought them itself.
    """
    try:
        brought = [None, *arrays] if arrays else [None] * len(message.parcels)
        opened = [_open(parcel, content) for parcel, content in zip(message.parcels, brought, strict=True)]
        missing = [parcel.digest for parcel, x in zip(message.parcels, opened, strict=True) if x is None]
        if missing:
            return Missing(missing)
        broadcast, own, point = (_unpack(x, opened) for x in message.job[:3])
        with alone():
            results: Results = opened[0](broadcast, own, point)
        return results
    except (Exception, SystemExit) as error:
        trace = "".join(traceback.format_exception(error))
        return Raised(_sendable(error), trace)


def _open(parcel: Parcel, brought: Any) -> Any:
    """The function or the array of a parcel; None where it is missing."""
    content = parcel.content if brought is None else brought
    if brought is not None:
        return _as_constant(*content)
    found = _STORE.find(parcel.digest)
    if found is not None or content is None:
        return found
    if isinstance(content, bytes):
        found = pickle.loads(content)
        _STORE.keep(parcel.digest, found, len(content))
    else:
        found = _as_constant(*content)
        _STORE.keep(parcel.digest, found, found.nbytes)
    return found


def _as_constant(content: bytes, dtype: str, shape: tuple[int, ...], in_columns: bool) -> np.ndarray:
    """An array that nobody can write to, so that recordings do not copy it."""
    a = np.frombuffer(content, dtype)
    return a.reshape(shape[::-1]).T if in_columns else a.reshape(shape)


def _unpack(x: Nested, opened: Sequence[Any]) -> Nested:
    return map_leaves(
        lambda leaf: opened[leaf.parcel] if isinstance(leaf, PlaceOfParcel) else leaf, x, is_leaf=_is_place
    )  # fmt: skip


def _is_place(x: Nested) -> bool:
    return isinstance(x, PlaceOfParcel)


def _sendable(error: BaseException) -> BaseException:
    """An error that pickle takes there and back, and that does not end the caller."""
    if isinstance(error, SystemExit):
        return RuntimeError(f"the function has ended its worker: {error!r}")
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:
        again = None
    return error if type(again) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")


def run_here(function: Any, job: Job) -> Results | Raised:
    """The results of a job on a thread of this process."""
    try:
        results: Results = function(job.broadcast, job.own, job.point)
        return results
    except (Exception, SystemExit) as error:
        return Raised(error, "")


# ---- packing ---------------------------------------------------------------------------------------------------------
def pack(job: Job) -> tuple[Job, list[np.ndarray]]:
    """A job with places for what goes as parcels, of which the first is the function, and these arrays."""
    arrays: list[np.ndarray] = []

    def put(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and is_parcel(leaf):
            arrays.append(leaf)
            return PlaceOfParcel(len(arrays))
        return leaf

    broadcast, own, point = (map_leaves(put, x) for x in job[:3])
    return Job(broadcast, own, point, job.label), arrays


def is_parcel(a: np.ndarray) -> bool:
    """Whether an array is sent once: it is of some size, in one piece, and nobody can write to it."""
    return a.nbytes >= PARCEL_BYTES and (a.flags.c_contiguous or a.flags.f_contiguous) and is_immutable(a)


def content_of(a: np.ndarray) -> tuple[bytes, str, tuple[int, ...], bool]:
    """What makes the array again: see `_as_constant`."""
    return a.tobytes("A"), a.dtype.str, a.shape, not a.flags.c_contiguous


def digest_of(*parts: Any) -> bytes:
    """The name of content."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        found.update(part)
    return found.digest()
