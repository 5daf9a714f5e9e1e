"""Functions from rows of text, whose lines can be read again like those of a file: Numba functions have a source."""

import linecache
import zlib
from types import SimpleNamespace

import numba


def define(text, filename, names):
    """Names with those that a text defines, as if it were a file."""
    if linecache.cache.get(filename, (None,) * 3)[2] != text.splitlines(True):
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), names)
    return names


def function_of(row, known, head="f(x)"):
    """The function of a row: statements, separated by `;`, and last its result."""
    *lines, result = (part.strip() for part in row.split(";"))
    text = f"def {head}:\n" + "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
    return define(text, f"<row {zlib.crc32(text.encode())}>", dict(known))[head.partition("(")[0]]


def numba_functions(rows, known):
    """The Numba functions of rows by their heads, as attributes; one may call those above it.

    A row may come with options of njit, or with signatures.
    """
    known, found = dict(known), SimpleNamespace()
    for head, given in rows.items():
        row, options = given if isinstance(given, tuple) else (given, {})
        compiler = numba.njit(**options) if isinstance(options, dict) else numba.njit(options)
        name = head.partition("(")[0]
        known[name] = compiler(function_of(row, known, head))
        setattr(found, name, known[name])
    return found
