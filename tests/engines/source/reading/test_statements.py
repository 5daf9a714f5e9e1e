"""What Python and Numba do differently: generated derivatives do it as Numba does."""

import numpy as np
import pytest

from contad.engines.source.build import build
from contad.errors import UnsupportedError
from tests.engines.source.agreement import request
from tests.engines.source.programs.harness import ARGUMENTS, along, copied, function_of, run
from tests.engines.source.programs.statements import AS_NUMBA, STATEMENTS


@pytest.mark.parametrize("body", AS_NUMBA.values())
def test_small_integers_and_booleans_are_widened(body):
    f = function_of(STATEMENTS, body)
    expected = f(*copied(ARGUMENTS))
    assert build(request(f, *ARGUMENTS, argnums=(0, 1)))(*ARGUMENTS)[0] == expected
    if "s * small" not in body:  # integers of Python do not wrap
        assert run(STATEMENTS, f)(*copied(ARGUMENTS))[0] == expected


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.float32, np.complex64])
def test_arrays_of_other_types_are_read_by_numba(dtype):
    args = [*ARGUMENTS[:3], np.arange(1.0, 4.0).astype(dtype), *ARGUMENTS[4:]]
    table = STATEMENTS._replace(arguments=args)
    f = function_of(table, "return x[0] * np.float64(idx[1].real) * a + np.float64(idx[2].real) * x[1]")
    value, (by_x, by_a) = build(request(f, *args, argnums=(0, 1)))(*args)
    assert value == pytest.approx(f(*args), rel=1e-14)
    np.testing.assert_allclose([*by_x, by_a], along(f, args, (0, 1), 1e-6)[:, 0], rtol=1e-7, atol=1e-8)
    if dtype != np.float32:  # of which a function may write one
        with pytest.raises(UnsupportedError):
            run(table, function_of(table, "idx[0] = 2\nreturn x[0] * a"))
