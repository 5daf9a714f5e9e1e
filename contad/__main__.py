"""`python -m contad`: see `python -m contad --help`."""

import errno
import os
import sys

from contad.command import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal's encoding lacks is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        status = main()
        sys.stdout.flush()
    except OSError as error:  # the reader, `head` say, has seen enough; nothing may be written at exit either
        if error.errno not in (errno.EPIPE, errno.EINVAL):  # the latter on Windows
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
