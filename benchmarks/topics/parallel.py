"""What a parallel sum costs beside its work: bytes and time of a job on each kind of workers, and two threads."""

import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.comparison.topic import EVERYTHING, Choice, Counted, Topic
from contad.stan import reduce_sum

LIBRARIES = {"loky": "loky", "dask": "distributed"}
KINDS = ["serial", "threads", "fork", "spawn", *LIBRARIES]
JOBS, REPEATS = 200, 10
P = np.array([2.5, 0.5])


@numba.njit(nogil=True)
def log_density(ys, start, end, mean, log_width):
    """Of normal data, an exponential for each."""
    total = 0.0
    for y in ys:
        z = (y - mean) * np.exp(-log_width)
        total -= np.log1p(z * z) + log_width
    return total


def of_piece(ys, start, end, mean, log_width):
    """The same in NumPy."""
    z = (ys - mean) * np.exp(-log_width)
    return -np.sum(np.log1p(z * z)) - len(ys) * log_width


def make_gradient(f: Any) -> Any:
    """The gradient(ys, grainsize, executor) of a sum."""
    gradient = contad.value_and_grad(
        lambda p, ys, grainsize, executor: reduce_sum(f, ys, p[0], p[1], grainsize=grainsize, executor=executor)
    )
    return lambda ys, grainsize, executor: gradient(P, ys, grainsize, executor)


def draw(rows: int) -> np.ndarray:
    """Data that nobody writes to."""
    return contad.constant(np.random.default_rng(1).normal(3.0, 2.0, rows))


@contextmanager
def workers_of(kind: str) -> Iterator[Executor | None]:
    """An executor of two workers; None for none."""
    if kind == "serial":
        yield None
    elif kind == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif kind in ("fork", "spawn"):
        with ProcessPoolExecutor(2, multiprocessing.get_context(kind)) as pool:
            yield pool
    elif kind == "loky":
        loky: Any = import_module("loky")
        pool = loky.ProcessPoolExecutor(2)
        yield pool
        pool.shutdown(kill_workers=True)
    elif kind == "mpi":
        futures: Any = import_module("mpi4py.futures")
        with futures.MPIPoolExecutor(2) as pool:
            yield pool
    else:
        distributed: Any = import_module("distributed")
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client.get_executor()


def list_kinds(quick: bool) -> list[str]:
    """The kinds of workers that there are here; MPI's alone where its workers wait already, busily."""
    if "mpi4py.futures" in sys.modules:
        return ["mpi"]
    if quick:
        return ["serial", "threads", "fork"]
    return [kind for kind in KINDS if kind not in LIBRARIES or find_spec(LIBRARIES[kind])]


def find_best(run: Any, repeats: int) -> float:
    """Seconds of a call, the least of several after one that is not counted."""
    run()
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
    return best


def time_jobs(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Seconds of a job with next to no work, and of all that a call with one job costs."""
    jobs, repeats = (10, 1) if choice.quick else (JOBS, REPEATS)
    ys, found = draw(5 * jobs), {}
    for kind in list_kinds(choice.quick):
        with workers_of(kind) as pool:
            row: dict[str, Any] = {}
            for name, f in (("compiled", log_density), ("NumPy", of_piece)):
                gradient = make_gradient(f)
                one = find_best(lambda g=gradient: g(ys, len(ys), pool), repeats)
                all_jobs = find_best(lambda g=gradient: g(ys, 5, pool), repeats)
                row[f"{name}, each job"] = max(all_jobs - one, 0.0) / (jobs - 1)
                row[f"{name}, one job"] = one
            found[kind] = row
    return found


class Scale(Executor):
    """Runs messages here, as another process would, and weighs them."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.answers: list[int] = []

    def submit(self, call: Any, /, *args: Any, **options: Any) -> Future:
        """A future that is done."""
        content = pickle.dumps((call, args))
        call, args = pickle.loads(content)
        answer = pickle.dumps(call(*args))
        self.sent.append(len(content))
        self.answers.append(len(answer))
        done: Future = Future()
        done.set_result(pickle.loads(answer))
        return done


def weigh_jobs(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Bytes of a message and of its answer, in the first call and later."""
    found = {}
    for about, rows in (("pieces of 1000 numbers", 1000), ("pieces of 100,000 numbers", 100_000)):
        ys, scale, row = draw(4 * rows), Scale(), {}
        for call in ("first", "later"):
            scale.sent.clear()
            scale.answers.clear()
            make_gradient(log_density)(ys, rows, scale)
            row[f"{call} call, sent"] = float(np.mean(scale.sent))
            row[f"{call} call, back"] = float(np.mean(scale.answers))
        found[about] = row
    return found


def time_threads(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Seconds of the same pieces in turn and on two threads, which take turns, and their ratio."""
    found = {}
    gradient = make_gradient(log_density)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        for rows in (1000,) if choice.quick else (100_000, 1_000_000):
            ys, best = draw(rows), {"one": np.inf, "two": np.inf}
            for _ in range(2 if choice.quick else 3 * REPEATS):
                for name, pool in (("one", one), ("two", two)):
                    start = perf_counter()
                    gradient(ys, rows // 10, pool)
                    best[name] = min(best[name], perf_counter() - start)
            found[f"{rows:,} rows, 10 pieces"] = {
                "one thread, ms": 1e3 * best["one"], "two threads, ms": 1e3 * best["two"],
                "ratio": best["one"] / best["two"],
            }  # fmt: skip
    return found


TOPIC = Topic(
    "Parallel sums",
    {
        "A job without work, us": Counted(
            f"Pieces of five numbers: what each of {JOBS} jobs adds to a call, and a call with one job.",
            time_jobs, "us",
        ),
        "Bytes of a job": Counted("Data are `contad.constant`; the mean of four messages.", weigh_jobs),
        "Two threads": Counted("A compiled sum with `nogil=True`.", time_threads),
    },
)  # fmt: skip
