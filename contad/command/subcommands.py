"""`python -m contad warm` and `python -m contad stan`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from contad.command.user_file import CommandError
from contad.warming import warm_up

STAN = """\
Translate a Stan program: print a Python file with its density as a Numba function, its parameters, and `model(...)`,
which takes the data and returns a contad.stan.Model. Stan's compiler stanc reads the program: `pip install httpstan`
brings it. The file is yours to edit: nothing reads the Stan program again."""
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


def translate_stan(arguments: Sequence[str]) -> str:
    """Translate a program; returns the text to print."""
    p = argparse.ArgumentParser("python -m contad stan", description=STAN, allow_abbrev=False)
    p.add_argument("program", metavar="MODEL.stan", type=Path)
    p.add_argument("--output", metavar="FILE", type=Path, help="write the Python file there, and print nothing")
    options = p.parse_args(arguments)
    from contad.stan.translation.stanc import TranslationError
    from contad.stan.translation.translated_file import translate

    try:
        text = translate(options.program)
    except (TranslationError, OSError) as error:
        raise CommandError(f"{options.program}: {error}") from error
    if options.output is None:
        return text
    options.output.write_text(text)
    return ""


SUBCOMMANDS = {"stan": translate_stan, "warm": warm}
