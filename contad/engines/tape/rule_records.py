"""Operations on variables with reverse rules written by users: one array record each.

An array record contains the elements of the differentiated arguments, and then plain numbers: the elements of the
result, its shape, the numbers that the forward part has saved, the options, the shapes of the arguments. The sweep
reads them and calls the backward part, which is compiled with the function that calls the operation.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import typeof, types
from numba.extending import intrinsic

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.emitting import cgutils
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, overload_by_text
from contad.compile.typing_rules import take_registrations
from contad.compile.words import WORD
from contad.compiled_rules import user_rules
from contad.compiled_rules.callables import is_plain, stop_each
from contad.compiled_rules.line_parts import PARTS
from contad.compiled_rules.rules_of_parts import RuleOfParts, holomorphic_parts, is_complex, rule_of_parts
from contad.engines.tape.arrays import is_active_array, values, zeros_of
from contad.engines.tape.casts import plain_type
from contad.engines.tape.packing import count_text, put_array, put_elements, put_lines, read_text, require_exact
from contad.engines.tape.pairs_of_variables import is_complex as is_complex_kind, join, meets
from contad.engines.tape.tape_array_records import (
    VALUE,
    add_to_operand,
    address_of_kernel,
    push_array_record,
    read_array_record,
    sizes_of,
    take_adjoint,
    take_adjoints,
    values_at,
    write_elements,
)
from contad.engines.tape.variables import COMPLEX_OF, DUAL, VARIABLE, Active, ActivePair
from contad.errors import RuleError, UnsupportedError
from contad.ops.logic import stop_gradient
from contad.rules.compilable import Parts, WithParts
from contad.rules.scalar_rule import ScalarRule

_registered: set[WithParts] = set()
_KERNEL = (types.int64, types.int64)


def register_user_rule(rule: WithParts) -> None:
    """Let the operation accept variables inside njit; done once. RuleError if its rule has been declared again."""
    parts = user_rules.compile_parts(rule)
    if rule in _registered:
        return
    _registered.add(rule)
    overload_by_text(rule, user_rules.parameters_of(parts), lambda *kinds: _implementation(rule, parts, kinds))


user_rules.DERIVE["variables"] = register_user_rule


def calculate_copy(header, record):  # type: ignore[no-untyped-def]
    """Copy the values of the results, which precede the other plain numbers."""
    m, _, k, _ = sizes_of(header, record)
    _, first, of_z, _ = read_array_record(header, record)
    write_elements(header, of_z, values_at(header, first + m, k), VALUE)


_calculate = address_of_kernel(calculate_copy)


def _is_active(kind: Any) -> bool:
    return isinstance(kind, Active) or is_active_array(kind)


def _implementation(rule: WithParts, parts: Parts, kinds: tuple[Any, ...]) -> Any:
    """The lines of the call for arguments of these types, and the names in them; None if no argument is active."""
    active = [n for n, kind in enumerate(kinds) if _is_active(kind)]
    pairs = [n for n, kind in enumerate(kinds) if _is_pair(kind)]
    if not active and not pairs:
        return None
    if any(getattr(kinds[n], "dtype", kinds[n]) in (DUAL, COMPLEX_OF[DUAL]) for n in (*active, *pairs)):
        raise UnsupportedError(f"{rule.name}: it has no forward mode inside njit; differentiate it in reverse mode")
    for n in (*active, *pairs):
        if n in parts.options:
            raise RuleError(f"{rule.name}: argument {n} is an option and must be a constant, got a variable")
    plain = tuple(map(_plain_type, kinds))
    if not isinstance(rule, RuleOfParts) and (pairs or is_complex(user_rules.saved_types(rule, parts, plain)[0])):
        return _call_of_parts(rule_of_parts(rule, plain), user_rules.names_of(parts), kinds)
    z, saved = user_rules.forward_types(rule, parts, plain)
    options = tuple(plain[n] for n in parts.options)
    for what, kind in (("what it saves", saved), *(("an option", kind) for kind in options)):
        user_rules.require_packable(f"{rule.name}: {what}", kind)
    pull = _address_within(_pull(rule, parts, kinds, active, z, saved, options))
    is_array = isinstance(z, types.Array)
    names = [f"x_{n}" for n in range(len(kinds))]
    given = [_plain_text(kind, name) for kind, name in zip(kinds, names, strict=True)]
    shapes = [f"{names[n]}.shape" for n in active if is_active_array(kinds[n])]
    kept = [("found[1]", saved), *((given[n], plain[n]) for n in parts.options)]
    kept += [(x, _shape_type(kinds[n])) for x, n in zip(shapes, _arrays(kinds, active), strict=True)]
    kept += [("z.shape", _shape_type(z))] if is_array else []
    sizes = [f"{names[n]}.size" if is_active_array(kinds[n]) else "1" for n in active]
    lines = [
        f"found = forward({', '.join(given)})",
        "z = found[0]",
        f"size = {'z.size' if is_array else 1}",
        f"flat = np.empty(size + {' + '.join(count_text(*x) for x in kept)})",
        "k = put_elements(flat, 0, z)" if is_array else "flat[0], k = z, 1",
        *(line for x in kept for line in put_lines(*x)),
    ]
    if len(sizes) == 1 and is_active_array(kinds[active[0]]):
        lines.append(f"operands = {names[active[0]]}")
    else:
        lines += [f"operands = zeros({' + '.join(sizes)})", "start = 0"]
        for n, size in zip(active, sizes, strict=True):
            if is_active_array(kinds[n]):
                lines += [f"start = put_elements(operands, start, {names[n]})"]
            else:
                lines += [f"operands[start] = {names[n]}", f"start += {size}"]
    lines += [
        "made = push(calculate(), pull(), (operands.size, flat.size, size), operands, flat, size, 0)",
        "return made.reshape(z.shape)" if is_array else "return made[0]",
    ]
    known: dict[str, Any] = {
        "np": np, "forward": parts.forward, "put_array": put_array, "require_exact": require_exact, "values": values,
        "zeros": zeros_of[VARIABLE], "push": push_array_record, "calculate": _calculate, "pull": pull,
        "put_elements": put_elements,
    }  # fmt: skip
    renamed = [f"{x} = {name}" for x, name in zip(names, user_rules.names_of(parts), strict=True)]
    own = re.compile(rf"(?<!\.)\b({'|'.join(known)})\b")  # the user's parameters may have these names, too
    lines = [own.sub(r"contad_\1", line) for line in lines]
    known = {f"contad_{name}": x for name, x in known.items()}
    return [*renamed, *lines], known


def _call_of_parts(rule: RuleOfParts, names: list[str], kinds: tuple[Any, ...]) -> Any:
    """The lines of a call with complex numbers: of the rule of their parts."""
    register_user_rule(rule)
    take_registrations()  # Numba is typing a caller right now
    pairs = zip(names, kinds, strict=True)
    given = [f"{x}{part}" for x, kind in pairs for part in ((".real", ".imag") if is_complex_kind(kind) else ("",))]
    lines = [f"contad_z = contad_rule({', '.join(given)})"]
    lines.append("return contad_join(contad_z[0], contad_z[1])" if is_complex(rule.z) else "return contad_z")
    return lines, {"contad_rule": rule, "contad_join": join}


def register_holomorphic(rule: ScalarRule) -> None:
    """Let a holomorphic scalar rule accept complex numbers that carry derivatives."""
    if rule not in _holomorphic:
        _holomorphic.add(rule)
        made, names = holomorphic_parts(rule), ", ".join(rule.argument_names)
        register_user_rule(made)
        known = {"contad_rule": made}
        write = lambda *kinds: ([f"return contad_rule({names})"], known) if meets(*kinds) else None  # noqa: E731
        overload_by_text(rule, names, write)


_holomorphic: set[ScalarRule] = set()


def _shape_type(kind: Any) -> Any:
    return types.UniTuple(types.int64, kind.ndim)


def _arrays(kinds: tuple[Any, ...], active: list[int]) -> list[int]:
    return [n for n in active if is_active_array(kinds[n])]


def _is_pair(kind: Any) -> bool:
    return isinstance(getattr(kind, "dtype", kind), ActivePair)


def _plain_type(kind: Any) -> Any:
    """The type of an argument's value, with which the parts are called."""
    if _is_pair(kind):
        return plain_type(kind)
    if is_active_array(kind):
        return types.Array(types.float64, kind.ndim, "C")
    if isinstance(kind, Active):
        return types.float64
    if isinstance(kind, types.Omitted) or not isinstance(kind, types.Type):  # a default
        return typeof(getattr(kind, "value", kind))
    return types.unliteral(kind)


def _plain_text(kind: Any, name: str) -> str:
    """The expression of the value of an argument."""
    if is_active_array(kind):
        return f"values({name})"
    return f"{name}.value" if isinstance(kind, Active) else user_rules.text_of(kind, name)


# ---- the reverse sweep -----------------------------------------------------------------------------------------------
def _pull(
    rule: WithParts, parts: Parts, kinds: tuple[Any, ...], active: list[int], z: Any, saved: Any,
    options: tuple[Any, ...],
) -> Callable[..., Any]:  # fmt: skip
    """The kernel of the adjoints, which calls the backward part."""
    is_array = isinstance(z, types.Array)
    known: dict[str, Any] = {}
    lines = [
        "m, n, size, _ = sizes_of(header, record)",
        "_, first, of_z, _ = read_array_record(header, record)",
        "flat = values_at(header, first + m, n)",
        "k = size",
    ]
    kept = read_text("saved", saved, lines, known)
    given = [read_text(f"option_{n}", kind, lines, known) for n, kind in enumerate(options)]
    shapes = [read_text(f"shape_{n}", _shape_type(kinds[n]), lines, known) for n in _arrays(kinds, active)]
    if is_array:
        shape = read_text("shape", _shape_type(z), lines, known)
        lines.append(f"z_bar = take_adjoints(header, of_z, np.empty(size)).reshape({shape})")
    else:
        lines.append("z_bar = take_adjoint(header, of_z)")
    lines.append(f"found = backward({', '.join([*given, kept, 'z_bar'])})")
    z_bar = types.Array(types.float64, z.ndim, "C") if is_array else types.float64
    if parts.backward is None:
        plain = tuple(map(_plain_type, kinds))
        backward = user_rules.transposed_backward(rule, plain, z_bar, user_rules.as_read(saved), tuple(active))
    else:
        backward = user_rules.backward_of(rule, tuple(active))
    kinds_given = (*map(user_rules.as_read, options), user_rules.as_read(saved), z_bar)
    found = user_rules.backward_types(rule, backward, kinds_given, len(kinds) - len(parts.options))
    rest = [n for n in range(len(kinds)) if n not in parts.options]
    arrays = 0
    for n in active:
        place = rest.index(n)
        kind = found[place]
        of_x, count, x_bar = "", "1", f"found[{place}]"
        if is_active_array(kinds[n]):
            of_x, arrays = shapes[arrays], arrays + 1
            count = " * ".join([f"{of_x}[{axis}]" for axis in range(kinds[n].ndim)] or ["1"])
        user_rules.require_cotangent(rule, n, kind, kinds[n].ndim if of_x else 0)
        if not isinstance(kind, types.NoneType):  # None means zeros
            lines += [f"if {x_bar}.shape != {of_x}:", "    raise RuleError(message)"] if of_x else []
            lines.append(f"add_to_operand(header, first, {x_bar if of_x else f'np.full(1, {x_bar})'})")
        lines.append(f"first += {count}")
    known |= {
        "backward": backward, "np": np, "values_at": values_at, "take_adjoint": take_adjoint,
        "sizes_of": sizes_of, "read_array_record": read_array_record, "take_adjoints": take_adjoints,
        "add_to_operand": add_to_operand, "RuleError": RuleError, "message": user_rules.wrong_shape(rule.name),
    }  # fmt: skip
    exec("\n    ".join(["def pull(header, record):", *lines]) + "\n", known)
    made: Callable[..., Any] = known["pull"]
    return made


def _address_within(function: Callable[..., Any]) -> Callable[[], int]:
    """An njit function that gives the address of a kernel, which is linked to its caller."""
    kernel = njit(**INTERNAL_OPTIONS)(function)
    kernel.compile(_KERNEL)
    compiled = kernel.overloads[_KERNEL]

    @intrinsic
    def address(typingctx):  # type: ignore[no-untyped-def]
        """The address of the compiled kernel."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            context.add_linking_libs([compiled.library])
            kind = context.call_conv.get_function_type(types.none, _KERNEL)
            name = compiled.fndesc.llvm_func_name
            return builder.ptrtoint(cgutils.get_or_insert_function(builder.module, kind, name), WORD)

        return types.int64(), codegen

    made: Callable[[], int] = address
    return made


# ---- contad's own functions that make constants ----------------------------------------------------------------------
@add_overload(stop_gradient)
def _stop_gradient(x: Any) -> Any:
    """x without its derivative: a plain number, an array of constants (a name may hold either array), or a tuple."""
    if isinstance(x, Active):
        return lambda x: x.value
    if is_active_array(x):
        zeros = zeros_of[x.dtype]

        def of_array(x: Any) -> Any:
            """The array of constants."""
            made = zeros(x.size)
            for k, element in enumerate(x.flat):
                made[k] = element.value
            return made.reshape(x.shape)

        return of_array
    if isinstance(x, types.BaseTuple) and not isinstance(x, types.BaseNamedTuple) and not is_plain(x):
        return stop_each(len(x))
    return None


for _rule in PARTS:
    register_user_rule(_rule)
