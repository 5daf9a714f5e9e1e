"""Single assignment for long functions: what straight-line code assigns again and again gets a name for each value.

Numba rewrites the whole function once for every name that is assigned more than once, so that the time it takes to
compile a long one would grow with the square of its length.
"""

import re
from collections import Counter
from collections.abc import Callable

LONG = 100  # lines; shorter functions are left as they read best
_ASSIGNMENT = re.compile(r"^( *)(\w+(?:, \w+)*) ([-+*/|]?)= (.*?)(  # line \d+)?$")
_LOOP = re.compile(r"^ *for (\w+) in ")
_INDENT = "    "


def with_versions(lines: list[str], numbers: set[str], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, with `x_2 = x + ...` in place of `x += ...` where no branch or loop assigns x.

    `numbers` are the names that may be treated so.
    """
    if len(lines) <= LONG:
        return lines
    names = _assigned_again(lines) & numbers
    if not names:
        return lines
    word = re.compile(rf"(?<![\w.])({'|'.join(sorted(names))})(?!\w)")
    current: dict[str, str] = {}

    def read(text: str) -> str:
        return word.sub(lambda found: current.get(found[1], found[1]), text)

    written = []
    for line in lines:
        found = _ASSIGNMENT.match(line)
        if line.lstrip().startswith("raise "):
            written.append(line)
        elif found is None:
            written.append(read(line))
        else:
            indent, targets, operator, value, note = found.groups()
            value = read(value)
            if operator and targets in names:
                value = f"{current[targets]} {operator} {value if value.isidentifier() else f'({value})'}"
                operator = ""
            for name in targets.split(", "):
                if name in names:
                    current[name] = fresh(name) if name in current else name
            targets = ", ".join(current.get(name, name) for name in targets.split(", "))
            written.append(f"{indent}{targets} {operator}= {value}{note or ''}")
    return written


def _assigned_again(lines: list[str]) -> set[str]:
    """The names that are assigned more than once, at first not by `+=`, and never in a branch or a loop."""
    assigned: Counter[str] = Counter()
    inside: set[str] = set()
    for line in lines:
        found = _ASSIGNMENT.match(line)
        targets = found[2].split(", ") if found else _LOOP.findall(line)
        if found is None or found[1] != _INDENT or (found[3] and found[2] not in assigned):
            inside.update(targets)
        assigned.update(targets)
    return {name for name, count in assigned.items() if count > 1} - inside
