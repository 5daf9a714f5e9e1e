"""`python -m contad stan`: a Stan program as a Python file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from contad.command.user_file import CommandError

DESCRIPTION = """\
Translate a Stan program: print a Python file with its density as a Numba function, its parameters, and `model(...)`,
which takes the data and returns a contad.stan.Model. Stan's compiler stanc reads the program: `pip install httpstan`
brings it. The file is yours to edit: nothing reads the Stan program again."""


def translate_stan(arguments: Sequence[str]) -> str:
    """Translate a program; returns the text to print."""
    p = argparse.ArgumentParser("python -m contad stan", description=DESCRIPTION, allow_abbrev=False)
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
