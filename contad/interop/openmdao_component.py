"""A function of NumPy arrays as an explicit component of OpenMDAO, with its partials."""

import itertools
from typing import Any

import numpy as np

from contad.front.user_function import UserFunction, primitive_of
from contad.transforms.on_demand import jacobian, ravel, sparse_jacobian, sparsity
from contad.variables.arguments import fail
from contad.variables.open_types import Function


def as_openmdao(f: Function, outputs: str, *, sparse: Any = False, **inputs: Any) -> Any:
    """An OpenMDAO ExplicitComponent that calls f, a plain or Numba function, with numbers and arrays by their names.

    outputs   the names of f's results, separated by spaces; f returns a number or an array, or a tuple of them
    inputs    an example of each argument: its value at the start, and its shape
    sparse    True to declare only the partials that are in the pattern at the start, which is found by
              `contad.sparsity`; or a pattern, whose rows are all numbers of the outputs, and its columns of the inputs

    Partials come from one Jacobian at each point, a sparse one from a few passes. It is compared with one more product
    with a random vector, so an element outside the pattern is an error: where the pattern depends on the point, pass
    the sum of the patterns at several points.

    Raises:  ValueError if f has more or fewer results than outputs names, and for a pattern of another shape;
             ValueMismatchError for a partial outside the pattern.

    >>> import openmdao.api as om                                                               # doctest: +SKIP
    >>> part = as_openmdao(lambda x, y: (x * y, np.sum(x)), "z total", x=np.ones(3), y=2.0)     # doctest: +SKIP
    >>> om.Problem().model.add_subsystem("part", part, promotes=["*"])                          # doctest: +SKIP
    """
    import openmdao.api as om

    names = outputs.split()
    function = UserFunction("as_openmdao", f)
    run: Any = f if function.dispatcher is None else primitive_of(function.dispatcher)
    start, unravel = ravel({name: np.asarray(x, float) if np.ndim(x) else float(x) for name, x in inputs.items()})

    def results(vector: Any) -> Any:
        z = run(**unravel(vector))
        z = z if isinstance(z, tuple) else (z,)
        if len(z) != len(names):
            fail("as_openmdao", "outputs", f"name the results of {function.name}, {len(z)} in all", repr(outputs))
        return z

    shapes = [np.shape(z) for z in results(start)]
    rows = _slices(names, [int(np.prod(shape)) for shape in shapes])
    columns = _slices(inputs, [np.size(x) for x in inputs.values()])

    def as_vector(vector: Any) -> Any:
        return np.concatenate([np.ravel(z) for z in results(vector)])

    pairs = list(itertools.product(rows, columns))
    if sparse is False:
        derivative: Any = jacobian(as_vector)
        blocks: Any = {(of, wrt): ((rows[of], columns[wrt]), {}) for of, wrt in pairs}
    else:
        pattern = sparsity(as_vector, start) if sparse is True else sparse
        whole = sparse_jacobian(as_vector, pattern=pattern, check=True)
        derivative, where = whole.values, whole.structure(start)
        blocks = {(of, wrt): _inside(where, rows[of], columns[wrt]) for of, wrt in pairs}
        blocks = {pair: block for pair, block in blocks.items() if len(block[0])}

    class Component(om.ExplicitComponent):
        def setup(self) -> None:
            for name, x in inputs.items():
                self.add_input(name, np.asarray(x, float))
            for name, shape in zip(names, shapes, strict=True):
                self.add_output(name, shape=shape or 1)
            for pair, (_, places) in blocks.items():
                self.declare_partials(*pair, **places)

        def compute(self, given: Any, found: Any) -> None:
            for name, z in zip(names, results(vector_of(given)), strict=True):
                found[name] = z

        def compute_partials(self, given: Any, partials: Any) -> None:
            slopes = derivative(vector_of(given))
            for pair, (index, _) in blocks.items():
                partials[pair] = slopes[index]

    def vector_of(given: Any) -> Any:
        return np.concatenate([np.ravel(given[name]) for name in inputs])

    return Component()


def _slices(names: Any, sizes: list[int]) -> dict[str, slice]:
    """Where the numbers of each name lie in one vector."""
    ends = itertools.pairwise(np.cumsum([0, *sizes]).tolist())
    return {name: slice(*pair) for name, pair in zip(names, ends, strict=True)}


def _inside(where: Any, rows: slice, columns: slice) -> tuple[Any, dict[str, Any]]:
    """Which elements of a sparse matrix are in a block of it, and their places there."""
    row, column = where
    chosen = np.flatnonzero(
        (rows.start <= row) & (row < rows.stop) & (columns.start <= column) & (column < columns.stop)
    )
    return chosen, {"rows": row[chosen] - rows.start, "cols": column[chosen] - columns.start}
