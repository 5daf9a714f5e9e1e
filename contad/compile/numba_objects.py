"""Numba's own classes of functions: a dispatcher to build upon, callbacks, ufuncs, and the lock of its compiler."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from numba import types
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import make_concrete_template
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

__all__ = [
    "CFunc", "DUFunc", "Dispatcher", "GUFunc", "as_python_object", "declared_arguments", "given_type", "given_value",
    "global_compiler_lock", "load_overload", "signature_of_callback", "takes_new_types",
]  # fmt: skip


class Dispatcher(CPUDispatcher):
    """A function of contad that Python and compiled code call as they call a dispatcher of `numba.njit`."""

    def __init__(self, stub: Any) -> None:
        super().__init__(stub, targetoptions={"nopython": True})

    @abstractmethod
    def find_entry(self, *args: Any, **kwargs: Any) -> Any:
        """The entry point for argument types without admitted machine code."""

    @abstractmethod
    def link(self, given: tuple[Any, ...]) -> Any:
        """The result of compilation for a compiled caller, into which the code is linked: it may lack machine code."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What Numba's type inference asks for when it finds a call in a compiled caller."""
        python_signature, given = self._compiler.fold_argument_types(args, kws)
        name, signature = self.py_func.__name__, self.link(tuple(given)).signature
        template = make_concrete_template(f"CallTemplate({name})", key=name, signatures=[signature])
        return template, python_signature, given, {}

    def get_overload(self, sig: Any) -> Any:
        """What Numba's lowering asks for then: the key under which it finds the code."""
        return self.link(tuple(normalize_signature(sig)[0])).entry_point

    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Any:
        """Numba calls this for new argument types, and then calls the result with the arguments."""
        self._compilation_chain_init_hook()
        try:
            return self.find_entry(*args, **kwargs)
        finally:
            self._types_active_call: set[tuple[Any, ...]] = set()

    def let_in(self, given: Sequence[Any], entry: Any) -> None:
        """Send calls from Python with arguments of these types straight to an entry point."""
        self._insert([t._code for t in given], entry, False)

    def forget_entries(self) -> None:
        """Send all calls from Python to `find_entry` again."""
        self._clear()


def load_overload(dispatcher: Any, given: Sequence[Any], context: Any) -> Any:
    """Load the machine code of a cached function for these types and make it known to callers; None if there is
    none."""
    found = dispatcher._cache.load_overload(given, context)
    if found is not None:
        context.insert_user_function(found.entry_point, found.fndesc, [found.library])
    return found


def as_python_object(kind: type[types.Type]) -> None:
    """Make dispatchers treat values of a type as Python objects of some kind."""
    kind._code = types.pyobject._code


def given_type(x: Any) -> Any:
    """The type of the default that Numba substitutes for an omitted argument; None for other values."""
    return types.Omitted(x.value) if isinstance(x, OmittedArg) else None


def given_value(x: Any) -> Any:
    """An argument, or the default that Numba substitutes if it is omitted."""
    return x.value if isinstance(x, OmittedArg) else x


# ---- results of vectorize, guvectorize and cfunc ---------------------------------------------------------------------
def signature_of_callback(callback: CFunc) -> Any:
    """The signature that a function of numba.cfunc was declared with."""
    return vars(callback)["_sig"]


def declared_arguments(kernel: GUFunc) -> list[Any]:
    """The argument types of each signature given to numba.guvectorize."""
    return [signature.args for signature in kernel.gufunc_builder._sigs]


def takes_new_types(ufunc: DUFunc) -> bool:
    """Whether a ufunc of numba.vectorize compiles for types that it was not declared with."""
    return not ufunc._frozen
