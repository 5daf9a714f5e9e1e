"""The named errors of contad; each message names the function, the argument, what was expected and what came."""


class ContadError(Exception):
    """Base of every error class defined by contad."""


class StaleVariableError(ContadError, RuntimeError):
    """A variable was used after its gradient call ended, or after its memory was recovered.

    Broken:  kept = []; grad(lambda x: kept.append(x) or x * x)(1.0); kept[0] * 2.0
    Fixed:   return the value from the function (`has_aux=True`) instead of keeping the variable.
    """


class ForeignVariableError(ContadError, RuntimeError):
    """A variable of one stack was given where a variable of another stack is needed.

    Broken:  x = contad.var(1.0);  with contad.nested(): y = contad.var(2.0); contad.gradient(y * y, [x])
    Fixed:   ask for the gradient with respect to variables of the result's own stack.
    """


class OtherThreadError(ContadError, RuntimeError):
    """A variable was used on a thread other than the one that made it.

    Broken:  x = contad.var(1.0);  Thread(target=lambda: x * 2.0).start()
    Fixed:   pass numbers between threads, and make the variables on the thread that uses them.
    """


class NestingError(ContadError, RuntimeError):
    """Memory was to be recovered, or a level closed, while a gradient call inside it was still open."""


class LostDerivativeError(ContadError, TypeError):
    """A conversion to a plain number would have dropped a derivative (`float(v)`, `math.exp(v)`, `ndarray[i] = v`).

    Broken:  math.exp(v)
    Fixed:   contad.exp(v), np.exp(v), or contad.value_of(v) where a constant is meant.
    """


class UnsupportedError(ContadError, TypeError):
    """A construct or argument that contad does not differentiate; the message says what to do instead."""


class OutputError(ContadError, TypeError):
    """The differentiated function returned something other than what the transform needs."""


class StaleSourceError(ContadError, RuntimeError):
    """A file was edited after it was imported, and its source is needed now.

    Broken:  import rules; (edit rules.py); grad(rules.f)(1.0)
    Fixed:   restart Python, or importlib.reload(rules)
    """


class StaleCacheError(ContadError, OSError):
    """Machine code in a cache of Numba's holds the gradient of a function that has changed since, or is unknown.

    Numba meets it while it loads a cached caller, takes it as a missing file, and compiles the caller again.
    """


class FrozenValueError(ContadError, RuntimeError):
    """A global or captured value of a Numba function has changed since its derivative was asked for.

    Broken:  RATE = 0.7; g = grad(f); g(1.0); RATE = 0.8; g(np.ones(3))    (compiled code of two values)
    Fixed:   pass the value as an argument, or define the function again
    """


class OverlapError(ContadError, ValueError):
    """Array arguments share memory and the function may write into them: which of them is differentiated is unclear.

    Broken:  grad(f)(c, c)  where f assigns to elements of an argument
    Fixed:   grad(f)(c, c.copy())
    """


class RuleError(ContadError, TypeError):
    """A derivative rule is malformed: not straight-line, wrong arity, or a call that no engine can inline."""
