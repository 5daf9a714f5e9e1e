"""PyTorch's functions on variables: each as torch.autograd differentiates it, or refused by name."""

import numpy as np
import pytest

import contad
from contad.engines.arrays.torch_functions import WRITTEN
from contad.errors import UnsupportedError

torch = pytest.importorskip("torch", reason="torch is not installed")
F = torch.nn.functional

POINT = torch.tensor([[1.3, 0.7, -2.1], [0.4, -1.9, 1.1], [-0.8, 0.35, 1.6]], dtype=torch.float64)
OTHER = torch.tensor([[0.3, 1.7, 2.2], [1.4, 0.9, 0.6], [0.8, 2.35, 0.5]], dtype=torch.float64)
PLACES = torch.tensor([[2], [0], [1]])
CLASSES = torch.tensor([2, 0, 1])
BIAS = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64)

CALLS = {
    "sum": lambda x: torch.sum(x, dim=1, keepdim=True) * x, "mean": lambda x: torch.mean(x, 0) * x[0],
    "prod": lambda x: torch.prod(x, 1), "amax": lambda x: torch.amax(x, 1), "amin": lambda x: torch.amin(x, dim=0),
    "logsumexp": lambda x: torch.logsumexp(x, dim=1), "var": lambda x: torch.var(x, 1) + torch.var(x, 0, correction=0),
    "std": lambda x: torch.std(x) + torch.std(x, dim=1, keepdim=True) * x,
    "max": lambda x: torch.max(x) * x + torch.max(x, OTHER) + torch.max(x, 1, keepdim=True).values,
    "min": lambda x: torch.min(x) * x + torch.min(x, OTHER) + torch.min(x, dim=1)[0],
    "argmax": lambda x: torch.argmax(x, 1) * x[0], "argmin": lambda x: torch.argmin(x, 1) * x[0],
    "sort": lambda x: torch.sort(x, dim=1).values * OTHER + torch.sort(x, descending=True)[0] * OTHER[0],
    "cumsum": lambda x: torch.cumsum(x, dim=1) * x, "cumprod": lambda x: torch.cumprod(x, 0),
    "cat": lambda x: torch.cat([x, x * x, OTHER], dim=1), "stack": lambda x: torch.stack([x, OTHER]) * x,
    "where": lambda x: torch.where(x > 0.5, x * x, OTHER), "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "masked_fill": lambda x: torch.masked_fill(x * x, OTHER > 1.0, -1.0) * x,
    "gather": lambda x: torch.gather(x, 1, PLACES) * x, "index_select": lambda x: torch.index_select(x, 1, CLASSES) * x,
    "dot": lambda x: torch.dot(x[0], x[1]), "outer": lambda x: torch.outer(x[0], x[1]) * x,
    "transpose": lambda x: torch.transpose(x, 0, 1) * x, "t": lambda x: torch.t(x) * x,
    "permute": lambda x: torch.permute(x, (1, 0)) * x, "reshape": lambda x: torch.reshape(x, (9,)) * OTHER.reshape(9),
    "flatten": lambda x: torch.flatten(x[None] * x[:, None], 1) * OTHER.reshape(9),
    "ravel": lambda x: torch.ravel(x) * OTHER.reshape(9),
    "squeeze": lambda x: torch.squeeze(x[None]) * x + torch.squeeze(x[:, None], 1) * x,
    "unsqueeze": lambda x: torch.unsqueeze(x, 1) * x, "flip": lambda x: torch.flip(x, (0, 1)) * x,
    "roll": lambda x: torch.roll(x, 1, 0) * x, "tril": lambda x: torch.tril(x, -1) * x,
    "triu": lambda x: torch.triu(x, diagonal=1) * x, "trace": lambda x: torch.trace(x * x),
    "clone": lambda x: torch.clone(x) * x, "clamp": lambda x: torch.clamp(x, min=-1.0, max=1.2) * x,
    "rsqrt": lambda x: torch.rsqrt(x * x + 1.0), "zeros_like": lambda x: torch.zeros_like(x) + x,
    "ones_like": lambda x: torch.ones_like(x) * x, "numel": lambda x: torch.numel(x) * x,
    "linalg_norm": lambda x: torch.linalg.norm(x) * x + torch.linalg.norm(x, dim=1),
    "linalg_vector_norm": lambda x: torch.linalg.vector_norm(x) + torch.linalg.vector_norm(x, 3.0, dim=1),
    "relu": lambda x: F.relu(x) * x + torch.relu(x), "leaky_relu": lambda x: F.leaky_relu(x, 0.2) * x,
    "elu": lambda x: F.elu(x, alpha=0.7) * x, "silu": lambda x: F.silu(x), "gelu": lambda x: F.gelu(x) * x
    + F.gelu(x, approximate="tanh"), "softplus": lambda x: F.softplus(x, beta=2.0),
    "softmax": lambda x: F.softmax(x, dim=1) * OTHER + torch.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, dim=-1) * OTHER, "linear": lambda x: F.linear(x, OTHER, BIAS) * x,
    "layer_norm": lambda x: F.layer_norm(x, (3,), BIAS, BIAS) * OTHER, "mse_loss": lambda x: F.mse_loss(x, OTHER),
    "l1_loss": lambda x: F.l1_loss(x, OTHER, reduction="sum") * x[0],
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, OTHER),
    "cross_entropy": lambda x: F.cross_entropy(x, CLASSES), "concat": lambda x: torch.concat((x, x * x)),
    "argsort": lambda x: torch.argsort(x, descending=True) * x, "expand": lambda x: x[None].expand(2, -1, 3)[1] * x,
    "view": lambda x: x.view(9)[2:] * x.view((3, 3)).view(-1)[:7], "repeat": lambda x: x.repeat(2, 1)[2:5] * OTHER,
    "concatenate": lambda x: torch.concatenate((x, x * x)), "clip": lambda x: torch.clip(x, -1.0, 1.0) * x,
}  # fmt: skip
OTHERS = {
    "operators": lambda x: (OTHER * x + OTHER / x - OTHER**x + (OTHER - x) @ x) * (x < OTHER) + x % OTHER,
    "elementwise": lambda x: torch.exp(x) * torch.sin(x) + torch.abs(x) + torch.tanh(x) + torch.sigmoid(x)
    + torch.erf(x) + torch.log1p(x * x) + torch.pow(x, 2) + torch.square(x) + torch.sqrt(x * x + 1.0)
    + torch.maximum(x, OTHER) + torch.logaddexp(x, OTHER) + torch.atan2(x, OTHER) + torch.special.expit(x),
    "products": lambda x: torch.mm(x, OTHER) + torch.matmul(x, x) + torch.mv(x, BIAS) + torch.bmm(x[None], x[None])[0],
    "linear algebra": lambda x: torch.linalg.solve(OTHER + 3.0 * torch.eye(3, dtype=torch.float64), x) * x
    + torch.linalg.det(x) + torch.linalg.inv(x + 3.0 * torch.eye(3, dtype=torch.float64)),
    "methods": lambda x: x.exp() * x.unsqueeze(0).sum(0) + x.relu() + x.softmax(1) + x.t() + x.clamp(-1.0, 1.0),
    "methods of tensors": lambda x: x.std() + x.var(1) + x.max(1)[0] + x.min(dim=0).values + x.sort(1)[0] * OTHER
    + x.transpose(0, 1) * OTHER + x.sum(dim=0, keepdim=True) + x.sum(axis=1) + x.mean(0)
    + x.flatten().view(3, 3) * OTHER
    + x.repeat(2, 1)[3:] * OTHER + x.argsort(1)[0] * x + x.cumsum(1) + x.squeeze() + x.T @ x.mT,
    "attention": lambda x: F.softmax(x @ x.transpose(-2, -1) / 3.0**0.5, dim=-1) @ x,
}  # fmt: skip


@pytest.mark.parametrize("name", [*CALLS, *OTHERS])
def test_a_function_is_that_of_torch(name):
    call = CALLS.get(name) or OTHERS[name]

    def loss(x):
        z = call(x) + 0.0 * x[0, 0]
        return (z * z * 0.5 + z).sum()

    x = POINT.clone().requires_grad_()
    expected = torch.autograd.grad(loss(x), x)[0]
    value, found = contad.value_and_grad(loss)(POINT)
    torch.testing.assert_close(value, loss(POINT))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_every_function_is_tested():
    assert set(WRITTEN) == set(CALLS)


REFUSED = {
    "conv1d": lambda x: F.conv1d(x[None], OTHER[None]), "dropout": lambda x: F.dropout(x),
    "fft_fft": lambda x: torch.fft.fft(x), "relu": lambda x: F.relu(x, inplace=True),
    "gather": lambda x: torch.gather(x, 1, PLACES[:1]), "add": lambda x: torch.add(x, x, alpha=2.0),
    "name the option": lambda x: torch.var(x, False), "mul_": lambda x: OTHER.clone().mul_(x),
    "cross_entropy": lambda x: F.cross_entropy(x, CLASSES, label_smoothing=0.1),
    "median": lambda x: torch.median(x, 1)[0], "nonzero": lambda x: x.nonzero(),
    "diagonal": lambda x: x.diagonal(1), "sum": lambda x: torch.sum(x, dtype=torch.float32),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_refused_by_name(name):
    with pytest.raises(UnsupportedError, match=name):
        contad.grad(lambda x: torch.sum(REFUSED[name](x)))(POINT)


def test_nothing_is_read_or_moved(monkeypatch):
    read = []

    class Watch(pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if "local_scalar_dense" in str(function) or "is_nonzero" in str(function):
                read.append(str(function))
            return function(*args, **(kwargs or {}))

    for name in ("__array__", "numpy", "tolist", "item", "__bool__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, lambda *args, name=name: read.append(name), raising=False)

    def fifty_operations(x):
        z = x
        for _ in range(8):
            z = torch.tanh(z * x + 0.5) - torch.where(z > 0.2, z, 0.1 * z) / (1.0 + x * x)
        return torch.sum(z**2) + torch.mean(torch.exp(-z)) + contad.logsumexp(z)

    with Watch():
        found = contad.grad(fifty_operations)(POINT)
    monkeypatch.undo()
    assert read == []
    x = POINT.clone().requires_grad_()
    other = fifty_operations_of_torch(x)
    torch.testing.assert_close(found, torch.autograd.grad(other, x)[0])


def fifty_operations_of_torch(x):
    z = x
    for _ in range(8):
        z = torch.tanh(z * x + 0.5) - torch.where(z > 0.2, z, 0.1 * z) / (1.0 + x * x)
    return torch.sum(z**2) + torch.mean(torch.exp(-z)) + torch.logsumexp(z, (0, 1))


# ---- extensions of the standard --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["array_api_strict", "torch", "jax"])
def test_writes_by_array_api_extra(name):
    xpx = pytest.importorskip("array_api_extra", reason="array_api_extra is not installed")
    from tests.engines.arrays.installed_libraries import library

    make, back = library(name)
    point = np.array([0.7, 1.3, 0.4, 2.2])
    plain = {"set": lambda x, y: y, "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
    for operation, of_numpy in plain.items():

        def f(x, operation=operation):
            return np.sum(getattr(xpx.at(x, slice(0, 2)), operation)(x[2:] * 1.5) ** 2)

        def g(x, of_numpy=of_numpy):
            return np.sum(of_numpy(x[:2], x[2:] * 1.5) ** 2) + np.sum(x[2:] ** 2)

        x = make(point)
        np.testing.assert_allclose(back(contad.grad(f)(x)), contad.grad(g)(point), rtol=1e-12, err_msg=operation)
        np.testing.assert_array_equal(back(x), point)
