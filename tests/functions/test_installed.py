"""Which files are of libraries, on each system."""

import ntpath
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from contad.functions import reached
from contad.functions.reached import is_installed


@pytest.mark.parametrize(
    "filename", [np.__file__, os.__file__, "/usr/lib/python3/dist-packages/x/y.py", "/other/lib/site-packages/x.py"]
)
def test_a_file_of_a_library(filename):
    assert is_installed(filename)


@pytest.mark.parametrize(
    "filename", [__file__, os.path.dirname(os.__file__) + "x/model.py", "/home/me/my-site-packages/model.py", "<stdin>"]
)
def test_a_file_of_the_users(filename):
    assert not is_installed(filename)


def test_a_library_beside_the_users_modules(tmp_path):
    """As `pip install --target` puts it."""
    numpy, lib = os.path.dirname(np.__file__), tmp_path / "lib"
    lib.mkdir()
    os.symlink(numpy, lib / "numpy", target_is_directory=True)
    program = "import contad.functions.reached as r, numpy as np, sys; print(np.__file__, r.is_installed(np.__file__))"
    path = os.pathsep.join([str(lib), *sys.path])
    environment = dict(os.environ, PYTHONPATH=path)
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    ).stdout.split()
    assert found == [str(lib / "numpy" / "__init__.py"), "True"]


class Model:
    def loss(self, x):
        self.seen = 1
        return x * x


def test_attributes_that_python_puts_into_a_class_lead_nowhere():
    """`__static_attributes__`, since 3.13."""
    assert not reached.class_leads_on(Model)
    reached.class_leads_on.known.clear()
    Planted = type("Planted", (), {"__static_attributes__": (), "loss": lambda self, x: x})
    assert not reached.class_leads_on(Planted)
    assert reached.class_leads_on(type("Planted", (), {"other": [], "loss": lambda self, x: x}))


def test_windows_names_are_compared_as_windows_does(monkeypatch):
    monkeypatch.setattr(reached, "os", SimpleNamespace(path=ntpath, sep="\\"))
    monkeypatch.setattr(reached, "_INSTALLED", (ntpath.join(ntpath.normcase("C:\\Python\\Lib"), ""),))
    is_installed = reached.is_installed.__wrapped__
    assert is_installed("c:\\python\\lib\\json\\decoder.py")
    assert is_installed("D:/env/Lib/site-packages/numpy/__init__.py")
    assert not is_installed("c:\\python\\library.py") and not is_installed("C:\\users\\me\\model.py")
