"""Operations with rules of users' in Numba functions: gradients by each compiled engine, and what they refuse."""

import numpy as np
import pytest

import contad
from tests.engines import user_rules
from tests.engines.source.agreement import as_python, request
from tests.engines.source.programs.harness import Table, function_of, programs
from tests.engines.tape.requests import value_and_grad

BOTH, TAPE, GENERATED = ("tape", "generated"), ("tape",), ("generated",)
ONE, TWO = 1.5, np.ones(2)
REFUSED = {  # the call that is refused, its argument, and by which engines
    "one cotangent for each of 1 arguments, got 2": ("too_many(x)", ONE, BOTH),
    r"forward must return \(value, saved\), got float64": ("no_pair(x)", ONE, TAPE),
    "what it saves is kept for the reverse sweep; it must be made of numbers": ("of_text(x)", ONE, BOTH),
    "does not compile its backward part for .*: no implementation of clip": ("not_compiled(x)", ONE, TAPE),
    "argument 1 is an option and must be a constant": ("optional(2.0, x)", ONE, BOTH),
    "no derivative with respect to a; declare one": ("half_a_rule(x, x)[0]", TWO, BOTH),
    "with_options: inside njit, options without a default": ("with_options(x, power=2)[0]", TWO, BOTH),
    "custom_jvp: without_rule: no rule; declare one with": ("without_rule(x)", ONE, BOTH),
    "the arguments of 'clipped": ("clipped(x, bound=1.0, other=2.0)", ONE, GENERATED),
    "go over all axes of an array, or over one": ("contad.logsumexp(x, axis=(0, 1))", np.ones((2, 2)), TAPE),
    "a cotangent must have the shape of its argument": ("wrong_shape(x)[0]", TWO, BOTH),
}
RULES = Table("rules", {}, known=vars(user_rules), head="x")


@pytest.mark.parametrize(("engine", "said"), [(engine, said) for said, row in REFUSED.items() for engine in row[2]])
def test_refusals_tell_what_is_wrong(engine, said):
    call, x, _ = REFUSED[said]
    f = function_of(RULES, f"return {call}", call)
    with pytest.raises(contad.ContadError, match=said):
        value_and_grad(f, x) if engine == "tape" else contad.grad(f, engine=engine)(x)


# ---- gradients, against the eager engine: `text` is that of `generated`, run as Python -------------------------------
DRAW = np.random.default_rng(83)
V = DRAW.standard_normal(4)
PROGRAMS = programs("""\
# an array rule and a custom_vjp: return np.sum(doubled_by_rule(x) * x) * clipped(s * s)
# weights of a row: return contad.logsumexp(x, b=s) * x[0]
# weights of logsumexp
rows = contad.logsumexp(x, axis=1, b=np.array([0.3, 1.2, 0.0]))
return np.sum(rows * s) + contad.logsumexp(x, b=np.array([[0.5, 0.2, 2.0]])) + contad.logsumexp(x[0], b=s[:1])
""")
FUNCTIONS = {name: function_of(RULES._replace(head="x, s"), body, name) for name, body in PROGRAMS.items()}
FUNCTIONS |= {"loops and branches": user_rules.stepped, "everything": user_rules.program}
GIVEN = {
    "an array rule and a custom_vjp": user_rules.DATA[1:], "loops and branches": (V, 1.3),
    "everything": user_rules.DATA,
    "weights of a row": (V, np.array([1.5, 0.6, 0.0, 2.0])),
    "weights of logsumexp": (DRAW.standard_normal((2, 3)), np.array([1.5, 0.6])),
}  # fmt: skip
ALWAYS = [
    ("tape", "an array rule and a custom_vjp", (0, 1)), ("text", "loops and branches", (0, 1)),
    ("text", "weights of a row", (0,)),
]  # fmt: skip
LONG = [  # some a minute of compilation
    ("tape", "everything", (0, 1, 2)), ("generated", "loops and branches", (0, 1)), ("text", "everything", (0, 1, 2)),
    ("text", "everything", (1,)), ("generated", "everything", (0, 1, 2)), ("generated", "weights of logsumexp", (0,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "name", "argnums"), [*ALWAYS, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)]
)
def test_gradients_are_those_of_the_eager_engine(engine, name, argnums):
    f, args = FUNCTIONS[name], GIVEN[name]
    if engine == "text":
        value, gradient = as_python(request(f, *args, argnums=argnums))(*args)
    else:
        value, gradient = contad.value_and_grad(f, argnums=argnums, engine=engine)(*args)
    if engine == "tape":
        assert value == pytest.approx(f(*args), rel=1e-14 if name == "everything" else 0.0, abs=0.0)
    expected, right = contad.value_and_grad(f.py_func, argnums=argnums)(*args)
    assert value == pytest.approx(expected, rel=1e-13)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-12, atol=0.0 if engine == "tape" else 1e-14)
