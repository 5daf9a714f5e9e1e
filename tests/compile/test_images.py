"""C functions as object code in files: they are found again, asked for once, and made again where they are damaged."""

import ctypes

import numba
import pytest

from contad.compile import compiling, image_code, images
from contad.errors import UnsupportedError
from tests.compile.processes import run_python

SOURCE = """
from contad.compile.image_code import c_function, inline

@inline
def scale(x):
    return {factor} * x

@c_function("float64(float64)")
def f(x):
    return scale(x) + 1.0
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing."""
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("_loaded", "_waiting"):
        monkeypatch.setattr(images, name, {})
    monkeypatch.setattr(images, "compiled", [])
    monkeypatch.setattr(images, "has_changed", lambda: False)
    return tmp_path / "cache"


def call(address, x):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(x)


def find(factor):
    return images.find_function("scaled", lambda: SOURCE.format(factor=factor), [str(factor)])


def test_it_is_compiled_once_and_then_found(cache):
    assert not images.is_kept("scaled", ["2.0"])
    assert call(find(2.0), 3.0) == 7.0 and len(images.compiled) == 1
    images._loaded.clear()
    assert images.is_kept("scaled", ["2.0"]) and not images.is_kept("scaled", ["3.0"])
    for file in cache.glob("*.image"):
        file.unlink()  # it has been read
    assert call(find(2.0), 3.0) == 7.0 and len(images.compiled) == 1


def test_a_damaged_file_is_made_again(cache):
    find(4.0)
    (file,) = cache.glob("scaled_*.image")
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
        file.write_bytes(damaged)
        images._loaded.clear()
        assert not images.is_kept("scaled", ["4.0"])
    assert call(find(4.0), 1.0) == 5.0 and len(images.compiled) == 2
    assert compiling.unpack(file.read_bytes()) is not None


def test_code_of_other_options_is_for_this_process_alone(cache, monkeypatch):
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert call(find(5.0), 1.0) == 6.0
    assert not [*cache.glob("*.image")]


def test_calls_of_missing_functions_are_errors(cache, monkeypatch):
    made = compiling.Image("f", ("contad_no_such_function",), b"")
    monkeypatch.setattr(image_code, "compile_image", lambda stem, text: (made, False))
    with pytest.raises(RuntimeError, match="contad: scaled calls what is not there: contad_no_such_function"):
        find(6.0)


@pytest.mark.skipif(numba.version_info.short < (0, 62), reason="LLVM 15 drops an exception that nobody reads")
def test_a_function_that_raises_is_refused(cache, monkeypatch):
    monkeypatch.setattr(numba.config, "OPT", 1)  # with more of it, LLVM drops this exception
    monkeypatch.setattr(image_code, "_HIGHEST", 1)
    raises = "    if x > 1.0:\n        raise ValueError\n    return scale(x)"
    text = SOURCE.format(factor=1.0).replace("    return scale(x)", raises)
    with pytest.raises(UnsupportedError, match="cannot raise"):
        images.find_function("raising", lambda: text, ["raises"])


def test_numba_knows_arrays_without_scipy():
    """In a process of its own, as SciPy stays; what calls its routines asks for it then."""
    code = """
import sys
from contad.compile import image_code
from numba.np import arraymath, linalg
assert "scipy.linalg" not in sys.modules
assert arraymath.ensure_blas is linalg.ensure_blas and linalg.ensure_blas.__name__ == "ensure_blas"
linalg.ensure_blas()
assert "scipy.linalg" in sys.modules
"""
    run_python("-c", code)
