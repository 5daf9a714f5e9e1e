"""A function of NumPy arrays as an explicit component of OpenMDAO, with its partials and their sparsity."""

from typing import Any

import numpy as np

from contad.transforms.on_demand import ravel, sparse_jacobian
from contad.variables.open_types import Function


def as_openmdao(f: Function, outputs: str, **inputs: Any) -> Any:
    """An OpenMDAO ExplicitComponent that calls f with arrays by their names.

    outputs   the names of f's results, separated by spaces; f returns a number or an array, or a tuple of them
    inputs    an example of each argument: its value at the start, and its shape

    The partials of all outputs by all inputs come from one sparse Jacobian, whose pattern is declared.

    >>> import openmdao.api as om                                                               # doctest: +SKIP
    >>> part = as_openmdao(lambda x, y: (x * y, np.sum(x)), "z total", x=np.ones(3), y=2.0)     # doctest: +SKIP
    >>> om.Problem().model.add_subsystem("part", part, promotes=["*"])                          # doctest: +SKIP
    """
    import openmdao.api as om

    names = outputs.split()
    start, unravel = ravel({name: np.asarray(x, float) for name, x in inputs.items()})

    def results(vector: Any) -> Any:
        z = f(**unravel(vector))
        return z if len(names) > 1 else (z,)

    shapes = [np.shape(z) for z in results(start)]
    jacobian = sparse_jacobian(lambda vector: np.concatenate([np.ravel(z) for z in results(vector)]))
    rows, columns = jacobian.structure(start)
    ends = {"of": np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)]),
            "wrt": np.cumsum([0, *(np.size(x) for x in inputs.values())])}  # fmt: skip

    class Component(om.ExplicitComponent):
        def setup(self) -> None:
            for name, x in inputs.items():
                self.add_input(name, np.asarray(x, float))
            for name, shape in zip(names, shapes, strict=True):
                self.add_output(name, shape=shape or 1)
            for of, wrt, inside, row, column in parts():
                self.declare_partials(of, wrt, rows=rows[inside] - row, cols=columns[inside] - column)

        def compute(self, given: Any, found: Any) -> None:
            for name, z in zip(names, results(vector_of(given)), strict=True):
                found[name] = z

        def compute_partials(self, given: Any, partials: Any) -> None:
            values = jacobian.values(vector_of(given))
            for of, wrt, inside, _, _ in parts():
                partials[of, wrt] = values[inside]

    def vector_of(given: Any) -> Any:
        return np.concatenate([np.ravel(given[name]) for name in inputs])

    def parts() -> Any:
        for i, of in enumerate(names):
            for j, wrt in enumerate(inputs):
                row, column = ends["of"][i], ends["wrt"][j]
                inside = (
                    (rows >= row) & (rows < ends["of"][i + 1]) & (columns >= column) & (columns < ends["wrt"][j + 1])
                )
                yield of, wrt, inside, row, column

    return Component()
