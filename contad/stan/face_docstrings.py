"""The docstrings of Stan's densities and distribution functions: common fields, and an example for each."""

from collections.abc import Mapping, Sequence

from contad.distributions.docstrings import describe, example_of, source_of
from contad.distributions.formula import Formula

# by family: the arguments, and the results of lpdf or lpmf, cdf, lcdf and lccdf
EXAMPLES: dict[str, tuple[str, ...]] = {
    "normal": ("0.3, 0.5, 2.0", "-1.617086", "0.460172", "-0.776155", "-0.616505"),
    "std_normal": ("0.3", "-0.963939", "0.617911", "-0.48141", "-0.962103"),
    "cauchy": ("0.3, 0.5, 2.0", "-1.847827", "0.468274", "-0.758701", "-0.631628"),
    "student_t": ("0.3, 4.0, 0.5, 2.0", "-1.680219", "0.462578", "-0.77094", "-0.620971"),
    "logistic": ("0.3, 0.5, 2.0", "-2.081941", "0.475021", "-0.744397", "-0.644397"),
    "double_exponential": ("0.3, 0.5, 2.0", "-1.486294", "0.452419", "-0.793147", "-0.602244"),
    "gumbel": ("0.3, 0.5, 2.0", "-1.698318", "0.331154", "-1.105171", "-0.402202"),
    "exp_mod_normal": ("0.3, 0.5, 2.0, 1.5", "-1.735223", "0.342598", "-1.071197", "-0.41946"),
    "skew_normal": ("0.3, 0.5, 2.0, 1.5", "-1.744051", "0.149716", "-1.899014", "-0.162185"),
    "skew_double_exponential": ("0.3, 0.5, 2.0, 0.4", "-1.547116", "0.354768", "-1.036291", "-0.438146"),
    "exponential": ("0.7, 1.5", "-0.644535", "0.650062", "-0.430687", "-1.05"),
    "gamma": ("0.7, 2.0, 1.5", "-0.595745", "0.282628", "-1.263625", "-0.33216"),
    "inv_gamma": ("0.7, 2.0, 1.5", "-0.261902", "0.368717", "-0.997725", "-0.460002"),
    "chi_square": ("0.7, 3.0", "-1.447276", "0.126796", "-2.065175", "-0.135586"),
    "inv_chi_square": ("0.7, 3.0", "-0.741537", "0.698851", "-0.358317", "-1.200151"),
    "scaled_inv_chi_square": ("0.7, 3.0, 1.5", "-1.984366", "0.021859", "-3.823135", "-0.022102"),
    "lognormal": ("0.7, 0.5, 2.0", "-1.347147", "0.334203", "-1.096008", "-0.40677"),
    "weibull": ("0.7, 2.0, 1.5", "-0.692236", "0.195696", "-1.631194", "-0.217778"),
    "frechet": ("0.7, 2.0, 1.5", "-2.017735", "0.010134", "-4.591837", "-0.010186"),
    "rayleigh": ("0.7, 1.5", "-1.276494", "0.10317", "-2.271378", "-0.108889"),
    "pareto": ("0.7, 0.5, 2.0", "0.376878", "0.489796", "-0.713766", "-0.672944"),
    "pareto_type_2": ("0.7, 0.5, 2.0, 1.5", "-0.525958", "0.133216", "-2.015785", "-0.142965"),
    "loglogistic": ("0.7, 2.0, 1.5", "-1.188973", "0.171543", "", ""),
    "uniform": ("0.7, 0.5, 2.0", "-0.405465", "0.133333", "-2.014903", "-0.143101"),
    "beta": ("0.7, 2.0, 1.5", "0.363094", "0.663151", "-0.410753", "-1.088119"),
    "beta_proportion": ("0.7, 0.4, 5.0", "-0.279714", "", "-0.087411", "-2.480516"),
    "von_mises": ("0.7, 0.5, 2.0", "-0.701737", "0.606964", "-0.499286", "-0.933854"),
    "bernoulli": ("1, 0.3", "-1.203973", "1.0", "0.0", "-inf"),
    "bernoulli_logit": ("1, 0.3", "-0.554355"),
    "binomial": ("2, 5, 0.3", "-1.175385", "0.83692", "-0.178027", "-1.813514"),
    "binomial_logit": ("2, 5, 0.3", "-1.369191"),
    "beta_binomial": ("2, 5, 2.0, 1.5", "-1.67943", "0.403263", "-0.908165", "-0.516279"),
    "poisson": ("2, 1.5", "-1.382217", "0.808847", "-0.212146", "-1.65468"),
    "poisson_log": ("2, 0.3", "-1.443006"),
    "neg_binomial": ("2, 2.0, 1.5", "-1.75562", "0.8208", "-0.197476", "-1.719253"),
    "neg_binomial_2": ("2, 2.0, 1.5", "-1.76157", "0.692826", "-0.366977", "-1.180341"),
    "neg_binomial_2_log": ("2, 0.3, 1.5", "-1.828637"),
    "beta_neg_binomial": ("2, 2.0, 1.5, 3.0", "-2.190256", "0.403263", "-0.908165", "-0.516279"),
    "discrete_range": ("2, 1, 5", "-1.609438", "0.4", "-0.916291", "-0.510826"),
    "yule_simon": ("2, 1.5", "-1.763589", "0.771429", "-0.259511", "-1.475907"),
    "hypergeometric": ("2, 5, 6, 4", "-1.435085"),
}


def describe_face(
    name: str, title: str, written: str, density: Formula, names: Sequence[str], domains: Mapping[str, str]
) -> str:
    """The docstring of a function of the distribution with that density, from its title and formula."""
    family = name.rpartition("_")[0].replace("_", " ")
    fields = {
        "Arguments": ", ".join(f"{x} ({domains[x]})" if x in domains else x for x in names) + ".",
        "Raises": "ValueError if an argument is outside its domain.",
        "Ref": f"{source_of(density)}; Stan Functions Reference, {family} distribution.",
    }
    return describe(title, written, fields, _example_for(name))


def _example_for(name: str) -> str:
    """The example of a function; "" if Stan has no function of that name."""
    family, _, kind = name.rpartition("_")
    arguments, *results = EXAMPLES[family]
    result = results[("cdf", "lcdf", "lccdf").index(kind) + 1 if kind.endswith("cdf") else 0]
    return example_of(f"{name}({arguments})", result) if result else ""
