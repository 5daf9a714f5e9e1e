"""PyTorch's differentiable operations in NumPy, SciPy and contad: statements for each name that NumPy lacks.

The names are those of PyTorch's OpInfo, the list of operations for its own tests.
"""

import pkgutil
import sys
import types
import unittest

# names | statements, of which the last one is the value; an indented line continues the one before it
_SPELLINGS = """
H mH | np.conj(d).T
T t mT transpose transpose_copy t_copy | a.T
__getitem__ select mode | a[1]
__radd__ | 2.0 + v
__rdiv__ | 2.0 / v
__rmatmul__ | np.matmul(b, a)
__rmod__ | 2.0 % v
__rmul__ | 2.0 * v
__rpow__ | 2.0 ** v
__rsub__ rsub | 2.0 - v
_softmax_backward_data | contad.vjp(contad.softmax, v)[1](w)
_unsafe_masked_index masked_select | v[p]
_unsafe_masked_index_put_accumulate index_add scatter_add put | o = v.copy(); np.add.at(o, [0, 0, 2], w[:3]); o
index_copy index_put scatter | o = v.copy(); o[[0, 2]] = w[:2]; o
index_fill masked_fill fill | o = v.copy(); o[p] = x; o
index_reduce scatter_reduce | o = v.copy(); np.multiply.at(o, [0, 0, 2], w[:3]); o
masked_scatter | o = v.copy(); o[p] = w[:3]; o
_segment_reduce | np.add.reduceat(v, [0, 2])
_upsample_bilinear2d_aa nn.functional.interpolate nn.functional.upsample_bilinear | o = np.array([[1.0, 0.0, 0.0,
  0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]]); o @ t @ o.T
nn.functional.upsample_nearest | np.repeat(np.repeat(t, 2, 2), 2, 3)
grid_sampler_2d nn.functional.grid_sample | scipy.ndimage.map_coordinates(a, [v, w], order=1)
grid_sampler_3d | scipy.ndimage.map_coordinates(t[0], [v, w, u[::-1] / 2.0], order=1)
addbmm | v[:3] + np.einsum('bij,bjk->ik', t[0, :, :3, :3], np.stack([a, b]))
addcdiv | v + 2.0 * w / u
addcmul | v + 2.0 * w * u
addmm | y * a + x * (a @ b)
addmv | y * q + x * (a @ r)
addr | y * a + x * np.outer(q, r)
baddbmm | y * a + x * np.matmul(t[0, :, :3, :3], a)
alias_copy clone contiguous positive resolve_conj resolve_neg to double float zero_ bfloat16 half view_as reshape_as
  to_sparse | +v
cdouble cfloat chalf | v + 0j
expand expand_as expand_copy | np.broadcast_to(v, (3, 4))
aminmax | np.min(v), np.max(v)
as_strided as_strided_copy unfold unfold_copy | np.lib.stride_tricks.sliding_window_view(v, 2)
as_strided_scatter slice_scatter | o = v.copy(); o[::2] = w[:2]; o
select_scatter | o = a.copy(); o[1] = q; o
diagonal_scatter | o = a.copy(); o[[0, 1, 2], [0, 1, 2]] = q; o
diagonal_copy | np.diagonal(a)
diag_embed | o = np.zeros((3, 3, 3)); o[:, [0, 1, 2], [0, 1, 2]] = a; o
block_diag | scipy.linalg.block_diag(a, b)
bmm mm mv matmul | np.matmul(a, b)
broadcast_tensors | np.broadcast_arrays(a, q)
cartesian_prod | np.stack([g.ravel() for g in np.meshgrid(v, q, indexing='ij')], 1)
combinations | np.stack([v[np.triu_indices(4, 1)[0]], v[np.triu_indices(4, 1)[1]]], 1)
cat | np.concatenate([v, w])
cdist | scipy.spatial.distance.cdist(a, b)
nn.functional.pdist | scipy.spatial.distance.pdist(a)
cholesky linalg.cholesky_ex | np.linalg.cholesky(s)
cholesky_inverse | np.linalg.inv(np.linalg.cholesky(s) @ np.linalg.cholesky(s).T)
cholesky_solve | scipy.linalg.cho_solve((np.linalg.cholesky(s), True), q)
chunk tensor_split split split_with_sizes split_with_sizes_copy unsafe_chunk unsafe_split | np.array_split(v, 3)
clamp | np.clip(v, z, x)
clamp_max | np.minimum(v, x)
clamp_min | np.maximum(v, z)
complex | v + 1j * w
polar | v * np.exp(1j * w)
conj_physical | np.conj(c)
sgn | c / np.abs(c)
constant_pad_nd nn.functional.pad | np.pad(a, 1)
cummax | np.maximum.accumulate(v)
cummin | np.minimum.accumulate(v)
cumulative_trapezoid | scipy.integrate.cumulative_trapezoid(v)
digamma special.polygamma polygamma | scipy.special.polygamma(1, u)
dist | np.linalg.norm(v - w)
div true_divide | v / w
erf | scipy.special.erf(v)
erfc | scipy.special.erfc(v)
erfinv | scipy.special.erfinv(v)
fft.hfft2 fft.hfftn | np.fft.hfft(np.fft.fft(d, axis=0), axis=1)
fft.ihfft2 fft.ihfftn | np.fft.ifft(np.fft.ihfft(a, axis=1), axis=0)
flatten ravel view view_copy unflatten | a.reshape(-1)
frac | v - np.trunc(v)
gather take_along_dim | np.take_along_axis(v, i, 0)
index_select | np.take(a, [2, 0], 1)
istft | scipy.signal.istft(d, nperseg=4)
stft | scipy.signal.stft(v, nperseg=4)
kthvalue | np.sort(v)[1]
lerp | v + x * (w - v)
lgamma | scipy.special.gammaln(u)
linalg.householder_product | a @ (np.eye(3) - x * np.outer(q, q))
ormqr | np.linalg.qr(a)[0] @ b
linalg.inv_ex | np.linalg.inv(a)
linalg.lu linalg.lu_factor linalg.lu_factor_ex lu lu_unpack | scipy.linalg.lu(a)
linalg.lu_solve lu_solve linalg.solve_ex | scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), q)
linalg.solve_triangular triangular_solve | scipy.linalg.solve_triangular(a, q)
linalg.vander | np.vander(v)
log_softmax nn.functional.softmin | scipy.special.log_softmax(-v)
logcumsumexp | np.logaddexp.accumulate(v)
logdet | np.linalg.slogdet(a)[1]
logit | scipy.special.logit(v)
logsumexp | scipy.special.logsumexp(a, 0)
masked.amax | np.max(v, where=p, initial=-1.0)
masked.amin | np.min(v, where=p, initial=9.0)
masked.cumprod | np.cumprod(np.where(p, v, 1.0))
masked.cumsum | np.cumsum(np.where(p, v, 0.0))
masked.log_softmax | scipy.special.log_softmax(v[p])
masked.logaddexp | np.where(p, np.logaddexp(v, w), 0.0)
masked.logsumexp | scipy.special.logsumexp(v[p])
masked.mean | np.mean(v, where=p)
masked.median | np.median(v[p])
masked.norm masked.normalize | v[p] / np.linalg.norm(v[p])
masked.prod | np.prod(v, where=p)
masked.softmax masked.softmin | scipy.special.softmax(v[p])
masked.std | np.std(v, where=p)
masked.sum | np.sum(v, where=p)
masked.var | np.var(v, where=p, ddof=1)
matrix_exp | scipy.linalg.expm(a)
max_pool2d_with_indices_backward | contad.grad(lambda one: np.sum(np.max(np.lib.stride_tricks.sliding_window_view(one,
  (2, 2)), (2, 3)) ** 2))(a)
movedim | np.moveaxis(a, 0, 1)
msort topk | np.sort(v)[::-1]
mul | v * w
sub | v - w
mvlgamma | scipy.special.multigammaln(u, 2)
narrow narrow_copy slice | v[1:3]
neg | -v
norm renorm nn.functional.normalize | v / np.linalg.norm(v)
permute permute_copy | np.transpose(a, (1, 0))
qr | np.linalg.qr(a)
pinverse | np.linalg.pinv(a)
rsqrt | 1.0 / np.sqrt(v)
repeat | np.tile(v, 2)
repeat_interleave | np.repeat(v, 2)
sigmoid | scipy.special.expit(v)
softmax torch.ops.aten._safe_softmax.default | scipy.special.softmax(v)
sparse.mm | scipy.sparse.csr_array((v, np.array([0, 1, 2, 3]), np.array([0, 2, 4])), shape=(2, 4)) @ m.T
sparse.sampled_addmm | np.where(np.eye(3) > 0.0, a @ b, 0.0)
special.entr | scipy.special.entr(v)
special.erfcx | scipy.special.erfcx(v)
special.i0e | scipy.special.i0e(v)
special.i1 | scipy.special.i1(v)
special.i1e | scipy.special.i1e(v)
special.log_ndtr | scipy.special.log_ndtr(v)
special.ndtr | scipy.special.ndtr(v)
special.ndtri | scipy.special.ndtri(v)
special.xlog1py | scipy.special.xlog1py(v, w)
xlogy | scipy.special.xlogy(v, w)
squeeze squeeze_copy | np.squeeze(t)
std_mean | np.std(v), np.mean(v)
var_mean | np.var(v), np.mean(v)
sum_to_size | np.sum(a, 0, keepdims=True)
svd svd_lowrank pca_lowrank | np.linalg.svd(a)[1]
trapz | np.trapezoid(v, w)
unbind unbind_copy | tuple(a)
unsqueeze unsqueeze_copy | v[:, None]
view_as_complex | v[::2] + 1j * v[1::2]
view_as_real | np.stack([c.real, c.imag], -1)
nn.functional.adaptive_avg_pool1d nn.functional.avg_pool1d | np.mean(v.reshape(2, 2), 1)
nn.functional.adaptive_avg_pool2d nn.functional.avg_pool2d | np.mean(np.lib.stride_tricks.sliding_window_view(t, (2,
  2), (2, 3)), (-2, -1))
nn.functional.adaptive_avg_pool3d nn.functional.avg_pool3d | np.mean(np.lib.stride_tricks.sliding_window_view(t, (2,
  2, 2), (1, 2, 3)), (-3, -2, -1))
nn.functional.adaptive_max_pool1d nn.functional.max_pool1d | np.max(v.reshape(2, 2), 1)
nn.functional.adaptive_max_pool2d nn.functional.max_pool2d nn.functional.fractional_max_pool2d |
  np.max(np.lib.stride_tricks.sliding_window_view(t, (2, 2), (2, 3)), (-2, -1))
nn.functional.adaptive_max_pool3d nn.functional.max_pool3d nn.functional.fractional_max_pool3d |
  np.max(np.lib.stride_tricks.sliding_window_view(t, (2, 2, 2), (1, 2, 3)), (-3, -2, -1))
nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d | o = np.zeros((4, 4)); o[[0, 1, 3],
  [0, 2, 1]] = q; o
nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout
  nn.functional.feature_alpha_dropout native_dropout_backward | v * p / 0.75
nn.functional.batch_norm _batch_norm_with_update _native_batch_norm_legit native_batch_norm | (m - np.mean(m, 0)) /
  np.sqrt(np.var(m, 0) + 1e-5) * w + v
nn.functional.layer_norm native_layer_norm nn.functional.group_norm native_group_norm nn.functional.instance_norm | (m
  - np.mean(m, 1, keepdims=True)) / np.sqrt(np.var(m, 1, keepdims=True) + 1e-5) * w + v
nn.functional.rms_norm | m / np.sqrt(np.mean(m * m, 1, keepdims=True) + 1e-5) * w
nn.functional.local_response_norm | v / (1.0 + x * np.convolve(v * v, np.ones(3), 'same')) ** 0.75
nn.functional.bilinear | np.einsum('i,oij,j->o', q, np.stack([a, b]), r)
nn.functional.linear | a @ q + r
nn.functional.binary_cross_entropy | -np.mean(p * np.log(v) + (1 - p) * np.log1p(-v))
nn.functional.binary_cross_entropy_with_logits nn.functional.soft_margin_loss
  nn.functional.multilabel_soft_margin_loss | np.mean(np.logaddexp(0.0, v) - p * v)
nn.functional.celu nn.functional.elu nn.functional.selu | np.where(q > 0.0, q, np.expm1(np.minimum(q, 0.0)))
nn.functional.channel_shuffle nn.functional.pixel_shuffle nn.functional.pixel_unshuffle | t.reshape(2, 2, 2,
  4).transpose(0, 2, 1, 3)
nn.functional.conv1d | np.convolve(v, q, 'valid')
nn.functional.conv_transpose1d | np.convolve(v, q)
nn.functional.conv2d | np.einsum('bcijkl,ockl->boij', np.lib.stride_tricks.sliding_window_view(t, (3, 3), (2, 3)), h)
nn.functional.conv_transpose2d | scipy.signal.convolve2d(a, b)
nn.functional.conv3d | scipy.signal.convolve(t[0], h[0][:, :2, :2], 'valid')
nn.functional.conv_transpose3d | scipy.signal.convolve(t[0], h[0])
nn.functional.unfold | np.lib.stride_tricks.sliding_window_view(t, (2, 2), (2, 3)).reshape(1, 2, 9, 4)
nn.functional.cosine_embedding_loss nn.functional.cosine_similarity | v @ w / np.sqrt((v @ v) * (w @ w))
nn.functional.cross_entropy nn.functional.nll_loss nn.functional.linear_cross_entropy |
  -np.mean(scipy.special.log_softmax(m, 1)[[0, 1, 2], [2, 0, 3]])
nn.functional.embedding nn.functional.embedding_bag | np.mean(a[[2, 0, 2]], 0)
nn.functional.gaussian_nll_loss | np.mean(0.5 * (np.log(u) + (v - w) ** 2 / u))
nn.functional.gelu | v * scipy.special.ndtr(v)
nn.functional.glu | v[:2] * scipy.special.expit(v[2:])
nn.functional.hardshrink | np.where(np.abs(v) > 0.5, v, 0.0)
nn.functional.hardsigmoid | np.clip(q / 6.0 + 0.5, 0.0, 1.0)
nn.functional.hardswish | q * np.clip(q + 3.0, 0.0, 6.0) / 6.0
nn.functional.hardtanh nn.functional.relu6 | np.clip(q, 0.0, 6.0)
nn.functional.hinge_embedding_loss nn.functional.margin_ranking_loss | np.mean(np.maximum(0.0, 0.5 - v + w))
nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss | np.mean(np.maximum(0.0, 0.5 - m[:, :1] + m[:,
  1:]))
nn.functional.huber_loss nn.functional.smooth_l1_loss | np.mean(scipy.special.huber(0.3, v - w))
nn.functional.kl_div | np.sum(scipy.special.rel_entr(v, w))
nn.functional.l1_loss | np.mean(np.abs(v - w))
nn.functional.leaky_relu nn.functional.prelu nn.functional.rrelu | np.where(q > 0.0, q, x * q)
nn.functional.logsigmoid | scipy.special.log_expit(v)
nn.functional.mish | v * np.tanh(np.logaddexp(0.0, v))
nn.functional.mse_loss | np.mean((v - w) ** 2)
nn.functional.multi_head_attention_forward nn.functional.scaled_dot_product_attention
  torch.ops.aten._efficient_attention_forward torch.ops.aten._flash_attention_forward | scipy.special.softmax(a @ b.T
  / np.sqrt(3.0), 1) @ a
nn.functional.one_hot | np.eye(4)[i]
nn.functional.pairwise_distance | np.linalg.norm(a - b, axis=1)
nn.functional.poisson_nll_loss | np.mean(np.exp(v) - w * v)
nn.functional.relu nn.functional.threshold | np.maximum(q, 0.0)
nn.functional.silu | v * scipy.special.expit(v)
nn.functional.softplus | np.logaddexp(0.0, v)
nn.functional.softshrink | np.sign(v) * np.maximum(np.abs(v) - 0.5, 0.0)
nn.functional.softsign | v / (1.0 + np.abs(v))
nn.functional.tanhshrink | v - np.tanh(v)
nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss | np.mean(np.maximum(0.0,
  np.linalg.norm(a - b, axis=1) - np.linalg.norm(a - s, axis=1) + 9.0))
nn.functional.ctc_loss | o = scipy.special.log_softmax(m, 1); -contad.stan.log_sum_exp(np.sum(o[[0, 1, 2], [1, 1,
  2]]), np.sum(o[[0, 1, 2], [1, 2, 2]]))
normal | x + y * np.array([0.3, -1.2, 0.8])
bernoulli | 0.0 * v
"""
SPELLINGS = {
    name: statements.strip()
    for line in _SPELLINGS.replace("\n  ", " ").strip().splitlines()
    for names, _, statements in [line.partition(" | ")]
    for name in names.split()
}


def differentiable_operations() -> list[str]:
    """The names of the operations that have a derivative in the installed PyTorch, for floats and on processors."""
    stand_in: types.ModuleType = types.ModuleType("expecttest")  # which PyTorch's tests import, and this does not need
    stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
    sys.modules.setdefault("expecttest", stand_in)
    database = pkgutil.resolve_name("torch.testing._internal.common_methods_invocations").op_db
    return sorted({operation.name for operation in database if operation.supports_autograd})
