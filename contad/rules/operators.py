"""Python's operators by the names of their methods, which rules declare as `operator=`, and their symbols."""

import ast
import operator

from contad.variables.open_types import Function

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
OPERATORS = (*ARITHMETIC, "neg", "abs")  # implemented by rules


def functions_of(name: str) -> tuple[Function, ...]:
    """Python's functions for an operator method: those of the module `operator`, also in-place ones, and builtins.

    >>> functions_of("add") == (operator.add, operator.iadd)
    True
    """
    if name == "abs":
        return (abs,)
    in_place = (getattr(operator, f"i{name}"),) if name in ARITHMETIC else ()
    return (getattr(operator, name), *in_place, *((pow,) if name == "pow" else ()))


def _class_in_trees(symbol: str) -> type:
    node = ast.parse(f"x {symbol} y", mode="eval").body
    return type(node.ops[0] if isinstance(node, ast.Compare) else node.op)  # type: ignore[attr-defined]


# class in syntax trees -> symbol
SYMBOLS = {_class_in_trees(symbol): symbol for symbol in (*ARITHMETIC.values(), *COMPARISONS.values())}
