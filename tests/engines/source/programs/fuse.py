"""Loops whose iterations are reversed right after they ran: where what follows them allows it, and where not."""

from contad.engines.source.planning import fuse
from tests.engines.source.programs.harness import ARGUMENTS, Table, programs

AT_ONCE = programs("""
    # likelihood
    squares = 0.0
    for i in range(len(x)):
        squares += (x[i] - mu) ** 2
    return -0.5 * squares / (sigma * sigma) - len(x) * math.log(sigma)
    # scaled
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i] * mu)
    t = s * sigma
    return t * mu + sigma * mu
    # two sums
    s, q = 0.0, 0.0
    for i in range(len(x)):
        s += x[i] * mu
        q += x[i] * x[i] * mu
    return (s * mu - q / sigma) * sigma
    # group by group
    total = 0.0
    for g in range(3):
        s = 0.0
        width = sigma + g
        for i in range(len(x)):
            s += (x[i] - g * mu) ** 2
        total -= 0.5 * s / (width * width) + math.log(width)
    return total * mu
    # chosen
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i] * mu
    scale = sigma * mu if sigma > 0.0 else 1.0
    return (s + x[0]) / scale - s / mu
    # looked over afterwards
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
    if not abs(s) < 1e300:
        for k in range(2):
            if not abs(x[k]) < 1e300:
                raise ValueError("x")
    return s * sigma
""")
SEVERAL = programs("""
    # two sums, and what is written between them for the second one alone
    fit = 0.0
    for i in range(len(x)):
        fit += math.sin(x[i] * mu)
    width = sigma + 1.0
    scaled = np.empty(3)
    for k in range(3):
        scaled[k] = width * k
    norm = 0.0
    for k in range(len(x)):
        norm += math.cos(x[k] * width) * scaled[k % 3]
    return fit - 0.5 * norm
    # the second loop reads what is written behind the first one, which reads the same array
    z = x * mu
    first = 0.0
    for i in range(len(x)):
        first += math.exp(z[i])
    z[0] = sigma
    second = 0.0
    for i in range(len(x)):
        second += math.exp(z[i] * sigma)
    return first + second
    # the second sum is of terms with the first one in them
    first = 0.0
    for i in range(len(x)):
        first += x[i] * mu
    second = 0.0
    for i in range(len(x)):
        second += math.sin(x[i] * first)
    return second * sigma
""")
AFTERWARDS = programs("""
    # logarithm
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
    return math.log(s)
    # ratio
    s, q = 0.0, 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
        q += math.exp(mu - x[i])
    return s / q
    # product
    s, q = 0.0, 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
        q += math.exp(mu - x[i])
    return s * q
    # sine and cosine
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
    return math.sin(s) + mu * math.cos(s)
""")
ONE_LOOP = r"!range\((len|x_length)[\s\S]* in range\((len|x_length)"
FUSED_LOOPS = Table(
    "fused loops", AT_ONCE | SEVERAL | AFTERWARDS,
    shows=dict.fromkeys(AT_ONCE, ("!work", ONE_LOOP)) | dict.fromkeys(AFTERWARDS, (ONE_LOOP.removeprefix("!"),)),
    faults={"a loop that depends on another one": (fuse, "_depends", lambda *_: False)},
    head="x, mu, sigma", arguments=(ARGUMENTS[0], 0.7, 1.3), argnums=(0, 1, 2),
)  # fmt: skip
