"""Recorded programs: a stream of records that compiled code runs again, forward and backward, at other inputs."""
