"""Random programs of the generated grammar before a judge: one seed, many seeds by a command, a failure shrunk.

A judge is a function of a maker, a block of statements and the seed: what is wrong with the program, or None. It
raises `generated_programs.Rejected` where the program proves nothing.
"""

import argparse
import collections
import signal
import warnings

import numpy as np

import contad
from tests.judges.planted import known
from tests.random_programs import generated_programs as first
from tests.random_programs.generated_grammar import Maker

SECONDS = 2 * first.SECONDS


def attempt(judge, maker, block, seed):
    """What a judge says of one program."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), known(first.softened):
        warnings.simplefilter("ignore")
        return judge(maker, block, seed)


def check(judge, seed, small=False, **options):
    """The outcome of one program: None, "raised alike", what went wrong, or "rejected: why"."""
    first.prepare()
    signal.signal(signal.SIGVTALRM, first.too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        maker = Maker(seed, small, **options)
        return attempt(judge, maker, maker.program(), seed)
    except first.Rejected as error:
        return f"rejected: {error}"
    except first.TooSlow:
        return "rejected: slow"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def shrunk(judge, seed, result, small=False, **options):
    """The source of a failing program, shrunk."""
    maker = Maker(seed, small, **options)

    def fails(block):
        try:
            return first.kind(attempt(judge, maker, block, seed)) == first.kind(result)
        except (first.Rejected, SyntaxError, contad.errors.ContadError):
            return False

    return maker.source(first.shrink(maker.program(), fails))


def find_disagreement(disagreement, seeds):
    """(seed, what is wrong) of the first seed with a disagreement, or an error; None where all are right."""
    for seed in seeds:
        try:
            wrong = disagreement(seed)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            return seed, wrong
    return None


def parser_of(description, count):
    """The options that every command has."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    return parser


def search(judge, options, **made):
    """Judge as many seeds as the options say, print the failures, some of them shrunk; 1 if there are any."""
    counts, failures = collections.Counter(), {}
    for seed in range(options.seed, options.seed + options.count):
        result = check(judge, seed, options.small, **made)
        counts["agree" if result is None else first.kind(result)] += 1
        if first.is_failure(result):
            failures.setdefault(first.kind(result), (seed, result))
            print(f"seed {seed}: {result[:200]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.most_common()))
    for seed, result in list(failures.values())[:4]:
        print(f"\nseed {seed}: {result}\n{shrunk(judge, seed, result, options.small, **made)}")
    return 1 if failures else 0
