"""Operations on matrices, one row of a table each: `matrix_rows` has their shapes, and engines make adapters from
it."""
