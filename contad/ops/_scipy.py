"""SciPy's special functions, imported at the first value that needs one, so that importing contad stays light."""

import functools
from types import ModuleType


@functools.cache
def special() -> ModuleType:
    """The module scipy.special."""
    import scipy.special

    return scipy.special
