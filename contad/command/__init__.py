"""The command `python -m contad`: the derivatives of a function in a user's file, checked and timed."""

from contad.command.interface import main as main
