"""The docstrings of `contad.scipy.stats`: formula, domain, source and example of every function of a distribution."""

from contad.distributions.docstrings import describe, example_of, formula_of, source_of
from contad.distributions.formula import Formula
from contad.scipy.standard_form_examples import SHOWN_FORMS

_TITLES = {
    "logpdf": "The logarithm of the density", "pdf": "The density", "logpmf": "The logarithm of the probability of k",
    "pmf": "The probability of k", "cdf": "The probability of at most {x}", "sf": "The probability of more than {x}",
    "logcdf": "The logarithm of the probability of at most {x}",
    "logsf": "The logarithm of the probability of more than {x}",
    "ppf": "The x that is not exceeded with probability q", "isf": "The x that is exceeded with probability q",
}  # fmt: skip
_FORMULAS = {
    "pdf": "f = e^({name}.logpdf)", "pmf": "p = e^({name}.logpmf)", "cdf": "F({x}) = {total}",
    "sf": "1 - F({x}), F({x}) = {total}", "logcdf": "log F({x}), F({x}) = {total}",
    "logsf": "log(1 - F({x})), F({x}) = {total}", "ppf": "x where F(x) = q, F(x) = {total}",
    "isf": "x where 1 - F(x) = q, F(x) = {total}",
}  # fmt: skip
_OUTSIDE = {"logpdf": "-inf", "logpmf": "-inf", "pdf": "0", "pmf": "0"}
ORDER = ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")
QUANTILE = 0.3

# by name: the support, the parameters, the arguments of an example, and its results: the logarithm of the density or
# mass, the density or mass, and the functions in ORDER, the last two at QUANTILE instead of x
SHOWN: dict[str, tuple[str, ...]] = {
    "norm": (
        "every x", "scale > 0", "0.3, 0.5, 2.0",
        "-1.617086", "0.198476", "0.460172", "0.539828", "-0.776155", "-0.616505", "-0.548801", "1.548801",
    ),
    "cauchy": (
        "every x", "scale > 0", "0.3, 0.5, 2.0",
        "-1.847827", "0.157579", "0.468274", "0.531726", "-0.758701", "-0.631628", "-0.953085", "1.953085",
    ),
    "t": (
        "every x", "df > 0, scale > 0", "0.3, 4.0, 0.5, 2.0",
        "-1.680219", "0.186333", "0.462578", "0.537422", "-0.77094", "-0.620971", "-0.637298", "1.637298",
    ),
    "nct": (
        "every x", "df >= 0.01, |nc| <= 1000 (of the density every nc), scale > 0", "0.3, 4.0, 0.7, 0.5, 2.0",
        "-1.999307", "0.135429", "0.213733", "0.786267", "-1.543028", "-0.240459",
    ),
    "logistic": (
        "every x", "scale > 0", "0.3, 0.5, 2.0",
        "-2.081941", "0.124688", "0.475021", "0.524979", "-0.744397", "-0.644397", "-1.194596", "2.194596",
    ),
    "laplace": (
        "every x", "scale > 0", "0.3, 0.5, 2.0",
        "-1.486294", "0.226209", "0.452419", "0.547581", "-0.793147", "-0.602244", "-0.521651", "1.521651",
    ),
    "gumbel_r": (
        "every x", "scale > 0", "0.3, 0.5, 2.0",
        "-1.698318", "0.182991", "0.331154", "0.668846", "-1.105171", "-0.402202", "0.128746", "2.561861",
    ),
    "gumbel_l": (
        "every x", "scale > 0", "0.3, 0.5, 2.0",
        "-1.697985", "0.183052", "0.595392", "0.404608", "-0.518535", "-0.904837", "-1.561861", "0.871254",
    ),
    "exponnorm": (
        "every x", "K > 0, scale > 0", "0.3, 1.5, 0.5, 2.0",
        "-2.316425", "0.098626", "0.164295", "0.835705", "-1.806089", "-0.17948", "1.474716", "4.725999",
    ),
    "skewnorm": (
        "every x", "scale > 0", "0.3, 1.5, 0.5, 2.0",
        "-1.744051", "0.174811", "0.149716", "0.850284", "-1.899014", "-0.162185", "0.998421", "2.545248",
    ),
    "expon": (
        "x >= loc", "scale > 0", "0.7, 0.0, 1.5",
        "-0.872132", "0.418059", "0.372911", "0.627089", "-0.986416", "-0.466667", "0.535012", "1.805959",
    ),
    "gamma": (
        "x >= loc", "a > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-1.634272", "0.195094", "0.080269", "0.919731", "-2.522368", "-0.083674", "1.646024", "3.658825",
    ),
    "invgamma": (
        "x > loc", "a > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-0.261902", "0.769586", "0.368717", "0.631283", "-0.997725", "-0.460002", "0.614952", "1.36693",
    ),
    "chi2": (
        "x >= loc", "df > 0, scale > 0", "0.7, 3.0",
        "-1.447276", "0.23521", "0.126796", "0.873204", "-2.065175", "-0.135586", "1.423652", "3.664871",
    ),
    "chi": (
        "x >= loc", "df > 0, scale > 0", "0.7, 3.0",
        "-1.184141", "0.306009", "0.078917", "0.921083", "-2.539356", "-0.082205", "1.193169", "1.914385",
    ),
    "lognorm": (
        "x > loc", "s > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-1.328018", "0.265002", "0.351576", "0.648424", "-1.04533", "-0.43321", "0.525536", "4.28134",
    ),
    "weibull_min": (
        "x >= loc", "c > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-0.692236", "0.500456", "0.195696", "0.804304", "-1.631194", "-0.217778", "0.895834", "1.645885",
    ),
    "weibull_max": (
        "x <= loc", "c > 0, scale > 0", "-0.7, 2.0, 0.0, 1.5",
        "-0.692236", "0.500456", "0.804304", "0.195696", "-0.217778", "-1.631194", "-1.645885", "-0.895834",
    ),
    "invweibull": (
        "x > loc", "c > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-2.017735", "0.132956", "0.010134", "0.989866", "-4.591837", "-0.010186", "1.367045", "2.511626",
    ),
    "rayleigh": (
        "x >= loc", "scale > 0", "0.7, 0.0, 1.5",
        "-1.276494", "0.279014", "0.10317", "0.89683", "-2.271378", "-0.108889", "1.266901", "2.327633",
    ),
    "maxwell": (
        "x >= loc", "scale > 0", "0.7, 0.0, 1.5",
        "-2.264425", "0.10389", "0.02533", "0.97467", "-3.675749", "-0.025657", "1.789753", "2.871578",
    ),
    "halfnorm": (
        "x >= loc", "scale > 0", "0.7, 0.0, 1.5",
        "-0.740145", "0.477045", "0.359262", "0.640738", "-1.023704", "-0.445134", "0.577981", "1.55465",
    ),
    "halfcauchy": (
        "x >= loc", "scale > 0", "0.7, 0.0, 1.5",
        "-1.054076", "0.348514", "0.277965", "0.722035", "-1.280258", "-0.325682", "0.764288", "2.943916",
    ),
    "pareto": (
        "x - loc >= scale", "b > 0, scale > 0", "1.7, 2.0",
        "-0.898738", "0.407083", "0.653979", "0.346021", "-0.42468", "-1.061257", "1.195229", "1.825742",
    ),
    "lomax": (
        "x >= loc", "c > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-0.861295", "0.422615", "0.535124", "0.464876", "-0.625257", "-0.765985", "0.292843", "1.238613",
    ),
    "betaprime": (
        "x >= loc", "a, b > 0, scale > 0", "0.7, 2.0, 1.5",
        "-0.892118", "0.409787", "0.270189", "0.729811", "-1.308633", "-0.31497", "0.774521", "2.646045",
    ),
    "f": (
        "x >= loc", "dfn, dfd > 0, scale > 0", "0.7, 3.0, 5.0",
        "-0.719345", "0.487071", "0.408778", "0.591222", "-0.894583", "-0.525564", "0.497362", "1.604531",
    ),
    "fisk": (
        "x >= loc", "c > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-0.868513", "0.419575", "0.178832", "0.821168", "-1.721308", "-0.197028", "0.981981", "2.291288",
    ),
    "burr": (
        "x >= loc", "c, d > 0, scale > 0", "0.7, 2.0, 1.5",
        "-0.611678", "0.54244", "0.188588", "0.811412", "-1.668189", "-0.20898", "0.901141", "1.930105",
    ),
    "loglaplace": (
        "x >= loc", "c > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-1.167605", "0.311111", "0.108889", "0.891111", "-2.217427", "-0.115286", "1.161895", "1.936492",
    ),
    "invgauss": (
        "x > loc", "mu > 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-0.810955", "0.444433", "0.227383", "0.772617", "-1.48112", "-0.257972", "0.874321", "2.85851",
    ),
    "rice": (
        "x >= loc", "b >= 0, scale > 0", "0.7, 2.0, 0.0, 1.5",
        "-3.069541", "0.046442", "0.01551", "0.98449", "-4.166272", "-0.015632", "2.636857", "4.115825",
    ),
    "levy": (
        "x > loc", "scale > 0", "0.7, 0.0, 1.5",
        "-1.252622", "0.285755", "0.143235", "0.856765", "-1.943269", "-0.154592", "1.396396", "10.102924",
    ),
    "vonmises": (
        "every x", "kappa > 0, scale > 0", "0.7, 2.0, 0.5",
        "-0.701737", "0.495723", "0.60182", "0.39818", "-0.507796", "-0.920852", "0.090741", "0.909259",
    ),
    "uniform": (
        "loc <= x <= loc + scale", "scale > 0", "0.7, 0.5, 2.0",
        "-0.693147", "0.5", "0.1", "0.9", "-2.302585", "-0.105361", "1.1", "1.9",
    ),
    "beta": (
        "loc <= x <= loc + scale", "a, b > 0, scale > 0", "0.7, 2.0, 1.5",
        "0.363094", "1.437772", "0.663151", "0.336849", "-0.410753", "-1.088119", "0.436468", "0.72573",
    ),
    "triang": (
        "loc <= x <= loc + scale", "0 <= c <= 1, scale > 0", "0.7, 0.4",
        "0.0", "1.0", "0.85", "0.15", "-0.162519", "-1.89712", "0.34641", "0.575736",
    ),
    "truncnorm": (
        "a <= (x - loc) / scale <= b", "a < b, scale > 0", "0.7, -0.5, 2.0",
        "-0.761537", "0.466948", "0.672186", "0.327814", "-0.397221", "-1.115308", "0.022941", "0.760882",
    ),
    "genpareto": (
        "x >= loc, and c (x - loc) >= -scale", "scale > 0", "0.7, 0.4, 0.0, 1.5",
        "-1.004484", "0.366234", "0.348104", "0.651896", "-1.055253", "-0.427871", "0.575059", "2.319917",
    ),
    "genextreme": (
        "c (x - loc) <= scale", "scale > 0", "0.7, 0.4, 0.0, 1.5",
        "-1.31197", "0.269289", "0.55069", "0.44931", "-0.596584", "-0.800042", "-0.289038", "1.267208",
    ),
    "bernoulli": ("k - loc = 0 or 1", "0 <= p <= 1", "1, 0.3", "-1.203973", "0.3", "1.0", "0.0", "0.0", "-inf"),
    "binom": (
        "k - loc = 0, ..., n", "n = 0, 1, ..., 0 <= p <= 1", "2, 5, 0.3",
        "-1.175385", "0.3087", "0.83692", "0.16308", "-0.178027", "-1.813514",
    ),
    "betabinom": (
        "k - loc = 0, ..., n", "n = 0, 1, ..., a, b > 0", "2, 5, 2.0, 1.5",
        "-1.67943", "0.18648", "0.403263", "0.596737", "-0.908165", "-0.516279",
    ),
    "nbinom": (
        "k - loc = 0, 1, ...", "n > 0, 0 < p <= 1", "2, 2.5, 0.4",
        "-1.836472", "0.159379", "0.412361", "0.587639", "-0.885856", "-0.531642",
    ),
    "betanbinom": (
        "k - loc = 0, 1, ...", "n, a, b > 0", "2, 2.0, 1.5, 3.0",
        "-2.190256", "0.111888", "0.403263", "0.596737", "-0.908165", "-0.516279",
    ),
    "geom": (
        "k - loc = 1, 2, ...", "0 < p <= 1", "2, 0.3",
        "-1.560648", "0.21", "0.51", "0.49", "-0.673345", "-0.71335",
    ),
    "poisson": (
        "k - loc = 0, 1, ...", "mu >= 0", "2, 1.5",
        "-1.382217", "0.251021", "0.808847", "0.191153", "-0.212146", "-1.65468",
    ),
    "zipf": (
        "k - loc = 1, 2, ...", "a > 1", "2, 2.5",
        "-2.026647", "0.131777", "0.877218", "0.122782", "-0.131", "-2.097344",
    ),
    "yulesimon": (
        "k - loc = 1, 2, ...", "alpha > 0", "2, 1.5",
        "-1.763589", "0.171429", "0.771429", "0.228571", "-0.259511", "-1.475907",
    ),
    "hypergeom": (
        "k - loc = 0, ..., N", "0 <= n, N <= M, whole numbers", "2, 10, 6, 5",
        "-1.435085", "0.238095", "0.261905", "0.738095", "-1.339774", "-0.303682",
    ),
}  # fmt: skip


class Described:
    """A distribution whose log density is a formula of arguments that are expressions in SciPy's."""

    def __init__(self, name: str, density: Formula, at: str, scaled: bool = False) -> None:
        """`scaled` says that the logarithm of the scale is subtracted."""
        self.name, self.density = name, density
        self.support, self.parameters, self.example, *self.results = SHOWN.get(name) or SHOWN_FORMS[name]
        self.is_whole = self.support.startswith("k")
        pairs = zip(density.argument_names, at.split(", "), strict=True)
        where = ", ".join(f"{argument} = {text}" for argument, text in pairs if argument != text)
        self.log_density = f"log {'p' if self.is_whole else 'f'} = {formula_of(density)}"
        self.log_density += " - log scale" * bool(scaled) + f", at {where}" * bool(where)

    def whole(self) -> str:
        """The docstring of the distribution."""
        return self._describe(f"The distribution `scipy.stats.{self.name}`.", "logpmf" if self.is_whole else "logpdf")

    def method(self, method: str) -> str:
        """The docstring of a function."""
        title = _TITLES[method].format(x="k" if self.is_whole else "x")
        return self._describe(f"{title}, by `scipy.stats.{self.name}`.", method)

    def _describe(self, title: str, method: str) -> str:
        x = "k" if self.is_whole else "x"
        total = f"sum_(j <= k) {self.name}.pmf(j)" if self.is_whole else f"int^x {self.name}.pdf"
        formula = _FORMULAS.get(method, self.log_density).format(name=self.name, x=x, total=total)
        inside = self.support if method in _OUTSIDE else "0 <= q <= 1" if method in ORDER[-2:] else f"every {x}"
        domain = ", ".join(part for part in (inside, self.parameters) if part)
        elsewhere = f"{_OUTSIDE[method]} elsewhere, nan" if method in _OUTSIDE else "nan"
        fields = {"Domain": f"{domain}; {elsewhere} for other parameters.", "Ref": f"{source_of(self.density)}."}
        return describe(title, formula, fields, self._example(method))

    def _example(self, method: str) -> str:
        if not self.results:
            return ""
        place = ORDER.index(method) + 2 if method in ORDER else int(not method.startswith("log"))
        arguments = self.example
        if method in ORDER[-2:]:
            arguments = ", ".join([str(QUANTILE), *arguments.split(", ")[1:]])
        return example_of(f"{self.name}.{method}({arguments})", self.results[place])
