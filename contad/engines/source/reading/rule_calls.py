"""Reads calls of operations with user-written rules: `custom_vjp`, array rules, and contad's own rules of this form."""

import re
from types import ModuleType
from typing import Any

import numba
from numba import typeof, types

from contad.compile.dispatchers import is_dispatcher
from contad.compiled_rules.rules_of_parts import RuleOfParts, is_complex, rule_of_parts
from contad.compiled_rules.user_rules import (
    FUNCTIONS_BY_NAME,
    compile_parts,
    forward_types,
    names_of,
    require_packable,
    saved_types,
)
from contad.engines.source.ir.entries import ArrayOfComplex, Complex, Object, constant, is_array, is_number
from contad.engines.source.ir.rule_sites import RuleForward, RuleSite, RuleValue
from contad.engines.source.ir.ssa import Value
from contad.engines.source.reading.call_site import CallSite
from contad.engines.source.reading.numba_typing import is_wide, number_type
from contad.functions.transformed import Decorated
from contad.functions.user_call import numba_function
from contad.rules.compilable import Compilable, MakesRules, Parts, WithParts
from contad.rules.definition import global_names, named_values
from contad.rules.scalar_rule import ScalarRule

# packages of contad whose functions take no derivatives
_WITHOUT_DERIVATIVES = (
    *("contad.ops.", "contad.elementary.", "contad.kernels.", "contad.compiled_rules.", "contad.numba_functions."),
    *("contad.compile.", "contad.memory.", "contad.python_objects."),
)


def read_rule(site: CallSite, rule: WithParts) -> Any:
    """The value of a call, a number or a new array."""
    parts = compile_parts(rule)
    entries = [site.reader.settle(x) for x in _bind(site, parts)]
    kinds = tuple(map(_type_of, entries))
    if None not in kinds and (any(map(is_complex, kinds)) or is_complex(saved_types(rule, parts, kinds)[0])):
        return _read_complex(site, rule_of_parts(rule, kinds), entries)
    return _read_real(site, rule, parts, entries)


def _type_of(x: Any) -> Any:
    """The Numba type of an argument; None for one that only a rule of real numbers takes, or none."""
    if isinstance(x, Complex):
        part = _type_of(x.real)
        return part if part is None else part.copy(dtype=types.complex128) if is_array(x.real) else types.complex128
    if isinstance(x, Object):
        return typeof(x.value) if isinstance(x.value, (bool, int, float, str, type(None))) else None
    if is_number(x) and x.constant is not None:
        return typeof(x.constant)
    return number_type(x.kind) if (is_number(x) or is_array(x)) and is_wide(x.kind) else None


def _read_complex(site: CallSite, rule: RuleOfParts, entries: list[Any]) -> Any:
    """The value of a call with complex numbers: of the rule of their parts."""
    given = [part for x in entries for part in (x if isinstance(x, Complex) else (x,))]
    found = _read_real(site, rule, compile_parts(rule), given)
    if not is_complex(rule.z):
        return found
    builder = site.builder
    if not isinstance(rule.z, types.Array):
        return Complex(*(builder.load(found, [constant(k)]) for k in (0, 1)))
    whole = [(None, None, None)] * rule.z.ndim
    return ArrayOfComplex(*(builder.view(found, [constant(k), *whole]) for k in (0, 1)))


def _read_real(site: CallSite, rule: WithParts, parts: Parts, entries: list[Any]) -> Any:
    """The value of a call with real numbers."""
    for part in parts[:3]:
        if part is not None and may_take_derivatives(part, ()):
            what = f"{rule.name}, whose rule takes derivatives or calls itself, or runs Python in objmode"
            site.refuse(what, 'call it outside of njit, or use engine="tape"')
    read: list[Value] = []
    given: list[int | None] = []
    plain: list[Any] = []
    known: dict[int, Any] = {}
    for x in entries:
        is_known = isinstance(x, Object) and isinstance(x.value, (bool, int, float, str, type(None)))
        if is_known or (is_number(x) and x.constant is not None):
            known[len(given)] = x.value if is_known else x.constant
            plain.append(typeof(known[len(given)]))
            given.append(None)
        elif (is_number(x) or is_array(x)) and is_wide(x.kind):
            given.append(len(read))
            read.append(x)
            plain.append(number_type(x.kind))
        else:
            site.refuse()
    z, saved = forward_types(rule, parts, tuple(plain))
    require_packable(f"{rule.name}: what it saves", saved)
    name = _name(site.progress.callables, rule, parts)
    of_rule = RuleSite(rule, name, parts, tuple(given), tuple(plain), saved, known)
    ndim = z.ndim if isinstance(z, types.Array) else 0
    if isinstance(z, types.Array) and not 1 <= ndim <= 3:
        site.refuse(f"{rule.name}, whose value is an array of {ndim} dimensions")
    forward = RuleForward(of_rule, read, ndim)
    site.builder.add(forward)
    made = [site.builder.create("empty", forward.lengths, "float", "")] if ndim else []
    value = RuleValue(forward, made)
    site.builder.add(value)
    return made[0] if made else value.results[0]


def read_maker(site: CallSite, maker: MakesRules) -> Any:
    """Read a call of function_gradients."""
    try:
        bound = maker.signature.bind(*site.arguments, **site.keywords).arguments
    except TypeError as error:
        site.refuse(f"the arguments of {{node}}: {error}", "give every argument once")
    args, *functions = (bound.get(name, Object(None)) for name in maker.signature.parameters)
    if not isinstance(args, tuple):
        site.refuse("the first argument of {node}", "write a tuple, (x,) for one")
    rule = maker.rule_of(len(args), [_function(site, x) for x in functions])
    return read_rule(site.with_arguments(*args), rule)


def _function(site: CallSite, entry: Any) -> Any:
    """The function, or tuple of functions, of an entry."""
    if isinstance(entry, tuple):
        return tuple(_function(site, x) for x in entry)
    if not isinstance(entry, Object):
        site.refuse("a function made inside {node}", FUNCTIONS_BY_NAME)
    return entry.value


def _bind(site: CallSite, parts: Parts) -> list[Any]:
    """The entries of the parameters of an operation, in order."""
    names = names_of(parts)
    given = dict(zip(names, site.arguments, strict=False)) | site.keywords
    defaults = dict(zip(reversed(names), reversed(parts.value.py_func.__defaults__ or ()), strict=False))
    for name, x in defaults.items():
        if name not in given:
            given[name] = site.reader.import_constant(x, site.node, name)
    if len(site.arguments) > len(names) or set(given) != set(names):
        site.refuse(remedy="give every argument once")
    return [given[name] for name in names]


def _name(callables: dict[str, Any], rule: WithParts, parts: Parts) -> str:
    """Add the parts of a rule to the callables; the name by which the source calls them."""
    plain = re.sub(r"\W", "_", rule.name.rpartition(": ")[2])
    name, count = plain, 1
    while callables.setdefault(f"{name}_value", parts.value) is not parts.value:
        count += 1
        name = f"{plain}_{count}"
    callables[f"{name}_forward"] = parts.forward
    return name


def may_take_derivatives(f: Any, around: tuple[Any, ...]) -> bool:
    """Whether a Numba function calls itself, or may run a derivative, which would use the caller's workspace.

    Python in objmode may do so.
    """
    if any(f is g for g in around):
        return True
    names = global_names(f.py_func.__code__)
    named = list(named_values(f.py_func).values())
    named += [getattr(x, name) for x in named if isinstance(x, ModuleType) for name in names & {*dir(x)}]
    return any(_may_take_derivatives(x, (*around, f)) for x in named)


def _may_take_derivatives(x: Any, around: tuple[Any, ...]) -> bool:
    """`may_take_derivatives` for any object that the function names."""
    if isinstance(x, tuple):
        return any(_may_take_derivatives(part, around) for part in x)
    if isinstance(x, WithParts):
        return may_take_derivatives(compile_parts(x).value, around)
    if isinstance(x, Decorated):
        x = numba_function(x.decorated)
    if is_dispatcher(x):
        return may_take_derivatives(x, around)
    if x is numba.objmode:
        return True
    if isinstance(x, (ModuleType, ScalarRule, Compilable, type)):
        return False
    homes = (str(home) for home in (type(x).__module__, getattr(x, "__module__", None)))
    return any(x.startswith("contad.") and not x.startswith(_WITHOUT_DERIVATIVES) for x in homes)
