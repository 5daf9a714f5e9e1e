"""Loop optimisations of derivatives: each pass rewrites the syntax tree of a function, in the order of `order.PASSES`.

One table (`ir.writer.NameTable`) describes all names; passes add the names that they create. The trees are Python's
own, with few kinds of statements: assignments to one target, `+=` and its like, `for` over a range, `while True`, `if`,
calls, `raise`, `break`, `return`. Loops have no `else`; there are no comprehensions and no nested functions. These
invariants hold between passes, and `tests/engines/source/passes/tree_check.py` checks them:

- Each node is in one place. A node that is inserted twice is copied (`ir.syntax.part`, `clone`); names that are written
have the context Store. A statement that replaces another one takes its `note`, the line of the user's source.
- A name has one meaning in a whole function, but several statements may assign it: forwards and, restored, backwards.
After a branch that was not taken it may have no value: a reader tests the guard again.
- `x_bar` is the adjoint of `x`, `work` the workspace, `top` its end. A branch that raises guards each division, which
must not move before that branch. New names come from `NameTable.fresh`.

Passes leave to LLVM what it does well: common subexpressions, copies, dead scalars, and loop-invariant arithmetic and
intrinsics (`math.sqrt`). LLVM moves no call of a function of contad, does not reorder sums, and cannot tell that two
arrays are different.
"""
