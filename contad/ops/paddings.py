"""np.pad: modes that move elements, and modes that compute ramps, statistics of the edge, and odd reflections.

The latter pad one axis after another, with what is there by then, as NumPy does.
"""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.calculus import cut
from contad.ops.polynomials import linspace
from contad.ops.shape import needs_room
from contad.rules.numpy_functions import implements, move_elements
from contad.variables.arguments import require_real
from contad.variables.array import Array, as_objects
from contad.variables.complex_pair import ComplexPair, is_complex
from contad.variables.number import map_numbers, peek, primal
from contad.variables.open_types import Option, Sources, Value

PAD_MODES = ("constant", "edge", "wrap", "reflect", "symmetric", "empty")


@implements(np.pad, layout="own")
def pad(array: Value, pad_width: Option, mode: Option = "constant", **options: Option) -> Value:
    """Elements around an array: constants, variables, or elements of the array; "empty" pads with zeros."""
    if mode not in PAD_MODES or options.get("reflect_type", "even") != "even":
        return pad_by_values(array, pad_width, mode, options)
    if mode == "empty":
        mode, options = "constant", {}
    sources = {"array": array}
    if "constant_values" in options:
        given = sources["constant_values"] = options.pop("constant_values")
        if not is_complex(array):
            require_real("np.pad", "constant_values", np.asarray(map_numbers(peek, given)))

    def move(given: Sources) -> Value:
        values = {name: x for name, x in given.items() if name != "array"}
        place = pad if needs_room(given["array"], given) else np.pad
        return place(given["array"], pad_width, mode, **values, **options)

    return move_elements("np.pad", move, sources)


STATISTICS = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}


def pad_by_values(array, pad_width, mode, options):
    """The array between computed elements."""
    if callable(mode):
        raise UnsupportedError("np.pad: mode must be one of NumPy's words on variables, got a function")
    if not isinstance(array, (Array, ComplexPair)):  # other arguments are variables, and NumPy rounds to its kind
        array = np.asarray(array)
        if array.dtype.kind in "iub":
            return np.pad(array, pad_width, mode, **map_numbers(primal, options))
    np.pad(np.zeros(np.shape(array)), pad_width, mode, **map_numbers(primal, options))  # raises for wrong arguments
    n = np.ndim(array)
    widths, ends = pairs_of(pad_width, n), pairs_of(options.get("end_values", 0.0), n)
    lengths = pairs_of(options.get("stat_length"), n)
    order = "F" if not isinstance(array, ComplexPair) and peek(array).flags.fnc else "C"
    for k in range(n):
        left, right = widths[k]
        if mode == "linear_ramp":
            array = np.concatenate([ramp(array, k, left, ends[k][0]), array, ramp(array, k, right, ends[k][1], -1)], k)
        elif mode in STATISTICS:
            before = statistic(mode, array, k, left, lengths[k][0])
            array = np.concatenate([before, array, statistic(mode, array, k, right, lengths[k][1], -1)], k)
        else:
            array = reflect(array, k, left, right, mode == "symmetric")
    return array if n < 2 or isinstance(array, ComplexPair) else array.copy(order)


def pairs_of(x, n):
    """A number, or a pair for one or all axes, as a list of pairs for n axes."""
    boxed = as_objects(x) if isinstance(x, Array) else np.array(x, dtype=object)
    return np.broadcast_to(boxed, (n, 2)).tolist()


def ramp(a, axis, width, end, side=1):
    """Numbers in equal steps from `end` to the first (side 1) or last element, without that."""
    edge = np.take(a, 0 if side == 1 else -1, axis)
    found = linspace(end, edge, width, False, axis=axis)
    return found if side == 1 else np.flip(found, axis)


def statistic(mode, a, axis, width, length, side=1):
    """The statistic of so many elements at one side, or of all, repeated."""
    n = np.shape(a)[axis]
    m = n if length is None else min(length, n)
    z = STATISTICS[mode](cut(a, axis, 0, m) if side == 1 else cut(a, axis, n - m), axis=axis, keepdims=True)
    return np.repeat(z, width, axis)


def reflect(a, axis, left, right, with_edge):
    """Elements mirrored about the edges, in value too; as often as needed to fill the width."""
    period = np.shape(a)[axis]
    if period == 1:
        return np.concatenate([np.repeat(a, left, axis), a, np.repeat(a, right, axis)], axis)
    while left > 0 or right > 0:
        n = np.shape(a)[axis]
        most = n // period * period if with_edge else (n - 1) // (period - 1) * (period - 1)
        m, k = min(most, left), min(most, right)
        first, last = cut(a, axis, 0, 1), cut(a, axis, n - 1)
        shift = 0 if with_edge else 1
        before = 2.0 * first - np.flip(cut(a, axis, shift, m + shift), axis)
        after = 2.0 * last - np.flip(cut(a, axis, n - k - shift, n - shift), axis)
        a = np.concatenate([before, a, after], axis)
        left, right = left - m, right - k
    return a
