"""The fast path of contad's own array rules, for the arguments of most calls, without checks for the rarer cases.

Other cases take the general path of `array_records.push_pullback`: another level, most rules in a recorded program,
options other than plain words and numbers.
"""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from contad.engines.matrix.array_records import LOOPS, Operand, push_continuation
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.kernel_records import COMPILED, WORDS, RecordKernels, checked_record, of_one_matrix
from contad.engines.matrix.kernel_shapes import LINES, NAMES
from contad.engines.matrix.matrix_products import factor_of
from contad.engines.stream.pullbacks import Part, Pullback
from contad.engines.stream.storage import PULLBACK
from contad.rules.array_rule import ArrayRule, array_rule_of
from contad.rules.numpy_functions import entry_of
from contad.variables.dtypes import FLOAT
from contad.variables.layout import is_permuted, layout_of
from contad.variables.open_types import Function, Option, Rule, Value

_TURNED = (1, 0)  # the axes of a transposed matrix


def fast_rule(rule: ArrayRule, kernels: RecordKernels | None) -> Callable[..., Value]:
    """The rule on arrays of one recording and plain arrays, with all arguments given by position."""
    general = rule.generally
    function, forward = rule.function, rule.forward_body
    option_names = frozenset(rule.option_names)
    names = rule.argument_names
    is_free = rule.name not in LINES  # the results of others take the memory order of the operand
    read: dict[tuple[int, ...], tuple[bool, ...]] = {}  # by positions of the operands: whether vjps read each value

    def method(*args: Value, **options: Option) -> Value:
        s = None
        operands: list[Operand] = []
        values: list[Value] = []
        turned: list[int] = []
        constants = False
        for k, x in enumerate(args):
            kind = x.__class__
            if kind is ArrayVar:
                v, base = x._value, x._base
                if s is None:
                    s = x._owner
                    if not s.is_here() or s.ended is not None or s.keeps_rules:
                        if s.tracer is None or rule.name not in NAMES or not s.is_here() or s.ended is not None:
                            return general(*args, **options)
                if x._owner is not s or v.__class__ is not np.ndarray or v.dtype is not FLOAT or not v.size:
                    return general(*args, **options)
                cell = x._index
                if cell <= 0 or (base is not None and base._index <= 0):
                    factor = factor_of(x)
                    if factor is not None:
                        cell = factor.cell
                        if factor.turned:
                            turned.append(k)
                    else:  # cells in C order; the value may stay a view, as nobody writes to its base
                        moved = base is None or base._index <= 0
                        if not v.flags.c_contiguous and (moved or (not is_free and is_permuted(v))):
                            return general(*args, **options)  # a result may take its argument's memory order
                        y = x.operand()
                        if y.__class__ is not ArrayVar or y._index <= 0:
                            return general(*args, **options)
                        cell = y._index
                        if moved:
                            v = y._value
                operands.append((k, cell, v.shape))
            elif kind is np.ndarray and x.dtype is FLOAT:
                v, constants = x, True
            elif kind is float:
                v = x
            else:
                return general(*args, **options)
            values.append(v)
        if s is None or not option_names.issuperset(options):
            return general(*args, **options)
        for option in options.values():
            kind = option.__class__
            if kind not in WORDS and not (kind is tuple and WORDS.issuperset(map(type, option))):
                return general(*args, **options)
        start = -1.0
        if kernels is not None and not s.keeps_rules and (is_free or turned or values[0].flags.c_contiguous):
            if kernels.attempt is not None or kernels.are_there():
                cells = [0] * len(values)
                for k, cell, _ in operands:
                    cells[k] = cell
                found = kernels.record(s, cells, values, turned, options)
                if found is not None:
                    return found
            else:
                start = perf_counter()
        if constants:
            live = tuple([k for k, _, _ in operands])
            wanted = read.get(live)
            if wanted is None:
                needed = names if forward is not None else frozenset().union(*(rule.needs(names[k]) for k in live))
                wanted = read[live] = tuple(k not in live and names[k] in needed for k in range(len(names)))
            for k, is_wanted in enumerate(wanted):
                if is_wanted and values[k].__class__ is np.ndarray:
                    values[k] = s.buffers.keep(values[k])[0]
        z, saved = (function(*values, **options), None) if forward is None else forward(*values, **options)
        if kernels is not None and start >= 0.0:
            kernels.count(start)
        c = Pullback(rule, operands, values, options, saved, turned)
        if z.__class__ is np.float64 or z.__class__ is float:
            number = float(z)
            c.results.append(Part(s.top, 1, (), number))
            s.callbacks.append(c)
            return s.push_number(PULLBACK, len(s.callbacks) - 1, 0, number)
        if z.__class__ is not np.ndarray or not z.ndim or not z.size:
            return push_continuation(s, c, z)
        in_order = z.flags.c_contiguous
        if not in_order and not (z.ndim == 2 and z.flags.f_contiguous):
            return push_continuation(s, c, z, layout_of([z]))
        n = z.size
        first = s.top
        if first + n > s.capacity:
            s.room(n)
        if in_order:
            kept = s.slab[first : first + n].reshape(z.shape)
            kept[...] = z
            c.results.append(Part(first, n, z.shape, kept))
            s.callbacks.append(c)
            return s.push_values(PULLBACK, len(s.callbacks) - 1, 0, kept)
        kept = s.slab[first : first + n].reshape(z.shape[::-1])
        back = kept.T
        back[...] = z
        c.results.append(Part(first, n, kept.shape, back, _TURNED))
        s.callbacks.append(c)
        return s.push_values(PULLBACK, len(s.callbacks) - 1, 0, kept)._view_at(np.transpose, back, -1)

    return method


def install_rule(rule: Rule) -> None:
    """Let one of contad's own rules take the fast path from its next call on, unless it is a compiled loop."""
    if not isinstance(rule, ArrayRule) or ArrayVar in rule.methods or rule.name in LOOPS:
        return
    if not rule.__module__.startswith("contad.ops."):
        return
    kernels = RecordKernels(rule.name) if rule.name in COMPILED else None
    method = fast_rule(rule, kernels)
    count = len(rule.argument_names)
    of_one = kernels if count == 1 else None
    rule.methods[ArrayVar] = method if of_one is None else of_one_matrix(of_one, rule, method, rule.option_names)
    if kernels is not None:
        rule.attempt = checked_record(kernels, rule)
    if count == 2:
        rule.reflected[ArrayVar] = lambda y, x, **options: method(x, y, **options)
    if rule.parameters[:count] != rule.argument_names:
        return
    for function in rule.numpy:
        entry = entry_of(function)
        if entry is not None and entry.kind == "rule" and not isinstance(function, np.ufunc):
            called = _all_by_position(method, count, entry.implementation)
            entry.methods[ArrayVar] = called if of_one is None else of_one_matrix(of_one, rule, called)


def _all_by_position(method: Function, count: int, general: Function) -> Function:
    """The method of a rule for a NumPy function that is called with the rule's arguments."""

    def call(*args: Value, **options: Option) -> Value:
        return general(*args, **options) if options or len(args) != count else method(*args)

    return call


def install_kernel_records() -> None:
    """Let rules with kernels take the fast path from the first call on: a program may record that call."""
    for name in NAMES:
        install_rule(array_rule_of(name))
