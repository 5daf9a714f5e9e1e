"""contad's own C functions as object code on disk, which a process loads without Numba.

Importing Numba and its NumPy support takes half a second. LLVM alone loads object code in less than a millisecond. Each
file holds one function (`contad.compile.compiling.Image`).
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from contad.compile.compiling import (
    LONGEST,
    Image,
    cache_directory,
    has_changed,
    hold_llvm_while_forking,
    note_write,
    stem_of,
    unpack,
)
from contad.compile.trust import private_folder
from contad.forks import make_lock

_OF_PYTHON = "contad_"  # names of `contad.python_objects.python_functions` begin so
_lock = make_lock()
_loaded: dict[str, int] = {}  # addresses, by stem
_waiting: dict[str, Image] = {}  # read, but not loaded yet
compiled: list[str] = []  # stems of the images that this process has compiled


def find_function(name: str, source: Callable[[], str], depends: Iterable[str] = ()) -> int:
    """The address of the C function of the generated module `name`, compiled if no file holds it.

    contad makes the file once for these texts and this version of contad, and again if it is damaged.
    """
    stem = stem_of(name, depends)
    if stem in _loaded:
        return _loaded[stem]
    image = _read(stem)
    address = 0 if image is None else _load(stem, image)
    if not address:
        from contad.compile.image_code import compile_image  # it knows Numba

        image, is_for_others = compile_image(stem, source())
        compiled.append(stem)
        if is_for_others:
            _write(stem, image)
        address = _load(stem, image)
        if not address:
            raise RuntimeError(f"contad: {name} calls what is not there: {', '.join(_find_missing(image))}")
    return address


def is_kept(name: str, depends: Iterable[str] = ()) -> bool:
    """Whether `find_function` has found the function, or will find it in a file, which this reads."""
    if "llvmlite" not in sys.modules and next(cache_directory().glob(f"{name[:LONGEST]}_*.image"), None) is None:
        return False  # without LLVM, whose version is part of the whole name
    stem = stem_of(name, depends)
    if stem in _loaded:
        return True
    image = _read(stem)
    if image is not None:
        _waiting[stem] = image
    return image is not None


def _read(stem: str) -> Image | None:
    image = _waiting.pop(stem, None)
    if image is not None:
        return image
    try:
        with private_folder(cache_directory()) as folder:
            return unpack(folder.read(f"{stem}.image", is_use=True))
    except OSError:
        return None


def _write(stem: str, image: Image) -> None:
    """Keep an image for other processes, if possible."""
    if not has_changed():
        with contextlib.suppress(OSError), private_folder(cache_directory()) as folder:
            folder.write(f"{stem}.image", image.pack())
            note_write(folder.path)


def _load(stem: str, image: Image) -> int:
    """The address of the function; 0 if a symbol that it calls does not exist."""
    engine = _engine()
    if _find_missing(image):
        from numba.core.registry import cpu_target
        from numba.core.runtime import rtsys

        rtsys.initialize(cpu_target.target_context)  # which has functions of its own
        if _find_missing(image):
            return 0
    from llvmlite.binding.object_file import ObjectFileRef

    with _lock:
        if stem not in _loaded:
            engine.add_object_file(ObjectFileRef.from_data(image.code))
            engine.finalize_object()
            _loaded[stem] = int(engine.get_function_address(image.function))
        return _loaded[stem]


def _find_missing(image: Image) -> list[str]:
    return [name for name in image.calls if not _is_known(name)]


def _is_known(name: str) -> bool:
    """Whether LLVM finds the symbol that machine code calls by this name."""
    import ctypes

    import llvmlite.binding as llvm

    if not llvm.address_of_symbol(name) and name.startswith(_OF_PYTHON):
        function = getattr(ctypes.pythonapi, name.removeprefix(_OF_PYTHON), None)
        if function is not None:
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return bool(llvm.address_of_symbol(name))


@functools.cache
def _engine() -> Any:
    """The engine that loads object code."""
    import llvmlite.binding as llvm

    hold_llvm_while_forking()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def has_known_layout() -> bool:
    """Whether objects, floats and lists of this Python have the memory layout that machine code expects."""
    return (object.__basicsize__, float.__basicsize__, list.__basicsize__) == (16, 24, 40)
