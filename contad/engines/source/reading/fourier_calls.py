"""Reads Fourier transforms, and those by cosines and sines: of `contad.scipy.fft`, and of NumPy and SciPy if rocket-fft
is installed.

Kernels transform the rows of matrices, so the axis of a transform is made the last one, and axes before it are joined.
"""

import functools
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir.entries import ArrayOfComplex, Complex, Object, constant, is_array, is_number
from contad.engines.source.ir.known_functions import (
    ADD,
    COMPARISONS,
    DIVIDE,
    FLOOR_DIVIDE,
    MULTIPLY,
    SELECT,
    SUBTRACT,
)
from contad.engines.source.ir.ssa import INT, NEW_AXIS, Check, Value
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.call_site import COMPLEX_READERS, READERS, CallSite, is_none
from contad.engines.source.reading.complex_numbers import join, promote
from contad.kernels import fourier_lines
from contad.kernels.fourier_lines import HAS_ROCKET, NORMS

_TOO_SHORT = "ValueError", "invalid number of data points (0) specified"
_OPTIONS = "norm overwrite_x workers"  # the last arguments
_TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


class _FourierReader:
    """Reads one call."""

    def __init__(self, site: CallSite, norm: Any) -> None:
        self.site, self.builder, self.apply = site, site.builder, site.apply
        given = "backward" if is_none(norm) else norm.value if isinstance(norm, Object) else None
        self.norm = str(given)
        if self.norm not in NORMS:
            site.refuse("the norm in {node}", f"give one of {', '.join(map(repr, NORMS))}, as a constant")

    # ---- lengths and factors -----------------------------------------------------------------------------------------
    def count(self, n: Any, otherwise: Value) -> Value:
        """The number of elements of a transform."""
        if is_none(n):
            found = otherwise
        elif is_number(n) and n.kind == INT:
            found = n
        else:
            self.site.refuse("the length in {node}", "give an integer")
        self.builder.add(Check(self.apply(COMPARISONS["Lt"], found, constant(1)), _TOO_SHORT))
        return found

    def scale(self, n: Value, inverse: bool) -> Value:
        """The factor of a transform of n elements."""
        if self.norm == ("forward" if inverse else "backward"):
            return constant(1.0)
        size = self.builder.as_float(n)
        root = self.site.reader.complex.by("sqrt", size) if self.norm == "ortho" else size
        return self.apply(DIVIDE, constant(1.0), root)

    def resize(self, x: Value, n: Any) -> Value:
        """x cut, or padded with zeros, to n elements along the last axis."""
        if n is None:
            return x
        shape, rest = self.site.arrays.shape(x), [WHOLE] * (x.kind.ndim - 1)
        made = self.builder.create("zeros", [*shape[:-1], n], "float")
        both = self.apply(SELECT, self.apply(COMPARISONS["Lt"], shape[-1], n), shape[-1], n)
        part = [*rest, (None, both, None)]
        self.site.arrays.fill(self.builder.view(made, part), self.builder.view(x, part), self.site.node)
        return made

    # ---- rows --------------------------------------------------------------------------------------------------------
    def along(self, parts: list[Value], axis: int, compute: Callable[[list[Value]], list[Value]]) -> list[Value]:
        """`compute` of the parts as matrices whose rows are along the axis; its results have the axes of the parts."""
        ndim = parts[0].kind.ndim
        order = [k for k in range(ndim) if k != axis] + [axis]
        turned = [self.builder.permute(x, tuple(order)) if axis < ndim - 1 else x for x in parts]
        if ndim == 1:
            found = compute([self.builder.view(x, [NEW_AXIS, WHOLE]) for x in turned])
            return [self.builder.view(x, [constant(0), WHOLE]) for x in found]
        before = self.site.arrays.shape(turned[0])[:-1]
        if ndim > 2:
            turned = [self.site.again(np.reshape, x, (*self._rows(before), self.builder.length(x, ndim - 1)))
                      for x in map(self.site.arrays.copy_elements, turned)]  # fmt: skip
        found = compute(turned)
        if ndim > 2:
            found = [self.builder.reshape(x, [*before, self.builder.length(x, 1)]) for x in found]
        back = tuple(order.index(k) for k in range(ndim))
        return [self.builder.permute(x, back) if axis < ndim - 1 else x for x in found]

    def _rows(self, lengths: list[Value]) -> tuple[Value]:
        size = lengths[0]
        for length in lengths[1:]:
            size = self.apply(MULTIPLY, size, length)
        return (size,)

    # ---- transforms --------------------------------------------------------------------------------------------------
    def transform(self, name: str, x: Any, n: Any, axis: int) -> Any:
        """The transform of that name, as `fft`, along one axis."""
        inverse = name in ("ifft", "irfft", "ihfft")
        forth = constant(inverse)
        if name in ("rfft", "ihfft"):
            if isinstance(x, Complex):
                self.site.refuse("{node} of complex numbers", "take .real")

            def compute(parts: list[Value]) -> list[Value]:
                """Half spectra of real rows."""
                m = self.builder.length(parts[0], 1)
                size = self.count(n, m)
                count = self.apply(ADD, self.apply(FLOOR_DIVIDE, size, constant(2)), constant(1))
                rows = self.resize(parts[0], None if is_none(n) else size)
                return [*self.site.again(
                    fourier_lines.half_fourier, rows, self.scale(size, inverse), forth, count
                )]  # fmt: skip

            return join(self.along([x], axis, compute))
        z = self._parts(x)

        def complete(parts: list[Value]) -> list[Value]:
            """Complex rows, or real ones from half spectra."""
            m = self.builder.length(parts[0], 1)
            if name in ("irfft", "hfft"):
                size = self.count(n, self.apply(MULTIPLY, constant(2), self.apply(SUBTRACT, m, constant(1))))
                half = self.apply(ADD, self.apply(FLOOR_DIVIDE, size, constant(2)), constant(1))
                rows = [self.resize(part, half) for part in parts]
                return [self.site.again(
                    fourier_lines.real_fourier, *rows, self.scale(size, inverse), forth, size
                )]  # fmt: skip
            size = self.count(n, m)
            rows = [self.resize(part, None if is_none(n) else size) for part in parts]
            return [*self.site.again(fourier_lines.fourier, *rows, self.scale(size, inverse), forth)]

        found = self.along([*z], axis, complete)
        return join(found) if len(found) == 2 else found[0]

    def _parts(self, x: Any) -> Complex:
        """Both parts of an array, with memory."""
        numbers = self.site.reader.complex
        if isinstance(x, Complex):
            return x if is_array(x.real) and is_array(x.imag) else numbers.copy(x)
        return ArrayOfComplex(x, self.builder.create("zeros", self.site.arrays.shape(x), "float"))


def _take(site: CallSite, x: Any) -> Any:
    """The array, computed; its number of axes."""
    found = site.reader.complex.compute(x) if isinstance(x, Complex) else x
    if isinstance(found, Complex):
        if not (is_array(found.real) or is_array(found.imag)):
            site.refuse("{node} of something that is no array", "give an array")
        return found, max(part.kind.ndim for part in found)
    found = site.array(promote(site.builder, found).real if is_array(found) else found)
    return found, found.kind.ndim


def _read_one(site: CallSite, name: str) -> Any:
    """Along one axis: fft(x, n, axis, norm)."""
    x, n, axis, norm, *_ = site.take(f"{_array(site)} n axis {_OPTIONS}")
    x, ndim = _take(site, x)
    return _FourierReader(site, norm).transform(name, x, n, site.axis(constant(-1) if axis is None else axis, ndim))


def _read_several(site: CallSite, name: str) -> Any:
    """Along several axes: fftn(x, s, axes, norm). A half spectrum is that of the last of the axes."""
    x, s, axes, norm, *_ = site.take(f"{_array(site)} s axes {_OPTIONS}")
    x, ndim = _take(site, x)
    one = name.rstrip("n2")
    given = None if is_none(s) else s if isinstance(s, tuple) else (s,)
    if is_none(axes):
        count = 2 if name[-1] == "2" else ndim if given is None else len(given)
        along = list(range(ndim - count, ndim))
    else:
        along = _list_axes(site, axes, ndim)
    if len(along) > ndim or min(along, default=0) < 0 or len(set(along)) < len(along) or not along or (
        given is not None and len(given) != len(along)
    ):
        site.refuse("the axes in {node}", "give different ones, and a length for each")
    lengths = [None if n is None or n.constant == -1 else n for n in given or [None] * len(along)]
    calls = [*zip([one] + ["ifft" if one[0] == "i" else "fft"] * (len(along) - 1), along[::-1], lengths[::-1],
                  strict=True)]  # fmt: skip
    reader = _FourierReader(site, norm)
    for each, axis, n in calls[::-1] if one in ("irfft", "hfft") else calls:
        x = reader.transform(each, x, n, axis)
    return x


def _list_axes(site: CallSite, axes: Any, ndim: int) -> list[int]:
    return [site.axis(k, ndim) for k in (axes if isinstance(axes, tuple) else (axes,))]


def _array(site: CallSite) -> str:
    """NumPy calls the array a, SciPy x."""
    return "a" if "a" in site.keywords else "x"


# ---- cosines and sines -----------------------------------------------------------------------------------------------
def _read_cosines(site: CallSite, name: str) -> Any:
    """dct(x, type, n, axis, norm, overwrite_x, workers, orthogonalize)."""
    x, kind, n, axis, norm, _, _, orthogonal = site.take(f"x type n axis {_OPTIONS} orthogonalize")
    x, ndim = _take(site, x)
    reader, inverse = _FourierReader(site, norm), name[0] == "i"
    number = 2 if kind is None else kind.constant if is_number(kind) else None
    flag = reader.norm == "ortho" if is_none(orthogonal) else orthogonal.constant if is_number(orthogonal) else None
    if number not in _TRANSPOSED or flag is None or isinstance(x, Complex):
        site.refuse("the arguments of {node}", "give a real array, and constants")
    along = _SWAPPED[reader.norm] if inverse else reader.norm
    options = [
        constant(int(_TRANSPOSED[number] if inverse else number)), constant(NORMS.index(along)),
        constant(name.endswith("st")), constant(bool(flag)),
    ]  # fmt: skip

    def compute(parts: list[Value]) -> list[Value]:
        rows = reader.resize(parts[0], None if is_none(n) else reader.count(n, n))
        return [site.again(fourier_lines.cosines, rows, *options)]

    return reader.along([x], site.axis(constant(-1) if axis is None else axis, ndim), compute)[0]


def _read_shift(site: CallSite, name: str) -> Any:
    """fftshift(x, axes): half of the elements roll to the other end of each axis."""
    x, axes = site.take("x axes")
    x, ndim = _take(site, x)
    along = range(ndim) if is_none(axes) else _list_axes(site, axes, ndim)
    for axis in along:
        parts = [*x] if isinstance(x, Complex) else [x]
        length = site.builder.length(parts[0], axis)
        half = site.apply(FLOOR_DIVIDE, length, constant(2))
        before = half if name == "fftshift" else site.apply(SUBTRACT, length, half)
        behind = site.apply(SUBTRACT, length, before)
        for k, part in enumerate(parts):
            parts[k] = site.reader.merging.fresh.room_for(part, "shifted")
            for to, start in (((None, before), (behind, None)), ((before, None), (None, behind))):
                target, source = ([*[WHOLE] * axis, (*x, None), *[WHOLE] * (ndim - axis - 1)] for x in (to, start))
                view = site.builder.view
                site.arrays.fill(view(parts[k], target), view(part, source), site.node)
        x = join(parts) if len(parts) == 2 else parts[0]
    return x


# ---- the functions ---------------------------------------------------------------------------------------------------
_ONE = "fft", "ifft", "rfft", "irfft", "hfft", "ihfft"
_WAYS = (
    *((name, _read_one) for name in _ONE),
    *((f"{name}{end}", _read_several) for name in _ONE for end in "2n"),
    *((name, _read_cosines) for name in ("dct", "idct", "dst", "idst")),
    *((name, _read_shift) for name in ("fftshift", "ifftshift")),
)


def _read(name: str, read: Callable[[CallSite, str], Any], site: CallSite) -> Any:
    return read(site, name)


def _declare(home: str) -> None:
    for name, read in _WAYS:
        try:
            function = pkgutil.resolve_name(f"{home}.{name}")
        except AttributeError:  # NumPy has fewer
            continue
        READERS[function] = COMPLEX_READERS[function] = functools.partial(_read, name, read)


for _home in ("contad.scipy.fft", "numpy.fft", *["scipy.fft"] * HAS_ROCKET):
    _declare(_home)
