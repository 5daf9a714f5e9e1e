"""Recursive functions: differentiated by the tape, and never a crash, whatever the disk holds."""

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import math
    from numba import njit

    @njit
    def power(n, x):
        if n == 0:
            return 1.0
        return power(n - 1, x) * x

    @njit
    def direct(x):
        return power(3, x) * math.sin(x)

    @njit
    def even(n, x):
        if n == 0:
            return x
        return odd(n - 1, x) * x

    @njit
    def odd(n, x):
        if n == 0:
            return 1.0
        return even(n - 1, x) * math.cos(x)

    @njit
    def mutual(x):
        return odd(3, x)

    @njit
    def left(n, x):
        if n == 0:
            return x
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
        if x > 10.0:
            return x
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


@pytest.fixture
def folder(tmp_path):
    for name, text in (("program", PROGRAM), ("caller", CALLER), ("run", RUN)):
        tmp_path.joinpath(f"{name}.py").write_text(textwrap.dedent(text))
    return tmp_path


def run(folder):
    environment = os.environ | {"PYTHONPATH": str(folder)}  # the files are new, what is kept of contad's kernels is not
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
