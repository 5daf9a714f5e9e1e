"""Forward mode on programs: beside every operation, what computes the tangent of its result."""
