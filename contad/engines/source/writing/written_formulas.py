"""Inlines formulas of distributions: in a loop that is reversed at once, value and partials share their lines."""

import ast
from typing import Any, TypeAlias, cast

from contad.distributions.formula import Formula
from contad.engines.source.analysis.partials import ByInverse, write_partial
from contad.engines.source.ir.ssa import BOOL, FLOAT, Apply, For, Loop
from contad.engines.source.ir.syntax import expression, name, substitute
from contad.engines.source.ir.tree_queries import called_name, key, names_of, nodes_in
from contad.engines.source.ir.walks import is_inside
from contad.engines.source.ir.writer import NameTable, Writer
from contad.rules.scalar_rule import ScalarRule

Lines: TypeAlias = list[tuple[str, ast.expr]]  # assignments: name and value


class WrittenFormulas:
    """Writes the values of formulas line by line, and notes the names of these lines and of those of partials."""

    def __init__(self, writer: Writer, names: NameTable, fused: frozenset[Loop], enabled: bool) -> None:
        """`fused` are the loops that reverse each iteration at once."""
        self.writer, self.names, self.fused, self.enabled = writer, names, fused, enabled
        self.lines_of: dict[Apply, dict[str, ast.expr]] = {}  # the lines of each inlined value, by name
        self.written: dict[Apply, Lines] = {}  # the same, with the lines of formulas that it calls
        self.known: dict[Any, str] = {}  # for the formula whose partials are written: names by keys of values
        self.renamed: dict[str, str] = {}  # for the same formula: names of lines, and the names that replace them
        self.still: set[str] = set()  # for the same formula: loop-invariant names
        self.inside: dict[Apply, set[str]] = {}  # for each value: new names of its operands

    def is_written_out(self, o: Apply) -> bool:
        """Whether an operation is a formula in a counted loop, where LLVM and strip mining then see its lines."""
        if not self.enabled or not isinstance(o.function.rule, Formula) or o.block is None:
            return False
        return isinstance(o.block.parent, For)

    def write_value(self, o: Apply) -> ast.expr:
        """The value of a formula; writes the lines that it needs before."""
        operands = [name(o.result.name)]
        for x in o.inputs:
            operand = self.writer.text(x)
            if x in self.writer.inside:
                target = self.writer.fresh(f"{o.result.name}_of")
                self.writer.line("target = operand", target=target, operand=operand)
                self.inside.setdefault(o, set()).add(target)
                operand = name(target)
            operands.append(operand)
        assert isinstance(o.function.rule, Formula)
        at_once = o.block is not None and o.block.parent in self.fused
        prefix = f"{o.result.name}_" if at_once else f"{o.result.name}_of_"
        own, [*lines, (_, result)] = self._lines_of(o.function.rule, operands, prefix)
        if any(target in self.writer.taken for target, _ in lines):
            return self.writer.apply(o)
        for target, value in lines:
            self.writer.line("target = value", target=target, value=value)
        if at_once:
            self.lines_of[o] = own
            self.written[o] = lines
        self.note(lines)
        self.writer.taken |= dict(lines).keys()
        return result

    def _lines_of(self, rule: Formula, operands: list[ast.expr], prefix: str) -> tuple[dict[str, ast.expr], Lines]:
        """The lines of a formula by name, and the same lines with the formulas that they call inlined.

        The value is the last line. `operands` are the result and the operands.
        """
        formulas: dict[str, Formula] = {}

        def call(inner: ScalarRule) -> None:
            if isinstance(inner, Formula):
                formulas[f"value_{inner.name}"] = inner
            else:
                self.writer.call_rule(inner)

        lines, result = write_partial(rule, rule.arity, operands, prefix, call, {})
        found: Lines = []
        for target, tree in (*lines, ("", result)):
            if target and isinstance(tree, ast.Call) and (known := formulas.get(called_name(tree))) is not None:
                _, [*more, (_, value)] = self._lines_of(known, [name(target), *tree.args], f"{target}_")
                found += [*more, (target, value)]
                continue
            for node in nodes_in(tree):
                if called_name(node) in formulas:
                    self.writer.call_rule(formulas[called_name(node)])
            found.append((target, tree))
        return dict(lines), found

    def begin_partials(self, o: Apply) -> dict[str, ast.expr]:
        """Begin the partials of a function; the lines that its value has written, by name."""
        lines = self.written.get(o, [])
        self.known = {key(value): target for target, value in reversed(lines)}
        self.renamed = {}
        self.still = set()
        loop = None if o.block is None else o.block.parent
        if lines and loop is not None:
            moves = {x: x.block is not None and is_inside(x.block, loop) for x in o.inputs if x.constant is None}
            moving = {x.name for x in moves if moves[x]} | self.inside.get(o, set())
            self.still = {x.name for x in moves if not moves[x]}
            for target, value in lines:
                (self.still if moving.isdisjoint(names_of(value)) else moving).add(target)
        return dict(self.lines_of.get(o, {}))

    def reuse(self, lines: Lines, partial: ast.expr) -> tuple[Lines, ast.expr]:
        """The lines of a partial, and the partial, without lines that recompute another line of the formula."""
        kept: Lines = []
        for target, given in lines:
            value = substitute(given, self.renamed)
            if key(value) not in self.known:
                value = self._invert(value, kept)
            known = value.id if isinstance(value, ast.Name) else self.known.setdefault(key(value), target)
            if known != target:
                self.renamed[target] = known
            else:
                kept.append((target, value))
        return kept, self._invert(substitute(partial, self.renamed), kept)

    def _invert(self, tree: ast.expr, lines: Lines) -> ast.expr:
        """Turn divisions into products by inverses that a line has computed, or that are loop-invariant.

        So a loop never divides twice by the same number, nor by an invariant one.
        """

        def find_inverse(divisor: Any) -> str | None:
            if not isinstance(divisor, str):  # not the key of a name
                return None
            inverse = expression("1.0 / divisor", divisor=divisor)
            if key(inverse) not in self.known and divisor in self.still:
                self.known[key(inverse)] = self.writer.fresh(f"{divisor}_inverse")
                lines.append((self.known[key(inverse)], inverse))
            return self.known.get(key(inverse))

        return cast(ast.expr, ByInverse(find_inverse).visit(tree))

    def note(self, lines: Lines) -> None:
        """Remember the lines of a formula."""
        for target, value in lines:
            self.names.lines.add(target)
            self.names.add(BOOL if _is_condition(value) else FLOAT, [target])


def _is_condition(node: ast.expr) -> bool:
    bits = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr))
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return bits or negated or isinstance(node, (ast.Compare, ast.BoolOp))
