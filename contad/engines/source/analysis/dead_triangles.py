"""Loops that fill a matrix of which only Cholesky's factor is made end at its diagonal: nothing reads the rest.

    for i in range(n):                             for i in range(n):
        for j in range(n):                             for j in range(i + 1):
            k[i, j] = exp(-(x[i] - x[j])**2)   ->          k[i, j] = exp(-(x[i] - x[j])**2)
    c = np.linalg.cholesky(k)                      c = np.linalg.cholesky(k)

The factor is that of the lower triangle; what is above the diagonal is then zero, and finite.
"""

from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import ADD
from contad.engines.source.ir.known_matrix_functions import CHOLESKY
from contad.engines.source.ir.lengths import same_length
from contad.engines.source.ir.single_assignment import (
    INT,
    Accumulate,
    Apply,
    Check,
    Create,
    Element,
    For,
    Length,
    Load,
    MatrixCall,
    Operation,
    SourceProgram,
    Store,
    Value,
)
from contad.engines.source.ir.walks import is_inside, leaves, readers_of, walk

_HARMLESS = (Apply, Length, Load, For)  # what may be left out where nobody reads what it computes


def skip_dead_triangles(program: SourceProgram) -> bool:
    """End such loops at the diagonal; whether there were any."""
    readers = readers_of(program)
    returned = {root for value in leaves(program.returned) if isinstance(value, Value) for root in value.roots}
    found = False
    for o in list(walk(program.block)):
        if isinstance(o, Create) and o.result.kind.ndim == 2 and o.result not in returned:
            nest = _find_nest(o.result, readers)
            if nest is not None:
                _end_at_diagonal(*nest)
                o.fill = "zeros"
                found = True
    return found


def _find_nest(matrix: Value, readers: dict[Value, list[Operation]]) -> tuple[For, For] | None:
    """The two loops that fill a matrix, of which nothing but the lower triangle is read."""
    users = readers.get(matrix, [])
    if not any(isinstance(user, MatrixCall) for user in users):
        return None
    nests = set()
    for user in users:
        if isinstance(user, MatrixCall):
            if user.function is not CHOLESKY or matrix in user.filled:
                return None
        elif isinstance(user, Element):
            row, column = user.indices
            if user.inputs.count(matrix) > 1:
                return None
            if row is not column:
                nest = _nest_of(user)
                if nest is None:
                    return None
                nests.add(nest)
        elif not isinstance(user, Length):
            return None
    if len(nests) != 1:
        return None
    (nest,) = nests
    return nest if _may_end_at_diagonal(*nest, matrix, readers) else None


def _nest_of(user: Element) -> tuple[For, For] | None:
    """The loops over rows and columns around an operation on one element."""
    row, column = user.indices
    outer, inner = row.operation, column.operation
    if not isinstance(outer, For) or not isinstance(inner, For) or row is not outer.index or column is not inner.index:
        return None
    if inner.block is not outer.body or user.block is not inner.body:
        return None
    return outer, inner


def _may_end_at_diagonal(outer: For, inner: For, matrix: Value, readers: dict[Value, list[Operation]]) -> bool:
    """Whether the iterations behind the diagonal do nothing but store an element, and there are none missing."""
    for loop in (outer, inner):
        if loop.is_parallel or loop.checkpointed or loop.start.constant != 0 or loop.step.constant != 1:
            return False
    if inner.carried or inner.exit is not None or inner.count in readers or not same_length(inner.stop, outer.stop):
        return False
    for o in walk(inner.body):
        if isinstance(o, (Store, Accumulate)):
            if o.array is not matrix or o.indices != [outer.index, inner.index]:
                return False
        elif isinstance(o, Check):  # the first element, which is on the diagonal, is checked as all are
            if o.block is not inner.body or any(is_inside(x.block, outer) for x in o.inputs):
                return False
        elif not isinstance(o, _HARMLESS) or (isinstance(o, For) and o.exit is not None):
            return False
    return True


def _end_at_diagonal(outer: For, inner: For) -> None:
    """Let the loop over columns end behind the diagonal."""
    end = Value(INT)
    add = Apply(ADD, [outer.index, constant(1)], end)
    add.file, add.line = inner.file, inner.line
    operations = outer.body.operations
    outer.body.append(add)
    operations.insert(operations.index(inner), operations.pop())
    inner.inputs = [inner.start, end, inner.step]
