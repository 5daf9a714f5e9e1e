"""Jobs on the workers of an executor: what is sent, what is sent once, and what happens where a job or a worker fails.

Workers on threads take jobs as they are. To others a job goes as a message, in which large arrays that nobody can write
to (`contad.constant`), and the function, are parcels, named by a digest of their content. A worker keeps parcels; one
that a job needs and its worker lacks is asked for, and the job sent again with it. In a Dask cluster such arrays are
scattered as futures instead, and jobs run where their data are.
"""

import concurrent.futures
import functools
import hashlib
import pickle
import threading
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.stan.functionals.job_functions import Leaves, Results
from contad.variables.layout import is_immutable
from contad.variables.open_types import Nested
from contad.variables.trees import map_leaves

PARCEL_BYTES = 1024  # from which on content goes as a parcel
KEPT_BYTES = 1 << 30  # what a worker keeps of parcels; the one that has not been used for the longest goes first
TRIES = 3  # for a job whose worker was lost


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


class Place(NamedTuple):
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
class Store:
    """Contents by digest, of at most so many bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._kept: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()  # workers may be threads of one process

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


_STORE = Store(KEPT_BYTES)


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
        lambda leaf: opened[leaf.parcel] if isinstance(leaf, Place) else leaf, x, is_leaf=_is_place
    )  # fmt: skip


def _is_place(x: Nested) -> bool:
    return isinstance(x, Place)


def _sendable(error: BaseException) -> BaseException:
    """An error that pickle takes there and back, and that does not end the caller."""
    if isinstance(error, SystemExit):
        return RuntimeError(f"the function has ended its worker: {error!r}")
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:
        again = None
    return error if type(again) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")


def _run_here(function: Any, job: Job) -> Results | Raised:
    """The results of a job on a thread of this process."""
    try:
        results: Results = function(job.broadcast, job.own, job.point)
        return results
    except (Exception, SystemExit) as error:
        return Raised(error, "")


# ---- on the caller's side --------------------------------------------------------------------------------------------
def run_jobs(name: str, function: Any, jobs: Sequence[Job], executor: Any) -> Iterator[Results]:
    """The results of a job function in the order of jobs, whatever the order in which they come."""
    if executor is None:
        for job in jobs:
            yield _settle(name, job, _run_here(function, job))
        return
    sender: Any = _Threads(function) if is_of_threads(executor) else _Messages(name, function, executor)
    if hasattr(executor, "get_executor"):  # a Dask client
        executor = executor.get_executor()
    outcomes: dict[int, Any] = {}
    waiting, tries = dict.fromkeys(range(len(jobs)), 0), 0
    lacked: set[bytes] = set()
    while waiting:
        futures = {}
        try:
            sender.begin(tries, lacked)
            for k in waiting:
                futures[k] = _submit(name, jobs[k], executor, sender)
            again: dict[int, int] = {}
            for k, future in futures.items():
                try:
                    outcome = future.result()
                except Exception as error:
                    if _is_final(error) or waiting[k] + 1 == TRIES:
                        raise _lost(name, jobs[k], len(jobs) - len(outcomes), error) from error
                    again[k] = waiting[k] + 1
                    sender.forget(jobs[k])
                    continue
                if isinstance(outcome, Missing):
                    again[k] = waiting[k]
                    lacked |= set(outcome.digests)
                else:
                    outcomes[k] = _settle(name, jobs[k], outcome)
        finally:
            for future in futures.values():
                future.cancel()
        waiting, tries = again, tries + 1
    yield from (outcomes[k] for k in range(len(jobs)))


def is_of_threads(executor: Any) -> bool:
    """Whether workers share the memory of the caller."""
    return isinstance(executor, concurrent.futures.ThreadPoolExecutor)


def _submit(name: str, job: Job, executor: Any, sender: Any) -> Any:
    try:
        call, *args = sender.prepare(job)
        return executor.submit(call, *args, **sender.options)
    except RuntimeError as error:  # broken, or shut down
        raise _lost(name, job, 1, error) from error


def _settle(name: str, job: Job, outcome: Any) -> Results:
    """The results, or what the function has raised."""
    if isinstance(outcome, Raised):
        outcome.error.add_note(f"{name}: in {job.label}")
        if outcome.trace:
            outcome.error.add_note(f"on a worker:\n{outcome.trace.rstrip()}")
        if isinstance(outcome.error, SystemExit):
            raise RuntimeError(f"{name}: {job.label} has called exit: {outcome.error!r}") from outcome.error
        raise outcome.error
    results: Results = outcome
    return results


def _is_final(error: Exception) -> bool:
    """Whether another try is of no use: the executor takes no more, or a job has ended several workers (Dask)."""
    return isinstance(error, concurrent.futures.BrokenExecutor) or type(error).__name__ == "KilledWorker"


def _lost(name: str, job: Job, count: int, error: Exception) -> RuntimeError:
    others = f" (one of {count} that were not)" if count > 1 else ""
    what = type(error).__name__ if not str(error) else f"{type(error).__name__}: {error}"
    return RuntimeError(
        f"{name}: a worker or the executor ended before {job.label} was done{others}, and there is no result: {what}"
    )


class _Threads:
    """How jobs go to threads."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.options: dict[str, Any] = {}

    def begin(self, tries: int, lacked: set[bytes]) -> None:
        """A round of submissions."""

    def prepare(self, job: Job) -> tuple[Any, ...]:
        """What is submitted."""
        return _run_here, self.function, job

    def forget(self, job: Job) -> None:
        """A job is tried again."""


class _Messages:
    """How jobs go to other processes.

    In the first round content goes along that this executor has not carried; later, what workers have lacked: with 4
    jobs of the second round, with 16 of the third, for a worker that has got it with one job has it for all others.
    """

    def __init__(self, name: str, function: Any, executor: Any) -> None:
        from numba import cloudpickle  # by name where the other side finds it by that, else by value

        try:
            content = cloudpickle.dumps(function)
        except Exception as error:
            error.add_note(f"{name}: f cannot be sent to another process")
            raise
        self.function = Parcel(_digest(content), content)
        self.client = _client_of(executor)
        self.options = {} if self.client is None else {"pure": False}  # or Dask takes a second try for the first
        self.carried = _carried(self.client or executor)
        self.copies: dict[bytes, int] = {}
        self.most, self.lacked = 1, set[bytes]()

    def begin(self, tries: int, lacked: set[bytes]) -> None:
        """A round of submissions."""
        self.most, self.lacked, self.copies = 4**tries, lacked, {}

    def prepare(self, job: Job) -> tuple[Any, ...]:
        """What is submitted."""
        arrays: list[np.ndarray] = []

        def pack(leaf: Any) -> Any:
            if isinstance(leaf, np.ndarray) and is_parcel(leaf):
                arrays.append(leaf)
                return Place(len(arrays))
            return leaf

        packed = job._replace(
            broadcast=map_leaves(pack, job.broadcast), own=map_leaves(pack, job.own), point=map_leaves(pack, job.point)
        )
        contents = [_Sent.of(a) for a in arrays]
        parcels = [self._with_content(self.function.digest, lambda: self.function.content)]
        if self.client is not None:
            handles = [sent.scatter(self.client, a) for sent, a in zip(contents, arrays, strict=True)]
            parcels += [Parcel(sent.digest(a), None) for sent, a in zip(contents, arrays, strict=True)]
            return run_message, Message(packed, tuple(parcels)), *handles
        for sent, a in zip(contents, arrays, strict=True):
            parcels.append(self._with_content(sent.digest(a), functools.partial(_content_of, a)))
        return run_message, Message(packed, tuple(parcels))

    def _with_content(self, digest: bytes, content: Any) -> Parcel:
        small = digest == self.function.digest and len(self.function.content) < PARCEL_BYTES
        copies = self.copies.get(digest, 0)
        if small or (copies < self.most and (digest in self.lacked or digest not in self.carried)):
            self.copies[digest] = copies + 1
            if copies + 1 == self.most or small:
                self.carried.add(digest)
            return Parcel(digest, content())
        return Parcel(digest, None)

    def forget(self, job: Job) -> None:
        """A job is tried again: data that were lost with a worker are scattered again."""
        if self.client is None:
            return

        def drop(leaf: Any) -> Any:
            if isinstance(leaf, np.ndarray) and is_parcel(leaf):
                _Sent.of(leaf).handles.pop(self.client, None)
            return leaf

        map_leaves(drop, [job.broadcast, job.own, job.point])


def is_parcel(a: np.ndarray) -> bool:
    """Whether an array is sent once: it is of some size, in one piece, and nobody can write to it."""
    return a.nbytes >= PARCEL_BYTES and (a.flags.c_contiguous or a.flags.f_contiguous) and is_immutable(a)


def _content_of(a: np.ndarray) -> tuple[bytes, str, tuple[int, ...], bool]:
    return a.tobytes("A"), a.dtype.str, a.shape, not a.flags.c_contiguous


def _digest(*parts: Any) -> bytes:
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        found.update(part)
    return found.digest()


class _Sent:
    """What is known of the pieces of an array that nobody can write to, for as long as its memory lives: their digests,
    and in Dask clusters the futures that stand for them.
    """

    _known: dict[int, tuple[Any, "_Sent"]] = {}  # noqa: RUF012; by the identity of what owns the memory

    def __init__(self) -> None:
        self.digests: dict[Any, bytes] = {}
        self.handles: weakref.WeakKeyDictionary[Any, dict[bytes, Any]] = weakref.WeakKeyDictionary()

    @classmethod
    def of(cls, a: np.ndarray) -> "_Sent":
        """What is known of the memory of an array."""
        owner = a
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        known = cls._known.get(id(owner))
        if known is not None and known[0]() is owner:
            return known[1]
        key, made = id(owner), cls()
        cls._known[key] = weakref.ref(owner, lambda _: cls._known.pop(key, None)), made
        return made

    def digest(self, a: np.ndarray) -> bytes:
        """The name of a piece."""
        key = a.__array_interface__["data"][0], a.dtype.str, a.shape, a.strides
        if key not in self.digests:
            in_order = a if a.flags.c_contiguous else a.T
            self.digests[key] = _digest(repr((a.dtype.str, a.shape, a.flags.c_contiguous)).encode(), in_order.data)
        return self.digests[key]

    def scatter(self, client: Any, a: np.ndarray) -> Any:
        """The future that stands for a piece in a cluster."""
        handles = self.handles.setdefault(client, {})
        digest = self.digest(a)
        if digest not in handles:
            (handles[digest],) = client.scatter([_content_of(a)], hash=False)
        return handles[digest]


_CARRIED: weakref.WeakKeyDictionary[Any, set[bytes]] = weakref.WeakKeyDictionary()


def _carried(executor: Any) -> set[bytes]:
    """The digests of what an executor has carried to a worker."""
    try:
        return _CARRIED.setdefault(executor, set())
    except TypeError:  # it takes no weak references: everything goes with every call
        return set()


def _client_of(executor: Any) -> Any:
    """The Dask client behind an executor, or the executor itself if it is one; None of any other."""
    for x in (executor, getattr(executor, "_client", None)):
        if hasattr(x, "scatter") and hasattr(x, "get_executor"):
            return x
    return None
