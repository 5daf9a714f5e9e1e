"""Transforms that are imported on first use, such as `contad.hessian`."""

from contad.transforms.checkpoints import checkpoint
from contad.transforms.compiled_code import bind
from contad.transforms.custom import custom_jvp, custom_vjp, function_gradients
from contad.transforms.debugging import debug_nans
from contad.transforms.flat_functions import flat, ravel
from contad.transforms.hessians import (
    grad_tr_mat_times_hessian,
    gradient_dot_vector,
    hessian,
    hessian_block_diag,
    hvp,
    laplacian,
)
from contad.transforms.ipopt_problems import IpoptProblem
from contad.transforms.jacobians import jacfwd, jacobian, jacrev
from contad.transforms.linearized import linearize, make_jvp, make_vjp
from contad.transforms.pattern_search import sparsity
from contad.transforms.scans import scan
from contad.transforms.sparse_derivatives import sparse_hessian, sparse_jacobian

__all__ = [
    "IpoptProblem",
    "bind",
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "flat",
    "function_gradients",
    "grad_tr_mat_times_hessian",
    "gradient_dot_vector",
    "hessian",
    "hessian_block_diag",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "laplacian",
    "linearize",
    "make_jvp",
    "make_vjp",
    "ravel",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
]
