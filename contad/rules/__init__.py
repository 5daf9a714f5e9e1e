"""Derivative rules: a rule's value and partials, their source as a tree, and the registries. Operations are
elsewhere."""
