"""Temporary rules and engines: planted for a test, gone after it."""

import contextlib

import contad.functional
from contad import rule as registry
from contad.engines import engine
from contad.engines.records import RecordStack


@contextlib.contextmanager
def registered():
    """Whatever is registered inside is unregistered on the way out."""
    tables = (registry._rules, registry._by_ufunc, registry._by_scipy_name)
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, old in zip(tables, before, strict=True):
            table.clear()
            table.update(old)


@contextlib.contextmanager
def engines(**classes):
    """Engines by name, beside the real ones, for the transforms."""
    real = contad.functional.engine_class
    contad.functional.engine_class = lambda name=None: classes[name] if name in classes else engine(name)
    try:
        yield
    finally:
        contad.functional.engine_class = real


def plain_sweep(source):
    """The sweep of this source without compilation, in the place of the compiled one."""
    scope = {}
    exec(source.replace("from numba import njit", "njit = lambda *args, **options: lambda f: f"), scope)
    return scope["sweep"]


class PlantedStack(RecordStack):
    """The engine `records`, for a sweep that is wrong."""

    __slots__ = ()
    engine = "planted"
