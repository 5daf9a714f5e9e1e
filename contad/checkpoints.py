"""Checkpoints: less memory for more time, by recording a function when a sweep comes to it."""

import functools
from collections.abc import Callable
from typing import Any

from contad import check
from contad.calls import name_of
from contad.operation import Operation, pulled_back, pushed_forward


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, of which reverse mode keeps the arguments and results only: a sweep evaluates it again to differentiate it.

    A chain of n steps in sqrt(n) checkpointed pieces takes the memory of 2 sqrt(n) steps. What f uses must be an
    argument of it, if it carries a derivative; keyword arguments are constants.

    Raises:  RuleError where f uses a variable that is no argument of it.
    Cost:    one more evaluation of f in reverse mode; none in forward mode.
    Ref:     Griewank & Walther (2008), chapter 12.

    >>> import contad
    >>> contad.grad(lambda x: checkpoint(lambda y: contad.exp(y) * y)(x))(0.0)
    1.0
    """
    check.callable_("checkpoint", "f", f)

    @functools.wraps(f, updated=())
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        def run(*args: Any) -> Any:
            return f(*args, **kwargs)

        def value(*args: Any) -> tuple[Any, Any]:
            # on outer levels it is a checkpoint as well
            return (run(*args) if operation.owner is None else checkpointed(*args, **kwargs)), None

        def pull(args: Any, saved: Any, z: Any, z_bar: Any) -> Any:
            return pulled_back(run, args, z_bar, operation.owner.engine)

        def push(args: Any, saved: Any, z: Any, tangents: Any) -> Any:
            return pushed_forward(run, args, tangents)

        operation = Operation(f"checkpoint: {name_of(f)}", args, value, pull, push)
        return operation.perform()

    return checkpointed
