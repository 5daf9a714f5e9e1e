"""`scipy.spatial.transform` on variables: rotations of space in all of SciPy's forms, single or stacked.

Arguments in every form may be variables, and results in every form are differentiable. If nothing is a variable, the
values are SciPy's up to rounding.

>>> import contad
>>> contad.grad(lambda v: Rotation.from_rotvec(v).apply([1.0, 0.0, 0.0])[1])(np.array([0.0, 0.0, 0.0]))
array([0., 0., 1.])
"""

import itertools
import re
import warnings
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import rotations as forms
from contad.ops._scipy import spatial_transform
from contad.ops.linear_systems import transposed_of
from contad.scipy.mirroring import as_one, refuse_missing
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue

__all__ = ["Rotation", "Slerp"]


def _check(name: str, x: ArrayValue, *shape: int) -> ArrayValue:
    """An argument as an array whose last axes have this shape."""
    x = as_one(x)
    if np.shape(x)[-len(shape) :] != shape or np.ndim(x) > len(shape) + 1:
        what = ", ".join(map(str, shape))
        raise ValueError(
            f"contad.scipy.spatial.transform.Rotation.{name}: expected shape ({what}) or (n, {what}), got {np.shape(x)}"
        )
    return x


class Rotation:
    """Rotations of space: one, or a stack of n. The `from_` methods make them; the `as_` methods are differentiable.

        R v = v + 2 w (u x v) + 2 u x (u x v),     q = (u, w) a quaternion of length 1,
        u = sin(angle / 2) axis, w = cos(angle / 2)

    Shapes:  quaternions (4,) or (n, 4), matrices (3, 3) or (n, 3, 3), vectors (3,) or (n, 3).
    Domain:  quaternions other than 0, matrices with a positive determinant.
    Raises:  ValueError for wrong shapes, quaternions that are 0 and matrices whose determinant is not positive.
    Cost:    O(n), and so is a sweep.
    Ref:     Bernardes & Viollet (2022), PLoS ONE 17, for angles about axes; scipy.spatial.transform.Rotation.

    >>> turn = Rotation.from_rotvec([0.0, 0.0, 0.5]) * Rotation.from_euler("x", 0.3)
    >>> turn.apply([0.0, 1.0, 0.0]).round(6)
    array([-0.458013,  0.838387,  0.29552 ])
    >>> turn.as_quat().round(6)
    array([0.144792, 0.036972, 0.244626, 0.958033])
    """

    def __init__(self, quat: ArrayValue, normalize: bool = True, copy: bool = True, scalar_first: bool = False) -> None:
        q = _check("from_quat", quat, 4)
        if scalar_first:
            q = np.concatenate([q[..., 1:], q[..., :1]], axis=-1)
        if normalize:
            if np.any(~np.any(np.asarray(observe(np.not_equal, q, 0.0)), axis=-1)):
                raise ValueError("Found zero norm quaternions in `quat`.")
            q = forms.normalise(q)
        self._q = q

    def __repr__(self) -> str:
        return f"contad.scipy.spatial.transform.Rotation.from_quat({self._q!r})"

    @property
    def single(self) -> bool:
        """Whether it is a single rotation."""
        return np.ndim(self._q) == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(np.shape(self._q)[0])

    def __getitem__(self, indexer: Any) -> "Rotation":
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self._q[indexer], normalize=False)

    # ---- forms ---------------------------------------------------------------------------------------------------
    @classmethod
    def from_quat(cls, quat: ArrayValue, *, scalar_first: bool = False) -> "Rotation":
        """Rotations from quaternions (x, y, z, w) of any length.

        >>> Rotation.from_quat([0.0, 0.0, 1.0, 1.0]).as_rotvec().round(6)
        array([0.      , 0.      , 1.570796])
        """
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_matrix(cls, matrix: ArrayValue, **options: Any) -> "Rotation":
        """Rotations from orthogonal matrices with determinant 1.

        A matrix that is not orthogonal to 1e-12 is replaced by the closest orthogonal matrix, as in SciPy.
        """
        m = _check("from_matrix", matrix, 3, 3)
        value = observe(np.asarray, m)
        if np.any(np.linalg.det(value) <= 0.0):
            raise ValueError("Non-positive determinant (left-handed or null coordinate frame) in rotation matrix")
        gram = np.matmul(value, np.swapaxes(value, -1, -2))
        if not options.get("assume_valid", False) and not np.allclose(gram, np.eye(3), rtol=0.0, atol=1e-12):
            u, _, vt = np.linalg.svd(m)
            m = np.matmul(u, vt)
        return cls(forms.from_matrices(m), normalize=False)

    @classmethod
    def from_rotvec(cls, rotvec: ArrayValue, degrees: bool = False) -> "Rotation":
        """Rotations from vectors along the axis, as long as the angle; smooth at 0."""
        v = _check("from_rotvec", rotvec, 3)
        return cls(forms.from_vectors(np.deg2rad(v) if degrees else v), normalize=False)

    @classmethod
    def from_mrp(cls, mrp: ArrayValue) -> "Rotation":
        """Rotations from modified Rodrigues parameters: the axis times tan(angle / 4)."""
        return cls(forms.from_modified_parameters(_check("from_mrp", mrp, 3)), normalize=False)

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayValue, degrees: bool = False) -> "Rotation":
        """Successive rotations about one, two or three axes: "xyz" about fixed axes, "XYZ" about axes that rotate as
        well.

        >>> Rotation.from_euler("z", 90.0, degrees=True).apply([1.0, 0.0, 0.0]).round(12)
        array([0., 1., 0.])
        """
        axes, extrinsic = _axes("from_euler", seq, 1)
        angles = np.deg2rad(as_one(angles)) if degrees else as_one(angles)
        n = len(axes)
        if n == 1 and (np.ndim(angles) == 0 or np.shape(angles)[-1:] != (1,)):
            angles = np.reshape(angles, (*np.shape(angles), 1))
        if np.ndim(angles) not in (1, 2) or np.shape(angles)[-1] != n:
            raise ValueError(
                f"contad.scipy.spatial.transform.Rotation.from_euler: expected {n} angle(s) for {seq!r}, got shape "
                f"{np.shape(angles)}"
            )
        return cls(forms.from_angles(axes, angles, extrinsic), normalize=False)

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> ArrayValue:
        """The quaternions (x, y, z, w), of length 1."""
        q = forms.canonical(self._q) if canonical else self._q
        return np.concatenate([q[..., 3:], q[..., :3]], axis=-1) if scalar_first else q

    def as_matrix(self) -> ArrayValue:
        """The matrices, (3, 3) or (n, 3, 3)."""
        return forms.matrices_of(self._q)

    def as_rotvec(self, degrees: bool = False) -> ArrayValue:
        """Vectors along the axis, as long as the angle, which is at most pi."""
        v = forms.vectors_of(self._q)
        return np.rad2deg(v) if degrees else v

    def as_mrp(self) -> ArrayValue:
        """The modified Rodrigues parameters."""
        return forms.modified_parameters_of(self._q)

    def as_euler(self, seq: str, degrees: bool = False, **options: Any) -> ArrayValue:
        """The angles of successive rotations about three axes; if they are not determined, the third is 0.

        In that case (gimbal lock) only their sum or difference has a derivative, and a warning says so, as in SciPy.
        """
        axes, extrinsic = _axes("as_euler", seq, 3)
        angles, locked = forms.angles_about(self._q, axes, extrinsic)
        if np.any(locked) and not options.get("suppress_warnings", False):
            warnings.warn(
                "Gimbal lock detected. Setting third angle to zero since it is not possible to uniquely determine all "
                "angles.",
                stacklevel=2,
            )
        return np.rad2deg(angles) if degrees else angles

    # ---- operations --------------------------------------------------------------------------------------------------
    def apply(self, vectors: ArrayValue, inverse: bool = False) -> ArrayValue:
        """Vectors (3,) or (n, 3), rotated.

        >>> Rotation.from_rotvec([0.0, 0.0, np.pi / 2]).apply([1.0, 0.0, 0.0]).round(12)
        array([0., 1., 0.])
        """
        v = _check("apply", vectors, 3)
        m = self.as_matrix()
        return np.sum((transposed_of(m) if inverse else m) * v[..., None, :], axis=-1)

    def __mul__(self, other: Any) -> "Rotation":
        """The rotation `other`, and then this one."""
        if not isinstance(other, Rotation):
            if not isinstance(other, spatial_transform().Rotation):
                return NotImplemented
            other = Rotation(other.as_quat(), normalize=False)
        return Rotation(forms.normalise(forms.multiply(self._q, other._q)), normalize=False)

    def __rmul__(self, other: Any) -> "Rotation":
        if not isinstance(other, spatial_transform().Rotation):
            return NotImplemented
        return Rotation(other.as_quat(), normalize=False) * self

    def __pow__(self, n: ArrayValue, modulus: None = None) -> "Rotation":
        """The rotation by n times the angle."""
        if modulus is not None:
            raise UnsupportedError("contad.scipy.spatial.transform.Rotation: pow takes no modulus")
        return Rotation.from_rotvec(n * self.as_rotvec())

    def inv(self) -> "Rotation":
        """The inverse rotations."""
        return Rotation(forms.conjugate(self._q), normalize=False)

    def magnitude(self) -> ArrayValue:
        """The angles, from 0 to pi."""
        return forms.angles_of(self._q)

    # ---- stacks --------------------------------------------------------------------------------------------------
    @classmethod
    def identity(cls, num: int | None = None) -> "Rotation":
        """The identity, or a stack of identities."""
        q = np.array([0.0, 0.0, 0.0, 1.0])
        return cls(q if num is None else np.tile(q, (num, 1)), normalize=False)

    @classmethod
    def concatenate(cls, rotations: Any) -> "Rotation":
        """Rotations and stacks as one stack."""
        given = [rotations] if isinstance(rotations, Rotation) else rotations
        return cls(np.concatenate([np.reshape(r.as_quat(), (-1, 4)) for r in given], axis=0), normalize=False)


def _axes(name: str, seq: str, least: int) -> tuple[list[int], bool]:
    what = f"contad.scipy.spatial.transform.Rotation.{name}"
    extrinsic = re.match(r"^[xyz]{1,3}$", seq) is not None
    if not extrinsic and re.match(r"^[XYZ]{1,3}$", seq) is None:
        raise ValueError(f"{what}: seq must be axes of 'xyz' or of 'XYZ', got {seq!r}")
    if len(seq) < least:
        raise ValueError(f"{what}: seq must have 3 axes, got {seq!r}")
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise ValueError(f"{what}: seq must not have one axis twice in a row, got {seq!r}")
    return ["xyz".index(c) for c in seq.lower()], extrinsic


class Slerp:
    """Interpolation of rotations at given times, rotating uniformly from one to the next.

        R(t) = R_i exp(s log(R_i^-1 R_(i+1))),     s = (t - t_i) / (t_(i+1) - t_i)

    Shapes:  times (n,), n rotations -> at times () or (m,): one rotation or m.
    Domain:  increasing times; evaluation between the first and the last.
    Raises:  ValueError if there are not as many times as rotations, and for times outside the domain.
    Cost:    O(log n) for each time.
    Ref:     Shoemake (1985), Computer Graphics 19; scipy.spatial.transform.Slerp.

    >>> turns = Slerp([0.0, 1.0], Rotation.from_rotvec([[0.3, 0.2, 0.0], [0.0, -0.4, 1.0]]))
    >>> turns(0.25).as_rotvec().round(6)
    array([0.230997, 0.05268 , 0.253296])
    """

    def __init__(self, times: ArrayValue, rotations: Any) -> None:
        if not isinstance(rotations, Rotation):
            rotations = Rotation(rotations.as_quat(), normalize=False)
        self.times = as_one(times)
        if rotations.single or len(rotations) < 2:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        if np.shape(self.times) != (len(rotations),):
            raise ValueError(
                f"Expected number of rotations to be equal to number of timestamps given, got {len(rotations)} "
                f"rotations and {np.size(self.times)} timestamps."
            )
        if np.any(np.diff(observe(np.asarray, self.times)) <= 0.0):
            raise ValueError("Times must be in strictly increasing order.")
        self.rotations = rotations[:-1]
        self.rotvecs = (self.rotations.inv() * rotations[1:]).as_rotvec()

    def __call__(self, times: ArrayValue) -> Rotation:
        """The rotations at times."""
        times = as_one(times)
        at = np.reshape(times, (-1,))
        value, known = observe(np.asarray, at), observe(np.asarray, self.times)
        if np.ndim(times) > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        if np.any((value < known[0]) | (value > known[-1])):
            raise ValueError(f"Interpolation times must be within the range [{known[0]}, {known[-1]}], both inclusive.")
        j = np.clip(np.searchsorted(known, value) - 1, 0, len(known) - 2)
        share = (at - self.times[j]) / (self.times[j + 1] - self.times[j])
        found = self.rotations[j] * Rotation.from_rotvec(self.rotvecs[j] * share[:, None])
        return found[0] if np.ndim(times) == 0 else found


def __getattr__(name: str) -> Any:
    refuse_missing(__name__, spatial_transform, name)
