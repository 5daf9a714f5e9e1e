"""What the commands of the benchmarks share: their options, the machine they name, and how figures are printed."""

import argparse
import json
import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

QUICK = " **Quick run: the figures mean nothing.**"


def machine(*libraries: str, **others: Any) -> dict[str, Any]:
    """Python, the system, the number of cores, and the releases of libraries."""
    system = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    return system | {"cores": os.cpu_count()} | {name: version(name) for name in libraries} | others


def head(figures: dict[str, Any], how: str) -> str:
    """The line below a title: the machine, how times are taken, and a warning after a quick run."""
    named = ", ".join(f"{k} {v}" for k, v in figures["machine"].items())
    return f"{named}. {how}{QUICK if figures['quick'] else ''}"


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """The options that every command has."""
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    made.add_argument("--quick", action="store_true", help="small sizes, a test of the script: figures mean nothing")
    made.add_argument("--json", action="store_true", help="print JSON instead of Markdown tables")
    return made


def show(figures: dict[str, Any], report: Callable[[dict[str, Any]], str], as_json: bool) -> None:
    """Print figures as JSON or as a report."""
    print(json.dumps(figures, indent=2) if as_json else report(figures))
