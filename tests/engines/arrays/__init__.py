"""Tests of contad/engines/arrays: closures on whole arrays of any library."""
