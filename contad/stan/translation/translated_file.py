"""The Python file for a Stan program."""

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from contad import stan
from contad.stan.translation.stan_expressions import StanExpressions, normalise
from contad.stan.translation.stan_statements import StanStatements, break_line, names_in
from contad.stan.translation.stanc import StanBlock, Statement, TranslationError, fields, read_blocks, run_stanc

_NONE = StanBlock("", [])


def translate(path: Path) -> str:
    """The Python file that says what a Stan program says.

    The file has the program's functions, its transformed data, its density and its generated quantities as functions,
    the parameters' block as text, and `model(...)`, which takes the data and returns a `contad.stan.Model`. Places in
    it count from 0. Bounds of data and of transformed parameters are not checked, and neither are indices: Numba reads
    and writes past the end of an array unless NUMBA_BOUNDSCHECK=1 is set.

    Raises TranslationError, which names the line, for a program that stanc refuses or that has no counterpart.
    """
    return write_file(path.stem, read_blocks(run_stanc(path), path.read_text(encoding="utf-8")))


def write_file(title: str, blocks: dict[str, StanBlock]) -> str:
    """The Python file for a program's blocks."""
    imports: set[str] = set()
    _FileWriter(title, blocks, imports, frozenset()).write()  # which says what the file imports
    return _FileWriter(title, blocks, set(), frozenset(imports)).write()


class _FileWriter:
    def __init__(self, title: str, blocks: dict[str, StanBlock], imports: set[str], taken: frozenset[str]) -> None:
        self._title = title
        self._blocks = blocks
        self._imports = imports
        self._taken = taken
        self._functions = [s for s in self._block("functions").statements if s.kind == "FunDef" and _has_body(s)]
        self._own = frozenset(_name_of(fields(s.parts)["funname"]) for s in self._functions)
        self._with_propto = frozenset(
            _name_of(fields(s.parts)["funname"]) for s in self._functions
            if any(name != normalise(name) for name in names_in(s.parts))
        )  # fmt: skip

    def _block(self, name: str) -> StanBlock:
        return self._blocks.get(name, _NONE)

    def _list_declared(self, name: str) -> list[str]:
        return [variable for s in self._block(name).statements if s.kind == "VarDecl" for variable in _variables_of(s)]

    def _expressions(self) -> StanExpressions:
        return StanExpressions(frozenset(stan.__all__), self._imports, self._own, self._taken, self._with_propto)

    def write(self) -> str:
        """The text of the file."""
        seen = set[str]()
        for function in self._functions:
            name = _name_of(fields(function.parts)["funname"])
            why = "functions of random numbers have no counterpart yet; draw in generated quantities"
            if name in seen:
                why = "functions with several forms of arguments have no counterpart yet; name them apart"
            if name in seen or name.endswith("_rng"):
                raise TranslationError(f"line {function.line}: {why}")
            seen.add(name)
        if any(name.endswith("_rng") for s in self._block("transformed data").statements for name in names_in(s.parts)):
            raise TranslationError("random numbers in transformed data have no counterpart yet; pass them as data")
        functions = [line for function in self._functions for line in self._write_function(function)]
        made = self._list_declared("transformed data")
        data = self._list_declared("data")
        body = [
            *functions, *self._write_transformed_data(data, made), *self._write_density(data, made),
            *self._write_quantities(data, made), *self._write_model(data, made),
        ]  # fmt: skip
        solvers = sorted(self._imports & {"dopri5", "sdirk4"})
        names = sorted({"Model", *self._imports} - set(solvers))
        head = [f'"""{self._title}, translated from Stan."""', "", "import numpy as np", "from numba import njit", ""]
        if solvers:
            head.append(f"from contad.scipy.integrate import {', '.join(solvers)}")
        one_line = f"from contad.stan import {', '.join(names)}"
        several = ["from contad.stan import (", *(f"    {name}," for name in names), ")"]
        head += [one_line] if len(one_line) <= 100 else several
        if data:
            head.append("from contad.stan.shapes import read_data")
        text = _python_names(self._block("parameters").text, self._expressions(), self._list_declared("parameters"))
        parameters = ["", 'PARAMETERS = """', *_escape_quotes(text).strip("\n").rstrip().splitlines(), '"""']
        return "\n".join([*head, *parameters, *body]) + "\n"

    # ---- functions ----
    def _write_function(self, function: Statement) -> list[str]:
        declared = fields(function.parts)
        expressions = self._expressions()
        arguments = [expressions.name(_name_of(argument[2])) for argument in declared["arguments"]]
        writer = StanStatements(expressions)
        body = declared["body"]
        name = _name_of(declared["funname"])
        writer.adds = name.endswith("_lp")
        if writer.adds:
            if declared["returntype"] != "Void":
                raise TranslationError(f"line {function.line}: {name} adds to target; make it return only what it adds")
            writer.put("target = 0.0")
            expressions.uses_propto = True
        writer.write(body.parts[0])
        if writer.adds:
            writer.put("return target")
        if expressions.uses_propto:
            arguments.append("propto=False")
        signature = f"def {expressions.name(name)}({', '.join(arguments)}):"
        return ["", "", *(f"# {line}" for line in function.comments), "@njit", *break_line(signature), *writer.lines]

    # ---- blocks ----
    def _write_transformed_data(self, data: list[str], made: list[str]) -> list[str]:
        block = self._block("transformed data")
        if not made:
            return []
        expressions = self._expressions()
        writer = StanStatements(expressions)
        writer.put('"""The constants that are made from the data."""')
        writer.write(block.statements)
        writer.comment(block.comments)
        writer.put("return {" + ", ".join(f'"{expressions.name(n)}": {expressions.name(n)}' for n in made) + "}")
        return ["", "", *self._signature("transform_data", self._list_used(data, "transformed data")), *writer.lines]

    def _write_density(self, data: list[str], made: list[str]) -> list[str]:
        expressions = self._expressions()
        writer = StanStatements(expressions)
        writer.put("target = 0.0")
        for name in ("transformed parameters", "model"):
            block = self._block(name)
            writer.write(block.statements)
            writer.comment(block.comments)
        writer.put("return target")
        constants = self._list_used([*data, *made], "transformed parameters", "model")
        taken = [*self._list_declared("parameters"), *constants]
        propto = ["propto=True"] if expressions.uses_propto else []
        return ["", "", "@njit", *self._signature("log_density", taken, propto), *writer.lines]

    def _write_quantities(self, data: list[str], made: list[str]) -> list[str]:
        block = self._block("generated quantities")
        new = [*self._list_declared("transformed parameters"), *self._list_declared("generated quantities")]
        if not new:
            return []
        expressions = self._expressions()
        writer = StanStatements(expressions)
        writer.put('"""The transformed parameters and the generated quantities; `rng` is a NumPy generator."""')
        writer.write(self._block("transformed parameters").statements)
        writer.write(block.statements)
        writer.comment(block.comments)
        writer.put("return {" + ", ".join(f'"{expressions.name(n)}": {expressions.name(n)}' for n in new) + "}")
        parts = "transformed parameters", "generated quantities"
        taken = [*self._list_used(self._list_declared("parameters"), *parts), *self._list_used([*data, *made], *parts)]
        return ["", "", *self._signature("generated_quantities", ["rng", *taken]), *writer.lines]

    def _write_model(self, data: list[str], made: list[str]) -> list[str]:
        expressions = self._expressions()
        writer = StanStatements(expressions)
        writer.put('"""The model for these data."""')
        for statement in self._block("parameters").statements:
            writer.shape_at(statement)  # which refuses types without a counterpart
        for statement in self._block("data").statements:
            shape, is_int = writer.shape_at(statement)
            for name in _variables_of(statement):
                if expressions.name(name) != name:
                    raise TranslationError(
                        f"line {statement.line}: the data have a name that Python needs: rename {name}"
                    )
                sizes = ", ".join(ast.unparse(size) for size in shape)
                options = f", ({sizes}{',' * (len(shape) == 1)})" * bool(shape) + ", whole=True" * is_int
                writer.put(f'{name} = read_data("{name}", {name}{options})')
        names = [expressions.name(name) for name in data]
        writer.put("data = {" + ", ".join(f'"{name}": {name}' for name in names) + "}")
        if made:
            used = [expressions.name(name) for name in self._list_used(data, "transformed data")]
            writer.put(f"data |= transform_data({', '.join(used)})")
        has_quantities = self._list_declared("transformed parameters") + self._list_declared("generated quantities")
        quantities = ", generated_quantities=generated_quantities" if has_quantities else ""
        writer.put(f"return Model(PARAMETERS, log_density{quantities}, **data)")
        return ["", "", *self._signature("model", data), *writer.lines]

    def _signature(self, name: str, arguments: Iterable[str], more: Sequence[str] = ()) -> list[str]:
        expressions = self._expressions()
        python = [argument if argument == "rng" else expressions.name(argument) for argument in arguments]
        return break_line(f"def {name}({', '.join([*python, *more])}):")

    def _list_used(self, names: Sequence[str], *blocks: str) -> list[str]:
        mentioned = set().union(*(names_in(s.parts) for name in blocks for s in self._block(name).statements))
        return [name for name in names if name in mentioned]


def _escape_quotes(text: str) -> str:
    """A text between three quotes."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _name_of(identifier: Any) -> str:
    return str(identifier[0][1])


def _variables_of(declaration: Statement) -> list[str]:
    return [_name_of(fields(variable)["identifier"]) for variable in fields(declaration.parts)["variables"]]


def _has_body(function: Statement) -> bool:
    return fields(function.parts)["body"].kind == "Block"


def _python_names(text: str, expressions: StanExpressions, names: Sequence[str]) -> str:
    for name in names:
        if expressions.name(name) != name:
            text = re.sub(rf"\b{name}\b", expressions.name(name), text)
    return text
