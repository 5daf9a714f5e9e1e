"""PyTorch's functions on variables: `torch.exp(x)`, `torch.sum(x, dim=0)`, `torch.nn.functional.relu(x)`.

PyTorch asks a variable for these by `__torch_function__`. An elementwise function is NumPy's, or contad's, of the same
name. The others have other options, and are written here with NumPy's functions. What is missing is refused by name.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad import ops
from contad.errors import UnsupportedError
from contad.ops.log_sums import logsumexp, softmax as softmax_of_axis
from contad.rules.scalar_rule import ScalarRule
from contad.variables.open_types import ArrayValue, Function, Option, Options, Value

NAMES = {
    "mul": "multiply", "sub": "subtract", "div": "divide", "pow": "power", "neg": "negative", "eq": "equal", "ne":
    "not_equal", "lt": "less", "gt": "greater", "le": "less_equal", "ge": "greater_equal", "__floordiv__":
    "floor_divide", "sigmoid": "expit", "logsigmoid": "log_expit", "log_sigmoid": "log_expit", "special_psi": "digamma",
    "logit": "logit", "softsign": "softsign", "mm": "matmul", "bmm": "matmul", "mv": "matmul",
}  # fmt: skip
METHODS = (  # of tensors, whose meaning or options differ from those of NumPy's
    "var", "std", "max", "min", "sort", "repeat", "transpose", "nonzero", "flatten", "sum", "mean", "prod", "squeeze",
    "argmax", "argmin", "argsort", "cumsum", "cumprod", "clip", "diagonal", "trace", "round", "view",
)  # fmt: skip
_AXES = {"axis": "dim", "keepdims": "keepdim"}  # which PyTorch takes, too
_UNSAID = ("_stacklevel", "inplace")  # options that say nothing here


class Ordered(NamedTuple):
    """Elements and their positions."""

    values: Value
    indices: Value


def apply_to_variables(name: str, args: Sequence[Value], options: Options) -> Any:
    """A function of PyTorch on arguments of which one is a variable."""
    function = find(name)
    given = {_AXES.get(key, key): x for key, x in options.items() if x is not None and key not in _UNSAID}
    if function is None or options.get("inplace"):
        raise UnsupportedError(
            f"torch: {name}: not available on variables; write it with NumPy's functions, as np.sum(x), or with those "
            "of xp = x.__array_namespace__()"
        )
    try:
        return function(*args, **given)
    except TypeError as error:
        if "argument" in str(error):
            raise UnsupportedError(f"torch: {name} on variables: {error}") from error
        raise


def find(name: str) -> Function | None:
    """The function on variables, if there is one."""
    written: Function | None = WRITTEN.get(name)
    if written is not None:
        return written
    plain = NAMES.get(name, name.removeprefix("special_"))
    for found in (getattr(np, plain, None), getattr(ops, plain, None)):
        if isinstance(found, (np.ufunc, ScalarRule)):
            return found
    linear = name.removeprefix("linalg_")
    return getattr(np.linalg, linear, None) if linear != name else None


# ---- along axes ------------------------------------------------------------------------------------------------------
def _along(function: Function) -> Function:
    def reduce(x: Value, dim: Option = None, keepdim: bool = False) -> Value:
        return function(x, axis=dim, keepdims=keepdim)

    return reduce


def _spread(function: Function) -> Function:
    def reduce(x: Value, dim: Option = None, *, correction: float = 1, keepdim: bool = False) -> Value:
        if isinstance(dim, bool):
            raise UnsupportedError("torch: var and std on variables: name the option, as correction=0")
        return function(x, axis=dim, ddof=correction, keepdims=keepdim)

    return reduce


def _extreme(of_all: Function, position: Function, of_two: Function) -> Function:
    def reduce(x: Value, dim: Any = None, keepdim: bool = False) -> Value:
        if dim is None:
            return of_all(x)
        if hasattr(dim, "shape"):
            return of_two(x, dim)
        places = position(x, axis=dim)
        return Ordered(of_all(x, axis=dim, keepdims=keepdim), np.expand_dims(places, dim) if keepdim else places)

    return reduce


def _position(function: Function) -> Function:
    return lambda x, dim=None: function(x, axis=dim)


def sort(x: Value, dim: int = -1, descending: bool = False) -> Ordered:
    """The elements in order, and their positions."""
    places = np.argsort(-x if descending else x, axis=dim)
    return Ordered(np.take_along_axis(x, places, axis=dim), places)


def gather(x: Value, dim: int, index: ArrayValue) -> Value:
    """x at an index along an axis."""
    rest = [[n for k, n in enumerate(a.shape) if k != dim % len(x.shape)] for a in (x, index)]
    if rest[0] != rest[1]:
        raise UnsupportedError("torch: gather on variables: x and the index must have the same other axes")
    return np.take_along_axis(x, index, axis=dim)


def argsort(x: Value, dim: int = -1, descending: bool = False) -> Value:
    """The positions of the elements in order."""
    return sort(x, dim, descending).indices


def transpose(x: Value, *axes: Any) -> Value:
    """Two axes exchanged; without them, or with one tuple, NumPy's transpose."""
    return np.swapaxes(x, *axes) if len(axes) == 2 else np.transpose(x, *axes)


def reshape(x: Value, *shape: Any) -> Value:
    """The elements in another shape."""
    return np.reshape(x, shape[0] if len(shape) == 1 else shape)


def expand(x: Value, *shape: int) -> Value:
    """x repeated along axes of length 1; -1 keeps the length of an axis."""
    kept = (*(None,) * (len(shape) - x.ndim), *x.shape)
    return np.broadcast_to(x, tuple(old if n == -1 else n for n, old in zip(shape, kept, strict=True)))


def flatten(x: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """Consecutive axes as one."""
    n = max(x.ndim, 1)
    first, last = start_dim % n, end_dim % n
    return np.reshape(x, (*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


# ---- networks --------------------------------------------------------------------------------------------------------
def relu(x: Value) -> Value:
    """x where it is positive, else 0, with derivative 0 at 0."""
    return np.where(x > 0.0, x, 0.0)


def leaky_relu(x: Value, negative_slope: float = 0.01) -> Value:
    """x where it is positive, else a multiple."""
    return np.where(x > 0.0, x, negative_slope * x)


def elu(x: Value, alpha: float = 1.0) -> Value:
    """x where it is positive, else alpha (e^x - 1)."""
    return np.where(x > 0.0, x, alpha * np.expm1(np.where(x > 0.0, 0.0, x)))


def silu(x: Value) -> Value:
    """x times its logistic function."""
    return x * ops.expit(x)


def gelu(x: Value, approximate: str = "none") -> Value:
    """x times the normal distribution function."""
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + ops.erf(x * math.sqrt(0.5)))


def softplus(x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """log(1 + e^(beta x)) / beta; above the threshold it is x to rounding in PyTorch, and here."""
    return ops.log1p_exp(x * beta) / beta


def softmax(x: Value, dim: int) -> Value:
    """Probabilities from logarithms."""
    return softmax_of_axis(x, axis=dim)


def log_softmax(x: Value, dim: int) -> Value:
    """Logarithms of probabilities."""
    return x - logsumexp(x, axis=dim, keepdims=True)


def linear(x: Value, weight: Value, bias: Value = None) -> Value:
    """x weight^T + bias."""
    z = np.matmul(x, weight.mT)
    return z if bias is None else z + bias


def layer_norm(x: Value, shape: Sequence[int], weight: Value = None, bias: Value = None, eps: float = 1e-5) -> Value:
    """x with mean 0 and variance 1 over its last axes."""
    axes = tuple(range(-len(shape), 0))
    centred = x - np.mean(x, axis=axes, keepdims=True)
    z = centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + eps)
    z = z if weight is None else z * weight
    return z if bias is None else z + bias


def _loss(function: Function) -> Function:
    def reduce(x: Value, target: Value, reduction: str = "mean") -> Value:
        z = function(x, target)
        return _total(z, reduction)

    return reduce


def _total(z: Value, reduction: str) -> Value:
    return z if reduction == "none" else np.sum(z) if reduction == "sum" else np.mean(z)


def cross_entropy(
    x: Value, target: ArrayValue, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> Value:
    """The negative logarithm of the softmax at the classes, for rows of logits."""
    if x.ndim != 2 or label_smoothing or "int" not in str(target.dtype) or ignore_index != -100:
        raise UnsupportedError("torch: cross_entropy on variables: rows of logits and classes, without other options")
    chosen = -np.take_along_axis(log_softmax(x, 1), target[:, None], axis=1)[:, 0]
    return _total(chosen, reduction)


WRITTEN: dict[str, Any] = {
    "sum": _along(np.sum), "mean": _along(np.mean), "prod": _along(np.prod), "amax": _along(np.max),
    "amin": _along(np.min), "logsumexp": _along(logsumexp), "var": _spread(np.var), "std": _spread(np.std),
    "max": _extreme(np.max, np.argmax, np.maximum), "min": _extreme(np.min, np.argmin, np.minimum),
    "argmax": _position(np.argmax), "argmin": _position(np.argmin), "sort": sort,
    "cumsum": lambda x, dim: np.cumsum(x, axis=dim), "cumprod": lambda x, dim: np.cumprod(x, axis=dim),
    "cat": lambda tensors, dim=0: np.concatenate(tensors, axis=dim),
    "stack": lambda tensors, dim=0: np.stack(tensors, axis=dim), "where": np.where, "einsum": np.einsum,
    "masked_fill": lambda x, mask, value: np.where(mask, value, x), "gather": gather,
    "index_select": lambda x, dim, index: np.take(x, index, axis=dim), "dot": np.dot, "outer": np.outer,
    "transpose": transpose, "argsort": argsort, "expand": expand, "view": reshape,
    "repeat": lambda x, *counts: np.tile(x, counts), "t": np.transpose,
    "permute": np.transpose, "reshape": reshape,
    "flatten": flatten, "ravel": np.ravel, "squeeze": lambda x, dim=None: np.squeeze(x, axis=dim),
    "unsqueeze": np.expand_dims, "flip": lambda x, dims: np.flip(x, tuple(dims)),
    "roll": lambda x, shifts, dims=None: np.roll(x, shifts, dims), "tril": lambda x, diagonal=0: np.tril(x, diagonal),
    "triu": lambda x, diagonal=0: np.triu(x, diagonal), "trace": np.trace, "clone": lambda x: x.copy(),
    "clamp": lambda x, min=None, max=None: np.clip(x, min, max), "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "zeros_like": np.zeros_like, "ones_like": np.ones_like, "numel": np.size,
    "linalg_norm": lambda x, ord=None, dim=None, keepdim=False: np.linalg.norm(x, ord, dim, keepdim),
    "linalg_vector_norm": lambda x, ord=2, dim=None: np.linalg.norm(np.ravel(x) if dim is None else x, ord, dim),
    "relu": relu, "leaky_relu": leaky_relu, "elu": elu, "silu": silu, "gelu": gelu, "softplus": softplus,
    "softmax": softmax, "log_softmax": log_softmax, "linear": linear, "layer_norm": layer_norm,
    "mse_loss": _loss(lambda x, y: (x - y) * (x - y)), "l1_loss": _loss(lambda x, y: np.abs(x - y)),
    "binary_cross_entropy_with_logits": _loss(lambda x, y: ops.log1p_exp(x) - x * y), "cross_entropy": cross_entropy,
}  # fmt: skip
WRITTEN |= {"concat": WRITTEN["cat"], "concatenate": WRITTEN["cat"], "clip": WRITTEN["clamp"]}
