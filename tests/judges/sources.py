"""The sources of the package, by the names of their modules."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "contad"


def module_name(path):
    """`contad.ops.special` for contad/ops/special.py; a package's own file keeps its `__init__`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


SOURCES = {module_name(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
