"""Expressions of Stan as Python expressions: places count from 0, and operators follow the types that stanc found."""

import ast
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from contad.stan.translation.stanc import TranslationError, fields

# ---- types -----------------------------------------------------------------------------------------------------------
_RANKS = {"UInt": 0, "UReal": 0, "UVector": 1, "URowVector": 1, "UMatrix": 2}


def type_of(expr: Any) -> Any:
    """The type of a printed expression."""
    return fields(fields(expr)["emeta"])["type_"]


def rank_of(type_: Any) -> int:
    """The number of axes of an array of this type."""
    if isinstance(type_, str) and type_ in _RANKS:
        return _RANKS[type_]
    if isinstance(type_, list) and type_[0] == "UArray":
        return 1 + rank_of(type_[1])
    raise TranslationError(f"values of type {_name_of_type(type_)} have no counterpart yet")


def _base_of(type_: Any) -> Any:
    """The type of the numbers in a value."""
    return _base_of(type_[1]) if isinstance(type_, list) and type_[0] == "UArray" else type_


def _name_of_type(type_: Any) -> str:
    return type_ if isinstance(type_, str) else str(type_[0])


# ---- pieces of Python ------------------------------------------------------------------------------------------------
_PYTHON = {
    "np", "njit", "target", "len", "range", "int", "float", "min", "max", "rng", "Model", "read_data", "PARAMETERS",
    "data", "model", "log_density", "transform_data", "generated_quantities", "stan_version", "propto", "self",
}  # fmt: skip


def normalise(name: str) -> str:
    """The name of a density with all its terms."""
    return re.sub("_lup([dm]f)$", r"_lp\1", name)


def parse(text: str, **holes: ast.expr) -> ast.expr:
    """The expression of a template, whose names in capital letters are replaced by expressions."""

    class Filled(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return holes.get(node.id, node)

    filled = Filled().visit(ast.parse(text, mode="eval").body)
    assert isinstance(filled, ast.expr)
    return filled


def plus(node: ast.expr, k: int) -> ast.expr:
    """node + k, with all whole constants of the sum in one."""
    terms = list(_terms(node, False))
    constant = k + sum(-t.value if minus else t.value for t, minus in terms if _is_whole(t))  # type: ignore[attr-defined]
    rest = [(term, minus) for term, minus in terms if not _is_whole(term)]
    rest.sort(key=lambda term: term[1])  # first what is added
    if not rest:
        return ast.Constant(constant) if constant >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-constant))
    total = ast.UnaryOp(ast.USub(), rest[0][0]) if rest[0][1] else rest[0][0]
    for term, minus in rest[1:]:
        total = ast.BinOp(total, ast.Sub() if minus else ast.Add(), term)
    if constant:
        return ast.BinOp(total, ast.Add() if constant > 0 else ast.Sub(), ast.Constant(abs(constant)))
    return total


def _terms(node: ast.expr, minus: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The terms of a sum, and whether each is subtracted."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _terms(node.left, minus)
        yield from _terms(node.right, minus != isinstance(node.op, ast.Sub))
    else:
        yield node, minus


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def span(begin: ast.expr, end: ast.expr) -> ast.Slice:
    """The slice from one place to another."""
    starts = isinstance(begin, ast.Constant) and begin.value == 0
    return ast.Slice(None if starts else begin, _natural(end))


def _natural(end: ast.expr) -> ast.expr:
    """The end of a slice: a negative one would count from the end of the array."""
    may_be_negative = any(isinstance(x, ast.Sub | ast.USub) for x in ast.walk(end))
    return parse("max(A, 0)", A=end) if may_be_negative else end


def _as_test(node: ast.expr) -> ast.expr:
    """An operand of `and` or `or`, which give their operands."""
    is_test = isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
    return node if is_test else parse("A != 0", A=node)


_OPERATORS = {
    "Plus": ast.Add, "Minus": ast.Sub, "Times": ast.Mult, "EltTimes": ast.Mult, "Divide": ast.Div, "EltDivide": ast.Div,
    "Pow": ast.Pow, "EltPow": ast.Pow,
}  # fmt: skip
_COMPARISONS = {
    "Equals": ast.Eq, "NEquals": ast.NotEq, "Less": ast.Lt, "Leq": ast.LtE, "Greater": ast.Gt, "Geq": ast.GtE,
}  # fmt: skip
_JOINTS = {"And": ast.And, "Or": ast.Or}
_LINEAR = ("UVector", "URowVector", "UMatrix")

# functions that read better in NumPy, by the same name and by another; A, B, C and D are the arguments
_SAME = {
    "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log10", "log2", "log1p", "expm1", "floor",
    "ceil", "sum", "prod", "mean", "exp2", "hypot", "abs", "trunc",
}  # fmt: skip
_TEMPLATES = {
    "fabs": "np.abs(A)", "square": "A ** 2", "e": "np.e", "pi": "np.pi",
    "positive_infinity": "np.inf", "negative_infinity": "-np.inf", "not_a_number": "np.nan", "is_inf": "np.isinf(A)",
    "is_nan": "np.isnan(A)", "to_int": "int(A)", "cumulative_sum": "np.cumsum(A)", "dot_product": "np.dot(A, B)",
    "reverse": "A[::-1]", "num_elements": "A.size", "head": "A[:B]", "tail": "A[len(A) - B:]",
    "diag_matrix": "np.diag(A)", "identity_matrix": "np.eye(A)", "append_array": "np.concatenate((A, B))",
    "zeros_vector": "np.zeros(A)", "zeros_row_vector": "np.zeros(A)", "zeros_array": "np.zeros(A)",
    "ones_vector": "np.ones(A)", "ones_row_vector": "np.ones(A)", "ones_array": "np.ones(A)",
    "zeros_int_array": "np.zeros(A, np.int64)", "ones_int_array": "np.ones(A, np.int64)",
}  # fmt: skip
_RANDOM = {
    "normal": "rng.normal(A, B)", "std_normal": "rng.standard_normal()", "uniform": "rng.uniform(A, B)",
    "bernoulli": "rng.binomial(1, A)", "bernoulli_logit": "rng.binomial(1, 1.0 / (1.0 + np.exp(-A)))",
    "binomial": "rng.binomial(A, B)", "binomial_logit": "rng.binomial(A, 1.0 / (1.0 + np.exp(-B)))",
    "poisson": "rng.poisson(A)", "poisson_log": "rng.poisson(np.exp(A))", "exponential": "rng.exponential(1.0 / A)",
    "gamma": "rng.gamma(A, 1.0 / B)", "inv_gamma": "1.0 / rng.gamma(A, 1.0 / B)", "beta": "rng.beta(A, B)",
    "lognormal": "rng.lognormal(A, B)", "cauchy": "A + B * rng.standard_cauchy()", "chi_square": "rng.chisquare(A)",
    "student_t": "B + C * rng.standard_t(A)", "double_exponential": "rng.laplace(A, B)",
    "logistic": "rng.logistic(A, B)", "gumbel": "rng.gumbel(A, B)", "weibull": "B * rng.weibull(A)",
    "dirichlet": "rng.dirichlet(A)", "categorical": "1 + rng.choice(len(A), p=A)",
    "multi_normal": "rng.multivariate_normal(A, B)", "neg_binomial_2": "rng.poisson(rng.gamma(B, A / B))",
    "multinomial": "rng.multinomial(B, A)", "neg_binomial": "rng.poisson(rng.gamma(A, 1.0 / B))",
    "neg_binomial_2_log": "rng.poisson(rng.gamma(B, np.exp(A) / B))",
    "beta_proportion": "rng.beta(A * B, (1.0 - A) * B)",
    "beta_binomial": "rng.binomial(A, rng.beta(B, C))", "pareto": "A * (1.0 + rng.pareto(B))",
    "rayleigh": "rng.rayleigh(A)", "frechet": "B / rng.weibull(A)", "inv_chi_square": "1.0 / rng.chisquare(A)",
    "scaled_inv_chi_square": "A * B**2 / rng.chisquare(A)",
    "multi_normal_cholesky": "A + B @ rng.standard_normal(len(A))",
    "ordered_logistic": "1 + np.sum(A + rng.logistic() > B)",
    "ordered_probit": "1 + np.sum(A + rng.standard_normal() > B)",
}  # fmt: skip
# those that draw one number for arguments that are vectors
_ONE_DRAW = "student_t", "cauchy", "weibull", "beta_binomial", "pareto", "frechet", "scaled_inv_chi_square"


class StanExpressions:
    """Writes the expressions of one function."""

    def __init__(
        self, stan_names: frozenset[str], imports: set[str], own: frozenset[str], taken: frozenset[str],
        with_propto: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self._stan_names = stan_names  # the functions of contad.stan
        self._taken = taken  # names that mean something else in the file
        self._imports = imports  # those that are used, here collected, and `dopri5`, `sdirk4`
        self._own = own  # the program's own functions
        self._with_propto = with_propto  # those of them that take `propto`
        self.uses_propto = False
        self.zero_based: set[str] = set()  # loop variables that count from 0 in Python
        self._elements: set[ast.expr] = set()  # subscripts by numbers alone

    # ---- names ----
    def name(self, stan: str) -> str:
        """The Python name of a variable or of the program's own function."""
        taken = stan in _PYTHON or stan in self._taken or stan.endswith("_") or keyword.iskeyword(stan)
        return stan + "_" if taken else stan

    def load(self, stan: str) -> ast.expr:
        """A variable's value as Stan counts."""
        node = ast.Name(self.name(stan))
        return plus(node, 1) if stan in self.zero_based else node

    # ---- expressions ----
    def write(self, expr: Any) -> ast.expr:
        """The Python expression of a printed one."""
        inner = fields(expr)["expr"]
        kind, parts = (inner, []) if isinstance(inner, str) else (inner[0], inner[1:])
        method: Callable[..., ast.expr] | None = getattr(self, f"_write_{kind}", None)
        if method is None:
            raise TranslationError(f"expressions of the kind {kind} have no counterpart yet")
        return method(*parts)

    def _write_Paren(self, expr: Any) -> ast.expr:
        return self.write(expr)

    def _write_IntNumeral(self, text: str) -> ast.expr:
        return ast.Constant(int(text.replace("_", "")))

    def _write_RealNumeral(self, text: str) -> ast.expr:
        return ast.Constant(float(text.replace("_", "")))

    def _write_Variable(self, identifier: Any) -> ast.expr:
        return self.load(identifier[0][1])

    def _write_Promotion(self, expr: Any, type_: Any, _level: str) -> ast.expr:
        node, given = self.write(expr), type_of(expr)
        if _base_of(given) != "UInt":
            return node
        if rank_of(given):
            if isinstance(node, ast.Call) and len(node.args) == 2 and ast.unparse(node.args[1]) == "np.int64":
                return ast.Call(node.func, node.args[:1], [])  # zeros or ones
            return parse("A * 1.0", A=node)
        if isinstance(node, ast.Constant):
            return ast.Constant(float(node.value))  # type: ignore[arg-type]
        return parse("float(A)", A=node)

    def _write_TernaryIf(self, test: Any, then: Any, other: Any) -> ast.expr:
        return ast.IfExp(self.write(test), self.write(then), self.write(other))

    def _write_PrefixOp(self, operator: str, expr: Any) -> ast.expr:
        operators: dict[str, ast.unaryop] = {"PMinus": ast.USub(), "PPlus": ast.UAdd(), "PNot": ast.Not()}
        return ast.UnaryOp(operators[operator], self.write(expr))

    def _write_PostfixOp(self, expr: Any, _transpose: str) -> ast.expr:
        if type_of(expr) == "UMatrix":
            return ast.Attribute(self.write(expr), "T")
        return self.write(expr)  # vectors and row vectors are arrays of one axis

    def _write_ArrayExpr(self, items: Sequence[Any]) -> ast.expr:
        ranks = {rank_of(type_of(item)) for item in items}
        if ranks == {1}:
            return parse("np.vstack(A)", A=ast.Tuple([self.write(item) for item in items]))
        if ranks - {0}:
            raise TranslationError("an array of matrices has no counterpart yet; assign its parts")
        return parse("np.array(A)", A=ast.List([self.write(item) for item in items]))

    def _write_RowVectorExpr(self, items: Sequence[Any]) -> ast.expr:
        found = self._write_ArrayExpr(items)
        return parse("A * 1.0", A=found) if items and all(type_of(x) == "UInt" for x in items) else found

    def _write_BinOp(self, left: Any, operator: str, right: Any) -> ast.expr:
        a, b = (self._write_operand(x, operator) for x in (left, right))
        return self.operate(a, type_of(left), operator, b, type_of(right))

    def _write_operand(self, expr: Any, operator: str) -> ast.expr:
        """An operand; arithmetic with a real number needs no conversion of the other one."""
        inner = fields(expr)["expr"]
        if inner[0] == "Promotion" and operator in ("Plus", "Minus", "Times", "Divide", "EltTimes", "EltDivide"):
            node = self.write(inner[1])
            if not isinstance(node, ast.Constant) and not rank_of(type_of(inner[1])):
                return node
        return self.write(expr)

    def operate(self, a: ast.expr, a_type: Any, operator: str, b: ast.expr, b_type: Any) -> ast.expr:
        """The value of an operator of Stan."""
        if operator in _COMPARISONS:
            return ast.Compare(a, [_COMPARISONS[operator]()], [b])
        if operator in _JOINTS:
            return ast.BoolOp(_JOINTS[operator](), [_as_test(a), _as_test(b)])
        are_ints = a_type == b_type == "UInt"
        if operator == "IntDivide" or (operator == "Divide" and are_ints):
            return parse("int(A / B)", A=a, B=b)  # which rounds to zero, as Stan does
        if operator == "Modulo":
            return parse("int(np.fmod(float(A), B))", A=a, B=b)
        if operator in ("Times", "Divide") and a_type in _LINEAR and b_type in _LINEAR:
            if operator == "Divide":
                return self.call("mdivide_right", [a, b])
            if (a_type, b_type) == ("UVector", "URowVector"):
                return parse("np.outer(A, B)", A=a, B=b)
            return ast.BinOp(a, ast.MatMult(), b)
        if operator == "LDivide":
            return self.call("mdivide_left", [a, b])
        if operator in ("Plus", "Minus") and are_ints:
            return plus(ast.BinOp(a, _OPERATORS[operator](), b), 0)
        if operator == "Pow" and are_ints:
            a = parse("float(A)", A=a)
        return ast.BinOp(a, _OPERATORS[operator](), b)

    # ---- places ----
    def _write_Indexed(self, expr: Any, indices: Sequence[Any]) -> ast.expr:
        return self.index(self.write(expr), indices)

    def index(self, node: ast.expr, indices: Sequence[Any]) -> ast.expr:
        """The elements of an array at Stan's indices."""
        gathers = [i for i in indices if isinstance(i, list) and i[0] == "Single" and rank_of(type_of(i[1])) > 0]
        if len(gathers) > 1:  # which Stan takes as a grid, and NumPy as pairs
            raise TranslationError("indices with two arrays of integers have no counterpart yet; use them one by one")
        if gathers and len(indices) > 2:
            raise TranslationError("an array of integers among three indices has no counterpart yet; use it alone")
        places = [self._place(index) for index in indices]
        while places and isinstance(places[-1], ast.Slice) and places[-1].lower is places[-1].upper is None:
            places.pop()
        if not places:
            return node
        if isinstance(node, ast.Subscript) and node in self._elements and not gathers:
            before = node.slice
            places = [*(before.elts if isinstance(before, ast.Tuple) else [before]), *places]  # x[i][j] is x[i, j]
            node = node.value
        found = ast.Subscript(node, places[0] if len(places) == 1 else ast.Tuple(places))
        if not gathers and not any(isinstance(place, ast.Slice) for place in places):
            self._elements.add(found)
        return found

    def _place(self, index: Any) -> ast.expr:
        if index == "All":
            return ast.Slice()
        kind, first = index[0], self.write(index[1])
        if kind == "Single":
            return plus(first, -1)
        if kind == "Upfrom":
            return ast.Slice(plus(first, -1))
        if kind == "Downfrom":
            return ast.Slice(None, _natural(first))
        return span(plus(first, -1), self.write(index[2]))

    # ---- calls ----
    def _write_CondDistApp(self, kind: Any, identifier: Any, args: Sequence[Any]) -> ast.expr:
        return self._write_FunApp(kind, identifier, args)

    def _write_FunApp(self, kind: Any, identifier: Any, args: Sequence[Any]) -> ast.expr:
        name = identifier[0][1]
        if kind[0] == "UserDefined":
            if name.endswith("_lp"):
                raise TranslationError(f"{name} adds to target; make it return what it adds")
            return self._call_own(name, [self.write(arg) for arg in args])
        if name in ("integrate_ode_rk45", "integrate_ode_bdf", "integrate_ode_adams", "integrate_ode"):
            return self._write_solution("bdf" in name, args[:4], args[4:7], args[7:])
        if name in ("ode_rk45", "ode_bdf", "ode_adams", "ode_ckrk"):
            return self._write_solution("bdf" in name, args[:4], args[4:], ())
        if name in ("ode_rk45_tol", "ode_bdf_tol", "ode_adams_tol", "ode_ckrk_tol"):
            return self._write_solution("bdf" in name, args[:4], args[7:], args[4:7])
        if name in ("reduce_sum", "reduce_sum_static"):
            whole = self.write(args[1])
            rest = [self.write(arg) for arg in args[3:]]
            part = fields(args[0])["expr"][1][0][1]
            return self._call_own(part, [whole, ast.Constant(1), parse("len(A)", A=whole), *rest])
        return self.call(name, [self.write(arg) for arg in args], [type_of(arg) for arg in args])

    def _write_TupleExpr(self, items: Sequence[Any]) -> ast.expr:
        return ast.Tuple([self.write(item) for item in items])

    def _write_TupleProjection(self, of: Any, place: str) -> ast.expr:
        return ast.Subscript(self.write(of), ast.Constant(int(place) - 1))

    def write_addition(self, identifier: Any, args: Sequence[Any]) -> ast.expr:
        """What a function without a result adds to target."""
        name = identifier[0][1]
        if not name.endswith("_lp"):
            raise TranslationError("a call without a result has no counterpart yet; return what the function computes")
        return self._call_own(name, [self.write(arg) for arg in args])

    def _write_solution(self, is_stiff: bool, problem: Any, args: Any, tolerances: Any) -> ast.expr:
        solver = "sdirk4" if is_stiff else "dopri5"
        self._imports.add(solver)
        f, start, begin, times = (self.write(arg) for arg in problem)
        given = ast.Tuple([self.write(arg) for arg in args])
        close = [self.write(arg) for arg in tolerances[:2]] or [ast.Constant(1e-10 if is_stiff else 1e-6)] * 2
        times = parse("np.concatenate((np.array([A]), B))", A=begin, B=times)
        states = ast.Call(ast.Name(solver), [f, times, start, given, *close], [])
        return ast.Subscript(states, ast.Slice(ast.Constant(1)))  # those at the times, without the first

    def is_mass(self, name: str) -> bool:
        """Whether a distribution has whole numbers."""
        return f"{name}_lpmf" in self._stan_names | self._own

    def density(self, name: str, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        """The log density or log mass of a distribution."""
        for ending in ("_lpdf", "_lpmf"):
            if name + ending in self._own:
                return self._call_own(name + ending.replace("_lp", "_lup"), args)
            if name + ending in self._stan_names:
                return self.call(name + ending.replace("_lp", "_lup"), args, types)
        raise TranslationError(f"the distribution {name} has no counterpart yet")

    def probability(self, name: str, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        """The logarithm of a distribution function."""
        return self._call_own(name, args) if name in self._own else self.call(name, args, types)

    def call(self, name: str, args: list[ast.expr], types: Sequence[Any] = ()) -> ast.expr:
        """The value of a function of Stan."""
        special: Callable[..., ast.expr] | None = getattr(self, f"_call_{name}", None)
        if special is not None:
            return special(args, types)
        if name.endswith("_rng") and name[:-4] in _RANDOM:
            is_one = name.startswith("ordered") and rank_of(types[0]) > 0
            is_one = is_one or (name.startswith("multi_normal_cholesky") and rank_of(types[0]) > 1)
            if is_one or (name[:-4] in _ONE_DRAW and any(map(rank_of, types))):
                raise TranslationError(f"{name} of vectors has no counterpart yet; draw in a loop")
            return parse(_RANDOM[name[:-4]], **dict(zip("ABC", args, strict=False)))
        if name in _TEMPLATES:
            return parse(_TEMPLATES[name], **dict(zip("ABCD", args, strict=False)))
        if name in _SAME:
            return ast.Call(ast.Attribute(ast.Name("np"), name), args, [])
        known = normalise(name)
        if known in self._stan_names:
            self._imports.add(known)
            return ast.Call(ast.Name(known), args, [] if known == name else self._pass_propto())
        raise TranslationError(f"{name} has no counterpart yet")

    def _call_own(self, name: str, args: list[ast.expr]) -> ast.expr:
        """The call of one of the program's functions."""
        known = normalise(name)
        is_added = known.endswith("_lp")
        propto = self._pass_propto() if is_added or (known != name and known in self._with_propto) else []
        return ast.Call(ast.Name(self.name(known)), args, propto)

    def _pass_propto(self) -> list[ast.keyword]:
        self.uses_propto = True
        return [ast.keyword("propto", ast.Name("propto"))]

    def _call_size(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return parse("A.size" if types[0] == "UMatrix" else "len(A)" if rank_of(types[0]) else "1", A=args[0])

    def _call_pow(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return self.operate(args[0], types[0], "Pow", args[1], types[1])

    def _call_min(self, args: list[ast.expr], types: Sequence[Any], name: str = "min") -> ast.expr:
        return ast.Call(ast.Name(name) if len(args) == 2 else ast.Attribute(ast.Name("np"), name), args, [])

    def _call_max(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return self._call_min(args, types, "max")

    def _call_rep_vector(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return self._fill(args[1], _as_real(args[0], types[0]), "UReal")

    _call_rep_row_vector = _call_rep_vector

    def _call_rep_array(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        if rank_of(types[0]):
            raise TranslationError("rep_array of vectors has no counterpart yet")
        return self._fill(args[1] if len(args) == 2 else ast.Tuple(args[1:]), args[0], types[0])

    def _call_rep_matrix(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        if not rank_of(types[0]):
            return self._fill(ast.Tuple(args[1:]), _as_real(args[0], types[0]), "UReal")
        text = "np.outer(A, np.ones(B))" if types[0] == "UVector" else "np.outer(np.ones(B), A)"
        return parse(text, A=args[0], B=args[1])

    def _fill(self, shape: ast.expr, value: ast.expr, type_: Any) -> ast.expr:
        if isinstance(value, ast.Constant) and value.value in (0, 1):
            text = ("np.zeros(A", "np.ones(A")[value.value == 1] + (", np.int64)" if type_ == "UInt" else ")")
            return parse(text, A=shape)
        return parse("np.full(A, B)", A=shape, B=value)

    def _call_append_row(self, args: list[ast.expr], types: Sequence[Any], is_row: bool = True) -> ast.expr:
        joined = "UVector" if is_row else "URowVector"
        if all(type_ in (joined, "UReal", "UInt") for type_ in types):
            given = zip(args, types, strict=True)
            parts = [arg if type_ == joined else parse("np.array([A])", A=arg) for arg, type_ in given]
            return parse("np.concatenate((A, B))", A=parts[0], B=parts[1])
        if is_row:
            return parse("np.vstack((A, B))", A=args[0], B=args[1])
        return parse("np.column_stack((A, B))", A=args[0], B=args[1])

    def _call_append_col(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return self._call_append_row(args, types, is_row=False)

    def _call_segment(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        begin = plus(args[1], -1)
        return ast.Subscript(args[0], ast.Slice(begin, _add(begin, args[2])))

    def _call_row(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return ast.Subscript(args[0], plus(args[1], -1))

    def _call_col(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return ast.Subscript(args[0], ast.Tuple([ast.Slice(), plus(args[1], -1)]))

    def _call_sub_col(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        begin = plus(args[1], -1)
        return ast.Subscript(args[0], ast.Tuple([ast.Slice(begin, _add(begin, args[3])), plus(args[2], -1)]))

    def _call_sub_row(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        begin = plus(args[2], -1)
        return ast.Subscript(args[0], ast.Tuple([plus(args[1], -1), ast.Slice(begin, _add(begin, args[3]))]))

    def _call_block(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        a, i, j, rows, columns = args
        first, second = plus(i, -1), plus(j, -1)
        return ast.Subscript(a, ast.Tuple([span(first, _add(first, rows)), span(second, _add(second, columns))]))

    def _call_rows(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return parse({"UMatrix": "A.shape[0]", "UVector": "len(A)"}.get(types[0], "1"), A=args[0])

    def _call_cols(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return parse({"UMatrix": "A.shape[1]", "URowVector": "len(A)"}.get(types[0], "1"), A=args[0])

    def _call_dims(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return parse("A.shape", A=args[0])

    def _call_transpose(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return ast.Attribute(args[0], "T") if types[0] == "UMatrix" else args[0]

    def _call_to_vector(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        if types[0] == "UMatrix":
            return parse("A.T.ravel()", A=args[0])
        return parse("A * 1.0", A=args[0]) if _base_of(types[0]) == "UInt" else args[0]

    def _call_to_array_1d(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        if rank_of(types[0]) > 1 and types[0] != "UMatrix":
            raise TranslationError("to_array_1d of an array of arrays has no counterpart yet")
        return parse("A.T.ravel()", A=args[0]) if types[0] == "UMatrix" else args[0]

    _call_to_row_vector = _call_to_vector

    def _call_to_matrix(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        if len(args) == 4:
            raise TranslationError("to_matrix by rows has no counterpart yet; use to_matrix and transpose it")
        if _base_of(types[0]) == "UInt":
            args = [parse("A * 1.0", A=args[0]), *args[1:]]
        if len(args) == 3:
            flat = self._call_to_vector(args[:1], types[:1])
            return parse("A.reshape((C, B)).T", A=flat, B=args[1], C=args[2])
        if len(args) == 1 and rank_of(types[0]) == 2:
            return args[0]
        shape = "A.reshape((len(A), 1))" if types[0] == "UVector" else "A.reshape((1, len(A)))"
        return parse(shape, A=args[0])

    def _call_multiply(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return self.operate(args[0], types[0], "Times", args[1], types[1])

    def _call_divide(self, args: list[ast.expr], types: Sequence[Any]) -> ast.expr:
        return self.operate(args[0], types[0], "Divide", args[1], types[1])


def _as_real(node: ast.expr, type_: Any) -> ast.expr:
    """A number as float64."""
    return parse("float(A)", A=node) if type_ == "UInt" and not isinstance(node, ast.Constant) else node


def _add(a: ast.expr, b: ast.expr) -> ast.expr:
    return plus(ast.BinOp(a, ast.Add(), b), 0)
