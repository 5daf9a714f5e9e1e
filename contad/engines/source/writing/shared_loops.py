"""Loops whose iterations may run at the same time, as functions of blocks of iterations that threads share.

    for i in prange(0, range(n)):          def f_block(block, n, blocks, x, w, x_bar, w_bar, w_bar_parts, s_parts):
        t = x[i] * w[0]                        w_bar = part_of(w_bar, w_bar_parts, block)
        s += t                         ->      s = 0.0
        x_bar[i] += w[0]                       for i in range(block * n // blocks, (block + 1) * n // blocks):
        w_bar[0] += x[i]                           ...
                                               s_parts[block] = s

                                           share(f_block, blocks, (n, blocks, x, ...)); s += s_parts[...]; ...

What an iteration assigns before it reads it is its own. Numbers that are only added to become sums of blocks. Of arrays
that are written, either every iteration touches elements of its own (its index stands in the same place everywhere), or
they are only added to, in a buffer of the block. Everything else stays serial, and so does what would need Python.
"""

import ast
import re
from collections.abc import Callable
from typing import NamedTuple

from contad.engines.source.ir.syntax import difference
from contad.engines.source.passes.profitability import cost_of
from contad.engines.source.writing.array_accesses import (
    Access,
    Accesses,
    SerialReason,
    offset_of,
    resolve,
    show,
)
from contad.engines.source.writing.live_names import LiveNames, carried_names, names_assigned, names_read
from contad.engines.source.writing.running_sums import is_sum
from contad.engines.source.writing.shared_heads import DOWN, EACH, FIXED, SharedLoop

PRANGE = re.compile(r"prange\(\d+, (range\(.*\))\):")
# besides functions of math: what runs without Python, and writes nothing but what it makes
QUIET = frozenset(
    (
        *("chain", "chain_slope", "select", "integer", "put_integer", "small_zeros", "abs", "bool", "float", "int"),
        *("len", "max", "min", "range", "np.int64", "np.float64", "np.zeros", "np.empty", "np.ones", "np.isfinite"),
        *("np.power", "np.sign", "np.minimum", "np.maximum", "np.arctan", "np.arctan2"),  # of numbers
    )
)
WORK = ("work", "top")


class SharedFacts(NamedTuple):
    """What the text does not tell."""

    kinds: dict[str, str]  # of numbers: "float", "int" or "bool"
    roots: dict[str, frozenset[str]]  # of arrays: the memory that they may be
    quiet_rules: frozenset[str]  # functions of rules that need nothing of Python's
    called: dict[str, list[str]]  # the lines of functions that are called


class Shared(NamedTuple):
    """A function whose loops have been looked at."""

    lines: list[str]
    functions: list[list[str]]  # the lines of the functions of blocks
    reasons: dict[int, str]  # for each loop why it is serial; empty where it is shared


def share_loops(
    lines: list[str], loops: list[SharedLoop], facts: SharedFacts, fresh: Callable[[str], str], name: str
) -> Shared:
    """The lines of a function, its head first, with loops over prange shared where they can be, else serial."""
    if not loops:
        return Shared(lines, [], {})
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    sharer = _Sharer(function, lines, loops, facts, fresh, name)
    sharer.visit(function.body)
    made = list(lines)
    for first, last, new in sorted(sharer.edits, key=lambda edit: edit[0], reverse=True):
        made[first:last] = new
    return Shared([serial(line) for line in made], sharer.functions, sharer.reasons)


def serial(line: str) -> str:
    """A line whose loop, if it has one, is a plain range."""
    return PRANGE.sub(r"\1:", line)


class _Sharer:
    """Goes through a function and takes loops out."""

    def __init__(
        self, function: ast.FunctionDef, lines: list[str], loops: list[SharedLoop], facts: SharedFacts,
        fresh: Callable[[str], str], name: str,
    ) -> None:  # fmt: skip
        self.lines, self.loops, self.facts, self.fresh, self.name = lines, loops, facts, fresh, name
        self.live = LiveNames(function.body)
        self.locals = names_assigned(function.body) | {x.arg for x in function.args.args}
        self.edits: list[tuple[int, int, list[str]]] = []
        self.functions: list[list[str]] = []
        self.reasons: dict[int, str] = {}

    def visit(self, body: list[ast.stmt]) -> None:
        """Look for loops in statements, the outermost first."""
        for s in body:
            if isinstance(s, ast.For) and _number_of(s) is not None and self._share(s):
                continue
            if isinstance(s, (ast.For, ast.While)):
                self.visit(s.body)
            elif isinstance(s, ast.If):
                self.visit(s.body)
                self.visit(s.orelse)

    def _share(self, loop: ast.For) -> bool:
        """Take a loop out of the text; whether it can be shared."""
        number = _number_of(loop)
        assert number is not None and loop.end_lineno is not None
        try:
            found = _LoopOfBlocks(loop, self.loops[number], self.facts, self.locals, self.live.after[loop])
        except SerialReason as reason:
            self.reasons[number] = str(reason)
            return False
        self.reasons[number] = ""
        lines = self.lines[loop.lineno : loop.end_lineno]
        called, function = found.write(lines, self.lines[loop.lineno - 1], self.fresh, self.name)
        self.functions.append(function)
        self.edits.append((loop.lineno - 1, loop.end_lineno, called))
        return True


def _number_of(loop: ast.For) -> int | None:
    """Which of the loops that may be shared one of the text is."""
    call = loop.iter
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "prange":
        return int(ast.literal_eval(call.args[0]))
    return None


class _LoopOfBlocks:
    """A loop, and all that has to be known of it to be shared."""

    def __init__(
        self, loop: ast.For, shared: SharedLoop, facts: SharedFacts, local: frozenset[str], after: frozenset[str]
    ) -> None:
        """Look at a loop; SerialReason where its iterations cannot be told to be independent."""
        self.loop, self.shared, self.facts = loop, shared, facts
        assert isinstance(loop.target, ast.Name)
        self.index = loop.target.id
        self.assigned = names_assigned(loop.body)
        self.start, self.stop, self.down = _limits(loop)
        self.guards: list[str] = []
        self._require_quiet(loop.body)
        self._require_own_end(loop.body)
        if "work" in self.assigned or (shared.moves == FIXED and "top" in self.assigned):
            raise SerialReason("how much an iteration stores is not known before it runs")
        if self.index in self.assigned:
            raise SerialReason("its index is assigned")
        self.sums = self._find_sums()
        left = (after & self.assigned) - self.sums.keys() - {*WORK}
        if left:
            raise SerialReason(f"{', '.join(sorted(left))} is read after it")
        self.buffered = self._find_buffered()
        read = frozenset().union(*map(names_read, loop.body))
        limits = names_read(self.start) | names_read(self.stop)
        own = self.assigned - self.sums.keys() - {*WORK}
        self.given = sorted(((read | limits) & local) - own - self.sums.keys() - {self.index, *WORK})
        self.uses_work = bool({*WORK} & (read | self.assigned))

    # ---- what an iteration may do ------------------------------------------------------------------------------------
    def _require_quiet(self, body: list[ast.stmt]) -> None:
        """Nothing but what runs without Python."""
        for node in (x for s in body for x in ast.walk(s)):
            if isinstance(
                node, (ast.MatMult, ast.Lambda, ast.Try, ast.With, ast.JoinedStr, ast.Dict, ast.Set, ast.List)
            ):
                raise SerialReason(f"{show(node)} may not run on several threads")
            if isinstance(node, ast.Attribute) and not _is_plain(node):
                raise SerialReason(f"{show(node)} may not run on several threads")
            if isinstance(node, ast.Call):
                self._require_quiet_call(node)

    def _require_quiet_call(self, node: ast.Call) -> None:
        """A call runs without Python, and so does what is called."""
        name = ast.unparse(node.func)
        if name.startswith("math.") or name in QUIET or name in self.facts.quiet_rules or name.endswith("Error"):
            return
        if name == "prange" or (name in self.facts.called and "work" not in names_read(node)):
            if name in self.facts.called:
                (function,) = ast.parse("\n".join(self.facts.called[name])).body
                assert isinstance(function, ast.FunctionDef)
                self._require_quiet(function.body)
            return
        raise SerialReason(f"{name} may not run on several threads")

    def _require_own_end(self, body: list[ast.stmt]) -> None:
        """No statement ends the loop early."""
        for s in body:
            if isinstance(s, (ast.Break, ast.Return)):
                raise SerialReason("it may end early")
            if isinstance(s, ast.If):
                self._require_own_end(s.body)
                self._require_own_end(s.orelse)
            elif any(isinstance(x, ast.Return) for x in ast.walk(s)):
                raise SerialReason("it may end early")

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def _find_sums(self) -> dict[str, str]:
        """The numbers that are carried from one iteration to the next because they are added to, with their kinds."""
        carried = carried_names(self.loop.body) - {*WORK}
        for name in sorted(carried):
            known = self.facts.kinds.get(name) in ("float", "int")
            if not known or not is_sum(name, self.loop.body, carried):
                raise SerialReason(f"{name} goes from one iteration to the next, and is no sum")
        return {name: self.facts.kinds[name] for name in sorted(carried)}

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _find_buffered(self) -> list[str]:
        """The arrays that are only added to, so that each block gets a buffer."""
        accesses = Accesses(self.facts.roots).of(self.loop.body)
        views = {x.target: x for x in accesses.views}
        for x in accesses.views:
            if not x.is_same(views[x.target]):
                raise SerialReason(f"{x.target} is several parts of arrays")
        if accesses.unknown - self.assigned - {*WORK}:
            raise SerialReason(f"it is not known what {', '.join(sorted(accesses.unknown - self.assigned))} is")
        touched: dict[str, list[Access]] = {}
        for access in accesses.found:
            for root in self._roots(access.name) - accesses.made:
                touched.setdefault(root, []).append(access)
        buffered: list[str] = []
        for root, found in sorted(touched.items()):
            if root == WORK[0] or all(x.way == "read" for x in found):  # every iteration has places of its own there
                continue
            if any(len(self._roots(x.name)) > 1 for x in found):
                raise SerialReason(f"{root} may be another array")
            resolved = [resolve(x, views) for x in found]
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
        return self.facts.roots.get(name, frozenset((name,)))

    def _is_private(self, accesses: list[Access]) -> bool:
        """Whether every iteration has elements of its own: in one place all have the index, plus the same number."""
        least = min(len(x.indices) for x in accesses)
        for k in range(least):
            offsets = {offset_of(x.indices[k], self.index) for x in accesses}
            if len(offsets) == 1 and None not in offsets:
                (offset,) = offsets
                assert offset is not None
                self._guard(offset)
                return True
        return False

    def _guard(self, offset: int) -> None:
        """Indices must not be negative: -1 is the last element, which another iteration may have, too."""
        first = self.stop if self.down else self.start
        first = ast.BinOp(first, ast.Add(), ast.Constant(1 + offset if self.down else offset))
        known = _known_number(first)
        if known is None:
            self.guards.append(f"{ast.unparse(first)} >= 0")
        elif known < 0:
            raise SerialReason("its indices may be negative")

    # ---- the new text ------------------------------------------------------------------------------------------------
    def write(self, body: list[str], head: str, fresh: Callable[[str], str], name: str) -> tuple[list[str], list[str]]:
        """The lines that stand for the loop, and the function of a block."""
        indent = " " * (len(head) - len(head.lstrip()))
        _, separator, note = head.partition("  # ")
        n, blocks, block = fresh("iterations"), fresh("blocks"), fresh("block")
        function = fresh(f"{name}_block")
        parts = {x: fresh(f"{x}_parts") for x in [*self.sums, *self.buffered]}
        given = [n, blocks, *self.given, *parts.values(), *(WORK if self.uses_work else [])]
        stride = self.shared.stride
        if stride:
            given += [stride] if stride not in given else []
        start, stop = ast.unparse(self.start), ast.unparse(self.stop)
        span = difference(start, stop) if self.down else difference(stop, start)
        count = f"count_blocks({n}, {self._cost()}, {self._sizes()})"
        if self.guards:
            count += f" if {' and '.join(dict.fromkeys(self.guards))} else 1"
        lines = [f"{n} = max({span}, 0){separator}{note}", f"{blocks} = {count}"]
        for x, kind in self.sums.items():
            lines.append(f"{parts[x]} = np.zeros({blocks}{', np.int64' if kind == 'int' else ''})")
        lines += [f"{parts[x]} = make_parts({x}, {blocks})" for x in self.buffered]
        if self.shared.moves == EACH:
            lines.append(f"work = grow(work, top + {blocks} * {stride})")
        lines.append(f"share_{function}({blocks}, ({', '.join(given)},))")
        if self.sums:
            lines.append(f"for {block} in range({blocks}):")
            lines += [f"    {x} += {parts[x]}[{block}]" for x in self.sums]
        lines += [f"add_parts({x}, {parts[x]})" for x in self.buffered]
        if self.shared.moves not in (FIXED, EACH):
            lines.append(f"top {'-' if self.shared.moves == DOWN else '+'}= {n} * {stride}")
        return [indent + line for line in lines], self._function(function, block, given, parts, n, blocks, body, indent)

    def _function(
        self, function: str, block: str, given: list[str], parts: dict[str, str], n: str, blocks: str,
        body: list[str], indent: str,
    ) -> list[str]:  # fmt: skip
        """The function of a block."""
        inside = [f"{x} = part_of({x}, {parts[x]}, {block})" for x in self.buffered]
        inside += [f"{x} = {'0' if kind == 'int' else '0.0'}" for x, kind in self.sums.items()]
        first, last = f"{block} * {n} // {blocks}", f"({block} + 1) * {n} // {blocks}"
        moves, stride = self.shared.moves, self.shared.stride
        if moves == EACH:
            inside.append(f"top += {block} * {stride}")
        elif moves != FIXED:
            inside.append(f"top {'-' if moves == DOWN else '+'}= ({first}) * {stride}")
        start, sign = ast.unparse(self.start), "-" if self.down else "+"
        if start != "0":
            first, last = f"{start} {sign} {first}", f"{start} {sign} {last}"
        inside.append(f"for {self.index} in range({first}, {last}{', -1' if self.down else ''}):")
        inside += [serial(line[len(indent) :]) for line in body]
        inside += [f"{parts[x]}[{block}] = {x}" for x in self.sums]
        return [f"def {function}({', '.join([block, *given])}):", *(f"    {line}" for line in inside)]

    def _sizes(self) -> str:
        return " + ".join(f"{x}.size" for x in self.buffered) or "0"

    def _cost(self) -> ast.expr:
        """How many additions an iteration takes, about, by what is known before the loop."""
        return cost_of(self.loop.body, self.assigned | {self.index})


# ---- limits ----------------------------------------------------------------------------------------------------------
def _limits(loop: ast.For) -> tuple[ast.expr, ast.expr, bool]:
    """Where the range of a loop starts and stops, and whether it goes down."""
    assert isinstance(loop.iter, ast.Call)
    call = loop.iter.args[1]
    assert isinstance(call, ast.Call)
    zero: ast.expr = ast.Constant(0)
    start, stop = [zero, *call.args][:2] if len(call.args) == 1 else call.args[:2]
    step = ast.unparse(call.args[2]).strip("()") if len(call.args) == 3 else "1"
    if step not in ("1", "-1"):
        raise SerialReason("its step is not 1")
    if (names_read(start) | names_read(stop)) & names_assigned(loop.body):
        raise SerialReason("its limits are assigned in it")
    return start, stop, step == "-1"


def _known_number(node: ast.expr) -> int | None:
    """The integer that an expression of constants is; None of another one."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _known_number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        x, y = _known_number(node.left), _known_number(node.right)
        if x is None or y is None:
            return None
        return x + y if isinstance(node.op, ast.Add) else x - y
    return None


def _is_plain(node: ast.Attribute) -> bool:
    return node.attr in ("shape", "size") or ast.unparse(node.value) in ("math", "np")
