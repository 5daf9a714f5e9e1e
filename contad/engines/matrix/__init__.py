"""The engine `matrix`: an array variable is its values and a slab of cells; an operation on arrays is one record."""
