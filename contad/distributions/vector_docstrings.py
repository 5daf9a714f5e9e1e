"""The docstrings of Stan's and SciPy's densities of vectors and matrices, and of Stan's linear models: one table."""

from contad.distributions.docstrings import describe, example_of

# by the name: title, formula, shapes, domain, cost, source, and the arguments of an example and its result (for
# SciPy's, the logarithm, and the density or mass itself)
DESCRIBED: dict[str, tuple[str, ...]] = {
    "multi_normal_cholesky_lpdf": (
        "normal vectors of mean mu and covariance L L^T",
        "log f = -|r|^2 / 2 - log|L| - k log(2 pi) / 2, with L r = y - mu; summed over the rows of y",
        "y and mu (k,) or (n, k), L (k, k) lower triangular",
        "y without nan, mu finite, L lower triangular with a positive diagonal", "O(n k^2)",
        ("Kotz, Balakrishnan & Johnson (2000), chapter 45; Stan Functions Reference, multivariate normal "
        "distribution, Cholesky parameterization"),
        "[1.0, 0.0], [0.0, 0.0], [[1.0, 0.0], [0.5, 2.0]]", "-3.062274",
    ),
    "multi_normal_lpdf": (
        "normal vectors of mean mu and covariance Sigma",
        "log f = -|r|^2 / 2 - log|L| - k log(2 pi) / 2, with L r = y - mu, L L^T = Sigma; summed over the rows of y",
        "y and mu (k,) or (n, k), Sigma (k, k)", "y without nan, mu finite, Sigma positive definite",
        "O(k^3 + n k^2)",
        "Kotz, Balakrishnan & Johnson (2000), chapter 45; Stan Functions Reference, multivariate normal distribution",
        "[1.0, 0.0], [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]]", "-2.403399",
    ),
    "multi_normal_prec_lpdf": (
        "normal vectors of mean mu and precision matrix Omega",
        "log f = -|L^T (y - mu)|^2 / 2 + log|L| - k log(2 pi) / 2, with L L^T = Omega; summed over the rows of y",
        "y and mu (k,) or (n, k), Omega (k, k)", "y without nan, mu finite, Omega positive definite",
        "O(k^3 + n k^2)",
        ("Kotz, Balakrishnan & Johnson (2000), chapter 45; Stan Functions Reference, multivariate normal "
        "distribution, precision parameterization"),
        "[1.0, 0.0], [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]]", "-1.808069",
    ),
    "multi_student_t_lpdf": (
        "Student's t vectors of nu degrees of freedom, location mu and scale matrix Sigma",
        ("log f = log Gamma((nu + k) / 2) - log Gamma(nu / 2) - k log(nu) / 2 - k log(pi) / 2 - log|L|\n"
        "- (nu + k) / 2 log(1 + |r|^2 / nu), with L r = y - mu, L L^T = Sigma; summed over the rows of y"),
        "y and mu (k,) or (n, k), nu (), Sigma (k, k)",
        "y without nan, mu finite, nu positive and finite, Sigma positive definite", "O(k^3 + n k^2)",
        "Kotz & Nadarajah (2004), section 1.1; Stan Functions Reference, multivariate Student-t distribution",
        "[1.0, 0.0], 4.0, [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]]", "-2.518279",
    ),
    "multi_student_t_cholesky_lpdf": (
        "Student's t vectors of nu degrees of freedom, location mu and scale matrix L L^T",
        ("log f = log Gamma((nu + k) / 2) - log Gamma(nu / 2) - k log(nu) / 2 - k log(pi) / 2 - log|L|\n"
        "- (nu + k) / 2 log(1 + |r|^2 / nu), with L r = y - mu; summed over the rows of y"),
        "y and mu (k,) or (n, k), nu (), L (k, k) lower triangular",
        "y without nan, mu finite, nu positive and finite, L lower triangular with a positive diagonal", "O(n k^2)",
        "Kotz & Nadarajah (2004), section 1.1; Stan Functions Reference, multivariate Student-t distribution",
        "[1.0, 0.0], 4.0, [0.5, 0.5], [[1.5, 0.0], [0.4, 0.9]]", "-2.56138",
    ),
    "multi_gp_lpdf": (
        "Gaussian processes: row i of y is normal of mean 0 and covariance Sigma / w_i",
        "log f = sum_i multi_normal_lpdf(y_i, 0, Sigma / w_i)", "y (d, n), Sigma (n, n), w (d,)",
        "y finite, w positive and finite, Sigma positive definite", "O(n^3 + d n^2)",
        "Stan Functions Reference, multivariate Gaussian process distribution",
        "[[1.0, 0.0], [0.5, -0.5]], [[2.0, 0.5], [0.5, 1.0]], [0.7, 1.3]", "-4.901109",
    ),
    "multi_gp_cholesky_lpdf": (
        "Gaussian processes: row i of y is normal of mean 0 and covariance L L^T / w_i",
        "log f = sum_i multi_normal_lpdf(y_i, 0, L L^T / w_i)", "y (d, n), L (n, n) lower triangular, w (d,)",
        "y finite, w positive and finite, L lower triangular with a positive diagonal", "O(d n^2)",
        "Stan Functions Reference, multivariate Gaussian process distribution, Cholesky parameterization",
        "[[1.0, 0.0], [0.5, -0.5]], [[1.5, 0.0], [0.4, 0.9]], [0.7, 1.3]", "-4.950658",
    ),
    "dirichlet_lpdf": (
        "points of a simplex", "log f = log Gamma(sum alpha) - sum log Gamma(alpha) + sum (alpha - 1) log theta",
        "theta and alpha (k,), or (n, k), over whose rows the result is summed", "theta a simplex, alpha > 0", "",
        "Kotz, Balakrishnan & Johnson (2000), chapter 49; Stan Functions Reference, Dirichlet distribution",
        "[0.2, 0.3, 0.5], [1.0, 1.0, 1.0]", "0.693147",
    ),
    "multinomial_lpmf": (
        "counts of draws with given probabilities", "log p = log N! - sum log n! + sum n log theta, with N = sum n",
        "n and theta (k,)", "n = 0, 1, ..., theta a simplex", "",
        "Johnson, Kotz & Balakrishnan (1997), chapter 35; Stan Functions Reference, multinomial distribution",
        "[1, 2], [0.5, 0.5]", "-0.980829",
    ),
    "multinomial_logit_lpmf": (
        "counts of draws with the probabilities softmax(gamma)",
        "log p = log N! - sum log n! + sum n (gamma - log sum e^gamma), with N = sum n", "n and gamma (k,)",
        "n = 0, 1, ..., gamma finite", "",
        ("Johnson, Kotz & Balakrishnan (1997), chapter 35; Stan Functions Reference, multinomial distribution, "
        "logit parameterization"),
        "[1, 2], [0.3, -0.5]", "-1.61469",
    ),
    "dirichlet_multinomial_lpmf": (
        "counts of draws whose probabilities are of a Dirichlet density",
        "log p = log N + log B(sum alpha, N) - sum_(n > 0) (log n + log B(alpha, n)), with N = sum n",
        "n and alpha (k,)", "n = 0, 1, ..., alpha positive and finite", "",
        "Johnson, Kotz & Balakrishnan (1997), chapter 35; Stan Functions Reference, Dirichlet-multinomial distribution",
        "[1, 2], [1.5, 2.0]", "-1.165752",
    ),
    "wishart_lpdf": (
        "a Wishart matrix of nu degrees of freedom and scale S",
        "(nu - k - 1) / 2 log|W| - tr(S^-1 W) / 2 - nu / 2 log|S| - nu k / 2 log 2 - log Gamma_k(nu / 2)",
        "W and S (k, k), nu ()", "W and S positive definite, nu > k - 1", "",
        "Gupta & Nagar (2000), chapter 3; Stan Functions Reference, Wishart distribution",
        "[[2.0, 0.5], [0.5, 1.0]], 3.5, [[1.0, 0.2], [0.2, 1.5]]", "-4.639437",
    ),
    "inv_wishart_lpdf": (
        "an inverse Wishart matrix of nu degrees of freedom and scale S",
        "-(nu + k + 1) / 2 log|W| - tr(S W^-1) / 2 + nu / 2 log|S| - nu k / 2 log 2 - log Gamma_k(nu / 2)",
        "W and S (k, k), nu ()", "W and S positive definite, nu > k - 1", "",
        "Gupta & Nagar (2000), section 3.4; Stan Functions Reference, inverse Wishart distribution",
        "[[2.0, 0.5], [0.5, 1.0]], 3.5, [[1.0, 0.2], [0.2, 1.5]]", "-5.057909",
    ),
    "wishart_cholesky_lpdf": (
        "the Cholesky factor L_W of a Wishart matrix of nu degrees of freedom and scale L_S L_S^T",
        ("k log 2 + sum_i (nu - i) log L_W,ii - |L_S^-1 L_W|^2 / 2 - nu log|L_S| - nu k / 2 log 2"
        " - log Gamma_k(nu / 2),\n"
        "i = 1, ..., k: the density of L_W L_W^T times the Jacobian of the factor, 2^k prod L_W,ii^(k - i + 1)."),
        "L_W and L_S (k, k) lower triangular, nu ()",
        "L_W and L_S lower triangular with a positive diagonal, nu > k - 1", "",
        "Muirhead (1982), theorem 2.1.9; Stan Functions Reference, Wishart distribution, Cholesky parameterization",
        "[[1.2]], 3.0, [[0.9]]", "-0.433956",
    ),
    "inv_wishart_cholesky_lpdf": (
        "the Cholesky factor L_W of an inverse Wishart matrix of nu degrees of freedom and scale L_S L_S^T",
        ("k log 2 - sum_i (nu + i) log L_W,ii - |L_W^-1 L_S|^2 / 2 + nu log|L_S| - nu k / 2 log 2"
        " - log Gamma_k(nu / 2),\n"
        "i = 1, ..., k: the density of L_W L_W^T times the Jacobian of the factor, 2^k prod L_W,ii^(k - i + 1)."),
        "L_W and L_S (k, k) lower triangular, nu ()",
        "L_W and L_S lower triangular with a positive diagonal, nu > k - 1", "",
        ("Muirhead (1982), theorem 2.1.9; Stan Functions Reference, inverse Wishart distribution, Cholesky "
        "parameterization"),
        "[[1.2]], 3.0, [[0.9]]", "-1.552409",
    ),
    "lkj_corr_lpdf": (
        "correlation matrices", "log f = (eta - 1) log|Omega| - log c(eta), c the integral over correlation matrices",
        "Omega (k, k), eta ()", "Omega a positive definite correlation matrix, eta > 0", "",
        "Lewandowski, Kurowicka & Joe (2009)", "[[1.0, 0.3], [0.3, 1.0]], 2.0", "-0.381993",
    ),
    "lkj_corr_cholesky_lpdf": (
        "Cholesky factors of correlation matrices",
        "log f = sum_i (k - i + 2 eta - 2) log L_ii - log c(eta), i = 2, ..., k, c as of lkj_corr_lpdf",
        "L (k, k) lower triangular, eta ()",
        ("L the Cholesky factor of a correlation matrix, eta > 0; that its rows have length 1 is not checked, as "
        "in Stan"),
        "", "Lewandowski, Kurowicka & Joe (2009)", "[[1.0, 0.0], [0.6, 0.8]], 2.0", "-0.733969",
    ),
    "lkj_cov_lpdf": (
        "covariance matrices: scales that are lognormal, and a correlation matrix of lkj_corr",
        ("log f = sum_i lognormal_lpdf(s_i, mu_i, sigma_i) + lkj_corr_lpdf(R, eta),\n"
        "with s_i = sqrt(y_ii) and R_ij = y_ij / (s_i s_j)"),
        "y (k, k), mu and sigma (k,) or (), eta ()", "y positive definite, sigma and eta > 0", "",
        "Lewandowski, Kurowicka & Joe (2009); Stan Math's lkj_cov_lpdf",
        "[[2.0, 0.5], [0.5, 1.0]], [0.1, 0.2], [1.0, 0.8], 2.0", "-2.44417",
    ),
    "normal_id_glm_lpdf": (
        "y by normal distributions of mean x beta + alpha and standard deviation sigma",
        "log f = sum_i normal_lpdf(y_i, alpha_i + x_i beta, sigma_i)",
        "y (n,) or (), x (n, k), alpha () or (n,), beta (k,), sigma () or (n,)",
        "sigma positive and finite, the rest finite", "O(n k) forward and reverse",
        "McCullagh & Nelder (1989), chapter 3; Stan Functions Reference, normal-id generalized linear model",
        "[0.3, -0.2], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2], 1.3", "-2.647103",
    ),
    "bernoulli_logit_glm_lpmf": (
        "outcomes y, 0 or 1, by Bernoulli distributions of log odds x beta + alpha",
        "log p = sum_i bernoulli_logit_lpmf(y_i, alpha_i + x_i beta)",
        "y (n,) or (), x (n, k), alpha () or (n,), beta (k,)",
        "y 0 or 1, the rest finite, or infinite where the outcome is then sure", "O(n k) forward and reverse",
        "McCullagh & Nelder (1989), chapter 4; Stan Functions Reference, Bernoulli-logit generalized linear model",
        "[1, 0], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2]", "-1.78807",
    ),
    "binomial_logit_glm_lpmf": (
        "n successes of N by binomial distributions of log odds x beta + alpha",
        "log p = sum_i binomial_logit_lpmf(n_i, N_i, alpha_i + x_i beta)",
        "n and N (n,) or (), x (n, k), alpha () or (n,), beta (k,)", "n = 0, ..., N, the rest finite",
        "O(n k) forward and reverse",
        "McCullagh & Nelder (1989), chapter 4; Stan Functions Reference, binomial-logit generalized linear model",
        "[1, 3], [4, 5], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2]", "-2.627076",
    ),
    "poisson_log_glm_lpmf": (
        "counts y by Poisson distributions of log rate x beta + alpha",
        "log p = sum_i poisson_log_lpmf(y_i, alpha_i + x_i beta)",
        "y (n,) or (), x (n, k), alpha () or (n,), beta (k,)", "y = 0, 1, ..., the rest no nan",
        "O(n k) forward and reverse",
        "McCullagh & Nelder (1989), chapter 6; Stan Functions Reference, Poisson-log generalized linear model",
        "[1, 3], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2]", "-2.655207",
    ),
    "neg_binomial_2_log_glm_lpmf": (
        "counts y by negative binomial distributions of log mean x beta + alpha and precision phi",
        "log p = sum_i neg_binomial_2_log_lpmf(y_i, alpha_i + x_i beta, phi_i)",
        "y (n,) or (), x (n, k), alpha () or (n,), beta (k,), phi () or (n,)",
        "y = 0, 1, ..., phi positive and finite, the rest finite", "O(n k) forward and reverse",
        ("Cameron & Trivedi (2013), section 3.3; Stan Functions Reference, negative-binomial-2-log generalized "
        "linear model"),
        "[1, 3], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2], 1.5", "-3.420921",
    ),
    # SciPy's, and two of its kind
    "multivariate_normal": (
        "normal vectors", "log f = -|r|^2 / 2 - log|L| - k log(2 pi) / 2, with L r = x - mean and L L^T = cov",
        "x (..., k), mean (k,), cov (k, k), its diagonal or one number", "every x and mean, cov positive definite",
        "O(k^3 + n k^2)", "Kotz, Balakrishnan & Johnson (2000), chapter 45",
        "[1.0, 0.0], [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]]", "-2.403399", "0.09041",
    ),
    "multivariate_t": (
        "Student's t vectors",
        ("log f = log Gamma((df + k) / 2) - log Gamma(df / 2) - k log(df pi) / 2 - log|L|\n"
        "- (df + k) / 2 log(1 + |r|^2 / df), with L r = x - loc and L L^T = shape"),
        "x (..., k), loc (k,), shape (k, k), df ()", "every x and loc, df > 0, shape positive definite",
        "O(k^3 + n k^2)", "Kotz & Nadarajah (2004), section 1.1",
        "[1.0, 0.0], [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]], 4.0", "-2.518279", "0.080598",
    ),
    "dirichlet": (
        "points of a simplex", "log f = log Gamma(sum alpha) - sum log Gamma(alpha) + sum (alpha - 1) log x",
        "x (k,) or columns (k, n), or without the last of their rows; alpha (k,)", "x >= 0 with sum 1, alpha > 0", "",
        "Kotz, Balakrishnan & Johnson (2000), chapter 49", "[0.2, 0.3, 0.5], [1.0, 2.0, 3.0]", "1.504077", "4.5",
    ),
    "multinomial": (
        "counts of draws with given probabilities", "log p = log n! - sum log x! + sum x log p",
        "x and p (..., k), n (...)",
        "x = 0, 1, ... with sum n, else -inf; p >= 0 with sum 1, else nan; derivatives by p are those of x log p", "",
        "Johnson, Kotz & Balakrishnan (1997), chapter 35", "[1, 2], 3, [0.4, 0.6]", "-0.83933", "0.432",
    ),
    "dirichlet_multinomial": (
        "counts of draws whose probabilities are of a Dirichlet density",
        "log p = log n + log B(sum alpha, n) - sum_(x > 0) (log x + log B(alpha, x))",
        "x and alpha (..., k), n (...)", "x = 0, 1, ... with sum n, else -inf; alpha > 0", "",
        "Johnson, Kotz & Balakrishnan (1997), chapter 35", "[1, 2], [1.5, 2.0], 3", "-1.165752", "0.311688",
    ),
    "categorical": (
        "categories, counted from 0, by their probabilities", "log p = log p_k", "k (...), p (..., c)",
        "k = 0, ..., c - 1, else -inf; p >= 0 with sum 1, else nan; derivatives by p are those of log p_k", "",
        "Johnson, Kotz & Balakrishnan (1997), chapter 35", "2, [0.2, 0.3, 0.5]", "-0.693147", "0.5",
    ),
    "wishart": (
        "one matrix, as the sum of squares of normal vectors of covariance `scale`",
        ("log f = (df - k - 1) / 2 log|x| - tr(scale^-1 x) / 2 - df / 2 log|scale| - df k / 2 log 2 - log "
        "Gamma_k(df / 2)"),
        "x and scale (k, k), df ()", "x and scale positive definite, df > k - 1", "O(k^3)",
        "Gupta & Nagar (2000), chapter 3", "[[2.0, 0.5], [0.5, 1.0]], 3.0, [[1.0, 0.2], [0.2, 1.5]]", "-4.400049",
        "0.012277",
    ),
    "invwishart": (
        "one matrix, the inverse of one of Wishart's distribution",
        ("log f = df / 2 log|scale| - (df + k + 1) / 2 log|x| - tr(scale x^-1) / 2 - df k / 2 log 2 - log "
        "Gamma_k(df / 2)"),
        "x and scale (k, k), df ()", "x and scale positive definite, df > k - 1", "O(k^3)",
        "Gupta & Nagar (2000), section 3.4", "[[2.0, 0.5], [0.5, 1.0]], 3.0, [[1.0, 0.2], [0.2, 1.5]]", "-4.727931",
        "0.008845",
    ),
    "lkj": (
        "correlation matrices, the more like the identity the larger eta is",
        "log f = (eta - 1) log|X| - log c(eta), c the integral over correlation matrices", "x (..., k, k), eta ()",
        "x positive definite with a diagonal of 1, of which the lower triangle is read; eta > 0; else ValueError", "",
        "Lewandowski, Kurowicka & Joe (2009); Stan Functions Reference, LKJ correlation distribution",
        "[[1.0, 0.3], [0.3, 1.0]], 2.0", "-0.381993", "0.6825",
    ),
    "matrix_normal": (
        "matrices with a covariance of their rows and one of their columns",
        ("log f = -tr(colcov^-1 R^T rowcov^-1 R) / 2 - k log|rowcov| / 2 - m log|colcov| / 2 - m k log(2 pi) / 2,\n"
        "with R = X - mean"),
        "X (..., m, k), mean (m, k), rowcov (m, m), colcov (k, k)",
        "every X and mean, rowcov and colcov positive definite", "", "Gupta & Nagar (2000), chapter 2",
        "[[1.0, 0.0]], [[0.5, 0.5]], [[1.5]], [[2.0, 0.5], [0.5, 1.0]]", "-2.713626", "0.066296",
    ),
    "matrix_t": (
        "t matrices of df degrees of freedom with a spread of their rows and one of their columns",
        ("log f = log Gamma_k(h + m / 2) - log Gamma_k(h) - m k log(pi) / 2 - k log|row_spread| / 2\n"
        "- m log|col_spread| / 2 - (h + m / 2) log|I + R^T row_spread^-1 R col_spread^-1|,\n"
        "with R = X - mean and h = (df + k - 1) / 2"),
        "X (..., m, k), mean (m, k), row_spread (m, m), col_spread (k, k), df ()",
        "every X and mean, row_spread and col_spread positive definite, df > 0", "", "Gupta & Nagar (2000), chapter 4",
        "[[1.0, 0.0]], [[0.5, 0.5]], [[1.5]], [[2.0, 0.5], [0.5, 1.0]], 3.0", "-2.231471", "0.10737",
    ),
    "vonmises_fisher": (
        "directions around mu",
        "log f = kappa mu^T x + (d / 2 - 1) log kappa - d / 2 log(2 pi) - log I_(d / 2 - 1)(kappa)",
        "x (..., d), mu (d,), kappa ()", "x and mu of length 1, kappa > 0; else ValueError", "",
        "Mardia & Jupp (2000), section 9.3.2", "[0.6, 0.8, 0.0], [0.0, 0.6, 0.8], 2.0", "-2.166244", "0.114607",
    ),
    "normal_inverse_gamma": (
        "a number x and its variance s2, each element apart",
        ("log f = log(lmbda / (2 pi s2)) / 2 + a log b - log Gamma(a) - (a + 1) log s2\n"
        "- (2 b + lmbda (x - mu)^2) / (2 s2)"), "any that broadcast",
        "lmbda, a, b > 0, else nan; s2 > 0, else -inf", "", "Gelman et al. (2013), section 3.3",
        "0.3, 1.2, 0.5, 2.0, 3.0, 1.5", "-2.152897", "0.116147",
    ),
}  # fmt: skip


def describe_vectors(name: str, method: str = "") -> str:
    """The docstring of a density or mass from its row; for SciPy's, that of one method, such as `logpdf` or `pmf`."""
    title, formula, shapes, domain, cost, source, arguments, *results = DESCRIBED[name]
    kind = "mass" if (method or name).endswith("pmf") else "density"
    fields = {"Shapes": f"{shapes}.", "Domain": f"{domain}."}
    if not method:
        fields["Raises"] = "ValueError outside the domain, or if shapes do not fit."
    if cost:
        fields["Cost"] = f"{cost}."
    fields["Ref"] = f"{source}."
    is_log = not method.startswith("p")
    example = example_of(f"float({name}{method and '.'}{method}({arguments}))", results[not is_log])
    title = f"{'Log ' if is_log else ''}{kind} of {title}."
    return describe(title[0].upper() + title[1:], formula.replace("\n", "\n    "), fields, example)
