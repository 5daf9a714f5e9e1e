"""Jobs on the workers of an executor: sending data once, and handling failures of jobs and workers.

Threads take jobs directly, and other processes take messages. If a worker lacks data for a job, it asks for them, and
the job is sent again with the data. In a Dask cluster, arrays are scattered as futures instead, and jobs run where
their data are.
"""

import concurrent.futures
import functools
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from contad.stan.functionals.job_functions import Results
from contad.stan.functionals.messages import (
    PARCEL_BYTES,
    Job,
    Message,
    Missing,
    Parcel,
    Raised,
    content_of,
    digest_of,
    is_parcel,
    pack,
    run_here,
    run_message,
)
from contad.variables.trees import leaves_of

TRIES = 3  # for a job whose worker or data were lost
PAUSE = 0.3  # seconds before another try, so that a cluster can detect its losses


def run_jobs(name: str, function: Any, jobs: Sequence[Job], executor: Any) -> Iterator[Results]:
    """The results of a job function in the order of jobs, whatever their order of arrival."""
    if executor is None:
        for job in jobs:
            yield _settle(name, job, run_here(function, job))
        return
    sender = _sender(name, function, executor)
    outcomes: dict[int, Results] = {}
    waiting, rounds = dict.fromkeys(range(len(jobs)), 0), 0
    while waiting:  # jobs whose outcomes are pending, with their numbers of losses
        sender.begin(rounds)
        futures: dict[int, Any] = {}
        again: dict[int, int] = {}
        try:
            for k, tries in waiting.items():
                final: Any = Exception if tries + 1 == TRIES else RuntimeError
                futures[k] = _attempt(name, jobs[k], functools.partial(sender.submit, jobs[k]), final)
            for k, future in futures.items():
                final = Exception if waiting[k] + 1 == TRIES else sender.final
                outcome = future if isinstance(future, _Lost) else _attempt(name, jobs[k], future.result, final)
                if isinstance(outcome, _Lost):
                    again[k] = waiting[k] + 1
                    sender.forget(jobs[k])
                elif isinstance(outcome, Missing):
                    again[k] = waiting[k]
                    sender.lacked |= set(outcome.digests)
                else:
                    outcomes[k] = _settle(name, jobs[k], outcome)
        finally:
            for future in futures.values():
                future.cancel()
        if any(again[k] > waiting[k] for k in again):
            time.sleep(PAUSE)
        waiting, rounds = again, rounds + 1
    yield from (outcomes[k] for k in range(len(jobs)))


class _Lost:
    """Replaces a future or an outcome if the job has to be tried again."""

    def cancel(self) -> None:
        """Like the method of futures."""


def _attempt(name: str, job: Job, run: Callable[[], Any], final: Any) -> Any:
    """The result of run(); _Lost if the executor fails, or an error that names the job if the failure is final."""
    try:
        return run()
    except Exception as error:
        if not isinstance(error, (concurrent.futures.BrokenExecutor, final)) and not _has_ended_several(error):
            return _Lost()
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RuntimeError(
            f"{name}: a worker or the executor ended before {job.label} was done, and there is no result: {what}"
        ) from error


def _has_ended_several(error: Exception) -> bool:
    """Whether Dask has given up on a job because several workers died with it."""
    return type(error).__name__ == "KilledWorker"


def _settle(name: str, job: Job, outcome: Results | Raised) -> Results:
    """The results, or the function's exception."""
    if not isinstance(outcome, Raised):
        return outcome
    error = outcome.error
    if isinstance(error, SystemExit):  # raised on a thread, it must not end the caller
        error = RuntimeError(f"{name}: the function has called exit: {error!r}")
    error.add_note(f"{name}: in {job.label}")
    if outcome.trace:
        error.add_note(f"on a worker:\n{outcome.trace.rstrip()}")
    raise error


# ---- how jobs go to workers ------------------------------------------------------------------------------------------
class _Sender(Protocol):
    """A connection to workers. Errors of the class `final` are not retried."""

    final: Any
    lacked: set[bytes]

    def begin(self, rounds: int) -> None:
        """A round of submissions."""

    def submit(self, job: Job) -> Any:
        """A future for the outcome of a job."""

    def forget(self, job: Job) -> None:
        """Assume that the data of the job are lost."""


def _sender(name: str, function: Any, executor: Any) -> _Sender:
    if isinstance(executor, concurrent.futures.ThreadPoolExecutor):
        return _ToThreads(function, executor)
    from numba import cloudpickle  # by name if the other side can find it, otherwise by value

    try:
        content = cloudpickle.dumps(function)
    except Exception as error:
        error.add_note(
            f"{name}: f cannot be sent to another process; make inside it what does not pickle (locks, open files), or "
            "use threads"
        )
        raise
    client = _client_of(executor)
    return _ToProcesses(content, executor) if client is None else _ToCluster(content, client, executor)


class _ToThreads:
    """Jobs for threads, without messages."""

    final: Any = ()

    def __init__(self, function: Any, executor: Any) -> None:
        self.function, self.executor = function, executor
        self.lacked: set[bytes] = set()

    def begin(self, rounds: int) -> None:
        """Nothing is sent."""

    def submit(self, job: Job) -> Any:
        """A future for the outcome of a job."""
        return self.executor.submit(run_here, self.function, job)

    def forget(self, job: Job) -> None:
        """Nothing is lost."""


class _ToProcesses:
    """Messages, with the parcels that this executor has not sent yet or that workers lack.

    A worker that has received a parcel with one job has it for all others. So a parcel goes with one job of the first
    round, with 4 of the second, and with 16 of the third.
    """

    final: Any = ()

    def __init__(self, content: bytes, executor: Any) -> None:
        self.content, self.executor = content, executor
        self.name = digest_of(content)
        self.carried = _digests_carried_by(executor)
        self.lacked: set[bytes] = set()
        self.copies: dict[bytes, int] = {}
        self.most = 1

    def begin(self, rounds: int) -> None:
        """A round of submissions."""
        self.most, self.copies = 4**rounds, {}

    def submit(self, job: Job) -> Any:
        """A future for the outcome of a job."""
        packed, arrays = pack(job)
        parcels = [self._parcel(Sent.of(a).digest(a), functools.partial(content_of, a)) for a in arrays]
        return self.executor.submit(run_message, Message(packed, (self._function(), *parcels)))

    def forget(self, job: Job) -> None:
        """Do nothing: workers report the parcels that they lack."""

    def _function(self) -> Parcel:
        if len(self.content) < PARCEL_BYTES:
            return Parcel(self.name, self.content)
        return self._parcel(self.name, lambda: self.content)

    def _parcel(self, digest: bytes, content: Callable[[], Any]) -> Parcel:
        copies = self.copies.get(digest, 0)
        if copies == self.most or (digest in self.carried and digest not in self.lacked):
            return Parcel(digest, None)
        self.copies[digest] = copies + 1
        if copies + 1 == self.most:
            self.carried.add(digest)
        return Parcel(digest, content())


class _ToCluster(_ToProcesses):
    """A Dask cluster: arrays are its own futures, which stay with the worker that has them."""

    def __init__(self, content: bytes, client: Any, executor: Any) -> None:
        super().__init__(content, client)
        # not the executor's own futures, which are never done if a worker died with a result
        self.client, self.options = client, {"pure": False, **getattr(executor, "_kwargs", {})}
        self.is_shut_down = executor is not client and executor._shutdown

    def submit(self, job: Job) -> Any:
        """A future for the outcome of a job."""
        if self.is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        packed, arrays = pack(job)
        handles = [Sent.of(a).scatter(self.client, a) for a in arrays]
        parcels = [Parcel(Sent.of(a).digest(a), None) for a in arrays]
        return self.client.submit(run_message, Message(packed, (self._function(), *parcels)), *handles, **self.options)

    def forget(self, job: Job) -> None:
        """Scatter the data of lost workers again."""
        for leaf in leaves_of(list(job[:3])):
            if isinstance(leaf, np.ndarray) and is_parcel(leaf):
                Sent.of(leaf).handles.pop(self.client, None)


# ---- records of sent data --------------------------------------------------------------------------------------------
class Sent:
    """Digests of the pieces of a read-only array, and in Dask clusters their futures, kept as long as the array's
    memory lives.
    """

    _known: ClassVar[dict[int, tuple[Any, "Sent"]]] = {}  # keyed by the identity of the owner of the memory

    def __init__(self) -> None:
        self.digests: dict[Any, bytes] = {}
        self.handles: weakref.WeakKeyDictionary[Any, dict[bytes, Any]] = weakref.WeakKeyDictionary()

    @classmethod
    def of(cls, a: np.ndarray) -> "Sent":
        """The entry for the memory of an array."""
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
        """The digest of a piece."""
        key = a.__array_interface__["data"][0], a.dtype.str, a.shape, a.strides
        if key not in self.digests:
            in_order = a if a.flags.c_contiguous else a.T
            self.digests[key] = digest_of(repr((a.dtype.str, a.shape, a.flags.c_contiguous)).encode(), in_order.data)
        return self.digests[key]

    def scatter(self, client: Any, a: np.ndarray) -> Any:
        """The future of a piece in a cluster."""
        handles = self.handles.setdefault(client, {})
        digest = self.digest(a)
        if digest not in handles:
            (handles[digest],) = client.scatter([content_of(a)], hash=False)
        return handles[digest]


_CARRIED: weakref.WeakKeyDictionary[Any, set[bytes]] = weakref.WeakKeyDictionary()


def _digests_carried_by(executor: Any) -> set[bytes]:
    """The digests of parcels that an executor has sent to a worker."""
    try:
        return _CARRIED.setdefault(executor, set())
    except TypeError:  # no weak references: everything is sent with every call
        return set()


def _client_of(executor: Any) -> Any:
    """The Dask client behind an executor, or the executor itself if it is a client; otherwise None."""
    for x in (executor, getattr(executor, "_client", None)):
        if hasattr(x, "scatter") and hasattr(x, "get_executor"):
            return x
    return None
