"""The scalar rules as Numba functions: the value, and each partial, generated from the rule's own source.

The disk cache has one module for the rules of each file of contad's operations, and one for each formula; so a function
that needs one does not wait for the others. A user's rule is compiled in memory.
"""

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from numba import types

from contad.compile.compiling import NJIT_OPTIONS, load_cached, write_options
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, require_compilable
from contad.compile.typing_rules import declared_type
from contad.compiled_rules.elementwise_calls import PLAIN, over_elements
from contad.compiled_rules.rule_source import or_call, partial_source, value_source
from contad.distributions.formula import Formula
from contad.rules.scalar_rule import ScalarRule, list_unlisted, rules

_HEAD = '''\
"""Values and partials of scalar rules; generated from the rules, do not edit."""

import math

import numpy as np
from contad.compile.machine_code import njit
'''


def value_function(rule: ScalarRule) -> Callable[..., float]:
    """The rule's value as an njit function of floats; it never raises."""
    found: Callable[..., float] = _compile(rule)[f"value_{rule.name}"]
    return found


def partial_function(rule: ScalarRule, k: int) -> Callable[..., float] | None:
    """Partial k as an njit function of (z, *arguments) that never raises; None if it is zero everywhere."""
    assert rule.body is not None
    if rule.body.literal(k) == 0.0:
        return None
    found: Callable[..., float] = _compile(rule, "partials")[f"partial_{rule.name}_{k}"]
    return found


def needs_no_python(rule: ScalarRule) -> bool:
    """Whether the value of a rule surely never needs Python; SciPy's functions and users' own functions may."""
    return _is_own(rule) and bool(rule.core)


def _is_own(rule: ScalarRule) -> bool:
    return rule.__module__.startswith("contad.ops.")


def _is_unlisted(rule: ScalarRule) -> bool:
    return rule.__module__.startswith("contad.") and not _is_own(rule)


def _compile(rule: ScalarRule, part: str = "value") -> dict[str, Any]:
    if _is_own(rule):
        return vars(module_of(rule.__module__))
    return vars(module_of(rule.__module__, rule.name, part)) if _is_unlisted(rule) else _of_user(rule)


@functools.cache
def module_of(home: str, name: str = "", part: str = "value") -> ModuleType:
    """The values and partials of the rules of a file of operations, or one part of the unlisted rule of this name.

    Files of operations import each other without cycles, and so do their modules, and the values of unlisted rules. But
    two rules may call each other in their partials, so partials are separate modules, which import values.
    """
    short = home.rpartition(".")[2]
    if not name:
        own = [rule for rule in rules() if rule.__module__ == home]
        return load_cached(f"rules_of_{short}", lambda: Source(own, own).text())
    own = [rule for rule in list_unlisted() if rule.name == name]
    if part == "value":
        return load_cached(f"{short}_{name}", lambda: Source(own).text())
    return load_cached(f"{short}_{name}_{part}", lambda: Source([], own).text())


@functools.cache
def _of_user(rule: ScalarRule) -> dict[str, Any]:
    """The functions of a rule that is not contad's, made again after the rule is declared again."""
    options = {name: value for name, value in NJIT_OPTIONS.items() if name != "cache"}
    try:
        source = Source([rule], [rule], options)
        names: dict[str, Any] = {}
        exec(compile(source.text(), f"<rule {rule.name}>", "exec"), names)
    except OSError:  # typed at a prompt, without source for a generator
        assert rule.body is not None
        names = {f"value_{rule.name}": njit(**options)(rule.function)}
        body = njit(**options)(rule.body.function)
        for k in range(rule.arity):
            names[f"partial_{rule.name}_{k}"] = _part(body, None if rule.arity == 1 else k, options)
    return names


def _part(body: Any, k: int | None, options: dict[str, Any]) -> Any:
    return body if k is None else njit(**options)(lambda *args: body(*args)[k])


# ---- calls inside njit -----------------------------------------------------------------------------------------------
def numba_type(rule: ScalarRule) -> Any:
    """Numba's type of a rule, which makes `contad.gammaln(x)` a call of numbers and arrays inside njit."""
    if rule not in _declared:
        _declared.add(rule)
        names = ", ".join(rule.argument_names)
        floats = ", ".join(f"1.0 * {name}" for name in rule.argument_names)
        value: Any = value_function(rule)
        of_arrays = functools.partial(over_elements, rule)
        of_numpy = next((u for u in rule.ufuncs if not isinstance(u, str)), None)
        of_complex: Any = njit(rule.function) if rule.holomorphic else of_numpy
        known: dict[str, Any] = {
            "value_": value, "of_complex": of_complex, "_COMPLEX": (*PLAIN, types.Complex), "_PLAIN": PLAIN,
            "check": lambda: None, "of_arrays": of_arrays,
        }  # fmt: skip
        if not _is_own(rule):
            known["check"] = lambda: require_compilable(rule.name, value, (types.float64,) * rule.arity)
        exec(_PLAIN_CALL.format(names=names, floats=floats), known)
        add_overload(rule)(known["typing"])
    return declared_type(rule)


_declared: set[ScalarRule] = set()
_PLAIN_CALL = """\
def typing({names}):
    if all(isinstance(x, _PLAIN) for x in ({names},)):
        check()
        return lambda {names}: value_({floats})
    if of_complex is not None and all(isinstance(x, _COMPLEX) for x in ({names},)):
        return lambda {names}: of_complex({names})
    return of_arrays(({names},))
"""


class Source:
    """The text of a module: values of some rules, partials of some, and their callees."""

    def __init__(
        self, own: Iterable[ScalarRule], partials: Iterable[ScalarRule] = (), options: dict[str, Any] = NJIT_OPTIONS
    ) -> None:
        self.own, self.partials = list(own), list(partials)
        self.options = write_options(options)
        self.imports: set[str] = set()
        self.written: dict[str, str] = {}

    def text(self) -> str:
        """The whole module."""
        for rule in self.own:
            self.name_of_value(rule)
        for rule in self.partials:
            assert rule.body is not None
            for k in range(rule.arity):
                if rule.body.literal(k) != 0.0:
                    self.written[f"partial_{rule.name}_{k}"] = self._partial(rule, k)
        functions = "".join(f"\n\n@njit({self.options})\n{text}\n" for text in self.written.values())
        return _HEAD + "".join(f"{line}\n" for line in sorted(self.imports)) + functions

    def name_of_value(self, rule: ScalarRule) -> str:
        """The name of a rule's value function; writes the function if needed, or imports it from contad's own
        modules."""
        name = f"value_{rule.name}"
        if rule in self.own and isinstance(rule, Formula):
            if name not in self.written:
                self.written[name] = self._formula(rule, name)
        elif rule in self.own:
            self._write(name, rule.function)
        else:
            where = repr(rule.__module__) + (f", {rule.name!r}" if _is_unlisted(rule) else "")
            self.imports |= {"from contad.compiled_rules.rules import module_of", f"{name} = module_of({where}).{name}"}
        return name

    def _formula(self, rule: Formula, name: str) -> str:
        parameters = rule.body.parameters
        self.written[name] = ""
        lines, result = partial_source(rule, rule.arity, parameters, "", or_call(self.name_of_value))
        body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
        return f"def {name}({', '.join(parameters[1:])}):\n{body}"

    def _partial(self, rule: ScalarRule, k: int) -> str:
        assert rule.body is not None
        parameters = rule.body.parameters
        lines, result = partial_source(rule, k, parameters, "", or_call(self.name_of_value))
        body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
        return f"def partial_{rule.name}_{k}({', '.join(parameters)}):\n{body}"

    def _write(self, name: str, function: Any) -> str:
        if name not in self.written:
            self.written[name] = ""  # functions call themselves and one another
            self.written[name] = value_source(function, name, self)
        return name

    def name_of_helper(self, function: FunctionType) -> str:
        """The name of a Python function that values call."""
        return self._write(f"called_{function.__module__.rpartition('.')[2]}_{function.__name__}", function)

    def name_of_special(self, name: str) -> str:
        """The name of a function of SciPy."""
        self.imports |= {
            "from contad.kernels import special_functions",
            f"special_{name} = special_functions.FUNCTIONS[{name!r}]",
        }
        return f"special_{name}"
