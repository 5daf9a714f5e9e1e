"""The topic `devices` on a fake of a GPU's library: its programs are right there, and nothing is converted."""

import numpy as np
import pytest

from benchmarks.comparison.topic import Choice
from benchmarks.topics import devices
from tests.engines.arrays.fake_device import COUNTS, DeviceArray


def test_programs_run_on_a_device(monkeypatch):
    monkeypatch.setattr(devices, "QUICK", (100,))
    COUNTS.clear()
    table = devices.compare_on(DeviceArray, lambda x: x.get(), lambda: None, Choice(quick=True))
    assert dict(COUNTS) == {}
    assert len(table) == len(devices.PROGRAMS) == 6
    assert all(set(row) == {"value", "contad's gradient"} for row in table.values())


def test_without_a_gpu_it_says_so(capsys, monkeypatch):
    monkeypatch.setattr(devices, "QUICK", (100,))
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    table = devices.compare_torch(Choice(quick=True))
    assert "There is no GPU for PyTorch here" in capsys.readouterr().out
    assert len(table) == 6 and all(np.isfinite(list(row.values())).all() for row in table.values())
