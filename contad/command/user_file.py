"""A user's file: its module, its function, and errors that name its lines."""

import contextlib
import difflib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from contad.variables.open_types import Function


class CommandError(Exception):
    """An error that the user sees as one line."""


@contextlib.contextmanager
def load_module(path: str) -> Iterator[ModuleType]:
    """The module of a file; while it is in use, it can import modules beside it.

    Raises CommandError, with a message of one line, for any exception in it.
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
            # not exec_module, which may take an older version of an edited file from the bytecode cache
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
        file = str(Path(path))  # with the separators of `load_module`
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        where = f" line {lines[-1]}:" if lines else ""
        raise CommandError(f"{label}:{where} {type(error).__name__}: {error}{hint}") from error


def function_of(module: ModuleType, path: str, name: str) -> Function:
    """The function of that name; CommandError if there is none."""
    found = module.__dict__.get(name)
    if callable(found):
        return found
    owner, dot, method = name.rpartition(".")
    if dot:
        raise CommandError(
            f"{path}: {name!r}: methods are not taken; write a function in the file whose parameters are the numbers, "
            f"and call .{method} of a {owner} in it"
        )
    if name in module.__dict__:
        raise CommandError(f"{path}: {name!r} is no function but of type {type(found).__name__}")
    own = [n for n, v in module.__dict__.items() if callable(v) and getattr(v, "__module__", None) == module.__name__]
    offered = difflib.get_close_matches(name, own, 3) or own[:8]
    listed = ", ".join(offered + ["..."] * (len(offered) < len(own)))
    raise CommandError(f"{path}: no function {name!r}" + (f"; it defines {listed}" if listed else ""))
