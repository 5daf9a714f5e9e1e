"""A digest of a Numba function: its code, its callees, and the values of its globals and captured names.

Numba freezes globals and captured values when it compiles. The digest changes when any of them does. So it tells
whether compiled code still matches the function, in this process and in others.
"""

import contextlib
import enum
import hashlib
import inspect
import os
import sys
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numba import types

from contad.compile.dispatchers import declared_names, is_dispatcher, of_ufunc
from contad.compile.numba_code import UNBOUND, names_read, texts_read
from contad.compile.numba_objects import CFunc, signature_of_callback
from contad.compile.typing_rules import overload_bodies
from contad.functions.declared_types import signatures
from contad.functions.reached import is_installed
from contad.functions.transformed import Decorated
from contad.numba_functions.array_arguments import require_read
from contad.rules.compilable import WithParts
from contad.rules.definition import global_names, looked_up, named_values
from contad.rules.scalar_rule import ScalarRule
from contad.variables.trees import leaves_of

LARGEST_CONSTANT = 10**6  # bytes; Numba's code reads a larger global array in place

_LIBRARIES = {"numpy", "math", "scipy", "numba", "contad"}
_NUMBERS = (bool, int, float, complex, str, np.generic)
_TEXT = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype, slice, range)


class Fingerprint(NamedTuple):
    """The dependences of a function: a text for each code object and value in it, by name."""

    parts: dict[str, str]
    stable: bool  # whether another process finds the same texts
    dispatchers: tuple[Any, ...] = ()  # the Numba functions among the dependences
    recursive: bool = False  # whether one of them may call itself, directly or through others
    in_place: tuple[str, ...] = ()  # global arrays that Numba's code reads in place, as text
    arrays: tuple["ref[np.ndarray]", ...] = ()  # and these arrays

    @property
    def digest(self) -> str:
        """One text for the whole fingerprint."""
        return hashlib.sha256(repr(sorted(self.parts.items())).encode()).hexdigest()

    def find_changes(self, later: "Fingerprint") -> list[tuple[str, str, str]]:
        """(name, text, later text) of each difference."""
        names = sorted(self.parts.keys() | later.parts.keys())
        pairs = [(name, self.parts.get(name, "nothing"), later.parts.get(name, "nothing")) for name in names]
        return [(name, before, after) for name, before, after in pairs if before != after]


def fingerprint(f: Any) -> Fingerprint:
    """The fingerprint of a Numba or plain Python function as it is now."""
    reader = _Reader()
    reader.value(getattr(f, "__name__", "f"), f)
    return reader.fingerprint()


class Places(NamedTuple):
    """Where the values of a fingerprint were found, and the objects there: enough to check that they are still
    there."""

    names: list[tuple[dict[str, Any], str, Any]]  # dictionary, key, value
    cells: list[tuple[Any, Any]]  # cell, value
    arrays: list[np.ndarray]  # whose contents are constants of compiled code
    attributes: list[str]  # names of values that are attributes of modules


def fingerprint_and_places(f: Any) -> tuple[Fingerprint, Places]:
    """The fingerprint of a function as it is now, and the places of its values, without library modules."""
    reader = _Reader()
    reader.value(getattr(f, "__name__", "f"), f)
    return reader.fingerprint(), reader.places


def text_of_type(t: Any) -> tuple[str, bool]:
    """A Numba type as a text, methods of a jitclass included, and whether another process finds the same."""
    reader = _Reader()
    reader.value("type", t)
    parts = reader.parts
    return parts["type"] if len(parts) == 1 else Fingerprint(parts, True).digest, reader.stable


def find_changed_since(dispatchers: Iterable[Any]) -> list[tuple[str, str, str]]:
    """(name, text, later text) of values that the machine code of these functions was made with.

    Attributes of modules, and contents of an array that is still the same object, are compared if `note_untold` saw the
    compilation. For other code from Numba's cache, only numbers, texts and tuples of them are compared.
    """
    found = []
    for dispatcher in dispatchers:
        function = dispatcher.py_func
        untold = _untold(function).parts if dispatcher.overloads else {}
        for overload in dispatcher.overloads.values():
            for name, text in (_note(overload) or {}).items():
                if untold.get(name, text) != text:
                    found.append((name, text, untold[name]))
        now = named_values(function)
        for overload in dispatcher.overloads.values():
            for name, read in names_read(overload):
                # with declared types, Numba compiles a function before the name for its recursive calls is bound
                value = dispatcher if read is UNBOUND else read
                later = now.get(name, value)
                if later is not value and _digest(later) != _digest(value):
                    found.append((f"{function.__name__}.{name}", _Reader().text(value), _Reader().text(later)))
            for name, text in texts_read(overload):
                later = now.get(name)
                if isinstance(later, (*_NUMBERS, tuple)) and str(later) != text:
                    found.append((f"{function.__name__}.{name}", text, str(later)))
    return found


# ---- values of which Numba keeps no copy -----------------------------------------------------------------------------
_NOTE = "frozen by this code, as contad has noted it"


def note_untold(dispatcher: Any, args: Any) -> None:
    """Note, with the machine code for these types, the arrays and module attributes that it has frozen.

    The note is among the constants of the code's environment, which Numba keeps on disk with the code.
    """
    with contextlib.suppress(Exception):  # a missing note must not make a compilation fail
        overload = dispatcher.overloads.get(tuple(args))
        if overload is not None and _note(overload) is None:
            found = _untold(dispatcher.py_func)
            if found.parts:
                overload.environment.consts.append((_NOTE, 0 if found.stable else os.getpid(), found.parts))


def is_told(dispatchers: Iterable[Any]) -> bool:
    """Whether `find_changed_since` knows the frozen values of all machine code of these functions."""
    for dispatcher in dispatchers:
        if dispatcher.overloads and _untold(dispatcher.py_func).parts:
            if any(_note(overload) is None for overload in dispatcher.overloads.values()):
                return False
    return True


def _note(overload: Any) -> dict[str, str] | None:
    for constant in getattr(overload.environment, "consts", ()):
        if isinstance(constant, tuple) and constant[:1] == (_NOTE,) and constant[1] in (0, os.getpid()):
            return dict(constant[2])
    return None


def _untold(f: FunctionType) -> Fingerprint:
    """The arrays and the attributes of modules that a function itself reads, as texts by name."""
    reader = _Reader()
    for name, x in sorted(named_values(f).items()):
        if isinstance(x, ModuleType):
            reader.module(f"{f.__name__}.{name}", x, f.__code__)
            reader.parts.pop(f"{f.__name__}.{name}")  # of the module itself
        elif _holds_array(x):
            reader.value(f"{f.__name__}.{name}", x)
    return Fingerprint(reader.parts, reader.stable)


def _holds_array(x: Any) -> bool:
    return any(isinstance(part, (np.ndarray, np.void)) for part in (leaves_of(x) if isinstance(x, tuple) else [x]))


class _Reader:
    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.stable = True
        self.dispatchers: list[Any] = []
        self.seen: dict[int, str] = {}  # the first name of each function read
        self.places = Places([], [], [], [])
        self.classes: set[str] = set()
        self.recursive = False
        self.in_place: list[str] = []
        self.arrays: dict[int, ref[np.ndarray]] = {}  # these functions, by id
        self._open: list[int] = []  # functions being read now
        self._name = ""  # of the value being read now

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of everything read so far."""
        return Fingerprint(
            self.parts, self.stable, tuple(self.dispatchers), self.recursive, tuple(dict.fromkeys(self.in_place)),
            tuple(self.arrays.values()),
        )  # fmt: skip

    def value(self, name: str, x: Any) -> None:
        """Note a value and its dependences."""
        self._name = name
        if is_dispatcher(x):
            self.dispatchers.append(x)
            self.parts[f"options of {name}"] = repr(sorted((k, repr(v)) for k, v in x.targetoptions.items()))
            declared = [*map(str, signatures(x)), *(f"{k}: {t}" for k, t in sorted(declared_names(x).items()))]
            if declared:
                self.parts[f"types declared by {name}"] = "; ".join(declared)
            self.function(name, x.py_func)
        elif isinstance(x, FunctionType):
            if _of_library(x.__module__):
                self.parts[name] = f"{x.__module__}.{x.__qualname__}"
            else:
                self.function(name, x)
                for k, body in enumerate(overload_bodies(x)):
                    self.function(f"overload {k} of {name}", body)
        elif of_ufunc(x) is not None:
            self.value(name, of_ufunc(x))
        elif isinstance(x, CFunc):
            self.parts[f"types declared by {name}"] = str(signature_of_callback(x))
            self.function(name, x.__wrapped__)
        elif isinstance(x, ScalarRule):
            self.parts[name] = repr(x)
            for k, part in enumerate(_functions_of_rule(x)):
                self.function(f"{name}[{k}]", part)
        elif isinstance(x, WithParts):
            self.parts[name] = f"{type(x).__name__} {x.name}"
            own = x.__module__.partition(".")[0] == "contad"  # known by the version of contad
            for k, own_part in enumerate(() if own else x.functions()):
                if own_part is not None:
                    self.value(f"{name}[{k}]", own_part)
        elif isinstance(x, Decorated):
            self.value(name, x.decorated)
        else:
            self.parts[name] = self.text(x)

    def function(self, name: str, f: FunctionType) -> None:
        """Note the code of a function, its defaults, and the values of its names."""
        if id(f) in self.seen:
            self.parts[name] = f"as {self.seen[id(f)]}"
            self.recursive |= id(f) in self._open
            return
        self.seen[id(f)] = name
        self._open.append(id(f))
        code = f.__code__
        self.parts[name] = hashlib.sha256(repr(_essence(code)).encode()).hexdigest()
        self.parts[f"defaults of {name}"] = self.text((f.__defaults__, f.__kwdefaults__))
        for free, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            try:
                held = cell.cell_contents
            except ValueError:
                self.parts[f"{name}.{free}"] = "unbound"
                continue
            if not _is_library(held):
                self.places.cells.append((cell, held))
            self.note_named(f"{name}.{free}", held, code)
        for used in sorted(looked_up(code) & f.__globals__.keys()):
            self.note_place(f.__globals__, used)
            self.note_named(f"{name}.{used}", f.__globals__[used], code)
        self._open.pop()

    def note_place(self, names: dict[str, Any], name: str) -> None:
        """Note the place of a name, unless it names a library."""
        if not _is_library(names[name]):
            self.places.names.append((names, name, names[name]))

    def note_named(self, name: str, x: Any, code: CodeType) -> None:
        """Note the value of a global or captured name in the code."""
        if isinstance(x, ModuleType):
            self.module(name, x, code)
        else:
            self.value(name, x)

    def module(self, name: str, x: ModuleType, code: CodeType, above: tuple[ModuleType, ...] = ()) -> None:
        """Note a module. For a user's module, also note the attributes that the code may use, of the module and of its
        submodules.

        `above` are the modules in which it was found: modules of a package may name each other.
        """
        self.parts[name] = f"module {x.__name__}"
        if _of_library(x.__name__) or x in above:
            return
        for used in sorted(global_names(code) & vars(x).keys()):
            attribute = vars(x)[used]
            self.note_place(vars(x), used)
            self.places.attributes.append(used)
            if isinstance(attribute, ModuleType):
                self.module(f"{name}.{used}", attribute, code, (*above, x))
            else:
                self.value(f"{name}.{used}", attribute)

    def text(self, x: Any) -> str:
        """A value as text: numbers by value, arrays by contents, anything else by identity."""
        if isinstance(x, np.ndarray) and x.dtype != object:
            function, _, name = self._name.rpartition(".")
            require_read(function, [(f"the global or captured {name}", x)])
            kind = f"array of {x.dtype!r}, shape {x.shape}, strides {x.strides}"
            if is_read_in_place(x):
                self.stable = False
                self.arrays[id(x)] = ref(x)
                size = f"{x.nbytes / 1e6:.1f} MB" if x.nbytes > LARGEST_CONSTANT else "with gaps in memory"
                self.in_place.append(f"{self._name}, an array {'of ' if x.nbytes > LARGEST_CONSTANT else ''}{size}")
                return f"{kind} at {id(x):#x}, which is read where it is"
            self.places.arrays.append(x)
            digest = hashlib.blake2b(
                np.ascontiguousarray(x).reshape(-1).view(np.uint8).data, digest_size=16
            ).hexdigest()
            return f"{kind}, contents {digest}"
        if isinstance(x, (tuple, list)):
            fields = f" {x._fields}" if hasattr(x, "_fields") else ""
            return f"{type(x).__name__}{fields}({', '.join(map(self.text, x))})"
        if isinstance(x, dict):
            return f"dict({', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in x.items())})"
        if isinstance(x, enum.Enum):  # before int, which an IntEnum is
            return f"{type(x).__module__}.{type(x).__qualname__}.{x.name} {self.text(x.value)}"
        if isinstance(x, _TEXT):
            return f"{type(x).__name__} {x!r}"
        if isinstance(x, (types.ClassType, types.ClassInstanceType)):
            return self.compiled_class(x if isinstance(x, types.ClassType) else x.class_type)
        if isinstance(x, types.Type):
            self.stable &= not isinstance(x, types.Callable)
            return f"Numba's {x}"
        if isinstance(x, enum.EnumMeta):
            members: dict[str, Any] = dict(x.__members__)
            values = ", ".join(f"{name} {self.text(member.value)}" for name, member in members.items())
            return f"{x.__module__}.{x.__qualname__} of {values}"
        if isinstance(getattr(x, "class_type", None), types.ClassType):
            return self.compiled_class(x.class_type)
        if isinstance(x, type) or (callable(x) and _of_library(getattr(x, "__module__", None) or "numpy")):
            fields = getattr(x, "_fields", "")
            if is_named(x):
                return f"{x.__module__}.{x.__qualname__} {fields}" if hasattr(x, "__qualname__") else repr(x)
        self.stable = False
        return f"{type(x).__qualname__} at {id(x):#x}"

    def compiled_class(self, x: Any) -> str:
        """A class of numba.experimental.jitclass: its fields and methods, which compiled code has inlined."""
        text = f"jitclass {x.class_name} of {', '.join(f'{name} {self.text(t)}' for name, t in x.struct.items())}"
        if text in self.classes:  # a method may make an object of its class
            return text
        self.classes.add(text)
        parts = {**x.methods, **{f"static {name}": f for name, f in x.static_methods.items()}}
        for name, accessors in x.jit_props.items():
            parts |= {f"{accessor} {name}": f.py_func for accessor, f in accessors.items()}
        for name, method in sorted(parts.items()):
            self.value(f"{x.class_name}.{name}", method)
        return text


def is_read_in_place(x: np.ndarray) -> bool:
    """Whether Numba reads a global array in place, so that compiled code sees later writes to it."""
    return x.nbytes > LARGEST_CONSTANT or not (x.flags.c_contiguous or x.flags.f_contiguous)


def _is_library(x: Any) -> bool:
    return isinstance(x, ModuleType) and _of_library(x.__name__)


def _digest(x: Any) -> str:
    reader = _Reader()
    reader.value("x", x)
    return Fingerprint(reader.parts, reader.stable).digest


def is_named(x: Any) -> bool:
    """Whether a class or function is importable by its name."""
    found: Any = sys.modules.get(getattr(x, "__module__", None) or "numpy")
    for part in getattr(x, "__qualname__", getattr(x, "__name__", "")).split("."):
        found = getattr(found, part, None)
    return found is x


def _of_library(module: str) -> bool:
    """Whether a module belongs to the standard library or is installed: its version represents its contents."""
    if module.partition(".")[0] in _LIBRARIES or module in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_installed(file)


def _functions_of_rule(rule: ScalarRule) -> list[FunctionType]:
    """The functions of a user's rule; contad's own rules are identified by the version of contad."""
    if rule.__module__.partition(".")[0] == "contad":
        return []
    return [body for body in (rule.function, rule.body and rule.body.function) if isinstance(body, FunctionType)]


def _essence(code: CodeType) -> tuple[Any, ...]:
    """The meaning of a code object, without its file and line."""
    constants = tuple(
        _essence(x) if isinstance(x, CodeType) else sorted(map(repr, x)) if isinstance(x, frozenset) else repr(x)
        for x in code.co_consts
    )
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    packed = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)  # a profiler makes Numba change other flags
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, packed
    return code.co_name, code.co_code, code.co_exceptiontable, names, counts, constants
