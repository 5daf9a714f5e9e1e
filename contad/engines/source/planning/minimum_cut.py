"""A minimum cut of a graph, by augmenting paths. Capacities are integers, so the search terminates."""

import itertools
from collections import deque
from collections.abc import Hashable

INFINITE = 10**12


class Cut:
    """A flow network between a source and a sink."""

    def __init__(self) -> None:
        self.source, self.sink = object(), object()
        self.capacity: dict[Hashable, dict[Hashable, int]] = {self.source: {}, self.sink: {}}

    def edge(self, a: Hashable, b: Hashable, capacity: int) -> None:
        """Add `capacity` to the edge from a to b."""
        forward = self.capacity.setdefault(a, {})
        forward[b] = forward.get(b, 0) + capacity
        self.capacity.setdefault(b, {}).setdefault(a, 0)

    def source_side(self) -> set[Hashable]:
        """The nodes on the source's side of a minimum cut."""
        while True:
            before = self._reach()
            if self.sink not in before:
                return set(before)
            path = [self.sink]
            while path[-1] is not self.source:
                path.append(before[path[-1]])
            steps = [(a, b) for b, a in itertools.pairwise(path)]
            flow = min(self.capacity[a][b] for a, b in steps)
            for a, b in steps:
                self.capacity[a][b] -= flow
                self.capacity[b][a] += flow

    def _reach(self) -> dict[Hashable, Hashable]:
        """Every node reachable from the source with capacity left, with its predecessor on a shortest path."""
        before: dict[Hashable, Hashable] = {self.source: self.source}
        waiting = deque([self.source])
        while waiting:
            a = waiting.popleft()
            for b, capacity in self.capacity[a].items():
                if capacity > 0 and b not in before:
                    before[b] = a
                    waiting.append(b)
        return before
