"""What generated functions call when they run: the workspace."""
