"""Recorded programs: `contad.record`."""
