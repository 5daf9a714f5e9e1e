"""The record stream that engines share: compiled sweeps over records, their storage, and methods made from rules."""
