"""A function of NumPy arrays as a function of PyTorch's tensors."""

from typing import Any

import numpy as np

from contad.errors import OutputError, UnsupportedError
from contad.functions.user_call import name_of
from contad.transforms.gradients import vjp
from contad.variables.open_types import Function


def as_torch(f: Function) -> Function:
    """A plain or Numba function of arrays, as a function of PyTorch tensors that autograd differentiates.

    Tensors are on the CPU. f computes with 64 bits, and returns one number or array, which has the type of the first
    tensor of floats; each gradient has the type of its tensor. Arguments that are not tensors are passed on as they
    are. It has first derivatives only.

    Raises:  OutputError if f returns several results.

    >>> import numpy as np, torch                                                               # doctest: +SKIP
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)                                        # doctest: +SKIP
    >>> as_torch(lambda x: np.sum(x**3))(x).backward()                                          # doctest: +SKIP
    >>> x.grad                                                                                  # doctest: +SKIP
    tensor([ 3., 12.])
    """
    import torch

    class Called(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.where = [k for k, x in enumerate(args) if isinstance(x, torch.Tensor) and x.requires_grad]
            active = [args[k] for k in ctx.where]
            given = [_as_array(x) for x in args]

            def function(*chosen: Any) -> Any:
                whole = list(given)
                for k, x in zip(ctx.where, chosen, strict=True):
                    whole[k] = x
                return f(*whole)

            value, ctx.pull = vjp(f if len(active) == len(args) else function, *[given[k] for k in ctx.where])
            ctx.count, ctx.is_number = len(args), not np.ndim(value)
            ctx.save_for_backward(*active)
            return _as_tensor(value, args)

        @staticmethod
        def backward(ctx: Any, z_bar: Any) -> Any:
            pulled = Pulled.apply(lambda z: ctx.pull(float(z) if ctx.is_number else z), z_bar, *ctx.saved_tensors)
            slopes = dict(zip(ctx.where, pulled, strict=True))
            return tuple(slopes.get(k) for k in range(ctx.count))

    class Pulled(torch.autograd.Function):  # PyTorch takes gradients for constants where nobody says otherwise
        @staticmethod
        def forward(ctx: Any, pull: Function, z_bar: Any, *active: Any) -> Any:
            found = zip(pull(_as_array(z_bar)), active, strict=True)
            return tuple(torch.as_tensor(np.asarray(slope), dtype=x.dtype) for slope, x in found)

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise UnsupportedError("as_torch: the function has first derivatives only; use contad.hessian of it")

    def call(*args: Any) -> Any:
        if any(isinstance(x, torch.Tensor) and x.requires_grad for x in args) and torch.is_grad_enabled():
            return Called.apply(*args)
        return _as_tensor(f(*map(_as_array, args)), args)

    def _as_array(x: Any) -> Any:
        return x.detach().numpy().astype(float, copy=False) if isinstance(x, torch.Tensor) else x

    def _as_tensor(value: Any, args: Any) -> Any:
        if isinstance(value, (tuple, list, dict)):
            raise OutputError(f"as_torch: {name_of(f)} must return one number or array, got a {type(value).__name__}")
        kinds = (x.dtype for x in args if isinstance(x, torch.Tensor) and x.is_floating_point())
        return torch.as_tensor(np.asarray(value), dtype=next(kinds, None))

    return call
