"""Checkpoints trade time for memory: the reverse sweep records a function only when it reaches it."""

import functools
from collections.abc import Sequence

from contad.front.user_function import UserFunction, primitive_of, runnable
from contad.functions.captured import require_same_value
from contad.functions.transformed import Decorated
from contad.rules.compilable import Compilable
from contad.transforms.operation import CustomOperation, pull_back, push_forward
from contad.variables.open_types import Function, Nested, Saved


@Compilable
def checkpoint(f: Function) -> Function:
    """f, but reverse mode stores only its arguments and results, and evaluates f again to differentiate it.

    A loop of n steps in sqrt(n) checkpointed pieces takes the memory of 2 sqrt(n) steps. Every value that f uses and
    that carries a derivative must be an argument of f; keyword arguments are constants. Arguments are copied; captured
    values are not.

    Raises:  RuleError if f uses a variable that is not one of its arguments; ChangedDataError if an array or a number
             that f captures, directly or inside captured objects, has changed when the sweep reaches it, or if f then
             returns another value.
    Cost:    one more evaluation of f in reverse mode; none in forward mode.
    Ref:     Griewank & Walther (2008), chapter 12.

    >>> import contad, numpy as np
    >>> contad.grad(lambda x: checkpoint(lambda y: np.exp(y) * y)(x))(0.0)
    1.0
    """
    function = UserFunction("checkpoint", f)
    name = f"checkpoint: {function.name}"

    @functools.cache
    def ran() -> Function:
        """The form of f that runs on variables; made at the first call, because names in f may be defined later."""
        return runnable(f) if function.dispatcher is None else primitive_of(function.dispatcher)

    @functools.wraps(f, updated=())
    def run_checkpointed(*args: Nested, **kwargs: Nested) -> Nested:
        options = [kwargs]

        def run(*args: Nested) -> Nested:
            return ran()(*args, **options[0])

        def value(*args: Nested) -> tuple[Nested, Saved]:
            # on outer levels it is a checkpoint as well
            return (run(*args) if operation.innermost else run_checkpointed(*args, **options[0])), None

        def pull(args: Sequence[Nested], saved: Saved, z: Nested, z_bar: Nested) -> tuple[Nested, ...]:
            def same(y: Nested) -> None:
                require_same_value(name, y, z)

            check = not operation.owner.takes_any  # arrays of other libraries are not read
            return pull_back(run, args, z_bar, operation.owner.engine, operation.places, same if check else None)

        def push(args: Sequence[Nested], saved: Saved, z: Nested, tangents: Sequence[Nested]) -> Nested:
            return push_forward(run, args, tangents, operation.places)

        operation = CustomOperation(name, args, value, pull, push, options, [f])
        return operation.perform()

    return Decorated(run_checkpointed, checkpoint, f)
