"""One operation with its own derivatives, created at the call: the common part of custom rules and checkpoints.

The level that performs it sees an array rule whose arguments are the numbers and arrays among the leaves of the
caller's arguments. Its functions run one level further down, on values that may be variables of outer levels.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.engines.arrays.libraries import library_of
from contad.errors import RuleError, UnsupportedError
from contad.functions.captured import Captured
from contad.rules.scalar_rule import owner_of
from contad.transforms.gradients import jvp, vjp
from contad.transforms.jacobians import is_array
from contad.transforms.library_derivatives import on_variables
from contad.variables.array import Array, numbers_in
from contad.variables.arrays_of_rules import as_floats
from contad.variables.layout import read_only
from contad.variables.number import Carrier, peek, standing_for
from contad.variables.open_types import ArrayValue, Function, Nested, Options, Owner, Saved, Value
from contad.variables.overlaps import forbid_writing_shared, share_memory
from contad.variables.stack import ChainStack
from contad.variables.trees import Tree, flatten, is_of_library, map_leaves, output_leaves, real_leaf

Places = list[tuple[int, int]]  # (argument, leaf)


class CustomOperation:
    """One call: `value` returns (result, saved), `pull` all cotangents, and `push` the tangent, each on pytrees.

    value(*args); pull(args, saved, z, z_bar) with one entry for each argument, None for zeros; push(args, saved, z,
    tangents), where the tangents of constants are zeros. `options` is a list of further values that the functions read.
    If a sweep will need them, arrays among options and constant arguments are replaced by copies. `later` are functions
    that pull calls; values that they capture must not change.
    """

    forward_body = True  # evaluate returns what it has saved

    def __init__(
        self, name: str, args: Sequence[Nested], value: Function, pull: Function, push: Function, options: list[Nested],
        later: Sequence[Function | None],
    ) -> None:  # fmt: skip
        self.name = name
        self.args = args
        self.options, self.later = options, later
        self.captured: Captured | None = None
        self.value, self.pull_all, self.push_all = value, pull, push
        self.trees = [flatten(x) for x in args]
        for tree in self.trees:
            tree.leaves[:] = map(as_floats, tree.leaves)
        options[:] = [map_leaves(as_floats, x) for x in options]
        # the leaves that carry derivatives: (argument, leaf); the others are constants
        self.places: Places = [
            (n, k) for n, tree in enumerate(self.trees) for k, x in enumerate(tree.leaves) if numbers_in(x)
        ]
        self.argument_names = [
            f"argument {n}" if self.trees[n].spec is None else f"argument {n}, leaf {k}" for n, k in self.places
        ]
        self.active = [self.trees[n].leaves[k] for n, k in self.places]
        self.owner: Owner = None
        self.innermost = True  # whether the values carry no derivatives
        self.result: Any = None  # the tree of the last value
        self.saves_arrays = False  # of outer levels
        self.shared: list[tuple[int, int | None]] = []  # leaves of the result, and arguments that overlap
        self.given: list[Value] = []  # the values of the last call, in the places that carry derivatives

    def perform(self) -> Nested:
        """The result, on the level that owns the highest number among the arguments; plain if there is none."""
        self.owner = owner_of(self.name, [n for x in self.active for n in numbers_in(x)])
        self.innermost = self.owner is None
        if self.owner is None:
            return self.value(*(tree.unflatten(tree.leaves) for tree in self.trees))[0]
        if self.owner.takes_any:
            return self._perform_on_library(self.owner)
        leaves = [real_leaf(x, f"{self.name}: {a}") for x, a in zip(self.active, self.argument_names, strict=True)]
        if isinstance(self.owner, ChainStack):  # a sweep comes later
            self._keep(self.owner)
        z = self.owner.apply_array(self, leaves, {})
        for n, k in self.shared:
            if k is None:
                forbid_writing_shared(self.name, "another array", [z[n]])
            else:
                forbid_writing_shared(self.name, self.argument_names[k], [z[n], self.active[k]])
        return self._unflatten(z)

    def _perform_on_library(self, s: Any) -> Nested:
        """The result on the engine `arrays`; no value is read, and nobody checks who shares memory."""
        given = dict(zip(self.places, map(s.value_in, self.active), strict=True))
        args = [
            tree.unflatten([given.get((n, k), x) for k, x in enumerate(tree.leaves)])
            for n, tree in enumerate(self.trees)
        ]
        self.innermost = not numbers_in(list(given.values()))
        z, saved = on_variables(self.value, *args)
        self.result = flatten(z)
        self._require_lower("its value", self.result.leaves)
        self._require_lower("what it saves", flatten(saved).leaves)
        mine = [(place, x) for place, x in zip(self.places, self.active, strict=True) if x._owner is s]

        def pull(d: Sequence[Value]) -> Iterator[Value]:
            found = self.pull_all(args, saved, z, self.result.unflatten(list(d)))
            if not isinstance(found, (tuple, list)) or len(found) != len(args):
                self._fail("the result of its reverse rule", f"a cotangent for each of {len(args)} arguments", found)
            for (n, k), x in mine:
                x_bar = None if found[n] is None else flatten(found[n]).leaves[k]
                if x_bar is not None and np.shape(x_bar) != x.shape:
                    self._fail(f"the cotangent of argument {n}", f"shape {x.shape}", f"shape {tuple(np.shape(x_bar))}")
                yield x.as_gradient(None) if x_bar is None else x.as_seed(x_bar)

        xs = [x for _, x in mine]
        return self.result.unflatten(list(s.record_several(self.name, tuple(self.result.leaves), xs, pull)))

    def _keep(self, stack: ChainStack) -> None:
        """Copy what the caller may write to."""
        active = set(self.places)
        for n, tree in enumerate(self.trees):
            for k, x in enumerate(tree.leaves):
                if (n, k) not in active:
                    tree.leaves[k] = _keep(x, stack)
        self.options[:] = [keep_leaves(x, stack) for x in self.options]
        self.captured = Captured(self.name, self.later, stack.keep)

    # ---- the interface of an array rule ------------------------------------------------------------------------------
    def needs(self, name: str) -> frozenset[str]:
        """All arguments, because it is unknown which of them the functions read."""
        return frozenset(self.argument_names)

    def evaluate(self, values: Sequence[Value], options: Options) -> tuple[tuple[Value, ...], Saved]:
        """(leaves of the result, saved) at the values of the leaves that carry derivatives."""
        if self.captured is not None and self.result is not None:  # a recorded program runs it again
            self.captured.require_unchanged()
        given = self._arguments(values)
        z, saved = self._call(self.value, *given)
        if self.captured is not None:
            self.captured.forget_changed()
            saved = keep_leaves(saved, self.owner, self.given)
        self.result = flatten(z)
        leaves = output_leaves(self.result, self.name)
        self.shared = self._find_shared(leaves)
        self._require_lower("its value", leaves)
        kept = flatten(saved).leaves
        self._require_lower("what it saves", kept)
        self.saves_arrays = any(isinstance(x, Array) for x in kept)
        return tuple(leaves), saved

    def _find_shared(self, leaves: Sequence[Value]) -> list[tuple[int, int | None]]:
        """Which arrays of the result share memory with arguments, or, as None, with constants or one another."""
        arrays = [(n, z) for n, z in enumerate(leaves) if is_array(z) and z.shape]
        if not arrays:
            return []
        others: list[tuple[int | None, Value]] = [(k, x) for k, x in enumerate(self.given) if is_array(x)]
        others += [(None, x) for tree in self.trees for x in tree.leaves if is_array(x) and not numbers_in(x)]
        found = [(n, k) for n, z in arrays for k, x in others if share_memory(z, x)]
        return found + [(n, None) for n, z in arrays for m, y in arrays if m != n and share_memory(z, y)]

    def _call(self, function: Function, *args: Nested) -> Any:
        """Call one of the functions; its arguments are read-only, because they are read again later."""
        try:
            return function(*args)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            rule = "it" if function is self.value else "its rule"
            raise UnsupportedError(
                f"{self.name}: {rule} assigns to an array that cannot be written to ({error}); its arguments "
                "are read-only, because derivatives read them again; write x = x.copy() first"
            ) from error

    def __call__(self, *values: Value) -> tuple[Value, ...]:
        return self.evaluate(values, {})[0]

    def pull(
        self, name: str, z: tuple[Value, ...], z_bar: Sequence[Value], values: Sequence[Value], options: Options,
        saved: Saved = None,
    ) -> Value:  # fmt: skip
        """The cotangent of one leaf."""
        return next(self.pull_each((name,), z, z_bar, values, options, saved))

    def pull_each(
        self, names: Iterable[str], z: tuple[Value, ...], z_bar: Sequence[Value], values: Sequence[Value],
        options: Options, saved: Saved = None,
    ) -> Iterator[Value]:  # fmt: skip
        """The cotangents of some leaves; all of them are computed at once."""
        found = self._cotangents(z, z_bar, values, saved)
        for name in names:
            yield found[self.argument_names.index(name)]

    def push(
        self, z: tuple[Value, ...], tangents: Sequence[Value | None], values: Sequence[Value], options: Options,
        saved: Saved = None,
    ) -> tuple[Value, ...]:  # fmt: skip
        """The tangents of the leaves of the result."""
        dots = self._arguments([zeros_like(v) if t is None else t for t, v in zip(tangents, values, strict=True)], True)
        z_dot = self._call(self.push_all, self._arguments(values), self._lend(saved), self._unflatten(guard(z)), dots)
        tree = flatten(z_dot)
        if not tree.matches(self.result):
            self._fail("its tangent", f"the structure of its value, {self.result.describe()}", tree.describe())
        return tuple(self._check("its tangent", x, v) for x, v in zip(tree.leaves, z, strict=True))

    def _cotangents(
        self, z: tuple[Value, ...], z_bar: Sequence[Value], values: Sequence[Value], saved: Saved
    ) -> list[Value]:
        if self.captured is not None:
            self.captured.require_unchanged()
        results = self._unflatten(guard(z)), self._unflatten(guard(z_bar))
        found = self._call(self.pull_all, self._arguments(values), self._lend(saved), *results)
        if not isinstance(found, (tuple, list)) or len(found) != len(self.args):
            got = f"{len(found)}" if isinstance(found, (tuple, list)) else type(found).__name__
            self._fail("the result of its reverse rule", f"one cotangent for each of {len(self.args)} arguments", got)
        leaves = []
        seeds = numbers_in(list(z_bar))
        for (n, k), name, v in zip(self.places, self.argument_names, values, strict=True):
            if found[n] is None:
                leaves.append(zeros_like(v))
                continue
            tree = flatten(found[n])
            if not tree.matches(self.trees[n]):
                expected = f"the structure of its argument, {self.trees[n].describe()}"
                self._fail(f"the cotangent of argument {n}", expected, tree.describe())
            leaves.append(self._check(f"the cotangent of {name}", tree.leaves[k], v, seeds))
        return leaves

    # ---- checks ------------------------------------------------------------------------------------------------------
    def _arguments(self, values: Sequence[Value], tangents: bool = False) -> list[Nested]:
        """The arguments with these values, or the tangents of the arguments, in the places that carry derivatives."""
        self.given = guard([standing_for(x, a) for x, a in zip(values, self.active, strict=True)])
        given = dict(zip(self.places, self.given, strict=True))
        return [
            tree.unflatten(
                [given.get((n, k), zeros_like(x) if tangents else x) for k, x in enumerate(tree.leaves)]
            )
            for n, tree in enumerate(self.trees)
        ]  # fmt: skip

    def _lend(self, saved: Saved) -> Saved:
        """The saved values, guarded if another call of the function may follow."""
        return map_leaves(lambda x: guard([x])[0], saved) if self.saves_arrays else saved

    def _unflatten(self, leaves: Sequence[Value]) -> Nested:
        """The result, or a cotangent of it, with numbers of the kinds that the functions returned."""
        like = self.result.leaves
        return self.result.unflatten([standing_for(x, y) for x, y in zip(leaves, like, strict=True)])

    def _check(self, what: str, x: Value, like: Value, seeds: Sequence[Carrier] = ()) -> Value:
        """Check that x is a number or an array of the shape of `like`."""
        if np.shape(x) != np.shape(like):
            self._fail(what, f"shape {np.shape(like)}", f"shape {np.shape(x)}")
        self._require_lower(what, [x], seeds)
        x = real_leaf(x, f"{self.name}: {what}")
        return x[()] if is_array(x) and not x.shape else x

    def _require_lower(self, what: str, leaves: Sequence[Value], seeds: Sequence[Carrier] = ()) -> None:
        """Refuse numbers of the level that performs the operation, because they did not come through its arguments.

        A cotangent may belong to a later level if a pullback is itself differentiated (`linearize`).
        """
        given = {id(n._owner) for n in seeds}
        for n in numbers_in(list(leaves)):
            if n._owner.level >= self.owner.level and id(n._owner) not in given:
                raise RuleError(
                    f"{self.name}: {what} depends on {_with_article(n.kind)} that is not one of its "
                    "arguments, so its derivative would be lost; pass it as an argument, or contad.value_of(v) where a "
                    "constant is meant"
                )

    def _fail(self, what: str, expected: str, got: str) -> None:
        raise RuleError(f"{self.name}: {what} must have {expected}, got {got}")


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] == "a" else f"a {noun}"


def guard(values: Sequence[Value]) -> list[Value]:
    """The values in the form in which a user's function receives them: read-only views.

    Array variables of outer levels have no such views and are copied.
    """
    return [x.copy("K") if isinstance(x, Array) else read_only(x) for x in values]


def keep_leaves(x: Nested, stack: ChainStack, own: Sequence[Value] = ()) -> Nested:
    """x with copies of its arrays, except those in `own` and read-only views of them, which nobody writes."""
    if x is None:
        return x
    tree = flatten(x)
    leaves = [_keep(leaf, stack, own) for leaf in tree.leaves]
    return tree.unflatten(leaves)


def _keep(x: Value, stack: ChainStack, own: Sequence[Value] = ()) -> Value:
    if not is_array(x) or any(x is a for a in own):
        return x
    if isinstance(x, Array):  # of an outer level
        return x.copy("K")
    if not x.flags.writeable and any(isinstance(a, np.ndarray) and np.may_share_memory(x, a) for a in own):
        return x
    return x.copy("K") if x.dtype == object else stack.keep(x)


def zeros_like(x: Value) -> ArrayValue:
    """The tangent of a constant."""
    x = peek(x)
    if is_of_library(x):
        return library_of(x).np.zeros_like(x)
    return np.zeros(x.shape) if is_array(x) else 0.0


def pull_back(
    f: Function,
    args: Sequence[Nested],
    z_bar: Nested,
    engine: str | None,
    places: Places | None = None,
    same_as: Callable[[Nested], None] | None = None,
) -> tuple[Nested, ...]:
    """The cotangents of all arguments of f, zero for constants, by recording f now; `same_as` receives its value.

    `places` are the leaves to differentiate; by default all leaves that are not options.
    """
    of_leaves, trees, places = _of_leaves(f, args, places)
    value, pullback = vjp(of_leaves, *(trees[n].leaves[k] for n, k in places), engine=engine)
    if same_as is not None:
        same_as(value)
    found = dict(zip(places, pullback(z_bar), strict=True))
    return tuple(
        tree.unflatten([found.get((n, k), 0.0) for k in range(len(tree.leaves))]) for n, tree in enumerate(trees)
    )


def push_forward(f: Function, args: Sequence[Nested], tangents: Sequence[Nested], places: Places) -> Nested:
    """The tangent of the result of f, along the tangents of the leaves at `places`."""
    of_leaves, trees, places = _of_leaves(f, args, places)
    dots = [flatten(t).leaves for t in tangents]
    return jvp(of_leaves, [trees[n].leaves[k] for n, k in places], [dots[n][k] for n, k in places])[1]


def _of_leaves(
    f: Function, args: Sequence[Nested], places: Places | None
) -> tuple[Function, list[Tree], Places]:
    """f as a function of the leaves at `places`, the trees of its arguments, and the places (by default those of all
    leaves that are not options).
    """
    trees = [flatten(x) for x in args]
    if places is None:
        places = [(n, k) for n, tree in enumerate(trees) for k, x in enumerate(tree.leaves) if not is_option(x)]

    def of_leaves(*leaves: Value) -> Nested:
        given = dict(zip(places, leaves, strict=True))
        return f(
            *(tree.unflatten([given.get((n, k), x) for k, x in enumerate(tree.leaves)]) for n, tree in enumerate(trees))
        )

    return of_leaves, trees, places


def is_option(x: Nested) -> bool:
    """Whether a leaf is neither a real number nor an array of them: an int counts steps, a string names a method."""
    if numbers_in(x) or isinstance(x, (float, np.floating)) or is_of_library(x):
        return False
    return not (is_array(x) and x.dtype.kind == "f")
