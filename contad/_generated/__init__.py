"""Where Numba finds generated modules by name when it loads cached machine code: served by `contad.native.modules`."""

from contad.native.modules import install_finder

install_finder()
