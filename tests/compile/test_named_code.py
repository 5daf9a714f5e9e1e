"""Kernels of np.linalg that machine code reaches by name, in a second process."""

import numpy as np
import pytest

import contad
from tests.compile.processes import LISTENING, run_python

MODEL = """
import contad
import numpy as np
from numba import njit

@njit(cache=True)
def f(a, v):
    return CALL * v[0]

derivative = contad.grad(f, engine="ENGINE")

@njit(cache=True)
def inside(a, v):
    return derivative(a, v)[1, 0] * 2.0
"""
RUN = f"""{LISTENING}
import numpy as np
import model
a, v = np.array([[2.0, 0.3], [0.1, 1.4]]), np.array([0.7, -0.2])
print(float(model.inside(a, v)), float(model.derivative(a, v)[1, 0] * 2.0), len(compiled))
"""


CASES = [  # the norm's kernels are the shortest, for the first process compiles them
    ("generated", "np.linalg.norm(a)"),
    *(pytest.param(e, "np.linalg.slogdet(a)[1]", marks=pytest.mark.long) for e in ("generated", "tape")),
]


@pytest.mark.parametrize(("engine", "call"), CASES)
def test_a_second_process_calls_kernels_from_the_disk(engine, call, tmp_path):
    (tmp_path / "model.py").write_text(MODEL.replace("ENGINE", engine).replace("CALL", call))
    (tmp_path / "run.py").write_text(RUN)
    caches = {"NUMBA_CACHE_DIR": tmp_path / "numba", "CONTAD_CACHE_DIR": tmp_path / "contad"}
    found = []
    for process in range(3):
        if process == 1:  # what calls the derivative is compiled anew, the derivative is loaded
            for path in tmp_path.glob("**/model.inside*"):
                path.unlink()
        found.append(run_python("run.py", folder=tmp_path, **caches).split())
    a, v = np.array([[2.0, 0.3], [0.1, 1.4]]), np.array([0.7, -0.2])
    f = eval(f"lambda a, v: {call} * v[0]", {"np": np})
    right = contad.grad(f)(a, v)[1, 0] * 2.0
    for inside, outside, _ in found:
        assert float(inside) == pytest.approx(right, rel=1e-12)
        assert float(outside) == pytest.approx(right, rel=1e-12)
    assert int(found[0][2]) > int(found[1][2]) > 0
    assert found[2][2] == "0"
