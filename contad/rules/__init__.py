"""Derivative rules: values and partials, their source as a tree, and the registries. Operations are elsewhere."""
