"""Elementary functions without branches, for vectorised loops: at most 1 ulp from the exact value.

Every kernel is a pure function of floats, made of additions, products, `fma`, comparisons and selections, and compiled
without permission to reorder them. So a result is the same, to the last bit, in a vector register and alone, whatever
its position in memory. `contad.elementary.elementary_table` lists their guarantees.
"""
