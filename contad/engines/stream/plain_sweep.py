"""The reverse sweep over records in plain Python and NumPy: what a first gradient runs instead of waiting.

To compile the sweep and the kernels of arrays takes seconds, once per machine; most tapes of a short session are swept
in less. It does what the compiled sweep does, to the last bit: the same formulas of the rules, and functions of `math`
of one element at a time. Only the adjoint of a number beside an array is a sum, which kernels take in vector registers.
"""

import ast
import functools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from contad.engines.stream import kernels
from contad.engines.stream.record_head import (
    CALLBACK,
    CELLS,
    CODES,
    DOT,
    FORMS,
    GATHER,
    INPUT,
    JOIN,
    LINEAR,
    PULLBACK,
    STRIDED,
    SUM,
    X_NUMBER,
    Y_NUMBER,
    decode,
    own_cells,
)
from contad.engines.stream.rule_functions import partial_of, routes
from contad.engines.stream.storage import Buffers
from contad.engines.stream.sweep import OPERATIONS
from contad.native.rule_source import names_read
from contad.rules.body import ARITHMETIC_ERRORS

LINKS = frozenset({LINEAR, JOIN})
ROWS = 256  # that are taken out of the array of records at once
FEW = 1000  # records, for which no loop over records of these kinds is made
MOST_KINDS = 24  # that a loop tells apart


def settle(staging: np.ndarray, records: np.ndarray, values: np.ndarray, n: int, row: int, cell: int) -> int:
    """Move n staged records to the rows from `row`, the values of scalars to the cells from `cell`; the next cell."""
    staged = staging[:n]
    records[row : row + n] = staged[:, :3]
    heads = staged[:, 0]
    if heads.min(initial=0.0) >= 0.0:  # numbers alone
        values[cell : cell + n] = staged[:, 3]
        return cell + n
    own = own_cells(heads).astype(np.int64)
    first = cell + np.cumsum(own) - own
    scalars = heads >= 0.0
    values[first[scalars]] = staged[scalars, 3]
    return cell + int(own.sum())


def sweep(
    buffers: Buffers, adjoints: np.ndarray, row: int, k: int, top: int, seconds: float
) -> tuple[int, int, bool]:
    """As the compiled sweep: from `row`, whose last cell is k, down to row 0, or to one that needs Python.

    It also stops after these seconds, which is the third of its results.
    """
    v, a = buffers.values.data, adjoints.data  # memoryviews, whose elements are Python's floats
    end = thread_time() + seconds
    while row > 0:
        if thread_time() > end:
            return row, k, True
        start = max(1, row - ROWS + 1)
        rows = buffers.records[start : row + 1].tolist()
        loop = _loop_over(rows) if row >= FEW else None
        if loop is not None:
            k = loop(rows, v, a, k, top)
            row = start - 1
            continue
        for head, x, y in reversed(rows):
            if head < 0:
                n = int(-head) // CELLS
                if not sweep_array(buffers, adjoints, head, x, y, k - n + 1, top):
                    return row, k, False
                k -= n - 1
            elif k <= top:
                if head == CALLBACK:
                    return row, k, False
                d = a[k]
                if d == 0.0 or head == INPUT:
                    pass
                elif head in LINKS:
                    a[int(x)] += d * y
                    if head == JOIN:
                        a[k - 1] += d
                else:
                    try:
                        _step(head)(d, k, x, y, v, a)
                    except ARITHMETIC_ERRORS:
                        _step_by_rule(head, d, k, x, y, v, a)
            k -= 1
            row -= 1
    return 0, 0, False


# ---- records of numbers ----------------------------------------------------------------------------------------------
Numbers = Any  # a memoryview


def _lines_of(code: float) -> list[str]:
    """What one record of an operation does, as Python: the branch of the compiled sweep."""
    rule, active = OPERATIONS[int(code)]
    own = {"xy"[n]: n for n, kind in enumerate(active) if kind == "v"}
    lines, added = [], []
    for name, n in own.items():
        found = partial_of(rule, n, f"local_{name}_")
        if found is not None:
            lines += [*found[0], f"{name}_bar = {found[1]}"]
            product = f"d * {name}_bar"
            added.append(f"a[{name}_cell] += {product}" + f" if {name}_bar != 0.0 else 0.0" * routes(rule, n))
    cells = [f"{name}_cell = int({name})" for name in own]
    places = {"z": "k"} | {name: f"{name}_cell" for name in own}
    read = [f"{name} = v[{place}]" for name, place in places.items() if name in names_read(lines)]
    return [*cells, *read, *lines, *added]


@functools.cache
def _step(code: float) -> Callable[[float, int, float, float, Numbers, Numbers], None]:
    """A function that does what one record does."""
    return _function("\n".join([*_lines_of(code), "return None"]), ["d", "k", "x", "y", "v", "a"], _Powers(), _NAMES)


_NAMES = {"math": math, "abs": abs, "int": int, "reversed": reversed}
_met: dict[float, None] = {}  # the codes of what long recordings have, in the order in which they were met


def _loop_over(rows: list[list[float]]) -> Callable[[list[list[float]], Numbers, Numbers, int, int], int] | None:
    """A function that does what many records of numbers do; None where others are among them, or too many kinds."""
    codes = {head for head, _, _ in rows}
    if min(codes) < 0 or CALLBACK in codes:
        return None
    if not codes <= _met.keys():
        _met.update(dict.fromkeys(sorted(codes)))
    return _loop(tuple(_met)) if len(_met) <= MOST_KINDS else None


@functools.lru_cache(maxsize=4)
def _loop(codes: tuple[float, ...]) -> Callable[[list[list[float]], Numbers, Numbers, int, int], int]:
    """A function that goes through records with these codes, from the last one, and returns the cell before them."""
    branches: list[str] = []
    for code in codes:
        lines = ["pass"] if code == INPUT else ["a[int(x)] += d * y"] if code in LINKS else _lines_of(code)
        lines += ["a[k - 1] += d"] if code == JOIN else []
        branches += [f"{'el' if branches else ''}if head == {code}:", *(f"    {line}" for line in lines)]
    body = textwrap.indent("\n".join(branches), " " * 16)
    text = f"""
for record in reversed(rows):
    if k <= top:
        d = a[k]
        if d != 0.0:
            head, x, y = record
            try:
{body}
            except errors:
                by_rule(head, d, k, record[1], record[2], v, a)
    k -= 1
return k
"""
    known = _NAMES | {"errors": ARITHMETIC_ERRORS, "by_rule": _step_by_rule}
    return _function(text, ["rows", "v", "a", "k", "top"], _Powers(), known)


def _step_by_rule(code: float, d: float, k: int, x: float, y: float, v: Numbers, a: Numbers) -> None:
    """The same where Python raises, and compiled code has infinities."""
    rule, active = OPERATIONS[int(code)]
    args = [v[int(field)] if kind == "v" else field for field, kind in zip((x, y), active, strict=False)]
    for n, kind in enumerate(active):
        if kind == "v":
            a[int((x, y)[n])] += rule.product(n)(d, rule.partial(n)(v[k], *args))


# ---- records of arrays -----------------------------------------------------------------------------------------------
def strides_of(buffers: Buffers, form: int, first: int, n: int, x: float, y: float) -> Sequence[int]:
    """What kernels read of a record: z, outer, inner, z_outer, z_inner, x, x_outer, x_inner, y, y_outer, y_inner."""
    if form == STRIDED:
        return buffers.shapes[int(x) : int(x) + 11].tolist()
    shape = list(FORMS[11 * (form // CODES) :][:11])
    shape[0], shape[2] = first, n
    shape[5] = shape[5] if form == X_NUMBER else int(x)
    if form == SUM:
        shape[2] = int(y)
    elif form == DOT:
        shape[8], shape[2] = buffers.shapes[int(y) : int(y) + 2].tolist()
    else:
        shape[8] = shape[8] if form == Y_NUMBER else int(y)
    return shape


def sweep_array(
    buffers: Buffers, adjoints: np.ndarray, head: float, x: float, y: float, first: int, top: int
) -> bool:
    """Propagate the adjoints of one record of an array, if it is live; False where Python is needed."""
    code, form, n = decode(head)
    if code == 0:
        return True
    shape = strides_of(buffers, form, first, n, x, y) if form == STRIDED else None
    z, size = first, n
    if shape is not None:
        z, outer, inner, z_outer, z_inner = shape[:5]
        size = 1 + (outer - 1) * z_outer + (inner - 1) * z_inner
    if z > top:
        return True
    if code == CALLBACK:
        return False
    if not adjoints[z : z + size].any():
        return True
    if code == PULLBACK:
        slot = int(y)
        if slot == 0 or buffers.shapes[slot] == 0:  # no kernel, or that of a step
            return False
        kernels.WRITTEN_PLAINLY[code](buffers.shapes[slot:], buffers.values, buffers.constants, adjoints)
        return True
    if code == GATHER:
        np.add.at(adjoints, buffers.shapes[int(x) : int(x) + n], adjoints[first : first + n])
        return True
    if form == X_NUMBER:
        buffers.constants[1] = x
    elif form == Y_NUMBER:
        buffers.constants[1] = y
    with np.errstate(all="ignore"):
        places = shape or strides_of(buffers, form, first, n, x, y)
        run_kernel(code, places, buffers.values, buffers.constants, adjoints)
    return True


def run_kernel(
    code: int, shape: Sequence[int], values: np.ndarray, constants: np.ndarray, adjoints: np.ndarray
) -> None:
    """What the kernel of an operation does, by operations on whole rows."""
    z0, outer, inner, z_outer, z_inner, x0, x_outer, x_inner, y0, y_outer, y_inner = shape
    operation = _array_partials(code)
    steps = {"z": z_inner, "x": x_inner, "y": y_inner}
    own_loop = tuple(steps.values())[: len(operation.active) + 1] in operation.loops
    kinds = dict(zip("zxy", f"v{operation.active}", strict=False))
    for o in range(outer):
        rows = {"z": z0 + o * z_outer, "x": x0 + o * x_outer, "y": y0 + o * y_outer}
        for name, part in operation.partials:
            d = _row(adjoints, rows["z"], z_inner, inner)
            read = {
                n: _row(values if kinds[n] == "v" else constants, rows[n], steps[n], inner) for n in part.reads
            }
            c = part.multiply(d, part.partial(**read))
            if part.masked:
                c = np.where(d != 0.0, c, 0.0)
            target = _row(adjoints, rows[name], steps[name], inner)
            if np.ndim(target):
                target += c
            else:  # a sum, of its terms one after the other
                terms = np.empty(inner + 1)
                terms[0] = 0.0 if own_loop else target
                terms[1:] = c
                total = np.add.accumulate(terms)[-1]
                adjoints[rows[name]] = target + total if own_loop else total


def _row(array: np.ndarray, start: int, step: int, n: int) -> Any:
    """A row as a view, or its number where the stride is 0."""
    if not step:
        return array[start]
    end = start + (n - 1) * step
    return array[start : end + 1 : step] if step > 0 else array[end : start + 1 : -step][::-1]


class ArrayOperation(NamedTuple):
    """The operation of a kernel on rows."""

    active: str
    loops: tuple[tuple[int, ...], ...]  # the inner strides for which a kernel adds up a total of its own
    partials: list[tuple[str, "ArrayPartial"]]  # by x and y


class ArrayPartial(NamedTuple):
    """A partial on rows: the operands that it reads, and how an adjoint is multiplied by it."""

    partial: Callable[..., Any]
    reads: set[str]
    multiply: Callable[[Any, Any], Any]
    masked: bool  # whether an adjoint of zero gives nothing, whatever the partial is


@functools.cache
def _array_partials(code: int) -> ArrayOperation:
    """The operation of a code on rows, from the source that its kernel is made of."""
    rule, active = OPERATIONS.get(code, (None, "vc"))
    found = []
    for k, kind in enumerate(active):
        source = kernels.partial_in_kernel(rule, k) if kind == "v" else None
        if source is None:
            continue
        lines, expression = source
        read = names_read([*lines, expression])
        operands = read & {"z", "x", "y"}
        routed = bool(operands) and routes(rule, k)
        masked = bool(operands) and (not routed or "math" in read)
        partial = _function("\n".join([*lines, f"return {expression}"]), sorted(operands), _OnRows(), ON_ROWS)
        found.append(("xy"[k], ArrayPartial(partial, operands, _route if routed else np.multiply, masked)))
    return ArrayOperation(active, kernels.strides_with_loops(rule, active), found)


def _route(d: Any, p: Any) -> Any:
    """d times p, and 0 where p is."""
    return np.where(p != 0.0, d * p, 0.0)


# ---- the formulas on rows --------------------------------------------------------------------------------------------
class _Powers(ast.NodeTransformer):
    """Powers as the multiplications that Numba makes of them."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _call("power", node.left, node.right) if isinstance(node.op, ast.Pow) else node


class _OnRows(_Powers):
    """Choices and conditions of numbers as functions of arrays, too."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _call("where", node.test, node.body, node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return functools.reduce(lambda a, b: _call(name, a, b), node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call("logical_not", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        found: ast.expr | None = None
        for x, op, y in zip(sides, node.ops, sides[1:], strict=False):
            link = ast.Compare(x, [op], [y])
            found = link if found is None else _call("logical_and", found, link)
        assert found is not None
        return found

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Name(node.attr, ast.Load())


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _function(
    text: str, parameters: Sequence[str], form: ast.NodeTransformer, known: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function with this body."""
    body = textwrap.indent(text, "    ")
    tree = form.visit(ast.parse(f"def partial({', '.join(parameters)}):\n{body}"))
    names = {**known, "power": _power}
    exec(compile(ast.fix_missing_locations(tree), "<plain sweep>", "exec"), names)
    found: Callable[..., Any] = names["partial"]
    return found


def _power(x: Any, n: int) -> Any:
    """x^n by the multiplications that Numba makes of it."""
    z: Any = 1.0
    while n:
        z = z * x if n & 1 else z
        n >>= 1
        x = x * x
    return z


def _by_element(name: str) -> Callable[..., Any]:
    """A function of `math` on rows, an element at a time, with C's results where Python raises."""
    function, of_numpy = getattr(math, name), getattr(np, "power" if name == "pow" else name)

    def element(*args: float) -> float:
        try:
            return float(function(*args))
        except (ValueError, OverflowError):
            return float(of_numpy(*args))

    return lambda *args: np.asarray(np.frompyfunc(element, len(args), 1)(*args), np.float64)


ON_ROWS: dict[str, Any] = {
    "where": np.where, "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not,
    "abs": np.abs, "sqrt": np.sqrt, "isfinite": np.isfinite, "copysign": np.copysign,
    "inf": math.inf, "nan": math.nan, "pi": math.pi, "bits_of": lambda x: np.asarray(x).view(np.int64),
    "of_bits": lambda n: np.asarray(n).view(np.float64),
    **{name: _by_element(name) for name in ("cos", "cosh", "hypot", "log", "pow", "sin", "sinh")},
}  # fmt: skip
_text = kernels.exponential_source().partition("def exponential(x):\n")[2]
ON_ROWS["exponential"] = _function(textwrap.dedent(_text), ["x"], _OnRows(), ON_ROWS)
