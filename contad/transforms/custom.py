"""Derivatives that users write for a function of their own: custom_vjp, custom_jvp, function_gradients.

Unlike the bodies of `scalar_rule` and `array_rule`, these rules may branch and call anything. Outer levels record their
operations, so they work at every order.
"""

import functools
import inspect
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, SupportsIndex

from contad.engines import ARRAYS
from contad.errors import RuleError, UnsupportedError
from contad.functions.captured import require_same_value
from contad.functions.transformed import by_value, own_name
from contad.functions.user_call import name_of
from contad.rules.compilable import Compilable, MakesRules, Parts, WithParts, functions_of_text
from contad.transforms.library_derivatives import on_variables
from contad.transforms.operation import CustomOperation, pull_back, zeros_like
from contad.variables.arguments import require_callable
from contad.variables.array import numbers_in
from contad.variables.arrays_of_rules import as_floats, call_with_arrays
from contad.variables.number import map_numbers
from contad.variables.open_types import Function, Nested, Saved
from contad.variables.trees import flatten, map_leaves


class _Custom(WithParts):
    """A function with a rule; arguments at positions in `nondiff_argnums` are options of both."""

    def __init__(self, f: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        require_callable(type(self).__name__, "f", f)
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.name = f"{type(self).__name__}: {name_of(f)}"
        self.nondiff_argnums = tuple(nondiff_argnums)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        try:
            bound = inspect.signature(self.f).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name_of(self.f)}: {error}") from None
        bound.apply_defaults()
        given = bound.args
        if bound.kwargs:
            raise TypeError(f"{self.name}: keyword-only arguments are not supported; got {', '.join(bound.kwargs)}")
        given = tuple(map_leaves(as_floats, x) for x in given)
        options = [x for n, x in enumerate(given) if n in self.nondiff_argnums]
        if numbers_in(flatten(options).leaves):
            raise RuleError(
                f"{self.name}: the arguments nondiff_argnums={self.nondiff_argnums} must be constants, got a variable; "
                "contad.value_of gives its value"
            )
        differentiable = [x for n, x in enumerate(given) if n not in self.nondiff_argnums]

        def merge(args: Sequence[Nested]) -> list[Nested]:
            rest, fixed = iter(args), iter(options)
            return [next(fixed) if n in self.nondiff_argnums else next(rest) for n in range(len(given))]

        return self._operation(differentiable, options, merge).perform()

    @abstractmethod
    def _operation(self, args: Sequence[Nested], options: list[Nested], merged: Function) -> CustomOperation:
        """The operation of one call."""

    @abstractmethod
    def functions(self) -> tuple[Function | None, ...]:
        """The function and its rules."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """By its name if it replaces the function there; otherwise the function and its rules."""
        return own_name(self) or by_value(self) or super().__reduce_ex__(protocol)


class custom_vjp(_Custom):
    """A function whose reverse mode you write, as in JAX: `f.defvjp(forward, backward)`.

    forward(*args) returns the value and anything that backward needs; backward(saved, z_bar) returns a tuple with a
    cotangent for each argument, None where it is zero. Arguments at positions in `nondiff_argnums` are options:
    backward receives them first and returns no cotangents for them. If no argument carries a derivative, f
    itself is called.

    Raises:  UnsupportedError in forward mode, as in JAX, though forward over reverse runs through backward;
             RuleError for a wrong number, structure or shape of cotangents, and if a rule uses a variable that is not
             an argument.

    >>> import contad
    >>> @custom_vjp
    ... def clipped(x, bound):
    ...     return x
    >>> clipped.defvjp(
    ...     lambda x, bound: (x, bound),
    ...     lambda bound, z_bar: (min(max(z_bar, -bound), bound), None),
    ... )
    >>> contad.grad(lambda x: 100.0 * clipped(x, 5.0))(2.0)
    5.0
    """

    def __init__(self, f: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(f, nondiff_argnums)
        self.forward: Function | None = None
        self.backward: Function | None = None

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Declare the rule; its arity is checked here."""
        _require_arity(self.name, "forward", forward, _parameters(self.f))
        _require_arity(
            self.name, "backward", backward, [*(f"option {n}" for n in self.nondiff_argnums), "saved", "z_bar"]
        )
        self.forward, self.backward = forward, backward

    def functions(self) -> tuple[Function | None, ...]:
        """The function and its rules."""
        return self.f, self.forward, self.backward

    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts for calls inside njit."""
        if self.forward is None or self.backward is None:
            raise RuleError(f"{self.name}: no rule; declare one with {name_of(self.f)}.defvjp(forward, backward)")
        return Parts(self.f, self.forward, self.backward, self.nondiff_argnums)

    def _operation(self, args: Sequence[Nested], options: list[Nested], merged: Function) -> CustomOperation:
        def value(*args: Nested) -> tuple[Nested, Saved]:
            if operation.owner is None:
                return self.f(*merged(args)), None
            if operation.owner.lends_arrays:  # on the level below the rule holds as well
                return self(*merged(args)), None
            if self.forward is None:
                raise RuleError(f"{self.name}: no rule; declare one with {name_of(self.f)}.defvjp(forward, backward)")
            found = call_with_arrays(self.forward, *merged(args))
            if not isinstance(found, tuple) or len(found) != 2:
                raise RuleError(f"{self.name}: forward must return (value, saved), got {type(found).__name__}")
            return found

        def pull(args: Sequence[Nested], saved: Saved, z: Nested, z_bar: Nested) -> Sequence[Nested | None]:
            backward = functools.partial(call_with_arrays, self.backward)  # type: ignore[arg-type]
            if operation.owner.takes_any:
                return on_variables(backward, *options, saved, z_bar)
            return backward(*options, saved, z_bar)

        def push(args: Sequence[Nested], saved: Saved, z: Nested, tangents: Sequence[Nested]) -> Nested:
            raise UnsupportedError(
                f"{self.name}: a custom_vjp has no forward mode; write the function with custom_jvp, or "
                "function_gradients with fwd="
            )

        operation = CustomOperation(self.name, args, value, pull, push, options, [self.backward])
        return operation


class custom_jvp(_Custom):
    """A function whose forward mode you write, as in JAX: `f.defjvp(rule)` or `f.defjvps(one, two)`.

    rule(primals, tangents) returns the value and its tangent; it must be linear in the tangents. Reverse mode is its
    transpose: when a sweep reaches the operation, it records the rule as a function of the tangents. Arguments at
    positions in `nondiff_argnums` are options, which the rule receives first. If no argument carries a derivative, f
    itself is called.

    Raises:  RuleError for a wrong structure or shape of the tangent, and if a rule uses a variable that is not an
             argument.

    >>> import contad, numpy as np
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1.0 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), x_dot * (1.0 - 1.0 / (1.0 + np.exp(x)))
    >>> contad.grad(log1pexp)(0.0), contad.derivative(log1pexp)(0.0)
    (0.5, 0.5)
    """

    def __init__(self, f: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(f, nondiff_argnums)
        self.rule: Function | None = None
        self._terms: tuple[Function | None, ...] = ()  # the terms from which defjvps has made the rule
        self._parts: tuple[Function, Parts] | None = None  # of the rule

    def defjvp(self, rule: Function) -> Function:
        """Declare the rule; its arity is checked here."""
        options = [f"option {n}" for n in self.nondiff_argnums]
        _require_arity(self.name, "the rule", rule, [*options, "primals", "tangents"])
        self.rule, self._terms = rule, ()
        return rule

    def functions(self) -> tuple[Function | None, ...]:
        """The function and its rule."""
        return self.f, *(self._terms or (self.rule,))

    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts for calls inside njit; the engine makes the reverse of the rule."""
        if self.rule is None:
            raise RuleError(f"{self.name}: no rule; declare one with {name_of(self.f)}.defjvp(rule)")
        if self._parts is None or self._parts[0] is not self.rule:
            self._parts = self.rule, self._make_parts()
        return self._parts[1]

    def _make_parts(self) -> Parts:
        count = len(inspect.signature(self.f).parameters)
        names = [f"x_{n}" for n in range(count)]
        given = [name for n, name in enumerate(names) if n not in self.nondiff_argnums]
        options = [names[n] for n in self.nondiff_argnums]
        dots = [f"d_{name}" for name in given]
        known: dict[str, Any] = {"value": self.f, "rule": self.rule}
        known |= {f"term_{n}": f for n, f in enumerate(self._terms)}
        terms = [
            f"term_{n}({', '.join([dot, 'z', *given])})"
            for n, (f, dot) in enumerate(zip(self._terms, dots, strict=False))
            if f is not None
        ]
        primals, tangents = (f"({', '.join(names)},)" for names in (given, dots))
        rule = f"rule({', '.join([*options, primals, tangents])})[1]"
        tangent = (" + ".join(terms) or "0.0 * z") if self._terms else rule
        saved = ", ".join(["z", *given, "more"])
        text = f"def forward({', '.join(names)}):\n    z = value({', '.join(names)})\n"
        text += f"    return z, ({', '.join(['z', *given, 'None'])})\n"
        text += f"def tangent({', '.join([*options, 'saved', *dots])}):\n    {saved} = saved\n    return {tangent}\n"
        known = functions_of_text(text, known)
        return Parts(self.f, known["forward"], None, self.nondiff_argnums, known["tangent"])

    def defjvps(self, *rules: Function | None) -> None:
        """Declare the tangent's terms: one function (x_dot, z, *primals) for each argument, None where it is zero."""
        if self.nondiff_argnums:
            raise RuleError(f"{self.name}: defjvps takes no options; write one rule with defjvp")
        names = _parameters(self.f)
        if names is not None and len(rules) != len(names):
            raise RuleError(f"{self.name}: defjvps takes one rule for each of {len(names)} arguments, got {len(rules)}")
        for rule in rules:
            if rule is not None:
                _require_arity(self.name, "a rule", rule, None if names is None else ["tangent", "z", *names])

        self.rule, self._terms = functools.partial(_total, self, rules), rules

    def _operation(self, args: Sequence[Nested], options: list[Nested], merged: Function) -> CustomOperation:
        def value(*args: Nested) -> tuple[Nested, Saved]:
            # on the levels below the rule holds as well
            return (self.f if operation.innermost else self)(*merged(args)), None

        def tangent(args: Sequence[Nested], tangents: Sequence[Nested], z: Nested) -> tuple[Nested, Nested]:
            if self.rule is None:
                raise RuleError(f"{self.name}: no rule; declare one with {name_of(self.f)}.defjvp(rule)")
            found = call_with_arrays(self.rule, *options, tuple(args), tuple(tangents))
            if not isinstance(found, tuple) or len(found) != 2:
                raise RuleError(f"{self.name}: the rule must return (value, tangent), got {type(found).__name__}")
            if not operation.owner.takes_any:  # which reads nothing
                require_same_value(self.name, found[0], z)
            return found[1]

        def pull(args: Sequence[Nested], saved: Saved, z: Nested, z_bar: Nested) -> Sequence[Nested | None]:
            ones = [_fill(x, 1.0) for x in args]  # linear, so that any tangents will do
            if operation.owner.takes_any:
                n = len(args)
                return pull_back(lambda *xs: tangent(xs[:n], xs[n:], z), [*args, *ones], z_bar, ARRAYS)[n:]
            return pull_back(lambda *t: tangent(args, t, z), ones, z_bar, None)

        def push(args: Sequence[Nested], saved: Saved, z: Nested, tangents: Sequence[Nested]) -> Nested:
            return tangent(args, tangents, z)

        operation = CustomOperation(self.name, args, value, pull, push, options, [self.f, self.rule])
        return operation


def _total(
    f: Function, rules: Sequence[Function | None], primals: Sequence[Nested], tangents: Sequence[Nested]
) -> tuple[Nested, Nested]:
    """The rule composed of one rule for each argument."""
    z = f(*primals)
    terms = [r(t, z, *primals) for r, t in zip(rules, tangents, strict=True) if r is not None]
    return z, _sum(terms, z)


class _Gradients(WithParts):
    """The operation defined by the functions of one call of function_gradients."""

    def __init__(
        self, count: int, value: Function, grads: Sequence[Function | None] | None,
        rev: Sequence[Function | None] | None, fwd: Sequence[Function | None] | None,
    ) -> None:  # fmt: skip
        require_callable("function_gradients", "value", value)
        self.name, self.count, self.value = f"function_gradients: {name_of(value)}", count, value
        if grads is not None and (rev is not None or fwd is not None):
            raise RuleError(f"{self.name}: grads serves both modes; give grads alone, or rev and fwd")
        self.modes = {"grads": grads, "rev": rev, "fwd": fwd}
        for mode, functions in self.modes.items():
            if functions is not None and len(functions) != count:
                raise RuleError(f"{self.name}: {mode} must have one function for each of {count} arguments, got "
                                f"{len(functions)}")  # fmt: skip

    def _keyword(self, mode: str) -> str:
        return mode if self.modes["grads"] is None else "grads"

    def _functions_of(self, mode: str) -> Sequence[Function | None]:
        """The functions of the mode "rev" or "fwd"; UnsupportedError if it has none."""
        used = self._keyword(mode)
        found = self.modes[used]
        if found is None:
            long = {"rev": "reverse", "fwd": "forward"}[mode]
            raise UnsupportedError(f"{self.name}: no {long} mode; give {mode}= with one function for each argument")
        for k, g in enumerate(found):
            if g is not None:
                expected = ["z", "seed", *(f"argument {n}" for n in range(self.count))]
                _require_arity(self.name, f"{used}[{k}]", g, expected)
        return found

    def functions(self) -> tuple[Function | None, ...]:
        """The value, and the functions of each mode."""
        return self.value, *(g for functions in self.modes.values() for g in functions or ())

    def __call__(self, *args: Nested) -> Nested:
        def of_values(*args: Nested) -> tuple[Nested, Saved]:
            lower = operation.owner is not None  # on the levels below the rule holds as well
            return (self if lower else self.value)(*args), None

        def pull(args: Sequence[Nested], saved: Saved, z: Nested, z_bar: Nested) -> Sequence[Nested | None]:
            return [None if g is None else call_with_arrays(g, z, z_bar, *args) for g in self._functions_of("rev")]

        def push(args: Sequence[Nested], saved: Saved, z: Nested, tangents: Sequence[Nested]) -> Nested:
            terms = [
                call_with_arrays(g, z, t, *args)
                for n, (g, t) in enumerate(zip(self._functions_of("fwd"), tangents, strict=True))
                if g is not None and n in active
            ]
            return _sum(terms, z)

        operation = CustomOperation(self.name, args, of_values, pull, push, [], self.functions()[1:])
        active = {n for n, _ in operation.places}
        return operation.perform()

    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts for calls inside njit: the functions, called one after another."""
        if wanted:
            self._functions_of("rev")  # UnsupportedError without rev and grads
        return self._parts

    @functools.cached_property
    def _parts(self) -> Parts:
        names, dots = [f"x_{n}" for n in range(self.count)], [f"d_{n}" for n in range(self.count)]
        given, saved = ", ".join(names), ", ".join(["z", *names, "more"])
        known: dict[str, Any] = {"value_": self.value}

        def calls(mode: str, seeds: Sequence[str]) -> list[str]:
            """The calls of its functions, None for zero."""
            functions = [None] * self.count if self.modes[self._keyword(mode)] is None else self._functions_of(mode)
            known.update({f"{mode}_{n}": g for n, g in enumerate(functions)})
            called = zip(functions, seeds, strict=True)
            return [f"{mode}_{n}(z, {d}, {given})" if g is not None else "None" for n, (g, d) in enumerate(called)]

        text = f"def value({given}):\n    return value_({given})\n"
        text += f"def forward({given}):\n    z = value_({given})\n    return z, ({saved.removesuffix('more')}None)\n"
        text += f"def backward(saved, z_bar):\n    {saved} = saved\n"
        text += f"    return ({', '.join(calls('rev', ['z_bar'] * self.count))},)\n"
        if self.modes[self._keyword("fwd")] is not None:
            tangent = " + ".join(term for term in calls("fwd", dots) if term != "None") or "0.0 * z"
            text += f"def tangent(saved, {', '.join(dots)}):\n    {saved} = saved\n    return {tangent}\n"
        known = functions_of_text(text, known)
        return Parts(known["value"], known["forward"], known["backward"], (), known.get("tangent"))


class _MakesGradients(MakesRules, Compilable):
    """function_gradients, as compiled code finds it."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.signature = inspect.signature(function)
        self._made: dict[Any, _Gradients] = {}

    def rule_of(self, count: int, functions: Sequence[Any]) -> _Gradients:
        """The operation, cached by its functions."""
        key = count, *functions
        if key not in self._made:
            self._made[key] = _Gradients(count, *functions)
        return self._made[key]


@_MakesGradients
def function_gradients(
    args: Sequence[Nested],
    value: Function,
    grads: Sequence[Function | None] | None = None,
    *,
    rev: Sequence[Function | None] | None = None,
    fwd: Sequence[Function | None] | None = None,
) -> Nested:
    """value(*args), with derivatives by one function (z, seed, *args) for each argument; None stands for zero.

    In reverse mode the seed is the cotangent of z, and the function returns that of its argument. In forward mode the
    seed is the tangent of the argument, and z_dot is the sum of the results. `grads` serves both modes, if each number
    of z depends on one number of each argument; otherwise pass `rev`, `fwd` or both. Inside njit, refer by name to
    Numba functions made outside, and write several as a tuple.

    Raises:  RuleError for a wrong number or arity of functions, results of a wrong shape, and variables that are not
             arguments; UnsupportedError for a missing mode.
    Ref:     Stan's function_gradients.

    >>> import contad
    >>> def product(x, y):
    ...     return contad.function_gradients(
    ...         (x, y), lambda x, y: x * y, (lambda z, d, x, y: d * y, lambda z, d, x, y: d * x)
    ...     )
    >>> contad.grad(product, (0, 1))(2.0, 3.0), contad.jvp(product, (2.0, 3.0), (1.0, 10.0))
    ((3.0, 2.0), (6.0, 23.0))
    """
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"function_gradients: args must be a tuple of arguments, got {type(args).__name__}")
    return _Gradients(len(args), value, grads, rev, fwd)(*args)


def _sum(terms: Sequence[Nested], z: Nested) -> Nested:
    """The sum of tangents of z, pytrees of one structure; zeros where there are none."""
    if not terms:
        return _fill(z, 0.0)
    trees = [flatten(term) for term in terms]
    leaves = trees[0].leaves
    for tree in trees[1:]:
        leaves = [a + b for a, b in zip(leaves, tree.leaves, strict=True)]
    return trees[0].unflatten(leaves)


def _fill(x: Nested, number: float) -> Nested:
    tree = flatten(map_numbers(zeros_like, x))
    return tree.unflatten([zeros_like(leaf) + number for leaf in tree.leaves])


def _parameters(f: Function) -> list[str] | None:
    """The names of the positional parameters of a function; None if they are unknown or unlimited."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _require_arity(name: str, what: str, rule: Function, expected: Sequence[str] | None) -> None:
    """Refuse a function that cannot be called with as many arguments as there are names."""
    require_callable(name, what, rule)
    if expected is None:
        return
    try:
        inspect.signature(rule).bind(*expected)
    except TypeError:
        names = _parameters(rule) or ["..."]
        raise RuleError(f"{name}: {what} must take ({', '.join(expected)}), got ({', '.join(names)})") from None
    except ValueError:  # a function without a signature
        return
