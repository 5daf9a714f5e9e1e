"""The engine `records`: a continuation is a fixed-size record (operation, parent, parent) in one flat stream.

It works on scalars: an array is an object array of scalar variables, and an array rule one continuation of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from contad.engines.array_callbacks import apply_as_callback
from contad.engines.record_methods import implementation
from contad.engines.stream import Recording
from contad.protocols import install
from contad.rule import ScalarRule
from contad.var import Var


class RecordVar(Var):
    """A variable whose operations push records."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The methods of a rule on variables of this class."""
        return implementation(cls, rule)


class RecordStack(Recording):
    """A stream of the records of scalars."""

    __slots__ = ()
    engine = "records"
    var_class = RecordVar

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return apply_as_callback(self, rule, args, options)


install(RecordVar, RecordVar.implement)
