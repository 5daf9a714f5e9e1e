"""Options, output and exit status of `python -m contad`."""

import argparse
import contextlib
import math
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from contad.command.bundled_example import examine_example
from contad.command.coordinate_profiles import profile
from contad.command.data_files import read_data
from contad.command.examination import examine, silence
from contad.command.pictures import picture_request, place_picture
from contad.command.point import Problem, assignment, bind
from contad.command.report import CommandReport, as_json
from contad.command.sparsity_patterns import Sparsity, find_sparsity
from contad.command.terminal import has_colours, highlight_python
from contad.command.user_file import CommandError, blame, load_module
from contad.errors import UnsupportedError
from contad.functions.user_call import numba_function
from contad.transforms.compiled_code import source
from contad.warming import warm_up

DESCRIPTION = """\
Differentiate a function of a Python file, at the point and with the data that the file defines, and check the gradient
against finite differences. Without FILE.py:FUNCTION: fit a Bayesian logistic regression to the 569 patients of the
Wisconsin breast-cancer table with contad's gradient. `python -m contad warm` compiles all of contad's own functions,
once per machine; `python -m contad stan MODEL.stan` translates a Stan program."""

EPILOG = """\
Parameters with numeric defaults are the point. A parameter without a default takes its value from --data, or the file's
variable of that name, and is constant, unless --wrt names it. Lists, tuples, dicts and arrays of numbers are
differentiated number by number.

--data takes arguments by name: the keys of a JSON object, whose lists are arrays; the columns of a CSV table with a
header; the arrays of an .npz archive. A parameter called data gets a dict of all of them.

example: model.py contains
    import numpy as np
    times = [1.0, 2.0, 4.0]
    def log_likelihood(times, rate=0.5):
        return sum(np.log(rate) - rate * t for t in times)
and times.csv contains
    times,clinic
    1.5,north
    0.5,south
and then
    python -m contad model.py:log_likelihood
    python -m contad model.py:log_likelihood --at rate=0.7 --check
    python -m contad model.py:log_likelihood --data times.csv --at rate=0.9
    python -m contad model.py:log_likelihood --wrt rate,times --engine closures
    python -m contad model.py:log_likelihood --check --tolerance 1e-8 --json
    python -m contad model.py:log_likelihood --plot
    python -m contad model.py:log_likelihood --plot rate.svg
    python -m contad model.py:log_likelihood --plot text
    python -m contad model.py:log_likelihood --wrt times --plot sparsity
A Numba function also has a generated derivative: python -m contad model.py:density --source > gradient.py
To have contad's own functions compiled beforehand, on all cores: python -m contad warm

exit status: 0 done; 1 --check found a disagreement; 2 an error, named in one line on stderr."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see python -m contad --help)")


def parser() -> argparse.ArgumentParser:
    """The options."""
    p = _Parser("python -m contad", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    p.formatter_class = argparse.RawDescriptionHelpFormatter
    p.add_argument("target", nargs="?", metavar="FILE.py:FUNCTION")
    p.add_argument(
        "--at", action="append", default=[], metavar="NAME=VALUE",
        help="move the point: --at rate=0.7; --at 'w=[1, 2.5]'; --at 'w[0]=1'; may be repeated",
    )  # fmt: skip
    p.add_argument("--data", metavar="FILE", help="arguments by name from a .json, .csv or .npz file: --data trial.csv")
    p.add_argument(
        "--wrt", action="append", default=[], metavar="NAME,NAME",
        help="the parameters to differentiate: --wrt rate,scale; may be repeated",
    )  # fmt: skip
    p.add_argument(
        "--plot", nargs="*", metavar="WHAT",
        help="draw the function along each coordinate with its tangent; `--plot sparsity`: which second derivatives "
        "may be other than zero, or which derivatives of a function of several results. Into FILE-FUNCTION-WHAT.png, "
        "or where a file name (.png, .svg, .pdf), `text` or `window` says: --plot sparsity hessian.svg",
    )  # fmt: skip
    p.add_argument(
        "--source", action="store_true", help="print the generated derivative of a Numba function, and nothing else"
    )
    p.add_argument(
        "--engine", metavar="NAME",
        help="matrix (the default), records or closures; of a Numba function generated (the default) or tape",
    )  # fmt: skip
    p.add_argument("--json", action="store_true", help="print one JSON object")
    p.add_argument("--check", action="store_true", help="exit 1 if gradient and differences disagree")
    p.add_argument("--tolerance", type=float, default=1e-6, metavar="T", help="largest relative disagreement, 1e-6")
    p.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return p


def main(
    argv: Sequence[str] | None = None, others: Mapping[str, Callable[[Sequence[str]], str]] | None = None
) -> int:
    """Run the command, or that of its first argument, such as `warm` or one of `others`; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        try:
            command = {"warm": warm, **(others or {})}.get(arguments[0]) if arguments else None
            options = _parse(arguments) if command is None else None
            if command is not None:
                text, status = command(arguments[1:]), 0
        except SystemExit as stop:  # --help
            return int(stop.code or 0)
        if options is not None:
            with _warnings(debug):
                text, status = _example(options) if options.target is None else _file(options)
    except Exception as error:
        if debug:
            traceback.print_exc()
        known = isinstance(error, CommandError)
        message = error if known else f"unexpected {type(error).__name__}: {error} (--debug shows where)"
        print("contad:", _line(message), file=sys.stderr)
        return 2
    print(text, end="")  # outside of the handlers: a closed pipe is no error of the file or of contad
    return status


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, and --plot as a request or None; CommandError for options that exclude each other."""
    options = parser().parse_args(arguments)
    if options.plot and options.target is None and ".py:" in options.plot[-1]:
        options.target = options.plot.pop()  # `--plot model.py:f`
    options.plot = None if options.plot is None else picture_request(options.plot)
    if not 0.0 < options.tolerance < math.inf:
        raise CommandError(f"--tolerance: expected a positive number, got {options.tolerance}")
    if options.target is None and (options.at or options.wrt or options.source):
        raise CommandError(f"{'--source needs' if options.source else '--at and --wrt need'} a FILE.py:FUNCTION")
    if options.json and options.plot is not None and options.plot.is_text:
        raise CommandError("--json prints one object and nothing else: --plot text has no place beside it")
    others = [name for name in ("json", "check", "plot", "engine") if getattr(options, name)]
    if options.source and others:
        raise CommandError(f"--source prints the generated derivative and nothing else: leave out --{others[0]}")
    return options


def _file(options: argparse.Namespace) -> tuple[str, int]:
    """The report on a function of a user's file, and the exit status."""
    path, colon, name = options.target.rpartition(":")
    if not colon or not path or not name:
        raise CommandError(f"expected FILE.py:FUNCTION, got {options.target!r}")
    at = dict(map(assignment, options.at))
    wrt = [name.strip() for names in options.wrt for name in names.split(",")]
    data = None if options.data is None else read_data(options.data)
    colours = has_colours()
    alone = options.json or options.source  # alone on standard output, without the output of the user's file
    with contextlib.redirect_stdout(sys.stderr) if alone else contextlib.nullcontext(), load_module(path) as module:
        problem = bind(module, path, name, at, wrt, data)
        if options.source:
            text, agrees = view_source(problem, colours), True
        else:
            text, agrees = _report(options, problem, colours)
    return text if options.source else f"{text}\n", int(options.check and not agrees)


def _report(options: argparse.Namespace, problem: Problem, colours: bool) -> tuple[str, bool]:
    """The text to print for a function, and whether its gradient agrees with differences."""
    pattern = None
    if options.plot is not None and options.plot.kind == "sparsity":
        with silence():
            pattern = find_sparsity(problem)
        if not pattern.is_of_number:
            place, picture = place_picture(options.plot, problem.label, pattern)
            found = {"function": problem.label, "plot": place}
            return as_json(found) if options.json else f"{problem.label}\n\n{picture}", True
    report = examine(problem, options.engine, options.tolerance)
    return _finish(options, report, report.text(colours), report.as_dict(), pattern), report.agrees


def _example(options: argparse.Namespace) -> tuple[str, int]:
    """The report on the function of the bundled example with its fit, and the exit status."""
    example = examine_example(options.data, options.engine, options.tolerance)
    pattern = None
    if options.plot is not None and options.plot.kind == "sparsity":
        pattern = find_sparsity(example.report.problem)
    text = _finish(options, example.report, example.text(has_colours()), example.as_dict(), pattern)
    return f"{text}\n", int(options.check and not example.report.agrees)


def _finish(
    options: argparse.Namespace, report: CommandReport, text: str, found: dict[str, Any], pattern: Sparsity | None
) -> str:
    """The report as text or JSON, with the requested picture."""
    if options.plot is not None:
        with silence():
            drawn = pattern or profile(report)
        place, picture = place_picture(options.plot, report.problem.label, drawn)
        found, text = found | {"plot": place}, f"{text}\n{picture}"
    return as_json(found) if options.json else text


@contextlib.contextmanager
def _warnings(debug: bool) -> Iterator[None]:
    """Keep warnings off stderr, where an error takes one line; --debug shows them."""
    if debug:
        yield
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _line(message: object, longest: int = 400) -> str:
    """The message on one line, shortened."""
    line = " ".join(str(message).split())
    return line if len(line) <= longest else line[: longest - 4] + " ..."


# ---- other answers ---------------------------------------------------------------------------------------------------
WARMING = """\
Compile all of contad's own functions on all cores, for this user, this processor and these versions of contad, Numba
and NumPy. No later process waits for them. What is there already is left as it is."""


def warm(arguments: Sequence[str]) -> str:
    """`python -m contad warm`: compile the kernels; returns the text to print."""
    p = argparse.ArgumentParser("python -m contad warm", description=WARMING, allow_abbrev=False)
    p.add_argument("--processes", type=int, metavar="N", help="how many work at once; one for each core without it")
    options = p.parse_args(arguments)
    start = time.perf_counter()
    print("contad: compiling contad's own functions, once per machine ...", file=sys.stderr, flush=True)
    try:
        done = warm_up(options.processes)
    except (OSError, RuntimeError, ValueError) as error:
        raise CommandError(str(error)) from error
    return (
        f"{done.compiled + done.found} functions are ready in {done.directory}: {done.compiled} compiled now, "
        f"{done.found} found, in {time.perf_counter() - start:.0f} s\n"
    )


def view_source(problem: Problem, colours: bool) -> str:
    """`--source`: the source of the value and gradient; CommandError with a remedy if none is generated."""
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
