"""Operations on matrices, one row of a table each: `row_tables` has their shapes, and engines make adapters from
it."""
