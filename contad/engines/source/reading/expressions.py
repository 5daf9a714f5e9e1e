"""Reads expressions: turns syntax trees into entries, and appends the operations that compute them."""

import ast
import functools
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    DTYPES,
    Complex,
    Grid,
    Local,
    Method,
    Object,
    Point,
    StructuredArray,
    Unknown,
    constant,
    is_array,
    is_number,
)
from contad.engines.source.ir.ssa import BOOL, INT, Value
from contad.engines.source.ir.walks import class_of_names
from contad.engines.source.reading import complex_calls, made_containers, points, structured_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.class_instances import class_of, read_attribute
from contad.engines.source.reading.complex_numbers import square_of_modulus
from contad.engines.source.reading.handlers import DividesByZero
from contad.engines.source.reading.made_containers import Keyed, Members
from contad.engines.source.reading.passing import pass_on
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader
from contad.engines.source.reading.scope import LocalScope
from contad.errors import UnsupportedError


class ExpressionReader:
    """Reads expressions; other readers handle subscripts, calls and the statements of called functions."""

    def __init__(self, reader: Reader, read_subscript: Callable[..., Any], read_call: Callable[..., Any]) -> None:
        self.reader, self.arrays, self.merging = reader, reader.arrays, reader.merging
        self.builder, self.progress = reader.builder, reader.progress
        self.read_Subscript, self.read_Call = read_subscript, read_call

    def expression(self, node: ast.expr, env: Environment) -> Any:
        """The entry of an expression; unknown expressions are handed on to Numba, without a derivative."""
        before = self.reader.state()
        try:
            return self.read(node, env)
        except UnsupportedError as refusal:
            self.reader.return_to(before)
            found = pass_on(self.reader, node, env, refusal)
            if found is None:
                raise
            return found

    def read(self, node: ast.expr, env: Environment) -> Any:
        """The entry of an expression, by the class of its node."""
        read = getattr(self, f"read_{type(node).__name__}", None)
        if read is None:
            self.reader.refuse(node, f"the expression {{node}} ({type(node).__name__})")
        self.progress.line = getattr(node, "lineno", self.progress.line)
        return read(node, env)

    def condition(self, node: ast.expr, env: Environment) -> Value:
        """An expression as a truth value."""
        if isinstance(node, ast.BoolOp):
            return self._connect(node, env, self.condition)
        entry = points.element(self.arrays, self.expression(node, env))
        if isinstance(entry, Object):
            return constant(bool(entry.value))
        if isinstance(entry, Complex):
            return self.condition_of_complex(entry, node)
        if not is_number(entry):
            self.reader.refuse(node, "the truth of {node}, which is not a number", "compare it with a number")
        if entry.kind == BOOL:
            return entry
        return self.builder.apply(
            known_functions.COMPARISONS["NotEq"], entry, constant(0 if entry.kind == INT else 0.0)
        )

    def condition_of_complex(self, entry: Complex, node: ast.expr) -> Value:
        """Whether a complex number is not 0."""
        found = self.reader.complex.compare("NotEq", entry, constant(0.0), node)
        if not is_number(found):
            self.reader.refuse(node, "the truth of {node}, which is not a number", "compare it with a number")
        return found

    # ---- names and constants -----------------------------------------------------------------------------------------
    def read_Constant(self, node: ast.Constant, env: Environment) -> Any:
        return self.reader.import_constant(node.value, node, "")

    def read_Name(self, node: ast.Name, env: Environment) -> Any:
        """The entry of a name: in the environment, else a global or captured object."""
        if node.id in env:
            entry = env[node.id]
            if isinstance(entry, Unknown):
                self.reader.refuse(node, f"the name {node.id}: {entry.reason}")
            return entry
        try:
            found = self.progress.scope.outer(node.id)
        except KeyError:
            self.reader.refuse(node, f"the name {node.id} is not defined", "define it before it is read")
        return self.reader.import_constant(found, node, node.id)

    def read_Attribute(self, node: ast.Attribute, env: Environment) -> Any:
        """An attribute of a module, or of an array."""
        base = self.expression(node.value, env)
        if isinstance(base, Object) and isinstance(base.value, types.ModuleType):
            if not hasattr(base.value, node.attr):
                self.reader.refuse(node, f"{ast.unparse(node)} is not defined", "define it before it is read")
            return self.reader.import_constant(getattr(base.value, node.attr), node, node.attr)
        if isinstance(base, Complex):
            return complex_calls.read_attribute(self.reader, base, node.attr)
        if isinstance(base, Point):
            return points.read_attribute(base, node.attr)
        if isinstance(base, tuple) and class_of_names(base) is not None and node.attr in class_of_names(base)._fields:
            return base[class_of_names(base)._fields.index(node.attr)]
        if isinstance(base, (BoundedBuffer, KeyedBuffer)):
            return Method(base, node.attr)
        if structured_arrays.is_argument(base):
            base = structured_arrays.read_argument(self.reader, base)
        if isinstance(base, StructuredArray):
            return structured_arrays.read_attribute(self.reader, base, node)
        if class_of(base) is not None:
            return read_attribute(self.reader, base, node, env)
        if is_number(base) and node.attr == "imag":
            return constant(0.0)
        if is_array(base):
            if node.attr == "real":
                return base
            if node.attr == "shape":
                return tuple(self.arrays.shape(base))
            if node.attr == "ndim":
                return constant(base.kind.ndim)
            if node.attr == "size":
                return self.arrays.size(base)
            if node.attr == "T":
                array = self.arrays.compute(base)
                return array if array.kind.ndim == 1 else self.builder.view(array, None)
            if node.attr == "dtype" and not base.kind.narrow:
                return Object(np.dtype(DTYPES[base.kind.elements]))
            if node.attr == "flat":
                array = self.arrays.compute(base)
                return Grid("flat", self.arrays.shape(array), array)
            return Method(base, node.attr)
        if isinstance(base, Value) and node.attr in ("real", "item", "conjugate"):
            return base if node.attr == "real" else Method(base, node.attr)
        if isinstance(base, Object) and base.value is numba.typed.Dict:
            self.reader.refuse(node, "an empty dict without a name", "give it a name, in a statement of its own")
        return self.reader.refuse(node, "the attribute {node}")

    def define(self, node: ast.FunctionDef | ast.Lambda, env: Environment) -> Local:
        """A nested function; its defaults are computed here, once."""
        scope = LocalScope(self.progress.scope, node)
        given = node.args.defaults
        names = scope.names[scope.positional - len(given) : scope.positional]
        defaults = {name: self.reader.settle(self.expression(x, env)) for name, x in zip(names, given, strict=True)}
        return Local(scope, dict(env), defaults)

    read_Lambda = define

    def read_Tuple(self, node: ast.Tuple, env: Environment) -> Any:
        return tuple(self.reader.settle(self.expression(part, env)) for part in node.elts)

    def read_List(self, node: ast.List, env: Environment) -> Any:
        return made_containers.read_list(self.reader, node, env)

    def read_ListComp(self, node: ast.ListComp, env: Environment) -> Any:
        return made_containers.read_comprehension(self.reader, node, env)

    def read_Dict(self, node: ast.Dict, env: Environment) -> Any:
        return Keyed(self.reader, node, env)

    def read_Set(self, node: ast.Set, env: Environment) -> Any:
        return Members(self.reader, [self.reader.number(part, env) for part in node.elts])

    # ---- operators ---------------------------------------------------------------------------------------------------
    def read_BinOp(self, node: ast.BinOp, env: Environment) -> Any:
        """Read left operands in a loop: in a long sum they are nested as deeply as it has terms."""
        before = self.reader.state()
        nested = [node]
        while isinstance(nested[-1].left, ast.BinOp):
            nested.append(nested[-1].left)
        try:
            x, refusal = self.expression(nested[-1].left, env), None
        except UnsupportedError as error:
            x, refusal = None, error
        for inner in reversed(nested):
            try:
                if refusal is not None:
                    raise refusal
                with self.reader.forbid_writes([x], inner):
                    y = self.expression(inner.right, env)
                x = self.binary(type(inner.op).__name__, x, y, inner)
            except UnsupportedError as error:
                if inner is node:
                    raise
                self.reader.return_to(before)  # as `expression` does
                x = pass_on(self.reader, inner, env, error)
                refusal = error if x is None else None
        return x

    def binary(self, operator: str, x: Any, y: Any, node: ast.AST) -> Any:
        """x operator y."""
        if isinstance(x, Point) or isinstance(y, Point):
            return points.compute(self.arrays, [x, y], lambda x, y: self.binary(operator, x, y, node))
        if isinstance(x, Complex) or isinstance(y, Complex):
            return self.reader.complex.binary(operator, x, y, node)
        if isinstance(x, tuple) and isinstance(y, tuple) and operator == "Add":
            return x + y
        is_repeated = isinstance(x, BoundedBuffer) and operator == "Mult" and isinstance(node, ast.BinOp)
        if is_repeated and is_number(y) and y.kind == INT:
            return made_containers.repeat(self.reader, x, y)
        if not all(is_number(v) or is_array(v) for v in (x, y)):
            what = "the operator in {node} on something that is no number or array"
            self.reader.refuse(node, what, "give numbers and arrays")
        if operator == "MatMult":
            return self.arrays.product(x, y, node)
        if operator in known_functions.BITWISE:
            if "float" in (x.kind.base, y.kind.base) or x.kind.small or y.kind.small:
                self.reader.refuse(node, "{node} on floats", "make them int64")
            return self.builder.apply(known_functions.BITWISE[operator], x, y)
        function = known_functions.OPERATORS.get(operator)
        if function is None:
            self.reader.refuse(node, f"the operator {operator}")
        if operator == "Pow":
            if is_number(y) and y.constant == 2 and (found := square_of_modulus(self.builder, x)) is not None:
                return found
            whole = x.kind.base != "float" and y.kind.base != "float"
            if whole and not (isinstance(y, Value) and isinstance(y.constant, int) and y.constant >= 0):
                self.reader.refuse(
                    node, "a power of integers with a variable or negative exponent", "make the base a float"
                )
            return self.builder.power(x, y)
        if operator in ("Div", "FloorDiv", "Mod"):
            return self.builder.divide(function, x, y)
        return self.builder.apply(function, x, y)

    def read_UnaryOp(self, node: ast.UnaryOp, env: Environment) -> Any:
        """not x, -x, +x or ~x."""
        if isinstance(node.op, ast.Not):
            return self.builder.negate(self.condition(node.operand, env))
        x = points.element(self.arrays, self.expression(node.operand, env))
        if isinstance(x, Complex) and isinstance(node.op, (ast.UAdd, ast.USub)):
            return x if isinstance(node.op, ast.UAdd) else self.reader.complex.negative(x)
        if not (is_number(x) or is_array(x)):
            what = "the operator in {node} on something that is no number or array"
            self.reader.refuse(node, what, "give numbers and arrays")
        if isinstance(node.op, ast.UAdd):
            return x
        if isinstance(node.op, ast.Invert):
            if x.kind != INT:
                self.reader.refuse(node, "{node}", "use `not`, or compare the other way round")
            return self.builder.apply(known_functions.BITWISE["BitXor"], x, constant(-1))
        return self.builder.apply(known_functions.NEGATIVE, x)

    def read_Compare(self, node: ast.Compare, env: Environment) -> Any:
        return self._compare_rest(
            self.expression(node.left, env), list(zip(node.ops, node.comparators, strict=True)), node, env
        )

    def _compare_rest(
        self, left: Any, parts: list[tuple[ast.cmpop, ast.expr]], node: ast.Compare, env: Environment
    ) -> Any:
        """left < a < b ...; operands that may raise are computed only where Python computes them."""
        (operator, comparator), *rest = parts
        with self.reader.forbid_writes([left], node):
            right = self.expression(comparator, env)
        found = self.compare(type(operator).__name__, left, right, node)
        if not rest or (is_number(found) and found.constant is False):
            return found
        if not is_number(found):
            self.reader.refuse(node, "{node} of arrays", "compare twice, and combine with &")
        if any(map(_may_raise, node.comparators[-len(rest) :])) and found.constant is None:
            return self.merging.choice(
                found, lambda: self._compare_rest(right, rest, node, env), lambda: constant(False)
            )
        return self.builder.apply(known_functions.AND, found, self._compare_rest(right, rest, node, env))

    def compare(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """One comparison, of numbers, arrays, tuples or constants."""
        if isinstance(left, Object) and isinstance(right, Object):
            same = left.value is right.value if operator in ("Is", "IsNot") else left.value == right.value
            if operator in ("Is", "IsNot", "Eq", "NotEq"):
                return constant(bool(same) == (operator in ("Is", "Eq")))
        if (isinstance(left, Point) or isinstance(right, Point)) and operator in known_functions.COMPARISONS:
            return points.compute(self.arrays, [left, right], lambda x, y: self.compare(operator, x, y, node))
        if (isinstance(left, Complex) or isinstance(right, Complex)) and operator not in ("Is", "IsNot"):
            return self.reader.complex.compare(operator, left, right, node)
        if isinstance(left, tuple) and isinstance(right, tuple) and operator in ("Eq", "NotEq"):
            equal = constant(len(left) == len(right))
            for x, y in zip(left, right, strict=False):
                equal = self.builder.apply(known_functions.AND, equal, self.compare("Eq", x, y, node))
            return equal if operator == "Eq" else self.builder.negate(equal)
        if operator in ("In", "NotIn") and isinstance(right, (KeyedBuffer, Keyed, Members)):
            found = right.contains(left, node)
            return found if operator == "In" else self.builder.negate(found)
        if operator in ("Is", "IsNot"):
            if isinstance(left, Object) or isinstance(right, Object):  # a number or an array is not None
                return constant(operator == "IsNot")
            if not all(is_number(x) and x.kind == BOOL for x in (left, right)):
                self.reader.refuse(node, "the comparison {node}", "compare numbers with ==")
            operator = "Eq" if operator == "Is" else "NotEq"  # there is one True and one False
        if operator not in known_functions.COMPARISONS or not all(is_number(v) or is_array(v) for v in (left, right)):
            self.reader.refuse(node, "the comparison {node}", "compare numbers with numbers")
        return self.builder.apply(known_functions.COMPARISONS[operator], left, right)

    def read_DividesByZero(self, node: DividesByZero, env: Environment) -> Any:
        """Whether a division in a try raises; if it does not, the divisor is known not to be 0."""
        y = self.expression(node.divisor, env)
        zero = self.builder.is_zero(y) if is_number(y) else None
        if zero is None:
            return constant(False)
        self.progress.tested.add(y)
        return zero

    def read_BoolOp(self, node: ast.BoolOp, env: Environment) -> Any:
        def truth(part: ast.expr, env: Environment) -> Value:
            entry = self.expression(part, env)
            if not is_number(entry) or entry.kind != BOOL:
                self.reader.refuse(node, "{node}, which is one of its operands", "write `x if c else y`")
            return entry

        return self._connect(node, env, truth)

    def _connect(self, node: ast.BoolOp, env: Environment, truth: Callable[..., Value]) -> Any:
        """`and` and `or` of truth values; operands that may raise are computed only where Python computes them."""
        both = isinstance(node.op, ast.And)
        result = truth(node.values[0], env)
        for part in node.values[1:]:
            if result.constant is not None:
                if bool(result.constant) != both:
                    return result
                result = truth(part, env)
            elif _may_raise(part):
                rest, settled = functools.partial(truth, part, env), functools.partial(constant, not both)
                result = self.merging.choice(result, *((rest, settled) if both else (settled, rest)))
            else:
                result = self.builder.apply(
                    known_functions.AND if both else known_functions.OR, result, truth(part, env)
                )
        return result

    def read_IfExp(self, node: ast.IfExp, env: Environment) -> Any:
        """x if c else y."""
        condition = self.condition(node.test, env)
        if condition.constant is not None:
            return self.expression(node.body if condition.constant else node.orelse, env)
        result = self.merging.choice(
            condition,
            lambda: self.reader.settle(self.expression(node.body, env)),
            lambda: self.reader.settle(self.expression(node.orelse, env)),
        )
        if isinstance(result, Unknown):
            self.reader.refuse(node, f"{{node}}: {result.reason}", "make both sides of one kind")
        return result


def _may_raise(node: ast.expr) -> bool:
    """Whether an expression may raise, read out of bounds, or write."""
    return any(isinstance(n, (ast.Subscript, ast.Call, ast.Div, ast.Mod, ast.FloorDiv)) for n in ast.walk(node))
