"""Mutate every rule in turn, and count how many mutants `expect_ad` kills at the rule's points.

    python -m tests.judges.mutation [--sample N] [--order 1|2] [--rule NAME] [--kind scalar|array]

A mutant of a rule has one partial negated, multiplied by 1.001, dropped or evaluated on primals (detached: outer
levels of differentiation lose it), or two partials swapped, in the body that every engine reads; or one engine assigns
where it should accumulate. At second order the derivative of one partial by one argument is also dropped, negated or
multiplied by 1.001, where the partial itself stays right. Mutants that are the same formula cannot be killed: they are
printed by name, and `tests/judges/test_mutation.py` fixes their list. The sweep of records runs as plain Python here,
from its generated source.
Mutants of array rules are those of `tests/judges/array_mutation.py`.
"""

import argparse
import ast
import collections
import contextlib
import inspect
import itertools
import random
import sys
import textwrap
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from contad.engines import closures, forward, records
from contad.engines.matrix import matrix_stack
from contad.engines.stream import record_stream, sweep
from contad.rules.body_derivatives import derivatives_of_partial
from contad.rules.scalar_rule import ScalarRule, rules
from contad.testing import expect_ad
from contad.variables.array import numbers_in
from contad.variables.dual import Dual, NumpyDual
from contad.variables.number import primal
from tests.judges import array_mutation
from tests.judges.array_mutation import attributes
from tests.judges.planted import compiled

ZERO, EQUAL, CONSTANT = "a partial that is zero", "equal partials", "a partial that is constant"
FLAT = "a second partial that is zero"
SECOND = {"second dropped": -1.0, "second sign": -2.0, "second 1.001 times": 0.001}  # by the change of the derivative


SOURCES = {
    cls: {name: textwrap.dedent(inspect.getsource(f)) for name, f in vars(cls).items() if inspect.isfunction(f)}
    for cls in (closures.ClosureStack, record_stream.Recording)
}
# what generates the methods of each kind of number
IMPLEMENTED = {
    closures.ClosureVar: closures.ClosureVar.implement, closures.NumpyClosureVar: closures.NumpyClosureVar.implement,
    records.RecordVar: records.RecordVar.implement, records.NumpyRecordVar: records.NumpyRecordVar.implement,
    matrix_stack.MatrixVar: matrix_stack.MatrixVar.implement,
    matrix_stack.NumpyMatrixVar: matrix_stack.NumpyMatrixVar.implement, Dual: forward.implement,
    NumpyDual: forward.implement_numpy,
}  # fmt: skip


class Mutant(NamedTuple):
    """One wrong version of a rule or of an engine's treatment of it."""

    rule: ScalarRule
    kind: str
    place: str
    planted: Callable[[], Any]  # a context in which the library is wrong
    same: str | None = None  # why it is the same formula, if it is

    @property
    def name(self) -> str:
        return f"{self.rule.name}: {self.kind} {self.place}"


def mutants(rule: ScalarRule, order: int = 2) -> list[Mutant]:
    """Every mutant of a rule; detached ones only where second derivatives are checked."""
    made = []
    returned = rule.body.returned
    names = rule.argument_names
    for k, p in enumerate(returned):
        zero = ZERO if rule.body.literal(k) == 0.0 else None
        for kind, changed in (
            ("sign of", ast.UnaryOp(ast.USub(), p)),
            ("1.001 times", ast.BinOp(ast.Constant(1.001), ast.Mult(), p)),
            ("dropped", ast.Constant(0.0)),
        ):
            made.append(Mutant(rule, kind, names[k], _body(rule, [*returned[:k], changed, *returned[k + 1 :]]), zero))
        if order > 1:
            same = zero or (CONSTANT if _is_constant(rule, p) else None)
            made.append(Mutant(rule, "detached", names[k], _detached(rule, k), same))
            for j, kind in itertools.product(range(rule.arity), SECOND):
                same = zero or (FLAT if _is_flat(rule, k, j) else None)
                planted = partial(_second_changed, rule, k, j, SECOND[kind])
                made.append(Mutant(rule, kind, f"{names[k]} by {names[j]}", planted, same))
    for i, k in itertools.combinations(range(rule.arity), 2):
        swapped = list(returned)
        swapped[i], swapped[k] = returned[k], returned[i]
        same = EQUAL if ast.dump(returned[i]) == ast.dump(returned[k]) else None
        made.append(Mutant(rule, "swapped", f"{names[i]} and {names[k]}", _body(rule, swapped), same))
    return made + [Mutant(rule, "= for +=", place, planted) for place, planted in _assignments(rule)]


# ---- mutants of the body ---------------------------------------------------------------------------------------------
def _body(rule: ScalarRule, returned: list[ast.expr]) -> Callable[[], Any]:
    """The body with other partials, as source: every engine reads it as if it were written so."""

    @contextlib.contextmanager
    def planted():
        body = rule.body
        with contextlib.ExitStack() as stack:
            stack.enter_context(attributes(body, _parsed=(body.assignments, returned), _partials=[None] * rule.arity))
            stack.enter_context(attributes(body, _on_arrays={}))
            stack.enter_context(_implemented(rule))
            if rule.core:
                stack.enter_context(compiled(sweep.sweep_source()))
            yield

    return planted


def _detached(rule: ScalarRule, k: int) -> Callable[[], Any]:
    """Partial k evaluated on the primals of its arguments."""

    @contextlib.contextmanager
    def planted():
        attached, on_arrays = rule.partial(k), rule.array_partial(k)
        partials = list(rule.body._partials)

        def detached(*args):
            return attached(*map(primal, args))

        partials[k] = detached
        made = [(detached, warns) for warns in (False, True)]
        of_arrays = rule.body._on_arrays | dict.fromkeys(made, lambda *args: on_arrays(*map(primal, args)))
        with attributes(rule.body, _partials=partials, _on_arrays=of_arrays), _implemented(rule):
            yield

    return planted


@contextlib.contextmanager
def _second_changed(rule: ScalarRule, k: int, j: int, weight: float):
    """Partial k, but for its derivative by argument j, to which `weight` times itself is added."""
    attached, on_arrays = rule.partial(k), rule.array_partial(k)

    def changed(real: Callable[..., Any]) -> Callable[..., Any]:
        def mutated(*args: Any) -> Any:
            p = real(*args)
            if not numbers_in(list(args)):
                return p
            others = [primal(x) if n == j else x for n, x in enumerate(args[1:])]
            return p + weight * (p - real(rule(*others), *others))

        return mutated

    scalar = changed(attached)
    partials = list(rule.body._partials)
    partials[k] = scalar
    of_arrays = rule.body._on_arrays | dict.fromkeys([(scalar, False), (scalar, True)], changed(on_arrays))
    with attributes(rule.body, _partials=partials, _on_arrays=of_arrays), _implemented(rule):
        yield


def _is_flat(rule: ScalarRule, k: int, j: int) -> bool:
    """Whether the derivative of partial k by argument j is zero as it is written, through z as well."""
    point = rule.points[0]
    try:
        _, by_z, *by_arguments = derivatives_of_partial(rule, k, "v" * rule.arity)(rule(*point), *point)
    except LookupError:
        return False
    return by_arguments[j] is None and (by_z is None or rule.body.literal(j) == 0.0)


def _is_constant(rule: ScalarRule, expression: ast.expr) -> bool:
    """Whether an expression of a body is constant, or piecewise so: its derivative is written as zero."""
    assigned = dict(rule.body.assignments)

    def constant(e: ast.expr) -> bool:
        if isinstance(e, ast.Name):
            return constant(assigned[e.id]) if e.id in assigned else e.id not in rule.body.parameters
        if isinstance(e, ast.UnaryOp):
            return constant(e.operand)
        if isinstance(e, ast.BinOp):
            return isinstance(e.op, ast.FloorDiv) or (constant(e.left) and constant(e.right))
        if isinstance(e, ast.Call):
            target = rule.body.resolve(e.func)
            if getattr(target, "is_select", False):
                return constant(e.args[1]) and constant(e.args[2])
            return all(target.body.literal(k) == 0.0 or constant(x) for k, x in enumerate(e.args))
        return isinstance(e, (ast.Constant, ast.Attribute, ast.Compare, ast.BoolOp))

    return constant(expression)


# ---- mutants of the engines ------------------------------------------------------------------------------------------
def _assignments(rule: ScalarRule) -> list[tuple[str, Callable[[], Any]]]:
    """`=` for `+=` into operands of this rule, in each engine's sweeps on floats and on outer-level numbers."""
    made: list[tuple[str, Callable[[], Any]]] = []
    if rule.arity > 2:
        old = "adj[cell] = adj[cell] + product"
        new = "adj[cell] = (0.0 if rule is MUTATED else adj[cell]) + product"
        made.append(("in closures", partial(_method, closures.ClosureStack, rule, old, new)))
    for k, name in enumerate(rule.argument_names if rule.arity <= 2 else ()):
        cell = f"adj[{'ij'[k]}]"
        made.append((f"into {name} in closures", partial(_chain, rule, f"{cell} = {cell} +", f"{cell} =")))
    if rule.core:
        for k, name in enumerate(rule.argument_names):
            if rule.body.literal(k) != 0.0:  # nothing is accumulated for a zero
                cell = f"adjoints[{'xy'[k]}_cell]"
                made.append((f"into {name} in records", partial(_branch, rule, f"{cell} +=", f"{cell} =")))
        old = "adjoints[operand] = adjoints[operand] +"
        new = "adjoints[operand] = (0.0 if rule is MUTATED else adjoints[operand]) +"
    else:
        places = ("in linear records", "in join records")[: rule.arity]
        made += [(place, partial(_stored_partial, k)) for k, place in enumerate(places)]
        old, new = "adjoints[cell] = adjoints[cell] + scale(d, self", "adjoints[cell] = scale(d, self"
    made.append(("in records on numbers", partial(_method, record_stream.Recording, rule, old, new)))
    return made


@contextlib.contextmanager
def _chain(rule: ScalarRule, old: str, new: str):
    """The closures of this rule with another text."""
    texts = {active: inspect.getsource(make) for active, make in closures.MAKERS.items()}
    if not any(old in text for active, text in texts.items() if len(active) == rule.arity):
        raise LookupError(f"nothing to mutate: {old!r} does not occur in the closures of {rule.name}")
    scope = dict(vars(closures))
    for text in texts.values():
        exec(text.replace(old, new), scope)
    mutated = {active: scope[make.__name__] for active, make in closures.MAKERS.items()}
    real = closures._record

    def record(recorded, active):
        with attributes(closures, MAKERS=mutated if recorded is rule else closures.MAKERS):
            return real(recorded, active)

    with attributes(closures, _record=record), _implemented(rule):
        yield


@contextlib.contextmanager
def _branch(rule: ScalarRule, old: str, new: str):
    """The sweep over records with branches for this rule that have another text."""
    real = sweep._branch

    def branch(code, found, active):
        lines = real(code, found, active)
        return [line.replace(old, new) for line in lines] if found is rule else lines

    with attributes(sweep, _has_branch=lambda found: found is rule or found.name in sweep.COMMON):
        source = sweep.sweep_source()
        with attributes(sweep, _branch=branch):
            mutated = sweep.sweep_source()
    if mutated == source:
        raise LookupError(f"nothing to mutate: {old!r} does not occur in the sweep's branches of {rule.name}")
    with compiled(mutated):
        yield


@contextlib.contextmanager
def _stored_partial(place: int):
    """The accumulation of linear (place 0) or join (place 1) records in the sweep replaced by an assignment."""
    old = "adjoints[int(records[row, 1])] +="
    first, *rest = sweep.sweep_source().split(old)
    if len(rest) != 2:
        raise LookupError(f"nothing to mutate: {old!r} does not occur twice in the sweep's source")
    marks = [old, old]
    marks[place] = old.replace("+=", "=")
    with compiled(first + marks[0] + rest[0] + marks[1] + rest[1]):
        yield


@contextlib.contextmanager
def _method(cls: type, rule: ScalarRule, old: str, new: str):
    """The method of an engine that holds a text with another text, in which MUTATED is the rule."""
    names = [name for name, source in SOURCES[cls].items() if old in source]
    if len(names) != 1:
        raise LookupError(f"nothing to mutate: {old!r} occurs in {len(names)} methods of {cls.__name__}, expected 1")
    scope = {**sys.modules[cls.__module__].__dict__, "MUTATED": rule}
    exec(SOURCES[cls][names[0]].replace(old, new), scope)
    with attributes(cls, **{names[0]: scope[names[0]]}):
        yield


# ---- contexts --------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def _implemented(rule: ScalarRule):
    """The engines' methods of a rule made anew, from what its body and the engines say now."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(attributes(rule, methods={float: rule.evaluate}, reflected={}))
        if rule.operator is not None:
            for cls, implement in IMPLEMENTED.items():
                method, reflected = implement(rule)
                operators = {f"__{rule.operator}__": method}
                if reflected is not None:
                    operators[f"__r{rule.operator}__"] = reflected
                stack.enter_context(attributes(cls, **operators))
        yield


# ---- running ---------------------------------------------------------------------------------------------------------
def leg_that_kills(rule: ScalarRule, order: int = 2) -> str | None:
    """The leg in which the first failure of expect_ad at the rule's points occurs; None if everything passes."""
    zero = all(rule.body.literal(k) == 0.0 for k in range(rule.arity))
    return _leg(rule, zero, order)


def _leg(rule: ScalarRule, zero: bool, order: int) -> str | None:
    for point in rule.points:
        try:
            expect_ad(rule, *point, order=order, zero_gradient=zero)
        except AssertionError as failure:
            return str(failure).partition("): leg ")[2].partition(",")[0].partition(":")[0]
    return None


def killed(mutant: Mutant, order: int = 2) -> str | None:
    """The leg that kills a mutant; None if it survives."""
    zero = all(mutant.rule.body.literal(k) == 0.0 for k in range(mutant.rule.arity))
    with mutant.planted():
        return _leg(mutant.rule, zero, order)


def all_mutants(order: int = 2) -> list[Mutant]:
    """The mutants of every registered rule."""
    return [mutant for rule in rules() for mutant in mutants(rule, order)]


def main(arguments: list[str] | None = None) -> int:
    """Run the script; 1 if a mutant survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.judges.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, help="so many mutants, drawn with a fixed seed, instead of all")
    parser.add_argument("--order", type=int, choices=(1, 2), default=2, help="the highest derivative that is checked")
    parser.add_argument("--rule", help="the mutants of one rule")
    parser.add_argument("--kind", choices=("scalar", "array"), help="the mutants of scalar rules, or of array rules")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    examined = [rule for rule in rules() if options.rule in (None, rule.name) and options.kind != "array"]
    arrays = [
        rule for rule in array_mutation.own_rules() if options.rule in (None, rule.name) and options.kind != "scalar"
    ]
    with compiled(sweep.sweep_source()):
        broken = [rule.name for rule in examined if leg_that_kills(rule, options.order)]
    broken += [rule.name for rule in arrays if array_mutation.leg_that_kills(rule, options.order)]
    if broken:
        print(f"expect_ad fails without a mutation: {', '.join(broken)}")
        return 1
    found: list[Any] = [mutant for rule in examined for mutant in mutants(rule, options.order)]
    found += [mutant for rule in arrays for mutant in array_mutation.array_mutants(rule, options.order)]
    for mutant in found:
        if mutant.same:
            print(f"the same formula: {mutant.name}, {mutant.same}")
    chosen = [m for m in found if not m.same]
    if options.sample is not None:
        chosen = random.Random(1).sample(chosen, min(options.sample, len(chosen)))
    legs = [(mutant, _killed(mutant, options.order)) for mutant in chosen]
    for mutant, leg in legs:
        if leg is None:
            print(f"survived: {mutant.name}")
    print("killed by leg:", dict(collections.Counter(leg for _, leg in legs if leg).most_common()))
    print("killed by kind:", dict(collections.Counter(mutant.kind for mutant, leg in legs if leg).most_common()))
    count = sum(leg is not None for _, leg in legs)
    print(f"{len(found)} mutants, {sum(m.same is not None for m in found)} of them the same formula")
    print(f"killed {count}/{len(legs)} in {time.perf_counter() - start:.0f} s")
    return 0 if count == len(legs) else 1


def _killed(mutant: Any, order: int) -> str | None:
    run = array_mutation.killed if isinstance(mutant, array_mutation.ArrayMutant) else killed
    return run(mutant, order)


if __name__ == "__main__":
    sys.exit(main())
