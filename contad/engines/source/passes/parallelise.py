"""Parallelisation: turns loops with independent iterations into functions of strips of iterations that threads share.

    for i in prange(0, range(n)):          def f_strip(strip, n, strips, x, w, x_bar, w_bar, w_bar_parts, s_parts):
        t = x[i] * w[0]                        w_bar = part_of(w_bar, w_bar_parts, strip)
        s += t                         ->      s = 0.0
        x_bar[i] += w[0]                       for i in range(strip * n // strips, (strip + 1) * n // strips):
        w_bar[0] += x[i]                           ...
                                               s_parts[strip] = s

                                           share_f_strip(strips, (n, strips, x, ...)); s += s_parts[...]; ...

Names that an iteration assigns before it reads them are private (privatisation). Numbers to which iterations only add
become sums for each strip (reductions). A written array must be of one of two kinds. Either each iteration accesses its
own elements, because all accesses have the loop index along the same axis; or iterations only add to the array, and
each strip has a buffer. All other loops stay serial, and so do loops that need Python.

Ref: Allen & Kennedy (2001), sections 6.2.1 and 6.5; Huckelheim & Hascoet (2022), on adjoints of parallel loops.
"""

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

from contad.engines.source.ir.printing import show
from contad.engines.source.ir.ssa import For
from contad.engines.source.ir.syntax import both, call, clone, expression, statement, statements, total, tuple_of
from contad.engines.source.ir.tree_queries import called_name, integer_of, is_number, key, nodes_in, note_of
from contad.engines.source.ir.writer import WORK, NameTable
from contad.engines.source.passes.dependence import (
    Access,
    Accesses,
    UnknownAccess,
    bounds_of,
    find_own,
    is_plain,
    is_quiet,
)
from contad.engines.source.passes.liveness import (
    LiveNames,
    carried_names,
    is_sum,
    names_assigned,
    names_read,
)
from contad.engines.source.passes.profitability import cost_of

FIXED, EACH, UP, DOWN = "fixed", "each", "up", "down"
NOISY = (ast.Lambda, ast.Try, ast.With, ast.JoinedStr, ast.Dict, ast.Set, ast.List)
WORKSPACE = (WORK, "top")


class SharedLoop(NamedTuple):
    """A loop that may run in parallel, over prange(its index in a list, range)."""

    loop: For
    is_reverse: bool
    # how the top of the workspace moves: FIXED, within EACH iteration, or UP or DOWN by `stride` after each iteration
    moves: str
    stride: str  # a name


class Shared(NamedTuple):
    """The result of parallelising loops."""

    strips: list[ast.FunctionDef]  # the functions of strips
    reasons: dict[int, str]  # for each loop why it is serial; empty if parallel


class SerialReason(Exception):
    """Why a loop stays serial."""


def share_loops(
    function: ast.FunctionDef, names: NameTable, loops: list[SharedLoop], called: Mapping[str, ast.FunctionDef]
) -> Shared:
    """Make loops over prange parallel if possible, else serial. `called` are the callees."""
    shared = Shared([], {})
    if loops:
        local = names_assigned(function.body) | {x.arg for x in function.args.args}
        sharer = _Sharer(loops, names, called, local, LiveNames(function.body), shared)
        function.body = sharer.visit(function.body)
        for f in (function, *shared.strips):
            _make_serial(f)
    return shared


def _make_serial(function: ast.FunctionDef) -> None:
    """Let the remaining loops run over plain ranges."""
    for s in nodes_in(function):
        if isinstance(s, ast.For) and called_name(s.iter) == "prange":
            s.iter = s.iter.args[1]  # type: ignore[attr-defined]


class _Sharer(NamedTuple):
    """Visits a function and takes out parallel loops."""

    loops: list[SharedLoop]
    names: NameTable
    called: Mapping[str, ast.FunctionDef]
    local: frozenset[str]
    live: LiveNames
    found: Shared

    def visit(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements without the loops that can be parallel, outermost first."""
        made: list[ast.stmt] = []
        for s in body:
            called_instead = self._share(s) if isinstance(s, ast.For) and called_name(s.iter) == "prange" else None
            if called_instead is not None:
                made += called_instead
                continue
            if isinstance(s, (ast.For, ast.While, ast.If)):
                s.body, s.orelse = self.visit(s.body), self.visit(s.orelse)
            made.append(s)
        return made

    def _share(self, loop: ast.For) -> list[ast.stmt] | None:
        """The statements that replace a loop; None if it stays serial."""
        k = integer_of(loop.iter.args[0])  # type: ignore[attr-defined]
        assert k is not None
        try:
            shared = _StripLoop(loop, self.loops[k], self, self.live.after[loop])
        except (SerialReason, UnknownAccess) as reason:
            self.found.reasons[k] = str(reason)
            return None
        self.found.reasons[k] = ""
        made, strip = shared.write()
        self.found.strips.append(strip)
        return made


class _StripLoop:
    """A loop, and the facts needed to make it parallel."""

    def __init__(self, loop: ast.For, shared: SharedLoop, sharer: _Sharer, after: frozenset[str]) -> None:
        """Analyse a loop; SerialReason unless its iterations are known to be independent."""
        self.loop, self.shared, self.names, self.called = loop, shared, sharer.names, sharer.called
        bounds = bounds_of(loop)
        assert bounds is not None and isinstance(loop.target, ast.Name)
        self.bounds, self.index = bounds, loop.target.id
        self.assigned = names_assigned(loop.body)
        if bounds.step not in (1, -1):
            raise SerialReason("its step is not 1")
        limits = names_read(bounds.start) | names_read(bounds.stop)
        if limits & self.assigned:
            raise SerialReason("its limits are assigned in it")
        self.guards: dict[Any, ast.expr] = {}
        self._require_quiet(loop.body)
        self._require_own_end(loop.body)
        if "work" in self.assigned or (shared.moves == FIXED and "top" in self.assigned):
            raise SerialReason("how much an iteration stores is not known before it runs")
        if self.index in self.assigned:
            raise SerialReason("its index is assigned")
        self.sums = self._find_sums()
        left = (after & self.assigned) - self.sums.keys() - {*WORKSPACE}
        if left:
            raise SerialReason(f"{', '.join(sorted(left))} is read after it")
        self.buffered = self._find_buffered()
        read = frozenset().union(*map(names_read, loop.body))
        own = self.assigned - self.sums.keys() - {*WORKSPACE}
        self.given = sorted(((read | limits) & sharer.local) - own - self.sums.keys() - {self.index, *WORKSPACE})
        self.uses_work = bool({*WORKSPACE} & (read | self.assigned))

    # ---- iterations --------------------------------------------------------------------------------------------------
    def _require_quiet(self, body: list[ast.stmt]) -> None:
        """Require that all statements run without Python."""
        for node in (x for s in body for x in nodes_in(s)):
            is_product = isinstance(getattr(node, "op", None), ast.MatMult)
            if is_product or isinstance(node, NOISY) or (isinstance(node, ast.Attribute) and not is_plain(node)):
                raise SerialReason(f"{show(node)} may not run on several threads")
            if isinstance(node, ast.Call):
                self._require_quiet_call(node)

    def _require_quiet_call(self, node: ast.Call) -> None:
        """Require that a call, and the callee, run without Python."""
        name = called_name(node)
        if is_quiet(name, self.names.rules):
            return
        if name == "prange" or (name in self.called and WORK not in names_read(node)):
            if name in self.called:
                self._require_quiet(self.called[name].body)
            return
        raise SerialReason(f"{show(node.func)} may not run on several threads")

    def _require_own_end(self, body: list[ast.stmt]) -> None:
        """Require that no statement ends the loop early."""
        for s in body:
            if isinstance(s, (ast.Break, ast.Return)):
                raise SerialReason("it may end early")
            if isinstance(s, ast.If):
                self._require_own_end(s.body)
                self._require_own_end(s.orelse)
            elif any(isinstance(x, ast.Return) for x in nodes_in(s)):
                raise SerialReason("it may end early")

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def _find_sums(self) -> dict[str, str]:
        """The numbers that are reductions, with their kinds; all other numbers must be private."""
        carried = carried_names(self.loop.body) - {*WORKSPACE}
        for name in sorted(carried):
            kind = self.names.kinds.get(name)
            known = kind is not None and not kind.ndim and kind.base in ("float", "int")
            if not known or not is_sum(name, self.loop.body, carried):
                raise SerialReason(f"{name} goes from one iteration to the next, and is no sum")
        return {name: self.names.kinds[name].base for name in sorted(carried)}

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _find_buffered(self) -> list[str]:
        """The arrays to which iterations only add: each strip gets a buffer."""
        accesses = Accesses(self.loop.body, self.names.roots)
        if unknown := accesses.unknown - self.assigned - {*WORKSPACE}:
            raise SerialReason(f"it is not known what {', '.join(sorted(unknown))} is")
        touched: dict[str, list[Access]] = {}
        for access in accesses.found:
            for root in self._roots(access.name) - accesses.made:
                touched.setdefault(root, []).append(access)
        buffered: list[str] = []
        for root, found in sorted(touched.items()):
            if root == WORK or all(x.way == "read" for x in found):  # iterations have their own places in WORK
                continue
            if any(len(self._roots(x.name)) > 1 for x in found):
                raise SerialReason(f"{root} may be another array")
            resolved = [*map(accesses.resolve, found)]
            if any(isinstance(i, ast.Constant) and not isinstance(i.value, int) for x in resolved for i in x.indices):
                raise SerialReason(f"{root} is written, and has views with new axes")
            bases = {x.name for x in resolved}
            if len(bases) > 1:
                raise SerialReason(f"{root} is written, and has other names")
            (base,) = bases
            if self._is_private(resolved):
                continue
            if any(x.way != "add" for x in found) or base in self.assigned:
                raise SerialReason(f"iterations may meet in the elements of {root}, and not only add to them")
            buffered.append(base)
        return buffered

    def _roots(self, name: str) -> frozenset[str]:
        return self.names.roots.get(name, frozenset((name,)))

    def _is_private(self, accesses: list[Access]) -> bool:
        """Whether every iteration accesses its own elements: all accesses have index + c along the same axis."""
        offset = find_own(accesses, self.index)
        if offset is not None:
            self._guard(offset)
        return offset is not None

    def _guard(self, offset: int) -> None:
        """Require indices that are not negative: -1 is the last element, which another iteration may access."""
        start, stop, step = self.bounds
        first = total([clone(start), offset] if step == 1 else [clone(stop), 1 + offset])
        known = integer_of(first)
        if known is None:
            self.guards[key(first)] = expression("first >= 0", first=first)
        elif known < 0:
            raise SerialReason("its indices may be negative")

    # ---- the new tree ------------------------------------------------------------------------------------------------
    def write(self) -> tuple[list[ast.stmt], ast.FunctionDef]:
        """The statements that replace the loop, and the function of a strip."""
        fresh = self.names.fresh
        n, strips, strip = fresh("iterations"), fresh("strips"), fresh("strip")
        function = fresh(f"{self.names.title}_strip")
        parts = {x: fresh(f"{x}_parts") for x in [*self.sums, *self.buffered]}
        given = [n, strips, *self.given, *parts.values(), *(WORKSPACE if self.uses_work else [])]
        moves, stride = self.shared.moves, self.shared.stride
        if stride and stride not in given:
            given.append(stride)
        sizes = total([expression("x.size", x=x) for x in self.buffered])
        cost = cost_of(self.loop.body, self.assigned | {self.index})
        count = call("count_strips", [n, cost, sizes])
        if self.guards:
            count = expression("count if test else 1", count=count, test=both([*self.guards.values()]))
        made = statements("n = max(span, 0); strips = count", n=n, span=self.bounds.span, strips=strips, count=count)
        made[0].note = note_of(self.loop)  # type: ignore[attr-defined]
        for x, kind in self.sums.items():
            shape = [strips, "np.int64"] if kind == "int" else [strips]
            made.append(statement("parts = np.zeros(shape)", parts=parts[x], shape=shape))
        made += [statement("parts = make_parts(x, strips)", parts=parts[x], x=x, strips=strips) for x in self.buffered]
        if moves == EACH:
            made.append(statement("work = grow(work, top + strips * stride)", strips=strips, stride=stride))
        share = f"share_{function}"
        made.append(statement("share(strips, given)", share=share, strips=strips, given=tuple_of(given)))
        if self.sums:
            made.append(statement("for strip in range(strips): pass", strip=strip, strips=strips))
            made[-1].body = [  # type: ignore[attr-defined]
                statement("x += parts[strip]", x=x, parts=parts[x], strip=strip) for x in self.sums
            ]
        made += [statement("add_parts(x, parts)", x=x, parts=parts[x]) for x in self.buffered]
        if moves not in (FIXED, EACH):
            made += statements("top -= n * m" if moves == DOWN else "top += n * m", n=n, m=stride)
        return made, self._function(function, strip, given, parts, n, strips)

    def _function(
        self, function: str, strip: str, given: list[str], parts: dict[str, str], n: str, strips: str
    ) -> ast.FunctionDef:
        """The function of a strip."""
        made = statement("def function(arguments): pass", function=function, arguments=[strip, *given])
        body = made.body = [
            statement("x = part_of(x, parts, strip)", x=x, parts=parts[x], strip=strip) for x in self.buffered
        ]
        body += [statement("x = zero", x=x, zero=0 if kind == "int" else 0.0) for x, kind in self.sums.items()]
        moves, stride, (start, _, step) = self.shared.moves, self.shared.stride, self.bounds
        first = expression("strip * n // strips", strip=strip, n=n, strips=strips)
        last = expression("(strip + 1) * n // strips", strip=strip, n=n, strips=strips)
        if moves == EACH:
            body += statements("top += strip * stride", strip=strip, stride=stride)
        elif moves != FIXED:
            body += statements("top -= k * m" if moves == DOWN else "top += k * m", k=first, m=stride)
        if not is_number(start, 0):
            sign = ast.Add() if step == 1 else ast.Sub()
            first, last = (ast.BinOp(clone(start), sign, x) for x in (first, last))
        limits = [first, last] if step == 1 else [first, last, -1]
        body += statements("for index in range(limits): pass", index=self.index, limits=limits)
        body[-1].body = self.loop.body
        body += [statement("parts[strip] = x", x=x, parts=parts[x], strip=strip) for x in self.sums]
        return made
