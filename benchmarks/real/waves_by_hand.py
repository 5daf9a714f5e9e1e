"""Value and gradient of programs in `benchmarks.real.waves`, written by hand as an expert would."""

import math

import numpy as np
from numba import njit


@njit
def spin_chain(angles, couplings, state):
    size = state.size
    spins = int(math.log2(size) + 0.5)
    psi = state.copy()
    phases = np.exp(-1j * couplings)
    for step in range(angles.size):
        c, s = math.cos(angles[step]), math.sin(angles[step])
        for q in range(spins):
            _rotate(psi, 1 << q, c, -1j * s)
        _turn(psi, phases[step])
    total = 0.0
    bar = np.empty(size, np.complex128)
    for k in range(size):
        weight = k % 7 - 2.0
        total += (psi[k].real ** 2 + psi[k].imag ** 2) * weight
        bar[k] = 2.0 * weight * psi[k]
    angles_bar, couplings_bar = np.zeros(angles.size), np.zeros(couplings.size)
    for step in range(angles.size - 1, -1, -1):  # the gates are unitary: their inverses recompute the state
        slope = 0.0
        for k in range(size):
            turns = k ^ (k >> 1)
            sign = 1.0 if (turns ^ (turns >> 2)) & 1 else -1.0
            slope += sign * (bar[k].imag * psi[k].real - bar[k].real * psi[k].imag)
        couplings_bar[step] = -slope
        _turn(psi, phases[step].conjugate())
        _turn(bar, phases[step].conjugate())
        c, s = math.cos(angles[step]), math.sin(angles[step])
        slope = 0.0
        for q in range(spins - 1, -1, -1):
            bit = 1 << q
            for k in range(size):
                if k & bit == 0:
                    a, b, p, r = psi[k], psi[k | bit], bar[k], bar[k | bit]
                    slope += p.imag * b.real - p.real * b.imag + r.imag * a.real - r.real * a.imag
                    psi[k], psi[k | bit] = c * a + 1j * s * b, c * b + 1j * s * a
                    bar[k], bar[k | bit] = c * p + 1j * s * r, c * r + 1j * s * p
        angles_bar[step] = -slope
    return total, (angles_bar, couplings_bar, bar)


@njit
def _rotate(psi, bit, c, t):
    for k in range(psi.size):
        if k & bit == 0:
            a, b = psi[k], psi[k | bit]
            psi[k], psi[k | bit] = c * a + t * b, c * b + t * a


@njit
def _turn(psi, phase):
    for k in range(psi.size):
        turns = k ^ (k >> 1)
        psi[k] *= phase if (turns ^ (turns >> 2)) & 1 else phase.conjugate()


@njit
def thin_films(thickness, indices, wavelengths, measured):
    layers = thickness.size
    loss = 0.0
    thickness_bar, indices_bar = np.zeros(layers), np.zeros(layers, np.complex128)
    before = np.empty((layers, 4), np.complex128)
    cosines, sines = np.empty(layers, np.complex128), np.empty(layers, np.complex128)
    for w in range(wavelengths.size):
        m00, m01, m10, m11 = 1.0 + 0j, 0j, 0j, 1.0 + 0j
        for k in range(layers):
            before[k, 0], before[k, 1], before[k, 2], before[k, 3] = m00, m01, m10, m11
            phase = 2.0 * np.pi * indices[k] * thickness[k] / wavelengths[w]
            c, s = np.cos(phase), np.sin(phase)
            cosines[k], sines[k] = c, s
            a, b = 1j * s / indices[k], 1j * s * indices[k]
            m00, m01 = m00 * c + m01 * b, m00 * a + m01 * c
            m10, m11 = m10 * c + m11 * b, m10 * a + m11 * c
        top, bottom = m00 + 1.5 * m01, m10 + 1.5 * m11
        inverse = 1.0 / (top + bottom)
        r = (top - bottom) * inverse
        residual = r.real**2 + r.imag**2 - measured[w]
        loss += residual**2
        # from here on the conjugates of adjoints, which multiply derivatives without conjugation
        r_bar = 4.0 * residual * r.conjugate() * inverse
        top_bar, bottom_bar = r_bar * (1.0 - r), -r_bar * (1.0 + r)
        p00, p01, p10, p11 = top_bar, 1.5 * top_bar, bottom_bar, 1.5 * bottom_bar
        for k in range(layers - 1, -1, -1):
            c, s, n = cosines[k], sines[k], indices[k]
            over = 1j / n
            a, b = s * over, 1j * s * n
            m00, m01, m10, m11 = before[k, 0], before[k, 1], before[k, 2], before[k, 3]
            c_bar = p00 * m00 + p01 * m01 + p10 * m10 + p11 * m11
            a_bar = p01 * m00 + p11 * m10
            b_bar = p00 * m01 + p10 * m11
            s_bar = a_bar * over + b_bar * 1j * n
            phase_bar = s_bar * c - c_bar * s
            turn = 2.0 * np.pi / wavelengths[w]
            n_bar = phase_bar * (turn * thickness[k]) + 1j * b_bar * s - a_bar * a / n
            indices_bar[k] += n_bar.conjugate()
            thickness_bar[k] += (phase_bar * n).real * turn
            p00, p01 = p00 * c + p01 * a, p00 * b + p01 * c
            p10, p11 = p10 * c + p11 * a, p10 * b + p11 * c
    return loss, (thickness_bar, indices_bar)


@njit
def phase_retrieval(image, pupil, measured):
    loss = 0.0
    bar = np.zeros(image.size, np.complex128)
    for i in range(pupil.shape[0]):
        field = 0j
        for j in range(image.size):
            field += pupil[i, j] * image[j]
        residual = field.real**2 + field.imag**2 - measured[i]
        loss += residual**2
        field_bar = 4.0 * residual * field
        for j in range(image.size):
            bar[j] += field_bar * pupil[i, j].conjugate()
    return loss / measured.size, (bar / measured.size,)


@njit
def whittle(coefficients, log_variance, frequencies, periodogram):
    order = coefficients.size
    total, log_variance_bar = 0.0, 0.0
    coefficients_bar = np.zeros(order)
    for k in range(frequencies.size):
        z = np.exp(-1j * frequencies[k])
        transfer, power = 1.0 + 0j, z
        for j in range(order):
            transfer -= coefficients[j] * power
            power *= z
        modulus = transfer.real**2 + transfer.imag**2
        log_density = log_variance - math.log(modulus)
        term = periodogram[k] * math.exp(-log_density)
        total -= log_density + term
        slope = term - 1.0
        log_variance_bar += slope
        transfer_bar = -slope * 2.0 / modulus * transfer.conjugate()
        power = z
        for j in range(order):
            coefficients_bar[j] -= (transfer_bar * power).real
            power *= z
    return total, (coefficients_bar, log_variance_bar)


@njit
def circle_fit(coefficients, angles, target):
    order = coefficients.size
    loss = 0.0
    coefficients_bar, target_bar = np.zeros(order, np.complex128), np.empty(angles.size, np.complex128)
    for i in range(angles.size):
        z = np.exp(1j * angles[i])
        found = 0j
        for k in range(order - 1, -1, -1):
            found = found * z + coefficients[k]
        residual = found - target[i]
        loss += residual.real**2 + residual.imag**2
        bar, turned = 2.0 * residual, z.conjugate()
        target_bar[i] = -bar
        for k in range(order):
            coefficients_bar[k] += bar
            bar *= turned
    return loss, (coefficients_bar, target_bar)


@njit
def crank_nicolson(potential, packet, dt, dx, steps):
    """The system does not change, so that an expert factors it once; its reverse is a system with the same factors."""
    n = packet.size
    off = -0.25j * dt / dx**2
    diagonal, inverse, c = np.empty(n, np.complex128), np.empty(n, np.complex128), np.empty(n, np.complex128)
    for k in range(n):
        diagonal[k] = 1.0 + 0.5j * dt * (1.0 / dx**2 + potential[k])
        pivot = diagonal[k] - (off * c[k - 1] if k > 0 else 0.0)
        inverse[k] = 1.0 / pivot
        c[k] = off * inverse[k]
    states = np.empty((steps + 1, n), np.complex128)
    states[0] = packet
    right = np.empty(n, np.complex128)
    for t in range(steps):
        psi, following = states[t], states[t + 1]
        _multiply(diagonal, off, psi, right)
        _solve(inverse, c, off, right, following)
    total = 0.0
    bar = np.empty(n, np.complex128)  # the conjugate of the adjoint
    for k in range(n):
        psi = states[steps, k]
        total += k * dx * (psi.real**2 + psi.imag**2)
        bar[k] = 2.0 * k * dx * dx * psi.conjugate()
    dx_bar = 2.0 * total
    diagonal_bar = np.zeros(n, np.complex128)
    off_bar = 0j
    solved = np.empty(n, np.complex128)
    for t in range(steps - 1, -1, -1):
        psi, following = states[t], states[t + 1]
        _solve(inverse, c, off, bar, solved)  # the matrix is symmetric
        for k in range(n):
            both = psi[k] + following[k]
            diagonal_bar[k] -= solved[k] * both
            if k > 0:
                off_bar -= solved[k] * (psi[k - 1] + following[k - 1])
            if k < n - 1:
                off_bar -= solved[k] * (psi[k + 1] + following[k + 1])
        _multiply(diagonal, off, solved, bar)
    potential_bar = np.empty(n)
    dt_bar = (off_bar * (-0.25j / dx**2)).real
    dx_bar += (off_bar * (0.5j * dt / dx**3)).real
    for k in range(n):
        potential_bar[k] = (diagonal_bar[k] * (0.5j * dt)).real
        dt_bar += (diagonal_bar[k] * (0.5j * (1.0 / dx**2 + potential[k]))).real
        dx_bar += (diagonal_bar[k] * (-1j * dt / dx**3)).real
    return total * dx, (potential_bar, np.conj(bar), dt_bar, dx_bar)


@njit
def _multiply(diagonal, off, psi, right):
    """The conjugate of the tridiagonal matrix times a vector."""
    n = psi.size
    for k in range(n):
        x = (2.0 - diagonal[k]) * psi[k]
        if k > 0:
            x -= off * psi[k - 1]
        if k < n - 1:
            x -= off * psi[k + 1]
        right[k] = x


@njit
def _solve(inverse, c, off, right, found):
    n = right.size
    found[0] = right[0] * inverse[0]
    for k in range(1, n):
        found[k] = (right[k] - off * found[k - 1]) * inverse[k]
    for k in range(n - 2, -1, -1):
        found[k] -= c[k] * found[k + 1]
