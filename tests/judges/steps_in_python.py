"""Operations of linear algebra in recordings without their kernels: NumPy and SciPy do all of them."""

import pytest

from contad.engines.matrix.kernel_records import RecordKernels


def leave_steps_to_python(patch: pytest.MonkeyPatch) -> None:
    """Let no step take a kernel, whatever has been compiled, as long as the patch lasts."""
    patch.setattr(RecordKernels, "attempt", property(lambda kernels: None), raising=False)  # before those of instances
    patch.setattr(RecordKernels, "are_there", lambda kernels: False)
