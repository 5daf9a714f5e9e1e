"""The tracer of a stack of the engine `matrix`: it turns a recording into a program and notes decisions.

Every operation that looks at values becomes a guard of the program, or the tracer refuses it by name.
"""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream.record_stream import implementation
from contad.engines.stream.sweep import operation_code
from contad.errors import NUMPY_FILES, OWN_FILES, NestingError, UnsupportedError
from contad.programs.codes import CALL, COMPARISONS, GUARD_CODES, STOP, code_of
from contad.programs.decisions import DECISIONS
from contad.programs.expanded_formulas import sum_of_lines
from contad.programs.python_calls import ArrayCall, ScalarCall
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.number import Carrier, compare_primals, like_numpy, peek, stands_for_float
from contad.variables.open_types import Function, Nested, Options, Real, Value
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


def _implementation(cls: type[Var], rule: ScalarRule) -> tuple[Function, Function | None]:
    """The methods of a rule on variables of a class; rules that are not compiled go to `Tracer.push_rule`."""
    if operation_code(rule, "v" * rule.arity) is not None:
        return implementation(cls, rule)
    general = rule.operate if rule.operator else lambda *args: rule.general(args)
    return general, (lambda y, x: general(x, y)) if rule.arity == 2 else None


class TracedVar(Var):
    """A scalar variable of a recorded function: its comparisons and roundings are guards."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Function, Function | None]:
        return _implementation(cls, rule)



def _comparison(name: str) -> Function:
    compare = COMPARISONS[name][1]

    def method(x: Var, y: Value) -> Any:
        if y.__class__ is float or y.__class__ is int:
            outcome = x._owner.tracer.guard(name, x, float(y))
        elif isinstance(y, Var) and y._owner is x._owner:
            outcome = x._owner.tracer.guard(name, x, y)
        else:
            return compare_primals(compare, x, y)
        return outcome if x.is_float and stands_for_float(y) else np.bool_(outcome)

    method.__name__ = f"__{name}__"
    return method


@like_numpy(TracedVar)
class NumpyTracedVar(Var):
    """A scalar variable in place of an np.float64."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Function, Function | None]:
        """The methods of a rule on variables of this class."""
        return _implementation(cls, rule)


def _install_comparisons(cls: type[Var]) -> None:
    for name in COMPARISONS:
        setattr(cls, f"__{name}__", _comparison(name))


class Tracer:
    """The decisions of a recorded function and its calls of Python, beside the records of its stack."""

    __slots__ = ("calls", "name", "places", "stack", "stopped_arrays")
    stack: MatrixStack

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[ScalarCall | ArrayCall] = []  # in order
        self.stopped_arrays: set[int] = set()  # first cells of arrays that `stop_gradient` has gathered
        self.places: dict[int, tuple[str, int]] = {}  # of guards, by the cell of their record

    def make_stack(self) -> MatrixStack:
        """The stack of the recorded function."""
        if any(s.tracer is not None for s in THREAD.open):
            self.refuse_levels()
        self.stack = MatrixStack(var_class=NumpyTracedVar, keeps_rules=True)
        self.stack.tracer = self
        return self.stack

    # ---- decisions ---------------------------------------------------------------------------------------------------
    def guard(self, name: str, x: Var, y: Real) -> bool:
        """A comparison of a scalar variable with a number or another variable, which becomes a guard."""
        if not self.stack.is_here() or self.stack.ended is not None:
            self.stack.check_usable(f"x.__{name}__")
        own = isinstance(y, Var)
        held = bool(COMPARISONS[name][1](x._value, y._value if own else y))
        self.places[self.stack.top] = place_in_user_code()
        self._push(GUARD_CODES[name, held, "vv" if own else "vc"], x._index, y._index if own else y, float(held))
        return held

    def push_guard(self, code: int, slot: int) -> None:
        """A guard of arrays, whose operands are beside the records."""
        self.places[self.stack.top] = place_in_user_code()
        self._push(code, slot, 0, 0.0)

    def _push(self, code: int, x: Real, y: Real, value: Real) -> Real:
        """Push a record of the tracer: a guard, or a call of Python."""
        return self.stack._push(code, x, y, value)

    def decide(self, function: Function, args: Sequence[Nested], options: Options) -> Value:
        """function(*args) for a function that looks at values of variables: its outcome becomes guards."""
        self.stack.check_usable("a decision")
        found = DECISIONS.get(function)
        if found is None:
            raise UnsupportedError(
                f"contad.record: {self.name}: {self._where()} calls {_name_of(function)} on values, which a program "
                "cannot check; write it with comparisons (x > 0), np.argmax, np.argsort, np.isnan or np.isfinite"
            )
        outcome = found(self, *args, **options)
        return np.bool_(outcome) if outcome.__class__ is bool and isinstance(function, np.ufunc) else outcome

    def stop(self, x: Value) -> Value:
        """The variable x, a number or an array, without its derivative."""
        self.stack.check_usable("stop_gradient")
        if isinstance(x, Var):
            return self._push(STOP, x._index, 0, x._value)
        self.stopped_arrays.add(self.stack.room(x.size))
        return self.stack.gather(peek(x), np.ascontiguousarray(x.cells()))

    def refuse_reading(self) -> NoReturn:
        """Refuse to give values away."""
        raise UnsupportedError(
            f"contad.record: {self.name}: {self._where()} reads the value of a variable (value_of, x.value, a "
            "check), which the program would freeze; compare the variable itself, or pass what is "
            "constant as an argument that is not recorded (argnums=)"
        )

    def _where(self) -> str:
        return "{}:{}".format(*place_in_user_code())

    # ---- refusals ----------------------------------------------------------------------------------------------------
    def refuse_levels(self) -> NoReturn:
        """Refuse levels that the recorded function opens by hand."""
        raise NestingError(
            "contad.record: the recorded function opens a level of its own (contad.nested, contad.record), which "
            "a program does not have; take gradients in it with contad.grad"
        )

    def refuse_callback(self) -> NoReturn:
        """Refuse the user's continuations."""
        raise UnsupportedError(
            f"contad.record: {self.name}: {self._where()} pushes a callback of its own, which holds variables of the "
            "recording; write a rule instead (contad.scalar_rule, contad.array_rule)"
        )

    def refuse_sweep(self) -> NoReturn:
        """Refuse to sweep the recording."""
        raise UnsupportedError(
            f"contad.record: {self.name}: {self._where()} asks for adjoints of the recording itself; record the "
            "function, and ask the program for its gradient"
        )

    def refuse_rows(self) -> NoReturn:
        """Refuse to show the recording."""
        raise UnsupportedError(f"contad.record: {self.name}: show_stack does not show what is being recorded")

    def check_plain(self) -> None:
        """Refuse numbers of outer levels, which a program could only freeze."""
        if self.stack.is_mixed:
            raise NestingError(
                f"contad.record: {self.name} uses a variable of a gradient or jvp call that is open around it; record "
                "outside of it, and pass the variable as an argument"
            )

    # ---- recording ---------------------------------------------------------------------------------------------------
    def push_rule(self, rule: ScalarRule, cells: Sequence[int | None], values: Sequence[Real]) -> Var:
        """Record a scalar rule that the sweep does not know; `cells` are those of operands, None for a constant."""
        if any(isinstance(x, Carrier) for x in values):
            raise NestingError(
                f"contad.record: {self.name}: {self._where()} applies {rule.name} to numbers of several levels; it "
                "runs in Python, where a program has plain numbers only"
            )
        code = code_of(rule, "".join("c" if cell is None else "v" for cell in cells))
        if code is not None:
            fields = [v if cell is None else cell for cell, v in zip(cells, values, strict=True)]
            x, y = (*fields, 0)[:2]
            return self._push(code, x, y, rule(*values))
        self.calls.append(ScalarCall(rule, cells, values))
        return self._push(CALL, len(self.calls) - 1, 1, rule(*values))

    def sum_formula(self, rule: ScalarRule, args: Sequence[Value], conditions: tuple[str, ...]) -> Value:
        """The sum of a formula, by records of its operations; None where the program does not have all of them."""
        return sum_of_lines(rule, args, conditions)


def _name_of(function: Function) -> str:
    name = getattr(function, "__name__", str(function))
    return f"np.{name}" if vars(np).get(name) is function else name


for _class in (TracedVar, NumpyTracedVar):
    install(_class, _class.implement)
    _install_comparisons(_class)
