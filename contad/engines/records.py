"""The engine `records`: a continuation is a fixed-size record (operation, parent, parent) in one flat stream.

It works on scalars: an array is an object array of scalar variables, and an array rule one continuation of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from contad.engines.stream.array_callbacks import apply_as_callback
from contad.engines.stream.record_methods import implementation
from contad.engines.stream.record_stream import Recording
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.number import NumpyNumber, pair
from contad.variables.var import Var


class RecordVar(Var):
    """A variable whose operations push records."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The methods of a rule on variables of this class."""
        return implementation(cls, rule)


class NumpyRecordVar(NumpyNumber, RecordVar):
    """A variable in place of an np.float64."""

    __slots__ = ()


class RecordStack(Recording):
    """A stream of the records of scalars."""

    __slots__ = ()
    engine = "records"
    var_class = NumpyRecordVar

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return apply_as_callback(self, rule, args, options)


pair(RecordVar, NumpyRecordVar)
for _class in (RecordVar, NumpyRecordVar):
    install(_class, _class.implement)
