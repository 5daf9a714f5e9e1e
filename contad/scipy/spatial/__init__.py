"""`scipy.spatial` on variables: `contad.scipy.spatial.transform` has rotations."""

from contad.scipy.spatial import transform

__all__ = ["transform"]
