"""Temporary rules and engines: planted for a test, gone after it."""

import contextlib
import re
from typing import ClassVar

import numpy as np

import contad.front.user_function
import contad.transforms.gradients
import contad.transforms.jacobians
from contad import ops
from contad.engines import engine, records
from contad.engines.stream import plain_sweep, record_stream
from contad.engines.stream.storage import INPUT, KERNELS
from contad.engines.stream.sweep import Sweeps, rules_source
from contad.rules import array_rule, numpy_functions, scalar_rule
from contad.rules.compilable import functions_of_text
from contad.variables.stack import ChainStack


@contextlib.contextmanager
def registered():
    """Whatever is registered inside is unregistered on the way out."""
    tables = (
        scalar_rule._rules, scalar_rule._by_ufunc, scalar_rule._by_scipy_name, array_rule._array_rules,
        array_rule._by_ufunc, numpy_functions._entries,
    )  # fmt: skip
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, old in zip(tables, before, strict=True):
            table.clear()
            table.update(old)


def body_of(text, **known):
    """The body of a rule from a line such as "z, x: ops.cos(x)": its parameters, and what it returns."""
    parameters, _, returned = text.partition(": ")
    source = f"def planted_body({parameters}):\n    return {returned}\n"
    return functions_of_text(source, {"ops": ops, "np": np} | known)["planted_body"]


@contextlib.contextmanager
def known(rule):
    """Inside, a rule that was made in `registered` is registered again."""
    with registered():
        scalar_rule._rules[rule.name] = rule
        yield


@contextlib.contextmanager
def engines(**classes):
    """Engines by name, beside the real ones, for the transforms."""
    modules = contad.transforms.gradients, contad.transforms.jacobians, contad.front.user_function
    for module in modules:
        module.engine_class = lambda name=None, *of: classes[name] if name in classes else engine(name, *of)
    try:
        yield
    finally:
        for module in modules:
            module.engine_class = engine


class NumpyMath:
    """The module `math` with NumPy's results where Python raises, as compiled code has them."""

    names: ClassVar = {"pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}

    def __getattr__(self, name):
        return getattr(np, self.names.get(name, name))


@contextlib.contextmanager
def compiled(source):
    """Records are swept by this source, as plain Python, in the place of the compiled sweep (scalars only)."""
    source = source.replace(
        "from contad.compile.image_code import builtin_function, inline\n",
        "inline = builtin_function = lambda f: f\n",
    )
    scope = {"math": NumpyMath()}
    exec(source.replace("import math\n", ""), scope)
    partials = {"math": NumpyMath(), "inline": lambda f: f, "c_function": lambda _: lambda f: f}
    exec(re.sub("(?m)^(import|from) .*\n", "", rules_source()), partials)
    scope["call_rule"] = lambda _, *args: partials["times_partial"](*args)
    real = record_stream.compile_sweeps

    def sweep(b, row, k, top):
        kernels = KERNELS.copy()
        kernels[INPUT] = 1  # the rules are there
        return scope["sweep"](b.records, b.values, b.adjoints, b.shapes, b.constants, kernels, row, k, top)

    planted = Sweeps(lambda *_: False, plain_sweep.settle, sweep, lambda *_: (-2, 0))  # Python reads all numbers
    record_stream.compile_sweeps = lambda: planted
    try:
        yield
    finally:
        record_stream.compile_sweeps = real


class PlantedStack(records.RecordStack):
    """The engine `records`, for a sweep that is wrong: every sweep is by `sweep`."""

    __slots__ = ()
    engine = "planted"
    run_sweep = ChainStack.run_sweep
