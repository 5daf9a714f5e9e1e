"""Stan's declarations of parameters, read as text: names, constraints, and bounds that depend on earlier parameters."""

import ast
import copy
import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from contad.stan import matrix_algebra, scalar_functions, spelled_functions, transforms
from contad.stan.transforms import Constraint

FUNCTIONS = (scalar_functions, spelled_functions, matrix_algebra)  # modules with the functions in expressions
# by type: the numbers of sizes, and the constraint; none where bounds choose it
TYPES: dict[str, tuple[tuple[int, ...], str]] = {
    "real": ((0,), ""), "vector": ((1,), ""), "row_vector": ((1,), ""), "matrix": ((2,), ""),
    "ordered": ((1,), "ordered"), "positive_ordered": ((1,), "positive_ordered"), "simplex": ((1,), "simplex"),
    "unit_vector": ((1,), "unit_vector"), "sum_to_zero_vector": ((1,), "sum_to_zero"),
    "sum_to_zero_matrix": ((2,), "sum_to_zero"), "cholesky_factor_corr": ((1,), "cholesky_factor_corr"),
    "cholesky_factor_cov": ((1, 2), "cholesky_factor_cov"), "corr_matrix": ((1,), "corr_matrix"),
    "cov_matrix": ((1,), "cov_matrix"), "row_stochastic_matrix": ((2,), "stochastic_row"),
    "column_stochastic_matrix": ((2,), "stochastic_column"),
}  # fmt: skip
BOUNDS: dict[str, Callable[..., Constraint]] = {"lower": transforms.lower_bound, "upper": transforms.upper_bound}
UNITS = {"offset": 0.0, "multiplier": 1.0}
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z]\w*")
# what Python spells in another way; a quote after an operand transposes. The operator @ is an elementwise product here,
# and @ ~ an elementwise quotient: they have the precedence of * and of /
_SPELLINGS = [
    (r"\.\*", "@"), (r"\./", "@ ~"), (r"\.?\^", "**"), (r"%/%", "//"), (r"&&", " and "), (r"\|\|", " or "),
    (r"!(?!=)", " not "), (r"(?<=[\w)\]])\s*'", ".T"), (r"\[\s*(?=,)", "[:"), (r",\s*(?=[,\]])", ", :"),
]  # fmt: skip


def python_name(name: str) -> str:
    """A name of Stan as an argument of a Python function: `lambda` is `lambda_`, and `len` is `len_`."""
    return f"{name}_" if keyword.iskeyword(name) or name in {"len", "range"} else name


def _write_choices(text: str) -> str:
    """An expression in which `test ? x : y` is Python's `x if test else y`, also inside brackets."""
    if "?" not in text:
        return text
    held: list[str] = []  # the insides of brackets, whose places have these numbers in \0

    def hold(found: re.Match[str]) -> str:
        held.append(f"{found[0][0]}{','.join(map(_write_choice, found[0][1:-1].split(',')))}{found[0][-1]}")
        return f"\0{len(held) - 1}\0"

    innermost = re.compile(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}")
    while innermost.search(text):
        text = innermost.sub(hold, text)
    text = _write_choice(text)
    while "\0" in text:
        text = re.sub("\0(\\d+)\0", lambda found: held[int(found[1])], text)
    return text


def _write_choice(text: str) -> str:
    """Likewise for an expression without brackets."""
    test, asks, rest = text.partition("?")
    if not asks:
        return text
    depth = 1
    for place, x in enumerate(rest):
        depth += (x == "?") - (x == ":")
        if depth == 0:
            then, other = _write_choice(rest[:place]), _write_choice(rest[place + 1 :])
            return f"(({then}) if ({test}) else ({other}))"
    return text


class Expression:
    """A bound that depends on earlier parameters: Python text, and the values of names in it that begin with `_`."""

    def __init__(self, text: str, known: Mapping[str, Any]) -> None:
        self.text, self.known = text, dict(known)

    def __repr__(self) -> str:
        return self.text

    def __call__(self, p: Any) -> Any:
        """The bound for a namespace of parameters."""
        return eval(self.text, dict(self.known), vars(p))


def read_parameters(
    text: str, data: Mapping[str, Any], functions: Mapping[str, Any] | None = None
) -> dict[str, Constraint]:
    """The constraints of the parameters of a block, by their names and in their order.

    Expressions may call `functions`, by their names, and those of `contad.stan`.

    >>> read_parameters("real mu; array[2] simplex[K] theta;  // shares", {"K": 3})
    {'mu': <real of shape ()>, 'theta': <simplex of shape (2, 3)>}
    """
    return _DeclarationReader(text, data, functions or {}).read()


class _DeclarationReader:
    """A position in the text of a block."""

    def __init__(self, text: str, data: Mapping[str, Any], functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self.text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
        self.place, self.data = 0, data
        self.found: dict[str, Constraint] = {}

    def fail(self, expected: str, place: int | None = None) -> NoReturn:
        at = self.place if place is None else place
        at = len(self.text) - len(self.text[at:].lstrip())
        line = self.text.count("\n", 0, at) + 1
        got = self.text[at:].strip().partition("\n")[0][:40]
        raise ValueError(f"Model: line {line} of the parameters: expected {expected}, got {got or 'the end'!r}")

    def take(self, pattern: str | re.Pattern[str], expected: str = "") -> str:
        """The next characters, if they match; "" if they need not."""
        start = len(self.text) - len(self.text[self.place :].lstrip())
        match = re.compile(pattern).match(self.text, start)
        if match is None:
            if expected:
                self.fail(expected, start)
            return ""
        self.place = match.end()
        return match[0]

    def sees(self, pattern: str) -> bool:
        """Whether the next characters match."""
        return re.compile(rf"\s*(?=\S){pattern}").match(self.text, self.place) is not None

    def read(self) -> dict[str, Constraint]:
        self.take(r"parameters\b")
        enclosed = self.take(r"\{")
        while self.sees("[^}]"):
            self.read_declaration()
        if enclosed:
            self.take(r"\}", "}")
        self.take(r"\Z", "the end of the block")
        return self.found

    def read_declaration(self) -> None:
        """One declaration, of one name or several."""
        start = self.place
        dimensions = self.take_sizes() if self.take(r"array\b") else ()
        kind = self.take(_NAME, "a type")
        if kind not in TYPES:
            self.fail(f"a type of parameters ({', '.join(TYPES)})", start)
        bounds = self.take_bounds() if self.take("<") else {}
        sizes = self.take_sizes() if self.sees(r"\[") else ()
        counts, constraint = TYPES[kind]
        if len(sizes) not in counts:
            self.fail(f"{kind} with {' or '.join(map(str, counts))} sizes", start)
        if constraint and bounds:
            self.fail(f"no bounds of {kind}", start)
        while True:
            name = self.take(_NAME, "a name")
            if name in self.found or name in self.data:
                home = "data" if name in self.data else "parameters"
                self.fail(f"a new name, and {name} is one of the {home}", start)
            arrays = self.take_sizes() if self.sees(r"\[") else dimensions  # Stan's arrays before 2.26
            try:
                self.found[name] = self.make(constraint, bounds, sizes, arrays)
            except ValueError as error:
                self.fail(f"another declaration ({error})", start)
            if not self.take(","):
                break
        self.take(";", ";")

    def make(
        self, constraint: str, bounds: dict[str, Any], sizes: tuple[int, ...], arrays: tuple[int, ...]
    ) -> Constraint:
        """The constraint of a parameter."""
        if not constraint and not sizes and any(map(np.ndim, bounds.values())):  # a bound for each number of an array
            return self.make_bounded(bounds, arrays).of_numbers()
        made = getattr(transforms, constraint)(*sizes) if constraint else self.make_bounded(bounds, sizes)
        return made.array(*arrays) if arrays else made

    def make_bounded(self, bounds: dict[str, Any], shape: tuple[int, ...]) -> Constraint:
        limits, units = bounds.keys() & BOUNDS.keys(), UNITS | bounds
        if limits and len(limits) < len(bounds):
            raise ValueError("bounds or units, not both")
        if len(limits) == 2:
            return transforms.lower_upper_bound(bounds["lower"], bounds["upper"], shape)
        if limits:
            (name, bound), *_ = bounds.items()
            return BOUNDS[name](bound, shape)
        if bounds:
            return transforms.offset_multiplier(units["offset"], units["multiplier"], shape)
        return transforms.real(shape)

    # ---- expressions -------------------------------------------------------------------------------------------------
    def take_expression(self, closing: str) -> Any:
        """The value of an expression up to one of these characters, or an `Expression` of earlier parameters."""
        start, depth = self.place, 0
        while self.place < len(self.text):
            x = self.text[self.place]
            if depth == 0 and x in closing:
                break
            depth += (x in "([{") - (x in ")]}")
            self.place += 1
        text = self.text[start : self.place]
        if re.search("[@~]", text):
            self.fail("an expression", start)
        text = _NAME.sub(lambda name: python_name(name[0]), text)
        for pattern, spelling in _SPELLINGS:
            text = re.sub(pattern, spelling, text)
        text = _write_choices(text)
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError:
            self.fail("an expression", start)
        folding = _Folding(self.data, self.found, self.functions)
        try:
            found = folding.visit(tree)
        except (LookupError, TypeError, ValueError, ArithmeticError, NotImplementedError) as error:
            self.fail(str(error.args[0]) if isinstance(error, LookupError) else f"another expression ({error})", start)
        if isinstance(found, ast.Constant):
            value: Any = found.value
            return np.asarray(value) if found.kind and np.ndim(value) == 0 else value
        known = dict(folding.known)
        return Expression(ast.unparse(ast.fix_missing_locations(_Naming(known).visit(found))), known)

    def take_sizes(self) -> tuple[int, ...]:
        self.take(r"\[", "[ and sizes")
        sizes = []
        while True:
            start = self.place
            size = self.take_expression(",]")
            if isinstance(size, Expression) or np.ndim(size) or int(size) != size or size < 0:
                self.fail("a size, a whole number made of data", start)
            sizes.append(int(size))
            if not self.take(","):
                break
        self.take(r"\]", "]")
        return tuple(sizes)

    def take_bounds(self) -> dict[str, Any]:
        bounds = {}
        while True:
            start = self.place
            name = self.take(r"(lower|upper|offset|multiplier)\b", "lower, upper, offset or multiplier")
            if name in bounds:
                self.fail(f"{name} only once", start)
            self.take("=", "=")
            bounds[name] = self.take_expression(",>")
            if not self.take(","):
                break
        self.take(">", ">")
        return bounds


def _place(k: Any) -> Any:
    """An index that counts from 1 as one that counts from 0."""
    if isinstance(k, tuple):
        return tuple(map(_place, k))
    first, last = (k.start, k.stop) if isinstance(k, slice) else (k, None)
    if (first is not None and np.any(np.less(first, 1))) or (last is not None and last < 0):
        raise LookupError("indices that count from 1")
    return slice(k.start and k.start - 1, k.stop) if isinstance(k, slice) else k - 1


class _Folding(ast.NodeTransformer):
    """Replaces what consists of data by its value, in a constant whose kind is "data" unless it is literal."""

    def __init__(
        self, data: Mapping[str, Any], parameters: Mapping[str, Constraint], functions: Mapping[str, Any]
    ) -> None:
        self.functions = functions
        self.data = {python_name(name): x for name, x in data.items()}
        self.parameters = {python_name(name): c for name, c in parameters.items()}
        self.known: dict[str, Any] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The value of data; parameters stay."""
        if node.id in self.data:
            return ast.Constant(self.data[node.id], kind="data")
        if node.id in self.parameters:
            return node
        raise LookupError(f"data, or a parameter declared before, and not {node.id}")

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The value of a function of Stan; a call of it where it depends on parameters."""
        name = ast.unparse(node.func)
        function = next((vars(home)[name] for home in FUNCTIONS if name in getattr(home, "__all__", ())), None)
        function = self.functions.get(name, function)
        if not callable(function):
            raise LookupError(f"a function of contad.stan, or beside the log density, and not {name}")
        args: list[Any] = [self.visit(x) for x in node.args]
        if all(isinstance(x, ast.Constant) for x in args):
            return ast.Constant(function(*(x.value for x in args)), kind="data")
        self.known[f"_{name}"] = function
        return ast.Call(ast.Name(f"_{name}", ast.Load()), args, [])

    def visit_Set(self, node: ast.Set) -> Any:
        """The array of some elements."""
        return self.visit(ast.List(node.elts, ast.Load()))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """One of two expressions, if data say which."""
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        node.test, node.body, node.orelse = test, self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """The value of an operation; arrays are multiplied and divided by elements only."""
        if is_elementwise := isinstance(node.op, ast.MatMult):
            divides = isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.Invert)
            node.op = ast.Div() if divides else ast.Mult()
            node.right = node.right.operand if divides else node.right  # type: ignore[attr-defined]
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, (ast.Mod, ast.FloorDiv)):
            if not all(isinstance(x, ast.Constant) and _is_whole(x.value) for x in (node.left, node.right)):
                raise LookupError("whole numbers of data beside % and %/%")
        if isinstance(node.op, (ast.Mult, ast.Div)) and not is_elementwise:
            if self.is_array(node.left) and self.is_array(node.right):
                raise LookupError("no * or / between two arrays: write .* or ./, or make a matrix product part of data")
        return self.fold(node)

    def is_array(self, node: ast.expr) -> bool:
        """Whether the value of a node that was visited has axes; it is tried where parameters are 0.5."""
        if isinstance(node, ast.Constant):
            value: Any = node.value
            return np.ndim(value) > 0
        known = dict(self.known)
        tried = ast.fix_missing_locations(ast.Expression(_Naming(known).visit(copy.deepcopy(node))))
        known |= {name: np.full(c.shape, 0.5) if c.shape else 0.5 for name, c in self.parameters.items()}
        try:
            return np.ndim(eval(compile(tried, "<expression>", "eval"), known)) > 0
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            return True

    def generic_visit(self, node: ast.AST) -> Any:
        """The value of a node of constants."""
        if isinstance(node, ast.Slice) and node.step:
            raise LookupError("a range without a step")
        super().generic_visit(node)
        return self.fold(node)

    def fold(self, node: ast.AST) -> Any:
        """The value of a node whose parts were visited, if they are constants."""
        parts: list[Any] = [x for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr)]
        if not isinstance(node, ast.expr) or isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            node.slice.value = _place(node.slice.value)
        if not all(isinstance(x, ast.Constant) for x in parts):
            return node
        kind = "data" if any(x.kind for x in parts) else None
        return ast.Constant(_evaluate(node, [x.value for x in parts]), kind=kind)


class _Naming(ast.NodeTransformer):
    """Gives names to constants that are values of data."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A name for a value of data; a slice and a literal number stay."""
        value: Any = node.value
        if isinstance(value, slice):
            return ast.Slice(*(None if x is None else ast.Constant(x) for x in (value.start, value.stop)))
        if isinstance(value, tuple):  # indices
            return ast.Tuple([self.visit_Constant(ast.Constant(x)) for x in value], ast.Load())
        if node.kind is None and not isinstance(value, np.ndarray):
            return node
        name = f"_{len(self.known)}"
        self.known[name] = value
        return ast.Name(name, ast.Load())


def _is_whole(x: Any) -> bool:
    return isinstance(x, (int, np.integer))


def _evaluate(node: ast.expr, values: list[Any]) -> Any:
    """The value of a node from those of its parts, as in Stan."""
    if isinstance(node, ast.Slice):
        ends = iter(values)
        return slice(node.lower and next(ends), node.upper and next(ends))
    if isinstance(node, ast.Subscript):
        return values[0][values[1]]
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(values) if isinstance(node, ast.Tuple) else np.array(values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
        if all(map(_is_whole, values)):
            return int(values[0] / values[1])  # a quotient of whole numbers is whole
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        rest = abs(values[0]) % abs(values[1])
        return rest if values[0] >= 0 else -rest  # a remainder has the sign of the dividend
    known: dict[str, Any] = {}
    named = ast.fix_missing_locations(ast.Expression(_Naming(known).visit(node)))
    return eval(compile(named, "<expression>", "eval"), known)
