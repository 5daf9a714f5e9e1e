"""Generated source, run as plain Python."""


def run_of(text):
    """The function `run` of a source, run as a module of plain Python."""
    names = {}
    exec(compile(text, "generated", "exec"), names)
    return names["run"]
