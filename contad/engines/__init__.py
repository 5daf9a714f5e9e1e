"""The engines by name. They share one protocol, `contad.variables.stack.ChainStack`, and none imports another."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from contad.engines.matrix.matrix_stack import MatrixStack
from contad.errors import UnsupportedError
from contad.variables.open_types import NumbaFunction
from contad.variables.stack import ChainStack, set_base_engine, set_engines

if TYPE_CHECKING:
    from contad.numba_functions.request import Request

DEFAULT = "matrix"
ARRAYS = "arrays"  # for arrays of other libraries, which it takes without being asked
COMPILED = ("generated", "tape")  # for Numba functions, asked in this order; a Python copy is the last resort


def engine(name: str | None = None, transform: str = "") -> type[ChainStack]:
    """The stack class of an engine; of the default engine if no name is given.

    For an unknown name it raises UnsupportedError, which names the transform and the engines.
    """
    if name is None or name == "matrix":
        return MatrixStack
    if name == "records":  # imported on demand, as the next one: most sessions never use them
        from contad.engines.records import RecordStack

        return RecordStack
    if name == "closures":
        from contad.engines.closures import ClosureStack

        return ClosureStack
    if name == ARRAYS:
        from contad.engines.arrays.library_stack import LibraryStack

        return LibraryStack
    what = f"{transform}: engine" if transform else "engine"
    if name in COMPILED:
        raise UnsupportedError(f"{what}: {name!r} differentiates functions made by numba.njit; use {DEFAULT!r}")
    raise UnsupportedError(f"{what}: expected one of {', '.join((*engine_names(), ARRAYS, *COMPILED))}; got {name!r}")


class CompiledEngine(NamedTuple):
    """The functions of a compiled engine, which `contad.numba_functions.request` describes."""

    build: Callable[["Request"], NumbaFunction]
    explain: Callable[["Request"], str]
    source: Callable[["Request"], str] | None = None  # if the engine generates source
    loops: Callable[["Request"], Sequence[Any]] | None = None  # likewise: the numbers that its loops store
    infer: Callable[["Request"], Any] | None = None  # likewise: the type of a function's result


def compiled_engine(name: str) -> CompiledEngine:
    """A compiled engine by its name, imported on demand."""
    if name == "generated":
        from contad.engines.source import build, explain, infer_result, list_loops, source

        return CompiledEngine(build, explain, source, list_loops, infer_result)
    if name == "tape":
        from contad.engines.tape import build, explain

        return CompiledEngine(build, explain)
    raise UnsupportedError(f"engine: expected one of {', '.join(COMPILED)}; got {name!r}")


def engine_names() -> tuple[str, ...]:
    """The names of the eager engines for float64."""
    return ("closures", "records", "matrix")


set_base_engine(MatrixStack)
set_engines(engine)
