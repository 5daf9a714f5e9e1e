"""Notes of what depends on what, as a function of the program.

A node stands for a number that depends on inputs: node 0 for every constant, nodes 1 to n for the inputs. A graph is
an array with a row for each node: (x, y, bends), its parents, and the sum of those of `BENDS_X`, `BENDS_XY`, `BENDS_Y`
that say in which of them together it is not linear. Row 0 holds the number of the next node.
"""

from contad.engines.source.ir.known_functions import Function

BENDS_X, BENDS_XY, BENDS_Y = 1, 2, 4

NOTE = Function("note", "note(x0, x1, x2, x3)", None, "int")  # of x, y, bends and the graph
