"""The text of a derivative as a module: its imports, the functions that `run` calls, and `run`."""

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contad.engines.source.ir.printing import print_function, print_statements
from contad.engines.source.ir.runtime_names import RUNTIME
from contad.engines.source.ir.syntax import called_name, nodes_in, statement, string


class ModuleFunction(NamedTuple):
    """A function of a module, its decorator, and whether threads share its strips."""

    function: ast.FunctionDef
    decorator: str
    is_shared: bool = False


def print_module(
    what: str, rules: Iterable[str], constants: Sequence[ast.stmt], functions: Sequence[ModuleFunction]
) -> str:
    """The text of a module: its docstring, the rules whose values it calls, its constants, its functions in order."""
    values = [
        statement("value = value_function(rule(name))", value=f"value_{rule}", name=string(rule))
        for rule in sorted(rules)
    ]
    body: list[str] = []
    for function, decorator, is_shared in functions:
        body += ["", "", *([f"@{decorator}"] if decorator else []), *print_function(function)]
        if is_shared:
            body += ["", "", f"share_{function.name} = sharer({function.name})"]
    used = {called_name(x) for s in (*values, *constants, *(f.function for f in functions)) for x in nodes_in(s)}
    used |= {f.decorator.partition("(")[0] for f in functions} | {"sharer" for f in functions if f.is_shared}
    own = [
        f"from contad.{module} import {', '.join(found)}"
        for module, names in RUNTIME.items()
        if (found := [name for name in names if name in used])
    ]
    lines = [f'"""{what}"""', "", "import math", "", "import numpy as np"]
    for block in (sorted(own), print_statements(values), print_statements(constants)):
        lines += ["", *block] if block else []
    return "\n".join([*lines, *body]) + "\n"
