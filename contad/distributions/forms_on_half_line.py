"""Distributions on the positive half line in standard form."""

from typing import Any

from contad.distributions.standard_forms import HALF, StandardForm, standard

_JKB1 = "Johnson, Kotz & Balakrishnan (1994), chapter {}"
_JKB2 = "Johnson, Kotz & Balakrishnan (1995), chapter {}"


def _gamma_of_log(a: str, u: str, **options: Any) -> dict[str, Any]:
    """The probabilities of a variate of which e^u has the gamma distribution of shape a."""
    return options | {
        "lines": f"below = log_gamma_part_of_log(0.0, {a}, {u}); above = log_gamma_part_of_log(1.0, {a}, {u})",
        "both": ("exp(below)", "exp(above)"), "logs": ("below", "above"),
    }  # fmt: skip


def _both_ways(text: str) -> tuple[str, str]:
    """An inverse of the upper tail u's logarithm, for p and for q."""
    return text.replace("LOG", "log1p(-p)"), text.replace("LOG", "log(q)")


# where the arctangents of y - c and y + c have a sum whose tangent is 2 / w
_FOLDED = (
    "far = y > 2.0 * (c + 1.0); w = select(far, y, 1.0) - (1.0 + c * c) / select(far, y, 1.0); near = y < 1.0; "
    "u = select(near, 2.0 * y, 2.0); s = select(near or far, 1.0, y); "
    "v = select(near, 1.0 + (c - y) * (c + y), (1.0 + c * c) / s - s)"
)
_FOLDED_BACK = (  # by a tangent near 0 and in the middle, where the cotangent has a pole
    "low = {p} < 0.25; high = {q} < 0.25; w = hypot(1.0, c); t = tan(PI * select(low, {p}, 0.1)); "
    "k = select(high, 1.0 / tan(PI * select(high, {q}, 0.1)), tan(PI * select(low, 0.0, 0.5 - {q}))); "
    "select(low, t * w * w / (1.0 + hypot(1.0, t * w)), k + hypot(k, w))"
)
_BIRNBAUM = "s = c * {}; w = 0.5 * (select(s < 0.0, -s, s) + hypot(s, 2.0)); power(w, select(s < 0.0, -2.0, 2.0))"
_NONCENTRAL = (
    "v = 0.5 * df - 1.0; x = 0.25 * nc * y; near = x < 100.0 * (v + 1.0); z = sqrt(select(near, 1.0, nc)) * sqrt(y); "
    "e = sqrt(select(near, 1.0, nc)) - sqrt(y); "
)

FORMS: dict[str, StandardForm] = {
    "burr12": standard(
        "c d", "log(c d) + (c - 1) log y - (d + 1) log(1 + y^c)", "Burr (1942)",
        "log(c) + log(d) + xlogy(c - 1.0, y) - (d + 1.0) * log1p_exp(c * log(y))", HALF, positive="c d",
        survival=("d * log1p_exp(c * log(y))", "log(d) + log_log1p_exp(-c * log(y))"),
        inverse=_both_ways("u = -(LOG) / d; exp((u + log1m_exp(-u)) / c)"),
    ),
    "exponweib": standard(
        "a c", "log(a c) + (a - 1) log(1 - e^(-y^c)) - y^c + (c - 1) log y", "Mudholkar & Srivastava (1993)",
        "log(a) + log(c) + (a - 1.0) * log_complement(t, c * log(y)) - t + (c - 1.0) * log(y)", HALF, "low",
        positive="a c", lines="t = power(y, c); x = t + log_complement(t, c * log(y))",
        attained=("a * log1p_exp(-x)", "log(a) + log_log1p_exp(x)"),
        inverse=("power(-log1m_exp(log(p) / a), 1.0 / c)", "power(-log1m_exp(log1p(-q) / a), 1.0 / c)"),
    ),
    "exponpow": standard(
        "b", "log b + (b - 1) log y + 1 + y^b - e^(y^b)", "Smith & Bain (1975)",
        "log(b) + xlogy(b - 1.0, y) + s - expm1(s)", HALF, positive="b", lines="s = power(y, b)",
        survival=("expm1(s)", "b * log(y) + log(exprel(s))"),
        inverse=_both_ways("power(log1p(-LOG), 1.0 / b)"),
    ),
    "gengamma": standard(
        "a c", "log|c| + (c a - 1) log y - y^c - log Gamma(a)", "Stacy (1962)",
        "log(absolute(c)) + xlogy(c * a - 1.0, y) - power(y, c) - gammaln(a)", HALF, positive="a",
        valid="c < 0.0 or c > 0.0", **_gamma_of_log("a", "c * log(y)")
        | {"lines": "flag = select(c > 0.0, 0.0, 1.0); below = log_gamma_part_of_log(flag, a, c * log(y)); "
                    "above = log_gamma_part_of_log(1.0 - flag, a, c * log(y))"},
        inverse=(
            "exp(log_gamma_quantile(select(c > 0.0, 0.0, 1.0), a, p) / c)",
            "exp(log_gamma_quantile(select(c > 0.0, 1.0, 0.0), a, q) / c)",
        ),
    ),
    "nakagami": standard(
        "nu", "log 2 + nu log nu - log Gamma(nu) + (2 nu - 1) log y - nu y^2", "Nakagami (1960)",
        "LOG_2 + nu * log(nu) - gammaln(nu) + xlogy(2.0 * nu - 1.0, y) - nu * y * y", HALF, positive="nu",
        **_gamma_of_log("nu", "log(nu) + 2.0 * log(y)"),
        inverse=(
            "exp(0.5 * (log_gamma_quantile(0.0, nu, p) - log(nu)))",
            "exp(0.5 * (log_gamma_quantile(1.0, nu, q) - log(nu)))",
        ),
    ),
    "halfgennorm": standard(
        "beta", "log beta - log Gamma(1 / beta) - y^beta", "Nadarajah (2005)",
        "log(beta) - gammaln(1.0 / beta) - power(y, beta)", HALF, positive="beta",
        **_gamma_of_log("1.0 / beta", "beta * log(y)"),
        inverse=(
            "exp(log_gamma_quantile(0.0, 1.0 / beta, p) / beta)", "exp(log_gamma_quantile(1.0, 1.0 / beta, q) / beta)",
        ),
    ),
    "gompertz": standard(
        "c", "log c + y - c (e^y - 1)", _JKB2.format(22), "log(c) + y - c * expm1(y)", HALF, positive="c",
        survival=("c * expm1(y)", "log(c) + log(expm1(y))"), inverse=_both_ways("log1p(-(LOG) / c)"),
    ),
    "halflogistic": standard(
        "", "log 2 - y - 2 log(1 + e^-y)", _JKB2.format(23), "LOG_2 - y - 2.0 * log1p(exp(-y))", HALF,
        tails=("log(tanh(0.5 * y))", "LOG_2 - log1p_exp(y)"),
        inverse=("2.0 * arctanh(p)", "log1p(2.0 * ((1.0 - q) / q))"),
    ),
    "foldcauchy": standard(
        "c", "-log pi + log(1 / (1 + (y - c)^2) + 1 / (1 + (y + c)^2))", _JKB1.format(16),
        "logaddexp(-2.0 * log(hypot(1.0, y - c)), -2.0 * log(hypot(1.0, y + c))) - LOG_PI", HALF, valid="c >= 0.0",
        lines=_FOLDED, tails=(
            "log(arctan2(u, v)) - LOG_PI",
            "select(far, log_upper_half_cauchy(0.5 * w) - LOG_2, log(arctan2(u, -v)) - LOG_PI)",
        ),
        inverse=(
            _FOLDED_BACK.format(p="p", q="(1.0 - p)"), _FOLDED_BACK.format(p="(1.0 - q)", q="q"),
        ),
    ),
    "foldnorm": standard(
        "c", "-(y - c)^2 / 2 + log(1 + e^(-2 c y)) - log(2 pi) / 2", _JKB1.format(13),
        "-0.5 * (y - c) * (y - c) + log1p(exp(-2.0 * c * y)) - LOG_SQRT_TWO_PI", HALF, valid="c >= 0.0", solved=True,
        tails=("log_normal_interval(-y - c, y - c, 2.0 * y)", "logaddexp(log_ndtr(c - y), log_ndtr(-c - y))"),
    ),
    "fatiguelife": standard(
        "c", "log(1 + y) - 3/2 log y - log(2 c) - log(2 pi) / 2 - z^2 / 2, z = (y - 1) / (c y^(1/2))",
        "Birnbaum & Saunders (1969)",
        "log1p(y) - 1.5 * log(y) - log(2.0 * c) - LOG_SQRT_TWO_PI - 0.5 * z * z", HALF, "low", positive="c",
        lines="z = (y - 1.0) / (c * sqrt(y))", both=("ndtr(z)", "ndtr(-z)"), logs=("log_ndtr(z)", "log_ndtr(-z)"),
        inverse=(_BIRNBAUM.format("ndtri(p)"), _BIRNBAUM.format("(-ndtri(q))")),
    ),
    "alpha": standard(
        "a", "-2 log y - (a - 1 / y)^2 / 2 - log(2 pi) / 2 - log Phi(a)", "Salvia (1985)",
        "-2.0 * log(y) - 0.5 * (a - 1.0 / y) * (a - 1.0 / y) - LOG_SQRT_TWO_PI - log_ndtr(a)", HALF, "low",
        positive="a", solved=True, tails=(
            "log_ndtr(a - 1.0 / y) - log_ndtr(a)", "log_normal_interval(a - 1.0 / y, a, 1.0 / y) - log_ndtr(a)",
        ),
    ),
    "kappa3": standard(
        "a", "log a - (1 + 1 / a) log(a + y^a)", "Mielke & Johnson (1973)",
        "log(a) - (1.0 + 1.0 / a) * (log(a) + log1p_exp(u))", HALF, positive="a", lines="u = a * log(y) - log(a)",
        attained=("log1p_exp(-u) / a", "log_log1p_exp(u) - log(a)"),
        inverse=tuple(
            f"v = a * {low}; exp((v - log1m_exp(v) + log(a)) / a)" for low in ("log(p)", "log1p(-q)")
        ),
    ),
    "powerlognorm": standard(
        "c s", "log c - log(y s) - z^2 / 2 - log(2 pi) / 2 + (c - 1) log Phi(-z), z = log(y) / s",
        "Nelson & Doganaksoy (1995)",
        "log(c) - log(y) - log(s) - 0.5 * z * z - LOG_SQRT_TWO_PI + (c - 1.0) * log_ndtr(-z)", HALF, "low",
        positive="c s", lines="z = log(y) / s; x = log_ndtr(-z) - log_ndtr(z)",
        survival=("c * log1p_exp(-x)", "log(c) + log_log1p_exp(x)"),
        inverse=_both_ways("exp(-s * ndtri_exp((LOG) / c))"),
    ),
    "genexpon": standard(
        "a b c", "log(a + b (1 - e^(-c y))) - (a + b) y + b (1 - e^(-c y)) / c", "Ryu (1993)",
        "log(a - b * expm1(-c * y)) - y * rate", HALF, positive="a b c", solved=True,
        lines="rate = a + b * (1.0 - exprel(-c * y))", survival=("y * rate", "log(y) + log(rate)"),
    ),
    "recipinvgauss": standard(
        "mu", "-log(2 pi y) / 2 - (1 - mu y)^2 / (2 y mu^2)", _JKB1.format(15),
        "-0.5 * log(y) - LOG_SQRT_TWO_PI - 0.5 * u * u", HALF, "low", positive="mu",
        lines="s = sqrt(y); u = s - 1.0 / (mu * s); "
        "below = log_exp_mod_normal(u, 2.0 * s); above = log_upper_exp_mod_normal(u, 2.0 * s)",
        both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=(
            "1.0 / standard_inverse_gaussian_quantile(1.0, p, mu)",
            "1.0 / standard_inverse_gaussian_quantile(0.0, q, mu)",
        ),
    ),
    "geninvgauss": standard(
        "p b", "(p - 1) log y - b (y + 1 / y) / 2 - log 2 - log K_p(b)", "Barndorff-Nielsen & Halgreen (1977)",
        "(p - 1.0) * log(y) - 0.5 * b * (y - 1.0) * ((y - 1.0) / y) - LOG_2 - log(kve(p, b))", HALF, "low",
        positive="b", valid="p == p",
    ),
    "ncx2": standard(
        "df nc", "-log 2 - (y + nc) / 2 + (df / 4 - 1/2) log(y / nc) + log I_(df / 2 - 1)((nc y)^(1/2))",
        _JKB2.format(29),
        _NONCENTRAL + "central = xlogy(v, 0.5 * y) - 0.5 * (y + nc) - LOG_2 - gammaln(v + 1.0); "
        "select(near, central + log(hyp0f1(v + 1.0, select(near, x, 1.0))), "
        "-LOG_2 - 0.5 * e * e + 0.5 * v * (log(y) - log(select(near, 1.0, nc))) "
        "+ log(ive(select(near, 1.0, v), select(near, 1.0, z))))",
        HALF, positive="df", valid="nc >= 0.0",
    ),
}  # fmt: skip
