"""Writes calls of operations with a user-written rule: their parts, and the values kept between them.

For several directions or cotangents at once, there is one call for each lane: the lanes of tangents and adjoints are
taken apart before the calls, and put together after them.
"""

import ast
from collections.abc import Callable
from typing import Any

from numba import types

from contad.compiled_rules.user_rules import (
    DERIVE,
    as_read,
    backward_of,
    backward_types,
    leaves,
    pairing_of,
    require_cotangent,
    wrong_shape,
)
from contad.engines.source.ir.rule_sites import RuleForward, RuleSite, RuleValue
from contad.engines.source.ir.ssa import FLOAT, Value
from contad.engines.source.ir.syntax import Part, call, either, expression, number, total, tuple_of
from contad.engines.source.ir.walks import leaves as leaves_of
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.errors import RuleError


class RuleWriter:
    """Writes both operations of a call, and the reverse of the second."""

    def __init__(self, adjoints: AdjointWriter) -> None:
        self.adjoints, self.writer = adjoints, adjoints.writer
        self.names_of_lanes: dict[RuleForward, list[str]] = {}  # the results of the forward parts, one for each lane
        self.named: dict[Any, str] = {}  # the names of parts that are differentiated, or selected by arguments

    # ---- forward -----------------------------------------------------------------------------------------------------
    def forward(self, o: RuleForward) -> bool:
        """Write the forward part, or only the value if no derivative is needed; True if the workspace is used."""
        site, found = o.site, o.found.name
        wanted = any(self.adjoints.active.changes(reader) for reader in self.adjoints.readers.get(o.found, []))
        if site.moved:
            derived = self._forward_with_tangents(o, wanted)
        else:
            derived = False
            wanted |= bool(o.more)
            made = call(site.forward_name if wanted else site.value_name, self._give_all(site, o.inputs))
            self.writer.line("found = made" if wanted else "found = (made, None)", o.line, found=found, made=made)
        for axis, length in enumerate(o.lengths):
            self.writer.line("n = pair[0].shape[axis]", n=length.name, pair=_pair(site, found), axis=axis)
        last = leaves(_item(found, 1, len(site.saved) - 1), site.saved[-1], _item) if o.more else ()
        for value, (x, _) in zip(o.more, last, strict=True):
            self.writer.line("value = x", value=value.name, x=x)
        return derived

    def _forward_with_tangents(self, o: RuleForward, wanted: bool) -> bool:
        """Write ((value, saved), tangents): by the rule's forward mode, or else by forward mode of the forward part."""
        site, found, line = o.site, o.found.name, self.writer.line
        moved = o.inputs[len(o.inputs) - len(site.moved) :]
        if site.parts.tangent is None:
            name = self._derive(site, "forward", site.parts.forward, site.plain, self._choose_moved(site))
            given = [self._argument(site, k, o.inputs) for k in range(len(site.given))]
            for k, result in enumerate(self._names_of_lanes(o)):
                dots = [self._take_lane(self.writer.text(x), x, k) for x in moved]
                line("z, work = f((given,), (dots,), work, top)", o.line, z=result, f=name, given=given, dots=dots)
            return True
        assert not wanted, "where there are further derivatives it is written into the function"
        plain = f"{found}_plain"
        line("plain = f(given)", o.line, plain=plain, f=site.forward_name, given=self._give_all(site, o.inputs))
        name = self._name(site, "tangent", (site.rule, site.parts.tangent), lambda: site.parts.tangent)
        options = [self._argument(site, k, o.inputs) for k in site.parts.options]
        dots = [
            self.writer.text(moved[site.moved.index(k)]) if k in site.moved else self._zeros_like(site, k, o.inputs)
            for k in range(len(site.given))
            if k not in site.parts.options
        ]
        made = expression("f(options, plain[1], dots)", f=name, options=options, plain=plain, dots=dots)
        line("found = plain, (made,)", found=found, plain=plain, made=made)
        return False

    def _names_of_lanes(self, o: RuleForward) -> list[str]:
        """The names of the results, one for each lane of the tangents; one if the tangents have no lanes."""
        lanes, found = self.adjoints.lanes, o.found.name
        moved = o.inputs[len(o.inputs) - len(o.site.moved) :]
        if lanes is None or not any(x in lanes for x in moved):
            return [found]
        if o not in self.names_of_lanes:
            self.names_of_lanes[o] = [found, *(self.writer.fresh(f"{found}_lane") for _ in range(1, lanes.count))]
        return self.names_of_lanes[o]

    def _take_lane(self, given: Part, x: Value, k: int, is_bar: bool = False) -> Part:
        """Lane k of a value or of its adjoint; `given` itself if it has no lanes."""
        lanes = self.adjoints.lanes
        if lanes is None or not (lanes.bar(x) if is_bar else x in lanes) or given == 0.0:
            return given
        return expression("lane_view(x, k).copy()" if x.is_array else "lane_view(x, k)", x=given, k=k)

    def _choose_moved(self, site: RuleSite) -> Any:
        return lambda parameters: [parameters[k] for k in site.moved]

    def _give_all(self, site: RuleSite, read: list[Value]) -> list[Part]:
        """The arguments of a part. It may keep or overwrite them, so arrays are copies."""
        given: list[Part] = []
        for k, at in enumerate(site.given):
            x = self._argument(site, k, read)
            given.append(expression("x.copy()", x=x) if at is not None and read[at].is_array else x)
        return given

    def _argument(self, site: RuleSite, k: int, read: list[Value]) -> Part:
        at = site.given[k]
        return number(site.known[k]) if at is None else self.writer.text(read[at])

    def _zeros_like(self, site: RuleSite, k: int, read: list[Value]) -> Part:
        """Zeros in the shape of an argument."""
        if not isinstance(site.plain[k], types.Array):
            return 0.0
        return expression("np.zeros(a.shape)", a=self._argument(site, k, read))

    def value(self, o: RuleValue) -> bool:
        """Write the value of a call, and keep what the reverse reads; True if anything is kept."""
        forward = o.found.operation
        assert isinstance(forward, RuleForward)
        names = self._names_of_lanes(forward)
        z, *tangent = o.filled or o.results
        self._write_value(z, _item(_pair(o.site, names[0]), 0), o.line)
        for x in tangent:
            if len(names) == 1:
                self._write_value(x, _item(names[0], 1, 0), o.line)
            else:
                self._put_together(x, [_item(name, 1, 0) for name in names], o.line)
        kept = self._list_kept(o, names) if self.adjoints.active.changes(o) else []
        for given, kind in kept:
            self.writer.line("work, top = keep(given, work, top)", keep=f"keep_{_way_of(kind)}", given=given)
        return bool(kept)

    def _write_value(self, x: Value, given: Part, line: int) -> None:
        self.writer.line("x[...] = given" if x.is_array else "x = float(given)", line, x=x.name, given=given)

    def _put_together(self, x: Value, given: list[ast.expr], line: int) -> None:
        """Assemble the lanes of a value from numbers or arrays, one for each lane."""
        if x.is_array:
            for k, part in enumerate(given):
                self.writer.line("put_in_lane(x, k, part)", line, x=x.name, k=k, part=part)
        else:
            parts = [expression("at_lane(x, k, n)", x=part, k=k, n=len(given)) for k, part in enumerate(given)]
            self.writer.line("x = parts", line, x=x.name, parts=total(parts))

    def _list_kept(self, o: RuleValue, names: list[str]) -> list[tuple[Part, Any]]:
        """The values that the reverse reads, and their types: the options, the saved values, and tangents of these."""
        site, found = o.site, o.found.name
        options = [k for k in site.parts.options if site.given[k] is not None]
        kept: list[tuple[Part, Any]] = [(self._argument(site, k, o.read), site.plain[k]) for k in options]
        kept += leaves(_item(_pair(site, found), 1), site.saved, _item)
        kept += [(_item(name, 1, n), kind) for name in names for n, kind in _saved_tangents(site)]
        return [(x, kind) for x, kind in kept if not isinstance(kind, types.NoneType)]

    # ---- reverse -----------------------------------------------------------------------------------------------------
    def reverse(self, o: RuleValue) -> None:
        """Pop the kept values; unless the cotangent is zero, add the results of the backward part."""
        site, lanes = o.site, self.adjoints.lanes
        forward = o.found.operation
        assert isinstance(forward, RuleForward)
        several = [
            [self._take("moved", kind) for _, kind in reversed(_saved_tangents(site))][::-1]
            for _ in self._names_of_lanes(forward)
        ][::-1]
        saved = self._take("saved", site.saved, lanes is not None)
        options: list[Part] = []
        for k in reversed(site.parts.options):
            at = site.given[k]
            options.append(number(site.known[k]) if at is None else self._take("option", site.plain[k]))
            if at is not None and o.read[at] in self.adjoints.active:
                raise RuleError(f"{site.rule.name}: argument {k} is an option and must be a constant, got a variable")
        if not any(z.is_array or self.adjoints.has_bar(z) for z in o.varying):
            return
        wanted = [k for k, at in enumerate(site.given) if at is not None and o.read[at] in self.adjoints.active]
        for x in [*(o.read[site.given[k]] for k in wanted), *o.tangents]:  # type: ignore[index]
            if x.kind == FLOAT and x in self.adjoints.active:
                self.adjoints.begin(x)
        given, bars = [*reversed(options), saved], [self._bar(x) for x in o.varying]
        if lanes is None or not any(lanes.bar(z) for z in o.varying):
            self._reverse_lane(o, given, several[0], bars, wanted, None)
            return
        for k in range(lanes.count):
            taken = [self._take_lane(bar, z, k, is_bar=True) for bar, z in zip(bars, o.varying, strict=True)]
            names = [self.writer.fresh(f"{site.name}_cotangent") for _ in taken]
            for name, bar in zip(names, taken, strict=True):
                self.writer.line("name = bar", name=name, bar=bar)
            self._reverse_lane(o, given, several[k % len(several)], [*names], wanted, k)

    def _reverse_lane(
        self, o: RuleValue, given: list[Part], tangents: list[Part], bars: list[Part], wanted: list[int],
        lane: int | None,
    ) -> None:  # fmt: skip
        """Add the results of the backward part for one cotangent, that of a lane if there are several."""
        site, z = o.site, o.varying[0]
        tests = [
            expression("np.any(bar)" if x.is_array else "bar != 0.0", bar=bar)
            for bar, x in zip(bars, o.varying, strict=True)
        ]
        kind = types.Array(types.float64, z.kind.ndim, "C") if z.is_array else types.float64
        kinds = (*(as_read(site.plain[k]) for k in site.parts.options), as_read(site.saved), kind)
        rest = [k for k in range(len(site.given)) if k not in site.parts.options]
        with self.writer.block("if test: pass", test=either(tests)):
            if site.moved:
                self._add_second(o, given, tangents, bars, kinds, rest, lane)
                return
            parts = self.writer.fresh(f"{site.name}_parts")
            if site.parts.backward is None:
                name = self._transpose(site, tuple(wanted), kinds)
                given = [*given, bars[0], *(self._ones_like(o.read[site.given[k]], lane) for k in wanted)]  # type: ignore[index]
                self.writer.line("parts, work = f(given, work, top)", parts=parts, f=name, given=given)
                for n, k in enumerate(wanted):
                    self._add(site, o.read[site.given[k]], _item(parts, 1, n), lane)  # type: ignore[index]
                return
            name, found = self._backward(site, tuple(wanted), kinds, len(rest))
            cotangent = expression("bar.copy()", bar=bars[0]) if z.is_array and lane is None else bars[0]
            self.writer.line("parts = f(given, z_bar)", parts=parts, f=name, given=given, z_bar=cotangent)
            for k in wanted:
                x, n = o.read[site.given[k]], rest.index(k)  # type: ignore[index]
                require_cotangent(site.rule, k, found[n], x.kind.ndim)
                if not isinstance(found[n], types.NoneType):
                    self._add(site, x, _item(parts, n), lane)

    def _ones_like(self, x: Value, lane: int | None) -> Part:
        """Ones in the shape of an argument, by its adjoint: the reverse sweep may not have the argument."""
        if not x.is_array:
            return 1.0
        return expression("np.ones(x.shape)", x=self._take_lane(self.adjoints.bar(x), x, lane or 0, is_bar=True))

    def _transpose(self, site: RuleSite, wanted: tuple[int, ...], given: tuple[Any, ...]) -> str:
        """The name of the gradient that serves as the backward part of a rule with only a forward mode."""
        pairing = pairing_of(site.rule, site.plain, given[-1], wanted)
        kinds = (*given, *(as_read(site.plain[k]) for k in wanted))
        key = site.rule, "transposed", wanted, kinds
        return self._name(site, "backward", key, lambda: DERIVE["gradient"](pairing, kinds, len(given)))

    def _bar(self, z: Value) -> Part:
        """The adjoint of a value or of its tangent; zeros if it has none."""
        if z.is_array:
            is_active = z in self.adjoints.active
            return self.adjoints.bar(z) if is_active else expression("np.zeros(z.shape)", z=z.name)
        return self.adjoints.bar(z) if self.adjoints.has_bar(z) else 0.0

    def _add_second(
        self, o: RuleValue, given: list[Part], tangents: list[Part], bars: list[Part], kinds: tuple[Any, ...],
        rest: list[int], lane: int | None,
    ) -> None:  # fmt: skip
        """Add the backward part at the adjoint of the tangent, and its derivative along the adjoint of the value."""
        site = o.site
        saved, places = len(given) - 1, [n for n, _ in _saved_places(site)]
        moved = [k for k in site.moved if o.read[site.given[k]] in self.adjoints.active]  # type: ignore[index]
        moved += [k for n, k in enumerate(site.moved) if o.tangents[n] in self.adjoints.active and k not in moved]

        def choose_floats(parameters: list[Any]) -> list[Value]:
            floats = leaves_of(parameters[saved])
            return [*(floats[n] for n in places), parameters[saved + 1]]

        backward = backward_of(site.rule, tuple(moved))
        found = backward_types(site.rule, backward, kinds, len(rest))
        name = self._derive(site, f"backward_{'_'.join(map(str, moved))}", backward, kinds, choose_floats)
        parts = self.writer.fresh(f"{site.name}_parts")
        self.writer.line(
            "parts, work = f((given, z_dot_bar), (dots, z_bar), work, top)",
            parts=parts, f=name, given=given, z_dot_bar=bars[1], dots=tangents, z_bar=bars[0],
        )  # fmt: skip
        order = [n for n, kind in enumerate(found) if not isinstance(kind, types.NoneType)]
        for k in moved:
            place = rest.index(k)
            x, x_dot = o.read[site.given[k]], o.tangents[site.moved.index(k)]  # type: ignore[index]
            require_cotangent(site.rule, k, found[place], x.kind.ndim)
            if place not in order:
                continue
            if x_dot in self.adjoints.active:
                self._add(site, x_dot, _item(parts, 0, place), lane)
            if x in self.adjoints.active:
                self._add(site, x, _item(parts, 1, order.index(place)), lane)

    def _derive(self, site: RuleSite, what: str, part: Any, given: tuple[Any, ...], wanted: Any) -> str:
        """The name of the forward mode of a part; see `derive_part` of `contad.engines.source.build`."""
        key = site.rule, what, given, site.moved
        return self._name(site, f"{what}_moved", key, lambda: DERIVE["part"](part, given, wanted))

    def _name(self, site: RuleSite, what: str, key: Any, make: Callable[[], Any]) -> str:
        """The name, in the source, of a function that belongs to a call; `make` creates the function once."""
        if key not in self.named:
            self.named[key] = self.writer.name_function(f"{site.name}_{what}", make())
        return self.named[key]

    def _add(self, site: RuleSite, x: Value, part: ast.expr, lane: int | None) -> None:
        """Add to an adjoint; a term that is the same for all lanes is added with the first one."""
        lanes, bar, line = self.adjoints.lanes, self.adjoints.bar(x), self.writer.line
        is_lanes = lane is not None and lanes is not None and lanes.bar(x)
        if lane and not is_lanes:
            return
        if not x.is_array:
            count = lanes.count if lanes is not None else 1
            self.adjoints.add(x, expression("at_lane(x, k, n)", x=part, k=lane, n=count) if is_lanes else part)
            return
        said = number(wrong_shape(site.rule.name))
        line("if part.shape != bar.shape: raise RuleError(said)", part=part, bar=bar, said=said)
        line("add_to_lane(bar, k, part)" if is_lanes else "bar += part", bar=bar, k=lane, part=part)

    def _take(self, name: str, kind: Any, again: bool = False) -> Part:
        """Pop a kept value of some type, last part first; the expression for it.

        A value that is read `again`, and may be overwritten, is a copy each time.
        """
        if isinstance(kind, types.NoneType):
            return None
        if isinstance(kind, types.BaseTuple):
            return tuple_of([self._take(name, part, again) for part in reversed(list(kind))][::-1])
        name = self.writer.fresh(name)
        axes = [tuple_of([0] * kind.ndim)] if isinstance(kind, types.Array) else []
        self.writer.line("x, top = take(axes, work, top)", x=name, take=f"take_{_way_of(kind)}", axes=axes)
        element = getattr(kind, "dtype", kind)
        if isinstance(element, types.Boolean):
            return expression("x != 0", x=name)
        if not axes or element not in (types.float64, types.int64):
            return expression("x.astype(dtype)", x=name, dtype=f"np.{element}") if axes else name
        return expression("x.copy()", x=name) if again else name

    def _backward(self, site: RuleSite, wanted: tuple[int, ...], given: tuple[Any, ...], count: int) -> tuple[str, Any]:
        """The name of the backward part for some arguments, and the types of its cotangents."""
        name = self._name(site, "backward", (site.rule, wanted), lambda: backward_of(site.rule, wanted))
        return name, backward_types(site.rule, self.writer.function.callables[name], given, count)


def _item(x: Part, *places: int) -> ast.expr:
    """The member of a nested tuple at these positions."""
    made = expression("x", x=x)
    for n in places:
        made = expression("made[n]", made=made, n=n)
    return made


def _pair(site: RuleSite, found: str) -> ast.expr:
    """The expression of (value, saved)."""
    return _item(found, 0) if site.moved else _item(found)


def _saved_places(site: RuleSite) -> list[tuple[int, int]]:
    """The saved numbers and arrays that have tangents, with the positions of these among the tangents of the call.

    All floats have tangents. Rules with a forward mode have no such tangents, because their forward mode is inlined.
    """
    if not site.moved or site.parts.tangent is not None:
        return []
    floats = [n for n, (_, kind) in enumerate(leaves("", site.saved)) if _is_float(kind)]
    return [(n, 1 + m) for m, n in enumerate(floats)]


def _saved_tangents(site: RuleSite) -> list[tuple[int, Any]]:
    """The positions of the tangents of saved values among the tangents of the call, and their types."""
    kinds = [kind for _, kind in leaves("", site.saved)]
    return [(place, kinds[n]) for n, place in _saved_places(site)]


def _is_float(kind: Any) -> bool:
    return getattr(kind, "dtype", kind) == types.float64


def _way_of(kind: Any) -> str:
    """How a value of a type is kept."""
    if isinstance(kind, types.Array):
        return "array" if kind.dtype == types.float64 else "integers"
    return "integer" if isinstance(kind, (types.Integer, types.Boolean)) else "number"
