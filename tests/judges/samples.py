"""A fixed sample of a large family of tests: the others have the mark `long`."""

from zlib import crc32

import pytest


def name_of(value):
    """The name of a case: that of each of its parts."""
    parts = value if isinstance(value, tuple) else (value,)
    return "-".join(str(getattr(part, "__name__", part)) for part in parts)


def choose(names, families, share):
    """For each name whether it is chosen: one in `share`, and at least one of each family.

    It is chosen by a digest of it, so that a new name changes the choice of no other one but of its family.
    """
    families = list(families)
    digests = [crc32(name.encode()) for name in names]
    first = {}
    for digest, family in zip(digests, families, strict=True):
        first[family] = min(digest, first.get(family, digest))
    return [d % share == 0 or d == first[f] for d, f in zip(digests, families, strict=True)]


def sampled(cases, share, family=lambda case: None, name=name_of, dear=()):
    """The cases as parameters of a test, of which one in `share` runs always, and with `-m long` the others.

    Of each family, which is what the function `family` gives of a case, at least one is chosen; those named in `dear`,
    which compile for half a minute each, never are.
    """
    cases = list(cases)
    names = list(map(name, cases))
    families = [(known in dear, family(case)) for case, known in zip(cases, names, strict=True)]
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=known,
            marks=[] if chosen and known not in dear else [pytest.mark.long],
        )
        for case, known, chosen in zip(cases, names, choose(names, families, share), strict=True)
    ]


def shortened(short, full):
    """How much a test tries, as its parameter: a short count always, the full one with `-m long`."""
    return [pytest.param(short, id="short"), pytest.param(full, id="full", marks=pytest.mark.long)]


def choose_share(config):
    """Of a run of the whole suite every fourth case, of what is named on the command line all."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword
    return 1 if named or "long" in config.option.markexpr.replace("not long", "") else 4


def deselect(config, items, share, thin=1, part=0):
    """Leave one test in `share` of those collected, and of each test function at least one; of these one in `thin`.

    The parts from 0 to thin - 1 have no test in common, and every test between them.
    """
    names = [item.nodeid for item in items]
    kept = choose(names, [name.partition("[")[0] for name in names], share)
    kept = [is_kept and crc32(name[::-1].encode()) % thin == part for name, is_kept in zip(names, kept, strict=True)]
    config.hook.pytest_deselected(items=[item for item, is_kept in zip(items, kept, strict=True) if not is_kept])
    items[:] = [item for item, is_kept in zip(items, kept, strict=True) if is_kept]
