"""How the results of examples in docstrings are compared."""

import doctest
import math


class NumberChecker(doctest.OutputChecker):
    """Numbers to rounding, because their last digits differ between releases of SciPy and C libraries."""

    def check_output(self, want, got, optionflags):
        try:
            return math.isclose(float(want), float(got), rel_tol=1e-13)
        except ValueError:
            return super().check_output(want, got, optionflags)
