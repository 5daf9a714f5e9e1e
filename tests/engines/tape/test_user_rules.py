"""Operations with rules of users' on the tape; gradients are in `tests/engines/test_user_rules.py`."""

import numpy as np
import pytest
from numba import njit

import contad
from tests.compile.processes import LISTENING, run_python
from tests.engines.tape.requests import jvp, state, value_and_grad
from tests.engines.user_rules import clipped, make_vjp, wrong_shape


@njit
def written(v, s):
    """Constants take variables; the array itself is not written to."""
    fixed = contad.stop_gradient(v)
    fixed[0] = fixed[0] * s
    return fixed[0] * fixed[1] + v[0]


def test_stopped_arrays_are_copies():
    v = np.array([2.0, 3.0])
    assert written(v, 1.5) == 11.0
    value, (v_bar, s_bar) = value_and_grad(written, v, 1.5, argnums=(0, 1))
    assert (value, s_bar, v_bar.tolist()) == (11.0, 6.0, [1.0, 0.0])
    assert contad.grad(written)(v, 1.5).tolist() == [1.0, 0.0]
    assert "engine generated" in contad.explain(contad.grad(written), v, 1.5)


def test_a_cotangent_of_a_wrong_shape_raises_and_leaves_the_tape_as_it_was():
    before = state()
    with pytest.raises(contad.RuleError, match="a cotangent must have the shape of its argument"):
        value_and_grad(njit(lambda a: wrong_shape(a)[0]), np.ones(2))
    assert state() == before


def test_forward_mode_is_refused_by_name():
    with pytest.raises(contad.UnsupportedError, match="clipped: it has no forward mode inside njit; diff"):
        jvp(njit(lambda x: clipped(x)), (1.0,), (1.0,))


def test_a_rule_that_is_declared_again_is_not_taken_for_the_first():
    changing = make_vjp(lambda x: 1.0 * x, lambda x: (1.0 * x, None), lambda saved, z_bar: (2.0 * z_bar,))
    assert value_and_grad(njit(lambda x: changing(x)), 1.5)[1] == (2.0,)
    changing.defvjp(lambda x: (1.0 * x, None), lambda saved, z_bar: (3.0 * z_bar,))
    with pytest.raises(contad.RuleError, match="declared again after it was compiled"):
        value_and_grad(njit(lambda x: changing(x)), 1.5)


# ---- from the disk ---------------------------------------------------------------------------------------------------
MODEL = """
import contad
from numba import njit

@contad.custom_vjp
def tripled(x):
    return 1.0 * x

tripled.defvjp(lambda x: (1.0 * x, (x, 3)), lambda saved, z_bar: (saved[1] * z_bar * saved[0],))

@njit(cache=True)
def f(x):
    return tripled(x * x)
"""
RUN = f"{LISTENING}import contad, model\nprint(contad.grad(model.f)(2.0), len(compiled))"


def run_in_process(folder, *arguments):
    """The words that run.py prints, beside its model, with the disk of the folder."""
    caches = {"NUMBA_CACHE_DIR": folder / "numba", "CONTAD_CACHE_DIR": folder / "contad"}
    return run_python("run.py", *arguments, folder=folder, **caches).split()


@pytest.mark.long  # most of a minute of compilation
def test_a_second_process_compiles_nothing_and_gives_the_same(tmp_path):
    (tmp_path / "run.py").write_text(RUN)
    found = []
    for text in (MODEL, MODEL, MODEL.replace(", 3)", ", 5)")):
        (tmp_path / "model.py").write_text(text)
        found.append(run_in_process(tmp_path))
    assert [x for x, _ in found] == ["48.0", "48.0", "80.0"]
    assert int(found[0][1]) > 0 == int(found[1][1])


SCALED = """
@contad.custom_vjp
def scaled_{k}(x):
    return {k} * x

scaled_{k}.defvjp(lambda x: ({k} * x, None), lambda saved, z_bar: ({k} * z_bar,))

@njit(cache=True)
def f_{k}(x):
    return scaled_{k}(x)
"""


@pytest.mark.long  # most of a minute of compilation
def test_adjoints_of_rules_that_other_processes_have_kept_are_those_of_the_rule(tmp_path):
    rules = "".join(SCALED.format(k=k) for k in (2, 3, 4))
    (tmp_path / "model.py").write_text(f"import contad\nfrom numba import njit\n{rules}")
    (tmp_path / "run.py").write_text(
        "import sys, contad, model\n"
        "print(*[contad.grad(getattr(model, f'f_{k}'), engine='tape')(1.0) for k in sys.argv[1:]])\n"
    )
    for k in ("4", "2", "3"):  # the first one compiles what all tapes call, and the others the same number of functions
        assert run_in_process(tmp_path, k) == [f"{k}.0"]
    assert run_in_process(tmp_path, "2", "3") == ["2.0", "3.0"]
    assert run_in_process(tmp_path, "3", "2") == ["3.0", "2.0"]
