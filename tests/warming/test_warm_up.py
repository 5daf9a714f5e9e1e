"""`contad.warm_up`: afterwards nothing is compiled in a fresh process, and what it cannot do it says."""

import os
import subprocess
import sys

import pytest

import contad
from contad.compile import compiling
from contad.warming import own_kernels, processes
from contad.warming.own_kernels import work

SWEPT = """
import numpy as np, contad
from contad.engines.stream import plain_sweep
from contad.engines.stream.patience import PATIENCE
PATIENCE.loading = 0.0  # of what is on the disk, from the first gradient on
plain_sweep.sweep = plain_sweep.sweep_array = None  # nobody may call them
from contad.warming.own_kernels import count_compilations
found = contad.grad(lambda x: np.exp(-x * x) * np.sin(x))(0.5)
print(count_compilations(), bool(abs(found - np.exp(-0.25) * (np.cos(0.5) - np.sin(0.5))) < 1e-15))
"""


def run(code, cache, **environment):
    places = {"CONTAD_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache / "numba"), "NUMBA_OPT": "1"}
    given = os.environ | places | environment
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=given, check=False, capture_output=True, text=True, timeout=600)


def warm(*kinds, count=1):
    return f"from contad.warming.processes import run_workers; print(*run_workers({count}, {kinds!r}))"


def test_warm_code_is_not_compiled_again(tmp_path):
    """Object code is that of sweeps, code of Numba's that of arrays that are lent."""
    for expected in (["5", "0"], ["0", "5"]):
        warmed = run(warm("sweep", "second_order", "lent_array", count=2), tmp_path)
        assert warmed.returncode == 0, warmed.stderr
        assert warmed.stdout.split()[:2] == expected
    swept = run(SWEPT, tmp_path)
    assert (swept.stdout, swept.returncode) == ("0 True\n", 0), swept.stderr


def test_every_kernel_has_a_maker():
    names = [kernel[0] for kernel in own_kernels.list_kernels()]
    assert set(names) == set(own_kernels._MAKERS)
    assert len(own_kernels.list_kernels()) == len(set(own_kernels.list_kernels())) > 300


def test_a_kernel_that_fails_is_named_and_the_others_are_made(monkeypatch, capsys):
    def fail(kernel):
        if kernel == ("lent_array", (2,)):
            raise ValueError("no\nroom")

    monkeypatch.setattr("contad.warming.own_kernels.get_ready", fail)
    work(0, 1, ["lent_array"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["total 3", "found lent_array 1", "failed lent_array 2 (ValueError: no room)", "found lent_array 3"]
    found = processes._follow(lines)
    assert found["failed"] == ["lent_array 2 (ValueError: no room)"] and len(found["found"]) == 2


def test_shares_are_all_of_them(monkeypatch, capsys):
    monkeypatch.setattr("contad.warming.own_kernels.get_ready", lambda kernel: None)
    work(0, 3, [])
    work(1, 3, [])
    work(2, 3, [])
    lines = capsys.readouterr().out.splitlines()
    made = [line for line in lines if line.startswith("found")]
    assert len(made) == len(set(made)) == len(own_kernels.list_kernels())


def test_without_a_place_to_keep_anything_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "cache_directory", compiling.temporary_directory)
    with pytest.raises(OSError, match=r"contad\.warm_up: there is no directory .* set CONTAD_CACHE_DIR"):
        contad.warm_up()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root writes everywhere")
def test_a_cache_that_cannot_be_written_to_is_no_place(tmp_path):
    tmp_path.chmod(0o500)
    found = run("import contad; contad.warm_up()", tmp_path)
    assert "there is no directory where machine code can be kept" in found.stderr


def test_a_worker_that_dies_is_told(tmp_path):
    code = "import contad.warming.processes as w; w._WORK = 'raise SystemExit(3)'; w.run_workers(2, ())"
    found = run(code, tmp_path)
    assert "a process has ended with status 3; a process has ended with status 3" in found.stderr


def test_processes_are_counted():
    with pytest.raises(ValueError, match="processes"):
        contad.warm_up(0)
