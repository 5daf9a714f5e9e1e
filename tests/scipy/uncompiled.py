"""Numba functions of a module as Python runs them, which compile nothing for each function they are given."""

import types

import numba


def uncompiled(module):
    """The module's functions, which call each other."""
    names = dict(vars(module))
    for name, value in vars(module).items():
        if isinstance(value, numba.core.dispatcher.Dispatcher):
            f = value.py_func
            names[name] = types.FunctionType(f.__code__, names, name, f.__defaults__, f.__closure__)
    return types.SimpleNamespace(**names)
