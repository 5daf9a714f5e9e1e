"""Expressions that call functions of NumPy and SciPy, for those that the forms tried by default do not suit.

Their names are those of `contad.counts.judgement`.
"""

# tried in this order: the first whose value has a derivative, or else the first that is a value
FORMS = (
    "{}(v)", "{}(u)", "{}(a)", "{}(v, w)", "{}(u, v)", "{}(a, b)", "{}(a, q)", "{}(2, v)", "{}(v, w, u)",
    "{}(u, u, z)", "{}(2, 1, v)", "{}(2, u, v)", "{}(v, w, u, z)", "{}(u, v, w, z)", "{}(s)", "{}(m)", "{}(x)", "{}(c)",
    "{}(x, y)", "{}(1, 2, x, y)", "{}(v, 2)", "{}(k)", "{}(k, n)", "{}(i)", "{}(i, j)", "{}(t)", "{}()",
)  # fmt: skip

_NUMPY = """
angle(c); around(v, 1); apply_along_axis(lambda row: row * np.sum(row), 1, a); apply_over_axes(np.sum, a, [0, 1]);
arange(x, x + 2.5, 0.5); array([x, y, z]); asarray([x, y, z]); asanyarray([x, y, z]); asarray_chkfinite([x, y, z]);
ascontiguousarray([x, y, z]); asfortranarray([x, y, z]); append(v, w); array_split(v, 3); astype(v, float); average(v,
weights=w); bincount(i, v); bitwise_count(k); bitwise_invert(k); bitwise_not(k); block([[a, b], [b, a]]); bmat([[a,
b]]); broadcast_arrays(a, q); broadcast_to(v, (3, 4)); can_cast(float, int); choose(i % 3, m); clip(v, x - 0.2, x);
compress(p, v); concat([v, w]); concatenate([v, w]); column_stack([v, w]); copyto(v.copy(), w); cross(q, r);
cumulative_prod(v); cumulative_sum(v); delete(v, 1); diag_indices(k); digitize(v, np.sort(w)); dsplit(t[0], 2);
dstack([v, w]); einsum('ij,jk->ik', a, b); einsum_path('ij,jk->ik', a, b); empty_like(i); expand_dims(v, 0);
extract(p, v); fill_diagonal(a.copy(), x); fromfunction(lambda row, col: x * row + y * col, (3, 4));
fromiter(iter([1.0, 2.0]), float); frombuffer(b'12345678'); fromstring('1 2 3', sep=' '); from_dlpack(i);
frompyfunc(lambda one, two: one * two, 2, 1)(k, n); full(3, x); full_like(v, x); geomspace(x, y, 4); heaviside(q, y);
histogram(v, np.array([0.0, 0.5, 1.0]), weights=w); histogram2d(v, w, [2, 2], [(0.0, 1.0), (0.0, 1.0)], weights=u);
histogramdd(m, 2, [(0.0, 2.0)] * 4, weights=q); histogram_bin_edges(v, 3); hsplit(v, 2); hstack([v, w]); identity(k);
imag(c); indices((2, 3)); insert(v, 1, x); interp(x, [0.1, 0.6, 0.9], q); intersect1d(v, w); invert(k); isin(v, w);
isdtype(v.dtype, 'real floating'); issubdtype(float, int); ix_(i, j); kaiser(5, x); ldexp(v, i); lexsort((v, w));
linspace(x, y, 5); logspace(x, y, 4); mask_indices(3, np.triu); matvec(a, q); meshgrid(v, q); moveaxis(a, 0, 1);
nanpercentile(v, 30.0); nanquantile(v, 0.3); pad(v, 2); packbits(i); partition(v, 2); percentile(v, 30.0);
permute_dims(a, (1, 0)); piecewise(q, [q < 0.0, q >= 0.0], [lambda one: one * one, lambda one: np.exp(one)]);
place(v.copy(), p, w); polydiv(u, q); polyfit(v, w, 2); polyval(q, x); printoptions(); promote_types(float, int);
put(v.copy(), [0, 1], w[:2]); put_along_axis(v.copy(), i[:2], w[:2], 0); putmask(v.copy(), p, w); quantile(v, z);
ravel_multi_index((i, i), (6, 6)); real(c); repeat(v, 2); reshape(a, (1, 9)); resize(v, (2, 3)); roll(v, 1);
rollaxis(a, 1); roots(u); round(v, 1); select([q < 0.0, q >= 0.0], [q * q, 3.0 * q]); sort_complex(c); split(v, 2);
stack([v, w]); swapaxes(a, 0, 1); take(v, i); take_along_axis(v, i, 0); tensordot(a, b); tile(v, 2); trapezoid(v, w);
tri(k); tril_indices(k); triu_indices(k); unpackbits(np.array([3], np.uint8)); unravel_index(k, (3, 4)); unstack(a);
unwrap(7.0 * v); vander(v); vecmat(q, a); vectorize(lambda one, two: one * two)(v, w); vsplit(t[0, 0], 2); vstack([v,
w]); where(p, v, w); iterable(v); isscalar(x); std(v); var(v); rint(v); floor_divide(u, v); spacing(v); bitwise_and(i,
j); gcd(i, j); lcm(i, j); nanstd(v); nanvar(v); diag(v); array_repr(v); array_str(v); union1d(v, w); repeat(v, 2);
linalg.cholesky(s); linalg.cond(a); linalg.eigh(s); linalg.eigvalsh(s); linalg.eigvals(s); linalg.eig(s);
linalg.cross(q, r); linalg.lstsq(a, q); linalg.matrix_power(a, 3); linalg.matrix_rank(a); linalg.multi_dot([a, b, q]);
linalg.outer(v, w); linalg.svd(m, full_matrices=False); linalg.tensordot(a, b); linalg.tensorinv(a.reshape(3, 3), 1);
linalg.tensorsolve(a, q); fft.ifft(c); fft.ifft2(d); fft.ifftn(d); fft.irfft(c); fft.irfft2(d); fft.irfftn(d);
fft.hfft(c); fft.ihfft(v);
"""
_SCIPY = """
cluster.vq.vq(a, b); fft.dct(v); fft.idct(v); fft.dctn(a); fft.idctn(a); integrate.trapezoid(v, w);
integrate.odeint(lambda state, time: -x * state, v, np.array([0.0, 0.5, 1.0])); linalg.block_diag(a, b);
linalg.cho_factor(s); linalg.cho_solve((np.linalg.cholesky(s), True), q); linalg.cholesky(s); linalg.dft(k);
linalg.eigh(s); linalg.eigh_tridiagonal(u, v[:3]); linalg.expm_frechet(a, b); linalg.funm(a, lambda one: one * one);
linalg.hessenberg(a); linalg.leslie(v, w[:3]); linalg.lu(a); linalg.lu_factor(a);
linalg.lu_solve(scipy.linalg.lu_factor(a), q); linalg.rsf2csf(s, s); linalg.schur(s); linalg.solve(a, q);
linalg.solve_banded((1, 1), a, q); linalg.solve_sylvester(a, b, s); linalg.solve_triangular(a, q); linalg.svd(m,
full_matrices=False); linalg.convolution_matrix(v, 3, 'full'); linalg.qr_multiply(a, b); ndimage.map_coordinates(a,
[v, w], order=1); optimize.minimize(lambda one: np.sum((one - q) ** 2), 0.0 * r).x; signal.convolve(v, q);
signal.convolve2d(a, b); signal.correlate(v, q); signal.correlate2d(a, b); signal.fftconvolve(v, q); signal.csd(v, w,
nperseg=4); signal.welch(v, nperseg=4); signal.stft(v, nperseg=4); signal.istft(d, nperseg=4);
sparse.linalg.bicgstab(s, q, rtol=1e-13); sparse.linalg.cg(s, q, rtol=1e-13); sparse.linalg.gmres(s, q, rtol=1e-13);
special.bernoulli(k); special.betainc(u, y, v); special.comb(u, v); special.expn(2, v); special.fresnel(v);
special.gammasgn(v); special.hyp1f1(v, y, w); special.hyp2f1(v, w, y, z);
special.logsumexp(v);
special.multigammaln(u, 2); special.perm(u, v); special.poch(u, v); special.polygamma(2, u); special.softmax(v);
special.sph_harm_y(2, 1, x, y); special.log_softmax(v); special.lambertw(v).real; special.zeta(u, v);
special.factorial(k);
stats.dirichlet.logpdf(v / np.sum(v), u); stats.dirichlet.pdf(v / np.sum(v), u); stats.dirichlet.entropy(u);
stats.multinomial.logpmf([1, 0, 2, 1], 4, v / np.sum(v)); stats.multinomial.pmf([1, 0, 2, 1], 4, v / np.sum(v));
stats.multivariate_normal.cdf(q[:2], r[:2], s[:2, :2]); stats.multivariate_normal.entropy(q, s);
stats.multivariate_normal.logpdf(q, r, s); stats.multivariate_normal.pdf(q, r, s); stats.multivariate_t.logpdf(q, r,
s, y); stats.multivariate_t.pdf(q, r, s, y);
"""
# functions whose results are no numbers that depend on others
WITHOUT_NUMBERS = (
    "test", "load", "save", "savez", "fromfile", "set_printoptions", "get_printoptions", "errstate", "seterr", "geterr",
)  # fmt: skip


def _by_name() -> dict[str, str]:
    found = {}
    for library, text in (("np", _NUMPY), ("scipy", _SCIPY)):
        for call in filter(None, map(str.strip, text.split(";"))):
            found[f"{library}.{call.partition('(')[0]}"] = f"{library}.{' '.join(call.split())}"
    return found


EXPRESSIONS = _by_name()
