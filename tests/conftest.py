"""Hypothesis draws the same examples in every run, unless `--hypothesis-profile=explore` asks for new ones."""

import contextlib
import gc
import os

# The workers have a core each: threads of BLAS would wait for one another. It reads this when NumPy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What is tested does not depend on it, and the time is that of compiling. It is read when Numba is first imported.
os.environ.setdefault("NUMBA_OPT", "1")

import pytest
from hypothesis import settings

import tests.judges.light_compiling  # noqa: F401  before contad, which compiles when it is imported

# isort: split
from contad.engines.stream.patience import PATIENCE
from contad.rules import scalar_rule
from contad.variables.stack import recover_memory
from tests.judges.compilations import CompilationCounter
from tests.judges.reader_faults import raise_faults
from tests.judges.samples import choose_share, deselect

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=10_000)
settings.load_profile("ci")
with contextlib.suppress(ImportError):  # not in the oldest releases
    from hypothesis.internal.conjecture import providers

    # It also draws constants of this project's modules that have been imported by then: others in each process.
    providers.is_local_module_file = lambda path: False

raise_faults()
PATIENCE.loading = PATIENCE.compiling = 0.0  # tests are of compiled sweeps, but for those of `plain_sweep`

RARELY = 20_000, 10, 10  # of Python's collector: compiling makes many objects, and an eighth of its time was collecting
REPORTS = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser):
    parser.addoption("--share", type=int, help="run one test in so many, and of each function at least one")
    parser.addoption("--thin", type=int, default=1, help="run one in so many of these")
    parser.addoption("--part", type=int, default=0, help="which of them, from 0 on: other parts have other tests")


def pytest_configure(config):
    config.pluginmanager.register(CompilationCounter(config))
    if config.option.share is None:  # else it was asked for; the workers are told by the process that starts them
        config.option.share = choose_share(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Everything that is imported and collected stays: looking for what does not took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)  # of what the marks leave
def pytest_collection_modifyitems(config, items):
    deselect(config, items, config.option.share, config.option.thin, config.option.part)


def pytest_collection_finish(session):
    """Keep Python's collector from walking again and again what was imported and collected, and what is compiled."""
    gc.freeze()
    gc.set_threshold(*RARELY)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Nor what a file of tests has left behind: late in a run a test that collects would walk it for seconds."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        recover_memory()  # variables of the base stack, beside which contad.zeros makes arrays of variables
        gc.collect()
        gc.freeze()
    return result


@pytest.fixture(autouse=True)
def rules_are_left_as_they_were():
    """A rule that a test leaves behind would be met by later tests; `tests.judges.planted.registered` removes it."""
    before = set(scalar_rule._rules)
    yield
    assert set(scalar_rule._rules) == before


@pytest.fixture
def report(request):
    """report(title, text): printed at the end of the run."""

    def add(title, text):
        request.config.stash.setdefault(REPORTS, {})[title] = text

    return add


def pytest_terminal_summary(terminalreporter, config):
    for title, text in config.stash.get(REPORTS, {}).items():
        terminalreporter.section(title)
        terminalreporter.write_line(text)
