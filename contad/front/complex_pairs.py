"""Derivatives of Numba functions with complex arguments or results: engines see each complex number as two real ones.

    f(z)  ->  f of pairs:  def pairs(z): return f(complex(z[0], z[1]))

The gradient of a real function by z = x + i y is dL/dx + i dL/dy, the two gradients of `pairs` put together.
"""

from collections.abc import Sequence

import numba
import numpy as np
from numba import types

from contad.compile.dispatchers import signature_for
from contad.engines import compiled_engine
from contad.errors import UnsupportedError
from contad.front.form import Form
from contad.front.taken_arguments import Argument, overlap_checks
from contad.kernels.complex_arrays import join_parts
from contad.numba_functions.request import PLACE, Request
from contad.numba_functions.writes import may_write_arrays
from contad.rules.compilable import functions_of_text
from contad.variables.open_types import NumbaFunction, NumbaType

_TAKEN = "grad", "value_and_grad", "vjp", "jvp", "hvp"


def holds_complex(t: NumbaType) -> bool:
    """Whether a type is that of a complex number or array, or of a tuple that holds one."""
    t = t.dtype if isinstance(t, types.Array) else t
    return isinstance(t, types.Complex) or (isinstance(t, types.BaseTuple) and any(map(holds_complex, t)))


def type_of_pairs(t: NumbaType) -> NumbaType:
    """The type of the same numbers in pairs.

    Raises UnsupportedError for a named tuple that holds complex numbers.
    """
    if not holds_complex(t):
        return t
    if isinstance(t, types.Array):
        return types.UniTuple(types.Array(types.float64, t.ndim, "C"), 2)
    if isinstance(t, types.Complex):
        return types.UniTuple(types.float64, 2)
    if isinstance(t, types.BaseNamedTuple):
        raise UnsupportedError(f"compiled engines take no named tuples with complex numbers, got {t}; pass a tuple")
    return types.Tuple([type_of_pairs(part) for part in t])


def split(t: NumbaType, expression: str, like: NumbaType | None = None) -> str:
    """The expression of the same numbers in pairs; a real number becomes a pair if it is complex in `like`."""
    like = t if like is None else like
    if not holds_complex(like):
        return expression
    if isinstance(like, types.BaseTuple):
        if not isinstance(t, types.BaseTuple) or len(t) != len(like):
            raise UnsupportedError(f"a tangent or cotangent must have the structure of {like}, got {t}")
        parts = [split(part, f"{expression}[{k}]", other) for k, (part, other) in enumerate(zip(t, like, strict=True))]
        return f"({', '.join(parts)},)"
    if isinstance(like, types.Array):
        if not isinstance(t, types.Array):
            raise UnsupportedError(f"a tangent or cotangent must have the structure of {like}, got {t}")
        real = f"{expression}.real.astype(np.float64)" if holds_complex(t) else f"{expression}.astype(np.float64)"
        imag = f"{expression}.imag.astype(np.float64)" if holds_complex(t) else f"np.zeros({expression}.shape)"
        return f"({real}, {imag})"
    return (
        f"(float({expression}.real), float({expression}.imag))" if holds_complex(t) else f"(float({expression}), 0.0)"
    )


def join(t: NumbaType, expression: str) -> str:
    """The expression of numbers of this type, from pairs."""
    if not holds_complex(t):
        return expression
    if isinstance(t, types.BaseTuple):
        return f"({', '.join(join(part, f'{expression}[{k}]') for k, part in enumerate(t))},)"
    name = "join_parts" if isinstance(t, types.Array) else "complex"
    return f"{name}({expression}[0], {expression}[1])"


class PairedCall:
    """A call of a derivative of f with complex arguments, as one of a function of pairs."""

    def __init__(self, f: NumbaFunction, form: Form, given: Sequence[NumbaType], what: str) -> None:
        """Find the types of the arguments and of the result of f.

        Raises UnsupportedError for forms that complex numbers do not have.
        """
        if form.kind not in _TAKEN or form.out or form.along:
            raise UnsupportedError(
                f"{what}: compiled engines take no complex numbers; differentiate a function of pairs"
            )
        self.f, self.form, self.given, self.what = f, form, [types.unliteral(t) for t in given], what
        self.of_f = list(form.of_f(tuple(self.given)))
        self.of_f = [numba.typeof(t.value) if isinstance(t, types.Omitted) else t for t in self.of_f]
        needs_result = form.is_packed or form.has_aux
        self.returned = self._type_of_result() if needs_result else types.float64
        self.function = self._function_of_pairs()

    @property
    def types(self) -> list[NumbaType]:
        """The types of the arguments in pairs."""
        return [type_of_pairs(t if like is None else like) for t, like in zip(self.given, self._likes(), strict=True)]

    def _likes(self) -> list[NumbaType | None]:
        """For each argument the type that says which numbers are complex, if another argument says so."""
        likes: list[NumbaType | None] = [None] * len(self.given)
        argnums = self.form.argnums or tuple(range(len(self.of_f)))
        if self.form.is_packed:
            differentiated = self.returned[0] if self.form.has_aux else self.returned
            tangents = types.Tuple([self.of_f[k] for k in argnums])
            likes[1] = differentiated if self.form.kind == "vjp" else tangents
        elif self.form.takes_more:
            vector = types.Tuple([self.of_f[k] for k in argnums])
            likes[self.form.vector] = vector[0] if self.form.single else vector
        return likes

    def _type_of_result(self) -> NumbaType:
        kinds = tuple(self.of_f)
        told = compiled_engine("generated").infer
        request = Request(self.f.py_func, self.f, kinds, (), False, "vjp")
        inferred = None if told is None else told(request)
        if inferred is not None:
            return inferred
        found = signature_for(self.f, kinds)
        if found is None:
            raise UnsupportedError(f"{self.what}: its signatures are given, and none fits")
        return found.return_type

    def _function_of_pairs(self) -> NumbaFunction:
        """A Numba function with the parameters of f, in pairs, and its result in pairs."""
        code = self.f.py_func.__code__
        names = code.co_varnames[: code.co_argcount]
        given = [join(t, name) for t, name in zip(self.of_f, names, strict=False)] + list(names[len(self.of_f) :])
        result = split(self.returned, "result")
        text = (
            f"def {code.co_name}({', '.join(names)}):\n    result = function({', '.join(given)})\n    return {result}\n"
        )
        known = {"function": self.f, "join_parts": join_parts, "np": np}
        made = functions_of_text(text, known)[code.co_name]
        made.__defaults__ = self.f.py_func.__defaults__
        made.__dict__[PLACE] = self.f.py_func
        options = {name: x for name, x in self.f.targetoptions.items() if name != "nopython"}
        return numba.njit(**options)(made)

    def body(self, parameters: Sequence[str], lines: list[str]) -> tuple[tuple[str, ...], list[str]]:
        """The parameters and body of the derivative, from those of the derivative of the function of pairs."""
        outer = tuple(f"complex_{name}" for name in parameters)
        start = []
        arguments = [Argument(t, name) for t, name in zip(self.given, outer, strict=True)]
        if may_write_arrays(self.f):
            of_f = arguments[:1] if self.form.is_packed else list(self.form.of_f(tuple(arguments)))
            start += overlap_checks(of_f, self.what)
        for t, like, name, x in zip(self.given, self._likes(), parameters, outer, strict=True):
            start.append(f"{name} = {split(t, x, like)}")
        *rest, last = lines
        return outer, [*start, *rest, f"found = {last.removeprefix('return ')}", f"return {self._joined()}"]

    def _joined(self) -> str:
        """The expression of the result, from `found`, that in pairs."""
        form = self.form
        argnums = form.argnums or tuple(range(len(self.of_f)))
        wanted = types.Tuple([self.of_f[k] for k in argnums])
        gradient = wanted[0] if form.single else wanted
        if form.kind == "jvp":
            value = self.returned[0] if form.has_aux else self.returned
            return f"{join(self.returned, 'found[0]')}, {join(value, 'found[1]')}"
        if form.kind == "vjp":
            return (
                f"{join(self.returned[1], 'found[0]')}, {join(wanted, 'found[1]')}"
                if form.has_aux
                else join(wanted, "found")
            )
        if form.gives_value:
            return f"{join(self.returned, 'found[0]')}, {join(gradient, 'found[1]')}"
        if form.has_aux:
            return f"{join(gradient, 'found[0]')}, {join(self.returned[1], 'found[1]')}"
        return join(gradient, "found")
