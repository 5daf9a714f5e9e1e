"""What is known of a program before it is reversed: what is active, linear, unchanged, constant in a loop."""
