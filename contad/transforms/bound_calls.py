"""Derivatives with their arguments, called again and again at the same arrays."""

from collections.abc import Callable

from contad.transforms.gradients import WrittenGradient
from contad.variables.open_types import Function, Nested


def bind(gradient: Function, *args: Nested, **kwargs: Nested) -> Callable[[], Nested]:
    """A derivative with fixed arguments: a function without parameters that reads the arrays whenever it is called.

    It returns the same as gradient(*args, **kwargs). Gradients that are written into arrays, `grad(f, out=True)` and
    `value_and_grad(f, out=True)`, return nothing and only the value; the gradient is in `out`. Use `bind` where
    optimisers, samplers and simulations call a gradient of few numbers, most of whose time goes into passing arguments
    and results: write into the bound arrays and call. Numbers keep the values that they had. For a Numba function the
    call runs machine code that has read its arguments already; for any other function it calls `gradient`.

    `bind` computes the gradient once, to compile it. Two threads may call one bound gradient at the same time if they
    do not share `out`.

    Raises:  what the gradient raises; ValueError if an array has new memory or another shape since, as after
             `x.resize`; RuntimeError if the derivative has been recompiled since; TypeError if `gradient` is not a
             function.
    Cost:    that of the gradient, and 60 ns for the call; an ordinary call of a Numba function takes 60 ns more for
             each array.

    >>> import contad, numpy as np
    >>> x, gradient = np.array([1.0, 2.0]), np.empty(2)
    >>> call = bind(contad.value_and_grad(lambda x: x @ x, out=True), x, gradient)
    >>> call(), gradient
    (5.0, array([2., 4.]))
    >>> x[:] = 3.0, 1.0
    >>> call(), gradient
    (10.0, array([6., 2.]))
    """
    from contad.front.derivative import Derivative  # it knows Numba
    from contad.numba_functions.array_arguments import name_returned, take_returned

    if not callable(gradient):
        raise TypeError(f"contad.bind: expected a derivative and its arguments, got {type(gradient).__name__}")
    if isinstance(gradient, Derivative):
        compiled = gradient.bind(args, kwargs)
        if compiled is not None:
            return compiled
        returned = name_returned(gradient.form.out, gradient.form.gives_value)
    elif isinstance(gradient, WrittenGradient):
        returned = name_returned(True, gradient.value)
    else:
        returned = "all"

    def call() -> Nested:
        """Compute the derivative."""
        return take_returned(gradient(*args, **kwargs), returned)

    if not isinstance(gradient, Derivative):
        call()
    return call
