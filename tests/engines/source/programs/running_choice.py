"""Numbers that iterations choose among: one iteration is reversed, where nothing else reads the choice on its way."""

from tests.engines.source.programs.harness import ARGUMENTS, Table, programs

X = ARGUMENTS[0]
TAKEN = programs("""
    # what is the same in each iteration
    for i in range(5):
        y *= 1.0 + math.sqrt(x[0]) * i
    return y
    # nearest
    best = 100.0
    for i in range(1, len(x)):
        best = min(best, (x[i] - y) ** 2)
    return best * x[0]
    # nearest with place
    best, place = x[0] * y, -1
    for i in range(len(x)):
        d = (x[i] - y) ** 2
        if d < best:
            best = d
            place = i
    return best + 2.0 * x[place]
    # largest of each
    s = 0.0
    for i in range(len(x)):
        most = x[i]
        for j in range(i):
            w = x[j] * x[i] * y
            for _ in range(3):
                w = math.sin(w)  # stored, and read back by the one iteration
            most = max(w * w, most)
        s += math.exp(most) * x[i]
    return s
    # falling
    best = y
    for i in range(len(x)):
        best = max(0.5 * best, x[i] * y)  # no choice: every iteration changes what was chosen
    return best
    # largest read on the way
    best, s = y, 0.0
    for i in range(len(x)):
        best = max(best, x[i] * y)
        s += best * best
    return best + s
    # growing
    best = y * y
    for i in range(len(x)):
        best = max(best, best * x[i] * x[i])  # what is chosen depends on what was chosen before
    return best
    # from the end
    best = -100.0
    for i in range(len(x) - 1, -1, -1):
        best = max(best, x[i] * y)
    return best
    # with a sum
    best, s = -100.0, 0.0
    for i in range(len(x)):
        s += x[i] * y
        best = max(best, x[i] * y)
    return best * s
    # never chosen
    best = x[0] * x[1]
    for i in range(int(abs(y)) % 4):
        best = max(best, -x[i] * x[i] - 10.0)
    return best
""")
ONE, ALL = ("if chosen >= 0:", "!work"), ("!chosen",)
RUNNING_CHOICES = Table(
    "running choices", TAKEN,
    shows={
        "nearest": ONE, "nearest with place": ONE, "falling": ALL, "largest read on the way": ALL,
        "what is the same in each iteration": (r"!work\[base \+ trips",),
    },
    head="x, y", arguments=(X, 0.2), elsewhere=[(X, -3.0), (X, 5.0)],
)  # fmt: skip
