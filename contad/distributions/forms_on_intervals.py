"""Distributions on intervals in standard form."""

from contad.distributions.standard_forms import UNIT, StandardForm, standard

_JKB1 = "Johnson, Kotz & Balakrishnan (1994), chapter {}"
_JKB2 = "Johnson, Kotz & Balakrishnan (1995), chapter {}"
_ANGLE, _SYMMETRIC = ("-PI", "PI"), ("-1.0", "1.0")
_CUT = "low = power(a, c); high = power(b, c); total = log1m_exp(low - high)"
_CUT_BACK = "low = power(a, c); w = power(b, c) - low; power(low - {}, 1.0 / c)"
_WRAPPED = "2.0 * arctan2((1.0 - c) * sin(PI * {p}), {sign}(1.0 + c) * cos(PI * {p}))"

FORMS: dict[str, StandardForm] = {
    "powerlaw": standard(
        "a", "log a + (a - 1) log y", _JKB1.format(20), "log(a) + xlogy(a - 1.0, y)", UNIT, positive="a",
        lower="a * log(y)", inverse=("power(p, 1.0 / a)", "exp(log1p(-q) / a)"),
    ),
    "johnsonsb": standard(
        "a b", "log b - z^2 / 2 - log(2 pi) / 2 - log y - log(1 - y), z = a + b log(y / (1 - y))", _JKB1.format(12),
        "log(b) - 0.5 * z * z - LOG_SQRT_TWO_PI - log(y) - log1p(-y)", UNIT, "low high", positive="b", valid="a == a",
        lines="z = a + b * logit(y)", both=("ndtr(z)", "ndtr(-z)"), logs=("log_ndtr(z)", "log_ndtr(-z)"),
        inverse=("expit((ndtri(p) - a) / b)", "expit((-ndtri(q) - a) / b)"),
    ),
    "loguniform": standard(
        "a b", "-log y - log log(b / a)", "Hamming (1970)", "-log(y) - log(width)", ("a", "b"),
        valid="0.0 < a and a < b and b < _inf", lines="width = log1p((b - a) / a)",
        both=("log1p((y - a) / a) / width", "log1p((b - y) / y) / width"),
        inverse=tuple(f"width = log1p((b - a) / a); {x}" for x in ("a * exp(p * width)", "b * exp(-q * width)")),
    ),
    "truncexpon": standard(
        "b", "-y - log(1 - e^-b)", _JKB1.format(19), "-y - log1m_exp(-b)", ("0.0", "b"), positive="b",
        tails=("log(expm1(-y) / expm1(-b))", "log1m_exp(y - b) - y - log1m_exp(-b)"),
        inverse=("-log1p(p * expm1(-b))", "-log(q + (1.0 - q) * exp(-b))"),
    ),
    "truncpareto": standard(
        "b c", "log(b / (1 - c^-b)) - (b + 1) log y", "Burroughs & Tebbens (2001)",
        "log(-b / expm1(-b * log(c))) - (b + 1.0) * log(y)", ("1.0", "c"), valid="(b < 0.0 or b > 0.0) and c > 1.0",
        lines="whole = expm1(-b * log(c))",
        tails=(
            "log(expm1(-b * log(y)) / whole)", "log(expm1(-b * log1p((c - y) / y)) / whole) - b * log(y)",
        ),
        inverse=("exp(-log1p(p * expm1(-b * log(c))) / b)", "exp(-log(q + (1.0 - q) * exp(-b * log(c))) / b)"),
    ),
    "truncweibull_min": standard(
        "c a b", "log c + (c - 1) log y - y^c - log(e^(-a^c) - e^(-b^c))", "Rinne (2008)",
        "log(c) + xlogy(c - 1.0, y) + low - power(y, c) - total", ("a", "b"), positive="c",
        valid="0.0 <= a and a < b and b < _inf", lines=_CUT,
        tails=(
            "log(-expm1(low - power(y, c))) - total", "low - power(y, c) + log(-expm1(power(y, c) - high)) - total",
        ),
        inverse=(_CUT_BACK.format("log1p(p * expm1(-w))"), _CUT_BACK.format("log(q + (1.0 - q) * exp(-w))")),
    ),
    "bradford": standard(
        "c", "log c - log log(1 + c) - log(1 + c y)", _JKB2.format(26), "log(c / log1p(c)) - log1p(c * y)", UNIT,
        positive="c", both=("log1p(c * y) / log1p(c)", "log1p(c * (1.0 - y) / (1.0 + c * y)) / log1p(c)"),
        inverse=("expm1(p * log1p(c)) / c", "expm1((1.0 - q) * log1p(c)) / c"),
    ),
    "anglit": standard(
        "", "log cos(2 y)", "SciPy's scipy.stats.anglit", "log(cos(2.0 * y))", ("-0.25 * PI", "0.25 * PI"),
        tails=("2.0 * log(sin(0.25 * PI + y))", "2.0 * log(sin(0.25 * PI - y))"),
        inverse=("arcsin(sqrt(p)) - 0.25 * PI", "0.25 * PI - arcsin(sqrt(q))"),
    ),
    "arcsine": standard(
        "", "-log pi - log(y (1 - y)) / 2", _JKB2.format(25), "-LOG_PI - 0.5 * (log(y) + log1p(-y))", UNIT,
        both=(
            "2.0 / PI * arctan2(sqrt(y), sqrt(1.0 - y))", "2.0 / PI * arctan2(sqrt(1.0 - y), sqrt(y))",
        ),
        inverse=("power(sin(0.5 * PI * p), 2.0)", "power(sin(0.5 * PI * (1.0 - q)), 2.0)"),
    ),
    "cosine": standard(
        "", "log(1 + cos y) - log(2 pi)", "SciPy's scipy.stats.cosine", "2.0 * log(cos(0.5 * y)) - LOG_PI", _ANGLE,
        both=("less_sine(PI + y) / (2.0 * PI)", "less_sine(PI - y) / (2.0 * PI)"), solved=True,
    ),
    "semicircular": standard(
        "", "log(2 / pi) + log(1 - y^2) / 2", "Wigner (1958)", "LOG_2 - LOG_PI + 0.5 * (log1p(y) + log1p(-y))",
        _SYMMETRIC, logs=(
            "log_beta_part_of_ratio(1.5, 1.5, 1.0 + y, 1.0 - y)", "log_beta_part_of_ratio(1.5, 1.5, 1.0 - y, 1.0 + y)",
        ),
        both=("betainc(1.5, 1.5, 0.5 * (1.0 + y))", "betainc(1.5, 1.5, 0.5 * (1.0 - y))"),
        inverse=("2.0 * betaincinv(1.5, 1.5, p) - 1.0", "1.0 - 2.0 * betaincinv(1.5, 1.5, q)"),
    ),
    "rdist": standard(
        "c", "(c / 2 - 1) log(1 - y^2) - log B(1/2, c / 2)", _JKB2.format(25),
        "(0.5 * c - 1.0) * (log1p(y) + log1p(-y)) - betaln(0.5, 0.5 * c)", _SYMMETRIC, positive="c", logs=(
            "log_beta_part_of_ratio(0.5 * c, 0.5 * c, 1.0 + y, 1.0 - y)",
            "log_beta_part_of_ratio(0.5 * c, 0.5 * c, 1.0 - y, 1.0 + y)",
        ),
        both=("betainc(0.5 * c, 0.5 * c, 0.5 * (1.0 + y))", "betainc(0.5 * c, 0.5 * c, 0.5 * (1.0 - y))"),
        inverse=("2.0 * betaincinv(0.5 * c, 0.5 * c, p) - 1.0", "1.0 - 2.0 * betaincinv(0.5 * c, 0.5 * c, q)"),
    ),
    "wrapcauchy": standard(
        "c", "log(1 - c^2) - log(2 pi) - log(1 + c^2 - 2 c cos y)", "Mardia & Jupp (2000), section 3.5",
        "log1p(c) + log1p(-c) - LOG_TWO_PI - log((1.0 - c) * (1.0 - c) + 4.0 * c * s * s)", ("0.0", "2.0 * PI"),
        valid="0.0 < c and c < 1.0", lines="s = sin(0.5 * y); x = (1.0 - c) * cos(0.5 * y)",
        both=("arctan2((1.0 + c) * s, x) / PI", "arctan2((1.0 + c) * s, -x) / PI"),
        inverse=(_WRAPPED.format(p="p", sign=""), _WRAPPED.format(p="q", sign="-")),
    ),
    "vonmises_line": standard(
        "kappa", "kappa cos y - log(2 pi I_0(kappa))", "Mardia & Jupp (2000), section 3.5",
        "von_mises_log_density(y, 0.0, kappa)", _ANGLE, valid="kappa >= 0.0",
        lines="whole = LOG_TWO_PI + log_scaled_bessel(kappa); below = von_mises_log_mass(-PI, y, kappa) - whole; "
        "above = von_mises_log_mass(y, PI, kappa) - whole",
        both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=("standard_von_mises_quantile(0.0, p, kappa)", "standard_von_mises_quantile(1.0, q, kappa)"),
    ),
    "trapezoid": standard(
        "c d", "log 2 - log(1 + d - c) + log(y / c) for y < c, + log((1 - y) / (1 - d)) for y > d", _JKB2.format(26),
        "top + log(select(rising, y / start, select(falling, (1.0 - y) / end, 1.0)))", UNIT,
        valid="0.0 <= c and c <= d and d <= 1.0",
        lines="top = LOG_2 - log1p(d - c); rising = y < c; falling = y > d; start = select(rising, c, 1.0); "
        "end = select(falling, 1.0 - d, 1.0)",
        tails=(
            "top + select(rising, 2.0 * log(y) - log(2.0 * start), log(select(rising or falling, 1.0, y - 0.5 * c)))",
            ("top + select(falling, 2.0 * log1p(-y) - log(2.0 * end), "
             "log(select(rising or falling, 1.0, 0.5 + 0.5 * d - y)))"),
        ),
        inverse=tuple(
            f"w = 1.0 + d - c; rising = {p} * w < c; falling = {q} * w < 1.0 - d; "
            f"select(rising, sqrt(select(rising, c * w * {p}, 1.0)), "
            f"select(falling, 1.0 - sqrt(select(falling, (1.0 - d) * w * {q}, 1.0)), 0.5 * (c + w * {p})))"
            for p, q in (("p", "(1.0 - p)"), ("(1.0 - q)", "q"))
        ),
    ),
    "genhalflogistic": standard(
        "c", "log 2 - u - 2 log(1 + e^-u) - log(1 - c y), u = -log(1 - c y) / c", "Balakrishnan (1985)",
        "LOG_2 - u - 2.0 * log1p(exp(-u)) - log1p(-c * y)", ("0.0", "1.0 / c"), "high", positive="c",
        lines="u = log_ratio_of_extremes(y, -c)", tails=("log(tanh(0.5 * u))", "LOG_2 - log1p_exp(u)"),
        inverse=("growth_of_extremes(2.0 * arctanh(p), -c)", "growth_of_extremes(log1p(2.0 * ((1.0 - q) / q)), -c)"),
    ),
}  # fmt: skip
