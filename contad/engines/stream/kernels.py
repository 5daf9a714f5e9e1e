"""Compiled loops for array records: one small C function per operation, generated from its rule on first use.

A kernel runs over two nested axes with a stride per operand: contiguous arrays, broadcast scalars, rows and columns
are all cases of it; so are sums (the result has stride 0) and dot products (a multiplication whose result has).
"""

import functools
import math
from collections.abc import Callable, Sequence

from contad.compile.images import find_function, is_kept
from contad.compiled_rules.rule_source import names_read
from contad.engines.stream.arithmetic_rules import copies_of_values, find_copied, operation_of, value
from contad.engines.stream.rule_functions import indent, partial_of, write_accumulation
from contad.engines.stream.storage import KERNELS, LINEAR, VARIANTS
from contad.engines.stream.sweep import numbering
from contad.forks import make_lock
from contad.ops import multiply
from contad.rules.scalar_rule import ScalarRule

WRITTEN: dict[int, str] = {}  # by code: kernels that are not generated from a scalar rule
WRITTEN_PULLS: dict[int, Callable[..., Callable[[], None]]] = {}  # makers of functions that do the same in NumPy
FAST = {"math.exp": "exponential"}  # replacements for functions of `math` in kernels
KERNEL = '@c_function("void(int64, int64, int64, int64)")'  # of addresses
ELEMENTARY = "elementary_"  # prefix of the names of vectorised elementary functions
_lock = make_lock()

# e^x = 2^k e^r with |r| <= ln(2) / 2, where the Taylor series to r^13 is exact to rounding; ln(2) in two parts
PARTS = {
    "log2_e": repr(1.0 / math.log(2.0)),
    "ln2_high": "6.93147180369123816490e-01", "ln2_low": "1.90821492927058770002e-10",
    "magic": repr(1.5 * 2.0**52),
    "taylor": functools.reduce(lambda p, n: f"{1.0 / math.factorial(n)!r} + r * ({p})", range(12, -1, -1),
                               repr(1.0 / math.factorial(13))),
}  # fmt: skip

_EXPONENTIAL = '''
from numba import types
from contad.compile.image_code import inline
from contad.compile.emitting import ir
from numba.extending import intrinsic


@intrinsic
def of_bits(typingctx, bits):
    """The float64 with these bits."""
    return types.float64(types.int64), lambda context, builder, _, args: builder.bitcast(args[0], ir.DoubleType())


@intrinsic
def bits_of(typingctx, x):
    """The bits of a float64."""
    return types.int64(types.float64), lambda context, builder, _, args: builder.bitcast(args[0], ir.IntType(64))


@inline
def exponential(x):
    """e^x without branches and calls, which a loop over arrays can be vectorised with."""
    y = -750.0 if x < -750.0 else 710.0 if x > 710.0 else x
    t = {log2_e} * y + {magic}  # to the nearest integer, which its last bits hold
    k = t - {magic}
    r = (y - k * {ln2_high}) - k * {ln2_low}
    p = {taylor}
    half = bits_of(0.5 * k + {magic}) - bits_of({magic})  # in two steps, for results that are subnormal
    rest = bits_of(t) - bits_of({magic}) - half
    z = p * of_bits((half + 1023) << 52) * of_bits((rest + 1023) << 52)
    return math.inf if x > 709.79 else z
'''

_SOURCE = '''\
"""{what} of {name} on arrays; generated from its rule, do not edit."""

import math

import numpy as np
from contad.elementary.elementary_table import ELEMENTARY
from contad.compile.emitting import add_freely, prefer_wide_registers
from contad.compile.image_code import c_function, inline
from contad.compile.words import array_at, integers_at
{exponential}
ENDLESS = 1 << 60


{decorator}
def kernel(shape_at, values_at, constants_at, {target}_at):
    shape = integers_at(shape_at, 14)
    z0, outer, inner, z_outer, z_inner = shape[0], shape[1], shape[2], shape[3], shape[4]
    x0, x_outer, x_inner, y0, y_outer, y_inner = shape[5], shape[6], shape[7], shape[8], shape[9], shape[10]
    values = array_at(values_at, ENDLESS)
    constants = array_at(constants_at, ENDLESS)
    {target} = array_at({target}_at, ENDLESS)
{start}    for o in range(outer):
        z_row = z0 + o * z_outer
        x_row = x0 + o * x_outer
        y_row = y0 + o * y_outer
{rows}{cases}
'''

# Adjoints have the places of their values; in fused loops, which reuse the memory of adjoints, they have their own.
_ROWS = "d_z_row, d_x_row, d_y_row = z_row, x_row, y_row"
_ROWS_APART = """\
d_z_row = shape[11] + o * z_outer
d_x_row = shape[12] + o * x_outer
d_y_row = shape[13] + o * y_outer"""

# A kernel leaves the adjoint of an operand, adds to it, or writes it if it is the first to reach it.
LEAVING, ADDING, WRITING = range(3)
_ADDING_ALL = (ADDING, ADDING)

# The inner strides of (z, x, y) with loops of their own, which the compiler can vectorise. A result of stride 0 is a
# sum or a dot product, an operand of stride 0 a number.
_CASES = {"v": ("11",), "vv": ("111", "110", "101"), "vc": ("111", "110"), "cv": ("111", "101")}


def sums(rule: ScalarRule | None) -> tuple[str, ...]:
    """Strides with which an operation is a sum of products, or, if it is linear, a sum."""
    return ("011", "010") if rule is None else ("011",) if rule is multiply else ()


def kernel_source(code: int) -> str:
    """The source of the adjoint kernel of one operation."""
    if code in WRITTEN:
        return WRITTEN[code]
    rule, active = operation_of(code)
    return kernel_module("The adjoint", rule, active, by_strides(rule, active, _loops), "adjoints")


def fused_kernel_source(code: int, how: tuple[int, int]) -> str:
    """The source of the kernel for a fused loop; `how` tells for x and y whether it leaves, adds or writes.

    It writes adjoints only where their inner strides are 1: then each belongs to one element of the result.
    """
    rule, active = operation_of(code)
    loops = functools.partial(_loops, how=how)
    written = [k for k in range(len(active)) if how[k] == WRITING]
    lines = by_strides(rule, active, loops, lambda strides: all(strides[1 + k] == "1" for k in written))
    return kernel_module("The adjoint in fused loops", rule, active, lines, "adjoints", rows=_ROWS_APART)


def by_strides(
    rule: ScalarRule | None, active: str, loops: Callable[..., list[str]], occur: Callable[[str], bool] = bool
) -> list[str]:
    """A branch for each of the inner strides that occur and have loops of their own, and one for all others."""
    lines: list[str] = []
    for strides in filter(occur, (*_CASES[active], *sums(rule))):
        test = " and ".join(f"{name}_inner == {step}" for name, step in zip("zxy", strides, strict=False))
        lines += [f"{'elif' if lines else 'if'} {test}:", *indent(loops(rule, active, strides))]
    return [*lines, "else:", *indent(loops(rule, active, ""))]


def kernel_module(
    what: str, rule: ScalarRule | None, active: str, lines: list[str], target: str, start: str = "", rows: str = _ROWS
) -> str:
    """The module with a kernel that writes to `target`: `lines` for each run of the outer axis, after `start`."""
    name = f"{rule.name} ({active})" if rule else "a linear operation"
    cases = "\n".join(indent(lines, 2))
    exponential = exponential_source() if "exponential(" in cases else ""
    elementary = sorted(name for name in names_read(lines) if name.startswith(ELEMENTARY))
    start = f"    prefer_wide_registers()\n{start}" if elementary else start
    exponential += "".join(f"\n\n@inline\n{text}\n" for text in copies_of_values(find_copied(names_read(lines))))
    for called in elementary:
        exponential += f'\n{called} = ELEMENTARY["{called.removeprefix(ELEMENTARY)}"].kernel\n'
    rows = "\n".join([*indent(rows.splitlines(), 2), ""]) if target == "adjoints" else ""
    return _SOURCE.format(
        what=what, name=name, cases=cases, exponential=exponential, target=target, start=start, rows=rows,
        decorator=KERNEL,
    )  # fmt: skip


def exponential_source() -> str:
    """The source of `exponential`."""
    return _EXPONENTIAL.format(**PARTS)


def strides_with_loops(rule: ScalarRule | None, active: str) -> tuple[tuple[int, ...], ...]:
    """The inner strides that have loops of their own, as integers."""
    return tuple(tuple(map(int, strides)) for strides in (*_CASES[active], *sums(rule)))


def partial_in_kernel(rule: ScalarRule | None, k: int) -> tuple[list[str], str] | None:
    """Partial k as lines and an expression in z, x and y; None if it is zero. Without a rule it is the constant y."""
    return ([], "y") if rule is None else partial_of(rule, k, "local_", functions=FAST, value=value)


def element_text(array: str, name: str, strides: str, i: str = "i") -> str:
    """Element i of an operand; a contiguous operand is an array of its own, whose index runs from 0."""
    if strides and strides["zxy".index(name)] == "0":
        return f"{array}[{_row_of(array, name)}]"
    return f"{array}_{name}[{i}]" if strides else f"{array}[{_row_of(array, name)} + {i} * {name}_inner]"


def _row_of(array: str, name: str) -> str:
    return f"d_{name}_row" if array == "adjoints" else f"{name}_row"


def slices_text(strides: str, used: set[tuple[str, str]]) -> list[str]:
    """The lines that make each contiguous operand an array with its own name.

    They do not slice, because Numba tests the ends of slices, which takes as long to compile as the loops.
    """
    return [
        f"{array}_{name} = array_at({array}_at + 8 * {_row_of(array, name)}, inner)"
        for array, name in sorted(used)
        if strides and strides["zxy".index(name)] != "0"
    ]


def _loops(rule: ScalarRule | None, active: str, strides: str, how: tuple[int, int] = _ADDING_ALL) -> list[str]:
    """A loop for each active operand, so that it accumulates into one array or one number.

    Contiguous operands are arrays of their own: Numba does not test the sign of an index that runs from 0.
    """
    fixed = {name for name, step in zip("zxy", strides, strict=False) if step == "0"}
    names = "zxy"[: len(active) + 1]

    def element(array: str, name: str) -> str:
        return element_text(array, name, strides)

    lines: list[str] = []
    sliced: set[tuple[str, str]] = set()
    for k, kind in enumerate(active):
        found = partial_in_kernel(rule, k) if kind == "v" and how[k] != LEAVING else None
        if found is None:
            continue
        body, expression = found
        read = names_read([*body, expression])
        operands = [name for name in names if name in read]
        sliced |= {(source_of(name, active), name) for name in operands} | {("adjoints", "z"), ("adjoints", "xy"[k])}
        target = "total" if "xy"[k] in fixed else element("adjoints", "xy"[k])
        reads = [f"{name} = {element(source_of(name, active), name)}" for name in operands if name not in fixed]
        once = [f"{name} = {element(source_of(name, active), name)}" for name in operands if name in fixed]
        inner = accumulation_text(rule, k, found, how[k], target, reads)
        d = [f"d = {element('adjoints', 'z')}"]
        loop = ["for i in range(inner):", *indent(inner if "z" in fixed else d + inner)]
        lines += once + d + loop if "z" in fixed else once + loop
        if target == "total":
            lines[-len(loop) :] = ["total = 0.0", *(add_freely_to("total", line) for line in loop)]
            lines.append(f"{element('adjoints', 'xy'[k])} += total")
    return [*slices_text(strides, sliced), *lines] or ["pass"]


def accumulation_text(
    rule: ScalarRule | None, k: int, found: tuple[list[str], str], how: int, target: str, reads: Sequence[str] = ()
) -> list[str]:
    """The lines that add d times partial k to the target, or write it; the lines in `reads` read operands."""
    body, expression = found
    read = names_read([*body, expression])
    if not read & set("zxy"):  # a constant number: a zero d has nothing to mask
        lines = [f"{target} += d * ({expression})"]
    elif "math" in read:  # a call, which a zero d can skip
        lines = ["if d != 0.0:", *indent([*reads, *body, *write_accumulation(rule, k, target, expression)])]
    else:
        lines = [*reads, *body, *write_accumulation(rule, k, target, expression, " if d != 0.0 else 0.0")]
    if how == WRITING:
        lines = [line.replace(f"{target} += ", f"{target} = ") for line in lines]
        if lines[0] == "if d != 0.0:":
            lines += ["else:", f"    {target} = 0.0"]
    return lines


def add_freely_to(total: str, line: str) -> str:
    """A line that adds to a sum in any order: NumPy does not specify its order either."""
    start, plus, term = line.partition(f"{total} += ")
    return f"{start}{total} = add_freely({total}, {term})" if plus else line


def source_of(name: str, active: str) -> str:
    """The array that holds an operand: the values, or the constants."""
    return "values" if name == "z" or active["xy".index(name)] == "v" else "constants"


def has_kernel(code: int) -> bool:
    """Whether a kernel sweeps the records of an operation."""
    return operation_of(code)[0] is not None or code == LINEAR or code in WRITTEN


def name_of_code(code: int) -> str:
    """The name of an operation in the names of its kernels."""
    rule, active = operation_of(code)
    return VARIANTS[code] if rule is None else f"{rule.name}_{active}"


def compile_kernel(code: int) -> None:
    """Compile the kernel of an operation, or take it from the disk cache, and enter its address."""
    with _lock:
        if not KERNELS[code]:
            KERNELS[code] = find_function(*own_kernel(code))


def own_kernel(code: int) -> tuple[str, Callable[[], str], Sequence[str]]:
    """The module with the kernel of an operation, for `find_function`."""
    return f"kernel_{name_of_code(code)}", lambda: kernel_source(code), _depends(code)


def fused_kernel(code: int, how: tuple[int, int]) -> tuple[str, Callable[[], str], Sequence[str]]:
    """The module with the kernel that fused loops call."""
    return f"fused_{name_of_code(code)}_{how[0]}{how[1]}", lambda: fused_kernel_source(code, how), _depends(code)


def has_compiled_kernel(code: int) -> bool:
    """Whether the kernel of an operation is in the disk cache."""
    name, _, depends = own_kernel(code)
    return is_kept(name, depends)


def _depends(code: int) -> tuple[str, ...]:
    return numbering(), WRITTEN.get(code, "")


Strides = tuple[int, ...]


@functools.lru_cache(1024)
def two_axes(shape: Strides, *strides: Strides) -> tuple[int, ...] | None:
    """The axes of a broadcast operation joined to two: outer, inner, and the two strides of each operand.

    None if more than two axes remain. `strides` are in elements, one tuple per operand.
    """
    joined = join_axes(shape, *strides)
    return None if len(joined) > 2 else pair_axes(joined, len(strides))


def join_axes(shape: Strides, *strides: Strides) -> list[tuple[int, list[int]]]:
    """The axes of a broadcast operation joined to as few as possible: the length and the strides of each."""
    joined: list[tuple[int, list[int]]] = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if joined and all(a == n * b for a, b in zip(joined[-1][1], steps, strict=True)):
            joined[-1] = (joined[-1][0] * n, steps)
        else:
            joined.append((n, steps))
    return joined


def pair_axes(joined: Sequence[tuple[int, list[int]]], operands: int) -> tuple[int, ...]:
    """At most two axes in the form of kernels: outer, inner, and the two strides of each operand."""
    (outer, outer_steps), (inner, inner_steps) = [*[(1, [0] * operands)] * (2 - len(joined)), *joined]
    return (outer, inner, *(s for pair in zip(outer_steps, inner_steps, strict=True) for s in pair))
