"""Access to compiled derivatives: engine, source, bound calls, C functions, primitives, the cache on disk."""

import inspect
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from contad.compile import compiling
from contad.engines import ARRAYS, COMPILED, DEFAULT, engine as engine_class
from contad.errors import OutputError, UnsupportedError
from contad.front.explanation import Explanation
from contad.front.numba_transforms import Transform, pair_of
from contad.front.user_function import UserFunction, primitive_of
from contad.functions.transformed import Transformed
from contad.functions.user_call import memo_of, name_of, numba_function
from contad.transforms.gradients import WrittenGradient, grad, jvp, pullback_of, value_and_grad
from contad.transforms.library_derivatives import on_library
from contad.variables.arguments import fail, require_callable
from contad.variables.open_types import Function, Nested, NumbaFunction, Options


def explain(f: Function, *args: Nested, **kwargs: Nested) -> Explanation:
    """Explain which engine computes grad(f)(*args), why earlier engines do not, and what it does and stores.

    f may be a gradient, such as contad.grad(f, argnums=(0, 1)). For a function of several outputs the explanation is
    about contad.vjp; explain(contad.jvp, f, primals, tangents) is about forward mode.

    Cost:    compiles the derivative for these arguments, unless it is compiled or cached.

    >>> print(explain(lambda x: x * x, 2.0))
    grad: <lambda>: engine matrix, on variables
      operators: methods of Python, then machine code
    """
    require_callable("explain", "f", f)
    if type(f) is Transformed and not f.made_by[0].__name__.startswith("_"):  # a public transform of a plain function
        transform, (function, *_), options = f.made_by
        return _explain_eager(transform, function, options)
    if isinstance(f, Transform) and args and numba_function(args[0]) is None:
        return _explain_eager(f, args[0], kwargs)
    f = getattr(f, "compiled", f)
    gradient: Any = grad(f) if not hasattr(f, "argnums") and not hasattr(f, "form") else f
    made_for = getattr(f, "made_for", None)  # of transforms that take f with its arguments
    if made_for and args and (dispatcher := numba_function(args[0])) is not None:
        gradient, args = made_for(dispatcher), args[1:]
    if hasattr(gradient, "form"):
        from contad.front.explanation import explain_call

        try:
            return explain_call(gradient, args, kwargs)
        except OutputError:
            if gradient is f or kwargs:
                raise
            return explain_call(pullback_of(numba_function(f)), (args, f(*args)), {})  # of several outputs
    on_arrays = on_library(gradient.engine, args)
    return _explain_on_variables(gradient.what, ARRAYS if on_arrays else gradient.engine or DEFAULT)


def _explain_eager(transform: Function, function: Function, options: Options) -> Explanation:
    """Explain a transform of a plain function."""
    what = f"{transform.__name__}: {name_of(function)}"
    if transform.__name__ in ("jvp", "jacfwd"):
        return Explanation.of(f"{what}: engine forward, on duals", "forward")
    return _explain_on_variables(what, options.get("engine") or DEFAULT)


def _explain_on_variables(what: str, engine: str) -> Explanation:
    """Explain an engine that runs on variables."""
    lines = [f"{what}: engine {engine}, on variables"]
    if engine == DEFAULT:
        from contad.engines.stream.native_parts import describe_operators

        lines.append(f"  operators: {describe_operators()}")
    return Explanation.of("\n".join(lines), engine)


def source(
    f: Function, *args: Nested, argnums: int | tuple[int, ...] = 0, of: str = "value_and_grad", **kwargs: Nested
) -> str:
    """The source of the derivative that the engine `generated` makes for value_and_grad(f, argnums)(*args).

    With of="hvp" it is the source for hvp(f, argnums)(*args), the vector last, and with of="jvp" that for jvp(f,
    *args), with primals and tangents; tangents have the suffix _dot. With of="jacobian" or "hessian" it is the function
    that jacobian(f, argnums)(*args) or hessian(f, argnums)(*args) runs for each chunk of directions or cotangents.
    Tangents or adjoints are then lanes, one number for each direction, and the arithmetic is that of numbers.

    f is a Numba function, its gradient (such as contad.grad(f, has_aux=True)), or a plain function that Numba could
    compile. Values have the user's names, adjoints have the suffix _bar, and comments give the user's line numbers. The
    text also runs as a plain Python module. It imports math, NumPy and, for stored values and for rules that are not
    expressions, contad; `run(*args)` returns the value and a tuple of gradients. Differentiated numbers must be floats
    there, and arrays float64. Keyword arguments are those of f.

    Raises:  UnsupportedError, with file, line and remedy, if the function contains a construct that the generator
             refuses; calls of the gradient then use the tape.
    Cost:    reads the function and writes text; nothing is compiled.

    >>> def f(x, y):
    ...     return x * x * y
    >>> print(source(f, 3.0, 2.0).partition("def ")[2])
    run(x, y):
        result = x * x * y  # line 2
        result_bar = 1.0
        t_bar = result_bar * y
        x_bar = t_bar * (2.0 * x)
        return result, (x_bar,)
    <BLANKLINE>
    """
    require_callable("source", "f", f)
    f = getattr(f, "compiled", f)
    derivative: Any = f
    has_aux = False
    if not hasattr(f, "form"):
        if hasattr(f, "argnums"):  # the gradient of a plain function
            f, argnums, has_aux = derivative.f, derivative.argnums, derivative.has_aux
        made = _OF.get(of)
        if made is None:
            fail("source", "of", f"be one of {', '.join(map(repr, _OF))}", of)
        derivative = made(_compilable(f), argnums, has_aux)
    from contad.front.explanation import source_of

    return source_of(derivative, args, kwargs)


def _product_of(f: NumbaFunction, argnums: int | tuple[int, ...]) -> Any:
    from contad.transforms.hessians import hvp  # which most users do without

    return hvp(f, argnums, engine="generated").compiled  # type: ignore[attr-defined]


def _jacobian_of(f: NumbaFunction, argnums: int | tuple[int, ...], has_aux: bool) -> Any:
    from contad.transforms.jacobians import jacobian

    return jacobian(f, argnums, has_aux=has_aux, engine="generated")


def _hessian_of(f: NumbaFunction, argnums: int | tuple[int, ...], has_aux: bool) -> Any:
    from contad.transforms.hessians import hessian

    return hessian(f, argnums, engine="generated")


_OF: dict[str, Function] = {
    "value_and_grad": lambda f, argnums, has_aux: value_and_grad(f, argnums, has_aux=has_aux, engine="generated"),
    "hvp": lambda f, argnums, has_aux: _product_of(f, argnums),
    "jvp": lambda f, argnums, has_aux: pair_of(f, "jvp", jvp, "generated"),
    "jacobian": _jacobian_of,
    "hessian": _hessian_of,
}


def _compilable(f: Function) -> NumbaFunction:
    """The Numba function that f is, or that it would be under numba.njit."""
    found = numba_function(f)
    if found is None and isinstance(f, FunctionType):
        import numba

        found = numba.njit(f)
    if found is None:
        raise UnsupportedError(
            f"source: f must be a Numba function, its gradient or a plain function, got {type(f).__name__}; source is "
            "generated for functions that Numba compiles"
        )
    return found


def engine_name(f: Function, engine: str | None = None, args: Sequence[Nested] = ()) -> str:
    """The name of the engine that differentiates f in reverse mode.

    For a Numba function or a derivative of one, the engine that accepts these arguments; without arguments, the first
    that is tried.
    """
    f = getattr(f, "compiled", f)  # a Hessian-vector product
    derivative: Any = f
    if UserFunction("engine_name", f).takes_compiled(engine):
        derivative = grad(f, engine=engine)
    if not hasattr(derivative, "form"):
        return engine_class(engine).engine if engine else DEFAULT
    if not args:
        return str(derivative.engine or COMPILED[0])
    from contad.front.explanation import engine_for

    return engine_for(derivative, tuple(args), {})


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


def cfunc(f: Function, n: int, signature: str = "contad") -> Any:
    """f, a Numba function of one array of length n, and its gradient as a function with C's calling convention.

    signature   the function, and what it returns where f raises
    "contad"    int (const double *x, double *value, double *grad); 1, else 0
    "nuts"      int (size_t n, const double *x, double *grad, double *value, void *); 1, else 0 (walnutpie)
    "nlopt"     double (unsigned n, const double *x, double *grad, void *), the value; nan
    "scipy"     double (int n, double *x, void *), the value alone, as scipy.LowLevelCallable takes it; nan
    "bridgestan" int (const void *, bool propto, bool jacobian, const double *x, double *value, double *grad, void *);
                -1 also where jacobian is false, because f has the log-Jacobian; else 0

    If f raises, or receives another length, value and grad are left as they are. If grad is NULL only the value is
    computed, and if value is NULL only the gradient. The result has `address` and `ctypes`, lives as long as f, and may
    be called on any thread. Captured values of f serve as its data. The first call without grad compiles f itself.

    Raises:  UnsupportedError if f is not a Numba function, or no compiled engine supports it.

    >>> import ctypes, numba, numpy as np
    >>> density = numba.njit(lambda x: -0.5 * np.sum(x * x))
    >>> value, gradient = np.zeros(1), np.zeros(2)
    >>> pointer = ctypes.POINTER(ctypes.c_double)
    >>> points = [a.ctypes.data_as(pointer) for a in (np.array([1.0, 2.0]), value, gradient)]
    >>> cfunc(density, 2).ctypes(*points), value, gradient
    (0, array([-2.5]), array([-1., -2.]))
    """
    f = _require("cfunc", f)
    longest = sys.maxsize // 8  # of an array of float64
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or not 0 <= n <= longest:
        fail("cfunc", "n", f"be the length of f's argument, an integer from 0 to {longest}", repr(n))
    n = int(n)
    from contad.front.cfunction import SIGNATURES, c_function

    if signature not in SIGNATURES:
        fail("cfunc", "signature", f"be one of {', '.join(map(repr, SIGNATURES))}", signature)
    arguments = list(inspect.signature(f).parameters)
    if len(arguments) != 1:
        raise UnsupportedError(
            f"cfunc: {f.__name__} must take one array, got the arguments {', '.join(arguments)}; call it from a Numba "
            "function of one array that captures the others"
        )
    memo = memo_of(f)
    gradient: Any = value_and_grad(f)
    gradient.frozen.check()
    key = "cfunc", n, signature
    if key not in memo:
        memo[key] = c_function(gradient, n, signature)
    return memo[key]


def primitive(kernel: NumbaFunction) -> Function:
    """A Numba function as one operation of plain Python code: on variables it runs compiled, with its own gradient.

    Plain functions do this for Numba functions that they refer to by name; use `primitive` for one that they reach in
    another way, such as an attribute or a method.

    Raises:  UnsupportedError if kernel is not a Numba function.
    """
    return primitive_of(_require("primitive", kernel))


def clear_cache() -> None:
    """Delete the source and machine code that all versions of contad keep on disk.

    Code that this process has compiled goes on working; other processes also go on, and compile again. The cache never
    exceeds 512 MiB, or $CONTAD_CACHE_MEGABYTES: contad deletes the least recently used entries.
    """
    compiling.clear()


def _require(function: str, f: Function) -> NumbaFunction:
    found = UserFunction(function, f)
    if found.dispatcher is None:
        kind = type(f).__name__
        raise UnsupportedError(f"{function}: {found.name} must be a function made by numba.njit, got {kind}")
    return found.dispatcher
