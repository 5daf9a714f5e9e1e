"""What stands for a Numba function in plain code: it takes variables as well as numbers."""

from collections.abc import Callable
from typing import Any

from contad.variables.open_types import Function, Nested, NumbaFunction, Options
from contad.variables.trees import holds_number

AtVariables = Callable[["OnNumbers", tuple[Nested, ...], Options], Nested]


class OnNumbers:
    """A dispatcher that runs as it is on plain arguments; `at_variables(self, args, kwargs)` answers other calls."""

    def __init__(
        self, dispatcher: NumbaFunction, at_variables: AtVariables, of: Callable[[Function], Function] | None = None
    ) -> None:
        self.dispatcher = dispatcher
        self.at_variables = at_variables
        self.of = of  # gives what stands for a plain function
        self.twin: Function | None = None  # made where no compiled derivative answers
        self.quick: Any = None  # whose `answer` is that of calls like others before, or NotImplemented

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.dispatcher, name)
        return self.of(found) if name == "py_func" and self.of is not None else found

    def __reduce__(self) -> str | tuple[Any, ...]:
        return OnNumbers, (self.dispatcher, self.at_variables)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        quick = self.quick
        if quick is not None and not kwargs:
            result = quick.answer(args)
            if result is not NotImplemented:
                return result
        if any(map(holds_number, (*args, *kwargs.values()))):
            return self.at_variables(self, args, kwargs)
        functions = {name: x.dispatcher for name, x in kwargs.items() if isinstance(x, OnNumbers)}
        return self.dispatcher(*(x.dispatcher if isinstance(x, OnNumbers) else x for x in args), **kwargs | functions)
