"""Elementary functions without branches, which loops are vectorised with: at most 1 ulp from the exact number.

Every kernel is a pure function of floats, made of additions, products, `fma`, comparisons and selections, and compiled
without any permission to reorder them. So a number is the same, to the last bit, in a vector register and alone,
wherever in memory it lies. What each of them guarantees is in `contad.elementary.elementary_table`.
"""
