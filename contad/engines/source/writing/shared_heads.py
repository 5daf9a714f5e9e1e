"""Marks the loops that threads may share: pranges, with special heads until `parallelise` decides about them.

for i in prange(3, range(n)):      a loop over range(n); 3 is its index in the list `loops`
"""

import ast

from contad.engines.source.ir.single_assignment import For, Loop
from contad.engines.source.ir.syntax import expression, is_number
from contad.engines.source.ir.walks import around
from contad.engines.source.passes.parallelise import DOWN, EACH, FIXED, UP, SharedLoop
from contad.engines.source.writing.storing import Storing
from contad.memory.threads import APART


class SharedHeads:
    """Writes the heads of loops that threads may share."""

    def __init__(self, storing: Storing) -> None:
        self.storing, self.writer, self.plan = storing, storing.writer, storing.plan
        self.enabled = False
        self.loops: list[SharedLoop] = []
        self.serial: dict[For, str] = {}  # why loops are not even considered
        self._strides: dict[For, str] = {}

    def head(self, o: For, limits: ast.expr, reverse: bool = False) -> ast.expr:
        """The iterable of a loop over a range with these limits."""
        if not self.enabled or not o.is_parallel or o in self.serial:
            return limits
        if o in self._strides:
            return self._mark(SharedLoop(o, reverse, DOWN if reverse else UP, self._strides[o]), limits)
        step = self.storing.step(o)
        if step is not None and is_number(step, 0):
            return self._mark(SharedLoop(o, reverse, FIXED, ""), limits)
        fused = o in self.plan.fused
        if o.exit is not None:
            self.serial[o] = "a break ends it"
        elif step is None:
            self.serial[o] = "how much an iteration stores is not known before it runs"
        elif not fused and any(isinstance(x, Loop) for x in around(o.block)):
            self.serial[o] = "its iterations store what loops in them need, and it is itself in a loop"
        if o in self.serial:
            return limits
        stride = self.writer.fresh("stride")
        # the places that strips write in parallel are some cache lines apart; the values of iterations have no gaps
        line = self.writer.line
        line("stride = int(step) + n" if fused else "stride = int(step)", stride=stride, step=step, n=APART)
        if not fused:
            self._strides[o] = stride
        return self._mark(SharedLoop(o, reverse, EACH if fused else UP, stride), limits)

    def _mark(self, shared: SharedLoop, limits: ast.expr) -> ast.expr:
        self.loops.append(shared)
        return expression("prange(k, limits)", k=len(self.loops) - 1, limits=limits)
