"""A user's file: its function, and a value for each parameter of it."""

import ast
import contextlib
import difflib
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import numpy as np

from contad.variables.number import is_real
from contad.variables.open_types import Function, Nested, Options, Real, Value
from contad.variables.trees import assemble, elements, flatten

Components = list[tuple[str, Real]]


class CommandError(Exception):
    """What the user is told in one line."""


@dataclass(frozen=True)
class Problem:
    """A function, the values of its parameters, and those to differentiate."""

    label: str
    path: str
    function: Function
    values: Options  # all parameters, in order
    active: tuple[str, ...]  # their values consist of floats
    keywords: frozenset[str] = frozenset()  # parameters that can only be passed by name
    integers: tuple[str, ...] = ()  # active ones that the file gives as integers

    def arguments(self, **changed: Nested) -> tuple[list[Nested], Options]:
        """Positional and keyword arguments of a call."""
        values = self.values | changed
        return (
            [v for n, v in values.items() if n not in self.keywords],
            {n: v for n, v in values.items() if n in self.keywords},
        )


# ---- the file --------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def load_module(path: str) -> Iterator[ModuleType]:
    """The module of a file; the modules beside it can be imported while it is in use.

    Raises CommandError, in one line, for whatever goes wrong in it.
    """
    file = Path(path)
    if not file.is_file():
        raise CommandError(f"{path}: {'is a directory' if file.is_dir() else 'no such file'}")
    name = file.stem if file.stem not in sys.modules and file.stem.isidentifier() else "_contad_user_file"
    loader = SourceFileLoader(name, str(file))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    replaced = sys.modules.get(name)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        with blame(path, path):
            # not exec_module: it may take an older version of an edited file from the bytecode cache
            exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)  # running the user's file is the task
        yield module
    finally:
        sys.path.remove(str(file.parent.resolve()))
        if replaced is None:
            del sys.modules[name]
        else:
            sys.modules[name] = replaced


@contextlib.contextmanager
def blame(label: str, path: str, hint: str = "") -> Iterator[None]:
    """Turn an exception of the user's code into a CommandError that names the line of the user's file."""
    try:
        yield
    except CommandError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, SyntaxError) and error.lineno:
            raise CommandError(f"{label}: line {error.lineno}: {type(error).__name__}: {error.msg}") from error
        file = str(Path(path))  # with separators as `load_module` has them
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        where = f" line {lines[-1]}:" if lines else ""
        raise CommandError(f"{label}:{where} {type(error).__name__}: {error}{hint}") from error


def function_of(module: ModuleType, path: str, name: str) -> Function:
    """The function of that name; CommandError if there is none."""
    found = module.__dict__.get(name)
    if callable(found):
        return found
    if name in module.__dict__:
        raise CommandError(f"{path}: {name!r} is no function but of type {type(found).__name__}")
    own = [n for n, v in module.__dict__.items() if callable(v) and getattr(v, "__module__", None) == module.__name__]
    offered = difflib.get_close_matches(name, own, 3) or own[:8]
    listed = ", ".join(offered + ["..."] * (len(offered) < len(own)))
    raise CommandError(f"{path}: no function {name!r}" + (f"; it defines {listed}" if listed else ""))


# ---- the parameters --------------------------------------------------------------------------------------------------
def assignment(text: str) -> tuple[str, Nested]:
    """NAME=VALUE, where VALUE is a number, or a list, tuple or dict of numbers.

    >>> assignment("w=[1, 2.5]")
    ('w', [1, 2.5])
    """
    name, equals, literal = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise CommandError(f"--at {text}: expected NAME=VALUE")
    try:
        special = literal.strip().lower().lstrip("+-") in ("nan", "inf")
        value: Nested = float(literal) if special else ast.literal_eval(literal.strip())
        numeric = all(is_real(x) for x in flatten(value).leaves)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        numeric = False
    if not numeric or value is None:
        raise CommandError(f"--at {text}: expected a number, or a list, tuple or dict of numbers, got {literal!r}")
    return name.strip(), value


def bind(
    module: ModuleType, path: str, name: str, at: Options | None = None, wrt: list[str] | None = None
) -> Problem:
    """The function with a value for every parameter: from `at`, from its default, or the file's variable of that name.

    Differentiated are the parameters in `wrt`; without it, those with a numeric default or a value in `at`; if there
    are none, those that the file sets to a float, or else to a list, dict or array of floats.
    """
    function = function_of(module, path, name)
    label = f"{path}:{name}"
    at = at or {}
    with blame(label, path):
        parameters = {
            p.name: p
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }
    if not parameters:
        raise CommandError(f"{label}: the function has no parameters, so there is nothing to differentiate")
    for option, names in (("--at", at), ("--wrt", wrt or [])):
        for unknown in (n for n in names if n not in parameters):
            raise CommandError(f"{label}: {option}: no parameter {unknown!r}; there are {', '.join(parameters)}")

    values: Options = {}
    for parameter in parameters.values():
        n = parameter.name
        if parameter.default is not parameter.empty:
            values[n] = parameter.default
        elif n in module.__dict__:
            values[n] = module.__dict__[n]
        elif n not in at:
            raise CommandError(
                f"{label}: parameter {n!r} has no value; give it a default, define {n} in the file, or use --at {n}=..."
            )
        if n in at:
            values[n] = np.array(at[n], float) if isinstance(values.get(n), np.ndarray) else at[n]
        require_no_nan(label, n, values[n])

    given = [n for n, p in parameters.items() if n in at or (p.default is not p.empty and _is_point(values[n]))]
    floats = [n for n, v in values.items() if isinstance(v, (float, np.floating))]
    active = list(dict.fromkeys(wrt)) if wrt else given or floats or [n for n, v in values.items() if _is_point(v)]
    if not active:
        raise CommandError(f"{label}: no parameter has a numeric default; choose what to differentiate with --wrt")
    integers = tuple(n for n in active if isinstance(values[n], int))
    for n in active:
        values[n] = _floats(label, n, values[n])
    keywords = frozenset(n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY)
    return Problem(label, path, function, values, tuple(active), keywords, integers)


def components(name: str, value: Nested) -> Components:
    """The numbers of a parameter by name: `w[0]`, `p['rate']`, `a[1, 2]`.

    >>> components("w", [1.0, {"b": 2.0}])
    [('w[0]', 1.0), ("w[1]['b']", 2.0)]
    """
    tree = flatten(value)
    if tree.spec is None:
        names = [name]
    else:
        import optree

        names = [accessor.codify(name) for accessor in optree.tree_accessors(value)]
    found: Components = []
    for leaf_name, leaf in zip(names, tree.leaves, strict=True):
        if isinstance(leaf, np.ndarray):
            for index, x in np.ndenumerate(leaf):
                found.append((f"{leaf_name}[{', '.join(map(str, index))}]" if index else leaf_name, x))
        else:
            found.append((leaf_name, leaf))
    return found


def require_no_nan(label: str, name: str, value: Nested) -> None:
    """CommandError that names the first number in value that is nan."""
    if any(_has_nan(leaf) for leaf in flatten(value).leaves):
        (place, *_) = (n for n, x in components(name, value) if _has_nan(x))
        raise CommandError(f"{label}: {place} is nan")


def _has_nan(leaf: Value) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "fc" and bool(np.isnan(leaf).any())
    return isinstance(leaf, (float, np.floating)) and math.isnan(leaf)


def _is_number(leaf: Value) -> bool:
    """Whether a leaf can be differentiated: real numbers, not truth values."""
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "fiu"
    return is_real(leaf) and not isinstance(leaf, (bool, np.bool_))


def _is_point(value: Nested) -> bool:
    """A number, or a container of numbers that are not all integers (a shape, a list of counts)."""
    tree = flatten(value)
    real = bool(tree.leaves) and all(map(_is_number, tree.leaves))
    return real and (is_real(value) or any(map(_is_float, tree.leaves)))


def _is_float(leaf: Value) -> bool:
    return leaf.dtype.kind == "f" if isinstance(leaf, np.ndarray) else isinstance(leaf, (float, np.floating))


def _floats(label: str, name: str, value: Nested) -> Nested:
    """The value with floats in place of integers; CommandError if it holds anything but finite real numbers."""
    tree = flatten(value)
    for leaf in tree.leaves:
        if not _is_number(leaf):
            kind = f"an array of {leaf.dtype}" if isinstance(leaf, np.ndarray) else type(leaf).__name__
            raise CommandError(
                f"{label}: {name!r} cannot be differentiated: expected real numbers, or lists, tuples, dicts and "
                f"arrays of them, got {kind}"
            )
    if not any(map(elements, tree.leaves)):
        raise CommandError(f"{label}: {name!r} cannot be differentiated: there are no numbers in it")
    for place, x in components(name, value):
        if not _finite(x):
            raise CommandError(f"{label}: {place} must be finite, got {x}")
    leaves = []
    for leaf in tree.leaves:
        numbers = [float(x) for x in elements(leaf)]
        leaves.append(assemble(numbers, leaf.shape) if isinstance(leaf, np.ndarray) else numbers[0])
    return tree.unflatten(leaves)


def _finite(x: float) -> bool:
    try:
        return math.isfinite(x)
    except OverflowError:  # an integer beyond the floats
        return False
