"""The memory and the threads of compiled code."""
