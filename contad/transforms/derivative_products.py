"""Products with Jacobians and Hessians at a point, by the transforms, for all functions that these accept."""

import functools
import inspect
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from contad.errors import UnsupportedError
from contad.front.numba_transforms import pair_of
from contad.front.user_function import UserFunction
from contad.transforms.gradients import jvp, vjp
from contad.transforms.hessians import Curvature
from contad.transforms.jacobians import CHUNK, in_chunks, real_trees, size_of, split_last
from contad.transforms.linearized import linearize, restrict
from contad.transforms.pattern_search import HESSIAN
from contad.variables.open_types import Function, Nested, Options
from contad.variables.stack import attempt
from contad.variables.trees import Tree, flatten


class DerivativeAt(Protocol):
    """The derivative whose products are taken: see `SparseDerivative`."""

    what: str
    of: str
    argnums: tuple[int, ...]
    engine: str | None
    function: UserFunction

    @property
    def hessian_product(self) -> Function:
        """The compiled product of the Hessian with a tree."""

    def compiled_rows(self, kind: str) -> Function:
        """The compiled products with several rows."""


class Products:
    """Products with a derivative at a point."""

    def __init__(self, derivative: DerivativeAt, args: tuple[Nested, ...], kwargs: Options) -> None:
        self.derivative = derivative
        self.args, self.kwargs = args, kwargs

    @functools.cached_property
    def trees(self) -> list[Tree]:
        """The arguments to differentiate."""
        return real_trees(self.derivative.what, self.derivative.argnums, self.args)

    def push(self, directions: np.ndarray) -> np.ndarray:
        """The products with directions, as rows."""
        d = self.derivative
        if self._is_compiled:
            found = d.compiled_rows("hessian_rows" if d.of == HESSIAN else "tangent_rows")(*self._complete, directions)
            products: np.ndarray = found if d.of == HESSIAN else found[1]
            return products
        if d.of == HESSIAN:
            with Curvature(d.what, d.function, d.argnums, d.engine, self.args, self.kwargs) as curvature:
                return in_chunks(curvature, directions, CHUNK)
        f, primals = self._restricted

        def push(rows: np.ndarray) -> np.ndarray:
            found = flatten(jvp(f, primals, split_last(rows, self.trees, True), several=True)[1]).leaves
            return np.concatenate([np.reshape(x, (len(rows), -1)) for x in found], axis=1)

        try:
            with attempt():
                return in_chunks(push, directions, CHUNK)
        except UnsupportedError:  # a rule without forward mode
            along = linearize(f, *primals, engine=d.engine)[1]
            return _stack([along(*self._split(x)) for x in directions])

    def pull(self, cotangents: np.ndarray) -> np.ndarray:
        """The products of the transpose with cotangents, as rows."""
        d = self.derivative
        if d.of == HESSIAN:
            return self.push(cotangents)
        if self._is_compiled:
            rows: np.ndarray = d.compiled_rows("cotangent_rows")(*self._complete, cotangents)
            return rows
        result, pullback = self._pullback
        return _stack([pullback(split_last(z_bar, [result], False)[0]) for z_bar in cotangents])

    def count_outputs(self) -> int:
        """How many numbers f returns there."""
        f, primals = self._restricted
        return sum(size_of(x) for x in flatten(f(*primals)).leaves)

    @property
    def _is_compiled(self) -> bool:
        return self.derivative.function.takes_compiled(self.derivative.engine)

    @functools.cached_property
    def _complete(self) -> tuple[Nested, ...]:
        """All arguments in order, as compiled code takes them, with defaults for missing ones."""
        code = self.derivative.function.dispatcher.py_func.__code__
        if not self.kwargs and len(self.args) == code.co_argcount:
            return self.args
        bound = inspect.signature(self.derivative.function.f).bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        return bound.args

    @functools.cached_property
    def _restricted(self) -> tuple[Function, tuple[Nested, ...]]:
        d = self.derivative
        return restrict(d.function.f, d.what, d.argnums, self.args, self.kwargs)

    @functools.cached_property
    def _pullback(self) -> tuple[Tree, Function]:
        """The result of f, and its pullback."""
        f, primals = self._restricted
        value, pullback = vjp(f, *primals, engine=self.derivative.engine)
        return flatten(value), pullback

    def _split(self, row: np.ndarray) -> list[Nested]:
        return split_last(row, self.trees, False)


def one_by_one(d: DerivativeAt, kind: str) -> Function:
    """The fallback if products with several rows are not compiled: products with one row after another."""

    def products(*args: Nested) -> Nested:
        own, rows = args[:-1], args[-1]
        trees = real_trees(d.what, d.argnums, own)
        if kind == "hessian_rows":
            return _stack([d.hessian_product(*own, tuple(split_last(x, trees, False))) for x in rows])
        if kind == "tangent_rows":
            some = functools.partial(_push_some, d.argnums)
            forward: Any = pair_of(d.function.dispatcher, "jvp", some, argnums=d.argnums)
            found = [forward(own, tuple(split_last(x, trees, False))) for x in rows]
            return found[0][0], _stack([z_dot for _, z_dot in found])
        pull = functools.partial(_pull_some, d.argnums)
        backward: Any = pair_of(d.function.dispatcher, "vjp", pull, d.engine, d.argnums)
        result = flatten(d.function.f(*own))
        return _stack([backward(own, split_last(z_bar, [result], False)[0]) for z_bar in rows])

    return products


def _push_some(
    argnums: tuple[int, ...], f: Function, args: tuple[Nested, ...], tangents: Sequence[Nested]
) -> tuple[Nested, ...]:
    """jvp along some of the arguments."""
    restricted, primals = restrict(f, "jvp", argnums, args, {})
    return jvp(restricted, primals, tangents)


def _pull_some(argnums: tuple[int, ...], f: Function, args: tuple[Nested, ...], z_bar: Nested) -> tuple[Nested, ...]:
    """The cotangents of some of the arguments."""
    restricted, primals = restrict(f, "vjp", argnums, args, {})
    found: tuple[Nested, ...] = vjp(restricted, *primals)[1](z_bar)
    return found


def _stack(trees: list[Nested]) -> np.ndarray:
    """All numbers of each tree, as rows."""
    parts = [flatten(tree).leaves for tree in trees]
    rows = np.empty((len(parts), sum(map(np.size, parts[0]))))
    for row, leaves in zip(rows, parts, strict=True):
        start = 0
        for leaf in leaves:
            row[start : start + np.size(leaf)] = np.reshape(leaf, (-1,))
            start += np.size(leaf)
    return rows
