"""What the tests ask to have compiled: counted by file and held against the budgets in `notes/testing.md`.

A request to Numba for a function at new types counts, and a derivative at new types; not what Numba or contad compile
on the way. So the numbers are the same whether the cache is empty or has the answer, and whichever worker runs a test.
A process that a test starts counts as several, for it imports all anew.
"""

import functools
import re
import subprocess
from collections import Counter
from pathlib import Path
from types import FunctionType

import pytest
from numba.core.dispatcher import Dispatcher

from contad.front.derivative import Derivative

BUDGETS = Path(__file__).parents[2] / "notes" / "testing.md"
PROCESS = 20  # compilations that a process counts as
DEFAULT = "any other file"
COLLECTING = "collecting"  # what tests ask for when they are imported, by every worker


def read_budgets(text):
    """{file: compilations} of the lines of a table such as `| tests/front/test_cache.py | 90 |`."""
    rows = re.findall(rf"^\| `?([\w/]+\.py|{DEFAULT}|{COLLECTING})`? \| (\d+) \|", text, re.MULTILINE)
    return {file: int(number) for file, number in rows}


def find_excesses(counts, budgets):
    """A line for each file that asked for more than its budget."""
    return [
        f"{file}: {counts[file]} compilations, its budget is {budgets.get(file, budgets[DEFAULT])}"
        for file in sorted(counts)
        if counts[file] > budgets.get(file, budgets[DEFAULT])
    ]


class CompilationCounter:
    """A plugin of pytest: fails the run in which a file asks for more than its budget, and says by how much."""

    def __init__(self, config):
        self.config = config
        self.counts = Counter()
        self.file = COLLECTING
        self.depth = 0
        subprocess.Popen.__init__ = self._starting(subprocess.Popen.__init__)
        Dispatcher.compile = self._counting(Dispatcher.compile)
        Derivative._compile = self._counting(Derivative._compile)

    def _starting(self, start):
        @functools.wraps(start)
        def counted(*args, **options):  # an audit hook would run in the middle of what has to be one instruction
            if self.file != COLLECTING:  # else xdist and Python's platform start them
                self.counts[self.file] += PROCESS
            start(*args, **options)

        return counted

    def _counting(self, compile_for):
        def counted(dispatcher, sig, *more):
            known = len(dispatcher.overloads)
            self.depth += 1
            try:
                found = compile_for(dispatcher, sig, *more)
                is_new = isinstance(dispatcher, Derivative) or len(dispatcher.overloads) > known
            except BaseException:  # a refusal is found by compiling
                is_new = True
                raise
            finally:
                self.depth -= 1
                if is_new and self.depth == 0:
                    self.counts[self.file] += 1
            return found

        # as a function of Numba's: a warning looks for the first frame that is not, the user's
        scope = globals() | {"__name__": "numba.counted"}
        return functools.wraps(compile_for)(FunctionType(counted.__code__, scope, None, None, counted.__closure__))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.file = item.nodeid.partition("::")[0]
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Called in the process that leads the workers, when one ends."""
        counts = Counter(getattr(node, "workeroutput", {}).get("compilations", {}))
        collecting = max(counts.pop(COLLECTING, 0), self.counts[COLLECTING])
        self.counts.update(counts)
        self.counts[COLLECTING] = collecting

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["compilations"] = dict(self.counts)
        elif self.excesses() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def excesses(self):
        """What is said of this run; nothing where tests run that have no budget."""
        if re.search(r"(?<!not )\b(long|notebooks)\b", self.config.option.markexpr):
            return []
        return find_excesses(self.counts, read_budgets(BUDGETS.read_text()))

    def pytest_terminal_summary(self, terminalreporter):
        if self.config.option.verbose > 0:
            terminalreporter.section("compilations asked for")
            for file, count in self.counts.most_common(40):
                terminalreporter.write_line(f"{count:5} {file}")
        for line in self.excesses():
            terminalreporter.write_line(f"FAILED {line}; share what is compiled, or mark tests as long", red=True)
