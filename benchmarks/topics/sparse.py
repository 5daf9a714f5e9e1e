"""Sparse Jacobians and Hessians of Numba functions: passes, and times beside a gradient, CasADi and JAX."""

import importlib.util
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

import contad
from benchmarks import resident
from benchmarks.comparison import shaped
from benchmarks.comparison.topic import Choice, Counted, Topic

MOST_IN_C = 1_000  # unknowns for which CasADi's C is compiled in less than a minute
MOST_SYMBOLS = 20_000  # unknowns for which CasADi's expression is made in less than a minute
MOST_DENSE = 2_000  # unknowns of JAX's matrices
LEAST_SEEN = 10_000  # unknowns from which the memory of a call is told from what the process has anyway


# ---- programs, which run on arrays of floats and on arrays of CasADi's symbols ---------------------------------------
@numba.njit
def chain(x: Any) -> Any:
    """Rosenbrock's function."""
    total = 0.0
    for k in range(1, len(x)):
        total += (1.0 - x[k]) ** 2 + 100.0 * (x[k] - x[k - 1] ** 2) ** 2
    return total


@numba.njit
def arrow(x: Any) -> Any:
    """Every unknown meets the first one."""
    total = 0.0
    for k in range(1, len(x)):
        total += (x[k] ** 2 - x[0]) ** 2 + x[0] * x[k]
    return total


@numba.njit
def surface(x: Any) -> Any:
    """The energy of a membrane on a square, by its differences on a grid."""
    n = int(len(x) ** 0.5)
    total = 0.0
    for i in range(n):
        for j in range(n):
            k = n * i + j
            if i > 0:
                total += (x[k] - x[k - n]) ** 4
            if j > 0:
                total += (x[k] - x[k - 1]) ** 4
            total += np.exp(0.1 * x[k])
    return total


@numba.njit
def boundary_values(x: Any) -> Any:
    """u'' = exp(u) by differences."""
    n = len(x)
    z = np.zeros_like(x)
    for k in range(n):
        below = x[k - 1] if k > 0 else 0.0
        above = x[k + 1] if k < n - 1 else 0.0
        z[k] = below - 2.0 * x[k] + above - 0.01 * np.exp(x[k])
    return z


@numba.njit
def laplacian(x: Any) -> Any:
    """Bratu's problem on a square."""
    n = int(len(x) ** 0.5)
    z = np.zeros_like(x)
    for i in range(n):
        for j in range(n):
            k = n * i + j
            total = -4.0 * x[k] + 0.01 * np.exp(x[k])
            if i > 0:
                total += x[k - n]
            if i < n - 1:
                total += x[k + n]
            if j > 0:
                total += x[k - 1]
            if j < n - 1:
                total += x[k + 1]
            z[k] = total
    return z


@numba.njit
def brusselator(x: Any) -> Any:
    """Two species on a periodic square."""
    n = int((len(x) // 2) ** 0.5)
    m = n * n
    z = np.zeros_like(x)
    for i in range(n):
        for j in range(n):
            k = n * i + j
            a, b = n * ((i + 1) % n) + j, n * ((i - 1) % n) + j
            c, d = n * i + (j + 1) % n, n * i + (j - 1) % n
            u, v = x[k], x[m + k]
            z[k] = 1.0 + u * u * v - 4.4 * u + 0.1 * (x[a] + x[b] + x[c] + x[d] - 4.0 * u)
            z[m + k] = 3.4 * u - u * u * v + 0.1 * (x[m + a] + x[m + b] + x[m + c] + x[m + d] - 4.0 * v)
    return z


def by_jax(name: str) -> Callable[[Any], Any]:
    """A program in whole arrays of JAX."""
    import jax.numpy as jnp

    def on_grid(x: Any) -> Any:
        return x.reshape(int(len(x) ** 0.5), -1)

    def surface(x: Any) -> Any:
        g = on_grid(x)
        return jnp.sum((g[1:] - g[:-1]) ** 4) + jnp.sum((g[:, 1:] - g[:, :-1]) ** 4) + jnp.sum(jnp.exp(0.1 * x))

    def laplacian(x: Any) -> Any:
        g = jnp.pad(on_grid(x), 1)
        around = g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:]
        return around.ravel() - 4.0 * x + 0.01 * jnp.exp(x)

    def brusselator(x: Any) -> Any:
        u, v = map(on_grid, jnp.split(x, 2))

        def spread(g: Any) -> Any:
            return 0.1 * (sum(jnp.roll(g, by, axis) for axis in (0, 1) for by in (1, -1)) - 4.0 * g)

        return jnp.concatenate([
            (1.0 + u * u * v - 4.4 * u + spread(u)).ravel(), (3.4 * u - u * u * v + spread(v)).ravel()
        ])  # fmt: skip

    def boundary_values(x: Any) -> Any:
        g = jnp.pad(x, 1)
        return g[:-2] - 2.0 * x + g[2:] - 0.01 * jnp.exp(x)

    return {
        "chain": lambda x: jnp.sum((1.0 - x[1:]) ** 2 + 100.0 * (x[1:] - x[:-1] ** 2) ** 2),
        "arrow": lambda x: jnp.sum((x[1:] ** 2 - x[0]) ** 2 + x[0] * x[1:]),
        "surface": surface, "boundary_values": boundary_values, "laplacian": laplacian, "brusselator": brusselator,
    }[name]  # fmt: skip


class Case(NamedTuple):
    """A program with its number of unknowns."""

    f: Any
    n: int
    is_hessian: bool

    @property
    def title(self) -> str:
        """How it is called in the table."""
        return f"{'Hessian' if self.is_hessian else 'Jacobian'} of {self.f.__name__.replace('_', ' ')}, {self.n}"


def list_cases(quick: bool) -> list[Case]:
    """Small ones, which everybody takes, and large ones."""
    hessians = [(chain, (200, 10_000, 100_000)), (arrow, (200, 10_000)), (surface, (196, 10_000))]
    jacobians = [(boundary_values, (200, 10_000, 100_000)), (laplacian, (196, 10_000)), (brusselator, (200, 9_800))]
    cases = [Case(f, n, True) for f, sizes in hessians for n in sizes]
    cases += [Case(f, n, False) for f, sizes in jacobians for n in sizes]
    return [Case(boundary_values, 16, False)] if quick else cases


# ---- what is measured ------------------------------------------------------------------------------------------------
def time_call(f: Callable[[], Any]) -> float:
    """Seconds of a call, the least of several runs."""
    f()
    timer = timeit.Timer(f)
    count = timer.autorange()[0] if timer.timeit(1) < 0.2 else 1
    return min(timer.repeat(7, count)) / count


def measure(case: Case) -> dict[str, Any]:
    """A row of the table."""
    f, n = case.f, case.n
    x = np.random.default_rng(8).uniform(-1.0, 1.0, n)
    derivative = contad.sparse_hessian(f) if case.is_hessian else contad.sparse_jacobian(f)
    matrix = derivative(x)
    of = "hessian" if case.is_hessian else "jacobian"
    contad.sparsity(f, x, of=of)
    unit = time_call(lambda: contad.grad(f)(x)) if case.is_hessian else time_call(lambda: f(x))
    time = time_call(lambda: derivative(x))
    row: dict[str, Any] = {
        "elements": str(matrix.nnz), "passes": str(derivative.passes), "gradient or f": unit, "contad": time,
        "ratio": f"{time / unit:.1f}", "its pattern": time_call(lambda: contad.sparsity(f, x, of=of)),
    }  # fmt: skip
    if n >= LEAST_SEEN:
        row["bytes of a call, by unknowns"] = f"{measure_memory(lambda: derivative(x)) / n:.0f}"
    if importlib.util.find_spec("casadi") and n <= MOST_SYMBOLS:
        row["casadi"] = time_casadi(case, x, matrix)
    if importlib.util.find_spec("jax") and n <= MOST_DENSE:
        row["jax, dense"] = time_jax(case, x, matrix)
    return row


def measure_memory(f: Callable[[], Any]) -> int:
    """The most resident memory in a call over that before it, its result included."""
    f()
    before = resident.trim()
    resident.reset_peak()
    kept = f()
    peak = resident.read_resident(resident.PEAK)
    del kept
    return peak - before


def time_casadi(case: Case, x: np.ndarray, expected: Any) -> float:
    """The time of CasADi's sparse matrix, by C where that is compiled in time, else by its virtual machine."""
    import casadi

    if hasattr(casadi.GlobalOptions, "setNumpyMode"):
        casadi.GlobalOptions.setNumpyMode(-1)  # NumPy's functions by the methods of its symbols, without a warning
    symbol = casadi.SX.sym("x", case.n)
    symbols = np.array(casadi.vertsplit(symbol), object)
    value = case.f.py_func(symbols)
    if not case.is_hessian:
        value = casadi.vertcat(*value)
    find = casadi.hessian if case.is_hessian else casadi.jacobian
    matrix = find(value, symbol)[0] if case.is_hessian else find(value, symbol).T  # its columns are the rows
    options = shaped.choose_options_of_c() if case.n <= MOST_IN_C else {}
    (values,), run = shaped.make_buffers(casadi.Function("matrix", [symbol], [matrix], options), x)
    run()
    assert np.allclose(values, expected.data, rtol=1e-9, atol=1e-9), case.title
    return time_call(run)


def time_jax(case: Case, x: np.ndarray, expected: Any) -> float:
    """The time of JAX's matrix of all elements."""
    import jax

    jax.config.update("jax_enable_x64", True)
    f = by_jax(case.f.__name__)
    run, given = jax.jit(jax.hessian(f) if case.is_hessian else jax.jacfwd(f)), jax.numpy.asarray(x)
    assert np.allclose(np.asarray(run(given)), expected.toarray(), rtol=1e-9, atol=1e-9), case.title
    return time_call(lambda: jax.block_until_ready(run(given)))


def tabulate(choice: Choice) -> dict[str, dict[str, Any]]:
    """All rows."""
    return {case.title: measure(case) for case in list_cases(choice.quick) if choice.chooses(case.f.__name__)}


def remark(parts: dict[str, Any]) -> list[str]:
    """What the figures say."""
    table = next(iter(parts.values()))["table"]
    slower = [row for row, found in table.items() if found.get("casadi", np.inf) < found["contad"]]
    lines = [
        (
            "contad's times contain the check against a product with a random vector, which finds what a pattern "
            "misses, and a new SciPy array; CasADi's are those of its Function with buffers, which fills an array of "
            "values."
        ),
        "JAX has no sparse derivatives; its matrices have all elements.",
    ]
    if slower:
        lines.append(
            f"CasADi is faster in {', '.join(slower)}: it has every element's formula as one straight piece of C, "
            "where contad makes as many products as there are colours and one to check them, four in a pass, and a "
            f"call from Python has some 30 us of its own. That C grows with the unknowns; beyond {MOST_IN_C} gcc takes "
            "minutes, and CasADi's virtual machine runs instead."
        )
    return lines


TOPIC = Topic(
    "Sparse Jacobians and Hessians",
    {
        "Matrices of Numba functions, us": Counted(
            "Elements that are not zero, products with the derivative, and times, of a Hessian beside a gradient, of a "
            "Jacobian beside f; `its pattern` is found once for all calls of a shape.",
            tabulate, unit="us",
        ),
    },
    remark,
)  # fmt: skip
