"""Loop optimisations of derivatives: each pass takes the tree of a function and returns it rewritten."""
