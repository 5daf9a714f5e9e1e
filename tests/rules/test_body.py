"""Rule bodies are straight-line: registered ones pass the lint, planted ones are refused by file and line."""

import ast
import importlib.util

import pytest

import contad.ops  # noqa: F401
from contad.errors import RuleError
from contad.rules.body import RuleBody
from contad.rules.scalar_rule import rules
from contad.rules.vectorised import Vectoriser


def planted(folder, body, imports="import contad, math\nfrom contad.ops.arithmetic import multiply\n"):
    """A Body read from a file whose line 4 is `def planted_partials(z, x, y):` and whose line 5 begins the body."""
    path = folder / "planted_rule.py"
    path.write_text(
        f"{imports}\ndef planted_partials(z, x, y):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    )
    spec = importlib.util.spec_from_file_location("planted_rule", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, RuleBody(module.planted_partials, 2)


@pytest.mark.parametrize("rule", list(rules()), ids=lambda rule: rule.name)
def test_every_registered_body_passes_the_lint(rule):
    assert rule.body is not None, f"{rule.name} has no partials"
    assert len(rule.body.returned) == rule.arity
    names = [name for name, _ in rule.body.assignments]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("body", "line", "message"), [
    ("for i in range(3):\n    t = x\nreturn x, y", 5, "assignments to one name each, and one return"),
    ("if x > 0:\n    t = x\nreturn x, y", 5, "assignments to one name each, and one return"),
    ("t = y\nt += x\nreturn t, x", 6, "assignments to one name each, and one return"),
    ("a, b = x, y\nreturn a, b", 5, "assignments to one name each, and one return"),
    ("return y, x\nreturn x, y", 5, "assignments to one name each, and one return"),
    ("t = y", 5, "ends with the return"),
    ("t = math.exp(x)\nreturn t, x", 5, "math.exp is not a rule"),
    ("return y, max(x, y)", 5, "max is not"),
    ("t = multiply(x, y)\nu = t * x ** y\nreturn u, t", 6, "power(x, y)"),
    ("t = y\nt = t * x\nreturn t, x", 6, "t is assigned twice"),
    ("x = 2.0 * x\nreturn x, y", 5, "x is assigned twice"),
    ("return y if x > 0 else x, y", 5, "IfExp is not allowed"),
    ("return [y for _ in (1, 2)], x", 5, "ListComp is not allowed"),
    ("return y[0], x", 5, "Subscript is not allowed"),
    ("return (t := x), y", 5, "NamedExpr is not allowed"),
    ("return x, y, z", 5, "expected 2 partial(s), got 3"),
    ("return [y, x]", 5, "expected 2 partial(s), got 1 list; write a tuple, return y, x"),
    ("t = x\nreturn t", 6, "expected 2 partial(s), got 1 name; write the partials themselves in the return"),
    ("t = y\nt *= x\nreturn t, x", 6, "and one return; write t_2 = t * x, a new name"),
    ("if x > 0:\n    t = x\nreturn x, y", 5, "in place of if, contad.select(x > 0, one, other) chooses a value"),
    ("return y, math.log(x)", 5, "math.log is not a rule; write contad.ops.log"),
    ("return y, round(x)", 5, "the name round is not defined; use the rules of contad.ops"),
    ("return y, math.gcd(x, y)", 5, "math.gcd is not a rule; a body calls functions of contad.ops, such as"),
    ("return y, multiply(x, y=y)", 5, "multiply takes no arguments by name in a body"),
    ("return y, nowhere", 5, "the name nowhere is not defined"),
    ("t = later\nlater = x\nreturn t, later", 5, "the name later is not defined"),
    ("return y, math.floor", 5, "math.floor is not a number"),
    ("return y, contad.ops", 5, "contad.ops is not a number"),
    ("return y, contad.multiplied(x, y)", 5, "contad.multiplied is not defined"),
    ("return y, multiply(x, math.floor)", 5, "math.floor is not a number"),
])  # fmt: skip
def test_a_bad_body_is_refused_by_file_and_line(tmp_path, body, line, message):
    path, bad = planted(tmp_path, body)
    with pytest.raises(RuleError) as caught:
        _ = bad.assignments
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: planted_partials: ") and message in text


@pytest.mark.parametrize(("body", "names"), [
    ("return y, x", []),
    ("return contad.xlogy(x, y), contad.ops.multiply(x, 2.0)", []),
    ('"""A docstring."""\nt = multiply(x, y)\nreturn t * y ** 2, t', ["t"]),
    ("t = -x * math.pi\nu = (t > 0) * t\nreturn u, t", ["t", "u"]),
])  # fmt: skip
def test_a_good_body_is_accepted(tmp_path, body, names):
    _, good = planted(tmp_path, body)
    assert [name for name, _ in good.assignments] == names and len(good.returned) == 2


def test_a_body_with_wrong_parameters_is_refused_where_it_is_declared():
    def planted_partials(x, y):
        return y, x

    with pytest.raises(RuleError, match=r"test_body\.py:\d+: planted_partials must take \(z, and 2 argument"):
        RuleBody(planted_partials, 2)


# ---- on arrays -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("body", "source"), [
    ("return x < y < 2.0, x", "_number(_and(x < y, y < 2.0))"),
    ("t = x > 0.0 or not y > 0.0\nreturn t * y, x", "_number(t) * y"),
    ("t = x or y\nreturn -t, x", "-t"),
    ("return x and y, x", "_both(x, y)"),
    ("return contad.ops.multiply(x > 0.0, y), x", "contad.ops.multiply(_number(x > 0.0), y)"),
    ("return contad.select(x > 0.0, y, x < 1.0), x", "contad.select(x > 0.0, y, _number(x < 1.0))"),
])  # fmt: skip
def test_conditions_are_rewritten_for_arrays(tmp_path, body, source):
    _, good = planted(tmp_path, body)
    form = Vectoriser(lambda node: getattr(good.resolve(node), "is_select", False))
    for name, value in good.assignments:
        form.write_assignment(name, value)
    assert ast.unparse(form.number(good.returned[0])) == source
