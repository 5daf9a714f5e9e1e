"""Calls of operations with a rule of the user's, as source: their parts, and what is kept between them.

Of several directions or cotangents at once there is one call for each, inside the block: tangents and adjoints that are
lanes are taken apart, and what comes of them is put together.
"""

from typing import Any

from numba import types

from contad.engines.source.ir.rule_sites import RuleForward, RuleSite, RuleValue
from contad.engines.source.ir.single_assignment import FLOAT, Value
from contad.engines.source.ir.walks import leaves as leaves_of
from contad.engines.source.ir.writer import bare, tuple_text
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.errors import RuleError
from contad.native.saved_values import as_read, leaves
from contad.native.user_rules import (
    DERIVE,
    backward_of,
    backward_types,
    one_of,
    pairing_of,
    require_cotangent,
    wrong_shape,
)


class RuleWriter:
    """Writes both operations of a call, and the reverse of the second one."""

    def __init__(self, adjoints: AdjointWriter) -> None:
        self.adjoints, self.writer = adjoints, adjoints.writer
        self.names_of_lanes: dict[RuleForward, list[str]] = {}  # of what the forward parts of several lanes find
        self.named: dict[Any, str] = {}  # the names of parts that are derived, or chosen by arguments

    # ---- forward -----------------------------------------------------------------------------------------------------
    def forward(self, o: RuleForward) -> bool:
        """The forward part, or the value alone where nobody asks for a derivative; whether the workspace is used."""
        site, found = o.site, o.found.name
        wanted = any(self.adjoints.active.changes(reader) for reader in self.adjoints.readers.get(o.found, []))
        if site.moved:
            derived = self._forward_with_tangents(o, wanted)
        else:
            derived = False
            wanted |= bool(o.more)
            part = site.forward_name if wanted else site.value_name
            text = f"{part}({self._give_all(site, o.inputs)})"
            self.writer.line(f"{found} = {text if wanted else f'({text}, None)'}", o.line)
        for axis, length in enumerate(o.lengths):
            self.writer.line(f"{length.name} = {_pair(site, found)}[0].shape[{axis}]")
        last = leaves(f"{found}[1][{len(site.saved) - 1}]", site.saved[-1]) if o.more else ()
        for value, (text, _) in zip(o.more, last, strict=True):
            self.writer.line(f"{value.name} = {text}")
        return derived

    def _forward_with_tangents(self, o: RuleForward, wanted: bool) -> bool:
        """((value, saved), tangents): by the rule's own forward mode, or else by that of the forward part."""
        site, found = o.site, o.found.name
        moved = o.inputs[len(o.inputs) - len(site.moved) :]
        if site.parts.tangent is None:
            name = self._derive(site, "forward", site.parts.forward, site.plain, self._choose_moved(site))
            given = [bare(self._argument(site, k, o.inputs)) for k in range(len(site.given))]
            for k, result in enumerate(self._names_of_lanes(o)):
                tangents = [self._take_lane(self.writer.text(x), x, k) for x in moved]
                text = f"{name}({tuple_text(given)}, {tuple_text(tangents)}, work, top)"
                self.writer.line(f"{result}, work = {text}", o.line)
            return True
        assert not wanted, "where there are further derivatives it is written into the program"
        self.writer.line(f"{found}_plain = {site.forward_name}({self._give_all(site, o.inputs)})", o.line)
        name = self._name(site, "tangent", site.parts.tangent)
        given = []
        for k, at in enumerate(site.given):
            if k in site.moved:
                given.append(self.writer.text(moved[site.moved.index(k)]))
            elif k not in site.parts.options:
                is_array = isinstance(at, int) and o.inputs[at].is_array
                given.append(f"np.zeros({self.writer.text(o.inputs[at])}.shape)" if is_array else "0.0")  # type: ignore[index]
        options = [bare(self._argument(site, k, o.inputs)) for k in site.parts.options]
        made = f"{name}({', '.join([*options, f'{found}_plain[1]', *given])})"
        self.writer.line(f"{found} = {found}_plain, ({made},)")
        return False

    def _names_of_lanes(self, o: RuleForward) -> list[str]:
        """The names of what is found, one for each lane of the tangents; one if these are numbers."""
        lanes, found = self.adjoints.lanes, o.found.name
        moved = o.inputs[len(o.inputs) - len(o.site.moved) :]
        if lanes is None or not any(x in lanes for x in moved):
            return [found]
        if o not in self.names_of_lanes:
            self.names_of_lanes[o] = [found, *(self.writer.fresh(f"{found}_lane") for _ in range(1, lanes.count))]
        return self.names_of_lanes[o]

    def _take_lane(self, text: str, x: Value, k: int, is_bar: bool = False) -> str:
        """Lane k of a value or of its adjoint; the text itself, where that is no lanes."""
        lanes = self.adjoints.lanes
        if lanes is None or not (lanes.bar(x) if is_bar else x in lanes) or text == "0.0":
            return text
        return f"lane_view({bare(text)}, {k})" + (".copy()" if x.is_array else "")

    def _choose_moved(self, site: RuleSite) -> Any:
        return lambda parameters: [parameters[k] for k in site.moved]

    def _give_all(self, site: RuleSite, read: list[Value]) -> str:
        """The arguments of a part, which it may keep or overwrite: arrays are copies."""
        given = []
        for k, at in enumerate(site.given):
            text = bare(self._argument(site, k, read))
            given.append(f"{text}.copy()" if isinstance(at, int) and read[at].is_array else text)
        return ", ".join(given)

    def _argument(self, site: RuleSite, k: int, read: list[Value]) -> str:
        at = site.given[k]
        return at if isinstance(at, str) else self.writer.text(read[at])

    def value(self, o: RuleValue) -> bool:
        """The value of a call, and what the reverse reads of it; whether anything is kept."""
        forward = o.found.operation
        assert isinstance(forward, RuleForward)
        names = self._names_of_lanes(forward)
        z, *tangent = o.filled or o.results
        self._write_value(z, f"{_pair(o.site, names[0])}[0]", o.line)
        for x in tangent:
            if len(names) == 1:
                self._write_value(x, f"{names[0]}[1][0]", o.line)
            else:
                self._put_together(x, [f"{name}[1][0]" for name in names], o.line)
        kept = list(self._list_kept(o, names)) if self.adjoints.active.changes(o) else []
        for text, kind in kept:
            function, _ = _choose_ways(kind)
            self.writer.line(f"work, top = keep_{function}({text}, work, top)")
        return bool(kept)

    def _write_value(self, x: Value, text: str, line: int) -> None:
        self.writer.line(f"{x.name}[...] = {text}" if x.is_array else f"{x.name} = float({text})", line)

    def _put_together(self, x: Value, texts: list[str], line: int) -> None:
        """Lanes of the numbers or arrays that there are for each."""
        if x.is_array:
            for k, text in enumerate(texts):
                self.writer.line(f"put_in_lane({x.name}, {k}, {text})", line)
        else:
            parts = [f"at_lane({text}, {k}, {len(texts)})" for k, text in enumerate(texts)]
            self.writer.line(f"{x.name} = {' + '.join(parts)}", line)

    def _list_kept(self, o: RuleValue, names: list[str]) -> list[tuple[str, Any]]:
        """The texts and types of what the reverse reads: the options, what the rule saves, and tangents of that."""
        site, found = o.site, o.found.name
        options = [k for k in site.parts.options if isinstance(site.given[k], int)]
        kept = [(bare(self.writer.text(o.read[site.given[k]])), site.plain[k]) for k in options]  # type: ignore[index]
        kept += leaves(f"{_pair(site, found)}[1]", site.saved)
        kept += [(f"{name}[1][{n}]", kind) for name in names for n, kind in _saved_tangents(site)]
        return [(text, kind) for text, kind in kept if not isinstance(kind, types.NoneType)]

    # ---- reverse -----------------------------------------------------------------------------------------------------
    def reverse(self, o: RuleValue) -> None:
        """Take back what was kept; where a cotangent has come, add what the backward part gives."""
        site, lines, lanes = o.site, list[str](), self.adjoints.lanes
        forward = o.found.operation
        assert isinstance(forward, RuleForward)
        several = [
            [self._take("moved", kind, lines) for _, kind in reversed(_saved_tangents(site))][::-1]
            for _ in self._names_of_lanes(forward)
        ][::-1]
        saved = self._take("saved", site.saved, lines, lanes is not None)
        options = []
        for k in reversed(site.parts.options):
            at = site.given[k]
            options.append(at if isinstance(at, str) else self._take("option", site.plain[k], lines))
            if isinstance(at, int) and o.read[at] in self.adjoints.active:
                raise RuleError(f"{site.rule.name}: argument {k} is an option and must be a constant, got a variable")
        for line in lines:
            self.writer.line(line)
        if not any(z.is_array or self.adjoints.has_bar(z) for z in o.varying):
            return
        wanted = [k for k, at in enumerate(site.given) if isinstance(at, int) and o.read[at] in self.adjoints.active]
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
            for name, text in zip(names, taken, strict=True):
                self.writer.line(f"{name} = {text}")
            self._reverse_lane(o, given, several[k % len(several)], names, wanted, k)

    def _reverse_lane(
        self, o: RuleValue, given: list[str], tangents: list[str], bars: list[str], wanted: list[int], lane: int | None
    ) -> None:
        """Add what the backward part gives for one cotangent, which is that of a lane if there are several."""
        site, z = o.site, o.varying[0]
        test = " or ".join(
            f"np.any({bar})" if x.is_array else f"{bar} != 0.0" for bar, x in zip(bars, o.varying, strict=True)
        )
        kind = types.Array(types.float64, z.kind.ndim, "C") if z.is_array else types.float64
        kinds = (*(as_read(site.plain[k]) for k in site.parts.options), as_read(site.saved), kind)
        rest = [k for k in range(len(site.given)) if k not in site.parts.options]
        with self.writer.indent(f"if {test}:"):
            if site.moved:
                self._add_second(o, given, tangents, bars, kinds, rest, lane)
                return
            parts = self.writer.fresh(f"{site.name}_parts")
            if site.parts.backward is None:
                name = self._transpose(site, tuple(wanted), kinds)
                text = self._call_transposed(o, name, [*given, bars[0]], wanted)
                self.writer.line(f"{parts}, work = {text}")
                for n, k in enumerate(wanted):
                    self._add(site, o.read[site.given[k]], f"{parts}[1][{n}]", lane)  # type: ignore[index]
                return
            name, found = self._backward(site, tuple(wanted), kinds, len(rest))
            cotangent = f"{bars[0]}.copy()" if z.is_array and lane is None else bars[0]
            self.writer.line(f"{parts} = {name}({', '.join([*given, cotangent])})")
            for k in wanted:
                x = o.read[site.given[k]]  # type: ignore[index]
                require_cotangent(site.rule, k, found[rest.index(k)], x.kind.ndim)
                if not isinstance(found[rest.index(k)], types.NoneType):
                    self._add(site, x, f"{parts}[{rest.index(k)}]", lane)

    def _transpose(self, site: RuleSite, wanted: tuple[int, ...], given: tuple[Any, ...]) -> str:
        """The name of the gradient that is the backward part of a rule that has its forward mode only."""
        pairing = pairing_of(site.rule, site.plain, given[-1], wanted)
        kinds = (*given, *(as_read(site.plain[k]) for k in wanted))
        key = site.rule, "transposed", wanted, kinds
        if key not in self.named:
            self.named[key] = self._name(site, "backward", DERIVE["gradient"](pairing, kinds, len(given)))
        return self.named[key]

    def _call_transposed(self, o: RuleValue, name: str, given: list[str], wanted: list[int]) -> str:
        ones = [one_of(o.site.plain[k], self.writer.text(o.read[o.site.given[k]])) for k in wanted]  # type: ignore[index]
        return f"{name}({', '.join([*given, *ones])}, work, top)"

    def _bar(self, z: Value) -> str:
        """The adjoint of a value or of its tangent, zeros where there is none."""
        if z.is_array:
            return self.adjoints.bar(z) if z in self.adjoints.active else f"np.zeros({z.name}.shape)"
        return self.adjoints.bar(z) if self.adjoints.has_bar(z) else "0.0"

    def _add_second(
        self, o: RuleValue, given: list[str], tangents: list[str], bars: list[str], kinds: tuple[Any, ...],
        rest: list[int], lane: int | None,
    ) -> None:  # fmt: skip
        """The backward part at the adjoint of the tangent, and its derivative along the adjoint of the value."""
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
        arguments = tuple_text([*given, bars[1]])
        self.writer.line(f"{parts}, work = {name}({arguments}, {tuple_text([*tangents, bars[0]])}, work, top)")
        order = [n for n, kind in enumerate(found) if not isinstance(kind, types.NoneType)]
        for k in moved:
            place = rest.index(k)
            x, x_dot = o.read[site.given[k]], o.tangents[site.moved.index(k)]  # type: ignore[index]
            require_cotangent(site.rule, k, found[place], x.kind.ndim)
            if place not in order:
                continue
            if x_dot in self.adjoints.active:
                self._add(site, x_dot, f"{parts}[0][{place}]", lane)
            if x in self.adjoints.active:
                self._add(site, x, f"{parts}[1][{order.index(place)}]", lane)

    def _derive(self, site: RuleSite, what: str, part: Any, given: tuple[Any, ...], wanted: Any) -> str:
        """The name of forward mode of a part; see `derive_part` of `contad.engines.source.build`."""
        key = site.rule, what, given, site.moved
        if key not in self.named:
            derived = DERIVE["part"](part, given, wanted)
            self.named[key] = self._name(site, f"{what}_moved", derived)
        return self.named[key]

    def _name(self, site: RuleSite, what: str, function: Any) -> str:
        """The name under which the source finds a function that belongs to a call."""
        callables = self.writer.program.callables
        key = site.rule, what, function
        if key not in self.named:
            name = self.writer.fresh(f"{site.name}_{what}")
            while name in callables:
                name = self.writer.fresh(f"{site.name}_{what}")
            callables[name] = function
            self.named[key] = name
        return self.named[key]

    def _add(self, site: RuleSite, x: Value, part: str, lane: int | None) -> None:
        """Add to an adjoint; what is the same for all lanes is added with the first one."""
        lanes, bar = self.adjoints.lanes, self.adjoints.bar(x)
        is_lanes = lane is not None and lanes is not None and lanes.bar(x)
        if lane and not is_lanes:
            return
        if not x.is_array:
            count = lanes.count if lanes is not None else 1
            self.adjoints.add(x, f"at_lane({part}, {lane}, {count})" if is_lanes else part)
            return
        with self.writer.indent(f"if {part}.shape != {bar}.shape:"):
            self.writer.line(f"raise RuleError({wrong_shape(site.rule.name)!r})")
        self.writer.line(f"add_to_lane({bar}, {lane}, {part})" if is_lanes else f"{bar} += {part}")

    def _take(self, name: str, kind: Any, lines: list[str], again: bool = False) -> str:
        """The expression of what was kept of some type; `lines` get the statements that take it, last things first.

        What is read `again`, and may be overwritten, is a copy each time.
        """
        if isinstance(kind, types.NoneType):
            return "None"
        if isinstance(kind, types.BaseTuple):
            parts = [self._take(name, part, lines, again) for part in reversed(list(kind))]
            return tuple_text(parts[::-1])
        function, after = _choose_ways(kind)
        name = self.writer.fresh(name)
        axes = f"({', '.join(['0'] * kind.ndim)}{',' * (kind.ndim == 1)}), " if isinstance(kind, types.Array) else ""
        lines.append(f"{name}, top = take_{function}({axes}work, top)")
        return after.format(name) + (".copy()" if again and isinstance(kind, types.Array) and after == "{}" else "")

    def _backward(self, site: RuleSite, wanted: tuple[int, ...], given: tuple[Any, ...], count: int) -> tuple[str, Any]:
        """The name of the backward part for some arguments, and the types of its cotangents."""
        key = site.rule, wanted
        if key not in self.named:
            self.named[key] = self._name(site, "backward", backward_of(site.rule, wanted))
        backward = self.writer.program.callables[self.named[key]]
        return self.named[key], backward_types(site.rule, backward, given, count)


def _pair(site: RuleSite, found: str) -> str:
    """The expression of (value, saved)."""
    return f"{found}[0]" if site.moved else found


def _saved_places(site: RuleSite) -> list[tuple[int, int]]:
    """Which of the numbers and arrays that are saved have tangents, and where these stand among the tangents found.

    They are all floats; a rule with a forward mode has none, because that is written into the program.
    """
    if not site.moved or site.parts.tangent is not None:
        return []
    floats = [n for n, (_, kind) in enumerate(leaves("", site.saved)) if _is_float(kind)]
    return [(n, 1 + m) for m, n in enumerate(floats)]


def _saved_tangents(site: RuleSite) -> list[tuple[int, Any]]:
    """Where the tangents of what is saved stand among the tangents found, and their types."""
    kinds = [kind for _, kind in leaves("", site.saved)]
    return [(place, kinds[n]) for n, place in _saved_places(site)]


def _is_float(kind: Any) -> bool:
    return getattr(kind, "dtype", kind) == types.float64


def _choose_ways(kind: Any) -> tuple[str, str]:
    """How something of a type is kept and taken, and the expression of it then."""
    if isinstance(kind, types.Array):
        if kind.dtype == types.float64:
            return "array", "{}"
        if isinstance(kind.dtype, types.Boolean):
            return "integers", "({} != 0)"
        return "integers", "{}" if kind.dtype == types.int64 else f"{{}}.astype(np.{kind.dtype})"
    if isinstance(kind, types.Boolean):
        return "integer", "({} != 0)"
    return ("integer" if isinstance(kind, types.Integer) else "number"), "{}"
