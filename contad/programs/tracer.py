"""The level on which a program is recorded: a stack of the engine `matrix` that keeps rules and notes decisions.

Whatever looks at values becomes a guard of the program, or is refused by name.
"""

import sys
from collections.abc import Callable, Sequence
from threading import get_ident
from types import FrameType
from typing import Any, ClassVar, NoReturn

import numpy as np

from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream.record_methods import implementation
from contad.engines.stream.sweep import operation_code
from contad.errors import NUMPY_FILES, OWN_FILES, NestingError, UnsupportedError
from contad.programs.codes import CALL, COMPARISONS, GUARD_CODES, STOP, code_of
from contad.programs.decisions import DECISIONS
from contad.programs.python_steps import ScalarCall
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.number import Carrier, NumpyNumber, compared, pair, peek, stands_for_float
from contad.variables.stack import THREAD
from contad.variables.var import Var

PACKAGES = OWN_FILES, NUMPY_FILES


def place_in_user_code() -> tuple[str, int]:
    """The file and the line of the innermost frame that is neither contad's nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGES) and name[0] != "<":
            return name, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


class TracedVar(Var):
    """A scalar variable of a recorded function: its comparisons and roundings are guards."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The methods of a rule on variables of this class; rules that are not compiled go to `Tracer.apply`."""
        if operation_code(rule, "v" * rule.arity) is not None:
            return implementation(cls, rule)
        general = rule.operate if rule.operator else lambda *args: rule.general(args)
        return general, (lambda y, x: general(x, y)) if rule.arity == 2 else None

    @property
    def value(self) -> Any:
        """Refused: a program would freeze it."""
        self._owner.refuse_reading()

    def __repr__(self) -> str:
        return f"Var({self._value!r}, recorded)"



def _comparison(name: str) -> Any:
    compare = COMPARISONS[name][1]

    def method(x: TracedVar, y: Any) -> Any:
        if y.__class__ is float or y.__class__ is int:
            outcome = x._owner.guard(name, x, float(y))
        elif isinstance(y, TracedVar) and y._owner is x._owner:
            outcome = x._owner.guard(name, x, y)
        else:
            return compared(compare, x, y)
        return outcome if x.is_float and stands_for_float(y) else np.bool_(outcome)

    method.__name__ = f"__{name}__"
    return method


class NumpyTracedVar(NumpyNumber, TracedVar):
    """A scalar variable in place of an np.float64."""

    __slots__ = ()


def _install_comparisons(cls: type[TracedVar]) -> None:
    for name in COMPARISONS:
        setattr(cls, f"__{name}__", _comparison(name))


class Tracer(MatrixStack):
    """The stack of a recorded function."""

    __slots__ = ("calls", "name", "places", "stopped_arrays")
    is_traced = True
    keeps_rules = True
    var_class: ClassVar[type[Var]] = NumpyTracedVar
    float_class: ClassVar[type[Var]] = TracedVar

    def __init__(self, level: int | None = None) -> None:
        if any(isinstance(s, Tracer) for s in THREAD.open):
            raise NestingError(
                "contad.record: the recorded function opens a level of its own (contad.nested, contad.record), which "
                "a program does not have; take gradients in it with contad.grad"
            )
        super().__init__(level)
        self.name = "f"
        self.calls: list[Any] = []  # what Python runs in the program, in order
        self.stopped_arrays: set[int] = set()  # first cells of what `stop_gradient` has gathered
        self.places: dict[int, tuple[str, int]] = {}  # of guards, by the cell of their record

    # ---- decisions ---------------------------------------------------------------------------------------------------
    def guard(self, name: str, x: Any, y: Any) -> bool:
        """A comparison of a scalar variable with a number or another variable, which becomes a guard."""
        if self.thread != get_ident() or self.ended is not None:
            self.check_usable(f"x.__{name}__")
        own = isinstance(y, TracedVar)
        held = bool(COMPARISONS[name][1](x._value, y._value if own else y))
        self.places[self.top] = place_in_user_code()
        self._push(GUARD_CODES[name, held, "vv" if own else "vc"], x._index, y._index if own else y, float(held))
        return held

    def push_guard(self, code: int, slot: int) -> None:
        """A guard of arrays, whose operands are beside the records."""
        self.places[self.top] = place_in_user_code()
        self._push(code, slot, 0, 0.0)

    def decide(self, function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
        self.check_usable("a decision")
        found = DECISIONS.get(function)
        if found is None:
            raise UnsupportedError(
                f"contad.record: {self.name}: {self._where()} calls {_name_of(function)} on values, which a program "
                "cannot check; write it with comparisons (x > 0), np.argmax, np.argsort, np.isnan or np.isfinite"
            )
        return found(self, *args, **options)

    def stopped(self, x: Any) -> Any:
        self.check_usable("stop_gradient")
        if isinstance(x, Var):
            return self._push(STOP, x._index, 0, x._value)
        self.stopped_arrays.add(self.room(x.size))
        return self.gather(peek(x), np.ascontiguousarray(x.cells()))

    def refuse_reading(self) -> NoReturn:
        raise UnsupportedError(
            f"contad.record: {self.name}: {self._where()} reads the value of a variable (value_of, x.value, a "
            "check), which the program would freeze; compare the variable itself, or pass what is "
            "constant as an argument that is not recorded (argnums=)"
        )

    def _where(self) -> str:
        return "{}:{}".format(*place_in_user_code())

    # ---- what a program does not have --------------------------------------------------------------------------------
    def push_callback(self, f: Callable[..., None], value: Any) -> NoReturn:
        raise UnsupportedError(
            f"contad.record: {self.name}: {self._where()} pushes a callback of its own, which holds variables of the "
            "recording; write a rule instead (contad.scalar_rule, contad.array_rule)"
        )

    def run_sweep(self, seeds: Any, top: int = 0) -> NoReturn:
        raise UnsupportedError(
            f"contad.record: {self.name}: {self._where()} asks for adjoints of the recording itself; record the "
            "function, and ask the program for its gradient"
        )

    def rows(self) -> NoReturn:
        raise UnsupportedError(f"contad.record: {self.name}: show_stack does not show what is being recorded")

    def check_plain(self) -> None:
        """Refuse numbers of outer levels, which a program could only freeze."""
        if self.is_mixed():
            raise NestingError(
                f"contad.record: {self.name} uses a variable of a gradient or jvp call that is open around it; record "
                "outside of it, and pass the variable as an argument"
            )

    # ---- recording ---------------------------------------------------------------------------------------------------
    def array_variable(self, value: Any) -> Any:
        return super().array_variable(np.array(value, order="C") if value.__class__ is np.ndarray else value)

    def apply(self, rule: ScalarRule, args: Sequence[Any]) -> Any:
        own = [isinstance(x, Var) and x._owner is self for x in args]
        active = "".join("v" if mine else "c" for mine in own)
        if operation_code(rule, active) is not None:
            return super().apply(rule, args)
        code = code_of(rule, active)
        values = [x._value if mine else x for x, mine in zip(args, own, strict=True)]
        if any(isinstance(x, Carrier) for x in values):
            raise NestingError(
                f"contad.record: {self.name}: {self._where()} applies {rule.name} to numbers of several levels; it "
                "runs in Python, where a program has plain numbers only"
            )
        if code is not None:
            x, y = [x._index if mine else x for x, mine in zip(args, own, strict=True)] + [0] * (2 - len(args))
            return self._push(code, x, y, rule(*values))
        cells = [x._index if mine else None for x, mine in zip(args, own, strict=True)]
        self.calls.append(ScalarCall(rule, cells, values))
        return self._push(CALL, len(self.calls) - 1, 1, rule(*values))


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    return f"np.{name}" if vars(np).get(name) is function else name


pair(TracedVar, NumpyTracedVar)
for _class in (TracedVar, NumpyTracedVar):
    install(_class, _class.implement)
    _install_comparisons(_class)
