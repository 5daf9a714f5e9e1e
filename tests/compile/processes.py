"""Python in processes of its own, whose caches are folders of a test."""

import os
import subprocess
import sys

# what a script begins with that prints `len(compiled)`: the functions that Numba compiles from then on
LISTENING = """
from numba.core import event
compiled = []
class Listen(event.Listener):
    def on_start(self, e): compiled.append(e.data["dispatcher"].__name__)
    def on_end(self, e): pass
event.register("numba:compile", Listen())
"""


def run_python(*arguments, folder=None, **environment):
    """What Python prints in a folder, with names of the environment, or without those that are None.

    With a cache of its own, where it finds no kernels, it compiles with little optimisation.
    """
    if "CONTAD_CACHE_DIR" in environment:
        environment = {"NUMBA_OPT": 1} | environment
    names = {name: str(x) for name, x in (os.environ | environment).items() if x is not None}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, env=names, capture_output=True, text=True, check=False,
        timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
