"""The tables of functions: `python -m contad.table`, from the registries; `--stan` compares them with Stan by name.

`--jax`, `--autograd`, `--scipy` and `--torch` call that library's functions on variables; it must be installed.
"""

import functools
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from contad.counts.judgement import Judgement
from contad.counts.library_names import COUNTED
from contad.engines import engine_names
from contad.errors import ContadError
from contad.protocols.number_protocols import CONSTANTS
from contad.rules.array_rule import ArrayRule, array_rules
from contad.rules.numpy_functions import Entry, entries, find_exported_name
from contad.rules.scalar_rule import ScalarRule, rules
from contad.stan import parity
from contad.variables.continuations import var
from contad.variables.open_types import Function
from contad.variables.stack import nested

HEADER = ("name", "arguments", "description", "formula", "NumPy, SciPy", "operator", "reverse sweep", "accuracy")
ARRAY_HEADER = ("name", "NumPy", "kind", "description", "formula", "engines", "orders")
_BOUND = "8 ulp + 4 ulp x condition number"

# functions that NumPy does not evaluate on object arrays of variables, the arrays of the engines closures and records
NOT_ON_OBJECTS = {
    "np.bincount", "np.histogram2d", "np.histogramdd", "np.percentile", "np.quantile", "np.astype",
    "np.nanmedian", "np.nanquantile", "np.polydiv", "np.polyfit", "np.roots",
    "np.isclose", "np.allclose", "np.isneginf", "np.isposinf",  # np.isfinite and np.isinf refuse
    "np.array2string", "np.array_repr", "np.array_str",  # show variables
    "np.can_cast", "np.common_type", "np.min_scalar_type", "np.result_type",  # see the type object
    "np.cov", "np.corrcoef", "np.i0",  # and functions that call LAPACK, and np.linalg.norm, which asks for floats
    *(f"np.linalg.{name}" for name in (
        "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_norm", "matrix_rank",
        "norm", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensorinv", "tensorsolve")),
}  # fmt: skip
ON_ARRAYS = ("matrix", "forward")


def function_table() -> str:
    """Every scalar rule, and every NumPy function and rule of arrays, as two Markdown tables, sorted by name.

    >>> function_table().splitlines()[4]
    '## Scalar rules'
    """
    import contad.ops  # noqa: F401  # registers the rules

    return "# Functions\n\nGenerated from the registries by `python -m contad.table`.\n\n" + "\n".join(
        [_scalar_section(), _array_section()]
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [header, ["---"] * len(header), *rows])


# ---- scalar rules ----------------------------------------------------------------------------------------------------
def _scalar_section() -> str:
    """A row takes from a rule's docstring its first line (the description), its line `z = ...` (the formula) and, if
    the rule misses the bound on partials that all others keep, its line `Accuracy: ...`. The partials of a compiled
    rule are evaluated inside the reverse sweep; all other rules store them when they are recorded.
    """
    found = sorted(rules(), key=lambda rule: rule.name)
    constants = _codes(sorted(f"np.{ufunc.__name__}" for ufunc in CONSTANTS))
    return (
        f"## Scalar rules\n\n{len(found)} rules: of numbers, and of arrays element by element. Each has derivatives of "
        f"every order, on the engines {', '.join(engine_names())} and in forward mode. Evaluated as constants are "
        f"{constants}.\n\nOn object arrays of variables NumPy itself refuses {_codes(ufuncs_not_on_objects())} and "
        "SciPy's ufuncs: call the function of that name in `contad.ops`, or give them `contad.to_varmat(x)`.\n\n"
        + _table(HEADER, map(_row, found))
    )


def ufuncs_not_on_objects() -> list[str]:
    """NumPy's ufuncs with a scalar rule, or a constant result, that refuse object arrays of variables, found by trying
    each.

    >>> "np.logaddexp" in ufuncs_not_on_objects()
    True
    """
    ufuncs: set[np.ufunc] = {ufunc for rule in rules() for ufunc in rule.ufuncs if isinstance(ufunc, np.ufunc)}
    refused = []
    with nested(), np.errstate(all="ignore"):
        x = np.array([var(0.5)], dtype=object)
        for ufunc in (ufunc for ufunc in ufuncs | set(CONSTANTS) if vars(np).get(ufunc.__name__) == ufunc):
            try:
                ufunc(*[x] * ufunc.nin)
            except (TypeError, AttributeError, ContadError):
                refused.append(f"np.{ufunc.__name__}")
    return sorted(refused)


def _row(rule: ScalarRule) -> list[str]:
    lines = inspect.cleandoc(rule.__doc__ or "").splitlines() or [""]
    return [
        _code(rule.name),
        ", ".join(rule.argument_names),
        _text(lines[0]),
        _code(_first(lines, "z = ")),
        ", ".join(_code(_ufunc_name(ufunc)) for ufunc in rule.ufuncs),
        _code(rule.operator or ""),
        "compiled" if rule.core else "stored partials",
        _text(_first(lines, "Accuracy:").removeprefix("Accuracy:") or _BOUND),
    ]


# ---- functions of arrays ---------------------------------------------------------------------------------------------
def _array_section() -> str:
    rows = array_rows()
    return (
        f"## Functions of arrays\n\n{len(rows)} functions. Kinds: a *rule* is one record with derivatives of its own; "
        "a *movement* only moves elements, and is a view where NumPy gives one; a *composite* is written with others; "
        "a *constant* carries no derivative.\n\nEngines: on `matrix` and in "
        "forward mode NumPy's functions find contad's. On `closures` and `records` an array is an object array of "
        "variables, on which NumPy evaluates its function itself; they are named where it does so right.\n\n"
        + _table(ARRAY_HEADER, rows)
    )


def array_rows() -> list[list[str]]:
    """The rows of the table of arrays, sorted by name: one for each array rule, and one for each other
    implementation."""
    groups: dict[str | Function, list[Entry]] = {}
    for entry in entries():
        groups.setdefault(entry.name if entry.kind == "rule" else entry.implementation, []).append(entry)
    found = [_rule_row(rule, groups.get(rule.name, [])) for rule in array_rules()]
    found += [_entry_row(group) for group in groups.values() if group[0].kind != "rule"]
    return sorted(found, key=lambda row: row[0].strip("`"))


def _rule_row(rule: ArrayRule, group: Sequence[Entry]) -> list[str]:
    names = [find_exported_name(entry.function) for entry in group]
    lines = inspect.cleandoc(rule.__doc__ or "").splitlines() or [""]
    ways = [*engine_names(), "forward"]
    if not rule.linear and rule.jvp_body is None:
        ways.remove("forward")
    # only for contad's own rules it is known whether NumPy evaluates a function on object arrays
    if names and (NOT_ON_OBJECTS & set(names) or not rule.__module__.startswith("contad.ops.")):
        ways = [way for way in ways if way in ON_ARRAYS]
    if missing := [name for name in rule.argument_names if name not in rule.vjps]:
        ways = [way if way == "forward" else f"{way} (not {', '.join(missing)})" for way in ways]
    formula = next((line.strip() for line in lines if re.match(r"\s*z\w* = ", line)), "")  # z_i = ... for an element
    return [_code(rule.name), _codes(names), "rule", _text(lines[0]), _code(formula), ", ".join(ways), "every"]


def _entry_row(group: Sequence[Entry]) -> list[str]:
    entry = group[0]
    names = [find_exported_name(each.function) for each in group]
    ways: Sequence[str] = ON_ARRAYS if NOT_ON_OBJECTS & set(names) else (*engine_names(), "forward")
    return [
        _code(entry.name),
        _codes(names),
        entry.kind,
        _text(_sentence(entry)),
        "",
        ", ".join(ways),
        "" if entry.kind == "constant" else "every",
    ]


def _sentence(entry: Entry) -> str:
    """The first line of the implementation's docstring, or the first sentence of that of the NumPy function."""
    own = inspect.getdoc(entry.implementation)
    if own:
        return own.splitlines()[0]
    text = inspect.getdoc(entry.function) or ""
    sentence = re.search(r"^[A-Z].*?(?=\.\s|\.?\Z|\n\n)", text, re.MULTILINE | re.DOTALL)
    return f"{sentence[0]}." if sentence else ""


# ---- Stan's names ----------------------------------------------------------------------------------------------------
STAN_HEADER = ("Stan", "status", "how", "description")


def stan_table() -> str:
    """Every name of Stan, as Markdown: names in `contad.stan`, names spelled with NumPy, and missing names.

    >>> stan_table().splitlines()[0]
    "# Stan's functions"
    """
    from contad import stan

    found = parity.rows(tuple(stan.__all__))
    counts = Counter(row.status for row in found)
    numbers = ", ".join(f"{counts[status]} {words}" for status, words in _STATUSES.items())
    text = (
        f"# Stan's functions\n\nOf {len(found)} names {numbers}. In the expressions x, y, z and p are numbers, v and w "
        "vectors, a and b matrices, k and n whole numbers, f is a function of a vector. Random numbers are drawn by "
        "`numpy.random.Generator`.\n"
    )
    for section in parity.NAMES:
        own = [row for row in found if row.section == section]
        text += f"\n## {section}\n\n" + _table(STAN_HEADER, map(_stan_row, own))
    return text


_STATUSES = {
    "works": "are functions of `contad.stan`",
    "NumPy": "are expressions that differentiate",
    "constant": "are expressions without a derivative",
    "not for Python": "have no meaning in Python",
    "missing": "are missing",
}


def _stan_row(row: parity.StanName) -> list[str]:
    from contad import stan

    described = (inspect.getdoc(getattr(stan, row.name)) or "").splitlines()[0] if row.status == "works" else ""
    notes = [described.rstrip("."), parity.REMARKS.get(row.name, ""), parity.NOT_FOR_PYTHON.get(row.name, "")]
    return [_code(row.name), row.status, _code(row.how), _text("; ".join(filter(None, notes)))]


# ---- other libraries -------------------------------------------------------------------------------------------------
COUNT_HEADER = ("name", "status", "call", "remark")


def library_table(library: str) -> str:
    """How contad fares with each function of another library, as Markdown."""
    found = list(COUNTED[library]())
    totals = Counter(each.status for each in found)
    numbers = ", ".join(f"{count} {status}" for status, count in totals.most_common())
    rows = _table(COUNT_HEADER, map(_count_row, found))
    return f"# Functions of {library}\n\n{len(found)} names: {numbers}.\n\n{rows}"


def _count_row(found: Judgement) -> list[str]:
    return [_code(found.name), found.status, _code(found.expression), _text(found.remark)]


# ---- cells -----------------------------------------------------------------------------------------------------------
def _first(lines: Iterable[str], start: str) -> str:
    return next((line.strip() for line in lines if line.strip().startswith(start)), "")


def _ufunc_name(ufunc: np.ufunc | str) -> str:
    return ufunc if isinstance(ufunc, str) else f"numpy.{ufunc.__name__}"


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_text(text)}`" if text else ""


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names))


if __name__ == "__main__":
    choices = {"--stan": stan_table} | {f"--{name}": functools.partial(library_table, name) for name in COUNTED}
    if len(sys.argv) > 2 or not {*sys.argv[1:]} <= choices.keys():
        print(f"usage: python -m contad.table [{' | '.join(choices)}]", file=sys.stderr)
        sys.exit(2)
    print(choices[sys.argv[1]]() if sys.argv[1:] else function_table(), end="")
