"""Building `run`: the source text of one derivative at given types, around the rebuilt user function."""

import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numba
from numba import types

import contad.engines.tape.arrays_of_pairs
import contad.engines.tape.elementwise_loops
import contad.engines.tape.matrices_of_pairs
import contad.engines.tape.numpy_decompositions
import contad.engines.tape.numpy_products
import contad.engines.tape.operations
import contad.engines.tape.row_functions
import contad.engines.tape.rule_records
import contad.engines.tape.whole_arrays  # noqa: F401
from contad.compile.compiling import INTERNAL_OPTIONS, NJIT_OPTIONS, load_cached, write_options
from contad.engines.tape.active_numbers import (
    Leaf,
    is_array,
    leaves,
    lower,
    map_leaves,
    require_active,
    require_number,
    require_pair,
)
from contad.engines.tape.arrays import VARIABLE_BYTES, ActiveArray, carries, is_active_array
from contad.engines.tape.new_arrays import replacements
from contad.engines.tape.pairs_of_variables import is_complex
from contad.engines.tape.rebuild import Rebuilt
from contad.engines.tape.refusals import refusal, require_settled
from contad.engines.tape.variables import COMPLEX_OF, DUAL, VARIABLE, Active, ActivePair
from contad.errors import ContadError, UnsupportedError
from contad.numba_functions.fingerprint import fingerprint
from contad.numba_functions.request import Request

_PROMOTED = types.float32, types.float64, types.complex128  # variables may be among numbers of these types
_NO_OTHER: Mapping[str, Any] = {}
_HEAD = '''\
"""A derivative by the engine tape; generated, do not edit."""

import numpy as np
from contad.compile.machine_code import njit

from contad.engines.tape import conversions, operations
from contad.engines.tape.arrays import constants_of, copy_in_order, lift, lift_dual, lift_dual_pairs, lift_pairs
from contad.engines.tape.arrays import readonly, tangents, values
from contad.engines.tape.tape_array_records import take_adjoint, take_adjoints, take_pairs
from contad.engines.tape.guard import guard, seed, seed_number
from contad.engines.tape.tape_sweep import sweep
from contad.engines.tape.variables import COMPLEX_OF, DUAL, VARIABLE, dual, pair, variable
from contad.kernels.complex_arrays import join_parts
from contad.memory.arena import ARRAY_RECORD, USED, allocate, arena, release, reserve_adjoints, reserve_cells
from contad.compile.words import set_word, word

promoted, promoted_complex = constants_of[{active}], constants_of[COMPLEX_OF[{active}]]
'''


def build(request: Request) -> Any:
    """The njit dispatcher `run` of a request.

    Raises UnsupportedError if Numba cannot type the function on variables, OutputError if its result does not suit the
    mode.
    """
    if request.lanes > 1:
        raise UnsupportedError(f"{request.function.__name__}: the tape has one direction at a time")
    if request.has_aux and request.mode != "value_and_grad":
        raise UnsupportedError(f"{request.function.__name__}: the tape has has_aux=True for gradients only")
    if request.outs:
        raise UnsupportedError(f"{request.function.__name__}: the tape gives gradients in arrays of its own (out=True)")
    if request.mode == "hvp":
        raise UnsupportedError(f"{request.function.__name__}: the tape has first derivatives only")
    return TapeRecipe(request).run()


class TapeRecipe:
    """One derivative: the rebuilt function, and how its arguments are lifted and its results lowered."""

    def __init__(self, request: Request) -> None:
        """Rebuild the function, and those among its arguments, for variables."""
        self.request = request
        self.active: Active = DUAL if request.mode == "jvp" else VARIABLE
        self.rebuilt = Rebuilt(request.dispatcher, replacements(self.active))
        self.names: dict[str, Any] = {"f": self.rebuilt.dispatcher}  # the globals of the generated module
        for k, kind in enumerate(request.types):
            if k in request.argnums:
                for leaf in leaves("", kind):
                    require_active(k, leaf)
            elif isinstance(kind, (types.List, types.ListType, types.DictType, types.Set)):
                name = request.function.__name__
                raise UnsupportedError(f"{name}: argument {k}: a {kind} may be written to; pass an array or a tuple")
            elif isinstance(kind, types.Dispatcher):
                self.names[f"callable_{k}"] = self.rebuilt.rebuild(kind.dispatcher)

    def run(self) -> Any:
        """The compiled function."""
        request = self.request
        what = repr((request.types, request.argnums, request.has_aux, request.mode, numba.__version__))
        called = [kind.dispatcher for kind in request.types if isinstance(kind, types.Dispatcher)]
        found = [fingerprint(f) for f in (request.dispatcher, *called)]
        if all(x.stable for x in found):
            name = re.sub(r"\W", "", request.function.__name__)
            module = load_cached(f"tape_{name}", self.source, [*(x.digest for x in found), what])
        else:
            module = ModuleType("contad._uncached")  # it is in no file, which Numba accepts
            exec(compile(self.source({"cache": False}), "<contad tape>", "exec"), vars(module))
        vars(module).update(self.names)
        if any(x.recursive for x in found):
            self.source()  # types the function even if the text was on disk
            require_settled(self.rebuilt.made)
        if request.mode == "value_and_grad":
            try:
                module.run.compile(request.types)
            except (ContadError, MemoryError):
                raise
            except Exception as error:
                raise refusal(error, request.function) from error
        return module.run

    # ---- types -------------------------------------------------------------------------------------------------------
    def write_given(self, k: int, text: str, promote: bool) -> tuple[Any, str]:
        """The type and the expression that f gets for argument k, which the expression `text` reads."""
        kind = self.request.types[k]
        if f"callable_{k}" in self.names:
            return self.names[f"callable_{k}"]._numba_type_, f"callable_{k}"
        is_active = k in self.request.argnums

        def infer_type(kind: Any) -> Any:
            if isinstance(kind, types.BaseNamedTuple):
                return types.NamedTuple([infer_type(x) for x in kind], kind.instance_class)
            if isinstance(kind, types.BaseTuple):
                return types.Tuple([infer_type(x) for x in kind])
            if not is_array(kind):
                return self.element(kind) if is_active else kind
            if is_active or (promote and kind.dtype in _PROMOTED):
                return ActiveArray(self.element(kind.dtype), kind.ndim, "C")
            return kind.copy(layout="C", readonly=False) if promote else kind.copy(readonly=True)

        def write(leaf: Leaf) -> str:
            if is_active:
                return self.lift(k, leaf, text)
            if not is_array(leaf.type):
                return leaf.text
            if promote:
                if leaf.type.dtype == types.complex128:
                    return f"promoted_complex({leaf.text})"
                return f"promoted({leaf.text})" if leaf.type.dtype in _PROMOTED else f"copy_in_order({leaf.text})"
            return f"readonly({leaf.text})"

        return infer_type(kind), map_leaves(write, text, kind, self.names)

    def element(self, kind: Any) -> Any:
        """The active type of a number."""
        return COMPLEX_OF[self.active] if kind == types.complex128 else self.active

    def lift(self, k: int, leaf: Leaf, text: str) -> str:
        """The expression for an active leaf as a variable or a dual, or as a pair of them."""
        x, is_pair = leaf.text, is_complex(leaf.type)
        if self.active is DUAL:
            tangent = f"tangents_[{self.request.argnums.index(k)}]{x.removeprefix(text)}"
            if is_pair:
                real, imag = self.parts(tangent)
                if is_array(leaf.type):
                    return f"lift_dual_pairs({x}, {real}, {imag})"
                return f"pair(dual({x}.real, {real}), dual({x}.imag, {imag}))"
            return f"{'lift_dual' if is_array(leaf.type) else 'dual'}({x}, {tangent})"
        cell = f"c{self.cells.index((k, x.removeprefix(text)))}"
        if is_array(leaf.type):
            made = "lift_pairs" if is_pair else "lift"
            return f"{made}({x}, {cell}, header, allocation + {VARIABLE_BYTES} * ({cell} - c0))"
        if is_pair:
            return f"pair(variable({x}.real, {cell}, header), variable({x}.imag, {cell} + 1, header))"
        return f"variable({x}, {cell}, header)"

    def parts(self, text: str) -> list[str]:
        """The expressions of the parts of a direction of a complex leaf."""
        return [f"{text}[{k}]" for k in (0, 1)] if self.request.parts else [f"{text}.real", f"{text}.imag"]

    def pair(self, parts: Sequence[str], kind: Any) -> str:
        """The expression of what comes for a complex leaf."""
        return f"{'' if self.request.parts else 'join_parts' if is_array(kind) else 'complex'}({', '.join(parts)})"

    @property
    def cells(self) -> list[tuple[int, str]]:
        """The active leaves in the order of their cells: argument and index in it."""
        return [(k, leaf.text) for k in self.request.argnums for leaf in leaves("", self.request.types[k])]

    def typing(self, texts: list[str]) -> tuple[Any, list[str]]:
        """The type of f's result, and the expressions of its arguments.

        Constant arrays are passed without a copy, so that data costs nothing; if f writes to them or mixes them with
        arrays of variables, it gets copies that accept variables.
        """
        first: Exception | None = None
        for promote in (False, True):
            given = [self.write_given(k, text, promote) for k, text in enumerate(texts)]
            signature = tuple(kind for kind, _ in given)
            try:
                self.rebuilt.dispatcher.compile(signature)
            except Exception as error:  # Numba's errors, and any exception from its typing of an unknown type
                first = first or error
                continue
            return self.rebuilt.dispatcher.overloads[signature].signature.return_type, [text for _, text in given]
        assert first is not None
        raise refusal(first, self.request.function) from first

    # ---- text --------------------------------------------------------------------------------------------------------
    def source(self, other: Mapping[str, Any] = _NO_OTHER) -> str:
        """The text of the module with `run`; `other` are options in place of contad's."""
        self.options = {**NJIT_OPTIONS, **other}
        request = self.request
        n = len(request.types)
        packed = request.mode != "value_and_grad"
        texts = [f"args[{k}]" for k in range(n)] if packed else [f"a{k}" for k in range(n)]
        result, given = self.typing(texts)
        lines = self.jvp(result, given) if request.mode == "jvp" else self.reverse(result, texts, given)
        active = "DUAL" if self.active is DUAL else "VARIABLE"
        return _HEAD.format(active=active) + "\n".join(lines) + "\n"

    def jvp(self, result: Any, given: list[str]) -> list[str]:
        """Statements of forward mode: duals through the function, without an arena."""

        def tangent(leaf: Leaf) -> str:
            """The expression for the tangent of a leaf of the result."""
            if is_complex(leaf.type):
                real = types.float64
                if carries(leaf.type):
                    real = leaf.type.copy(dtype=self.active)
                elif is_array(leaf.type):
                    real = leaf.type.copy(dtype=types.float64)
                elif isinstance(leaf.type, ActivePair):
                    real = self.active
                return self.pair([tangent(Leaf(f"{leaf.text}.{x}", real)) for x in ("real", "imag")], leaf.type)
            if isinstance(leaf.type, Active):
                return f"{leaf.text}.tangent"
            if is_active_array(leaf.type):
                return f"tangents({leaf.text})"
            return f"np.zeros({leaf.text}.shape)" if is_array(leaf.type) else "0.0"

        value = lower("out", result, self.names)
        return [
            "", "", f"@njit({write_options(self.options)})", "def run(args, tangents_):",
            f"    out = f({', '.join(given)})",
            f"    return {value}, {map_leaves(tangent, 'out', result, self.names)}",
        ]  # fmt: skip

    def reverse(self, result: Any, texts: list[str], given: list[str]) -> list[str]:
        """Statements of reverse mode: variables through the function, seeds, a sweep, adjoints of the arguments."""
        request = self.request
        of_leaves = [leaf for k in request.argnums for leaf in leaves(texts[k], request.types[k])]
        sizes = [_write_cells(leaf) for leaf in of_leaves]
        run = [f"    c{j + 1} = c{j} + {size}" for j, size in enumerate(sizes)]
        passed = f"({', '.join('0' if x in self.names else x for x in given)},)"  # the code calls functions by name
        parameters = ", ".join(texts)
        if request.mode == "vjp":
            parameters, passed = "args, z_bar", f"({passed}, z_bar)"
        return [
            *self.body(result),
            "", "", f"@njit({write_options(self.options)})", f"def run({parameters}):",
            "    header = arena()",
            "    c0 = word(header, USED)",
            "    last = word(header, ARRAY_RECORD)",
            *run,
            f"    size = {VARIABLE_BYTES} * (c{len(sizes)} - c0)",
            f"    reserve_cells(header, c{len(sizes)})",
            "    allocation = allocate(size)",
            f"    given = {passed}",
            f"    set_word(header, USED, c{len(sizes)})",
            "    result = guard(body, header, c0, last, given, allocation, size)",
            "    release(allocation, size)",
            "    set_word(header, USED, c0)",
            "    set_word(header, ARRAY_RECORD, last)",
            "    return result",
        ]  # fmt: skip

    def body(self, result: Any) -> list[str]:
        """The guarded statements: the function, and everything from its result to the gradients."""
        request = self.request
        is_vjp = request.mode == "vjp"
        arguments = "given[0]" if is_vjp else "given"
        places = [f"{arguments}[{k}]" for k in range(len(request.types))]
        called = ", ".join(f"callable_{k}" if f"callable_{k}" in self.names else x for k, x in enumerate(places))
        lines = ["", "", f"@njit({write_options(INTERNAL_OPTIONS)})", "def body(header, c0, given):"]
        collected = []
        j = 0
        for k in request.argnums:

            def gradient(leaf: Leaf) -> str:
                """The expression for the gradient by a leaf."""
                nonlocal j
                j += 1
                lines.append(f"    c{j} = c{j - 1} + {_write_cells(leaf)}")
                if is_complex(leaf.type) and is_array(leaf.type):
                    found = f"take_pairs(header, c{j - 1}, {leaf.text}.shape)"
                    return found if request.parts else f"join_parts(*{found})"
                if is_complex(leaf.type):
                    return self.pair([f"take_adjoint(header, c{j - 1}{x})" for x in ("", " + 1")], leaf.type)
                if not is_array(leaf.type):
                    found = f"take_adjoint(header, c{j - 1})"
                    return f"np.float32({found})" if leaf.type == types.float32 else found
                found = f"take_adjoints(header, c{j - 1}, np.empty({leaf.text}.shape))"
                return f"{found}.astype(np.float32)" if leaf.type.dtype == types.float32 else found

            collected.append(map_leaves(gradient, places[k], request.types[k], self.names))
        lines += [
            f"    out = f({called})",
            "    used = word(header, USED)",
            "    reserve_adjoints(header, used)",
        ]
        if is_vjp:
            lines += self.seeds(result)
            value = ""
        else:
            name = request.function.__name__
            number = require_pair(name, result) if request.has_aux else result
            out = "out[0]" if request.has_aux else "out"
            if is_array(number) and not number.ndim:
                number, out = number.dtype, f"{out}[()]"
            require_number(name, number)
            value = f"{out}.value" if isinstance(number, Active) else f"float({out})"
            if request.has_aux:
                value = f"({value}, {lower('out[1]', result[1], self.names)})"
            if isinstance(number, Active):
                lines += [f"    used = {out}.cell + 1", f"    seed_number(header, {out}.cell, 1.0)"]
            else:
                lines.append("    used = 0")
        lines.append(f"    sweep(header, used - 1, c{j})")
        gradients = f"({', '.join(collected)},)"
        lines.append(f"    return {gradients}" if is_vjp else f"    return {value}, {gradients}")
        return lines

    def seeds(self, result: Any) -> list[str]:
        """Statements that add z_bar to the adjoints of the result."""
        lines = []
        bars = leaves("given[1]", result)
        for leaf, bar in zip(leaves("out", result), bars, strict=True):
            given = [(leaf.text, bar.text)]
            if is_complex(leaf.type):
                given = [*zip((f"{leaf.text}.real", f"{leaf.text}.imag"), self.parts(bar.text), strict=True)]
            for z, z_bar in given:
                if isinstance(leaf.type, (Active, ActivePair)):
                    lines.append(f"    seed_number(header, {z}.cell, {z_bar})")
                elif carries(leaf.type):
                    lines.append(f"    seed(header, {z}, {z_bar})")
        return lines


def _write_cells(leaf: Leaf) -> str:
    """The number of cells of an active leaf."""
    size = f"{leaf.text}.size" if is_array(leaf.type) else "1"
    return f"2 * {size}" if is_complex(leaf.type) else size


# ---- in words --------------------------------------------------------------------------------------------------------
def explain(request: Request) -> str:
    """A description of the differentiated function and the stored numbers."""
    lines = ["variables run through the function, compiled for them, and push records"]
    for k in request.argnums:
        kinds = [(leaf.text, is_array(leaf.type)) for leaf in leaves(f"argument {k}", request.types[k])]
        lines += [f"  {text}: {'array of variables' if array else 'variable'}" for text, array in kinds]
    if request.mode == "jvp":
        lines[0] = "duals run through the function, compiled for them"
        lines.append("  every number carries its tangent (16 bytes); nothing is recorded")
    else:
        lines.append(
            "  stores, per operation on variables, two partials and two cells (24 bytes) and an adjoint (8 bytes)"
        )
    return "\n".join(lines)
