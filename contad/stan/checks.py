"""Stan's checks of arguments: each returns None, or raises an error with function, argument, expected and got.

There are four families, with a table for each: conditions on every element, also with bounds; conditions on an array;
conditions on two values; and conditions on an index. Values are numbers, arrays, lists and variables, which are judged
by their primals. Stan's domain_error and invalid_argument are ValueError here, and out_of_range is IndexError. Indices
count from 0. Tolerances are Stan's, 1e-8.

>>> check_positive("normal_lpdf", "sigma", [1.0, 2.0])
>>> check_bounded("beta_lpdf", "theta", [0.2, 1.3], 0.0, 1.0)
Traceback (most recent call last):
ValueError: beta_lpdf: theta must be between 0.0 and 1.0, got 1.3 at index 1
"""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.distributions.faces import function_of_text
from contad.rules.compilable import Compilable
from contad.stan.check_docstrings import describe_check
from contad.stan.compiled_checks import ELEMENTS, write_check, write_sizes
from contad.variables import arguments
from contad.variables.number import Number, read_primal
from contad.variables.open_types import Nested, Real

__all__ = [
    "check_2F1_converges", "check_3F2_converges", "check_bounded", "check_cholesky_factor",
    "check_cholesky_factor_corr", "check_column_index", "check_consistent_size", "check_consistent_sizes",
    "check_consistent_sizes_mvt", "check_corr_matrix", "check_cov_matrix", "check_finite", "check_greater",
    "check_greater_or_equal", "check_less", "check_less_or_equal", "check_lower_triangular", "check_matching_dims",
    "check_matching_sizes", "check_multiplicable", "check_nonnegative", "check_nonzero_size", "check_not_nan",
    "check_ordered", "check_pos_definite", "check_pos_semidefinite", "check_positive", "check_positive_finite",
    "check_positive_ordered", "check_range", "check_row_index", "check_simplex", "check_size_match", "check_sorted",
    "check_square", "check_symmetric", "check_unit_vector", "check_vector", "check_vector_index", "reject",
]  # fmt: skip

TOLERANCE = 1e-8


class ArgumentCheck(Compilable):
    """One check under Stan's name, with the names of its arguments; `words` describe the condition with these names.
    `what` is the condition in the docstring.
    """

    has_bodies = True

    def __init__(self, name: str, names: str, what: str, run: Callable[..., None], words: str) -> None:
        self.__module__, self.__name__, self.__qualname__ = __name__, name, name
        self.__doc__ = describe_check(name, what, names)
        self.function = self
        self.run, self.words = run, words
        self.__signature__ = self.signature = inspect.Signature(
            [inspect.Parameter(x, inspect.Parameter.POSITIONAL_OR_KEYWORD) for x in names.split()]
        )

    def __call__(self, *args: Nested, **kwargs: Nested) -> None:
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        self.run(*bound.args)

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__

    def body(self, given: tuple[Any, ...]) -> Any:
        """The check of values with these numbers of axes, which takes the names of functions and arguments as
        strings."""
        return write_check(self.__name__, list(self.signature.parameters), given, self.words)

    def refuse(self) -> str:
        """The message for other arguments."""
        return (
            f"{self.__name__}: inside njit the names of function and argument must be literal strings, and the values "
            "numbers or float64 arrays of one or two axes, as the check requires; call it outside njit"
        )


class WrittenCheck(Compilable):
    """A check that is a Python function; compiled code has the names of its arguments and the condition in words."""

    __name__: str
    has_bodies = True

    def __init__(self, function: Callable[..., None], names: str, words: str) -> None:
        super().__init__(function)
        self.signature, self.words = inspect.signature(eval(f"lambda {names}: None")), words

    def body(self, given: tuple[Any, ...]) -> Any:
        """The check of values with these numbers of axes; names of functions and arguments are strings."""
        names = list(self.signature.parameters)
        if self.words:
            return write_check(self.__name__, names, given, self.words)
        if any(isinstance(x, str) != (k == 0 or k % 2 == 1) for k, x in enumerate(given)) or len(given) % 2 == 0:
            return None
        return write_sizes(self.__name__, names, given)

    refuse = ArgumentCheck.refuse


def _with_names(words: str, names: str) -> Callable[[Callable[..., None]], WrittenCheck]:
    return lambda function: WrittenCheck(function, names, words)


class Rejection(Compilable):
    """Stan's `reject`. Inside njit the message consists of its literal strings, because compiled code formats no
    numbers."""

    has_bodies = True

    def __init__(self, function: Callable[..., None]) -> None:
        super().__init__(function)
        names = [f"part{k}" for k in range(12)]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.signature = inspect.Signature(
            [inspect.Parameter(names[0], kind), *(inspect.Parameter(x, kind, default=None) for x in names[1:])]
        )

    def body(self, given: tuple[Any, ...]) -> Any:
        """The function that raises; its arguments are strings, numbers and arrays."""
        message = "".join(x for x in given if isinstance(x, str))
        names = list(self.signature.parameters)[: len(given)]
        text = f"def reject({', '.join(names)}):\n    raise ValueError({message!r})\n"
        return function_of_text(text, "reject", {})


@Rejection
def reject(*parts: Any) -> None:
    """Reject the parameters: raise ValueError with a message of strings and numbers, like Stan's statement.

        log p = -inf, for samplers

    Domain:  inside njit at most 12 parts, and the message consists of the literal strings.
    Raises:  ValueError, always; samplers take it as a log density of -inf.
    Ref:     Stan Reference Manual, reject statements.

    >>> reject("sigma must be positive, got ", -1.5)
    Traceback (most recent call last):
    ValueError: sigma must be positive, got -1.5
    """
    raise ValueError("".join(str(read_primal(x) if isinstance(x, Number) else x) for x in parts))


def _number(x: Real) -> Real:
    return read_primal(x)


# ---- every element ---------------------------------------------------------------------------------------------------
def _of_elements(kind: str) -> ArgumentCheck:
    what, condition = ELEMENTS[kind]
    bounds = " ".join(re.findall(r"{(\w+)}", what))
    text = condition.format(x="y").replace(") and (", ") & (")
    test: Callable[..., np.ndarray] = eval(f"lambda {', '.join(['y', *bounds.split()])}: {text}", {"np": np})

    def run(function: str, name: str, y: Nested, *limits: Nested) -> None:
        named = zip((name, *bounds.split()), (y, *limits), strict=True)
        a, *given = np.broadcast_arrays(*(arguments.array(function, n, x) for n, x in named))
        good = np.asarray(test(a, *given))
        if not good.all():
            first = np.unravel_index(np.argmin(good), a.shape)
            words = what.format(**{b: x[first] for b, x in zip(bounds.split(), given, strict=True)})
            arguments.fail(function, name, words, f"{a[first]}{arguments.at(first)}")

    names = f"function name y {bounds}".strip()
    return ArgumentCheck(f"check_{kind}", names, f"every element of y {_third(what)}", run, what)


def _third(what: str) -> str:
    return what.replace("be ", "is ", 1).replace("{", "").replace("}", "")


# ---- an array --------------------------------------------------------------------------------------------------------
def _find_row(good: np.ndarray, a: np.ndarray, what: str) -> str:
    if good.all():
        return ""
    first = np.unravel_index(np.argmin(good), good.shape)
    return f"{what}{a[first]}{arguments.at(first)}"


def _square(a: np.ndarray) -> str:
    return "" if a.ndim == 2 and a.shape[0] == a.shape[1] else f"shape {a.shape}"


def _symmetric(a: np.ndarray) -> str:
    return _square(a) or _find_row(np.abs(a - a.T) <= TOLERANCE, a - a.T, "elements that differ by ")


def _finite_symmetric(a: np.ndarray) -> str:
    with np.errstate(invalid="ignore"):
        return _square(a) or _find_row(np.isfinite(a), a, "the element ") or _symmetric(a)


def _unit_symmetric(a: np.ndarray) -> str:
    return _finite_symmetric(a) or _unit_diagonal(a)


def _lower_triangular(a: np.ndarray) -> str:
    return f"shape {a.shape}" if a.ndim != 2 else _find_row(np.triu(a, 1) == 0.0, a, "an element above of ")


def _positive_definite(a: np.ndarray) -> str:
    if found := _symmetric(a):
        return found
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return "a matrix with no Cholesky factor"
    return "" if np.isfinite(a).all() else "elements that are not finite"


def _positive_semidefinite(a: np.ndarray) -> str:
    if found := _symmetric(a):
        return found
    if not np.isfinite(a).all():
        return "elements that are not finite"
    values = np.linalg.eigvalsh(a)
    return f"the eigenvalue {values[0]}" if values.size and values[0] < -TOLERANCE * max(values[-1], 1.0) else ""


def _unit_diagonal(a: np.ndarray) -> str:
    return _find_row(np.abs(np.diagonal(a) - 1.0) <= TOLERANCE, np.diagonal(a), "a diagonal of ")


def _corr_matrix(a: np.ndarray) -> str:
    return _positive_definite(a) or _unit_diagonal(a)


def _cholesky_factor(a: np.ndarray) -> str:
    if found := _lower_triangular(a):
        return found
    if a.shape[0] < a.shape[1] or a.shape[1] == 0:
        return f"shape {a.shape}"
    return _find_row(np.diagonal(a) > 0.0, np.diagonal(a), "a diagonal of ")


def _cholesky_factor_corr(a: np.ndarray) -> str:
    if found := _square(a) or _cholesky_factor(a):
        return found
    sizes = np.sum(a * a, axis=1)
    return _find_row(np.abs(sizes - 1.0) <= TOLERANCE, sizes, "a row whose squares sum to ")


def _vector(a: np.ndarray) -> str:
    return "" if a.ndim == 1 or (a.ndim == 2 and 1 in a.shape) else f"shape {a.shape}"


def _ordered(a: np.ndarray) -> str:
    flat = a.ravel()
    return _find_row(np.diff(flat) > 0.0, flat[1:], "no greater element after ") if flat.size > 1 else _nan(flat)


def _ascending(a: np.ndarray) -> str:
    flat = a.ravel()
    return _find_row(np.diff(flat) >= 0.0, flat[1:], "a greater element before ") if flat.size > 1 else _nan(flat)


def _nan(a: np.ndarray) -> str:
    return "nan" if np.isnan(a).any() else ""


def _positive_ordered(a: np.ndarray) -> str:
    return f"{a.ravel()[0]} first" if a.size and not a.ravel()[0] >= 0.0 else _ordered(a)


def _simplex(a: np.ndarray) -> str:
    if a.size == 0:
        return "no elements"
    total = np.sum(a)
    return _find_row(a >= 0.0, a, "the element ") or ("" if abs(total - 1.0) <= TOLERANCE else f"the sum {total}")


def _unit_vector(a: np.ndarray) -> str:
    size = np.sum(a * a)
    return "" if abs(size - 1.0) <= TOLERANCE else f"squares that sum to {size}"


# (the condition on the array; the fault of an array, or "")
ARRAYS: dict[str, tuple[str, Callable[[np.ndarray], str]]] = {
    "cholesky_factor": ("be lower triangular with a positive diagonal, no wider than high", _cholesky_factor),
    "cholesky_factor_corr": ("be the Cholesky factor of a correlation matrix", _cholesky_factor_corr),
    "corr_matrix": ("be a correlation matrix", _corr_matrix),
    "cov_matrix": ("be symmetric and positive definite", _positive_definite),
    "finite_symmetric": ("be a symmetric matrix of finite numbers", _finite_symmetric),
    "lower_triangular": ("be lower triangular", _lower_triangular),
    "nonzero_size": ("have elements", lambda a: "" if a.size else f"shape {a.shape}"),
    "ordered": ("be increasing", _ordered),
    "pos_definite": ("be symmetric and positive definite", _positive_definite),
    "pos_semidefinite": ("be symmetric and positive semidefinite", _positive_semidefinite),
    "positive_ordered": ("be nonnegative and increasing", _positive_ordered),
    "simplex": ("be a simplex: nonnegative numbers that sum to 1", _simplex),
    "sorted": ("be in ascending order", _ascending),
    "square": ("be a square matrix", _square),
    "symmetric": ("be a symmetric matrix", _symmetric),
    "unit_symmetric": ("be a symmetric matrix with ones on its diagonal", _unit_symmetric),
    "unit_vector": ("be of length 1", _unit_vector),
    "vector": ("be a vector, or a matrix of one row or column", _vector),
}


def _of_array(kind: str) -> ArgumentCheck:
    what, judge = ARRAYS[kind]

    def run(function: str, name: str, y: Nested) -> None:
        found = judge(arguments.array(function, name, y))
        if found:
            arguments.fail(function, name, what, found)

    third = "y has elements" if kind == "nonzero_size" else f"y {_third(what)}"
    return ArgumentCheck(f"check_{kind}", "function name y", third, run, what)


# ---- how things fit --------------------------------------------------------------------------------------------------
def _size_match(function: str, name_i: str, i: Real, name_j: str, j: Real) -> None:
    if i != j:
        arguments.fail(function, name_i, f"be {name_j} = {_number(j)}", _number(i))


# (the condition on the first, with the name of the second; whether the shapes fulfil it)
PAIRS: dict[str, tuple[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = {
    "matching_dims": ("have the shape of", lambda s, t: s == t),
    "matching_sizes": ("have as many elements as", lambda s, t: np.prod(s) == np.prod(t)),
    "multiplicable": ("have as many columns as there are rows of", lambda s, t: bool(s and t) and s[-1] == t[0] > 0),
}


def _of_pair(kind: str) -> ArgumentCheck:
    what, fit = PAIRS[kind]

    def run(function: str, name1: str, y1: Nested, name2: str, y2: Nested) -> None:
        s, t = (arguments.array(function, n, y).shape for n, y in ((name1, y1), (name2, y2)))
        if not fit(s, t):
            arguments.fail(function, name1, f"{what} {name2}", f"shapes {s} and {t}")

    words = f"y1 can {what} y2".replace("can have", "has")
    return ArgumentCheck(f"check_{kind}", "function name1 y1 name2 y2", words, run, what + " {name2}")


def _consistent_size(function: str, name: str, x: Nested, expected_size: int) -> None:
    shape = arguments.array(function, name, x).shape
    if shape and np.prod(shape) != expected_size:
        arguments.fail(function, name, f"be a number or have {expected_size} elements", f"shape {shape}")


_PAIRS = "function, " + ", ".join(f"name{k}=None, x{k}=None" for k in range(1, 11))


@_with_names("", _PAIRS)
def check_consistent_sizes(function: str, *names_and_values: Nested) -> None:
    """Raise unless all of name1, x1, name2, x2, ... that are not numbers have the same size.

        size(x1) = size(x2) = ..., for those that are not numbers

    Arguments: function, name1, x1, name2, x2, ...
    Raises:    ValueError with function, argument, expected and got.
    Ref:       Stan Math's check_consistent_sizes.

    >>> check_consistent_sizes("f", "x", [1.0, 2.0], "y", 3.0, "z", [1.0, 2.0, 3.0])
    Traceback (most recent call last):
    ValueError: f: z must have the size of x, 2, got 3
    """
    _consistent(function, names_and_values, 1)


@_with_names("", _PAIRS)
def check_consistent_sizes_mvt(function: str, *names_and_values: Nested) -> None:
    """Raise unless each of name1, x1, name2, x2, ... is one vector, or as many vectors as the others.

        rows(x1) = rows(x2) = ..., for those that are not vectors

    Arguments: function, name1, x1, name2, x2, ...
    Raises:    ValueError with function, argument, expected and got.
    Ref:       Stan Math's check_consistent_sizes_mvt.

    >>> check_consistent_sizes_mvt("f", "y", [[1.0, 2.0], [3.0, 4.0]], "mu", [0.0, 0.0], "nu", [[1.0, 2.0]])
    Traceback (most recent call last):
    ValueError: f: nu must have the size of y, 2, got 1
    """
    _consistent(function, names_and_values, 2)


def _consistent(function: str, names_and_values: Sequence[Nested], least_axes: int) -> None:
    names, values = names_and_values[::2], names_and_values[1::2]
    if len(names) != len(values):
        raise TypeError(f"{function}: expected a value after each name")
    shapes = [arguments.array(function, n, x).shape for n, x in zip(names, values, strict=True)]
    sizes = {n: s[0] if least_axes == 2 else int(np.prod(s)) for n, s in zip(names, shapes, strict=True)
             if len(s) >= least_axes}  # fmt: skip
    for name, size in sizes.items():
        first = next(iter(sizes))
        if size != sizes[first]:
            arguments.fail(function, name, f"have the size of {first}, {sizes[first]}", size)


# ---- places ----------------------------------------------------------------------------------------------------------
# by check: its last two arguments, what the second counts from 0, how many the first has, and the condition
PLACES: dict[str, tuple[str, str, Callable[[Any], int], str]] = {
    "range": ("max index", "a place", int, "`index` is one of `max` places, counted from 0"),
    "column_index": ("y i", "a column", lambda a: a.shape[-1], "the matrix y has a column i, counted from 0"),
    "row_index": ("y i", "a row", lambda a: a.shape[0], "the matrix y has a row i, counted from 0"),
    "vector_index": ("y i", "an element", lambda a: a.size, "the vector y has an element i, counted from 0"),
}


def _of_place(kind: str) -> ArgumentCheck:
    names, of, count, what = PLACES[kind]

    def run(function: str, name: str, y: Nested, i: int) -> None:
        most = count(arguments.array(function, name, y))
        if not 0 <= i < most or i != int(i):
            arguments.fail(function, name, f"have {of} {i}", f"{most} of them, from 0", IndexError)

    return ArgumentCheck(f"check_{kind}", f"function name {names}", what, run, f"have such {of}, from 0")


# ---- series ----------------------------------------------------------------------------------------------------------
@_with_names("converge", "function, a1, a2, b1, z")
def check_2F1_converges(function: str, a1: Real, a2: Real, b1: Real, z: Real) -> None:
    """Raise unless the series of 2F1(a1, a2; b1; z) converges.

        |z| < 1,     or |z| = 1 and b1 > a1 + a2,     or a1 or a2 = 0, -1, ..., where it ends

    If b1 = 0, -1, ..., the series has to end before.

    Arguments: function, a1, a2, b1, z.
    Raises:    ValueError that names the function, z and the parameters.
    Ref:       DLMF 15.2(i); Stan Math's check_2F1_converges.

    >>> check_2F1_converges("f", 1.0, 1.0, 2.0, 1.0)
    Traceback (most recent call last):
    ValueError: f: 2F1 must converge, got z = 1.0 with [1.0, 1.0] above, [2.0] below
    """
    _converges(function, "2F1", [a1, a2], [b1], z)


@_with_names("converge", "function, a1, a2, a3, b1, b2, z")
def check_3F2_converges(function: str, a1: Real, a2: Real, a3: Real, b1: Real, b2: Real, z: Real) -> None:
    """Raise unless the series of 3F2(a1, a2, a3; b1, b2; z) converges.

        |z| < 1,     or |z| = 1 and b1 + b2 > a1 + a2 + a3,     or a1, a2 or a3 = 0, -1, ..., where it ends

    If b1 or b2 = 0, -1, ..., the series has to end before.

    Arguments: function, a1, a2, a3, b1, b2, z.
    Raises:    ValueError that names the function, z and the parameters.
    Ref:       DLMF 16.2(iii); Stan Math's check_3F2_converges.

    >>> check_3F2_converges("f", 1.0, 1.0, 0.5, 2.0, 0.5, 1.0)
    Traceback (most recent call last):
    ValueError: f: 3F2 must converge, got z = 1.0 with [1.0, 1.0, 0.5] above, [2.0, 0.5] below
    """
    _converges(function, "3F2", [a1, a2, a3], [b1, b2], z)


def _converges(function: str, series: str, a: Sequence[Real], b: Sequence[Real], z: Real) -> None:
    above, below, at = [_number(x) for x in a], [_number(x) for x in b], abs(_number(z))
    ends = [-x for x in above if x <= 0.0 and x == np.floor(x)]
    poles = [-x for x in below if x <= 0.0 and x == np.floor(x)]
    if poles and not (ends and min(ends) <= min(poles)):
        raise ValueError(f"{function}: {series} must not be at a pole, got {below} below")
    if not ends and (at > 1.0 or (at == 1.0 and not sum(below) > sum(above)) or at != at):
        raise ValueError(f"{function}: {series} must converge, got z = {_number(z)} with {above} above, {below} below")


# ---- the names -------------------------------------------------------------------------------------------------------
check_finite = _of_elements("finite")
check_not_nan = _of_elements("not_nan")
check_positive = _of_elements("positive")
check_nonnegative = _of_elements("nonnegative")
check_positive_finite = _of_elements("positive_finite")
check_bounded = _of_elements("bounded")
check_greater = _of_elements("greater")
check_greater_or_equal = _of_elements("greater_or_equal")
check_less = _of_elements("less")
check_less_or_equal = _of_elements("less_or_equal")

check_cholesky_factor = _of_array("cholesky_factor")
check_cholesky_factor_corr = _of_array("cholesky_factor_corr")
check_corr_matrix = _of_array("corr_matrix")
check_cov_matrix = _of_array("cov_matrix")
check_lower_triangular = _of_array("lower_triangular")
check_nonzero_size = _of_array("nonzero_size")
check_ordered = _of_array("ordered")
check_positive_ordered = _of_array("positive_ordered")
check_pos_definite = _of_array("pos_definite")
check_pos_semidefinite = _of_array("pos_semidefinite")
check_simplex = _of_array("simplex")
check_sorted = _of_array("sorted")
check_square = _of_array("square")
check_symmetric = _of_array("symmetric")
check_unit_vector = _of_array("unit_vector")
check_vector = _of_array("vector")

check_matching_dims = _of_pair("matching_dims")
check_matching_sizes = _of_pair("matching_sizes")
check_multiplicable = _of_pair("multiplicable")
check_size_match = ArgumentCheck("check_size_match", "function name_i i name_j j", "i = j", _size_match, "be {name_j}")
check_consistent_size = ArgumentCheck(
    "check_consistent_size", "function name x expected_size", "x is a number, or a vector of the expected size",
    _consistent_size, "be a number or have the expected size",
)  # fmt: skip

check_range = _of_place("range")
check_column_index = _of_place("column_index")
check_row_index = _of_place("row_index")
check_vector_index = _of_place("vector_index")
