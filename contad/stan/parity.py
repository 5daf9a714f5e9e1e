"""Stan's names, section by section, and the equivalents in NumPy, SciPy or contad of those not in `contad.stan`.

`NAMES` are the functions of the Stan language (August 2026) and the checks of Stan Math 4.9. `SPELLINGS` are Python
expressions of one line, and `CONSTANTS` those whose value carries no derivative. Their variables are numbers x, y, z
and p, vectors v and w, square matrices a and b, whole numbers k and n, and a function f of a vector. `NOT_FOR_PYTHON`
says why a name has no meaning here. A name in none of these, nor in `contad.stan`, is missing. `REMARKS` lists
functions that do not cover all of Stan's.
"""

from typing import NamedTuple


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _each(prefixes: str, suffixes: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{suffix}" for prefix in prefixes.split() for suffix in suffixes.split())


_TRANSFORMS = """lower_bound upper_bound lower_upper_bound offset_multiplier ordered positive_ordered simplex
    stochastic_column stochastic_row sum_to_zero unit_vector cholesky_factor_corr cholesky_factor_cov corr_matrix
    cov_matrix"""

_WITH_CDF = """bernoulli beta beta_binomial beta_neg_binomial beta_proportion binomial cauchy chi_square discrete_range
    double_exponential exp_mod_normal exponential frechet gamma gumbel inv_chi_square inv_gamma logistic lognormal
    neg_binomial neg_binomial_2 normal pareto pareto_type_2 poisson rayleigh scaled_inv_chi_square
    skew_double_exponential skew_normal std_normal student_t uniform von_mises weibull yule_simon"""

NAMES: dict[str, tuple[str, ...]] = {
    "Scalar functions of one argument": _names("""
        Phi Phi_approx abs acos acosh asin asinh atan atanh cbrt ceil cos cosh digamma erf erfc exp exp2 expm1 floor
        int_step inv inv_Phi inv_cloglog inv_erfc inv_logit inv_sqrt inv_square is_inf is_nan lambert_w0 lambert_wm1
        lgamma log log10 log1m log1m_exp log1m_inv_logit log1p log1p_exp log2 log_inv_logit logit minus plus round sin
        sinh sqrt square std_normal_log_qf std_normal_qf step tan tanh tgamma to_int trigamma trunc"""),
    "Scalar functions of two arguments": _names("""
        add subtract multiply divide modulus pow min max atan2 hypot fdim fmin fmax fmod ldexp beta lbeta choose lchoose
        falling_factorial rising_factorial log_falling_factorial log_rising_factorial gamma_p gamma_q lmgamma lmultiply
        log_diff_exp log_inv_logit_diff owens_t binary_log_loss bessel_first_kind bessel_second_kind
        modified_bessel_first_kind modified_bessel_second_kind log_modified_bessel_first_kind"""),
    "Scalar functions of more arguments": _names("""
        fma inc_beta inv_inc_beta log_mix hypergeometric_1F0 hypergeometric_2F1 hypergeometric_3F2 hypergeometric_pFq
        student_t_qf wiener_lcdf_unnorm wiener_lccdf_unnorm"""),
    "Logical functions": _each("logical", "and or negation eq neq lt lte gt gte"),
    "Constants": _names("e pi sqrt2 machine_precision positive_infinity negative_infinity not_a_number"),
    "Reductions and statistics": _names("""
        sum prod mean sd variance log_sum_exp norm norm1 norm2 quantile rank cumulative_sum softmax log_softmax
        dot_product dot_self distance squared_distance sort_asc sort_desc sort_indices_asc sort_indices_desc trace
        trace_dot"""),
    "Products": _names("""
        columns_dot_product columns_dot_self rows_dot_product rows_dot_self crossprod tcrossprod diag_pre_multiply
        diag_post_multiply add_diag elt_multiply elt_divide multiply_lower_tri_self_transpose quad_form quad_form_diag
        quad_form_sym trace_quad_form trace_gen_quad_form matrix_power matrix_exp matrix_exp_multiply
        scale_matrix_exp_multiply csr_matrix_times_vector"""),
    "Decompositions": _names("""
        cholesky_decompose qr qr_Q qr_R qr_thin qr_thin_Q qr_thin_R svd svd_U svd_V singular_values eigendecompose
        eigendecompose_sym eigenvalues eigenvalues_sym eigenvectors eigenvectors_sym complex_schur_decompose
        complex_schur_decompose_t complex_schur_decompose_u"""),
    "Solves, inverses, determinants": _names("""
        mdivide_left mdivide_right mdivide_left_spd mdivide_right_spd mdivide_left_tri_low mdivide_right_tri_low inverse
        inverse_spd generalized_inverse chol2inv determinant log_determinant log_determinant_spd"""),
    "Covariances of Gaussian processes": _names("""
        gp_dot_prod_cov gp_exp_quad_cov gp_exponential_cov gp_matern32_cov gp_matern52_cov gp_periodic_cov"""),
    "Constructors and containers": (*_names("""
        append_array append_col append_row block col cols row rows dims size num_elements diag_matrix diagonal head tail
        segment sub_col sub_row identity_matrix"""),
        *_each("linspaced one_hot ones zeros", "array int_array row_vector vector"), *_names("""
        rep_array rep_matrix rep_row_vector rep_vector reverse transpose to_array_1d to_array_2d to_matrix to_row_vector
        to_vector symmetrize_from_lower_tri uniform_simplex""")),
    "Sparse matrices": _names("csr_extract csr_extract_u csr_extract_v csr_extract_w csr_to_dense_matrix"),
    "Complex numbers and Fourier transforms": _names("""
        arg conj get_real get_imag polar proj to_complex fft fft2 inv_fft inv_fft2 norm"""),
    "Constraining transforms": _names(_TRANSFORMS),
    "Transforms as functions": _each(_TRANSFORMS, "constrain jacobian unconstrain"),
    "Functions of functions": _names("""
        gradient jacobian hessian hessian_times_vector grad_hessian grad_tr_mat_times_hessian gradient_dot_vector
        derivative partial_derivative hessian_block_diag finite_diff_gradient finite_diff_gradient_auto
        finite_diff_hessian finite_diff_hessian_auto finite_diff_grad_hessian finite_diff_grad_hessian_auto
        algebra_solver algebra_solver_newton solve_newton solve_newton_tol solve_powell solve_powell_tol integrate_1d
        integrate_1d_gauss_kronrod integrate_1d_double_exponential hcubature ode_rk45 ode_rk45_tol ode_ckrk ode_ckrk_tol
        ode_adams ode_adams_tol ode_bdf ode_bdf_tol ode_adjoint_tol_ctl dae dae_tol reduce_sum reduce_sum_static
        map_rect hmm_marginal hmm_hidden_state_prob hmm_latent laplace_marginal laplace_marginal_tol
        laplace_marginal_bernoulli_logit_lpmf laplace_marginal_tol_bernoulli_logit_lpmf
        laplace_marginal_neg_binomial_2_log_lpmf laplace_marginal_tol_neg_binomial_2_log_lpmf
        laplace_marginal_poisson_log_lpmf laplace_marginal_tol_poisson_log_lpmf laplace_latent_rng
        laplace_latent_tol_rng laplace_latent_bernoulli_logit_rng laplace_latent_tol_bernoulli_logit_rng
        laplace_latent_neg_binomial_2_log_rng laplace_latent_tol_neg_binomial_2_log_rng laplace_latent_poisson_log_rng
        laplace_latent_tol_poisson_log_rng"""),
    "Log densities": tuple(f"{name}_lpdf" for name in _names("""
        beta beta_proportion cauchy chi_square dirichlet double_exponential exp_mod_normal exponential frechet gamma
        gaussian_dlm_obs gumbel inv_chi_square inv_gamma inv_wishart inv_wishart_cholesky lkj_corr lkj_corr_cholesky
        lkj_cov logistic loglogistic lognormal multi_gp multi_gp_cholesky multi_normal multi_normal_cholesky
        multi_normal_prec multi_student_t multi_student_t_cholesky normal normal_id_glm pareto pareto_type_2 rayleigh
        scaled_inv_chi_square skew_double_exponential skew_normal std_normal student_t uniform von_mises weibull wiener
        wishart wishart_cholesky""")),
    "Log masses": tuple(f"{name}_lpmf" for name in _names("""
        bernoulli bernoulli_logit bernoulli_logit_glm beta_binomial beta_neg_binomial binomial binomial_logit
        binomial_logit_glm categorical categorical_logit categorical_logit_glm dirichlet_multinomial discrete_range
        hypergeometric multinomial multinomial_logit neg_binomial neg_binomial_2 neg_binomial_2_log
        neg_binomial_2_log_glm ordered_logistic ordered_logistic_glm ordered_probit poisson poisson_log poisson_log_glm
        yule_simon""")),
    "Distribution functions": tuple(
        f"{name}_{kind}" for kind in ("cdf", "lcdf", "lccdf")
        for name in _names(_WITH_CDF.replace("beta_proportion", "loglogistic") if kind == "cdf" else _WITH_CDF)
    ),
    "Checks of arguments": _each("check", """
        2F1_converges 3F2_converges bounded cholesky_factor cholesky_factor_corr column_index consistent_size
        consistent_sizes consistent_sizes_mvt corr_matrix cov_matrix finite flag_sundials greater greater_or_equal
        ldlt_factor less less_or_equal lower_triangular matching_dims matching_sizes multiplicable nonnegative
        nonzero_size not_nan ordered pos_definite pos_semidefinite positive positive_finite positive_ordered range
        row_index simplex size_match sorted square std_vector_index symmetric unit_vector vector vector_index"""),
    "Statements": ("reject",),
}  # fmt: skip

SPELLINGS: dict[str, dict[str, str]] = {
    "Constructors and containers": {
        "block": "a[0:2, 1:3]",
        "col": "a[:, k]", "row": "a[k]", "segment": "v[k : k + n]", "sub_col": "a[0:n, k]", "sub_row": "a[k, 0:n]",
    },
    "Functions of functions": {
        "gradient": "contad.grad(f)(v)", "jacobian": "contad.jacobian(np.cumprod)(v)",
        "hessian": "contad.hessian(f)(v)", "hessian_times_vector": "contad.hvp(f)(v, w)",
        "grad_hessian": "contad.jacobian(contad.hessian(f))(v)",
        "grad_tr_mat_times_hessian": "contad.grad_tr_mat_times_hessian(f, v, a)",
        "gradient_dot_vector": "contad.gradient_dot_vector(f, v, w)[1]", "derivative": "contad.derivative(np.sin)(x)",
        "partial_derivative": "contad.grad(f)(v)[k]", "hessian_block_diag": "contad.hessian_block_diag(f, 3)(v)",
    },
}  # fmt: skip

CONSTANTS: dict[str, dict[str, str]] = {
    "Reductions and statistics": {
        "rank": "np.count_nonzero(v < v[k])", "sort_indices_asc": "np.argsort(v)",
        "sort_indices_desc": "np.argsort(-v)",
    },
    "Constructors and containers": {
        "one_hot_array": "np.eye(n)[k]", "one_hot_row_vector": "np.eye(n)[k]", "one_hot_vector": "np.eye(n)[k]",
        "one_hot_int_array": "np.eye(n, dtype=int)[k]",
    },
}  # fmt: skip

# names without meaning in Python, and why
NOT_FOR_PYTHON = {
    "check_flag_sundials": "a code that SUNDIALS returns, which is not used here; solvers raise errors of their own",
    "check_ldlt_factor": "a state of Eigen's factorisation; np.linalg.LinAlgError says that there is none",
    "check_std_vector_index": "std::vector is a container of C++; check_vector_index is of vectors of any kind",
}

REMARKS = {
    **dict.fromkeys(_each(_TRANSFORMS, "jacobian"), "returns the value and the log-Jacobian, and adds to no target"),
    **dict.fromkeys(("append_col", "append_row"), "of two vectors: np.concatenate, or np.stack with an axis"),
    "check_column_index": "places count from 0",
    "check_range": "places count from 0",
    "check_row_index": "places count from 0",
    "check_vector_index": "places count from 0",
    "reject": "inside njit, without the values of numbers",
    "rank": "places count from 0",
    "sort_indices_asc": "places count from 0",
    "sort_indices_desc": "places count from 0; equal elements stay in order",
    "eigendecompose": "complex eigenvalues are refused",
    "eigenvalues": "complex eigenvalues are refused",
    "eigenvectors": "complex eigenvalues are refused",
    "qr": "where m > n, for constants",
    "qr_Q": "where m > n, for constants",
    "csr_extract": "places count from 0",
    "csr_extract_u": "places count from 0",
    "csr_extract_v": "places count from 0",
    "csr_to_dense_matrix": "places count from 0",
    "csr_matrix_times_vector": "places count from 0",
}


class StanName(NamedTuple):
    """The status of one name."""

    section: str
    name: str
    # "works", "NumPy" (it is spelled with functions of NumPy, or of contad), "constant", "not for Python" or "missing"
    status: str
    how: str


def rows(exported: tuple[str, ...]) -> list[StanName]:
    """A row for each of Stan's names; `exported` are those of `contad.stan`.

    >>> from contad import stan
    >>> found = rows(tuple(stan.__all__))
    >>> next(row.how for row in found if row.name == "quad_form_sym")
    'contad.stan.quad_form_sym'
    >>> next(row.how for row in found if row.name == "segment")
    'v[k : k + n]'
    """
    found = []
    for section, names in NAMES.items():
        spelled, constant = SPELLINGS.get(section, {}), CONSTANTS.get(section, {})
        for name in names:
            if name in exported:
                found.append(StanName(section, name, "works", f"contad.stan.{name}"))
            elif name in spelled:
                found.append(StanName(section, name, "NumPy", spelled[name]))
            elif name in constant:
                found.append(StanName(section, name, "constant", constant[name]))
            elif name in NOT_FOR_PYTHON:
                found.append(StanName(section, name, "not for Python", ""))
            else:
                found.append(StanName(section, name, "missing", ""))
    return found
