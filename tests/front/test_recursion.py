"""Recursive functions: differentiated by the tape, never a crash, whatever the disk holds or they are called with."""

import os
import subprocess
import sys
import textwrap

import pytest
from numba import njit

import contad

PROGRAM = """
    import math
    from numba import njit
    @njit
    def power(n, x):
        if n == 0: return 1.0
        return power(n - 1, x) * x
    @njit
    def direct(x):
        return power(3, x) * math.sin(x)
    @njit
    def even(n, x):
        if n == 0: return x
        return odd(n - 1, x) * x
    @njit
    def odd(n, x):
        if n == 0: return 1.0
        return even(n - 1, x) * math.cos(x)
    @njit
    def mutual(x):
        return odd(3, x)
    @njit
    def left(n, x):
        if n == 0: return x
        return right(n - 1, x) * x
    @njit
    def right(n, x):
        if n == 0:
            return 1.0  # a number here, and a variable below
        return left(n - 1, x) + x
    @njit
    def unsettled(x):
        return left(4, x)
    @njit
    def itself(x):
        if x > 10.0: return x
        return itself(x * x) * x
"""
CALLER = """
    import contad
    from numba import njit
    from program import direct
    @njit(cache=True)
    def caller(x):
        return contad.grad(direct)(x)
"""
RUN = """
    import contad
    import program
    from caller import caller

    def slope(f, x):
        return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6

    for f in (program.direct, program.mutual, program.itself, program.unsettled):
        value, gradient = contad.value_and_grad(f)(1.3)
        assert value == f(1.3)
        assert abs(gradient - slope(f, 1.3)) < 1e-6 * abs(gradient), f
        if f in (program.mutual, program.unsettled):
            assert abs(contad.vjp(f, 1.3)[1](1.0)[0] - gradient) <= 1e-12 * abs(gradient)
            assert abs(contad.jvp(f, (1.3,), (1.0,))[1] - gradient) <= 1e-12 * abs(gradient)
        if f is not program.unsettled:
            assert contad.grad(f, engine="tape")(1.3) == gradient
    try:
        contad.grad(program.unsettled, engine="tape")(1.3)
    except contad.UnsupportedError as error:
        assert "mutually recursive" in str(error), error
    else:
        raise AssertionError("the tape took calls compiled for other results")
    assert caller(1.3) == contad.grad(program.direct)(1.3)
    print(contad.explain(program.mutual, 1.3))
"""

# Functions that are called for other types than they call themselves for, and ones whose types are declared. Each that
# takes a single number is differentiated.
CALLED_WITH = """
    import math
    import numpy as np
    from numba import njit
    @njit
    def power(n, x):
        if n == 0: return 1.0
        return power(n - 1, x) * x
    @njit
    def literal(x):
        return power(5, x)
    @njit
    def variable(x):
        return power(int(4 * x), x)
    @njit
    def local(x):
        k = 5
        return power(k, x)
    @njit
    def with_default(x, n=4):
        if n == 0: return math.sin(x)
        return with_default(x, n - 1) * x
    @njit
    def omitted(x):
        return with_default(x)
    @njit
    def with_none(x, scale=None):
        if scale is None: return with_none(x, 2.5)
        return x * x * scale  # calls nothing where there is a scale
    @njit
    def none(x):
        return with_none(x)
    @njit
    def flagged(first, x):
        if first: return flagged(x > 100.0, x) * x
        return x
    @njit
    def true(x):
        return flagged(True, x)
    @njit
    def even(n, x):
        if n == 0: return x
        return odd(n - 1, x) * x
    @njit
    def odd(n, x):
        if n == 0: return x * x
        return even(n - 1, x) * math.cos(x)
    @njit
    def mutual(x):
        return even(3, x) + odd(2, x)

    LEFT, RIGHT = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])
    @njit
    def walk(node, x):
        if LEFT[node] < 0: return x * (node + 1.0)
        return walk(LEFT[node], x) * math.sin(x) + walk(RIGHT[node], x * x)
    @njit
    def tree(x):
        return walk(0, x)
    @njit
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
    @njit
    def constant(x):
        return fibonacci(7) * x * x
"""
DECLARED = """
    import math
    from numba import njit
    @njit("float64(float64)")
    def normal(x):
        if x >= 0.0: return 1.0 - math.exp(-x * x / 2.0) / (1.0 + x)
        return 1.0 - normal(-x)
    @njit
    def calls_normal(x):
        return normal(x) * x - normal(-x)
    @njit("float64(int64, float64)")
    def cut(n, x):
        if n <= 0: return 1
        return cut(n - x, x) * x  # the fraction is dropped
    @njit
    def calls_cut(x):
        return cut(4, x)
    @njit(["float64(int64, float64)", "float64(float64, float64)"])
    def twice(n, x):
        if n <= 0: return x
        return twice(n - 1, x) * x
    @njit
    def calls_twice(x):
        return twice(3, x) + twice(2.5, x)

    def factory():
        @njit("float64(float64)")
        def inner(x):
            if x > 10.0: return math.sqrt(x)
            return inner(x * x) * x
        return inner

    captured = factory()
    @njit("float64(float64)")
    def again(x):
        if x > 10.0: return math.sqrt(x)
        return again(x * x) * x
    again.recompile()
"""
DIFFERENTIATE = """
    import contad
    import program

    for name in NAMES:
        print(name, flush=True)  # before a crash
        f = getattr(program, name)
        gradient = contad.grad(f, engine="tape")(1.3)
        slope = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
        assert abs(gradient - slope) < 1e-6 * abs(gradient), (name, gradient, slope)
        if name in NAMES[:2]:
            assert contad.grad(f)(1.3) == gradient, name
            assert abs(contad.vjp(f, 1.3)[1](1.0)[0] - gradient) <= 1e-12 * abs(gradient), name
            assert abs(contad.jvp(f, (1.3,), (1.0,))[1] - gradient) <= 1e-12 * abs(gradient), name
"""

LATER = """
    from numba import int64, njit
    from contad.compile.linked_code import defer_code
    @njit
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    with defer_code():  # the first compilation of this process
        fibonacci.compile((int64,))
    @njit
    def later():
        return fibonacci(9)

    print(later())
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("program", PROGRAM), ("caller", CALLER), ("run", RUN)):
        tmp_path.joinpath(f"{name}.py").write_text(textwrap.dedent(text))
    return tmp_path


def run(folder):
    paths = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}  # the files are new, contad's kernels are kept
    done = subprocess.run(
        [sys.executable, "run.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_second_process_with_a_disk_cache_differentiates_recursive_functions(folder):
    first = run(folder)
    assert "engine tape" in first
    assert "recursive" in first
    assert run(folder) == first


@pytest.mark.parametrize(("program", "names"), [
    (CALLED_WITH, "literal omitted local variable none true mutual tree constant"),
    (DECLARED, "normal calls_normal calls_cut calls_twice captured again"),
], ids=["called_with", "declared"])  # fmt: skip
def test_recursive_functions_are_compiled_whatever_types_they_are_called_with(tmp_path, program, names):
    tmp_path.joinpath("program.py").write_text(textwrap.dedent(program))
    text = textwrap.dedent(DIFFERENTIATE).replace("for name", f"NAMES = {names.split()}\nfor name", 1)
    tmp_path.joinpath("run.py").write_text(text)
    assert run(tmp_path).split() == names.split()


def test_functions_of_the_users_call_recursive_ones_that_contad_has_compiled(tmp_path):
    tmp_path.joinpath("run.py").write_text(textwrap.dedent(LATER))
    assert run(tmp_path) == "34\n"


@pytest.mark.parametrize("since", ["its first derivative was made", "the function was compiled"])
def test_a_declared_recursive_function_whose_name_has_another_function_now_is_refused(since):
    @njit("float64(float64)")
    def doubled(x):
        return 2.0 * x

    def factory():
        @njit("float64(float64)")
        def inner(x):
            return inner(x * x) * x if x < 10.0 else x

        def exchange():
            nonlocal inner
            inner = doubled

        return inner, exchange

    inner, exchange = factory()
    if "derivative" in since:
        assert contad.grad(inner)(2.0) == 2.0**6 * 7
    exchange()
    with pytest.raises(contad.FrozenValueError, match=since):
        contad.grad(inner)(2.0)
