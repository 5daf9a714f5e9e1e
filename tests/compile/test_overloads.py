"""Overloads that come while Numba types a caller of the function."""

import numba
from numba.core.registry import cpu_target
from numba.extending import overload

from contad.compile.overloads import add_overload, join_overloads


def test_a_function_may_get_overloads_while_a_caller_is_typed():
    def doubled(x):
        return 2.0 * x

    @overload(doubled)
    def of_numbers(x):
        return (lambda x: 2.0 * x) if x == numba.float64 else None

    context = cpu_target.typing_context
    context.refresh()
    before = context.resolve_value_type(doubled)

    @add_overload(doubled)
    def of_tuples(x):
        return (lambda x: 2.0 * x[0]) if isinstance(x, numba.types.BaseTuple) else None

    context.refresh()
    after = context.resolve_value_type(doubled)
    assert context.unify_types(before, after) is None  # which Numba says it cannot
    join_overloads()
    assert context.unify_types(before, after) == context.unify_types(after, before) == after

    @numba.njit
    def both(x):
        return doubled(x) + doubled((x, x))

    assert both(1.5) == 6.0
