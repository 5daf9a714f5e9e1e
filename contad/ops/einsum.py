"""np.einsum: products of two operands at a time, each one record."""

import functools
import math
import string

import numpy as np

from contad.ops.cotangents import all_finite, plain, scale
from contad.ops.products import as_array
from contad.ops.shape import refuse_given
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.array import Array
from contad.variables.dtypes import COMPLEX

SMALL = 4096  # products of numbers


# ---- the primitive ---------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    linear=("a", "b"),
    points=[
        ([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]], {"subscripts": "ij,jk->ki"}),
        ([1.3, -0.7], [0.4, 1.9], {"subscripts": "i,i->"}),
        ([1.3, -0.7], [0.4, 1.9, 0.3], {"subscripts": "i,j->ji"}),
    ],
)
def einsum_pair(a, b, *, subscripts, optimize=False):
    """Sum of products of the elements of two arrays, by np.einsum's subscripts.

        z = sum a b,     z_dot = sum a_dot b + sum a b_dot,     a_bar = sum z_bar b,     b_bar = sum z_bar a

    Shapes:  given by the subscripts, with an explicit result: no label twice in one term, and each label of a term in
             another term too.
    Domain:  a zero of z_bar masks infinite elements of the other factor.
    Cost:    the product of the lengths of all labels forward, twice that in reverse; saves nothing.

    >>> einsum_pair(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.5]), subscripts="ij,j->i")
    array([2., 5.])
    """
    return np.einsum(subscripts, a, b, optimize=optimize)


@einsum_pair.vjp("a")
def einsum_pair_vjp_a(z, z_bar, a, b, *, subscripts, optimize=False):
    return einsum_cotangent(z_bar, b, subscripts, 0)


@einsum_pair.vjp("b")
def einsum_pair_vjp_b(z, z_bar, a, b, *, subscripts, optimize=False):
    return einsum_cotangent(z_bar, a, subscripts, 1)


def einsum_cotangent(z_bar, p, subscripts, k):
    """The cotangent of operand k of `einsum_pair`, where p is the other one; zeros of z_bar mask."""
    terms, _, result = subscripts.partition("->")
    pair = terms.split(",")
    over = f"{result},{pair[1 - k]}->{pair[k]}"
    z_bar = as_array(z_bar)
    lengths = dict(zip(result + pair[1 - k], (*np.shape(z_bar), *np.shape(p)), strict=True))
    # finding a way to use BLAS takes longer than a small product
    found = einsum_pair(z_bar, p, subscripts=over, optimize=math.prod(lengths.values()) > SMALL)
    if all_finite(found) or np.isfinite(plain(p)).all() or np.all(plain(z_bar) != 0.0):
        return found
    labels = pair[k] + "".join(label for label in result + pair[1 - k] if label not in pair[k])
    labels = "".join(dict.fromkeys(labels))
    products = scale(_align(z_bar, result, labels), _align(p, pair[1 - k], labels))
    return np.sum(products, axis=tuple(range(len(pair[k]), len(labels))))


def _align(x, term, labels):
    """x with its axes in the order of the labels, and axes of length 1 for missing labels."""
    order = sorted(range(len(term)), key=lambda i: labels.index(term[i]))
    lengths = dict(zip(term, np.shape(x), strict=True))
    return np.reshape(np.transpose(x, order), [lengths.get(label, 1) for label in labels])


# ---- NumPy's function ------------------------------------------------------------------------------------------------
@implements(np.einsum, layout="asked on corners")
def einsum(*operands, optimize=False, **options):
    """Sums of products of the elements of any number of arrays; with three or more, two at a time."""
    refuse_given(np.einsum, **options)
    terms, result, arrays = _parse(operands)
    if len(arrays) == 1 and set(terms[0]) == set(result) and isinstance(arrays[0], Array):
        _without_repeats(arrays[0], terms[0], [], result)  # checks the lengths
        return arrays[0]._move(lambda a: np.einsum(f"{terms[0]}->{result}", a))  # a view
    for simpler in (_without_repeats, _without_ones, _without_own):
        for k, x in enumerate(arrays):
            arrays[k], terms[k] = simpler(x, terms[k], terms[:k] + terms[k + 1 :], result)
    several = len(arrays) > 2  # NumPy does not define the order of addition then
    for group in _path(arrays, terms, result, optimize):
        chosen = [(arrays[k], terms[k]) for k in group]
        for k in sorted(group, reverse=True):
            del arrays[k], terms[k]
        x, term = chosen[0]
        for n, (y, other) in enumerate(chosen[1:], 2):
            wanted = "".join(dict.fromkeys(result + "".join(terms) + "".join(t for _, t in chosen[n:])))
            x, term = _multiply(x, term, y, other, wanted, bool(optimize), several)
        arrays.append(x)
        terms.append(term)
    return _finish(arrays[0], terms[0], result)


def _path(arrays, terms, result, optimize):
    """The operands to multiply, in order: groups of positions; each product is appended at the end."""
    if len(arrays) <= 2:
        return [tuple(range(len(arrays)))]
    labels = "".join(label for label in result if label in "".join(terms))
    subscripts = ",".join(terms) + "->" + labels
    shapes = tuple(map(np.shape, arrays))
    if optimize.__class__ is bool or optimize.__class__ is str:
        return _path_of(subscripts, shapes, optimize or "greedy")
    return _path_of.__wrapped__(subscripts, shapes, optimize)


@functools.lru_cache(maxsize=1024)
def _path_of(subscripts, shapes, optimize):
    """np.einsum_path for arrays of these shapes, cached because it takes longer than small products."""
    arrays = [np.broadcast_to(0.0, shape) for shape in shapes]
    return np.einsum_path(subscripts, *arrays, optimize=optimize)[0][1:]


def _multiply(x, term, y, other, wanted, optimize, several):
    """The product of two operands, summed over the labels that no other term needs, and its term."""
    if not term or not other:
        return x * y, term + other
    kept = "".join(label for label in wanted if label in term or label in other)
    short = len(term) <= 2 and len(other) <= 2 and len(set(term + other)) == len(term + other) - 1
    if several and short:
        for (a, left), (b, right) in (((x, term), (y, other)), ((y, other), (x, term))):
            if left[-1] == right[0] and kept == left[:-1] + right[1:]:
                return a @ b, kept
    return einsum_pair(x, y, subscripts=f"{term},{other}->{kept}", optimize=optimize), kept


def _finish(x, term, result):
    """The product with its axes in the order of the result."""
    order = [term.index(label) for label in result if label in term]
    if order != sorted(order):
        x = np.transpose(x, order)
    if len(term) == len(result):
        return x
    lengths = dict(zip((label for label in result if label in term), np.shape(x), strict=True))
    return np.reshape(x, [lengths.get(label, 1) for label in result])


def _parse(operands):
    """Terms, result and arrays, with the ellipsis spelt out as labels."""
    if isinstance(operands[0], str):
        text, *arrays = operands
        arrays = [as_array(x) for x in arrays]
        terms, arrow, result = text.replace(" ", "").partition("->")
        terms = terms.split(",")
    else:  # alternating operands and lists of integers
        arrays = [as_array(x) for x in operands[0 : len(operands) - len(operands) % 2 : 2]]
        terms = [_spelt(labels) for labels in operands[1::2]]
        arrow, result = ("->", _spelt(operands[-1])) if len(operands) % 2 else ("", "")
    if len(terms) != len(arrays):
        raise ValueError(f"np.einsum: expected {len(terms)} operand(s) for {','.join(terms)!r}, got {len(arrays)}")
    free = [label for label in string.ascii_letters if label not in "".join(terms) + result][::-1]
    extra = [
        np.ndim(x) - len(term.replace("...", "")) if "..." in term else 0 for x, term in zip(arrays, terms, strict=True)
    ]
    dots = "".join(free[: max(extra, default=0)])
    terms = [term.replace("...", dots[len(dots) - n :] if n else "") for term, n in zip(terms, extra, strict=True)]
    if arrow:
        result = result.replace("...", dots)
    else:
        every = "".join(terms)
        result = dots + "".join(sorted(x for x in set(every) if every.count(x) == 1 and x not in dots))
    for x, term in zip(arrays, terms, strict=True):
        if np.ndim(x) != len(term):
            raise ValueError(
                f"np.einsum: the operand of {term!r} must have {len(term)} dimension(s), got shape {np.shape(x)}"
            )
    unknown = [label for label in result if label not in "".join(terms)]
    if unknown or len(set(result)) != len(result):
        raise ValueError(f"np.einsum: the labels of the result must be labels of operands, each once, got {result!r}")
    return terms, result, arrays


def _spelt(labels):
    return "".join("..." if label is Ellipsis else string.ascii_letters[label] for label in labels)


def _without_repeats(x, term, others, result):
    """The diagonal, if a label is repeated."""
    while len(set(term)) < len(term):
        first = next(k for k, label in enumerate(term) if label in term[k + 1 :])
        label, second = term[first], term.index(term[first], first + 1)
        if x.shape[first] != x.shape[second]:
            raise ValueError(f"np.einsum: the axes of the repeated label {label!r} must be equal, got shape {x.shape}")
        x = np.diagonal(x, 0, first, second)
        term = term[:first] + term[first + 1 : second] + term[second + 1 :] + label
    return x, term


def _without_ones(x, term, others, result):
    """An operand without the axes of length 1 that broadcast against those of another."""
    ones = tuple(k for k, label in enumerate(term) if x.shape[k] == 1 and any(label in t for t in others))
    if not ones:
        return x, term
    return np.squeeze(x, ones), "".join(label for k, label in enumerate(term) if k not in ones)


def _without_own(x, term, others, result):
    """Sums over the labels that occur neither in another term nor in the result."""
    own = tuple(k for k, label in enumerate(term) if label not in result and not any(label in t for t in others))
    if not own:
        return x, term
    return np.sum(x, axis=own), "".join(label for k, label in enumerate(term) if k not in own)
