"""Faces: functions made from formulas under the names of other libraries, for Python and for compiled code.

On arrays a face is one call of the formula. Numba functions get a loop instead, written for the axes of the arguments,
which the engines read in place of the call.
"""

import functools
import inspect
import linecache
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from contad.distributions.formula import Cases, Formula
from contad.rules.compilable import LOOPS, Compilable
from contad.rules.float_loops import LoopKey, as_list, float_loop
from contad.rules.scalar_rule import ScalarRule, owner_of
from contad.variables import arguments
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.number import Carrier, Number, peek
from contad.variables.open_types import Value

# by the kind of an argument: the condition in words, and for one element
DOMAINS = {
    "real": ("be a number, not nan", "{x} == {x}"),
    "finite": ("be finite", "({x} > -np.inf) and ({x} < np.inf)"),
    "below infinity": ("be less than infinity", "{x} < np.inf"),
    "positive": ("be positive", "{x} > 0.0"),
    "positive finite": ("be positive and finite", "({x} > 0.0) and ({x} < np.inf)"),
    "nonnegative": ("be nonnegative", "{x} >= 0.0"),
    "nonnegative finite": ("be nonnegative and finite", "({x} >= 0.0) and ({x} < np.inf)"),
    "probability": ("be between 0 and 1", "({x} >= 0.0) and ({x} <= 1.0)"),
    "inner probability": ("be between 0 and 1, and neither", "({x} > 0.0) and ({x} < 1.0)"),
    "at least one": ("be at least 1", "{x} >= 1.0"),
    "whole": ("be a whole number", "{x} == np.floor({x})"),
    "count": ("be a nonnegative whole number", "({x} >= 0.0) and ({x} == np.floor({x}))"),
    "positive count": ("be a positive whole number", "({x} >= 1.0) and ({x} == np.floor({x}))"),
    "angle": ("be between -pi and pi", "({x} >= -np.pi) and ({x} <= np.pi)"),
    "binary": ("be 0 or 1", "({x} == 0.0) or ({x} == 1.0)"),
}

# by the first words of an order: the condition in words, as an operator, and as a function
ORDERS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "above": ("be greater than", ">", operator.gt),
    "up to": ("be at most", "<=", operator.le),
    "at least": ("be at least", ">=", operator.ge),
}


def as_operand(x: Value) -> Value:
    """An argument as a number or an array; lists may hold variables."""
    if isinstance(x, (list, tuple)):
        return array(x) if numbers_in(x) else np.asarray(x, dtype=np.float64)
    return x


class CallOfFace(NamedTuple):
    """How arguments of some classes are evaluated."""

    rule: Any  # the formula
    loop: Callable[..., Any] | None  # for few plain elements
    carriers: Sequence[int]  # arguments of a sum that carry derivatives
    lists: Sequence[int]  # arguments of a loop that are arrays
    others: Sequence[int]  # arguments of a loop that are numbers, but not Python floats
    is_numpy: bool  # whether one of them is an np.float64; so is the result then


_PLAIN = frozenset((float, int, bool, np.float64, np.ndarray))


class Face(Compilable):
    """One function, made from a formula, with the names of its arguments.

    reduce    "sum" or "product" of the elements (arrays must then have one shape); "" for the elements themselves
    domains   kinds of the arguments, by their names, as keys of DOMAINS; checked before anything is computed
    orders    "above b", "up to b" or "at least b", by the name of the argument; b may be a difference
    lenient   whether numbers are not checked if an array has no elements
    """

    has_bodies = True

    def __init__(
        self, module: str, name: str, formula: ScalarRule, doc: str, names: Sequence[str] = (), reduce: str = "",
        domains: dict[str, str] | None = None, defaults: dict[str, float] | None = None, has_propto: bool = False,
        orders: dict[str, str] | None = None, lenient: bool = False,
    ) -> None:  # fmt: skip
        self.__module__, self.__name__, self.__qualname__, self.__doc__ = module, name, name, doc
        self.function = self
        self.formula: Any = formula  # a Formula, whose terms without differentiated arguments may be dropped
        self.reduce, self.has_propto, self.lenient = reduce, has_propto, lenient
        self.names = tuple(names) or formula.argument_names
        self.domains, self.defaults, self.orders = domains or {}, defaults or {}, orders or {}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter(x, kind, default=self.defaults.get(x, inspect.Parameter.empty)) for x in self.names
        ]
        if has_propto:
            parameters.append(inspect.Parameter("propto", kind, default=False))
        self.__signature__ = self.signature = inspect.Signature(parameters)
        self._bodies: dict[Any, Any] = {}
        self._ways: dict[Any, CallOfFace] = {}  # keyed by whether terms are dropped, and the classes of arguments

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.__qualname__}>"

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        propto = bool(kwargs.pop("propto", False)) if self.has_propto else False
        if kwargs or len(args) != len(self.names):
            args, is_short = self._bind(args, kwargs)
            propto = propto or is_short
        kinds = (propto, *[x.__class__ for x in args])
        if kinds not in self._ways:
            self._ways[kinds] = self._find_way(kinds)
        way = self._ways[kinds]
        found = self._evaluate_few(way, args) if way.loop else self._record_sum(way, args) if way.carriers else None
        return self._evaluate(args, propto) if found is None else found

    def _bind(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], bool]:
        """The arguments in order, with defaults; and whether `propto` is passed by position."""
        n = len(self.names)
        if not kwargs and len(args) < n and all(name in self.defaults for name in self.names[len(args) :]):
            return (*args, *[self.defaults[name] for name in self.names[len(args) :]]), False
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        return bound.args[:n], any(map(bool, bound.args[n:]))

    def _find_way(self, kinds: tuple[Any, ...]) -> "CallOfFace":
        """How arguments of these classes are evaluated."""
        propto, *classes = kinds
        rule = self.formula.without_constants() if propto else self.formula
        places: dict[str, list[int]] = {"carriers": [], "lists": [], "others": []}
        for k, x in enumerate(classes):
            if issubclass(x, Carrier):
                places["carriers"].append(k)
            elif x is not float:
                places["lists" if x is np.ndarray else "others"].append(k)
        is_sum = self.reduce == "sum"
        way = CallOfFace(rule, None, [], [], [], np.float64 in classes)
        if rule.body is None or len(classes) != rule.arity:
            return way
        if places["carriers"]:
            return way._replace(carriers=places["carriers"]) if is_sum else way
        if not all(x in _PLAIN for x in classes) or (self.reduce == "product" and places["lists"]):
            return way
        arrays = tuple([x is np.ndarray for x in classes])
        loop = float_loop(LoopKey(rule, arrays, (False,) * rule.arity, self.conditions, is_sum))
        return way._replace(loop=loop, lists=places["lists"], others=places["others"])

    def _evaluate_few(self, way: "CallOfFace", args: tuple[Value, ...]) -> Value:
        """The value of plain arguments; None if they need another path, for example outside their domains."""
        _, loop, _, lists, others, is_numpy = way
        assert loop is not None
        if not lists and not others:
            return loop(*args)
        given = [*args]
        for k in others:
            given[k] = float(given[k])
        n = 0
        for k in lists:
            x = given[k] = as_list(given[k])
            if x is None or len(x) != (n or len(x)):
                return None
            n = len(x)
        z = loop(*given)
        if z is None:
            return None
        return np.array(z) if z.__class__ is list else np.float64(z) if lists or is_numpy else z

    def _record_sum(self, way: "CallOfFace", args: Sequence[Value]) -> Value:
        """The sum as one operation of a level, if the level has it; otherwise None."""
        owner = owner_of(self.__name__, [args[k] for k in way.carriers])
        assert owner is not None
        return owner.apply_sum(way.rule, args, self.conditions)

    def _evaluate(self, args: tuple[Value, ...], propto: bool) -> Value:
        """The value of arguments of any kind."""
        given = [x if x.__class__ is float else as_operand(x) for x in args]
        if any(x is not y for x, y in zip(given, args, strict=True)):  # lists have become arrays
            return self(*given, propto) if self.has_propto else self(*given)
        if self.reduce and [x for x in given if x.__class__ is not float]:
            shape = self._common_shape(given)
            if self.lenient and 0 in shape:
                return 0.0 if self.reduce == "sum" else 1.0
        rule = self.formula.without_constants() if propto else self.formula
        for name, x in zip(self.names, given, strict=True):
            if name in self.domains:
                check_domain(self.__name__, name, x, self.domains[name])
        if self.orders:
            numbers = dict(zip(self.names, given, strict=True))
            for name, relation in self.orders.items():
                check_order(self.__name__, name, relation, numbers)
        return self._reduce(rule(*given))

    def _common_shape(self, given: list[Value]) -> tuple[int, ...]:
        """The shape of the arrays among the arguments, () if all are numbers; ValueError if shapes differ."""
        first, common = "", ()
        for name, x in zip(self.names, given, strict=True):
            shape = getattr(x, "shape", ())
            if shape != common and shape:
                if common:
                    arguments.fail(self.__name__, name, f"have the shape of {first}, {common}", f"shape {shape}")
                first, common = name, shape
        return common

    @functools.cached_property
    def conditions(self) -> tuple[str, ...]:
        """The conditions on each element, for the formula's arguments under the names p_0, p_1, ..."""
        at = {name: f"p_{k}" for k, name in enumerate(self.names)}
        return tuple(test for _, test, _ in self._list_demands(at))

    def _list_demands(self, at: dict[str, str]) -> Iterator[tuple[tuple[str, ...], str, str]]:
        """The conditions: on which arguments, as an expression of their texts, and the message of a violation."""
        for name in self.names:
            if name in self.domains and name in at:
                what, condition = DOMAINS[self.domains[name]]
                yield (name,), condition.format(x=at[name]), f"{self.__name__}: {name} must {what}"
        for name, relation in self.orders.items():
            word, than = split_order(relation)
            what, sign = f"{ORDERS[word][0]} {than}", ORDERS[word][1]
            bound = " ".join(at.get(x, x) for x in than.split())
            read = (name, *(x for x in than.split() if x in at))
            yield read, f"{at[name]} {sign} {bound}", f"{self.__name__}: {name} must {what}"

    def _reduce(self, z: Value) -> Value:
        if z.__class__ is float or isinstance(z, Number):
            return z
        if self.reduce == "sum":
            return np.sum(z) if np.ndim(z) else z
        if self.reduce == "product":
            return np.prod(z) if np.ndim(z) else z
        return z

    # ---- compiled code -----------------------------------------------------------------------------------------------
    def body(self, given: tuple[Any, ...]) -> Any:
        """A function of numbers and arrays with these numbers of axes, for compiled code; None if there is none."""
        ndims = given
        axes = {n for n in ndims if n}
        if len(axes) > 1 or not axes <= {1, 2}:
            return None
        if ndims not in self._bodies:
            self._bodies[ndims] = self._write(ndims, axes.pop() if axes else 0)
        return self._bodies[ndims]

    def _write(self, ndims: tuple[int | None, ...], axes: int) -> FunctionType:
        names = [name for name, _ in zip(self.signature.parameters, ndims, strict=False)]
        index = "[_k]" if axes == 1 else "[_j, _k]"  # names that no argument has
        at = {name: name + (index if n else "") for name, n in zip(names, ndims, strict=True)}
        arrays = [name for name, n in zip(names, ndims, strict=True) if n]
        lines = [f"def {self.__name__}({', '.join(names)}):"]
        indent = "    "
        of_arrays: list[tuple[str, str]] = []  # conditions on elements, and the messages of violations
        checks: list[str] = []  # of numbers
        for read, test, text in self._list_demands(at):
            if {*read} & {*arrays}:
                of_arrays.append((test, text))
            else:
                some = f"{arrays[0]}.size > 0 and " if self.lenient and arrays else ""
                checks += [f"if {some}not ({test}):", f"    raise ValueError({text!r})"]
        values = [at.get(name, repr(float(self.defaults.get(name, 0.0)))) for name in self.names]
        call, short = f"rule({', '.join(values)})", f"short({', '.join(values)})"
        first: list[str] = []  # lines before the call
        if isinstance(self.formula, Formula) and names[: len(values)] == [*self.formula.argument_names]:
            if not arrays:
                call, short = (x or y for x, y in zip(self.formula.in_branches, (call, short), strict=True))
            elif self.formula.in_loops:
                elements = re.compile(rf"\b({'|'.join(names)})\b")
                *first, call = (elements.sub(lambda x: at[x[0]], line) for line in self.formula.in_loops)
                call = short = f"({call})"
        if "propto" in names:
            call = f"(({short}) if propto else ({call}))"
        for other in arrays[1:]:
            lines += [f"    if {arrays[0]}.shape != {other}.shape:"]
            text = f"{self.__name__}: {arrays[0]} and {other} must have the same shape"
            lines += [f"        raise ValueError({text!r})"]
        lines += [indent + line for line in checks]
        if not arrays:
            lines.append(f"    return {call}")
        else:
            shape = f"{arrays[0]}.shape"
            start = {"sum": "total = 0.0", "product": "total = 1.0"}.get(self.reduce)
            if start is None:
                size = f"len({arrays[0]})" if axes == 1 else f"({shape}[0], {shape}[1])"
                start = f"made = zeros({size})"
            heads = [f"    for _j in range({shape}[0]):"] if axes == 2 else []
            indent = "    " * axes
            heads.append(f"{indent}for _k in range({shape}[{axes - 1}]):")
            indent += "    "
            if of_arrays:  # in a separate loop, so that the main loop has no exits
                lines += [f"    wrong_{n} = 0" for n in range(len(of_arrays))]
                lines += heads
                for n, (test, _) in enumerate(of_arrays):
                    lines += [f"{indent}if not ({test}):", f"{indent}    wrong_{n} = wrong_{n} + 1"]
                for n, (_, text) in enumerate(of_arrays):
                    lines += [f"    if wrong_{n} > 0:", f"        raise ValueError({text!r})"]
            lines += [f"    {start}", *heads, *(indent + line for line in first)]
            step = {"sum": f"total = total + {call}", "product": f"total = total * {call}"}
            lines.append(indent + step.get(self.reduce, f"made{index} = {call}"))
            lines.append("    return total" if self.reduce else "    return made")
        body = function_of_text("\n".join(lines) + "\n", self.__name__, self._name_globals())
        vars(body)["adds_in_any_order"] = True  # which the engine `generated` asks
        return body

    def _name_globals(self) -> dict[str, Any]:
        known = {"np": np, "zeros": np.zeros, "rule": self.formula} | getattr(self.formula, "in_branches_known", {})
        return known | ({"short": self.formula.without_constants()} if self.has_propto else {})

    def rules(self) -> list[ScalarRule]:
        """The formulas that the bodies call."""
        return [self.formula, *([self.formula.without_constants()] if self.has_propto else [])]


@functools.cache
def split_order(relation: str) -> tuple[str, str]:
    """The words of an order, and the bound: an argument or the difference of two.

    >>> split_order("at least N - n")
    ('at least', 'N - n')
    """
    word = next(word for word in ORDERS if relation.startswith(word))
    return word, relation[len(word) + 1 :]


def check_order(function: str, name: str, relation: str, given: dict[str, Value]) -> None:
    """Raise ValueError if an element of an argument violates an order."""
    word, than = split_order(relation)
    what, _, holds = ORDERS[word]
    first, _, less = than.partition(" - ")
    x, other = given[name], given[first] - given[less] if less else given[first]
    good = holds(x, other)
    if not (good if isinstance(good, bool) else np.all(good)):
        a, b = np.broadcast_arrays(*(arguments.array(function, n, peek(v)) for n, v in ((name, x), (than, other))))
        at = np.unravel_index(np.argmin(holds(a, b)), a.shape)
        arguments.fail(function, name, f"{what} {than}", f"{a[at]}{arguments.at(at)}")


def check_domain(function: str, name: str, x: Value, kind: str) -> None:
    """Raise ValueError if an element is outside a domain, by a comparison that recorded programs can repeat."""
    what, condition = DOMAINS[kind]
    if x.__class__ is float or isinstance(x, Number):  # NumPy would make arrays of these
        good = _test(condition)(x)
    else:
        good = np.all(_test_arrays(condition)(x) if np.ndim(x) else _test(condition)(x))
    if good:
        return
    a = arguments.array(function, name, peek(x))  # for the message, also while a program is recorded
    good = _test_arrays(condition)(a)
    if not np.all(good):
        first = np.unravel_index(np.argmin(good), a.shape)
        arguments.fail(function, name, what, f"{a[first]}{arguments.at(first)}")


def _test(condition: str) -> Callable[..., Any]:
    if condition not in _TESTS:
        text = condition.format(x="x")
        of_arrays = text.replace(") and (", ") & (").replace(") or (", ") | (")
        _TESTS[condition] = tuple(eval(f"lambda x: {t}", {"np": np}) for t in (text, of_arrays))
    return _TESTS[condition][0]


def _test_arrays(condition: str) -> Callable[..., Any]:
    _test(condition)
    return _TESTS[condition][1]


_TESTS: dict[str, tuple[Callable[..., Any], ...]] = {}


def function_of_text(text: str, name: str, known: dict[str, Any]) -> FunctionType:
    """A function from source text whose lines can be read again, like those of a file."""
    filename = f"<contad {name} {len(linecache.cache)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = known | {"__name__": LOOPS}
    exec(compile(text, filename, "exec", dont_inherit=True), names)
    found: FunctionType = names[name]
    return found


def compose(
    name: str, names: Sequence[str], text: str, *formulas: Formula, home: str, cases: Cases = (),
    whole: Sequence[str] = (), flat: str = "", **known: Any,
) -> Formula:  # fmt: skip
    """A formula from source text: an expression of arguments, and of formulas as f, g and h; `known` are its other
    names.

    Assignments before the expression are separated by `;`.
    """
    *lines, result = (part.strip() for part in text.split(";"))
    source = f"def {name}({', '.join(names)}):\n" + "".join(f"    {x}\n" for x in (*lines, f"return {result}"))
    made = function_of_text(source, name, dict(zip("fgh", formulas, strict=False)) | known)
    made.__module__ = home
    return Formula(made, cases, whole, (), flat=flat)
