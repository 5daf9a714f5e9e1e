"""What array variables and array duals have in common with ndarrays: attributes, views, protocols, and refusals."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import contad
from contad.engines.forward import forward_level
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.errors import LostDerivativeError, NestingError, UnsupportedError
from contad.variables.array import (
    Array,
    as_objects,
    elements_of,
    is_plain,
    is_view,
    level_of,
    numbers_in,
    plain_key,
    require_no_inner,
)
from contad.variables.complex_pair import ComplexArray
from contad.variables.number import Number, primal
from contad.variables.stack import opened
from tests.judges.refusals import refused

MATRIX = np.array([[0.3, 0.7, 1.1], [-0.4, 0.9, -1.3]])
KINDS = ("variable", "dual", "several", "of duals", "of variables", "written", "view")


def level_of_kind(kind):
    """A level, to be opened, that owns arrays of that kind."""
    return forward_level(3 if kind == "several" else None) if kind in ("dual", "several") else opened(MatrixStack)


def made(kind, level, p):
    """An array of that kind whose value is p."""
    if kind == "dual":
        return level.make_active(p, 2.0 * p)
    if kind == "several":
        return level.make_active(p, np.stack([p, 2.0 * p, 3.0 * p]))
    if kind == "view":
        return contad.var(np.stack([p, -p], axis=-1))[..., 0]
    x = contad.var(p)
    if kind == "written":
        x[...] = x.copy()
    return x


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def make(kind):
    """make(p): an array of each kind whose value is p."""
    if kind == "of duals":
        with forward_level() as outer, opened(MatrixStack) as inner:
            yield lambda p: inner.array_variable(outer.make_active(p, p))
        return
    if kind == "of variables":
        with opened(MatrixStack) as outer, forward_level() as inner:
            yield lambda p: inner.make_active(outer.array_variable(p), p)
        return
    with level_of_kind(kind) as level:
        yield lambda p: made(kind, level, p)


def value(x):
    """The plain value of an array, a number, or a list of these."""
    if isinstance(x, (list, tuple)):
        return [value(item) for item in x]
    return np.array(primal(x))


# ---- attributes ------------------------------------------------------------------------------------------------------
def test_attributes_are_those_of_ndarrays(make):
    x = make(MATRIX)
    for name in ("shape", "ndim", "size", "dtype", "nbytes", "itemsize"):
        assert getattr(x, name) == getattr(MATRIX, name), name
    assert np.array_equal(value(x.T), MATRIX.T)
    assert np.array_equal([value(v) for v in x.flat], list(MATRIX.flat))
    assert np.array_equal(value(x.real), MATRIX) and np.array_equal(x.imag, MATRIX.imag) and len(x) == 2
    assert np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.array_equal(contad.value_of_rec(x), MATRIX)


def test_arrays_without_axes(make):
    x = make(np.array(0.7))
    assert x.shape == () and x.ndim == 0 and x.size == 1
    for use in (len, iter, list):
        with pytest.raises(TypeError, match="without axes"):
            use(x) if use is not iter else next(iter(x))
    assert isinstance(x[()], Number) and isinstance(x.item(), Number) and value(x.item()) == 0.7
    assert x.reshape(1, 1).shape == (1, 1) and bool(x) and int(x) == 0
    assert value(x.tolist()) == 0.7


def test_elements_are_numbers_of_the_level(make):
    x = make(MATRIX)
    for element in (x[0, 1], x[0][1], x[-2, -2], x.item(1), x.item(0, 1), x.item((0, 1)), x[np.int64(0), 1]):
        assert isinstance(element, Number) and value(element) == MATRIX[0, 1] and element._owner is x._owner
    with pytest.raises(IndexError):
        x[2, 0]
    with pytest.raises(IndexError):
        x[0, -4]
    with pytest.raises(IndexError):
        x[0, 0, 0]
    with pytest.raises(ValueError, match="item: the array must have one element"):
        x.item()


# ---- views and copies ------------------------------------------------------------------------------------------------
VIEWS = {
    "slice": lambda a: a[:, 1:], "row": lambda a: a[1], "ellipsis": lambda a: a[...],
    "new axis": lambda a: a[:, None, ::-1], "T": lambda a: a.T, "mT": lambda a: a.mT,
    "transpose": lambda a: a.transpose(1, 0), "reshape": lambda a: a.reshape(3, 2),
    "reshape of a tuple": lambda a: a.reshape((6,)), "ravel": lambda a: a.ravel(),
    "transposed twice": lambda a: a.T.T.ravel(), "rows": lambda a: list(a), "swapaxes": lambda a: a.swapaxes(0, 1),
    "real": lambda a: a.real, "squeeze": lambda a: a[:, :1].squeeze(),
}  # fmt: skip
COPIES = {
    "copy": lambda a: a.copy(), "copy.copy": copy.copy, "copy.deepcopy": copy.deepcopy, "np.copy": np.copy,
    "flatten": lambda a: a.flatten(), "reshape of a transpose": lambda a: a.T.reshape(6),
    "ravel in Fortran order": lambda a: a.ravel("F"), "mask": lambda a: a[np.array([True, False])],
    "integers": lambda a: a[[1, 0, 1]], "grid": lambda a: a[np.ix_([0, 1], [2, 0])], "empty list": lambda a: a[[]],
    "positive": lambda a: +a, "astype": lambda a: a.astype(float), "diagonal of a copy": lambda a: a[:, :2].copy(),
    "np.array of a list": lambda a: contad.array(a) if isinstance(a, Array) else np.array(a),
}  # fmt: skip


def parts(z):
    return z if isinstance(z, list) else [z]


@pytest.mark.parametrize("name", VIEWS | COPIES)
@pytest.mark.parametrize("before", [False, True])
def test_views_alias_and_copies_do_not(name, before, kind, make):
    """Writes to the array are seen in its views, made before or after the first write, and the other way round."""
    move = (VIEWS | COPIES)[name]
    a = np.stack([MATRIX, -MATRIX], axis=-1)[..., 0] if kind == "view" else MATRIX.copy()
    x = make(MATRIX)
    if before:
        a[0, 0], x[0, 0] = 5.0, 5.0
    ours, theirs = parts(move(x)), parts(move(a))
    for z, w in zip(ours, theirs, strict=True):
        assert np.array_equal(value(z), w)
    a[1], x[1] = [7.0, 8.0, 9.0], [7.0, 8.0, 9.0]
    for z, w in zip(ours, theirs, strict=True):
        assert np.array_equal(value(z), w)
    for z, w in zip(ours, theirs, strict=True):
        z[...] = 2.5
        w[...] = 2.5
    assert np.array_equal(value(x), a) and np.array_equal(contad.value_of_rec(x), a)


def test_is_view():
    a = np.arange(6.0).reshape(2, 3)
    for v in (a, a[1], a.T, a.reshape(-1), a[::-1][1:]):
        assert is_view(v, a)
    for v in (a.copy(), a[[0, 1]], a.T.reshape(-1), np.zeros(3)):
        assert not is_view(v, a)
    part = a[1:]
    assert is_view(part[0], part) and not is_view(part.copy(), part)


def test_views_of_overwritten_arrays_keep_their_elements(make):
    """A name bound to another array does not follow."""
    x = make(MATRIX)
    v = x[0]
    x = x * 2.0
    x[0] = 1.0
    assert np.array_equal(value(v), MATRIX[0])


# ---- protocols -------------------------------------------------------------------------------------------------------
def test_conversions_that_would_lose_the_derivative_are_refused(make):
    x = make(MATRIX)
    for convert in (np.asarray, np.array, lambda x: np.asarray(x, dtype=float), np.ascontiguousarray, float):
        with refused(LostDerivativeError):
            convert(x)
    with refused(LostDerivativeError, match="is a plain array, whose elements cannot hold variables"):
        np.zeros((2, 3))[...] = x
    with refused(ValueError, match="with a sequence") as info:  # which the end of a gradient call takes back
        np.zeros(6)[0] = x[0, 0]
    assert isinstance(info.value.__cause__, LostDerivativeError)


def test_arrays_are_no_indices_and_no_keys(make):
    x = make(np.array([1.0, 0.0]))
    with pytest.raises(TypeError, match="real numbers, which cannot index"):
        [1, 2][x]
    for key in (x, (x,), (x, 0), x[0]):
        with pytest.raises(TypeError, match="real numbers, which cannot index"):
            x[key]
        with pytest.raises(TypeError, match="real numbers, which cannot index"):
            x[key] = 1.0
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError):
        {x: 1}


def test_arrays_are_not_pickled(make):
    with refused(UnsupportedError, match=r"pickle: an .* belongs to a stack of this process"):
        pickle.dumps(make(MATRIX))


def test_comparisons_are_plain(make):
    x, y = make(MATRIX), make(MATRIX[::-1].copy())
    for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        for other, plain in ((y, MATRIX[::-1]), (0.7, 0.7), (MATRIX[0], MATRIX[0])):
            found = getattr(x, compare)(other)
            assert type(found) is np.ndarray and found.dtype == bool
            assert np.array_equal(found, getattr(MATRIX, compare)(plain))
    assert np.array_equal(x > 0.5, MATRIX > 0.5) and np.array_equal(MATRIX[0] >= x, MATRIX[0] >= MATRIX)
    assert np.array_equal(np.less(MATRIX, x), np.zeros((2, 3), bool))
    assert 0.7 in x and 0.8 not in x


def test_truth_values_are_those_of_ndarrays(make):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(make(MATRIX))
    assert not make(np.array([0.0])) and make(np.array([[0.1]]))


def test_iteration_reads_elements_when_it_gets_there(make):
    a, x = MATRIX[0].copy(), make(MATRIX[0].copy())
    seen = [], []
    for array, found in ((a, seen[0]), (x, seen[1])):
        for k, v in enumerate(array):
            found.append(value(v))
            array[(k + 1) % 3] = 4.0 + k
    assert np.array_equal(*seen) and np.array_equal(value(x), a)
    first, *rest = make(MATRIX)
    assert np.array_equal(value(first), MATRIX[0]) and len(rest) == 1


def test_tolist_has_numbers_in_nested_lists(make):
    x = make(MATRIX)
    nested = x.tolist()
    assert [len(row) for row in nested] == [3, 3]
    assert all(isinstance(v, Number) for row in nested for v in row)
    assert np.array_equal(value(nested), MATRIX)


def test_astype(make):
    x = make(MATRIX)
    assert np.array_equal(x.astype(int), MATRIX.astype(int)) and x.astype(int).dtype == int
    assert np.array_equal(x.astype(bool), MATRIX.astype(bool)) and x.astype(object).dtype == object
    assert isinstance(x.astype(np.float64), Array)
    assert isinstance(x.astype(complex), ComplexArray)
    for dtype in (np.float32, np.complex64, str):
        with refused(UnsupportedError, match="astype: dtype must be float64"):
            x.astype(dtype)


def test_fill_and_in_place_operators(make):
    def changed(array):
        array += 1.0
        array *= array
        array -= MATRIX
        array /= 2.0
        array **= 2
        array %= 0.7
        array //= 0.1
        return array

    a, x = MATRIX.copy(), make(MATRIX)
    changed(a)
    alias = changed(x)
    assert alias is x
    np.testing.assert_allclose(value(x), a)
    x.fill(3)
    assert np.array_equal(value(alias), np.full((2, 3), 3.0))
    with pytest.raises(ValueError, match="shape"):
        x += np.ones((4, 2, 3))


def test_products_in_place_are_in_place(make):
    a, x = MATRIX[:, :2].copy(), make(MATRIX[:, :2].copy())
    alias = x
    a @= np.array([[1.0, 2.0], [3.0, 4.0]])
    x @= np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(value(x), a)
    assert np.array_equal(value(alias), value(x))


def test_flat_is_indexed_and_assigned_to(make):
    a, x = MATRIX.copy(), make(MATRIX)
    for array in (a, x):
        assert value(array.T.flat[1]) == MATRIX[1, 0]
        array.flat[2] = 5.0
        array.T.flat[:2] = [6.0, 7.0]
    assert np.array_equal(value(x), a)


def test_read_only_views_are_not_written(make):
    a, x = MATRIX.copy(), make(MATRIX)
    for view in (np.broadcast_to(x, (4, 2, 3)), np.diagonal(x)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1.0
    assert np.array_equal(value(x), a) and np.array_equal(value(x * 1.0), a)


def test_printing(make):
    shown = repr(make(MATRIX))
    assert shown.startswith("Array") and "0.3" in shown and "-1.3" in shown
    assert str(make(MATRIX)) == repr(make(MATRIX)) or "index=" in shown


def test_values_are_copies(make):
    x = make(MATRIX)
    copied = x.value
    copied[0] = 99.0
    assert np.array_equal(contad.value_of_rec(x), MATRIX)
    lowest = contad.value_of_rec(x)
    lowest[0] = 99.0
    assert np.array_equal(contad.value_of_rec(x), MATRIX)


# ---- parts -----------------------------------------------------------------------------------------------------------
def test_plain_keys_are_copies():
    mask = np.array([True, False])
    key = plain_key((mask, slice(1), None, [0, 1]))
    mask[1] = True
    assert np.array_equal(key[0], [True, False]) and key[1:3] == (slice(1), None) and plain_key([]).dtype == np.intp
    assert plain_key(3) == 3


def test_a_view_keeps_the_index_it_was_made_with(make):
    x = make(MATRIX)
    rows = np.array([1, 0])
    picked = x[rows]
    rows[:] = 0
    x[0] = 5.0
    assert np.array_equal(value(picked), MATRIX[[1, 0]])


def test_constants_are_plain_and_variables_are_not():
    assert is_plain(1.0) and is_plain(2) and is_plain(np.float64(1.0))
    assert is_plain(MATRIX) and not is_plain(np.array([1.0], dtype=object))
    with opened(MatrixStack):
        x = contad.var(MATRIX)
        assert not is_plain(x) and not is_plain(x[0, 0])


def test_levels_and_numbers():
    with opened(MatrixStack) as outer, opened(MatrixStack) as inner:
        x, y = outer.array_variable(MATRIX), inner.array_variable(MATRIX)
        assert level_of(x) == level_of(x[0, 0]) == outer.level < inner.level == level_of(y)
        assert level_of(1.0) == level_of(MATRIX) == -1
        assert len(numbers_in([x, 1.0, (y[0, 0], [x[0]]), MATRIX])) == 3
        assert len(numbers_in(np.array([x[0, 0], 1.0], dtype=object))) == 1
        require_no_inner(x, outer.level)
        with refused(NestingError, match="array variable of an inner level"):
            require_no_inner(y, outer.level)


def test_objects(make):
    x = make(MATRIX)
    for objects in (elements_of(x), as_objects(x)):
        assert objects.shape == (2, 3) and all(isinstance(v, Number) for v in objects.flat)
        assert np.array_equal(value(objects.tolist()), MATRIX)
    assert as_objects(x[0, 0]).shape == () and as_objects(2.0).dtype == object


# ---- random views and assignments on all kinds -----------------------------------------------------------------------
@st.composite
def chains(draw):
    """A shape, indices that make views of views, and an index to write at."""
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    a = np.zeros(shape)
    keys = []
    for _ in range(draw(st.integers(0, 3))):
        key = draw(arrays.basic_indices(a.shape, allow_newaxis=True, allow_ellipsis=True))
        if not isinstance(a[key], np.ndarray):
            break
        keys.append(key)
        a = a[key]
    indices = [arrays.basic_indices(a.shape), arrays.arrays(bool, a.shape)]
    if a.ndim and a.size:
        indices.append(arrays.integer_array_indices(a.shape, result_shape=arrays.array_shapes(max_dims=2, max_side=3)))
    return shape, keys, draw(st.one_of(indices))


@given(chains(), st.integers(0, 3))
def test_random_chains_of_views_follow_numpy(chain, writes_before):
    shape, keys, last = chain
    p = np.linspace(-1.0, 2.0, int(np.prod(shape))).reshape(shape)
    directions = np.stack([np.sin(np.arange(p.size)).reshape(shape), np.ones(shape)])
    with forward_level(2) as level, opened(MatrixStack) as s:
        plain, reverse, dual = p.copy(), s.array_variable(p), level.make_active(p, directions)
        cells = np.arange(reverse.index, reverse.index + p.size).reshape(shape) if p.size else np.zeros(shape, int)
        tangents = directions.copy()
        views = [[plain, reverse, dual, cells, [*tangents]]]
        for k, key in enumerate(keys):
            if k == writes_before:
                plain.flat[:1] = 9.0
                cells.flat[:1] = 0
                tangents.reshape(2, -1)[:, :1] = 0.0
                for x in (reverse, dual):
                    x.reshape(-1)[:1] = 9.0
            views.append([*(x[key] for x in views[-1][:4]), [t[key] for t in views[-1][4]]])
        a, v, d, c, t = views[-1]
        a[last] = a[last] * 1.0
        v[last] = v[last]  # moves cells onto themselves
        d[last] = d[last]
        a[last] = 0.5
        v[last] = 0.5
        d[last] = 0.5
        c[last] = 0
        for own in t:
            own[last] = 0.0
        for a, v, d, c, t in views:
            assert np.array_equal(v.value, a) and np.array_equal(v.cells(), c) and np.array_equal(d.value, a)
            assert np.array_equal(d.tangent, np.stack(t))


@pytest.mark.parametrize("f", [
    lambda y: np.where(y > 0.35, 0.9, y), lambda y: np.concatenate([np.ones(1), y])[:2],
    lambda y: np.clip(y, 0.35, 1.0), lambda y: np.where(y > 0.35, y, np.sin(y)),
])  # fmt: skip
def test_functions_of_overwritten_arrays_take_variables(f):
    """Forward over reverse: what holds constants of the inner level, whose values are duals of the outer one."""

    def g(x):
        y = x * 1.0
        y[...] = np.array([0.3, 0.4])
        a = f(y)
        a[0] = x[0] * x[1]
        return np.sum(a * x)

    x, v = np.array([1.5, 2.0]), np.array([0.7, -0.2])
    found = contad.jvp(contad.grad(g), (x,), (v,))[1]
    # d/dx of (2 x0 x1, x0^2 + a1)
    np.testing.assert_allclose(found, [2.0 * (x[1] * v[0] + x[0] * v[1]), 2.0 * x[0] * v[0]], rtol=1e-12)
