"""Calls that move elements, with the arguments that NumPy users give, and their inputs."""

import numpy as np

from tests.ops.plain_calls import accepted, split_calls

RNG = np.random.default_rng(5)
VALUES = RNG.permutation(np.arange(1.0, 200.0))
MASK = np.array([True, False, True, True])


def inputs(order="C"):
    """Plain arrays: v (4,), m (3, 4), t (2, 3, 4), q (3, 3), and constants c (3, 4), d (4,)."""
    shapes = [(4,), (3, 4), (2, 3, 4), (3, 3)]
    ends = np.cumsum([np.prod(s) for s in shapes])
    parts = [np.array(VALUES[e - np.prod(s) : e].reshape(s), order=order) for s, e in zip(shapes, ends, strict=True)]
    constants = [-np.arange(12.0).reshape(3, 4), -np.arange(4.0)]
    return [*parts, *constants]


# calls with the arguments that NumPy users give
CALLS = split_calls("""
np.reshape(m, 12); np.reshape(m, (2, -1), order="F"); np.reshape(t, shape=(4, 6)); np.reshape(t, (4, 6), copy=True)
np.reshape(m.T, (6, 2)); np.ravel(m); np.ravel(t, order="F"); np.transpose(m); np.transpose(t, (1, 2, 0))
np.transpose(t, axes=(2, 0, 1)); np.moveaxis(t, 0, -1); np.moveaxis(t, source=[0, 1], destination=[-1, 0])
np.rollaxis(t, 2); np.rollaxis(t, 0, start=2); np.swapaxes(t, 0, 2); np.swapaxes(t, axis1=1, axis2=-1)
np.squeeze(m[:, None, :, None]); np.squeeze(m[:, None, :, None], axis=1); np.expand_dims(m, 1)
np.expand_dims(v, axis=(0, 2)); np.matrix_transpose(t); np.linalg.matrix_transpose(t); np.broadcast_to(v, (3, 4))
np.broadcast_to(m[:, :1], shape=(2, 3, 5)); np.broadcast_arrays(v, m, t); np.broadcast_arrays(c, v, -2.0)
np.tile(v, 3); np.tile(m, (2, 1, 2)); np.repeat(m, 2); np.repeat(m, [1, 0, 3], axis=0); np.repeat(m, 2, 1)
np.roll(v, 1); np.roll(m, (1, -2), axis=(0, 1)); np.roll(m, 2, 1); np.rot90(m); np.rot90(t, k=3, axes=(1, 2))
np.flip(t); np.flip(m, 1); np.flip(t, axis=(0, 2)); np.fliplr(m); np.flipud(m); np.take(m, [5, 0, 5])
np.take(m, [[3, 0], [1, 1]], axis=1); np.take(v, 2); np.take(v, [5, -7], mode="wrap"); np.take(m, 1, 0)
np.take_along_axis(m, np.array([[2, 0], [1, 1], [0, 3]]), 1); np.take_along_axis(m, np.array([7, 7, 1]), axis=None)
np.diag(v); np.diag(v, k=-1); np.diag(m, 1); np.diagflat(m, 1); np.diagonal(m)
np.diagonal(t, offset=1, axis1=1, axis2=2); np.diagonal(t, -1, 2, 1); np.linalg.diagonal(t, offset=1); np.tril(t)
np.tril(m, k=-1); np.triu(t); np.triu(m, 1); np.delete(m, 1, axis=0); np.delete(v, [0, 2]); np.resize(m, (5, 3))
np.resize(v, new_shape=3); np.copy(m); np.copy(m, order="F"); np.compress(MASK, m, axis=1)
np.compress([0, 1, 1], m, 0); np.compress(m.ravel() > 20.0, m); np.extract(m > 50.0, m); np.extract(c < -3.0, m)
np.choose([0, 2, 1, 0], [v, m[1], d]); np.choose([0, 4, 1, -1], choices=(v, d), mode="wrap"); np.append(m, v)
np.append(m, c, axis=0); np.append(v, [m[0, 0], -3.0]); np.insert(v, 1, -5.0); np.insert(m, [0, 2], v, axis=0)
np.insert(np.array([-1.0, -2.0, -3.0, -4.0]), 2, v); np.insert(v, slice(None, None, 2), m[0, 0]); np.pad(m, 1)
np.pad(m, ((1, 2), (0, 1)), "constant", constant_values=-3.0); np.pad(m, 2, constant_values=v[1])
np.pad(m, 1, mode="constant", constant_values=((v[0], -2.0), (-1.0, v[3]))); np.pad(m, (2, 3), "edge")
np.pad(m, 5, mode="wrap"); np.pad(m, 2, mode="reflect", reflect_type="even"); np.pad(m, (1, 0), mode="symmetric")
np.where(c < -5.0, m, v); np.where(m > 60.0, m, c); np.where(m > 100.0, -1, m[0, 0]); np.where(v > 60.0, v[1], t)
np.concatenate([m, c, m]); np.concatenate((m, q), axis=1); np.concatenate([m, d], axis=None)
np.concatenate([c[0], v], 0); np.concatenate(m); np.stack([v, d, v]); np.stack((m, c), axis=-1)
np.stack([m[0], v], 1); np.stack(arrays=t, axis=1); np.vstack([v, m, d]); np.vstack(tup=(m, c))
np.hstack([v, d, m[0, 0]]); np.hstack(tup=(m, c)); np.dstack([m, c]); np.dstack((v, d)); np.column_stack([v, d, m.T])
np.block([[q, m], [m, q[:, ::-1]]]); np.block([v, -1.0, v[2]]); np.array_split(v, 3)
np.array_split(m, [1, 3], axis=1); np.array_split(v, 6); np.array_split(v, [-1, 2, 9], 0); np.split(v, 2)
np.split(m, [2], axis=-1); np.split(t, indices_or_sections=3, axis=1); np.hsplit(m, 2); np.hsplit(v, [1])
np.vsplit(m, 3); np.dsplit(t, [1, 2]); np.atleast_1d(v); np.atleast_1d(m, -2.0, d); np.atleast_2d(v)
np.atleast_2d(t, v, d); np.atleast_3d(v); np.atleast_3d(m, t, d); np.meshgrid(v, m[0, :3])
np.meshgrid(v, d[:2], m[:, 0], indexing="ij"); np.meshgrid(v, d[:2], m[:, 0], sparse=True)
np.meshgrid(v, d[:3], copy=False); np.meshgrid(v); np.fft.fftshift(m); np.fft.ifftshift(t, axes=(1, 2))
np.apply_along_axis(lambda x: x[::-1], 0, m); np.apply_along_axis(lambda x, k: x[k], axis=1, arr=t, k=2)
np.apply_along_axis(lambda x: np.stack([x[:2], x[1:3]]), 1, t); np.astype(m, float); np.unstack(m)
np.unstack(t, axis=2)
""")
NEWER = {"np.reshape(t, shape=(4, 6))", "np.reshape(t, (4, 6), copy=True)"}  # NumPy 2.1, as these two functions:
EVERY = [call for call in CALLS if hasattr(np, "unstack") or not call.startswith(("np.unst", "np.ast"))]


def evaluate(call, arrays):
    names = dict(zip("vmtqcd", arrays, strict=True))
    return eval(call, {"np": np, "MASK": MASK} | names)


CALLS = accepted(EVERY, lambda call: evaluate(call, inputs()))
