"""Bayesian models: Stan's parameters and a log density of named values, as functions of unconstrained numbers."""

import ast
import contextlib
import inspect
import math
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from contad.distributions.faces import as_operand
from contad.errors import REJECTIONS, StaleSourceError, UnsupportedError
from contad.front.user_function import UserFunction, primitive_of
from contad.functions.transformed import reference, remade
from contad.numba_functions.writes import may_write_arrays
from contad.rules.definition import definition_of
from contad.stan.declarations import python_name, read_parameters
from contad.stan.model_text import ModelText
from contad.stan.modes import NormalApproximation, Optimum, approximate_at_mode, find_mode, follow_path
from contad.stan.transforms import Constraint
from contad.transforms.compiled_code import cfunc
from contad.transforms.gradients import value_and_grad
from contad.transforms.hessians import hessian, hvp
from contad.transforms.jacobians import is_array
from contad.variables.arguments import fail, require_callable
from contad.variables.open_types import ArrayValue, Function, Nested, Options, Value
from contad.variables.trees import scalar_output

ARRAY, FLOAT = np.ndarray, np.dtype(np.float64)
RESERVED = {"propto", "rng"}  # arguments that the model gives to functions of the user


class _Functions(NamedTuple):
    """The log density of (u, jacobian, *given), its derivatives, and the function for variables."""

    function: Function
    gradient: Function
    hessian: Function
    product: Function
    on_variables: Function


class Model:
    """A Bayesian model: parameters as Stan declares them, and the log density of their values and of data.

    parameters             Stan's `parameters` block as text, or a dict of constraints, in the order of declaration
    log_density            a plain or Numba function; its arguments are names of parameters and of data, in any order
    generated_quantities   a function of such names that returns a dict; an argument `rng` is a random generator
    stan_version           before "2.37" simplices break sticks; since then they are isometric log-ratios
    data                   numbers, arrays and nested lists, as in Stan's `data` block

    Sizes and bounds in the text are expressions of data and of parameters declared before; they may call functions of
    the module of log_density. The constraints of a dict are those of `contad.stan.transforms`: `real()`,
    `lower_bound(0.0, 8)`, `simplex(3).array(5)`. A bound may be a function of a namespace p of data and earlier
    parameters: `lower_upper_bound(0.0, lambda p: 1.0 - p.alpha1)`. Unconstrained numbers are in Stan's order, in which
    columns fill matrices. A name that Python reserves, such as `lambda`, is the argument `lambda_`. No name is `propto`
    or `rng`, or begins with `_`. Data are copied.

    If log_density is a Numba function, it is compiled with all constraints and Jacobians as one function, and so is its
    gradient. A plain function runs as it is. `function` is that function of (u, jacobian, *given), where `given` are
    the data, with propto=True; `contad.grad` and the other transforms take it.

    Methods take the unconstrained numbers u as a vector of length `dimension`; `names` and `shapes` are those of the
    parameters. BridgeStan's methods have its names.

    >>> import numba
    >>> from contad import stan
    >>> @numba.njit
    ... def log_density(y, sigma, mu, tau, theta):
    ...     prior = stan.normal_lpdf(mu, 0.0, 5.0) + stan.cauchy_lpdf(tau, 0.0, 5.0)
    ...     return prior + stan.normal_lpdf(theta, mu, tau) + stan.normal_lpdf(y, theta, sigma)
    >>> schools = Model(
    ...     "real mu; real<lower=0> tau; vector[J] theta;", log_density, J=3, y=[28, 8, -3], sigma=[15, 10, 16])
    >>> schools
    <contad.stan.Model of log_density: 5 numbers (mu, tau, theta[3])>
    >>> value, gradient = schools.log_density_gradient(np.zeros(5))
    >>> round(value, 6), gradient.round(3)
    (-20.698421, array([ 0.   , -2.077,  0.124,  0.08 , -0.012]))
    >>> schools.constrain(np.zeros(5))
    {'mu': 0.0, 'tau': 1.0, 'theta': array([0., 0., 0.])}
    """

    def __init__(
        self, parameters: str | Mapping[str, Constraint], log_density: Function, /, *,
        generated_quantities: Function | None = None, stan_version: str = "2.37", **data: Nested,
    ) -> None:  # fmt: skip
        require_callable("Model", "log_density", log_density)
        if not isinstance(stan_version, str) or not re.fullmatch(r"\d+\.\d+(\.\d+)?(-rc\d+)?", stan_version):
            fail("Model", "stan_version", 'be a version of Stan, such as "2.37"', repr(stan_version))
        self.data = {name: _as_data(name, x) for name, x in data.items()}
        self._made_of = parameters, log_density, generated_quantities, stan_version, self.data
        density = UserFunction("Model", log_density)
        beside = getattr(getattr(density.f, "py_func", density.f), "__globals__", {})
        read = read_parameters(parameters, self.data, beside) if isinstance(parameters, str) else dict(parameters)
        for name in (*read, *self.data):
            if name in RESERVED or name.startswith("_"):
                fail("Model", name, "have another name: propto, rng and names that begin with _ are reserved", name)
        for name, c in read.items():
            if not isinstance(c, Constraint):
                fail("Model", name, "be a constraint, such as real() or lower_bound(0.0)", repr(c), TypeError)
        self.parameters = {name: c.ordered_by("F").of_version(stan_version) for name, c in read.items()}
        self.dimension = sum(c.size for c in self.parameters.values())
        self.names, self.shapes = list(self.parameters), {name: c.shape for name, c in self.parameters.items()}
        self.is_compiled, self._name = density.dispatcher is not None, density.name
        self._home, self._generate = density.f.__module__, generated_quantities
        self._has_propto = "propto" in self._arguments_of(density.f, "propto")
        self._held: dict[tuple[bool, bool], Any] = {}
        self._in_python = ModelText(self.parameters, self.data, is_compiled=False)
        self._constrain = self._write_constrain()
        self._density, self._versions = density, dict[bool, _Functions]()
        self.function, self._gradient, *_ = self._functions(propto=True)
        self._usual = (True, *self.given)

    # ---- the functions -----------------------------------------------------------------------------------------------
    def _functions(self, propto: bool) -> "_Functions":
        """The functions for one value of `propto`; without such an argument of the density both are the same.

        The value is a constant in the text, so compiled code has no branch for it.
        """
        key = bool(propto) or not self._has_propto
        if key not in self._versions:
            function = self._write_density(self._density, key)
            plain = primitive_of(function) if self.is_compiled else function
            derivatives = value_and_grad(function), hessian(function), hvp(function, vector=1)
            self._versions[key] = _Functions(function, *derivatives, plain)
        return self._versions[key]

    def _write_density(self, density: UserFunction, propto: bool) -> Function:
        """The log density of u."""
        is_known = self.is_compiled or isinstance(density.f, FunctionType)
        writes = not is_known or may_write_arrays(density.f)
        copies = not self.is_compiled or writes  # u belongs to the caller
        text = ModelText(self.parameters, self.data, self.is_compiled, copies)
        names = self._arguments_of(density.f, "propto")
        if "propto" in names:
            names["propto"] = re.sub("propto$", str(propto), names["propto"])
        deciding = _list_deciding(density.f) if self.is_compiled else set()
        constants = {name for name in deciding & names.keys() if isinstance(text.data.get(name), int)}
        names |= {name: re.sub(rf"\b{name}$", str(text.data[name]), names[name]) for name in constants}
        text.given |= {name: text.data[name] for name in names if name in text.data and name not in constants}
        if writes:  # the data belong to the model
            arrays = {name for name in names if np.ndim(text.data.get(name, 0))}
            names |= {name: f"{names[name]}.copy()" for name in arrays}
        statements = [
            *self._begin(text.size), *text.statements, f"_value = _log_density({', '.join(names.values())})",
            "return _value + _logs if _jacobian else _value",
        ]  # fmt: skip
        run = density.f if self.is_compiled else density.runnable()
        function: Any = text.make("log_density", ["_u", "_jacobian"], statements, self._home, _log_density=run)
        self.given = tuple(text.given.values())
        if self.is_compiled:
            import numba

            function = numba.njit(function)
        return function

    def _begin(self, size: int) -> list[str]:
        """The first statements; a size that is a value has no number in them."""
        wrong = f"Model: u must have {size if str(size).isdigit() else 'dimension'} elements"
        return [f"if len(_u) != {size}:", f"    raise ValueError({wrong!r})", "_logs = 0.0"]

    def _write_constrain(self) -> Function:
        values = "".join(f"{python_name(name)}, " for name in self.names)
        statements = [*self._begin(self.dimension), *self._in_python.statements, f"return ({values})"]
        return self._in_python.make("constrain", ["_u"], statements, __name__)

    def _arguments_of(self, function: Function, more: str) -> dict[str, str]:
        """The arguments that a function takes from the model, as a call writes them; others have defaults."""
        known = {python_name(name) for name in (*self.names, *self.data)} | {more}
        found: dict[str, str] = {}
        left_out = False
        for name, x in inspect.signature(getattr(function, "py_func", function)).parameters.items():
            if name in known:
                found[name] = f"{name}={name}" if left_out or x.kind is x.KEYWORD_ONLY else name
            elif x.default is x.empty:
                there = ", ".join(sorted(known - {more}))
                fail("Model", "log_density", f"have arguments that are parameters or data ({there})", name, TypeError)
            else:
                left_out = True
        return found

    def __repr__(self) -> str:
        parts = [f"{name}{list(shape) if shape else ''}".replace(" ", "") for name, shape in self.shapes.items()]
        return f"<contad.stan.Model of {self._name}: {self.dimension} numbers ({', '.join(parts)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        parameters, log_density, generated, version, data = self._made_of
        options = {"stan_version": version, **data}
        return _remade, (parameters, reference(log_density), generated and reference(generated), options)

    # ---- values ------------------------------------------------------------------------------------------------------
    def constrain(self, u: Nested) -> dict[str, Any]:
        """The values of the parameters by name; u may have leading axes, like the draws of a sampler."""
        points = u if is_array(u) else np.asarray(u, dtype=np.float64)
        if points.ndim != 1:
            given, leading = self._in_python.given.values(), points.shape[:-1]
            found = [self._constrain(point, *given) for point in self._rows("Model.constrain", points)]
            return {
                name: np.reshape([values[k] for values in found], leading + self.shapes[name])
                for k, name in enumerate(self.names)
            }
        found = self._constrain(points, *self._in_python.given.values())
        return {name: float(x) if isinstance(x, np.floating) else x for name, x in zip(self.names, found, strict=True)}

    def _rows(self, method: str, points: Any) -> Any:
        """The vectors along the last axis, one after the other."""
        if not points.ndim or points.shape[-1] != self.dimension:
            fail(method, "u", f"have a last axis of length {self.dimension}", f"shape {points.shape}")
        return points.reshape((math.prod(points.shape[:-1]), self.dimension))

    def unconstrain(self, values: Mapping[str, Nested]) -> ArrayValue:
        """The unconstrained numbers of values by name: the inverse of `constrain`.

        Raises:  ValueError if a parameter is missing, has another shape or violates its constraint.
        """
        known, parts = dict(self._in_python.given), []
        for name, c in self.parameters.items():
            if name not in values:
                fail("Model.unconstrain", "values", f"have all parameters ({', '.join(self.names)})", f"no {name}")
            value = as_operand(values[name])
            if np.shape(value) != c.shape:
                fail("Model.unconstrain", name, f"have shape {c.shape}", f"shape {np.shape(value)}")
            known[python_name(name)] = value
            try:
                exec("\n".join(self._in_python.write_inverse(name, c)), self._in_python.known, known)
            except ValueError as error:
                raise ValueError(f"Model.unconstrain: {name} must {c.expected}") from error
            parts.append(known["_u"])
        return np.concatenate(parts) if parts else np.zeros(0)

    def draw_initial_values(self, seed: Any = None, radius: float = 2.0) -> ArrayValue:
        """Unconstrained numbers between -radius and radius where the log density and its gradient are finite.

        Raises:  ValueError if 100 draws have no such point, as in Stan.
        """
        rng = np.random.default_rng(seed)
        for _ in range(100):
            u = rng.uniform(-radius, radius, self.dimension)
            with contextlib.suppress(*REJECTIONS):
                value, gradient = self.log_density_gradient(u)
                if math.isfinite(value) and np.all(np.isfinite(gradient)):
                    return u
        raise ValueError(f"Model: 100 draws between -{radius} and {radius} have no finite log density and gradient")

    def generated_quantities(self, u: Nested, seed: Any = None) -> dict[str, Any]:
        """What `generated_quantities` returns for unconstrained numbers; with leading axes, arrays of it.

        `seed` is a seed or a random generator.
        """
        if self._generate is None:
            fail("Model", "generated_quantities", "be a function that returns a dict", "None")
        points = np.asarray(u, dtype=np.float64)
        if points.ndim > 1:
            rng = np.random.default_rng(seed)
            rows = self._rows("Model.generated_quantities", points)
            found = [self.generated_quantities(point, rng) for point in rows]
            if not found:
                fail("Model.generated_quantities", "u", "have a draw or more", f"shape {points.shape}")
            return {
                name: np.reshape([x[name] for x in found], points.shape[:-1] + np.shape(first))
                for name, first in found[0].items()
            }
        data = {name: np.copy(x) if np.ndim(x) else x for name, x in self.data.items()}  # they belong to the model
        known = {python_name(name): x for name, x in {**data, **self.constrain(points)}.items()}
        known["rng"] = np.random.default_rng(seed)
        names = self._arguments_of(self._generate, "rng")
        return dict(self._generate(**{name: known[name] for name in names}))

    def quantities(self, u: Nested, seed: Any = None) -> dict[str, Any]:
        """The values of the parameters, and the generated quantities if there are any, by name."""
        return self.constrain(u) | ({} if self._generate is None else self.generated_quantities(u, seed))

    # ---- the log density and its derivatives -------------------------------------------------------------------------
    def _as_point(self, u: Any, name: str = "u") -> Any:
        """A vector as compiled code takes it; variables as they are."""
        if u.__class__ is ARRAY and u.dtype is FLOAT and u.ndim == 1:
            return u
        expected = f"be a vector of {self.dimension} numbers"
        if np.iscomplexobj(u):
            fail("Model", name, expected, f"complex numbers of shape {np.shape(u)}")
        point = u if is_array(u) and not isinstance(u, np.ndarray) else np.asarray(u, dtype=np.float64)
        if point.ndim != 1:
            fail("Model", name, expected, f"shape {point.shape}")
        return point

    def log_density(self, u: ArrayValue, *, propto: bool = True, jacobian: bool = True) -> Value:
        """The log density at unconstrained numbers, with the log-Jacobian of the constraints unless it is left out.

        propto   passed on to a log density with such an argument, for densities that then leave out their constants
        """
        point = self._as_point(u)
        found = self._functions(propto)
        if point.__class__ is not ARRAY:
            return found.on_variables(point, bool(jacobian), *self.given)
        return scalar_output(found.function(point, bool(jacobian), *self.given), f"Model: {self._name}")

    def log_density_gradient(
        self, u: ArrayValue, *, propto: bool = True, jacobian: bool = True
    ) -> tuple[float, ArrayValue]:
        """The log density and its gradient."""
        if u.__class__ is ARRAY and u.dtype is FLOAT and u.ndim == 1 and jacobian is True and propto is True:
            return self._gradient(u, *self._usual)  # most often
        return self._functions(propto).gradient(self._as_point(u), bool(jacobian), *self.given)

    def log_density_hessian(
        self, u: ArrayValue, *, propto: bool = True, jacobian: bool = True
    ) -> tuple[float, ArrayValue, ArrayValue]:
        """The log density, its gradient and its Hessian."""
        found, arguments = self._functions(propto), (self._as_point(u), bool(jacobian), *self.given)
        return *found.gradient(*arguments), found.hessian(*arguments)

    def hvp(self, u: ArrayValue, v: ArrayValue, *, propto: bool = True, jacobian: bool = True) -> ArrayValue:
        """The Hessian times v."""
        product = self._functions(propto).product
        return product(self._as_point(u), self._as_point(v, "v"), bool(jacobian), *self.given)

    def compiled_log_density(self, *, propto: bool = True, jacobian: bool = True) -> Any:
        """The log density as a Numba function of the unconstrained numbers alone, which holds the data."""
        if not self.is_compiled:
            raise UnsupportedError("Model: compiled code can only call a log density made by numba.njit")
        key = bool(jacobian), bool(propto)
        if key not in self._held:
            import numba

            run = self._functions(propto).function
            given = dict(zip((f"_{k}" for k in range(len(self.given))), self.given, strict=True))
            call = ", ".join(["_u", str(key[0]), *given])
            text = ModelText({}, {}, True)
            made = text.make("log_density", ["_u"], [f"return _run({call})"], self._home, _run=run, **given)
            self._held[key] = numba.njit(made)
        return self._held[key]

    def cfunc(self, signature: str = "contad", *, propto: bool = True, jacobian: bool = True) -> Any:
        """The log density and its gradient with C's calling convention: see `contad.cfunc`."""
        if signature == "bridgestan" and not jacobian:
            fail("Model.cfunc", "jacobian", "be true for this signature, whose callers ask for it", repr(jacobian))
        return cfunc(self.compiled_log_density(propto=propto, jacobian=jacobian), self.dimension, signature)

    # ---- modes and approximations ------------------------------------------------------------------------------------
    def optimize(
        self, start: Any = None, *, seed: Any = None, jacobian: bool = False, tolerance: float = 1e-10,
        max_steps: int = 2000, require_converged: bool = True,
    ) -> Optimum:  # fmt: skip
        """The values of greatest log density, by L-BFGS: Stan's optimisation.

            theta = argmax p(theta);     with jacobian=True: u = argmax p(theta(u)) |det d theta / d u|

        start       values by name, or unconstrained numbers; without it `draw_initial_values(seed)`
        jacobian    False for the penalised likelihood estimate of the parameters, True for the mode in u
        tolerance   of the gain in log density, gradient^T H gradient / 2, that L-BFGS's H predicts

        The result has `values` by name, `u`, `log_density`, `converged`, `message` and `steps`. A point that the
        density rejects by a ValueError, or where it is not finite, is not taken.

        Raises:  RuntimeError if it has not converged, unless require_converged is False; ValueError if the log density
                 at start is not finite.
        Cost:    a value and a gradient or two for each step.
        Ref:     Stan's optimize; Nocedal & Wright (2006), section 7.2; Lewis & Overton (2013), for the line search.

        >>> from contad import stan
        >>> model = Model("real<lower=0> s;", lambda s, y: stan.normal_lpdf(y, 0.0, s), y=[1.0, -2.0, 2.0])
        >>> mode = model.optimize({"s": 1.0})
        >>> round(mode.values["s"] ** 2, 6), mode.converged
        (3.0, True)
        """
        return find_mode(self, start, seed, jacobian, tolerance, max_steps, require_converged)

    def laplace(self, mode: Any = None, *, seed: Any = None, jacobian: bool = True) -> NormalApproximation:
        """The normal approximation of the unconstrained numbers at the mode: Stan's Laplace approximation.

            u ~ normal(mode, (-Hessian)^-1)

        mode   the result of `optimize` with the same `jacobian`, or its values or u; without it, it is searched

        The result has `u`, `covariance`, `values`, and `draw(n, seed)`, whose result has `u`, `values` by name, the log
        densities `log_p` of the model and `log_q` of the approximation (with its constants, which Stan leaves out),
        and `weights` for importance sampling.

        Raises:  SingularPointError if the Hessian is not negative definite; ValueError for a mode of another density.
        Cost:    a Hessian, O(dimension^3).
        Ref:     Stan's laplace; Gelman et al. (2013), Bayesian Data Analysis, section 4.1.

        >>> model = Model("vector[2] x;", lambda x: -2.0 * x[0] ** 2 - 0.5 * (x[1] - x[0]) ** 2)
        >>> model.laplace(seed=1).covariance
        array([[0.25, 0.25],
               [0.25, 1.25]])
        >>> model.laplace(seed=1).draw(5, seed=2).values["x"].shape
        (5, 2)
        """
        return approximate_at_mode(self, mode, seed, jacobian)

    def pathfinder(
        self, start: Any = None, *, seed: Any = None, elbo_draws: int = 10, max_steps: int = 1000
    ) -> NormalApproximation:  # fmt: skip
        """A normal approximation on the way to the mode, for the first points of samplers: Pathfinder with one path.

        Each point of L-BFGS has a normal approximation whose covariance is a diagonal plus a matrix of low rank. The
        result is the one with the greatest ELBO, the mean of log_p - log_q over some draws, and has the methods of that
        of `laplace`. It needs no Hessian, and no mode: the density of a hierarchical model may be unbounded.

        Raises:  ValueError as `optimize`; RuntimeError if the model accepts no draws of any approximation.
        Cost:    for each point some gradients, elbo_draws values, and O(dimension).
        Ref:     Zhang, Carpenter, Gelman & Vehtari (2022), JMLR 23(306).

        >>> model = Model("vector[2] x;", lambda x: -2.0 * x[0] ** 2 - 0.5 * (x[1] - x[0]) ** 2)
        >>> model.pathfinder(seed=1).draw(4, seed=2).u.shape
        (4, 2)
        """
        return follow_path(self, start, seed, elbo_draws, max_steps)

    # ---- BridgeStan's other names ------------------------------------------------------------------------------------
    def param_num(self) -> int:
        """How many numbers the values of the parameters are."""
        return sum(map(math.prod, self.shapes.values()))

    def param_unc_num(self) -> int:
        """How many unconstrained numbers there are: `dimension`."""
        return self.dimension

    def param_names(self) -> list[str]:
        """The names of the numbers in values of parameters, as in Stan's output: `theta.2.1`, columns first."""
        return [x for name, shape in self.shapes.items() for x in _number(name, shape)]

    def param_unc_names(self) -> list[str]:
        """The names of the unconstrained numbers, in their order: arrays by rows, matrices by columns."""
        names = []
        for name, c in self.parameters.items():
            whole = c.array_shape + c.free_shape
            inner = len(c.free_shape) if c.array_shape or c.order == "F" else len(c.element)
            outer = len(whole) - min(inner, len(whole))
            for k in np.ndindex(whole[:outer]):
                names += _number(".".join([name, *(str(n + 1) for n in k)]), whole[outer:])
        return names

    def param_constrain(self, u: ArrayValue) -> np.ndarray:
        """The values of the parameters as one vector, in the order of `param_names`."""
        values = self.constrain(self._as_point(u)).values()
        return np.concatenate([np.ravel(x, order="F") for x in values]) if values else np.zeros(0)

    def param_unconstrain(self, values: ArrayValue) -> ArrayValue:
        """The unconstrained numbers of such a vector."""
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.shape != (self.param_num(),):
            expected = f"be a vector of {self.param_num()} numbers"
            fail("Model.param_unconstrain", "values", expected, f"shape {numbers.shape}")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()], dtype=np.int64)
        parts = np.split(numbers, ends)[:-1]
        return self.unconstrain({
            name: np.reshape(x, shape, order="F") if shape else float(x[0])
            for (name, shape), x in zip(self.shapes.items(), parts, strict=True)
        })

    def log_density_hessian_vector_product(
        self, u: ArrayValue, v: ArrayValue, *, propto: bool = True, jacobian: bool = True
    ) -> tuple[float, ArrayValue]:
        """The log density, and its Hessian times v."""
        return self.log_density(u, propto=propto, jacobian=jacobian), self.hvp(u, v, propto=propto, jacobian=jacobian)


def _number(name: str, shape: tuple[int, ...]) -> list[str]:
    """The name with each index, counted from 1; the first index runs fastest."""
    return [".".join([name, *(str(k + 1) for k in reversed(place))]) for place in np.ndindex(shape[::-1])]


def _as_data(name: str, x: Nested) -> Any:
    """Data as compiled code takes them: a number, or an array of float64 or int64."""
    found = np.asarray(x)
    if found.dtype.kind not in "biuf":
        got = f"{type(x).__name__} of dtype {found.dtype}"
        fail("Model", name, "be a number, or an array of numbers", got, TypeError)
    if found.ndim == 0:
        return int(found) if found.dtype.kind in "biu" else float(found)
    return np.array(found, dtype=np.float64 if found.dtype.kind == "f" else np.int64, order="C")


def _list_deciding(f: Function) -> set[str]:
    """The names in the conditions of a function: as constants, data among them leave only the branches that run."""
    try:
        tree = definition_of(getattr(f, "py_func", f))[0]
    except (OSError, StaleSourceError):
        return set()
    tests = [x.test for x in ast.walk(tree) if isinstance(x, (ast.If, ast.IfExp))]
    return {x.id for test in tests for x in ast.walk(test) if isinstance(x, ast.Name)}


def _remade(parameters: Any, log_density: Any, generated: Any, options: Options) -> Model:
    return remade(Model, (parameters, log_density), {**options, "generated_quantities": generated})
