"""The transforms: functions in, derivatives out.

Reverse mode: grad, value_and_grad, vjp. Forward mode: jvp, derivative. Arguments and results are numbers,
arrays, and nested lists, tuples and dicts of them; every transform nests in every other.
"""

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines import ARRAYS, DEFAULT, engine as engine_class
from contad.engines.forward import forward_level
from contad.errors import UnsupportedError
from contad.front.numba_transforms import (
    Transform,
    along,
    call_compiled_vjp,
    gradient_of,
    pair_of,
    require_flag,
    require_no_counts,
    require_numerics,
)
from contad.front.passed_on import passed_on
from contad.front.recorded import Recorded
from contad.front.repeated import gradient_of_gradient, is_first_gradient, is_repeatable, product_along
from contad.front.user_function import UserFunction
from contad.functions.callees import ORDINARY, direct
from contad.functions.transformed import Transformed, reference, remade
from contad.functions.user_call import form_of, positional, positions, require_number, split_aux, unshare
from contad.ops.close_values import LOST, was_lost
from contad.ops.kinks import choose_first
from contad.transforms.jacobians import by_columns, find_lost, jacfwd
from contad.transforms.library_derivatives import on_library, pass_to_arrays, push_forward
from contad.variables.activation import activate, seeds
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import PRECISION
from contad.variables.kept_dtypes import STANDING
from contad.variables.layout import OVERLAPPING
from contad.variables.number import Carrier, map_numbers, peek
from contad.variables.open_types import Function, Nested, Options
from contad.variables.overlaps import hand_on_marks, set_apart
from contad.variables.stack import enter, forget, leave
from contad.variables.trees import LibraryArrayError, Tree, flatten, lower, output_leaves, plain_leaf, scalar_output
from contad.variables.var import Var


class _Gradient:
    """The result of `grad` and `value_and_grad`: a function with the arguments of f."""

    def __init__(
        self, f: UserFunction, argnums: tuple[int, ...], single: bool, has_aux: bool, engine: str | None, value: bool
    ) -> None:
        functools.update_wrapper(self, f.f, updated=())
        self.f = f.f
        self.run: Any = f.runnable()
        self.direct, self.watched = direct(self.run)
        self.what = f"{'value_and_grad' if value else 'grad'}: {f.name}"
        self.argnums = argnums
        self.single = single
        self.has_aux = has_aux
        self.engine = engine
        self.stack_class = engine_class(engine)
        self.value = value
        # the number of arguments in calls that differentiate all of them, so that there is nothing to copy or to look
        # for
        self.last = max(argnums)
        self.whole = len(argnums) if self.last < len(argnums) else -1
        plain = not has_aux and engine in (None, DEFAULT)
        self.passed_on: Any = passed_on(f.f, argnums) if plain else None

    def __repr__(self) -> str:
        return f"<contad.{self.what}>"

    def _repr_html_(self) -> str:
        from contad.functions.transformed import list_arguments, write_function

        facts = [
            ("with respect to", list_arguments(self.f, self.argnums)),
            ("engine", f"{self.stack_class.engine}, on variables"),
            ("returns", describe_result(self.value, self.has_aux)),
        ]
        return write_function(f"contad.{self.what}", self.f, facts)

    def __reduce__(self) -> tuple[Any, ...]:
        make = value_and_grad if self.value else grad
        argnums = self.argnums[0] if self.single else self.argnums
        return remade, (make, (reference(self.f), argnums), {"has_aux": self.has_aux, "engine": self.engine})

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        if self.passed_on is not None and not kwargs:
            found = self.passed_on(args)
            if found is not None:
                y, cotangents = found
                gradient = cotangents[0] if self.single else cotangents
                if LOST and was_lost():
                    gradient = self._find_lost(gradient, y, args, kwargs)
                return (y, gradient) if self.value else gradient
        run = self.run
        if len(args) != self.whole or kwargs:
            if len(args) > self.last and not kwargs:
                args = unshare(self.what, args, self.argnums)
            else:
                args, kwargs = positional(run, self.what, self.argnums, args, kwargs)
        elif self.last > 0:
            args = set_apart(self.what, args)
        if not kwargs and (self.last == 0 == len(args) - 1 or ORDINARY.issuperset(map(type, args))):
            for read, x, value in self.watched:
                if read(x) is not value:
                    run.look_again()
                    self.direct, self.watched = direct(run)
                    break
            run = self.direct
        if LOST:
            was_lost()  # clear what other transforms left
        s = self.stack_class.begin()
        try:  # like `with opened(...)`, which costs as much as fifty records
            enter(s)
            given, active = activate(s, self.what, self.argnums, args)
            y = run(*given, **kwargs) if kwargs else run(*given)
            aux = None
            if self.has_aux:
                y, aux = split_aux(y, True, self.what)
            if isinstance(y, Var) and y._owner is s:  # the result of most functions
                gradients = s.pull(active, [(y._index, 1.0)])
                y = y.value if STANDING else y._value
            else:
                y = scalar_output(y, self.what, s)
                gradients = s.pull(active, seeds(s, y, 1.0))
                y = lower(y, s)
            if self.has_aux:
                aux = lower(aux, s)
            leave(s)
        except BaseException as error:
            leave(s, error)
            if error.__class__ is LibraryArrayError and self.engine is None:
                forget(error)
                if self.passed_on is None and not self.has_aux:
                    self.passed_on = functools.partial(pass_to_arrays, self._on_arrays(True))  # later calls start there
                return self._on_arrays(self.value)(*args, **kwargs)
            raise
        gradient = gradients[0] if self.single else tuple(gradients)
        if isinstance(y, Carrier) and not y._owner.takes_any:  # this gradient is itself differentiated
            gradient = choose_first(gradient, y._owner, lambda: self._first_derivative(args, kwargs))
        elif LOST and was_lost():
            gradient = self._find_lost(gradient, y, args, kwargs)
        if self.has_aux:
            return ((y, aux), gradient) if self.value else (gradient, aux)
        return (y, gradient) if self.value else gradient

    def _on_arrays(self, value: bool) -> "_Gradient":
        """The same on the engine `arrays`, which takes arrays of any library."""
        make = value_and_grad if value else grad
        argnums = self.argnums[0] if self.single else self.argnums
        return make(self.f, argnums, has_aux=self.has_aux, engine=ARRAYS)

    def _find_lost(self, gradient: Nested, y: Nested, args: Sequence[Nested], kwargs: Options) -> Nested:
        """The gradient, with entries from forward mode where the reverse sweep has lost digits."""
        return find_lost(
            gradient, y, self.run, self.what, self.argnums, args, kwargs, self.single, self.has_aux
        )

    def _first_derivative(self, args: Sequence[Nested], kwargs: Options) -> Nested:
        """The gradient alone, at the values of the arguments."""
        found = self(*map_numbers(peek, tuple(args)), **map_numbers(peek, kwargs))
        if not (self.value or self.has_aux):
            return found
        return found[1] if self.value else found[0]


class WrittenGradient(_Gradient):
    """A gradient that is written into arrays, the last argument or the one called `out`."""

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        from contad.numba_functions.array_arguments import write_gradients

        if "out" not in kwargs and args:
            *args, kwargs["out"] = args  # type: ignore[assignment]
        if "out" not in kwargs:
            raise TypeError(f"{self.what}: give an array for the gradient, as out=")
        out = kwargs.pop("out")
        found = super().__call__(*args, **kwargs)
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, np.ndarray)]
        if self.value:
            return found[0], write_gradients(self.what, found[1], out, given)
        return write_gradients(self.what, found, out, given)

    def __reduce__(self) -> tuple[Any, ...]:
        make, given, options = super().__reduce__()[1]
        return remade, (make, given, options | {"out": True})


@Transform
def grad(
    f: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, engine: str | None = None,
    numerics: str = "auto", checkpoint: bool = False, out: bool = False,
) -> _Gradient:  # fmt: skip
    """The gradient of a function that returns one number.

    grad(f)(*args) has the structure of argument `argnums`; for a tuple of argnums it is a tuple of gradients. With
    has_aux, f returns (value, aux) and the result is (gradient, aux). `engine` is "matrix" (the default), "records" or
    "closures", and for a Numba function "generated" (the default) or "tape". The same f gives the same object.

    The engine `generated` computes exp, log, sin and similar functions in vector registers in loops that are certain to
    gain; each is within one ulp of the exact number (erfc within two). numerics="simd" does so in nested loops of any
    length as well. numerics="libm" uses the C library everywhere, as f itself does. Value and gradient always use the
    same implementations.

    With checkpoint=True that engine treats every outermost loop as a loop over `checkpointed(range(n))`: memory grows
    with the square root of n, and the loop runs once more. Other engines ignore it.

    With out=True the gradient takes one more argument, the last one or `out` by name, writes into it and returns it: an
    array of the shape of the argument, `np.empty(())` for a number, or a tuple of them for a tuple of argnums. It must
    be float64, writable, in C order, and must not overlap other arrays; if f raises, its contents are undefined. For
    Numba functions, only parallel loops allocate memory in that case. `contad.bind` also fixes the arguments, for
    gradients of few numbers.

    Raises:  OutputError if f returns anything but one real number; UnsupportedError for arguments that are not numbers.
    Cost:    one evaluation of f on variables and one sweep, whatever the number of arguments.
    Ref:     Griewank & Walther (2008), section 3.2.

    >>> grad(lambda x, y: x * y + y)(2.0, 3.0)
    3.0
    >>> kept = np.zeros(2)
    >>> grad(lambda x: x @ x, out=True)(np.array([1.0, 2.0]), out=kept) is kept, kept
    (True, array([2., 4.]))
    """
    return _memoise(f, False, argnums, has_aux, engine, numerics, checkpoint, out)


@Transform
def value_and_grad(
    f: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, engine: str | None = None,
    numerics: str = "auto", checkpoint: bool = False, out: bool = False,
) -> _Gradient:  # fmt: skip
    """The value and the gradient of a function, as `grad`, in one pass. With has_aux: ((value, aux), gradient).

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return _memoise(f, True, argnums, has_aux, engine, numerics, checkpoint, out)


def elementwise_grad(f: Function, argnum: int = 0, *, engine: str | None = None) -> Function:
    """The derivative of every element of f(x) with respect to the same element of x, for an elementwise f.

    It is the gradient of the sum of the elements of f(x). This is the elementwise derivative only if no element of the
    result depends on another element of x.

    Cost:    one evaluation of f on variables and one sweep.

    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    positions("elementwise_grad", argnum)
    engine_class(engine, "elementwise_grad")  # refuses an unknown one
    return grad(_total_of(f), argnum, engine=engine)


def _total_of(f: Function) -> Function:
    """The sum of the elements of a function."""
    run = UserFunction("elementwise_grad", f).runnable()

    @functools.wraps(f, updated=())
    def total(*args: Nested, **kwargs: Nested) -> Nested:
        return np.sum(run(*args, **kwargs))

    return Transformed(total, _total_of, f)


def vjp(f: Function, *primals: Nested, has_aux: bool = False, engine: str | None = None) -> tuple[Any, ...]:
    """The value of f at primals, and its pullback: cotangent of the result -> tuple of cotangents of the primals.

    x_bar = J^T z_bar. The pullback may be called repeatedly, on the thread that made it. With has_aux the result is
    (value, pullback, aux).

    >>> value, pullback = vjp(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> value, pullback((1.0, 10.0))
    ((6.0, 5.0), (13.0, 12.0))
    """
    function = UserFunction("vjp", f)
    what = f"vjp: {function.name}"
    if function.takes_compiled(engine) and not has_aux:
        found = call_compiled_vjp(function, primals, what, pullback_of(function.dispatcher, engine))
        if found is not None:
            return found
    run = function.runnable()
    try:
        recorded = Recorded(run, primals, what, engine_class(engine), has_aux)
    except LibraryArrayError as error:
        if engine is not None:
            raise
        forget(error)
        recorded = Recorded(run, primals, what, engine_class(ARRAYS), has_aux)

    def find(found: Nested, z_bar: Nested) -> Nested:
        return find_lost(
            found, recorded.value, run, what, range(len(primals)), recorded.primals, {}, False, has_aux, z_bar
        )

    pullback = recorded.pullback(find)
    return (recorded.value, pullback, recorded.aux) if has_aux else (recorded.value, pullback)


def pullback_of(f: Function, engine: str | None = None) -> Any:
    """The compiled pullback of a Numba function: (primals, cotangent) -> cotangents."""
    return pair_of(f, "vjp", _pull_back, engine)


def _pull_back(f: Function, primals: Sequence[Nested], cotangent: Nested) -> Nested:
    return vjp(f, *primals)[1](cotangent)


def _jvp_of(f: Function, several: bool = False, count: int = 1) -> Any:
    """The compiled jvp(primals, tangents) of a Numba function.

    For a gradient it is (x, x_dot) -> its tangent; for one of several arguments (*primals, tangents) -> (its tangent,).
    """
    if several:
        return pair_of(f, "jvps", functools.partial(jvp, several=True))
    if not is_first_gradient(f):
        return pair_of(f, "jvp", jvp)
    function = UserFunction("jvp", f)
    what = f"jvp: {function.name}"
    if count == 1:
        return product_along(f, lambda: lambda x, x_dot: _push_forward(function, (x,), (x_dot,), what)[1])

    def tangent(*args: Nested) -> Nested:
        return (_push_forward(function, args[:-1], args[-1], what)[1],)

    return product_along(f, lambda: tangent, count)


@functools.partial(Transform, made_for=_jvp_of)
def jvp(
    f: Function, primals: Sequence[Nested], tangents: Sequence[Nested], *, has_aux: bool = False, several: bool = False
) -> tuple[Nested, ...]:
    """The value of f at primals, and its directional derivative along tangents: z_dot = J x_dot, by forward mode.

    With `several` every tangent has a leading axis with one entry for each direction, and so has z_dot. The value is
    computed once for all directions, for a Numba function once for four. In compiled code, write it as several=True.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.5))
    (6.0, 4.0)
    >>> jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.eye(2),), several=True)[1]
    array([[2., 0.],
           [0., 4.]])
    """
    function = UserFunction("jvp", f)
    what = f"jvp: {function.name}"
    if (
        not isinstance(primals, (tuple, list))
        or not isinstance(tangents, (tuple, list))
        or len(primals) != len(tangents)
    ):
        raise TypeError(
            f"{what}: primals and tangents must be tuples of one length, one entry per argument of f: {form_of('jvp')}"
        )
    if not several and on_library(None, primals):
        return push_forward(function.runnable(), primals, tangents, what, has_aux)
    if function.dispatcher is not None and not has_aux:
        if several:
            _require_leading_axes(primals, tangents, what)
        try:
            return _jvp_of(function.dispatcher, several)(tuple(primals), tuple(tangents))
        except (TypeError, UnsupportedError) as error:
            require_no_counts(primals, what, "contad.jvp(lambda x: f(x, n), (x,), (x_dot,))", error)
            raise
    if is_first_gradient(f) and not (has_aux or several):
        gradient: Any = f
        value, product = gradient(*primals), _jvp_of(f, count=len(primals))
        bound = inspect.signature(gradient.f.py_func).bind(*primals)
        bound.apply_defaults()
        every = *bound.args, *bound.kwargs.values()
        return value, product(*every, *tangents) if len(primals) == 1 else product(*every, tuple(tangents))[0]
    return _push_forward(function, primals, tangents, what, has_aux, several)


def _push_forward(
    function: UserFunction, primals: Sequence[Nested], tangents: Sequence[Nested], what: str,
    has_aux: bool = False, several: bool = False,
) -> tuple[Nested, ...]:  # fmt: skip
    """The value and the tangent by running the function on duals."""
    run = function.runnable()
    primals = set_apart(what, tuple(primals))
    pairs = [_tangent_pairs(x, x_dot, what) for x, x_dot in zip(primals, tangents, strict=True)]
    lead: tuple[int, ...] = ()
    if several:
        lead = next((getattr(x_dot, "shape", ())[:1] for tree in pairs for _, x_dot in tree.leaves), ())
        if not lead or not lead[0]:
            raise TypeError(f"{what}: with several=True every tangent must be an array with a leading axis")
    with forward_level(lead[0] if lead else None) as level:
        active = []
        for n, tree in enumerate(pairs):
            leaves = []
            for leaf, leaf_dot in tree.leaves:
                if leaf.__class__ is float and leaf_dot.__class__ is float and not lead:
                    leaves.append(level.make_active(leaf, leaf_dot, what))
                    continue
                shape = lead + getattr(leaf, "shape", ())
                if getattr(leaf_dot, "shape", ()) != shape:
                    got = getattr(leaf_dot, "shape", ())
                    raise TypeError(f"{what}: tangent {n} must have its primal's shape, {shape}, got {got}")
                x_dot = plain_leaf(what, f"tangent {n}", leaf_dot)
                leaves.append(level.make_active(leaf, x_dot, f"{what}, argument {n}"))
            active.append(tree.unflatten(leaves))
        if OVERLAPPING:
            hand_on_marks(primals, active)
        y, aux = split_aux(run(*active), has_aux, what)
        result = flatten(y)
        leaves = output_leaves(result, what, level)
        value = result.unflatten([lower(leaf, level) for leaf in leaves])
        z_dot = result.unflatten([level.tangent_of(leaf) for leaf in leaves])
        return (value, z_dot, lower(aux, level)) if has_aux else (value, z_dot)


def _require_leading_axes(primals: Sequence[Nested], tangents: Sequence[Nested], what: str) -> None:
    """Refuse tangents unless their shapes are one axis of directions followed by the shapes of their primals."""
    pairs = [pair for x, x_dot in zip(primals, tangents, strict=True) for pair in _tangent_pairs(x, x_dot, what).leaves]
    lead = np.shape(pairs[0][1])[:1] if pairs else ()
    if not lead or not lead[0]:
        raise TypeError(f"{what}: with several=True every tangent must be an array with a leading axis")
    for leaf, leaf_dot in pairs:
        shape, got = lead + np.shape(leaf), np.shape(leaf_dot)
        if shape != got:
            raise TypeError(f"{what}: a tangent must have its primal's shape, {shape}, got {got}")


def _tangent_pairs(primal: Nested, tangent: Nested, what: str) -> Tree:
    """The leaves of a primal, paired with those of its tangent."""
    if primal.__class__ is float and tangent.__class__ is float:  # the usual argument of functions of numbers
        return Tree([(primal, tangent)], None)
    x, x_dot = flatten(primal), flatten(tangent)
    if not x.matches(x_dot):
        raise TypeError(f"{what}: tangents must have the structure of primals, {x.describe()}; got {x_dot.describe()}")
    return Tree(list(zip(x.leaves, x_dot.leaves, strict=True)), x.spec, x.dtypes)


def derivative(f: Function, argnum: int = 0) -> Function:
    """The derivative of a function with respect to one number, by forward mode; f may return any pytree of numbers.

    By a complex number it is that of a holomorphic function.

    Raises:  NotHolomorphicError where the equations of Cauchy and Riemann fail; see `jacobian`.

    >>> derivative(lambda x: x * x * x)(2.0)
    12.0
    >>> derivative(lambda z: z * z * z)(2.0j)
    (-12+0j)
    """

    function = UserFunction("derivative", f)
    if not isinstance(argnum, int):
        raise TypeError(
            f"derivative: argnum must be one argument's position, got {argnum!r}; for more use jvp; the arguments of f "
            f"follow: {form_of('derivative')}"
        )
    positions("derivative", argnum)
    what = f"derivative: {function.name}"
    dispatcher = function.dispatcher
    run = function.runnable() if dispatcher is None else f
    forward = functools.partial(along, jvp, argnum)

    def derivative_of_f(*args: Nested, **kwargs: Nested) -> Nested:
        args, kwargs = positional(run, what, (argnum,), args, kwargs)
        if is_complex(args[argnum]) and np.ndim(args[argnum]) == 0:
            if dispatcher is not None:
                return jacfwd(dispatcher, argnum, holomorphic=True)(*args, **kwargs)
            return by_columns(run, what, (argnum,), args, kwargs, True, holomorphic=True)
        require_number(args[argnum], f"{what}, argument {argnum}")
        if dispatcher is not None:
            args = inspect.signature(run).bind(*args, **kwargs).args
            return pair_of(dispatcher, "jvp", forward, argnums=(argnum,))(args, (1.0,))[1]
        return forward(functools.partial(run, **kwargs) if kwargs else run, args, (1.0,))[1]

    return Transformed(derivative_of_f, derivative, f, argnum)


def describe_result(value: bool, has_aux: bool) -> str:
    """The description of a gradient's result."""
    if value:
        return "((value, aux), gradient)" if has_aux else "(value, gradient)"
    return "(gradient, aux)" if has_aux else "gradient"


# ---- shared parts ----------------------------------------------------------------------------------------------------
def _memoise(
    f: Function, value: bool, argnums: int | tuple[int, ...], has_aux: bool, engine: str | None, numerics: str,
    checkpoint: bool, out: bool,
) -> _Gradient:  # fmt: skip
    """The gradient object of f, kept in an attribute of f so that it dies with it."""
    made: tuple[Any, dict[Any, Any]] = getattr(f, "__contad__", (None, {}))
    if made[0] is f and argnums.__class__ is int and out.__class__ is bool:  # the usual case
        precision = PRECISION.keeps, PRECISION.accumulate
        found = made[1].get((value, True, (argnums,), has_aux, engine, numerics, checkpoint, out, precision))
        if found is not None:
            return found
    transform: Any = value_and_grad if value else grad
    name = transform.function.__name__
    function = UserFunction(name, f)
    require_numerics(name, numerics)
    require_flag(name, checkpoint)
    require_flag(name, out, "out")
    if out and has_aux:
        raise UnsupportedError(f"{name}: out=True is taken without has_aux")
    numbers, single = positions(name, argnums), isinstance(argnums, int)
    precision = PRECISION.keeps, PRECISION.accumulate
    key: Any = (value, single, numbers, has_aux, engine, numerics, checkpoint, out, precision)
    eager = functools.partial(WrittenGradient if out else _Gradient, function, numbers, single, has_aux, value=value)
    if not value and not has_aux and not out and is_repeatable(f, engine):
        return gradient_of_gradient(f, argnums, (transform, {"argnums": argnums}), functools.partial(eager, None))
    memo = function.memo
    if key not in memo:
        if function.takes_compiled(engine):
            options = {"argnums": argnums, "has_aux": has_aux, "engine": engine, "numerics": numerics}
            options |= {"checkpoint": checkpoint, "out": out}
            memo[key] = gradient_of(function, transform, options, functools.partial(eager, None))
        else:
            memo[key] = eager(engine)
    return memo[key]
