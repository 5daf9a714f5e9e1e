"""Derivatives called by a function that the tape differentiates: operations with a backward part.

    z = grad(f)(x, y)            x_bar, y_bar = the gradient of <df/dx, z_bar>, by forward over reverse
    z = hvp(f)(x, v)             x_bar = the gradient of <d2f/dx2 v, z_bar>, v_bar = d2f/dx2 z_bar

Several gradients, and a value beside them, are one operation whose result is a vector of all their numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from contad.compiled_rules.user_rules import holds_derivative
from contad.engines.tape.rule_records import register_user_rule
from contad.errors import UnsupportedError
from contad.front.form import Derived, Form
from contad.rules.compilable import Parts, WithParts
from contad.variables.open_types import Function, Nested, NumbaType


class CalledDerivative(WithParts):
    """A derivative of a function, as an operation on the arguments that have derivatives."""

    def __init__(self, derivative: Derived, parts: Parts) -> None:
        self.name, self.derivative, self.parts = derivative.what, derivative, parts
        self.calls: list[Any] = []

    def __call__(self, *args: Nested) -> Nested:
        """The result, as compiled code computes it; Numba requires a callable."""
        return self.parts.value(*args)

    def functions(self) -> tuple[Function | None, ...]:
        """The derivative stands for all of it."""
        return (self.derivative.f,)

    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The derivative, its point, and the product with derivatives of the next order."""
        return self.parts


class _Texts:
    """The source of arguments: those at `active` have derivatives, and the backward part takes the others first."""

    def __init__(self, derivative: Derived, given: tuple[NumbaType, ...]) -> None:
        self.derivative, self.given = derivative, given
        self.names = [f"x_{k}" for k in range(len(given))]
        self.active = tuple(k for k, t in enumerate(given) if holds_derivative(t))
        self.options = [k for k in range(len(given)) if k not in self.active]

    @property
    def all(self) -> str:
        return ", ".join(self.names)

    @property
    def kept(self) -> str:
        """The data that the forward part saves."""
        return "".join(f"x_{k}, " for k in self.active)

    def in_backward(self, k: int) -> str:
        """An argument in the backward part."""
        return f"saved[{self.active.index(k)}]" if k in self.active else f"x_{k}"

    def other(self, form: Form) -> Derived:
        """Another derivative of the function, by an engine that does not touch the caller's records."""
        return self.derivative.another(form, "generated")

    def parts(self, forward: list[str], backward: list[str], known: dict[str, Any]) -> Parts:
        """The operation; `forward` ends with names `found`, `saved`, `backward` returns cotangents."""
        options = [f"x_{k}" for k in self.options]
        lines = [
            f"def value({self.all}):", *forward, "    return found",
            f"def forward({self.all}):", *forward, "    return found, saved",
            f"def backward({', '.join([*options, 'saved', 'z_bar'])}):", *backward,
        ]  # fmt: skip
        exec("\n".join(lines), known)
        return Parts(njit(known["value"]), njit(known["forward"]), njit(known["backward"]), tuple(self.options))


def _gradient_parts(texts: _Texts) -> Parts:
    """The gradient by one argument."""
    form = texts.derivative.form
    pull = Form("pull", texts.active, True, along=(*form.along, *form.argnums))
    taken = ", ".join(map(texts.in_backward, range(len(texts.given))))
    forward = [f"    found, saved = value_({texts.all}), ({texts.kept})"]
    known = {"value_": texts.other(form), "pull_": texts.other(pull)}
    return texts.parts(forward, [f"    return pull_({taken}, ({'1.0, ' * len(form.along)}z_bar,))"], known)


def _packed_parts(texts: _Texts) -> Parts:
    """The value and the gradients by some arguments, as one vector."""
    argnums = texts.derivative.form.argnums
    both = tuple(dict.fromkeys((*argnums, *texts.active)))
    known: dict[str, Any] = {
        "np": np, "both_": texts.other(Form("value_and_grad", both)),
        "pull_": texts.other(Form("pull", texts.active, along=argnums)),
    }  # fmt: skip
    forward = [
        f"    z, grads = both_({texts.all})",
        f"    found = np.empty(1 + {' + '.join(_size(texts.given[n], f'x_{n}') for n in argnums)})",
        "    found[0] = z",
        "    end = 1",
    ]
    cotangents, places = [], ["    end = 1"]
    for k, n in enumerate(argnums):
        size, is_array = _size(texts.given[n], f"x_{n}"), isinstance(texts.given[n], types.Array)
        found = f"grads[{k}].copy().ravel()" if is_array else f"grads[{k}]"
        forward += [f"    found[end : end + {size}] = {found}", f"    end += {size}"]
        x = texts.in_backward(n)
        size = _size(texts.given[n], x)
        part = f"z_bar[end : end + {size}].reshape({x}.shape)" if is_array else "z_bar[end]"
        places += [f"    bar_{k} = {part}", f"    end += {size}"]
        cotangents.append(f"bar_{k}")
    slopes = "".join(f"grads[{both.index(k)}], " for k in texts.active)
    forward.append(f"    saved = ({texts.kept}{slopes})")
    taken = ", ".join(map(texts.in_backward, range(len(texts.given))))
    count = len(texts.active)
    totals = "".join(f"pulled[{k}] + z_bar[0] * saved[{count + k}], " for k in range(count))
    backward = [*places, f"    pulled = pull_({taken}, ({', '.join(cotangents)},))", f"    return ({totals})"]
    return texts.parts(forward, backward, known)


def _product_parts(texts: _Texts) -> Parts:
    """The product of the Hessian by one argument with a vector."""
    form = texts.derivative.form
    place = form.vector % len(texts.given)
    of_f = [k for k in range(len(texts.given)) if k != place]
    point = ", ".join(map(texts.in_backward, of_f))
    wanted = tuple(of_f.index(k) for k in texts.active if k != place)
    known: dict[str, Any] = {"value_": texts.other(form)}
    backward = []
    if wanted:
        known["pull_"] = texts.other(Form("pull", wanted, True, along=(*form.argnums, *form.argnums)))
        backward.append(f"    pulled = pull_({point}, ({texts.in_backward(place)}, z_bar))")
    ways = {k: f"pulled[{wanted.index(of_f.index(k))}]" for k in texts.active if k != place}
    if place in texts.active:
        known["again_"] = texts.other(form._replace(vector=-1))
        ways[place] = f"again_({point}, z_bar)"
    backward.append(f"    return ({''.join(f'{ways[k]}, ' for k in texts.active)})")
    return texts.parts([f"    found, saved = value_({texts.all}), ({texts.kept})"], backward, known)


def _size(t: NumbaType, text: str) -> str:
    return f"{text}.size" if isinstance(t, types.Array) else "1"


def _unpack(texts: _Texts) -> list[str]:
    """The expression of the result of a call, taken from the vector of all numbers."""
    form = texts.derivative.form
    lines, parts = [f"    found = rule({texts.all})", "    end = 1"], []
    for k, n in enumerate(form.argnums):
        is_array = isinstance(texts.given[n], types.Array)
        size = _size(texts.given[n], f"x_{n}")
        part = f"found[end : end + {size}].reshape(x_{n}.shape)" if is_array else "found[end]"
        lines += [f"    part_{k} = {part}", f"    end += {size}"]
        parts.append(f"part_{k}")
    gradient = parts[0] if form.single else f"({', '.join(parts)},)"
    return [*lines, f"    return {'found[0], ' if form.kind == 'value_and_grad' else ''}{gradient}"]


def _tangent(derivative: Derived, given: tuple[NumbaType, ...]) -> tuple[list[str], dict[str, Any]]:
    """contad.jvp of a function whose value is a number: by its gradients."""
    primals, tangents = given
    count = len(primals)
    form = Form("value_and_grad", tuple(range(count)))
    both = derivative.another(form, derivative.engine)
    terms = (
        f"np.sum(grads[{k}] * x_1[{k}])" if isinstance(t, types.Array) else f"grads[{k}] * x_1[{k}]"
        for k, t in enumerate(tangents)
    )  # fmt: skip
    given_text = ", ".join(f"x_0[{k}]" for k in range(count))
    return [f"    z, grads = both({given_text})", f"    return z, {' + '.join(terms)}"], {"both": both, "np": np}


def compile_call(derivative: Derived, given: tuple[NumbaType, ...]) -> Any:
    """The compile result of a derivative for arguments that include variables of the tape."""
    form = derivative.form
    if form.kind == "jvp" and _are_tuples(given):
        lines, known = _tangent(derivative, given)
    else:
        lines, known = _operation(derivative, given)
    names = ", ".join(f"x_{k}" for k in range(len(given)))
    exec("\n".join([f"def call({names}):", *lines]), known)
    call = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(known["call"])  # Python does not know the variable
    call.compile(given)
    derivative.calls_of_tape.append(call)  # after which Numba forgets its compiled code
    return call.overloads[given]


def _are_tuples(given: tuple[NumbaType, ...]) -> bool:
    """Whether primals and tangents are tuples of numbers and arrays."""
    parts = [list(t) if isinstance(t, types.BaseTuple) else [t] for t in given]
    flat = not any(isinstance(x, types.BaseTuple) for part in parts for x in part)
    return flat and len({len(part) for part in parts}) == 1


def _operation(derivative: Derived, given: tuple[NumbaType, ...]) -> tuple[list[str], dict[str, Any]]:
    """The lines of a call of the derivative as one operation, and the values of their names."""
    form, texts = derivative.form, _Texts(derivative, given)
    make: Callable[[_Texts], Parts] | None = None
    if not form.has_aux and not form.out:
        if form.kind == "grad" and form.single:
            make = _gradient_parts
        elif form.kind in ("grad", "value_and_grad") and not form.along:
            make = _packed_parts
        elif form.kind == "hvp" and form.single and not form.along:
            make = _product_parts
    if make is None:
        raise UnsupportedError(
            f"{derivative.what}: a function that is differentiated may call grad, value_and_grad, hvp and jvp of "
            "functions whose value is a number, without has_aux or out; call one of these, or differentiate in Python"
        )
    wanted = {*texts.active, *form.argnums}
    if any(isinstance(given[k], types.BaseTuple) for k in wanted):
        raise UnsupportedError(
            f"{derivative.what}: a function that is differentiated calls derivatives at numbers and arrays; pass no "
            "tuple"
        )
    key = texts.active if make is not _packed_parts else tuple(map(str, given))
    rule = derivative.called.get(key)
    if rule is None:
        rule = derivative.called[key] = CalledDerivative(derivative, make(texts))
    register_user_rule(rule)
    return _unpack(texts) if make is _packed_parts else [f"    return rule({texts.all})"], {"rule": rule}
