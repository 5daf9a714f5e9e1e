"""The command of random programs that are judged one by one: so many seeds, what is wrong, and how many are exact."""

import argparse


def run_command(description, mismatch, exact=None):
    """Print the mismatches of the seeds that the options say, of `mismatch(seed, compiled)`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiled", action="store_true", help="as Numba functions, which takes seconds each")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    found = [text for seed in seeds if (text := mismatch(seed, given.compiled))]
    print("\n\n".join(found[:10]))
    print(f"{len(found)} of {given.count} are wrong")
    if exact is not None:
        print(f"{sum(map(exact, seeds))} have derivatives that are all numbers")
