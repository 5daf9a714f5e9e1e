"""Kernels of np.linalg that machine code reaches by name, in a second process."""

import os
import subprocess
import sys

import numpy as np
import pytest

import contad

MODEL = """
import contad
import numpy as np
from numba import njit

@njit(cache=True)
def f(a, v):
    return np.linalg.slogdet(a)[1] * v[0]

derivative = contad.grad(f, engine="ENGINE")

@njit(cache=True)
def inside(a, v):
    return derivative(a, v)[1, 0] * 2.0
"""
RUN = """
import numpy as np
from numba.core import event
names = []
class Listen(event.Listener):
    def on_start(self, e): names.append(e.data["dispatcher"].__name__)
    def on_end(self, e): pass
with event.install_listener("numba:compile", Listen()):
    import model
    a, v = np.array([[2.0, 0.3], [0.1, 1.4]]), np.array([0.7, -0.2])
    print(float(model.inside(a, v)), float(model.derivative(a, v)[1, 0] * 2.0), len(names))
"""


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_a_second_process_calls_kernels_from_the_disk(engine, tmp_path):
    (tmp_path / "model.py").write_text(MODEL.replace("ENGINE", engine))
    (tmp_path / "run.py").write_text(RUN)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "CONTAD_CACHE_DIR": str(tmp_path / "contad")}
    found = []
    for process in range(3):
        if process == 1:  # what calls the derivative is compiled anew, the derivative is loaded
            for path in tmp_path.glob("**/model.inside*"):
                path.unlink()
        done = subprocess.run(
            [sys.executable, "run.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    a, v = np.array([[2.0, 0.3], [0.1, 1.4]]), np.array([0.7, -0.2])
    right = contad.grad(lambda a, v: np.linalg.slogdet(a)[1] * v[0])(a, v)[1, 0] * 2.0
    for inside, outside, _ in found:
        assert float(inside) == pytest.approx(right, rel=1e-12)
        assert float(outside) == pytest.approx(right, rel=1e-12)
    assert int(found[0][2]) > int(found[1][2]) > 0
    assert found[2][2] == "0"
