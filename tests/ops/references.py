"""The mpmath references of all rules, by name, and where and how closely they are compared."""

import importlib

CORE = importlib.import_module("tests.ops.reference_core")
SUBJECTS = ("special", "pieces", "incomplete", "bessel", "hypergeometric", "complex")
SPECIAL = [importlib.import_module(f"tests.ops.reference_{name}") for name in SUBJECTS]


def table(name, subjects=(CORE, *SPECIAL)):
    """One table of all references, by rule name."""
    return {key: entry for subject in subjects for key, entry in getattr(subject, name, {}).items()}


REFERENCE, DOMAIN, EXTRA, COUNT, VALUES, EXCEPTIONS = map(
    table, ("REFERENCE", "DOMAIN", "EXTRA", "COUNT", "VALUES", "EXCEPTIONS")
)
SPECIAL_REFERENCE = table("REFERENCE", SPECIAL)
