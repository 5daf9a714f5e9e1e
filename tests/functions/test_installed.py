"""Which files are of libraries, on each system."""

import ntpath
import os
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


def test_windows_names_are_compared_as_windows_does(monkeypatch):
    monkeypatch.setattr(reached, "os", SimpleNamespace(path=ntpath, sep="\\"))
    monkeypatch.setattr(reached, "_INSTALLED", (ntpath.join(ntpath.normcase("C:\\Python\\Lib"), ""),))
    is_installed = reached.is_installed.__wrapped__
    assert is_installed("c:\\python\\lib\\json\\decoder.py")
    assert is_installed("D:/env/Lib/site-packages/numpy/__init__.py")
    assert not is_installed("c:\\python\\library.py")
    assert not is_installed("C:\\users\\me\\model.py")
