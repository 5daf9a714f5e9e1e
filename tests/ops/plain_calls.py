"""Which calls of NumPy functions the installed NumPy accepts on plain arrays: only these run on variables."""


def accepted(calls, evaluate):
    """The calls that `evaluate` does not see refused with a TypeError or ValueError."""
    return [call for call in calls if _runs(evaluate, call)]


def _runs(evaluate, call):
    try:
        evaluate(call)
    except (TypeError, ValueError):
        return False
    return True
