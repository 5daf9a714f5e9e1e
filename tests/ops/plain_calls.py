"""Tables of calls of NumPy functions, and which of them the installed NumPy accepts: only these run on variables."""


def split_calls(text):
    """The calls of a table, which has several on a line."""
    return text.strip().replace("\n", "; ").split("; ")


def accepted(calls, evaluate):
    """The calls that `evaluate` does not see refused with a TypeError or ValueError."""
    return [call for call in calls if _runs(evaluate, call)]


def _runs(evaluate, call):
    try:
        evaluate(call)
    except (TypeError, ValueError):
        return False
    return True
