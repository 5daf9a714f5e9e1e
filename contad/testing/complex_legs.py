"""The leg of `expect_ad` for derivatives of complex results by complex arguments."""

from collections.abc import Sequence

import numpy as np

from contad.errors import NotHolomorphicError
from contad.testing.differences import gradient_by_differences
from contad.testing.forms import engine_of, form, is_forward
from contad.testing.specimen import MANY, Specimen
from contad.transforms.jacobians import jacobian
from contad.variables.trees import Tree, elements, flatten, leaves_of


def check_holomorphic(s: Specimen, ways: Sequence[str]) -> None:
    """f'(z), or its refusal where the equations of Cauchy and Riemann fail, against differences by real parts."""
    result = flatten(s.plainly(s.f, s.rebuilt(s.numbers)))
    if not any(tree.is_complex for tree in (result, *s.trees)):
        return
    if not all(map(_is_all_complex, (result, *s.trees))) or len(s.numbers) > MANY:
        s.report.skipped["holomorphic"] = "not complex results by complex arguments, or many numbers"
        return
    found = gradient_by_differences(lambda v: s.results(s.plainly(s.f, s.rebuilt(v))), s.numbers)
    rows = _pairs([result])
    columns = _pairs(s.trees)
    u_x, u_y, v_x, v_y = (
        np.block([[found.value[np.ix_(row[part], column[by])] for column in columns] for row in rows])
        for part in (0, 1) for by in (0, 1)
    )  # fmt: skip
    scale = np.max(np.abs(found.value), initial=0.0)
    allowed = s.tolerances(1).differences * scale + 20.0 * np.max(found.error, initial=0.0)
    holds = max(np.max(np.abs(u_x - v_y)), np.max(np.abs(u_y + v_x))) <= allowed
    for way in ways:
        if is_forward(way):
            continue
        derivative = jacobian(s.f, tuple(range(len(s.args))), engine=engine_of(way), holomorphic=True)
        try:
            blocks = iter(flatten(derivative(*form(way, s.args))).leaves)
        except NotHolomorphicError as error:
            if holds:
                s.fail("holomorphic", way, "", "a derivative", error)
            s.count("holomorphic")
            continue
        if not holds:
            s.fail("holomorphic", way, "", "NotHolomorphicError", "a derivative")
        for row in rows:
            for column in columns:
                for k in (0, 1):  # the real and the imaginary part of f'
                    expected = np.ravel(found.value[np.ix_(row[k], column[0])])
                    for a, b in zip(np.ravel(next(blocks)), expected, strict=True):
                        s.equal("holomorphic", way, "imaginary part" if k else "real part", a, b, allowed)


def _is_all_complex(tree: Tree) -> bool:
    return all(isinstance(x, complex) for x in _places(tree))


def _places(tree: Tree) -> list[float | complex]:
    """The positions of the leaves: of a complex one k + i (k + 1)."""
    return leaves_of(tree.unflatten([*map(float, range(len(tree.leaves)))]))


def _pairs(trees: Sequence[Tree]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The positions of the numbers of each real part, and of the imaginary part, in a row of all numbers."""
    sizes = [len(elements(leaf)) for tree in trees for leaf in tree.leaves]
    ends = np.cumsum([0, *sizes])
    numbers = [np.arange(ends[k], ends[k + 1]) for k in range(len(sizes))]
    return [*zip(numbers[::2], numbers[1::2], strict=True)]
