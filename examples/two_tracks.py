"""The mass of a particle from the momenta of the two it decays to, with the error that those of the tracks make.

    python examples/two_tracks.py

First order, J C J^T with the Jacobian that contad gives, against draws of the tracks.
"""

import numba
import numpy as np

import contad

MUON = 0.1056584  # GeV


@numba.njit
def decayed(tracks):
    """(mass, transverse momentum, rapidity) of a pair of tracks, each (1 / momentum, eta, phi), momentum transverse."""
    energy, px, py, pz = 0.0, 0.0, 0.0, 0.0
    for k in range(0, len(tracks), 3):
        pt = 1.0 / tracks[k]
        px += pt * np.cos(tracks[k + 2])
        py += pt * np.sin(tracks[k + 2])
        pz += pt * np.sinh(tracks[k + 1])
        energy += np.sqrt((pt * np.cosh(tracks[k + 1])) ** 2 + MUON**2)
    pt2 = px * px + py * py
    return np.array([np.sqrt(energy**2 - pt2 - pz**2), np.sqrt(pt2), np.arctanh(pz / energy)])


@numba.njit
def errors(tracks, covariance):
    """Standard errors of what has decayed: the Jacobian is compiled into this function."""
    jacobian = contad.jacobian(decayed)(tracks)
    return np.sqrt(np.diag(jacobian @ covariance @ jacobian.T))


if __name__ == "__main__":
    tracks = np.array([1.0 / 41.3, 0.52, 0.31, 1.0 / 36.8, -0.64, -2.62])
    one = np.array([[1.6e-7, 0.0, 1.2e-8], [0.0, 4.0e-7, 0.0], [1.2e-8, 0.0, 2.5e-7]])  # 1 / p and phi go together
    covariance = np.kron(np.eye(2), one)
    first = errors(tracks, covariance)
    draws = np.random.default_rng(4).multivariate_normal(tracks, covariance, 20_000)
    drawn = np.std([decayed(x) for x in draws], axis=0)
    for name, value, error, other in zip(["mass", "pt", "rapidity"], decayed(tracks), first, drawn, strict=True):
        print(f"{name:9}{value:8.4f} +- {error:.4f}   (draws: {other:.4f})")
    assert np.allclose(first, drawn, rtol=0.03)
