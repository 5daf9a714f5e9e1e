"""Random programs of spectra whose values are close, equal or tiny, in functions that do not depend on the vectors.

A program is a sum of weighted functions of matrices: by eigenvalues and eigenvectors, by singular values and vectors,
norms, pseudoinverses or least squares. The matrices are linear in the arguments, and some are tiny beside their slopes.
Others are the identity beside a matrix of rank one, or beside one that vanishes: equal values may have any vectors.
The truth is the same function of matrices in mpmath, by products, inverses and determinants where it has such a form,
and by differences in 90 digits. Derivatives of first and second order must be this number or nan. Tangents of tiny
matrices are those of the function's own operations, which may cancel: first ones by forward mode are not compared.

    python -m tests.random_programs.spectral_programs --count 500 --seed 1 --compiled
"""

import random
import zlib

import mpmath as mp
import numba
import numpy as np

import contad
from tests.judges.written import define
from tests.random_programs.searching import run_command

M = np.array([[1.0, 0.3, -0.4], [0.5, -0.7, 0.2], [-0.9, 0.2, 0.6]])
T = np.array([[-0.6, 0.2, 0.5], [0.8, 0.1, -0.3], [0.7, -0.4, 0.4]])
GAPS = (0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2)
SCALES = (1.0, 1.0, 1.0, 1e-3, 1e-5, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12, 1e-100)  # of a matrix; its slopes stay
TINY = (0.0, 1e-300, 1e-18, 1e-16, 1e-14, 1e-10, 1e-6, 1e-3)


def _inner(x):
    return mp.fsum(M[i, j] * x[i, j] for i in range(3) for j in range(3))


def _trace(x):
    return mp.fsum(x[i, i] for i in range(x.rows))


def _last_projector(a):
    v = mp.eigsy(a)[1][:, 2]
    return _inner(v * v.T)


def _polar(a):
    u, _, vt = mp.svd_r(a)
    return _inner(u * vt)


# statement and expression of a term, and the same of a matrix of mpmath
EIGH, SVD = "w, v = np.linalg.eigh(a)", "u, s, vt = np.linalg.svd(a, False)"
OF_SYMMETRIC = (
    (EIGH, "np.sum(M * ((v * w**3) @ v.T))", lambda a: _inner(a * a * a)),
    (EIGH, "np.sum(M * ((v / (w + 9.0)) @ v.T))", lambda a: _inner((a + 9 * mp.eye(3)) ** -1)),
    (EIGH, "np.sum(M * ((v * np.exp(w)) @ v.T))", lambda a: _inner(mp.expm(a))),
    (EIGH, "np.sum(np.log(w + 9.0))", lambda a: mp.log(mp.det(a + 9 * mp.eye(3)))),
    ("w = np.linalg.eigvalsh(a)", "np.sum(w**3)", lambda a: _trace(a * a * a)),
    ("w = np.linalg.eigvalsh(a)", "np.sum(1.0 / (w + 9.0))", lambda a: _trace((a + 9 * mp.eye(3)) ** -1)),
)
OF_ISOLATED = ((EIGH, "np.sum(M * np.outer(v[:, 2].copy(), v[:, 2].copy()))", _last_projector),)
OF_ANY = (
    (SVD, "np.sum(M * ((u * s**3) @ vt))", lambda a: _inner(a * a.T * a)),
    (SVD, "np.sum(M * ((u * (s / (1.0 + s * s))) @ vt))", lambda a: _inner(a * (a.T * a + mp.eye(3)) ** -1)),
    (SVD, "np.sum(np.log(1.0 + s * s))", lambda a: mp.log(mp.det(a.T * a + mp.eye(3)))),
    (SVD, "np.sum(s**2)", lambda a: _trace(a.T * a)),
    (SVD, "np.sum(s**4)", lambda a: _trace(a.T * a * a.T * a)),
)
OF_REGULAR = (
    (SVD, "np.sum(M * (u @ vt))", _polar),
    ("z = np.linalg.pinv(a)", "np.sum(M * z)", lambda a: _inner(a**-1)),
    ("z = np.linalg.lstsq(a, T, -1.0)[0]", "np.sum(M * z)", lambda a: _inner(a**-1 * mp.matrix(T.tolist()))),
)
OF_VECTORS = (  # of matrices that are one column times rows
    ("pass", 'np.linalg.norm(a, "nuc")**2', lambda a: _trace(a.T * a)),
    ("pass", "np.linalg.norm(a, 2)**2", lambda a: _trace(a.T * a)),
    (SVD, "np.sum(s)**2", lambda a: _trace(a.T * a)),
    (SVD, "np.sum(s)**4", lambda a: _trace(a.T * a)**2),
    (SVD, "s[0]**2", lambda a: _trace(a.T * a)),
    (SVD, "np.sum(s**2)", lambda a: _trace(a.T * a)),
)
BESIDE = "a = a.T @ a + np.eye(a.shape[1])"  # its eigenvalues are 1 but for one
OF_LOW_RANK = (  # of the same; up to constants
    (BESIDE, "np.linalg.cond(a)", lambda a: _trace(a.T * a)),
    (BESIDE, "np.linalg.norm(a, 2)", lambda a: _trace(a.T * a)),
    (BESIDE, "np.linalg.norm(a, -2)", lambda a: mp.mpf(1)),
    (BESIDE, "np.linalg.eigh(a)[0][0]", lambda a: mp.mpf(1)),
    (BESIDE, "np.linalg.eigvalsh(a)[-1]", lambda a: _trace(a.T * a)),
    (BESIDE, "np.linalg.svd(a)[1][-1]", lambda a: mp.mpf(1)),
    (BESIDE, "np.sum(np.linalg.eigvalsh(a) * np.arange(a.shape[0]))", lambda a: (a.cols - 1) * _trace(a.T * a)),
    (
        BESIDE, "np.sum(np.log(np.linalg.eigvalsh(a)) * np.arange(a.shape[0]))",
        lambda a: (a.cols - 1) * mp.log(1 + _trace(a.T * a)),
    ),
    (BESIDE, "np.sum(np.log(np.linalg.eigvalsh(a)))", lambda a: mp.log(1 + _trace(a.T * a))),
    ("a = a.T @ a", "np.linalg.eigvalsh(a)[0]", lambda a: mp.mpf(0)),
    ("a = a.T @ a", "np.sum(np.linalg.svd(a)[1] * np.arange(1.0, 1.0 + a.shape[0]))", lambda a: _trace(a.T * a)),
)
NORM, LEAST, COND = "(np.linalg.norm(a, 2) - 1.0)", "(np.linalg.svd(a)[1][-1] - 1.0)", "np.log(np.linalg.cond(a))"
LARGEST, SMALLEST = "(np.linalg.eigvalsh(a)[-1] - 1.0)", "(np.linalg.eigvalsh(a)[0] - 1.0)"
OF_IDENTITY = tuple(  # beside a matrix of eigenvalues x, 0 and -x, where x is 0
    ("a = a + np.eye(3)", f"{one} * {other}", lambda a, times=times: times * _trace(a * a) / 2)
    for one, other, times in (
        (NORM, LARGEST, 1), (NORM, SMALLEST, -1), (LEAST, SMALLEST, 1), (LEAST, LARGEST, -1), (COND, LARGEST, 2),
        (NORM, LEAST, -1),
    )
)


class Program:
    """A program with its point, and its derivatives as differences."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        numbers = np.random.default_rng(seed)
        self.point = np.array([round(draw.uniform(0.2, 1.5), 2) for _ in range(2)])
        self.terms = []
        self.scale = draw.choice(SCALES)
        lines, sums = ["def f(x):"], []
        for k in range(draw.randint(1, 2)):
            kinds = [OF_SYMMETRIC, OF_ISOLATED, OF_ANY, OF_REGULAR, OF_VECTORS, OF_LOW_RANK, OF_IDENTITY]
            kind = draw.choices(kinds, [3, 1, 3, 1, 2, 2, 1])[0]
            statement, text, exact = draw.choice(kind)
            is_symmetric = kind in (OF_SYMMETRIC, OF_ISOLATED)
            if kind in (OF_VECTORS, OF_LOW_RANK):
                base, *slopes = self._vectors(draw, numbers)
            elif kind is OF_IDENTITY:
                base, *slopes = self._multiples(draw, numbers)
            else:
                base, *slopes = self._matrices(draw, numbers, is_symmetric, kind in (OF_ISOLATED, OF_REGULAR))
            weight = round(draw.uniform(0.5, 2.0), 2)
            pairs = enumerate(zip(self.point, slopes, strict=True))
            moved = [f" + (x[{j}] - {p}) * np.array({slope.tolist()})" for j, (p, slope) in pairs]
            lines += [f"    a = np.array({base.tolist()}){''.join(moved)}", f"    {statement}", f"    y{k} = {text}"]
            sums.append(f"{weight} * y{k}")
            self.terms.append((weight, exact, base, slopes))
        self.text = "\n".join([*lines, f"    return {' + '.join(sums)}", ""])

    def _matrices(self, draw, numbers, is_symmetric, is_regular):
        left, right = (np.linalg.qr(numbers.normal(size=(3, 3)))[0] for _ in range(2))
        close = draw.choice((0.8, 1.3, 2.0))
        values = [close, close + draw.choice(GAPS), 3.5]
        if not is_regular and draw.random() < 0.4:
            values[draw.randrange(3)] = draw.choice(TINY)
        slopes = [numbers.normal(size=(3, 3)).round(2) for _ in self.point]
        if draw.random() < 0.3:  # close vectors do not turn into each other, nor do tiny ones
            slopes[0] = left @ np.diag(numbers.normal(size=3)) @ (left if is_symmetric else right).T
        found = [(left * (np.array(values) * self.scale)) @ (left if is_symmetric else right).T, *slopes]
        return [(x + x.T) / 2.0 for x in found] if is_symmetric else found

    def _vectors(self, draw, numbers):
        m, n = draw.choice((2, 3)), draw.choice((2, 3))
        column = draw.choice((np.eye(m)[:, :1], numbers.normal(size=(m, 1)).round(2)))
        start = draw.choice((0.0, 0.0, self.scale)) * numbers.normal(size=n)
        slopes = [numbers.normal(size=n).round(2) * (numbers.random(n) < 0.6) for _ in self.point]
        return [column * x for x in (start, *slopes)]

    def _multiples(self, draw, numbers):
        q = np.linalg.qr(numbers.normal(size=(3, 3)))[0]
        one = (q * [0.5, 0.0, -0.5]) @ q.T
        return [c * (one + one.T) for c in (0.0, *(round(draw.uniform(0.2, 1.0), 2) for _ in self.point))]

    def function(self):
        """The function."""
        name = f"<spectral program {zlib.crc32(self.text.encode())}>"
        return define(self.text, name, {"np": np, "M": M, "T": T})["f"]

    def value(self, *steps):
        """The value in mpmath, so far from the point."""
        total = mp.mpf(0)
        for weight, exact, base, slopes in self.terms:
            a = mp.matrix(base.tolist())
            for step, slope in zip(steps, slopes, strict=True):
                a = a + step * mp.matrix(slope.tolist())
            total += weight * exact(a)
        return total

    def truth(self):
        """The gradient and the Hessian."""
        with mp.workdps(90 - 3 * round(np.log10(self.scale))):
            h, n = mp.mpf(10) ** -20 * mp.mpf(self.scale), len(self.point)

            def at(*steps):
                return self.value(*(sum(c * h for j, c in steps if j == k) for k in range(n)))

            gradient = [(at((i, 1)) - at((i, -1))) / (2 * h) for i in range(n)]
            hessian = [
                [
                    sum(p * q * at((i, p), (j, q)) for p in (1, -1) for q in (1, -1)) / (4 * h * h)
                    for j in range(n)
                ]
                for i in range(n)
            ]
            return np.array(gradient, dtype=float), np.array(hessian, dtype=float)


def derivatives(f, x, compiled=False):
    """Ways to derivatives of f at x: order, name, and what is found."""
    unit = np.eye(len(x))
    yield 1, "grad", contad.grad(f)(x)
    yield 1, "jvp", np.array([contad.jvp(f, (x,), (e,))[1] for e in unit])
    yield 2, "hessian", contad.hessian(f)(x)
    yield 2, "hvp", np.stack([contad.hvp(f)(x, e) for e in unit])
    if compiled:
        yield 1, "tape", contad.grad(f, engine="tape")(x)
        return
    yield 1, "vjp", contad.vjp(f, x)[1](1.0)[0]
    yield 1, "jacfwd", contad.jacfwd(f)(x)
    yield 2, "jvp of grad", np.stack([contad.jvp(contad.grad(f), (x,), (e,))[1] for e in unit])
    yield 2, "jacobian of grad", contad.jacobian(contad.grad(f))(x)
    yield 2, "grad of jvp", np.stack([contad.grad(lambda y, e=e: contad.jvp(f, (y,), (e,))[1])(x) for e in unit])
    yield 2, "jvp of jvp", np.array(
        [[contad.jvp(lambda y, e=e: contad.jvp(f, (y,), (e,))[1], (x,), (d,))[1] for d in unit] for e in unit]
    )


def mismatch(seed: int, compiled: bool = False) -> str | None:
    """What is neither the truth nor nan, in words."""
    program = Program(seed)
    if compiled and "nuc" in program.text:  # which Numba does not have
        return None
    f, truth = program.function(), program.truth()
    with np.errstate(all="ignore"):
        for order, name, found in derivatives(numba.njit(f) if compiled else f, program.point, compiled):
            if name in ("jvp", "jacfwd") and program.scale < 1.0:
                continue
            right = truth[order - 1]
            wrong = ~np.isnan(found) & ~(np.abs(found - right) <= 1e-6 * (1.0 + np.max(np.abs(right))))
            if np.any(wrong):
                return f"seed {seed}, {name}: {found.tolist()} for {right.tolist()}\n{program.text}"
    return None


def exact(seed: int) -> bool:
    """Whether the gradient and the Hessian are there, and not nan."""
    program = Program(seed)
    f, x = program.function(), program.point
    return not np.any(np.isnan(contad.grad(f)(x))) and not np.any(np.isnan(contad.hessian(f)(x)))


if __name__ == "__main__":
    run_command(__doc__, mismatch, exact)
