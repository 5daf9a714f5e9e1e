"""Operations on matrices, a row for each: `matrix_rows` has their shapes, and engines make their adapters from it."""
