"""The engine `records`: a continuation is a fixed-size record (operation, parent, parent) in one flat stream.

It works on scalars: an array is an object array of scalar variables, and an array rule one continuation of them.
"""

from collections.abc import Sequence

from contad.engines.stream.array_callbacks import apply_as_callback
from contad.engines.stream.record_stream import Recording, implementation
from contad.protocols.number_protocols import install
from contad.variables.number import like_numpy
from contad.variables.open_types import Options, Rule, Value
from contad.variables.var import Var


class RecordVar(Var):
    """A variable whose operations push records."""

    __slots__ = ()

    implement = classmethod(implementation)


@like_numpy(RecordVar)
class NumpyRecordVar(Var):
    """A variable in place of an np.float64."""

    __slots__ = ()
    implement = classmethod(implementation)


class RecordStack(Recording):
    """A stream of the records of scalars."""

    __slots__ = ()
    engine = "records"
    var_class = NumpyRecordVar

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        return apply_as_callback(self, rule, args, options)


for _class in (RecordVar, NumpyRecordVar):
    install(_class, _class.implement)
