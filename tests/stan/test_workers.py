"""Parallel sums on executors of other libraries: workers that die, jobs that raise, stragglers, what is sent.

Each runs where its library is installed; Dask's is the extra `distributed`.
"""

import functools
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import contad
from contad.stan import map_rect, reduce_sum
from contad.stan.functionals import workers

ROOT = Path(__file__).parents[2]
XS = contad.constant(np.linspace(0.1, 2.0, 4000))
P = np.array([1.3, 0.4])
PIECES = 10
ENDED = "a worker or the executor ended before"
MOST = 2000  # bytes of a message with a small function, two numbers and the names of parcels


def of_rows(xs, start, end, p, path):
    return np.sum(np.log(p[0]) - p[0] * xs**2 * np.exp(p[1] * xs))


def dies_once(xs, start, end, p, path):
    if start == 800 and not os.path.exists(path):
        Path(path).touch()
        os._exit(1)
    return of_rows(xs, start, end, p, path)


def dies(xs, start, end, p, path):
    if start == 800:
        os._exit(1)
    return of_rows(xs, start, end, p, path)


def raises(xs, start, end, p, path):
    if start == 800:
        raise FloatingPointError("a bad row")
    return of_rows(xs, start, end, p, path)


def with_lock(xs, start, end, p, path, lock):
    return of_rows(xs, start, end, p, path)


def late(xs, start, end, p, path):
    time.sleep(0.3 * (start == 400))
    return of_rows(xs, start, end, p, path)


def of_job(shared, own, data_r, data_i):
    if data_i == 2:
        raise FloatingPointError("a bad job")
    time.sleep(0.2 * (data_i == 1))
    return shared[0] * np.exp(-own[0] * data_r) + shared[1]


def dies_as_a_job(shared, own, data_r, data_i):
    if data_i == 2:
        os._exit(1)
    return shared * data_r


def gradient(f, executor, path="none"):
    return contad.grad(lambda p: reduce_sum(f, XS, p, path, grainsize=len(XS) // PIECES, executor=executor))(P)


def jacobians(numbers, executor):
    own, times = np.array([[0.5], [1.0], [0.2]]), np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 4.0]])
    return contad.jacobian(lambda s, own: map_rect(of_job, s, own, times, numbers, executor), (0, 1))(P, own)


@contextmanager
def workers_of(kind):
    """An executor of two workers."""
    if kind in ("fork", "spawn"):
        with ProcessPoolExecutor(2, multiprocessing.get_context(kind)) as pool:
            yield pool
    elif kind == "loky":
        pool = pytest.importorskip("loky").ProcessPoolExecutor(2)
        yield pool
        pool.shutdown(kill_workers=True)
    elif kind == "mpi":
        with pytest.importorskip("mpi4py.futures").MPIPoolExecutor(2) as pool:
            yield pool
    else:
        dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
        options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 1}),
            distributed.LocalCluster(n_workers=2, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client.get_executor()


KINDS = ["fork", "spawn", "loky", "mpi", "dask"]


KINDS = [pytest.param(k, marks=[pytest.mark.adapters] * (k not in ("fork", "spawn"))) for k in KINDS]
UNDER_MPI = "CONTAD_TESTS_UNDER_MPI" in os.environ


def run_under_mpi():
    """This test as the first process of three, of which the others are workers."""
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "pytest", "-q", "-m", "adapters"]
    command += ["-p", "no:cacheprovider", "-k", "mpi", str(Path(__file__).relative_to(ROOT))]
    environment = os.environ | {"CONTAD_TESTS_UNDER_MPI": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=200, check=False
    )  # fmt: skip
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore")  # of the libraries' own, and of forks beside their threads
@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_may_happen_to_a_job(kind, tmp_path):
    if kind == "mpi" and not UNDER_MPI:
        run_under_mpi()
        return
    serial, (of_shared, of_own) = gradient(of_rows, None), jacobians([0, 1, 3], None)
    with workers_of(kind) as pool:
        # a straggler, and the same to the last bit
        np.testing.assert_array_equal(gradient(late, pool), serial)
        found = jacobians([0, 1, 3], pool)
        np.testing.assert_array_equal(found[0], of_shared)
        np.testing.assert_array_equal(found[1], of_own)
        # a job that raises, and the executor goes on
        with pytest.raises(FloatingPointError, match="a bad row") as caught:
            gradient(raises, pool)
        assert caught.value.__notes__[0] == "reduce_sum: in job 2, of elements 800 to 1199"
        with pytest.raises(FloatingPointError, match="a bad job") as caught:
            jacobians([0, 1, 2], pool)
        assert caught.value.__notes__[0] == "map_rect: in job 2"
        np.testing.assert_array_equal(gradient(of_rows, pool), serial)
        # data were sent once to each: what goes now is the function, numbers and names
        least = min(bytes_sent(pool, lambda: gradient(of_rows, pool)) for _ in range(8))
        assert least < MOST * PIECES < XS.nbytes
        # a function that does not pickle says so
        with pytest.raises(Exception, match="pickle") as caught:
            gradient(functools.partial(with_lock, lock=threading.Lock()), pool)
        assert "reduce_sum: f cannot be sent to another process" in caught.value.__notes__[0]
        if kind == "mpi":  # a death ends all of MPI's processes, the caller's too
            return
        # a worker that dies: Dask has others, and the sum is right; where it or a pool gives up, a job is named
        if kind == "dask":
            np.testing.assert_array_equal(gradient(dies_once, pool, str(tmp_path / "died")), serial)
            assert (tmp_path / "died").exists()
            pool._client.cluster.scheduler.allowed_failures = 0
        with pytest.raises(RuntimeError, match=f"reduce_sum: {ENDED} job [0-9], of elements .* there is no result"):
            gradient(dies, pool)
        assert contad.stack().top <= 1
        if kind == "dask":
            np.testing.assert_array_equal(gradient(of_rows, pool), serial)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_map_rect_that_dies():
    with (
        workers_of("fork") as pool,
        pytest.raises(RuntimeError, match=f"map_rect: {ENDED} job [0-2] was done, and there is no result"),
    ):
        map_rect(dies_as_a_job, P, [0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0, 1, 2], pool)
    assert contad.stack().top <= 1


def bytes_sent(pool, run):
    """How many bytes of arguments go to an executor, pickled."""
    owner = workers._client_of(pool) or pool
    submit, found = owner.submit, []

    def count(call, *args, **options):
        found.append(len(pickle.dumps(args[0])))
        return submit(call, *args, **options)

    owner.submit = count
    try:
        run()
    finally:
        del owner.submit
    assert len(found) >= PIECES
    return sum(found)
