"""A function of NumPy arrays as a function of PyTorch's tensors."""

from typing import Any

import numpy as np

from contad.transforms.gradients import vjp
from contad.variables.open_types import Function


def as_torch(f: Function) -> Function:
    """A plain or Numba function of arrays, as a function of PyTorch tensors that autograd differentiates.

    Tensors are on the CPU. f computes with 64 bits; the result and the gradients have the types of the tensors.
    Arguments that are not tensors are passed on as they are. It has first derivatives only.

    >>> import numpy as np, torch                                                               # doctest: +SKIP
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)                                        # doctest: +SKIP
    >>> as_torch(lambda x: np.sum(x**3))(x).backward()                                          # doctest: +SKIP
    >>> x.grad                                                                                  # doctest: +SKIP
    tensor([ 3., 12.])
    """
    import torch
    from torch.autograd.function import once_differentiable

    class Called(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            where = [k for k, x in enumerate(args) if isinstance(x, torch.Tensor) and x.requires_grad]
            given = [x.detach().numpy().astype(float, copy=False) if isinstance(x, torch.Tensor) else x for x in args]

            def function(*chosen: Any) -> Any:
                whole = list(given)
                for k, x in zip(where, chosen, strict=True):
                    whole[k] = x
                return f(*whole)

            value, ctx.pull = vjp(f if len(where) == len(args) else function, *[given[k] for k in where])
            ctx.where, ctx.types = where, [x.dtype if isinstance(x, torch.Tensor) else None for x in args]
            ctx.shape = np.shape(value)
            return torch.as_tensor(np.asarray(value), dtype=args[where[0]].dtype)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, z_bar: Any) -> Any:
            cotangent = z_bar.numpy().astype(float, copy=False)
            found = ctx.pull(cotangent if ctx.shape else float(cotangent))
            slopes = dict(zip(ctx.where, found, strict=True))
            return tuple(
                torch.as_tensor(np.asarray(slopes[k]), dtype=kind) if k in slopes else None
                for k, kind in enumerate(ctx.types)
            )

    def call(*args: Any) -> Any:
        if any(isinstance(x, torch.Tensor) and x.requires_grad for x in args) and torch.is_grad_enabled():
            return Called.apply(*args)
        return torch.as_tensor(np.asarray(f(*[x.numpy() if isinstance(x, torch.Tensor) else x for x in args])))

    return call
