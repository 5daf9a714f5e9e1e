"""How close two derivatives of one random program must be, and what is counted over all programs.

Two results agree when they differ by at most max(1e-12 |g|, 10 x the spread of 8 runs with one-ulp noise on every
operation), component by component. The random programs of numbers and those of arrays are compared by this.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RELATIVE = 1e-12
NOISE_RUNS = 8
ULP = 2.0**-52


class Disagreement(AssertionError):
    """Two ways to differentiate a program gave different results; the message holds its source."""


@dataclass
class Tally:
    """What was met on the way, over all programs of any kind."""

    programs: int = 0
    discarded: Counter[str] = field(default_factory=Counter)
    components: int = 0
    zero_components: int = 0
    zero_gradients: int = 0
    against_reference: int = 0
    second_order: int = 0
    with_noise: int = 0  # comparisons beyond 1e-12 |g|, for which the spread was needed
    worst: float = 0.0  # difference / tolerance
    mismatches: int = 0

    @property
    def discard_rate(self) -> float:
        return self.discarded.total() / max(1, self.programs + self.discarded.total())

    @property
    def zero_share(self) -> float:
        return self.zero_components / max(1, self.components)

    @property
    def reference_share(self) -> float:
        return self.against_reference / max(1, self.programs)


def list_counts(counts: Sequence[tuple[str, int]]) -> str:
    """Names with their counts, in a row."""
    return ", ".join(f"{name} {count}" for name, count in counts) or "none"


def compare_components(
    expected: Any,
    got: Any,
    spread: Callable[[], Any],
    tally: Tally,
    message: Callable[..., str],
    resolution: float = 0.0,
) -> None:
    """Raise Disagreement with `message(k, expected, got, allowed)` for the first component k that differs too much.

    `spread` is asked only where the results differ by more than 1e-12; below `resolution` nothing is told apart.
    """
    expected, got = np.asarray(expected, float), np.asarray(got, float)
    if np.array_equal(expected, got):
        return
    with np.errstate(invalid="ignore"):
        difference = np.abs(expected - got)
        allowed = RELATIVE * np.maximum(np.abs(expected), np.abs(got))
        if not np.all(difference <= allowed):
            tally.with_noise += 1
            allowed = np.maximum(np.maximum(allowed, resolution), 10.0 * np.asarray(spread()))
        wrong = np.flatnonzero(~(difference <= allowed))
        if wrong.size:
            k = int(wrong[0])
            tally.mismatches += 1
            raise Disagreement(message(k, float(expected[k]), float(got[k]), float(allowed[k])))
        tally.worst = max(tally.worst, float(np.nanmax(difference / allowed)))


def run_long(command: str, search: Callable[..., None], tally: Tally, batch: int) -> None:
    """The long run: batches of programs from a seed, and the counts over all of them."""
    parser = argparse.ArgumentParser(f"python -m {command}", description="Check random programs in every way.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for k in range(0, arguments.count, batch):
        search(min(batch, arguments.count - k), tally, seed=arguments.seed + k)
        print(f"{tally.programs} programs, discarded {tally.discard_rate:.2%}", flush=True)
    print(tally)
