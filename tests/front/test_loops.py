"""Gradients of functions that are made again and again, as cross-validation does, whenever the collector comes."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import gc, json, random, sys
import numba
from numba.core import event
import contad

COUNT, SEED, OFTEN = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
X = 1.5
rng = random.Random(SEED)


def cubes(x):
    return 3.0 * x * x


def make(a):
    @numba.njit
    def loss(x):
        return a * x * x

    return loss


WAYS = {
    "loop": lambda a: (numba.njit(cubes), 3.0),
    "factory": lambda a: (make(a), a),
    "lambda": lambda a: (numba.njit(lambda x: a * x * x), a),
}


class Collect(event.Listener):
    def __init__(self, often):
        self.often = often

    def on_start(self, e):
        if rng.random() < self.often:
            gc.collect()

    on_end = on_start


wrong, kept = [], []
gc.collect()
gc.freeze()  # what is there already is not searched again and again
event.register("numba:compiler_lock", Collect(0.3 * OFTEN))
event.register("numba:run_pass", Collect(0.005 * OFTEN))
for k in range(COUNT):
    for way, function in WAYS.items():
        f, a = function(2.0)
        try:
            gradient = contad.grad(f)
            found = gradient(X)
            if abs(found - 2.0 * a * X) > 1e-12:
                wrong.append(f"{way} {k}: {found}")
            if rng.random() < 0.2:
                kept.append((gradient, a))
            if kept and rng.random() < 0.2:  # an old one, after its twins have died
                gradient, a = kept.pop(rng.randrange(len(kept)))
                again = X if rng.random() < 0.5 else 2  # compiled already, or not yet
                if abs(gradient(again) - 2.0 * a * again) > 1e-12:
                    wrong.append(f"kept {way} {k}")
        except Exception as error:
            wrong.append(f"{way} {k}: {type(error).__name__}: {error}")
        del f
print(json.dumps(wrong))
"""


def run_together(count, folder, processes, often=1.0, **cache):
    """What went wrong in each of the processes, which share a cache; the collector takes time, and comes so often."""
    path = folder / "loops.py"
    path.write_text(PROGRAM)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), **cache)
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", str(path), str(count), str(seed), str(often)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for seed in range(processes)
    ]  # fmt: skip
    found = []
    for process in started:
        out, err = process.communicate()
        assert process.returncode == 0, err
        found.append(json.loads(out))
    return found


def test_functions_made_in_a_loop_a_factory_and_as_lambdas(tmp_path):
    assert run_together(2, tmp_path, 1, often=0.2) == [[]]


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_two_thousand_of_each(processes, tmp_path):
    assert run_together(2000, tmp_path, processes, CONTAD_CACHE_DIR=str(tmp_path / "cache")) == [[]] * processes
