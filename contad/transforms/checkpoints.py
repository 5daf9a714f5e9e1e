"""Checkpoints: less memory for more time, by recording a function when a sweep comes to it."""

import functools
from collections.abc import Sequence

from contad.front.user_function import UserFunction, primitive_of, runnable
from contad.functions.captured import require_same_value
from contad.functions.pickling import Decorated
from contad.rules.compilable import Compilable
from contad.transforms.operation import CustomOperation, pull_back, push_forward
from contad.variables.open_types import Function, Nested, Saved


@Compilable
def checkpoint(f: Function) -> Function:
    """f, of which reverse mode keeps the arguments and results only: a sweep evaluates it again to differentiate it.

    A chain of n steps in sqrt(n) checkpointed pieces takes the memory of 2 sqrt(n) steps. What f uses must be an
    argument of it, if it carries a derivative; keyword arguments are constants. Arguments are copied, what f captures
    is not.

    Raises:  RuleError where f uses a variable that is no argument of it; ChangedDataError where an array or a number
             that f captures, or finds in what it captures, has changed when a sweep comes, or where f then gives
             another value.
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
        """f as variables call it; found when it is called, because what f names may be defined later."""
        return runnable(f) if function.dispatcher is None else primitive_of(function.dispatcher)

    @functools.wraps(f, updated=())
    def run_checkpointed(*args: Nested, **kwargs: Nested) -> Nested:
        options = [kwargs]

        def run(*args: Nested) -> Nested:
            return ran()(*args, **options[0])

        def value(*args: Nested) -> tuple[Nested, Saved]:
            # on outer levels it is a checkpoint as well
            return (run(*args) if operation.owner is None else run_checkpointed(*args, **options[0])), None

        def pull(args: Sequence[Nested], saved: Saved, z: Nested, z_bar: Nested) -> tuple[Nested, ...]:
            def same(y: Nested) -> None:
                require_same_value(name, y, z)

            return pull_back(run, args, z_bar, operation.owner.engine, operation.places, same)

        def push(args: Sequence[Nested], saved: Saved, z: Nested, tangents: Sequence[Nested]) -> Nested:
            return push_forward(run, args, tangents, operation.places)

        operation = CustomOperation(name, args, value, pull, push, options, [f])
        return operation.perform()

    return Decorated(run_checkpointed, checkpoint, f)
