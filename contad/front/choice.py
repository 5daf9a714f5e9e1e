"""Which compiled engine answers a request: the first that does not refuse it, or the one that the user chose."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from numba import NumbaError

from contad.compile.linked_code import calls_function
from contad.engines import compiled_engine
from contad.errors import ContadError, EngineLimitError, StaleSourceError, UnsupportedError
from contad.front.plan import Plan
from contad.variables.open_types import NumbaFunction

_OR_TAPE = ', or use engine="tape"'  # the end of a remedy
_STORES = "grow"  # the function by which generated source takes room in the workspace

# C functions that note lost digits, or find kernels that may do so, such as large matrix kernels
LOSING = frozenset(("contad_note_lost", "contad_find_address"))


class Choice(NamedTuple):
    """The engine that answers, the function that it has built, and why earlier engines refused."""

    engine: str | None  # None if all refused
    run: NumbaFunction | None
    along: NumbaFunction | None  # the answer to the plan's second request
    refusals: tuple[tuple[str, str], ...]  # (engine, reason); no engine if none could be asked
    lasting: bool = True  # whether another process would find the same
    limited: bool = False  # whether calls may raise EngineLimitError
    stores: bool = False  # whether calls may exhaust memory, and need less with checkpointed loops
    loses: bool = False  # whether calls may note that digits were lost
    lanes: bool = False  # whether a call takes several directions at once
    one_direction: str = ""  # why not, if there might be several


_KEPT = "limited", "stores", "loses", "lanes", "one_direction"


def write_choice(choice: Choice) -> str:
    """A choice as the first line of the module of a derivative."""
    kept = {name: getattr(choice, name) for name in ("engine", "refusals", *_KEPT)}
    return f"# {json.dumps(kept)}\n"


def read_choice(text: str) -> Choice:
    """The choice in that line, without the functions."""
    header = json.loads(text.partition("\n")[0].removeprefix("# "))
    refusals = tuple((name, why) for name, why in header["refusals"])
    return Choice(header["engine"], None, None, refusals, **{name: header[name] for name in _KEPT})


def choose(plan: Plan, names: Sequence[str]) -> Choice:
    """Ask engines in turn. An engine refuses by UnsupportedError, or by code that Numba cannot compile.

    Numba raises errors of many classes on unknown code; each is a reason to try the next engine. So is an edited file,
    which does not matter to an engine that reads no source. Errors of contad that are not refusals propagate.
    """
    refusals = []
    lasting = True
    for name in names:
        try:
            run = compiled_engine(name).build(plan.request)
            run.compile(plan.asking(run).run_types)
            along = None
            if plan.along is not None:
                along = compiled_engine(name).build(plan.along[0])
                along.compile(plan.along[1])
        except Exception as error:
            told = isinstance(error, (ContadError, MemoryError))
            if told and not isinstance(error, (UnsupportedError, StaleSourceError)):
                raise
            why = reason(error)
            if plan.request.mode == "hvp":  # which the tape does not have
                why = why.replace(_OR_TAPE, "")
            refusals.append((name, why))
            lasting &= isinstance(error, (UnsupportedError, NumbaError))
        else:
            limited = EngineLimitError.__name__ in run.py_func.__globals__
            stores = _STORES in run.py_func.__globals__ and not plan.request.checkpoint
            loses = calls_function(run, LOSING)
            return Choice(name, run, along, tuple(refusals), lasting, limited, stores, loses)
    return Choice(None, None, None, tuple(refusals), lasting)


def choose_lanes(one: Plan, several: Plan, names: Sequence[str]) -> tuple[Plan, Choice]:
    """The chosen plan and its engine: `several` directions at once if an engine takes them."""
    why = ""
    if several.has_lanes:
        found = choose(several, names[:1])  # the tape, the fallback of the others, takes one direction at a time
        if found.engine is not None:
            return several, found._replace(lanes=True)
        why = found.refusals[0][1]
    return one, choose(one, names)._replace(one_direction=why)


def describe_refusal(engine: str, why: str) -> str:
    """A refusal in words."""
    return f"engine {engine} refuses it: {why}" if engine else why


def reason(error: Exception) -> str:
    """An error as one line; for Numba's long reports, the part before the first empty line."""
    text, longest = re.sub(r"\x1b\[\d*m", "", str(error)), 400  # Numba's text without colours
    if isinstance(error, NumbaError):
        lines = [line.strip() for line in text.partition("\n\n")[0].splitlines()]
        text = " ".join(line for line in lines if line and not line.startswith("Failed in"))
        text = f"Numba: {text}"
    elif isinstance(error, (RecursionError, IndentationError)):  # the latter from generated source
        text = "it is nested too deeply; split long expressions and chains of calls"
    elif not isinstance(error, (UnsupportedError, StaleSourceError)):
        text = f"{type(error).__name__}: {text}"
    else:  # which contains a path
        longest = 2000
    return " ".join(text.split())[:longest]
