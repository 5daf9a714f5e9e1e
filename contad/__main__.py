"""`python -m contad`: see `python -m contad --help`."""

import sys

from contad.command import main

if __name__ == "__main__":
    sys.exit(main())
