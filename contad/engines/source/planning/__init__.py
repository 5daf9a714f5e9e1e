"""Plans the reverse sweep: which values it stores, which it recomputes, which loops reverse each iteration at once."""
