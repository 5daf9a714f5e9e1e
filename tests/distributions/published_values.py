"""Values that Stan Math's own tests publish for its distributions: facts, with the digits that they give.

By the file of stan-dev/math: rows of a function's name, its arguments, and the value; one that is rounded is a text,
whose digits count.
"""

import re
from math import exp, log, pi  # noqa: F401  (named in the table)

import numpy as np  # noqa: F401

_SIGMA3 = [[9.0, -3.0, 0.0], [-3.0, 4.0, 0.0], [0.0, 0.0, 5.0]]
_WIDE = [[10.0, -3.0, 0.0], [-3.0, 5.0, 0.0], [0.0, 0.0, 5.0]]
_Y4 = [
    [7.988168, -9.555605, -14.47483, 4.395895], [-9.555605, 44.750570, 49.21577, -18.454186],
    [-14.474830, 49.21577, 60.08987, -21.48108], [4.395895, -18.454186, -21.48108, 7.885833],
]  # fmt: skip
_S4 = [
    [2.9983662, 0.2898776, -2.650523, 0.1055911], [0.2898776, 11.4803610, 7.1579931, -3.1129955],
    [-2.650523, 7.1579931, 11.676181, -3.5866852], [0.1055911, -3.1129955, -3.5866852, 1.4482736],
]  # fmt: skip
_FILTERED = (
    [[
        -0.286804393606091, 1.30654039013044, 0.184631538931975, 1.76116251447979, 1.64691178557684, 0.0599998209370169,
        -0.498099220647035, 1.77794756092381, -0.435458550812876, 1.17332931763075,
    ]],
    [[0.585528817843856]], [[-0.109303314681054]], [[2.25500747900521]], [[0.461487989960454]], [11.5829455171551],
    [[65.2373490156606]],
)  # fmt: skip
_FILTERED_TWO = (
    [
        [
            4.6192929816929, 2.26894555443421, 3.61335021783362, -4.51389305654121, 3.08033023711521, -4.82109003178482,
            -2.54481105697422, 1.18754549447415, -1.42836336886182, 3.63685652388162,
        ],
        [
            0.595814660705009, 3.54442019268414, 3.1049183858329, -0.333667025669854, -4.51083833189994,
            -2.16199020343709, 2.0276722565752, 7.50025078627574, -4.62619641974711, -5.06870294715032,
        ],
        [
            -0.305820649788242, -0.395878816467899, -1.10528492007673, -2.51313807448059, -1.44699002950331,
            -2.43925609241825, 0.902652349582918, -5.82732638176514, 0.861614157026216, 2.56883513585703,
        ],
    ],
    [
        [0.585528817843856, 0.709466017509524, -0.109303314681054],
        [-0.453497173462763, 0.605887455840394, -1.81795596770373],
    ],
    [[0.520216457554957, 0.816899839520583], [-0.750531994502331, -0.886357521243213]],
    [7.19105866377728, 3.27048576782842, 5.86564522448303],
    [[2.24277594357501, -1.65863136283477], [-1.65863136283477, 6.69010664813895]],
    [-0.892071328367409, 3.74785137677115],
    [[82.1224673418328, 0.0], [0.0, 56.0195157304406]],
)  # fmt: skip


def read_published(table):
    """Rows by file: a line without a bracket is a file, an indented line goes on with the row above it."""
    found = {}
    for line in re.sub(r"\n  ", " ", table.strip()).splitlines():
        if "(" not in line:
            rows = found[line] = []
            continue
        for row in line.split("; "):
            name, args, value = re.fullmatch(r"(\w+)\((.*)\) = (.*)", row).groups()
            rows.append((name, eval(f"(lambda *args: args)({args})", globals()), eval(value, globals())))
    return found


PUBLISHED = read_published("""
test/prob/normal/normal_test.hpp
normal_lpdf(0.0, 0.0, 1.0) = -0.918938533204672669541; normal_lpdf(1.0, 0.0, 1.0) = -1.418938533204672669541
normal_lpdf(-2.0, 0.0, 1.0) = -2.918938533204672669541; normal_lpdf(-3.5, 1.9, 7.2) = -3.174269559226682080322
test/prob/std_normal/std_normal_test.hpp
std_normal_lpdf(0.0) = -0.918938533204672669541; std_normal_lpdf(1.0) = -1.418938533204672669541
std_normal_lpdf(-2.0) = -2.918938533204672669541
test/prob/cauchy/cauchy_test.hpp
cauchy_lpdf(1.0, 0.0, 1.0) = -1.837877066409345339082; cauchy_lpdf(-1.5, 0.0, 1.0) = -2.323384882191046330036
cauchy_lpdf(-1.5, -1.0, 1.0) = -1.367873437163609873224; cauchy_cdf(1.0, 0.0, 1.0) = 0.75
cauchy_cdf(-1.5, 0.0, 1.0) = "0.187167"; cauchy_cdf(-2.5, -1.0, 1.0) = "0.187167"
test/prob/student_t/student_t_test.hpp
student_t_lpdf(1.0, 1.0, 0.0, 1.0) = -1.837877066409345339082
student_t_lpdf(-3.0, 2.0, 0.0, 1.0) = -3.596842909197555560041
test/prob/logistic/logistic_test.hpp
logistic_lpdf(1.2, 0.3, 2.0) = -2.129645072554855023128; logistic_lpdf(-1.0, 0.2, 0.25) = -3.430097773556644469295
logistic_cdf(-3.45, 5.235, 2.89) = "0.04719194"
test/prob/double_exponential/double_exponential_test.hpp
double_exponential_lpdf(1.0, 1.0, 1.0) = -0.6931471805599453094172
double_exponential_lpdf(2.0, 1.0, 1.0) = -1.693147180559945309417
double_exponential_lpdf(-3.0, 2.0, 1.0) = -5.693147180559945309417
double_exponential_lpdf(1.0, 0.0, 2.0) = -1.886294361119890618834; double_exponential_lpdf(1.9, 2.3, 0.5) = -0.8
double_exponential_lpdf(1.9, 2.3, 0.25) = -0.90685281944005469058276788; double_exponential_cdf(1.0, 1.0, 1.0) = 0.5
double_exponential_cdf(2.0, 1.0, 1.0) = "0.8160603"; double_exponential_cdf(-3.0, 2.0, 1.0) = "0.003368973"
double_exponential_cdf(1.0, 0.0, 2.0) = "0.6967347"; double_exponential_cdf(1.9, 2.3, 0.5) = "0.2246645"
double_exponential_cdf(1.9, 2.3, 0.25) = "0.10094826"
test/prob/gumbel/gumbel_test.hpp
gumbel_lpdf(0.0, 0.0, 1.0) = -1.0; gumbel_lpdf(1.0, 0.0, 1.0) = -1.36787944117144232159
gumbel_lpdf(-2.0, 0.0, 1.0) = -5.38905609893065022723; gumbel_lpdf(-3.5, 1.9, 7.2) = -3.34108104263468429556
test/prob/exp_mod_normal/exp_mod_normal_test.hpp
exp_mod_normal_lpdf(0.0, 0.0, 1.0, 1.0) = -1.34102164500926350577
exp_mod_normal_lpdf(1.0, 0.0, 1.0, 1.0) = -1.193147180559945397249
exp_mod_normal_lpdf(-2.0, 0.0, 1.0, 2.0) = -3.66695430596734551844
test/prob/skew_normal/skew_normal_test.hpp
skew_normal_lpdf(0.0, 0.0, 1.0, 1.0) = -0.9189385332046727805633
skew_normal_lpdf(1.0, 0.0, 1.0, 1.0) = -0.8985451316681772881978
skew_normal_lpdf(-2.0, 0.0, 1.0, 2.0) = -12.58589283917201839813
skew_normal_lpdf(-3.5, 1.9, 7.2, 2.9) = -6.693233548678988675817
test/prob/skew_double_exponential/skew_double_exponential_test.hpp
skew_double_exponential_lpdf(0.0, 0.1, 1.0, 0.5) = -0.7931471805599452640223
skew_double_exponential_lpdf(1.0, 0.0, 1.0, 0.5) = -1.693147180559945397249
skew_double_exponential_lpdf(-2.0, 0.0, 1.0, 0.5) = -2.693147180559945397249
skew_double_exponential_lpdf(-3.5, 1.9, 7.2, 0.9) = -3.838879454113936606774
skew_double_exponential_lpdf(-3.5, 1.9, 7.2, 0.1) = -5.038879454113935452142
skew_double_exponential_lpdf(3.5, 1.9, 7.2, 0.9) = -4.088879454113937050863
skew_double_exponential_lpdf(3.5, 1.9, 7.2, 0.1) = -3.733323898558380093959
test/prob/exponential/exponential_test.hpp
exponential_lpdf(2.0, 1.5) = -2.594534891891835393096; exponential_lpdf(15.0, 3.9) = -57.13902344686439249699
exponential_lpdf(1e-08, 3.9) = 1.3609765141356007; exponential_cdf(2.0, 1.5) = "0.95021293"
exponential_cdf(15.0, 3.9) = 1.0; exponential_cdf(0.25, 3.9) = "0.62280765"; exponential_cdf(0.0, 1.5) = 0.0
test/prob/gamma/gamma_test.hpp
gamma_lpdf(1.0, 2.0, 2.0) = -0.6137056388801093165242; gamma_lpdf(2.0, 0.25, 0.75) = -3.379803428230981676705
gamma_lpdf(1.0, 1.0, 1.0) = -1.0
test/prob/inv_gamma/inv_gamma_test.hpp
inv_gamma_lpdf(1.0, 1.0, 1.0) = -1.0; inv_gamma_lpdf(0.5, 2.9, 3.1) = -0.8185294827413338580868
inv_gamma_cdf(4.39, 1.349, 3.938) = "0.557873"
test/prob/chi_square/chi_square_test.hpp
chi_square_lpdf(7.9, 3.0) = -3.835507153468185048695; chi_square_lpdf(1.9, 0.5) = -2.892699734467359284906
test/prob/inv_chi_square/inv_chi_square_test.hpp
inv_chi_square_lpdf(0.5, 2.0) = -0.306852819440054690582767879
inv_chi_square_lpdf(3.2, 9.1) = -12.289046414913599957162924721
test/prob/scaled_inv_chi_square/scaled_inv_chi_square_test.hpp
scaled_inv_chi_square_lpdf(12.7, 6.1, 3.0) = -3.091965468919148054052190729092
scaled_inv_chi_square_lpdf(1.0, 1.0, 0.5) = -1.737085713764618051197561857864
test/prob/lognormal/lognormal_test.hpp
lognormal_lpdf(1.2, 0.3, 1.5) = -1.509802579439102343528; lognormal_lpdf(12.0, 3.0, 0.9) = -3.462263160811773765602
lognormal_cdf(1.2, 0.3, 1.5) = "0.4687341"; lognormal_cdf(12.0, 3.0, 0.9) = "0.2835506"
lognormal_cdf(0.0, 0.0, 1.0) = 0.0
test/prob/weibull/weibull_test.hpp
weibull_lpdf(2.0, 1.0, 1.0) = -2.0; weibull_lpdf(0.25, 2.9, 1.8) = -3.277093769205283724233
weibull_lpdf(3.9, 1.7, 0.25) = -102.8962074392704266756; weibull_cdf(2.0, 1.0, 1.0) = "0.86466472"
weibull_cdf(0.25, 2.9, 1.8) = "0.0032585711"; weibull_cdf(3.9, 1.7, 0.25) = 1.0; weibull_cdf(0.0, 1.0, 1.0) = 0.0
test/prob/frechet/frechet_test.hpp
frechet_lpdf(2.0, 1.0, 1.0) = "-1.88629436"; frechet_lpdf(0.8, 2.9, 1.8) = "-6.86383351"
frechet_lpdf(0.25, 3.9, 1.7) = -1754.93950342517; frechet_cdf(2.0, 1.0, 1.0) = "0.6065306597"
frechet_cdf(0.8, 2.9, 1.8) = 2.744338423e-5; frechet_cdf(0.25, 3.9, 1.7) = 0.0
test/prob/rayleigh/rayleigh_test.hpp
rayleigh_lpdf(4.0, 1.0) = -6.613705638880109381165; rayleigh_lpdf(1.0, 1.0) = -0.5
rayleigh_lpdf(2.0, 1.0) = -1.306852819440054690582; rayleigh_lpdf(3.5, 7.2) = -2.8135510897214907645
test/prob/pareto/pareto_test.hpp
pareto_lpdf(1.5, 0.5, 2.0) = -1.909542504884438329782; pareto_lpdf(19.5, 0.15, 5.0) = -25.69864880541351226384
pareto_cdf(3.45, 2.89, 5.235) = "0.60434447"
test/prob/pareto_type_2/pareto_type_2_test.hpp
pareto_type_2_lpdf(1.5, 0.1, 0.5, 3.0) = -3.548244797701304964476776149240
pareto_type_2_lpdf(19.5, 0.0, 0.15, 5.0) = -25.74462604188692758825580639457
test/prob/loglogistic/loglogistic_test.hpp
loglogistic_lpdf(1.0, 2.0, 3.0) = -1.21639532432449293253; loglogistic_lpdf(1.4, 1.6, 2.4) = -0.87286484103664152556
test/prob/uniform/uniform_test.hpp
uniform_lpdf(0.1, -0.1, 0.8) = log(1 / 0.9); uniform_lpdf(0.2, -0.25, 0.25) = log(2.0)
uniform_lpdf(0.05, -5.0, 5.0) = log(0.1)
test/prob/beta/beta_test.hpp
beta_lpdf(0.4, 0.5, 0.5) = -0.4311717080293276382896; beta_lpdf(0.5, 2.0, 5.0) = -0.06453852113757105324332
test/prob/beta_proportion/beta_proportion_test.hpp
beta_proportion_lpdf(0.4, 0.5, 0.5) = -0.9333428397413457; beta_proportion_lpdf(0.5, 0.2, 0.4) = -1.6070080920051264
beta_proportion_lpdf(0.85, 0.15, 4.5) = -4.7214376176246775
test/prob/von_mises/von_mises_test.hpp
von_mises_lpdf(pi / 3, pi / 6, 0.5) = -1.46641408370260739602
von_mises_lpdf(-pi / 6, -0.75 * pi, 1.0) = -2.332610470019044868195
von_mises_lpdf(pi / 4, -0.75 * pi, 1.5) = -3.836664434124961609029
von_mises_lpdf(-pi / 6, pi / 6, 4.0) = -2.262849861924804084623
von_mises_lpdf(pi / 3, pi / 6, 1e-2) = -1.8292418122152527
test/prob/bernoulli/bernoulli_test.hpp
bernoulli_lpmf(1, 0.25) = log(0.25); bernoulli_lpmf(0, 0.25) = log(0.75); bernoulli_lpmf(1, 0.01) = log(0.01)
bernoulli_lpmf(0, 0.01) = log(0.99); bernoulli_cdf(1, 0.57) = 1.0; bernoulli_cdf(0, 0.57) = 1 - 0.57
test/prob/bernoulli/bernoulli_logit_test.hpp
bernoulli_logit_lpmf(1, log(0.25 / 0.75)) = log(0.25); bernoulli_logit_lpmf(0, log(0.25 / 0.75)) = log(0.75)
bernoulli_logit_lpmf(1, log(0.01 / 0.99)) = log(0.01); bernoulli_logit_lpmf(0, log(0.01 / 0.99)) = log(0.99)
bernoulli_logit_lpmf(0, -25.0) = -exp(-25.0)
test/prob/binomial/binomial_test.hpp
binomial_lpmf(10, 20, 0.4) = -2.144372241799002765106; binomial_lpmf(5, 15, 0.8) = -9.202729812928724939525
binomial_cdf(24, 54, 0.57) = "0.042817421"; binomial_cdf(0, 1, 0.57) = 1 - 0.57; binomial_cdf(1, 1, 0.57) = 1.0
test/prob/binomial/binomial_logit_test.hpp
binomial_logit_lpmf(10, 20, log(0.4 / 0.6)) = -2.144372241799002765106
binomial_logit_lpmf(5, 15, log(0.8 / 0.2)) = -9.202729812928724939525
test/prob/beta_binomial/beta_binomial_test.hpp
beta_binomial_lpmf(5, 20, 10.0, 25.0) = -1.85400682167860331387425071679
beta_binomial_lpmf(25, 100, 30.0, 50.0) = -4.376695614336585231351487436303084
beta_binomial_cdf(49, 100, 1.349, 3.938) = "0.8868204314"
test/prob/poisson/poisson_test.hpp
poisson_lpmf(17, 13.0) = -2.900934373290765311282; poisson_lpmf(192, 42.0) = -145.3546649655311853166
poisson_lpmf(0, 3.0) = -3.0
test/prob/poisson/poisson_log_test.hpp
poisson_log_lpmf(17, log(13.0)) = -2.900934373290765311282
poisson_log_lpmf(192, log(42.0)) = -145.3546649655311853166; poisson_log_lpmf(0, log(3.0)) = -3.0
test/prob/neg_binomial/neg_binomial_test.hpp
neg_binomial_lpmf(10, 2.0, 1.5) = -7.786663293475162284096
neg_binomial_lpmf(100, 3.0, 3.5) = -142.6147368129045105434; neg_binomial_lpmf(13, 1e11, 1e10) = "-2.6185576442"
test/prob/neg_binomial_2/neg_binomial_2_test.hpp
neg_binomial_2_lpmf(10, 2.0, 1.5) = -5.55873452880806; neg_binomial_2_lpmf(100, 3.0, 3.5) = -69.1303554183435
neg_binomial_2_lpmf(100, 4.0, 200.0) = -209.614066642678
test/prob/neg_binomial_2/neg_binomial_2_log_test.hpp
neg_binomial_2_log_lpmf(10, 2.0, 1.5) = -3.20887218205076511331
neg_binomial_2_log_lpmf(100, -3.0, 3.5) = -416.382927743850187661
neg_binomial_2_log_lpmf(100, -10.0, 200.0) = -1342.30278266569972162
test/prob/beta_neg_binomial/beta_neg_binomial_test.hpp
beta_neg_binomial_lpmf(5, 20.0, 10.0, 25.0) = -10.3681267949788
beta_neg_binomial_lpmf(10, 5.5, 2.5, 0.5) = -5.166741878823932
test/prob/beta_neg_binomial/beta_neg_binomial_cdf_log_test.hpp
beta_neg_binomial_lcdf(10, 5.5, 2.5, 0.5) = log(0.967906252841089)
test/prob/discrete_range/discrete_range_test.hpp
discrete_range_lpmf(3, 1, 10) = -2.302585092994045901094; discrete_range_lpmf(5, 5, 5) = 0.0
test/prob/yule_simon/yule_simon_test.hpp
yule_simon_lpmf(5, 20.0) = -9.494202658325099; yule_simon_lpmf(10, 5.5) = -9.108616882863778
test/prob/hypergeometric/hypergeometric_test.hpp
hypergeometric_lpmf(5, 15, 10, 10) = -4.119424246619123763935
hypergeometric_lpmf(5, 5, 10, 10) = -4.119424246619123763935
test/prob/wiener/wiener_test.hpp
wiener_lpdf(1.1, 2.1, 0.3, 0.55, 0.4) = -0.892976431870503; wiener_lpdf(2.1, 4.1, 0.6, 0.05, 0.1) = -5.28933922584833
wiener_lpdf(1.2, 10.1, 0.35, 0.95, 0.5) = -1.36212169454714
wiener_lpdf(50.1, 4.3, 1.05, 0.65, 0.15) = -15.3049368722015
wiener_lpdf(1.51, 1.1, 0.9, 0.2, 10.5) = -26.4531852275477
test/unit/math/prim/prob/multi_normal_test.cpp
multi_normal_lpdf([2.0, -2.0, 11.0], [1.0, -1.0, 3.0], _SIGMA3) = "-11.73908"
multi_normal_lpdf([[2.0, -2.0, 11.0], [4.0, -2.0, 1.0]], [[1.0, -1.0, 3.0], [2.0, -1.0, 4.0]], _WIDE) = "-18.465909"
multi_normal_lpdf([[2.0, -2.0, 11.0], [4.0, -2.0, 1.0]], [2.0, -1.0, 4.0], _WIDE) = "-16.97810"
multi_normal_lpdf([4.0, -2.0, 1.0], [[1.0, -1.0, 3.0], [2.0, -1.0, 4.0]], _WIDE) = "-12.807373"
test/unit/math/prim/prob/multi_student_t_test.cpp
multi_student_t_lpdf([2.0, -2.0, 11.0], 4.0, [1.0, -1.0, 3.0], _SIGMA3) = "-10.1245958182"
multi_student_t_lpdf([[3.0, -2.0, 10.0], [3.0, -1.0, 5.0]], 4.0, [[2.0, -1.0, 4.0], [1.0, -3.0, 4.0]], _WIDE) =
  "-15.7470593264"
multi_student_t_lpdf([[3.0, -2.0, 10.0], [3.0, -1.0, 5.0]], 4.0, [1.0, -3.0, 4.0], _WIDE) = "-15.9854431643"
multi_student_t_lpdf([3.0, -1.0, 5.0], 4.0, [[2.0, -1.0, 4.0], [1.0, -3.0, 4.0]], _WIDE) = "-12.3464015173"
test/unit/math/prim/prob/wishart_cholesky_test.cpp
wishart_lpdf([[2.011108, -11.206611], [-11.206611, 112.94139]], 3, [[1.848220, 1.899623], [1.899623, 12.751941]]) =
  "-13.9596117200"
wishart_lpdf(_Y4, 4.0, _S4) = "-20.9420668184"; wishart_lpdf(_Y4, 5.0, _S4) = "-22.6084823429"
test/unit/math/prim/prob/inv_wishart_test.cpp
inv_wishart_lpdf([[12.147233, -11.903608, 1.0910458], [-11.903608, 16.7585782, 0.8530256], [1.0910458, 0.8530256,
  2.5786609]], 4.0, [[7.785215, 3.059788, 1.107166], [3.059788, 10.3515035, -0.1232598], [1.107166, -0.1232598,
  7.7623386]],) = "-17.7233389"
test/unit/math/prim/prob/multi_normal_prec_test.cpp
multi_normal_prec_lpdf([2.0, -2.0, 11.0], [1.0, -1.0, 3.0], np.linalg.inv(_SIGMA3)) = "-11.73908"
test/unit/math/prim/prob/dirichlet_multinomial_test.cpp
dirichlet_multinomial_lpmf([1, 2, 3], [2.0, 3.0, 5.0]) = "-2.477938"
dirichlet_multinomial_lpmf([2, 12, 31], [0.2, 6.1, 3.0]) = "-8.1557148"
dirichlet_multinomial_lpmf([106, 1203, 31020], [50.0, 40.0, 20.0]) = "-304.5664433"
test/unit/math/prim/prob/gaussian_dlm_obs_test.cpp
gaussian_dlm_obs_lpdf(*_FILTERED) = "-16.2484978375184"; gaussian_dlm_obs_lpdf(*_FILTERED_TWO) = "-89.1533619880878"
test/unit/math/prim/prob/dirichlet_test.cpp
dirichlet_lpdf([0.2, 0.3, 0.5], [1.0, 1.0, 1.0]) = "0.6931472"
dirichlet_lpdf([0.01, 0.01, 0.8, 0.18], [10.5, 11.5, 19.3, 5.1]) = "-43.40045"
test/unit/math/prim/prob/multinomial_test.cpp
multinomial_lpmf([1, 2, 3], [0.2, 0.3, 0.5]) = "-2.002481"; multinomial_lpmf([0, 0, 0], [0.2, 0.3, 0.5]) = 0.0
""")

_AT = list(zip(
    (0.2, 0.3, 2.2, 0.1, 2.0, 1.7, 3.0, 2.5, 3.7, 1.8, 0.9, 1.5, 2.0),
    (3.0, 1.7, 2.4, 2.0, 1.2, 1.5, 4.0, 1.5, 1.7, 6.0, 1.0, 2.5, 2.0),
    (0.0, 0.0, 0.0, 0.0, 0.2, 0.3, 0.1, 0.7, 1.0, 0.6, 0.1, 0.2, 0.2),
    (0.7, 0.92, 0.9, 0.4, 0.5, 0.3, 0.45, 0.6, 0.8, 0.35, 0.4, 0.5, 0.6),
    (-1.0, -7.3, -4.9, 2.5, 1.0, 0.5, -0.7, 0.9, -1.4, 2.0, 0.8, -1.0, -0.9),
    (0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.7, 0.8, 0.0, 0.4, 0.5, 0.2),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.2, 0.0, 0.3, 0.2, 0.0, 0.2),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.1, 0.2, 0.3, 0.25), strict=True,
))  # fmt: skip
# rows of the arguments, the value, and the gradient, in which 0 stands for what is not published
PASSAGES = {
    # test/unit/math/prim/prob/wiener_full_lcdf_unnorm_test.cpp
    "wiener_lcdf_unnorm": [
        (_AT[0], -4.09435375436108,
         (11.6955868009794, -1.90909592842206, -11.6955868009794, 19.0909592842206, 1.04905306487445)),
        (_AT[1], -1.98560937871925, (0.000291754616022926, -1.1680106846017, 0, 24.8202270495257, 0.27197850836347)),
        (_AT[4], -0.28490338793642,
         (0.00423167900126897, 0.189129525101159, 0, 1.03356005252668, 0.27971915432389, -0.075059359595863)),
        (_AT[5], -0.835235451149805,
         (0.170505395422671, -0.0640548615428843, 0, 2.72745006368943, 0.762665629738307, 0, -0.0276727265109265)),
        (_AT[6], -3.60573984770431,
         (0.301191971384078, -1.01571721473935, 0, 7.46860413650941, 3.35189640059343, 0, 0, -0.151860277428223)),
        (_AT[12], -1.55387294861195,
         (0.117239643328064, -0.724594716693696, -0.117239643328064, 4.16252427817267, 1.22498956343152,
          0.220567350697758, 0.25713151312856, -0.0625008391233113)),
    ],
    # test/unit/math/prim/prob/wiener_full_lccdf_unnorm_test.cpp
    "wiener_lccdf_unnorm": [
        (_AT[0], -1.92033254902358,
         (-1.33001519743633, -0.432928212420575, 1.33001519743633, 4.61303457108487, 1.83079071623625)),
        (_AT[3], -0.0207304574971297, (-0.169566706752058, 0.05132866977503, 0, 0.139815038667115, 0.0274975992798594)),
        (_AT[12], -4.14929265642466,
         (-1.57127046017878, 1.53902298927608, 1.57127046017878, 0.518345884055846, 2.62134233757004,
          0.997525744657476, -0.17718676934793, 0.837649445725816)),
    ],
    # test/unit/math/prim/prob/wiener_full_test.cpp
    "wiener_lpdf": [
        ((1.0, 1.0, 0.2, 0.5, 1.0, 0.1, 0.1, 0.1), -2.426204,
         (-5.437337, 5.857318, 5.437337, -0.9891369, -0.2428443, -0.06793703, -0.07406705, 2.963915)),
        ((1.0, 1.0, 0.2, 0.5, 1.0, 0.1), -2.70665, (-5.436791, 6.394195, 5.436791, -0.9969335, -0.297619, -0.07050737)),
        ((1.0, 1.0, 0.2, 0.5, 1.0), -2.703112, (-5.434802, 6.395684, 5.434802, -0.9999097, -0.3)),
        ((1.0, 1.0, 0.0, 0.5, 1.0), -3.790072, (-5.434802, 8.369604, 0, -0.9999953, -0.5)),
    ],
}  # fmt: skip
