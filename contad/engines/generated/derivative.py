"""The whole derivative of a program as source: forward sweep, seed, reverse sweep, and what is returned."""

from typing import Any

from contad.engines.generated.activity import Activity
from contad.engines.generated.fuse import fuse as fuse_loops
from contad.engines.generated.ir import Accumulate, Program, Store, Value
from contad.engines.generated.linear import partial_sums
from contad.engines.generated.plan import Plan
from contad.engines.generated.reverse import Reverse
from contad.engines.generated.walks import leaves, walk


class Derivative(Reverse):
    """The source of `value_and_grad`."""

    def __init__(self, program: Program, argnums: tuple[int, ...], has_aux: bool = False, fuse: bool = True) -> None:
        self.wanted = [program.parameters[k] for k in argnums]
        self.value = program.returned[0] if has_aux else program.returned
        self.has_aux = has_aux
        activity = Activity(program, [v for tree in self.wanted for v in leaves(tree)], [self.value])
        sums = partial_sums(program)
        fused = fuse_loops(program, activity, sums) if fuse else frozenset()
        super().__init__(program, Plan(program, activity, fused), sums)

    def source(self) -> str:
        self._copies()
        parameters = [v for p in self.program.parameters for v in leaves(p) if isinstance(v, Value)]
        for value in parameters:
            if value in self.active and value.is_array:
                self.line(f"{value.name}_bar = np.zeros({value.name}.shape)")
        self.sweep(self.program.block, lambda: self.add(self.value, "1.0"))
        grads = "".join(f"{self._gradient(tree)}, " for tree in self.wanted).rstrip()
        returned = self._returned(self.program.returned)
        self.line(f"return {returned}, ({grads})")
        arguments = ", ".join(self._argument(k) for k in range(len(self.program.parameters)))
        head = [f"def value_and_grad({arguments}):"]
        if any("top" in line for line in self.lines):
            head.append("    work, top = workspace(), 0")
        return "\n".join([*head, *self.lines]) + "\n"

    def _argument(self, k: int) -> str:
        p = self.program.parameters[k]
        return p.name if isinstance(p, Value) else f"argument_{k}"

    def _copies(self) -> None:
        """Tuples are unpacked, and arrays that the program writes are copied: arguments are never modified."""
        for k, p in enumerate(self.program.parameters):
            if isinstance(p, tuple):
                self._unpack(p, self._argument(k))
        written = {r for o in walk(self.program.block) if isinstance(o, (Store, Accumulate)) for r in o.array.roots}
        for p in self.program.parameters:
            for value in leaves(p):
                if value in written:
                    self.line(f"{value.name} = {value.name}.copy()")

    def _unpack(self, tree: Any, text: str) -> None:
        for k, part in enumerate(tree):
            if isinstance(part, tuple):
                self._unpack(part, f"{text}[{k}]")
            elif isinstance(part, Value):
                self.line(f"{part.name} = {text}[{k}]")

    def _gradient(self, tree: Any) -> str:
        if isinstance(tree, tuple):
            return "(" + "".join(f"{self._gradient(part)}, " for part in tree).rstrip() + ")"
        if tree.is_array:
            return f"{tree.name}_bar" if tree in self.active else f"np.zeros({tree.name}.shape)"
        return f"{tree.name}_bar" if tree in self.begun else "0.0"

    def _returned(self, tree: Any) -> str:
        if isinstance(tree, tuple):
            return "(" + "".join(f"{self._returned(part)}, " for part in tree).rstrip() + ")"
        return f"{tree.name}.copy()" if tree.is_array else self.text(tree)

    def constants(self) -> dict[str, Any]:
        """The global arrays that the source reads, by name."""
        values = self.program.captured_values
        return {v.name: array for v, array in zip(values, self.program.captured.values(), strict=True)}
