"""What searches among random programs find: how many had what, and the failures by their seeds."""

import collections


def is_failure(outcome):
    return outcome is not None and not outcome.startswith("rejected")


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


def tell(found, failures, shrunk):
    """Print what `collect` gives, the first failures shrunk; 1 if there are any."""
    print(", ".join(f"{n} {what}" for what, n in found.most_common()))
    for seed, outcome in list(failures.items())[:4]:
        print(f"\nseed {seed}: {outcome}\n{shrunk(seed, outcome)}")
    return 1 if failures else 0
