"""`numpy.polynomial` for variables: second copies of NumPy's own modules whose functions take variables.

NumPy's modules are Python code without protocols, which makes arrays of coefficients and assigns to their elements. The
copies have the same code, with the `np`, `isinstance` and so on that copies of the user's functions get.
"""

import builtins
import importlib.util
import sys
from collections.abc import Callable, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

from contad.functions.questions import ANSWERS
from contad.functions.stand_in_modules import ASSIGNABLE, PLAIN
from contad.variables.open_types import Function

PACKAGE = "numpy.polynomial"
_KINDS = ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial")
_made: dict[str, ModuleType] = {}


def take_up(attributes: frozenset[str], named: Iterable[Any] = ()) -> None:
    """Let polynomials of variables replace NumPy's, if code with these attributes, or these names, uses them."""
    if not _made and ("polynomial" in attributes or PACKAGE in attributes or any(map(_is_of_package, named))):
        stand_in()


def _is_of_package(x: Any) -> bool:
    """Whether x is one of the modules, one of their functions or classes, or a polynomial."""
    name = x.__name__ if type(x) is ModuleType else getattr(x, "__module__", None)
    return str(name).startswith(PACKAGE)


def stand_in() -> None:
    """Make the modules, and register them as replacements of NumPy's."""
    import numpy.polynomial  # noqa: F401  (all of its modules)

    for stand_ins in (PLAIN, ASSIGNABLE):
        stand_ins.of.update(_answers())
        stand_ins.of_objects.update(_objects())
        stand_ins.submodules["polynomial"] = _made[PACKAGE]
        stand_ins.update()


def _answers() -> dict[int, Any]:
    """The replacements of the modules, their functions and classes, by identity."""
    found: dict[int, Any] = {}
    for kind in ("", *_KINDS):
        name = f"{PACKAGE}.{kind}" if kind else PACKAGE
        real, mine = sys.modules[name], _module(name)
        found[id(real)] = mine
        if kind:
            setattr(_module(PACKAGE), kind, mine)
        for key, x in vars(real).items():
            if callable(x) and key in vars(mine) and str(getattr(x, "__module__", "")).startswith(PACKAGE):
                found[id(x)] = vars(mine)[key]
    return found


def _objects() -> dict[type, Callable[[Any], Any]]:
    """The makers of polynomials of variables from NumPy's, by class."""
    package = sys.modules[PACKAGE]
    classes = [(getattr(package, name), getattr(_made[PACKAGE], name)) for name in package.__all__ if name[0].isupper()]
    return {real: _converting(mine) for real, mine in classes}


def _converting(cls: type) -> Callable[[Any], Any]:
    return lambda x: cls(x.coef, x.domain, x.window, x.symbol)


def _module(name: str) -> ModuleType:
    """One of the modules, with the code of NumPy's."""
    if name not in _made:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.loader is not None
        made = _made[name] = ModuleType(name)
        names = {**vars(builtins), **ANSWERS, "__import__": _import}
        vars(made).update(__builtins__=names, __package__=PACKAGE, __spec__=spec, __file__=spec.origin)
        exec(spec.loader.get_code(name), vars(made))  # type: ignore[attr-defined]
    return _made[name]


def _import(name: str, names: Any = None, own: Any = None, listed: Any = (), level: int = 0) -> Any:
    """The result of an import statement in these modules."""
    if level == 0 and name.endswith(".overrides"):
        return SimpleNamespace(array_function_dispatch=_without_dispatch)
    if level == 0:
        found = vars(builtins)["__import__"](name, names, own, listed, level)
        return ASSIGNABLE.of.get(id(found), found)
    if name:
        return _module(f"{PACKAGE}.{name}")
    for one in listed or ():
        if importlib.util.find_spec(f"{PACKAGE}.{one}") is not None:
            setattr(_module(PACKAGE), one, _module(f"{PACKAGE}.{one}"))
    return _module(PACKAGE)


def _without_dispatch(*args: Any, **options: Any) -> Callable[[Function], Function]:
    """Replaces NumPy's decorator, which would ask variables for the rule of a Python function."""
    return lambda function: function
