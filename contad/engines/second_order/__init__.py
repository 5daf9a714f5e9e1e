"""Forward over reverse on one recording: every second derivative of an eager function."""
