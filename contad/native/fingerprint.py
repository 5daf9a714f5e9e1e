"""What a Numba function computes, as a digest: its code, its callees, and the values of its globals and captured names.

Numba freezes globals and captured values when it compiles. The digest changes when any of them does, so it says whether
compiled code is still that of the function, in this process and in another one.
"""

import enum
import hashlib
import inspect
import sys
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import ir

from contad.array_rule import ArrayRule
from contad.callees import is_installed
from contad.dispatcher import global_names, is_dispatcher
from contad.rule import ScalarRule

_LIBRARIES = {"numpy", "math", "scipy", "numba", "contad"}
_TEXT = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype, slice, range)


class Fingerprint(NamedTuple):
    """What a function depends on: a text for every code and value in it, by name."""

    parts: dict[str, str]
    stable: bool  # whether another process finds the same texts
    dispatchers: tuple[Any, ...] = ()  # the Numba functions that were read

    @property
    def digest(self) -> str:
        """One text for all."""
        return hashlib.sha256(repr(sorted(self.parts.items())).encode()).hexdigest()

    def changed(self, later: "Fingerprint") -> list[tuple[str, str, str]]:
        """(name, text, later text) of what differs."""
        names = sorted(self.parts.keys() | later.parts.keys())
        pairs = [(name, self.parts.get(name, "nothing"), later.parts.get(name, "nothing")) for name in names]
        return [(name, before, after) for name, before, after in pairs if before != after]


def fingerprint(f: Any) -> Fingerprint:
    """The fingerprint of a Numba or plain Python function as it is now."""
    reader = _Reader()
    reader.value(getattr(f, "__name__", "f"), f)
    return Fingerprint(reader.parts, reader.stable, tuple(reader.dispatchers))


def changed_since_compiled(dispatchers: Iterable[Any]) -> list[tuple[str, str, str]]:
    """(name, text, later text) of values that the machine code of these functions was made with.

    Best effort: code that comes from Numba's cache does not tell them, nor what an array held that is still the same.
    """
    text = _Reader().text
    found = []
    for dispatcher in dispatchers:
        function = dispatcher.py_func
        now = {name: value for name, value in function.__globals__.items() if name in global_names(function.__code__)}
        now |= inspect.getclosurevars(function).nonlocals
        for overload in dispatcher.overloads.values():
            for name, value in _values_read(overload):
                later = now.get(name, value)
                if later is not value and text(later) != text(value):
                    found.append((f"{function.__name__}.{name}", text(value), text(later)))
    return found


class _Reader:
    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.stable = True
        self.dispatchers: list[Any] = []
        self.seen: dict[int, str] = {}  # the first name of every function that has been read

    def value(self, name: str, x: Any) -> None:
        """Note a value, and what it depends on."""
        if is_dispatcher(x):
            self.dispatchers.append(x)
            self.parts[f"options of {name}"] = repr(sorted((k, repr(v)) for k, v in x.targetoptions.items()))
            self.function(name, x.py_func)
        elif isinstance(x, FunctionType):
            if _of_library(x.__module__):
                self.parts[name] = f"{x.__module__}.{x.__qualname__}"
            else:
                self.function(name, x)
        elif isinstance(x, (ScalarRule, ArrayRule)):
            self.parts[name] = repr(x)
            for k, part in enumerate(_functions_of_rule(x)):
                self.function(f"{name}[{k}]", part)
        else:
            self.parts[name] = self.text(x)

    def function(self, name: str, f: FunctionType) -> None:
        """Note the code of a function, its defaults, and what its names stand for."""
        if id(f) in self.seen:
            self.parts[name] = f"as {self.seen[id(f)]}"
            return
        self.seen[id(f)] = name
        code = f.__code__
        self.parts[name] = hashlib.sha256(repr(_essence(code)).encode()).hexdigest()
        self.parts[f"defaults of {name}"] = self.text((f.__defaults__, f.__kwdefaults__))
        for free, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            try:
                self.named(f"{name}.{free}", cell.cell_contents, code)
            except ValueError:
                self.parts[f"{name}.{free}"] = "unbound"
        for used in sorted(global_names(code) & f.__globals__.keys()):
            self.named(f"{name}.{used}", f.__globals__[used], code)

    def named(self, name: str, x: Any, code: CodeType) -> None:
        """Note what a global or captured name stands for in the code."""
        if isinstance(x, ModuleType):
            self.module(name, x, code)
        else:
            self.value(name, x)

    def module(self, name: str, x: ModuleType, code: CodeType) -> None:
        """Note a module; of a user's own also the values of the attributes that the code may mean."""
        self.parts[name] = f"module {x.__name__}"
        if _of_library(x.__name__):
            return
        for used in sorted(global_names(code) & vars(x).keys()):
            attribute = vars(x)[used]
            if isinstance(attribute, ModuleType):
                self.parts[f"{name}.{used}"] = f"module {attribute.__name__}"
            else:
                self.value(f"{name}.{used}", attribute)

    def text(self, x: Any) -> str:
        """A value as text: numbers as they are, arrays by their contents, anything else by its identity."""
        if isinstance(x, np.ndarray) and x.dtype != object:
            digest = hashlib.blake2b(
                np.ascontiguousarray(x).reshape(-1).view(np.uint8).data, digest_size=16
            ).hexdigest()
            return f"array of {x.dtype.str}, shape {x.shape}, strides {x.strides}, contents {digest}"
        if isinstance(x, (tuple, list)):
            return f"{type(x).__name__}({', '.join(map(self.text, x))})"
        if isinstance(x, dict):
            return f"dict({', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in x.items())})"
        if isinstance(x, _TEXT):
            return f"{type(x).__name__} {x!r}"
        if isinstance(x, enum.Enum):
            return f"{x!r} of {type(x).__module__}"
        if isinstance(x, types.Type):
            return f"Numba's {x}"
        if isinstance(x, type) or (callable(x) and _of_library(getattr(x, "__module__", None) or "numpy")):
            fields = getattr(x, "_fields", "")
            if is_named(x):
                return f"{x.__module__}.{x.__qualname__} {fields}" if hasattr(x, "__qualname__") else repr(x)
        self.stable = False
        return f"{type(x).__qualname__} at {id(x):#x}"


def _values_read(overload: Any) -> list[tuple[str, Any]]:
    """The globals and captured names that compiled code has read, with values that have a text."""
    blocks = getattr(overload.type_annotation, "blocks", {}).values()
    reads = [s.value for block in blocks for s in block.body if isinstance(s, ir.Assign)]
    reads = [x for x in reads if isinstance(x, (ir.Global, ir.FreeVar))]
    return [(x.name, x.value) for x in reads if isinstance(x.value, (*_TEXT, tuple, np.ndarray))]


def is_named(x: Any) -> bool:
    """Whether a class or function can be found by its name."""
    found: Any = sys.modules.get(getattr(x, "__module__", None) or "numpy")
    for part in getattr(x, "__qualname__", getattr(x, "__name__", "")).split("."):
        found = getattr(found, part, None)
    return found is x


def _of_library(module: str) -> bool:
    """Whether a module is of the standard library or installed: its version stands for its contents."""
    if module.partition(".")[0] in _LIBRARIES or module in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_installed(file)


def _functions_of_rule(rule: ScalarRule | ArrayRule) -> list[FunctionType]:
    """The functions that a user's rule is made of; those of contad itself are known by the version of contad."""
    if rule.__module__.partition(".")[0] == "contad":
        return []
    bodies: list[Any] = [rule.function]
    if isinstance(rule, ScalarRule):
        bodies += [rule.body and rule.body.function]
    else:
        bodies += [*rule.vjps.values(), rule.jvp_body, rule.forward_body]
    return [body for body in bodies if isinstance(body, FunctionType)]


def _essence(code: CodeType) -> tuple[Any, ...]:
    """A code object without its place: what it does, whatever file and line it stands on."""
    constants = tuple(
        _essence(x) if isinstance(x, CodeType) else sorted(map(repr, x)) if isinstance(x, frozenset) else repr(x)
        for x in code.co_consts
    )
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_name, code.co_code, names, constants
