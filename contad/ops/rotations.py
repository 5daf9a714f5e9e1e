"""Rotations of space as unit quaternions (x, y, z, w), (4,) or (n, 4), and conversions from and to other forms."""

import numpy as np

from contad.ops.products import as_array
from contad.variables.number import observe


def normalise(q):
    """Quaternions of length 1."""
    return q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))


def parts(q):
    """The components of the last axis."""
    return [q[..., k] for k in range(np.shape(q)[-1])]


def multiply(p, q):
    """The rotation q, and then p."""
    a, b, c, d = parts(p)
    x, y, z, w = parts(q)
    return np.stack(
        [
            d * x + a * w + b * z - c * y,
            d * y - a * z + b * w + c * x,
            d * z + a * y - b * x + c * w,
            d * w - a * x - b * y - c * z,
        ],
        axis=-1,
    )


def conjugate(q):
    """The inverse rotations."""
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


# ---- matrices --------------------------------------------------------------------------------------------------------
def matrices_of(q):
    """The matrices (..., 3, 3)."""
    x, y, z, w = parts(q)
    rows = [
        [x * x - y * y - z * z + w * w, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrices(m):
    """Quaternions of matrices by the largest of the four squares, like Markley (2008), which avoids small
    differences."""
    m = as_array(m)
    d = [m[..., k, k] for k in range(3)]
    trace = d[0] + d[1] + d[2]
    choice = np.argmax(np.stack([*(observe(np.asarray, x) for x in d), observe(np.asarray, trace)], axis=-1), axis=-1)
    found = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        q = [None] * 4
        q[i] = 1.0 - trace + 2.0 * d[i]
        q[j] = m[..., j, i] + m[..., i, j]
        q[k] = m[..., k, i] + m[..., i, k]
        q[3] = m[..., k, j] - m[..., j, k]
        found.append(np.stack(q, axis=-1))
    turns = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1.0 + trace]
    found.append(np.stack(turns, axis=-1))
    q = found[3]
    for k in range(3):
        q = np.where((choice == k)[..., None], found[k], q)
    return normalise(q)


# ---- vectors ---------------------------------------------------------------------------------------------------------
_SMALL = 1e-3  # below it, the ratio of a sine and its angle is a series


def from_vectors(v):
    """Quaternions of vectors along the axis, as long as the angle; smooth at 0."""
    squares = np.sum(v * v, axis=-1, keepdims=True)
    small = observe(np.less, squares, _SMALL * _SMALL)
    angle = np.sqrt(np.where(small, 1.0, squares))
    near = 0.5 - squares / 48.0 + squares * squares / 3840.0
    factor = np.where(small, near, np.sin(0.5 * angle) / angle)
    cosine = np.where(small, 1.0 - squares / 8.0 + squares * squares / 384.0, np.cos(0.5 * angle))
    return np.concatenate([factor * v, cosine], axis=-1)


def vectors_of(q):
    """Vectors along the axis, as long as the angle, which is at most pi."""
    q = canonical(q)
    v, w = q[..., :3], q[..., 3:]
    squares = np.sum(v * v, axis=-1, keepdims=True)
    small = observe(np.less, squares, 0.25 * _SMALL * _SMALL)
    length = np.sqrt(np.where(small, 1.0, squares))
    half = np.where(small, squares / (w * w), 0.0)  # tan^2 of half of a small angle
    near = (2.0 - 2.0 * half / 3.0 + 0.4 * half * half) / w
    return np.where(small, near, 2.0 * np.arctan2(length, w) / length) * v


def canonical(q):
    """The quaternion of each rotation with w >= 0; if w is 0, the one whose first nonzero part is positive."""
    value = observe(np.asarray, q)
    x, y, z, w = (value[..., k] for k in range(4))
    turned = (w < 0.0) | ((w == 0.0) & ((x < 0.0) | ((x == 0.0) & ((y < 0.0) | ((y == 0.0) & (z < 0.0))))))
    return q * np.where(turned, -1.0, 1.0)[..., None]


def angles_of(q):
    """The angles of the rotations, from 0 to pi."""
    v = q[..., :3]
    squares = np.sum(v * v, axis=-1)
    none = observe(np.equal, squares, 0.0)
    length = np.where(none, 0.0, np.sqrt(np.where(none, 1.0, squares)))
    return 2.0 * np.arctan2(length, np.abs(q[..., 3]))


def from_modified_parameters(p):
    """Quaternions of modified Rodrigues parameters, the axis times tan(angle / 4)."""
    squares = np.sum(p * p, axis=-1, keepdims=True)
    return np.concatenate([2.0 * p, 1.0 - squares], axis=-1) / (1.0 + squares)


def modified_parameters_of(q):
    """Modified Rodrigues parameters, of length at most 1."""
    q = canonical(q)
    return q[..., :3] / (1.0 + q[..., 3:])


# ---- angles about axes -----------------------------------------------------------------------------------------------
def about_axis(k, angle):
    """Quaternions of rotations about an axis."""
    zero = 0.0 * angle
    turn = [zero, zero, zero, np.cos(0.5 * angle)]
    turn[k] = np.sin(0.5 * angle)
    return np.stack(turn, axis=-1)


def from_angles(axes, angles, extrinsic):
    """Quaternions of successive rotations about axes, (..., len(axes)), which are fixed or rotate with the body."""
    q = about_axis(axes[0], angles[..., 0])
    for n in range(1, len(axes)):
        turn = about_axis(axes[n], angles[..., n])
        q = multiply(turn, q) if extrinsic else multiply(q, turn)
    return q


def angles_about(q, axes, extrinsic):
    """The three angles of successive rotations about axes, (..., 3), and a mask where they are not determined.

    Ref: Bernardes and Viollet, Quaternion to Euler angles conversion, PLoS ONE 17(11), 2022.
    """
    i, j, k = axes if extrinsic else axes[::-1]
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    x = parts(q)
    w = x[3]
    if symmetric:
        a, b, c, d = w, x[i], x[j], x[k] * sign
    else:
        a, b, c, d = w - x[j], x[i] + x[k] * sign, x[j] + w, x[k] * sign - x[i]
    middle = 2.0 * np.arctan2(_length(c, d), _length(a, b))
    value = observe(np.asarray, middle)
    none, half = np.abs(value) <= 1e-7, np.abs(value - np.pi) <= 1e-7
    locked = none | half  # only the sum or the difference of the outer angles is determined
    plus, minus = _angle(b, a, half), _angle(d, c, none)
    alone = np.where(none, 2.0 * plus, (-2.0 if extrinsic else 2.0) * minus)
    outer = (plus - minus, plus + minus) if extrinsic else (plus + minus, plus - minus)
    first, last = np.where(locked, alone, outer[0]), np.where(locked, 0.0, outer[1])
    if not symmetric:
        first, last = (first, last * sign) if extrinsic else (first * sign, last)
        middle = middle - np.pi / 2.0
    return np.stack([_in_circle(first), middle, _in_circle(last)], axis=-1), locked


def _length(a, b):
    squares = a * a + b * b
    none = observe(np.equal, squares, 0.0)
    return np.where(none, 0.0, np.sqrt(np.where(none, 1.0, squares)))


def _angle(y, x, lost):
    """arctan2(y, x), and 0 without a derivative where both have lost their digits."""
    return np.where(lost, 0.0, np.arctan2(np.where(lost, 0.0, y), np.where(lost, 1.0, x)))


def _in_circle(angle):
    """Angles from -pi to pi."""
    value = observe(np.asarray, angle)
    return angle + np.where(value < -np.pi, 2.0 * np.pi, np.where(value > np.pi, -2.0 * np.pi, 0.0))
