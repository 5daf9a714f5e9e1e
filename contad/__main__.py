"""`python -m contad`: see `python -m contad --help`."""

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from contad.command import main
from contad.command.user_file import CommandError

STAN = """\
Translate a Stan program: print a Python file with its density as a Numba function, its parameters, and `model(...)`,
which takes the data and returns a contad.stan.Model. Stan's compiler stanc reads the program: `pip install httpstan`
brings it. The file is yours to edit: nothing reads the Stan program again."""


def translate_stan(arguments: Sequence[str]) -> str:
    """`python -m contad stan`: translate a Stan program; returns the text to print."""
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
    options.output.write_text(text, encoding="utf-8")
    return ""


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal's encoding lacks is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        status = main(others={"stan": translate_stan})
        sys.stdout.flush()
    except OSError as error:  # the reader, `head` say, has seen enough; nothing may be written at exit either
        if error.errno not in (errno.EPIPE, errno.EINVAL):  # the latter on Windows
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
