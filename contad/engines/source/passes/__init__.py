"""Loop optimisations of derivatives: each pass rewrites the tree of a function, in the order of `order.PASSES`.

What a name stands for is in one table (`ir.name_table`), where passes note the names that they make. The trees are
Python's own, of few kinds. Statements: assignments to one target, `+=` and its like, `for` over a range, `while True`,
`if`, calls, `raise`, `break`, `return`; loops have no `else`; there are no comprehensions, and no functions inside.
What holds between passes, which `tests/engines/source/passes/tree_check.py` looks for:

- Each node stands in one place. What is put in twice is copied (`ir.syntax.part`, `clone`); names that are written have
  the context Store. A statement that takes the place of another one takes its `note`, the line of the user's source.
- A name means one thing in a whole function, but may be assigned in several places: forwards and, restored, backwards.
  In a branch that was not taken it may have no value: guards are tested again before it is read.
- `x_bar` is the adjoint of `x`, `work` the workspace, `top` where it ends. A division is guarded by a branch before it
  that raises, so that it may not move before that. New names are those of `NameTable.fresh`.

What LLVM does, passes leave to it: common subexpressions, copies, dead scalars, and invariants of arithmetic and of
functions that are its own (`math.sqrt`). It moves no call of a function of contad's, does not change the order of a
sum, and cannot tell that two arrays are different.
"""
