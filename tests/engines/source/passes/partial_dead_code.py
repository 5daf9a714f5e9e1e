"""What the value alone needs is passed over where nobody asks for it, and the gradient is the same."""

from types import SimpleNamespace

from contad.engines.source.ir.syntax import statement
from contad.engines.source.passes import partial_dead_code
from tests.engines.source.passes.harness import Table, programs

GUARDED = programs("""
    # a number
    t = math.log(x)
    s = t * 2.0
    return s, (y,)
    # a chain
    t = value_own(x)
    t += math.exp(t)
    return t, (y,)
    # elements of a row
    a = new_row()
    a[0] = math.exp(x)
    t = a[0]
    return t, (y,)
    # in a loop
    s = 0.0
    for i in range(3):
        s += math.lgamma(y) * i
        y = y * x
    return s, (y,)
""")
LEFT = programs("""
    # what gradients need
    t = math.log(x)
    g = t * 2.0
    return t, (g,)
    # an array that gradients need
    t = math.log(x)
    a = np.zeros(3)
    a[0] = t
    return t, (a,)
    # another name of what is returned
    t = math.log(x)
    y = np.zeros(2)
    a = y
    a[0] = t
    return 0.0, (y,)
    # a test
    t = math.log(x)
    if t > 0.0:
        raise ValueError("large")
    return t, (y,)
    # how often a loop runs
    t = math.log(x)
    for i in range(int(t)):
        y += 1.0
    return 0.0, (y,)
    # a function that may do anything
    t = math.log(x)
    u = other(t)
    return u, (y,)
    # several at once
    t = math.log(x)
    u, v = t, 2.0
    return u, (v,)
    # a function that is not known
    t = value_other(x)
    return t, (y,)
    # two values
    t = math.log(x)
    return (t, y), (y,)
    # a place
    t = math.log(x)
    y = [0.0, 0.0, 0.0, 0.0]
    y[int(t)] = 1.0
    return t, (y,)
    # a row that gradients need
    a = new_row()
    exp_rows([x], a, 1)
    g = a[0]
    return 0.0, (g,)
    # no row
    a = np.empty(3)
    exp_rows([x], a, 1)
    t = a[0]
    return t, (y,)
""")


def _apply(function, names):
    names.rules = {"own": SimpleNamespace(__module__="contad.ops.own")}
    if partial_dead_code.ask_for_value(function, names):
        assert function.args.args.pop().arg == "asks_value"
        function.body.insert(0, statement("asks_value = False"))


PARTIAL_DEAD_CODE = Table(
    "partial dead code", _apply, "def run(x, y):", "", lambda: [(30.3, 0.5), (1.9, 2.0), (0.3, 1.0)], GUARDED, LEFT,
    shows={
        "a number": (r"t = math.log\(x\) if asks_value else 0.0  # line 2$",),
        "a chain": (r"t = value_own\(x\) if asks_value else 0.0", r"if asks_value:\n +t \+= math.exp\(t\)  # line 3$"),
        "in a loop": (r"        if asks_value:\n +s \+= math.lgamma\(y\) \* i",),
    },
    faults={
        "what other statements read": (partial_dead_code, "_named_by", lambda s: set()),
        "what numbers are made of": (partial_dead_code, "names_read", lambda node: frozenset()),
        "arrays that are no rows": (partial_dead_code, "_is_array", lambda s: False),
    },
    seen=lambda result: result[1:],
)  # fmt: skip
