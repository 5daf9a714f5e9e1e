"""Stan's names for expressions of NumPy, so that a model runs as it was typed.

Vectors and row vectors are arrays of one axis; matrices fill and become vectors by columns. Names whose meaning depends
on the difference, and those that take places, which count from 1 in Stan, are in `contad.stan.parity` instead.
"""

from collections.abc import Mapping

from contad.distributions.docstrings import describe
from contad.distributions.faces import function_of_text
from contad.distributions.ways_by_axes import Pattern, axes_in
from contad.stan.bodies import whole_steps
from contad.stan.compiled import Evaluated

_ANY, _ARRAY = "01234", "1234"

# by name: the arguments, and expressions by the axes of these
_TABLE: dict[str, tuple[str, Mapping[Pattern, str]]] = {
    # arithmetic
    "minus": ("x", {_ANY: "-x"}), "plus": ("x", {_ANY: "+x"}),
    "add": ("x, y", {f"{_ANY} {_ANY}": "x + y"}), "subtract": ("x, y", {f"{_ANY} {_ANY}": "x - y"}),
    "multiply": ("x, y", {f"0 {_ANY}": "x * y", f"{_ANY} 0": "x * y", "12 12": "x @ y"}),
    "divide": ("x, y", {f"{_ANY} 0": "x / y", f"0 {_ARRAY}": "x / y"}),
    "min": ("x, y=None", {_ARRAY: "np.min(x)", "0 0": "np.minimum(x, y)"}),
    "max": ("x, y=None", {_ARRAY: "np.max(x)", "0 0": "np.maximum(x, y)"}),
    # reductions and statistics
    "sum": ("x", {_ARRAY: "np.sum(x)"}), "prod": ("x", {_ARRAY: "np.prod(x)"}), "mean": ("x", {_ARRAY: "np.mean(x)"}),
    "variance": ("x", {_ARRAY: "np.sum((x - np.mean(x)) ** 2) / (x.size - 1.0)"}),
    "sd": ("x", {_ARRAY: "np.sqrt(np.sum((x - np.mean(x)) ** 2) / (x.size - 1.0))"}),
    "norm1": ("x", {"1": "np.sum(np.abs(x))"}), "norm2": ("x", {"1": "np.sqrt(np.sum(x * x))"}),
    "quantile": ("x, p", {"1 01": "np.quantile(x, p)"}), "cumulative_sum": ("x", {"1": "np.cumsum(x)"}),
    "dot_product": ("x, y", {"n n": "np.sum(x * y)"}), "dot_self": ("x", {"1": "np.sum(x * x)"}),
    "distance": ("x, y", {"n n": "np.sqrt(np.sum((x - y) ** 2))"}),
    "squared_distance": ("x, y", {"n n": "np.sum((x - y) ** 2)", "0 0": "(x - y) ** 2"}),
    "sort_asc": ("x", {"1": "np.sort(x)"}), "sort_desc": ("x", {"1": "np.sort(x)[::-1]"}),
    "trace": ("x", {"nn": "np.trace(x)"}), "trace_dot": ("x, y", {"mn nm": "np.sum(x.T * y)"}),
    # vectors and matrices
    "append_array": ("x, y", {f"{n} {n}": "np.concatenate((x, y))" for n in _ARRAY}),
    "append_col": (
        "x, y",
        {
            "mn mk": "np.concatenate((x, y), axis=1)", "mn m": "np.concatenate((x, np.expand_dims(y, 1)), axis=1)",
            "m mn": "np.concatenate((np.expand_dims(x, 1), y), axis=1)", "0 1": "np.concatenate((x * np.ones(1), y))",
            "1 0": "np.concatenate((x, y * np.ones(1)))",
        },
    ),
    "append_row": (
        "x, y",
        {
            "mn kn": "np.concatenate((x, y))", "mn n": "np.concatenate((x, np.expand_dims(y, 0)))",
            "n mn": "np.concatenate((np.expand_dims(x, 0), y))", "0 1": "np.concatenate((x * np.ones(1), y))",
            "1 0": "np.concatenate((x, y * np.ones(1)))",
        },
    ),
    "diag_matrix": ("x", {"1": "np.diag(x)"}), "diagonal": ("x", {"2": "np.diag(x)"}),
    "head": ("x, n", {f"{_ARRAY} 0": "x[:n]"}), "tail": ("x, n", {f"{_ARRAY} 0": "x[len(x) - n :]"}),
    **dict.fromkeys(
        ("linspaced_array", "linspaced_vector", "linspaced_row_vector"),
        ("n, lower, upper", {"0 0 0": "lower + (upper - lower) * np.arange(n) / (n - 1.0)"}),
    ),
    **dict.fromkeys(("rep_vector", "rep_row_vector"), ("x, n", {"0 0": "x * np.ones(n)"})),
    "rep_array": (
        "x, m, n=None, k=None",
        {
            "0 0": "x * np.ones(m)", "0 0 0": "x * np.ones((m, n))", "0 0 0 0": "x * np.ones((m, n, k))",
            "1 0": "x * np.ones((m, 1))", "1 0 0": "x * np.ones((m, n, 1))", "1 0 0 0": "x * np.ones((m, n, k, 1))",
            "2 0": "x * np.ones((m, 1, 1))", "2 0 0": "x * np.ones((m, n, 1, 1))", "3 0": "x * np.ones((m, 1, 1, 1))",
        },
    ),
    "rep_matrix": ("x, m, n", {"0 0 0": "x * np.ones((m, n))"}),
    "reverse": ("x", {_ARRAY: "x[::-1]"}), "transpose": ("x", {"1": "1.0 * x", "2": "x.T"}),
    **dict.fromkeys(("to_vector", "to_row_vector"), ("x", {"1": "1.0 * x", "2": "x.T.ravel()"})),
    "to_array_1d": ("x", {"1": "+x", "2": "x.T.ravel()", "34": "x.ravel()"}), "to_array_2d": ("x", {"2": "+x"}),
    "to_matrix": (
        "x, m=None, n=None, by_columns=None",
        {
            "2": "1.0 * x", "1 0 0": "x.reshape((n, m)).T", "2 0 0": "x.T.ravel().reshape((n, m)).T",
            "1 0 0 0": "x.reshape((n, m)).T if by_columns else x.reshape((m, n))",
            "2 0 0 0": "x.T.ravel().reshape((n, m)).T if by_columns else x.T.ravel().reshape((m, n))",
        },
    ),
    "symmetrize_from_lower_tri": ("x", {"nn": "np.tril(x) + np.tril(x, -1).T"}),
    # sizes and constants
    "rows": ("x", {"2": "x.shape[0]"}), "cols": ("x", {"2": "x.shape[1]"}), "size": ("x", {_ARRAY: "len(x)", "0": "1"}),
    "dims": ("x", {_ARRAY: "np.array(x.shape)"}),
    "num_elements": ("x", {_ARRAY: "x.size"}), "identity_matrix": ("n", {"0": "np.eye(n)"}),
    **dict.fromkeys(("ones_array", "ones_vector", "ones_row_vector"), ("n", {"0": "np.ones(n)"})),
    **dict.fromkeys(("zeros_array", "zeros_vector", "zeros_row_vector"), ("n", {"0": "np.zeros(n)"})),
    "ones_int_array": ("n", {"0": "np.ones(n, dtype=np.int64)"}),
    "zeros_int_array": ("n", {"0": "np.zeros(n, dtype=np.int64)"}),
    "linspaced_int_array": ("n, lower, upper", {"0 0 0": "whole_steps(n, lower, upper)"}),
    "uniform_simplex": ("n", {"0": "np.ones(n) / n"}),
    "int_step": ("x", {"0": "1 if x > 0.0 else 0"}), "step": ("x", {"0": "1.0 if x >= 0.0 else 0.0"}),
    "round": ("x", {_ANY: "np.trunc(x + np.copysign(0.5 - 2.0**-54, x))"}),
    "to_int": ("x", {"0": "int(x)", _ARRAY: "np.trunc(x).astype(np.int64)"}),
    "is_inf": ("x", {"0": "1 if abs(x) == np.inf else 0"}), "is_nan": ("x", {"0": "1 if x != x else 0"}),
    "modulus": ("m, n", {"0 0": "int(np.fmod(m, n))"}),
    "e": ("", {"": "np.e"}), "pi": ("", {"": "np.pi"}), "sqrt2": ("", {"": "2.0**0.5"}),
    "machine_precision": ("", {"": "2.0**-52"}), "positive_infinity": ("", {"": "np.inf"}),
    "negative_infinity": ("", {"": "-np.inf"}), "not_a_number": ("", {"": "np.nan"}),
    "logical_and": ("x, y", {"0 0": "x != 0 and y != 0"}), "logical_or": ("x, y", {"0 0": "x != 0 or y != 0"}),
    "logical_negation": ("x", {"0": "x == 0"}), "logical_eq": ("x, y", {"0 0": "x == y"}),
    "logical_neq": ("x, y", {"0 0": "x != y"}), "logical_lt": ("x, y", {"0 0": "x < y"}),
    "logical_lte": ("x, y", {"0 0": "x <= y"}), "logical_gt": ("x, y", {"0 0": "x > y"}),
    "logical_gte": ("x, y", {"0 0": "x >= y"}),
}  # fmt: skip

# values in the examples, by the number of axes, and of whole numbers by name
_EXAMPLES = {
    "0": "0.7", "1": "np.array([1.3, -0.7, 2.1])", "2": "np.array([[1.3, 0.4], [-0.7, 2.1]])", "m": "2", "n": "3",
    "k": "2", "p": "0.3", "by_columns": "0",
}  # fmt: skip


def _spell(name: str, arguments: str, ways: Mapping[Pattern, str]) -> Evaluated:
    """One of these functions, with a docstring."""
    function = function_of_text(f"def {name}({arguments}):\n    pass\n", name, {})
    function.__module__ = __name__
    pattern, way = next(iter(ways.items()))
    kinds = [axes[0] for axes in axes_in(pattern)]
    names = [x.partition("=")[0] for x in arguments.split(", ")]
    values = [_EXAMPLES.get(x, _EXAMPLES[kind]) for x, kind in zip(names, kinds, strict=False)]
    fields = {"Domain": "that of the expression.", "Ref": "Stan Functions Reference."}
    example = f">>> import numpy as np\n>>> z = {name}({', '.join(values)})"
    function.__doc__ = describe("An expression of NumPy, under Stan's name.", f"z = {way}", fields, example)
    return Evaluated(function, ways, {"whole_steps": whole_steps})


SPELLED = {name: _spell(name, *row) for name, row in _TABLE.items()}
__all__ = list(SPELLED)
globals().update(SPELLED)
