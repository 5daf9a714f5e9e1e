"""Looks up the keys of a dict, written for the generator, which inlines these functions.

A dict of numbers consists of columns of integers and a hash table. The columns hold the parts of the keys in insertion
order. An entry of the table holds the slot of a key plus one, or 0 if it is empty. Keys are never deleted, so slots do
not change.
"""


def places_for(room):  # type: ignore[no-untyped-def]
    """The size of the table for this number of keys: a power of two, at least twice the number."""
    size = 2
    while size < 2 * room:
        size *= 2
    return size


def find_slot(places, columns, key):  # type: ignore[no-untyped-def]
    """The slot of a key, -1 if there is none, and its place in the table, present or future."""
    last = len(places) - 1
    mixed = 0
    for part in key:
        mixed = mixed * 31 + part
    mixed = mixed ^ (mixed >> 15)
    at = mixed & last
    slot = places[at] - 1
    while slot >= 0:
        same = True
        for column, part in zip(columns, key):  # noqa: B905
            same = same and column[slot] == part
        if same:
            break
        at = (at + ((mixed >> 7) | 1)) & last  # an odd number, so that every place is reached
        slot = places[at] - 1
    return slot, at
