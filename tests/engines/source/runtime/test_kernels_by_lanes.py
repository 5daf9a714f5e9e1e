"""Every kernel of matrices for several directions in machine code, against the same for one: adjoints that are the same
for all directions, which all of them read, and adjoints that differ.
"""

from zlib import crc32

import numba
import numpy as np
import pytest

from contad.engines.source.ir.runtime_functions import FUNCTIONS
from contad.engines.source.runtime import line_kernels, matrix_kernels, row_kernels
from contad.engines.source.runtime.workspace import workspace
from contad.kernels.lanes import as_floats, lanes_zeros
from tests.judges.samples import sampled
from tests.judges.written import define as run

COUNT = 4
KERNELS = {name: x for module in (row_kernels, matrix_kernels, line_kernels) for name, x in vars(module).items()}
RNG = np.random.default_rng(5)
A = np.array([[4.3, 0.4, -0.2], [0.4, 2.7, 0.5], [-0.2, 0.5, 1.4]])
B = RNG.standard_normal((3, 2))
TURNED = np.array([[0.3, -0.7, 0.2], [0.5, 0.1, 0.9], [-0.4, 0.6, -0.2]])
BANDS = np.array([[0.0, 0.4, -0.3], [3.1, 2.7, 3.6], [0.5, -0.2, 0.0]])
TALL = np.vstack([A[:2, :2], [[0.5, 0.8]]])
W, V = np.linalg.eigh(A)
U, S, VT = np.linalg.svd(TALL, full_matrices=False)
SINGULAR = np.array([[1.0, 2.0, 0.3], [0.4, 1.1, 0.2], [1.4, 3.1, 0.5]])
SQUARE, COLUMNS = (3, 3), (3, 2)

# by name: what the value takes, and the shapes of its results; of those that it returns as numbers ()
CALLS = {
    "solve": ([A, B], [COLUMNS]),
    "inv": ([A], [SQUARE]),
    "det": ([A], [()]),
    "slogdet": ([A], [(), ()]),
    "cholesky": ([A], [SQUARE]),
    "eigh": ([A], [(3,), SQUARE]),
    "eigvalsh": ([A], [(3,)]),
    "eig": ([A], [(3,), SQUARE]),
    "eigvals": ([A], [(3,), SQUARE]),
    "svd": ([TALL], [(3, 2), (2,), (2, 2)]),
    "qr": ([TALL], [(3, 2), (2, 2)]),
    "pinv": ([TALL, 1e-15], [(2, 3)]),
    "lstsq": ([TALL, B, -1.0], [(2, 2), (2,), (2,), ()]),
    "singular_cofactors": ([SINGULAR], [SQUARE]),
    "solve_triangular": ([A, B, 1.0, 1.0, 0.0, 0.0], [COLUMNS]),
    "cho_factor": ([A, 1.0, 0.0], [SQUARE]),
    "cho_solve": ([A, B, 0.0, 0.0], [COLUMNS]),
    "solve_banded": ([BANDS, B, 1.0, 1.0, 0.0], [COLUMNS]),
    "solveh_banded": ([BANDS[:2], B, 0.0, 0.0], [COLUMNS]),
    "expm": ([0.2 * A], [SQUARE]),
    "eigh_along": ([A, 0.3 * A @ A, W, V, 0.0], [(3,), SQUARE]),
    "svd_along": ([TALL, TALL[::-1].copy(), U, S, VT, 0.0], [(3, 2), (2,), (2, 2)]),
    "norm": ([A], [()]),
    "logsumexp": ([B], [()]),
    "softmax": ([B], [COLUMNS]),
    "logsumexp_along": ([B, 1.0], [(3,)]),
    "softmax_along": ([B, 0.0], [COLUMNS]),
    "fourier": ([A, TURNED, 0.7, 0.0], [SQUARE, SQUARE]),
    "half_fourier": ([A, 0.7, 0.0, 2.0], [(3, 2), (3, 2)]),
    "real_fourier": ([B, B[::-1].copy(), 0.7, 1.0, 3.0], [SQUARE]),
    "cosines": ([A, 2.0, 0.0, 0.0, 0.0], [SQUARE]),
    "complex_det": ([A, TURNED], [(), ()]),
    "complex_slogdet": ([A, TURNED], [(), (), ()]),
    "complex_eigh": ([A, TURNED - TURNED.T], [(3,), SQUARE, SQUARE]),
    "complex_eig": ([A, TURNED], [(3,), (3,), SQUARE, SQUARE]),
    "complex_svd": ([TALL, TALL[::-1].copy()], [(3, 2), (3, 2), (2,), (2, 2), (2, 2)]),
    "complex_qr": ([TALL, TALL[::-1].copy()], [(3, 2), (3, 2), (2, 2), (2, 2)]),
}


# ---- for several directions, in machine code -------------------------------------------------------------------------
class LanesText:
    """The source of a function of what a value takes, with all lanes, and of the adjoints of its results.

    It gives the adjoints of the operands: for all directions at once, and for one after the other.
    """

    def __init__(self, name, are_same):
        f = self.f = FUNCTIONS[name]
        given, shapes = CALLS[name]
        self.are_same, self.names = are_same, [f"x_{i}" for i in range(len(given))]
        self.asked = [f"bar_{x}" for x in self.names[: f.operands]]
        self.wide = {"right": self.names[1:2], "all": self.names[: f.operands]}.get(f.lanes, [])
        # an adjoint of an operand is numbers where nothing of it differs: that of a right side
        self.narrow = self.names[1:2] if f.lanes == "right" and are_same else []
        self.bars = bars_of(name)
        self.filled = {f"z_{i}": shape for i, shape in enumerate(shapes) if shape}
        self.computed = [f"z_{i}" for i, shape in enumerate(shapes) if not shape]

    def write(self):
        lines = ["work, top = workspace()"]
        lanes = self.wide if self.are_same else [*self.wide, *self.bars]
        for x in lanes:
            made = f"lanes_zeros({x}.shape[:-1], {COUNT})"
            if self.bars.get(x) == ():
                made = f"lanes_zeros((1,), {COUNT})"
            lines += [f"{x}_lanes = {made}", f"as_floats({x}_lanes)[...] = {x}"]
        for z, shape in self.filled.items():
            lines.append(f"{z} = {f'lanes_zeros({shape}, {COUNT})' if self.wide else f'np.zeros({shape})'}")
        for x, bar in zip(self.names, self.asked, strict=False):
            made = f"np.zeros({x}.shape[:2])" if x in self.narrow else f"lanes_zeros({x}.shape[:2], {COUNT})"
            lines.append(f"{bar} = {made}")
        spent = {x: f"{x}_lanes" if shape else f"{x}_lanes[0]" for x, shape in self.bars.items()}
        lines += self._calls("lanes_" * bool(self.f.lanes), "", lambda x: f"{x}_lanes" if x in self.wide else x, spent)
        for x, bar in zip(self.names, self.asked, strict=False):
            floats = bar if x in self.narrow else f"as_floats({bar})"
            lines += [f"found_{x} = {floats}.copy()", f"right_{x} = np.zeros((*{x}.shape[:2], {COUNT}))"]
        lines.append(f"for j in range({COUNT}):")
        inner = [f"one_{z} = np.zeros({shape})" for z, shape in self.filled.items()]
        inner += [f"one_{bar} = np.zeros({x}.shape[:2])" for x, bar in zip(self.names, self.asked, strict=False)]
        spent = {x: f"{x}[..., j].copy()" if shape else f"{x}[j]" for x, shape in self.bars.items()}
        inner += self._calls("", "one_", lambda x: f"{x}[:, :, j].copy()" if x in self.wide else x, spent)
        inner += [f"right_{x}[:, :, j] = one_{bar}" for x, bar in zip(self.names, self.asked, strict=False)]
        pairs = "".join(f"(found_{x}, right_{x}), " for x in self.names[: self.f.operands])
        lines += [*(f"    {x}" for x in inner), f"return ({pairs}), top"]
        return "\n    ".join([f"def run({', '.join([*self.names, *self.bars])}):", *lines]) + "\n"

    def _calls(self, way, one, operand, spent):
        """A value, and its adjoints."""
        if self.are_same:
            spent = {x: f"{x}.copy()" if shape else x for x, shape in self.bars.items()}
        taken = [*map(operand, self.names), *(f"{one}{z}" for z in self.filled)]
        computed = "".join(f"{z}, " for z in self.computed)
        bars = [*spent.values(), *(f"{one}{x}" for x in self.asked), *[str(COUNT)] * bool(way)]
        return [
            f"{computed}work, top = forward_{way}{self.f.name}({', '.join(taken)}, work, top)",
            f"top = reverse_{way}{self.f.name}({', '.join(bars)}, work, top)",
        ]


def bars_of(name):
    """The adjoints of results that the kernel reads, with their shapes."""
    f, shapes = FUNCTIONS[name], CALLS[name][1]
    bars = KERNELS[f"reverse_{name}"].parameters[: -f.operands]
    return dict(zip(bars, shapes[f.constant :], strict=False))


def draw(rng, shape):
    return rng.standard_normal(shape) if shape else rng.normal()


def run_kernel(name, are_same):
    """Pairs of adjoints of the operands: of all directions together, and of one at a time."""
    text, rng = LanesText(name, are_same), np.random.default_rng(crc32(name.encode()))
    made = {**KERNELS, "np": np, "workspace": workspace, "as_floats": as_floats, "lanes_zeros": lanes_zeros}
    run(text.write(), f"<{name} by lanes, {are_same}>", made)
    given = [x if np.ndim(x) == 0 else np.ascontiguousarray(x) for x in CALLS[name][0]]
    for i, x in enumerate(text.names):
        if x in text.wide:
            given[i] = given[i][:, :, None] * (1.0 + 0.2 * np.arange(COUNT))
    bars = [draw(rng, shape if are_same else (*shape, COUNT)) for shape in text.bars.values()]
    return numba.njit(made["run"])(*given, *bars)


def overwrites(case):
    """Whether a kernel in several directions overwrites what all of them read: one of these always runs."""
    name, kind = case
    return kind == "same" and bool(KERNELS[f"reverse_{name}"].written) and bool(FUNCTIONS[name].lanes)


CASES = [(name, kind) for name in FUNCTIONS for kind in ("same", "differing")]


@pytest.mark.parametrize(("name", "kind"), sampled(CASES, 12, family=overwrites))
def test_directions_do_not_disturb_one_another(name, kind):
    """Adjoints that are the same for all directions are numbers, which each of them reads."""
    pairs, top = run_kernel(name, kind == "same")
    assert top == 0
    for found, right in pairs:
        assert np.max(np.abs(right)) > 0.0
        once = found if found.ndim == right.ndim else np.repeat(found[:, :, None], COUNT, axis=2)
        np.testing.assert_allclose(once, right, rtol=1e-12, atol=1e-12 * np.max(np.abs(right)))


# ---- what is overwritten, in plain Python ----------------------------------------------------------------------------
def changed(name, kernel):
    """The adjoints of results that a kernel has changed."""
    (given, shapes), rng, work = CALLS[name], np.random.default_rng(crc32(name.encode())), np.empty(0)
    filled = [np.zeros(shape) for shape in shapes if shape]
    *_, work, top = KERNELS[f"forward_{name}"](*map(np.array, given), *filled, work, 0)
    bars = {x: draw(rng, shape) for x, shape in bars_of(name).items()}
    kept = {x: np.copy(v) for x, v in bars.items()}
    kernel(*bars.values(), *(np.zeros(x.shape) for x in given[: FUNCTIONS[name].operands]), work, top)
    return [x for x, v in bars.items() if not np.array_equal(v, kept[x])]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_overwrite_what_they_say(name):
    """And nothing else: it is copied where other directions read it, and where it is not in C order."""
    kernel = KERNELS[f"reverse_{name}"]
    assert changed(name, kernel) == list(kernel.written)


def test_a_kernel_that_overwrites_more_is_found():
    def careless(z_bar, a_bar, work, top):
        z_bar[0] = 0.0

    assert changed("inv", careless) == ["z_bar"]
