"""Scripts that run in a process of their own, with an empty cache."""

import os
import subprocess
import sys
from pathlib import Path


def run_with_empty_cache(script: str, folder: Path) -> None:
    """Run a script whose cache is a folder; what it prints of an error fails the test."""
    environment = os.environ | {"CONTAD_CACHE_DIR": str(folder), "NUMBA_OPT": "1"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
