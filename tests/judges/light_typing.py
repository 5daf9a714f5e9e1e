"""What Numba computes again and again while it compiles is computed once: tests compile, and little else takes time.

Nothing that is compiled changes, but the message of an assignment between slices of different lengths: for the numbers
in it Numba compiles operations on strings, which takes seconds in each process.
"""

import ctypes
import functools

from numba.core import errors, ir
from numba.core.codegen import ll
from numba.core.targetconfig import TargetConfig
from numba.core.typing import templates
from numba.extending import overload
from numba.np import arrayobj

PLAIN = frozenset({str, int, float, bool, type(None), ir.Loc})  # what instructions hold beside variables


# ---- flags, which are compared wherever a call is typed --------------------------------------------------------------
@functools.cache
def _defaults(kind):
    return {name: option.default for name, option in kind.options.items()}


def _values(flags):
    return _defaults(type(flags)) | flags._values


def _equal(flags, other):
    if not isinstance(other, TargetConfig):
        return NotImplemented
    return flags._values == other._values or _values(flags) == _values(other)


@functools.cache
def _hash_of(kind):
    return hash(tuple(sorted(kind.options)))  # Numba's: of the names alone


# ---- the ways to type a call, each of which is asked for literal types and for others --------------------------------
def _remembering(apply):
    """`apply(template, args, kws)`, which for the same types fails at once where it has failed."""

    @functools.wraps(apply)
    def remembered(template, args, kws):
        asked, error = template.__dict__.get("_failed", (None, None))
        if asked is not None and asked == (tuple(args), kws):
            if error is not None:
                raise error
            return None
        try:
            found = apply(template, args, kws)
        except errors.NumbaError as error:
            template._failed = (tuple(args), kws), error
            raise
        if found is None:
            template._failed = (tuple(args), kws), None
        return found

    return remembered


# ---- the variables of an instruction ---------------------------------------------------------------------------------
def _collect(value, found):
    kind = type(value)
    if kind is ir.Var:
        found.append(value)
    elif kind in PLAIN:
        pass
    elif isinstance(value, ir.Var):
        found.append(value)
    elif isinstance(value, ir.Inst):
        found += value.list_vars()
    elif isinstance(value, list | tuple):
        for part in value:
            _collect(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _collect(part, found)


def _variables(instruction, value):
    found = []
    _collect(value, found)
    return found


# ---- an assignment between slices of different lengths ---------------------------------------------------------------
def _raise_mismatch(source_shape, shape):
    raise NotImplementedError


# ---- the module that LLVM compiles: llvmlite looks for it twice, each time among all modules of the process -------
def _address(pointer):
    return ctypes.cast(pointer, ctypes.c_void_p).value


def _adding(add_module):
    @functools.wraps(add_module)
    def added(engine, module):
        add_module(engine, module)
        engine.__dict__.setdefault("_by_address", {})[_address(module._ptr)] = module

    return added


def _finding(find_module):
    @functools.wraps(find_module)
    def found(engine, pointer):
        module = engine.__dict__.get("_by_address", {}).get(_address(pointer))
        return module if module in engine._modules else find_module(engine, pointer)

    return found


def begin():
    """From now on, in this process."""
    ll.ExecutionEngine.add_module = _adding(ll.ExecutionEngine.add_module)
    ll.ExecutionEngine._find_module_ptr = _finding(ll.ExecutionEngine._find_module_ptr)
    TargetConfig.values, TargetConfig.__eq__ = _values, _equal
    TargetConfig.__hash__ = lambda flags: _hash_of(type(flags))
    for kind in (templates.AbstractTemplate, templates.CallableTemplate, templates.ConcreteTemplate):
        kind.apply = _remembering(kind.apply)
    ir.Inst._rec_list_vars = _variables
    if hasattr(arrayobj, "raise_with_shape_context"):
        overload(_raise_mismatch, target="generic")(arrayobj.ol_raise_with_shape_context_generic)
        arrayobj.raise_with_shape_context = _raise_mismatch
    for told in [*ll.ffi.lib._lock._cblist]:  # two events of each call of LLVM, which nobody reads
        ll.ffi.unregister_lock_callback(*told)
