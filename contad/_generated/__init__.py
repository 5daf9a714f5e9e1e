"""Where Numba finds generated modules by name when it loads cached machine code.

`contad.numba_functions.modules` serves them.
"""

from contad.numba_functions.modules import install_finder

install_finder()
