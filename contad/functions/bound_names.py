"""Code whose global names are constants: a copy of a function that reads its own globals, but finds these.

The copy reads the original globals, sees later changes and writes `global` names there. Only bound names mean something
else, at the cost of a constant. The copy has the lines, names and positions of the function.
"""

import dis
import sys
from collections.abc import Collection, Mapping
from types import CodeType
from typing import Any

_CACHES = {(3, 11): 5, (3, 12): 4, (3, 13): 4, (3, 14): 4}.get(sys.version_info[:2])  # code units after LOAD_GLOBAL
_NULL_FIRST = sys.version_info < (3, 13)  # of a call, Python pushes it before the function
_LOAD_GLOBAL, _LOAD_CONST, _EXTENDED = (dis.opmap[name] for name in ("LOAD_GLOBAL", "LOAD_CONST", "EXTENDED_ARG"))
_PUSH_NULL, _NOP, _SWAP = (dis.opmap[name] for name in ("PUSH_NULL", "NOP", "SWAP"))
# the instruction that loads a method for a call, with the code units after it; the one that takes an item, its
# argument, and units
_OF_METHODS = ("LOAD_METHOD", 10) if sys.version_info < (3, 12) else ("LOAD_ATTR", 9)
_LOAD_METHOD, _METHOD_CACHES = dis.opmap[_OF_METHODS[0]], _OF_METHODS[1]
_ITEM = {(3, 11): ("BINARY_SUBSCR", 0, 4), (3, 12): ("BINARY_SUBSCR", 0, 1), (3, 13): ("BINARY_SUBSCR", 0, 1)}.get(
    sys.version_info[:2], ("BINARY_OP", 26, 5)
)
_SHIFT = 0 if _OF_METHODS[0] == "LOAD_METHOD" else 1  # for an attribute's name in the argument; the bit marks a method

CAN_BIND = _CACHES is not None
_NONE: Mapping[str, Any] = {}
_MOST_NAMES = 127  # whose positions need no prefix


def methods_called(code: CodeType, name: str) -> list[str | None]:
    """The receivers of calls of this method in the code: global names, None for all others."""
    found: list[str | None] = []
    receiver = None
    for i in dis.get_instructions(code):
        is_method = i.opname == _OF_METHODS[0] and (not _SHIFT or (i.arg or 0) & 1)
        if is_method and i.argval == name:
            found.append(receiver)
        receiver = i.argval if i.opname == "LOAD_GLOBAL" else None
    return found


def bind_names(
    code: CodeType, values: Mapping[str, Any], methods: Mapping[str, Any] = _NONE,
    modules: Collection[str | None] = (), built_in: dict[str, Any] | None = None,
) -> CodeType:  # fmt: skip
    """The code with these objects in place of reads of these global names, also in inner functions.

    In calls of a method with a name in `methods`, on anything but the global names in `modules`, the method comes from
    the object: x.dot(y) becomes methods["dot"][x](y).

    Each LOAD_GLOBAL becomes a LOAD_CONST of the same length, so that no jump, line or handler moves. Class bodies
    inside look their names up as before.

    The garbage collector does not look into code, so constants that lead back to the code would live for ever. With
    `built_in`, the built-in names of the function, the objects go there under new names; inner functions have other
    built-in names, and use constants.

    Cost:    one pass over the bytes of the code; a read is at least as fast as that of a global.

    >>> def area(r):
    ...     return pi * r * r
    >>> from types import FunctionType
    >>> FunctionType(bind_names(area.__code__, {"pi": 3.0}), globals())(2.0)
    12.0
    """
    assert _CACHES is not None
    inner = values, methods, modules
    names = [*code.co_names]
    if len(names) + len(values) > _MOST_NAMES:
        built_in = None
    constants = [bind_names(x, *inner) if isinstance(x, CodeType) else x for x in code.co_consts]
    places: dict[str, int] = {}
    receiver = None
    text = bytearray(code.co_code)
    start, high = 0, 0  # the start of an instruction with its prefixes, and their value
    for k in range(0, len(text), 2):
        operation, argument = text[k], high | text[k + 1]
        if operation == _EXTENDED:
            high = argument << 8
            continue
        before, receiver = receiver, code.co_names[argument >> 1] if operation == _LOAD_GLOBAL else None
        if methods and operation == _LOAD_METHOD and (not _SHIFT or argument & 1) and before not in modules:
            name = code.co_names[argument >> _SHIFT]
            if name in methods:
                own = f".{name}"  # no name of a variable
                if own not in places:
                    places[own] = len(constants)
                    constants.append(methods[name])
                end = k + 2 + 2 * _METHOD_CACHES
                text[start:end] = _load_method(places[own], end - start)
                operation = _NOP
        if operation == 0:  # the rest of an instruction
            receiver = before
        if operation == _LOAD_GLOBAL and code.co_names[argument >> 1] in values:
            name = code.co_names[argument >> 1]
            if built_in is not None:
                own = f"{name}'"  # no name of a variable
                if name not in places:
                    places[name] = len(names)
                    names.append(own)
                    built_in[own] = values[name]
                text[k + 1] = places[name] << 1 | argument & 1
                text[start:k] = bytes([_NOP, 0]) * ((k - start) // 2)
                start, high = k + 2, 0
                continue
            if name not in places:
                places[name] = len(constants)
                constants.append(values[name])
            end = k + 2 + 2 * _CACHES
            text[start:end] = _load(places[name], bool(argument & 1), end - start)
        start, high = k + 2, 0
    size = code.co_stacksize + bool(methods)
    return code.replace(co_code=bytes(text), co_consts=tuple(constants), co_names=tuple(names), co_stacksize=size)


def _load_method(place: int, length: int) -> bytes:
    """The instructions that take an item of a constant, for the object on top of the stack, and prepare its call."""
    operation, argument, caches = _ITEM
    item = [_SWAP, 2, dis.opmap[operation], argument] + [0, 0] * caches
    null = [_PUSH_NULL, 0]
    load = _write_prefixed(_LOAD_CONST, place)
    made = bytes([*null, _SWAP, 2, *load, *item] if _NULL_FIRST else [*load, *item, *null])
    return made + bytes([_NOP, 0]) * ((length - len(made)) // 2)


def _write_prefixed(operation: int, argument: int) -> list[int]:
    high = [x for x in (argument >> 16, argument >> 8) if x]
    return [byte for x in high for byte in (_EXTENDED, x & 255)] + [operation, argument & 255]


def _load(place: int, is_called: bool, length: int) -> bytes:
    """The instructions that load a constant, in this number of bytes."""
    load = _write_prefixed(_LOAD_CONST, place)
    null = [_PUSH_NULL, 0] if is_called else []
    made = bytes(null + load if _NULL_FIRST else load + null)
    return made + bytes([_NOP, 0]) * ((length - len(made)) // 2)
