"""The mpmath references of all rules, by name, and where and how closely they are compared."""

import importlib
import importlib.util

SUBJECTS = [
    importlib.import_module(name)
    for name in ("tests.ops.reference_core", "tests.ops.reference_special")
    if importlib.util.find_spec(name)
]


def table(name):
    """One table of all references, by rule name."""
    return {key: entry for subject in SUBJECTS for key, entry in getattr(subject, name, {}).items()}


REFERENCE, DOMAIN, EXTRA, COUNT, VALUES, EXCEPTIONS = map(
    table, ("REFERENCE", "DOMAIN", "EXTRA", "COUNT", "VALUES", "EXCEPTIONS")
)
