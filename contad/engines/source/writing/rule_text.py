"""Calls of operations with a rule of the user's, as source: their parts, and what is kept between them."""

from typing import Any

from numba import types

from contad.engines.source.analysis.lane_values import refuse
from contad.engines.source.ir.rule_sites import RuleForward, RuleSite, RuleValue
from contad.engines.source.ir.single_assignment import FLOAT, Value
from contad.engines.source.ir.writer import bare, tuple_text
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.errors import RuleError
from contad.native.saved_values import as_read, leaves
from contad.native.user_rules import backward_of, backward_types, require_cotangent, wrong_shape
from contad.rules.compilable import WithParts


class RuleWriter:
    """Writes both operations of a call, and the reverse of the second one."""

    def __init__(self, adjoints: AdjointWriter) -> None:
        self.adjoints, self.writer = adjoints, adjoints.writer
        self.backwards: dict[tuple[WithParts, tuple[int, ...]], str] = {}  # the names of backward parts

    # ---- forward -----------------------------------------------------------------------------------------------------
    def forward(self, o: RuleForward) -> None:
        """The forward part, or the value alone where nobody asks for a derivative."""
        site, found = o.site, o.found.name
        given = ", ".join(self._give(site, k, o.inputs) for k in range(len(site.given)))
        if any(self.adjoints.active.changes(reader) for reader in self.adjoints.readers.get(o.found, [])):
            self.writer.line(f"{found} = {site.forward_name}({given})", o.line)
        else:
            self.writer.line(f"{found} = ({site.value_name}({given}), None)", o.line)
        for axis, length in enumerate(o.lengths):
            self.writer.line(f"{length.name} = {found}[0].shape[{axis}]")

    def _give(self, site: RuleSite, k: int, read: list[Value]) -> str:
        """An argument of the forward part: of an array a copy, which the rule may keep or overwrite."""
        at = site.given[k]
        if isinstance(at, str):
            return at
        text = bare(self.writer.text(read[at]))
        return f"{text}.copy()" if read[at].is_array else text

    def value(self, o: RuleValue) -> bool:
        """The value of a call, and what the reverse reads of it; whether anything is kept."""
        found = o.found.name
        if o.filled:
            self.writer.line(f"{o.filled[0].name}[...] = {found}[0]", o.line)
        else:
            self.writer.line(f"{o.results[0].name} = float({found}[0])", o.line)
        kept = list(self._list_kept(o)) if self.adjoints.active.changes(o) else []
        for text, kind in kept:
            function, _ = _choose_ways(kind)
            self.writer.line(f"work, top = keep_{function}({text}, work, top)")
        return bool(kept)

    def _list_kept(self, o: RuleValue) -> list[tuple[str, Any]]:
        """The texts and types of what the reverse reads: the options, then what the rule saves."""
        options = [k for k in o.site.parts.options if isinstance(o.site.given[k], int)]
        kept = [(bare(self.writer.text(o.read[o.site.given[k]])), o.site.plain[k]) for k in options]  # type: ignore[index]
        kept += leaves(f"{o.found.name}[1]", o.site.saved)
        return [(text, kind) for text, kind in kept if not isinstance(kind, types.NoneType)]

    # ---- reverse -----------------------------------------------------------------------------------------------------
    def reverse(self, o: RuleValue) -> None:
        """Take back what was kept; where a cotangent has come, add what the backward part gives."""
        site, lines = o.site, list[str]()
        if self.adjoints.lanes is not None:
            refuse(self.writer.program.name, site.rule.name)
        saved = self._take("saved", site.saved, lines)
        options = []
        for k in reversed(site.parts.options):
            at = site.given[k]
            options.append(at if isinstance(at, str) else self._take("option", site.plain[k], lines))
            if isinstance(at, int) and o.read[at] in self.adjoints.active:
                raise RuleError(f"{site.rule.name}: argument {k} is an option and must be a constant, got a variable")
        for line in lines:
            self.writer.line(line)
        (z,) = o.varying
        if not z.is_array and not self.adjoints.has_bar(z):
            return
        z_bar = self.adjoints.bar(z)
        wanted = [k for k, at in enumerate(site.given) if isinstance(at, int) and o.read[at] in self.adjoints.active]
        for k in wanted:
            if o.read[site.given[k]].kind == FLOAT:  # type: ignore[index]
                self.adjoints.begin(o.read[site.given[k]])  # type: ignore[index]
        kind = types.Array(types.float64, z.kind.ndim, "C") if z.is_array else types.float64
        given = (*(as_read(site.plain[k]) for k in site.parts.options), as_read(site.saved), kind)
        rest = [k for k in range(len(site.given)) if k not in site.parts.options]
        name, found = self._backward(site, tuple(wanted), given, len(rest))
        with self.writer.indent(f"if np.any({z_bar}):" if z.is_array else f"if {z_bar} != 0.0:"):
            parts = self.writer.fresh(f"{site.name}_parts")
            cotangent = f"{z_bar}.copy()" if z.is_array else z_bar
            self.writer.line(f"{parts} = {name}({', '.join([*reversed(options), saved, cotangent])})")
            for k in wanted:
                x = o.read[site.given[k]]  # type: ignore[index]
                require_cotangent(site.rule, k, found[rest.index(k)], x.kind.ndim)
                if not isinstance(found[rest.index(k)], types.NoneType):
                    self._add(site, x, f"{parts}[{rest.index(k)}]")

    def _add(self, site: RuleSite, x: Value, part: str) -> None:
        if x.is_array:
            with self.writer.indent(f"if {part}.shape != {self.adjoints.bar(x)}.shape:"):
                self.writer.line(f"raise RuleError({wrong_shape(site.rule.name)!r})")
            self.writer.line(f"{self.adjoints.bar(x)} += {part}")
        else:
            self.adjoints.add(x, part)

    def _take(self, name: str, kind: Any, lines: list[str]) -> str:
        """The expression of what was kept of some type; `lines` get the statements that take it, last things first."""
        if isinstance(kind, types.NoneType):
            return "None"
        if isinstance(kind, types.BaseTuple):
            parts = [self._take(name, part, lines) for part in reversed(list(kind))]
            return tuple_text(parts[::-1])
        function, after = _choose_ways(kind)
        name = self.writer.fresh(name)
        axes = f"({', '.join(['0'] * kind.ndim)}{',' * (kind.ndim == 1)}), " if isinstance(kind, types.Array) else ""
        lines.append(f"{name}, top = take_{function}({axes}work, top)")
        return after.format(name)

    def _backward(self, site: RuleSite, wanted: tuple[int, ...], given: tuple[Any, ...], count: int) -> tuple[str, Any]:
        """The name of the backward part for some arguments, and the types of its cotangents."""
        callables = self.writer.program.callables
        key = site.rule, wanted
        if key not in self.backwards:
            name = self.writer.fresh(f"{site.name}_backward")
            while name in callables:
                name = self.writer.fresh(f"{site.name}_backward")
            callables[name] = backward_of(site.rule, wanted)
            self.backwards[key] = name
        return self.backwards[key], backward_types(site.rule, callables[self.backwards[key]], given, count)


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
