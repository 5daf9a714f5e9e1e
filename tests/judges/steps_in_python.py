"""Operations of linear algebra in recordings without their kernels: NumPy and SciPy do all of them."""

import pytest

from contad.engines.matrix.compiled_steps import StepKernels


def leave_steps_to_python(patch: pytest.MonkeyPatch) -> None:
    """Let no step take a kernel, whatever has been compiled, as long as the patch lasts."""
    patch.setattr(StepKernels, "attempt", property(lambda kernels: None), raising=False)  # before those of instances
    patch.setattr(StepKernels, "are_there", lambda kernels: False)
