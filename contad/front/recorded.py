"""A function recorded at a point by an eager engine; each call of its pullback sweeps it."""

import weakref
from collections.abc import Callable, Sequence

import numpy as np

from contad.functions.transformed import SEND, OfThisProcess
from contad.functions.user_call import name_of, split_aux
from contad.ops.close_values import LOST, was_lost
from contad.variables.activation import activate, seeds, trees_of
from contad.variables.number import map_numbers
from contad.variables.open_types import Function, Nested
from contad.variables.overlaps import set_apart
from contad.variables.stack import ChainStack, opened
from contad.variables.trees import flatten, lower, output_leaves, with_cotangents


class Recorded:
    """A function that runs on variables, recorded at primals: its value, and the data that sweeps and tangents need."""

    def __init__(
        self, f: Function, primals: Sequence[Nested], what: str, make_stack: Callable[[], ChainStack],
        has_aux: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.what = name_of(f), what
        self.primals = primals = set_apart(what, tuple(primals))
        with opened(make_stack) as s:
            given, self.active = activate(s, what, range(len(primals)), primals)
            y, aux = split_aux(f(*given), has_aux, what)
            self.result = flatten(y)
            self.leaves = output_leaves(self.result, what, s)
            self.value = self.result.unflatten([lower(leaf, s) for leaf in self.leaves])
            self.aux = lower(aux, s)
            s.end("its vjp call has ended")  # the recording stays with the pullback
        self.stack = s

    def pullback(self, find_lost: Function | None = None) -> Callable[[Nested], tuple[Nested, ...]]:
        """The map from a cotangent of the result to those of the primals; the recording lives as long as it does.

        If a sweep has lost digits and the primals are unchanged, `find_lost(cotangents, cotangent)` answers.
        """
        s, what, result, leaves, active = self.stack, self.what, self.result, self.leaves, self.active

        def pullback(cotangent: Nested) -> tuple[Nested, ...]:
            found = []
            for leaf, z_bar in with_cotangents(what, result, leaves, cotangent):
                found += seeds(s, leaf, z_bar)
            cotangents = tuple(s.pull(active, found))
            if LOST and was_lost() and find_lost is not None and self._has_its_primals():
                return find_lost(cotangents, cotangent)
            return cotangents

        made = OfThisProcess(pullback, f"pullback of {self.name}", SEND)
        weakref.finalize(made, s.release)  # the buffers are reused
        return made

    def _has_its_primals(self) -> bool:
        """Whether nobody has written to the primals since; unknown if f itself has done so."""
        leaves = [x for tree in trees_of(self.active) for x in tree.leaves]
        pairs = zip(flatten(self.primals).leaves, leaves, strict=True)
        return all(np.array_equal(x, map_numbers(lambda n: n._value, y), equal_nan=True) for x, y in pairs)
