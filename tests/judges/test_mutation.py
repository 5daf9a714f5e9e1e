"""expect_ad kills every mutant of every rule that is not the same formula, and the list of those is fixed."""

import random
import sys

import pytest

import contad
from contad.engines import closures
from contad.engines.stream import pullbacks, record_stream
from contad.rules.array_rule import array_rule_of
from contad.rules.scalar_rule import rules
from tests.judges import array_mutation, mutation
from tests.judges.domains import DEAR
from tests.judges.planted import registered
from tests.judges.samples import sampled

RULES = list(rules())

# A zero partial stays the same formula negated, multiplied, dropped and detached.
ZERO_PARTIALS = """
    beta_density m, beta_density n, betainc_derivative m, betainc_derivative n, ceil x, copysign y, dawsn_derivative
    n, elliptic_moment m, elliptic_moment n, elliptic_part m, elliptic_part n, erfcx_integral n, expn n,
    exprel_derivative n, floor x, floor_divide x, floor_divide y, gamma_density n, gammainc_derivative n, gammasgn
    x, hyp0f1_derivative d, hyp0f1_derivative n, hyp1f1_derivative d, hyp1f1_derivative m, hyp1f1_derivative n,
    hyp2f1_derivative d, hyp2f1_derivative k, hyp2f1_derivative m, hyp2f1_derivative n, hyperu_derivative m,
    hyperu_derivative n, ive_derivative m, ive_derivative n, jv_derivative n, kve_derivative m, kve_derivative n,
    ldexp n, log1prel_derivative n, multigammaln d, multipolygamma d, multipolygamma n, polygamma n,
    polygamma_difference n, rint x, sign x, spherical_jn n, trunc x, wright_bessel_derivative d,
    wright_bessel_derivative m, wright_bessel_derivative n, yv_derivative n, zeta_derivative n
"""
# Equal partials may be swapped.
EQUAL_PARTIALS = """
    add x and y, beta_density n and m, betainc_derivative n and m, elliptic_moment n and m, elliptic_part n and m,
    floor_divide x and y, hyp0f1_derivative n and d, hyp1f1_derivative m and d, hyp1f1_derivative n and d,
    hyp1f1_derivative n and m, hyp2f1_derivative k and d, hyp2f1_derivative m and d, hyp2f1_derivative m and k,
    hyp2f1_derivative n and d, hyp2f1_derivative n and k, hyp2f1_derivative n and m, hyperu_derivative n and m,
    ive_derivative n and m, kve_derivative n and m, multipolygamma n and d, wright_bessel_derivative m and d,
    wright_bessel_derivative n and d, wright_bessel_derivative n and m
"""
# A partial that is constant, or piecewise so, has no derivative to lose.
CONSTANT_PARTIALS = """
    absolute x, add x, add y, copysign x, deg2rad x, fdim x, fdim y, fma a, fmax x, fmax y, fmin x, fmin y, fmod x,
    fmod y, ldexp x, maximum x, maximum y, minimum x, minimum y, negative x, rad2deg x, remainder x, remainder y,
    subtract x, subtract y
"""
# Second partials that are zero as they are written, where the partial itself is not: (partial) by (argument).
FLAT_PARTIALS = """
    absolute x by x, add x by x, add x by y, add y by x, add y by y, beta_density a by m, beta_density a by n,
    beta_density b by m, beta_density b by n, beta_density x by m, beta_density x by n, betainc_derivative a by m,
    betainc_derivative a by n, betainc_derivative b by m, betainc_derivative b by n, betainc_derivative x by m,
    betainc_derivative x by n, copysign x by x, copysign x by y, dawsn_derivative x by n, deg2rad x by x, divide x
    by x, elliptic_moment p by m, elliptic_moment p by n, elliptic_part k2 by m, elliptic_part k2 by n,
    elliptic_part phi by m, elliptic_part phi by n, erfcx_integral x by n, expn x by n, exprel_derivative x by n,
    fdim x by x, fdim x by y, fdim y by x, fdim y by y, fma a by a, fma a by x, fma a by y, fma x by a, fma x by x,
    fma y by a, fma y by y, fmax x by x, fmax x by y, fmax y by x, fmax y by y, fmin x by x, fmin x by y, fmin y by
    x, fmin y by y, fmod x by x, fmod x by y, fmod y by x, fmod y by y, gamma_density a by n, gamma_density x by n,
    gammainc_derivative a by n, gammainc_derivative x by n, hyp0f1_derivative v by d, hyp0f1_derivative v by n,
    hyp0f1_derivative x by d, hyp0f1_derivative x by n, hyp1f1_derivative a by d, hyp1f1_derivative a by m,
    hyp1f1_derivative a by n, hyp1f1_derivative b by d, hyp1f1_derivative b by m, hyp1f1_derivative b by n,
    hyp1f1_derivative x by d, hyp1f1_derivative x by m, hyp1f1_derivative x by n, hyp2f1_derivative a by d,
    hyp2f1_derivative a by k, hyp2f1_derivative a by m, hyp2f1_derivative a by n, hyp2f1_derivative b by d,
    hyp2f1_derivative b by k, hyp2f1_derivative b by m, hyp2f1_derivative b by n, hyp2f1_derivative c by d,
    hyp2f1_derivative c by k, hyp2f1_derivative c by m, hyp2f1_derivative c by n, hyp2f1_derivative x by d,
    hyp2f1_derivative x by k, hyp2f1_derivative x by m, hyp2f1_derivative x by n, hyperu_derivative a by m,
    hyperu_derivative a by n, hyperu_derivative b by m, hyperu_derivative b by n, hyperu_derivative x by m,
    hyperu_derivative x by n, ive_derivative v by m, ive_derivative v by n, ive_derivative x by m, ive_derivative x
    by n, jv_derivative v by n, jv_derivative x by n, kve_derivative v by m, kve_derivative v by n, kve_derivative x
    by m, kve_derivative x by n, ldexp x by n, ldexp x by x, log1prel_derivative x by n, maximum x by x, maximum x
    by y, maximum y by x, maximum y by y, minimum x by x, minimum x by y, minimum y by x, minimum y by y,
    multigammaln a by d, multiply x by x, multiply y by y, multipolygamma a by d, multipolygamma a by n, negative x
    by x, polygamma x by n, polygamma_difference x by n, polygamma_difference y by n, rad2deg x by x, remainder x by
    x, remainder x by y, remainder y by x, remainder y by y, spherical_jn x by n, subtract x by x, subtract x by y,
    subtract y by x, subtract y by y, wright_bessel_derivative a by d, wright_bessel_derivative a by m,
    wright_bessel_derivative a by n, wright_bessel_derivative b by d, wright_bessel_derivative b by m,
    wright_bessel_derivative b by n, wright_bessel_derivative x by d, wright_bessel_derivative x by m,
    wright_bessel_derivative x by n, xlog1py x by x, xlogy x by x, yv_derivative v by n, yv_derivative x by n,
    zeta_derivative q by n, zeta_derivative s by n
"""


def names(text):
    return sorted(" ".join(name.split()) for name in text.split(","))


def rule_of(name):
    return contad.rules.scalar_rule.rule(name.split()[0])


def test_mutants_that_are_the_same_formula():
    """There is no other exclusion."""
    same = [m for m in mutation.all_mutants() if m.same]

    def of(kind, reason):
        return sorted(f"{m.rule.name} {m.place}" for m in same if m.kind == kind and m.same == reason)

    zero = ("sign of", "1.001 times", "dropped", "detached")
    assert [of(kind, mutation.ZERO) for kind in zero] == [names(ZERO_PARTIALS)] * 4
    assert of("swapped", mutation.EQUAL) == names(EQUAL_PARTIALS)
    assert of("detached", mutation.CONSTANT) == names(CONSTANT_PARTIALS)
    assert [of(kind, mutation.FLAT) for kind in mutation.SECOND] == [names(FLAT_PARTIALS)] * 3
    of_zeros = sorted(
        f"{name} by {argument}" for name in names(ZERO_PARTIALS) for argument in rule_of(name).argument_names
    )
    assert [of(kind, mutation.ZERO) for kind in mutation.SECOND] == [of_zeros] * 3
    first = 4 * len(names(ZERO_PARTIALS)) + len(names(EQUAL_PARTIALS)) + len(names(CONSTANT_PARTIALS))
    assert len(same) == first + 3 * (len(names(FLAT_PARTIALS)) + len(of_zeros))


@pytest.mark.parametrize("rule", sampled(RULES, 2, name=lambda rule: rule.name))
def test_sample_is_killed(rule):
    """A few mutants of every rule; `python -m tests.judges.mutation` runs all of them."""
    found = [m for m in mutation.mutants(rule) if not m.same]
    sample = random.Random(rule.name).sample(found, min(4, len(found)))
    assert [m.name for m in sample if mutation.killed(m) is None] == []


@pytest.mark.long
def test_all_are_killed(capsys):
    assert mutation.main([]) == 0


def test_every_rule_has_every_kind_of_mutant():
    kinds = {m.kind for m in mutation.all_mutants()}
    assert kinds == {"sign of", "1.001 times", "dropped", "detached", "swapped", "= for +=", *mutation.SECOND}
    for rule in RULES:
        found = {m.kind for m in mutation.mutants(rule)}
        assert found == kinds - (set() if rule.arity > 1 else {"swapped"})
    assert {m.kind for m in mutation.all_mutants(order=1)} == kinds - {"detached", *mutation.SECOND}


def cases(dear, share):
    return sampled([rule for rule in RULES if (rule.name in DEAR) == dear], share, name=lambda rule: rule.name)


@pytest.mark.parametrize("rule", [*cases(False, 1), *cases(True, 6)])
def test_every_wrong_second_derivative_is_killed(rule):
    """By the leg of second derivatives, for the first ones are right."""
    legs = {m.name: mutation.killed(m) for m in mutation.mutants(rule) if m.kind in mutation.SECOND and not m.same}
    assert set(legs.values()) <= {"hessian"}, legs


def test_a_second_derivative_that_is_not_changed_survives(monkeypatch):
    monkeypatch.setitem(mutation.SECOND, "second sign", 0.0)
    found = [m for m in mutation.mutants(contad.rules.scalar_rule.rule("hypot")) if m.kind == "second sign"]
    assert [mutation.killed(m) for m in found] == [None] * 4


@pytest.mark.parametrize("name", sampled(["exp", "multiply", "erf", "polygamma_difference"], 2))
def test_mutants_leave_nothing_behind(name):
    rule = contad.rules.scalar_rule.rule(name)
    for mutant in {m.kind: m for m in mutation.mutants(rule)}.values():
        mutation.killed(mutant)  # operators are implemented on their first use, which is no mutant's doing
    classes = (*mutation.IMPLEMENTED, closures.ClosureStack, record_stream.Recording)
    before = [dict(vars(cls)) for cls in classes] + [dict(vars(rule)), dict(vars(rule.body))]
    for mutant in mutation.mutants(rule):
        mutation.killed(mutant)
    after = [dict(vars(cls)) for cls in classes] + [dict(vars(rule)), dict(vars(rule.body))]
    assert after == before
    assert mutation.leg_that_kills(rule) is None


@pytest.mark.parametrize(("name", "kind", "place", "leg"), [
    ("exp", "sign of", "x", "gradient"),
    ("exp", "detached", "x", "hessian"),
    ("divide", "swapped", "x and y", "gradient"),
    ("exp", "= for +=", "into x in closures", "fan-out"),
    ("copysign", "= for +=", "into x in records", "fan-out"),
    ("floor", "= for +=", "in records on numbers", "fan-out"),
    ("erf", "= for +=", "in linear records", "fan-out"),
    ("polygamma", "= for +=", "in join records", "fan-out"),
    ("polygamma_difference", "= for +=", "in closures", "hessian"),
])  # fmt: skip
def test_leg_that_kills(name, kind, place, leg):
    (mutant,) = [m for m in mutation.mutants(contad.rules.scalar_rule.rule(name)) if (m.kind, m.place) == (kind, place)]
    assert mutation.killed(mutant) == leg


def test_points_that_prove_too_little_are_found(capsys):
    """A rule whose only point has a zero partial leaves survivors, and the script says so."""
    with registered():

        @contad.scalar_rule(points=[(1.3, 0.0)])
        def planted_product(x, y):
            return x * x * y * y + x

        @planted_product.partials
        def planted_product_partials(z, x, y):
            return 2.0 * x * y * y + 1.0, 2.0 * x * x * y

        assert mutation.main(["--rule", "planted_product"]) == 1
    lines = capsys.readouterr().out.splitlines()
    survivors = [line.removeprefix("survived: planted_product: ") for line in lines if line.startswith("survived")]
    of_second = [[f"{kind} {place}" for kind in mutation.SECOND] for place in ("x by x", "x by y", "y by x")]
    first = ["sign of y", "1.001 times y", "dropped y"]
    assert survivors == ["detached x", *of_second[0], *of_second[1], *first, *of_second[2]]
    assert lines[-1].startswith("killed 13/26 in ")


def test_rule_that_fails_unmutated_is_reported(capsys):
    with registered():

        @contad.scalar_rule(points=[(1.3,)])
        def planted_wrong(x):
            return x * x

        @planted_wrong.partials
        def planted_wrong_partials(z, x):
            return x

        assert mutation.main(["--rule", "planted_wrong"]) == 1
    assert capsys.readouterr().out == "expect_ad fails without a mutation: planted_wrong\n"


def test_script(capsys):
    assert mutation.main(["--rule", "copysign"]) == 0
    out = capsys.readouterr().out
    assert "the same formula: copysign: dropped y, a partial that is zero\n" in out
    assert "25 mutants, 17 of them the same formula\nkilled 8/8 in " in out
    assert mutation.main(["--rule", "copysign", "--sample", "3", "--order", "1"]) == 0
    assert "\nkilled 3/3 in " in capsys.readouterr().out


def test_an_engine_that_was_rewritten_needs_another_mutation():
    exp = contad.rules.scalar_rule.rule("exp")
    for planted in (
        mutation._chain(exp, "nowhere", ""),
        mutation._branch(exp, "nowhere", ""),
        mutation._method(closures.ClosureStack, exp, "nowhere", ""),
    ):
        with pytest.raises(LookupError, match="nothing to mutate: 'nowhere'"), planted:
            pass


# ---- array rules -----------------------------------------------------------------------------------------------------
ARRAY_RULES = array_mutation.own_rules()
KINDS = {
    "sign", "1.001 times", "+ and -", "dropped term", "swapped", "* and /", "dropped factor", "forgotten axis",
    "forgotten keepdims", "z for an argument", "detached", "= for +=",
}  # fmt: skip


@pytest.mark.long
def test_array_mutants_of_every_kind():
    found = array_mutation.all_array_mutants()
    assert {m.kind for m in found} == KINDS
    assert {m.kind for m in array_mutation.all_array_mutants(order=1)} == KINDS - {"detached"}
    for rule in ARRAY_RULES:
        own = [m for m in found if m.rule is rule]
        assert sum(m.kind == "= for +=" for m in own) == 3
        for body in array_mutation._bodies(rule):
            assert any(m.place.startswith(f"{body.__name__}: ") for m in own)


@pytest.mark.parametrize(("rule", "kind", "function", "part"), sampled(array_mutation.SAME, 5))
def test_array_mutants_that_are_the_same_function(rule, kind, function, part):
    """Each in the list is a mutant, and survives."""
    entry = rule, kind, function, part
    same = [m for m in array_mutation.array_mutants(array_rule_of(rule)) if m.same and m.matches(entry)]
    assert same
    assert [m.name for m in same if array_mutation.killed(m) is not None] == []


@pytest.mark.parametrize("rule", sampled(ARRAY_RULES, 8, name=lambda rule: rule.name))
def test_sample_of_array_mutants_is_killed(rule):
    """Two of them, and the rule itself passes after its mutants; `python -m tests.judges.mutation` runs all of them."""
    found = [m for m in array_mutation.array_mutants(rule) if not m.same]
    sample = random.Random(rule.name).sample(found, min(2, len(found)))
    assert [m.name for m in sample if array_mutation.killed(m) is None] == []
    assert array_mutation.leg_that_kills(rule) is None


@pytest.mark.parametrize(("name", "kind", "place", "leg"), [
    ("sum", "sign", "sum_vjp_a: return -spread(z_bar, np.shape(a), axis)", "bodies"),
    ("prod", "detached", "prod_vjp_a: return scale(spread(z_bar, np.shape(a), axis), others(z, PRIMAL(a), axis))",
     "hessian"),
    ("cumsum", "= for +=", "in pullbacks", "fan-out"),
    ("cumsum", "= for +=", "in pullbacks on numbers", "fan-out"),
    ("cumsum", "= for +=", "on object arrays", "fan-out"),
])  # fmt: skip
def test_leg_that_kills_an_array_mutant(name, kind, place, leg):
    found = array_mutation.array_mutants(array_rule_of(name))
    (mutant,) = [m for m in found if (m.kind, m.place) == (kind, place)]
    assert array_mutation.killed(mutant) == leg


def test_array_mutants_leave_nothing_behind():
    rule = array_rule_of("cumprod")
    module = sys.modules[rule.__module__]

    def state():
        return [dict(vars(rule)), dict(vars(module)), dict(vars(pullbacks)), dict(vars(pullbacks.Pullback))]

    before = state()
    for mutant in array_mutation.array_mutants(rule):
        with mutant.planted():
            assert state() != before or mutant.kind == "= for +="
        assert state() == before


def test_array_mutation_needs_what_it_replaces(monkeypatch):
    monkeypatch.setattr(array_mutation.array_callbacks, "apply_as_callback", test_array_mutants_of_every_kind)
    with pytest.raises(LookupError, match="nothing to mutate"), array_mutation._callback(array_rule_of("cumsum")):
        pass
