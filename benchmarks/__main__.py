"""contad beside other tools, program by program: `python -m benchmarks`."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection
from contextlib import chdir
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
SIZES = ("small", "medium", "large")


def _names(text: str) -> list[str]:
    return text.split(",")


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition(":")[0])
    made.add_argument("--programs", type=_names, metavar="A,B", help="some programs only")
    made.add_argument("--tools", type=_names, metavar="A,B", help="some of the other tools only")
    made.add_argument("--sizes", type=_names, metavar="A,B", help=f"some of {', '.join(SIZES)} only")
    made.add_argument("--quick", action="store_true", help="small sizes, few repeats, no memory: about two minutes")
    made.add_argument("--startup", action="store_true", help="what a fresh process and a call cost, and nothing else")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    made.add_argument("--plot", type=Path, metavar="DIR", help="write pictures there; needs matplotlib")
    made.add_argument("--results", action="store_true", help="write tables, figures and pictures to benchmarks/results")
    made.add_argument("--read", type=Path, metavar="FILE", help="measure nothing: show the figures of this file")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write; 1 if a version gave wrong numbers."""
    options = parser().parse_args(arguments)
    if options.results:
        options.json, options.plot = RESULTS / "comparison.json", RESULTS
        RESULTS.mkdir(exist_ok=True)
    if options.read:
        figures = json.loads(options.read.read_text(encoding="utf-8"))
    else:
        options.json = options.json and options.json.absolute()
        with tempfile.TemporaryDirectory() as folder, chdir(folder):  # CasADi writes where it is what it compiles
            if not options.quick:  # what is compiled, is compiled in this run
                os.environ |= {"CONTAD_CACHE_DIR": f"{folder}/contad", "NUMBA_CACHE_DIR": f"{folder}/numba"}
            figures = measured(options)
    return shown(figures, options)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """The figures that are asked for."""
    from benchmarks import calls, startup
    from benchmarks.comparison.programs import programs
    from benchmarks.comparison.run import run
    from benchmarks.comparison.tools import TOOLS

    found = programs()
    chosen = {name: found[name] for name in _known("program", options.programs, found)}
    tools = _known("tool", options.tools, TOOLS)
    sizes = _known("size", options.sizes, SIZES) if options.sizes else ()
    quick = options.quick
    figures = run({} if options.startup else chosen, tools, sizes, quick=quick, keep=lambda f: written(f, options))
    if options.startup or not (quick or options.programs):
        figures |= {"startup": startup.startup(1 if quick else 9, quick=quick), "calls": calls.run(quick)}
    return figures


def written(figures: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the figures as JSON, if that is asked for."""
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _known(what: str, asked: list[str] | None, known: Collection[str]) -> list[str]:
    """The names that are asked for, which must be known; all if none is."""
    for name in asked or ():
        if name not in known:
            raise SystemExit(f"python -m benchmarks: no {what} is called {name}; there are {', '.join(known)}")
    return list(asked or known)


def shown(figures: dict[str, Any], options: argparse.Namespace) -> int:
    """Print the tables, write what is asked for."""
    from benchmarks.comparison.figures import wrong
    from benchmarks.comparison.plots import plot
    from benchmarks.comparison.report import report

    text = report(figures)
    written(figures, options)
    if options.results:
        (RESULTS / "comparison.md").write_text(text, encoding="utf-8")
    if options.plot:
        for path in plot(figures, options.plot):
            print(path, file=sys.stderr)
    print(text)
    return 1 if wrong(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
