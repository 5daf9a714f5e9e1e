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

from contad.engines.source.ir.writer import BAR, CALLED
from contad.engines.source.writing.live_names import LiveNames, carried_names, names_assigned, names_read
from contad.engines.source.writing.shared_heads import DOWN, EACH, FIXED, SharedLoop

PRANGE = re.compile(r"prange\(\d+, (range\(.*\))\):")
UNKNOWN_TRIPS = 8.0  # of a loop whose length differs from iteration to iteration
CALL_COST, DIVISION_COST = 20.0, 4.0
# besides functions of math: what runs without Python, and writes nothing but what it makes
QUIET = frozenset(
    ("chain", "chain_slope", "select", "integer", "put_integer", "small_zeros", "abs", "bool", "float", "int", "len",
     "max", "min", "range", "np.int64", "np.float64", "np.zeros", "np.empty", "np.ones", "np.isfinite", "np.isnan", "np.copysign", "np.sign")
)  # fmt: skip
MAKERS = frozenset(("np.zeros", "np.empty", "np.ones", "small_zeros"))
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


class _Serial(Exception):
    """Why a loop stays serial."""


class Access(NamedTuple):
    """Where an array is touched: by a name, at indices, in which way ("read", "write", "add" or "view")."""

    name: str
    indices: tuple[ast.expr, ...]
    way: str


def share_loops(
    lines: list[str], loops: list[SharedLoop], facts: SharedFacts, fresh: Callable[[str], str], name: str
) -> Shared:
    """The lines of a function, its head first, with loops over prange shared where they can be, and serial elsewhere."""
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
        for s in body:
            if isinstance(s, ast.For) and _number_of(s) is not None and self._share(s):
                continue
            if isinstance(s, (ast.For, ast.While)):
                self.visit(s.body)
            elif isinstance(s, ast.If):
                self.visit(s.body)
                self.visit(s.orelse)

    def _share(self, loop: ast.For) -> bool:
        number = _number_of(loop)
        assert number is not None and loop.end_lineno is not None
        try:
            found = _LoopOfBlocks(loop, self.loops[number], self.facts, self.locals, self.live.after[loop])
        except _Serial as reason:
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
        """Look at a loop; _Serial where its iterations cannot be told to be independent."""
        self.loop, self.shared, self.facts = loop, shared, facts
        assert isinstance(loop.target, ast.Name)
        self.index = loop.target.id
        self.assigned = names_assigned(loop.body)
        self.start, self.stop, self.down = _limits(loop)
        self.guards: list[str] = []
        self._require_quiet(loop.body)
        self._require_own_end(loop.body)
        moved = {"work"} & self.assigned or {"top"} & self.assigned if shared.moves == FIXED else {"work"} & self.assigned
        if moved:
            raise _Serial("how much an iteration stores is not known before it runs")
        if self.index in self.assigned:
            raise _Serial("its index is assigned")
        self.sums = self._find_sums()
        left = (after & self.assigned) - self.sums.keys() - {*WORK}
        if left:
            raise _Serial(f"{', '.join(sorted(left))} is read after it")
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
            if isinstance(node, (ast.MatMult, ast.Lambda, ast.Try, ast.With, ast.JoinedStr, ast.Dict, ast.Set, ast.List)):
                raise _Serial(f"{_show(node)} may not run on several threads")
            if isinstance(node, ast.Attribute) and not _is_plain(node):
                raise _Serial(f"{_show(node)} may not run on several threads")
            if isinstance(node, ast.Call):
                self._require_quiet_call(node)

    def _require_quiet_call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func)
        if name.startswith("math.") or name in QUIET or name in self.facts.quiet_rules or name.endswith("Error"):
            return
        if _number_of_call(node) or (name in self.facts.called and "work" not in names_read(node)):
            if name in self.facts.called:
                (function,) = ast.parse("\n".join(self.facts.called[name])).body
                assert isinstance(function, ast.FunctionDef)
                self._require_quiet(function.body)
            return
        raise _Serial(f"{name} may not run on several threads")

    def _require_own_end(self, body: list[ast.stmt]) -> None:
        """No statement ends the loop early."""
        for s in body:
            if isinstance(s, (ast.Break, ast.Return)):
                raise _Serial("it may end early")
            if isinstance(s, ast.If):
                self._require_own_end(s.body)
                self._require_own_end(s.orelse)
            elif any(isinstance(x, ast.Return) for x in ast.walk(s)):
                raise _Serial("it may end early")

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def _find_sums(self) -> dict[str, str]:
        """The numbers that are carried from one iteration to the next because they are added to, with their kinds."""
        carried = carried_names(self.loop.body) - {*WORK}
        sums: dict[str, str] = {}
        uses = {name: 0 for name in carried}
        for node in (x for s in self.loop.body for x in ast.walk(s)):
            if isinstance(node, ast.Name) and node.id in carried:
                uses[node.id] += 1
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in carried:
                if isinstance(node.op, (ast.Add, ast.Sub)):
                    uses[node.target.id] -= 1
        for name in sorted(carried):
            kind = self.facts.kinds.get(name, "")
            if uses[name] or kind not in ("float", "int"):
                raise _Serial(f"{name} goes from one iteration to the next, and is no sum")
            sums[name] = kind
        return sums

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _find_buffered(self) -> list[str]:
        """The arrays that are only added to, so that each block gets a buffer."""
        accesses = _Accesses(self.facts, self.assigned).of(self.loop.body)
        views = {x.target: x for x in accesses.views}
        for x in accesses.views:
            if list(map(ast.dump, x.indices)) != list(map(ast.dump, views[x.target].indices)) or x.name != views[x.target].name:
                raise _Serial(f"{x.target} is several parts of arrays")
        if accesses.unknown - self.assigned - {*WORK}:
            raise _Serial(f"it is not known what {', '.join(sorted(accesses.unknown - self.assigned))} is")
        touched: dict[str, list[Access]] = {}
        for access in accesses.found:
            for root in self._roots(access.name) - accesses.made:
                touched.setdefault(root, []).append(access)
        buffered: list[str] = []
        for root, found in sorted(touched.items()):
            if root == WORK[0] or all(x.way == "read" for x in found):  # every iteration has places of its own there
                continue
            if any(len(self._roots(x.name)) > 1 for x in found):
                raise _Serial(f"{root} may be another array")
            resolved = [_resolve(x, views) for x in found]
            if any(isinstance(i, ast.Constant) and not isinstance(i.value, int) for x in resolved for i in x.indices):
                raise _Serial(f"{root} is written, and has views with new axes")
            bases = {x.name for x in resolved}
            if len(bases) > 1:
                raise _Serial(f"{root} is written, and has other names")
            (base,) = bases
            if self._is_private(resolved):
                continue
            if any(x.way != "add" for x in found) or base in self.assigned:
                raise _Serial(f"iterations may meet in the elements of {root}, and not only add to them")
            buffered.append(base)
        return buffered

    def _roots(self, name: str) -> frozenset[str]:
        return self.facts.roots.get(name, frozenset((name,)))

    def _is_private(self, accesses: list[Access]) -> bool:
        """Whether every iteration has elements of its own: in one place all have the index, plus the same number."""
        least = min(len(x.indices) for x in accesses)
        for k in range(least):
            offsets = {_offset(x.indices[k], self.index) for x in accesses}
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
            raise _Serial("its indices may be negative")

    # ---- the new text ------------------------------------------------------------------------------------------------
    def write(
        self, body: list[str], head: str, fresh: Callable[[str], str], name: str
    ) -> tuple[list[str], list[str]]:
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
        span = _difference(start, stop) if self.down else _difference(stop, start)
        count = f"count_blocks({n}, {self._cost()}, {self._sizes()})"
        if self.guards:
            count += f" if {' and '.join(dict.fromkeys(self.guards))} else 1"
        lines = [f"{n} = max({span}, 0){separator}{note}", f"{blocks} = {count}"]
        for x, kind in self.sums.items():
            lines.append(f"{parts[x]} = np.zeros({blocks}{', np.int64' if kind == 'int' else ''})")
        lines += [f"{parts[x]} = make_parts({x}, {blocks})" for x in self.buffered]
        if self.shared.moves == EACH:
            lines.append(f"work = grow(work, top + {blocks} * {stride})")
        lines.append(f"share({function}, {blocks}, ({', '.join(given)}))")
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
            inside.append(f"top {'-' if moves == DOWN else '+'}= {first} * {stride}".replace(first, f"({first})"))
        start, sign = ast.unparse(self.start), "-" if self.down else "+"
        if start != "0":
            first, last = f"{start} {sign} {first}", f"{start} {sign} {last}"
        inside.append(f"for {self.index} in range({first}, {last}{', -1' if self.down else ''}):")
        inside += [serial(line[len(indent) :]) for line in body]
        inside += [f"{parts[x]}[{block}] = {x}" for x in self.sums]
        return [f"def {function}({', '.join([block, *given])}):", *(f"    {line}" for line in inside)]

    def _sizes(self) -> str:
        return " + ".join(f"{x}.size" for x in self.buffered) or "0"

    def _cost(self) -> str:
        """How many additions an iteration takes, about, as source in what is known before the loop."""
        return _write_cost(_cost(self.loop.body, self.assigned | {self.index}))


# ---- accesses to arrays ----------------------------------------------------------------------------------------------
class ViewOf(NamedTuple):
    """A name that an iteration gives to a part of an array."""

    target: str
    name: str
    indices: tuple[ast.expr, ...]


class _Accesses:
    """Finds where statements touch arrays."""

    def __init__(self, facts: SharedFacts, assigned: frozenset[str]) -> None:
        self.facts, self.assigned = facts, assigned
        self.found: list[Access] = []
        self.views: list[ViewOf] = []
        self.made: set[str] = set()  # arrays that iterations make
        self.unknown: set[str] = set()

    def of(self, body: list[ast.stmt]) -> "_Accesses":
        """Look through statements."""
        for s in body:
            for node in ast.walk(s):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    if ast.unparse(node.value.func) in MAKERS:
                        self.made |= names_assigned(node.targets)
        for s in body:
            self._statement(s)
        return self

    def _is_array(self, name: str) -> bool:
        return name in self.facts.roots or name in self.made

    def _statement(self, s: ast.stmt) -> None:
        if isinstance(s, (ast.For, ast.While, ast.If)):
            self._expression(s.iter if isinstance(s, ast.For) else s.test)
            for inner in [*s.body, *s.orelse]:
                self._statement(inner)
        elif isinstance(s, ast.AugAssign):
            self._target(s.target, "add" if isinstance(s.op, (ast.Add, ast.Sub)) else "write")
            self._expression(s.value)
        elif isinstance(s, ast.Assign):
            (target,) = s.targets
            if isinstance(target, ast.Name) and self._is_array(target.id):
                self._name(target.id, s.value)
                return
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                self._target(part, "write")
            self._expression(s.value)
        elif isinstance(s, ast.Expr):
            self._expression(s.value)
        elif isinstance(s, ast.Raise):
            assert s.exc is not None
            self._expression(s.exc)
        elif not isinstance(s, (ast.Pass, ast.Break, ast.Continue)):
            raise _Serial(f"{_show(s)} may not run on several threads")

    def _name(self, target: str, value: ast.expr) -> None:
        """An array gets a name: a new one, or a part of another one."""
        if target in self.made:
            self._expression(value)
            return
        if isinstance(value, ast.Name):
            self.views.append(ViewOf(target, value.id, ()))
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            indices = _indices(value)
            self.views.append(ViewOf(target, value.value.id, indices))
            for index in indices:
                self._expression(index)
        else:
            raise _Serial(f"it is not known what {target} is")

    def _target(self, target: ast.expr, way: str) -> None:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self._touch(target.value.id, _indices(target), way)
        elif isinstance(target, ast.Name):
            if self._is_array(target.id):
                raise _Serial(f"{_show(target)} is a whole array")
        else:
            raise _Serial(f"{_show(target)} may not run on several threads")

    def _touch(self, name: str, indices: tuple[ast.expr, ...], way: str) -> None:
        if not self._is_array(name):
            self.unknown.add(name)
        self.found.append(Access(name, indices, way))
        for index in indices:
            self._expression(index)

    def _expression(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Name):
                self._touch(node.value.id, _indices(node), "read")
                return
            if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
                return
            raise _Serial(f"{_show(node)} may not run on several threads")
        if isinstance(node, ast.Attribute):
            if node.attr not in ("shape", "size") and ast.unparse(node.value) not in ("math", "np"):
                raise _Serial(f"{_show(node)} may not run on several threads")
            return
        if isinstance(node, ast.Call):
            self._call(node)
            return
        if isinstance(node, ast.Name) and self._is_array(node.id):
            self.found.append(Access(node.id, (), "read"))
        for inner in ast.iter_child_nodes(node):
            self._expression(inner)

    def _call(self, node: ast.Call) -> None:
        """The adjoints of arrays are added to by a function of a callee's reverse; else arguments are read."""
        name = ast.unparse(node.func)
        for given in node.args:
            if isinstance(given, ast.Name) and self._is_array(given.id):
                adds = name.startswith(CALLED[1]) and given.id.endswith(BAR)
                self.found.append(Access(given.id, (), "add" if adds else "read"))
            else:
                self._expression(given)
        for keyword in node.keywords:
            self._expression(keyword.value)


def _resolve(access: Access, views: dict[str, ViewOf]) -> Access:
    """An access by the name of a view as one to the array behind it, as far as its indices can be told."""
    while access.name in views:
        view = views[access.name]
        if any(isinstance(x, ast.Slice) and _is_whole(x) for x in view.indices):
            indices = _fill_slices(view.indices, access.indices)
        else:
            whole = all(not isinstance(x, ast.Slice) and not _is_new_axis(x) for x in view.indices)
            indices = (*view.indices, *access.indices) if whole else view.indices
        access = Access(view.name, indices, access.way)
    return access


def _fill_slices(taken: tuple[ast.expr, ...], given: tuple[ast.expr, ...]) -> tuple[ast.expr, ...]:
    """The indices of x[taken][given] in x, where whole axes are taken or one element of them."""
    if any(_is_new_axis(x) or (isinstance(x, ast.Slice) and not _is_whole(x)) for x in taken):
        return taken
    rest = list(given)
    found: list[ast.expr] = []
    for index in taken:
        found.append(rest.pop(0) if isinstance(index, ast.Slice) and rest else index)
    return (*found, *rest)


def _is_whole(index: ast.Slice) -> bool:
    return index.lower is None and index.upper is None and index.step is None


def _is_new_axis(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value is None


def _indices(node: ast.Subscript) -> tuple[ast.expr, ...]:
    return tuple(node.slice.elts) if isinstance(node.slice, ast.Tuple) else (node.slice,)


def _offset(node: ast.expr, index: str) -> int | None:
    """The number c of an index `index + c`; None of another one."""
    if isinstance(node, ast.Name) and node.id == index:
        return 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        if isinstance(node.left, ast.Name) and node.left.id == index and isinstance(node.right, ast.Constant):
            return sign * node.right.value if type(node.right.value) is int else None
    return None


# ---- limits and costs ------------------------------------------------------------------------------------------------
def _limits(loop: ast.For) -> tuple[ast.expr, ast.expr, bool]:
    """Where the range of a loop starts and stops, and whether it goes down."""
    assert isinstance(loop.iter, ast.Call)
    call = loop.iter.args[1]
    assert isinstance(call, ast.Call)
    zero: ast.expr = ast.Constant(0)
    start, stop = [zero, *call.args][:2] if len(call.args) == 1 else call.args[:2]
    step = ast.unparse(call.args[2]).strip("()") if len(call.args) == 3 else "1"
    if step not in ("1", "-1"):
        raise _Serial("its step is not 1")
    if (names_read(start) | names_read(stop)) & names_assigned(loop.body):
        raise _Serial("its limits are assigned in it")
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


def _difference(x: str, y: str) -> str:
    """x - y."""
    return x if y == "0" else f"({x}) - ({y})"


def _cost(body: list[ast.stmt], inside: frozenset[str]) -> dict[str, float]:
    """The cost of statements: of what is done once, and for each product of lengths of loops."""
    total: dict[str, float] = {}

    def add(terms: dict[str, float], factor: float = 1.0, times: str = "") -> None:
        for key, x in terms.items():
            product = " * ".join(filter(None, (times, key)))
            total[product] = total.get(product, 0.0) + factor * x

    for s in body:
        if isinstance(s, (ast.For, ast.While)):
            trips, factor = _trips(s, inside)
            add(_cost(s.body, inside), factor, trips)
        elif isinstance(s, ast.If):
            add({"": _cost_of(s.test)})
            branches = [_cost(s.body, inside), _cost(s.orelse, inside)]
            add(branches[0], 0.5 if s.orelse else 1.0)
            add(branches[1], 0.5)
        else:
            add({"": _cost_of(s)})
    return total


def _trips(s: ast.For | ast.While, inside: frozenset[str]) -> tuple[str, float]:
    """How often a loop runs: a text, and a factor."""
    limits = s.iter if isinstance(s, ast.For) else None
    while isinstance(limits, ast.Call) and ast.unparse(limits.func) == "prange":
        limits = limits.args[1]
    if not isinstance(limits, ast.Call) or names_read(limits) & inside:
        return "", UNKNOWN_TRIPS
    start, stop = ["0", *map(ast.unparse, limits.args)][:2] if len(limits.args) == 1 else map(ast.unparse, limits.args[:2])
    down = len(limits.args) == 3 and ast.unparse(limits.args[2]) == "-1"
    span = _difference(start, stop) if down else _difference(stop, start)
    return ("", float(int(stop))) if re.fullmatch(r"\d+", span) else (f"max({span}, 0)", 1.0)


def _cost_of(s: ast.AST) -> float:
    """The cost of an expression, in additions."""
    total = 0.0
    for node in ast.walk(s):
        if isinstance(node, ast.Call):
            total += CALL_COST if ast.unparse(node.func).startswith(("math.", "value_", *CALLED)) else 1.0
        elif isinstance(node, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
            total += DIVISION_COST
        elif isinstance(node, (ast.BinOp, ast.Subscript, ast.Compare, ast.AugAssign)):
            total += 1.0
    return total


def _write_cost(terms: dict[str, float]) -> str:
    parts = [f"{x:.1f}" if not key else f"{x:.1f} * {key}" for key, x in terms.items() if x]
    return " + ".join(parts) or "1.0"


def _number_of_call(node: ast.Call) -> bool:
    """Whether a call is the head of a loop inside."""
    return ast.unparse(node.func) == "prange"


def _is_plain(node: ast.Attribute) -> bool:
    return node.attr in ("shape", "size") or ast.unparse(node.value) in ("math", "np")


def _show(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0] if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
