"""Stan programs and the trees that stanc makes of them, which `python -m tests.stan.translation.programs` writes."""

import json
import re
import tempfile
from pathlib import Path

from contad.stan.translation.stanc import read_blocks, run_stanc

TREES = Path(__file__).with_name("trees.json")

GROWTH = """\
functions {
  // the rate at which y grows
  vector growth(real t, vector y, real rate, array[] real capacity) {
    return rate * y .* (1 - y / capacity[1]);
  }
  real half(real x) {
    real z;
    if (x > 0) z = x / 2; else z = 0;
    return z;
  }
}
data {
  int<lower=1> N; // measurements
  int K;
  real t0;
  array[N] real t;
  matrix[N, 2] y;
  array[N] int<lower=1, upper=K> group;
  array[K] int counts;
}
transformed data {
  array[1] real capacity = {10};
  real total = 0;
  int half_way = N / 2;
  for (n in 1:N) total += y[n, 1];
}
parameters {
  real<lower=0> rate;
  vector<lower=0>[2] start; // both of them
  simplex[K] lambda;
  matrix[2, 2] A;
}
transformed parameters {
  array[N] vector[2] states = ode_rk45(growth, start, t0, t, rate, capacity);
  vector[K] logs;
  for (k in 1:K) {
    logs[k] = log(lambda[k]); // one by one
  }
}
model {
  // priors
  rate ~ lognormal(0, 1);
  start ~ normal(1, 2) T[0, ];
  to_vector(A) ~ std_normal();
  /* the likelihood,
     group by group */
  for (n in 1:N) {
    y[n] ~ normal(states[n], half(rate) + 0.5);
    target += logs[group[n]];
  }
  counts ~ poisson_log(logs);
  {
    row_vector[2] v = start' * A;
    vector[2] w = A * start;
    matrix[2, 2] B = A;
    B[1, 2] += dot_product(v, w);
    B[2] = v;
    target += -0.5 * (v * w + sum(B .* A)) - square(sum(logs[2:]));
    if (K > 2 && N > 1) target += logs[K] ^ 2; else if (K == 2) target += -1; else reject("K must be positive");
  }
}
generated quantities {
  real more = uniform_rng(0, rate) + half_way;
  array[N] real y_new = normal_rng(to_vector(y[:, 1]), 0.1);
}
"""

WORDS = """\
data { int N; vector[N] xs; }
parameters { real lambda; real normal_lpdf; real<upper=0> sum; }
model {
  real target_ = 0;
  int i = 1;
  while (i <= N) { target_ += xs[i] * lambda; i += 1; if (i > 3) break; }
  for (x in xs) { if (x < 0) continue; target += x * sum; }
  target += normal_lpdf(xs | normal_lpdf, 1) + (N > 2 ? target_ : 0.5) + 7 %/% 2 + 7 % 2 + 2 ^ 3;
  profile("last") { sum ~ normal(0, 1) T[-5, 0]; }
}
"""

SHARED = """\
functions {
  vector same(vector x) { return x; }
}
data { int n; array[3] int k; vector[3] x; matrix[2, 3] m; array[2] int rows_of; int none; }
transformed data {
  vector[3] centred = x;
  centred -= mean(x);
  array[3] real half = k;
  half[1] = 0.5;
}
parameters { vector[3] theta; real<lower=2> c; }
model {
  vector[3] y = theta;
  y += 1;
  vector[3] z = same(theta);
  z[2] = 7;
  vector[3] w = c > 100 ? theta : x;
  w[1] = 3;
  int count = 10;
  count -= n + 2;
  array[2] int steps = {n, 1};
  steps[1] += steps[2] + 4;
  target += sum(y) * 2 + dot_product(z, theta) + sum(w .* theta) + theta[1] * sum(x);
  target += theta[1] * count + theta[2] * steps[1] + theta[3] * pow(n, -1) + c * ((n && count) + (-7) % 3);
  target += sum(theta[1:(none - 1)]) + size(m) * theta[1] + m[rows_of][2, 1] * theta[2] + half[1] * theta[3];
  n ~ poisson(c) T[2, ];
  target += dot_product(centred, theta);
}
"""

REFUSED = {
    "parameters { complex z; } model { }": "line 1: declarations of type complex have no counterpart yet",
    "functions { real f_lp(real x) { target += x; return x; } } parameters { real x; }\nmodel { real z = f_lp(x); }": (
        "line 1: f_lp adds to target; make it return only what it adds"
    ),
    "data { int N; array[2] int a; matrix[N, N] y; } parameters { real x; }\nmodel { target += x * sum(y[a, a]); }": (
        "line 2: indices with two arrays of integers have no counterpart yet; use them one by one"
    ),
    "functions { real f(real x) { return x; } real f(vector x) { return sum(x); } } parameters { real x; } model { }": (
        "line 1: functions with several forms of arguments have no counterpart yet; name them apart"
    ),
    "parameters {\n\n tuple(real, real) x; } model { }": "line 3: declarations of type tuple",
    "parameters { real x; } model { real y; real z;\n (y, z) = (x, x); }": "line 2: assignments to tuples have no",
    "data { matrix[2, 2] y; } parameters { real x; } model { for (v in y) target += v * x; }": (
        "line 1: loops over the elements of a matrix have no counterpart yet"
    ),
    "data { vector[2] np; } parameters { real x; } model { target += x; }": (
        "line 1: the data have a name that Python needs: rename np"
    ),
    "parameters { real x; } model {\n x ~ normal(0, [1, 2]) T[0, 1]; }": "line 2: a truncation between two bounds",
    "parameters { real x; } model { target += x + rep_array(rep_vector(0, 2), 3)[1, 1]; }": "line 1: rep_array",
}

PACKED = """\
functions {
  tuple(real, vector) part(vector v, int k) { return (v[k], v[1:(k - 1)]); }
  void add_lp(real x) { if (x > 9) return; target += -x^2; x ~ normal(0, 3); }
}
parameters { vector[3] v; real x; }
model {
  real a;
  vector[2] rest;
  (a, rest) = part(v, 3);
  rest[1] = 2 * a;
  tuple(real, vector[1]) both = part(v, 2);
  add_lp(x);
  target += a * x + sum(rest) * both.1 + both.2[1] + v[1];
}
"""  # results that are tuples, and a function that adds to target

DROPPED = """\
functions {
  real part_lpmf(array[] int z, int start, int end, real mu) { return poisson_log_lupmf(z | mu); }
  real all_lpdf(vector y, real mu) { return normal_lpdf(y | mu, 2); }
}
data { int N; vector[N] y; array[N] int z; }
parameters { real mu; real<lower=0> s; }
model {
  mu ~ normal(0, 3);
  y ~ all(mu);
  target += normal_lupdf(s | 0, 1) + normal_lpdf(s | 1, 1);
  target += reduce_sum(part_lupmf, z, 1, mu) + reduce_sum(part_lpmf, z, 1, mu);
}
"""  # terms that depend on `propto`, and terms that do not


TRUNCATED = """\
functions {
  real waiting_lpdf(real x, real rate) { return log(rate) - rate * x; }
  real waiting_lcdf(real x, real rate) { return log1m_exp(-rate * x); }
  real waiting_lccdf(real x, real rate) { return -rate * x; }
  real failures_lpmf(int n, real p) { return n * log(p) + log1m(p); }
  real failures_lcdf(int n, real p) { return log1m(p ^ (n + 1)); }
  real failures_lccdf(int n, real p) { return (n + 1) * log(p); }
}
data { int n; }
parameters { real<lower=1, upper=9> a; real<lower=0> rate; real<lower=0, upper=1> p; }
model {
  a ~ waiting(rate) T[1, ];
  a ~ waiting(rate) T[, 9];
  a ~ waiting(rate) T[1, 9];
  n ~ failures(p) T[2, 6];
}
"""  # by distribution functions of the program


def shortened(tree: str) -> str:
    """A tree without what nobody reads in it."""
    for word in (r"\(id_loc <opaque>\)", r"\(loc <opaque>\)", r"\(smeta \(.*?\)\)\)", r"\(ad_level \w+\)"):
        tree = re.sub(word, "", tree)
    tree = re.sub(r"\(filename [^()]*\)", "(filename model.stan)", tree)
    return re.sub(r"\s+(?=[()])|(?<=[()])\s+", "", re.sub(r"\s+", " ", tree))


def blocks_of(text: str) -> dict:
    """The blocks of one of these programs."""
    return read_blocks(json.loads(TREES.read_text())[text], text)


def record(text: str) -> str:
    """The tree that stanc makes of a program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.stan")
        path.write_text(text)
        return shortened(run_stanc(path))


if __name__ == "__main__":
    texts = GROWTH, WORDS, SHARED, PACKED, DROPPED, TRUNCATED, *REFUSED
    TREES.write_text(json.dumps({text: record(text) for text in texts}, indent=0))
