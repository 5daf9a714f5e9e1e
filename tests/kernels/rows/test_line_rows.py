"""Every row of operations along lines against the array rule of its name: a derivative is written once.

Kernels run as Python does, without compiling; compiled, they are those of recorded programs in `programs/test_lines`.
"""

import importlib
import inspect
import zlib

import numpy as np
import pytest

import contad
from contad.engines.source.runtime import line_kernels
from contad.engines.source.runtime.workspace import workspace
from contad.kernels.rows import log_sum_rows
from contad.kernels.rows.row_tables import LINE_ROWS, SIZES
from contad.rules.array_rule import array_rule_of
from tests.judges.special_numbers import NAN, SPECIAL

# m, n and k: one element; lines in a row, few and many, short and long; side by side; stacks; empty lines, and none
SHAPES = [
    (1, 1, 1), (1, 5, 1), (3, 45, 1), (9, 4, 1), (2, 130, 1), (1, 3, 7), (2, 4, 3), (2, 3, 259), (2, 0, 1), (0, 3, 2),
]  # fmt: skip
MEANS = ("var", "std")
CASES = [
    (name, shape, special, options)
    for name, row in LINE_ROWS.items()
    for shape in SHAPES
    for special in SPECIAL
    for options in ([{}] if not row.options else [{"ddof": 0}, {"ddof": 1}])
    if (shape[1] or name not in MEANS)  # of nothing Python has them
    and (np.prod(shape) < 200 or special in ("ordinary", "inf and nan"))
]
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning"),
]


def draw(*seed):
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


def run(row, purpose, known):
    """A kernel on what it names: copies of arrays, flat."""
    row.kernel(purpose)(*(known[name] for name in row.parameters(purpose)))


def prepare(row, shape, options, a):
    """What kernels take, without a result."""
    sizes = dict(zip(SIZES, shape, strict=True))
    known = sizes | options | {"a": a.reshape(-1), "z": np.empty(eval(row.size, {}, sizes))}
    return known | {name: np.empty(eval(count, {}, sizes)) for name, count in row.saved}


def agree(found, expected):
    """Require numbers of a kernel to be those of the rule."""
    expected = np.reshape(expected, -1)
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1e-3)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * scale)


def compare(row, shape, special, options, value=None, **weights):
    """Require value, adjoint and tangent to be those of the rule; weights are for another kernel of the value."""
    rng, rule = draw(row.name, shape, special), array_rule_of(row.name)
    a = SPECIAL[special](rng.standard_normal(shape))
    known = prepare(row, shape, options, a)

    def f(x):
        return rule(x, axis=1, **options, **weights)

    z, pullback = contad.vjp(f, a, engine="matrix")
    if value is None:
        run(row, "value", known)
    else:
        value(known["a"], weights["b"].reshape(-1), *shape, known["terms"], known["totals"], known["z"])
    agree(known["z"], z)

    z_bar = rng.standard_normal(np.shape(z)) * (rng.uniform(size=np.shape(z)) < 0.8)  # zeros are masks
    (bar,) = pullback(z_bar)
    start = rng.standard_normal(a.size)
    known |= {"z_bar": z_bar.reshape(-1), "a_bar": start.copy()}
    run(row, "adjoint", known)
    agree(known["a_bar"] - start, bar)

    dot = rng.standard_normal(shape) * (rng.uniform(size=shape) < 0.8)
    known |= {"a_dot": dot.reshape(-1), "z_dot": np.full(known["z"].shape, NAN)}
    run(row, "tangent", known)
    agree(known["z_dot"], contad.jvp(f, (a,), (dot,))[1])


@pytest.mark.parametrize("name", LINE_ROWS)
@pytest.mark.parametrize("special", SPECIAL)
def test_kernels_are_those_of_the_rule(name, special):
    for case in CASES:
        if case[0] == name and case[2] == special:
            compare(LINE_ROWS[name], *case[1:])


@pytest.mark.parametrize("special", SPECIAL)
def test_weighted_sums_are_those_of_the_rule(special):
    for shape in SHAPES:
        b = np.round(draw(shape).uniform(0.0, 2.0, size=shape))  # zeros among them
        compare(LINE_ROWS["logsumexp"], shape, special, {}, log_sum_rows.weighted_logsumexp_value, b=b)


def lie(a, way):
    """The same matrix in another order of memory, or as every other element."""
    if way == "apart":
        made = np.zeros([2 * n for n in a.shape])[::2, ::2]
        made[...] = a
        return made
    return np.asarray(a, order=way)


@pytest.mark.parametrize("way", ["C", "F", "apart"])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["logsumexp", "softmax"])
def test_kernels_of_generated_source_take_matrices_of_any_layout(name, axis, way):
    rule, rng = array_rule_of(name), draw(name, axis)
    for shape in [(1, 1), (3, 4), (9, 13), (0, 3), (3, 0)]:
        a = lie(rng.standard_normal(shape), way)
        z, pullback = contad.vjp(lambda x: rule(x, axis=axis), a, engine="matrix")
        z_bar = rng.standard_normal(np.shape(z))
        called, given = (name, [a]) if axis is None else (f"{name}_along", [a, float(axis)])
        made = [lie(np.empty(np.shape(z)), way) if np.ndim(z) == 2 else np.empty(np.shape(z))] if np.ndim(z) else []
        *numbers, work, top = getattr(line_kernels, f"forward_{called}")(*given, *made, *workspace())
        agree((numbers or [made[0].reshape(-1)])[0], z)
        a_bar = lie(np.ones(shape), way)
        end = getattr(line_kernels, f"reverse_{called}")(z_bar if np.ndim(z) else float(z_bar), a_bar, work, top)
        assert end == 0
        agree((a_bar - 1.0).reshape(-1), pullback(z_bar if np.ndim(z) else float(z_bar))[0])


@pytest.mark.parametrize("purpose", ["value", "adjoint", "tangent"])
@pytest.mark.parametrize("name", LINE_ROWS)
def test_planted_faults_are_found(name, purpose, monkeypatch):
    """What a kernel writes, which is its last argument, has another sign."""
    row = LINE_ROWS[name]
    kernel = row.kernel(purpose)

    def wrong(*args):
        before = args[-1].copy() if purpose == "adjoint" else 0.0
        kernel(*args)
        args[-1][...] = 2.0 * before - args[-1]

    wrong.__signature__ = inspect.signature(kernel)
    monkeypatch.setattr(importlib.import_module(f"contad.kernels.rows.{row.module}"), f"{name}_{purpose}", wrong)
    with pytest.raises(AssertionError):
        compare(row, (2, 4, 3), "ordinary", dict.fromkeys(row.options, 1))
