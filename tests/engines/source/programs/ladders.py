"""Bodies of functions with long ladders of `elif`, and rows of early exits."""

from contad.engines.source.reading.exits import LONGEST
from tests.engines.source.programs.harness import Table

N = 130  # more than the hundred levels that Python takes
LOOP = "s = 0.0\ny = np.zeros(5)\nfor i in range(5):\n    w = a * (0.5 + 0.2 * x[i])\n"
RESULT = "return s + np.sum(y)"


def ladder(statement, otherwise, n=N):
    """n rungs, with {j} the number of the rung."""
    tests = [f"{'elif' if j else 'if'} w < {j / n!r}:\n    {statement.format(j=j)}" for j in range(n)]
    return "\n".join([*tests, f"else:\n    {otherwise}"])


def row(statement):
    """One `if` after the other."""
    return "\n".join(f"if w < {j / N!r}:\n    {statement.format(j=j)}" for j in range(N))


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


LADDERS = {
    "writes": LOOP + indented(ladder("y[i] = x[i] * a * {j}.0", "y[i] = a * a")) + RESULT,
    "numbers": LOOP + indented(ladder("s = s * 0.5 + {j}.0 * w", "pass")) + RESULT,
    "breaks": LOOP + indented(ladder("s += {j}.0 * w; y[i] = w", "break")) + RESULT,
    "returns": "w = a * 0.5\n" + ladder("return w * x[1] * {j}.0", "return x[2]"),
    "early returns": "w = a * 0.5\n" + row("return w * x[1] * {j}.0") + "\nreturn x[2]",
    "skips": LOOP + indented(row("s += w * {j}.0; y[i] = w; continue") + "\ns -= w * w") + RESULT,
    "a ladder in a ladder": LOOP
    + indented("if w < 0.3:\n" + indented(ladder("s += w * {j}.0", "s -= w")) + "else:\n    s += x[i]")
    + indented(ladder("y[i] = w * {j}.0", "y[i] = a", 2 * LONGEST)) + RESULT,
}  # fmt: skip
LONG_LADDERS = Table("ladders", LADDERS)
