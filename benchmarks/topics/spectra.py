"""What complex numbers and Fourier transforms cost: three losses beside autograd, JAX and PyTorch.

Arguments are real, so that the libraries' conventions for complex gradients do not matter. By hand is plain NumPy.
"""

import numpy as np

from benchmarks.comparison.program import Program
from benchmarks.comparison.topic import QUICK, Choice, Timed, Topic
from benchmarks.topics.arrays import over_arrays


# ---- a spectral loss -------------------------------------------------------------------------------------------------
def draw_signal(n):
    rng = np.random.default_rng(23)
    return rng.normal(size=n), 4.0 * rng.random(n // 2 + 1)


def spectral_loss(np):
    """The log spectrum of a signal beside another."""

    def f(x, wanted):
        power = np.abs(np.fft.rfft(x)) ** 2 / len(x)
        return np.sum((np.log(1.0 + power) - wanted) ** 2)

    return f


def spectral_loss_by_hand(x, wanted):
    n = len(x)
    z = np.fft.rfft(x)
    power = (z.real**2 + z.imag**2) / n
    off = np.log1p(power) - wanted
    z *= 4.0 * off / (1.0 + power) / n
    z[1 : (n + 1) // 2] *= 0.5  # irfft counts these twice
    return off @ off, (n * np.fft.irfft(z, n),)


# ---- a quantum state -------------------------------------------------------------------------------------------------
STEPS, TIME = 20, 0.05


def draw_potential(n):
    grid = np.linspace(-5.0, 5.0, n)
    wave = 2.0 * np.pi * np.fft.fftfreq(n, grid[1] - grid[0])
    start, target = (np.exp(-((grid - a) ** 2) + 0j) for a in (-1.0, 1.0))
    drift = np.exp(-0.5j * TIME * wave**2)
    return 0.5 * grid**2, start / np.linalg.norm(start), target / np.linalg.norm(target), drift


def evolution(np):
    """The overlap with a target of a state that evolves in a potential: Trotter's steps."""

    def f(potential, start, target, drift):
        kick = np.exp(-1j * TIME * potential)
        state = start
        for _ in range(STEPS):
            state = np.fft.ifft(drift * np.fft.fft(kick * state))
        return np.abs(np.sum(np.conj(target) * state)) ** 2

    return f


def evolution_by_hand(potential, start, target, drift):
    kick = np.exp(-1j * TIME * potential)
    states = [start]
    for _ in range(STEPS):
        states.append(np.fft.ifft(drift * np.fft.fft(kick * states[-1])))
    overlap = np.vdot(target, states.pop())
    adjoint, total = 2.0 * overlap * target, np.zeros(len(potential))
    for state in reversed(states):
        adjoint = np.conj(kick) * np.fft.ifft(np.conj(drift) * np.fft.fft(adjoint))
        total += np.imag(np.conj(adjoint) * state)
    return abs(overlap) ** 2, (TIME * total,)


# ---- phase retrieval -------------------------------------------------------------------------------------------------
def draw_phases(n):
    rng = np.random.default_rng(29)
    mask = np.exp(2j * np.pi * rng.random((4, n)))
    return rng.normal(size=n), rng.normal(size=n), mask, n * rng.random((4, n))


def retrieval(np):
    """Intensities of masked transforms of a complex signal beside measured ones."""

    def f(x, y, mask, measured):
        seen = np.fft.fft(mask * (x + 1j * y))
        return np.mean((np.abs(seen) ** 2 - measured) ** 2)

    return f


def retrieval_by_hand(x, y, mask, measured):
    z = np.empty(len(x), complex)
    z.real, z.imag = x, y
    seen = np.fft.fft(mask * z)
    off = seen.real**2 + seen.imag**2 - measured
    back = len(x) * np.fft.ifft(4.0 / measured.size * off * seen)
    z_bar = np.sum(np.conj(mask) * back, axis=0)
    return np.sum(off * off) / measured.size, (z_bar.real, z_bar.imag)


def list_programs(choice: Choice) -> list[Program]:
    """The three losses."""
    sizes = {"small": {"n": 1_000}, QUICK: {"n": 24}}
    return [
        over_arrays(
            "spectral loss", sizes | {"full": {"n": 1_000_000}}, draw_signal, (0,), spectral_loss,
            spectral_loss_by_hand, choice.engines,
        ),
        over_arrays(
            "state evolution", sizes, draw_potential, (0,), evolution, evolution_by_hand, choice.engines,
        ),
        over_arrays(
            "phase retrieval", sizes, draw_phases, (0, 1), retrieval, retrieval_by_hand, choice.engines,
        ),
    ]  # fmt: skip


TOPIC = Topic("Complex numbers and Fourier transforms", {"Value and gradient, us": Timed("", list_programs)})
