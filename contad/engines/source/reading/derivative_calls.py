"""Reads calls of derivatives in a differentiated function: contad.grad(g)(x), contad.hessian(g)(x) and others.

The reader inlines the code between a call and an engine's `run`. Each call of `run` becomes one operation; for array
results, that is the derivative of their product with cotangents.
"""

import ast
import functools
import inspect
from collections.abc import Iterator
from typing import Any

from numba import types

from contad.compile.dispatchers import is_dispatcher
from contad.compiled_rules.user_rules import as_read
from contad.engines.source.ir.called_derivatives import DerivativeCall, DerivativeSite, number_of
from contad.engines.source.ir.entries import Object, Point, Unknown, constant, is_array, is_number
from contad.engines.source.ir.known_functions import MULTIPLY
from contad.engines.source.ir.ssa import Value
from contad.engines.source.ir.walks import leaves, like
from contad.engines.source.reading.call_site import CallSite
from contad.engines.source.reading.numba_typing import type_of
from contad.errors import UnsupportedError
from contad.functions.transformed import Decorated
from contad.functions.user_call import numba_function
from contad.numba_functions.asked_derivatives import AskedDerivative
from contad.rules.compilable import MakesDerivatives, WrittenOut

_NO_VALUE = Unknown("it is the value of a function, which its higher derivatives do not have")


# ---- transforms and derivatives --------------------------------------------------------------------------------------
def read_transform(site: CallSite, transform: MakesDerivatives) -> Any:
    """The derivative that a transform makes of a Numba function, or its result if it is called at once."""
    arguments = site.arguments
    f = arguments[0].value if arguments and isinstance(arguments[0], Object) else None
    if isinstance(f, Decorated):
        f = numba_function(f.decorated)
    if not hasattr(f, "py_func"):
        site.refuse(f"{ast.unparse(site.node.func)} of something that is no Numba function")
    options, named = [_plain(x) for x in arguments[1:]], {name: _plain(x) for name, x in site.keywords.items()}
    try:
        made, at_once = transform.derivative_for(f, options, named)
    except (UnsupportedError, TypeError, ValueError) as error:
        site.refuse(f"{{node}}: {error}")
    return read_derivative(site.with_arguments(*arguments[1:3]), made) if at_once else Object(made)


def _plain(entry: Any) -> Any:
    """The Python value of a constant; other entries stay."""
    if isinstance(entry, tuple):
        return tuple(map(_plain, entry))
    if is_number(entry) and entry.constant is not None:
        return entry.constant
    return entry.value if isinstance(entry, Object) else entry


def read_derivative(site: CallSite, derivative: WrittenOut) -> Any:
    """Inline the call of a derivative; its result."""
    function, reader = derivative.py_func, site.reader  # type: ignore[attr-defined]
    try:
        bound = inspect.signature(function).bind(*map(reader.settle, site.arguments), **site.keywords).arguments
    except TypeError as error:
        site.refuse(f"the arguments of {{node}}: {error}", "give every argument once")
    given = [
        bound[name] if name in bound else reader.import_constant(p.default, site.node, name)
        for name, p in inspect.signature(function).parameters.items()
    ]
    kinds = tuple(_type_of(site, x) for x in given)
    before = reader.state()
    try:
        with site.progress.standing(pinned=True):
            return site.inline(derivative.write_out(kinds), given)
    except (UnsupportedError, TypeError) as error:
        reader.return_to(before)
        site.refuse(f"{{node}}, which is differentiated: {error}")


def _type_of(site: CallSite, entry: Any) -> Any:
    """The Numba type of an argument; None and Numba functions are left as they are."""
    for x in leaves(entry):
        if isinstance(x, Point):
            site.refuse("an array of no axes in {node}", "give its element, as in z[()]")
        is_left = isinstance(x, Object) and (x.value is None or is_dispatcher(x.value))
        if not (is_number(x) or is_array(x) or is_left):
            site.refuse(remedy="give a derivative numbers, arrays and tuples of them")
    return type_of(entry)


# ---- calls of run ----------------------------------------------------------------------------------------------------
def read_asked(site: CallSite, asked: AskedDerivative) -> Any:
    """The result of an engine's `run`."""
    return getattr(_Asked(site, asked), asked.request.mode)(site.arguments)


class _Asked:
    """One call of `run`, with a method for each mode of request."""

    def __init__(self, site: CallSite, asked: AskedDerivative) -> None:
        self.site, self.asked, self.request = site, asked, asked.request
        self.builder, self.arrays = site.builder, site.arrays

    def value_and_grad(self, arguments: list[Any]) -> Any:
        """(the value, the gradients by argnums)"""
        z, parts = self._add(self._leaves(arguments), (), [], self._places(self.request.argnums))
        return (z, self._aux(arguments)) if self.request.has_aux else z, self._gradients(arguments, parts)

    def hvp(self, arguments: list[Any]) -> Any:
        """(no value, the gradients by argnums of a derivative along tangents)"""
        args, tangents = arguments
        orders = self.request.along or (self.request.argnums,)
        along = tuple(self._places(argnums) for argnums in orders)
        directions = self._leaves(list(tangents))
        _, parts = self._add(self._leaves(list(args)), along, directions, self._places(self.request.argnums))
        return (_NO_VALUE, self._aux(args)) if self.request.has_aux else _NO_VALUE, self._gradients(args, parts)

    def vjp(self, arguments: list[Any]) -> Any:
        """The cotangents of the arguments."""
        args, z_bar = arguments
        kind = self._require_floats(self.asked.result_type())
        given = [*self._leaves(list(args)), *self._leaves([z_bar])]
        _, parts = self._add(given, (), [], self._places(self.request.argnums), kind)
        grads = self._gradients(args, parts)
        return (self._aux(args), grads) if self.request.has_aux else grads

    def jvp(self, arguments: list[Any]) -> Any:
        """(the value, its tangent): for a number, the product of its gradient with the tangents."""
        args, tangents = arguments
        kind = self._require_floats(self.asked.result_type())
        given, directions = self._leaves(list(args)), self._leaves(list(tangents))
        places = self._places(self.request.argnums)
        if not isinstance(kind, (types.Array, types.BaseTuple)):
            z, parts = self._add(given, (), [], places)
            return z, self._sum_of_products(parts, directions)
        z = self._call(args)
        cotangents = [self._zeros_like(x) for x in self._leaves([z])]
        by = tuple(range(len(given), len(given) + len(cotangents)))
        _, parts = self._add([*given, *cotangents], (places,), directions, by, kind)
        return z, _fill(z, iter(parts))

    def _gradients(self, arguments: Any, parts: list[Value]) -> tuple[Any, ...]:
        """The gradients by argnums, each with the structure of its argument."""
        given = iter(parts)
        return tuple(_fill(arguments[n], given) for n in self.request.argnums)

    def _sum_of_products(self, parts: list[Value], directions: list[Value]) -> Value:
        """The sum of the products of gradients with tangents."""
        terms = []
        for part, direction in zip(parts, directions, strict=True):
            term = self.builder.apply(MULTIPLY, part, direction)
            terms.append(self.arrays.total(term) if part.is_array else term)
        return functools.reduce(lambda x, y: self.site.reader.binary("Add", x, y, self.site.node), terms)

    def _zeros_like(self, x: Value) -> Value:
        return self.builder.create("zeros", self.arrays.shape(x), "float", "") if x.is_array else constant(0.0)

    def _require_floats(self, kind: Any) -> Any:
        """The type of a float result, which is that of its cotangent; refuse other results."""
        if self.request.has_aux:
            kind = kind[0]
        parts = list(_flatten_type(kind))
        if not parts or any(getattr(t, "dtype", t) != types.float64 for t in parts):
            raise UnsupportedError(f"{self.asked.what}: its result must be made of float64, got {kind}; return floats")
        return as_read(kind) if not isinstance(kind, types.BaseNamedTuple) else kind

    def _aux(self, arguments: Any) -> Any:
        """The auxiliary results of the function."""
        return self._call(arguments)[1]

    def _call(self, arguments: Any) -> Any:
        """The result of the function itself."""
        return self.site.reader.inline(self.request.dispatcher, list(arguments), {}, self.site.node, {})

    # ---- arguments ---------------------------------------------------------------------------------------------------
    def _places(self, argnums: tuple[int, ...]) -> tuple[int, ...]:
        """The positions of the numbers and arrays of some arguments among those of all arguments."""
        counts = [len(list(_flatten_type(t))) for t in self.request.types]
        starts = [sum(counts[:n]) for n in range(len(counts))]
        return tuple(k for n in argnums for k in range(starts[n], starts[n] + counts[n]))

    def _leaves(self, entries: list[Any]) -> list[Value]:
        """The numbers and arrays of some entries; array expressions are computed."""
        found = map(self.site.reader.settle, leaves(tuple(entries)))
        return [x for x in found if isinstance(x, Value)]

    def _add(
        self, arguments: list[Value], along: tuple[tuple[int, ...], ...], directions: list[Value], by: tuple[int, ...],
        paired: Any = None,
    ) -> tuple[Any, list[Value]]:  # fmt: skip
        """Add the operation; returns its value, if any, and its parts."""
        kinds = [t for t in self.request.types for t in _flatten_type(t)]
        kinds += [] if paired is None else list(_flatten_type(paired))
        site = DerivativeSite(self.asked.what, self.asked.of_numbers(paired), tuple(map(as_read, kinds)))
        filled = [
            self.builder.create("empty", self.arrays.shape(arguments[k]), "float", "part")
            for k in by
            if arguments[k].is_array
        ]
        results = [] if along else [number_of("value")]
        results += [number_of("part") for k in by if not arguments[k].is_array]
        made = DerivativeCall(site, arguments, along, directions, by, filled, results)
        self.builder.add(made)
        return made.value, made.parts


def _flatten_type(t: Any) -> Iterator[Any]:
    """The types of the numbers and arrays in a type."""
    if isinstance(t, types.BaseTuple):
        for part in t.types:
            yield from _flatten_type(part)
    elif not isinstance(t, (types.Dispatcher, types.NoneType)):
        yield t


def _fill(tree: Any, parts: Iterator[Value]) -> Any:
    """The structure of an argument, with these numbers and arrays."""
    if isinstance(tree, tuple):
        return like(tree, (_fill(x, parts) for x in tree))
    return tree if isinstance(tree, Object) else next(parts)
