"""Recorded programs: compiled code runs a stream of records again, forward and backward, at other inputs."""
