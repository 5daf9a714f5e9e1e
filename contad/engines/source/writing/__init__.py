"""The derivative as text: the forward sweep, the reverse sweep, and what one leaves for the other."""
