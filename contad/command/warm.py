"""`python -m contad warm`: compile all of contad's own kernels, once per machine."""

import argparse
import sys
import time
from collections.abc import Sequence

from contad.command.user_file import CommandError
from contad.warming import warm_up

DESCRIPTION = """\
Compile all of contad's own functions on all cores, for this user, this processor and these versions of contad, Numba
and NumPy. No later process waits for them. What is there already is left as it is."""


def warm(arguments: Sequence[str]) -> str:
    """Compile the kernels; returns the text to print."""
    p = argparse.ArgumentParser("python -m contad warm", description=DESCRIPTION, allow_abbrev=False)
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
