"""What a derivative stores, what it computes again, and which loops it reverses together."""
