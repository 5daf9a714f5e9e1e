"""contad's functions inside of other frameworks: JAX, PyTorch, PyTensor, OpenMDAO; models for nutpie, draws for ArviZ.

Each function imports its framework when it is called; contad installs none of them.
"""

from contad.interop.jax_function import as_jax
from contad.interop.openmdao_component import as_openmdao
from contad.interop.pytensor_operation import as_pytensor
from contad.interop.sampler_models import as_inference_data, as_nutpie
from contad.interop.torch_function import as_torch

__all__ = ["as_inference_data", "as_jax", "as_nutpie", "as_openmdao", "as_pytensor", "as_torch"]
