"""The engines by name. They are siblings behind one protocol, `contad.stack.ChainStack`; none imports another."""

from contad.engines.matrix import MatrixStack
from contad.errors import UnsupportedError
from contad.stack import ChainStack, set_base_engine

DEFAULT = "matrix"


def engine(name: str | None = None) -> type[ChainStack]:
    """The stack class of an engine; the default engine if no name is given.

    Raises UnsupportedError, naming the engines there are, for any other name.
    """
    if name is None or name == "matrix":
        return MatrixStack
    if name == "records":  # made on demand, as the next one: most sessions never use them
        from contad.engines.records import RecordStack

        return RecordStack
    if name == "closures":
        from contad.engines.closures import ClosureStack

        return ClosureStack
    raise UnsupportedError(f"engine: expected one of {', '.join(engine_names())}; got {name!r}")


def engine_names() -> tuple[str, ...]:
    """The names of all engines."""
    return ("closures", "records", "matrix")


set_base_engine(MatrixStack)
