"""Arguments of a function from a file: a JSON object, a CSV table with a header, or NumPy's .npz archive.

Values are read on demand, so that columns which the function does not take need not be numbers. Every error is one line
that names the file, the row and column or the key, the expected value and the value found.
"""

import csv
import io
import json
import math
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contad.command.user_file import CommandError
from contad.variables.open_types import Nested, Options

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_LARGEST = 2**63 - 1


class DataFile(ABC):
    """Values by name, and the word for a name in such a file."""

    kind: str

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names in the file, in order."""

    @abstractmethod
    def value(self, name: str) -> Nested:
        """The value of that name: a number, an array, or dicts and lists of these; CommandError for anything else."""

    def everything(self) -> Options:
        """All values by name."""
        return {name: self.value(name) for name in self.names}

    def blame(self, place: str, expected: str, found: object) -> CommandError:
        """The error for one place of the file."""
        text = repr(found)
        return CommandError(f"{self.path}: {place}: expected {expected}, got {text[:60]}{'...' * (len(text) > 60)}")


def read_data(path: str) -> DataFile:
    """The data file, in the format of its suffix."""
    kinds: dict[str, type[DataFile]] = {".json": JsonFile, ".csv": CsvFile, ".npz": NpzFile}
    kind = kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise CommandError(f"--data: expected a file whose name ends in .json, .csv or .npz, got {path!r}")
    try:
        return kind(path)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: expected text in UTF-8, got the byte {error.object[error.start]:#04x}") from error


# ---- JSON ------------------------------------------------------------------------------------------------------------
class JsonFile(DataFile):
    """An object of numbers, lists of numbers, and objects of these."""

    kind = "key"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with open(path, encoding="utf-8-sig") as file:
            try:
                self.found = json.load(file, object_pairs_hook=self._object)
            except json.JSONDecodeError as error:
                raise CommandError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}") from error
            except RecursionError as error:
                raise CommandError(f"{path}: its lists are nested too deeply") from error
        if not isinstance(self.found, dict):
            kind = _json_kind(self.found)
            raise CommandError(f'{path}: expected an object with a key for each argument, {{"x": 1.5}}, got {kind}')

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A dict; CommandError if a key occurs twice, because JSON would take the last one."""
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise CommandError(f"{self.path}: the key {twice!r} occurs twice in one object")
        return found

    @property
    def names(self) -> Sequence[str]:
        """The keys."""
        return list(self.found)

    def value(self, name: str) -> Nested:
        """The value of the key, with arrays for lists of numbers."""
        return self._convert(name, self.found[name])

    def _convert(self, place: str, x: Any) -> Nested:
        if isinstance(x, dict):
            return {key: self._convert(f"{place}[{key!r}]", value) for key, value in x.items()}
        if isinstance(x, list):
            return self._sequence(place, x)
        if isinstance(x, bool):
            return x
        return self._number(place, x)

    def _number(self, place: str, x: Any) -> Any:
        if isinstance(x, bool) or not isinstance(x, (int, float)):
            raise self.blame(f"key {place!r}", "a finite number", x)
        if isinstance(x, int) and abs(x) > _LARGEST:
            raise self.blame(f"key {place!r}", "an integer of at most 64 bits", x)
        if not math.isfinite(x):
            raise self.blame(f"key {place!r}", "a finite number", x)
        return x

    def _sequence(self, place: str, x: list[Any]) -> Nested:
        """An array if the elements are numbers or arrays of one shape, a list if they are objects."""
        if x and all(isinstance(v, bool) for v in x):
            return np.array(x)
        if not any(isinstance(v, (list, dict)) for v in x):
            return np.array([self._number(f"{place}[{k}]", v) for k, v in enumerate(x)], None if x else float)
        kind = type(next(v for v in x if isinstance(v, (list, dict))))
        for k, v in enumerate(x):
            if not isinstance(v, kind):
                raise self.blame(f"key '{place}[{k}]'", "an object" if kind is dict else "a list", v)
        parts = [self._convert(f"{place}[{k}]", v) for k, v in enumerate(x)]
        if not all(isinstance(part, np.ndarray) for part in parts):
            return parts
        for k, part in enumerate(parts):
            if part.shape != parts[0].shape:
                shapes = [str(p.shape[0]) if p.ndim == 1 else f"shape {p.shape}" for p in (parts[0], part)]
                raise CommandError(
                    f"{self.path}: key {place!r}: expected rows of one length, got {shapes[0]} at {place}[0] and "
                    f"{shapes[1]} at {place}[{k}]"
                )
        return np.array(parts)


def _json_kind(x: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(x), "a number")


# ---- CSV -------------------------------------------------------------------------------------------------------------
class CsvFile(DataFile):
    """A table: a header with the names of its columns, and rows of numbers below it."""

    kind = "column"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with open(path, newline="", encoding="utf-8-sig") as file:
            try:
                rows = list(csv.reader(file))
            except csv.Error as error:
                raise CommandError(f"{path}: {error}") from error
        while rows and not any(rows[-1]):
            rows.pop()
        self.header = [name.strip() for name in rows[0]] if rows else []
        self.rows = rows[1:]
        self._check_header()
        for n, row in enumerate(self.rows, 1):
            if len(row) != len(self.header):
                cells = "cell" if len(row) == 1 else "cells"
                raise CommandError(f"{path}: row {n} has {len(row)} {cells}, expected {len(self.header)} as the header")

    def _check_header(self) -> None:
        if not any(self.header) or any(map(_is_number, self.header)):
            got = ", ".join(self.header) or "nothing"
            raise CommandError(f"{self.path}: expected a header with the names of the columns, got {got}")
        for name in self.header:
            if name and self.header.count(name) > 1:
                raise CommandError(f"{self.path}: the column {name!r} occurs twice in the header")
        if len(self.header) == 1 and (other := re.search(r"[;\t|]", self.header[0])):
            raise CommandError(f"{self.path}: expected commas between the columns, got {other[0]!r} in the header")
        if not self.rows:
            raise CommandError(f"{self.path}: expected rows of numbers below the header, got none")

    @property
    def names(self) -> Sequence[str]:
        """The columns that have a name."""
        return [name for name in self.header if name]

    def value(self, name: str) -> Nested:
        """The numbers of the column: integers if all numbers are."""
        cells = self._cells(name)
        for n, cell in enumerate(cells, 1):
            if not _is_number(cell):
                raise self.blame(f"row {n}, column {name!r}", "a finite number", cell)
        whole = all(_INTEGER.fullmatch(cell) and abs(int(cell)) <= _LARGEST for cell in cells)
        return np.array([int(cell) if whole else float(cell) for cell in cells])

    def everything(self) -> Options:
        """All columns; those without any number, such as labels, as arrays of text."""
        found: Options = {}
        for name in self.names:
            cells = self._cells(name)
            labels = all(cells) and not any(map(_is_like_number, cells))
            found[name] = np.array(cells) if labels else self.value(name)
        return found

    def _cells(self, name: str) -> list[str]:
        k = self.header.index(name)
        return [row[k].strip() for row in self.rows]


def _is_like_number(cell: str) -> bool:
    """Whether a cell is intended as a number, finite or not."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_number(cell: str) -> bool:
    return "_" not in cell and _is_like_number(cell) and math.isfinite(float(cell))


# ---- NumPy -----------------------------------------------------------------------------------------------------------
class NpzFile(DataFile):
    """Arrays as np.savez writes them."""

    kind = "array"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        content = io.BytesIO(Path(path).read_bytes())
        try:
            self.archive: Any = np.load(content, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise CommandError(f"{path}: expected an archive made by np.savez, got another file") from error
        if isinstance(self.archive, np.ndarray):
            raise CommandError(f"{path}: expected an archive made by np.savez, got a single array; use np.savez(x=...)")

    @property
    def names(self) -> Sequence[str]:
        """The names of the arrays."""
        return list(self.archive.files)

    def value(self, name: str) -> Nested:
        """The array; a number if it has no axes."""
        try:
            array = self.archive[name]
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise CommandError(f"{self.path}: array {name!r}: expected numbers, got what cannot be read") from error
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
            kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else "bytes"
            raise CommandError(f"{self.path}: array {name!r}: expected real numbers, got {kind}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            place = np.argwhere(~np.isfinite(array))[0]
            index = f"[{', '.join(map(str, place))}]" if array.ndim else ""
            raise CommandError(
                f"{self.path}: array '{name}{index}': expected a finite number, got {float(array[tuple(place)])}"
            )
        return array if array.ndim else array.item()
