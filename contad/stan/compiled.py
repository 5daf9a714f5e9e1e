"""Functions of arrays that compiled code may also call: their bodies, by the axes of the arguments.

A body is generated from an expression for its value and from demands on the arguments; these call `contad.stan.bodies`
or densities of one formula. So Python and compiled code share one formula and one set of demands. A density of vectors
has nothing else: Python also evaluates the expression.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from contad.distributions.faces import as_operand, function_of_text
from contad.distributions.vector_docstrings import describe_vectors
from contad.distributions.ways_by_axes import InExpressions, Pattern, axes_in, write_lengths
from contad.ops.triangular_factors import cholesky_factor
from contad.rules.compilable import Compilable
from contad.scipy import vector_densities
from contad.stan import bodies
from contad.stan.domains import Demands, list_requirements, write_demands

_LISTS = frozenset((list, tuple))


class WithBodies(InExpressions):
    """A Python function, with an expression for each pattern of axes of the arguments.

    Python checks the demands before it calls the function with numbers and arrays. A density that `is_evaluated` has
    only its expressions, which Python evaluates instead of the function.
    """

    def __init__(
        self, function: Callable[..., Any], ways: Mapping[Pattern, str], demands: Demands, after: Demands, empty: str,
        far: bool, inside: Demands, names: str, known: dict[str, Any], is_evaluated: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(function, ways, vars(vector_densities) | vars(bodies) | known, names, inside)
        self.has_bodies, self.is_evaluated = True, is_evaluated
        self.names = [name for name in self.signature.parameters if name != "propto"]
        self.demands, self.after, self.empty, self.far = demands, after, empty.split(), far
        columns = zip(*map(axes_in, ways), strict=False)
        most = (max(map(int, "".join(axes))) for axes in columns)
        self.most_axes = dict(zip(self.signature.parameters, most, strict=False))
        self._required: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.demands:
            return self.function(*args, **kwargs)
        propto: tuple[Any, ...] = ()
        if kwargs or len(args) != len(self.names):
            try:
                bound = self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.__name__}: {error}") from None
            args, propto = bound.args[: len(self.names)], bound.args[len(self.names) :]
        given = [as_operand(x) if x.__class__ in _LISTS else x for x in args]
        key = tuple([getattr(x, "ndim", 0) for x in given])
        if key not in self._required:
            axes = dict(zip(self.names, key, strict=True))
            self._required[key] = (
                self._function_for(key),
                [self.names.index(name) for name in self._list_empty(axes)],
                list_requirements(self.__name__, self.demands, self.names, axes),
                list_requirements(self.__name__, self.after, self.names, axes),
            )
        function, empty, before, after = self._required[key]
        for k in empty:
            if 0 in given[k].shape:
                return 0.0
        before.require(given)
        z = function(*given, *propto)
        if self.after and not (z > -np.inf and z < np.inf):
            after.require(given)
            return -np.inf if self.far and z != z else z
        return z

    def _list_empty(self, axes: Mapping[str, int]) -> list[str]:
        """The arguments without which there is nothing to sum over."""
        return [name for name in self.names if name in self.empty and axes[name] == self.most_axes[name]]

    def _function_for(self, axes: tuple[int, ...]) -> Callable[..., Any]:
        """The function that Python calls for arguments with these numbers of axes: the last expression if no pattern
        fits."""
        if not self.is_evaluated:
            return self.function
        fits = (way for way in self.ways if all(str(n) in x for n, x in zip(axes, axes_in(way), strict=True)))
        way = self.ways[next(fits, list(self.ways)[-1])]
        text = f"lambda {', '.join(self.names)}, propto=False: {way.replace('PROPTO', ', propto=propto')}"
        evaluate = eval(text, self.known | {"cholesky": cholesky_factor})

        def run(*args: Any) -> Any:
            try:
                return evaluate(*args)
            except np.linalg.LinAlgError as error:
                what = f"{self._find_indefinite(way, args)} must be a positive definite matrix: {error}"
                raise ValueError(f"{self.__name__}: {what}") from None

        return run

    def _find_indefinite(self, way: str, args: Sequence[Any]) -> str:
        """The name of the argument without a Cholesky factor; the first one if the matrix combines several."""
        for name in re.findall(r"(?:cholesky|log_determinant_spd)\((\w+)\)", way):
            try:
                cholesky_factor(args[self.names.index(name)])
            except np.linalg.LinAlgError:
                return name
        return self.names[0]

    def _write(self, pattern: Pattern, given: tuple[Any, ...]) -> Any:
        names = list(self.signature.parameters)[: len(given)]
        axes = dict(zip(names, given, strict=True))
        value = self.ways[pattern].replace("PROPTO", ", propto" if names[-1] == "propto" else "")
        lines = [f"def {self.__name__}({', '.join(names)}):"]
        for name in self._list_empty(axes):
            lines += [f"    if {name}.size == 0:", "        return 0.0"]
        lines += write_lengths(self.__name__, names, pattern, given)
        lines += write_demands(self.__name__, (*self.demands, *self.inside), axes)
        if self.after:
            lines += [f"    value = {value}", "    if not (value > -np.inf and value < np.inf):"]
            lines += [f"    {line}" for line in write_demands(self.__name__, self.after, axes)]
            value = "value if value == value else -np.inf" if self.far else "value"
        lines.append(f"    return {value}")
        return function_of_text("\n".join(lines) + "\n", self.__name__, self.known)


def with_bodies(
    ways: Mapping[Pattern, str] | None = None, demands: Demands = (), after: Demands = (), empty: str = "",
    far: bool = False, inside: Demands = (), names: str = "", **known: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Let Numba functions call a function as well, and check its arguments.

    ways      an expression of the arguments for each pattern of axes; PROPTO in it is the argument propto, if given
    demands   conditions on arguments, from `contad.stan.domains`
    after     further conditions, which hold if the value is finite, and are checked only if it is not
    empty     arguments without elements for which Python returns 0 before any check
    far       whether the value is -inf if infinite numbers or overflow would make it nan
    inside    demands that only compiled code checks, because the Python function checks its arguments itself
    names     the arguments, if the Python function takes any number of them
    known     names in the expressions besides those of `contad.stan.bodies`
    """
    return lambda function: WithBodies(function, ways or {}, demands, after, empty, far, inside, names, known)


def density_of_vectors(
    module: str, name: str, names: str, ways: Mapping[Pattern, str], demands: Demands, after: Demands = (),
    empty: str = "", far: bool = False, **known: Any,
) -> WithBodies:  # fmt: skip
    """A density of a module by expressions of its arguments, with its docstring from the table."""
    text = f"def {name}({', '.join(names.split())}, propto=False):\n    pass\n"
    form = function_of_text(text, name, {})
    form.__module__, form.__doc__ = module, describe_vectors(name)
    return WithBodies(form, ways, demands, after, empty, far, (), "", known, is_evaluated=True)


class Evaluated(InExpressions):
    """A function that has only its expressions, for each pattern of axes of its arguments; Python evaluates them, too.

    tests       by pattern, a condition on the arguments, and its description
    in_python   by pattern, the expression in Python, if it is another one
    meanings    what names in the expressions mean in Python, where that is something else
    """

    def __init__(
        self, function: Callable[..., Any], ways: Mapping[Pattern, str], known: Mapping[str, Any] | None = None,
        tests: Mapping[Pattern, tuple[str, str]] | None = None, in_python: Mapping[Pattern, str] | None = None,
        meanings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(function, ways, known or {})
        self.tests, self.in_python = tests or {}, {**ways, **(in_python or {})}
        self._globals: dict[str, Any] = {**self.known, **(meanings or {})}
        self._found: dict[tuple[int, ...], Any] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.run(*map(as_operand, self.signature.bind(*args, **named).args))

    def run(self, *args: Any) -> Any:
        """The function for arguments that are numbers and arrays, by position."""
        return self.for_axes(tuple([getattr(x, "ndim", 0) for x in args]))(*args)

    def for_axes(self, axes: tuple[int, ...]) -> Callable[..., Any]:
        """The function for arguments with so many axes."""
        found = self._found.get(axes)
        if found is None:
            found = self._found[axes] = self._write_for_python(axes)
        return found

    def _write_for_python(self, axes: tuple[int, ...]) -> Callable[..., Any]:
        for pattern, value in self.in_python.items():
            kinds = axes_in(pattern)
            if len(axes) == len(kinds) and all(str(n) in known for n, known in zip(axes, kinds, strict=True)):
                names = list(self.signature.parameters)[: len(axes)]
                lines = [f"def {self.__name__}({', '.join(names)}):"]
                lines += write_lengths(self.__name__, names, pattern, axes)
                lines += write_demands(self.__name__, [self.tests[pattern]] if pattern in self.tests else [], {})
                text = "\n".join([*lines, f"    return {value}"]) + "\n"
                return function_of_text(text, self.__name__, self._globals)
        raise TypeError(self.refuse().replace(" inside njit it", ""))

    def _write(self, pattern: Pattern, given: tuple[Any, ...]) -> Any:
        self.inside = [self.tests[pattern]] if pattern in self.tests else []
        return super()._write(pattern, given)


class AsWritten(Compilable):
    """A composition of rules and NumPy functions whose Python source is compiled."""

    has_bodies = True

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        plain = [x.replace(annotation=x.empty) for x in inspect.signature(function).parameters.values()]
        self.signature = inspect.Signature(plain)

    def body(self, given: tuple[Any, ...]) -> Any:
        """The function itself, for all axes."""
        return self.function
