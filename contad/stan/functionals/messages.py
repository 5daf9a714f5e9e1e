"""Jobs for other processes: messages, parcels, and how a worker handles them.

In a message, the function and large read-only arrays (`contad.constant`) are parcels, named by a digest of their
content. A worker keeps parcels, and replies with the names of missing ones.
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

PARCEL_BYTES = 1024  # content of at least this size becomes a parcel
KEPT_BYTES = 1 << 30  # limit of a worker's parcels; the least recently used goes first


class Job(NamedTuple):
    """The data of one job for a worker; the label is for messages."""

    broadcast: Leaves
    own: Leaves
    point: Any
    label: str


class Parcel(NamedTuple):
    """Content that is sent once; omitted if the worker should already have it."""

    digest: bytes
    content: Any


class PlaceOfParcel(NamedTuple):
    """A placeholder in a message for the array of a parcel."""

    parcel: int


class Message(NamedTuple):
    """A job in transit; the first parcel is the pickled function."""

    job: Job
    parcels: tuple[Parcel, ...]


class Missing(NamedTuple):
    """The parcels that a worker lacks."""

    digests: list[bytes]


class Raised(NamedTuple):
    """The function's exception, and its traceback if it was raised in another process."""

    error: BaseException
    trace: str


# ---- on the worker ---------------------------------------------------------------------------------------------------
class ParcelStore:
    """Contents by digest, up to a limit of bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._kept: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._lock = make_lock()  # workers may be threads of one process

    def find(self, digest: bytes) -> Any:
        """The stored content, or None."""
        with self._lock:
            if digest not in self._kept:
                return None
            self._kept.move_to_end(digest)
            return self._kept[digest][0]

    def keep(self, digest: bytes, content: Any, size: int) -> None:
        """Store it, and drop the least recently used."""
        with self._lock:
            if digest in self._kept:
                return
            self._kept[digest] = content, size
            self.size += size
            while self.size > self.most and len(self._kept) > 1:
                self.size -= self._kept.popitem(last=False)[1][1]


_STORE = ParcelStore(KEPT_BYTES)


def run_message(message: Message, *arrays: Any) -> Results | Missing | Raised:
    """The results of a job, in a worker; `arrays` are the contents of the parcels after the first, if the executor
    itself has transferred them.
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
    """The function or the array of a parcel; None if it is missing."""
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
    """A read-only array, which recordings do not copy."""
    a = np.frombuffer(content, dtype)
    return a.reshape(shape[::-1]).T if in_columns else a.reshape(shape)


def _unpack(x: Nested, opened: Sequence[Any]) -> Nested:
    return map_leaves(
        lambda leaf: opened[leaf.parcel] if isinstance(leaf, PlaceOfParcel) else leaf, x, is_leaf=_is_place
    )  # fmt: skip


def _is_place(x: Nested) -> bool:
    return isinstance(x, PlaceOfParcel)


def _sendable(error: BaseException) -> BaseException:
    """An error that survives pickling, and that does not end the caller."""
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
    """A job with placeholders for its parcels (the first is the function), and these arrays."""
    arrays: list[np.ndarray] = []

    def put(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and is_parcel(leaf):
            arrays.append(leaf)
            return PlaceOfParcel(len(arrays))
        return leaf

    broadcast, own, point = (map_leaves(put, x) for x in job[:3])
    return Job(broadcast, own, point, job.label), arrays


def is_parcel(a: np.ndarray) -> bool:
    """Whether an array is sent only once: it is large enough, contiguous and read-only."""
    return a.nbytes >= PARCEL_BYTES and (a.flags.c_contiguous or a.flags.f_contiguous) and is_immutable(a)


def content_of(a: np.ndarray) -> tuple[bytes, str, tuple[int, ...], bool]:
    """The data to rebuild the array: see `_as_constant`."""
    return a.tobytes("A"), a.dtype.str, a.shape, not a.flags.c_contiguous


def digest_of(*parts: Any) -> bytes:
    """The digest of content."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        found.update(part)
    return found.digest()
