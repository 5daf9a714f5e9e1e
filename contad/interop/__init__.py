"""contad's functions inside of other frameworks: JAX, PyTorch, OpenMDAO.

Each function imports its framework when it is called; contad installs none of them.
"""

from contad.interop.jax_function import as_jax
from contad.interop.openmdao_component import as_openmdao
from contad.interop.torch_function import as_torch

__all__ = ["as_jax", "as_openmdao", "as_torch"]
