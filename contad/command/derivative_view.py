"""The generated derivative of a Numba function, as text: `--source`."""

from contad.command.point import Problem
from contad.command.terminal import highlight_python
from contad.command.user_file import CommandError, blame
from contad.errors import UnsupportedError
from contad.functions.user_call import numba_function
from contad.transforms.compiled_code import source


def view_source(problem: Problem, colours: bool) -> str:
    """The source of the value and gradient; CommandError with a remedy if none is generated."""
    name = getattr(problem.function, "__name__", "the function")
    if numba_function(problem.function) is None:
        raise CommandError(
            f"{problem.label}: --source: {name} is a plain function: it runs on variables, nothing is generated. Put "
            f"@numba.njit above it; or see what it does by contad.explain({name}, ...) and contad.show_stack()"
        )
    args, kwargs = problem.arguments()
    argnums = problem.positional()[3]
    with blame(problem.label, problem.path):
        try:
            text = source(problem.function, *args, argnums=argnums if len(argnums) > 1 else argnums[0], **kwargs)
        except UnsupportedError as error:
            raise CommandError(
                f"{problem.label}: --source: nothing is generated for {name}, whose gradient runs on the tape: {error}"
            ) from error
    return highlight_python(text) if colours else text
