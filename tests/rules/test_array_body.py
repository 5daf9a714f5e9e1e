"""Bodies of array rules: contad's own pass the lint, planted ones are refused by file and line."""

import importlib.util

import numpy as np
import pytest

from contad.errors import RuleError
from contad.rules.array_body import check_body
from contad.rules.array_rule import array_rule
from tests.judges.own_rules import own_array_rules

OWN = [
    (rule.name, body)
    for rule in own_array_rules()
    for body in (*rule.vjps.values(), rule.jvp_body, rule.common_body)
    if body is not None
]
IMPORTS = "import contad, math, numpy as np\nfrom contad.ops.products import matmul\n"


def planted(folder, body, parameters="z, z_bar, a, b, saved, *, axis=None"):
    """(path, function) of a file whose line 4 is `def planted_vjp(...)` and whose line 5 begins the body."""
    path = folder / "planted_array_rule.py"
    path.write_text(
        f"{IMPORTS}\ndef planted_vjp({parameters}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    )
    spec = importlib.util.spec_from_file_location("planted_array_rule", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module.planted_vjp


@pytest.mark.parametrize(("name", "body"), OWN, ids=[f"{name}-{body.__name__}" for name, body in OWN])
def test_every_body_of_contad_passes_the_lint(name, body):
    check_body(body)


def test_there_are_bodies_to_check():
    assert {"matmul", "prod", "logsumexp"} <= {name for name, _ in OWN}


FORM = "assignments to one name each, and one return"


@pytest.mark.parametrize(("body", "line", "message"), [
    ("for i in range(3):\n    t = a\nreturn z_bar", 5, FORM),
    ("if axis is None:\n    t = a\nreturn z_bar", 5, FORM),
    ("t = a\nt += b\nreturn z_bar", 6, f"{FORM}; write t_2 = t + b, a new name"),
    ("if axis is None:\n    t = a\nreturn z_bar", 5, "if, contad.select(axis is None, one, other) chooses a value"),
    ("t = a * 1.0\nt[0] = 0.0\nreturn t", 6, FORM), ("u, v = a, b\nreturn u * v", 5, FORM),
    ("t = u = a\nreturn t", 5, FORM), ("print(a)\nreturn z_bar", 5, FORM), ("return z_bar\nreturn a", 5, FORM),
    ("t = z_bar * a", 5, "ends with the return of its result"), ("return", 5, "ends with the return of its result"),
    ("t = a\nt = t * b\nreturn z_bar * t", 6, "t is assigned twice"),
    ("a = 2.0 * a\nreturn z_bar * a", 5, "a is assigned twice"),
    ("return z_bar if axis is None else a", 5, "IfExp is not allowed"),
    ("return z_bar and a", 5, "BoolOp is not allowed"), ("return [x for x in a]", 5, "ListComp is not allowed"),
    ("return (lambda x: x)(a)", 5, "not a name"), ("return (t := z_bar)", 5, "NamedExpr is not allowed"),
    ("return z_bar * (not a)", 5, "use ~"), ("return z_bar * (0.0 < a < b)", 5, "join two with &"),
    ("return np.add(*a)", 5, "Starred is not allowed"), ("return np.sum(a, **b)", 5, "** is not allowed"),
    ("return max(z_bar, a)", 5, "the name max is not defined; use the function of"),
    ("return z_bar * abs(a)", 5, "the name abs is not defined; use the function of"),
    ("return z_bar * math.exp(a)", 5, "does not differentiate math.exp"),
    ("return np.roots(a)", 5, "does not differentiate np.roots"),
    ("return np.ndarray(a)", 5, "does not differentiate np.ndarray"),
    ("return z_bar * a.mean()", 5, ".mean() is not allowed"),
    ("return z_bar * a.flat", 5, ".flat is not allowed"),
    ("return z_bar(a)", 5, "z_bar is a value, not a rule"),
    ("return nowhere(a)", 5, "the name nowhere is not defined"),
    ("t = later\nlater = a\nreturn z_bar * t", 5, "the name later is not defined"),
    ("return z_bar * np.sum", 5, "np.sum is not a constant"),
    ("return z_bar * np.linalg", 5, "np.linalg is not a constant"),
    ("return np.nothing(z_bar)", 5, "np.nothing is not defined"),
    ("t = z_bar * a\nreturn matmul(t, nowhere)", 6, "the name nowhere is not defined"),
])  # fmt: skip
def test_a_bad_body_is_refused_by_file_and_line(tmp_path, body, line, message):
    path, bad = planted(tmp_path, body)
    with pytest.raises(RuleError) as caught:
        check_body(bad)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: planted_vjp: ") and message in text


@pytest.mark.parametrize("body", [
    "return z_bar * saved", "return z_bar * saved[0]", "t = saved\nreturn z_bar * t",
    "t = saved[1]\nu = t[0]\nreturn np.sum(u * a)", "return np.multiply(saved, a)",
    "return contad.select(z_bar > 0.0, saved, a)", "return matmul(saved, z_bar)", "return matmul(np.exp(saved), a)",
    "return saved.T @ z_bar", "return np.take(saved, z_bar)", "return np.bincount(saved, weights=saved)",
    "return saved.reshape(a.shape) * z_bar", "t = np.zeros_like(saved) + z_bar\nreturn t",
])  # fmt: skip
def test_saved_values_that_enter_a_result_are_refused(tmp_path, body):
    _, bad = planted(tmp_path, body)
    with pytest.raises(RuleError, match="carries no derivative; use it as an index, or pass it to a rule"):
        check_body(bad)


@pytest.mark.parametrize("body", [
    "return z_bar * a", '"""A docstring."""\nt = np.sum(a * b, axis=axis)\nreturn t * z_bar.T',
    "return contad.select(a > 0.0, z_bar, 0.0) * math.pi + np.inf",
    "return np.where((a > 0.0) & ~(b > 0.0), z_bar, -a) ** 2",
    "return (z_bar @ b.T)[..., None, 1:].reshape((-1, a.shape[0])).sum(axis=0).copy()",
    "return contad.ops.cotangents.spread(z_bar, np.shape(a), axis) / a.size",
    "return np.einsum('ij,j->i', a, z_bar)", "return z_bar[saved]", "t = saved[1]\nreturn z_bar[t, :] * a",
    "return matmul(a, z_bar, saved)", "t = a.T\nu = saved[0]\nreturn matmul(t, z_bar, factors=(u))",
    "return z_bar * saved.shape[0]", "return np.take(z_bar, saved)",
    "return np.take_along_axis(z_bar, indices=saved[0], axis=0)", "return np.bincount(saved, weights=z_bar)",
])  # fmt: skip
def test_a_good_body_is_accepted(tmp_path, body):
    _, good = planted(tmp_path, body)
    check_body(good)


def test_a_body_is_written_with_def():
    with pytest.raises(RuleError, match="written with def"):
        check_body(lambda z, z_bar, a: z_bar)


def test_a_body_without_source_passes():
    names = {}
    exec("def typed(z, z_bar, a):\n    return z_bar if a else z", names)
    check_body(names["typed"])


def test_a_rule_and_a_constant_of_an_enclosing_function_are_found():
    factor = 3.0

    @array_rule(linear=("a",))
    def tripled_here(a):
        return factor * a

    @tripled_here.vjp("a")
    def tripled_here_vjp_a(z, z_bar, a):
        return factor * np.sum(z_bar, keepdims=True) + tripled_here(z_bar)

    check_body(tripled_here_vjp_a)
