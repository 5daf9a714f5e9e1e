"""The sources of the package, by the names of their modules."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "contad"


def module_name(path):
    """`contad.ops.special` for contad/ops/special.py; a package's own file keeps its `__init__`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


SOURCES = {module_name(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def parse(source):
    """The tree of a source, which all that look at it share: nobody writes to it."""
    return ast.parse(source)


@functools.cache
def nodes_of(source):
    """The nodes of the tree, those of classes before what is in them."""
    return tuple(ast.walk(parse(source)))


def offences(search, sources=SOURCES):
    """What a search finds in sources, by module."""
    return {module: found for module, source in sources.items() if (found := search(source))}
