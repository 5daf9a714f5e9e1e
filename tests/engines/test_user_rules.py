"""Operations with rules of users' in Numba functions: what the compiled engines refuse, and in which words."""

import numpy as np
import pytest

import contad
from tests.engines import user_rules
from tests.engines.source.programs.harness import Table, function_of
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
