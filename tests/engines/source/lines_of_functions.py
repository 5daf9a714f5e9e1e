"""Functions as the lines of generated text that passes over it take."""


def lines_of(text):
    """The lines of a function with these in it, as they are indented in a table of cases."""
    body = [line[4:] for line in text.splitlines() if line.strip()]
    return ["def run(x, y, t, n, m, k):", *body, "    return x_bar"]
