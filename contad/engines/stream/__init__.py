"""The record stream that engines share: compiled sweeps over records, storage, and methods generated from rules."""
