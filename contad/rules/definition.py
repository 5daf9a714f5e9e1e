"""A function's definition as a syntax tree, read from its file and compared with the imported code; and its names."""

import ast
import builtins
import dis
import functools
import inspect
import linecache
import re
import textwrap
import tokenize
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from contad.errors import StaleSourceError
from contad.variables.open_types import Function
from contad.variables.weak_cache import weak_cache

_DEFINITION = re.compile(r"\s*(async\s+)?def\b")
_NOTHING = bytes((dis.opmap["NOP"], 0))
WRITTEN = "__contad_written__"  # the attribute of a copy with other flags: the function in the file


def definition_of(function: Function, lambdas: bool = False) -> tuple[ast.stmt, int]:
    """The statement that defines a function, without decorators, and the line it starts on.

    With `lambdas`, the definition of a lambda is a function that returns its expression; otherwise lambdas are refused.

    Raises OSError if there is no source, and StaleSourceError if the file has changed since it was imported, because
    the lines read now would not be those of the running function.
    """
    function = function.__dict__.get(WRITTEN, function)
    code = function.__code__
    start = code.co_firstlineno
    try:
        lines, before = _find_lines(function)
        start = before + 1
        # the lines of a lambda may be only a part of a statement
        definition = _parse(["..."], before) if code.co_name == "<lambda>" else _parse_definition(lines, before)
        compiled = _compile_alone(definition, function) or _compile("".join(lines), code.co_filename)
    except (SyntaxError, tokenize.TokenError, IndexError):  # the file is not valid Python now, or defines nothing there
        compiled = None
    # pytest rewrites assert statements, so code with them differs from its source
    if compiled is None or not (any(_same(found, code) for found in codes_of(compiled)) or _asserts(definition)):
        if code.co_filename.startswith("<"):  # no file: from Python 3.13 on `<string>` has the source of `python -c`
            raise OSError(f"the source of {function.__name__} is not known")
        raise StaleSourceError(
            f"{code.co_filename}:{start}: the source of {function.__name__} has changed since it was imported; restart "
            "Python, or reload the module"
        )
    if isinstance(definition, ast.FunctionDef):
        definition.decorator_list = []
    if lambdas and code.co_name == "<lambda>":
        found = _find_lambda("".join(lines), code)
        return definition if found is None else found, start
    return definition, start


def _find_lines(function: Function) -> tuple[list[str], int]:
    """(the lines of the file, how many come before the function); OSError if the file cannot be read."""
    code = function.__code__
    if not code.co_filename.startswith("<"):  # for a file `inspect` searches all modules
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
        if code.co_firstlineno <= len(lines):
            return lines, code.co_firstlineno - 1
    return inspect.findsource(function)


def _asserts(definition: ast.stmt) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(definition))


def _parse_definition(lines: list[str], before: int = 0) -> ast.stmt:
    """The definition after this number of lines.

    It ends before the next line that is not indented deeper. If a string or an expression continues in that line, the
    lines before it do not parse, and `inspect` finds the end token by token, which takes ten times as long.
    """
    first = next((n for n in range(before, len(lines)) if _DEFINITION.match(lines[n])), before)
    depth = len(lines[first]) - len(lines[first].lstrip())
    end = next((n for n in range(first + 1, len(lines)) if _begins_another(lines[n], depth)), len(lines))
    try:
        return _parse(lines[before:end], before)
    except SyntaxError:
        return _parse(inspect.getblock(lines[before:]), before)


def _begins_another(line: str, depth: int) -> bool:
    """Whether a line is not indented deeper, and neither a comment nor the end of an expression in brackets."""
    text = line.lstrip()
    return bool(text) and len(line) - len(text) <= depth and text[0] not in "#)]}"


def _parse(lines: list[str], before: int) -> ast.stmt:
    """The first statement of lines, after this number of other lines."""
    return ast.parse("\n" * before + textwrap.dedent("".join(lines))).body[0]


def has_source(function: Function) -> bool:
    """Whether the source of a function can be read."""
    file = function.__code__.co_filename
    if not file.startswith("<"):
        return bool(linecache.getlines(file))
    try:
        definition_of(function)
    except OSError:
        return False
    return True


def _find_lambda(text: str, code: CodeType) -> ast.FunctionDef | None:
    """A lambda as a function that returns its expression: the innermost one that holds all places of the code."""
    places = {(line, column) for line, _, column, _ in code.co_positions() if line and column and line > 0}
    found = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno and places:
            x = node.body
            end = x.end_lineno or 0, x.end_col_offset or 0
            if all((x.lineno, x.col_offset) <= place < end for place in places):
                found = node  # inner ones come later
    if found is None:
        return None
    made = ast.parse("def lambda_(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = found.args, [ast.copy_location(ast.Return(found.body), found)]
    return ast.fix_missing_locations(ast.copy_location(made, found))


def without_annotations(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The definition without annotations, whose names may be undefined, and with None for its defaults."""
    definition.returns = None
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [ast.Constant(None) for _ in definition.args.kw_defaults]
    return definition


def factory_of(definition: ast.FunctionDef, name: str, captured: Sequence[str]) -> ast.Module:
    """A module with a function of that name, which takes the captured values and returns the defined function."""
    factory = ast.parse(f"def {name}({', '.join(captured)}):\n    return {definition.name}")
    factory.body[0].body.insert(0, definition)  # type: ignore[attr-defined]
    return ast.fix_missing_locations(factory)


def _compile_alone(definition: ast.stmt, function: Function) -> CodeType | None:
    """The code of a definition, compiled after imports of the modules that it names, if it equals the function's
    code."""
    code, names = function.__code__, function.__globals__
    modules = [ast.alias(name) for name in code.co_names if isinstance(names.get(name), ModuleType)]
    imports = [ast.fix_missing_locations(ast.Import(modules))] if modules else []
    try:
        module = compile(ast.Module([*imports, definition], []), code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, RecursionError):  # `nonlocal` in an inner function; a sum of thousands of terms
        return None
    return module if any(_same(found, code) for found in codes_of(module)) else None


@functools.lru_cache(maxsize=32)
def _compile(text: str, filename: str) -> CodeType:
    """Compile the whole file, because the code of a function may depend on its surroundings."""
    return compile(text, filename, "exec", dont_inherit=True)


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects do the same on the same lines, wherever they were compiled."""
    return a.co_firstlineno == b.co_firstlineno and _essence(a) == _essence(b)


def _essence(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_essence(x) if isinstance(x, CodeType) else repr(x) for x in code.co_consts)
    written = code.co_code
    while written.endswith(_NOTHING):  # line_profiler adds them, to distinguish functions with the same code
        written = written.removesuffix(_NOTHING)
    return code.co_name, written, code.co_names, code.co_varnames, code.co_freevars, constants


def find_named(function: Any, node: ast.expr, refuse: Callable[[ast.expr, str], Exception], hint: str) -> Any:
    """The object that a global name, a captured name or a module attribute in a function stands for.

    `refuse(node, message)` makes the error if there is no such object; the hint says what to use for a builtin.
    """
    if isinstance(node, ast.Attribute):
        base = find_named(function, node.value, refuse, hint)
        if not isinstance(base, ModuleType):
            raise refuse(node, f"{ast.unparse(node)} is not a constant of a module")
        if not hasattr(base, node.attr):
            raise refuse(node, f"{ast.unparse(node)} is not defined")
        return getattr(base, node.attr)
    if not isinstance(node, ast.Name):
        raise refuse(node, f"{ast.unparse(node)} is not a name")
    for names in (captured_values(function), function.__globals__):
        if node.id in names:
            return names[node.id]
    raise refuse(node, f"the name {node.id} is not defined" + (hint if hasattr(builtins, node.id) else ""))


def describe_statement(statement: ast.stmt) -> str:
    """A message that says what a straight-line body may contain, and what to write instead of a statement."""
    base = "a body holds assignments to one name each, and one return"
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        target, binary = statement.target.id, ast.BinOp(statement.target, statement.op, statement.value)
        return f"{base}; write {target}_2 = {ast.unparse(binary)}, a new name"
    if isinstance(statement, ast.If):
        return f"{base}; in place of if, contad.select({ast.unparse(statement.test)}, one, other) chooses a value"
    return base


# ---- the names in a function, and copies of it with other values -----------------------------------------------------
def codes_of(code: CodeType) -> list[CodeType]:
    """The code of a function, and of the functions inside it."""
    return [code, *(c for x in code.co_consts if isinstance(x, CodeType) for c in codes_of(x))]


def global_names(code: CodeType) -> set[str]:
    """The names that a function and the functions inside it may look up: of globals, builtins and attributes."""
    return {name for inner in codes_of(code) for name in inner.co_names}


@weak_cache
def looked_up(code: CodeType) -> frozenset[str]:
    """The names among these that are looked up in globals and builtins: `math` in math.exp, but not `exp`."""
    instructions = (i for inner in codes_of(code) for i in dis.get_instructions(inner))
    return frozenset(i.argval for i in instructions if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def captured_values(f: FunctionType) -> dict[str, Any]:
    """The current values of the captured names of a function; unbound ones are left out."""
    found = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def named_values(f: FunctionType) -> dict[str, Any]:
    """The current values of the global and captured names of a function."""
    own = f.__globals__
    return {name: own[name] for name in sorted(looked_up(f.__code__) & own.keys())} | captured_values(f)


def copy_under(f: FunctionType, names: dict[str, Any], code: CodeType | None = None) -> FunctionType:
    """A copy of f whose globals are `names`, and whose captured names are not bound yet; see `bind_captured`."""
    cells = tuple(CellType() for _ in f.__code__.co_freevars)
    copy = FunctionType(code or f.__code__, names, f.__name__, f.__defaults__, cells)
    copy.__kwdefaults__ = f.__kwdefaults__
    copy.__qualname__, copy.__module__ = f.__qualname__, f.__module__
    return copy


def bind_captured(copy: FunctionType, values: Mapping[str, Any], translate: Callable[[Any], Any]) -> None:
    """Bind the captured names of a copy to the translated values."""
    for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
        if name in values:
            cell.cell_contents = translate(values[name])
