"""Waves, circuits and spectra: programs that compute with complex numbers."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


# ---- quantum states --------------------------------------------------------------------------------------------------
@njit
def spin_chain(angles, couplings, state):
    """A chain of spins after Trotter steps: rotations of each spin, then phases of neighbours; how much is turned."""
    spins = int(math.log2(state.size) + 0.5)
    psi = state.copy()
    for step in range(angles.size):
        c, s = math.cos(angles[step]), math.sin(angles[step])
        for q in range(spins):
            bit = 1 << q
            for k in range(state.size):
                if k & bit == 0:
                    a, b = psi[k], psi[k | bit]
                    psi[k] = c * a - 1j * s * b
                    psi[k | bit] = c * b - 1j * s * a
        phase = np.exp(-1j * couplings[step])
        for k in range(state.size):
            turns = k ^ (k >> 1)
            if (turns ^ (turns >> 2)) & 1:
                psi[k] *= phase
            else:
                psi[k] *= phase.conjugate()
    total = 0.0
    for k in range(state.size):
        total += abs(psi[k]) ** 2 * (k % 7 - 2.0)
    return total


@njit
def crank_nicolson(potential, packet, dt, dx, steps):
    """A wave packet in a potential, by steps of Crank and Nicolson: a tridiagonal system each; where it is then."""
    n = packet.size
    psi = packet.copy()
    right = np.empty(n, np.complex128)
    diagonal = 1.0 + 0.5j * dt * (1.0 / dx**2 + potential)
    inverse, c = np.empty(n, np.complex128), np.empty(n, np.complex128)
    off = -0.25j * dt / dx**2
    inverse[0] = 1.0 / diagonal[0]
    for k in range(1, n):
        c[k - 1] = off * inverse[k - 1]
        inverse[k] = 1.0 / (diagonal[k] - off * c[k - 1])
    for _ in range(steps):
        for k in range(n):
            right[k] = (2.0 - diagonal[k]) * psi[k]
            if k > 0:
                right[k] -= off * psi[k - 1]
            if k < n - 1:
                right[k] -= off * psi[k + 1]
        right[0] *= inverse[0]
        for k in range(1, n):
            right[k] = (right[k] - off * right[k - 1]) * inverse[k]
        psi[n - 1] = right[n - 1]
        for k in range(n - 2, -1, -1):
            psi[k] = right[k] - c[k] * psi[k + 1]
    total = 0.0
    for k in range(n):
        total += k * dx * (psi[k].real ** 2 + psi[k].imag ** 2)
    return total * dx


# ---- light -----------------------------------------------------------------------------------------------------------
@njit
def thin_films(thickness, indices, wavelengths, measured):
    """The reflectance of a stack of films that absorb, by transfer matrices; against what was measured."""
    loss = 0.0
    for w in range(wavelengths.size):
        m00, m01, m10, m11 = 1.0 + 0j, 0j, 0j, 1.0 + 0j
        for k in range(thickness.size):
            phase = 2.0 * np.pi * indices[k] * thickness[k] / wavelengths[w]
            c, s = np.cos(phase), np.sin(phase)
            a, b = 1j * s / indices[k], 1j * s * indices[k]
            m00, m01 = m00 * c + m01 * b, m00 * a + m01 * c
            m10, m11 = m10 * c + m11 * b, m10 * a + m11 * c
        top, bottom = m00 + 1.5 * m01, m10 + 1.5 * m11
        r = (top - bottom) / (top + bottom)
        loss += (abs(r) ** 2 - measured[w]) ** 2
    return loss


@njit
def phase_retrieval(image, pupil, measured):
    """An image from the moduli of its linear measurements, whose phases are lost."""
    loss = 0.0
    for i in range(pupil.shape[0]):
        field = 0j
        for j in range(image.size):
            field += pupil[i, j] * image[j]
        loss += (abs(field) ** 2 - measured[i]) ** 2
    return loss / measured.size


# ---- signals and circuits --------------------------------------------------------------------------------------------
@njit
def whittle(coefficients, log_variance, frequencies, periodogram):
    """The likelihood of an autoregression in the domain of frequencies."""
    total = 0.0
    for k in range(frequencies.size):
        z = np.exp(-1j * frequencies[k])
        transfer, power = 1.0 + 0j, z
        for j in range(coefficients.size):
            transfer -= coefficients[j] * power
            power *= z
        log_density = log_variance - np.log(abs(transfer) ** 2)
        total -= log_density + periodogram[k] * np.exp(-log_density)
    return total


@njit
def circle_fit(coefficients, angles, target):
    """A polynomial on the unit circle, fitted to complex data."""
    z = np.exp(1j * angles)
    found = np.zeros(angles.size, np.complex128)
    for k in range(coefficients.size - 1, -1, -1):
        found = found * z + coefficients[k]
    return np.sum(np.abs(found - target) ** 2)


@njit
def ladder(resistance, inductance, capacitance, frequencies, gains):
    """A ladder of ohms, millihenries and microfarads: its gain in decibels, against one that is wanted."""
    loss = 0.0
    for k in range(frequencies.size):
        s = 2j * np.pi * frequencies[k]
        impedance, gain = 50.0 + 0j, 1.0 + 0j
        for j in range(resistance.size):
            shunt = 1.0 / (1.0 / impedance + 1e-6 * s * capacitance[j])
            series = shunt + resistance[j] + 1e-3 * s * inductance[j]
            gain *= shunt / series
            impedance = series
        loss += (20.0 * np.log10(abs(gain)) - gains[k]) ** 2
    return loss / frequencies.size


# ---- maps ------------------------------------------------------------------------------------------------------------
@njit
def smooth_escape(centre, width, pixels, most):
    """How soon points leave under z -> z^2 + c: the count of steps, made smooth."""
    total = 0.0
    for i in range(pixels):
        for j in range(pixels):
            c = centre + width * complex(i / pixels - 0.5, j / pixels - 0.5)
            z = 0j
            for n in range(most):
                z = z * z + c
                if abs(z) > 1e3:
                    total += n + 1.0 - math.log(math.log(abs(z))) / math.log(2.0)
                    break
    return total / pixels**2


# ---- arguments -------------------------------------------------------------------------------------------------------
def _draw(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def _make_state(rng, n):
    state = _draw(rng, 2**n)
    return rng.uniform(0.1, 1.0, 2 * n), rng.uniform(0.1, 1.0, 2 * n), state / np.linalg.norm(state)


def _make_packet(rng, n):
    x = np.linspace(0.0, 10.0, n)
    return rng.uniform(0.0, 5.0, n), np.exp(-((x - 4.0) ** 2) + 2j * x), 0.1, x[1], 5 + n // 20


def _make_films(rng, n):
    indices = rng.uniform(1.4, 2.5, 8) - 1j * rng.uniform(0.0, 0.05, 8)
    return rng.uniform(0.05, 0.2, 8), indices, np.linspace(0.4, 0.8, n), rng.uniform(0.0, 0.5, n)


PROGRAMS = [
    Real(spin_chain, "spins by Trotter steps", _make_state, (0, 1, 2), 3, 10),
    Real(crank_nicolson, "wave packets by implicit steps", _make_packet, (0, 1, 2, 3), 8, 400),
    Real(thin_films, "optics of thin films", _make_films, (0, 1), 3, 300),
    Real(
        phase_retrieval, "images without phases",
        lambda rng, n: (_draw(rng, n), _draw(rng, 4 * n, n), rng.uniform(1.0, 2.0, 4 * n)), (0,), 4, 100,
    ),
    Real(
        whittle, "autoregressions by frequencies",
        lambda rng, n: (
            np.array([0.5, -0.3, 0.1, 0.05]), 0.2, np.linspace(0.01, 3.1, n), rng.exponential(size=n),
        ), (0, 1), 6, 2000,
    ),
    Real(
        circle_fit, "polynomials on the unit circle",
        lambda rng, n: (_draw(rng, 8), np.sort(rng.uniform(0.0, 6.28, n)), _draw(rng, n)), (0, 2), 5, 2000,
    ),
    Real(
        ladder, "circuits by frequencies",
        lambda rng, n: (
            rng.uniform(1.0, 5.0, 5), rng.uniform(1.0, 10.0, 5), rng.uniform(1.0, 10.0, 5),
            np.linspace(100.0, 2e3, n), -rng.uniform(0.0, 20.0, n),
        ), (0, 1, 2), 4, 1000,
    ),
    Real(
        smooth_escape, "maps of escape, made smooth", lambda rng, n: (0.6 + 0.8j, 0.6, n, 60), (0, 1), 5, 60,
    ),
]  # fmt: skip
