"""Operations on whole arrays and matrices in compiled code, for every compiled engine."""
