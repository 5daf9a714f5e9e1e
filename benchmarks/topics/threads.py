"""Loops over prange: gradients on one thread and on two, beside those of the function itself and of the serial one.

What two threads can reach on a machine is what two copies of the serial gradient do, which share nothing.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.comparison.topic import EVERYTHING, Choice, Counted, Topic

REPEATS = 25


@numba.njit(parallel=True)
def recurrence(x, w):
    """Reversed iteration by iteration; all iterations read w."""
    total = 0.0
    for i in numba.prange(len(x)):
        t = x[i]
        for k in range(len(w)):
            t = math.sin(t) * w[k] + x[i]
        total += t * t
    return total


@numba.njit(parallel=True)
def stored(x, w):
    """Its iterations store what the reverse reads, and write an array."""
    out = np.empty(len(x))
    for i in numba.prange(len(x)):
        t = x[i]
        for k in range(len(w)):
            t = math.sin(t) * w[k] + 0.3 * t
        out[i] = t
    return np.sum(out * out)


@numba.njit(parallel=True)
def rows(x, w):
    """A softmax of each row."""
    y = np.empty(x.shape)
    for i in numba.prange(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            y[i, j] = math.exp(x[i, j] * w[j])
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total
    return np.sum(y * y)


@numba.njit(parallel=True)
def gathered(x, places):
    """Reads elements that other iterations read, too."""
    total = 0.0
    for i in numba.prange(len(places)):
        y = x[places[i]]
        total += math.exp(-y * y) * math.sin(y * i)
    return total


@numba.njit(parallel=True)
def pairs(x, a):
    """Every iteration reads all elements."""
    total = 0.0
    for i in numba.prange(len(x)):
        for j in range(len(x)):
            total += math.exp(-a * (x[i] - x[j]) ** 2)
    return total


@numba.njit(parallel=True)
def arrays(x, y):
    """No loop at all: threads share statements on whole arrays."""
    a = np.sin(x) * y
    b = a + np.exp(-x * x)
    return np.sum(b * a)


def draw(quick: bool) -> dict[Any, tuple[tuple[Any, ...], tuple[int, ...]]]:
    """Arguments of each program, and which are differentiated."""
    rng = np.random.default_rng(0)
    n = 2000 if quick else 200_000
    w = rng.uniform(0.5, 1.5, 16)
    return {
        recurrence: ((rng.uniform(0.1, 1.0, n), w), (0, 1)),
        stored: ((rng.uniform(0.1, 1.0, n), w), (0, 1)),
        rows: ((rng.normal(size=(n // 10, 16)), w), (0, 1)),
        gathered: ((rng.normal(size=300), rng.integers(0, 300, 2 * n)), (0,)),
        pairs: ((rng.normal(size=n // 100), 0.7), (0, 1)),
        arrays: ((rng.normal(size=2 * n), rng.normal(size=2 * n)), (0, 1)),
    }


def time_copies(pool: ThreadPoolExecutor, call: Any, args: tuple[Any, ...]) -> float:
    """Seconds in which the two threads of a pool run a call each, at the same time."""
    start = perf_counter()
    for running in [pool.submit(call, *args) for _ in range(2)]:
        running.result()
    return perf_counter() - start


def compare(x: list[float], y: list[float]) -> float:
    """The median of ratios of times, round by round."""
    return float(np.median(np.divide(x, y)))


def time_threads(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Milliseconds of gradients, the shortest of several, which take turns; and whether both are the same.

    Gains are medians over rounds: the clock of a processor of whose cores one works is faster than that of two.
    """
    found = {}
    before = numba.get_num_threads()
    two = min(2, numba.config.NUMBA_NUM_THREADS)
    pool = ThreadPoolExecutor(2)
    for f, (args, argnums) in draw(choice.quick).items():
        gradient = contad.grad(f, argnums)
        ways = {
            "serial": (contad.grad(numba.njit(f.py_func), argnums), 1),
            "one thread": (gradient, 1), "two threads": (gradient, two),
            "function, one": (f, 1), "function, two": (f, two),
        }  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in (*ways, "copies")}
        results = {}
        for _ in range(2 if choice.quick else REPEATS):
            for name, (call, threads) in ways.items():
                numba.set_num_threads(threads)
                start = perf_counter()
                results[name] = call(*args)
                times[name].append(perf_counter() - start)
            times["copies"].append(time_copies(pool, ways["serial"][0], args))
        same = all(np.array_equal(x, y) for x, y in zip(results["one thread"], results["two threads"], strict=True))
        row: dict[str, Any] = {f"{name}, ms": 1e3 * min(times[name]) for name in ways}
        row["gradient, one / two"] = compare(times["one thread"], times["two threads"])
        row["function, one / two"] = compare(times["function, one"], times["function, two"])
        row["two copies at once"] = 2.0 * compare(times["serial"], times["copies"])
        row["serial / one"] = compare(times["serial"], times["one thread"])
        found[f.__name__] = row | {"same bits": "yes" if same else "wrong: no"}
    numba.set_num_threads(before)
    return found


TOPIC = Topic(
    "Loops on threads",
    {
        "One thread and two": Counted(
            f"Gradients of loops over prange, the shortest of {REPEATS} times, and medians of ratios; the function "
            "itself is Numba's. Two copies at once are two serial gradients, each on a thread of its own: what they "
            "gain is what the machine has to give.",
            time_threads,
        ),
    },
)
