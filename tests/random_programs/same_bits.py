"""Whether derivatives of the engine `generated` are the same, to the bit, in two states of contad.

    python -m tests.random_programs.same_bits write FILE --seeds 5000      in each state
    python -m tests.random_programs.same_bits compare FILE FILE

Written are digests of values and gradients: of random programs, whose derivatives are run as Python, and, compiled, of
the corpus `benchmarks.real` and of the comparison. A program that raises, or is refused, counts by the type of error.
"""

import argparse
import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.comparison.topic import Choice
from benchmarks.topics.passes import list_ours, list_real
from contad.engines.source import build
from tests.judges.planted import known
from tests.random_programs import generated_programs as programs


def digest(found):
    """What numbers and arrays are, to the bit."""
    made = hashlib.sha256()

    def add(x):
        if isinstance(x, (tuple, list)):
            for part in x:
                add(part)
        elif x is not None:
            array = np.asarray(x)
            made.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())

    add(found)
    return made.hexdigest()[:16]


def attempt(run):
    """The digest of what a function returns, or the type of the error that it raises."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return digest(run())
    except Exception as error:
        return type(error).__name__


def differentiate_random(seed):
    """Value and gradient of a random program."""
    maker = programs.make(seed)
    f = programs.namespace(maker.source(), seed)["f"]
    with known(programs.softened):
        return programs.generated(f, programs.arguments(seed), maker.aux)


def write(path, seeds):
    """Digests by the names of programs."""
    programs.prepare()
    found = {}
    for seed in range(seeds):
        try:
            with programs.limited():
                found[f"seed {seed}"] = attempt(lambda seed=seed: differentiate_random(seed))
        except programs.TooSlow:
            found[f"seed {seed}"] = "slow"
    for subject in (*list_real(Choice(quick=True)), *list_ours(Choice(quick=True))):
        found[subject.name] = attempt(lambda subject=subject: build(subject.request)(*subject.make()))
    path.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


def compare(path, other):
    """Print the programs that differ; how many do."""
    before, after = (json.loads(x.read_text(encoding="utf-8")) for x in (path, other))
    differing = [name for name in before if after.get(name) != before[name]]
    for name in differing:
        print(f"{name}: {before[name]} {after.get(name)}")
    print(f"{len(before)} programs, {len(differing)} differ")
    return len(differing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=5000, help="how many random programs")
    options = parser.parse_args()
    if options.what == "write":
        write(options.files[0], options.seeds)
        return 0
    return 1 if compare(*options.files) else 0


if __name__ == "__main__":
    sys.exit(main())
