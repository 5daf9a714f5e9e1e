"""Flattening: trees of parameters to vectors, and functions of trees to functions of vectors, with their
derivatives."""

import functools
from typing import Any

import numpy as np

from contad.front.user_function import UserFunction
from contad.functions.transformed import reference, remade
from contad.functions.user_call import positions
from contad.transforms.compiled_code import cfunc
from contad.transforms.gradients import grad, value_and_grad
from contad.transforms.hessians import hessian, hvp
from contad.transforms.jacobians import is_array, jacobian, split_last
from contad.transforms.sparse_derivatives import sparse_hessian, sparse_jacobian
from contad.variables.arguments import fail
from contad.variables.complex_pair import is_complex
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, Value
from contad.variables.trees import Tree, flatten, real_leaf


def ravel(tree: Nested) -> tuple[ArrayValue, "Unravel"]:
    """All numbers of a tree in one vector, and the function that rebuilds the tree from such a vector.

    A tree is a number, an array, or a list, tuple, dict or other optree container of trees. Both directions can be
    differentiated. See `Unravel` for names, shapes and leading axes.

    Raises:  UnsupportedError for leaves that are not real numbers or float arrays, and for a tree without leaves.
    Cost:    copies of the leaves.

    >>> vector, unravel = ravel({"rate": 0.5, "weights": np.array([1.0, 2.0])})
    >>> vector
    array([0.5, 1. , 2. ])
    >>> unravel(2.0 * vector)
    {'rate': 1.0, 'weights': array([2., 4.])}
    >>> unravel.names
    ['rate', 'weights[0]', 'weights[1]']
    """
    return _ravel(tree, "ravel", "tree")


def _ravel(tree: Nested, what: str, name: str) -> tuple[ArrayValue, "Unravel"]:
    """`ravel`, with messages that name another function and its argument."""
    flattened = flatten(tree)
    leaves = [real_leaf(x, what) for x in flattened.leaves]
    if not leaves:
        fail(what, name, "hold real numbers or arrays of them", repr(tree))
    unravel = Unravel(Tree([_empty_like(x) for x in leaves], flattened.spec))
    return _in_a_row(leaves), unravel


class Unravel:
    """The function from vectors to trees that `ravel` returns.

    A vector may have leading axes, like the draws of a sampler; each leaf then has them before its own. `names` names
    the numbers, `shapes` has the shape of each leaf by name, and `size` is the length of a vector.

    Raises:  ValueError if the last axis has another length.

    >>> _, unravel = ravel({"rate": 0.5, "weights": np.array([1.0, 2.0])})
    >>> unravel.shapes
    {'rate': (), 'weights': (2,)}
    >>> draws = unravel(np.zeros((4, 100, 3)))
    >>> draws["rate"].shape, draws["weights"].shape
    ((4, 100), (4, 100, 2))
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        shapes = [x.shape if is_array(x) else () for x in tree.leaves]
        leaf_names = _names_of(tree)
        self.shapes: dict[str, tuple[int, ...]] = dict(zip(leaf_names, shapes, strict=True))
        self.names = [
            name + (f"[{','.join(map(str, k))}]" if k else "")
            for name, shape in self.shapes.items()
            for k in np.ndindex(shape)
        ]
        self.size = len(self.names)

    def __repr__(self) -> str:
        return f"<contad.ravel: unravel {self.size} numbers, {self.tree.describe()}>"

    def __call__(self, vector: ArrayValue) -> Nested:
        v = vector if is_array(vector) else array(vector)
        if not v.ndim or v.shape[-1] != self.size:
            raise ValueError(f"unravel: the last axis of the vector must have length {self.size}, got shape {v.shape}")
        return split_last(v, [self.tree], v.ndim > 1)[0]


def flat(f: Function, example: Nested, *more: Nested, argnums: int | tuple[int, ...] = 0) -> "FlatFunction":
    """f as a function of one vector, with its derivatives, for optimisers and samplers. See `FlatFunction`.

    `example` is the argument at `argnums`, a tree of numbers and arrays; for a tuple of argnums a tuple of trees. The
    other arguments of f follow the vector. For a Numba function of one vector, all derivatives are compiled.

    Raises:  UnsupportedError for leaves of example that are not real numbers or float arrays; TypeError for several
             examples that are not in a tuple.

    >>> model = flat(lambda p, y: np.sum((y - p["mean"]) ** 2) / p["width"], {"mean": 1.0, "width": 2.0})
    >>> model.x0
    array([1., 2.])
    >>> model.grad(model.x0, np.array([2.0, 4.0]))
    array([-4. , -2.5])
    """
    if more:
        places = tuple(range(1 + len(more)))
        raise TypeError(
            f"flat: expected one example, got {1 + len(more)}; for several arguments write "
            f"flat(f, ({', '.join(f'x{k}' for k in places)}), argnums={places}), with their examples"
        )
    return FlatFunction(f, example, argnums)


class FlatFunction:
    """A function of one vector: `f(x, *args)`, from a function of trees.

    x0              the example as a vector
    grad            x, *args -> the gradient, a vector
    value_and_grad  x, *args -> both, in the form of `minimize(jac=True)`
    hess            x, *args -> the Hessian, a matrix
    hessp           x, p, *args -> the Hessian times p, as SciPy's `hessp`
    jac             x, *args -> the Jacobian of an f that returns a vector
    sparse_hess     x, *args -> the Hessian as a sparse array: see `sparse_hessian`
    sparse_jac      x, *args -> the Jacobian as a sparse array: see `sparse_jacobian`
    unravel         a vector, or draws with leading axes -> trees
    names           the names of the numbers of the vector

    `cfunc(signature)` is a function with C's calling convention, where f is a Numba function of one vector.
    """

    def __init__(self, f: Function, example: Nested, argnums: int | tuple[int, ...]) -> None:
        function = UserFunction("flat", f)
        numbers = positions("flat", argnums, "")
        single = isinstance(argnums, int)
        if not single and (not isinstance(example, (tuple, list)) or len(example) != len(numbers)):
            fail("flat", "example", f"be a tuple of {len(numbers)} arguments, as argnums", repr(example))
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self._made_of = example, argnums
        self.x0, self.unravel = _ravel(example if single else tuple(example), "flat", "example")
        self.names = self.unravel.names
        one_vector = numbers == (0,) and single and getattr(example, "ndim", None) == 1 and not is_complex(example)
        self._run = function.f if one_vector else _of_vector(function, self.unravel, numbers, single)
        self.grad = grad(self._run)
        self.value_and_grad = value_and_grad(self._run)
        self.hess = hessian(self._run)
        self.hessp = hvp(self._run, vector=1)
        self.jac = jacobian(self._run)
        self.sparse_hess = sparse_hessian(self._run)
        self.sparse_jac = sparse_jacobian(self._run)

    def __repr__(self) -> str:
        return f"<contad.flat: {self.__name__}, {self.unravel.size} numbers>"  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        example, argnums = self._made_of
        return remade, (flat, (reference(self.f), example), {"argnums": argnums})

    def __call__(self, x: ArrayValue, *args: Nested, **kwargs: Nested) -> Nested:
        """The value of f."""
        return self._run(x, *args, **kwargs)

    def cfunc(self, signature: str = "contad") -> Any:
        """The value and gradient with C's calling convention: see `contad.cfunc`."""
        return cfunc(self._run, self.unravel.size, signature=signature)


def _of_vector(function: UserFunction, unravel: Unravel, numbers: tuple[int, ...], single: bool) -> Function:
    """The function of a vector, followed by the other arguments of f."""
    run = function.runnable()

    @functools.wraps(function.f, updated=())
    def of_vector(x: ArrayValue, *args: Nested, **kwargs: Nested) -> Nested:
        own = unravel(x)
        given = list(args)
        for k, tree in sorted(zip(numbers, (own,) if single else own, strict=True), key=lambda pair: pair[0]):
            if k > len(given):
                raise TypeError(f"flat: {function.name}: expected {k} arguments before argument {k}, got {len(given)}")
            given.insert(k, tree)
        return run(*given, **kwargs)

    del of_vector.__wrapped__  # it has other parameters
    return of_vector


def _in_a_row(leaves: list[Value]) -> ArrayValue:
    parts = [np.reshape(x if is_array(x) else array([x]), (-1,)) for x in leaves]
    return parts[0] * 1.0 if len(parts) == 1 else np.concatenate(parts)


def _empty_like(x: Value) -> Value:
    """The placeholder for a leaf in an Unravel: an array of its shape that takes no memory, or a number."""
    return np.broadcast_to(0.0, x.shape) if is_array(x) else 0.0


def _names_of(tree: Tree) -> list[str]:
    """The names of the leaves: keys and fields, with positions in brackets; x for a single leaf."""
    if tree.spec is None:
        return ["x"]
    names = []
    for accessor in tree.spec.accessors():
        name = ""
        for key in accessor:
            entry = getattr(key, "field", key.entry)  # a field of a named tuple, whose entry is a number
            name += f"[{entry}]" if isinstance(entry, int) else f".{entry}" if name else str(entry)
        names.append(f"x{name}" if name[:1] == "[" else name)
    return names
