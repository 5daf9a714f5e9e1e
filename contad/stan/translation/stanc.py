"""A Stan program as the typed tree that stanc, Stan's own compiler, makes of it.

stanc prints its tree as an S-expression without places. Statements get their lines and comments back from the text:
the n-th statement without a body ends with the n-th semicolon of its block.
"""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BLOCKS = {
    "functions": "functionblock", "data": "datablock", "transformed data": "transformeddatablock",
    "parameters": "parametersblock", "transformed parameters": "transformedparametersblock", "model": "modelblock",
    "generated quantities": "generatedquantitiesblock",
}  # fmt: skip

Node = Any  # a word, or a list of nodes


class TranslationError(Exception):
    """A Stan program, or a part of it, that cannot be translated; the message names the line."""


class Statement(NamedTuple):
    """A statement of a Stan program."""

    kind: str  # the name of stanc's constructor
    parts: list[Any]  # its fields, as they are printed
    line: int
    comments: tuple[str, ...] = ()  # on lines of their own before it
    remark: str = ""  # on its own line, after it


class StanBlock(NamedTuple):
    """A block of a Stan program."""

    text: str  # what is between its braces
    statements: list[Statement]
    comments: tuple[str, ...] = ()  # those after the last statement


def find_stanc() -> str:
    """The path of stanc: that of the package httpstan, or one on the path.

    Raises TranslationError if there is neither.
    """
    package = importlib.util.find_spec("httpstan")
    if package is not None and package.submodule_search_locations:
        bundled = Path(package.submodule_search_locations[0]) / "stanc"
        if bundled.exists():
            return str(bundled)
    found = shutil.which("stanc")
    if found is None:
        raise TranslationError("Stan's compiler stanc is not here; `pip install httpstan` brings it")
    return found


def run_stanc(path: Path) -> str:
    """The typed tree that stanc prints for a Stan program.

    Raises TranslationError with stanc's message for a program that is not valid.
    """
    command = [find_stanc(), "--debug-decorated-ast", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TranslationError(done.stderr.strip())
    return done.stdout


def read_blocks(tree: str, text: str) -> dict[str, StanBlock]:
    """The blocks of a Stan program by their names, without those that it does not have, from its tree and its text."""
    lines = text.splitlines(keepends=True)
    parts = fields(read_tree(tree))
    found = {}
    for name, key in BLOCKS.items():
        if parts[key]:
            block = fields(parts[key][0])
            begin, end = (fields(place) for place in fields(block["xloc"]).values())
            found[name] = _read_block(name, block["stmts"], lines, begin, end)
    return found


def fields(record: Any) -> dict[str, Any]:
    """A printed record, ((name value) ...), as a dict."""
    return {pair[0]: pair[1] for pair in record if len(pair) == 2}


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()]+')


def read_tree(text: str) -> list[Node]:
    """An S-expression as nested lists of words."""
    waiting: list[list[Node]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            waiting.append([])
        elif token == ")":
            done = waiting.pop()
            waiting[-1].append(done)
        else:
            waiting[-1].append(token)
    first = waiting[0][0]
    assert isinstance(first, list)
    return first


# ---- lines and comments ----------------------------------------------------------------------------------------------
_LEXEME = re.compile(r'//[^\n]*|\#[^\n]*|/\*.*?\*/|"[^"\n]*"|;|\n|[^\s;"/#]+|/|\s', re.DOTALL)


class _End(NamedTuple):
    line: int  # where the statement begins
    before: tuple[str, ...]  # the comments before its first word
    inside: tuple[str, ...]  # those after it: in the head of a loop or a branch
    remark: str


def _read_ends(text: str, line: int) -> tuple[list[_End], tuple[str, ...]]:
    """For each semicolon, the line and the comments of the statement that it ends, and the comments after the last."""
    ends: list[_End] = []
    before: list[str] = []
    inside: list[str] = []
    begin = 0  # the line of the statement's first word, once there is one
    has_code = False  # whether this line has code
    for lexeme in _LEXEME.findall(text):
        if lexeme.startswith(("//", "#", "/*")):
            found = [stripped for part in _comment_text(lexeme).splitlines() if (stripped := part.strip())]
            if has_code and not begin and ends and len(found) == 1:
                ends[-1] = ends[-1]._replace(remark=found[0])
            else:
                (inside if begin else before).extend(found)
        elif lexeme == ";":
            ends.append(_End(begin or line, tuple(before), tuple(inside), ""))
            before, inside, begin = [], [], 0
        elif not lexeme.isspace():
            has_code = True
            if lexeme not in ("{", "}") and not begin:
                begin = line
        if "\n" in lexeme:
            has_code = False
        line += lexeme.count("\n")
    return ends, tuple(before)


class _Places:
    """The ends of a block's statements, taken one by one."""

    def __init__(self, ends: list[_End], last: int) -> None:
        self._ends = [*ends, _End(last, (), (), "")]  # for an empty body at the end
        self._next = 0

    def peek(self) -> _End:
        return self._ends[min(self._next, len(self._ends) - 1)]

    def next(self) -> _End:
        self._next += 1
        return self._ends[self._next - 1]

    def take_before(self) -> tuple[str, ...]:
        """The comments before the next statement, which are then no longer that statement's."""
        end = self.peek()
        self._ends[self._next] = end._replace(before=())
        return end.before

    def is_done(self) -> bool:
        return self._next == len(self._ends) - 1


def _comment_text(lexeme: str) -> str:
    if lexeme.startswith("/*"):
        return "\n".join(line.strip().lstrip("*") for line in lexeme[2:-2].strip("*").splitlines())
    return lexeme.lstrip("/#")


def _read_block(name: str, nodes: list[Any], lines: list[str], begin: dict[str, str], end: dict[str, str]) -> StanBlock:
    first, last = int(begin["line_num"]) - 1, int(end["line_num"]) - 1
    body = lines[first : last + 1]
    body[-1] = body[-1][: int(end["col_num"])]
    body[0] = body[0][int(begin["col_num"]) :]
    head, _, text = "".join(body).partition("{")
    text = text[: text.rindex("}")]
    ends, comments = _read_ends(text, first + 1 + head.count("\n"))
    places = _Places(ends, last + 1)
    statements = [_read_statement(node, places) for node in nodes]
    if not places.is_done():
        raise TranslationError(f"the statements of block {name!r} do not match its text")
    return StanBlock(text, statements, comments)


def _read_statement(node: Any, places: "_Places") -> Statement:
    """A printed statement; those inside of it become Statements, too."""
    inner = fields(node)["stmt"]
    kind, parts = (inner, []) if isinstance(inner, str) else (inner[0], inner[1:])
    if kind != "Block" and not any(_is_statement(piece) for piece in _pieces(parts)):
        end = places.next()
        return Statement(kind, parts, end.line, end.before + end.inside, end.remark)
    first = places.peek()
    comments = () if kind == "Block" else places.take_before()
    return Statement(kind, [_read_inside(part, places) for part in parts], first.line, comments)


def _read_inside(part: Any, places: "_Places") -> Any:
    if isinstance(part, str) or not any(_is_statement(piece) for piece in _pieces(part)):
        return part
    return _read_statement(part, places) if _is_statement(part) else [_read_inside(piece, places) for piece in part]


def _is_statement(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], list) and part[0][:1] == ["stmt"]


def _pieces(part: Any) -> Iterator[Any]:
    yield part
    if isinstance(part, list):
        for piece in part:
            yield from _pieces(piece)
