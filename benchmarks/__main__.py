"""contad beside other tools, program by program, and what else is measured, topic by topic: `python -m benchmarks`."""

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
SIZES = ("tiny", "small", "medium", "large")  # of which few programs have the first
STARTUP = ["startup", "calls"]  # topics that a whole run contains


def split_names(text: str) -> list[str]:
    return text.split(",")


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition(":")[0])
    made.add_argument("topics", nargs="*", metavar="TOPIC", help="topics instead of the comparison with other tools")
    made.add_argument("--programs", type=split_names, metavar="A,B", help="some programs only")
    made.add_argument("--tools", type=split_names, metavar="A,B", help="some of the other tools only")
    made.add_argument("--sizes", type=split_names, metavar="A,B", help=f"some of {', '.join(SIZES)} only")
    made.add_argument("--engines", type=split_names, metavar="A,B", default=("matrix",), help="contad's, in `arrays`")
    made.add_argument("--passes", type=split_names, metavar="A,B", help="some passes only, in `passes`")
    made.add_argument("--texts", action="store_true", help="which programs passes change, in `passes`: no times")
    made.add_argument("--data", type=Path, metavar="CLONE", help="a clone of posteriordb, for `posteriordb`")
    made.add_argument("--quick", action="store_true", help="small sizes, few repeats, no memory: about two minutes")
    made.add_argument("--startup", action="store_true", help="what a fresh process and a call cost, and nothing else")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    made.add_argument("--plot", type=Path, metavar="DIR", help="write pictures there; needs matplotlib")
    made.add_argument("--results", action="store_true", help="write tables, figures and pictures to benchmarks/results")
    made.add_argument("--read", type=Path, metavar="FILE", help="measure nothing: show the figures of this file")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write; 1 if a version gave wrong numbers."""
    options = make_parser().parse_args(arguments)
    if options.results:
        options.json, options.plot = RESULTS / f"{name_of_results(options)}.json", RESULTS
        RESULTS.mkdir(exist_ok=True)
    if options.read:
        figures = json.loads(options.read.read_text(encoding="utf-8"))
    else:
        options.json = options.json and options.json.absolute()
        with tempfile.TemporaryDirectory() as folder, chdir(folder):  # CasADi writes where it is what it compiles
            if not options.quick:  # what is compiled, is compiled in this run
                os.environ |= {"CONTAD_CACHE_DIR": f"{folder}/contad", "NUMBA_CACHE_DIR": f"{folder}/numba"}
            figures = measure(options)
    return show(figures, options)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures that are asked for: of the comparison, if no topics are named, and of topics."""
    from benchmarks import stan_models
    from benchmarks.comparison.programs import find_programs
    from benchmarks.comparison.run import run
    from benchmarks.comparison.tools import TOOLS
    from benchmarks.comparison.topic import Choice, find_topics, run_topic

    topics = _know("topic", options.topics, find_topics()) if options.topics else []
    known = [*TOOLS, *stan_models.TOOLS]
    tools = [tool for tool in _know("tool", options.tools, known) if tool in TOOLS]
    figures: dict[str, Any] = {}
    if options.startup:
        topics += STARTUP
    elif not topics:
        found = find_programs()
        chosen = {name: found[name] for name in _know("program", options.programs, found)}
        sizes = _know("size", options.sizes, SIZES) if options.sizes else ()
        earlier = read_earlier(options)
        figures = run(
            chosen, tools, sizes, quick=options.quick, keep=lambda figures: write(put_into(earlier, figures), options)
        )
        figures = put_into(earlier, figures)
        topics = [] if options.quick or options.programs else STARTUP
    if "posteriordb" in topics and not options.data:
        raise SystemExit("python -m benchmarks: posteriordb needs --data, a clone of github.com/stan-dev/posteriordb")
    data = options.data and options.data.absolute()
    choice = Choice(
        options.quick, options.engines, options.programs, options.passes, options.texts, data, options.tools
    )
    found = [run_topic(topic, tools, choice) for topic in topics]
    return figures | {"topics": found or figures.get("topics", [])}


def read_earlier(options: argparse.Namespace) -> dict[str, Any] | None:
    """The figures in `results`, into which those of some programs are put; None where all are measured."""
    path = RESULTS / "comparison.json"
    if not (options.results and options.programs and path.exists()):
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def put_into(earlier: dict[str, Any] | None, figures: dict[str, Any]) -> dict[str, Any]:
    """Earlier figures with the programs of another run in their places, each with the `run` that it is from."""
    if earlier is None:
        return figures
    about = {key: figures[key] for key in ("date", "command", "machine", "skipped")}
    new = {program["name"]: program | {"run": about} for program in figures["programs"]}
    kept = [new.pop(program["name"], program) for program in earlier["programs"]]
    settings = earlier["settings"] | figures["settings"]
    return earlier | {"programs": [*kept, *new.values()], "settings": settings}


def name_of_results(options: argparse.Namespace) -> str:
    """What the files in benchmarks/results are called: of topics alone by these."""
    return "-".join(options.topics) or "comparison"


def write(figures: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the figures as JSON, if that is asked for."""
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _know(what: str, asked: list[str] | None, known: Collection[str]) -> list[str]:
    """The names that are asked for, which must be known; all if none is."""
    for name in asked or ():
        if name not in known:
            raise SystemExit(f"python -m benchmarks: no {what} is called {name}; there are {', '.join(known)}")
    return list(asked or known)


def show(figures: dict[str, Any], options: argparse.Namespace) -> int:
    """Print the tables, write what is asked for."""
    from benchmarks.comparison.figures import list_wrong
    from benchmarks.comparison.plots import plot
    from benchmarks.comparison.report import report
    from benchmarks.comparison.topic import find_failures, report_topic
    from benchmarks.pages import write_tables

    topics = figures.get("topics", [])
    compares = "programs" in figures
    text = "\n".join([*([report(figures)] if compares else []), *map(report_topic, topics)])
    write(figures, options)
    if options.results:
        (RESULTS / f"{name_of_results(options)}.md").write_text(text, encoding="utf-8")
        write_tables(figures)
    if options.plot and compares:
        for path in plot(figures, options.plot):
            print(path, file=sys.stderr)
    print(text)
    return 1 if (compares and list_wrong(figures)) or any(map(find_failures, topics)) else 0


if __name__ == "__main__":
    sys.exit(main())
