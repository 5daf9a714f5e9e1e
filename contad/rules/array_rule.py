"""Derivative rules of array operations: a value function, a vjp per differentiable argument, and a jvp.

Bodies are pure and straight-line, like those of scalar rules. They run on plain arrays and on array variables of outer
levels, so the same body serves every order.
"""

import dis
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from contad.errors import RuleError, UnsupportedError
from contad.rules.array_body import check_body
from contad.rules.capturing import Capturing
from contad.rules.compilable import Parts, WithParts, functions_of_text, make_positional
from contad.rules.numpy_functions import NO_VALUE, Entry, register
from contad.rules.scalar_rule import is_nested, library_owner, owner_of
from contad.variables.arguments import dtype_of, fail, require_plain, require_real
from contad.variables.array import Array, lower_constants
from contad.variables.arrays_of_rules import call_with_arrays, holds_objects
from contad.variables.complex_pair import ComplexResult, holds_complex, is_complex
from contad.variables.dtypes import FLOAT, FLOATS, HERMITIAN, Dtypes, dtype_beside
from contad.variables.kept_dtypes import STANDING, perform, stands_in
from contad.variables.number import Carrier, Number, is_real
from contad.variables.open_types import Function, Nested, Option, Options, Saved, Value
from contad.variables.overlaps import forbid_writing_shared, share_memory

ARRAYS = Array, np.ndarray
_array_rules: dict[str, "ArrayRule"] = {}
_by_ufunc: dict[np.ufunc, "ArrayRule"] = {}  # rules for ufuncs, such as np.matmul


class ArrayRule(Capturing, WithParts):
    """One array operation. Calling it accepts plain arrays, variables, duals, and object arrays of scalar variables."""

    twin: Any = None  # replaces it at a kink if a gradient is differentiated: see `contad.ops.kinks`
    is_at_kink: Any = None  # whether arguments (and options) are there
    at_complex: Any = None  # the operation at complex arguments: of `contad.rules.complex_rule`
    further: Function | None = None  # takes the further parameters of the NumPy function, written with other operations

    def __init__(
        self, function: Function, numpy: Function | tuple[Function, ...] | None, parameters: str, linear: Sequence[str],
        points: Iterable[tuple[Any, ...]], dtypes: Dtypes = FLOATS,
    ) -> None:  # fmt: skip
        code = function.__code__
        self.function = function
        self.name = self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.argument_names = code.co_varnames[: code.co_argcount]
        self.option_names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.numpy = numpy if isinstance(numpy, tuple) else () if numpy is None else (numpy,)
        self.parameters = tuple(parameters.split()) or (*self.argument_names, *self.option_names)
        self.linear = tuple(linear)
        self.points = tuple(points)
        self.dtypes = dtypes
        self.vjps: dict[str, Function] = {}
        self.structures: dict[str, Function] = {}
        self.jvp_body: Function | None = None
        self.forward_body: Function | None = None
        self.common_body: Function | None = None
        # class of the first (second) argument -> an engine's fast implementation, called as (x, ...), or as (y, x)
        self.methods: dict[type, Function] = {}
        self.reflected: dict[type, Function] = {}
        # returns the result if an engine's compiled code computes it and all arguments are finite; otherwise None
        self.attempt: Function = _leave
        self._checked: set[Function] = set()
        self._needs: dict[str, frozenset[str]] = {}
        self._parts: dict[Any, Parts] = {}
        if function.__defaults__:
            raise RuleError(f"array_rule: {self.name}: options are keyword-only; write a * before those with a default")
        for name in self.linear:
            if name not in self.argument_names:
                raise RuleError(f"array_rule: {self.name}: linear={name!r} is not one of its arguments")
        if not self.__module__.startswith("contad."):
            self.__dict__ |= _guard(self)

    def __repr__(self) -> str:
        return f"<contad array rule {self.name}({', '.join(self.argument_names)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return array_rule_of, (self.name,)

    # ---- declaration -------------------------------------------------------------------------------------------------
    def forward(self, body: Function) -> Function:
        """Declare `body(*arguments, **options)`, which returns (value, saved) for the vjp and jvp bodies."""
        self.forward_body = body
        return body

    def vjp(self, name: str) -> Callable[[Function], Function]:
        """Declare the cotangent of one argument: `body(z, z_bar, *arguments, [saved], [common], **options)`."""
        if name not in self.argument_names:
            first = self.argument_names[0] if self.argument_names else "a"
            raise RuleError(
                f'{self.name}: write @{self.name}.vjp("{first}"), with an argument\'s name, one of '
                f"{', '.join(self.argument_names)}; got {name!r}"
            )

        def declare(body: Function) -> Function:
            self._check_parameters(body, ("z", "z_bar"))
            self.vjps[name] = body
            self._needs.pop(name, None)
            return body

        return declare

    def common(self, body: Function) -> Function:
        """Declare the common part of the cotangents: `body(z, z_bar, *arguments, [saved], **options)`.

        It is computed once for all arguments, and every vjp receives it after `saved`.
        """
        self._check_parameters(body, ("z", "z_bar"))
        self.common_body = body
        self._needs.clear()
        return body

    def jvp(self, body: Function) -> Function:
        """Declare the tangent of z: `body(z, *tangents, *arguments, [saved], **options)`; constants have tangent 0."""
        if self.linear:
            raise RuleError(f"{self.name}: linear= already defines the jvp")
        self._check_parameters(body, ("z", *(f"{name}_dot" for name in self.argument_names)))
        self.jvp_body = body
        return body

    def structure(self, name: str) -> Callable[[Function], Function]:
        """Declare which elements of z depend on which elements of one argument; by default each depends on all.

        `body(*arguments, **options)` returns two arrays of flat positions, (in z, in the argument), or None if they are
        too many.
        """

        def declare(body: Function) -> Function:
            self.structures[name] = body
            return body

        return declare

    def _check_parameters(self, body: Function, first: tuple[str, ...]) -> None:
        code = body.__code__
        n = len(first) + len(self.argument_names)
        names = code.co_varnames[: code.co_argcount]
        expected = (*first, *self.argument_names)
        if not n <= len(names) <= n + 2 or names[len(first) : n] != self.argument_names:
            raise RuleError(
                f"{code.co_filename}:{code.co_firstlineno}: {body.__name__} must take ({', '.join(expected)}), then "
                f"saved if there is a forward, and a vjp then common if there is one, got ({', '.join(names)})"
            )

    # ---- evaluation, for engines -------------------------------------------------------------------------------------
    def evaluate(self, values: Sequence[Value], options: Options) -> tuple[Value, Saved]:
        """(z, saved) at values that are plain or of outer levels."""
        if self.forward_body is not None:
            value: tuple[Value, Saved] = self.forward_body(*values, **options)
            return value
        return self(*values, **options), None

    def evaluate_complex(self, values: Sequence[Value], options: Options) -> tuple[Value, Saved]:
        """The same, where values and results may be complex."""
        return ArrayRule.evaluate(self, values, options)

    def needs(self, name: str) -> frozenset[str]:
        """The values that the vjp of an argument reads: "z" and names of arguments."""
        found = self._needs.get(name)
        if found is None:
            bodies = [self._body(name), *([self.common_body] if self.common_body else [])]
            found = self._needs[name] = frozenset().union(*(_find_loaded(body.__code__) for body in bodies))
        return found

    def _body(self, name: str) -> Function:
        body = self.vjps.get(name)
        if body is None:
            raise UnsupportedError(
                f"{self.name}: no derivative with respect to {name}; declare one with @{self.name}.vjp({name!r})"
            )
        return body if body in self._checked else self._pass(body)

    def _pass(self, body: Function) -> Function:
        if body not in self._checked:
            if not self.__module__.startswith("contad.ops."):  # contad's own are checked by a test
                check_body(body)
            self._checked.add(body)
        return body

    def pull(
        self, name: str, z: Value, z_bar: Value, values: Sequence[Value], options: Options, saved: Saved = None
    ) -> Value:
        """The cotangent of one argument."""
        body = self._body(name)
        more = () if self.forward_body is None else (saved,)
        if self.common_body is not None:
            more = (*more, self._pass(self.common_body)(z, z_bar, *values, *more, **options))
        return body(z, z_bar, *values, *more, **options)

    def pull_each(
        self,
        names: Iterable[str],
        z: Value,
        z_bar: Value,
        values: Sequence[Value],
        options: Options,
        saved: Saved = None,
    ) -> Iterator[Value]:
        """The cotangents of some arguments, each computed on demand; their common part is computed once."""
        more = () if self.forward_body is None else (saved,)
        if self.common_body is not None:
            more = (*more, self._pass(self.common_body)(z, z_bar, *values, *more, **options))
        for name in names:
            yield self._body(name)(z, z_bar, *values, *more, **options)

    def push(
        self, z: Value, tangents: Sequence[Value | None], values: Sequence[Value], options: Options, saved: Saved = None
    ) -> Value:
        """The tangent of z; None stands for the tangent of a constant."""
        if self.linear:
            terms = [self(*values[:k], t, *values[k + 1 :], **options) for k, t in enumerate(tangents) if t is not None]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return total
        if self.jvp_body is None:
            raise UnsupportedError(f"{self.name}: no forward mode; declare one with @{self.name}.jvp")
        more = () if self.forward_body is None else (saved,)
        dots = [
            np.zeros(np.shape(v), dtype_beside(v)) if t is None else t for t, v in zip(tangents, values, strict=True)
        ]
        return self._pass(self.jvp_body)(z, *dots, *values, *more, **options)

    def __call__(self, *args: Value, **options: Option) -> Value:
        if self.methods and len(args) == len(self.argument_names):
            method = self.methods.get(args[0].__class__)
            if method is not None:
                return method(*args, **options)
            if len(args) == 2:
                method = self.reflected.get(args[1].__class__)
                if method is not None:
                    return method(args[1], args[0], **options)
        for x in options.values():
            if isinstance(x, Carrier):
                return self.general(args, options)  # which refuses it
        for x in args:
            if x.__class__ is not np.ndarray or x.dtype == object:
                return self.general(args, options)
        if len(args) != len(self.argument_names):
            return self.general(args, options)
        return self.function(*args, **options)

    def functions(self) -> tuple[Function | None, ...]:
        """The value, and the bodies."""
        return self.function, self.forward_body, self.common_body, self.jvp_body, *self.vjps.values()

    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts for calls inside njit: the rule's bodies, which receive the results of forward and common."""
        if self.__module__.startswith("contad.ops."):
            raise UnsupportedError(
                f"contad.{self.name} cannot be called inside njit; call NumPy's function, or write a loop"
            )
        key = self.functions(), wanted
        if key not in self._parts:
            bodies = [self._body(name) if n in wanted else None for n, name in enumerate(self.argument_names)]
            common = None if self.common_body is None else self._pass(self.common_body)
            push = None if self.jvp_body is None else self._pass(self.jvp_body)
            self._parts[key] = parts_of(self, common, bodies, push)
        return self._parts[key]

    def generally(self, *args: Value, **options: Option) -> Value:
        """`general` as a function of the arguments."""
        return self.general(args, options)

    def general(self, args: Sequence[Value], options: Options) -> Value:
        """The operation on arguments of any supported kind, by position or by name."""
        if STANDING and stands_in((*args, *options.values())):
            return perform(self.generally, tuple(args), options)
        args = list(args)
        for name in self.argument_names[len(args) :]:
            if name not in options:
                raise TypeError(f"{self.name}: missing argument {name}")
            args.append(options.pop(name))
        if len(args) > len(self.argument_names):
            raise TypeError(f"{self.name}: expected {len(self.argument_names)} array(s), got {len(args)}")
        for name in options:
            if name not in self.option_names:
                raise TypeError(f"{self.name}: unexpected argument {name}")
            x = options[name] = lower_constants(options[name])
            require_plain(self.name, name, x)
            if isinstance(x, Carrier):
                raise UnsupportedError(
                    f"{self.name}: {name} must be a constant, got {'an' if x.kind[0] == 'a' else 'a'} {x.kind}; "
                    "contad.value_of gives its value"
                )
        owner = library_owner(self.name, args)
        if owner is not None:
            return self.apply_on(owner, owner.apply_array, args, options)
        if any(map(holds_complex, args)):
            return self.at_complex(args, options)
        numbers: list[Any] = []
        for k, (name, x) in enumerate(zip(self.argument_names, args, strict=True)):
            if not isinstance(x, Carrier):
                a = args[k] = _array(self, name, x)
                if a.dtype == object:
                    numbers += a.flat
            else:
                numbers.append(x)
        owner = owner_of(self.name, numbers)
        if owner is None:
            return self.function(*args, **options)
        if self.twin is not None and any(map(is_nested, (*numbers, *args))) and self.is_at_kink(args, options):
            return self.twin.general(args, options)
        return self.apply_on(owner, owner.apply_array, args, options)


def _is_plain(x: Value) -> bool:
    """Whether this is a float or a float array."""
    kind = x.__class__
    return kind is float or kind is np.float64 or (kind is np.ndarray and x.dtype is FLOAT)


def _guard(rule: ArrayRule) -> dict[str, Function]:
    """The methods of a user's rule that engines call: they pass it no object arrays and refuse complex results.

    A result may be an argument, or a view of one; then neither may be written to.
    """
    evaluate, push, pull, pull_each = rule.evaluate, rule.push, rule.pull, rule.pull_each
    thread = threading.local()  # its `shared`: positions of results, and of arguments that share their memory

    takes_complex = "D" in rule.dtypes.letters

    def require(name: str, x: Value) -> None:
        if not takes_complex:
            require_real(rule.name, name, x, _IF_COMPLEX)

    def perform(args: Sequence[Value], options: Options) -> Value:
        before, thread.shared = getattr(thread, "shared", None), []
        try:
            try:
                z = ArrayRule.general(rule, args, dict(options))
            except ComplexResult:
                return rule.at_complex(args, options)
            for n, k in thread.shared:
                y = z[n] if isinstance(z, tuple) else z
                forbid_writing_shared(rule.name, rule.argument_names[k], [y, args[k]])
        finally:
            thread.shared = before
        return z

    def evaluate_real(values: Sequence[Value], options: Options) -> tuple[Value, Saved]:
        if rule.forward_body is not None and holds_objects((values, options)):
            found = call_with_arrays(evaluate, values, options)
        else:
            found = evaluate(values, options)
        z = found[0]
        if not _is_plain(z):
            require("its value", z)
            if any(map(is_complex, z if isinstance(z, tuple) else (z,))):
                raise ComplexResult(f"{rule.name}: its value is complex; in the recorded example it was real")
        if z.__class__ is not float and getattr(thread, "shared", None) is not None:
            results = [(n, y) for n, y in enumerate(z if isinstance(z, tuple) else (z,)) if isinstance(y, ARRAYS)]
            arrays = [(k, x) for k, x in enumerate(values) if isinstance(x, ARRAYS)]
            thread.shared += [(n, k) for n, y in results for k, x in arrays if share_memory(y, x)]
        return found

    def pull_real(
        name: str, z: Value, z_bar: Value, values: Sequence[Value], options: Options, saved: Saved = None
    ) -> Value:
        if holds_objects((z, z_bar, values, options, saved)):
            x_bar = call_with_arrays(pull, name, z, z_bar, values, options, saved)
        else:
            x_bar = pull(name, z, z_bar, values, options, saved)
        if not _is_plain(x_bar):
            require(f"vjp({name!r})", x_bar)
        return x_bar

    def pull_each_real(names: Iterable[str], *args: Any) -> Iterator[Value]:
        names = tuple(names)
        found = call_with_arrays(lambda *given: [*pull_each(names, *given)], *args)
        for name, x_bar in zip(names, found, strict=True):
            require(f"vjp({name!r})", x_bar)
        return iter(found)

    def push_real(*args: Any) -> Value:
        z_dot = call_with_arrays(push, *args)
        require("its tangent", z_dot)
        return z_dot

    made: dict[str, Function] = {"evaluate": evaluate_real, "pull": pull_real, "pull_each": pull_each_real}
    return made | {"push": push_real, "general": perform}


_IF_COMPLEX = (
    "; for complex numbers declare @contad.array_rule(complex=True), or write contad.custom_vjp, which has them anyway"
)


def _leave(*args: Value, **options: Option) -> None:
    """The `attempt` of a rule without a compiled implementation."""


def parts_of(
    rule: ArrayRule, common: Function | None, bodies: Sequence[Function | None], push: Function | None
) -> Parts:
    """The functions of a rule for compiled code; backward returns the cotangents for the bodies given here.

    Options are positional there, after the arguments.
    """
    options = rule.option_names
    given, dots = [f"x_{n}" for n in range(len(bodies))], [f"d_{n}" for n in range(len(bodies))]
    functions = {"value": rule.function, "forward_": rule.forward_body, "common": common, "push": push}
    functions |= {f"vjp_{n}": body for n, body in enumerate(bodies)}
    known: dict[str, Any] = {
        name: None if f is None else make_positional(rule.name, f) for name, f in functions.items()
    }
    named = {name: f"option_{name}" for name in options}

    def call(name: str, *args: str) -> str:
        """The call of a body, with the options that it takes."""
        code = functions[name].__code__  # type: ignore[union-attr]
        more = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        return f"{name}({', '.join([*args, *(named[option] for option in more)])})"

    has_forward = rule.forward_body is not None
    saved = ", ".join(["z", *given, "more"])
    text = f"def forward({', '.join([*given, *named.values()])}):\n"
    if has_forward:
        text += f"    z, more = {call('forward_', *given)}\n    return z, ({saved})\n"
    else:
        text += f"    z = {call('value', *given)}\n    return z, ({saved.removesuffix('more')}None)\n"
    text += f"def backward({', '.join([*named.values(), 'saved', 'z_bar'])}):\n    {saved} = saved\n"
    arguments = ["z", "z_bar", *given, *(["more"] if has_forward else [])]
    if common is not None and any(bodies):
        text += f"    shared = {call('common', *arguments)}\n"
        arguments.append("shared")
    cotangents = "".join(
        "None, " if body is None else f"{call(f'vjp_{n}', *arguments)}, " for n, body in enumerate(bodies)
    )
    text += f"    return ({cotangents})\n"
    if rule.linear:
        tangent = " + ".join(call("value", *given[:n], dots[n], *given[n + 1 :]) for n in range(len(bodies)))
    elif push is not None:
        tangent = call("push", "z", *dots, *given, *(["more"] if has_forward else []))
    if rule.linear or push is not None:
        text += f"def tangent({', '.join([*named.values(), 'saved', *dots])}):\n    {saved} = saved\n"
        text += f"    return {tangent}\n"
    known = functions_of_text(text, known)
    places = tuple(range(len(bodies), len(bodies) + len(options)))
    return Parts(known["value"], known["forward"], known["backward"], places, known.get("tangent"))


def _array(rule: ArrayRule, name: str, x: Nested) -> np.ndarray:
    """A plain array of a dtype that the rule accepts and variables have, or an object array with scalar variables."""
    function = rule.name
    if isinstance(x, (list, tuple)) and any(isinstance(v, Array) for v in x):
        x = np.stack(x)
        if isinstance(x, Array):
            fail(function, name, "be one array; stack them with np.stack", "a list of array variables", TypeError)
    require_plain(function, name, x)
    a = np.asarray(x)
    dtype = rule.dtypes.find(a.dtype)
    if dtype is not None:
        return a.astype(dtype, copy=False)
    if a.dtype == object and any(isinstance(v, Number) for v in a.flat):
        return a
    if a.dtype == object and all(map(is_real, a.flat)):  # as in Python copies of Numba functions
        return a.astype(np.float64)
    fail(function, name, "be an array of real numbers", dtype_of(a), UnsupportedError)


def _find_loaded(code: CodeType) -> set[str]:
    """The local names that a function reads."""
    names: set[str] = set()
    for instruction in dis.get_instructions(code):
        if "LOAD_FAST" in instruction.opname:
            read = instruction.argval
            names.update(read if isinstance(read, tuple) else (read,))
    return names


def array_rule(
    function: Function | None = None,
    /,
    *,
    numpy: Function | tuple[Function, ...] | None = None,
    parameters: str = "",
    linear: Sequence[str] = (),
    points: Iterable[tuple[Any, ...]] = (),
    dtypes: Dtypes = FLOATS,
    complex: bool = False,
) -> Any:
    """Register an array operation; declare its derivatives with `.vjp(name)` and `.jvp`.

    Positional arguments of the function are differentiable, keyword-only arguments are options. `.forward` saves values
    for the derivatives, and `.common` computes the common part of several vjps once.

    numpy       the NumPy function or ufunc (or a tuple of them) that dispatches here
    parameters  the parameter names of the NumPy function, in order, if it has more than the arguments and options
    linear      the arguments in each of which the operation is linear; then it needs no jvp
    points      argument tuples at which generic tests exercise the rule; a dict at the end holds options
    dtypes      the dtypes that its functions accept and keep (`Dtypes`); variables are always float64
    complex     whether its functions take and return complex arrays, too; then a vjp gives the cotangent that pairs as
                Re(conj(a_bar) a_dot), which is z_bar * conj(f'(a)) for a holomorphic f

    Raises RuleError if the name is taken.

    >>> @array_rule(linear=("a",))
    ... def doubled(a):
    ...     return 2.0 * a
    >>> @doubled.vjp("a")
    ... def doubled_vjp_a(z, z_bar, a):
    ...     return 2.0 * z_bar
    >>> doubled(np.array([1.0, 2.5]))
    array([2., 5.])
    """

    def declare(function: Function) -> ArrayRule:
        if not hasattr(function, "__code__"):
            raise RuleError(f"array_rule: expected a Python function, got {type(function).__name__}")
        rule = ArrayRule(function, numpy, parameters, linear, points, HERMITIAN if complex else dtypes)
        old = _array_rules.get(rule.name)
        if old is not None and old.__module__ != rule.__module__:
            raise RuleError(f"array_rule: the name {rule.name!r} is taken by {old.__module__}.{old.name}")
        _array_rules[rule.name] = rule
        for f in rule.numpy:
            register(Entry(f, "rule", _binder(rule), rule.name, {}, {}))
            if isinstance(f, np.ufunc):
                _by_ufunc[f] = rule
        return rule

    return declare if function is None else declare(function)


def _binder(rule: ArrayRule) -> Function:
    """The rule with the signature of its NumPy function; unsupported parameters are refused by name."""
    first = rule.argument_names
    positional = rule.parameters

    def call(*args: Value, **kwargs: Option) -> Value:
        if not kwargs and len(args) == len(first) and positional[: len(first)] == first:
            return rule(*args)
        given = dict(zip(positional, args, strict=False)) | kwargs
        arguments = [given.pop(name) for name in first if name in given]
        options: Options = {}
        others: Options = {}
        for name, x in given.items():
            if x is NO_VALUE:  # a missing argument
                continue
            if name in rule.option_names:
                options[name] = x
            elif (name == "dtype" and x is not None and np.dtype(x) == np.float64) or (name == "where" and x is True):
                continue
            elif x is not None:
                others[name] = x
        if not others:
            return rule(*arguments, **options)
        if rule.further is None or not (rule.further.__kwdefaults__ or {}).keys() >= others.keys():
            raise UnsupportedError(f"np.{rule.name}: {next(iter(others))}= is not supported on variables")
        return rule.further(*arguments, **options, **others)

    call.__name__ = rule.name
    return call


def array_rules() -> tuple[ArrayRule, ...]:
    """Every registered array rule, in order of registration."""
    return tuple(_array_rules.values())


def array_rule_of(name: str) -> ArrayRule:
    """The registered array rule of that name; KeyError if there is none."""
    return _array_rules[name]
