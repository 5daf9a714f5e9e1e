"""The user's njit function once more, under contad's own options, with everything it calls.

The code object is the user's own, so errors name the user's lines. Globals and captured values are those of the user's
function, except that njit functions are rebuilt as well, and that what creates float arrays creates arrays that take
variables. Explicit signatures fall away, and so does `parallel`: prange runs in order, on the one tape.
"""

import hashlib
from collections.abc import Callable, Hashable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit

from contad.dispatcher import global_names, is_dispatcher
from contad.engines.tape.operations import register
from contad.errors import UnsupportedError
from contad.native.arena import INTERNAL_OPTIONS
from contad.rule import ScalarRule

_OWN = {name: INTERNAL_OPTIONS[name] for name in ("nogil", "no_cpython_wrapper", "no_cfunc_wrapper")}
_FOLLOWED = ("error_model", "fastmath", "boundscheck")  # options that change what the user's function computes


class Rebuilt:
    """A function rebuilt with its callees; `digest` tells whether two of them do the same."""

    def __init__(self, dispatcher: Any, replaced: dict[Any, Any]) -> None:
        self.replaced = replaced  # what creates arrays -> what takes its place
        self._made: dict[int, Any] = {}
        self._modules: dict[int, ModuleType] = {}
        self._kept: list[Any] = []  # ids are those of living objects
        self._hash = hashlib.sha256()
        self.cacheable = True
        self.dispatcher = self.rebuild(dispatcher, {"error_model": "python"})

    @property
    def digest(self) -> str:
        """A hash of the code, the options and the frozen values."""
        return self._hash.hexdigest()

    def rebuild(self, dispatcher: Any, defaults: dict[str, Any] | None = None) -> Any:
        """The dispatcher's function under contad's options."""
        if id(dispatcher) in self._made:
            self._note("again", str(list(self._made).index(id(dispatcher))))
            return self._made[id(dispatcher)]
        function: FunctionType = dispatcher.py_func
        options = {k: v for k, v in dispatcher.targetoptions.items() if k in _FOLLOWED and v is not None}
        options = (defaults or {}) | options
        self._note(str(function.__module__), function.__qualname__, repr(sorted(options.items())))
        self._note_code(function.__code__)
        cells = tuple(CellType() for _ in function.__code__.co_freevars)
        names: dict[str, Any] = dict(function.__globals__)
        made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        self._note(repr(function.__defaults__))
        # a recursive function meets itself among its own names
        found = self._made[id(dispatcher)] = njit(**_OWN | options)(made)
        self._kept.append(dispatcher)
        used = global_names(function.__code__)
        if "objmode" in used:
            code = function.__code__
            raise UnsupportedError(
                f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}: Python code in objmode is not "
                "differentiated; move it out of the function"
            )
        for name in sorted(used & names.keys()):
            names[name] = self._translated(name, names[name], used)
        for cell, name, own in zip(cells, function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                cell.cell_contents = self._translated(name, own.cell_contents, used)
            except ValueError:  # not yet bound, as in the user's function
                continue
        return found

    def _translated(self, name: str, value: Any, used: set[str]) -> Any:
        """A global or captured value as the rebuilt function sees it."""
        if is_dispatcher(value):
            self._note(name, str(value.py_func.__module__))
            own = str(value.py_func.__module__).startswith("contad.")  # a derivative, say, which is called as it is
            return value if own else self.rebuild(value)
        if isinstance(value, ModuleType):
            return self._module(value, used)
        try:
            if value in self.replaced:
                return self.replaced[value]
        except (TypeError, ValueError):  # not hashable, or an array
            pass
        self._note_value(name, value)
        return value

    def _module(self, module: ModuleType, used: set[str]) -> ModuleType:
        """A module with its njit functions rebuilt, and with what creates arrays replaced, as far as used."""
        known = self._modules.get(id(module))
        if known is None:
            known = self._modules[id(module)] = ModuleType(module.__name__)
            # not by the name of numpy, whose np.array of a list Numba would rewrite to plain numbers
            known.__dict__.update(vars(module), __name__=f"contad's {module.__name__}")
            self._kept.append(module)
        for name in sorted(used & vars(module).keys()):
            found = vars(module)[name]
            library = module.__name__.split(".")[0] in ("numpy", "math", "scipy", "numba", "contad")
            if not isinstance(found, ModuleType) and not library:
                setattr(known, name, self._translated(f"{module.__name__}.{name}", found, used))
            elif isinstance(found, ModuleType) and found is not module and not library:
                setattr(known, name, self._module(found, used))
            elif library and isinstance(found, Hashable) and found in self.replaced:
                setattr(known, name, self.replaced[found])
        return known

    # ---- the hash ----------------------------------------------------------------------------------------------------
    def _note(self, *texts: str) -> None:
        for text in texts:
            self._hash.update(text.encode() + b"\0")

    def _note_code(self, code: CodeType) -> None:
        self._hash.update(code.co_code)
        self._note(code.co_filename, str(code.co_firstlineno), repr(code.co_names), repr(code.co_varnames))
        for x in code.co_consts:
            if isinstance(x, CodeType):
                self._note_code(x)
            else:
                self._note(repr(x))

    def _note_value(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.dtype != object:
            self._note(name, str(value.dtype), str(value.shape))
            self._hash.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
            self._note(name, repr(value))
        elif isinstance(value, (tuple, list)):
            self._note(name, type(value).__qualname__)
            for x in value:
                self._note_value("", x)
        elif isinstance(value, ScalarRule):
            register(value)
            self._note_code(value.function.__code__)
            if value.body is not None:
                self._note_code(value.body.function.__code__)
        elif isinstance(value, (type, Callable)) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
            self._note(name, f"{value.__module__}.{value.__qualname__}")
            self.cacheable &= "<locals>" not in value.__qualname__
        else:
            self._note(name, type(value).__qualname__)
            self.cacheable = False  # nothing known tells two such objects apart
