"""Forward mode as a source transformation: adds to every operation those that compute the tangent of its result."""
