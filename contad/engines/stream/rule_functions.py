"""Rules in loops over records: the most common are branches of the loop; functions by operation code do the others.

Numba's compile time is quadratic in the branches of a function, and an array read in a branch costs as much as the
formula. So for all other rules of the same activity a loop reads the operands at one place, and calls functions of
numbers: `value_of(code, x, y)`, and `times_by_x(code, d, z, x, y)`, which is d times the partial by x. The operations
of these rules take longer than the call.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from contad.compiled_rules.rule_source import partial_source
from contad.rules.scalar_rule import ScalarRule

COMMON = frozenset({
    "absolute", "add", "cos", "divide", "exp", "log", "multiply", "negative", "sin", "sqrt", "square", "subtract",
    "tanh",
})  # fmt: skip
ACTIVITIES = ("v", "vv", "vc", "cv")  # operations, in the order of their codes
Operation = tuple[ScalarRule, str]  # a rule and its activity: v for a variable, c for a constant


def number_operations(first: int, found: Iterable[ScalarRule]) -> dict[int, Operation]:
    """Codes of operations from `first` on: the common rules, then by activity and name."""
    operations = [(rule, active) for rule in found for active in ACTIVITIES if len(active) == rule.arity]
    operations.sort(key=lambda o: (o[0].name not in COMMON, ACTIVITIES.index(o[1]), o[0].name))
    return dict(enumerate(operations, first))


class Run(NamedTuple):
    """A range of codes with the same activity; a code minus `shift` is the code of the rule in the functions."""

    first: int
    last: int
    active: str
    shift: int

    def write_call(self, function: str, code: str, numbers: str) -> str:
        """The call of a function, where the code and the operands x and y have these names."""
        known = f"{code} - {self.shift}" if self.shift else code
        return f"{function}({known}, {numbers}, {'y' if len(self.active) > 1 else '0.0'})"


def find_runs(operations: Mapping[int, Operation]) -> list[Run]:
    """The runs of codes that functions handle."""
    known = {rule: code for code, rule in find_rules(operations).items()}
    found: list[Run] = []
    for code, (rule, active) in operations.items():
        if rule.name not in COMMON:
            run = Run(code, code, active, code - known[rule])
            if found and found[-1] == run._replace(first=found[-1].first, last=code - 1):
                run = run._replace(first=found.pop().first)
            found.append(run)
    return found


def find_rules(operations: Mapping[int, Operation]) -> dict[int, ScalarRule]:
    """The rules that functions handle, by their codes there."""
    found: dict[ScalarRule, int] = {}
    for code, (rule, _) in operations.items():
        if rule.name not in COMMON:
            found.setdefault(rule, code)
    return {code: rule for rule, code in found.items()}


# ---- source ----------------------------------------------------------------------------------------------------------
def indent(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Lines of a nested block."""
    return ["    " * levels + line for line in lines]


def partial_of(rule: ScalarRule, k: int, prefix: str, **how: Any) -> tuple[list[str], str] | None:
    """Partial k of a rule as lines and an expression in z, x and y; None where it is zero.

    The body's own names get the prefix, which distinguishes them from the names around them; for the rest see
    `contad.compiled_rules.rule_source.partial_source`.
    """
    assert rule.body is not None
    return None if rule.body.literal(k) == 0.0 else partial_source(rule, k, ("z", "x", "y"), prefix, **how)


def write_accumulation(rule: ScalarRule | None, k: int, target: str, partial: str, mask: str = "") -> list[str]:
    """The lines that add d times partial k to the target; `mask` is put behind the product."""
    if routes(rule, k):
        product = "d * p if p != 0.0 else 0.0"
        return [f"p = {partial}", f"{target} += ({product}){mask}" if mask else f"{target} += {product}"]
    return [f"{target} += d * ({partial}){mask}"]


def routes(rule: ScalarRule | None, k: int) -> bool:
    """Whether partial k is a selection: where that is zero, the rule passes nothing on."""
    return rule is not None and rule.body is not None and rule.body.routes(k)


def write_partials(operations: Mapping[int, Operation], decorator: str, **how: Any) -> str:
    """The functions `times_by_x` and `times_by_y`."""
    functions = []
    for k, name in enumerate("xy"):
        branches = {}
        for code, rule in find_rules(operations).items():
            found = partial_of(rule, k, "local_", **how) if k < rule.arity else None
            if found is not None:
                lines, partial = found
                selects = [f"p = {partial}", "return d * p if p != 0.0 else 0.0"]
                branches[code] = [*lines, *(selects if routes(rule, k) else [f"return d * ({partial})"])]
        functions.append(write_function(f"times_by_{name}", "code, d, z, x, y", operations, branches, decorator))
    return "".join(functions)


def write_function(
    name: str, parameters: str, operations: Mapping[int, Operation], branches: Mapping[int, list[str]], decorator: str
) -> str:
    """A function of the code with a branch that returns for each rule; it returns 0 for other codes."""
    rules = find_rules(operations)
    lines = [decorator, f"def {name}({parameters}):"]
    for code, body in branches.items():
        lines += [f"    if code == {code}:  # {rules[code].name}", *(f"        {line}" for line in body)]
    return "\n".join([*lines, "    return 0.0", "", "", ""])
