"""Which compiled sums of formulas are in the disk cache (`contad.compiled_rules.formula_sums`), without Numba."""

from contad.compile.compiling import is_cached
from contad.rules.float_loops import LoopKey


def stem_of(key: LoopKey) -> str:
    """The name of the module with the function for a key."""
    known = zip(key.arrays, key.active, strict=True)
    kinds = "".join("anAN"[(not is_array) + 2 * is_active] for is_array, is_active in known)
    return f"sum_{key.rule.name[:40]}_{kinds}"


def texts_of(key: LoopKey) -> list[str]:
    """The texts from which the module is made."""
    return [repr(key.conditions), key.rule.name]


def has_sum_function(key: LoopKey) -> bool:
    """Whether the disk cache has the module."""
    return is_cached(stem_of(key), texts_of(key))
