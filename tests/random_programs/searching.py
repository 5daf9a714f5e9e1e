"""Searches among random programs: outcomes of many seeds, the commands that ask for them, failures shrunk."""

import argparse
import collections


def is_failure(outcome):
    return outcome is not None and not outcome.startswith(("rejected", "raised"))


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


def collect(check, seeds):
    """How many programs had what, and the failures by their seeds; `check` gives the outcome and what a program has."""
    found, failures = collections.Counter(), {}
    for seed in seeds:
        outcome, has = check(seed)
        found["agree" if outcome is None else outcome.partition(" at ")[0][:70]] += 1
        found.update(has)
        if is_failure(outcome):
            failures[seed] = outcome
            print(f"seed {seed}: {outcome[:200]}", flush=True)
    return found, failures


def shrink(program, smaller, fails):
    """The smallest program found that still fails; `smaller` gives the programs that lack a part of one."""
    while (found := next(filter(fails, smaller(program)), None)) is not None:
        program = found
    return program


# ---- commands --------------------------------------------------------------------------------------------------------
def parse_options(description, count, **flags):
    """The options of a command, `seeds` among them; flags by what they mean."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    for name, meaning in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=meaning)
    options = parser.parse_args()
    options.seeds = range(options.seed, options.seed + options.count)
    return options


def tell(found, failures, shrunk):
    """Print what `collect` gives, the first failures shrunk; 1 if there are any."""
    print(", ".join(f"{n} {what}" for what, n in found.most_common()))
    for seed, outcome in list(failures.items())[:4]:
        print(f"\nseed {seed}: {outcome}\n{shrunk(seed, outcome)}")
    return 1 if failures else 0


def run_command(description, mismatch, exact=None):
    """Print the mismatches of the seeds that the options say, of `mismatch(seed, compiled)`, and how many are exact."""
    options = parse_options(description, 200, compiled="as Numba functions, which takes seconds each")
    found = [text for seed in options.seeds if (text := mismatch(seed, options.compiled))]
    print("\n\n".join(found[:10]))
    print(f"{len(found)} of {options.count} are wrong")
    if exact is not None:
        print(f"{sum(map(exact, options.seeds))} have derivatives that are all numbers")
