"""The engine `matrix`: arrays of variables are values and a slab of cells; operations on arrays are one record."""
