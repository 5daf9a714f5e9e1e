"""Compiled loops for records of arrays in programs: the values of an operation, and the tangents.

They read the same shapes as the kernels of adjoints: two nested axes with a stride per operand. A result whose stride
is 0 along an axis is a sum over it.
"""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

import numpy as np

from contad.compile.compiling import is_cached, load_cached
from contad.compile.images import find_function, is_kept
from contad.compiled_rules.rule_source import names_read
from contad.engines.matrix.kernel_shapes import find_address, is_on_disk
from contad.engines.stream import kernels
from contad.engines.stream.arithmetic_rules import operation_of, value
from contad.engines.stream.rule_functions import indent, partial_of, write_accumulation
from contad.engines.stream.storage import CODES, KERNELS
from contad.engines.stream.sweep import numbering
from contad.forks import make_lock
from contad.ops import multiply
from contad.programs import codes
from contad.programs.fused_loops import SHAPE
from contad.programs.interpreter import value_of_rule
from contad.programs.member_groups import LONGEST, group_text
from contad.programs.more_axes import CODE_OF
from contad.progress_bars import ProgressBar
from contad.rules.scalar_rule import ScalarRule

VALUES, ADJOINTS, TANGENTS = range(3)
Kernel = tuple[int, int]  # purpose, code
ADDRESSES = np.zeros((codes.PURPOSES, CODES), np.uintp)  # of kernels, by purpose and code; 0 if not compiled yet
# records without kernels of their own
_WITHOUT = {codes.FUSED, codes.GATHER, codes.COMPARE, codes.STOPPED, codes.REPEATED}
_lock = make_lock()
_modules: list[ModuleType] = []  # a C function lives as long as its module

# A sum starts from -0.0: adding 0.0 or -0.0 to it keeps the sign.
_START = """\
is_sum = z_inner == 0 or (z_outer == 0 and outer > 1)
for o in range((outer if z_outer != 0 else 1) if is_sum else 0):
    for i in range(inner if z_inner != 0 else 1):
        target[z0 + o * z_outer + i * z_inner] = -0.0"""

_SUM = """\
total = 0.0
for i in range(inner):
    total = add_freely(total, {element})
target[z_row] += total"""

NAMES = "value", "adjoint", "tangent"  # the purposes of kernels of products
_PRODUCT = '''\
"""Products of matrices and vectors, of a program."""

from contad.compile.machine_code import cfunc
from contad.kernels.recorded_products import product_{name}


@cfunc("void(int64, int64, int64, int64)", cache=True)
def {name}(shape_at, values_at, constants_at, target_at):
    product_{name}(shape_at, values_at, constants_at, target_at)
'''
_GROUP = '''\
"""A group of members of fused loops; generated from their rules, do not edit."""

import math

from contad.compile.emitting import add_freely
from contad.compile.image_code import c_function
from contad.compile.words import array_at, integers_at


{decorator}
def kernel(shapes_at, memory_at, _, __):
    shapes = integers_at(shapes_at, {integers})
    memory = array_at(memory_at, 1 << 60)
    n = shapes[2]
{lines}
'''


def kernel_source(purpose: int, code: int) -> str:
    """The source of the kernel of one operation that computes values or tangents."""
    rule, active = operation_of(code)
    if purpose == TANGENTS:
        lines = _tangents(rule, active)
    elif rule is not None and names_read([value_of_rule(rule, _fast_values())]) & {"math", "np"}:
        lines = _values(rule, active, "")  # a call for each element, which no compiler vectorises
    else:
        lines = kernels.by_strides(rule, active, _values)
    start = "\n".join([*indent(_START.splitlines()), ""]) if kernels.sums(rule) and purpose == VALUES else ""
    return kernels.kernel_module(("Values", "", "Tangents")[purpose], rule, active, lines, "target", start)


def _fast_values() -> dict[str, str]:
    """The functions that replace those of `math` in kernels of values: vectorised ones, where they exist."""
    from contad.elementary import elementary_table  # it consists of Numba functions

    if not elementary_table.has_fast_registers():
        return kernels.FAST
    table = elementary_table.ELEMENTARY
    return {found.called: kernels.ELEMENTARY + name for name, found in table.items() if found.far is None}


def _values(rule: ScalarRule | None, active: str, strides: str) -> list[str]:
    names = "xy"[: len(active)]
    used = {(kernels.source_of(name, active), name) for name in names}
    elements = {name: kernels.element_text(kernels.source_of(name, active), name, strides) for name in names}
    if rule in (None, multiply):
        fixed = [f"{name} = {elements[name]}" for name, step in zip("xy", strides[1:], strict=False) if step == "0"]
        product = " * ".join(name if f"{name} = {elements[name]}" in fixed else elements[name] for name in "xy")
        if strides in kernels.sums(rule):
            return [*kernels.slices_text(strides, used), *fixed, *_SUM.format(element=product).split("\n")]
        z = kernels.element_text("target", "z", strides)
        loops = [["for i in range(inner):", f"    {z} {sign} {product}"] for sign in ("+=", "=")]
        adds, sets = (indent(loop) for loop in loops)
        return [*kernels.slices_text(strides, {*used, ("target", "z")}), *fixed, "if is_sum:", *adds, "else:", *sets]
    lines = [f"{name} = {element}" for name, element in elements.items()]
    lines.append(f"{kernels.element_text('target', 'z', strides)} = {value_of_rule(rule, _fast_values())}")
    return [*kernels.slices_text(strides, {*used, ("target", "z")}), "for i in range(inner):", *indent(lines)]


def _tangents(rule: ScalarRule | None, active: str) -> list[str]:
    lines: list[str] = []
    for k, kind in enumerate(active):
        if kind != "v":
            continue
        found = ([], "y") if rule is None else partial_of(rule, k, f"local_{k}_", functions=kernels.FAST, value=value)
        if found is not None:
            body, expression = found
            add = write_accumulation(rule, k, kernels.element_text("target", "z", ""), expression)
            lines += [f"d = {kernels.element_text('target', 'xy'[k], '')}", "if d != 0.0:", *indent([*body, *add])]
    if not lines:
        return ["pass"]
    sources = {name: kernels.source_of(name, active) for name in "zxy"[: len(active) + 1]}
    reads = [f"{name} = {kernels.element_text(source, name, '')}" for name, source in sources.items()]
    return ["for i in range(inner):", *indent([*reads, *lines])]


def kernels_of(code: np.ndarray, shapes: np.ndarray) -> tuple[int, ...]:
    """The codes of the kernels that records outside fused loops call."""
    arrays = code[code[:, 0] >= codes.ARRAY, 0].astype(np.int64) - codes.ARRAY
    repeated = shapes[code[code[:, 0] == codes.REPEATED, 1].astype(np.int64) + CODE_OF]
    found = {*arrays.tolist(), *repeated.tolist()}  # np.unique imports numpy.ma
    return tuple(sorted(k for k in found if k + codes.ARRAY not in _WITHOUT))


def find_missing(needed: Iterable[Kernel]) -> set[Kernel]:
    """The kernels that are not ready."""
    return {kernel for kernel in needed if not ADDRESSES[kernel]}


def compile_missing(needed: Iterable[Kernel]) -> None:
    """Compile the kernels that are not ready, or take them from the disk cache, and enter their addresses."""
    missing = find_missing(needed)
    if not missing:
        return
    with ProgressBar("contad.record: compiling operations on arrays, once per installation", len(missing)) as bar:
        for kernel in sorted(missing):
            with _lock:
                if not ADDRESSES[kernel]:
                    ADDRESSES[kernel] = _address(*kernel)
            bar.advance()


def _address(purpose: int, code: int) -> int:
    if purpose == ADJOINTS and kernels.has_kernel(code):
        kernels.compile_kernel(code)
        return int(KERNELS[code])
    if _is_product(purpose, code):
        return _products(purpose)
    name = _kernel_record_of(purpose, code)
    return find_function(*_module_of(purpose, code)) if name is None else find_address(name, purpose)


def is_kernel_kept(purpose: int, code: int) -> bool:
    """Whether the kernel is on the disk. For linear algebra and products this asks Numba's cache, and imports Numba."""
    if _is_product(purpose, code):
        return is_cached(f"product_{NAMES[purpose]}", [_product_source(NAMES[purpose])])
    name = _kernel_record_of(purpose, code)
    if name is not None:
        return is_on_disk(name, purpose)
    name, _, depends = _module_of(purpose, code)
    return is_kept(name, depends)


def needs_numba(purpose: int, code: int) -> bool:
    """Whether Numba loads the kernel."""
    return _is_product(purpose, code) or _kernel_record_of(purpose, code) is not None


def _is_product(purpose: int, code: int) -> bool:
    return purpose != codes.GROUPS and code == codes.PRODUCT - codes.ARRAY  # groups have numbers of their own


def _kernel_record_of(purpose: int, code: int) -> str | None:
    return None if purpose == codes.GROUPS else codes.KERNEL_RECORDS.get(code + codes.ARRAY)


def _module_of(purpose: int, code: int) -> tuple[str, Callable[[], str], Sequence[str]]:
    """The module of a kernel: its name, the function that writes it, and the texts that it depends on."""
    if purpose == codes.GROUPS:
        text = group_text(code)
        return "group", lambda: group_source(text), [text]
    if purpose > codes.IN_FUSED:
        y, x = divmod(purpose - codes.IN_FUSED, 3)
        return kernels.fused_kernel(code, (x, y))
    if purpose == ADJOINTS:
        return kernels.own_kernel(code)
    kind = "values" if purpose == VALUES else "tangents"
    return f"{kind}_{kernels.name_of_code(code)}", lambda: kernel_source(purpose, code), [numbering()]


def group_source(text: str) -> str:
    """The source of the kernel of a group."""
    lines = "\n".join(indent(text.splitlines()))
    return _GROUP.format(decorator=kernels.KERNEL, lines=lines, integers=SHAPE * LONGEST)


def _product_source(name: str) -> str:
    return _PRODUCT.format(name=name)


def _products(purpose: int) -> int:
    name = NAMES[purpose]
    source = _product_source(name)
    module = load_cached(f"product_{name}", lambda: source, [source])
    _modules.append(module)
    return int(getattr(module, name).address)
