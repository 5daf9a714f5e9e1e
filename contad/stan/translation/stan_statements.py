"""Statements of Stan as lines of Python."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from contad.stan.translation.stan_expressions import StanExpressions, parse, plus, rank_of, type_of
from contad.stan.translation.stanc import Statement, TranslationError, fields

WIDTH = 100
_BREAKS = " +  -  * "  # where a long line breaks, if it has no comma at that depth


class StanStatements:
    """Writes the statements of one function."""

    def __init__(self, expressions: StanExpressions) -> None:
        self.expressions = expressions
        self.lines: list[str] = []
        self.adds = False  # whether they are a function that adds to target, and returns what it adds
        self._indent = 1
        self._written: set[str] = set()  # the arrays some of whose elements are assigned
        self._sources: set[str] = set()  # those that are assigned from such an array

    # ---- a list of statements ----
    def write(self, statements: Sequence[Statement]) -> None:
        """The lines of these statements, added to `lines`."""
        self._written |= {name for statement in statements for name in _written_in(statement)}
        self._sources |= {name for statement in statements for name in _sharing_in(statement, self._written)}
        self._write_list(statements)

    def _write_list(self, statements: Sequence[Statement]) -> None:
        before = len(self.lines)
        for place, statement in enumerate(statements):
            try:
                self._write_statement(statement, statements[place + 1 :])
            except TranslationError as error:
                if str(error).startswith("line "):
                    raise
                raise TranslationError(f"line {statement.line}: {error}") from None
        if self._indent > 1 and all(line.strip().startswith("#") for line in self.lines[before:]):
            self.put("pass")

    def put(self, text: str) -> None:
        """Adds a line, or several where it is long."""
        self.lines += break_line("    " * self._indent + text)

    def comment(self, comments: Sequence[str]) -> None:
        """Adds comments."""
        self.lines += [f"{'    ' * self._indent}# {comment}" for comment in comments]

    def _put(self, node: ast.stmt) -> None:
        self.put(ast.unparse(ast.fix_missing_locations(node)))

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        self._put(ast.Assign([target], value))

    def _write_statement(self, statement: Statement, later: Sequence[Statement]) -> None:
        self.comment(statement.comments)
        begin = len(self.lines)
        if statement.kind == "VarDecl":
            self._write_declaration(fields(statement.parts), later)
        else:
            method = getattr(self, f"_write_{statement.kind}", None)
            if method is None:
                raise TranslationError(f"statements of the kind {statement.kind} have no counterpart yet")
            method(*statement.parts)
        if statement.remark and len(self.lines) > begin:
            if len(self.lines[-1]) + len(statement.remark) + 4 <= WIDTH:
                self.lines[-1] += f"  # {statement.remark}"
            else:
                self.lines.insert(begin, f"{'    ' * self._indent}# {statement.remark}")

    # ---- declarations ----
    def _write_declaration(self, declared: dict[str, Any], later: Sequence[Statement]) -> None:
        of_values = isinstance(declared["decl_type"], list) and declared["decl_type"][0] == "STuple"
        of_values = of_values and all(fields(variable)["initial_value"] for variable in declared["variables"])
        shape, is_int = ([], False) if of_values else self.shape_of(declared["decl_type"])
        for variable in declared["variables"]:
            found = fields(variable)
            name = found["identifier"][0][1]
            target = ast.Name(self.expressions.name(name))
            if found["initial_value"]:
                self._assign(target, self._own_value(name, found["initial_value"][0]))
            elif not _is_assigned_first(name, later):
                if shape:
                    size = shape[0] if len(shape) == 1 else ast.Tuple(shape)
                    self._assign(target, parse("np.zeros(A, np.int64)" if is_int else "np.full(A, np.nan)", A=size))
                else:
                    self._assign(target, parse("0" if is_int else "np.nan"))

    def shape_at(self, statement: Statement) -> tuple[list[ast.expr], bool]:
        """`shape_of` the type in a declaration; a refusal has its line."""
        try:
            return self.shape_of(fields(statement.parts)["decl_type"])
        except TranslationError as error:
            raise TranslationError(f"line {statement.line}: {error}") from None

    def shape_of(self, declared: Any) -> tuple[list[ast.expr], bool]:
        """The sizes of a declared type, and whether its elements are integers."""
        if isinstance(declared, str):
            if declared not in ("SInt", "SReal"):
                raise TranslationError(f"declarations of type {declared[1:].lower()} have no counterpart yet")
            return [], declared == "SInt"
        if declared[0] == "SArray":
            inner, is_int = self.shape_of(declared[1])
            return [self.expressions.write(declared[2]), *inner], is_int
        if declared[0] not in ("SVector", "SRowVector", "SMatrix"):
            raise TranslationError(f"declarations of type {declared[0][1:].lower()} have no counterpart yet")
        return [self.expressions.write(size) for size in declared[1:] if not isinstance(size, str)], False

    def _own_value(self, name: str, expr: Any) -> ast.expr:
        """The value to assign to a whole variable: a copy where NumPy would share elements that are written."""
        node = self.expressions.write(expr)
        if type_of(expr)[0] == "UTuple" or not rank_of(type_of(expr)) or _is_fresh(node):
            return node
        return parse("A.copy()", A=node) if name in self._written | self._sources else node

    # ---- assignments ----
    def _write_Assignment(self, target: Any, operator: Any, value: Any) -> None:
        left, op, right = target[1], operator[1], value[1]
        if left[0] != "LValue":
            if fields(right)["expr"][0] != "FunApp":
                raise TranslationError("assignments to tuples have no counterpart yet, unless a function is called")
            parts = [self._left(part[1]) for part in fields(left[1:])["lvals"]]
            self._assign(ast.Tuple([node for _, node, _ in parts]), self.expressions.write(right))
            for name, node, type_ in parts:  # a function may return its argument
                if name in self._written | self._sources and rank_of(type_):
                    self._assign(node, parse("A.copy()", A=node))
            return
        name, node, type_ = self._left(left[1])
        if op == "Assign":
            is_whole = isinstance(node, ast.Name)
            self._assign(node, self._own_value(name, right) if is_whole else self.expressions.write(right))
            return
        by = self.expressions.write(right)
        if rank_of(type_) == 0 and op[1] in ("Plus", "Minus"):
            self._put(ast.AugAssign(node, ast.Add() if op[1] == "Plus" else ast.Sub(), by))  # type: ignore[arg-type]
        else:  # in place, an array of another name would change, too
            self._assign(node, self.expressions.operate(node, type_, op[1], by, type_of(right)))

    def _left(self, value: Any) -> tuple[str, ast.expr, Any]:
        """The variable that an assignment changes, its target in Python, and the target's type."""
        found = fields(value)
        inner, type_ = found["lval"], fields(found["lmeta"])["type_"]
        if inner[0] == "LVariable":
            name = inner[1][0][1]
            return name, ast.Name(self.expressions.name(name)), type_
        if inner[0] != "LIndexed":
            raise TranslationError("assignments to parts of tuples have no counterpart yet")
        name, node, _ = self._left(inner[1])
        at = self.expressions.index(node, inner[2])
        return name, ast.Subscript(at, ast.Slice()) if isinstance(at, ast.Name) else at, type_

    # ---- densities ----
    def _write_TargetPE(self, expr: Any) -> None:
        self._add_to_target(self.expressions.write(expr), rank_of(type_of(expr)) > 0)

    def _add_to_target(self, value: ast.expr, is_array: bool = False) -> None:
        if is_array:
            value = parse("np.sum(A)", A=value)
        self._put(ast.AugAssign(ast.Name("target"), ast.Add(), value))

    def _write_Tilde(self, arg: Any, distribution: Any, args: Any, truncation: Any) -> None:
        name = distribution[1][0][1]
        values, types = [self.expressions.write(x) for x in args[1]], [type_of(x) for x in args[1]]
        outcome = self.expressions.write(arg[1])
        density = self.expressions.density(name, [outcome, *values], [type_of(arg[1]), *types])
        self._add_to_target(density)
        if truncation[1] != "NoTruncate":
            self._truncate(name, truncation[1], (outcome, type_of(arg[1])), values, types)

    def _truncate(
        self, name: str, bounds: Any, outcome: tuple[ast.expr, Any], values: list[ast.expr], types: list[Any]
    ) -> None:
        """Divides a density by the probability between its bounds, outside of which it is 0."""
        write = self.expressions
        ends = [write.write(end) for end in bounds[1:]]
        of = ["UReal", *types]
        least, most = ("np.min(A)", "np.max(A)") if rank_of(outcome[1]) else ("A", "A")
        below, above = f"{least} < B", f"{most} > B"
        if bounds[0] == "TruncateBetween" and any(map(rank_of, types)):
            raise TranslationError("a truncation between two bounds with vectors has no counterpart yet; use a loop")
        least_in = plus(ends[0], -1) if write.is_mass(name) else ends[0]  # P(y < L) of whole numbers
        if bounds[0] == "TruncateUpFrom":
            outside = parse(below, A=outcome[0], B=ends[0])
            probability = write.probability(f"{name}_lccdf", [least_in, *values], of)
        else:
            outside = parse(above, A=outcome[0], B=ends[-1])
            probability = write.probability(f"{name}_lcdf", [ends[-1], *values], of)
        if bounds[0] == "TruncateBetween":
            outside = parse(f"{below} or {most} > C", A=outcome[0], B=ends[0], C=ends[1])
            lower = write.probability(f"{name}_lcdf", [least_in, *values], of)
            probability = write.call("log_diff_exp", [probability, lower], ["UReal", "UReal"])
        if rank_of(outcome[1]) and not any(rank_of(type_) for type_ in types):
            probability = parse("A.size * B", A=outcome[0], B=probability)
        self._put(ast.AugAssign(ast.Name("target"), ast.Sub(), probability))
        self.put(f"if {ast.unparse(outside)}:")
        self.put("    target = -np.inf")

    # ---- control ----
    def _write_body(self, body: Statement) -> None:
        self._indent += 1
        self._write_list(body.parts[0] if body.kind == "Block" else [body])
        self._indent -= 1

    def _write_Block(self, statements: list[Statement]) -> None:
        self._write_list(statements)

    def _write_Profile(self, _name: str, statements: list[Statement]) -> None:
        self._write_Block(statements)

    def _write_For(self, variable: Any, lower: Any, upper: Any, body: Any) -> None:
        name = variable[1][0][1]
        first, last = self.expressions.write(lower[1]), self.expressions.write(upper[1])
        is_zero_based = _counts_places(name, body[1])
        begin, end = (plus(first, -1), last) if is_zero_based else (first, plus(last, 1))
        starts_at_zero = isinstance(begin, ast.Constant) and begin.value == 0
        ends = [end] if starts_at_zero else [begin, end]
        text = ast.unparse(ast.fix_missing_locations(ast.Call(ast.Name("range"), ends, [])))
        self.put(f"for {self.expressions.name(name)} in {text}:")
        if is_zero_based:
            self.expressions.zero_based.add(name)
        self._write_body(body[1])
        self.expressions.zero_based.discard(name)

    def _write_ForEach(self, identifier: Any, expr: Any, body: Statement) -> None:
        if rank_of(type_of(expr)) > 1 and type_of(expr) == "UMatrix":
            raise TranslationError("loops over the elements of a matrix have no counterpart yet")
        self.put(f"for {self.expressions.name(identifier[0][1])} in {ast.unparse(self.expressions.write(expr))}:")
        self._write_body(body)

    def _write_While(self, test: Any, body: Statement) -> None:
        self.put(f"while {ast.unparse(self.expressions.write(test))}:")
        self._write_body(body)

    def _write_IfThenElse(self, test: Any, then: Statement, other: list[Statement]) -> None:
        self._write_branch("if", test, then, other)

    def _write_branch(self, word: str, test: Any, then: Statement, other: list[Statement]) -> None:
        self.put(f"{word} {ast.unparse(self.expressions.write(test))}:")
        self._write_body(then)
        if not other:
            return
        if other[0].kind == "IfThenElse":
            self._write_branch("elif", *other[0].parts)
        else:
            self.put("else:")
            self._write_body(other[0])

    def _write_NRFunApp(self, _kind: Any, identifier: Any, args: Sequence[Any]) -> None:
        self._add_to_target(self.expressions.write_addition(identifier, args))

    def _write_Break(self) -> None:
        self.put("break")

    def _write_Continue(self) -> None:
        self.put("continue")

    def _write_Skip(self) -> None:
        pass

    def _write_Print(self, *_: Any) -> None:
        pass

    def _write_Return(self, expr: Any) -> None:
        self._put(ast.Return(self.expressions.write(expr)))

    def _write_ReturnVoid(self) -> None:
        self.put("return target" if self.adds else "return")

    def _write_Reject(self, pieces: Sequence[Any]) -> None:
        words = [text.replace("\\", "").strip('"') for kind, text in pieces if kind == "PString"]
        self.put(f"raise ValueError({' '.join(words).strip()!r})")

    _write_FatalError = _write_Reject


# ---- questions about statements --------------------------------------------------------------------------------------
def _inside(part: Any) -> Iterator[Any]:
    """This piece of a program and all pieces in it."""
    waiting = [part]
    while waiting:
        piece = waiting.pop()
        yield piece
        if isinstance(piece, Statement):
            waiting.append(piece.parts)
        elif isinstance(piece, list | tuple):
            waiting.extend(reversed(piece))


def names_in(part: Any) -> set[str]:
    """The names that a piece of a program mentions."""
    pairs = (piece for piece in _inside(part) if isinstance(piece, list) and len(piece) == 2 and piece[0] == "name")
    return {pair[1] for pair in pairs if isinstance(pair[1], str)}


def _written_in(statement: Statement) -> Iterator[str]:
    """The arrays some of whose elements this statement, or one inside of it, assigns."""
    for part in _inside(statement):
        if isinstance(part, list) and part and part[0] == "LIndexed":
            yield from _variables_of(part)


def _sharing_in(statement: Statement, written: set[str]) -> Iterator[str]:
    """The variables that this statement, or one inside of it, assigns from an expression with a written array."""
    for part in _inside(statement):
        if isinstance(part, Statement) and part.kind in ("Assignment", "VarDecl") and names_in(part.parts) & written:
            yield from _variables_of(part.parts)
            yield from (x[1][0][1] for x in _inside(part.parts) if isinstance(x, list) and x[:1] == ["identifier"])


def _is_fresh(node: ast.expr) -> bool:
    """Whether an expression makes an array of its own: arithmetic, and functions of NumPy and Stan."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, name = node.func.value, node.func.attr
        return name == "copy" or (isinstance(owner, ast.Name) and owner.id == "np" and name not in ("ravel", "diag"))
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare)


def _variables_of(left: Any) -> Iterator[str]:
    for part in _inside(left):
        if isinstance(part, list) and part and part[0] == "LVariable":
            yield part[1][0][1]


def _is_assigned_first(name: str, later: Sequence[Statement]) -> bool:
    """Whether the first of these statements that mentions a variable assigns all of it."""
    for statement in later:
        if name in names_in(statement.parts):
            if statement.kind != "Assignment":
                return False
            left, operator, right = statement.parts
            parts = [left[1]] if left[1][0] == "LValue" else fields(left[1][1:])["lvals"]
            inner = [fields(part[1])["lval"] for part in parts if name in names_in(part)]
            is_whole = all(x[0] == "LVariable" for x in inner) and operator[1] == "Assign"
            return is_whole and name not in names_in(right)
    return False


def _counts_places(name: str, body: Statement) -> bool:
    """Whether a loop's variable is mostly a place in arrays, so that it can count from 0."""
    places = others = 0
    for part in _inside(body):
        if isinstance(part, list) and len(part) == 2 and part[0] == "Single" and _is_affine(name, part[1]):
            places += 1
        elif isinstance(part, list) and len(part) == 2 and part[0] == "Variable" and part[1][0][1] == name:
            others += 1
    return 2 * places > others  # `others` counts those in places, too


def _is_affine(name: str, expr: Any) -> bool:
    """Whether an index is the variable plus or minus a constant."""
    inner = fields(expr)["expr"]
    if inner[0] == "Variable":
        return bool(inner[1][0][1] == name)
    if inner[0] == "BinOp" and inner[2] in ("Plus", "Minus"):
        return _is_affine(name, inner[1]) and fields(inner[3])["expr"][0] == "IntNumeral"
    return False


# ---- long lines ------------------------------------------------------------------------------------------------------
def break_line(line: str, depth: int = 0) -> list[str]:
    """A line of Python, broken inside its brackets, or inside new ones, where it is too long."""
    if len(line) <= WIDTH:
        return [line]
    indent = len(line) - len(line.lstrip())
    is_continued, is_sum = depth > 0, False
    best: tuple[tuple[int, int], int] | None = None  # the last break of the least rank that fits, and its place
    equals = re.match(r" *[^=()]* [+*/-]?= (?=.)", line) if not depth else None
    quote = ""
    for place, char in enumerate(line):
        if char in ("'", '"') and quote in ("", char):
            quote = "" if quote else char
        if quote:
            continue
        depth += (char in "([{") - (char in ")]}")
        is_operator = line[place : place + 3] in _BREAKS
        is_sum |= is_operator and depth == 0 and equals is not None and place >= equals.end()
        is_right = equals is None or place >= equals.end()
        if depth > 0 and is_right and indent < place < WIDTH - 2 and (is_operator or line[place : place + 2] == ", "):
            rank = depth, _BREAKS.find(line[place : place + 3])
            if best is None or rank <= best[0]:
                best = rank, place + 1 if char == "," else place
    if is_sum and equals is not None:
        return break_line(f"{equals.group()}({line[equals.end() :]})")
    if best is None:
        return [line]
    indent += 0 if is_continued else 4
    return [line[: best[1]].rstrip(), *break_line(" " * indent + line[best[1] :].lstrip(), best[0][0])]
