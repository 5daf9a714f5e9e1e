"""Formulas of distributions written out: where a loop is reversed at once, their value and partials share their lines.

What these lines compute of nothing that the loop changes is computed before it.
"""

import ast
import re
from collections.abc import Callable, Sequence

from contad.distributions.formula import Formula
from contad.engines.source.analysis.partials import source_of_rule
from contad.engines.source.ir.single_assignment import Apply, Loop
from contad.engines.source.ir.walks import is_inside
from contad.engines.source.ir.writer import Writer, atom
from contad.rules.scalar_rule import ScalarRule

_ASSIGNED = re.compile(r"\s*((?:\w+, )*\w+) (?:[-+*/|&]?)= ")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_LOOP = re.compile(r"\s*for (\w+(?:, \w+)*) in ")


class WrittenFormulas:
    """Writes the values of formulas line by line, and remembers the names of these lines and of those of partials."""

    def __init__(self, writer: Writer, fused: frozenset[Loop], enabled: bool) -> None:
        """`fused` are the loops that are reversed at once."""
        self.writer, self.fused, self.enabled = writer, fused, enabled
        self.lines_of: dict[Apply, dict[str, str]] = {}  # of each value that was written out: names and their texts
        self.written: dict[Apply, list[tuple[str, str]]] = {}  # likewise, with the lines of formulas that it calls
        self.known: dict[str, str] = {}  # of the formula whose partials are written: names by their texts
        self.renamed: dict[str, str] = {}  # and names of lines that others stand for
        self.still: set[str] = set()  # and names that the loop does not change
        self.inside: dict[Apply, set[str]] = {}  # of each value: names that were given to its operands
        self.numbers: set[str] = set()  # names of lines, but for those of conditions
        self.names: set[str] = set()

    def is_written_out(self, o: Apply) -> bool:
        """Whether a function of numbers is a formula in a loop that is reversed at once."""
        if not self.enabled or not isinstance(o.function.rule, Formula) or o.block is None:
            return False
        return o.block.parent in self.fused

    def write_value(self, o: Apply) -> str:
        """The text of a formula's value, after the lines that it needs."""
        names = [o.result.name]
        for x in o.inputs:
            text = self.writer.text(x)
            if x in self.writer.inside:
                text = self.writer.fresh(f"{o.result.name}_of")
                self.writer.line(f"{text} = {self.writer.inside[x]}")
                self.inside.setdefault(o, set()).add(text)
            names.append(text)
        assert isinstance(o.function.rule, Formula)
        own, [*lines, (_, result)] = self._lines_of(o.function.rule, names, f"{o.result.name}_")
        if any(name in self.writer.taken for name, _ in lines):
            return self.writer.apply(o)
        for name, text in lines:
            self.writer.line(f"{name} = {text}")
        self.lines_of[o] = own
        self.written[o] = lines
        self.note(lines)
        self.writer.taken |= dict(lines).keys()
        return atom(result)

    def _lines_of(self, rule: Formula, names: list[str], prefix: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Names and texts of the lines that a formula has, and these with formulas that they call written out, too.

        The value is the last. `names` are those of the result and the operands.
        """
        formulas: dict[str, Formula] = {}

        def call(inner: ScalarRule) -> str:
            if not isinstance(inner, Formula):
                return self.writer.call_rule(inner)
            formulas[f"value_{inner.name}"] = inner
            return f"value_{inner.name}"

        lines, result = source_of_rule(rule, rule.arity, names, prefix, call, {})
        found: list[tuple[str, str]] = []
        for name, text in (*lines, ("", result)):
            tree = ast.parse(text, mode="eval").body
            if name and isinstance(tree, ast.Call) and (known := formulas.get(ast.unparse(tree.func))) is not None:
                given = [atom(ast.unparse(x)) for x in tree.args]
                _, [*more, (_, value)] = self._lines_of(known, [name, *given], f"{name}_")
                found += [*more, (name, value)]
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in formulas:
                    self.writer.call_rule(formulas[ast.unparse(node.func)])
            found.append((name, text))
        return dict(lines), found

    def begin_partials(self, o: Apply) -> dict[str, str]:
        """Begin with the partials of a function: the lines that its value has written, by their names."""
        lines = self.written.get(o, [])
        self.known = {text: name for name, text in reversed(lines)}
        self.renamed = {}
        self.still = set()
        loop = None if o.block is None else o.block.parent
        if lines and loop is not None:
            moving = {self.writer.text(x) for x in o.inputs if x.block is not None and is_inside(x.block, loop)}
            self.still = {self.writer.text(x) for x in o.inputs} - moving
            for name, text in lines:
                if set(_NAME.findall(text)) & (moving | self.inside.get(o, set())):
                    moving.add(name)
                else:
                    self.still.add(name)
        return dict(self.lines_of.get(o, {}))

    def reuse(self, lines: list[tuple[str, str]], text: str) -> tuple[list[tuple[str, str]], str]:
        """Lines of a partial and its text, without those that compute what another line of the formula has."""
        kept: list[tuple[str, str]] = []
        for name, given in lines:
            value = self._rename(given)
            if value not in self.known:
                value = self._invert(value, kept)
            known = value if value.isidentifier() else self.known.setdefault(value, name)
            if known != name:
                self.renamed[name] = known
            else:
                kept.append((name, value))
        return kept, self._invert(self._rename(text), kept)

    def _invert(self, text: str, lines: list[tuple[str, str]]) -> str:
        """A text with products by inverses: by those that a line has, and by those of what stays while the loop runs.

        So a loop divides by nothing twice, and by nothing that it does not change.
        """
        if "/" not in text:
            return text

        def find_inverse(divisor: str) -> str | None:
            inverse = f"1.0 / {divisor}"
            if inverse not in self.known and divisor in self.still:
                self.known[inverse] = self.writer.fresh(f"{divisor}_inverse")
                lines.append((self.known[inverse], inverse))
            return self.known.get(inverse)

        return ast.unparse(_ByInverses(find_inverse).visit(ast.parse(text, mode="eval").body))

    def _rename(self, text: str) -> str:
        return _NAME.sub(lambda found: self.renamed.get(found[0], found[0]), text)

    def note(self, lines: Sequence[tuple[str, str]]) -> None:
        """Remember lines of a formula."""
        for name, text in lines:
            self.names.add(name)
            if not _is_condition(text):
                self.numbers.add(name)


class _ByInverses(ast.NodeTransformer):
    """Multiplies by the inverses of divisors that have one."""

    def __init__(self, find_inverse: Callable[[str], str | None]) -> None:
        self.find_inverse = find_inverse

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.Name):
            return node
        name = self.find_inverse(node.right.id)
        if name is None:
            return node
        is_one = isinstance(node.left, ast.Constant) and node.left.value == 1.0
        inverse = ast.Name(name, ast.Load())
        return inverse if is_one else ast.BinOp(node.left, ast.Mult(), inverse)


def _is_condition(text: str) -> bool:
    node = ast.parse(text, mode="eval").body
    bits = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr))
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return bits or negated or isinstance(node, (ast.Compare, ast.BoolOp))


def move_out(lines: Sequence[str], names: set[str]) -> list[str]:
    """Lines of a function, with those that assign one of these names before the loops that change nothing in them.

    Each of the names is assigned once, a number without side effects, so that it may be computed for a loop that does
    not run.
    """
    found = list(lines)
    if not names:
        return found
    k = 0
    while k < len(found):
        if _LOOP.match(found[k]):
            end = _end_of(found, k)
            assigned = {name for line in found[k:end] for name in _names_assigned(line)}
            moved = []
            for n in range(k + 1, end):
                match = _ASSIGNED.match(found[n])
                name = match[1] if match else ""
                if name in names and _depth(found[n]) == _depth(found[k]) + 4:
                    read = set(_NAME.findall(found[n].partition("=")[2]))
                    if "[" not in found[n] and not read & assigned:
                        assigned.discard(name)
                        moved.append(n)
            if moved:
                before = [found[n][4:] for n in moved]
                kept = [line for n, line in enumerate(found[k:end], k) if n not in moved]
                found[k:end] = [*before, *kept]
                k = max(0, k - _lines_around(found, k))  # an outer loop may change nothing in them, either
                continue
        k += 1
    return found


def _lines_around(lines: Sequence[str], k: int) -> int:
    """How many lines back the head of the block around line k is."""
    back = next((n for n in range(k - 1, -1, -1) if lines[n].strip() and _depth(lines[n]) < _depth(lines[k])), k)
    return k - back if _LOOP.match(lines[back]) else 0


def _names_assigned(line: str) -> list[str]:
    match = _ASSIGNED.match(line) or _LOOP.match(line)
    return match[1].split(", ") if match else []


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end_of(lines: Sequence[str], k: int) -> int:
    """The number of the first line after the block that line k is the head of."""
    depth = _depth(lines[k])
    return next((n for n in range(k + 1, len(lines)) if lines[n].strip() and _depth(lines[n]) <= depth), len(lines))
